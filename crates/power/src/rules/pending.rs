//! Suppliers whose sync_state waits: what the boot loader left on stays on.

use crate::case::Case;
use crate::fact::{Fact, Finding};
use crate::report::Report;
use dormouse_base::finding::{Confidence, Evidence, Level};
use std::collections::BTreeMap;

/// The name without its bus: a link has `platform:20000.clk`.
fn bare(name: &str) -> &str {
    name.split_once(':').map_or(name, |(_, rest)| rest)
}

pub(super) fn judge(case: &Case, report: &Report, out: &mut Vec<Finding>) {
    for s in &report.suppliers {
        // Whether anything is held on is the provider's choice (GENPD_FLAG_NO_SYNC_STATE),
        // and costs energy alone; a consumer whose probe failed has a finding of its own.
        let level = Level::Note;
        let fact = Fact::SyncPending { supplier: s.clone() };
        out.push(Finding::new("sync-state", level, Confidence::Certain, fact, s.evidence.clone()));
    }
    let waits = case.synced.iter().filter(|s| !s.synced);
    let evidence: Vec<Evidence> = waits.clone().take(3).map(|s| s.evidence.clone()).collect();
    if !evidence.is_empty() {
        // A link that orders nothing goes when its consumer has probed; any other that is
        // not active holds the call up (drivers/base/core.c:device_links_driver_bound).
        let mut missing: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for l in case.links.iter().filter(|l| !matches!(&*l.status, "" | "active" | "not tracked"))
        {
            missing.entry(bare(&l.supplier)).or_default().push(bare(&l.consumer).to_string());
        }
        let with = |device: &String| {
            (device.clone(), missing.get(device.as_str()).cloned().unwrap_or_default())
        };
        let fact = Fact::Unsynced { suppliers: waits.map(|s| with(&s.device)).collect() };
        out.push(Finding::new(
            "sync-state-waits",
            Level::Note,
            Confidence::Certain,
            fact,
            evidence,
        ));
    }
}
