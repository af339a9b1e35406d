//! Kernel logs in every dress and of every generation say the same.

#[path = "support/invariants.rs"]
mod invariants;
#[allow(dead_code)]
#[path = "support/synthetic.rs"]
mod synthetic;

use dormouse_model::capture::Capture;
use dormouse_model::cycle::{Cycle, Mode, Outcome, PmTestLevel};
use dormouse_model::phase::Phase;
use dormouse_model::time::Ns;
use dormouse_read::{Options, read_bytes};
use synthetic::{Generation, stamped};

fn capture(log: &str) -> Capture {
    let reading = read_bytes("test", log.as_bytes(), &Options::default()).unwrap();
    assert_eq!(reading.captures.len(), 1);
    let capture = reading.captures.into_iter().next().unwrap();
    invariants::check(&capture, log);
    capture
}

fn count(cycle: &Cycle, phase: Phase) -> usize {
    cycle.callbacks.iter().filter(|c| c.phase == phase && c.complete).count()
}

const SIX: [Phase; 6] = [
    Phase::Suspend,
    Phase::Late,
    Phase::Noirq,
    Phase::ResumeNoirq,
    Phase::ResumeEarly,
    Phase::Resume,
];

/// What every dress of the synthetic log must give.
fn check_whole(capture: &Capture, generation: Generation) {
    let name = |s| capture.names.get(s);
    assert_eq!(capture.cycles.len(), 1);
    let c = &capture.cycles[0];
    assert_eq!((c.mode, c.outcome), (Mode::Deep, Outcome::Slept));
    assert_eq!(capture.graph.devices.len(), 4);
    for phase in SIX {
        assert_eq!(count(c, phase), 4, "{generation:?} {phase}");
        assert_eq!(c.phase(phase).unwrap().printed, Some(Ns::from_us(8_000)));
    }
    for b in &c.callbacks {
        let shifted = matches!(generation, Generation::Device | Generation::Function);
        let took = if shifted { 1_536_000 } else { 1_500_000 };
        assert_eq!(b.duration(), Ns(took), "{generation:?}");
        if generation != Generation::Device {
            assert!(!name(b.function).is_empty() && !name(b.function).contains(['+', ' ']));
        }
    }
    let mut threads: Vec<_> = c.callbacks.iter().map(|b| b.thread).collect();
    threads.sort();
    threads.dedup();
    assert_eq!(threads.len(), 2);
    let usb = capture.graph.devices.iter().find(|d| name(d.name) == "1-1").unwrap();
    assert_eq!(name(capture.graph.get(usb.parent.unwrap()).name), "usb1");
    let led = capture.graph.devices.iter().find(|d| name(d.name) == "mmc1::").unwrap();
    assert_eq!(led.parent_name, dormouse_model::names::Sym::EMPTY);
    assert_eq!(c.asleep_elsewhere, Some(Ns::from_ms(9_000)));
}

