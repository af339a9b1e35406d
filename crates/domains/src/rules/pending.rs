//! Suppliers whose sync_state waits: what the boot loader left on stays on.

use super::found;
use crate::fact::{Fact, Finding};
use crate::{Case, Report};
use alloc::vec::Vec;
use dormouse_model::finding::{Confidence, Level};

pub fn judge(_: &Case, report: &Report, out: &mut Vec<Finding>) {
    for s in &report.suppliers {
        let level = if s.forced { Level::Note } else { Level::Risk };
        let fact = Fact::SyncPending { supplier: s.clone() };
        out.push(found("sync-state", level, Confidence::Certain, fact, s.evidence.clone()));
    }
}
