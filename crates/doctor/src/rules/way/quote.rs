//! Lines and times as findings about a wake-up quote them, and its limits.

use crate::rules::unit::is_a_sleep;
use crate::way::Step;
use dormouse_base::say;
use dormouse_base::time::Ns;

/// What ends this long after the kernel came back is no part of the wake-up, in ms.
pub(super) const WAKE: i64 = 300_000;
/// A lease takes a second or two; from here on it is slow, in ms.
pub(super) const LEASE: i64 = 5_000;

/// A time in words, by stamps of this grain, both in ms.
pub(super) fn span(ms: i64, grain: i64) -> String {
    let t = say::span(Ns(ms.saturating_mul(1_000_000)));
    if grain >= 1_000 { format!("{t} by stamps of whole seconds") } else { t }
}

/// A line in quotation marks.
pub(super) fn words(s: &Step) -> String {
    let mut all = s.text.chars();
    let w: String = all.by_ref().take(120).collect();
    format!("\"{w}{}\"", if all.next().is_some() { "..." } else { "" })
}

/// Whether systemd starts the unit that asks the kernel to sleep, by its name or, of versions that
/// do not print it, by its description (units/systemd-suspend.service.in and its like).
pub(super) fn is_a_start(text: &str) -> bool {
    let Some((_, rest)) = text.split_once("]: Starting ") else { return false };
    let name = rest.split(' ').next().unwrap_or_default().trim_end_matches("...");
    let described = ["System Suspend", "System Hibernate", "System Hybrid", "Suspend", "Hibernate"];
    let is = |w: &str| rest.strip_prefix(w).is_some_and(|r| !r.starts_with(char::is_alphabetic));
    is_a_sleep(name) || described.iter().any(|w| is(w))
}
