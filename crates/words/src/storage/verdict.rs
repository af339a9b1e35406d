//! What `dormouse compare --only storage` prints: simulated loads beside measured ones.

use crate::text::page::Page;
use crate::text::safe;
use crate::wording::number::{grouped, plural};
use dormouse_storage::verdict::{DELAY, Pair, RELATIVE, Row, SHARE};
use std::fmt::Write as _;

/// Loads of each kernel (its release, and what it adds to a request, ns).
pub fn verdicts(kernels: &[(&str, i64, &[Row])], colour: bool) -> String {
    let mut p = Page::new(colour);
    let all: Vec<&Row> = kernels.iter().flat_map(|k| k.2).collect();
    let missed = all.iter().filter(|r| !r.met()).count();
    p.paragraph(
        0,
        &match missed {
            0 => format!("All {} are right.", plural(all.len(), "simulated load")),
            _ => format!("{missed} of {} missed.", plural(all.len(), "simulated load")),
        },
    );
    p.paragraph(
        0,
        &format!(
            "Right: mean and 99th percentile of latency within {RELATIVE} % or {} us, and shares of \
             time asleep, gated and at the fastest clock within {} points. The first request of a \
             load does not count.",
            DELAY / 1_000,
            SHARE / 100
        ),
    );
    let mut out = p.finish();
    for (kernel, software, rows) in kernels {
        let _ = write!(
            out,
            "\nKernel {}, which adds {} us to a request. Each pair is simulated, measured:\n\n\
             | load | requests | mean us | p99 us | asleep % | gated % | fastest % | |\n\
             |---|---|---|---|---|---|---|---|\n",
            safe(kernel),
            us(*software)
        );
        for r in *rows {
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} | {} | {} | {} | {} |",
                safe(&r.name),
                grouped(r.requests as u64),
                pair(r.mean, us, r.mean.near()),
                pair(r.p99, us, r.p99.near()),
                pair(r.asleep, points, r.asleep.close()),
                pair(r.gated, points, r.gated.close()),
                pair(r.fastest, points, r.fastest.close()),
                if r.met() { "right" } else { "missed" }
            );
        }
    }
    out
}

fn us(ns: i64) -> String {
    format!("{}.{}", grouped(ns.unsigned_abs() / 1_000), ns.unsigned_abs() % 1_000 / 100)
}

fn points(hundredths: i64) -> String {
    format!("{}.{}", hundredths / 100, hundredths.abs() % 100 / 10)
}

/// A figure that missed is marked.
fn pair(p: Pair, text: fn(i64) -> String, near: bool) -> String {
    let mark = if near { "" } else { " !" };
    format!("{}, {}{mark}", text(p.foretold), text(p.measured))
}
