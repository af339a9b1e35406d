//! From a record to a [`TraceEvent`].

use super::format::{EventFormat, Field, Kind};
use super::header::Header;
use super::printfmt::{self, Lookup, Printer};
use super::sections::unpacked;
use super::symbols::Symbols;
use super::unpack::Budget;
use super::word::Machine;
use crate::event::{self, EventSink, Stamp, TraceEvent};
use dormouse_base::loss::{Losses, Severity};
use dormouse_base::phase::PmEvent;
use dormouse_base::time::Ns;
use std::collections::HashMap;

/// What to do with one kind of record.
#[derive(Debug)]
enum Plan {
    SuspendResume {
        action: Field,
        value: Field,
        start: Field,
    },
    CallbackStart {
        device: Field,
        driver: Field,
        parent: Field,
        ops: Field,
        event: Field,
        /// The kernel's own words for the numbers in `event`.
        words: Vec<(i64, PmEvent)>,
    },
    CallbackEnd {
        device: Field,
        driver: Field,
        error: Field,
    },
    Other(Printer),
}

/// Turns records into events; owns the tables of the file.
pub(crate) struct Decoder<'a> {
    machine: Machine,
    common_type: Field,
    common_pid: Field,
    offset: i64,
    /// Format and plan by event number.
    plans: Vec<Option<(EventFormat, Plan)>>,
    /// What those without a plan are of.
    unwanted: HashMap<u16, event::Kind>,
    comms: HashMap<i32, Box<[u8]>>,
    names: NameTables<'a>,
    text: Vec<u8>,
}

/// Texts and functions by address.
struct NameTables<'a> {
    texts: HashMap<u64, Box<[u8]>>,
    symbols: Symbols<'a>,
}

impl Lookup for NameTables<'_> {
    fn text(&self, address: u64) -> Option<&[u8]> {
        self.texts.get(&address).map(|t| &**t)
    }

    fn function(&self, address: u64, with_offset: bool, out: &mut Vec<u8>) {
        self.symbols.write(address, with_offset, out);
    }
}

