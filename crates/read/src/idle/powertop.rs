//! The screen of powertop 1.x, as `powertop -d` prints it or as people copy it: shares of
//! states, wake-ups, and what caused them. Heads are translated, rows keep their form.

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
    asked.has_any(&["Wakeups-from-idle", "Avg residency"])
        && text.lines().map(plain).any(|l| is_head(l) || wakeups(l).is_some())
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
        let screen = std::mem::take(self);
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
    fn wakeups_alone_are_a_screen_and_a_sentence_about_them_is_none() {
        let [run] = &runs("Wakeups-from-idle per second : 99.5    interval: 4.0s\n")[..] else {
            panic!("one run")
        };
        assert!(run.columns.is_empty());
        assert!(runs("My Wakeups-from-idle per second are too many.\nAvg residency\n").is_empty());
    }
}
