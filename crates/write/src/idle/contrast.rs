//! What `dormouse idle show` prints of two sides under the same workloads.

use super::numbers::percent;
use super::show::wrap;
use crate::text::{fit, safe};
use crate::wording::number::grouped;
use dormouse_idle::contrast::Contrast;
use std::fmt::Write as _;

/// The page's part.
pub fn text(c: &Contrast) -> String {
    let [a, b] = [0, 1].map(|i| safe(&c.sides[i]).into_owned());
    let n = c.workloads.len();
    let mut out = wrap(&match c.slower() {
        Some(s) => format!(
            "{} wakes from deeper states than {} in {}: a wake-up takes longer, and more sleeps end \
             before they paid.",
            safe(&c.sides[s]),
            safe(&c.sides[1 - s]),
            if n == 1 { "the one workload".into() } else { format!("all {n} workloads") }
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
