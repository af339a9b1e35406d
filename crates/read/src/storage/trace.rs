//! Traces: requests, and what disks did while they waited.

use super::commands::Commands;
use super::{block, lttng, wrapped};
use crate::babeltrace;
use crate::event::{EventSink, Kind, Stamp, TraceEvent, number, word};
use dormouse_base::loss::{Losses, Severity};
use dormouse_storage::ledger::Ledger;
use dormouse_storage::recording::{ClockChange, Trace, Woken};
use dormouse_storage::runtime::{Function, Runtime};
use dormouse_storage::wait::{Cause, Family, Span, Watched};
use std::collections::{BTreeMap, HashMap, HashSet};

/// The work item that switches the clocks of UFS on.
const UNGATE: &[u8] = b"ufshcd_ungate_work";
/// The one that switches them off, queued when the delay has passed.
const GATE: &[u8] = b"=ufshcd_gate_work";

/// A completion so soon after its CPU left an idle state is what woke it, ns.
const WOKEN: i64 = 20_000;

/// Reads a trace of any format.
pub fn read(name: &str, bytes: &[u8], losses: &mut Losses) -> Trace {
    let mut sink = Sink::default();
    crate::events(bytes, &mut sink, losses);
    if !sink.found() || sink.damaged > 0 {
        // A mail client may have broken the lines, or another tracer made them.
        let mut other = Sink::default();
        if babeltrace::begins_as_babeltrace(bytes) {
            lttng::read(bytes, &mut other, losses);
        } else {
            wrapped::read(bytes, &mut other);
        }
        if other.found() && other.damaged < sink.damaged.max(1) {
            sink = other;
        }
    }
    let advice =
        "lines of storage events that cannot be understood: compare them with the original";
    losses.add("damaged_line", sink.damaged, Severity::Warning, advice, None);
    let advice =
        "the trace buffer was too small: enlarge it (buffer_size_kb), or record fewer events";
    losses.add("lost_events", sink.lost, Severity::Error, advice, None);
    sink.finish(name)
}

#[derive(Default)]
struct Sink {
    ledger: Ledger,
    commands: Commands,
    /// Clocks of UFS that are on, and when one was switched on.
    clocks: HashSet<Vec<u8>>,
    enabled: Vec<i64>,
    runtime: Runtime,
    spans: Vec<Span>,
    changes: Vec<ClockChange>,
    /// How often each event came, with what its name says.
    events: BTreeMap<Vec<u8>, Named>,
    /// When the work item of each address was queued, and when it began.
    ungating: HashMap<Vec<u8>, (i64, Option<i64>)>,
    ungates: Vec<i64>,
    gates: Vec<i64>,
    until: i64,
    /// When the clocks of a device were asked for.
    clocks_asked: HashMap<Vec<u8>, i64>,
    /// The last look of devfreq at each device.
    looked: HashMap<Vec<u8>, i64>,
    /// The first look at each device, the shortest time between two, whether two were
    /// seen, and the time that was asked for.
    looks: BTreeMap<String, (i64, i64, bool, i64)>,
    /// When the grace period that is under way began, by the kind of RCU.
    grace: HashMap<Vec<u8>, i64>,
    graces: Vec<(i64, i64)>,
    /// What each CPU did: the idle state that it is or was in, since when, and when it
    /// left it.
    cpus: HashMap<u32, (u32, i64, Option<i64>)>,
    /// Completions that woke their CPU.
    woken: Vec<Woken>,
    watched: Watched,
    unused: u64,
    damaged: u64,
    lost: u64,
}

/// An event's name, looked at once.
struct Named {
    kind: Kind,
    command: bool,
    count: u64,
}

/// The word after `words`, without what ends it.
fn after<'a>(text: &'a [u8], words: &[u8]) -> Option<&'a [u8]> {
    let at = memchr::memmem::find(text, words)? + words.len();
    let rest = &text[at..];
    let end = rest.iter().position(|b| b.is_ascii_whitespace() || *b == b':' || *b == b',');
    Some(&rest[..end.unwrap_or(rest.len())])
}

