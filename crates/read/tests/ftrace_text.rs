//! Text traces in every dress, and cycles of every shape.

use crate::invariants;
use crate::synthetic;

use dormouse_base::capture::Capture;
use dormouse_base::cycle::{Cycle, Mode, Outcome, PmTestLevel};
use dormouse_base::phase::{Phase, PmEvent};
use dormouse_base::time::Ns;
use dormouse_read::{Input, Options, read, read_bytes};

pub(crate) fn capture(text: &str) -> Capture {
    let reading = read_bytes("test", text.as_bytes(), &Options::default()).unwrap();
    let capture = reading.captures.into_iter().next().unwrap();
    invariants::check(&capture, text);
    capture
}

/// Lines of the main thread, a millisecond apart, from their texts.
pub(crate) fn trace(texts: &[&str]) -> String {
    let line = |(n, t): (usize, &&str)| format!("  rtcwake-5   [000] ....  10.{:03}000: {t}\n", n);
    texts.iter().enumerate().map(line).collect()
}

/// Everything about cycles that does not depend on the dress.
fn essence(c: &Capture) -> String {
    let name = |s| c.names.get(s).to_string();
    let cycles: Vec<_> = c
        .cycles
        .iter()
        .map(|k| {
            let callbacks: Vec<_> = k
                .callbacks
                .iter()
                .map(|b| {
                    let d = c.graph.get(b.device);
                    (name(d.driver), name(d.name), name(d.parent_name), b.phase, b.start, b.end)
                })
                .collect();
            (k.mode, k.outcome, k.phases.clone(), callbacks)
        })
        .collect();
    format!("{cycles:?}")
}

#[test]
fn columns_come_and_go() {
    let plain = synthetic::trace(9);
    let expect = essence(&capture(&plain));
    assert!(expect.contains("dev8"));
    let change = |f: &dyn Fn(&str) -> String| -> String {
        plain
            .lines()
            .map(|l| if l.starts_with('#') { format!("{l}\n") } else { f(l) + "\n" })
            .collect()
    };
    let forms: Vec<(&str, String)> = vec![
        ("no flags", change(&|l| l.replace(" .... ", " "))),
        ("RT flags", change(&|l| l.replace(" .... ", " d..h1.. "))),
        ("tgid", change(&|l| l.replace("  [001]", " (   500) [001]"))),
        ("unknown tgid", change(&|l| l.replace("  [001]", " (-----) [001]"))),
        (
            "trace-cmd",
            change(&|l| {
                let l = l.replace(" .... ", " ");
                let at = l.find(": ").unwrap() + 2;
                let colon = at + l[at..].find(": ").unwrap() + 1;
                format!("{}{:30}{}", &l[..at], &l[at..colon], &l[colon + 1..])
            }),
        ),
        ("latency", change(&|l| l.replace(" .... ", " .... 12us+ "))),
        ("trimmed", change(&|l| l.trim_start().to_string())),
        ("lost names", change(&|l| l.replace("rtcwake-", "<...>-"))),
        ("blanks and dashes", change(&|l| l.replace("rtcwake-", "my - odd [7] task-"))),
        (
            "nanoseconds",
            change(&|l| {
                let at = l.find(": ").unwrap();
                format!("{}000{}", &l[..at], &l[at..])
            }),
        ),
        ("windows", change(&|l| format!("{l}\r"))),
        ("quoted", change(&|l| format!("> {l}"))),
        ("many cpus", change(&|l| l.replace("[001]", "[1023]"))),
        (
            "bare numbers",
            change(&|l| {
                let at = l.find(": ").unwrap();
                let from = l[..at].rfind(' ').unwrap() + 1;
                format!("{}{}000{}", &l[..from], l[from..at].replace('.', ""), &l[at..])
            }),
        ),
    ];
    for (name, text) in forms {
        let c = capture(&text);
        assert_eq!(essence(&c), expect, "{name}");
        let lost = c.losses.count("clock_without_unit") > 0;
        assert_eq!(lost, name == "bare numbers", "{name}: {:?}", c.losses);
    }
}

