//! What the next start of a campaign says of the cycle that was cut, beside what the console of
//! the killed guest shows.

use super::console::{Console, Mark, Point, Words};
use anyhow::{Context, Result};
use serde_json::Value;

/// What a guest sent after its first cycle.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// Files of pstore.
    pub(super) pstore: String,
    /// Settings that were not as before.
    pub(super) settings: usize,
    /// What `dormouse record` said, with single blanks.
    pub(super) said: String,
    /// What it added to the list.
    pub(super) lines: Vec<Value>,
}

/// Where a campaign was cut, by the next start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Place {
    /// Nowhere: no cycle was open, or its file was there.
    #[default]
    Whole,
    Before,
    Asleep,
    After,
}

/// A kill, judged.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    pub(super) place: Place,
    /// Where its kernel was, by the console; nothing if it was in no sleep.
    pub(super) words: Option<Words>,
    /// pstore has that without its last line.
    pub(super) behind: bool,
    /// What is wrong.
    pub(super) faults: Vec<String>,
}

impl Told {
    /// Of what came over the second serial line.
    pub(super) fn of(sent: &str) -> Result<Told> {
        let sent = sent.replace('\r', "");
        let missing = || format!("the guest sent no report: {sent:?}");
        let field =
            |name: &str| sent.lines().find_map(|l| l.strip_prefix(name)).with_context(missing);
        let between = |from: &str, to: &str| {
            sent.split_once(from).and_then(|(_, rest)| rest.split_once(to)).with_context(missing)
        };
        let said = between("\nSAID\n", "\nLINES\n")?.0;
        let lines = between("\nLINES\n", "END\n")?.0.lines();
        Ok(Told {
            pstore: field("PSTORE ")?.into(),
            settings: field("KNOBS ")?.parse().context("a number of settings")?,
            said: said.split_whitespace().collect::<Vec<_>>().join(" "),
            lines: lines
                .map(|l| {
                    serde_json::from_str(l).with_context(|| format!("a line of the list: {l}"))
                })
                .collect::<Result<_>>()?,
        })
    }

    /// The cycle that it recorded after what it found.
    pub(super) fn recorded(&self) -> Result<u32> {
        let ended = self.lines.iter().filter_map(Point::of).rfind(|p| p.mark == Mark::End);
        ended.map(|p| p.cycle).context("the start recorded no cycle")
    }

