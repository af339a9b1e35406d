//! Device links that the kernel could not make.

use super::found::{Found, found};
use crate::case::Case;
use crate::report::Report;
use dormouse_base::finding::{Area, Confidence, Finding, Level};
use dormouse_base::say::names;
use std::collections::BTreeSet;

pub(super) fn judge(case: &Case, _: &Report, out: &mut Vec<Found>) {
    let mut seen = BTreeSet::new();
    let (mut own, mut others, mut evidence) = (0, Vec::new(), Vec::new());
    for u in &case.unlinked {
        if seen.insert((&u.consumer, &u.supplier)) {
            match u.consumer == u.supplier {
                true => own += 1,
                false => others.push(format!("{} to {}", u.consumer, u.supplier)),
            }
            if evidence.len() < 3 {
                evidence.push(u.evidence.clone());
            }
        }
    }
    if seen.is_empty() {
        return;
    }
    let itself = match own {
        0 => String::new(),
        1 => " One device was to be linked to itself.".to_string(),
        n => format!(" {n} devices were to be linked to themselves."),
    };
    let what = match others.len() {
        0 => "No device link is missing.".to_string(),
        1 => format!(
            "No device link was made from {}: nothing orders the two when they probe or sleep.",
            names(&others)
        ),
        n => format!(
            "{n} device links were not made, from {}: nothing orders the two ends when they probe \
             or sleep.",
            names(&others)
        ),
    };
    let mut f = Finding::new(("link-not-made", Area::Probe, Level::Note), Confidence::Certain)
        .says(format!("{what}{itself}"))
        .shown_by(evidence);
    if !others.is_empty() {
        f = f.look(
            "The supplier depends on its consumer, or is not registered yet: see whether the \
             property that asks for the link is right.",
        );
    }
    out.push(found(f));
}
