//! What `dormouse show --only clocks` prints.

use crate::text::page::{Ink, Page};
use crate::text::{fit, safe};
use crate::wording::next;
use crate::wording::number::{ms, plural};
use dormouse_base::say::cpus as which_cpus;
use dormouse_base::say::span;
use dormouse_base::time::Ns;
use dormouse_doctor::depth::Measured;
use dormouse_doctor::now::Shallow;
use dormouse_doctor::stands::Stands;
use dormouse_doctor::timer::{Clock, SOON, Timer};
use serde_json::{Value, json};

/// Before a sleep.
#[derive(Clone, Debug)]
pub struct Ahead {
    /// What `mem` means now.
    pub chosen: Option<String>,
    /// Whether time will stop in s2idle.
    pub stands: Stands,
    /// Armed timers, the next one first.
    pub timers: Vec<Timer>,
    /// Processes whose timers this user may not see.
    pub hidden: usize,
}

/// After it.
#[derive(Clone, Debug, Default)]
pub struct Past {
    /// Cycles with readings of two clocks.
    pub cycles: Vec<Measured>,
}

/// So many timers are shown.
const TIMERS: usize = 12;

impl Ahead {
    /// Whether `CLOCK_MONOTONIC` will stand in the sleep that `mem` is now.
    fn will_stand(&self) -> Option<bool> {
        match (self.chosen.as_deref(), &self.stands) {
            (Some("s2idle"), Stands::Yes) => Some(true),
            (Some("s2idle"), Stands::No(..)) => Some(false),
            (Some("s2idle") | None, _) => None,
            // Deep sleep and standby stop timekeeping (kernel/time/timekeeping.c:
            // timekeeping_suspend).
            (Some(_), _) => Some(true),
        }
    }

    fn answer(&self) -> String {
        let mode = self.chosen.as_deref().unwrap_or("a sleep");
        match (self.will_stand(), &self.stands) {
            (Some(true), _) => format!(
                "CLOCK_MONOTONIC will stand in {mode}; CLOCK_BOOTTIME counts the sleep, and catches up at its end."
            ),
            (Some(false), Stands::No(cpus, of, why)) => {
                let why = match why {
                    Shallow::Disabled(s) => format!("state {s} is switched off"),
                    Shallow::Driver(d) => format!("the driver is {d}"),
                };
                let has = if cpus.len() == 1 { "has" } else { "have" };
                format!(
                    "CLOCK_MONOTONIC will run on in {mode}: {} {has} no idle state for it ({why}). Its timers will fire in the sleep.",
                    which_cpus(cpus, *of)
                )
            }
            (None, Stands::Limited(us)) if self.chosen.is_some() => format!(
                "Whether CLOCK_MONOTONIC will stand in {mode} is not known: a program holds /dev/cpu_wakeup_latency open, so CPUs enter only states that they leave within {us} us."
            ),
            _ if self.chosen.is_none() => {
                "This machine has no mode of sleep, so no clock will stand.".into()
            }
            _ => format!(
                "Whether CLOCK_MONOTONIC will stand in {mode} is not known: no idle states are shown."
            ),
        }
    }

    /// What a timer does in the sleep.
    fn fate(&self, t: &Timer) -> &'static str {
        match (t.clock, self.will_stand()) {
            (c, _) if c.is_alarm() && t.due < SOON => "a sleep now fails",
            (c, _) if c.is_alarm() => "wakes the machine by the RTC",
            (Clock::Monotonic, Some(true)) => "comes late by the sleep",
            (Clock::Monotonic, Some(false)) => "fires in the sleep",
            (Clock::Monotonic, None) => "late, or in the sleep",
            _ => "fires at the end, if due",
        }
    }
}

/// The screen before a sleep.
pub fn ahead(a: &Ahead, colour: bool) -> String {
    let mut page = Page::new(colour);
    page.wrapped(Ink::Strong, 0, 2, &safe(&a.answer()));
    let at_risk = a.timers.iter().filter(|t| t.clock == Clock::Monotonic || t.clock.is_alarm());
    let n = at_risk.clone().count();
    page.wrapped(
        Ink::Plain,
        0,
        2,
        &format!("{} armed, {n} of them at risk in a sleep.", plural(a.timers.len(), "timer")),
    );
    if !a.timers.is_empty() {
        page.heading("Due in       Clock                 Task                    In a sleep");
        // Those that decide the sleep first.
        let mut list: Vec<&Timer> = a.timers.iter().collect();
        list.sort_by_key(|t| (!t.clock.is_alarm(), t.clock != Clock::Monotonic, t.due));
        for t in list.iter().take(TIMERS) {
            let task = safe(&format!("{} ({})", t.name, t.pid)).into_owned();
            let line = format!(
                "{:<12} {:<21} {:<23} {}",
                span(t.due),
                t.clock.name(),
                fit(&task, 23),
                a.fate(t)
            );
            page.line(&[(Ink::Plain, line.trim_end())]);
        }
        if list.len() > TIMERS {
            page.paragraph(2, &format!("{} more (--json lists all).", list.len() - TIMERS));
        }
    }
    page.heading("Not checked");
    page.entry(
        "  - ",
        "POSIX timers and time-outs inside programs: /proc tells neither when they are due.",
    );
    if a.hidden > 0 {
        let text =
            format!("timers of {} of other users: run it as root.", plural(a.hidden, "task"));
        page.entry("  - ", &text);
        let text = "a limit held open on /dev/cpu_wakeup_latency (7.x): root alone may read it.";
        page.entry("  - ", text);
    }
    page.blank();
    page.verbatim(Ink::Strong, &next::next("show --only modes"));
    page.finish()
}

