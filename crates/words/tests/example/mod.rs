//! A machine with a few devices and five cycles that shows every field.

use dormouse_base::capture::Capture;
use dormouse_base::complete::LostKind;
use dormouse_base::cycle::*;
use dormouse_base::device::*;
use dormouse_base::image::{ImageStep, ImageWork};
use dormouse_base::loss::Severity;
use dormouse_base::phase::{Direction, Phase, PmEvent};
use dormouse_base::ranked::{Ranked, Ranking};
use dormouse_base::time::Ns;
use dormouse_doctor::finding::{Area, Confidence, Evidence, Finding, Level};
use dormouse_sleep::analyse::explain;
use dormouse_words::Explained;

const MS: i64 = 1_000_000;

/// Explains a capture.
pub(crate) fn explained(capture: Capture) -> Vec<Explained> {
    let views = explain(&capture);
    let (findings, waits) = (Vec::new(), Vec::new());
    vec![Explained { views, findings, waits, ways: Vec::new(), capture: capture.into() }]
}

/// What the doctor says of a sync that is slow.
pub(crate) fn slow_sync() -> Finding {
    let line = Evidence { line: 7, text: "sync_on_suspend: 0".into(), ..Evidence::default() };
    let mut f = Finding::new(("sync-share", Area::Sync, Level::Slow), Confidence::Certain)
        .says("Dirty data is not written before sleep: sync_on_suspend is 0. It is lost if power fails or the machine does not resume.")
        .change(
            "echo 1 > /sys/power/sync_on_suspend",
            "Write the old value back.",
            "With a block device that is suspended below its file system (luksSuspend) sync never ends.",
        )
        .shown_by([line]);
    f.saves = Some(Ns::from_ms(3));
    f
}

/// A cycle under construction. Times are microseconds.
pub(crate) struct Build {
    pub capture: Capture,
    pub cycle: Cycle,
}

impl Build {
    /// A machine without devices and a cycle without phases.
    pub(crate) fn new() -> Build {
        let mut capture = Capture::default();
        capture.graph.order_known = true;
        let cycle = Cycle {
            source: capture.names.add("run/trace.txt"),
            kernel: capture.names.add("6.12.0"),
            mode: Mode::Deep,
            outcome: Outcome::Slept,
            ..Cycle::default()
        };
        Build { capture, cycle }
    }

    pub(crate) fn device(&mut self, name: &str, driver: &str, parent: Option<u32>) -> DeviceId {
        let device = Device {
            name: self.capture.names.add(name),
            driver: self.capture.names.add(driver),
            parent: parent.map(DeviceId),
            async_flag: Some(driver != "sync"),
            ..Device::default()
        };
        self.capture.graph.push(device)
    }

    pub(crate) fn thread(&mut self, name: &str, main: bool) -> ThreadId {
        let name = self.capture.names.add(name);
        let pid = 100 + self.cycle.threads.len() as i32;
        self.cycle.threads.push(Thread { pid, name, is_main: Some(main) });
        ThreadId(self.cycle.threads.len() as u16 - 1)
    }

    pub(crate) fn phase(&mut self, phase: Phase, start: i64, end: i64) {
        let printed = phase.has_devices().then_some(Ns((end - start) * 1000));
        let event = if phase > Phase::Asleep { PmEvent::Resume } else { PmEvent::Suspend };
        let (start, end) = (Ns(start * 1000), Ns(end * 1000));
        let span = PhaseSpan { phase, event, start, end, cpu: 1, complete: true, printed };
        self.cycle.phases.push(span);
        if phase == Phase::Asleep {
            self.cycle.asleep = Some((start, end));
        }
        self.cycle.end = self.cycle.end.max(end);
    }

    pub(crate) fn callback(
        &mut self,
        d: DeviceId,
        phase: Phase,
        thread: ThreadId,
        start: i64,
        end: i64,
    ) {
        self.cycle.callbacks.push(Callback {
            device: d,
            phase,
            event: PmEvent::Suspend,
            thread,
            function: self.capture.names.add("bus "),
            start: Ns(start * 1000),
            end: Ns(end * 1000),
            error: 0,
            complete: true,
        });
    }

