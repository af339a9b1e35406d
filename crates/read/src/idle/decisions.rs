//! What an idle governor was told and decided, from the function probes of
//! `dormouse record --with idle` (crates/machine/src/idle.rs).
//!
//! | event | of |
//! |---|---|
//! | `idle_en` | the governor begins with an empty history |
//! | `idle_ent`, `idle_sel` | it is asked, it answers |
//! | `idle_lr`, `idle_ts`, `idle_sl` | what it was told in between |
//! | `idle_refl`, `idle_got` | what became of it; asked by the governor itself, whether the tick woke the CPU |

use crate::event::{EventSink, Stamp, TraceEvent, word};
use dormouse_idle::decided::Step;
use dormouse_idle::governors::SleepLength;
use std::collections::BTreeMap;

/// Bit 2 of the byte that holds it (`struct cpuidle_device`,
/// include/linux/cpuidle.h, 6.12 and 7.3).
const POLL_LIMIT: i64 = 4;

/// What is known of a decision that was begun on a CPU.
#[derive(Clone, Copy, Debug, Default)]
struct Open {
    limit: i64,
    stopped: bool,
    sleep: Option<SleepLength>,
    /// What became of the last: the question about the tick is still to come.
    learns: Option<(i64, i64, bool)>,
}

/// Takes a trace's events.
#[derive(Debug, Default)]
pub(crate) struct Decisions {
    open: BTreeMap<u32, Open>,
    /// CPU and step, in order of time.
    pub steps: Vec<(u32, Step)>,
    /// Events that cannot be understood.
    pub damaged: u64,
}

fn signed(text: &[u8], key: &[u8]) -> Option<i64> {
    std::str::from_utf8(word(text, key)?).ok()?.parse().ok()
}

impl Decisions {
    /// Writes what became of a sleep, if that is open.
    fn learn(&mut self, cpu: u32, tick: bool) {
        let open = self.open.entry(cpu).or_default().learns.take();
        if let Some((entered, residency, poll_limit)) = open {
            self.steps.push((cpu, Step::Learns { entered, residency, poll_limit, tick }));
        }
    }

    fn take(&mut self, cpu: u32, name: &[u8], text: &[u8]) -> Option<()> {
        match name {
            b"idle_en" => {
                // One for each CPU; none decides in between
                // (cpuidle_switch_governor, drivers/cpuidle/governor.c, 6.12).
                self.open.clear();
                self.steps.push((cpu, Step::Forgets));
            }
            b"idle_sel" => {
                self.learn(cpu, false);
                let o = self.open.entry(cpu).or_default();
                let step = Step::Decides {
                    limit: o.limit,
                    tick_stopped: o.stopped,
                    sleep: o.sleep,
                    state: usize::try_from(signed(text, b"idx")?).ok()?,
                    stop_tick: signed(text, b"stop").map(|s| s != 0),
                };
                self.steps.push((cpu, step));
            }
            b"idle_got" => {
                // The idle loop asks once more.
                let mine = memchr::memmem::find(text, b"_reflect+").is_some();
                let tick = signed(text, b"ret")? == 1;
                self.learn(cpu, mine && tick);
            }
            _ => {
                let o = self.open.entry(cpu).or_default();
                match name {
                    b"idle_ent" => *o = Open { learns: o.learns.take(), ..Open::default() },
                    b"idle_lr" => o.limit = signed(text, b"ret")?,
                    b"idle_ts" => o.stopped = signed(text, b"ret")? == 1,
                    b"idle_sl" => {
                        let (timer, event) = (signed(text, b"ret")?, signed(text, b"dt")?);
                        o.sleep = Some(SleepLength { timer, event });
                    }
                    b"idle_refl" => {
                        let limit = signed(text, b"ptl")? & POLL_LIMIT != 0;
                        o.learns = Some((signed(text, b"index")?, signed(text, b"res")?, limit));
                    }
                    _ => {}
                }
            }
        }
        Some(())
    }
}

impl EventSink for Decisions {
    fn wants(&self, event: &[u8]) -> bool {
        event.starts_with(b"idle_")
    }

    fn wants_all_times(&self) -> bool {
        true
    }

    fn event(&mut self, stamp: Stamp<'_>, event: TraceEvent<'_>) {
        if let TraceEvent::Other { name, text } = event
            && name.starts_with(b"idle_")
            && self.take(stamp.cpu, name, text).is_none()
        {
            self.damaged += 1;
        }
    }
}
