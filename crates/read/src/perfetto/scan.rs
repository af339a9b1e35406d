//! Finds the ftrace events of a trace without looking into anything else.
//!
//! A packet is passed by its length unless it holds an ftrace bundle, thread
//! names, or compressed packets. Bundles hold one CPU's events each and follow
//! each other by CPU, not by time, so what matters is listed here (24 bytes an
//! event) and sorted by [`super::events`].

use super::text;
use super::wire::{Fields, Value, packed, put_bytes, put_number};
use crate::event::Unused;
use dormouse_base::loss::{Losses, Severity};
use std::collections::HashMap;
use std::io::Read;
use std::ops::RangeInclusive;

/// `FtraceEvent` fields of power management.
pub(crate) const SUSPEND_RESUME: u32 = 113;
/// The synthetic event that Perfetto derives from `timekeeping_freeze` and
/// `syscore_resume`.
pub(crate) const SUSPEND_RESUME_MINIMAL: u32 = 481;
/// `device_pm_callback_start`.
pub(crate) const CALLBACK_START: u32 = 504;
/// `device_pm_callback_end`.
pub(crate) const CALLBACK_END: u32 = 505;
/// An event that the recording Perfetto did not know by number.
pub(crate) const GENERIC: u32 = 327;
/// `sched_switch`, which compact scheduler events are rebuilt as.
const SCHED_SWITCH: u32 = 4;

/// What a pass over the trace looks for.
#[derive(Clone, Debug)]
pub(super) enum Look {
    /// Power management, thread names, kernel release.
    Power,
    /// Other events.
    Side {
        /// Within these times.
        times: RangeInclusive<u64>,
        /// Which of [`text::find`], by its place.
        wanted: Vec<bool>,
        /// Far from system sleep too: more of them are kept.
        all_times: bool,
    },
}

/// One event, by place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Item {
    /// Time stamp in nanoseconds.
    pub time: u64,
    /// Offset of the `FtraceEvent`, in the file or (with `ARENA`) in the arena.
    at: u64,
    /// Its length; `LOST` for lost events.
    len: u32,
    /// CPU.
    pub cpu: u32,
}

/// Mark of offsets into the arena.
const ARENA: u64 = 1 << 63;
/// Mark of an item that stands for lost events.
const LOST: u32 = u32::MAX;

/// An event larger than this is none that we read.
const MAX_EVENT: usize = 1 << 16;
/// A compressed packet unpacks to half a megabyte; far beyond is a bomb.
const MAX_UNPACKED: u64 = 16 << 20;
/// Side events: at most so many, and so many bytes of them copied.
const MAX_SIDE: usize = 1 << 20;
const MAX_SIDE_BYTES: usize = 32 << 20;
/// So many times as many where events outside system sleep are asked for.
const MORE_AT_ALL_TIMES: usize = 16;
/// Bytes held for events of power management: millions of callbacks.
const MAX_HELD: usize = 1 << 30;

/// All that was found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Events in the order of the file.
    pub items: Vec<Item>,
    /// Events that are not in the file as such: from compressed packets, or
    /// rebuilt from compact scheduler events.
    arena: Vec<u8>,
    /// Thread names by id.
    pub comms: HashMap<i32, Box<[u8]>>,
    /// Names of kernel functions by the number that stands for them.
    pub functions: HashMap<u64, Box<[u8]>>,
    /// Kernel release; empty if not said.
    pub release: Vec<u8>,
    /// Whether a full `suspend_resume` was among the events.
    pub has_steps: bool,
    /// Events in the file, by the place of their number in [`text`]; the last
    /// place is for all others.
    seen: Vec<u64>,
    /// Those of them that were listed, or would have been if there were room.
    taken: Vec<u64>,
    side: usize,
    side_bytes: usize,
    /// The task each CPU switched to last, for compact scheduler events.
    running: HashMap<u32, (i32, u64, Box<[u8]>)>,
    overrun: HashMap<u64, (u64, u64)>,
}