    /// The capture with the cycle, whose callbacks are put in order.
    pub(crate) fn finish(mut self) -> Capture {
        self.cycle.callbacks.sort_by_key(|c| c.start);
        self.capture.cycles.push(self.cycle);
        self.capture
    }
}

impl Default for Build {
    fn default() -> Build {
        Build::new()
    }
}

/// A board: an Ethernet controller on the main thread, a disk behind its host
/// in workers. `slow` is added to the disk.
pub(crate) fn board(slow: i64) -> Build {
    let mut b = Build::new();
    let root = b.device("platform", "sync", None);
    let host = b.device("0000:00:1f.2", "ahci", Some(root.0));
    let disk = b.device("0:0:0:0", "sd", Some(host.0));
    let ether = b.device("4a100000.ethernet", "sync", Some(root.0));
    let block = b.device("sda", "sync", Some(disk.0));
    let (main, w1, w2) =
        (b.thread("sh", true), b.thread("kworker/u8:1", false), b.thread("kworker/u8:2", false));
    b.phase(Phase::Sync, 0, 4_000);
    b.phase(Phase::Freeze, 4_500, 6_000);
    b.phase(Phase::Prepare, 6_100, 6_200);
    for (i, d) in [root, host, disk, ether, block].into_iter().enumerate() {
        let at = 6_110 + i as i64 * 10;
        b.callback(d, Phase::Prepare, main, at, at + 5);
    }
    let end = 130_000 + slow;
    b.phase(Phase::Suspend, 6_200, end);
    b.callback(ether, Phase::Suspend, main, 6_210, 26_210);
    b.callback(disk, Phase::Suspend, w1, 26_230, 126_000 + slow);
    b.callback(host, Phase::Suspend, w2, 126_020 + slow, 129_990 + slow);
    b.phase(Phase::CpuOff, end + 10, end + 900);
    b.phase(Phase::Asleep, end + 1_000, end + 500_000);
    let up = end + 500_000;
    b.phase(Phase::CpuOn, up + 10, up + 700);
    b.phase(Phase::Resume, up + 20_700, up + 60_700);
    b.callback(host, Phase::Resume, w1, up + 20_720, up + 30_000);
    b.callback(ether, Phase::Resume, main, up + 20_710, up + 50_000);
    b.callback(disk, Phase::Resume, w2, up + 30_020, up + 60_690);
    b.callback(block, Phase::Resume, main, up + 60_692, up + 60_696);
    b.phase(Phase::Complete, up + 60_710, up + 60_800);
    b.callback(ether, Phase::Complete, main, up + 60_715, up + 60_720);
    b.phase(Phase::Thaw, up + 61_000, up + 62_000);
    b
}

