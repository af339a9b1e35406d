//! Suppliers whose sync_state waits: what the boot loader left on stays on.

use super::found::{Found, found, weighing};
use crate::case::Case;
use crate::report::Report;
use crate::say::verb;
use crate::supplier::{Fate, Supplier};
use dormouse_base::finding::{Area, Confidence, Evidence, Finding, Level};
use dormouse_base::say::names;
use std::collections::BTreeMap;

/// The name without its bus: a link has `platform:20000.clk`.
fn bare(name: &str) -> &str {
    name.split_once(':').map_or(name, |(_, rest)| rest)
}

pub(super) fn judge(case: &Case, report: &Report, out: &mut Vec<Found>) {
    for s in &report.suppliers {
        // Whether anything is held on is the provider's choice (GENPD_FLAG_NO_SYNC_STATE),
        // and costs energy alone; a consumer whose probe failed has a finding of its own.
        let f = Finding::new(("sync-state", Area::Probe, Level::Note), Confidence::Certain)
            .says(waits(s))
            .shown_by(s.evidence.clone());
        out.push(weighing(advised(f, s), s.consumers.len() as u64));
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
        let one = |device: &String| match missing.get(device.as_str()) {
            None => device.clone(),
            Some(all) => format!("{device} (not yet: {})", names(all)),
        };
        let all: Vec<String> = waits.map(|s| one(&s.device)).collect();
        let f = Finding::new(("sync-state-waits", Area::Probe, Level::Note), Confidence::Certain)
            .says(format!(
                "{} {} not been told that all consumers have probed, and {} on what was on at boot.",
                names(&all),
                verb(all.len(), "has", "have"),
                verb(all.len(), "keeps", "keep"),
            ))
            .shown_by(evidence);
        out.push(found(f));
    }
}

fn waits(s: &Supplier) -> String {
    if s.forced && s.consumers.is_empty() {
        return format!("The kernel stopped waiting for consumers of {}.", s.name);
    }
    let all: Vec<String> = s.consumers.iter().map(|c| c.name.clone()).collect();
    if s.forced {
        return format!(
            "The kernel stopped waiting for {}: what {} had kept on since boot, and nobody had \
             asked for, may be off.",
            names(&all),
            s.name
        );
    }
    let came = s.consumers.iter().filter(|c| c.fate == Fate::Came).count();
    if came == all.len() {
        return format!(
            "{} waited for {}, which came later: nothing is held up.",
            s.name,
            names(&all)
        );
    }
    let late = match came {
        0 => String::new(),
        n => format!(" {n} of them came later."),
    };
    format!(
        "{} may keep on what was on at boot until {} {} probed.{late}",
        s.name,
        names(&all),
        verb(all.len(), "has", "have"),
    )
}

fn advised(mut f: Finding, s: &Supplier) -> Finding {
    let has = |fate: fn(Fate) -> bool| s.consumers.iter().any(|c| fate(c.fate));
    if has(|f| matches!(f, Fate::Failed(_))) {
        f = f.look("Mend the probes that failed first; their errors stand in the log.");
    }
    if has(|f| f == Fate::Silent) {
        f = f.look(
            "A consumer that nobody uses: status = \"disabled\" in the device tree. One without its \
             driver: put its module into the image. A parent of the real user: bind the parent's \
             driver.",
        );
    }
    match s.forced {
        true => f,
        false => f.look(
            "Last resort: fw_devlink.sync_state=timeout, or write 1 to the supplier's state_synced; \
             what a missing consumer needs may then switch off.",
        ),
    }
}
