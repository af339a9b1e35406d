//! What the doctor says of a text or a recording.

use crate::finding::{Area, Confidence, Finding, Level, Unchecked};
use crate::rules::columns::COLUMNS;
use crate::rules::crash::LATER;
use crate::rules::doubt::{DOUBT, is_unread};
use crate::rules::drawn::DRAWN;
use crate::rules::hung::NO_RETURN;
use crate::rules::lost::LOST;
use crate::rules::method::METHOD;
use crate::rules::night::rounds::OPEN;
use crate::rules::night::slept;
use crate::rules::night::woke::WOKE;
use crate::rules::night::zero;
use crate::rules::patch::{MEASURED, SHARES};
use crate::rules::powerstat::POWERSTAT;
use crate::rules::reset::NOT_FOUND;
use crate::rules::wake;
use crate::rules::way::logind::ASKED;
use crate::rules::way::network::{DOWN, TOLD};
use crate::whole::WholeWay;
use dormouse_base::time::Ns;
use std::borrow::Borrow;

/// What the doctor says of a text.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Worst first; equal ones in order of the text.
    pub findings: Vec<Finding>,
    /// What the text cannot show.
    pub unchecked: Vec<Unchecked>,
    /// Attempts to sleep in the text, in its order.
    pub sleeps: Vec<Sleep>,
    /// Lines of a kernel log in the text.
    pub logged: usize,
    /// Where a further log begins in the text, by its lines: of a later boot, or of
    /// another machine.
    pub logs: Vec<u64>,
    /// Sleeps as a whole, by the lines of services, in order of the text.
    pub ways: Vec<WholeWay>,
    /// Attempts that came back from a sleep.
    pub slept: usize,
    /// A person wrote sentences around it.
    pub letter: bool,
    /// It is a recording, a trace or a capture, not a text.
    pub recorded: bool,
}

/// An attempt to sleep, for a reader who wants to find it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sleep {
    /// `s2idle`, `deep`, `hibernation`; empty if the text does not say.
    pub mode: String,
    /// Line of its first message, from 1.
    pub line: u64,
    /// The text has its beginning.
    pub begun: bool,
    /// The text has its end.
    pub closed: bool,
}

/// The worst first; of what costs time the dearest comes first.
pub fn sorted<F: Borrow<Finding>>(findings: &mut [F]) {
    let cost = |f: &Finding| f.costs.filter(|_| f.level == Level::Slow);
    // What a night cost, and a machine that is woken again and again, is asked before a moment
    // of its way.
    let night = |f: &Finding| matches!(f.id, "night-cost" | "wake-loop") && f.level == Level::Risk;
    let sure = |f: &F| f.borrow().confidence != Confidence::Guess;
    let night = findings.iter().any(|f| night(f.borrow()) && sure(f));
    let way = |f: &Finding| f.id.starts_with("way-") && cost(f).is_some_and(|t| t < TRIFLE);
    let trifle = |f: &Finding| night && way(f);
    // A sleep that is lost stands before what only took long.
    let lost = |f: &Finding| matches!(f.id, "no-return" | "hib-no-image");
    let level = |f: &Finding| match trifle(f) {
        _ if lost(f) => (Level::Broken, true),
        true => (Level::Risk, true),
        false => (f.level, f.level == Level::Note && is_of_the_user(f)),
    };
    // A device that did not come back ended nothing: what did stands before it.
    let after = |f: &Finding| f.id == "device-not-resumed";
    findings.sort_by_key(|f| {
        let f = f.borrow();
        (level(f), !is_cold(f), f.confidence, after(f), std::cmp::Reverse(cost(f)))
    });
}

/// Whether a finding blames nobody and is no comfort either: a counter that counted nothing, a
/// network that is not back, a drain that the writer tells of, a fault that is over. It stands
/// before other notes.
fn is_cold(f: &Finding) -> bool {
    let told = f.id == "night-cost" && f.confidence == Confidence::Guess;
    let alone = matches!(
        f.id,
        COLUMNS
            | DOWN
            | DRAWN
            | LATE
            | MEASURED
            | NOT_FOUND
            | POWERSTAT
            | SHARES
            | SPINS
            | wake::PENDING
    );
    f.level == Level::Note && (zero::RULES.contains(&f.id) || alone || told || f.over)
}