#[test]
fn every_generation_and_every_dress() {
    type Dress = (&'static str, fn(u64, &str) -> String);
    let dresses: [Dress; 9] = [
        ("dmesg", stamped),
        ("caller", |us, t| stamped(us, t).replacen("] ", "][T300] ", 1)),
        ("interrupt", |us, t| stamped(us, t).replacen("] ", "][  C1] ", 1)),
        ("priority", |us, t| format!("<6>{}", stamped(us, t))),
        ("vendor", |us, t| {
            stamped(us, t).replacen("] ", "] [2025:05:01 09:09:14][pid:9,cpu7,sh]", 1)
        }),
        ("syslog", |us, t| format!("Sep  1 10:11:12 box kernel: {}", stamped(us, t))),
        ("rfc3339", |us, t| format!("2024-02-06T04:26:01.376714Z INFO kernel: {}", stamped(us, t))),
        ("mail", |us, t| format!("> > {}", stamped(us, t))),
        ("windows", |us, t| format!("{}\r", stamped(us, t))),
    ];
    for generation in Generation::ALL {
        for (name, dress) in dresses {
            println!("{generation:?} {name}");
            check_whole(&capture(&synthetic::log(generation, dress)), generation);
        }
    }
}

#[test]
fn rfc3339_times_serve_where_the_kernels_are_missing() {
    let log = synthetic::log(Generation::Bare, |us, t| {
        let s = us / 1_000_000;
        format!("2024-02-06T04:26:{:02}.{:06}+01:00 box kernel: {t}", s % 60, us % 1_000_000)
    });
    check_whole(&capture(&log), Generation::Bare);
}

#[test]
fn without_times_durations_are_laid_out_and_the_loss_is_told() {
    for dress in [
        |_: u64, t: &str| t.to_string(),
        |_: u64, t: &str| format!("Sep  1 10:11:12 box kernel: {t}"),
    ] {
        for generation in Generation::ALL {
            let c = capture(&synthetic::log(generation, dress));
            check_whole(&c, generation);
            assert!(c.losses.count("no_timestamps") >= 24);
            let cycle = &c.cycles[0];
            for b in &cycle.callbacks {
                let span = cycle.phase(b.phase).unwrap();
                assert!(span.start <= b.start && b.end <= span.end, "{b:?} within {span:?}");
            }
        }
    }
}

/// Breaks lines at the last blank before column 72, as mail programs do.
fn wrapped(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let mut rest = line;
        while rest.len() > 72 {
            let Some(at) = rest[..72].rfind(' ').filter(|&a| a > 20) else { break };
            out.push_str(&rest[..at]);
            out.push('\n');
            rest = &rest[at + 1..];
        }
        out.push_str(rest);
        out.push('\n');
    }
    out
}

#[test]
fn lines_wrapped_by_mail_are_joined() {
    for generation in Generation::ALL {
        let long =
            |us, t: &str| stamped(us, &t.replace("0000:00:14.0", "0000:00:14.0-with-a-long-name"));
        let log = wrapped(&synthetic::log(generation, long));
        let c = capture(&log);
        let callbacks = c.cycles[0].callbacks.iter().filter(|b| b.complete).count();
        assert_eq!(callbacks, 24, "{generation:?}");
        assert_eq!(c.losses.count("cut_line"), 0, "{generation:?}");
        let quoted: String = log.lines().map(|l| format!("> {l}\n")).collect();
        assert_eq!(capture(&quoted).cycles[0].callbacks.len(), 24, "{generation:?}");
        if generation == Generation::Bare {
            let bare = wrapped(&synthetic::log(generation, |_, t| {
                t.replace("usb1", "usb1-with-a-really-long-name")
            }));
            assert_eq!(
                capture(&bare).cycles[0].callbacks.iter().filter(|b| b.complete).count(),
                24
            );
        }
    }
}

#[test]
fn a_failing_device_is_named_with_its_errno() {
    let log = "\
[   10.000000] PM: suspend entry (deep)
[   10.001000] Freezing user space processes
[   10.002000] Freezing user space processes completed (elapsed 0.001 seconds)
[   10.003000] printk: Suspending console(s) (use no_console_suspend to debug)
[   10.010000] usb 1-1: PM: calling usb_dev_suspend @ 7, parent: usb1
[   10.012000] usb 1-1: PM: dpm_run_callback(): usb_dev_suspend returns -16
[   10.012100] usb 1-1: PM: usb_dev_suspend returned -16 after 2000 usecs
[   10.012200] usb 1-1: PM: failed to suspend: error -16
[   10.013000] PM: suspend of devices aborted after 10.000 msecs
[   10.013100] PM: Some devices failed to suspend, or early wake event detected
[   10.020000] PM: resume of devices complete after 6.000 msecs
[   10.021000] OOM killer enabled.
[   10.021100] Restarting tasks ... done.
[   10.030000] PM: suspend exit
";
    let c = capture(log);
    let cycle = &c.cycles[0];
    let Outcome::AbortedByDevice { device: Some(d), errno } = cycle.outcome else {
        panic!("{:?}", cycle.outcome)
    };
    assert_eq!((c.names.get(c.graph.get(d).name), errno), ("1-1", -16));
    assert_eq!(cycle.asleep, None);
    assert_eq!(cycle.phase(Phase::Resume).unwrap().printed, Some(Ns::from_ms(6)));
    // The same without callback lines.
    let short: String =
        log.lines().filter(|l| !l.contains("usb_dev")).map(|l| format!("{l}\n")).collect();
    let c = capture(&short);
    let Outcome::AbortedByDevice { device: Some(d), errno } = c.cycles[0].outcome else {
        panic!("{:?}", c.cycles[0].outcome)
    };
    assert_eq!((c.names.get(c.graph.get(d).name), errno), ("1-1", -16));
}

