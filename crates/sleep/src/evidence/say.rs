//! What was inferred, as facts under an answer.

use super::{Flag, FlagProof, Supported, Wait};
use dormouse_base::time::Ns;
use dormouse_board::assumed::Assumed;
use dormouse_board::derive::Derived;
use std::collections::BTreeMap;

/// Printing that costs less is not worth a word.
const PRINTING: Ns = Ns(100_000);

/// Adds to the assumptions of `derived` what was inferred and from what.
pub(super) fn say(
    derived: &mut Derived,
    supported: Option<&Supported>,
    flags: &[Flag],
    waits: &[Wait],
) {
    let mut facts = Vec::new();
    if let Some(s) = supported {
        facts.push(Assumed::Rules {
            fit: s.all.iter().map(|p| p.name.into()).collect(),
            taken: s.policy.name.into(),
            title: s.policy.title.into(),
        });
    }
    let board = &derived.board;
    // `None` is the start of the phase.
    let name = |d: u32| -> Option<String> {
        let device = board.graph.devices.get(d as usize);
        device.map(|d| board.names.get(d.name).into())
    };
    let kind = |pick: fn(&FlagProof) -> bool| -> Vec<&Flag> {
        flags.iter().filter(|f| pick(&f.proof)).collect()
    };
    let names = |list: &[&Flag]| list.iter().filter_map(|f| name(f.device)).collect();
    let went = kind(|p| matches!(p, FlagProof::WentOn { .. }));
    if let Some(FlagProof::WentOn { next, last }) = went.first().map(|f| f.proof) {
        let (next, last) = (name(next), name(last));
        facts.push(Assumed::WentOn { devices: names(&went), next, last });
    }
    let stood = kind(|p| matches!(p, FlagProof::Stood { .. }));
    if let Some(FlagProof::Stood { last }) = stood.first().map(|f| f.proof) {
        facts.push(Assumed::Stood { devices: names(&stood), last: name(last) });
    }
    let mut by_source: BTreeMap<&str, usize> = BTreeMap::new();
    for f in flags {
        if let FlagProof::Default(row) = f.proof {
            *by_source.entry(row.bus).or_default() += 1;
        }
    }
    if !by_source.is_empty() {
        let list = by_source.iter().map(|(bus, n)| (String::from(*bus), *n)).collect();
        facts.push(Assumed::Subsystems(list));
    }
    facts.extend(waits.iter().map(|w| Assumed::Waits {
        waiter: name(w.waiter),
        awaited: name(w.awaited),
        phase: w.phase,
        late: w.late,
        gap: w.gap,
        times: w.times,
    }));
    let printing: Ns = derived.printing.iter().flatten().copied().max().unwrap_or_default();
    if printing >= PRINTING {
        facts.push(Assumed::Printing(printing));
    }
    derived.assumptions.extend(facts);
}
