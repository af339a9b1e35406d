//! The assembler: turns events in order of time into cycles of one machine.
//!
//! Every reader feeds a [`Tracker`], trace formats through
//! [`EventSink`], kernel logs through the lower-level calls
//! ([`Tracker::begin_phase`], [`Tracker::start_callback`], …). The tracker knows
//! nothing of text. Work is linear in events, memory in callbacks.

mod apart;
mod clock;
mod current;
mod devices;
mod early;
mod finish;
mod note;
mod probe_text;
pub(crate) mod probed;
mod probes;
mod rules;
mod said;
mod sink;
pub(crate) mod switch_names;
mod switches;
mod threads;

pub use current::{Call, CallRef};
pub use devices::DeviceKey;
pub(crate) use note::CycleNote;
pub use note::Kind;

use crate::event::Unused;
use current::Current;
use devices::Devices;
use dormouse_base::capture::{Capture, Machine};
use dormouse_base::cycle::{Cycle, Mode, Outcome};
use dormouse_base::device::{Device, DeviceGraph, DeviceId};
use dormouse_base::loss::{Losses, Severity};
use dormouse_base::names::{Names, Sym};
use dormouse_base::phase::Phase;
use dormouse_base::ranked::Ranking;
use dormouse_base::time::Ns;

/// Most cycles kept of one machine; more are counted as lost. A cycle takes
/// seconds, so this is months of cycles.
const MAX_CYCLES: usize = 100_000;

/// The loss that the end of a callback without its start is, and what helps.
pub(crate) const END_ALONE: (&str, &str) = (
    "end_without_start",
    "a callback ended whose start is missing: save the log from before the suspend",
);

/// Assembles the cycles of one machine from any number of sources.
#[derive(Debug)]
pub struct Tracker {
    names: Names,
    graph: DeviceGraph,
    machine: Machine,
    devices: Devices,
    losses: Losses,
    done: Vec<Cycle>,
    notes: Vec<CycleNote>,
    ranked: Vec<Ranking>,
    /// The source of each of those.
    ranked_in: Vec<u32>,
    /// What each source said, by its place; from 1.
    said: Vec<said::Said>,
    current: Option<Box<Current>>,
    /// A device that failed before any line that opens a cycle.
    failed_before: Option<(DeviceId, i32, Ns)>,
    source: Sym,
    source_index: u32,
    folder: Sym,
    stamp: Sym,
    kernel: Sym,
    mode_hint: Option<dormouse_base::cycle::Mode>,
    /// What the firmware took on both sides of the next sleep.
    firmware: Option<(Ns, Ns)>,
    kind: Kind,
    split_seen: bool,
    listed: Vec<Sym>,
    /// By symbol; the inner value is `None` if lists contradict each other.
    async_by_name: Vec<Option<Option<bool>>>,
    after_boot: bool,
    /// First cycle of the boot that the source is in.
    boot_from: usize,
    serial: u64,
    side_events: usize,
    side_text: usize,
    unused: Unused,
}

impl Default for Tracker {
    fn default() -> Tracker {
        Tracker::new()
    }
}

impl Tracker {
    /// An empty tracker.
    pub fn new() -> Tracker {
        Tracker {
            names: Names::default(),
            graph: DeviceGraph::default(),
            machine: Machine::default(),
            devices: Devices::default(),
            losses: Losses::default(),
            done: Vec::new(),
            notes: Vec::new(),
            ranked: Vec::new(),
            ranked_in: Vec::new(),
            said: Vec::new(),
            current: None,
            failed_before: None,
            source: Sym::EMPTY,
            source_index: 0,
            folder: Sym::EMPTY,
            stamp: Sym::EMPTY,
            kernel: Sym::EMPTY,
            mode_hint: None,
            firmware: None,
            kind: Kind::Trace,
            split_seen: false,
            listed: Vec::new(),
            async_by_name: Vec::new(),
            after_boot: false,
            boot_from: 0,
            serial: 0,
            side_events: 0,
            side_text: 0,
            unused: Unused::default(),
        }
    }