#[test]
fn other_lines_are_no_loss_but_lost_events_are() {
    let mut text = synthetic::trace(3);
    let half = text[..text.len() / 2].rfind('\n').unwrap() + 1;
    text.insert_str(half, "##### CPU 2 buffer started ####\nCPU:3 [LOST 15 EVENTS]\nCPU:1 [7 EVENTS DROPPED]\n\n      rtcwake-500   [001] d..2 100.000200: irq_handler_entry: irq=1 name=x\n");
    let c = capture(&text);
    assert_eq!(c.losses.count("lost_events"), 22);
    // Any phase may have lost them.
    let whole = |k: &Cycle| -> Vec<bool> {
        (0..k.phases.len()).map(|i| k.completeness(i).is_complete()).collect()
    };
    assert!(whole(&c.cycles[0]).iter().all(|w| !w));
    let all = capture(&synthetic::trace(10));
    assert!(whole(&all.cycles[0]).iter().all(|w| *w));
    // The begin of one callback of suspend is missing.
    let text = synthetic::trace(10);
    let begin = text.find("dpm_suspend[2] begin").unwrap();
    let begin = begin + text[begin..].find('\n').unwrap() + 1;
    let end = begin + text[begin..].find('\n').unwrap() + 1;
    let torn = capture(&format!("{}{}", &text[..begin], &text[end..]));
    let k = &torn.cycles[0];
    let parts: Vec<Phase> =
        whole(k).iter().zip(&k.phases).filter(|(w, _)| !**w).map(|(_, p)| p.phase).collect();
    assert_eq!(parts, [Phase::Suspend]);
    assert_eq!(c.losses.list.len(), 1, "{:?}", c.losses);
    assert_eq!(c.cycles[0].callbacks.len(), 14);
}

#[test]
fn side_events_are_kept_inside_a_cycle() {
    let side = "workqueue_execute_start: work struct 00000000a: function async_run_entry_fn";
    let text = trace(&[
        side,
        "suspend_resume: suspend_enter[3] begin",
        side,
        "sched_wakeup: comm=x pid=1 prio=120 target_cpu=000",
        "rpm_resume: 7000d000.i2c flags-4 cnt-1",
        "cpu_idle: state=1 cpu_id=0",
        "block_rq_issue: 8,0 R 4096 () 1 + 8 [x]",
        "suspend_resume: thaw_processes[0] begin",
        "suspend_resume: thaw_processes[0] end",
        side,
    ]);
    let c = capture(&text);
    let kept: Vec<&str> = c.cycles[0].events.iter().map(|e| c.names.get(e.name)).collect();
    let names =
        ["workqueue_execute_start", "sched_wakeup", "rpm_resume", "cpu_idle", "block_rq_issue"];
    assert_eq!(kept, names);
    assert!(c.names.get(c.cycles[0].events[0].text).ends_with("async_run_entry_fn"));
}

#[test]
fn empty_drivers_blanks_in_names_and_the_ops_of_3_15() {
    let text = trace(&[
        "suspend_resume: suspend_enter[1] begin",
        "device_pm_callback_start:  ep_81, parent: 1-1:1.0, preparing bus [suspend]",
        "device_pm_callback_end:  ep_81, err=0",
        "device_pm_callback_start: platform Fixed MDIO bus.0, parent: platform, preparing bus [suspend]",
        "device_pm_callback_end: platform Fixed MDIO bus.0, err=0",
        "device_pm_callback_start: mdio_bus fixed-0, parent: Fixed MDIO bus.0, bus [suspend]",
        "device_pm_callback_end: mdio_bus fixed-0, err=0",
        "device_pm_callback_start: i8042 kbd 00:03, parent: pnp0, noirq bus [resume]",
        "device_pm_callback_end: i8042 kbd 00:03, err=0",
        "device_pm_callback_start: i8042 kbd 00:03, parent: pnp0, completing bus [resume]",
        "device_pm_callback_end: i8042 kbd 00:03, err=0",
    ]);
    let c = capture(&text);
    let found: Vec<(&str, &str)> =
        c.graph.devices.iter().map(|d| (c.names.get(d.driver), c.names.get(d.name))).collect();
    let expect = [
        ("", "ep_81"),
        ("platform", "Fixed MDIO bus.0"),
        ("mdio_bus", "fixed-0"),
        ("i8042 kbd", "00:03"),
    ];
    for e in expect {
        assert!(found.contains(&e), "{e:?} in {found:?}");
    }
    let phases: Vec<Phase> = c.cycles[0].callbacks.iter().map(|b| b.phase).collect();
    assert_eq!(
        phases,
        [Phase::Prepare, Phase::Prepare, Phase::Suspend, Phase::ResumeNoirq, Phase::Complete]
    );
}

