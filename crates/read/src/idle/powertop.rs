//! The screen of powertop 1.x, as `powertop -d` prints it or as people copy it: shares of
//! states, wake-ups, and what caused them. Heads are translated, rows keep their form. And the
//! overview of 2.x: wake-ups, and what caused them.

use super::between::plain;
use super::column::thousandths;
use crate::grams::Asked;
use dormouse_base::loss::{Losses, Severity};
use dormouse_idle::powertop::{Cause, Powertop};
use dormouse_idle::turbostat::{Interval, Row, Run};

/// So many causes of one screen are kept.
const CAUSES: usize = 32;

const WAKEUPS: &str = "Wakeups-from-idle per second";
const POWER: &str = "Power usage (ACPI estimate)";
const TOP: &str = "Top causes for wakeups";

/// Whether a text has such a screen, or a part of one.
pub(crate) fn is_powertop(text: &str, asked: &Asked<'_>) -> bool {
    asked.has_any(&["Wakeups-from-idle", "Avg residency", "wakeups/second"])
        && text
            .lines()
            .map(plain)
            .any(|l| is_head(l) || wakeups(l).is_some() || summary(l).is_some())
}

/// `Cn                Avg residency       P-states (frequencies)`.
fn is_head(line: &str) -> bool {
    line.trim_start().starts_with("Cn") && line.contains("Avg residency")
}

/// The number that `text` begins with: `18,3W (4,4 hours)`.
fn number(text: &str) -> Option<i64> {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',');
    thousandths(&text[..end.unwrap_or(text.len())])
}

/// `Wakeups-from-idle per second : 228.8    interval: 15.0s`: both figures.
fn wakeups(line: &str) -> Option<(i64, Option<i64>)> {
    let rest = line.trim_start().strip_prefix(WAKEUPS)?.trim_start().strip_prefix(':')?;
    let interval = rest.split_once("interval:").and_then(|(_, r)| number(r));
    Some((number(rest)?, interval))
}

/// `Summary: 1012.4 wakeups/second,  0.0 GPU ops/seconds, …` of 2.x.
fn summary(line: &str) -> Option<i64> {
    let (front, _) = line.trim_start().strip_prefix("Summary:")?.split_once(" wakeups/second")?;
    thousandths(front.trim())
}

/// `The battery reports a discharge rate of 11.4 W`.
fn discharge(line: &str) -> Option<i64> {
    let (_, rest) = line.split_once("reports a discharge rate of ")?;
    let (number, unit) = rest.trim().trim_end_matches('.').split_once(' ')?;
    let value = thousandths(number)?;
    match unit.trim() {
        "W" => Some(value),
        "mW" => Some(value / 1_000),
        _ => None,
    }
}

/// What 2.x counts.
const CATEGORIES: [&str; 4] = ["Interrupt", "Process", "Timer", "kWork"];

/// `41.2 ms/s     410.2        Interrupt      [128] i915`: what stands before the kind is how
/// often a second.
fn event(line: &str, wakeups: Option<i64>) -> Option<Cause> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = words.iter().position(|w| CATEGORIES.contains(w)).filter(|at| *at >= 2)?;
    let rate = thousandths(words[at - 1])?;
    let used = |w: &str| w.ends_with("/s") || w.ends_with('%');
    let what = words[at + 1..].join(" ");
    if !words[..at - 1].iter().any(|w| used(w)) || what.is_empty() {
        return None;
    }
    let share = wakeups
        .filter(|w| *w > 0)
        .map_or(0, |all| i64::try_from(i128::from(rate) * 100_000 / i128::from(all)).unwrap_or(0));
    Some(Cause { name: format!("{} {what}", words[at]), share, rate })
}

/// `C3 mwait          2.9ms (66.6%)`: the state, its mean stay, and its share.
fn state(line: &str) -> Option<(&str, Option<i64>, i64)> {
    // Clocks of the CPU may stand to the right.
    let (front, _) = line.trim_start().split_once("%)")?;
    let (front, share) = front.rsplit_once('(')?;
    let share = thousandths(share.trim())?;
    let name = front.split_whitespace().next()?;
    let of_state =
        name.strip_prefix('C').is_some_and(|n| n.starts_with(|c: char| c.is_ascii_digit()));
    if !of_state && name != "polling" {
        return None;
    }
    let stay = front.trim_end().strip_suffix("ms");
    let stay = stay.and_then(|s| thousandths(s.split_whitespace().next_back()?));
    Some((name, stay, share))
}

