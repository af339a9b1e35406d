//! What a device tree asks of regulators in sleep, where it contradicts itself.

use crate::case::Case;
use crate::fact::{Fact, Finding};
use crate::rail::MODES;
use crate::report::Report;
use dormouse_base::finding::{Confidence, Evidence, Level};

/// A property of a blob has no line: its path stands for it.
fn at(path: &str, mode: usize) -> Evidence {
    let mut text = String::from(path);
    text.push('/');
    text.push_str(MODES[mode].1);
    Evidence { line: 0, time: None, text, doubtful: false }
}

pub(super) fn judge(case: &Case, _: &Report, out: &mut Vec<Finding>) {
    for r in &case.rails {
        for (m, (mode, _)) in MODES.iter().enumerate() {
            let supply = r.supply.map(|s| &case.rails[s]);
            let fed_off = supply.filter(|s| s.asked[m].on == Some(false));
            if let (Some(true), Some(s)) = (r.asked[m].on, fed_off) {
                let fact = Fact::RailFedOff { mode, rail: r.name.clone(), supply: s.name.clone() };
                let evidence = [at(&r.path, m), at(&s.path, m)].into();
                out.push(Finding::new(
                    "rail-fed-off",
                    Level::Risk,
                    Confidence::Likely,
                    fact,
                    evidence,
                ));
            }
            // Nothing wakes from hibernation by a device that has power.
            if r.asked[m].on == Some(false) && !r.wakes.is_empty() && *mode != "disk" {
                let devices = r.wakes.clone();
                let fact = Fact::RailWakesOff { mode, rail: r.name.clone(), devices };
                let evidence = [at(&r.path, m)].into();
                out.push(Finding::new(
                    "rail-wakes-off",
                    Level::Risk,
                    Confidence::Likely,
                    fact,
                    evidence,
                ));
            }
        }
    }
}
