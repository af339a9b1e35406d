//! What a recording leaves open, because machines that differ explain it alike.

use super::number::{ms, plural};
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::time::Ns;
use dormouse_sleep::evidence::{Doubt, Fidelity, Verdict};

/// A half of which no single figure is claimed, in the answer: as recorded, and
/// what machines that explain the recording make of it.
pub fn open(direction: Direction, d: &Doubt, (low, high): (Ns, Ns)) -> String {
    let half = direction.name();
    let today = d.today[usize::from(direction == Direction::Resume)];
    format!("{half} {today} as recorded -> {low} to {high}, the recording does not say more")
}

/// Which phases are open, how far, and what recording would tell; empty if all
/// machines answer alike. Phases that are not reproduced are said elsewhere.
pub fn doubt(d: &Doubt, f: &Fidelity) -> Vec<String> {
    let reproduced = |p: Phase| f.phase(p).is_none_or(|c| c.verdict < Verdict::NotReproduced);
    let open = Phase::DEVICE.into_iter().filter(|p| !d.agrees(*p) && reproduced(*p));
    let ranges = open.filter_map(|p| Some((p, p.device_index().and_then(|i| d.range[i])?)));
    let ranges: Vec<String> = ranges
        .map(|(p, (low, high))| format!("{} {} to {}", p.title(), ms(low), ms(high)))
        .collect();
    if ranges.is_empty() {
        return Vec::new();
    }
    let noirq = !d.agrees(Phase::ResumeNoirq) && reproduced(Phase::ResumeNoirq);
    let tick = d
        .tick
        .filter(|_| noirq)
        .map(|tick| format!("No line says how long a tick is (CONFIG_HZ); up to {tick} is taken."));
    let mut said = if d.machines == 1 {
        vec![format!(
            "A part of these phases is explained by no callback, and may change too, ms: {}.",
            ranges.join("; ")
        )]
    } else if d.listed {
        vec![format!(
            "What the kernel's own work costs, and when a CPU that has just come up has its first \
             tick, is not recorded; by that these phases may take, ms: {}.",
            ranges.join("; ")
        )]
    } else {
        vec![
            format!(
                "{} that differ in silent devices, links and costs explain this recording alike, \
                 and answer differently, ms: {}.",
                plural(d.machines, "machine"),
                ranges.join("; ")
            ),
            "What tells: a recording of `dormouse record`, which lists all devices, links and \
             flags."
                .into(),
        ]
    };
    said.extend(tick);
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_open_phases_are_named_with_what_would_tell() {
        let mut d = Doubt { machines: 25, ..Doubt::default() };
        let none = Fidelity::default();
        assert_eq!(doubt(&d, &none), [""; 0]);
        d.claim[1] = Some(Ns::from_ms(101));
        d.range[1] = Some((Ns::from_ms(100), Ns::from_ms(102)));
        assert_eq!(doubt(&d, &none), [""; 0], "apart by 2 %");
        d.range[1] = Some((Ns::from_ms(60), Ns::from_ms(102)));
        let said = doubt(&d, &none).join(" ");
        assert!(said.contains("25 machines") && said.contains("suspend 60.00 to 102.00"), "{said}");
        assert!(said.contains("dormouse record"), "{said}");
        d.tick = Some(Ns::from_ms(10));
        assert!(!doubt(&d, &none).join(" ").contains("tick"), "suspend has none");
        d.listed = true;
        let said = doubt(&d, &none).join(" ");
        assert!(said.contains("first tick") && !said.contains("dormouse record"), "{said}");
        d.machines = 1;
        let said = doubt(&d, &none).join(" ");
        assert!(said.contains("no callback") && !said.contains("dormouse record"), "{said}");
    }
}