/// Whether a wakeup that ended an attempt is of somebody's hand: the words that drivers of
/// chargers, lids and buttons have in their names.
fn is_of_the_user(f: &Finding) -> bool {
    const HAND: [&str; 4] = ["charger", "lid", "button", "pwrkey"];
    let by_hand = |name: &str| {
        let lower = name.to_ascii_lowercase();
        lower.split(|c: char| !c.is_ascii_alphanumeric()).any(|w| HAND.contains(&w))
    };
    let devices = &f.about.devices;
    f.id == "abort-wakeup" && !devices.is_empty() && devices.iter().all(|d| by_hand(&d.name))
}

/// In a text that tells what a night cost it is no fault that somebody plugged a charger in,
/// opened the lid or pressed a button.
pub(crate) fn leave_to_the_user(findings: &mut [Finding]) {
    let told = |f: &Finding| matches!(f.id, "night-cost" | "night-awake" | "night-wakelocks");
    if findings.iter().any(told) {
        findings.iter_mut().filter(|f| is_of_the_user(f)).for_each(|f| f.level = Level::Note);
    }
}

/// What costs less is no answer to a night.
const TRIFLE: Ns = Ns(5_000_000_000);

/// The finding that answers for a sleep whose devices no line times, if one does: what went
/// wrong, who woke it, or what forbids an all-clear. `waited` says that its lines name what was waited for, which
/// answers before anything that only costs time. So does the `longest` callback of which the
/// end stands alone, before what costs not twice as much.
pub fn answer<'a>(
    findings: impl IntoIterator<Item = &'a Finding>,
    waited: bool,
    longest: Option<Ns>,
) -> Option<&'a Finding> {
    findings.into_iter().find(|f| {
        let told = matches!(f.id, WAKER | DOUBT | MEASURED | ERRORS) && !is_unread(f) || f.over;
        let weighs = f.level != Level::Note && f.confidence != Confidence::Guess;
        let ends = f.level == Level::Broken || matches!(f.area, Area::Mode | Area::Abort);
        let owned = longest.zip(f.costs).is_some_and(|(d, t)| d.0 >= t.0 / 2);
        // Who complains while something is dead was not the one that was waited for.
        (weighs || told) && (ends || !waited || f.id == ERRORS) && !owned
    })
}

/// The finding that tells of a sleep where nothing answers for it and no phase is timed: how
/// long it was, or how deep.
pub fn told_of_sleep<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> Option<&'a Finding> {
    let sure = findings.into_iter().filter(|f| f.confidence != Confidence::Guess);
    let told: Vec<&Finding> =
        sure.filter(|f| f.area == Area::Mode || f.id == "way-slept").collect();
    // How deep it was says more than that it was.
    told.iter().find(|f| tells_depth(f)).or(told.first()).copied()
}

/// Whether a finding is that the kernel crashed: what comes behind has no time of its own, and a
/// callback that is open then is no suspect.
pub fn is_crash(f: &Finding) -> bool {
    f.level == Level::Broken && matches!(f.id, "phase-crash" | "hib-crash" | "rpm-crash")
}

/// Whether a finding says how deep a sleep was.
pub fn tells_depth(f: &Finding) -> bool {
    matches!(f.id, "mode-hardware" | "mode-partial" | "mode-name-only")
}