    /// A new input, shown as `name`, begins. What an earlier one said of
    /// kernel and mode no longer holds.
    pub fn begin_source(&mut self, name: &str) {
        self.end_source();
        self.source = self.names.add(name);
        let folder = name.rfind('/').map_or("", |at| &name[..at]);
        self.folder = self.names.add(folder);
        self.source_index += 1;
        self.stamp = Sym::EMPTY;
        self.kernel = Sym::EMPTY;
        self.mode_hint = None;
        self.firmware = None;
        self.kind = Kind::Trace;
        self.after_boot = false;
        self.begin_boot();
    }

    /// The source shows another boot: what follows may be of another kernel.
    pub(crate) fn begin_boot(&mut self) {
        self.boot_from = self.done.len();
    }

    /// A line names the kernel that printed it: so did it print what the
    /// source showed of this boot before. What is known already stays.
    pub(crate) fn set_kernel_of_boot(&mut self, release: &[u8]) {
        if !self.kernel.is_empty() {
            return;
        }
        self.set_kernel(release);
        let kernel = self.kernel;
        let current = self.current.iter_mut().map(|c| &mut c.cycle);
        let done = self.done.iter_mut().skip(self.boot_from);
        for cycle in done.chain(current).filter(|c| c.kernel.is_empty()) {
            cycle.kernel = kernel;
        }
        for r in self.ranked.iter_mut().filter(|r| r.source == self.source) {
            if r.kernel.is_empty() {
                r.kernel = kernel;
            }
        }
    }

    /// The device that a source names without saying more: the only one of its
    /// name, or a new one.
    pub(crate) fn device(&mut self, key: &DeviceKey<'_>) -> DeviceId {
        let Tracker { devices, graph, names, .. } = self;
        let name = DeviceKey { driver: b"", driver_known: false, ..*key };
        let (id, _) = devices.resolve(&name, Phase::Suspend, graph, names);
        if graph.get(id).driver.is_empty() {
            graph.devices[id.index()].driver = names.add_bytes(key.driver);
        }
        id
    }

    /// Durations without a schedule.
    pub(crate) fn add_ranking(&mut self, ranking: Ranking) {
        self.ranked.push(Ranking { source: self.source, kernel: self.kernel, ..ranking });
        self.ranked_in.push(self.source_index);
    }

    /// The input ends: an open cycle is closed as it stands.
    pub fn end_source(&mut self) {
        self.close_cycle();
        if !self.done.is_empty() {
            self.tell_attempt();
        }
        self.put_away();
    }

    /// The source is a kernel log, not a trace.
    pub(crate) fn set_kind(&mut self, kind: Kind) {
        self.kind = kind;
    }

    /// Device and driver names were told apart at the last blank of their
    /// text, so a name that contains blanks must be found at the end.
    pub(crate) fn set_split_by_blank(&mut self) {
        self.split_seen = true;
    }

    /// A device of this name exists; helps to find names that contain blanks.
    pub(crate) fn list_device_name(&mut self, name: &[u8]) {
        let name = self.names.add_bytes(name);
        self.listed.push(name);
    }

    /// `power/async` of all devices of this name; contradictory ones cancel.
    pub(crate) fn list_async(&mut self, name: &[u8], flag: bool) {
        let name = self.names.add_bytes(name);
        let at = name.0 as usize;
        if self.async_by_name.len() <= at {
            self.async_by_name.resize(at + 1, None);
        }
        let entry = self.async_by_name[at].get_or_insert(Some(flag));
        if *entry != Some(flag) {
            *entry = None;
        }
    }

    /// Number of the open cycle, 0 if none is open; another number means that
    /// another cycle began.
    pub(crate) fn open_serial(&self) -> u64 {
        self.current.as_ref().filter(|c| !c.over).map_or(0, |c| c.serial)
    }

    /// When the open cycle began.
    pub(crate) fn entered(&self) -> Option<Ns> {
        self.current.as_ref().filter(|c| !c.over).map(|c| c.cycle.start)
    }

    /// The kernel release of the current source.
    pub(crate) fn set_kernel(&mut self, release: &[u8]) {
        self.kernel = self.names.add_bytes(release);
    }

    /// The run's own stamp, which the log and the trace of one run share.
    pub(crate) fn set_stamp(&mut self, stamp: &[u8]) {
        self.stamp = self.names.add_bytes(stamp);
    }

