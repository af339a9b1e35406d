//! What `dormouse show --only idle --pack` prints: the work of all CPUs on fewer of them.

use super::numbers::{percent, seconds, us};
use super::wrapped::wrap;
use crate::wording::number::grouped;
use dormouse_idle::pack::Packed;
use std::fmt::Write as _;

/// The page's part; the first entry is as recorded.
pub(super) fn text(steps: &[Packed]) -> String {
    let Some(now) = steps.first() else { return String::new() };
    let ns = |n: i64| n.max(0).unsigned_abs();
    let best = steps.iter().max_by_key(|p| (p.deep_ns, p.cpus)).unwrap_or(now);
    let mut out = String::from("\n");
    out += &wrap(&if best.deep_ns > now.deep_ns {
        format!(
            "Packed on {} of {} CPUs, the package could sleep deep for {} s instead of {} s.",
            best.cpus,
            now.cpus,
            seconds(ns(best.deep_ns)),
            seconds(ns(now.deep_ns))
        )
    } else {
        format!(
            "Packing work on fewer than {} CPUs gives the package no more sleep: what ran side by \
             side would run one after another.",
            now.cpus
        )
    });
    out += "CPUs  wake-ups  all asleep s   deep s  longest us  delayed  mean wait us  max us\n";
    for p in steps {
        let wait = p.waited_ns / p.delayed.max(1) as i64;
        let _ = writeln!(
            out,
            "{:<4}{:>10}{:>14}{:>9}{:>12}{:>9}{:>14}{:>8}",
            p.cpus,
            grouped(p.wakeups),
            seconds(ns(p.all_asleep_ns)),
            seconds(ns(p.deep_ns)),
            us(p.longest_ns),
            percent(p.delayed, p.pieces),
            us(wait),
            us(p.longest_wait_ns)
        );
    }
    out + &wrap(
        "deep: all asleep for at least the target residency of the deepest state; delayed: pieces of \
         work that wait for another.",
    )
}
