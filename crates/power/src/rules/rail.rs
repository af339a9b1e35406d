//! What a device tree asks of regulators in sleep, where it contradicts itself.

use super::found::{Found, found};
use crate::case::Case;
use crate::rail::MODES;
use crate::report::Report;
use dormouse_base::finding::{Area, Confidence, Evidence, Finding, Level};
use dormouse_base::say::names;

/// A property of a blob has no line: its path stands for it.
fn at(path: &str, mode: usize) -> Evidence {
    let mut text = String::from(path);
    text.push('/');
    text.push_str(MODES[mode].1);
    Evidence { line: 0, time: None, text, doubtful: false }
}

pub(super) fn judge(case: &Case, _: &Report, out: &mut Vec<Found>) {
    for r in &case.rails {
        for (m, (mode, _)) in MODES.iter().enumerate() {
            let supply = r.supply.map(|s| &case.rails[s]);
            let fed_off = supply.filter(|s| s.asked[m].on == Some(false));
            if let (Some(true), Some(s)) = (r.asked[m].on, fed_off) {
                let f = Finding::new(("rail-fed-off", Area::Domain, Level::Risk), Confidence::Likely)
                    .says(format!(
                        "The device tree asks {} to stay on in {mode}, and {}, which feeds it, to go off.",
                        r.name, s.name
                    ))
                    .look(
                        "See which of the two is meant: without its supply a rail is off, whatever \
                         its own node asks.",
                    )
                    .shown_by([at(&r.path, m), at(&s.path, m)]);
                out.push(found(f));
            }
            // Nothing wakes from hibernation by a device that has power.
            if r.asked[m].on == Some(false) && !r.wakes.is_empty() && *mode != "disk" {
                let f = Finding::new(
                    ("rail-wakes-off", Area::Domain, Level::Risk),
                    Confidence::Likely,
                )
                .says(format!(
                    "The device tree asks {} to go off in {mode}, and {}, which it feeds, to \
                             wake the system.",
                    r.name,
                    names(&r.wakes)
                ))
                .look(
                    "Let the rail stay on in that mode, or see whether another rail feeds \
                             what wakes.",
                )
                .shown_by([at(&r.path, m)]);
                out.push(found(f));
            }
        }
    }
}