/// The address of a work item: `work struct=ADDR` or `work struct ADDR: …`.
fn work(text: &[u8]) -> Option<&[u8]> {
    after(text, b"work struct=").or_else(|| after(text, b"work struct "))
}

impl Sink {
    /// Counts an event, and says what its name does.
    fn named(&mut self, name: &[u8]) -> (Kind, bool) {
        let n = match self.events.get_mut(name) {
            Some(n) => n,
            None => {
                let new = Named { kind: Kind::of(name), command: Commands::wants(name), count: 0 };
                self.events.entry(name.to_vec()).or_insert(new)
            }
        };
        n.count += 1;
        (n.kind, n.command)
    }

    /// Whether anything was understood.
    fn found(&self) -> bool {
        self.ledger.issues + self.ledger.completions > 0
            || self.commands.sent + self.commands.ended > 0
            || !self.runtime.devices.is_empty()
            || !self.changes.is_empty()
    }

    fn block(&mut self, stamp: &Stamp<'_>, name: &[u8], text: &[u8]) {
        let known = matches!(
            name,
            b"block_bio_queue"
                | b"block_bio_backmerge"
                | b"block_bio_frontmerge"
                | b"block_split"
                | b"block_bio_remap"
                | b"block_getrq"
                | b"block_rq_insert"
                | b"block_rq_issue"
                | b"block_rq_complete"
        );
        if !known {
            return;
        }
        let Some(t) = block::read(stamp.time.0, text) else {
            self.damaged += 1;
            return;
        };
        let l = &mut self.ledger;
        match name {
            b"block_bio_queue" => l.queue(t.event),
            b"block_bio_backmerge" | b"block_bio_frontmerge" => l.merge(t.event),
            b"block_split" => {
                if let Some(at) = t.split {
                    l.split(t.event, at);
                }
            }
            b"block_bio_remap" => {
                if let Some((disk, sector)) = t.from {
                    l.remap(t.event, disk, sector);
                }
            }
            b"block_getrq" => l.admit(t.event),
            b"block_rq_insert" => l.insert(t.event),
            b"block_rq_issue" => l.issue(t.event),
            _ => {
                l.complete(t.event, t.error, stamp.cpu);
                if let Some(&(state, since, Some(left))) = self.cpus.get(&stamp.cpu)
                    && stamp.time.0 - left <= WOKEN
                {
                    self.woken.push(Woken {
                        completed: stamp.time.0,
                        cpu: stamp.cpu,
                        state,
                        slept: left - since,
                    });
                }
            }
        }
    }

    /// `state=1 cpu_id=0`; 4294967295 is awake.
    fn cpu(&mut self, time: i64, text: &[u8]) -> Option<()> {
        let cpu = u32::try_from(number(text, b"cpu_id")?).ok()?;
        let state = u32::try_from(number(text, b"state")?).ok()?;
        self.watched.cpus = true;
        if state != u32::MAX {
            self.cpus.insert(cpu, (state, time, None));
        } else if let Some(c) = self.cpus.get_mut(&cpu) {
            c.2.get_or_insert(time);
        }
        Some(())
    }

    /// `rcu_preempt 1234 start`.
    fn grace(&mut self, time: i64, text: &[u8]) -> Option<()> {
        self.watched.grace = true;
        let mut words = text.split(|b| b.is_ascii_whitespace()).filter(|w| !w.is_empty());
        let kind = words.next()?;
        match words.next_back()? {
            b"start" => _ = self.grace.insert(kind.to_vec(), time),
            b"end" => {
                if let Some(begin) = self.grace.remove(kind) {
                    self.graces.push((begin, time));
                }
            }
            _ => {}
        }
        Some(())
    }