impl Found {
    /// The bytes of an item; `None` if it stands for lost events.
    pub(super) fn event<'a>(&'a self, item: &Item, file: &'a [u8]) -> Option<&'a [u8]> {
        if item.len == LOST {
            return None;
        }
        let (data, at) = match item.at & ARENA {
            0 => (file, item.at),
            _ => (&self.arena[..], item.at & !ARENA),
        };
        let at = usize::try_from(at).ok()?;
        data.get(at..at.checked_add(item.len as usize)?)
    }

    /// Events that were passed because nobody wants them.
    pub(super) fn unused(&self) -> Unused {
        let mut unused = Unused::default();
        for (i, seen) in self.seen.iter().enumerate() {
            let taken = self.taken.get(i).copied().unwrap_or(0);
            unused.add(text::kind(i), seen.saturating_sub(taken));
        }
        unused
    }

    /// Where in the file an item is; 0 if it was compressed.
    pub(super) fn offset(item: &Item) -> u64 {
        if item.at & ARENA == 0 { item.at } else { 0 }
    }
}

/// Where the bytes being scanned are.
#[derive(Clone, Copy)]
struct Place<'a> {
    data: &'a [u8],
    /// The file itself, not an unpacked copy.
    in_file: bool,
}

/// Goes through the whole trace once.
pub(super) fn scan(file: &[u8], look: &Look, found: &mut Found, losses: &mut Losses) {
    found.running.clear();
    let mut packets = Fields::new(file);
    for (n, v) in packets.by_ref() {
        if let (1, Value::Bytes(p)) = (n, v) {
            let place = Place { data: file, in_file: true };
            packet(p, place, look, found, losses);
        }
    }
    if packets.damaged && matches!(look, Look::Power) {
        let advice = "the trace ends within a packet or is damaged from here on: copy it again, \
                      or record again and let it finish";
        losses.add("perfetto_cut", 1, Severity::Error, advice, Some(packets.at as u64 + 1));
    }
    if matches!(look, Look::Power) {
        let lost = found.overrun.values().map(|(a, b)| b.saturating_sub(*a));
        let lost = lost.fold(0, u64::saturating_add);
        let advice = "the kernel's buffer was too small and events were overwritten: enlarge \
                      buffer_size_kb of the ftrace data source";
        losses.add("perfetto_overrun", lost, Severity::Warning, advice, None);
    }
}

/// One TracePacket.
fn packet(p: &[u8], place: Place<'_>, look: &Look, found: &mut Found, losses: &mut Losses) {
    let (mut interned, mut has_bundle) = (&b""[..], false);
    for (n, v) in Fields::new(p) {
        match n {
            1 => {
                has_bundle = true;
                bundle(v.bytes(), place, look, found, losses);
            }
            12 => interned = v.bytes(),
            2 if matches!(look, Look::Power) => process_tree(v.bytes(), found),
            34 if matches!(look, Look::Power) => statistics(v.bytes(), found),
            45 if matches!(look, Look::Power) => {
                for (_, u) in Fields::new(v.bytes()).filter(|f| f.0 == 1) {
                    if let Some((_, r)) = Fields::new(u.bytes()).find(|f| f.0 == 3) {
                        found.release = r.bytes().to_vec();
                    }
                }
            }
            // Packets within compressed packets are never compressed again.
            50 if place.in_file => compressed(v.bytes(), look, found, losses),
            _ => {}
        }
    }
    // Names of kernel functions stand beside the bundle that first uses them.
    if has_bundle && matches!(look, Look::Power) {
        for (_, v) in Fields::new(interned).filter(|f| f.0 == 26) {
            let (mut id, mut name) = (0, &b""[..]);
            for (n, v) in Fields::new(v.bytes()) {
                match n {
                    1 => id = v.number(),
                    2 => name = v.bytes(),
                    _ => {}
                }
            }
            found.functions.insert(id, name.into());
        }
    }
}