/// Errors of one device behind a sleep.
const ERRORS: &str = "device-errors";
/// The rule that names what woke a machine, which answers a question of its own.
const WAKER: &str = "mode-wake-source";
/// A sleep that failed is not right, though nothing is wrong.
const ALARM: &str = "clock-alarm-abort";
/// What would end an attempt now is an answer, and not that nothing is wrong.
const ACTIVE: &str = "abort-source-active";
/// Devices that stay awake by a setting, or by their driver's choice: nothing is broken, and it
/// costs.
const HELD: &str = "rpm-held";
const DRIVER: &str = "rpm-driver-off";
/// Errors that no rule judged.
const NOT_JUDGED: &str = "not-judged";
/// An idle state that was often the wrong one.
const MISSED: &str = "idle-missed";
/// What differs between two dumps, clocks of CPUs, the mode that was chosen: what such a text is
/// about, and no word on health.
const LISTS: &str = "idle-lists";
const CLOCKS: &str = "clock-capped";
const OFFERED: &str = "mode-offered";
/// A clock at which a device cannot run.
const OPP: &str = "opp-unusable";
/// A disk that a setting keeps from spinning down, and a wake-up that came far later than others:
/// answers, and no faults of a sleep.
const SPINS: &str = "disk-no-spin-down";
const LATE: &str = "late-wakeup";
/// A controller that had an error and was set up anew.
const HOST: &str = "host-died";
/// An interrupt that may storm.
const STORM: &str = "wake-storm";
/// A report without a cycle.
const CHECKS: &str = "night-no-cycle";
/// A supplier that keeps on what a consumer without a driver may need.
const PENDING: &str = "sync-state";

/// The finding that doubts that a sleep failed as its log says: all that tell of it are
/// suspicions, or the writer says that it is over.
pub fn doubt<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> Option<&'a Finding> {
    let ends = |f: &&Finding| {
        let area = matches!(f.area, Area::Abort | Area::Freezer | Area::Phase | Area::Hibernation);
        area && f.level != Level::Note || f.over
    };
    let mut all = findings.into_iter().filter(ends);
    let first = all.next()?;
    let doubted = |f: &Finding| f.confidence == Confidence::Guess || f.over;
    (doubted(first) && all.all(doubted)).then_some(first)
}

/// The finding that a machine did not come back from the sleep in which its log ends, however sure
/// it is: no time of that sleep says more.
pub fn no_return<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> Option<&'a Finding> {
    findings.into_iter().find(|f| f.id == NO_RETURN && f.level != Level::Note)
}

/// Whether something is wrong, or will be.
pub fn is_wrong(f: &Finding) -> bool {
    matches!(f.level, Level::Broken | Level::Risk)
}

