//! What of a text is right, by what is known of its sleeps.

use super::guest::Slept;
use super::plan::{self, Trouble};
use crate::texts::Scores;
use dormouse_base::cycle::{Cycle, Mode, Outcome};
use dormouse_base::finding::{Finding, Level};
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::time::Ns;
use dormouse_doctor::judge;
use dormouse_dress::Text;
use dormouse_read::Options;

/// The kernel prints what a phase took; our own clock also saw what lies around it.
const AROUND: Ns = Ns(1_000_000);

/// EBUSY: what a wake-up gives.
const EBUSY: i32 = 16;

/// The steps whose length the kernel prints, their phases, and its words.
const STEPS: [(&str, i32, Phase, &str); 13] = [
    ("sync_filesystems", 0, Phase::Sync, "Filesystems sync: "),
    ("dpm_suspend", SUSPEND, Phase::Suspend, "PM: suspend of devices complete after "),
    ("dpm_suspend_late", SUSPEND, Phase::Late, "PM: late suspend of devices complete after "),
    ("dpm_suspend_noirq", SUSPEND, Phase::Noirq, "PM: noirq suspend of devices complete after "),
    ("dpm_resume_noirq", RESUME, Phase::ResumeNoirq, "PM: noirq resume of devices complete after "),
    ("dpm_resume_early", RESUME, Phase::ResumeEarly, "PM: early resume of devices complete after "),
    ("dpm_resume", RESUME, Phase::Resume, "PM: resume of devices complete after "),
    ("dpm_suspend", FREEZE, Phase::Suspend, "PM: freeze of devices complete after "),
    ("dpm_suspend_late", FREEZE, Phase::Late, "PM: late freeze of devices complete after "),
    ("dpm_suspend_noirq", FREEZE, Phase::Noirq, "PM: noirq freeze of devices complete after "),
    ("dpm_resume_noirq", THAW, Phase::ResumeNoirq, "PM: noirq thaw of devices complete after "),
    ("dpm_resume_early", THAW, Phase::ResumeEarly, "PM: early thaw of devices complete after "),
    ("dpm_resume", THAW, Phase::Resume, "PM: thaw of devices complete after "),
];
/// PM_EVENT_… of include/linux/pm.h.
const FREEZE: i32 = 1;
const SUSPEND: i32 = 2;
const RESUME: i32 = 16;
const THAW: i32 = 32;

/// What is asked and what is right, and what is not: what there was, and what was told.
pub(super) fn scored(sleeps: &[Slept], text: &Text) -> (Scores, Vec<(String, String)>) {
    let mut scores = Scores::default();
    let mut wrong = Vec::new();
    let reading = dormouse_read::read_bytes("posted", text.bytes.as_bytes(), &Options::default());
    let cycles: Vec<&Cycle> = match &reading {
        Ok(r) => r.captures.iter().flat_map(|c| &c.cycles).collect(),
        Err(_) => Vec::new(),
    };
    let case = dormouse_read::doctor::read_bytes("posted", text.bytes.as_bytes()).case;
    let mut findings = judge(&case).findings;
    let case = dormouse_read::domains::read_bytes("posted", text.bytes.as_bytes()).case;
    findings.extend(dormouse_power::judge(&case).findings);
    let mut ask = |what: usize, right: bool, (there, told): (String, String)| {
        scores[what].count(right);
        if !right {
            wrong.push((there, told));
        }
    };
    let slow = |t: &Trouble| matches!(t, Trouble::Slow { ms, .. } if *ms < 10_000);
    if sleeps.iter().all(|s| s.sleep.troubles.iter().all(slow)) {
        let broken = findings.iter().filter(|f| f.level == Level::Broken);
        let bad: Vec<&str> = broken.map(|f| f.id).collect();
        ask(5, bad.is_empty(), ("nothing wrong".into(), bad.join(" ")));
    }
    if !text.kept.iter().all(|k| *k) {
        return (scores, wrong);
    }
    let count = |n: usize| format!("{n} attempts");
    let attempts = sleeps.iter().map(|s| s.sleep.attempts()).sum();
    ask(0, cycles.len() == attempts, (count(attempts), count(cycles.len())));
    if cycles.len() == attempts {
        let each = sleeps.iter().flat_map(|s| std::iter::repeat_n(s, s.sleep.attempts()));
        for (s, c) in each.zip(&cycles) {
            let test = s.sleep.troubles.iter().any(|t| matches!(t, Trouble::Test { .. }));
            let right = match c.mode {
                Mode::S2idle => s.sleep.mode == "s2idle",
                Mode::Deep => s.sleep.mode == "deep",
                Mode::Disk => s.sleep.mode == "disk",
                Mode::PmTest(_) => test,
                _ => false,
            };
            ask(1, right, (s.sleep.mode.into(), format!("{:?}", c.mode)));
            if let Some((right, there)) = ended(s, &c.outcome) {
                ask(2, right, (there, format!("{:?}", c.outcome)));
            }
            for (there, read, length) in figures(s, c) {
                let within = Ns(AROUND.0 + length.0 / 50);
                let near = read.is_some_and(|r| (r.0 - length.0).abs() <= within.0);
                let off = match read {
                    None => "nothing",
                    Some(r) if r > length => "more",
                    Some(_) => "less",
                };
                ask(3, near, (format!("length of {there}"), off.into()));
            }
        }
    }
    for s in sleeps {
        for t in s.sleep.troubles.iter().filter(|t| is_told(s, t)) {
            let Some(expected) = Expected::of(t) else { continue };
            let right = findings.iter().any(|f| expected.fits(f));
            let about: Vec<&Finding> =
                findings.iter().filter(|f| f.id.starts_with(expected.id)).collect();
            let told = match about.first() {
                Some(f) => format!(
                    "{}: {:?} {:?} {:?}",
                    f.id, f.about.function, f.about.direction, f.about.phase
                ),
                None => findings.iter().map(|f| f.id).collect::<Vec<_>>().join(" "),
            };
            ask(4, right, (t.name(), told));
        }
    }
    (scores, wrong)
}

