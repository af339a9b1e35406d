//! What `dormouse show --only idle` prints of two sides under the same workloads.

use super::numbers::percent;
use super::wrapped::wrap;
use crate::text::{fit, safe};
use crate::wording::number::grouped;
use dormouse_idle::contrast::{Contrast, Sums, Workload};
use std::fmt::Write as _;

/// Workloads in which a larger share of the sleeps of `side` was too deep, by more
/// than rounding.
fn pays_less(c: &Contrast, side: usize) -> Vec<&str> {
    let share = |s: &Sums| u128::from(s.too_deep) * 1_000 / u128::from(s.sleeps.max(1));
    let less = |w: &&Workload| share(&w.sides[side]) >= share(&w.sides[1 - side]) + 10;
    c.workloads.iter().filter(less).map(|w| w.name.as_str()).collect()
}

/// What that says after the first sentence.
fn paid(c: &Contrast, side: usize) -> String {
    let list = pays_less(c, side);
    let place = match list.len() {
        0 => return String::new(),
        n if n == c.workloads.len() => if n == 1 { "" } else { " in each" }.to_string(),
        _ => format!(" in {}", safe(&list.join(", "))),
    };
    format!(" A larger share of its sleeps ends before it paid{place}.")
}

/// The page's part.
pub(super) fn text(c: &Contrast) -> String {
    let [a, b] = [0, 1].map(|i| safe(&c.sides[i]).into_owned());
    let n = c.workloads.len();
    let mut out = wrap(&match c.slower() {
        Some(s) => format!(
            "{} wakes from deeper states than {} in {}: a wake-up takes longer.{}",
            safe(&c.sides[s]),
            safe(&c.sides[1 - s]),
            if n == 1 { "the one workload".into() } else { format!("all {n} workloads") },
            paid(c, s)
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
        for (side, s) in c.sides.iter().zip(&w.sides) {
            let tenths = s.mean_exit_latency_ns.saturating_add(50) / 100;
            let _ = writeln!(
                out,
                "{:<18}{:<14}{:>13}{:>10}{:>12}{:>10}",
                fit(&safe(&w.name), 17),
                fit(&safe(side), 13),
                grouped(s.sleeps),
                percent(s.in_deepest, s.sleeps),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_workloads_in_which_it_is_so_are_named() {
        let sums = |sleeps, too_deep, mean_exit_latency_ns| Sums {
            sleeps,
            too_deep,
            mean_exit_latency_ns,
            ..Sums::default()
        };
        let workload = |name: &str, a, b| Workload { name: name.into(), sides: [a, b] };
        let mut c = Contrast {
            sides: ["bad".into(), "good".into()],
            workloads: vec![
                // Fewer sleeps end early, of fewer: the share is larger.
                workload("jbb", sums(100, 45, 108), sums(200, 48, 65)),
                // 21.6 % and 21.5 % are no difference.
                workload("fio", sums(1_000, 216, 87), sums(1_000, 215, 76)),
            ],
        };
        let page = text(&c).split_whitespace().collect::<Vec<_>>().join(" ");
        let said = "bad wakes from deeper states than good in all 2 workloads: a wake-up takes \
                    longer. A larger share of its sleeps ends before it paid in jbb.";
        assert!(page.starts_with(said), "{page}");
        c.workloads.truncate(1);
        assert!(text(&c).contains("before it paid."), "{}", text(&c));
    }
}
