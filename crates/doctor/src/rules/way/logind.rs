//! Sleeps of which logind alone tells: when it was asked, by whom, and when it says that the
//! operation is over (systemd, src/login/logind-dbus.c:match_job_removed, logind-action.c,
//! logind-button.c, 183 to 257). It says so of a sleep that failed too.

use super::quote::{span, words};
use crate::case::Case;
use crate::finding::{Area, Confidence, Finding, Level};
use crate::way::{Kind, Step};
use dormouse_base::say;
use dormouse_base::time::Ns;

/// So long at least does a sleep last that only logind tells of, in ms: hooks take less.
const NIGHT: i64 = 60_000;
/// So many sleeps are listed.
const NIGHTS: usize = 6;
/// A lid is closed so long before the request at most, in ms.
const SHUT: i64 = 5_000;

/// All that a text shows of a sleep is that it was asked for.
pub(crate) const ASKED: &str = "way-asked";

/// What logind alone tells, where no kernel and no systemd-sleep stands beside it.
pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let steps = &case.way.steps;
    let of_others = [Kind::Sleeps, Kind::Entry, Kind::Back, Kind::Thawed];
    if steps.iter().any(|s| of_others.contains(&s.kind)) {
        return;
    }
    let before = out.len();
    slept(steps, out);
    let known = !case.attempts.is_empty() || !case.parts.is_empty();
    // What did not come to be is told by who says so.
    let failed = steps.iter().any(|s| s.kind == Kind::Refused)
        || out.iter().any(|f| f.area == Area::Abort && f.level != Level::Note);
    if out.len() == before && !known && !failed {
        out.extend(asked(steps));
    }
}

/// A request: its lines stand close together.
struct Request<'a> {
    /// The first of them.
    first: &'a Step,
    /// What asks for the sleep itself.
    asks: &'a Step,
    /// The lid or the key that brought it.
    by: Option<&'a Step>,
    /// The operation is over.
    ended: Option<&'a Step>,
    /// The lid is opened behind the request, and before the next one.
    opened: Option<&'a Step>,
}

/// Words of logind that it begins a sleep, of its versions (logind-dbus.c, logind-action.c).
const BEGINS: [&str; 4] =
    ["Suspending", "Hibernating", "The system will suspend", "The system will hibernate"];

/// The request that begins at a step, and the step behind it.
fn request(steps: &[Step], at: usize) -> (Option<Request<'_>>, usize) {
    let first = &steps[at];
    let near = |s: &&Step| s.run == first.run && s.ms - first.ms < SHUT;
    let group = || steps[at..].iter().take_while(near).filter(|s| s.kind == Kind::Asked);
    let end = at + steps[at..].iter().take_while(near).count();
    // Of a lid that is closed while nobody listens logind says no more.
    let Some(asks) = group().find(|s| BEGINS.iter().any(|w| s.text.contains(w))) else {
        return (None, at + 1);
    };
    let is_by = |s: &&Step| s.text.contains("Lid closed") || s.text.contains("key pressed");
    let next = steps[end..].iter().position(|s| s.kind == Kind::Asked || s.run != first.run);
    let end = next.map_or(steps.len(), |n| end + n);
    let find = |kind: Kind| steps[at..end].iter().find(|s| s.kind == kind && s.run == first.run);
    let (ended, opened) = (find(Kind::Ended), find(Kind::Opened));
    (Some(Request { first, asks, by: group().find(is_by), ended, opened }), end)
}

/// `, because the lid was closed`.
fn because(by: Option<&Step>) -> &'static str {
    let has = |w: &str| by.is_some_and(|s| s.text.contains(w));
    match () {
        () if has("Lid closed") => ", because the lid was closed",
        () if has("Power key pressed") => ", because the power key was pressed",
        () if has("Suspend key pressed") => ", because the suspend key was pressed",
        () if has("Hibernate key pressed") => ", because the hibernate key was pressed",
        () => "",
    }
}

/// ` at 22:10:05`, where the clock of a line is that of the wall.
fn at(s: &Step) -> String {
    const DAY: i64 = 86_400_000;
    if !s.wall || s.grain > 1_000 {
        return String::new();
    }
    let second = s.ms.rem_euclid(DAY) / 1_000;
    format!(" at {:02}:{:02}:{:02}", second / 3_600, second / 60 % 60, second % 60)
}

