//! Device links that the kernel could not make.

use crate::case::Case;
use crate::fact::{Fact, Finding};
use crate::report::Report;
use dormouse_base::finding::{Confidence, Level};
use std::collections::BTreeSet;

pub(super) fn judge(case: &Case, _: &Report, out: &mut Vec<Finding>) {
    let mut seen = BTreeSet::new();
    let (mut pairs, mut evidence) = (Vec::new(), Vec::new());
    for u in &case.unlinked {
        if seen.insert((&u.consumer, &u.supplier)) {
            pairs.push((u.consumer.clone(), u.supplier.clone()));
            if evidence.len() < 3 {
                evidence.push(u.evidence.clone());
            }
        }
    }
    if pairs.is_empty() {
        return;
    }
    let own = pairs.iter().filter(|(c, s)| c == s).count();
    let fact = Fact::Unlinked { pairs, own };
    out.push(Finding::new("link-not-made", Level::Note, Confidence::Certain, fact, evidence));
}