    /// `rpm_resume: mmc0:0001 flags-4 cnt-1  dep-0 …` and
    /// `rpm_return_int: rpm_resume+0x124/0x6d8:mmc0:0001 ret=0`.
    fn rpm(&mut self, stamp: &Stamp<'_>, name: &[u8], text: &[u8]) -> Option<()> {
        let text = std::str::from_utf8(text).ok()?.trim();
        let (time, pid) = (stamp.time.0, stamp.pid);
        let function = |name: &str| match name {
            "rpm_idle" => Some(Function::Idle),
            "rpm_suspend" => Some(Function::Suspend),
            "rpm_resume" => Some(Function::Resume),
            _ => None,
        };
        if name == b"rpm_return_int" {
            let (head, ret) = text.rsplit_once(" ret=")?;
            let (call, device) = head.split_once(':')?;
            let ret = ret.trim().parse().ok()?;
            // Without symbols the kernel prints an address.
            match function(call.split('+').next()?) {
                Some(f) => self.runtime.returned(time, pid, f, device, ret),
                None => self.runtime.returned_any(time, pid, device, ret),
            }
            return Some(());
        }
        if name == b"rpm_status" {
            let (device, status) = text.split_once(" status=")?;
            self.runtime.status(time, device, status.trim());
            return Some(());
        }
        let Some(f) = function(std::str::from_utf8(name).ok()?) else { return Some(()) };
        let (device, rest) = text.split_once(" flags-")?;
        let flags = u32::from_str_radix(rest.split_whitespace().next()?, 16).ok()?;
        let usage =
            rest.split_once("cnt-").and_then(|(_, n)| n.split_whitespace().next()?.parse().ok());
        let after =
            |word: &str| rest.split_once(word).and_then(|(_, n)| n.split_whitespace().next());
        let children = after("child-").and_then(|n| n.parse().ok());
        let comm = String::from_utf8_lossy(stamp.comm);
        self.runtime.note(f, device.trim(), flags, &comm, children);
        self.runtime.call(time, pid, f, device.trim(), flags, usage);
        Some(())
    }

    fn workqueue(&mut self, time: i64, name: &[u8], text: &[u8]) {
        match name {
            b"workqueue_queue_work" if memchr::memmem::find(text, UNGATE).is_some() => {
                (self.watched.gating, self.watched.worker) = (true, true);
                if let Some(w) = work(text) {
                    self.ungating.insert(w.to_vec(), (time, None));
                }
            }
            b"workqueue_queue_work" if memchr::memmem::find(text, GATE).is_some() => {
                self.gates.push(time);
            }
            b"workqueue_execute_start" if memchr::memmem::find(text, UNGATE).is_some() => {
                (self.watched.gating, self.watched.worker) = (true, true);
                if let Some(w) = work(text) {
                    self.ungating.entry(w.to_vec()).or_insert((time, None)).1 = Some(time);
                }
            }
            b"workqueue_execute_end" if !self.ungating.is_empty() => {
                let Some((queued, begun)) = work(text).and_then(|w| self.ungating.remove(w)) else {
                    return;
                };
                let begun = begun.unwrap_or(time);
                self.ungates.push(time - begun);
                self.span(queued, begun, Cause::UngateWorker);
                self.span(begun, time, Cause::Ungate);
            }
            _ => {}
        }
    }

    fn span(&mut self, begin: i64, end: i64, cause: Cause) {
        self.spans.push(Span { family: Family::Scsi, begin, end, cause });
    }

    /// `gcc_ufs_phy_axi_clk`, and `state=1 cpu_id=0` of older kernels behind it.
    fn clock(&mut self, time: i64, name: &[u8], text: &[u8]) {
        let Some((clock, _)) = block::word(text) else { return };
        if memchr::memmem::find(clock, b"ufs").is_none() {
            return;
        }
        let state = number(text, b"state");
        match name {
            b"clk_enable" | b"clock_enable"
                if state != Some(0) && self.clocks.insert(clock.to_vec()) =>
            {
                self.enabled.push(time);
            }
            b"clk_disable" | b"clock_disable" => {
                self.clocks.remove(clock);
            }
            _ => {}
        }
    }