/// A line that is of logind.
fn of_logind(s: &Step) -> bool {
    s.text.contains("logind")
}

/// Requests whose sleeps, if there were any, were too short to be told from hooks.
fn asked(steps: &[Step]) -> Option<Finding> {
    let (mut all, mut next) = (Vec::new(), 0);
    while next < steps.len() {
        if steps[next].kind != Kind::Asked || !of_logind(&steps[next]) {
            next += 1;
            continue;
        }
        let (request, behind) = request(steps, next);
        all.extend(request);
        next = behind.max(next + 1);
    }
    // One of which the end is there tells more.
    let r = all.iter().rfind(|r| r.ended.is_some()).or(all.last())?;
    let hibernates = r.asks.text.contains("ibernat");
    let what = if hibernates { "hibernate the machine" } else { "put the machine to sleep" };
    let head = format!("logind was asked to {what}{}{}", at(r.first), because(r.by));
    let span = |ms: i64| say::span(Ns(ms.abs().saturating_mul(1_000_000)));
    let coarse = r.first.grain >= 1_000;
    let same = if coarse { "in the same second" } else { "at the same moment" };
    // In a log that stands the newest line first, lines of one second stand the other way round.
    let of_its_second =
        |s: &&Step| s.kind == Kind::Opened && s.run == r.first.run && s.ms == r.first.ms;
    let opened = r.opened.or_else(|| steps.iter().find(of_its_second).filter(|_| coarse));
    let lid = |from: &Step, o: &Step| match o.ms - from.ms {
        0 => format!("; the lid was opened {same}"),
        ms if ms < 0 => format!("; the lid was opened {} before that", span(ms)),
        ms => format!("; the lid was opened {} after that", span(ms)),
    };
    let so = match (r.ended, opened) {
        (Some(e), opened) => {
            let took = match e.ms - r.first.ms {
                0 => same.to_owned(),
                ms => format!("{} later", span(ms)),
            };
            let lid = opened.map_or(String::new(), |o| lid(e, o));
            format!(
                ". It says{} that the operation was over, {took}{lid}. It says so of a sleep that failed too: these lines alone prove none.",
                at(e)
            )
        }
        (None, Some(o)) => {
            format!("{}. Whether the machine slept, no line tells.", lid(r.first, o))
        }
        (None, None) => {
            ". No line tells whether the machine slept, or that it came back.".to_owned()
        }
    };
    let grain = if coarse { " The stamps are of whole seconds." } else { "" };
    let shown = opened;
    let more = match all.len() {
        1 => String::new(),
        n => format!(" The text has {n} requests."),
    };
    let mut evidence: Vec<&Step> =
        [Some(r.first), Some(r.asks), r.by, r.ended, shown].into_iter().flatten().collect();
    evidence.sort_by_key(|s| s.line);
    evidence.dedup_by_key(|s| s.line);
    Some(
        Finding::new((ASKED, Area::Abort, Level::Note), Confidence::Certain)
            .says(format!("{head}{so}{more}{grain}"))
            .look("The kernel's log of that moment tells whether it slept, and for how long: journalctl -k -o short-precise.")
            .times(all.len())
            .shown_by(evidence.into_iter().map(Step::shown)),
    )
}

