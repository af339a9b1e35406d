//! What `dormouse idle show` prints of two sides under the same workloads.

use super::numbers::percent;
use super::show::wrap;
use crate::text::{fit, safe};
use crate::wording::number::grouped;
use dormouse_idle::contrast::Contrast;
use std::fmt::Write as _;

/// In every workload a larger part of the sleeps of `side` was too deep.
fn pays_less(c: &Contrast, side: usize) -> bool {
    let part = |a: u64, b: u64| u128::from(a) * u128::from(b);
    c.workloads.iter().all(|w| {
        let (s, o) = (&w.sums[side], &w.sums[1 - side]);
        part(s.too_deep, o.sleeps) > part(o.too_deep, s.sleeps)
    })
}

/// The page's part.
pub fn text(c: &Contrast) -> String {
    let [a, b] = [0, 1].map(|i| safe(&c.sides[i]).into_owned());
    let n = c.workloads.len();
    let mut out = wrap(&match c.slower() {
        Some(s) => format!(
            "{} wakes from deeper states than {} in {}: a wake-up takes longer{}.",
            safe(&c.sides[s]),
            safe(&c.sides[1 - s]),
            if n == 1 { "the one workload".into() } else { format!("all {n} workloads") },
            if pays_less(c, s) { ", and more sleeps end before they paid" } else { "" }
        ),
        None => format!("Neither {a} nor {b} wakes from deeper states in every workload."),
    });
    out += "Counters between dumps before and after; misses are the kernel's own count.\n\n";
    let _ = writeln!(
        out,
        "{:<18}{:<14}{:>13}{:>10}{:>12}{:>10}",
        "Workload", "Side", "sleeps", "deepest", "exit us", "too deep"
    );
    for w in &c.workloads {
        for (side, s) in c.sides.iter().zip(&w.sums) {
            let tenths = (s.mean_latency() + 50) / 100;
            let _ = writeln!(
                out,
                "{:<18}{:<14}{:>13}{:>10}{:>12}{:>10}",
                fit(&safe(&w.name), 17),
                fit(&safe(side), 13),
                grouped(s.sleeps),
                percent(s.deepest, s.sleeps),
                format!("{}.{}", grouped(tenths / 10), tenths % 10),
                percent(s.too_deep, s.sleeps)
            );
        }
    }
    out += &wrap(
        "deepest: sleeps in the deepest state used; exit us: mean exit latency of a wake-up, by the \
         table.",
    );
    out
}
