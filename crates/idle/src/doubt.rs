//! What cannot be right in a table of idle states, or is not a measurement.

use crate::snapshot::StateSeen;
use crate::state::ONLY_S2IDLE;
use serde::Serialize;
use std::collections::BTreeMap;

/// Something about a table that spoils what is derived from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Doubt {
    /// A target residency below the exit latency: the state cannot pay before
    /// it is left again.
    ResidencyBelowLatency {
        /// Number of the state.
        state: u32,
    },
    /// Deeper, but quicker to leave than an enabled shallower one.
    LatencyOrder {
        /// The shallower state.
        shallow: u32,
        /// The deeper state.
        deep: u32,
    },
    /// Deeper, but pays earlier than a shallower one: the shallower one is never
    /// the best.
    ResidencyOrder {
        /// The shallower state.
        shallow: u32,
        /// The deeper state.
        deep: u32,
    },
    /// Deeper, with the figures of the state before it: governors cannot tell
    /// them apart.
    SameFigures {
        /// The shallower state.
        shallow: u32,
        /// The deeper state.
        deep: u32,
    },
    /// Deeper, slower to leave or with a latency that the table does not show, and said to pay
    /// from the same time on: the table does not say when the shallower one is the better choice.
    SameResidency {
        /// The shallower state.
        shallow: u32,
        /// The deeper state.
        deep: u32,
    },
    /// Residencies are a multiple of the latencies, not measured: acpi_idle
    /// doubles them (`acpi_processor_setup_cstates`, drivers/acpi/processor_idle.c),
    /// intel_idle takes them three times below C1 for tables of ACPI
    /// (`intel_idle_init_cstates_acpi`, drivers/idle/intel_idle.c).
    #[serde(rename = "residency_is_multiple")]
    Multiple {
        /// 2 or 3.
        factor: u64,
    },
}

/// All doubts about a table, in order of its states.
pub fn doubts(states: &BTreeMap<u32, StateSeen>) -> Vec<Doubt> {
    let mut out = Vec::new();
    let known: Vec<(u32, u64, u64)> =
        states.iter().filter_map(|(&i, s)| Some((i, s.latency?, s.residency?))).collect();
    for (at, &(state, latency, residency)) in known.iter().enumerate() {
        if residency < latency {
            out.push(Doubt::ResidencyBelowLatency { state });
        }
        let Some(&(shallow, l, r)) = at.checked_sub(1).and_then(|i| known.get(i)) else { continue };
        let deep = state;
        if (l, r) == (latency, residency) {
            out.push(Doubt::SameFigures { shallow, deep });
        }
        // States for suspend-to-idle alone have the largest number there is.
        if r == residency && l != latency && r > 0 && r < ONLY_S2IDLE {
            out.push(Doubt::SameResidency { shallow, deep });
        }
        if latency < l {
            out.push(Doubt::LatencyOrder { shallow, deep });
        }
        if residency < r {
            out.push(Doubt::ResidencyOrder { shallow, deep });
        }
    }
    // A table that shows no latency at all: its states may still not be told apart.
    if states.values().all(|s| s.latency.is_none()) {
        let shown: Vec<(u32, u64)> =
            states.iter().filter_map(|(&i, s)| Some((i, s.residency?))).collect();
        for pair in shown.windows(2) {
            let [(shallow, r), (deep, same)] = *pair else { continue };
            if r == same && r > 0 && r < ONLY_S2IDLE {
                out.push(Doubt::SameResidency { shallow, deep });
            }
        }
    }
    // One state alone may happen to be a multiple.
    let slow: Vec<(u64, u64)> = known.iter().filter(|s| s.1 > 0).map(|s| (s.1, s.2)).collect();
    if slow.len() >= 2 {
        let all =
            |list: &[(u64, u64)], n: u64| list.iter().all(|&(l, r)| l.checked_mul(n) == Some(r));
        if all(&slow, 2) {
            out.push(Doubt::Multiple { factor: 2 });
        } else if slow[0].1 <= slow[0].0.saturating_mul(3) && all(&slow[1..], 3) {
            out.push(Doubt::Multiple { factor: 3 });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn residencies_are_told_as_multiples_however_large() {
        let table = |list: &[(u64, u64)]| {
            let state = |(i, &(latency, residency)): (usize, &(u64, u64))| {
                let (latency, residency) = (Some(latency), Some(residency));
                (i as u32, StateSeen { latency, residency, ..StateSeen::default() })
            };
            doubts(&list.iter().enumerate().map(state).collect())
        };
        let twice = Doubt::Multiple { factor: 2 };
        assert!(table(&[(0, 0), (3, 6), (40, 80)]).contains(&twice));
        assert!(!table(&[(0, 0), (3, 6), (40, 81)]).contains(&twice));
        assert!(!table(&[(0, 0), (3, 6), (u64::MAX - 1, u64::MAX)]).contains(&twice));
    }
}
