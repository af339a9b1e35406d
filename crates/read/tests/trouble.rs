//! Trouble of every kind in made-up logs: told by its own lines, with function, half and
//! phase, whatever stands before them; and healthy twins.

use dormouse_base::phase::{Direction, Phase};
use dormouse_doctor::finding::{Finding, Level};
use dormouse_doctor::judge;
use dormouse_read::doctor::read_bytes;

fn found(text: &str) -> Vec<Finding> {
    judge(&read_bytes("text", text.as_bytes()).case).findings
}

fn one(text: &str, id: &str) -> Finding {
    let all = found(text);
    all.iter().find(|f| f.id == id).unwrap_or_else(|| panic!("no {id}: {all:#?}")).clone()
}

/// Lines of a sleep, with these lines while devices suspend and while they resume.
fn sleep(down: &[&str], up: &[&str]) -> Vec<String> {
    let mut out: Vec<String> = [
        "PM: suspend entry (deep)",
        "Filesystems sync: 0.004 seconds",
        "Freezing user space processes",
        "Freezing user space processes completed (elapsed 0.001 seconds)",
        "OOM killer disabled.",
        "Freezing remaining freezable tasks",
        "Freezing remaining freezable tasks completed (elapsed 0.001 seconds)",
        "printk: Suspending console(s) (use no_console_suspend to debug)",
    ]
    .map(String::from)
    .to_vec();
    out.extend(down.iter().map(|l| l.to_string()));
    out.extend(
        [
            "PM: suspend of devices complete after 90.000 msecs",
            "PM: late suspend of devices complete after 2.000 msecs",
            "PM: noirq suspend of devices complete after 5.000 msecs",
            "Disabling non-boot CPUs ...",
            "Enabling non-boot CPUs ...",
            "PM: noirq resume of devices complete after 5.000 msecs",
            "PM: early resume of devices complete after 2.000 msecs",
        ]
        .map(String::from),
    );
    out.extend(up.iter().map(|l| l.to_string()));
    out.extend(
        [
            "PM: resume of devices complete after 80.000 msecs",
            "OOM killer enabled.",
            "Restarting tasks ... done.",
            "PM: suspend exit",
        ]
        .map(String::from),
    );
    out
}

/// The same log as people post it.
fn dressed(lines: &[String]) -> Vec<(&'static str, String)> {
    let stamp = |i: usize| 100_000_000 + 10_000 * i as u64;
    let seconds = |i: usize| format!("{}.{:06}", stamp(i) / 1_000_000, stamp(i) % 1_000_000);
    let each = |front: &dyn Fn(usize) -> String| -> String {
        lines.iter().enumerate().map(|(i, l)| format!("{}{l}\n", front(i))).collect()
    };
    vec![
        ("raw", each(&|i| format!("[  {}] ", seconds(i)))),
        ("caller", each(&|i| format!("[  {}][  T{}] ", seconds(i), 40 + i % 3))),
        ("quoted twice", each(&|i| format!("> > [  {}] ", seconds(i)))),
        ("syslog", each(&|i| format!("Mar  4 11:20:{:02} pika kernel: ", 31 + i / 40))),
        ("both", each(&|i| format!("Mar  4 11:20:31 pika kernel: [  {}] ", seconds(i)))),
        (
            "iso",
            each(&|i| {
                format!("2026-03-04T11:20:31.{:06}+00:00 pika kernel: ", stamp(i) % 1_000_000)
            }),
        ),
    ]
}

fn in_every_dress(down: &[&str], up: &[&str], check: &dyn Fn(&str, &str)) {
    for (dress, text) in dressed(&sleep(down, up)) {
        check(dress, &text);
    }
}

const WARN: [&str; 9] = [
    "------------[ cut here ]------------",
    "WARNING: CPU: 1 PID: 311 at drivers/spi/spi-bcm2835.c:77 bcm2835_spi_stop+0x1c/0x40 [spi_bcm2835]",
    "Modules linked in: spi_bcm2835",
    "CPU: 1 UID: 0 PID: 311 Comm: kworker/u8:2 Not tainted 6.12.9 #2",
    "pc : bcm2835_spi_stop+0x1c/0x40 [spi_bcm2835]",
    "Call trace:",
    " bcm2835_spi_stop+0x1c/0x40 [spi_bcm2835]",
    " dpm_run_callback+0x40/0x110",
    "---[ end trace 0000000000000000 ]---",
];

