//! What is asked of a prediction, and whether it was met.
//!
//! Half of the errors of a phase's time are at most 2 %, 19 of 20 at most 5 %.
//! Where the phase repeats itself worse than that, twice its spread (standard
//! deviation over the warm cycles of that board) is allowed; less than 100 us
//! is never asked. One start in a thousand may be out of order.

use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Never asked for less.
const FLOOR: i64 = 100_000;

/// One phase of one recorded cycle.
#[derive(Clone, Copy)]
pub(crate) struct Sample {
    pub predicted: Ns,
    pub observed: Ns,
    /// How well the phase repeats itself.
    pub spread: Ns,
}

impl Sample {
    fn error(self) -> i64 {
        (self.predicted - self.observed).0.abs()
    }

    /// Error in thousandths of what is allowed at `percent`.
    fn against(self, percent: i64) -> i64 {
        let tolerance = self.observed.0 * percent / 100;
        let allowed =
            if self.spread.0 > tolerance { 2 * self.spread.0 } else { tolerance }.max(FLOOR);
        self.error() * 1000 / allowed
    }

    /// Beyond what is allowed of 19 in 20.
    pub(crate) fn beyond(self) -> bool {
        self.against(5) > 1000
    }
}

/// The standard deviation of repeats; zero of fewer than two.
pub(crate) fn spread(repeats: &[Ns]) -> Ns {
    let n = repeats.len() as f64;
    if repeats.len() < 2 {
        return Ns::ZERO;
    }
    let mean = repeats.iter().map(|r| r.0 as f64).sum::<f64>() / n;
    let sum: f64 = repeats.iter().map(|r| (r.0 as f64 - mean).powi(2)).sum();
    Ns((sum / (n - 1.0)).sqrt() as i64)
}

/// The value that `percent` of `values` do not exceed.
fn quantile(mut values: Vec<i64>, percent: usize) -> i64 {
    values.sort_unstable();
    values.get((values.len() * percent).div_ceil(100).saturating_sub(1)).copied().unwrap_or(0)
}

/// Everything of one kernel and mode: errors of phases, starts out of order.
#[derive(Clone, Default)]
pub(crate) struct Table {
    pub title: String,
    /// Judged, or only shown (boards whose callbacks compute).
    pub judged: bool,
    pub phases: BTreeMap<Phase, Vec<Sample>>,
    pub starts: u64,
    pub wrong: u64,
}

impl Table {
    /// A line a phase, with the verdict; true if all passed.
    pub(crate) fn show(&self, out: &mut String) -> bool {
        let mut all = true;
        let _ = writeln!(
            out,
            "{:<34}{:<14}{:>6} {:>9} {:>7} {:>9} {:>9} {:>8} {:>8}",
            self.title, "", "cycles", "median %", "p95 %", "median", "p95", "of 2 %", "of 5 %"
        );
        for (phase, samples) in &self.phases {
            let of = |f: &dyn Fn(&Sample) -> i64, percent| {
                quantile(samples.iter().map(f).collect(), percent)
            };
            let relative = |s: &Sample| s.error() * 1_000_000 / s.observed.0.max(1);
            let (half, most) = (of(&|s| s.against(2), 50), of(&|s| s.against(5), 95));
            let pass = half <= 1000 && most <= 1000;
            all &= pass || !self.judged;
            let _ = writeln!(
                out,
                "{:<34}{:<14}{:>6} {:>9.2} {:>7.2} {:>9} {:>9} {:>8.2} {:>8.2}  {}",
                "",
                phase.title(),
                samples.len(),
                of(&relative, 50) as f64 / 1e4,
                of(&relative, 95) as f64 / 1e4,
                Ns(of(&|s| s.error(), 50)).to_string(),
                Ns(of(&|s| s.error(), 95)).to_string(),
                half as f64 / 1e3,
                most as f64 / 1e3,
                self.word(pass)
            );
        }
        if self.starts > 0 {
            let pass = self.wrong * 1000 < self.starts;
            all &= pass || !self.judged;
            let _ = writeln!(
                out,
                "{:<34}{:<14}{:>6} of {} starts out of order ({:.3} %, at most 0.1 %)  {}",
                "",
                "order",
                self.wrong,
                self.starts,
                self.wrong as f64 * 100.0 / self.starts as f64,
                self.word(pass)
            );
        }
        all
    }