const DOWN: [&str; 6] = [
    "suspend_resume: suspend_enter[1] begin",
    "suspend_resume: freeze_processes[0] begin",
    "suspend_resume: freeze_processes[0] end",
    "suspend_resume: suspend_enter[1] end",
    "suspend_resume: dpm_prepare[2] begin",
    "suspend_resume: dpm_prepare[2] end",
];

fn cycle(middle: &[&str]) -> Capture {
    let mut texts = DOWN.to_vec();
    texts.extend(middle);
    texts.push("suspend_resume: thaw_processes[0] begin");
    texts.push("suspend_resume: thaw_processes[0] end");
    capture(&trace(&texts))
}

#[test]
fn turns_of_the_idle_loop_are_one_sleep() {
    let c = cycle(&[
        "suspend_resume: machine_suspend[1] begin",
        "suspend_resume: machine_suspend[1] end",
        "suspend_resume: machine_suspend[1] begin",
        "suspend_resume: machine_suspend[1] end",
        "suspend_resume: dpm_resume[16] begin",
        "suspend_resume: dpm_resume[16] end",
    ]);
    let k = &c.cycles[0];
    assert_eq!((k.mode, k.outcome), (Mode::S2idle, Outcome::Slept));
    assert_eq!(k.phases.iter().filter(|p| p.phase == Phase::Asleep).count(), 2);
    let (from, to) = k.asleep.unwrap();
    assert_eq!(to - from, Ns::from_ms(3));
    assert_eq!(k.suspend_time(), Some(Ns::from_ms(6)));
    assert_eq!(k.resume_time(), Some(Ns::from_ms(4)));
}

#[test]
fn a_late_failure_is_mirrored_inside_its_bracket() {
    let c = cycle(&[
        "suspend_resume: dpm_suspend_late[2] begin",
        "device_pm_callback_start: drv bad, parent: none, late bus [suspend]",
        "device_pm_callback_end: drv bad, err=-16",
        "suspend_resume: dpm_resume_early[16] begin",
        "device_pm_callback_start: drv ok, parent: none, early bus [resume]",
        "device_pm_callback_end: drv ok, err=0",
        "suspend_resume: dpm_resume_early[16] end",
        "suspend_resume: dpm_suspend_late[2] end",
        "suspend_resume: dpm_resume[16] begin",
        "suspend_resume: dpm_resume[16] end",
    ]);
    let k = &c.cycles[0];
    let Outcome::AbortedByDevice { device: Some(d), errno: -16 } = k.outcome else {
        panic!("{:?}", k.outcome)
    };
    assert_eq!(c.names.get(c.graph.get(d).name), "bad");
    let late = k.phase(Phase::Late).unwrap();
    assert!(late.complete);
    assert_eq!(late.end, k.phase(Phase::ResumeEarly).unwrap().start);
    assert_eq!(k.callbacks[1].phase, Phase::ResumeEarly);
}