/// `  54.4% (240.4)       <interrupt> : nvidia`, with a mark of what disturbs behind the
/// brackets.
fn cause(line: &str) -> Option<Cause> {
    let (share, rest) = line.trim_start().split_once('%')?;
    let (rate, name) = rest.trim_start().strip_prefix('(')?.split_once(')')?;
    let name = name.strip_prefix("D ").unwrap_or(name);
    let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
    let (share, rate) = (thousandths(share)?, thousandths(rate.trim())?);
    (!name.is_empty()).then_some(Cause { name, share, rate })
}

/// Reads every screen as a run of its own.
pub(super) fn read(name: &str, text: &str, out: &mut Vec<Run>, losses: &mut Losses) {
    let mut cut = 0;
    let mut screen = Screen::default();
    for line in text.lines().map(plain) {
        if is_head(line) {
            screen.end(name, out);
            screen.states = true;
        } else if let Some((often, interval)) = wakeups(line) {
            if screen.told.wakeups.is_some() {
                screen.end(name, out);
            }
            screen.told.wakeups = Some(often);
            screen.told.interval = interval;
            screen.states = false;
        } else if let Some(often) = summary(line) {
            let watts = screen.told.watts.take();
            screen.end(name, out);
            screen.told = Powertop { wakeups: Some(often), watts, ..Powertop::default() };
            screen.events = true;
        } else if let Some(watts) = discharge(line) {
            // It stands above what was counted.
            if screen.told.wakeups.is_some() {
                screen.end(name, out);
            }
            screen.told.watts = Some(watts);
        } else if let Some(c) = event(line, screen.told.wakeups).filter(|_| screen.events) {
            match screen.told.causes.len() {
                CAUSES => cut += 1,
                _ => screen.told.causes.push(c),
            }
        } else if let Some((_, rest)) = line.split_once(POWER).filter(|_| screen.is_open()) {
            screen.told.watts = rest.trim_start().strip_prefix(':').and_then(number);
        } else if line.trim_start().starts_with(TOP) && screen.is_open() {
            (screen.states, screen.top) = (false, true);
        } else if screen.states {
            screen.state(line);
        } else if screen.top {
            match cause(line) {
                Some(_) if screen.told.causes.len() == CAUSES => cut += 1,
                Some(c) => screen.told.causes.push(c),
                None => screen.top = screen.told.causes.is_empty() && line.trim().is_empty(),
            }
        }
    }
    screen.end(name, out);
    let advice = "powertop names more causes of wakeups than are kept: the first are the largest";
    losses.add("left_out", cut, Severity::Info, advice, None);
}

/// One screen as it is read.
#[derive(Default)]
struct Screen {
    /// Rows of states may follow, and rows of causes.
    states: bool,
    top: bool,
    /// Rows of the overview of 2.x may follow.
    events: bool,
    columns: Vec<String>,
    row: Row,
    told: Powertop,
}

impl Screen {
    fn is_open(&self) -> bool {
        !self.row.is_empty() || self.told != Powertop::default()
    }

    fn state(&mut self, line: &str) {
        let Some((state, stay, share)) = state(line) else { return };
        let column = match state {
            "C0" => "Busy%".to_owned(),
            "polling" => "POLL%".to_owned(),
            _ => format!("{state}%"),
        };
        if self.row.insert(column.clone(), share).is_none() {
            self.columns.push(column);
            self.told.stays.extend(stay.map(|s| (state.to_owned(), s)));
        }
    }

