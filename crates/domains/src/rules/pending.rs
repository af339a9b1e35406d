//! Suppliers whose sync_state waits: what the boot loader left on stays on.

use super::found;
use crate::fact::{Fact, Finding};
use crate::{Case, Report};
use alloc::vec::Vec;
use dormouse_model::finding::{Confidence, Evidence, Level};

pub fn judge(case: &Case, report: &Report, out: &mut Vec<Finding>) {
    for s in &report.suppliers {
        let level = if s.forced { Level::Note } else { Level::Risk };
        let fact = Fact::SyncPending { supplier: s.clone() };
        out.push(found("sync-state", level, Confidence::Certain, fact, s.evidence.clone()));
    }
    let waits = case.synced.iter().filter(|s| !s.synced);
    let evidence: Vec<Evidence> = waits.clone().take(3).map(|s| s.evidence.clone()).collect();
    if !evidence.is_empty() {
        let fact = Fact::Unsynced { suppliers: waits.map(|s| s.device.clone()).collect() };
        out.push(found("sync-state-waits", Level::Note, Confidence::Certain, fact, evidence));
    }
}