/// What the clocks did in a cycle.
fn verdict(m: &Measured) -> &'static str {
    match () {
        () if m.test => "a test: it never slept",
        () if !m.slept => "no sleep",
        () if m.length < Ns(100_000_000) => "too short to tell",
        () if m.stood.0 >= m.length.0 / 100 * 90 => "stood",
        () if m.stood.0 < m.length.0 / 100 * 5 => "ran on",
        () => "stood a part of the time",
    }
}

/// The screen after a sleep.
pub fn past(p: &Past, typed: Option<&str>, colour: bool) -> String {
    let mut page = Page::new(colour);
    let slept: Vec<&Measured> = p.cycles.iter().filter(|m| m.slept && !m.test).collect();
    let is = |word: &str| slept.iter().filter(|m| verdict(m) == word).count();
    let answer = match (slept.len(), is("stood"), is("ran on")) {
        (0, ..) => {
            format!("No sleep among {}: no clock can have stood.", plural(p.cycles.len(), "cycle"))
        }
        (n, stood, 0) if stood == n => {
            format!("CLOCK_MONOTONIC stood in all of {}.", plural(n, "sleep"))
        }
        (n, 0, ran) if ran == n => {
            format!("CLOCK_MONOTONIC ran on in all of {}.", plural(n, "sleep"))
        }
        (n, stood, ran) => format!(
            "CLOCK_MONOTONIC stood in {stood} of {}, and ran on in {ran}.",
            plural(n, "sleep")
        ),
    };
    page.wrapped(Ink::Strong, 0, 2, &answer);
    page.wrapped(Ink::Plain, 0, 2, "By CLOCK_BOOTTIME less CLOCK_MONOTONIC around each cycle.");
    page.heading("Cycle      asleep, ms       stood, ms  CLOCK_MONOTONIC");
    for m in &p.cycles {
        let line =
            format!("{:>5} {:>15} {:>15}  {}", m.number, ms(m.length), ms(m.stood), verdict(m));
        page.line(&[(Ink::Plain, &line)]);
    }
    page.paragraph(2, "Traces are by the boot clock: align logs of other clocks by marks (show does), not by stamps.");
    page.blank();
    let command = typed.map_or("check".into(), |t| format!("check {}", next::typed(t)));
    page.verbatim(Ink::Strong, &next::next(&command));
    page.finish()
}

/// Before a sleep, as JSON (docs/doctor-json.md).
pub fn ahead_json(a: &Ahead) -> Value {
    let timer = |t: &Timer| {
        json!({
            "pid": t.pid,
            "name": t.name,
            "clock": t.clock.name(),
            "due_ns": t.due.0,
            "in_sleep": a.fate(t),
        })
    };
    json!({
        "mode": a.chosen,
        "monotonic_will_stand": a.will_stand(),
        "timers": a.timers.iter().map(timer).collect::<Vec<_>>(),
        "cycles": [],
    })
}

/// After it, as JSON.
pub fn past_json(p: &Past) -> Value {
    let cycle = |m: &Measured| {
        json!({
            "number": m.number,
            "asleep_ns": m.length.0,
            "stood_ns": m.stood.0,
            "monotonic": verdict(m),
        })
    };
    json!({
        "mode": null,
        "monotonic_will_stand": null,
        "timers": [],
        "cycles": p.cycles.iter().map(cycle).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timer(clock: Clock, s: i64) -> Timer {
        Timer { pid: 7, name: "waits".into(), clock, due: Ns(s * 1_000_000_000) }
    }

    #[test]
    fn what_a_timer_does_depends_on_its_clock_and_on_the_sleep() {
        let mut a = Ahead {
            chosen: Some("s2idle".into()),
            stands: Stands::Yes,
            timers: Vec::new(),
            hidden: 0,
        };
        assert_eq!(a.fate(&timer(Clock::Monotonic, 60)), "comes late by the sleep");
        a.stands = Stands::No(vec![0], 4, Shallow::Driver("none".into()));
        assert_eq!(a.fate(&timer(Clock::Monotonic, 60)), "fires in the sleep");
        assert!(a.answer().contains("CPU 0 has no idle state for it (the driver is none)"));
        assert_eq!(a.fate(&timer(Clock::BoottimeAlarm, 1)), "a sleep now fails");
        a.stands = Stands::Limited(70);
        assert_eq!(a.fate(&timer(Clock::Monotonic, 60)), "late, or in the sleep");
        assert!(a.answer().ends_with("CPUs enter only states that they leave within 70 us."));
        assert_eq!(a.fate(&timer(Clock::BoottimeAlarm, 3)), "wakes the machine by the RTC");
        a.chosen = Some("deep".into());
        assert_eq!(a.fate(&timer(Clock::Monotonic, 60)), "comes late by the sleep");
    }
}
