//! What the console of a guest shows whose power failed: how far its campaign had come, and
//! where its kernel was. By a rule of its own, which the reader under test has no part in.

use serde_json::Value;
use std::fmt;

/// What a cycle writes into the list, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mark {
    Begin,
    Asleep,
    Awake,
    Saved,
    End,
}

const MARKS: [(&str, Mark); 5] = [
    ("begin", Mark::Begin),
    ("asleep", Mark::Asleep),
    ("awake", Mark::Awake),
    ("saved", Mark::Saved),
    ("end", Mark::End),
];

/// A line of the list: which cycle, and how far it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Point {
    pub(super) cycle: u32,
    pub(super) mark: Mark,
}

impl Point {
    /// Of a line of the list, if it is one of a cycle's way.
    pub(super) fn of(line: &Value) -> Option<Point> {
        let what = line["what"].as_str()?;
        let mark = MARKS.iter().find(|(name, _)| *name == what)?.1;
        Some(Point { cycle: u32::try_from(line["cycle"].as_u64()?).ok()?, mark })
    }

    /// The line that comes next.
    fn next(self) -> Point {
        match MARKS.get(self.mark as usize + 1) {
            Some(&(_, mark)) => Point { mark, ..self },
            None => Point { cycle: self.cycle + 1, mark: Mark::Begin },
        }
    }

    /// The line that came before.
    fn before(self) -> Point {
        match (self.mark as usize).checked_sub(1) {
            Some(n) => Point { mark: MARKS[n].1, ..self },
            None => Point { cycle: self.cycle - 1, mark: Mark::End },
        }
    }
}

/// Where a kernel was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Words {
    pub(super) phase: String,
    /// Whose callback began last and has not returned.
    pub(super) device: Option<String>,
}

impl Words {
    /// Where the phase stands among others.
    pub(super) fn order(&self) -> usize {
        PHASES.iter().position(|p| *p == self.phase).unwrap_or(PHASES.len())
    }
}

/// As they come.
const PHASES: [&str; 15] = [
    "sync",
    "freeze_user",
    "freeze_kernel",
    "prepare",
    "suspend",
    "late suspend",
    "noirq suspend",
    "cpu_off",
    "asleep",
    "cpu_on",
    "noirq resume",
    "early resume",
    "resume",
    "complete",
    "thaw",
];

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}", self.device.as_deref().unwrap_or("no device"), self.phase)
    }
}

/// What a console shows.
#[derive(Debug)]
pub(super) struct Console {
    /// The last line of the list that is on the disk for certain. The console has a line once
    /// it was written; it is on the disk when the next thing happens.
    pub(super) from: Point,
    /// The last that can be there: one was perhaps written and not yet shown.
    pub(super) to: Point,
    /// Cycles that ended by it.
    pub(super) ended: Vec<u32>,
    /// Where its kernel was: in a sleep that did not come back, or in none.
    pub(super) words: Option<Words>,
    /// The same without the last line: what is told twice is not told at once.
    pub(super) words_before: Option<Words>,
}

impl Console {
    /// Of the text of a console, on which a campaign goes on behind `CAMPAIGN`; the cycle `whole`
    /// had ended before.
    pub(super) fn of(text: &str, whole: u32) -> Option<Console> {
        let text = text.replace('\r', "");
        let lines: Vec<&str> = text.lines().filter_map(|l| Some(l.split_once("] ")?.1)).collect();
        let begin = lines.iter().position(|l| *l == "CAMPAIGN")?;
        let lines = &lines[begin + 1..];
        let mut shown = Point { cycle: whole, mark: Mark::End };
        let (mut ended, mut slept, mut asleep) = (Vec::new(), whole, None);
        for line in lines {
            if let Some(point) = line.strip_prefix("LIST ").and_then(|l| Point::of(&parsed(l)?)) {
                shown = point;
                if point.mark == Mark::End {
                    ended.push(point.cycle);
                }
            }
            // The kernel says it behind the mark, and stops the tasks that would show the mark.
            if line.starts_with("PM: suspend entry") {
                slept += 1;
                asleep = Some(Point { cycle: slept, mark: Mark::Asleep });
            }
        }
        // Behind the first mark of this start, the one before is another's and on the disk.
        let sure = if shown.mark == Mark::End && ended.is_empty() { shown } else { shown.before() };
        Some(Console {
            from: asleep.map_or(sure, |a| a.max(sure)),
            to: asleep.map_or(shown, |a| a.max(shown)).next(),
            ended,
            words: words(lines),
            words_before: words(&lines[..lines.len().saturating_sub(1)]),
        })
    }

    /// Whether the list can have ended there.
    pub(super) fn allows(&self, point: Point) -> bool {
        self.from <= point && point <= self.to
    }
}

fn parsed(line: &str) -> Option<Value> {
    serde_json::from_str(line).ok()
}

/// What a message of the kernel is followed by. The phase of devices that is over names the next
/// one; there is none of its own for what lies behind the last of a half.
/// kernel/power/suspend.c, process.c, drivers/base/power/main.c, kernel/cpu.c,
/// drivers/acpi/sleep.c, 6.1 to 7.3. The first that fits counts.
const FOLLOWED_BY: [(&str, &str); 16] = [
    ("PM: suspend entry", "sync"),
    ("Freezing user space processes completed", "freeze_kernel"),
    ("Freezing user space processes", "freeze_user"),
    ("Freezing remaining freezable tasks completed", "prepare"),
    ("Freezing remaining freezable tasks", "freeze_kernel"),
    ("PM: suspend of devices complete", "late suspend"),
    ("PM: start suspend of devices complete", "late suspend"),
    ("PM: late suspend of devices complete", "noirq suspend"),
    ("PM: noirq suspend of devices complete", "asleep"),
    ("Disabling non-boot CPUs", "cpu_off"),
    ("Enabling non-boot CPUs", "cpu_on"),
    ("Waking up from system sleep state", "noirq resume"),
    ("PM: noirq resume of devices complete", "early resume"),
    ("PM: early resume of devices complete", "resume"),
    ("PM: resume of devices complete", "complete"),
    ("Restarting tasks", "thaw"),
];

