//! Asynchronous or not, of devices that never called back in a known thread.
//!
//! The main thread waits at a synchronous device until everything it depends
//! on is done, callback or not (`dpm_wait_for_subordinate`,
//! `dpm_wait_for_superior`). So a main thread that went on before that proves
//! the device asynchronous; one that stood still until then and no longer
//! proves it synchronous. Where neither is seen, the subsystem decides.

use super::expected::{NONE, Recorded, active, expected};
use super::subsystem;
use crate::simulate::policy::Policy;
use crate::simulate::{Kernel, Topology};
use dormouse_base::cycle::Cycle;
use dormouse_base::time::Ns;
use dormouse_board::derive::Derived;

/// The main thread went on this much before something was done: more than two
/// threads' time stamps can be apart.
const BEFORE: Ns = Ns(50_000);

/// It went on within this time after something was done.
const JUST_AFTER: Ns = Ns(150_000);

/// It stood still for at least this long.
const STOOD: Ns = Ns(500_000);

/// One device that proves asynchronous may stop hiding the next.
const ROUNDS: usize = 8;

/// How a flag became known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlagProof {
    /// The main thread went on to `next` before `last`, which the device waits
    /// for, had ended.
    WentOn {
        /// Number on the board.
        next: u32,
        /// Number on the board.
        last: u32,
    },
    /// The main thread stood still until `last` had ended.
    Stood {
        /// Number on the board.
        last: u32,
    },
    /// The subsystem's default for the kernel.
    Default(&'static subsystem::Default),
}

/// A flag that was inferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flag {
    /// Number on the board.
    pub device: u32,
    /// `power/async`.
    pub asynchronous: bool,
    /// Why.
    pub proof: FlagProof,
}

/// Decides the flags of all devices of the board that have none, by what
/// `cycles` prove and then by the defaults of `kernel`, and sets them.
pub(super) fn decide(
    cycles: &[&Cycle],
    derived: &mut Derived,
    policy: &Policy,
    kernel: Option<&Kernel>,
) -> Vec<Flag> {
    let mut flags = Vec::new();
    if !derived.board.pm_async || !policy.workers {
        return flags;
    }
    let mut stood = vec![None; derived.board.devices.len()];
    for _ in 0..ROUNDS {
        let new = went_on(cycles, derived, policy, &mut stood);
        if new.is_empty() {
            break;
        }
        for f in &new {
            derived.board.graph.devices[f.device as usize].async_flag = Some(true);
        }
        flags.extend(new);
    }
    for (d, stood) in stood.into_iter().enumerate() {
        let device = &mut derived.board.graph.devices[d];
        if device.async_flag.is_some() || device.facts.no_pm {
            continue;
        }
        let (asynchronous, proof) = if let Some(last) = stood {
            (false, FlagProof::Stood { last })
        } else {
            let names = &derived.board.names;
            let (name, driver) = (names.get(device.name), names.get(device.driver));
            let bus = names.get(device.subsystem);
            match subsystem::find(name, driver, bus, kernel) {
                Some(row) => (row.asynchronous, FlagProof::Default(row)),
                None => continue,
            }
        };
        device.async_flag = Some(asynchronous);
        flags.push(Flag { device: d as u32, asynchronous, proof });
    }
    flags
}

/// Devices without a flag that the main thread went past before it could have,
/// if they were synchronous; `stood` notes those it stood still at.
fn went_on(
    cycles: &[&Cycle],
    derived: &Derived,
    policy: &Policy,
    stood: &mut [Option<u32>],
) -> Vec<Flag> {
    let Ok(t) = Topology::new(&derived.board) else { return Vec::new() };
    let active = active(&t);
    let mut proof: Vec<Option<FlagProof>> = vec![None; t.len()];
    stood.fill(None);
    for cycle in cycles {
        for span in cycle.phases.iter().filter(|s| s.phase.may_be_async()) {
            let r = Recorded::of(cycle, span, derived);
            let e = expected(&t, &active, policy, derived.board.pm_async, &r);
            for p in e.passed.iter().filter(|p| p.next != NONE) {
                let d = p.device as usize;
                let Some(next) = r.seen[p.next as usize] else { continue };
                if derived.board.graph.devices[d].async_flag.is_some() {
                    continue;
                }
                if p.until > next.start + BEFORE {
                    proof[d] = Some(FlagProof::WentOn { next: p.next, last: p.last });
                } else if next.start - p.until <= JUST_AFTER && p.until - p.arrived >= STOOD {
                    stood[d] = Some(p.last);
                }
            }
        }
    }
    let found = proof.into_iter().enumerate();
    let found = found.filter_map(|(d, p)| Some((d as u32, p?)));
    found.map(|(device, proof)| Flag { device, asynchronous: true, proof }).collect()
}
