//! Traces: requests, and what disks did while they waited.

use super::block;
use super::commands::Commands;
use crate::event::{EventSink, Kind, Stamp, TraceEvent, number, word};
use dormouse_storage::ledger::Ledger;
use dormouse_storage::recording::{ClockChange, Trace, WOKEN, Woken};
use dormouse_storage::request::Disk;
use dormouse_storage::runtime::{Function, Runtime};
use dormouse_storage::wait::{Cause, Family, Span, Watched};
use std::collections::{BTreeMap, HashMap, HashSet};

/// The work item that switches the clocks of UFS on.
const UNGATE: &[u8] = b"ufshcd_ungate_work";
/// The one that switches them off, queued when the delay has passed.
const GATE: &[u8] = b"=ufshcd_gate_work";

#[derive(Default)]
pub(super) struct Sink {
    ledger: Ledger,
    commands: Commands,
    /// Clocks of UFS that are on, when one was switched on, and when the last was
    /// switched off.
    clocks: HashSet<Vec<u8>>,
    enabled: Vec<i64>,
    disabled: Vec<i64>,
    /// The state of the gate became `CLKS_OFF`.
    gated: Vec<i64>,
    runtime: Runtime,
    spans: Vec<Span>,
    changes: Vec<ClockChange>,
    /// How often each event came, with what its name says.
    events: Names,
    /// When the work item of each address was queued, and when it began.
    ungating: HashMap<Vec<u8>, (i64, Option<i64>)>,
    ungates: Vec<i64>,
    gates: Vec<i64>,
    begin: Option<i64>,
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
    /// Disks that have requests.
    of_requests: Vec<Disk>,
    unused: u64,
    /// Its events have no times.
    pub(super) timeless: bool,
    pub(super) damaged: u64,
    pub(super) lost: u64,
}

/// What an event of the block layer does with a request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Queue,
    Merge,
    Split,
    Remap,
    Admit,
    Insert,
    Issue,
    Requeue,
    Complete,
    BioComplete,
    Error,
}

/// What an event is to storage.
#[derive(Clone, Copy)]
enum What {
    Block(Step),
    Rpm,
    Ufs,
    Clock,
    Frequency,
    Look,
    Workqueue,
    Idle,
    Grace,
    Command,
    /// Counted alone.
    Other,
}

impl What {
    fn of(name: &[u8]) -> What {
        match name {
            b"block_bio_queue" => What::Block(Step::Queue),
            b"block_bio_backmerge" | b"block_bio_frontmerge" => What::Block(Step::Merge),
            b"block_split" => What::Block(Step::Split),
            b"block_bio_remap" => What::Block(Step::Remap),
            b"block_getrq" => What::Block(Step::Admit),
            b"block_rq_insert" => What::Block(Step::Insert),
            b"block_rq_issue" => What::Block(Step::Issue),
            b"block_rq_requeue" => What::Block(Step::Requeue),
            b"block_rq_complete" => What::Block(Step::Complete),
            b"block_rq_error" => What::Block(Step::Error),
            b"block_bio_complete" => What::Block(Step::BioComplete),
            b"rcu_grace_period" => What::Grace,
            b"devfreq_frequency" => What::Frequency,
            b"devfreq_monitor" => What::Look,
            _ if Commands::wants(name) => What::Command,
            _ => match Kind::of(name) {
                Kind::Rpm => What::Rpm,
                Kind::Ufs => What::Ufs,
                Kind::Clk => What::Clock,
                Kind::Workqueue => What::Workqueue,
                Kind::Idle => What::Idle,
                _ => What::Other,
            },
        }
    }

    /// Work items, idle states and grace periods are no events of storage.
    fn is_storage(self) -> bool {
        !matches!(self, What::Workqueue | What::Idle | What::Grace)
    }
}

/// Names of events that came, and how often each did: there are few.
#[derive(Default)]
struct Names {
    list: Vec<(Vec<u8>, What, u64)>,
    /// The place in the list of the last name of each length.
    guess: [u8; 32],
}