/// `compressed_packets`: zlib of further packets.
fn compressed(bytes: &[u8], look: &Look, found: &mut Found, losses: &mut Losses) {
    let mut out = Vec::new();
    // Repetitive events compress well, but not without end.
    let budget = (bytes.len() as u64).saturating_mul(200).saturating_add(1 << 20);
    let limit = budget.min(MAX_UNPACKED);
    let decoder = flate2::read::ZlibDecoder::new(bytes);
    let result = decoder.take(limit + 1).read_to_end(&mut out);
    let first = matches!(look, Look::Power);
    if first && out.len() as u64 > limit {
        let advice = "a compressed packet unpacks to more than any real one; the trace is damaged \
                      or hostile";
        losses.add("perfetto_too_large", 1, Severity::Error, advice, None);
    } else if first && result.is_err() {
        let advice = "a compressed packet is damaged; copy the trace again or record it again";
        losses.add("perfetto_damaged_compression", 1, Severity::Error, advice, None);
    }
    out.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    for (n, v) in Fields::new(&out) {
        if let (1, Value::Bytes(p)) = (n, v) {
            packet(p, Place { data: &out, in_file: false }, look, found, losses);
        }
    }
}

/// FtraceEventBundle: events of one CPU.
fn bundle(b: &[u8], place: Place<'_>, look: &Look, found: &mut Found, losses: &mut Losses) {
    let mut cpu = u32::MAX;
    let mut lost = false;
    // The CPU is written first, but need not be.
    let mut fields = Fields::new(b);
    for (n, v) in fields.by_ref() {
        match n {
            1 => cpu = v.number() as u32,
            3 => lost = v.number() != 0,
            _ => {}
        }
    }
    if fields.damaged && matches!(look, Look::Power) {
        let advice = "a bundle of events is damaged; its remaining events are missing";
        losses.add("perfetto_damaged_bundle", 1, Severity::Warning, advice, None);
    }
    for (n, v) in Fields::new(b) {
        match n {
            2 => {
                if let Some(time) = event(v.bytes(), cpu, place, look, found, losses)
                    && std::mem::take(&mut lost)
                    && matches!(look, Look::Power)
                {
                    // Before the event just listed, if it was.
                    let item = Item { time, at: 0, len: LOST, cpu };
                    let at = found.items.len();
                    let before = found.items.last().is_some_and(|i| i.time == time);
                    found.items.insert(if before { at - 1 } else { at }, item);
                }
            }
            4 => compact(v.bytes(), cpu, look, found, losses),
            _ => {}
        }
    }
}

/// One FtraceEvent; its time.
fn event(
    e: &[u8],
    cpu: u32,
    place: Place<'_>,
    look: &Look,
    found: &mut Found,
    losses: &mut Losses,
) -> Option<u64> {
    let (mut time, mut kind, mut body) = (None, 0, &b""[..]);
    for (n, v) in Fields::new(e) {
        match (n, v) {
            (1, Value::Number(t)) => time = Some(t),
            (_, Value::Bytes(b)) => (kind, body) = (n, b),
            _ => {}
        }
    }
    let time = time?;
    match look {
        Look::Power => {
            count(&mut found.seen, kind);
            name_threads(kind, body, found);
            let power = matches!(
                kind,
                SUSPEND_RESUME | SUSPEND_RESUME_MINIMAL | CALLBACK_START | CALLBACK_END
            ) || kind == GENERIC && is_power_generic(body);
            found.has_steps |= kind == SUSPEND_RESUME || kind == GENERIC && power;
            if power {
                count(&mut found.taken, kind);
            }
            let held = found.arena.len() + found.items.len() * size_of::<Item>();
            if power && held > MAX_HELD {
                let advice = "more device callbacks than can be held; cut the trace in pieces";
                losses.add("too_many_events", 1, Severity::Error, advice, None);
            } else if power {
                list(e, time, cpu, place, found, losses);
            }
        }
        Look::Side { times, wanted, all_times } => {
            let place_of = text::place(kind).filter(|&i| wanted.get(i).copied().unwrap_or(false));
            if times.contains(&time) && place_of.is_some() {
                count(&mut found.taken, kind);
                list_side(e, time, cpu, place, (found, *all_times), losses);
            }
        }
    }
    Some(time)
}