#[test]
fn a_warning_is_told_with_its_function_and_half() {
    in_every_dress(&WARN, &[], &|dress, text| {
        let f = one(text, "phase-warning");
        assert_eq!(f.about.function.as_deref(), Some("bcm2835_spi_stop"), "{dress}");
        assert_eq!(f.about.direction, Some(Direction::Suspend), "{dress}");
        assert_eq!(f.about.phase, Some(Phase::Suspend), "{dress}");
        assert!(f.sentence.contains("spi_bcm2835"), "{}", f.sentence);
    });
    in_every_dress(&[], &WARN, &|dress, text| {
        let f = one(text, "phase-warning");
        assert_eq!(f.about.direction, Some(Direction::Resume), "{dress}");
        assert_eq!(f.about.phase, Some(Phase::Resume), "{dress}");
    });
}

#[test]
fn the_warning_of_seven_names_its_function_in_one_line() {
    let new = [
        "------------[ cut here ]------------",
        "link still up",
        "WARNING: drivers/net/phy/sfp.c:91 at sfp_pm_down+0x44/0x80 [sfp], CPU#3: kworker/u17:2/488",
        "---[ end trace 0000000000000000 ]---",
    ];
    in_every_dress(&new, &[], &|dress, text| {
        let f = one(text, "phase-warning");
        assert_eq!(f.about.function.as_deref(), Some("sfp_pm_down"), "{dress}");
        assert!(f.why.contains("link still up"), "{dress}: {}", f.why);
    });
}

#[test]
fn a_crash_in_a_function_of_everybody_names_who_called_it() {
    let oops = [
        "BUG: kernel NULL pointer dereference, address: 0000000000000018",
        "Oops: 0000 [#1] PREEMPT SMP NOPTI",
        "CPU: 2 PID: 77 Comm: kworker/u24:1 Tainted: G           OE      6.8.1 #1",
        "RIP: 0010:mutex_lock+0x1c/0x40",
        "Call Trace:",
        " <TASK>",
        " ? __die+0x20/0x70",
        " stmp_key_resume+0x22/0x90 [stmp_keys]",
        " dpm_run_callback+0x4a/0x150",
        " device_resume_early+0x88/0x190",
        " </TASK>",
    ];
    in_every_dress(&[], &oops, &|dress, text| {
        let f = one(text, "phase-crash");
        assert_eq!(f.about.function.as_deref(), Some("stmp_key_resume"), "{dress}");
        // The core's own function in the dump knows the phase better than the lines.
        assert_eq!(f.about.phase, Some(Phase::ResumeEarly), "{dress}");
        assert_eq!(found(text).iter().filter(|f| f.id == "phase-crash").count(), 1, "{dress}");
    });
}

#[test]
fn locks_stalls_and_stuck_tasks_are_told() {
    let locks = [
        "WARNING: possible recursive locking detected",
        "6.12.4-debug #1 Not tainted",
        "systemd-sleep/812 is trying to acquire lock:",
        "ffff0000c1a2b0f8 (&priv->mtx){+.+.}-{3:3}, at: ks_dev_suspend+0x3e/0x140 [ks_dev]",
    ];
    in_every_dress(&locks, &[], &|dress, text| {
        let f = one(text, "phase-locks");
        assert_eq!(f.about.function.as_deref(), Some("ks_dev_suspend"), "{dress}");
    });
    let stall = ["rcu: INFO: rcu_sched self-detected stall on CPU", "RIP: 0010:ec_poll+0x15/0x30"];
    in_every_dress(&[], &stall, &|dress, text| {
        let f = one(text, "phase-stall");
        assert_eq!(f.about.function.as_deref(), Some("ec_poll"), "{dress}");
    });
    let hung = [
        "INFO: task kworker/3:1:145 blocked for more than 122 seconds.",
        "task:kworker/3:1     state:D stack:0     pid:145   tgid:145   ppid:2      flags:0x00004000",
        "Call Trace:",
        " __schedule+0x3df/0x1580",
        " schedule+0x27/0xf0",
        " typhoon_wait_reset+0x46/0x70 [typhoon]",
    ];
    in_every_dress(&hung, &[], &|dress, text| {
        let f = one(text, "phase-hung-task");
        assert_eq!((f.about.tasks[0].name.as_str(), f.about.tasks[0].pid), ("kworker/3:1", 145));
        assert_eq!(f.about.function.as_deref(), Some("typhoon_wait_reset"), "{dress}");
    });
}