/// What a report says first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum First<'a> {
    /// Something is wrong.
    Wrong(&'a Finding),
    /// Nothing is wrong, and this answers.
    Answer(&'a Finding),
    /// No rule found a fault, and the first forbids to say that nothing is wrong; the second is
    /// good to know.
    Doubt(&'a Finding, Option<&'a Finding>),
    /// The same where the doubt is only that nobody could read the writer's words: what the lines
    /// show, the first, comes before it.
    Unread(&'a Finding, &'a Finding),
    /// No rule found a fault, and this was not judged.
    NotJudged(&'a Finding),
    /// Nothing is wrong, and this is good to know.
    Note(&'a Finding),
}

impl Report {
    /// What to say first; nothing if there is no finding.
    pub fn first(&self) -> Option<First<'_>> {
        let f = self.findings.first()?;
        let not_judged = self.findings.iter().find(|f| f.id == NOT_JUDGED);
        let doubt = self.findings.iter().find(|x| x.id == DOUBT && f.level == Level::Note);
        if let Some(doubt) = doubt {
            let told = self.findings.iter().find(|f| f.id != DOUBT);
            let told = not_judged.or(told);
            return Some(match told.filter(|_| is_unread(doubt)) {
                Some(told) => First::Unread(told, doubt),
                None => First::Doubt(doubt, told),
            });
        }
        Some(match (f.id, f.level, not_judged) {
            (ALARM, Level::Note, _) | (WAKER | ACTIVE | TOLD | ASKED | WOKE, Level::Note, None) => {
                First::Answer(f)
            }
            (HELD | DRIVER | LISTS | CLOCKS | OFFERED, Level::Note, None) => First::Answer(f),
            // Who is woken at once has no healthy sleep.
            (wake::AT_ONCE | slept::AT_ONCE, Level::Note, None) => First::Answer(f),
            _ if f.over => First::Answer(f),
            (_, Level::Note, None) if is_cold(f) => First::Answer(f),
            (_, Level::Note, Some(other)) => First::NotJudged(other),
            // None is a fault, and none is good news.
            (
                MISSED | PENDING | CHECKS | HOST | METHOD | LOST | LATER | STORM | OPEN | OPP,
                Level::Note,
                None,
            ) => First::NotJudged(f),
            // A sleep without an end in the text is none that went well.
            (_, Level::Note, None) if self.sleeps.last().is_some_and(|s| !s.closed) => {
                First::NotJudged(f)
            }
            (_, Level::Note, None) => First::Note(f),
            _ => First::Wrong(f),
        })
    }

    /// Takes in what another reading of the same machine says: what neither could show
    /// stays unchecked, and no rule speaks of both.
    pub fn join(&mut self, other: Vec<Finding>) {
        let known: Vec<&str> = self.findings.iter().map(|x| x.id).collect();
        self.findings.extend(other.into_iter().filter(|f| !known.contains(&f.id)));
        sorted(&mut self.findings);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(id: &'static str, level: Level) -> Finding {
        Finding::new((id, Area::Mode, level), Confidence::Certain)
    }

    #[test]
    fn what_a_report_says_first_is_decided_here() {
        let first = |all: &[(&'static str, Level)]| {
            let findings = all.iter().map(|f| finding(f.0, f.1)).collect();
            match (Report { findings, ..Report::default() }).first() {
                None => "none",
                Some(First::Wrong(_)) => "wrong",
                Some(First::Answer(_)) => "answer",
                Some(First::Doubt(d, f)) => f.map_or(d.id, |f| f.id),
                Some(First::Unread(f, _) | First::NotJudged(f)) => f.id,
                Some(First::Note(_)) => "note",
            }
        };
        let (waker, other) = ((WAKER, Level::Note), (NOT_JUDGED, Level::Note));
        assert_eq!(first(&[]), "none");
        assert_eq!(first(&[waker]), "answer");
        assert_eq!(first(&[(HOST, Level::Note)]), HOST, "no good news");
        assert_eq!(first(&[waker, other]), NOT_JUDGED);
        assert_eq!(first(&[(ACTIVE, Level::Note)]), "answer");
        assert_eq!(first(&[(ALARM, Level::Note), other]), "answer");
        assert_eq!(first(&[("mode-hardware", Level::Note)]), "note");
        let doubt = (DOUBT, Level::Note);
        assert_eq!(first(&[doubt]), DOUBT);
        assert_eq!(first(&[waker, doubt]), WAKER, "beside what is known");
        assert_eq!(first(&[(WAKER, Level::Risk), other]), "wrong");
    }

    #[test]
    fn the_longest_callback_answers_before_what_costs_less_than_twice_as_much() {
        let slow = finding("phase-long", Level::Slow).costs(Ns(3_000));
        let of = |longest: i64| answer([&slow], false, Some(Ns(longest))).is_some();
        assert_eq!((of(1_499), of(1_500)), (true, false));
        assert!(answer([&slow], false, None).is_some());
        let note = finding("mode-hardware", Level::Note);
        assert!(answer([&note], false, None).is_none());
        assert!(told_of_sleep([&note]).is_some());
        // What nobody could read answers for no sleep.
        let doubt = |says: &str| finding(DOUBT, Level::Note).says(says);
        assert!(answer([&doubt("The log ends.")], false, None).is_some());
        assert!(answer([&doubt("The writer's words (line 1) are in")], false, None).is_none());
    }

    #[test]
    fn what_a_night_cost_stands_before_the_charger_and_a_lost_sleep_before_a_slow_one() {
        let device =
            |name: &str| crate::finding::Device { name: name.into(), ..Default::default() };
        let mut list = [
            finding("abort-wakeup", Level::Risk).of_devices([device("oak:elm_charger")]),
            finding("night-cost", Level::Note),
        ];
        leave_to_the_user(&mut list);
        assert_eq!(list[0].level, Level::Note);
        sorted(&mut list);
        assert_eq!(list[0].id, "night-cost");
        let mut other =
            [finding("abort-wakeup", Level::Risk).of_devices([device("mmc7")]), list[0].clone()];
        leave_to_the_user(&mut other);
        assert_eq!(other[0].level, Level::Risk);
        let mut list = [finding("phase-pause", Level::Slow), finding("no-return", Level::Risk)];
        sorted(&mut list);
        assert_eq!(list[0].id, "no-return");
    }
}