impl Names {
    /// Counts an event.
    fn what(&mut self, name: &[u8]) -> What {
        let slot = name.len() & 31;
        let guess = usize::from(self.guess[slot]);
        if let Some(n) = self.list.get_mut(guess)
            && n.0 == name
        {
            n.2 += 1;
            return n.1;
        }
        let at = self.list.iter().position(|n| n.0 == name).unwrap_or_else(|| {
            self.list.push((name.to_vec(), What::of(name), 0));
            self.list.len() - 1
        });
        self.guess[slot] = u8::try_from(at).unwrap_or(0);
        self.list[at].2 += 1;
        self.list[at].1
    }
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
    fn block(&mut self, stamp: &Stamp<'_>, step: Step, text: &[u8]) -> Option<()> {
        let t = block::read(stamp.time.0, text)?;
        let l = &mut self.ledger;
        // A disk that passes bios on has no requests: its bios end by themselves.
        let bio = matches!(step, Step::Queue | Step::Merge | Step::Split | Step::Remap);
        if !bio && step != Step::BioComplete && !self.of_requests.contains(&t.event.disk) {
            self.of_requests.push(t.event.disk);
        }
        match step {
            Step::BioComplete if self.of_requests.contains(&t.event.disk) => {}
            Step::BioComplete => l.complete(t.event, t.error, stamp.cpu),
            Step::Queue => l.queue(t.event),
            Step::Merge => l.merge(t.event),
            Step::Split => {
                if let Some(at) = t.split {
                    l.split(t.event, at);
                }
            }
            Step::Remap => {
                if let Some((disk, sector)) = t.from {
                    l.remap(t.event, disk, sector);
                }
            }
            Step::Admit => l.admit(t.event),
            Step::Insert => l.insert(t.event),
            Step::Issue => l.issue(t.event),
            Step::Requeue => l.requeue(t.event),
            Step::Error => l.fail(t.event, t.error, stamp.cpu),
            Step::Complete => {
                l.complete(t.event, t.error, stamp.cpu);
                if !self.cpus.is_empty() {
                    self.woke(stamp);
                }
            }
        }
        Some(())
    }