#[test]
fn what_a_machine_had_before_or_long_after_is_not_of_its_sleep() {
    let stamped = |at: u64, lines: &[&str]| -> String {
        lines.iter().map(|l| format!("[{at:5}.000000] {l}\n")).collect()
    };
    let asleep: String = dressed(&sleep(&[], &[]))[0].1.clone();
    assert!(found(&asleep).is_empty(), "{:?}", found(&asleep));
    let later = asleep.clone() + &stamped(9_000, &WARN);
    assert!(found(&later).is_empty(), "two hours later: {:?}", found(&later));
    let soon = asleep.clone() + &stamped(105, &WARN);
    assert_eq!(one(&soon, "phase-warning").level, Level::Risk);
    let before = stamped(50, &WARN) + &soon;
    assert!(found(&before).is_empty(), "it warned before the sleep too");
}

#[test]
fn the_first_stage_of_the_watchdog_is_no_panic() {
    let warns = [
        "spi-nor spi0.0: PM: **** DPM device timeout after 20 seconds; 40 seconds until panic ****",
        "Call Trace:",
        " schedule+0x27/0xd0",
        " spi_nor_wait_ready+0x49/0xd0 [spi_nor]",
    ];
    in_every_dress(&warns, &[], &|dress, text| {
        let f = one(text, "device-slow");
        assert_eq!(f.about.devices[0].name, "spi0.0", "{dress}");
        assert_eq!(f.about.function.as_deref(), Some("spi_nor_wait_ready"), "{dress}");
        assert_eq!(f.about.direction, Some(Direction::Suspend), "{dress}");
        assert!(!found(text).iter().any(|f| f.id == "device-hang"), "{dress}");
    });
}

#[test]
fn a_device_that_is_gone_before_the_sleep_is_not_said_to_come_back() {
    let line =
        "ahci 0000:05:00.1: Unable to change power state from D0 to D3cold, device inaccessible";
    in_every_dress(&[line], &[], &|dress, text| {
        let f = one(text, "device-not-powered");
        assert_eq!(f.about.direction, Some(Direction::Suspend), "{dress}");
        assert!(!f.sentence.contains("back"), "{}", f.sentence);
    });
}

#[test]
fn long_waits_by_the_kernels_own_words_are_told() {
    let waits = [
        "xhci_hcd 0000:2a:00.0: not ready 2047ms after resume; waiting",
        "xhci_hcd 0000:2a:00.0: not ready 4095ms after resume; waiting",
    ];
    in_every_dress(&[], &waits, &|dress, text| {
        let f = one(text, "device-not-ready");
        assert_eq!(
            (f.level, f.about.devices[0].name.as_str()),
            (Level::Slow, "0000:2a:00.0"),
            "{dress}"
        );
    });
    let long = "[   10.000000] PM: suspend entry (s2idle)\n[   90.000000] PM: resume of devices complete after 31007.250 msecs\n";
    assert_eq!(one(long, "phase-long").about.direction, Some(Direction::Resume));
    let short = long.replace("31007.250", "2007.250");
    assert!(!found(&short).iter().any(|f| f.id == "phase-long"));
}