#[test]
fn tasks_that_would_not_freeze_are_named() {
    for dump in [
        "task:mount.nfs       state:D stack:0     pid:812   ppid:1",
        "mount.nfs       D ffff88007c1a 0   812      1 0x00000004",
    ] {
        let log = format!("\
[   10.000000] PM: suspend entry (s2idle)
[   10.001000] Freezing user space processes
[   30.005000] Freezing user space processes failed after 20.003 seconds (1 tasks refusing to freeze, wq_busy=0):
[   30.005100] {dump}
[   30.005200] Call Trace:
[   30.006000] OOM killer enabled.
[   30.006100] Restarting tasks ... done.
[   30.010000] PM: suspend exit
");
        let c = capture(&log);
        let cycle = &c.cycles[0];
        assert_eq!(cycle.outcome, Outcome::FreezeFailed { errno: -16 });
        let names: Vec<&str> = cycle.freeze_delays.iter().map(|&s| c.names.get(s)).collect();
        assert_eq!(names, ["mount.nfs"]);
        assert_eq!(cycle.phase(Phase::FreezeUser).unwrap().duration(), Ns::from_ms(20_004));
    }
}

#[test]
fn pm_test_is_known_by_its_wait() {
    let log = "\
[   10.000000] PM: suspend entry (deep)
[   10.003000] printk: Suspending console(s) (use no_console_suspend to debug)
[   10.013000] PM: suspend of devices complete after 10.000 msecs
[   10.013100] PM: suspend debug: Waiting for 5 second(s).
[   15.100000] PM: resume of devices complete after 80.000 msecs
[   15.101000] OOM killer enabled.
[   15.101100] Restarting tasks ... done.
[   15.102000] PM: suspend exit
";
    let c = capture(log);
    assert_eq!(c.cycles[0].mode, Mode::PmTest(PmTestLevel::Devices));
    assert_eq!(c.cycles[0].outcome, Outcome::Slept);
    assert_eq!(c.cycles[0].asleep, None);
}

#[test]
fn many_wakes_in_one_log_and_a_boot_banner() {
    let mut log = String::from("[    0.000000] Linux version 6.12.9-amd64 (x@y) (gcc) #1 SMP\n");
    for n in 0..5 {
        log.push_str(&synthetic::log(Generation::Bare, |us, t| stamped(us + n * 60_000_000, t)));
    }
    let c = capture(&log);
    assert_eq!(c.cycles.len(), 5);
    assert_eq!(c.graph.devices.len(), 4);
    let first: Vec<bool> = c.cycles.iter().map(|c| c.first_after_boot).collect();
    assert_eq!(first, [true, false, false, false, false]);
    assert!(c.cycles.iter().all(|k| c.names.get(k.kernel) == "6.12.9-amd64"));
}

#[test]
fn the_oldest_steps_have_no_end_of_their_own() {
    let log = "\
[   20.000000] PM: Syncing filesystems ... done.
[   20.100000] PM: Preparing system for mem sleep
[   20.100200] Freezing user space processes ... (elapsed 0.004 seconds) done.
[   20.105000] Freezing remaining freezable tasks ... (elapsed 0.001 seconds) done.
[   20.106500] PM: Entering mem sleep
[   20.106600] Suspending console(s) (use no_console_suspend to debug)
[   20.107000] calling  1-1+ @ 7, parent: usb1
[   20.108100] call 1-1+ returned 0 after 1000 usecs
[   20.110000] PM: suspend of devices complete after 3.000 msecs
[   20.120000] PM: late suspend of devices complete after 9.000 msecs
[   20.130000] PM: noirq suspend of devices complete after 9.000 msecs
[   20.131000] PM: Calling mce_syscore_suspend+0x0/0x10
[   20.131500] PM: Calling lapic_suspend+0x0/0x10
[   20.140000] PM: Calling lapic_resume+0x0/0x10
[   20.141000] Enabling non-boot CPUs ...
[   20.150000] PM: noirq resume of devices complete after 5.000 msecs
[   20.160000] PM: early resume of devices complete after 5.000 msecs
[   20.161000] calling  1-1+ @ 7, parent: usb1
[   20.162100] call 1-1+ returned 0 after 1000 usecs
[   20.180000] PM: resume of devices complete after 19.500 msecs
[   20.181000] Restarting tasks ... done.
";
    let c = capture(log);
    let cycle = &c.cycles[0];
    assert_eq!((cycle.mode, cycle.outcome), (Mode::Deep, Outcome::Slept));
    let lasts = |p| cycle.phase(p).unwrap().duration();
    assert_eq!(lasts(Phase::Sync), Ns::from_ms(100));
    assert_eq!(lasts(Phase::FreezeUser), Ns::from_us(4_800));
    assert_eq!(lasts(Phase::FreezeKernel), Ns::from_us(1_500));
    assert_eq!(lasts(Phase::Asleep), Ns::from_us(8_500));
    assert_eq!(lasts(Phase::SyscoreSuspend), Ns::from_us(500));
    assert_eq!(lasts(Phase::SyscoreResume), Ns::from_ms(1));
    assert_eq!((count(cycle, Phase::Suspend), count(cycle, Phase::Resume)), (1, 1));
}

#[test]
fn prose_has_nothing_to_analyse() {
    let text = "Dear all,\nI am calling this a bug. It returned after a while.\nRegards\n";
    let reading = read_bytes("mail", text.as_bytes(), &Options::default()).unwrap();
    assert!(reading.is_empty());
}

#[test]
fn hibernation_is_one_cycle_with_its_own_verbs() {
    let log = "\
[   10.000000] PM: hibernation: hibernation entry
[   10.010000] Filesystems sync: 0.005 seconds
[   10.011000] Freezing user space processes
[   10.012000] Freezing user space processes completed (elapsed 0.001 seconds)
[   10.020000] printk: Suspending console(s) (use no_console_suspend to debug)
[   10.030000] usb 1-1: PM: calling usb_dev_freeze @ 7, parent: usb1
[   10.031000] usb 1-1: PM: usb_dev_freeze returned 0 after 900 usecs
[   10.040000] PM: freeze of devices complete after 15.000 msecs
[   10.050000] PM: late freeze of devices complete after 5.000 msecs
[   10.060000] PM: noirq freeze of devices complete after 5.000 msecs
[   10.061000] Disabling non-boot CPUs ...
[   10.070000] PM: hibernation: Creating image:
[   10.300000] Enabling non-boot CPUs ...
[   10.320000] PM: noirq thaw of devices complete after 5.000 msecs
[   10.330000] PM: early thaw of devices complete after 5.000 msecs
[   10.338000] usb 1-1: PM: calling usb_dev_thaw @ 7, parent: usb1
[   10.339000] usb 1-1: PM: usb_dev_thaw returned 0 after 900 usecs
[   10.340000] PM: thaw of devices complete after 5.000 msecs
[   11.000000] OOM killer enabled.
[   11.000100] Restarting tasks ... done.
[   11.010000] PM: hibernation: hibernation exit
";
    let c = capture(log);
    assert_eq!(c.cycles.len(), 1);
    let k = &c.cycles[0];
    assert_eq!((k.mode, k.outcome), (Mode::Disk, Outcome::Slept));
    use dormouse_model::phase::PmEvent;
    let of = |p: Phase| k.callbacks.iter().find(|b| b.phase == p).map(|b| b.event);
    assert_eq!(of(Phase::Suspend), Some(PmEvent::Freeze));
    assert_eq!(of(Phase::Resume), Some(PmEvent::Thaw));
    assert_eq!(k.phase(Phase::ResumeNoirq).unwrap().event, PmEvent::Thaw);
    assert!(k.asleep.is_some());
}
