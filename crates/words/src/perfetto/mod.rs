//! Sleep cycles as a Perfetto trace.
//!
//! Each cycle is a process. In it lie the critical path as a track of its own,
//! one track a phase, and the threads with their callbacks. A flow leads from
//! each callback to those that waited for it. All cycles start at the same
//! moment, so that observed and predicted ones stand side by side; the time
//! asleep keeps its length.

pub mod proto;

use crate::wording;
use dormouse_base::capture::Capture;
use dormouse_base::cycle::{Callback, Cycle};
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;
use dormouse_sleep::analyse::CycleView;
use dormouse_sleep::analyse::decode::decode;
use dormouse_sleep::analyse::rows::{What, gap_content};
use dormouse_sleep::analyse::start::Start;
use proto::*;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

/// One cycle to write.
#[derive(Clone, Copy, Debug)]
pub struct Group<'a> {
    /// Name of the process, such as `observed` or `predicted`.
    pub name: &'a str,
    /// Where names and devices are.
    pub capture: &'a Capture,
    /// The cycle.
    pub cycle: &'a Cycle,
    /// What is known of it.
    pub view: &'a CycleView,
    /// Why each callback started when it did; parallel to the callbacks.
    pub starts: &'a [Start],
}

/// Every cycle begins here: room for a callback that began before its cycle.
const ORIGIN: i64 = 1_000_000_000;

/// Writes `groups` as one trace.
///
/// # Errors
/// If `out` cannot be written.
pub fn write(groups: &[Group<'_>], out: &mut dyn Write) -> io::Result<()> {
    let mut packets = Packets { out, first: true, bytes: Vec::new() };
    let mut last_id = 0;
    for (i, group) in groups.iter().enumerate() {
        last_id += 1;
        // Tracks and flows of a group share the upper half of their ids.
        let base = (i as u64 + 1) << 32;
        let mut writer = GroupWriter { group, base, pid: last_id, last_id, packets: &mut packets };
        writer.write()?;
        last_id = writer.last_id;
    }
    Ok(())
}

/// The file: packets one after another, so memory does not grow with it.
struct Packets<'a> {
    out: &'a mut dyn Write,
    first: bool,
    bytes: Vec<u8>,
}

impl Packets<'_> {
    fn push(&mut self, mut packet: TracePacket) -> io::Result<()> {
        packet.trusted_packet_sequence_id = Some(1);
        if std::mem::take(&mut self.first) {
            packet.sequence_flags = Some(1);
        }
        self.bytes.clear();
        prost::encoding::message::encode(1, &packet, &mut self.bytes);
        self.out.write_all(&self.bytes)
    }

    fn track(&mut self, track: TrackDescriptor) -> io::Result<()> {
        self.push(TracePacket { track_descriptor: Some(track), ..TracePacket::default() })
    }
}

/// What a slice shows beside its name and time.
#[derive(Default)]
struct Facts {
    category: &'static str,
    text: Vec<(&'static str, String)>,
    numbers: Vec<(&'static str, i64)>,
    leaves: Vec<u64>,
    arrives: Vec<u64>,
}

struct GroupWriter<'a, 'b, 'c> {
    group: &'a Group<'a>,
    base: u64,
    /// Number of the process.
    pid: i32,
    /// Last number given to a process or thread.
    last_id: i32,
    packets: &'b mut Packets<'c>,
}

impl GroupWriter<'_, '_, '_> {
    fn write(&mut self) -> io::Result<()> {
        let (pid, name) = (self.pid, self.group.name.to_string());
        self.packets.track(TrackDescriptor {
            uuid: Some(self.base),
            process: Some(ProcessDescriptor { pid: Some(pid), process_name: Some(name) }),
            child_ordering: Some(3),
            ..TrackDescriptor::default()
        })?;
        self.path()?;
        self.phases()?;
        self.threads()
    }

    fn time(&self, t: Ns) -> u64 {
        let since = t.0.saturating_sub(self.group.cycle.start.0);
        u64::try_from(since.saturating_add(ORIGIN)).unwrap_or(0)
    }