#[test]
fn errors_that_begin_with_a_resume_are_told_and_those_of_one_try_are_not() {
    let asleep = dressed(&sleep(&[], &[]))[0].1.clone();
    let errors = |every: u64| -> String {
        (0..4u64)
            .map(|i| format!("[  {}.000000] mmc2: Timeout waiting for hardware interrupt.\n[  {}.500000] r8152 2-1:1.0: eth0: Tx timeout {i}\n", 104 + i * every, 104 + i * every))
            .collect()
    };
    let f = one(&(asleep.clone() + &errors(9)), "device-errors-since");
    assert_eq!((f.about.devices[0].name.as_str(), f.about.times), ("2-1:1.0", Some(4)));
    let since = |text: &str| found(text).iter().any(|f| f.id == "device-errors-since");
    assert!(!since(&(asleep.clone() + &errors(1))), "over within 3 s");
    let before = "[   20.000000] r8152 2-1:1.0: eth0: Tx timeout 9\n".to_string();
    assert!(!since(&(before + &asleep + &errors(9))), "it had them before");
}

#[test]
fn what_a_driver_says_just_before_its_failure_is_the_reason() {
    let lines = [
        "brcmf_sdio mmc1:0001:1: firmware did not answer the sleep request",
        "brcmf_sdio mmc1:0001:1: PM: dpm_run_callback(): brcmf_ops_suspend returns -5",
        "brcmf_sdio mmc1:0001:1: PM: failed to suspend: error -5",
    ];
    in_every_dress(&lines, &[], &|dress, text| {
        let f = one(text, "device-failed");
        assert!(f.why.contains("did not answer the sleep request"), "{dress}: {f:?}");
    });
}

#[test]
fn a_task_that_no_rule_knows_is_told_with_its_function() {
    let text = |task: &str, frames: &str| {
        format!(
            "[    7.000000] PM: suspend entry (deep)\n[    7.100000] Freezing user space processes ... \n\
             [   27.100000] Freezing of tasks failed after 20.004 seconds (1 tasks refusing to freeze, wq_busy=0):\n\
             [   27.100000] {task}\n{frames}[   27.200000] Restarting tasks ... done.\n"
        )
    };
    let x86 = "[   27.100000]  __schedule+0x292/0x710\n[   27.100000]  rwsem_down_read_slowpath+0x1f/0x30\n[   27.100000]  zpool_wait_txg+0x6b/0xd0 [zfs]\n";
    let glued = one(&text("txg_quiesce     D13264   918      2 0x80004000", x86), "freeze-failed");
    assert_eq!(
        (glued.about.tasks[0].name.as_str(), glued.about.tasks[0].pid),
        ("txg_quiesce", 918)
    );
    assert_eq!(glued.about.function.as_deref(), Some("zpool_wait_txg"));
    let arm = "[   27.100000] [<c0b5a1f4>] (__schedule) from [<c0b5a8a0>] (schedule+0x5c/0xcc)\n[   27.100000] [<c06a3b10>] (omap_rng_wait) from [<c06a2e04>] (hwrng_fillfn+0xd0/0x1ac)\n";
    let running = one(
        &text("hwrng           R  running task        0    88      2 0x00000028", arm),
        "freeze-failed",
    );
    assert_eq!(running.about.function.as_deref(), Some("omap_rng_wait"));
    let new = "[   27.100000]  __schedule from schedule+0x5c/0xcc\n[   27.100000]  omap_rng_wait from hwrng_fillfn+0xd0/0x1ac\n";
    let newer = one(
        &text(
            "task:hwrng           state:R  running task     stack:0     pid:88    tgid:88    ppid:2      flags:0x00000028",
            new,
        ),
        "freeze-failed",
    );
    assert_eq!(newer.about.function.as_deref(), Some("omap_rng_wait"));
}