/// Where a kernel was whose last lines these are; nothing if it was in no sleep.
fn words(lines: &[&str]) -> Option<Words> {
    let mut phase: Option<&str> = None;
    let mut running: Vec<&str> = Vec::new();
    for line in lines {
        if line.starts_with("LIST ") {
            continue;
        }
        if line.starts_with("PM: suspend exit") {
            phase = None;
        }
        if let Some((_, next)) = FOLLOWED_BY.iter().find(|(word, _)| line.contains(word)) {
            phase = Some(next);
        }
        // No phase but these four begins with a callback that is printed.
        if let Some(device) = called(line) {
            running.push(device);
            phase = phase.map(|p| match p {
                "prepare" => "suspend",
                "asleep" | "cpu_off" | "cpu_on" => "noirq resume",
                same => same,
            });
        } else if let Some(device) = returned(line) {
            running.retain(|d| *d != device);
        }
    }
    let device = running.pop().map(String::from);
    phase.map(|p| Words { phase: p.into(), device })
}

/// `DRIVER DEVICE: PM: calling FUNCTION @ THREAD, parent: PARENT`.
fn called(line: &str) -> Option<&str> {
    let (owner, rest) = line.split_once(": ")?;
    let is = rest.strip_prefix("PM: ").unwrap_or(rest).starts_with("calling ");
    is.then(|| owner.rsplit(' ').next())?
}

/// `DRIVER DEVICE: PM: FUNCTION returned ERROR after TIME usecs`.
fn returned(line: &str) -> Option<&str> {
    let (owner, rest) = line.split_once(": ")?;
    let is = rest.contains(" returned ") && rest.ends_with(" usecs");
    is.then(|| owner.rsplit(' ').next())?
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOWN: &str = "\
[    1.0] LIST {\"what\":\"end\",\"cycle\":3}
[    2.0] CAMPAIGN
[    2.1] LIST {\"what\":\"start\",\"boot_id\":\"x\"}
[    2.2] LIST {\"what\":\"begin\",\"cycle\":5,\"at\":9}
[    2.3] PM: suspend entry (s2idle)
[    2.4] Freezing remaining freezable tasks completed (elapsed 0.001 seconds)
[    2.5] quux-phy quux-phy.0: PM: calling trouble_suspend @ 70, parent: platform
[    2.6] serial 00:04: PM: calling pnp_bus_suspend @ 70, parent: pnp0
[    2.7] serial 00:04: PM: pnp_bus_suspend returned 0 after 4 usecs
";

    fn point(cycle: u32, mark: Mark) -> Point {
        Point { cycle, mark }
    }

    #[test]
    fn a_console_tells_how_far_a_campaign_came() {
        let c = Console::of(DOWN, 4).expect("a console");
        // The kernel sleeps, so the mark of that is on the disk, though nobody could show it.
        assert_eq!((c.from, c.to), (point(5, Mark::Asleep), point(5, Mark::Awake)));
        let shown = format!(
            "{DOWN}[    3.0] PM: suspend exit\n[    3.1] LIST {{\"what\":\"saved\",\"cycle\":5}}\n"
        );
        let c = Console::of(&shown, 4).expect("a console");
        assert_eq!((c.from, c.to), (point(5, Mark::Awake), point(5, Mark::End)));
        assert_eq!((c.words, c.ended), (None, Vec::new()));
        let shown = format!("{shown}[    3.2] LIST {{\"what\":\"end\",\"cycle\":5}}\n");
        let c = Console::of(&shown, 4).expect("a console");
        assert_eq!((c.from, c.to), (point(5, Mark::Saved), point(6, Mark::Begin)));
        assert_eq!(c.ended, [5]);
        let c = Console::of("[ 2.0] CAMPAIGN\n", 4).expect("a console");
        assert_eq!((c.from, c.to), (point(4, Mark::End), point(5, Mark::Begin)));
        assert!(Console::of("[ 2.0] nothing began\n", 4).is_none());
    }

    #[test]
    fn the_last_words_are_the_phase_and_who_has_not_returned() {
        let words = |phase: &str, device: Option<&str>| {
            Some(Words { phase: phase.into(), device: device.map(String::from) })
        };
        let c = Console::of(DOWN, 4).expect("a console");
        assert_eq!(c.words, words("suspend", Some("quux-phy.0")));
        assert_eq!(c.words_before, words("suspend", Some("00:04")));
        let asleep = format!(
            "{DOWN}[ 2.8] quux-phy quux-phy.0: PM: trouble_suspend returned 0 after 9 usecs\n\
             [ 2.9] PM: noirq suspend of devices complete after 3.000 msecs\n"
        );
        let c = Console::of(&asleep, 4).expect("a console");
        assert_eq!(c.words, words("asleep", None));
        let up = format!("{asleep}[ 3.0] a b.1: PM: calling trouble_resume_noirq @ 1, parent: c\n");
        assert_eq!(
            Console::of(&up, 4).expect("a console").words,
            words("noirq resume", Some("b.1"))
        );
    }
}
