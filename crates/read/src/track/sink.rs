//! Trace events to tracker calls.

use super::current::Call;
use super::probed::is_probe;
use super::switch_names::is_switch;
use super::{DeviceKey, Tracker, rules};
use crate::event::{EventSink, Kind, Stamp, TraceEvent};
use dormouse_base::complete::LostKind;
use dormouse_base::loss::Severity;
use dormouse_base::phase::{Phase, PmEvent};
use rules::Step;

impl EventSink for Tracker {
    fn event(&mut self, stamp: Stamp<'_>, event: TraceEvent<'_>) {
        event_of(self, stamp, event);
    }

    fn unused(&mut self, kind: Kind, count: u64) {
        self.unused.add(kind, count);
    }
}

fn event_of(t: &mut Tracker, stamp: Stamp<'_>, event: TraceEvent<'_>) {
    match event {
        TraceEvent::SuspendResume { action, value, begin } => {
            step(t, &stamp, action, value, begin);
        }
        TraceEvent::CallbackStart { driver, device, parent, ops, event } => {
            let said = rules::phase_of(ops, event);
            let phase = t.bracket().filter(|b| !rules::early(*b, said, ops)).unwrap_or(said);
            let key = DeviceKey { driver, device, parent, driver_known: true };
            let function = rules::operation(ops);
            t.start_callback(&stamp, &Call { key, function, event, phase });
        }
        TraceEvent::CallbackEnd { driver, device, error } => {
            t.end_callback(&stamp, driver, device, error);
        }
        TraceEvent::Other { name, text } if is_switch(name) => t.switch_event(&stamp, name, text),
        TraceEvent::Other { name, text } if is_probe(name) => t.probe_event(&stamp, name, text),
        TraceEvent::Other { name, text } => t.side_event(&stamp, name, text),
        TraceEvent::Lost { count } => {
            let count = count.unwrap_or(1);
            t.losses().add(
                "lost_events",
                count,
                Severity::Error,
                "the trace buffer was too small: enlarge it (buffer_size_kb), or record fewer events",
                (stamp.at > 0).then_some(stamp.at),
            );
            // The buffer of one CPU says so when it is read: which phase it was
            // is not known.
            t.lose_of_cycle(None, LostKind::Messages, count);
        }
    }
}

fn step(t: &mut Tracker, stamp: &Stamp<'_>, action: &[u8], value: i64, begin: bool) {
    match rules::step(action) {
        Step::Enter if begin => {
            t.open_cycle(stamp, true);
            t.note_main(stamp);
            t.set_mode(rules::mode(value));
        }
        Step::Enter => t.touch(stamp),
        Step::Nested => t.touch(stamp),
        Step::Unknown => t.lose(
            "unknown_step",
            Severity::Info,
            "the kernel traced a step that this version does not know; its time shows as a gap",
            stamp.at,
        ),
        Step::Phase(phase) => {
            let (event, cpu) = match phase {
                p if p.has_devices() => {
                    (PmEvent::from_number(value).unwrap_or(rules::plain_event(p)), 0)
                }
                Phase::CpuOff | Phase::CpuOn => {
                    (rules::plain_event(phase), u32::try_from(value).unwrap_or(0))
                }
                p => (rules::plain_event(p), 0),
            };
            if phase == Phase::Asleep && value == 4 {
                t.note_hibernation();
            }
            if begin {
                t.begin_phase(stamp, phase, event, cpu);
            } else {
                t.end_phase(stamp, phase, event, cpu);
            }
            t.note_main(stamp);
        }
    }
}