/// Nights of which old versions of logind tell: when they ask and when the job of the sleep is
/// over.
fn slept(steps: &[Step], out: &mut Vec<Finding>) {
    let pairs = steps.windows(2).enumerate();
    // What is asked next ends no night: of it nobody knows whether the sleep before it came to be.
    let slept = |w: &[Step]| {
        let (a, b) = (&w[0], &w[1]);
        let woken = matches!(b.kind, Kind::Opened | Kind::Ended);
        a.kind == Kind::Asked && woken && a.run == b.run && b.ms - a.ms >= NIGHT
    };
    let nights: Vec<(usize, &Step, &Step)> =
        pairs.filter(|(_, w)| slept(w)).map(|(i, w)| (i, &w[0], &w[1])).collect();
    let ends = |at: usize, a: &Step| {
        // The end behind another request is of that one.
        let own = |s: &&Step| s.run == a.run && s.kind != Kind::Asked;
        let mut rest = steps[at + 1..].iter().take_while(own);
        rest.find(|s| s.kind == Kind::Ended)
    };
    let nights: Vec<_> =
        nights.into_iter().filter_map(|(at, a, b)| Some((at, a, b, ends(at, a)?))).collect();
    let Some(&(from, a, b, end)) = nights.iter().max_by_key(|n| n.2.ms - n.1.ms) else { return };
    let after = match end.ms - b.ms {
        0 => String::new(),
        ms => format!(" {} follows {} later.", words(end), span(ms, b.grain)),
    };
    let length = |a: &Step, b: &Step| say::span(Ns((b.ms - a.ms).saturating_mul(1_000_000)));
    // Attempts that were over at once, which nobody calls a sleep.
    let short = |w: &&[Step]| {
        let (a, b) = (&w[0], &w[1]);
        a.kind == Kind::Asked && b.kind == Kind::Ended && a.run == b.run && b.ms - a.ms < NIGHT
    };
    let short: Vec<String> =
        steps.windows(2).filter(short).map(|w| length(&w[0], &w[1])).take(NIGHTS).collect();
    let short = match short.len() {
        0 => String::new(),
        1 => format!(" A further one took {} only.", short[0]),
        n => format!(" {n} further ones took {} only.", short.join(", ")),
    };
    let all = match nights.len() {
        1 => String::new(),
        n => {
            let list: Vec<String> = nights.iter().take(NIGHTS).map(|n| length(n.1, n.2)).collect();
            let more = if n > NIGHTS { " and more" } else { "" };
            format!(" It is the longest of {n} sleeps, in their order: {}{more}.", list.join(", "))
        }
    };
    let before = steps[..=from].iter().rev().take_while(|s| s.run == a.run && a.ms - s.ms < SHUT);
    let by = before.clone().find(|s| !because(Some(s)).is_empty());
    let asked = match (at(a), because(by)) {
        (time, by) if !(time.is_empty() && by.is_empty()) => {
            let back = at(b);
            let back = if back.is_empty() { back } else { format!(", and it was back{back}") };
            format!(" It was asked for{time}{by}{back}.")
        }
        _ => String::new(),
    };
    // Of a lid that was shut somebody would say that it was opened.
    let shut = before.into_iter().any(|s| s.text.contains("Lid closed"));
    let opened = steps[from + 1..]
        .iter()
        .take_while(|s| s.run == a.run && s.kind != Kind::Asked)
        .find(|s| s.kind == Kind::Opened);
    let later = opened.filter(|o| b.kind == Kind::Ended && o.ms - b.ms > SHUT);
    let after = match (b.kind == Kind::Ended && shut, opened, later) {
        (true, None, _) => format!(
            "{after} No line of the text opens the lid that was closed before: if none is left out, something else woke it."
        ),
        (true, _, Some(o)) => format!(
            "{after} The lid that was closed before was opened {} after that: something else woke it.",
            span(o.ms - b.ms, o.grain)
        ),
        _ => after,
    };
    out.push(
        Finding::new(("way-slept", Area::Phase, Level::Note), Confidence::Likely)
            .says(format!(
                "The machine slept for about {}, say the lines of logind: {} and then {}.{asked}{all}{short}{after}",
                length(a, b),
                words(a),
                words(b)
            ))
            .at("asleep")
            .shown_by([a.shown(), b.shown()])
            .shown_by(Some(end.shown()).filter(|e| e.line != b.line))
            .shown_by(later.map(Step::shown)),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(lines: &[(i64, &str, Kind)]) -> Vec<Finding> {
        let mut case = Case::default();
        case.way.steps = Step::of(lines);
        let mut out = Vec::new();
        judge(&case, &mut out);
        out
    }

    const SHUT_AT_NINE: (i64, &str, Kind) =
        (32_400_000, "systemd-logind[7]: Lid closed.", Kind::Asked);

    #[test]
    fn a_request_that_was_soon_over_says_when_by_whom_and_when_the_lid_was_opened() {
        for (asks, over) in [
            ("systemd-logind[7]: Suspending...", "systemd-logind[7]: Operation 'sleep' finished."),
            (
                "systemd-logind[7]: The system will suspend now!",
                "systemd-logind[7]: Operation 'suspend' finished.",
            ),
        ] {
            let all = told(&[
                SHUT_AT_NINE,
                (32_400_000, asks, Kind::Asked),
                (32_417_000, "systemd-logind[7]: Lid opened.", Kind::Opened),
                (32_420_000, over, Kind::Ended),
            ]);
            let [f] = &all[..] else { panic!("{all:#?}") };
            assert_eq!((f.id, f.level, f.evidence.len()), ("way-asked", Level::Note, 4));
            let s = &f.sentence;
            assert!(s.contains("at 09:00:00, because the lid was closed"), "{s}");
            assert!(
                s.contains("It says at 09:00:20 that the operation was over, 20.0 s later"),
                "{s}"
            );
            assert!(s.contains("the lid was opened 3.0 s before that"), "{s}");
        }
    }

    #[test]
    fn a_request_without_an_end_claims_no_sleep_and_a_lid_alone_is_none() {
        let key = (0, "systemd-logind[7]: Power key pressed short.", Kind::Asked);
        let asks = (0, "systemd-logind[7]: The system will suspend now!", Kind::Asked);
        let s = told(&[key, asks])[0].sentence.clone();
        assert!(s.contains("because the power key was pressed"), "{s}");
        assert!(s.contains("No line tells whether the machine slept"), "{s}");
        assert!(told(&[SHUT_AT_NINE]).is_empty(), "logind may be told to leave a lid alone");
        let opened = (0, "systemd-logind[7]: Lid opened.", Kind::Opened);
        let s = told(&[key, asks, opened])[0].sentence.clone();
        assert!(s.contains("opened at the same moment. Whether the machine slept, no"), "{s}");
    }

    #[test]
    fn of_several_requests_the_one_with_an_end_is_told_and_none_beside_a_failure() {
        let asks = |ms: i64| (ms, "systemd-logind[7]: Suspending...", Kind::Asked);
        let over = (9_000, "systemd-logind[7]: Operation 'sleep' finished.", Kind::Ended);
        let s = told(&[asks(0), over, asks(50_000)])[0].sentence.clone();
        assert!(s.contains("9.0 s later") && s.contains("The text has 2 requests."), "{s}");
        let mut case = Case::default();
        case.way.steps = Step::of(&[asks(0)]);
        let refused = ("write-refused", Area::Abort, Level::Broken);
        let mut out = vec![Finding::new(refused, Confidence::Likely)];
        judge(&case, &mut out);
        assert_eq!(out.len(), 1);
    }

    #[test]
    fn the_end_of_another_request_ends_no_night() {
        let asks = |ms: i64| (ms, "systemd-logind[7]: Suspending...", Kind::Asked);
        let over = |ms: i64| (ms, "systemd-logind[7]: Operation 'sleep' finished.", Kind::Ended);
        let open = |ms: i64| (ms, "systemd-logind[7]: Lid opened.", Kind::Opened);
        for lines in [
            vec![SHUT_AT_NINE, asks(32_400_000), asks(37_000_000), over(37_003_000)],
            vec![asks(32_400_000), open(33_000_000), asks(37_000_000), over(37_003_000)],
        ] {
            let all = told(&lines);
            assert!(all.iter().all(|f| f.id != "way-slept"), "{all:#?}");
        }
        let all = told(&[asks(32_400_000), open(33_000_000), over(33_003_000)]);
        assert_eq!(all[0].id, "way-slept", "{all:#?}");
    }

    #[test]
    fn a_lid_that_is_opened_long_behind_the_return_woke_nobody() {
        let asks = (32_401_000, "systemd-logind[7]: Suspending...", Kind::Asked);
        let over = (39_600_000, "systemd-logind[7]: Operation 'sleep' finished.", Kind::Ended);
        let open = |ms: i64| (ms, "systemd-logind[7]: Lid opened.", Kind::Opened);
        let of = |o: (i64, &'static str, Kind)| told(&[SHUT_AT_NINE, asks, over, o])[0].clone();
        let late = of(open(43_200_000));
        assert_eq!(late.id, "way-slept");
        let s = &late.sentence;
        assert!(s.contains("asked for at 09:00:01, because the lid was closed"), "{s}");
        assert!(s.contains("opened 1 h 0 min after that: something else woke it"), "{s}");
        assert!(!of(open(39_601_000)).sentence.contains("something else"));
    }
}