/// The worker's clock is 3 us ahead of the main thread's, and the phases follow
/// each other within 2 us.
#[test]
fn a_callback_before_its_phase_belongs_to_the_phase_it_names() {
    let line = |us: u32, thread: &str, text: &str| {
        format!("  {thread}   [000] ....  10.{us:06}: {text}\n")
    };
    let (main, worker) = ("rtcwake-5", "kworker/u8:1-77");
    let text = [
        line(0, main, "suspend_resume: suspend_enter[3] begin"),
        line(1, main, "suspend_resume: suspend_enter[3] end"),
        line(5, main, "suspend_resume: dpm_prepare[2] begin"),
        line(6, main, "device_pm_callback_start: a x, parent: none, [suspend]"),
        line(7, main, "device_pm_callback_end: a x, err=0"),
        line(8, main, "suspend_resume: dpm_prepare[2] end"),
        line(10, main, "suspend_resume: dpm_suspend[2] begin"),
        line(20, main, "device_pm_callback_start: a x, parent: none, bus [suspend]"),
        line(30, main, "device_pm_callback_end: a x, err=0"),
        line(99, worker, "device_pm_callback_start: a x, parent: none, late bus [suspend]"),
        line(100, main, "suspend_resume: dpm_suspend[2] end"),
        line(102, main, "suspend_resume: dpm_suspend_late[2] begin"),
        line(150, worker, "device_pm_callback_end: a x, err=0"),
        line(200, main, "suspend_resume: dpm_suspend_late[2] end"),
        line(900, main, "suspend_resume: dpm_resume_early[16] begin"),
        line(950, main, "suspend_resume: dpm_resume_early[16] end"),
        line(951, worker, "device_pm_callback_start: a x, parent: none, bus [resume]"),
        line(952, main, "suspend_resume: dpm_resume[16] begin"),
        line(970, worker, "device_pm_callback_end: a x, err=0"),
        line(980, main, "suspend_resume: dpm_resume[16] end"),
    ]
    .concat();
    let c = capture(&text);
    let phases: Vec<Phase> = c.cycles[0].callbacks.iter().map(|b| b.phase).collect();
    assert_eq!(phases, [Phase::Prepare, Phase::Suspend, Phase::Late, Phase::Resume]);
    assert!(c.losses.list.is_empty(), "{:?}", c.losses);
}

#[test]
fn a_wakeup_and_a_test_differ_in_the_wait() {
    let abort = [
        "suspend_resume: dpm_suspend[2] begin",
        "suspend_resume: dpm_suspend[2] end",
        "suspend_resume: dpm_resume[16] begin",
        "suspend_resume: dpm_resume[16] end",
    ];
    let c = cycle(&abort);
    assert_eq!(c.cycles[0].outcome, Outcome::AbortedByWakeup);
    assert_eq!(c.losses.count("abort_cause_unproven"), 1);
    let mut texts = DOWN.to_vec();
    texts.extend(&abort[..2]);
    let mut text = trace(&texts);
    let up = [
        abort[2],
        abort[3],
        "suspend_resume: thaw_processes[0] begin",
        "suspend_resume: thaw_processes[0] end",
    ];
    text.push_str(&trace(&up).replace("10.", "15."));
    let c = capture(&text);
    assert_eq!(c.cycles[0].outcome, Outcome::Slept);
    assert_eq!(c.cycles[0].mode, Mode::PmTest(PmTestLevel::Devices));
}

#[test]
fn tasks_that_do_not_freeze_thaw_inside_the_bracket() {
    let c = capture(&trace(&[
        "suspend_resume: suspend_enter[3] begin",
        "suspend_resume: freeze_processes[0] begin",
        "suspend_resume: thaw_processes[0] begin",
        "suspend_resume: thaw_processes[0] end",
        "suspend_resume: freeze_processes[0] end",
        "suspend_resume: suspend_enter[3] begin",
        "suspend_resume: freeze_processes[0] begin",
    ]));
    assert_eq!(c.cycles.len(), 2);
    assert_eq!(c.cycles[0].outcome, Outcome::FreezeFailed { errno: 0 });
    assert_eq!(c.cycles[1].outcome, Outcome::Partial);
}