    /// A track of this cycle; `rank` orders the tracks.
    fn child(&mut self, uuid: u64, name: &str, rank: i32) -> io::Result<()> {
        self.packets.track(TrackDescriptor {
            uuid: Some(uuid),
            name: Some(name.into()),
            parent_uuid: Some(self.base),
            sibling_order_rank: Some(rank),
            ..TrackDescriptor::default()
        })
    }

    fn slice(
        &mut self,
        track: u64,
        name: String,
        from: Ns,
        to: Ns,
        facts: Facts,
    ) -> io::Result<()> {
        let text = facts.text.into_iter().filter(|(_, v)| !v.is_empty()).map(|(n, v)| {
            DebugAnnotation { name: Some(n.into()), string_value: Some(v), int_value: None }
        });
        let numbers = facts.numbers.into_iter().map(|(n, v)| DebugAnnotation {
            name: Some(n.into()),
            int_value: Some(v),
            string_value: None,
        });
        let begin = TrackEvent {
            kind: Some(1),
            track_uuid: Some(track),
            name: Some(name),
            categories: vec![facts.category.into()],
            debug_annotations: text.chain(numbers).collect(),
            flow_ids: facts.leaves,
            terminating_flow_ids: facts.arrives,
        };
        let end = TrackEvent { kind: Some(2), track_uuid: Some(track), ..TrackEvent::default() };
        for (event, t) in [(begin, from), (end, to.max(from))] {
            let packet = TracePacket {
                timestamp: Some(self.time(t)),
                track_event: Some(event),
                ..TracePacket::default()
            };
            self.packets.push(packet)?;
        }
        Ok(())
    }

    fn device(&self, cb: &Callback) -> (String, String, String) {
        let names = &self.group.capture.names;
        let Some(d) = self.group.capture.graph.devices.get(cb.device.index()) else {
            return ("a device that is not in the graph".into(), String::new(), String::new());
        };
        let (name, driver) = (names.get(d.name), names.get(d.driver));
        let about = decode(name, driver).map_or(String::new(), |m| m.text());
        (name.into(), driver.into(), about)
    }

    /// The critical path of every phase: callbacks and what lies between them.
    fn path(&mut self) -> io::Result<()> {
        let track = self.base + 1;
        self.child(track, "critical path", 0)?;
        let g = *self.group;
        for (span, phase) in g.cycle.phases.iter().zip(&g.view.phases) {
            for s in &phase.path {
                let callback = s.callback.and_then(|c| g.cycle.callbacks.get(c as usize));
                let name = match callback {
                    Some(cb) => self.device(cb).0,
                    None => s.reason.name().replace('_', " "),
                };
                let waited = s.waited_for.and_then(|d| g.capture.graph.devices.get(d.index()));
                let waited = waited.map_or(String::new(), |d| g.capture.names.get(d.name).into());
                let facts = Facts {
                    category: "critical_path",
                    text: vec![
                        ("phase", wording::phase(span.phase)),
                        ("reason", s.reason.name().into()),
                        ("waited_for", waited),
                        ("proven", if s.proven { "yes" } else { "assumed" }.into()),
                    ],
                    ..Facts::default()
                };
                self.slice(track, name, s.start, s.end, facts)?;
            }
        }
        Ok(())
    }

    /// One track a phase, and one for the gaps between phases.
    fn phases(&mut self) -> io::Result<()> {
        let g = *self.group;
        let mut named = [false; Phase::ALL.len()];
        for span in &g.cycle.phases {
            let k = span.phase as usize;
            let track = self.base + 10 + k as u64;
            if !std::mem::replace(&mut named[k], true) {
                self.child(track, &wording::phase(span.phase), 1 + k as i32)?;
            }
            let mut facts = Facts { category: "phase", ..Facts::default() };
            facts.text.push(("direction", span.phase.direction().name().into()));
            if matches!(span.phase, Phase::CpuOff | Phase::CpuOn) {
                facts.numbers.push(("cpu", i64::from(span.cpu)));
            }
            self.slice(track, wording::phase(span.phase), span.start, span.end, facts)?;
        }
        let gaps = self.base + 9;
        let mut first = true;
        for r in &g.view.rows.list {
            let What::Gap { after, before } = r.what else { continue };
            if std::mem::take(&mut first) {
                self.child(gaps, "between phases", 40)?;
            }
            let facts = Facts { category: "gap", ..Facts::default() };
            let mode = g.cycle.mode;
            self.slice(gaps, gap_content(mode, after, before).into(), r.start, r.end, facts)?;
        }
        Ok(())
    }

