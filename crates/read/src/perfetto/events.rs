//! From listed events to [`TraceEvent`]s in order of time.

use super::scan::{
    CALLBACK_END, CALLBACK_START, Found, GENERIC, Item, SUSPEND_RESUME, SUSPEND_RESUME_MINIMAL,
};
use super::text;
use super::wire::{Fields, Value};
use crate::event::{EventSink, Stamp, TraceEvent};
use dormouse_base::loss::{Losses, Severity};
use dormouse_base::phase::PmEvent;
use dormouse_base::time::Ns;

/// Hands all of `found` to `sink`.
pub(crate) fn emit(found: &mut Found, file: &[u8], sink: &mut dyn EventSink, losses: &mut Losses) {
    let mut items = std::mem::take(&mut found.items);
    // Stable: events of equal time stay in the order of the file.
    items.sort_by_key(|i| i.time);
    let mut text = Vec::new();
    for item in &items {
        let time = Ns(i64::try_from(item.time).unwrap_or(i64::MAX));
        let stamp = Stamp { time, pid: 0, comm: b"", cpu: item.cpu, at: Found::offset(item) };
        match found.event(item, file) {
            None => sink.event(stamp, TraceEvent::Lost { count: None }),
            Some(e) => one(e, item, stamp, found, &mut text, sink, losses),
        }
    }
}

/// Decodes one FtraceEvent.
fn one(
    e: &[u8],
    item: &Item,
    stamp: Stamp<'_>,
    found: &Found,
    text: &mut Vec<u8>,
    sink: &mut dyn EventSink,
    losses: &mut Losses,
) {
    let (mut pid, mut kind, mut body) = (0i32, 0, &b""[..]);
    for (n, v) in Fields::new(e) {
        match (n, v) {
            (2, Value::Number(p)) => pid = p as i32,
            (_, Value::Bytes(b)) => (kind, body) = (n, b),
            _ => {}
        }
    }
    let comm: &[u8] = match found.comms.get(&pid) {
        Some(c) => c,
        None if pid == 0 => b"<idle>",
        None => b"<...>",
    };
    let stamp = Stamp { pid, comm, ..stamp };
    let mut m = match kind {
        GENERIC => generic(body),
        _ => numbered(kind, body),
    };
    // All events known here have a name; an empty one is another event.
    if let Some((name, template)) = text::find(kind) {
        text::fill(template, body, &found.functions, text);
        return sink.event(stamp, TraceEvent::Other { name: name.as_bytes(), text });
    }
    if kind == SUSPEND_RESUME_MINIMAL {
        // Perfetto derives it from timekeeping_freeze (suspend-to-idle) or
        // syscore_resume (whose begin still has the time before sleep): both
        // bracket the time asleep. Beside the full event it says nothing new.
        if found.has_steps {
            return;
        }
        (m.kind, m.action) = (Kind::Step, b"machine_suspend");
    }
    let event = match m.kind {
        Kind::Step => {
            TraceEvent::SuspendResume { action: m.action, value: m.value, begin: m.begin }
        }
        Kind::Start => {
            let Some(event) = PmEvent::from_number(m.value) else {
                let advice = "a device callback of an unknown PM event was left out; the kernel \
                              may be newer than this program";
                let at = Some(Found::offset(item)).filter(|&at| at > 0);
                losses.add("unknown_pm_event", 1, Severity::Warning, advice, at);
                return;
            };
            TraceEvent::CallbackStart {
                driver: m.driver,
                device: m.device,
                parent: m.parent,
                ops: m.ops,
                event,
            }
        }
        Kind::End => TraceEvent::CallbackEnd {
            driver: m.driver,
            device: m.device,
            error: i32::try_from(m.value).unwrap_or(i32::MIN),
        },
        Kind::Unknown => return,
    };
    sink.event(stamp, event);
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    Unknown,
    Step,
    Start,
    End,
}

/// The fields of an event of power management.
#[derive(Clone, Copy, Debug, Default)]
struct Message<'a> {
    kind: Kind,
    action: &'a [u8],
    begin: bool,
    device: &'a [u8],
    driver: &'a [u8],
    parent: &'a [u8],
    ops: &'a [u8],
    value: i64,
}

/// Events that have a number of their own in `FtraceEvent`.
fn numbered(kind: u32, body: &[u8]) -> Message<'_> {
    let what = match kind {
        SUSPEND_RESUME => Kind::Step,
        CALLBACK_START => Kind::Start,
        CALLBACK_END => Kind::End,
        _ => Kind::Unknown,
    };
    let mut m = Message { kind: what, ..Message::default() };
    for (n, v) in Fields::new(body) {
        match (kind, n) {
            (SUSPEND_RESUME, 1) => m.action = v.bytes(),
            (SUSPEND_RESUME, 2) => m.value = v.number() as i64,
            (SUSPEND_RESUME, 3) | (SUSPEND_RESUME_MINIMAL, 1) => m.begin = v.number() != 0,
            (CALLBACK_START | CALLBACK_END, 1) => m.device = v.bytes(),
            (CALLBACK_START | CALLBACK_END, 2) => m.driver = v.bytes(),
            (CALLBACK_START, 3) => m.parent = v.bytes(),
            (CALLBACK_START, 4) => m.ops = v.bytes(),
            (CALLBACK_START, 5) | (CALLBACK_END, 3) => m.value = v.number() as i64,
            _ => {}
        }
    }
    m
}

/// Events that a Perfetto which did not know them stored with their names.
fn generic(body: &[u8]) -> Message<'_> {
    let mut m = Message::default();
    for (n, v) in Fields::new(body) {
        match n {
            1 => {
                m.kind = match v.bytes() {
                    b"suspend_resume" => Kind::Step,
                    b"device_pm_callback_start" => Kind::Start,
                    b"device_pm_callback_end" => Kind::End,
                    _ => Kind::Unknown,
                }
            }
            2 => {
                let (mut name, mut text, mut number) = (&b""[..], &b""[..], 0);
                for (n, v) in Fields::new(v.bytes()) {
                    match n {
                        1 => name = v.bytes(),
                        3 => text = v.bytes(),
                        4 | 5 => number = v.number() as i64,
                        _ => {}
                    }
                }
                match name {
                    b"action" => m.action = text,
                    b"device" => m.device = text,
                    b"driver" => m.driver = text,
                    b"parent" => m.parent = text,
                    b"pm_ops" => m.ops = text,
                    b"val" | b"event" | b"error" => m.value = number,
                    b"start" => m.begin = number != 0,
                    _ => {}
                }
            }
            _ => {}
        }
    }
    m
}