impl<'a> Decoder<'a> {
    /// Takes the tables out of `header`.
    pub(super) fn new(
        header: &mut Header<'a>,
        budget: &mut Budget,
        losses: &mut Losses,
    ) -> Decoder<'a> {
        let machine = Machine { endian: header.endian, long: header.page.long };
        let mut plans = Vec::new();
        let mut functions = false;
        for event in std::mem::take(&mut header.events) {
            let id = usize::from(event.id);
            let Some(plan) = plan(&event, machine) else {
                let advice = "an event of this kernel lacks a field that all known kernels have; \
                              its records are missing";
                losses.add("tracedat_format", 1, Severity::Error, advice, None);
                continue;
            };
            let named = ["workqueue", "rpm", "hrtimer", "timer"];
            functions |= named.iter().any(|n| event.name.starts_with(n));
            if plans.len() <= id {
                plans.resize_with(id + 1, || None);
            }
            if plans[id].is_none() {
                plans[id] = Some((event, plan));
            }
        }
        let symbols = if functions {
            Symbols::new(unpacked(header.kallsyms, 0, budget, losses))
        } else {
            Symbols::default()
        };
        Decoder {
            machine,
            common_type: header.common_type.clone(),
            common_pid: header.common_pid.clone(),
            offset: header.offset,
            plans,
            unwanted: std::mem::take(&mut header.unwanted),
            comms: std::mem::take(&mut header.comms),
            names: NameTables { texts: std::mem::take(&mut header.texts), symbols },
            text: Vec::new(),
        }
    }

    /// The stamp of a record; the name stays empty until it is needed.
    fn stamp(&self, time: u64, cpu: u32, at: u64) -> Stamp<'static> {
        let time = i64::try_from(time).unwrap_or(i64::MAX).saturating_add(self.offset);
        Stamp { time: Ns(time), pid: 0, comm: b"", cpu, at }
    }

    /// Tells that events are missing before the record that follows.
    pub(super) fn lost(
        &self,
        time: u64,
        cpu: u32,
        at: u64,
        count: Option<u64>,
        sink: &mut dyn EventSink,
    ) {
        sink.event(self.stamp(time, cpu, at), TraceEvent::Lost { count });
    }

    /// Decodes one record and hands it on.
    pub(super) fn record(
        &mut self,
        record: &[u8],
        (time, cpu, at): (u64, u32, u64),
        sink: &mut dyn EventSink,
        losses: &mut Losses,
    ) {
        let endian = self.machine.endian;
        let id = self.common_type.number(endian, record).unwrap_or(0) as u16;
        let Some(Some((format, plan))) = self.plans.get(usize::from(id)) else {
            let kind = self.unwanted.get(&id).copied().unwrap_or(event::Kind::Unknown);
            return sink.unused(kind, 1);
        };
        let Some(pid) = self.common_pid.number(endian, record) else {
            return count_short(losses, at);
        };
        let pid = pid as i32;
        let comm: &[u8] = match self.comms.get(&pid) {
            Some(c) => c,
            None if pid == 0 => b"<idle>",
            None => b"<...>",
        };
        let stamp = Stamp { pid, comm, ..self.stamp(time, cpu, at) };
        let text = |f: &Field| f.text(endian, record);
        let number = |f: &Field| f.number(endian, record);
        let event = match plan {
            Plan::SuspendResume { action, value, start } => {
                let (Some(n), Some(begin)) = (number(value), number(start)) else {
                    return count_short(losses, at);
                };
                let action = match action.kind {
                    Kind::Number | Kind::TextAddress => {
                        let address = number(action).unwrap_or(0) as u64;
                        match self.names.text(address) {
                            Some(t) => t,
                            None => return count_unknown_action(losses, at),
                        }
                    }
                    _ => match text(action) {
                        Some(t) => t,
                        None => return count_short(losses, at),
                    },
                };
                TraceEvent::SuspendResume { action, value: n, begin: begin != 0 }
            }
            Plan::CallbackStart { device, driver, parent, ops, event, words } => {
                let texts = (text(driver), text(device), text(parent), text(ops), number(event));
                let (Some(driver), Some(device), Some(parent), Some(ops), Some(n)) = texts else {
                    return count_short(losses, at);
                };
                let word = words.iter().find(|w| w.0 == n).map(|w| w.1);
                let Some(event) = word.or_else(|| PmEvent::from_number(n)) else {
                    let advice = "a device callback of an unknown PM event was left out; the \
                                  kernel may be newer than this program";
                    losses.add("unknown_pm_event", 1, Severity::Warning, advice, Some(at + 1));
                    return;
                };
                TraceEvent::CallbackStart { driver, device, parent, ops, event }
            }
            Plan::CallbackEnd { device, driver, error } => {
                let (Some(driver), Some(device), Some(n)) =
                    (text(driver), text(device), number(error))
                else {
                    return count_short(losses, at);
                };
                TraceEvent::CallbackEnd { driver, device, error: n as i32 }
            }
            Plan::Other(printer) => {
                printer.print(format, record, self.machine, &self.names, &mut self.text);
                TraceEvent::Other { name: format.name.as_bytes(), text: &self.text }
            }
        };
        sink.event(stamp, event);
    }
}

/// Finds the fields an event needs.
fn plan(event: &EventFormat, machine: Machine) -> Option<Plan> {
    let f = |name: &str| event.field(name).cloned();
    Some(match &*event.name {
        "suspend_resume" => {
            Plan::SuspendResume { action: f("action")?, value: f("val")?, start: f("start")? }
        }
        "device_pm_callback_start" => Plan::CallbackStart {
            device: f("device")?,
            driver: f("driver")?,
            parent: f("parent")?,
            ops: f("pm_ops")?,
            event: f("event")?,
            words: printfmt::symbols(event, "event")
                .into_iter()
                .filter_map(|(n, word)| Some((n, PmEvent::from_name(&word)?)))
                .collect(),
        },
        "device_pm_callback_end" => {
            Plan::CallbackEnd { device: f("device")?, driver: f("driver")?, error: f("error")? }
        }
        _ => Plan::Other(Printer::new(event, machine)),
    })
}

fn count_short(losses: &mut Losses, at: u64) {
    let advice = "a record is shorter than its format says; the file is damaged, record again";
    losses.add("tracedat_short_record", 1, Severity::Warning, advice, Some(at + 1));
}

fn count_unknown_action(losses: &mut Losses, at: u64) {
    let advice = "the name of a suspend step is missing from the file (its printk formats), so \
                  the step is left out: record again with trace-cmd record";
    losses.add("tracedat_unknown_action", 1, Severity::Error, advice, Some(at + 1));
}
