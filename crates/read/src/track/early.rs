//! Ends that stand before their start.
//!
//! A callback may begin on one CPU and end on another, and the clocks of CPUs differ
//! by microseconds. A callback that took less than that ends before it begins.

use super::Tracker;
use super::current::{Current, Early};
use super::devices::{DeviceKey, same_text};
use crate::event::Stamp;
use dormouse_base::complete::LostKind;
use dormouse_base::loss::Severity;
use dormouse_base::names::Sym;
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;

/// Clocks of CPUs differ by less.
const APART: Ns = Ns::from_us(100);

/// So many are remembered of a cycle; a trace without any starts has thousands.
const KEPT: usize = 64;

impl Tracker {
    /// A callback ends whose start was not seen: it may still come.
    pub(super) fn end_alone(
        &mut self,
        stamp: &Stamp<'_>,
        driver: &[u8],
        device: &[u8],
        error: i32,
    ) {
        let phase = self.bracket();
        let Some(c) = self.current.as_deref_mut().filter(|c| !c.over && c.early.len() < KEPT)
        else {
            self.lose_start(phase, stamp.at);
            return;
        };
        c.early.push(Early {
            thread: c.threads.id(stamp.pid, stamp.comm, &mut self.names),
            driver: driver.into(),
            device: device.into(),
            time: stamp.time,
            error,
            at: stamp.at,
            phase,
        });
    }

    /// Each early end is that of a callback of its thread that begins just after it
    /// and has no other end, or its start is missing.
    pub(super) fn settle_early(&mut self, c: &mut Current) {
        for early in std::mem::take(&mut c.early) {
            let open = c.threads.open[usize::from(early.thread.0)].iter();
            let key = DeviceKey {
                driver: &early.driver,
                device: &early.device,
                parent: b"",
                driver_known: true,
            };
            let own = |&&(i, driver): &&(u32, Sym)| {
                let callback = &c.cycle.callbacks[i as usize];
                let name = self.graph.get(callback.device).name;
                let after = callback.start - early.time;
                Ns::ZERO <= after
                    && after <= APART
                    && same_text(self.names.bytes(driver), self.names.bytes(name), &key)
            };
            match open.filter(own).map(|&(i, _)| i).next() {
                Some(index) => {
                    c.threads.open[usize::from(early.thread.0)].retain(|&(i, _)| i != index);
                    c.complete(index, early.time, early.error);
                    c.cycle.lose(None, LostKind::Order, 1);
                    self.losses.add(
                        "time_backwards",
                        1,
                        Severity::Warning,
                        "time stamps run backwards: use the boot clock (echo boot > trace_clock)",
                        None,
                    );
                }
                None => {
                    c.cycle.lose(early.phase, LostKind::Starts, 1);
                    self.lose_start(None, early.at);
                }
            }
        }
    }

    /// Counts an end without its start; of the open cycle too, if there is one.
    fn lose_start(&mut self, phase: Option<Phase>, at: u64) {
        self.lose_of_cycle(phase, LostKind::Starts, 1);
        self.lose(
            "end_without_start",
            Severity::Warning,
            "a callback ended whose start is missing: start recording before the suspend",
            at,
        );
    }
}