/// How the sleep ended, as the guest saw it: whether the reader says so, and what it was;
/// nothing where the text does not tell.
fn ended(s: &Slept, outcome: &Outcome) -> Option<(bool, String)> {
    let code = s.code?;
    if code == 0 {
        return Some((*outcome == Outcome::Slept, "slept".into()));
    }
    let ends = s.sleep.troubles.iter().find(|t| t.ends().is_some())?;
    let right = match ends {
        Trouble::Fail { errno, .. } => {
            matches!(outcome, Outcome::AbortedByDevice { errno: e, .. } if e == errno)
        }
        Trouble::Task { .. } | Trouble::Hung { .. } | Trouble::Thread { .. } | Trouble::Work => {
            matches!(outcome, Outcome::FreezeFailed { .. })
        }
        Trouble::WakeFreezing { .. } => *outcome == Outcome::AbortedByWakeup,
        // The kernel does not always say that it was one.
        Trouble::Wake { .. } | Trouble::Again { .. } if is_told(s, ends) => {
            *outcome == Outcome::AbortedByWakeup
        }
        _ => return None,
    };
    Some((right, ends.name()))
}

/// What the kernel prints a length of: the phase, what was read, what was measured.
fn figures(s: &Slept, c: &Cycle) -> Vec<(Phase, Option<Ns>, Ns)> {
    let mut out = Vec::new();
    for (name, event, phase, said) in STEPS {
        let list: Vec<Ns> =
            s.measured.iter().filter(|m| m.0 == name && m.1 == event).map(|m| m.2).collect();
        let [length] = list[..] else { continue };
        if s.lines.iter().any(|l| l.text.starts_with(said)) {
            let span = c.phases.iter().find(|p| p.phase == phase);
            out.push((phase, span.map(|p| p.end - p.start), length));
        }
    }
    out
}

/// Whether the text can tell of it.
fn is_told(s: &Slept, t: &Trouble) -> bool {
    match t {
        Trouble::Wake { .. } | Trouble::Again { .. } => {
            s.code == Some(EBUSY) && s.lines.iter().any(|l| l.text.contains("wakeup source: "))
        }
        Trouble::Slow { ms, .. } => s.sleep.debug && *ms >= 10_000,
        Trouble::Stall { .. } => s.lines.iter().any(|l| l.text.contains("soft lockup - CPU#")),
        // A console that was switched off shows no crash.
        Trouble::Crash { .. } => s.lines.iter().any(|l| l.text.contains("RIP: ")),
        // A test level is no trouble that a text has to name when messages are off.
        Trouble::Test { .. } => false,
        _ => true,
    }
}