    fn word(&self, pass: bool) -> &'static str {
        match (self.judged, pass) {
            (false, _) => "not judged",
            (true, true) => "PASS",
            (true, false) => "MISSED",
        }
    }

    /// Lines for [`Table::read`].
    pub(crate) fn write(&self) -> String {
        let head = format!("{}\t{}\t", self.title, u8::from(self.judged));
        let mut out = String::new();
        for (phase, samples) in &self.phases {
            for s in samples {
                let index = phase.device_index().unwrap_or(0);
                let (p, o, w) = (s.predicted.0, s.observed.0, s.spread.0);
                let _ = writeln!(out, "{head}phase\t{index}\t{p}\t{o}\t{w}");
            }
        }
        let _ = writeln!(out, "{head}order\t{}\t{}\t0\t0", self.wrong, self.starts);
        out
    }

    /// The tables that were written, in the order of their first lines.
    pub(crate) fn read(text: &str) -> Vec<Table> {
        let mut tables: Vec<Table> = Vec::new();
        for line in text.lines() {
            let words: Vec<&str> = line.split('\t').collect();
            let [title, judged, kind, numbers @ ..] = &words[..] else { continue };
            let n: Vec<i64> = numbers.iter().filter_map(|w| w.parse().ok()).collect();
            let [a, b, c, d] = n[..] else { continue };
            let at = tables.iter().position(|t| t.title == *title).unwrap_or_else(|| {
                let judged = *judged == "1";
                tables.push(Table { title: (*title).into(), judged, ..Table::default() });
                tables.len() - 1
            });
            if *kind == "phase" {
                let Some(&phase) = Phase::DEVICE.get(a as usize) else { continue };
                let sample = Sample { predicted: Ns(b), observed: Ns(c), spread: Ns(d) };
                tables[at].phases.entry(phase).or_default().push(sample);
            } else {
                tables[at].wrong += a as u64;
                tables[at].starts += b as u64;
            }
        }
        tables
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(samples: &[(i64, i64, i64)]) -> Table {
        let sample = |&(p, o, s): &(i64, i64, i64)| Sample {
            predicted: Ns(p),
            observed: Ns(o),
            spread: Ns(s),
        };
        let mut t = Table { title: "t".into(), judged: true, ..Table::default() };
        t.phases.insert(Phase::Suspend, samples.iter().map(sample).collect());
        t
    }

    #[test]
    fn two_and_five_percent_are_asked() {
        const MS: i64 = 1_000_000;
        let shown = |t: &Table| t.show(&mut String::new());
        assert!(shown(&table(&[(102 * MS, 100 * MS, 0)])));
        assert!(!shown(&table(&[(103 * MS, 100 * MS, 0)])));
        // Half may be worse, if not by more than 5 %.
        assert!(shown(&table(&[(100 * MS, 100 * MS, 0), (105 * MS, 100 * MS, 0)])));
        assert!(!shown(&table(&[(100 * MS, 100 * MS, 0), (106 * MS, 100 * MS, 0)])));
        // Twice the spread where that is larger; and never less than 100 us.
        assert!(shown(&table(&[(112 * MS, 100 * MS, 6 * MS)])));
        assert!(!shown(&table(&[(104 * MS, 100 * MS, MS)])));
        assert!(shown(&table(&[(600_000, 500_000, 0)])));
        assert!(!shown(&table(&[(601_000, 500_000, 0)])));
    }

    #[test]
    fn one_start_in_a_thousand() {
        let mut t = table(&[]);
        t.phases.clear();
        t.starts = 1000;
        t.wrong = 1;
        assert!(!t.show(&mut String::new()));
        t.starts = 1001;
        assert!(t.show(&mut String::new()));
    }

    #[test]
    fn tables_survive_writing() {
        let mut t = table(&[(1, 2, 3), (4, 5, 6)]);
        (t.starts, t.wrong) = (7, 1);
        let back = Table::read(&t.write());
        assert_eq!(back.len(), 1);
        assert_eq!(back[0].write(), t.write());
    }

    #[test]
    fn spread_is_the_standard_deviation() {
        assert_eq!(spread(&[Ns(2), Ns(4), Ns(6)]), Ns(2));
        assert_eq!(spread(&[Ns(2)]), Ns(0));
    }
}