    /// Holds what it says against a console.
    pub(super) fn judge(&self, console: &Console) -> Verdict {
        let mut faults = Vec::new();
        // What comes before it begins itself is about what it found.
        let own = self.lines.iter().position(|l| l["what"] == "start").unwrap_or(0);
        let (found, own) = self.lines.split_at(own);
        let cut = found.iter().find(|l| l["what"] == "cut");
        let cycle = |line: &Value| line["cycle"].as_u64().and_then(|n| u32::try_from(n).ok());
        let at = |cycle: u32, mark: Mark| console.allows(Point { cycle, mark });
        let (place, last) = match (cut, found.iter().find_map(Point::of)) {
            (Some(cut), _) => {
                let n = cycle(cut).unwrap_or(0);
                let (place, fits) = match cut["place"].as_str() {
                    Some("before") => (Place::Before, at(n, Mark::Begin)),
                    Some("asleep") => (Place::Asleep, at(n, Mark::Asleep)),
                    _ => (Place::After, at(n, Mark::Awake) || at(n, Mark::Saved)),
                };
                if !fits {
                    faults.push(format!(
                        "it names cycle {n} as cut ({place:?}), and the console allows {:?} to {:?}",
                        console.from, console.to
                    ));
                }
                if cut["restarted"] != true {
                    faults.push(format!("cycle {n}: the machine is said not to be started again"));
                }
                (place, n)
            }
            // Its file was there, and the line that says so was not.
            (None, Some(end)) => {
                if !at(end.cycle, Mark::Saved) {
                    faults.push(format!("it says that cycle {} had ended", end.cycle));
                }
                (Place::Whole, end.cycle)
            }
            (None, None) => {
                let whole = own.iter().find_map(Point::of).map_or(0, |p| p.cycle.saturating_sub(1));
                if !at(whole, Mark::End) {
                    faults.push(format!(
                        "it names no cycle as cut, and the console allows {:?} to {:?}",
                        console.from, console.to
                    ));
                }
                (Place::Whole, whole)
            }
        };
        if found.len() > 1 {
            faults.push(format!("it found more than one thing: {found:?}"));
        }
        let next = own.iter().find_map(Point::of);
        if next != Some(Point { cycle: last + 1, mark: Mark::Begin }) {
            faults.push(format!("after cycle {last} it goes on with {next:?}"));
        }
        if self.settings > 0 {
            faults.push(format!("{} settings were not put back", self.settings));
        }
        let mut behind = false;
        if let Some(cut) = cut {
            let sentence = format!("Cycle {last} was cut: ");
            if !self.said.contains(&sentence) {
                faults.push(format!("it does not say {sentence:?}: {}", self.said));
            }
            let word = |key: &str| cut[key].as_str().map(String::from);
            let told = word("phase").map(|phase| Words { phase, device: word("device") });
            behind = told != console.words && told == console.words_before;
            if told != console.words && !behind {
                let shown =
                    |w: &Option<Words>| w.as_ref().map_or("no sleep".into(), Words::to_string);
                faults.push(format!(
                    "cycle {last}: it tells {}, and the console shows {} (pstore: {})",
                    shown(&told),
                    shown(&console.words),
                    self.pstore
                ));
            }
            let named = told.as_ref().map(|w| {
                format!(
                    "is {} in the phase {}",
                    w.device.as_deref().unwrap_or("no device"),
                    w.phase
                )
            });
            if let Some(named) = named.filter(|n| !self.said.contains(n)) {
                faults.push(format!("it does not say that the last {named:?}: {}", self.said));
            }
        }
        // What came back needs no last words.
        let words = console.words.clone().filter(|_| cut.is_some());
        Verdict { place, words, behind, faults }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONSOLE: &str = "\
[ 2.0] CAMPAIGN
[ 2.2] LIST {\"what\":\"begin\",\"cycle\":5,\"at\":9}
[ 2.3] LIST {\"what\":\"asleep\",\"cycle\":5}
[ 2.4] PM: suspend entry (s2idle)
[ 2.5] x quux-phy.0: PM: calling trouble_suspend @ 70, parent: platform
";

    fn sent(cut: &str, next: u32) -> Told {
        let lines = format!(
            "{cut}{{\"what\":\"start\"}}\n{{\"what\":\"begin\",\"cycle\":{next}}}\n{{\"what\":\"end\",\"cycle\":{next}}}\n"
        );
        let said =
            "Cycle 5 was cut: it hung. The last that\n  it tells is quux-phy.0 in the phase sync.";
        let text =
            format!("PSTORE console-ramoops-0\nKNOBS 0\nSAID\n{said}\n\nLINES\n{lines}END\n");
        Told::of(&text).expect("a report")
    }

    fn faults(cut: &str, next: u32) -> usize {
        let console = Console::of(CONSOLE, 4).expect("a console");
        sent(cut, next).judge(&console).faults.len()
    }

    #[test]
    fn a_start_that_names_another_cycle_place_phase_or_number_is_wrong() {
        let cut = |cycle: u32, place: &str, device: &str| {
            format!(
                "{{\"what\":\"cut\",\"cycle\":{cycle},\"place\":\"{place}\",\"restarted\":true,\
                 \"phase\":\"sync\",\"device\":\"{device}\"}}\n"
            )
        };
        assert_eq!(faults(&cut(5, "asleep", "quux-phy.0"), 6), 0);
        assert_eq!(faults(&cut(5, "before", "quux-phy.0"), 6), 1);
        // The line after the last one shown may be there.
        assert_eq!(faults(&cut(5, "after", "quux-phy.0"), 6), 0);
        assert_eq!(faults(&cut(5, "asleep", "quux-phy.0"), 7), 1);
        // It says something else on the screen, too.
        assert_eq!(faults(&cut(5, "asleep", "elm-gpio.0"), 6), 2);
        assert!(faults(&cut(6, "asleep", "quux-phy.0"), 7) > 0);
        assert!(faults("", 5) > 0);
        assert_eq!(sent("", 5).recorded().expect("a cycle"), 5);
    }
}