#[test]
fn hibernation_has_its_own_events() {
    let c = capture(&trace(&[
        "suspend_resume: freeze_processes[0] begin",
        "suspend_resume: freeze_processes[0] end",
        "suspend_resume: dpm_prepare[1] begin",
        "device_pm_callback_start: drv a, parent: none, [freeze]",
        "device_pm_callback_end: drv a, err=0",
        "suspend_resume: dpm_prepare[1] end",
        "suspend_resume: dpm_suspend[1] begin",
        "suspend_resume: dpm_suspend[1] end",
        "suspend_resume: machine_suspend[4] begin",
        "suspend_resume: machine_suspend[4] end",
        "suspend_resume: dpm_resume[32] begin",
        "suspend_resume: dpm_resume[32] end",
        "suspend_resume: dpm_complete[32] begin",
        "suspend_resume: dpm_complete[32] end",
        "suspend_resume: dpm_prepare[4] begin",
        "suspend_resume: dpm_prepare[4] end",
        "suspend_resume: thaw_processes[0] begin",
        "suspend_resume: thaw_processes[0] end",
    ]));
    assert_eq!(c.cycles.len(), 1);
    let k = &c.cycles[0];
    assert_eq!((k.mode, k.outcome), (Mode::Disk, Outcome::Slept));
    let events: Vec<PmEvent> =
        k.phases.iter().filter(|p| p.phase.has_devices()).map(|p| p.event).collect();
    use PmEvent::{Freeze, Hibernate, Thaw};
    assert_eq!(events, [Freeze, Freeze, Thaw, Thaw, Hibernate]);
}

#[test]
fn twins_are_told_apart_by_order() {
    let start = |ops: &str, event: &str| {
        format!("device_pm_callback_start: net lo, parent: none, {ops}[{event}]")
    };
    let (prepare, suspend) = (start("", "suspend"), start("class ", "suspend"));
    let end = "device_pm_callback_end: net lo, err=0";
    let c = capture(&trace(&[
        "suspend_resume: suspend_enter[3] begin",
        "suspend_resume: dpm_prepare[2] begin",
        &prepare,
        end,
        &prepare,
        end,
        "suspend_resume: dpm_prepare[2] end",
        "suspend_resume: dpm_suspend[2] begin",
        &suspend,
        end,
        &suspend,
        end,
        "suspend_resume: dpm_suspend[2] end",
    ]));
    let order: Vec<u32> = c.cycles[0].callbacks.iter().map(|b| b.device.0).collect();
    assert_eq!(order, [0, 1, 1, 0], "suspend walks the list from its tail");
}

#[test]
fn threads_prove_who_is_async() {
    let c = capture(&synthetic::trace(9));
    let k = &c.cycles[0];
    let main = k.threads.iter().filter(|t| t.is_main == Some(true)).count();
    assert_eq!((main, k.threads.len()), (1, 4));
    for (i, d) in c.graph.devices.iter().enumerate() {
        assert_eq!(d.async_flag, Some(i % 3 == 1), "device {i}");
        assert_eq!(c.names.get(d.name), format!("dev{i}"), "order of dpm_list");
    }
    assert!(c.graph.order_known);
    assert_eq!(c.machine.pm_async, Some(true));
}

#[test]
fn a_log_and_a_trace_become_one_cycle() {
    let dir = tempfile::tempdir().unwrap();
    let (log, text) = (dir.path().join("dmesg"), dir.path().join("trace"));
    std::fs::write(&log, synthetic::log(synthetic::Generation::Bare, synthetic::stamped)).unwrap();
    // The log begins at 50 s and lasts about 0.2 s.
    let steps = [
        "suspend_resume: suspend_enter[3] begin",
        "suspend_resume: dpm_suspend[2] begin",
        "suspend_resume: dpm_suspend[2] end",
        "suspend_resume: machine_suspend[3] begin",
        "suspend_resume: machine_suspend[3] end",
        "suspend_resume: dpm_resume[16] begin",
        "suspend_resume: dpm_resume[16] end",
        "suspend_resume: thaw_processes[0] begin",
        "suspend_resume: thaw_processes[0] end",
    ];
    let trace: String = steps
        .iter()
        .enumerate()
        .map(|(n, t)| format!("  rtcwake-5   [000] ....  50.{:06}: {t}\n", 10 + n * 15_000))
        .collect();
    std::fs::write(&text, &trace).unwrap();
    let both = [Input::Path(log.clone()), Input::Path(text.clone())];
    let swapped = [Input::Path(text), Input::Path(log)];
    for inputs in [&both[..], &swapped, &[Input::Path(dir.path().to_owned())]] {
        let reading = read(inputs, &Options::default()).unwrap();
        assert_eq!(reading.captures.len(), 1);
        let c = &reading.captures[0];
        invariants::check(c, "merged");
        assert_eq!(c.cycles.len(), 1);
        let k = &c.cycles[0];
        assert!(c.names.get(k.source).ends_with("trace"), "the trace is the base");
        assert_eq!(k.phase(Phase::Suspend).unwrap().printed, Some(Ns::from_ms(8)));
        assert_eq!(k.phase(Phase::Suspend).unwrap().duration(), Ns::from_ms(15));
        assert_eq!(k.asleep_elsewhere, Some(Ns::from_ms(9_000)));
        assert_eq!(k.callbacks.len(), 24, "the log's callbacks, as the trace has none");
    }
    // Another boot: nothing overlaps, nothing is joined. Neither names its kernel, so
    // nothing says that they are of one machine.
    std::fs::write(dir.path().join("trace"), trace.replace(" 50.", " 90.")).unwrap();
    let reading = read(&[Input::Path(dir.path().to_owned())], &Options::default()).unwrap();
    let cycles: Vec<usize> = reading.captures.iter().map(|c| c.cycles.len()).collect();
    assert_eq!(cycles, [1, 1]);
}