#[test]
fn busy_queues_are_told_with_their_work_and_what_stood_before() {
    let text = "[    3.000000] INFO: task ufs_eh_wq:77 blocked for more than 120 seconds.\n\
        [    3.000000] task:ufs_eh_wq       state:D stack:0     pid:77    tgid:77    ppid:2      flags:0x00004000\n\
        [    3.000000]  schedule+0x27/0xf0\n\
        [    3.000000]  ufshcd_wait_reg+0x10/0x20 [ufshcd_core]\n\
        [   60.000000] PM: suspend entry (s2idle)\n\
        [   60.100000] Freezing remaining freezable tasks\n\
        [   80.100000] Freezing remaining freezable tasks failed after 20.002 seconds (0 tasks refusing to freeze, wq_busy=1):\n\
        [   80.100000] Showing freezable workqueues that are still busy:\n\
        [   80.100000] workqueue devfreq_wq: flags=0x6\n\
        [   80.100000]   pwq 3: cpus=0 flags=0x0 nice=0 active=1 refcnt=2\n\
        [   80.100000]     in-flight: 41:devfreq_monitor\n\
        [   80.100000] workqueue mmc_complete: flags=0x6\n\
        [   80.100000]   pwq 7: cpus=1 flags=0x0 nice=0 active=2 refcnt=3\n\
        [   80.100000]     in-flight: 55:mmc_blk_mq_complete_work\n\
        [   80.200000] OOM killer enabled.\n[   80.200000] Restarting tasks ... done.\n[   80.300000] PM: suspend exit\n";
    let f = one(text, "freeze-failed");
    assert_eq!(f.about.function.as_deref(), Some("devfreq_monitor"));
    assert!(f.sentence.contains("mmc_complete"), "{}", f.sentence);
    assert!(f.why.contains("ufs_eh_wq (pid 77)") && f.why.contains("ufshcd_wait_reg"), "{}", f.why);
}

#[test]
fn a_wakeup_that_ends_a_restore_ends_no_sleep() {
    let text = "[    2.000000] PM: hibernation: resume from hibernation\n\
        [    2.100000] Freezing user space processes\n\
        [    2.200000] Freezing user space processes completed (elapsed 0.001 seconds)\n\
        [    4.000000] PM: Image successfully loaded\n\
        [    4.100000] PM: Wakeup pending, aborting suspend\n\
        [    4.100000] PM: active wakeup source: PNP0C0C:00\n\
        [    4.200000] PM: hibernation: Failed to load image, recovering.\n";
    let all = found(text);
    let f = one(text, "hib-restore-woken");
    assert_eq!(f.about.devices[0].name, "PNP0C0C:00");
    assert!(!all.iter().any(|f| f.id == "abort-wakeup" || f.id == "hib-load-failed"), "{all:?}");
}

/// A warning of a thread that 6.1 resumes an early device in.
const EARLY: [&str; 7] = [
    "WARNING: CPU: 0 PID: 24 at drivers/pika/core.c:91 pika_check+0x1d/0x30 [pika]",
    "RIP: 0010:pika_check+0x1d/0x30 [pika]",
    "Call Trace:",
    " dpm_run_callback+0x4a/0x150",
    " __device_resume_early+0x8a/0x260",
    " async_resume_early+0x19/0x30",
    "---[ end trace 0000000000000000 ]---",
];

#[test]
fn a_warning_in_two_phases_is_two_findings() {
    let down = ["WARNING: CPU: 0 PID: 9 at drivers/pika/core.c:91 pika_check+0x1d/0x30 [pika]"];
    let lines: Vec<String> = sleep(&[down[0], "RIP: 0010:pika_check+0x1d/0x30 [pika]"], &EARLY);
    for (dress, text) in dressed(&lines) {
        let all = found(&text);
        let warned = all.iter().filter(|f| f.id == "phase-warning");
        let seen: Vec<_> = warned.map(|f| (f.about.direction, f.about.phase)).collect();
        assert_eq!(
            seen,
            [
                (Some(Direction::Suspend), Some(Phase::Suspend)),
                (Some(Direction::Resume), Some(Phase::ResumeEarly))
            ],
            "{dress}"
        );
    }
}