    /// `1d84000.ufshc: gating state changed to REQ_CLKS_ON`;
    /// `1d84000.ufshc: scale_up: took 512 usecs, err 0`.
    fn ufs(&mut self, time: i64, name: &[u8], text: &[u8]) -> Option<()> {
        let colon = memchr::memchr(b':', text)?;
        let device = text[..colon].trim_ascii();
        match name {
            b"ufshcd_clk_gating" => {
                self.watched.gating = true;
                let state = after(text, b"changed to ")?;
                if state == b"REQ_CLKS_ON" {
                    self.clocks_asked.insert(device.to_vec(), time);
                } else if state == b"CLKS_ON"
                    && let Some(asked) = self.clocks_asked.remove(device)
                {
                    // The work item's own events say more.
                    if self.ungating.is_empty() {
                        self.ungates.push(time - asked);
                        self.span(asked, time, Cause::Ungate);
                    }
                }
            }
            b"ufshcd_profile_clk_scaling" => {
                self.watched.switching = true;
                let us: i64 = std::str::from_utf8(after(text, b"took ")?).ok()?.parse().ok()?;
                let took = us.checked_mul(1_000)?;
                self.span(time.checked_sub(took)?, time, Cause::Switch);
            }
            b"ufshcd_runtime_resume" | b"ufshcd_wl_runtime_resume" => {
                self.watched.runtime = true;
                let us: i64 = std::str::from_utf8(after(text, b"took ")?).ok()?.parse().ok()?;
                self.span(time.checked_sub(us.checked_mul(1_000)?)?, time, Cause::Resume);
            }
            _ => {}
        }
        Some(())
    }

    fn devfreq(&mut self, time: i64, text: &[u8]) -> Option<()> {
        let device = String::from_utf8_lossy(word(text, b"dev_name")?).into_owned();
        let (frequency, before) = (number(text, b"freq")?, number(text, b"prev_freq")?);
        if let (true, Some(family), Some(&look)) =
            (frequency > before, Family::of_device(&device), self.looked.get(device.as_bytes()))
        {
            self.spans.push(Span { family, begin: look, end: time, cause: Cause::Slow });
        }
        self.changes.push(ClockChange { time, device, frequency, before });
        Some(())
    }

    /// `dev_name=1d84000.ufshc freq=100000000 polling_ms=60 load=12`.
    fn look(&mut self, time: i64, text: &[u8]) -> Option<()> {
        let device = word(text, b"dev_name")?;
        self.watched.looks |=
            std::str::from_utf8(device).is_ok_and(|d| Family::of_device(d).is_some());
        match self.looked.get_mut(device) {
            Some(at) => {
                // The kernel counts in ticks, so looks come later than asked for.
                let gap = time - std::mem::replace(at, time);
                let name = String::from_utf8_lossy(device);
                if let Some(l) = self.looks.get_mut(name.as_ref()) {
                    let least = if l.2 { l.1.min(gap) } else { gap };
                    (l.1, l.2) = (least.max(l.3), true);
                }
            }
            None => {
                let poll = number(text, b"polling_ms").unwrap_or(0).saturating_mul(1_000_000);
                if let Some(poll) = i64::try_from(poll).ok().filter(|p| *p > 0) {
                    let name = String::from_utf8_lossy(device).into_owned();
                    self.looks.insert(name, (time, poll, false, poll));
                }
                self.looked.insert(device.to_vec(), time);
            }
        }
        Some(())
    }

