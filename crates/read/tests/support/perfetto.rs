//! Writes Perfetto traces from the events of [`super::tracedat`], with a
//! hand-declared subset of the official messages.

use super::tracedat::{Ev, What, comm};
use prost::Message;
use std::io::Write;

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Trace {
    #[prost(message, repeated, tag = "1")]
    pub packet: Vec<TracePacket>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct TracePacket {
    #[prost(message, optional, tag = "1")]
    pub ftrace_events: Option<Bundle>,
    #[prost(message, optional, tag = "2")]
    pub process_tree: Option<ProcessTree>,
    #[prost(message, optional, tag = "12")]
    pub interned_data: Option<Interned>,
    #[prost(message, optional, tag = "45")]
    pub system_info: Option<SystemInfo>,
    #[prost(bytes = "vec", optional, tag = "50")]
    pub compressed_packets: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "99999")]
    pub filler: Option<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Interned {
    #[prost(message, repeated, tag = "26")]
    pub kernel_symbols: Vec<Symbol>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Symbol {
    #[prost(uint64, optional, tag = "1")]
    pub iid: Option<u64>,
    #[prost(bytes = "vec", optional, tag = "2")]
    pub str: Option<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Execute {
    #[prost(uint64, optional, tag = "1")]
    pub work: Option<u64>,
    #[prost(uint64, optional, tag = "2")]
    pub function: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ProcessTree {
    #[prost(message, repeated, tag = "2")]
    pub threads: Vec<Thread>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Thread {
    #[prost(int32, optional, tag = "1")]
    pub tid: Option<i32>,
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct SystemInfo {
    #[prost(message, optional, tag = "1")]
    pub utsname: Option<Utsname>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Utsname {
    #[prost(string, optional, tag = "3")]
    pub release: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Bundle {
    #[prost(uint32, optional, tag = "1")]
    pub cpu: Option<u32>,
    #[prost(message, repeated, tag = "2")]
    pub event: Vec<Event>,
    #[prost(bool, optional, tag = "3")]
    pub lost_events: Option<bool>,
    #[prost(message, optional, tag = "4")]
    pub compact_sched: Option<CompactSched>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct CompactSched {
    #[prost(uint64, repeated, tag = "1")]
    pub switch_timestamp: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    pub switch_prev_state: Vec<i64>,
    #[prost(int32, repeated, tag = "3")]
    pub switch_next_pid: Vec<i32>,
    #[prost(int32, repeated, tag = "4")]
    pub switch_next_prio: Vec<i32>,
    #[prost(string, repeated, tag = "5")]
    pub intern_table: Vec<String>,
    #[prost(uint32, repeated, tag = "6")]
    pub switch_next_comm_index: Vec<u32>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Event {
    #[prost(uint64, optional, tag = "1")]
    pub timestamp: Option<u64>,
    #[prost(uint32, optional, tag = "2")]
    pub pid: Option<u32>,
    #[prost(oneof = "Kind", tags = "3, 4, 13, 58, 113, 481, 504, 505")]
    pub kind: Option<Kind>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub(crate) enum Kind {
    #[prost(message, tag = "3")]
    Print(Print),
    #[prost(message, tag = "4")]
    Switch(Switch),
    #[prost(message, tag = "13")]
    Idle(Idle),
    #[prost(message, tag = "58")]
    Execute(Execute),
    #[prost(message, tag = "113")]
    SuspendResume(SuspendResume),
    #[prost(message, tag = "481")]
    Minimal(Minimal),
    #[prost(message, tag = "504")]
    Start(Start),
    #[prost(message, tag = "505")]
    End(End),
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Switch {
    #[prost(string, optional, tag = "1")]
    pub prev_comm: Option<String>,
    #[prost(int32, optional, tag = "2")]
    pub prev_pid: Option<i32>,
    #[prost(int32, optional, tag = "3")]
    pub prev_prio: Option<i32>,
    #[prost(int64, optional, tag = "4")]
    pub prev_state: Option<i64>,
    #[prost(string, optional, tag = "5")]
    pub next_comm: Option<String>,
    #[prost(int32, optional, tag = "6")]
    pub next_pid: Option<i32>,
    #[prost(int32, optional, tag = "7")]
    pub next_prio: Option<i32>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Idle {
    #[prost(uint32, optional, tag = "1")]
    pub state: Option<u32>,
    #[prost(uint32, optional, tag = "2")]
    pub cpu_id: Option<u32>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct SuspendResume {
    #[prost(string, optional, tag = "1")]
    pub action: Option<String>,
    #[prost(int32, optional, tag = "2")]
    pub val: Option<i32>,
    #[prost(uint32, optional, tag = "3")]
    pub start: Option<u32>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Minimal {
    #[prost(uint32, optional, tag = "1")]
    pub start: Option<u32>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Start {
    #[prost(string, optional, tag = "1")]
    pub device: Option<String>,
    #[prost(string, optional, tag = "2")]
    pub driver: Option<String>,
    #[prost(string, optional, tag = "3")]
    pub parent: Option<String>,
    #[prost(string, optional, tag = "4")]
    pub pm_ops: Option<String>,
    #[prost(int32, optional, tag = "5")]
    pub event: Option<i32>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Print {
    #[prost(uint64, optional, tag = "1")]
    pub ip: Option<u64>,
    #[prost(string, optional, tag = "2")]
    pub buf: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct End {
    #[prost(string, optional, tag = "1")]
    pub device: Option<String>,
    #[prost(string, optional, tag = "2")]
    pub driver: Option<String>,
    #[prost(int32, optional, tag = "3")]
    pub error: Option<i32>,
}

/// Events that Perfetto and the text form show alike: the others lack fields
/// in one of them.
pub(crate) fn shared(events: &[Ev]) -> Vec<Ev> {
    let keep = |e: &&Ev| {
        !matches!(
            e.what,
            What::QueueWork { .. } | What::Execute { .. } | What::Rpm { .. } | What::Issue { .. }
        )
    };
    events.iter().filter(keep).cloned().collect()
}

fn kind(e: &Ev) -> Option<Kind> {
    Some(match e.what.clone() {
        What::SuspendResume { action, val, start } => Kind::SuspendResume(SuspendResume {
            action: Some(action.into()),
            val: Some(val),
            start: Some(start.into()),
        }),
        What::Start { driver, device, parent, ops, event } => Kind::Start(Start {
            device: Some(device),
            driver: Some(driver),
            parent: Some(parent),
            pm_ops: Some(ops),
            event: Some(event),
        }),
        What::End { driver, device, error } => {
            Kind::End(End { device: Some(device), driver: Some(driver), error: Some(error) })
        }
        What::Switch { prev, state, next } => Kind::Switch(Switch {
            prev_comm: Some(prev.0),
            prev_pid: Some(prev.1),
            prev_prio: Some(prev.2),
            prev_state: Some(state as i64),
            next_comm: Some(next.0),
            next_pid: Some(next.1),
            next_prio: Some(next.2),
        }),
        What::Written { text } => Kind::Print(Print { ip: Some(7), buf: Some(text + "\n") }),
        What::Idle { state, cpu } => Kind::Idle(Idle { state: Some(state), cpu_id: Some(cpu) }),
        _ => return None,
    })
}

/// The names of all threads of `events`.
pub(crate) fn threads(events: &[Ev]) -> Vec<(i32, &'static str)> {
    let mut pids: Vec<i32> = events.iter().map(|e| e.pid).filter(|&p| p != 0).collect();
    pids.sort_unstable();
    pids.dedup();
    pids.into_iter().map(|p| (p, comm(p))).collect()
}

/// How to write a trace.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    /// Events of all CPUs between two rounds of bundles.
    pub bundle: usize,
    /// zlib.
    pub compress: bool,
    /// Bytes of other packets between bundles.
    pub filler: usize,
    /// `lost_events` in every bundle after this many.
    pub lost_after: usize,
}

impl Default for Layout {
    fn default() -> Layout {
        Layout { bundle: 100, compress: false, filler: 300, lost_after: usize::MAX }
    }
}

/// Packets as traced writes them: a bundle a CPU and period.
pub(crate) fn packets(events: &[Ev], layout: &Layout, names: &[(i32, String)]) -> Vec<TracePacket> {
    let mut all = vec![
        TracePacket {
            system_info: Some(SystemInfo {
                utsname: Some(Utsname { release: Some("6.1.99".into()) }),
            }),
            ..Default::default()
        },
        TracePacket {
            process_tree: Some(ProcessTree {
                threads: names
                    .iter()
                    .map(|t| Thread { tid: Some(t.0), name: Some(t.1.clone()) })
                    .collect(),
            }),
            ..Default::default()
        },
    ];
    let mut bundles = 0;
    for part in events.chunks(layout.bundle) {
        let mut cpus: Vec<u32> = part.iter().map(|e| e.cpu).collect();
        cpus.sort_unstable();
        cpus.dedup();
        for cpu in cpus {
            bundles += 1;
            let event = (part.iter().filter(|e| e.cpu == cpu))
                .filter_map(|e| {
                    Some(Event {
                        timestamp: Some(e.time),
                        pid: Some(e.pid as u32),
                        kind: Some(kind(e)?),
                    })
                })
                .collect();
            let bundle = Bundle {
                cpu: Some(cpu),
                event,
                lost_events: (bundles > layout.lost_after).then_some(true),
                compact_sched: None,
            };
            all.push(TracePacket { ftrace_events: Some(bundle), ..Default::default() });
        }
        if layout.filler > 0 {
            all.push(TracePacket { filler: Some(vec![7; layout.filler]), ..Default::default() });
        }
    }
    all
}

/// The whole trace.
pub(crate) fn write(events: &[Ev], layout: &Layout) -> Vec<u8> {
    let names: Vec<_> = threads(events).iter().map(|t| (t.0, t.1.to_string())).collect();
    write_named(events, layout, &names)
}

/// The whole trace, with these thread names.
pub(crate) fn write_named(events: &[Ev], layout: &Layout, names: &[(i32, String)]) -> Vec<u8> {
    let packets = packets(events, layout, names);
    if !layout.compress {
        return Trace { packet: packets }.encode_to_vec();
    }
    let outer = packets.chunks(8).map(|p| {
        let inner = Trace { packet: p.to_vec() }.encode_to_vec();
        let mut z = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        z.write_all(&inner).unwrap();
        TracePacket { compressed_packets: Some(z.finish().unwrap()), ..Default::default() }
    });
    Trace { packet: outer.collect() }.encode_to_vec()
}

/// A sleep with compact scheduler events and the minimal event only.
pub(crate) fn compact() -> Vec<u8> {
    let event = |time: u64, start: u32| Event {
        timestamp: Some(time),
        pid: Some(77),
        kind: Some(Kind::Minimal(Minimal { start: Some(start) })),
    };
    let sched = CompactSched {
        switch_timestamp: vec![1_000, 500, 500],
        switch_prev_state: vec![1, 2, 0],
        switch_next_pid: vec![77, 0, 123],
        switch_next_prio: vec![120, 120, 100],
        intern_table: vec!["bash".into(), "swapper/0".into(), "kworker/u8:1".into()],
        switch_next_comm_index: vec![0, 1, 2],
    };
    let bundle = Bundle {
        cpu: Some(0),
        event: vec![
            event(900, 1),
            Event {
                timestamp: Some(2_000_000_000),
                pid: Some(123),
                kind: Some(Kind::Execute(Execute { work: Some(0xffee), function: Some(3) })),
            },
            event(5_000_000_000, 0),
        ],
        lost_events: None,
        compact_sched: Some(sched),
    };
    let names = vec![Symbol { iid: Some(3), str: Some(b"async_run_entry_fn".to_vec()) }];
    let packet = TracePacket {
        ftrace_events: Some(bundle),
        interned_data: Some(Interned { kernel_symbols: names }),
        ..Default::default()
    };
    Trace { packet: vec![packet] }.encode_to_vec()
}