#[test]
fn a_phase_is_named_where_both_of_its_borders_are_there() {
    let told = |middle: &str, id: &str| {
        let text = format!(
            "[  100.000000] PM: suspend entry (deep)\n{middle}[  140.000000] PM: suspend exit\n"
        );
        one(&text, id)
    };
    let wake = "[  101.000000] ACPI: PM: Waking up from system sleep state S3\n";
    let stall = "[  122.300000] rcu: INFO: rcu_preempt self-detected stall on CPU\n";
    let noirq = "[  123.000000] PM: noirq resume of devices complete after 21900.000 msecs\n";
    let tasks = "[  123.100000] OOM killer enabled.\n";
    for (middle, place, phase) in [
        (format!("{wake}{stall}"), "on the way back from a sleep", None),
        (format!("{wake}{stall}{tasks}"), "while devices resumed", None),
        (
            format!("{wake}{stall}{noirq}{tasks}"),
            "while devices resumed (noirq)",
            Some(Phase::ResumeNoirq),
        ),
    ] {
        let f = told(&middle, "phase-stall");
        assert!(f.sentence.contains(&format!("{place}: ")), "{place}: {}", f.sentence);
        assert_eq!((f.about.direction, f.about.phase), (Some(Direction::Resume), phase), "{place}");
    }
    // A kernel that tells of each phase is in the one that it did not end.
    let down = "[  100.500000] PM: noirq suspend of devices complete after 2.000 msecs\n";
    let f = told(&format!("{down}{wake}{stall}{tasks}"), "phase-stall");
    assert!(f.sentence.contains("(noirq): "), "{}", f.sentence);
    let warning = |function: &str| {
        format!(
            "[  100.500000] ------------[ cut here ]------------\n\
             [  100.500100] WARNING: CPU: 2 PID: 88 at drivers/elm/elm.c:99 {function}+0x12/0x40 [elm]\n\
             [  100.500200] ---[ end trace 0000000000000000 ]---\n"
        )
    };
    for (function, place) in [
        ("elm_suspend", "while a device suspended (by the name of a function)"),
        ("elm_work", "inside a sleep"),
    ] {
        let f = told(&warning(function), "phase-warning");
        assert!(f.sentence.contains(place), "{function}: {}", f.sentence);
    }
    // A log that breaks off shows that no task was started again.
    let late = "[  100.000000] PM: suspend entry (deep)\n[  100.700000] ACPI: EC: interrupt blocked\n\
        [  100.800000] BUG: kernel NULL pointer dereference, address: 000000000000001c\n";
    let f = one(late, "phase-crash");
    assert!(f.sentence.contains("while devices suspended."), "{}", f.sentence);
    let sync = "[  101.000000] Filesystems sync: 0.900 seconds\n";
    let f = told(&format!("{}{sync}", warning("elm_work")), "phase-warning");
    assert!(f.sentence.contains("while data was written before the sleep"), "{}", f.sentence);
}

#[test]
fn what_only_finds_a_fault_is_not_the_one_that_made_it() {
    let head = |first: &[&'static str]| {
        let mut all = first.to_vec();
        all.extend(["CPU: 1 PID: 811 Comm: systemd-sleep Not tainted 6.9.3 #1", "Call trace:"]);
        all
    };
    let trace =
        |first: &[&'static str], frames: &[&'static str]| [head(first), frames.to_vec()].concat();
    let atomic = trace(
        &[
            "BUG: sleeping function called from invalid context at kernel/locking/mutex.c:580",
            "in_atomic(): 0, irqs_disabled(): 128, non_block: 0, pid: 811, name: systemd-sleep",
        ],
        &[
            " dump_stack_lvl+0x78/0x90",
            " __might_resched+0x16c/0x1b0",
            " __might_sleep+0x48/0x7c",
            " mutex_lock+0x24/0x80",
            " oak_send_word+0x3c/0x110",
            " oak_domain_off+0x1c/0x28",
        ],
    );
    let bounds = trace(
        &["UBSAN: array-index-out-of-bounds in drivers/misc/elm/reg.c:31:9"],
        &[
            " dump_stack_lvl+0x5d/0x80",
            " ubsan_epilogue+0x5/0x30",
            " __ubsan_handle_out_of_bounds.cold+0x46/0x4b",
            " elm_write+0x1f0/0x220 [elm]",
        ],
    );
    for (report, function) in [(&atomic, "oak_send_word"), (&bounds, "elm_write")] {
        in_every_dress(report, &[], &|dress, text| {
            let f = one(text, "phase-warning");
            assert!(f.sentence.contains(function), "{dress}: {}", f.sentence);
            assert!(!f.sentence.contains("might_resched"), "{dress}: {}", f.sentence);
            assert!(!f.sentence.contains("ubsan"), "{dress}: {}", f.sentence);
        });
    }
    let rcu = trace(
        &["WARNING: suspicious RCU usage", "6.9.3 #1 Not tainted", "-----------------------------"],
        &[" lockdep_rcu_suspicious+0x170/0x210", " elm_resume+0x5c/0xd0 [elm]"],
    );
    let all = found(&sleep(&[], &rcu).join("\n"));
    assert!(all.iter().all(|f| !format!("{f:?}").contains("deadlock")), "{all:#?}");
}