/// Lines of the main thread at these milliseconds.
fn at(lines: &[(u64, &str)]) -> String {
    let line = |(ms, t): &(u64, &str)| {
        format!("  init-1   [000] ....  {}.{:03}000: {t}\n", ms / 1000, ms % 1000)
    };
    lines.iter().map(line).collect()
}

/// As 7.3 records it: 388 ms of copying stay in the stamps until the next page of
/// the ring buffer, in the middle of a callback.
#[test]
fn a_clock_that_falls_back_after_the_image_was_made_is_mended() {
    let text = at(&[
        (15_704, "suspend_resume: dpm_suspend[1] begin"),
        (15_728, "suspend_resume: dpm_suspend[1] end"),
        (15_729, "suspend_resume: syscore_suspend[0] begin"),
        (15_729, "suspend_resume: syscore_suspend[0] end"),
        (15_729, "suspend_resume: machine_suspend[4] begin"),
        (16_117, "suspend_resume: machine_suspend[4] end"),
        (16_117, "suspend_resume: dpm_resume[32] begin"),
        (16_118, "device_pm_callback_start: i8042 kbd 00:00, parent: pnp0, bus [thaw]"),
        (15_733, "device_pm_callback_end: i8042 kbd 00:00, err=0"),
        (15_868, "suspend_resume: dpm_resume[32] end"),
        (15_868, "suspend_resume: dpm_complete[32] begin"),
        (15_869, "suspend_resume: dpm_complete[32] end"),
    ]);
    let c = capture(&text);
    assert_eq!(c.cycles.len(), 1);
    let ms = |phase| c.cycles[0].phase(phase).map(|p| p.duration().0 / 1_000_000);
    assert_eq!(ms(Phase::Suspend), Some(24));
    assert_eq!(ms(Phase::Asleep), Some(0));
    assert_eq!(ms(Phase::Resume), Some(139));
    let call = &c.cycles[0].callbacks[0];
    assert_eq!((call.start, call.end), (Ns(15_730_000_000), Ns(15_733_000_000)));
    assert_eq!(c.losses.count("time_backwards"), 0);
    // Behind a suspend that did not last so long it is another trace.
    let text = text
        .replace("[1]", "[2]")
        .replace("[32]", "[16]")
        .replace("machine_suspend[4]", "machine_suspend[3]")
        .replace("[thaw]", "[resume]");
    let text =
        text.replace("15.729000: suspend_resume: machine", "16.017000: suspend_resume: machine");
    let suspend = read_bytes("test", text.as_bytes(), &Options::default()).unwrap();
    assert_eq!(suspend.captures[0].cycles.len(), 2);
    assert_eq!(suspend.captures[0].losses.count("time_backwards"), 1);
}

