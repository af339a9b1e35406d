//! Power domains that are switched in a cycle, from the probes of
//! `record --with domains` (crates/machine/src/domains.rs).

use super::Tracker;
use super::probe_text::quoted;
use super::switch_names::EVENTS;
use crate::event::{self, Stamp};
use dormouse_base::cycle::Switch;
use dormouse_base::loss::Severity;

/// Most switches kept of a cycle: two for each domain in practice.
const MAX_SWITCHES: usize = 100_000;

impl Tracker {
    /// One of these events. Outside a cycle nobody waits for it.
    pub(super) fn switch_event(&mut self, stamp: &Stamp<'_>, name: &[u8], text: &[u8]) {
        let Some(&(_, on, begin)) = EVENTS.iter().find(|e| e.0 == name) else { return };
        let phase = self.bracket();
        let Some(c) = self.current.as_deref_mut().filter(|c| !c.over) else {
            self.unused.add(event::Kind::Genpd, 1);
            return;
        };
        c.last = c.last.max(stamp.time);
        let thread = c.threads.id(stamp.pid, stamp.comm, &mut self.names);
        if begin {
            if c.cycle.switches.len() >= MAX_SWITCHES {
                self.losses.add(
                    "switches_dropped",
                    1,
                    Severity::Warning,
                    "more power domains were switched in one cycle than are kept",
                    Some(stamp.at),
                );
                return;
            }
            let open = c.threads.open[usize::from(thread.0)].last();
            let device = open.and_then(|(i, _)| c.cycle.callbacks.get(*i as usize));
            c.cycle.switches.push(Switch {
                domain: self.names.add_bytes(quoted(text)),
                on,
                phase,
                device: device.map(|b| b.device),
                thread,
                start: stamp.time,
                end: stamp.time,
                complete: false,
            });
            return;
        }
        let mut open = c.cycle.switches.iter_mut().rev();
        match open.find(|s| s.thread == thread && s.on == on && !s.complete) {
            Some(s) => (s.end, s.complete) = (stamp.time, true),
            None => self.losses.add(
                "switch_without_begin",
                1,
                Severity::Info,
                "a power domain had begun to be switched before the recording or the cycle",
                Some(stamp.at),
            ),
        }
    }
}