/// What a finding must say.
struct Expected {
    /// How its rule begins.
    id: &'static str,
    /// A name that it must show.
    name: Option<String>,
    /// Its function.
    function: Option<&'static str>,
    direction: Option<Direction>,
    phase: Option<Phase>,
    /// The error.
    error: Option<i32>,
    /// How often, at least.
    times: usize,
}

impl Expected {
    fn of(t: &Trouble) -> Option<Expected> {
        let none = Expected {
            id: "",
            name: None,
            function: None,
            direction: None,
            phase: None,
            error: None,
            times: 1,
        };
        let (direction, which) = match t {
            Trouble::Fail { phase, .. }
            | Trouble::Warn { phase, .. }
            | Trouble::Stall { phase, .. }
            | Trouble::Slow { phase, .. } => {
                let p = plan::phase(*phase);
                (Some(p.direction()), Some(p))
            }
            _ => (None, None),
        };
        Some(match t {
            Trouble::Fail { device, errno, .. } if direction == Some(Direction::Resume) => {
                Expected {
                    id: "device-not-resumed",
                    name: Some(plan::device(*device)),
                    direction,
                    error: Some(*errno),
                    ..none
                }
            }
            Trouble::Fail { device, errno, .. } => Expected {
                id: "device-failed",
                name: Some(plan::device(*device)),
                direction,
                error: Some(*errno),
                ..none
            },
            Trouble::Slow { .. } => Expected { id: "phase-long", direction, ..none },
            Trouble::Warn { .. } => Expected {
                id: "phase-warning",
                function: Some("trouble_warn"),
                direction,
                phase: which,
                ..none
            },
            Trouble::Crash { bug, phase, .. } => {
                let function = if *bug { "trouble_bug" } else { "trouble_oops" };
                let direction = Some(plan::phase(*phase).direction());
                Expected { id: "phase-crash", function: Some(function), direction, ..none }
            }
            Trouble::Wake { device, .. } => {
                Expected { id: "abort-wakeup", name: Some(plan::device(*device)), ..none }
            }
            Trouble::Again { device, times, .. } => Expected {
                id: "abort-wakeup",
                name: Some(plan::device(*device)),
                times: *times,
                ..none
            },
            Trouble::Task { name, function }
            | Trouble::Hung { name, function }
            | Trouble::Thread { name, function } => {
                // The kernel keeps 15 letters of a name.
                let name = &name[..name.len().min(15)];
                Expected {
                    id: "freeze-",
                    name: Some(name.into()),
                    function: Some(function),
                    ..none
                }
            }
            Trouble::Work => {
                Expected { id: "freeze-", function: Some("quux_update_stats"), ..none }
            }
            Trouble::Stall { .. } => Expected {
                id: "phase-stall",
                function: Some("trouble_stall"),
                direction,
                phase: which,
                ..none
            },
            Trouble::Sync { .. } => Expected { id: "sync-share", ..none },
            Trouble::NoSwap => Expected { id: "hib-no-swap", ..none },
            Trouble::Runtime { device, up, errno, .. } => Expected {
                id: "rpm-failed",
                name: Some(plan::device(*device)),
                direction: Some(if *up { Direction::Resume } else { Direction::Suspend }),
                error: Some(*errno),
                ..none
            },
            Trouble::Deferred => {
                Expected { id: "probe-", name: Some("cask-sensor.3".into()), ..none }
            }
            Trouble::WakeFreezing { .. } | Trouble::Test { .. } => return None,
        })
    }

    fn fits(&self, f: &Finding) -> bool {
        let about = &f.about;
        let shows = |name: &str| {
            f.sentence.contains(name) || f.evidence.iter().any(|e| e.text.contains(name))
        };
        let same =
            |a: Option<Direction>| a.is_none() || about.direction.is_none() || a == about.direction;
        f.id.starts_with(self.id)
            && self.name.as_deref().is_none_or(shows)
            && self.function.is_none_or(|w| {
                about.function.as_deref().is_some_and(|a| a.starts_with(w)) || shows(w)
            })
            && same(self.direction)
            && (self.error.is_none() || about.error.is_none() || self.error == about.error)
            && about.times.unwrap_or(f.evidence.len()) >= self.times
            && (self.phase.is_none() || about.phase.is_none() || self.phase == about.phase)
    }
}
