//! What `dormouse compare --only idle` prints: predictions beside recordings.

use super::numbers::us;
use super::wrapped::wrap;
use crate::text::safe;
use crate::wording::number::grouped;
use crate::wording::plural;
use dormouse_idle::decided::Again;
use dormouse_idle::verdict::{DELAY, RELATIVE, Row, SHARE};
use std::fmt::Write as _;

/// Predictions of each kernel and a last line that says how many were right.
pub fn verdicts(kernels: &[((&str, usize), &[Row], Again)]) -> String {
    let mut out = String::new();
    let all: Vec<&Row> = kernels.iter().flat_map(|k| k.1).collect();
    let met = all.iter().filter(|r| r.met()).count();
    let missed = all.len() - met;
    out += &wrap(&match missed {
        0 => format!("All {} are right.", plural(all.len(), "prediction")),
        _ => format!("{missed} of {} missed.", plural(all.len(), "prediction")),
    });
    out += &wrap(&format!(
        "Right: shares of states within {} points; p50 and p99 of wake-up delays within {RELATIVE} % \
         or {} us; energy within {RELATIVE} %; and the direction of every clear change.",
        SHARE / 100,
        us(DELAY)
    ));
    out += &wrap(
        "Where recordings of the same (another seed) are further apart than that, twice their \
         spread (standard deviation) counts instead: no prediction is nearer than the machine \
         repeats itself.",
    );
    for ((kernel, cpus), rows, again) in kernels {
        let kernel = format!("{}, {}", safe(kernel), plural(*cpus, "CPU"));
        let alike: Vec<&[Row]> =
            rows.chunk_by(|a, b| a.work == b.work && a.settings == b.settings).collect();
        if alike.iter().any(|a| a.len() > 1) {
            let _ = write!(
                out,
                "\nKernel {}: off by at most, spread of recordings\n\
                 Work     Setting            points   p50 us   p99 us  energy %  right\n",
                kernel
            );
            for a in alike {
                let _ = writeln!(out, "{}", repeated(a));
            }
        } else {
            let _ = write!(
                out,
                "\nKernel {}; each pair is predicted, recorded\n\
                 Work      Setting          points    p50 us        p99 us        energy    verdict\n",
                kernel
            );
            for r in *rows {
                let _ = writeln!(out, "{}", line(r));
            }
        }
        let resting = rows.iter().filter(|r| r.rests_on_spread()).count();
        if resting > 0 {
            out += &wrap(&format!(
                "{} of {} right because recordings are as far apart.",
                resting,
                plural(rows.len(), "prediction is").replace("prediction iss", "predictions are")
            ));
        }
        out += &wrap(&format!(
            "{} of {} recorded decisions are made again from what the governor was told.",
            grouped(again.equal),
            grouped(again.decisions)
        ));
    }
    out += "points: largest error of a state's share of the time. energy: power assumed,\n  \
            thousandths of always polling where it has no %. The first setting of each\n  \
            work is the one that all are predicted from.\n";
    out
}

fn line(r: &Row) -> String {
    let (p, a) = (&r.predicted, &r.after);
    let points = r.share_error();
    let two = |p: i64, a: i64| format!("{:>6} {:<6}", us(p), us(a));
    let missed = missed(r);
    let verdict = if missed.is_empty() { "right".into() } else { missed.join(" ") };
    format!(
        "{:<9} {:<16} {:>4}.{:02} {} {} {:>4} {:<4} {verdict}",
        safe(&r.work),
        safe(&r.settings[1]),
        points / 100,
        points % 100,
        two(p.p50, a.p50),
        two(p.p99, a.p99),
        p.energy,
        a.energy
    )
}

/// What is not right.
fn missed(r: &Row) -> Vec<&'static str> {
    let mut missed = Vec::new();
    if !r.states_met() {
        missed.push("states");
    }
    for (met, name) in r.delays_met().into_iter().zip(["p50", "p99"]) {
        if !met {
            missed.push(name);
        }
    }
    if !r.energy_met() {
        missed.push("energy");
    }
    if !r.direction_met() {
        missed.push("direction");
    }
    missed
}

/// Several recordings of the same, and how far they are apart.
fn repeated(rows: &[Row]) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let most = |of: &dyn Fn(&Row) -> i64| rows.iter().map(of).max().unwrap_or(0);
    let hundredths = |v: i64| format!("{}.{:02}", v / 100, v % 100);
    let s = &first.spread;
    let (p50, p99) = (
        most(&|r| (r.predicted.p50 - r.after.p50).abs()),
        most(&|r| (r.predicted.p99 - r.after.p99).abs()),
    );
    // In tenths of a hundredth.
    let energy =
        most(&|r| (r.predicted.energy - r.after.energy).abs() * 1_000 / r.after.energy.max(1));
    let spread = s.energy * 1_000 / first.after.energy.max(1);
    let tenths = |v: i64| format!("{}.{}", v / 10, v % 10);
    let met = rows.iter().filter(|r| r.met()).count();
    let mut why: Vec<&str> = rows.iter().flat_map(missed).collect();
    why.sort_unstable();
    why.dedup();
    let why = if why.is_empty() { String::new() } else { format!(" {}", why.join(" ")) };
    let row = format!(
        "{:<8} {:<15}{:>6}{:>5}{:>5}{:>4}{:>5}{:>4}{:>5}{:>5}  {met} of {}",
        safe(&first.work),
        safe(&first.settings[1]),
        hundredths(most(&Row::share_error)),
        hundredths(s.shares.iter().copied().max().unwrap_or(0)),
        us(p50),
        us(s.p50),
        us(p99),
        us(s.p99),
        tenths(energy),
        tenths(spread),
        rows.len(),
    );
    // Rarely more than one figure is off.
    if row.len() + why.len() > 80 { format!("{row}\n {why}") } else { row + &why }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_idle::verdict::Figures;

    #[test]
    fn several_recordings_fit_a_line_with_their_spread() {
        let figures = |p50, share| Figures {
            shares: vec![share, 10_000 - share],
            p50,
            p99: 500_000,
            energy: 1_000,
            sleeps: 9,
        };
        let after = figures(50_000, 5_000);
        let row = |predicted: Figures| Row {
            work: "periodic".into(),
            settings: ["menu".into(), "menu-limit80us".into()],
            before: after.clone(),
            own: after.clone(),
            predicted,
            after: after.clone(),
            spread: Figures { shares: vec![40, 40], p50: 1_000, p99: 2_000, energy: 3, sleeps: 0 },
        };
        let rows = [row(figures(50_000, 5_000)), row(figures(60_000, 6_449))];
        let text = verdicts(&[(("6.12.117+deb12-amd64", 2), &rows, Again::default())]);
        assert!(text.starts_with("1 of 2 predictions missed.\n"), "{text}");
        let said = "periodic menu-limit80us  14.49 0.40   10   1    0   2  0.0  0.3  1 of 2";
        assert!(text.lines().any(|l| l.starts_with(said)), "{text}");
        assert!(text.contains("direction p50 states"), "{text}");
        assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
    }
}