/// One more event of this number.
fn count(list: &mut Vec<u64>, number: u32) {
    let place = text::place(number).unwrap_or(text::OTHERS);
    if list.len() <= place {
        list.resize(text::OTHERS + 1, 0);
    }
    list[place] += 1;
}

/// Whether a generic event is one of power management.
fn is_power_generic(body: &[u8]) -> bool {
    let name = Fields::new(body).find(|f| f.0 == 1).map_or(&b""[..], |f| f.1.bytes());
    matches!(name, b"suspend_resume" | b"device_pm_callback_start" | b"device_pm_callback_end")
}

fn list(e: &[u8], time: u64, cpu: u32, place: Place<'_>, found: &mut Found, losses: &mut Losses) {
    if e.len() > MAX_EVENT {
        let advice = "an event is larger than a page of the kernel's buffer can be, so the trace \
                      is damaged; copy it again or record it again";
        losses.add("perfetto_event_too_large", 1, Severity::Error, advice, None);
        return;
    }
    let len = e.len() as u32;
    let at = if place.in_file {
        // `e` is a part of the file.
        (e.as_ptr().addr() - place.data.as_ptr().addr()) as u64
    } else {
        let at = found.arena.len() as u64;
        found.arena.extend_from_slice(e);
        at | ARENA
    };
    found.items.push(Item { time, at, len, cpu });
}

fn list_side(
    e: &[u8],
    time: u64,
    cpu: u32,
    place: Place<'_>,
    (found, all_times): (&mut Found, bool),
    losses: &mut Losses,
) {
    let bytes = if place.in_file { 0 } else { e.len() };
    let times = if all_times { MORE_AT_ALL_TIMES } else { 1 };
    if found.side >= MAX_SIDE * times || found.side_bytes + bytes > MAX_SIDE_BYTES * times {
        let advice = "more scheduler, workqueue or block events than are kept: record fewer kinds";
        // Beside system sleep they are a help; where they were asked for, they are
        // what was recorded.
        let severity = if all_times { Severity::Warning } else { Severity::Info };
        losses.add("side_events_dropped", 1, severity, advice, None);
        return;
    }
    found.side += 1;
    found.side_bytes += bytes;
    list(e, time, cpu, place, found, losses);
}

/// Events that name threads. The first name wins: threads that change their
/// name do so when they are made.
fn name_threads(kind: u32, body: &[u8], found: &mut Found) {
    let pairs: &[(u32, u32)] = match kind {
        4 => &[(1, 2), (5, 6)],
        17 | 20 | 114 => &[(1, 2)],
        _ => return,
    };
    for (name, pid) in pairs {
        let (mut n, mut p) = (&b""[..], 0);
        for (f, v) in Fields::new(body) {
            if f == *name {
                n = v.bytes();
            } else if f == *pid {
                p = v.number() as i32;
            }
        }
        name_thread(p, n, found);
    }
}

fn name_thread(pid: i32, name: &[u8], found: &mut Found) {
    if pid != 0 && !name.is_empty() && !found.comms.contains_key(&pid) {
        found.comms.insert(pid, name.into());
    }
}

