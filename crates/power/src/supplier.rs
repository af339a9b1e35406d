//! Suppliers and the consumers that they wait for.

use crate::case::Case;
use crate::probe::Outcome;
use dormouse_base::finding::Evidence;
use std::collections::BTreeMap;

/// What the text says of a consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Its probe failed with this error.
    Failed(i32),
    /// It waits to probe.
    Waits,
    /// A driver spoke for it before.
    Spoke,
    /// A driver took it, or spoke for it, after the kernel said that it waits: nothing waits
    /// for it any more.
    Came,
    /// No line of a driver for it.
    Silent,
}

/// A consumer that is waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consumer {
    /// Its name.
    pub name: String,
    /// What became of it.
    pub fate: Fate,
}

/// A supplier with all that it waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Supplier {
    /// Its name.
    pub name: String,
    /// Its driver or bus.
    pub driver: String,
    /// Consumers in order of the text.
    pub consumers: Vec<Consumer>,
    /// The kernel stopped waiting.
    pub forced: bool,
    /// The lines, at most three.
    pub evidence: Vec<Evidence>,
}

/// Suppliers, those with most consumers first.
pub fn suppliers(case: &Case) -> Vec<Supplier> {
    let mut fates: BTreeMap<&str, Fate> = BTreeMap::new();
    for l in &case.lives {
        fates.insert(&l.device, Fate::Spoke);
    }
    for d in &case.deferrals {
        fates.insert(&d.device, Fate::Waits);
    }
    for p in &case.probes {
        let fate = match p.outcome {
            Outcome::Failed(error) => Fate::Failed(error),
            // The attempt that gave up ends with ETIMEDOUT.
            Outcome::GaveUp => Fate::Failed(-110),
            Outcome::Bound => Fate::Spoke,
            Outcome::Blocked | Outcome::Deferred => Fate::Waits,
        };
        fates.insert(&p.device, fate);
    }
    let bound = case.probes.iter().filter(|p| p.outcome == Outcome::Bound);
    let spoke: BTreeMap<&str, u64> = case
        .lives
        .iter()
        .map(|l| (l.device.as_str(), l.last))
        .chain(bound.map(|p| (p.device.as_str(), p.evidence.line)))
        .collect();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut seen = std::collections::BTreeSet::new();
    let mut out: Vec<Supplier> = Vec::new();
    for p in &case.pending {
        let at = *places.entry(&p.supplier).or_insert_with(|| {
            out.push(Supplier {
                name: p.supplier.clone(),
                driver: p.driver.clone(),
                consumers: Vec::new(),
                forced: false,
                evidence: Vec::new(),
            });
            out.len() - 1
        });
        let s = &mut out[at];
        s.forced |= p.consumer.is_empty();
        if s.evidence.len() < 3 {
            s.evidence.push(p.evidence.clone());
        }
        if !p.consumer.is_empty() && seen.insert((at, p.consumer.as_str())) {
            let fate = fates.get(p.consumer.as_str()).copied().unwrap_or(Fate::Silent);
            let came = fate == Fate::Spoke && spoke.get(&*p.consumer) > Some(&p.evidence.line);
            let fate = if came { Fate::Came } else { fate };
            s.consumers.push(Consumer { name: p.consumer.clone(), fate });
        }
    }
    out.sort_by_key(|s| std::cmp::Reverse(s.consumers.len()));
    out
}
