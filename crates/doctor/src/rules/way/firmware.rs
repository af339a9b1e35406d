//! What a firmware's own marks say.

use crate::case::Case;
use crate::finding::{Area, Confidence, Finding, Level};
use crate::way::{Mark, Table, shown};
use dormouse_base::phase::Direction;
use dormouse_base::say;
use dormouse_base::time::Ns;

/// A step of a firmware that takes this long, in ns, is slow.
const SLOW: i64 = 2_000_000_000;

/// `89.86 s`.
fn seconds(ns: i64) -> String {
    let c = ns.saturating_add(5_000_000) / 10_000_000;
    format!("{}.{:02} s", c / 100, c % 100)
}

pub(crate) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let of = |t: Table| -> Vec<&Mark> { case.way.marks.iter().filter(|m| m.of == t).collect() };
    let steps = of(Table::Cbmem);
    let sum: i64 = steps.iter().map(|m| m.ns.max(0)).fold(0, i64::saturating_add);
    if let Some(most) = steps.iter().max_by_key(|m| m.ns).filter(|_| steps.len() > 2) {
        let level = if most.ns >= SLOW { Level::Slow } else { Level::Note };
        out.push(
            Finding::new(("way-firmware-step", Area::Phase, level), Confidence::Certain)
                .says(format!("The firmware took {} in the {} that the table shows; {} of them end at \"{}\", all other steps take {}. Why is not in the table.", seconds(sum), say::plural(steps.len(), "step"), seconds(most.ns), most.name, seconds(sum - most.ns)))
                .costs(Ns(most.ns))
                .shown_by([shown(most.line, &most.text)]),
        );
    }
    // Each mark of a boot lies behind ResetEnd (ACPI 6.5, 5.2.24.4: all in ns since reset).
    let boot = of(Table::Fpdt);
    if let Some(at) = boot.iter().position(|m| m.name == "ResetEnd") {
        let later = boot.get(at + 1).filter(|m| m.ns > 0 && m.ns < boot[at].ns);
        if let Some(later) = later {
            out.push(
                Finding::new(("way-firmware-clock", Area::Clock, Level::Risk), Confidence::Certain)
                    .says(format!("A time of the firmware is impossible: {} ({} ns) lies behind {} ({} ns), which follows it. One of them is in another unit than ns, so no time of firmware can be made of them.", boot[at].name, boot[at].ns, later.name, later.ns))
                    .shown_by([shown(boot[at].line, &boot[at].text), shown(later.line, &later.text)]),
            );
        }
    }
    let sleep = of(Table::Sleep);
    let value = |name: &str| sleep.iter().find(|m| m.name == name);
    let mut parts = Vec::new();
    if let (Some(a), Some(b)) = (value("suspend_start_ns"), value("suspend_end_ns"))
        && b.ns >= a.ns
    {
        parts.push(format!("going down {}", say::span(Ns(b.ns - a.ns))));
    }
    if let Some(m) = value("resume_prev_ns") {
        parts.push(format!("the last wake-up {}", say::span(Ns(m.ns))));
    }
    if let Some(m) = value("resume_avg_ns") {
        parts.push(format!("wake-ups on the average {}", say::span(Ns(m.ns))));
    }
    if !parts.is_empty() {
        let slow = value("resume_prev_ns").is_some_and(|m| m.ns >= SLOW);
        let level = if slow { Level::Slow } else { Level::Note };
        out.push(
            Finding::new(("way-firmware-sleep", Area::Phase, level), Confidence::Certain)
                .says(format!("The firmware's own times: {}.", parts.join(", ")))
                .when(slow.then_some(Direction::Resume), None)
                .shown_by(sleep.iter().map(|m| shown(m.line, &m.text))),
        );
    }
}