    /// The threads with their callbacks. Slices of a track must nest, so
    /// callbacks that overlap (a log that does not name threads) get further
    /// tracks.
    fn threads(&mut self) -> io::Result<()> {
        let g = *self.group;
        // For each thread its lanes by the end of their last callback.
        let mut lanes: BTreeMap<u16, BTreeSet<(Ns, usize)>> = BTreeMap::new();
        let mut left: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
        for (i, s) in g.starts.iter().enumerate() {
            if let Some(c) = s.after {
                left.entry(c).or_default().push(self.flow(i));
            }
        }
        let mut place = Vec::with_capacity(g.cycle.callbacks.len());
        for cb in &g.cycle.callbacks {
            let ends = lanes.entry(cb.thread.0).or_default();
            let lane = match ends.first().copied() {
                Some(free) if free.0 <= cb.start => {
                    ends.remove(&free);
                    free.1
                }
                _ => ends.len(),
            };
            ends.insert((cb.end.max(cb.start), lane));
            place.push(lane);
        }
        let mut uuid = BTreeMap::new();
        let mut next = 100;
        for (&t, ends) in &lanes {
            for lane in 0..ends.len() {
                let id = self.base + next;
                next += 1;
                uuid.insert((t, lane), id);
                self.thread(usize::from(t), lane, id)?;
            }
        }
        for (i, cb) in g.cycle.callbacks.iter().enumerate() {
            let (name, driver, about) = self.device(cb);
            let start = g.starts.get(i).copied().unwrap_or_default();
            let after = start.after.and_then(|c| g.cycle.callbacks.get(c as usize));
            let mut facts = Facts {
                category: "callback",
                text: vec![
                    ("phase", wording::phase(cb.phase)),
                    ("driver", driver),
                    ("meaning", about),
                    ("function", g.capture.names.get(cb.function).into()),
                    ("reason", start.reason.map_or("", |r| r.name()).into()),
                    ("after", after.map_or(String::new(), |cb| self.device(cb).0)),
                ],
                ..Facts::default()
            };
            if cb.error != 0 {
                facts.numbers.push(("error", i64::from(cb.error)));
            }
            if !cb.complete {
                facts.text.push(("complete", "no: its end is not in the log".into()));
            }
            if start.after.is_some() {
                facts.arrives.push(self.flow(i));
            }
            facts.leaves = left.remove(&(i as u32)).unwrap_or_default();
            let track = uuid.get(&(cb.thread.0, place[i])).copied().unwrap_or(self.base);
            self.slice(track, name, cb.start, cb.end, facts)?;
        }
        Ok(())
    }

    /// The flow that ends in callback `i`.
    fn flow(&self, i: usize) -> u64 {
        self.base + i as u64 + 1
    }

    /// A thread. Thread ids of different machines and boots would be taken for
    /// the same thread, so each gets a number of its own; the real one is in
    /// its name.
    fn thread(&mut self, t: usize, lane: usize, uuid: u64) -> io::Result<()> {
        let thread = self.group.cycle.threads.get(t);
        let main = thread.is_some_and(|t| t.is_main == Some(true)) && lane == 0;
        let mut name = thread.map_or("", |t| self.group.capture.names.get(t.name)).to_string();
        if name.is_empty() {
            name.push_str("thread");
        }
        if let Some(t) = thread.filter(|t| t.pid != 0) {
            name.push_str(&format!(" [{}]", t.pid));
        }
        if main {
            name.insert_str(0, "main: ");
        }
        let tid = if main {
            self.pid
        } else {
            self.last_id = self.last_id.saturating_add(1);
            self.last_id
        };
        self.packets.track(TrackDescriptor {
            uuid: Some(uuid),
            parent_uuid: Some(self.base),
            thread: Some(ThreadDescriptor {
                pid: Some(self.pid),
                tid: Some(tid),
                thread_name: Some(name),
            }),
            sibling_order_rank: Some(i32::try_from(uuid - self.base).unwrap_or(i32::MAX)),
            ..TrackDescriptor::default()
        })
    }
}