    fn end(&mut self, name: &str, out: &mut Vec<Run>) {
        let mut screen = std::mem::take(self);
        // 2.x has its rows in the order of the power that it guesses.
        screen.told.causes.retain(|c| c.rate > 0);
        screen.told.causes.sort_by_key(|c| std::cmp::Reverse(c.rate));
        if screen.is_open() {
            out.push(Run {
                label: name.to_owned(),
                columns: screen.columns,
                intervals: vec![Interval { machine: screen.row, cpus: Vec::new() }],
                powertop: Some(screen.told),
                ..Run::default()
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(text: &str) -> Vec<Run> {
        let (mut out, mut losses) = (Vec::new(), Losses::default());
        if is_powertop(text, &Asked::of(text.as_bytes())) {
            read("x", text, &mut out, &mut losses);
        }
        assert!(losses.list.is_empty(), "{losses:?}");
        out
    }

    #[test]
    fn a_screen_tells_states_wakeups_and_their_causes_in_any_locale() {
        let text = "Cn\t          Avg residency       P-states (frequencies)\n\
            C0 (cpu occupee)        (21,4%)     1.90 Ghz     0.0%\n\
            polling           0,0ms ( 0,0%)\n\
            C1 mwait          0,2ms ( 1,1%)\n\
            C4 mwait          3,7ms (77,5%)\n\
            Wakeups-from-idle per second : 311,6\tinterval: 12,0s\n\
            Power usage (ACPI estimate): 14,2W (3,1 hours)\n\
            \n\
            Top causes for wakeups:\n\
            \x20 41,2% (140,6)       <interrupt> : elm0\n\
            \x20  7,0% ( 23,9)D  oakd\n\
            \n\
            Suggestion: none\n\
            \x20 9,9% ( 1,0)  of a sentence\n";
        let [run] = &runs(text)[..] else { panic!("one run") };
        assert_eq!(run.columns, ["Busy%", "POLL%", "C1%", "C4%"]);
        assert_eq!((run.work(), run.mean("C4%")), (Some(21_400), Some(77_500)));
        let told = run.powertop.as_ref().expect("a screen");
        assert_eq!(
            (told.wakeups, told.interval, told.watts),
            (Some(311_600), Some(12_000), Some(14_200))
        );
        let names: Vec<&str> = told.causes.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names, ["<interrupt> : elm0", "oakd"]);
        assert_eq!(told.stays.last(), Some(&("C4".to_owned(), 3_700)));
    }

    #[test]
    fn the_overview_of_2_x_tells_what_wakes_most() {
        let text = "The battery reports a discharge rate of 11.4 W\nThe energy consumed was 228 J\n\n\
            Summary: 1000.0 wakeups/second,  0.0 GPU ops/seconds, 0.0 VFS ops/sec and 9.1% CPU use\n\n\
            \x20               Usage       Events/s    Category       Description\n\
            \x20 8.78 W     23.2 us/s      0.00        Process        [PID 9] /usr/bin/fir\n\
            \x20 1.10 W      9.1%         330.8        Process        [PID 2212] /usr/bin/oak\n\
            \x20 0.30 W     41.2 ms/s     410.0        Interrupt      [128] elm0\n\
            \x20           100.0%                      Device         USB device: Elm\n";
        let [run] = &runs(text)[..] else { panic!("one run") };
        let told = run.powertop.as_ref().expect("a screen");
        assert_eq!((told.wakeups, told.watts), (Some(1_000_000), Some(11_400)));
        let causes: Vec<(&str, i64, i64)> =
            told.causes.iter().map(|c| (c.name.as_str(), c.share, c.rate)).collect();
        assert_eq!(
            causes,
            [
                ("Interrupt [128] elm0", 41_000, 410_000),
                ("Process [PID 2212] /usr/bin/oak", 33_080, 330_800)
            ]
        );
        assert!(runs("The battery reports a discharge rate of 11.4 W\n").is_empty());
    }

    #[test]
    fn wakeups_alone_are_a_screen_and_a_sentence_about_them_is_none() {
        let [run] = &runs("Wakeups-from-idle per second : 99.5    interval: 4.0s\n")[..] else {
            panic!("one run")
        };
        assert!(run.columns.is_empty());
        assert!(runs("My Wakeups-from-idle per second are too many.\nAvg residency\n").is_empty());
    }
}