    fn finish(mut self, name: &str) -> Trace {
        self.runtime.settle();
        self.woken.sort_by_key(|w| w.completed);
        let mut spans = self.spans;
        let runtime = self.runtime.spans();
        // The part of a suspend that waited for RCU.
        for s in runtime.iter().filter(|s| s.cause == Cause::ResumeSuspend) {
            let first = self.graces.partition_point(|g| g.1 <= s.begin);
            for g in self.graces[first..].iter().take_while(|g| g.0 < s.end) {
                let (begin, end) = (g.0.max(s.begin), g.1.min(s.end));
                spans.push(Span { begin, end, cause: Cause::ResumeGrace, ..*s });
            }
        }
        spans.extend(runtime);
        let mut watched = self.watched;
        watched.runtime |= !self.runtime.devices.is_empty();
        let (mut issues, mut completions) = (self.ledger.issues, self.ledger.completions);
        let mut unissued = self.ledger.unissued;
        let mut requests = self.ledger.finish();
        let commands = self.commands.sent + self.commands.ended > 0;
        if issues + completions == 0 && commands {
            // Nobody recorded the block layer: commands of the driver stand for it.
            (issues, completions) = (self.commands.sent, self.commands.ended);
            unissued = self.commands.unsent;
            requests.extend(self.commands.finish());
        }
        if !watched.gating && !self.enabled.is_empty() {
            // No event of the gate: what the driver put back while a clock of UFS was
            // switched on waited for that (`ufshcd_hold`, drivers/scsi/ufs/ufshcd.c, 4.9).
            watched.gating = true;
            for r in &requests {
                let (Some(from), Some(to)) = (r.issued, r.taken) else { continue };
                let first = self.enabled.partition_point(|t| *t < from);
                if r.issues > 1
                    && Family::of_disk(r.disk) == Some(Family::Scsi)
                    && self.enabled.get(first).is_some_and(|t| *t <= to)
                {
                    let cause = Cause::Ungate;
                    spans.push(Span { family: Family::Scsi, begin: from, end: to, cause });
                }
            }
        }
        // Work items, idle states and grace periods are no events of storage.
        let counted = self.events.into_iter().filter(|(name, n)| {
            !matches!(n.kind, Kind::Workqueue | Kind::Idle) && name != b"rcu_grace_period"
        });
        let text = |b: Vec<u8>| String::from_utf8_lossy(&b).into_owned();
        Trace {
            name: name.into(),
            requests,
            spans,
            watched,
            runtime: self.runtime,
            changes: self.changes,
            issues,
            completions,
            unissued,
            events: counted.map(|(name, n)| (text(name), n.count)).collect(),
            unused: self.unused,
            ungates: self.ungates,
            gates: self.gates,
            looks: self.looks.into_iter().map(|(d, l)| (d, (l.0, l.1))).collect(),
            woken: self.woken,
            until: self.until,
        }
    }
}

impl EventSink for Sink {
    fn wants(&self, name: &[u8]) -> bool {
        matches!(
            Kind::of(name),
            Kind::Block | Kind::Rpm | Kind::Ufs | Kind::Devfreq | Kind::Scsi | Kind::Clk
        ) || matches!(
            name,
            b"workqueue_queue_work"
                | b"workqueue_execute_start"
                | b"workqueue_execute_end"
                | b"cpu_idle"
                | b"rcu_grace_period"
        ) || Commands::wants(name)
    }

    fn wants_all_times(&self) -> bool {
        true
    }

    fn unused(&mut self, _: Kind, count: u64) {
        self.unused += count;
    }

    fn event(&mut self, stamp: Stamp<'_>, event: TraceEvent<'_>) {
        let (name, text) = match event {
            TraceEvent::Lost { count } => {
                self.lost += count.unwrap_or(1);
                return;
            }
            TraceEvent::Other { name, text } => (name, text),
            _ => return,
        };
        let time = stamp.time.0;
        self.until = self.until.max(time);
        let (kind, command) = self.named(name);
        if kind == Kind::Workqueue {
            self.workqueue(time, name, text);
            return;
        }
        if kind == Kind::Idle || name == b"rcu_grace_period" {
            let read = match kind {
                Kind::Idle => self.cpu(time, text),
                _ => self.grace(time, text),
            };
            self.damaged += u64::from(read.is_none());
            return;
        }
        if command {
            let read = self.commands.take(time, stamp.cpu, name, text);
            self.damaged += u64::from(read.is_none());
            return;
        }
        let read = match kind {
            Kind::Clk => {
                self.clock(time, name, text);
                Some(())
            }
            Kind::Block => {
                self.block(&stamp, name, text);
                Some(())
            }
            Kind::Rpm => self.rpm(&stamp, name, text),
            Kind::Ufs => self.ufs(time, name, text),
            Kind::Devfreq if name == b"devfreq_frequency" => self.devfreq(time, text),
            Kind::Devfreq if name == b"devfreq_monitor" => self.look(time, text),
            _ => Some(()),
        };
        self.damaged += u64::from(read.is_none());
    }
}