    /// Whether a completion woke its CPU: it came right behind the exit of an idle state,
    /// or inside of one, where a driver lets interrupts in before the exit is recorded.
    fn woke(&mut self, stamp: &Stamp<'_>) {
        let time = stamp.time.0;
        let Some(&(state, since, left)) = self.cpus.get(&stamp.cpu) else { return };
        if left.is_none_or(|l| time.saturating_sub(l) <= WOKEN) {
            let slept = left.unwrap_or(time).saturating_sub(since);
            self.woken.push(Woken { completed: time, cpu: stamp.cpu, state, slept });
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
            let ret = " ret=";
            let at = crate::text::rfind(text.as_bytes(), ret.as_bytes())?;
            let (head, ret) = (&text[..at], &text[at + ret.len()..]);
            let (call, device) = head.split_once(':')?;
            // Somebody may have remarked on it behind the number.
            let ret = ret.split_whitespace().next()?.parse().ok()?;
            // Without symbols the kernel prints an address.
            match function(call.split('+').next()?) {
                Some(f) => self.runtime.returned(time, pid, f, device, ret),
                None => self.runtime.returned_any(time, pid, device, ret),
            }
            return Some(());
        }
        if name == b"rpm_status" {
            let (device, status) = text.split_once(" status=")?;
            self.runtime.status(time, device, status.split_whitespace().next()?);
            return Some(());
        }
        let Some(f) = function(std::str::from_utf8(name).ok()?) else { return Some(()) };
        let find = |text: &str, word: &str| crate::text::find(text.as_bytes(), word.as_bytes());
        let at = find(text, " flags-")?;
        let (device, rest) = (&text[..at], &text[at + " flags-".len()..]);
        let flags = u32::from_str_radix(rest.split_whitespace().next()?, 16).ok()?;
        let number = |word: &str| {
            let behind = &rest[find(rest, word)? + word.len()..];
            behind.split_whitespace().next()?.parse().ok()
        };
        let comm = String::from_utf8_lossy(stamp.comm);
        self.runtime.note(f, device.trim(), flags, &comm, number("child-"));
        self.runtime.call(time, pid, f, device.trim(), flags, number("cnt-"));
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
                self.ungates.push(time.saturating_sub(begun));
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
                // The event is of a clock that was off. Where nobody recorded that it was
                // switched off again, all of them count.
                if state != Some(0)
                    && (self.clocks.insert(clock.to_vec()) || self.disabled.is_empty()) =>
            {
                self.enabled.push(time);
            }
            b"clk_disable" | b"clock_disable" => {
                self.clocks.remove(clock);
                if self.clocks.is_empty() {
                    self.disabled.push(time);
                }
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
                } else if state == b"CLKS_OFF" {
                    self.gated.push(time);
                } else if state == b"CLKS_ON"
                    && let Some(asked) = self.clocks_asked.remove(device)
                {
                    // The work item's own events say more.
                    if self.ungating.is_empty() {
                        self.ungates.push(time.saturating_sub(asked));
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
        self.changes.push(ClockChange { time, device, hz: frequency, hz_before: before });
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
                let gap = time.saturating_sub(std::mem::replace(at, time));
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

    pub(super) fn finish(mut self, name: &str) -> Trace {
        self.runtime.settle();
        if self.timeless {
            self.forget_times();
        }
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
        let counted = self.events.list.into_iter().filter(|n| n.1.is_storage());
        // What the driver says itself is better than what it did to its clocks.
        let gates = [self.gates, self.gated, self.disabled];
        let gates = gates.into_iter().find(|g| !g.is_empty()).unwrap_or_default();
        let text = |b: Vec<u8>| String::from_utf8_lossy(&b).into_owned();
        Trace {
            name: name.into(),
            part: 0,
            timeless: self.timeless,
            begin: self.begin,
            requests,
            spans,
            watched,
            runtime: self.runtime,
            changes: self.changes,
            issues,
            completions,
            unissued,
            events: counted.map(|(name, _, n)| (text(name), n)).collect(),
            unused: self.unused,
            ungates: self.ungates,
            gates,
            looks: self.looks.into_iter().map(|(d, l)| (d, (l.0, l.1))).collect(),
            woken: self.woken,
            until: self.until,
            unread: self.damaged,
            commands_by: BTreeMap::new(),
        }
    }
}

impl Sink {
    /// Nothing that was told by times: the order of events alone is known.
    fn forget_times(&mut self) {
        self.ledger = Ledger::default();
        self.commands = Commands::default();
        self.runtime.forget_times();
        (self.spans, self.changes) = (Vec::new(), Vec::new());
        (self.gates, self.gated, self.disabled) = (Vec::new(), Vec::new(), Vec::new());
        (self.looks, self.woken) = (BTreeMap::new(), Vec::new());
    }
}

/// What the names of events of storage and runtime PM have: a text without any of these has no
/// such event.
pub(super) const STEMS: [&[u8]; 10] = [
    b"block_",
    b"rpm_",
    b"ufshcd_",
    b"devfreq_",
    b"scsi_",
    b"nvme_",
    b"clk_",
    b"clock_enable",
    b"clock_disable",
    b"clock_set_rate",
];

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
        self.begin.get_or_insert(time);
        self.until = self.until.max(time);
        let read = match self.events.what(name) {
            What::Block(step) => self.block(&stamp, step, text),
            What::Rpm => self.rpm(&stamp, name, text),
            What::Ufs => self.ufs(time, name, text),
            What::Frequency => self.devfreq(time, text),
            What::Look => self.look(time, text),
            What::Idle => self.cpu(time, text),
            What::Grace => self.grace(time, text),
            What::Command => self.commands.take(time, stamp.cpu, name, text),
            What::Workqueue => {
                self.workqueue(time, name, text);
                Some(())
            }
            What::Clock => {
                self.clock(time, name, text);
                Some(())
            }
            What::Other => Some(()),
        };
        self.damaged += u64::from(read.is_none());
    }
}
