//! Traces of LTTng as babeltrace prints them: a line an event,
//! `[TIME] (+DELTA) HOST EVENT: { cpu_id = 3 }, { state = 1, cpu_id = 3 }`.

use crate::event::{EventSink, Kind, Stamp, TraceEvent};
use dormouse_base::loss::{Losses, Severity};
use dormouse_base::time::Ns;

/// LTTng puts the subsystem before some names of the kernel's events.
const SUBSYSTEMS: [&[u8]; 2] = [b"power_", b"timer_"];

const DAY: i64 = 86_400_000_000_000;

/// Whether a text is such a trace with idle events.
pub(crate) fn is_babeltrace(bytes: &[u8]) -> bool {
    memchr::memmem::find(bytes, b"power_cpu_idle: { cpu_id = ").is_some()
}

/// Whether a text begins with a line of such a trace.
pub(crate) fn begins_as_babeltrace(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(4096)];
    head.split(|&b| b == b'\n').take(8).any(is_event)
}

/// Whether a line is an event of such a trace.
pub(crate) fn is_event(line: &[u8]) -> bool {
    Found::of(line).is_some()
}

/// Hands the events to `sink`.
pub(crate) fn events(bytes: &[u8], sink: &mut dyn EventSink, losses: &mut Losses) {
    let (mut damaged, mut first) = (0, None);
    let (mut midnight, mut last) = (0, 0);
    let mut text = Vec::new();
    for (at, line) in (1..).zip(bytes.split(|&b| b == b'\n')) {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let Some(found) = Found::of(line) else {
            damaged += 1;
            first.get_or_insert(at);
            continue;
        };
        // A clock of the day begins anew.
        let mut time = found.time + midnight;
        if time + DAY / 2 < last {
            midnight += DAY;
            time += DAY;
        }
        last = time;
        let name = kernel_name(found.event);
        if !sink.wants(name) {
            sink.unused(Kind::of(name), 1);
            continue;
        }
        text.clear();
        fields(found.fields, name.starts_with(b"sched_"), &mut text);
        let stamp = Stamp { time: Ns(time), pid: 0, comm: b"", cpu: found.cpu, at };
        sink.event(stamp, TraceEvent::Other { name, text: &text });
    }
    let advice = "lines that are no events of babeltrace's: print the trace with babeltrace again";
    losses.add("unread_line", damaged, Severity::Warning, advice, first);
}

struct Found<'a> {
    time: i64,
    cpu: u32,
    event: &'a [u8],
    fields: &'a [u8],
}

impl<'a> Found<'a> {
    fn of(line: &'a [u8]) -> Option<Found<'a>> {
        let close = memchr::memchr(b']', line)?;
        let time = time(line.strip_prefix(b"[")?.get(..close - 1)?)?;
        let colon = memchr::memmem::find(line, b": {")?;
        let name = line.get(close + 1..colon)?.trim_ascii();
        let event = &name[name.iter().rposition(|&b| b == b' ').map_or(0, |i| i + 1)..];
        let rest = &line[colon + 2..];
        const CPU: &[u8] = b"cpu_id = ";
        let digits = &rest[memchr::memmem::find(rest, CPU)? + CPU.len()..];
        let end = digits.iter().position(|b| !b.is_ascii_digit()).unwrap_or(digits.len());
        let cpu = std::str::from_utf8(&digits[..end]).ok()?.parse().ok()?;
        // The first braces are of every event, the last ones of this one.
        let fields = &rest[memchr::memmem::rfind(rest, b"{").unwrap_or(0)..];
        Some(Found { time, cpu, event, fields })
    }
}

/// `13:22:01.123456789`, or seconds.
fn time(word: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(word).ok()?;
    // A date may stand in front.
    let text = text.rsplit(' ').next()?;
    let (whole, fraction) = text.split_once('.')?;
    let mut seconds: i64 = 0;
    for part in whole.split(':') {
        seconds = seconds.checked_mul(60)?.checked_add(part.parse::<u32>().ok()?.into())?;
    }
    if fraction.len() > 9 || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let ns: i64 = format!("{fraction:0<9}").parse().ok()?;
    seconds.checked_mul(1_000_000_000)?.checked_add(ns).filter(|t| *t < i64::MAX / 4)
}

/// The name in tracefs.
fn kernel_name(name: &[u8]) -> &[u8] {
    SUBSYSTEMS.iter().find_map(|s| name.strip_prefix(*s)).unwrap_or(name)
}

/// `{ state = 1, name = "eth0" }` as `state=1 name=eth0`. Of tasks LTTng gives `tid`
/// what the kernel's events call `pid`.
fn fields(text: &[u8], of_tasks: bool, out: &mut Vec<u8>) {
    let text = text.trim_ascii();
    let text = text.strip_prefix(b"{").unwrap_or(text);
    let text = text.strip_suffix(b"}").unwrap_or(text);
    for field in text.split(|&b| b == b',') {
        let Some(equals) = field.iter().position(|&b| b == b'=') else { continue };
        let (key, value) = (field[..equals].trim_ascii(), field[equals + 1..].trim_ascii());
        let value = value.strip_prefix(b"\"").unwrap_or(value);
        let value = value.strip_suffix(b"\"").unwrap_or(value);
        if !out.is_empty() {
            out.push(b' ');
        }
        match key.strip_suffix(b"tid") {
            Some(start) if of_tasks => out.extend_from_slice(&[start, b"pid"].concat()),
            _ => out.extend_from_slice(key),
        }
        out.push(b'=');
        out.extend_from_slice(value);
    }
}