/// Six cycles of the board: the first after boot, then alike, the last slow;
/// every optional field is set in at least one of them.
pub(crate) fn everything() -> Capture {
    let mut all = board(0).finish();
    all.cycles[0].first_after_boot = true;
    for slow in [0, 10, 20, 30, 90_000] {
        all.cycles.extend(board(slow).finish().cycles);
    }
    all.machine.host = all.names.add("bench-1");
    all.machine.model = all.names.add("Acme Board 2");
    all.cycles[1].began = Some(Ns(1_764_000_000_000 * MS));
    all.cycles[1].wakers = Some(vec![all.names.add("rtc_cmos")]);
    all.losses.add("dropped_messages", 2, Severity::Warning, "boot with log_buf_len=8M", Some(17));
    let delay = all.names.add("kworker/3:1");
    let (resume, ret) = (all.names.add("rpm_resume"), all.names.add("rpm_return_int"));
    let flags = all.names.add("0:0:0:0 flags-4 cnt-1  dep-0  auto-1 p-0 irq-1 child-0");
    let code = all.names.add("rpm_resume+0x1f8:0:0:0:0 ret=0");
    let c = &mut all.cycles[1];
    c.freeze_delays.push(delay);
    for (name, text, at) in [(resume, flags, 7_000), (ret, code, 7_400)] {
        let (time, thread) = (Ns(at * 1000), ThreadId(1));
        c.events.push(SideEvent { time, name, thread, cpu: 0, text });
    }
    c.asleep_elsewhere = Some(Ns(7_700 * MS));
    c.counts = Counts {
        workers_created: Some(3),
        workers_at_once: Some(5),
        parked_at_once: Some(2),
        blocked_waits: Some(4),
        wakeups: Some(25),
        context_switches: Some(5),
        dirty_bytes: Some(4096),
        writeback_bytes: Some(512),
        ..Counts::default()
    };
    all.unused_events.insert("idle", 12);
    // The root's parent is known by name alone.
    all.graph.devices[0].parent_name = all.names.add("firmware");
    // The disk is skipped in one cycle, another is aborted by it.
    let disk = DeviceId(2);
    all.cycles[2].callbacks.retain(|cb| cb.device != disk || cb.phase == Phase::Prepare);
    let mut aborted = board(0).finish().cycles.remove(0);
    aborted.outcome = Outcome::AbortedByDevice { device: Some(disk), errno: -16 };
    aborted.asleep = None;
    aborted.phases.retain(|p| p.phase <= Phase::Suspend);
    all.cycles.push(aborted);
    all.cycles[1].image.push(ImageStep {
        work: ImageWork::Write,
        start: Ns(MS),
        end: Ns(5 * MS),
        bytes: 1 << 20,
    });
    all.cycles[1].lose(Some(Phase::Suspend), LostKind::Lines, 2);
    let (source, kernel) = (all.names.add("list.txt"), all.names.add("6.1.44"));
    let function = all.names.add("disk_suspend_late");
    let row = |ms| Ranked {
        device: disk,
        function,
        direction: Some(Direction::Suspend),
        phase: Some(Phase::Late),
        took: Ns(ms * MS),
        error: 0,
    };
    all.ranked.push(Ranking { source, kernel, at: 3, rows: vec![row(7), row(4)] });
    all
}

/// [`everything`], whose second cycle has a power domain: nobody uses it, the Ethernet
/// controller is the first of it on the way up, and the disk waits.
pub(crate) fn with_domain() -> Capture {
    let mut all = everything();
    let (domain, function) = (all.names.add("gpu"), all.names.add("noirq power domain"));
    let c = &mut all.cycles[1];
    let span = |phase, start: i64, end: i64| PhaseSpan {
        phase,
        event: if phase == Phase::Noirq { PmEvent::Suspend } else { PmEvent::Resume },
        start: Ns(start * 1000),
        end: Ns(end * 1000),
        cpu: 0,
        complete: true,
        printed: None,
    };
    c.phases.push(span(Phase::Noirq, 130_002, 130_008));
    c.phases.push(span(Phase::ResumeNoirq, 631_000, 640_000));
    c.phases.sort_by_key(|p| p.start);
    for (device, thread, end) in [(DeviceId(3), 0, 639_000), (DeviceId(2), 1, 639_200)] {
        c.callbacks.push(Callback {
            device,
            phase: Phase::ResumeNoirq,
            event: PmEvent::Resume,
            thread: ThreadId(thread),
            function,
            start: Ns(631_010_000),
            end: Ns(end * 1000),
            error: 0,
            complete: true,
        });
    }
    c.callbacks.sort_by_key(|c| c.start);
    let on = Switch {
        domain,
        on: true,
        phase: Some(Phase::ResumeNoirq),
        device: Some(DeviceId(3)),
        thread: ThreadId(0),
        start: Ns(631_020_000),
        end: Ns(638_990_000),
        complete: true,
    };
    let (start, end) = (Ns(691_500_000), Ns(691_600_000));
    c.switches = vec![on, Switch { on: false, phase: None, device: None, start, end, ..on }];
    all
}