/// ProcessTree: what /proc said of processes and threads.
fn process_tree(tree: &[u8], found: &mut Found) {
    for (kind, v) in Fields::new(tree) {
        let (mut pid, mut name) = (0, &b""[..]);
        for (n, v) in Fields::new(v.bytes()) {
            match (kind, n) {
                (1 | 2, 1) => pid = v.number() as i32,
                (2, 2) => name = v.bytes(),
                // The command line: the kernel's name is the last part of the
                // first word, 15 bytes of it.
                (1, 3) if name.is_empty() => {
                    let all = v.bytes();
                    let start = all.iter().rposition(|&b| b == b'/').map_or(0, |i| i + 1);
                    // `kworker/u8:1` has a slash, and no leading one.
                    let short = if all.starts_with(b"/") { &all[start..] } else { all };
                    name = &short[..short.len().min(15)];
                }
                _ => {}
            }
        }
        name_thread(pid, name, found);
    }
}

/// FtraceStats: overwritten events by CPU, at begin and end of the trace.
fn statistics(stats: &[u8], found: &mut Found) {
    let phase = Fields::new(stats).find(|f| f.0 == 1).map_or(0, |f| f.1.number());
    for (_, v) in Fields::new(stats).filter(|f| f.0 == 2) {
        let (mut cpu, mut overrun) = (0, 0);
        for (n, v) in Fields::new(v.bytes()) {
            match n {
                1 => cpu = v.number(),
                3 => overrun = v.number(),
                _ => {}
            }
        }
        let slot = found.overrun.entry(cpu).or_insert((u64::MAX, 0));
        match phase {
            1 => slot.0 = slot.0.min(overrun),
            2 => slot.1 = slot.1.max(overrun),
            _ => {}
        }
    }
}

/// CompactSched: switches in columns, each naming only the next task. They are
/// rebuilt as ordinary events so that one place prints them.
fn compact(c: &[u8], cpu: u32, look: &Look, found: &mut Found, losses: &mut Losses) {
    let mut names: Vec<&[u8]> = Vec::new();
    let mut columns = [&b""[..]; 7];
    for (n, v) in Fields::new(c) {
        match n {
            5 => names.push(v.bytes()),
            1..=6 => columns[n as usize] = v.bytes(),
            _ => {}
        }
    }
    let mut states = packed(columns[2]);
    let mut pids = packed(columns[3]);
    let mut prios = packed(columns[4]);
    let mut comms = packed(columns[6]);
    let mut time = 0u64;
    for delta in packed(columns[1]) {
        time = time.wrapping_add(delta);
        let pid = pids.next().unwrap_or(0) as i32;
        let prio = prios.next().unwrap_or(0);
        let state = states.next().unwrap_or(0);
        let name = comms.next().and_then(|i| names.get(usize::try_from(i).ok()?).copied());
        let name = name.unwrap_or_default();
        match look {
            Look::Power => {
                count(&mut found.seen, SCHED_SWITCH);
                name_thread(pid, name, found);
            }
            Look::Side { times, wanted, all_times } => {
                let switch = text::place(SCHED_SWITCH).and_then(|i| wanted.get(i)).copied();
                if switch != Some(true) {
                    continue;
                }
                let before = found.running.insert(cpu, (pid, prio, name.into()));
                if !times.contains(&time) {
                    continue;
                }
                count(&mut found.taken, SCHED_SWITCH);
                let Some((prev, prev_prio, prev_name)) = before else { continue };
                let mut body = Vec::new();
                put_bytes(&mut body, 1, &prev_name);
                put_number(&mut body, 2, prev as i64 as u64);
                put_number(&mut body, 3, prev_prio);
                put_number(&mut body, 4, state);
                put_bytes(&mut body, 5, name);
                put_number(&mut body, 6, pid as i64 as u64);
                put_number(&mut body, 7, prio);
                let mut e = Vec::new();
                put_number(&mut e, 1, time);
                put_number(&mut e, 2, prev as u32 as u64);
                put_bytes(&mut e, 4, &body);
                let place = Place { data: b"", in_file: false };
                list_side(&e, time, cpu, place, (found, *all_times), losses);
            }
        }
    }
}