#[test]
fn tasks_that_stood_apart_and_queues_that_were_busy_together_are_all_named() {
    let task = |name: &str, pid: u32, frame: &str| {
        format!(
            "[   44.120100] task:{name}  state:D stack:0 pid:{pid} tgid:{pid} ppid:1 flags:0x00000002\n\
             [   44.120101] Call Trace:\n\
             [   44.120102]  __schedule+0x2a0/0x700\n\
             [   44.120103]  schedule+0x30/0x110\n\
             [   44.120104]  {frame}\n"
        )
    };
    let text = format!(
        "[   24.100000] PM: suspend entry (s2idle)\n\
         [   24.110000] Freezing user space processes\n\
         [   44.120000] Freezing user space processes failed after 20.010 seconds (2 tasks refusing to freeze, wq_busy=0):\n{}{}\
         [   44.130000] Restarting tasks ... done.\n[   44.131000] PM: suspend exit\n",
        task("gull", 811, "heron_read_block+0x1a/0x90"),
        task("tern", 812, "egret_flush+0x4c/0xb0 [egret]"),
    );
    let f = one(&text, "freeze-failed");
    assert!(
        f.sentence.contains("gull in heron_read_block and tern in egret_flush (egret)"),
        "{}",
        f.sentence
    );
    let same = text.replace("egret_flush+0x4c/0xb0 [egret]", "heron_read_block+0x1a/0x90");
    assert!(one(&same, "freeze-failed").sentence.contains("The first stood in heron_read_block"));
    let queues = "[   24.110000] Freezing remaining freezable tasks\n\
        [   44.120000] Freezing remaining freezable tasks failed after 20.010 seconds (0 tasks refusing to freeze, wq_busy=1):\n\
        [   44.120001] Showing freezable workqueues that are still busy:\n\
        [   44.120002] workqueue gull_wq: flags=0x4\n\
        [   44.120003]   pwq 2: cpus=1 node=0 flags=0x0 nice=0 active=1 refcnt=2\n\
        [   44.120004]     in-flight: 71:gull_rescan\n\
        [   44.120005] workqueue tern_wq: flags=0x4\n\
        [   44.120006]   pwq 4: cpus=2 node=0 flags=0x0 nice=0 active=1 refcnt=2\n\
        [   44.120007]     in-flight: 72:tern_event [terncore]\n\
        [   44.130000] Restarting tasks ... done.\n";
    let sentence = one(queues, "freeze-failed").sentence;
    assert!(sentence.contains("gull_wq was still busy with gull_rescan"), "{sentence}");
    assert!(sentence.contains("Busy too: tern_wq with tern_event."), "{sentence}");
}

#[test]
fn a_failed_resume_in_comments_of_function_graph_is_one() {
    let trace = "# tracer: function_graph\n#\n# CPU  DURATION                  FUNCTION CALLS\n# |     |   |                     |   |   |   |\n \
        2)               |  /* rpm_resume: 7a40000.heron flags-4 cnt-1  dep-0  auto-1 p-0 irq-0 child-0 */\n \
        2)               |  heron_runtime_resume() {\n \
        2) * 10431.00 us |  }\n \
        2)               |  /* rpm_return_int: rpm_resume+0x1a0/0x560:7a40000.heron ret=-5 */\n";
    let f = one(trace, "rpm-failed");
    assert_eq!((f.level, f.about.error), (Level::Broken, Some(-5)));
    assert_eq!(f.about.devices[0].name, "7a40000.heron");
    let good = trace.replace("ret=-5", "ret=0");
    assert!(found(&good).iter().all(|f| f.id != "rpm-failed"));
}
