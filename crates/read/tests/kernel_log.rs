//! Kernel logs in every dress and of every generation say the same.

use crate::invariants;
use crate::synthetic;

use crate::synthetic::{Generation, stamped};
use dormouse_base::capture::Capture;
use dormouse_base::cycle::{Cycle, Mode, Outcome, PmTestLevel};
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::time::Ns;
use dormouse_read::{Options, read_bytes};

pub(super) fn capture(log: &str) -> Capture {
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
    assert_eq!(led.parent_name, dormouse_base::names::Sym::EMPTY);
    assert_eq!(c.asleep_elsewhere, Some(Ns::from_ms(9_000)));
}

#[test]
fn every_generation_and_every_dress() {
    type Dress = (&'static str, fn(u64, &str) -> String);
    let dresses: [Dress; 22] = [
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
        ("decoded", |us, t| format!("kern  :info  : {}", stamped(us, t))),
        ("raw device", |us, t| format!("6,{us},{us},-,caller=T300;{t}")),
        ("delta", |us, t| stamped(us, t).replacen(']', " <    0.000010>]", 1)),
        ("interrupted console", |us, t| format!("^C{}", stamped(us, t))),
        ("logcat", |us, t| format!("07-10 01:19:52.487     0     0 I  : {}", stamped(us, t))),
        ("mediatek", |us, t| stamped(us, t).replacen("] ", "] <1>.(1)[300:kworker/u4:3]", 1)),
        ("short", |us, t| format!("Sep 01 10:11:12 box kernel: {}", stamped(us, t))),
        ("short-monotonic", |us, t| stamped(us, t).replacen("] ", "] box kernel: ", 1)),
        ("with-unit", |us, t| {
            format!("Thu 2026-01-01 00:00:12 UTC box kernel: {}", stamped(us, t))
        }),
        ("deeply quoted", |us, t| format!(">> > >{}", stamped(us, t))),
        ("json", |us, t| {
            let t = t.replace('"', "\\\"");
            format!(
                "{{\"_BOOT_ID\":\"a\",\"MESSAGE\":\"{t}\",\"_TRANSPORT\":\"kernel\",\
                 \"__MONOTONIC_TIMESTAMP\":\"1\",\"_SOURCE_MONOTONIC_TIMESTAMP\":\"{us}\"}}"
            )
        }),
        ("json-pretty", |us, t| {
            format!(
                "{{\n\t\"MESSAGE\" : \"{t}\",\n\t\"_TRANSPORT\" : \"kernel\",\n\t\
                 \"_SOURCE_MONOTONIC_TIMESTAMP\" : \"{us}\"\n}}"
            )
        }),
        ("export", |us, t| {
            format!(
                "__CURSOR=s=1\n_TRANSPORT=kernel\nMESSAGE={t}\n_SOURCE_MONOTONIC_TIMESTAMP={us}\n"
            )
        }),
    ];
    for generation in Generation::ALL {
        for (name, dress) in dresses {
            println!("{generation:?} {name}");
            check_whole(&capture(&synthetic::log(generation, dress)), generation);
        }
    }
}

#[test]
fn times_of_a_journal_serve_where_the_kernels_are_missing() {
    let precise = synthetic::log(Generation::Bare, |us, t| {
        let s = us / 1_000_000;
        format!("Sep 01 10:11:{:02}.{:06} box kernel: {t}", s % 60, us % 1_000_000)
    });
    check_whole(&capture(&precise), Generation::Bare);
    for month in ["wrz", "sept.", "9月", "сен"] {
        let local = precise.replace("Sep 01", &format!("{month} 1"));
        check_whole(&capture(&local), Generation::Bare);
    }
    let iso = synthetic::log(Generation::Bare, |us, t| {
        let s = us / 1_000_000;
        format!("2024-02-06T04:26:{:02},{:06}+01:00 {t}", s % 60, us % 1_000_000)
    });
    check_whole(&capture(&iso), Generation::Bare);
}

#[test]
fn records_that_a_console_fused_are_read_one_by_one() {
    for generation in Generation::ALL {
        let log = synthetic::log(generation, stamped);
        let fused = log.replace(" usecs\n[", " usecs[");
        assert!(fused.lines().count() < log.lines().count());
        check_whole(&capture(&fused), generation);
        // A second time stamp of an earlier moment is part of the message.
        let quoted = log.replace("OOM killer enabled.", "OOM killer enabled. [    1.000000] x");
        check_whole(&capture(&quoted), generation);
    }
}

#[test]
fn lines_that_stand_there_twice_are_read_once() {
    for generation in Generation::ALL {
        let log = synthetic::log(generation, stamped);
        let doubled: String = log.lines().map(|l| format!("{l}\n{l}\n")).collect();
        let c = capture(&doubled);
        check_whole(&c, generation);
        assert_eq!(c.losses.count("doubled_line"), 48);
    }
}

#[test]
fn what_grep_left_out_makes_no_phase_whole() {
    let log = synthetic::log(Generation::Bare, stamped);
    let cut: Vec<&str> = log.lines().collect();
    let cut = format!("{}\n--\n{}\n-- \n", cut[..30].join("\n"), cut[33..].join("\n"));
    let c = capture(&cut);
    assert_eq!(c.losses.count("lines_left_out"), 1, "a signature is none");
    let cycle = &c.cycles[0];
    assert!((0..cycle.phases.len()).all(|i| !cycle.completeness(i).is_complete()));
}

#[test]
fn a_person_leaves_lines_out_and_pm_trace_is_named() {
    let log = "[  1.000000] PM: suspend entry (deep)\n\
               [  1.010000] foo a: PM: calling f+0x0/0x1 @ 7, parent: none\n\
               [  1.011000] foo a: PM: f+0x0/0x1 returned 0 after 1000 usecs\n\
               MIDDLE[  1.030000] PM: suspend of devices complete after 20.000 msecs\n\
               [  1.900000] PM: Possible incorrect RTC due to pm_trace, please use\n\
               'ntpdate' or 'rdate' to reset it.\n\
               [  2.000000] PM: suspend exit\n...\n-- \nsignature\n";
    let losses = |middle: &str| {
        let text = log.replace("MIDDLE", middle);
        let reading =
            dormouse_read::read_bytes("a.dmesg", text.as_bytes(), &Default::default()).unwrap();
        reading.captures.into_iter().next().expect("a cycle").losses
    };
    let whole = losses("");
    assert_eq!(whole.count("lines_left_out"), 0, "what follows the log is no gap");
    assert_eq!(whole.count("pm_trace"), 1);
    for dots in ["...\n", "[  1.020000] ...\n", "[...]\n"] {
        assert_eq!(losses(dots).count("lines_left_out"), 1, "{dots}");
    }
}

#[test]
fn a_log_without_loss_is_whole_and_a_torn_line_is_not() {
    let log = synthetic::log(Generation::Bare, stamped);
    let whole = |c: &Cycle, phase| {
        let at = c.phases.iter().position(|p| p.phase == phase).unwrap();
        c.completeness(at).is_complete()
    };
    let c = capture(&log);
    assert!(SIX.iter().all(|&p| whole(&c.cycles[0], p)));
    // The begin of one line of late suspend is lost, and the end of another.
    let at = log.find("usb_suspend_late [usb] @").unwrap();
    let begin = log[..at].rfind('\n').unwrap() + 1;
    let end = at + log[at..].find('\n').unwrap() + 1;
    let torn = format!("{}{}", &log[..begin], &log[end..]);
    let c = capture(&torn);
    let bad = |c: &Capture| -> Vec<Phase> {
        SIX.into_iter().filter(|&p| !whole(&c.cycles[0], p)).collect()
    };
    assert_eq!(bad(&c), [Phase::Late]);
    assert_eq!(c.losses.count("end_without_start"), 1);
    let cut = format!("{}\n{}", &log[..at + 10], &log[end..]);
    let c = capture(&cut);
    assert_eq!(bad(&c), [Phase::Late]);
    // Without totals of phases, only what is cut off is not whole.
    let plain: String =
        log.lines().filter(|l| !l.contains("complete after")).map(|l| format!("{l}\n")).collect();
    assert_eq!(bad(&capture(&plain)), []);
    let half = &plain[plain.find("calling usb_suspend ").unwrap()..];
    let half = &half[half.find('\n').unwrap() + 1..];
    assert_eq!(bad(&capture(half)), [Phase::Suspend]);
}

#[test]
fn ends_alone_are_ranked_and_have_no_cycle() {
    let name = |c: &Capture, s| c.names.get(s).to_string();
    let log: String = synthetic::log(Generation::Bare, stamped)
        .lines()
        .filter(|l| l.contains(" returned "))
        .map(|l| format!("> {l}\n"))
        .collect();
    let c = capture(&log.replacen("1500", "2500", 1));
    assert!(c.cycles.is_empty());
    assert_eq!(c.ranked.len(), 1);
    let r = &c.ranked[0];
    assert_eq!((r.rows.len(), r.at), (24, 1));
    assert_eq!(r.rows[0].took, Ns::from_us(2_500));
    assert_eq!(name(&c, c.graph.get(r.devices()[0].0).name), "1-1");
    assert_eq!(r.devices()[0].1, Ns::from_us(5 * 1_500 + 2_500));
    let late = r.rows.iter().filter(|r| r.phase == Some(Phase::Late)).count();
    assert_eq!(late, 4);
    // The same measured twice is two lists.
    assert_eq!(capture(&log.repeat(2)).ranked.len(), 2);
}

#[test]
fn tables_that_people_sort_are_ranked() {
    let c = capture("call usb1+ 109400 usecs\ncall 1-1+ 4000 usecs\ncall usb1+ 2500 usecs\n");
    assert!(c.cycles.is_empty());
    let r = &c.ranked[0];
    let took: Vec<Ns> = r.rows.iter().map(|r| r.took).collect();
    // Only the oldest kernels print this form, in units of 1,024 ns.
    assert_eq!(took, [109_400, 4_000, 2_500].map(|us| Ns(us * 1_024)));
    assert_eq!(r.rows[0].direction, None);
    assert_eq!(r.devices().len(), 2);
    let c = capture(
        "4000 ahci 0000:00:1f.2: PM: pci_pm_resume returned 0 after 4000 usecs\n\
         3000 ahci 0000:00:1f.2: PM: pci_pm_suspend+0x0/0x10 3000 usecs\n",
    );
    assert_eq!(c.ranked.len(), 1);
    let d = c.graph.get(c.ranked[0].devices()[0].0);
    assert_eq!((name_of(&c, d.driver), name_of(&c, d.name)), ("ahci", "0000:00:1f.2"));
    assert_eq!(c.ranked[0].devices()[0].1, Ns::from_ms(7));
}

/// Kernels of Ubuntu 10.04 print slow callbacks alone, with their end.
#[test]
fn slow_callbacks_of_old_kernels_are_ranked_beside_their_cycle() {
    let c = capture(
        "[ 4690.100000] PM: Syncing filesystems ... done.\n\
         [ 4690.300000] Suspending console(s) (use no_console_suspend to debug)\n\
         [ 4690.900000] PM: suspend of drv:sd dev:2:0:0:0 complete after 610.413 msecs\n\
         [ 4690.912000] PM: suspend of devices complete after 652.126 msecs\n\
         [ 4691.000000] PM: late suspend of devices complete after 8.100 msecs\n\
         [ 4691.200000] PM: early resume of devices complete after 60.200 msecs\n\
         [ 4698.864300] PM: resume of drv:scsi_device dev:2:0:0:0 complete after 7128.413 msecs\n\
         [ 4698.864312] PM: resume of drv:sd dev:2:0:0:0 complete after 6928.395 msecs\n\
         [ 4698.864389] PM: resume of devices complete after 7629.126 msecs\n\
         [ 4699.280000] Restarting tasks ... done.\n",
    );
    assert_eq!(c.cycles.len(), 1);
    let r = &c.ranked[0];
    // The two of the resume are one wait told twice.
    let took: Vec<Ns> = r.rows.iter().map(|r| r.took).collect();
    assert_eq!(took, [Ns(7_128_413_000), Ns(610_413_000)]);
    assert_eq!(r.devices().len(), 1);
    assert_eq!(r.rows[0].direction, Some(Direction::Resume));
}

/// What every machine prints without pm_debug_messages.
const QUIET: &str = "\
[  100.001097] PM: suspend entry (s2idle)
[  100.506679] Filesystems sync: 0.505 seconds
[  100.752926] Freezing user space processes
[  100.758411] Freezing user space processes completed (elapsed 0.005 seconds)
[  100.758423] OOM killer disabled.
[  100.758426] Freezing remaining freezable tasks
[  100.759901] Freezing remaining freezable tasks completed (elapsed 0.001 seconds)
[  100.759912] printk: Suspending console(s) (use no_console_suspend to debug)
[  113.193427] PM: suspend devices took 10.433 seconds
[  115.193460] PM: resume devices took 0.433 seconds
[  115.194460] OOM killer enabled.
[  115.194470] Restarting tasks ... done.
[  115.195470] PM: suspend exit
";

#[test]
fn a_log_that_is_silent_about_devices_is_no_pm_test() {
    let log: String =
        QUIET.lines().filter(|l| !l.contains("took")).map(|l| format!("{l}\n")).collect();
    let c = capture(&log);
    assert_eq!((c.cycles[0].mode, c.cycles[0].outcome), (Mode::S2idle, Outcome::Slept));
    // A test says so (kernel/power/suspend.c:suspend_test).
    let waits = "[  100.760000] PM: suspend debug: Waiting for 5 second(s).\n";
    let c = capture(&log.replacen("[  115.194460]", &format!("{waits}[  115.194460]"), 1));
    assert!(matches!(c.cycles[0].mode, Mode::PmTest(_)), "{:?}", c.cycles[0].mode);
}

#[test]
fn halves_are_timed_by_the_lines_of_suspend_test() {
    let c = capture(QUIET);
    let time = |p| c.cycles[0].phase(p).map(|s| s.duration());
    assert_eq!(time(Phase::Suspend), Some(Ns::from_ms(10_433)));
    assert_eq!(time(Phase::Resume), Some(Ns::from_ms(433)));
    // The phase's own line comes first, and counts.
    let own = "[  113.193400] PM: suspend of devices complete after 10433.010 msecs\n";
    let c = capture(&QUIET.replacen("[  113.193427]", &format!("{own}[  113.193427]"), 1));
    let down = c.cycles[0].phases.iter().filter(|p| p.phase == Phase::Suspend);
    let down: Vec<Ns> = down.map(|p| p.duration()).collect();
    assert_eq!(down, [Ns(10_433_010_000)]);
}

fn name_of(c: &Capture, s: dormouse_base::names::Sym) -> &str {
    c.names.get(s)
}

#[test]
fn initcalls_are_no_torn_lines() {
    let boot = "\
[    0.055404] calling  con_init+0x0/0x270 @ 0
[    0.055418] initcall con_init+0x0/0x270 returned 0 after 14 usecs
[    0.150000] pci 0000:00:1c.0: calling  fixup_bridge+0x0/0x20 @ 1
[    0.150010] pci 0000:00:1c.0: fixup_bridge+0x0/0x20 took 9 usecs
[    1.104474] probe of Fixed MDIO bus returned 0 after 2 usecs
";
    let log = format!("{boot}{}", synthetic::log(Generation::FunctionPm, stamped));
    let c = capture(&log);
    check_whole(&c, Generation::FunctionPm);
    assert!(c.losses.list.is_empty(), "{:?}", c.losses.list);
    assert!(c.ranked.is_empty());
}

#[test]
fn who_prints_what_only_the_main_thread_prints_is_the_main_thread() {
    let caller = |us, t: &str| {
        let pid = t.split(" @ ").nth(1).and_then(|t| t.split(',').next()).unwrap_or("300");
        stamped(us, t).replacen("] ", &format!("][  T{pid}] "), 1)
    };
    let main = |c: &Capture| -> Vec<(i32, Option<bool>)> {
        let mut list: Vec<_> = c.cycles[0].threads.iter().map(|t| (t.pid, t.is_main)).collect();
        list.sort();
        list
    };
    let log = synthetic::log(Generation::Bare, caller);
    assert_eq!(main(&capture(&log)), [(300, Some(true)), (301, Some(false))]);
    // The line of the entry is lost: others tell as well.
    let from = log.find("OOM").unwrap();
    let from = log[..from].rfind('\n').unwrap() + 1;
    assert_eq!(main(&capture(&log[from..])), [(300, Some(true)), (301, Some(false))]);
    // Nothing tells: nothing is said.
    let plain = synthetic::log(Generation::Bare, stamped);
    assert_eq!(main(&capture(&plain)), [(300, None), (301, None)]);
}

#[test]
fn the_kernel_is_named_by_whatever_line_names_it() {
    let of = |log: &str| -> Vec<String> {
        let c = capture(log);
        c.cycles.iter().map(|k| c.names.get(k.kernel).to_string()).collect()
    };
    let log = synthetic::log(Generation::Bare, stamped);
    assert_eq!(of(&log), [""]);
    for line in [
        "CPU: 1 PID: 19 Comm: migration/1 Tainted: G S         O       6.1.44-x-generic #242",
        "CPU: 0 UID: 0 PID: 187 Comm: sh Not tainted 6.1.44-x-generic #79",
        "Linux box 6.1.44-x-generic #1 SMP PREEMPT_DYNAMIC x86_64 GNU/Linux",
        "Command line: BOOT_IMAGE=/boot/vmlinuz-6.1.44-x-generic root=/dev/sda1 ro",
        "Kernel release:    6.1.44-x-generic",
    ] {
        assert_eq!(of(&format!("{log}{line}\n")), ["6.1.44-x-generic"], "{line}");
        assert_eq!(of(&format!("{line}\n{log}")), ["6.1.44-x-generic"], "{line}");
    }
    for line in ["Linux is 5 years old", "vmlinuz-linux", "Not tainted 1.2.3", "Linux a 6.1 b"] {
        assert_eq!(of(&format!("{line}\n{log}")), [""], "{line}");
    }
    // Another boot is another kernel.
    let two = format!("{log}-- Boot 0123456789abcdef --\n{log}Kernel release: 6.2.1\n");
    assert_eq!(of(&two), ["", "6.2.1"]);
}

#[test]
fn excerpts_of_several_cycles_are_told_apart() {
    let log = synthetic::log(Generation::Bare, stamped);
    let only: String = log
        .lines()
        .filter(|l| l.contains("_suspend_noirq ") || l.contains("_resume_noirq "))
        .map(|l| format!("{l}\n"))
        .collect();
    // Back in time, and forth by more than a pause.
    assert_eq!(capture(&only.repeat(2)).cycles.len(), 2);
    let up: String =
        only.lines().filter(|l| l.contains("resume")).map(|l| format!("{l}\n")).collect();
    let later = up.replace("[   50.", "[   70.");
    assert_eq!(capture(&format!("{up}Here is the other:\n{later}")).cycles.len(), 2);
    let journal = |id: &str| {
        synthetic::log(Generation::Bare, |us, t| {
            format!(
                "{{\"_BOOT_ID\":\"{id}\",\"MESSAGE\":\"{t}\",\
                 \"_SOURCE_MONOTONIC_TIMESTAMP\":\"{us}\"}}"
            )
        })
    };
    let c = capture(&format!("{}{}", journal("a"), journal("b")));
    assert_eq!(c.cycles.len(), 2);
    assert_eq!(c.losses.count("time_backwards"), 0);
}

#[test]
fn logs_without_devices_name_the_knobs() {
    let log = synthetic::log(Generation::Bare, stamped);
    let keep = |f: &dyn Fn(&str) -> bool| -> String {
        log.lines().filter(|l| f(l)).map(|l| format!("{l}\n")).collect()
    };
    let advice = |log: &str, kind: &str| {
        let c = capture(log);
        c.losses.list.iter().find(|l| l.kind == kind).map(|l| l.advice.to_string())
    };
    let totals = keep(&|l| !l.contains("calling") && !l.contains("returned"));
    let text = advice(&totals, "no_callbacks").unwrap();
    assert!(text.contains("echo 1 > /sys/power/pm_print_times"), "{text}");
    let bare = keep(&|l| !l.contains("usecs") && !l.contains("calling") && !l.contains("msecs"));
    let text = advice(&bare, "no_phases").unwrap();
    assert!(text.contains("echo 1 > /sys/power/pm_debug_messages"), "{text}");
    assert_eq!(advice(&log, "no_callbacks"), None);
    assert_eq!(advice(&log, "no_phases"), None);
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
fn a_device_that_is_not_prepared_ends_the_way_down() {
    let log = "\
[   20.000000] PM: suspend entry (deep)
[   20.001000] Freezing user space processes
[   20.002000] Freezing user space processes completed (elapsed 0.000 seconds)
[   20.003000] Freezing remaining freezable tasks
[   20.004000] Freezing remaining freezable tasks completed (elapsed 0.001 seconds)
[   20.005000] pikaphy pikaphy.4: PM: device_prepare(): pika_prepare [pikaphy] returns -22
[   20.005100] pikaphy pikaphy.4: PM: not prepared for power transition: code -22
[   20.005200] PM: Some devices failed to suspend, or early wake event detected
[   20.006000] OOM killer enabled.
[   20.006100] Restarting tasks ... done.
[   20.007000] PM: suspend exit
";
    let c = capture(log);
    let Outcome::AbortedByDevice { device: Some(d), errno } = c.cycles[0].outcome else {
        panic!("{:?}", c.cycles[0].outcome)
    };
    assert_eq!((c.names.get(c.graph.get(d).name), errno), ("pikaphy.4", -22));
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
    use dormouse_base::phase::PmEvent;
    let of = |p: Phase| k.callbacks.iter().find(|b| b.phase == p).map(|b| b.event);
    assert_eq!(of(Phase::Suspend), Some(PmEvent::Freeze));
    assert_eq!(of(Phase::Resume), Some(PmEvent::Thaw));
    assert_eq!(k.phase(Phase::ResumeNoirq).unwrap().event, PmEvent::Thaw);
    assert!(k.asleep.is_some());
}

#[test]
fn every_event_of_a_hibernation_has_phases_of_its_own() {
    use dormouse_base::image::ImageWork;
    use dormouse_base::phase::PmEvent;
    let mut log = String::from("[   10.000000] PM: hibernation: hibernation entry\n");
    let mut us = 10_100_000;
    let mut say = |text: &str| {
        us += 1_000;
        log.push_str(&format!("{}\n", stamped(us, text)));
    };
    let runs = [
        (["freeze", "freeze_late", "freeze_noirq"], "PM: hibernation: Creating image:"),
        (
            ["thaw_noirq", "thaw_early", "thaw"],
            "PM: hibernation: Wrote 4096 kbytes in 0.02 seconds (204.80 MB/s)",
        ),
        (
            ["poweroff", "poweroff_late", "poweroff_noirq"],
            "PM: hibernation: Image restored successfully.",
        ),
        (
            ["restore_noirq", "restore_early", "restore"],
            "PM: hibernation: Read 4096 kbytes in 0.03 seconds (136.53 MB/s)",
        ),
    ];
    for (words, then) in runs {
        for word in words {
            for device in ["0000:00:1f.2", "0000:00:02.0"] {
                say(&format!("ahci {device}: PM: calling pci_pm_{word} @ 7, parent: pci0000:00"));
                say(&format!("ahci {device}: PM: pci_pm_{word} returned 0 after 900 usecs"));
                // A driver without a word of its own does the same in all.
                say(&format!("x {device}-x: PM: calling x_suspend_resume @ 7, parent: {device}"));
                say(&format!("x {device}-x: PM: x_suspend_resume returned 0 after 1 usecs"));
            }
        }
        say(then);
    }
    say("OOM killer enabled.");
    say("Restarting tasks ... done.");
    say("PM: hibernation: hibernation exit");
    let c = capture(&log);
    assert_eq!(c.cycles.len(), 1);
    let k = &c.cycles[0];
    assert_eq!(k.mode, Mode::Disk);
    for (event, phases) in [
        (PmEvent::Freeze, [Phase::Suspend, Phase::Late, Phase::Noirq]),
        (PmEvent::Thaw, [Phase::ResumeNoirq, Phase::ResumeEarly, Phase::Resume]),
        (PmEvent::Hibernate, [Phase::Suspend, Phase::Late, Phase::Noirq]),
        (PmEvent::Restore, [Phase::ResumeNoirq, Phase::ResumeEarly, Phase::Resume]),
    ] {
        for phase in phases {
            let span = k.phases.iter().filter(|p| (p.phase, p.event) == (phase, event));
            assert_eq!(span.count(), 1, "{event:?} {phase}");
            let named = |b: &&dormouse_base::cycle::Callback| {
                c.names.get(b.function).starts_with("pci") && (b.phase, b.event) == (phase, event)
            };
            assert_eq!(k.callbacks.iter().filter(named).count(), 2, "{event:?} {phase}");
        }
    }
    let image: Vec<_> = k.image.iter().map(|s| (s.work, s.bytes)).collect();
    assert_eq!(image, [(ImageWork::Write, 4 << 20), (ImageWork::Read, 4 << 20)]);
    assert_eq!(k.image[0].end.since(k.image[0].start), Ns::from_ms(20));
}

/// From 6.19 on a wakeup ends the wait for a sync, not the sync: its line comes in the next
/// attempt, which waits for what is left.
#[test]
fn the_sync_of_an_attempt_that_was_given_up_is_not_that_of_the_next() {
    let log = "[  100.000000] PM: suspend entry (s2idle)\n\
               [  101.500000] PM: suspend exit\n\
               [  101.600000] PM: suspend entry (s2idle)\n\
               [  106.400000] Filesystems sync: 6.390 seconds\n\
               [  106.400100] Filesystems sync: 0.000 seconds\n\
               [  106.401000] Freezing user space processes\n\
               [  106.402000] Freezing user space processes completed (elapsed 0.001 seconds)\n\
               [  106.500000] PM: suspend exit\n";
    let reading =
        dormouse_read::read_bytes("log", log.as_bytes(), &dormouse_read::Options::default())
            .expect("a log");
    let cycles = &reading.captures[0].cycles;
    let sync = |c: &dormouse_base::cycle::Cycle| -> i64 {
        let of = c.phases.iter().filter(|p| p.phase.name() == "sync");
        of.map(|p| p.duration().0 / 1_000).sum()
    };
    assert_eq!(sync(cycles.last().expect("two attempts")), 4_800_000);
}