    /// What the source says of the sleep state in its header; events win.
    pub(crate) fn set_mode_hint(&mut self, mode: dormouse_base::cycle::Mode) {
        self.mode_hint = Some(mode);
    }

    /// What the firmware took on both sides of the sleep of this source, which no clock of the
    /// kernel saw.
    pub(crate) fn set_firmware(&mut self, down: Ns, up: Ns) {
        self.firmware = Some((down, up));
    }

    /// The next cycle of this source is the first after boot, because the
    /// source shows the boot.
    pub(crate) fn set_after_boot(&mut self) {
        self.after_boot = true;
    }

    /// Counts losses.
    pub fn losses(&mut self) -> &mut Losses {
        &mut self.losses
    }

    /// Facts of the machine, to be filled in by whoever knows them.
    pub fn machine(&mut self) -> &mut Machine {
        &mut self.machine
    }

    /// The table of names.
    pub fn names(&mut self) -> &mut Names {
        &mut self.names
    }

    /// Adds a device that another source than events knows (a capture's
    /// topology, pm-graph's device table). Events that name the same driver,
    /// device and parent refer to it; if only the name is known, give the
    /// others empty: such a device is found by name if the name is unique.
    pub(crate) fn add_device(&mut self, device: Device) -> DeviceId {
        let id = self.graph.push(device);
        self.devices.register(id, &self.graph, &self.names);
        id
    }

    /// How many cycles are complete so far.
    pub fn cycles(&self) -> usize {
        self.done.len()
    }

    /// The cycles since there were `first`.
    pub(crate) fn cycles_from(&self, first: usize) -> &[Cycle] {
        self.done.get(first..).unwrap_or_default()
    }

    /// The one cycle since there were `first` slept so long, by clocks that were read before
    /// and after it.
    pub(crate) fn slept(&mut self, first: usize, asleep: Ns) {
        if let [cycle] = self.done.get_mut(first..).unwrap_or_default()
            && asleep >= crate::merge::SHORTEST_SLEEP
        {
            cycle.asleep_elsewhere = Some(asleep);
        }
    }

    /// Puts the cycles from `first` on, which are of one source, in order of their
    /// logs: `rank[log]` is the place of each.
    pub(crate) fn sort_logs(&mut self, first: usize, rank: &[u32]) {
        self.close_cycle();
        let (done, notes) = (self.done.split_off(first), self.notes.split_off(first));
        let mut list: Vec<_> = done.into_iter().zip(notes).collect();
        // Beside a whole attempt a line or two of a refusal may be quoted from it.
        if list.iter().any(|(c, _)| c.lines.begun) {
            // A hibernation behind a suspend may have no more than the time that stood still.
            let slept = |c: &Cycle| c.mode == Mode::Disk && c.asleep_elsewhere.is_some();
            let has_any = |c: &Cycle| !c.phases.is_empty() || !c.callbacks.is_empty() || slept(c);
            let (kept, quoted) = list.into_iter().partition(|(c, _)| c.lines.begun || has_any(c));
            list = kept;
            // Nobody else tells of what ended it.
            let failed = |(c, _): (Cycle, _)| match c.outcome {
                Outcome::AbortedByDevice { device, errno } => Some((device?, errno, c.start)),
                _ => None,
            };
            self.failed_before = self.failed_before.or(Vec::into_iter(quoted).find_map(failed));
        }
        for (cycle, _) in &mut list {
            cycle.log = rank.get(cycle.log as usize).copied().unwrap_or(cycle.log);
        }
        list.sort_by_key(|(cycle, _)| cycle.log);
        let (done, notes): (Vec<_>, Vec<_>) = list.into_iter().unzip();
        self.done.extend(done);
        self.notes.extend(notes);
    }

    /// Everything, when all sources were read, which are of one machine.
    pub fn finish(self) -> Capture {
        self.finish_apart(true).swap_remove(0)
    }

    fn lose(&mut self, kind: &'static str, severity: Severity, advice: &'static str, at: u64) {
        self.losses.add(kind, 1, severity, advice, (at > 0).then_some(at));
    }
}