/// As 7.3 records a suspend to memory: 2.87 ms that passed while timekeeping was halted
/// stay in the stamps until the clock falls back, inside a callback of early resume.
#[test]
fn a_clock_that_falls_back_after_suspend_to_memory_is_mended() {
    let lines = [
        (620_164, "suspend_resume: dpm_suspend_noirq[2] begin"),
        (620_190, "suspend_resume: dpm_suspend_noirq[2] end"),
        (620_202, "suspend_resume: syscore_suspend[0] begin"),
        (620_318, "suspend_resume: syscore_suspend[0] end"),
        (620_319, "suspend_resume: machine_suspend[3] begin"),
        (623_145, "suspend_resume: machine_suspend[3] end"),
        (623_146, "suspend_resume: syscore_resume[0] begin"),
        (623_147, "suspend_resume: syscore_resume[0] end"),
        (623_180, "suspend_resume: dpm_resume_noirq[16] begin"),
        (623_620, "suspend_resume: dpm_resume_noirq[16] end"),
        (623_680, "suspend_resume: dpm_resume_early[16] begin"),
        (623_744, "device_pm_callback_start: rtc_cmos 00:00, parent: pnp0, early bus [resume]"),
        (620_874, "device_pm_callback_end: rtc_cmos 00:00, err=0"),
        (621_231, "suspend_resume: dpm_resume_early[16] end"),
        (621_232, "suspend_resume: dpm_resume[16] begin"),
        (732_440, "suspend_resume: dpm_resume[16] end"),
        (732_444, "suspend_resume: dpm_complete[16] begin"),
        (733_085, "suspend_resume: dpm_complete[16] end"),
    ];
    let text = |cpu_of_noirq: u32| -> String {
        let line = |(us, t): &(u32, &str)| {
            let cpu = if *us == 623_620 { cpu_of_noirq } else { 0 };
            format!("  rtcwake-5   [{cpu:03}] ....  14.{us:06}: {t}\n")
        };
        lines.iter().map(line).collect()
    };
    let c = capture(&text(0));
    assert_eq!((c.cycles.len(), c.losses.count("time_backwards")), (1, 0));
    let us = |phase| c.cycles[0].phase(phase).map(|p| p.duration().0 / 1_000);
    // 440 us, and 45 us between the halt of timekeeping and the sleep are nowhere:
    // 9 of them are left after the sleep, during which the clock stood still.
    assert_eq!(us(Phase::ResumeNoirq), Some(431));
    assert_eq!(us(Phase::ResumeEarly), Some(421));
    assert_eq!(us(Phase::Resume), Some(111_208));
    let call = &c.cycles[0].callbacks[0];
    assert!((call.end - call.start).0 < 10_000, "{call:?}");
    // Where another CPU spoke in between nobody knows which times are late.
    let reading = read_bytes("test", text(1).as_bytes(), &Options::default()).unwrap();
    assert!(reading.captures[0].losses.count("time_backwards") > 0);
    assert!(reading.captures[0].cycles.iter().any(|k| !k.lost.is_empty()));
}

#[test]
fn what_pm_graph_says_of_the_firmware_is_of_the_halves() {
    let text = |fw: &str| {
        format!(
            "# suspend-110826-071200 elm mem 7.1.4\n{fw}# tracer: nop\n{}",
            trace(&[
                "suspend_resume: suspend_enter[3] begin",
                "suspend_resume: dpm_suspend_noirq[2] begin",
                "suspend_resume: dpm_suspend_noirq[2] end",
                "suspend_resume: machine_suspend[3] begin",
                "suspend_resume: machine_suspend[3] end",
                "suspend_resume: dpm_resume_noirq[16] begin",
                "suspend_resume: dpm_resume_noirq[16] end",
                "suspend_resume: dpm_resume[16] begin",
                "suspend_resume: dpm_resume[16] end",
                "suspend_resume: dpm_complete[16] begin",
                "suspend_resume: dpm_complete[16] end",
            ])
        )
    };
    let gaps = |fw: &str| {
        let capture = capture(&text(fw));
        let c = &capture.cycles[0];
        let (down, up) = c.asleep.expect("a sleep");
        let of = |phase| c.phase(phase).expect("a phase");
        (down - of(Phase::Noirq).end, of(Phase::ResumeNoirq).start - up)
    };
    let ms = Ns::from_ms;
    assert_eq!(gaps(""), (ms(1), ms(1)));
    assert_eq!(gaps("# fwsuspend 20000000 fwresume 700000000\n"), (ms(21), ms(701)));
    assert_eq!(gaps("# fwsuspend 0 fwresume 0\n"), (ms(1), ms(1)));
}
