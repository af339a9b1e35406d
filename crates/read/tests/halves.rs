//! Which half and which step of a sleep a line belongs to, and where one attempt ends and the
//! next begins; with texts of which `grep` or a person kept a part.

use dormouse_base::cycle::{Cycle, Mode, Outcome};
use dormouse_base::image::ImageWork;
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;
use dormouse_doctor::finding::Finding;
use dormouse_doctor::{Report, judge};
use dormouse_read::doctor::read_bytes as heard;
use dormouse_read::{Options, read_bytes};

fn found(text: &str) -> Vec<Finding> {
    judge(&heard("text", text.as_bytes()).case).findings
}

fn ids(text: &str) -> Vec<&'static str> {
    found(text).iter().map(|f| f.id).collect()
}

fn says(text: &str, id: &str) -> String {
    let all = found(text);
    let one = all.iter().find(|f| f.id == id);
    one.unwrap_or_else(|| panic!("no {id}: {all:#?}")).sentence.clone()
}

fn cycles(text: &str) -> Vec<Cycle> {
    let reading = read_bytes("log", text.as_bytes(), &Options::default());
    reading.map_or(Vec::new(), |r| r.captures.into_iter().flat_map(|c| c.cycles).collect())
}

fn time(c: &Cycle, p: Phase) -> Option<Ns> {
    c.phase(p).map(|s| s.duration())
}

const MS: i64 = 1_000_000;

/// Devices went down for the image, and came back to write it.
const WRITES: &str = "\
[   60.000000] PM: hibernation: hibernation entry
[   60.010000] Filesystems sync: 0.004 seconds
[   60.020000] Freezing user space processes ... (elapsed 0.002 seconds) done.
[   60.030000] PM: hibernation: Preallocating image memory
[   61.000000] PM: hibernation: Allocated 90000 kbytes in 0.96 seconds (93.75 MB/s)
[   61.010000] Freezing remaining freezable tasks ... (elapsed 0.001 seconds) done.
[   61.020000] printk: Suspending console(s) (use no_console_suspend to debug)
[   61.100000] Disabling non-boot CPUs ...
[   61.110000] CPU1: shutdown
[   61.110900] psci: CPU1 killed (polled 0 ms)
[   61.120000] PM: hibernation: Creating image:
[   61.120000] PM: hibernation: Need to copy 22000 pages
[   61.120000] PM: hibernation: Image created (22000 pages copied)
[   61.130000] Enabling non-boot CPUs ...
[   61.140000] CPU1 is up
[   61.400000] PM: Using 1 thread(s) for compression
[   61.400100] PM: Compressing and saving image data (22100 pages)...
[   61.410000] PM: Image saving progress:   0%
";

/// Memory that was allocated sufficed, whichever of its lines a cut left.
#[test]
fn an_image_that_was_copied_had_its_memory() {
    let measured =
        "[   61.000000] PM: hibernation: Allocated 90000 kbytes in 0.96 seconds (93.75 MB/s)\n";
    let counted = "[   61.000000] PM: hibernation: Allocated 22500 pages for snapshot\n";
    let back = "[   61.500000] PM: hibernation: hibernation exit\n";
    let whole = WRITES.split("[   61.400000]").next().expect("a text").to_string() + back;
    for between in ["", counted, &format!("{counted}{measured}")] {
        let c = cycles(&whole.replace(measured, between)).remove(0);
        assert_eq!(c.outcome.name(), "slept", "{between}");
        let allocates = c.image.iter().filter(|s| s.work == ImageWork::Allocate).count();
        assert_eq!(allocates, usize::from(!between.is_empty()), "{between}");
    }
}

const WARNS: &str = "\
[   63.000000] ------------[ cut here ]------------
[   63.000010] WARNING: CPU: 1 PID: 311 at kernel/foo/bar.c:77 bar_worker+0x64/0xa0
[   63.000020] CPU: 1 PID: 311 Comm: bar Not tainted 5.10.3 #4
[   63.000030] pc : bar_worker+0x64/0xa0
[   63.000040] Call trace:
[   63.000050]  bar_worker+0x64/0xa0
[   63.000060]  kthread+0x13c/0x140
[   63.000070] ---[ end trace 0123456789abcdef ]---
";

#[test]
fn what_comes_while_an_image_is_written_is_of_no_phase() {
    let text = [WRITES, WARNS, "[   66.000000] PM: Image saving progress:  50%\n"].concat();
    let sentence = says(&text, "phase-warning");
    assert!(sentence.contains("while the image was written"), "{sentence}");
    // Ahead of that CPUs and devices come back, and no line parts the two.
    let early = text.replace("[   61.400100] PM: Compressing and saving", "[   61.400100] x: ");
    let early = early.replace("PM: Image saving progress:", "x:");
    assert!(says(&early, "phase-warning").contains("while devices resumed,"));
}

#[test]
fn arm_says_twice_that_a_cpu_is_off() {
    let c = &cycles(WRITES)[0];
    let off = c.phases.iter().filter(|p| p.phase == Phase::CpuOff);
    assert_eq!(off.map(|p| p.duration()).collect::<Vec<_>>(), [Ns(10_900_000)]);
}

/// A noirq callback refuses, and one CPU hangs on the way up.
const REFUSES: &str = "\
[   20.000000] PM: suspend entry (deep)
[   20.050000] Filesystems sync: 0.040 seconds
[   20.060000] Freezing user space processes ... (elapsed 0.002 seconds) done.
[   20.070000] Freezing remaining freezable tasks ... (elapsed 0.001 seconds) done.
[   20.080000] printk: Suspending console(s) (use no_console_suspend to debug)
[   20.200000] foo-pcie f8000000.pcie: PM: failed to suspend noirq: error -5
";

fn stall(at: u32, task: &str, period: u32) -> String {
    format!(
        "[  {at}.000000] rcu: INFO: rcu_sched detected stalls on CPUs/tasks:\n\
         [  {at}.000010] rcu:  2-...0: (1 GPs behind) idle=25a/1/0x4000000000000000 softirq=4657/4657 fqs=210\n\
         [  {at}.000020] rcu:  (detected by 0, t=6302 jiffies, g={period}, q=17)\n\
         [  {at}.000030] Task dump for CPU 2:\n{task}"
    )
}

#[test]
fn one_stall_that_is_reported_again_is_one_of_the_way_up() {
    let task = "[  141.000040] kworker/u8:4    R  running task        0  1380      2 0x0000002a\n\
                [  141.000050] Call trace:\n\
                [  141.000060]  __switch_to+0xe4/0x138\n\
                [  141.000070]  pci_pm_resume_noirq+0x0/0x120\n";
    let stalls = |f: &Finding| f.id == "phase-stall";
    let text = [REFUSES, &stall(141, task, 700), &stall(204, "", 700)].concat();
    let all: Vec<Finding> = found(&text).into_iter().filter(stalls).collect();
    assert_eq!((all.len(), all[0].about.times), (1, Some(2)), "{all:#?}");
    assert!(all[0].sentence.contains("resumed (noirq)"), "{}", all[0].sentence);
    // Another grace period is another stall; after a refusal it is no way down.
    let text = [REFUSES, &stall(141, task, 700), &stall(204, "", 711)].concat();
    let all: Vec<Finding> = found(&text).into_iter().filter(stalls).collect();
    assert_eq!(all.len(), 2);
    assert!(!all[1].sentence.contains("suspended"), "{}", all[1].sentence);
}

#[test]
fn what_passes_behind_a_refusal_is_of_the_way_up() {
    let failed = "[   20.500000] PM: noirq suspend of devices failed\n";
    let rest = "[   20.900000] OOM killer enabled.\n[   20.910000] Restarting tasks ... done.\n\
                [   20.920000] PM: suspend exit\n";
    let c = &cycles(&[REFUSES, failed, rest].concat())[0];
    // Nothing tells suspend, late and noirq apart.
    assert_eq!((time(c, Phase::Noirq), c.phase(Phase::Suspend).unwrap().complete), (None, false));
    assert_eq!(time(c, Phase::ResumeNoirq), Some(Ns(300 * MS)));
    assert_eq!(time(c, Phase::Resume), Some(Ns(400 * MS)));
    // A text that begins there.
    let tail: String = REFUSES.lines().skip(5).map(|l| format!("{l}\n")).collect();
    let c = &cycles(&[&tail, failed].concat())[0];
    assert_eq!((time(c, Phase::Noirq), time(c, Phase::ResumeNoirq)), (None, Some(Ns(300 * MS))));
    // Where the phases before are told, what is left is noirq.
    let told = "[   20.100000] PM: suspend of devices complete after 15.000 msecs\n\
                [   20.110000] PM: late suspend of devices complete after 5.000 msecs\n";
    let whole = REFUSES.replace("[   20.200000]", &format!("{told}[   20.200000]"));
    let c = &cycles(&[&whole, failed, rest].concat())[0];
    assert_eq!(time(c, Phase::Noirq), Some(Ns(90 * MS)));
}

#[test]
fn functions_of_a_stuck_task_tell_of_notifiers_and_of_sleep_alone() {
    let hung = "\
[  700.000000] INFO: task kworker-s:4711 blocked for more than 120 seconds.
[  700.000010]       Not tainted 5.4.7-9 #1
[  700.000020] kworker-s       D    0  4711      1 0x00000000
[  700.000030] Call Trace:
[  700.000040]  schedule+0x2f/0x90
[  700.000050]  foo_wait+0xbd/0x170
[  700.000060]  foo_pm_event+0x129/0x160
[  700.000070]  notifier_call_chain+0x38/0x90
[  700.000080]  __pm_notifier_call_chain+0x27/0x50
[  700.000090]  pm_suspend+0x1a4/0x3b0
[  700.000100]  state_store+0x51/0x90
";
    assert!(says(hung, "phase-hung-task").contains("in a PM notifier"), "{:?}", found(hung));
    let entry = "[  500.000000] PM: suspend entry (deep)\n\
                 [  500.100000] Filesystems sync: 0.090 seconds\n";
    let text = [entry, hung].concat();
    assert!(says(&text, "phase-hung-task").contains("in a PM notifier"));
    let bare = hung.replace("__pm_notifier_call_chain", "foo_call");
    assert!(says(&bare, "phase-hung-task").contains("inside a sleep"), "{:?}", found(&bare));
    // Without the core's functions it is of no sleep.
    let other = bare.replace("pm_suspend", "foo_ioctl");
    assert!(!ids(&other).contains(&"phase-hung-task"));
}

#[test]
fn a_test_of_a_sleep_woke_at_once_by_itself() {
    let text = "\
[   66.173518] Disabling non-boot CPUs ...
[   66.199539] CPU1: shutdown
[   66.202563] CPU2: shutdown
[   66.300000] PM: suspend debug: Waiting for 0 second(s).
[   66.300000] PM: Timekeeping suspended for 0.007 seconds
[   66.310000] Enabling non-boot CPUs ...
[   66.320000] CPU1 is up
[   66.330000] CPU2 is up
[   66.350000] PM: noirq resume of devices complete after 11.000 msecs
[   66.450000] PM: early resume of devices complete after 81.000 msecs
";
    assert!(!ids(text).contains(&"wake-at-once"));
    let slept: String =
        text.lines().filter(|l| !l.contains("Waiting")).map(|l| format!("{l}\n")).collect();
    assert!(ids(&slept).contains(&"wake-at-once"));
    // A text may begin where CPUs go off.
    let c = &cycles(text)[0];
    assert_eq!(c.phases.iter().filter(|p| p.phase == Phase::CpuOff).count(), 2);
}

const BACK: &str = "\
[  300.000000] Enabling non-boot CPUs ...
[  300.010000] CPU1 is up
[  300.020000] PM: noirq resume of devices complete after 4.000 msecs
";

const GIVEN_UP: &str = "\
[  309.000000] PM: Wakeup pending, aborting suspend
[  309.000100] last active wakeup source: foo
[  309.010000] Freezing of tasks aborted after 0.012 seconds
[  309.020000] Restarting tasks ... done.
";

#[test]
fn what_gives_a_way_down_up_behind_a_way_up_is_of_the_next_attempt() {
    let all = cycles(&[BACK, GIVEN_UP].concat());
    assert_eq!(all.len(), 2);
    assert_eq!(all[1].outcome, Outcome::AbortedByWakeup);
    assert!(!ids(&[BACK, GIVEN_UP].concat()).contains(&"phase-pause"));
    // The same with the marks of MediaTek's kernels.
    let dress = |line: &str| {
        let (stamp, text) = line.split_once("] ").unwrap();
        let stamp = format!("{stamp}].(0)[77:foo_server]");
        match text.strip_prefix("PM: ") {
            Some(rest) => format!("{stamp}[name:main&]PM: {rest}\n"),
            None if text.ends_with("seconds") => {
                format!("{stamp}[name:process&]: {text}[name:process&]\n")
            }
            None => {
                format!("{stamp}[name:cpu&]: {}\n", text.replace("done", "[name:process&]done"))
            }
        }
    };
    let marked: String = [BACK, GIVEN_UP].concat().lines().map(dress).collect();
    let same = cycles(&marked);
    let outcomes = |l: &[Cycle]| l.iter().map(|c| (c.outcome, c.phases.len())).collect::<Vec<_>>();
    assert_eq!(outcomes(&same), outcomes(&all), "{marked}");
    assert!(ids(&marked).contains(&"abort-wakeup"), "{:?}", ids(&marked));
}

#[test]
fn a_device_that_fails_to_resume_an_hour_after_a_refusal_is_of_another_attempt() {
    let line = |time: &str, text: &str| format!("Feb  1 {time} box kernel: {text}\n");
    let down = [
        line("11:00:00", "Freezing user space processes ... (elapsed 0.001 seconds) done."),
        line("11:00:00", "printk: Suspending console(s) (use no_console_suspend to debug)"),
        line("11:00:01", "foo 1-2:1.0: PM: failed to suspend noirq: error -110"),
        line("11:00:01", "PM: noirq suspend of devices failed"),
    ]
    .concat();
    let up = |time: &str| line(time, "bar 1-7:1.0: PM: failed to resume async: error -110");
    assert_eq!(cycles(&(down.clone() + &up("12:10:00"))).len(), 2);
    assert_eq!(cycles(&(down + &up("11:00:02"))).len(), 1);
}

#[test]
fn a_phase_without_its_begin_takes_no_more_than_it_says() {
    let text = "\
[  829.700000] PM: Syncing filesystems ... done.
[  830.600000] PM: suspend of devices complete after 700.000 msecs
[  830.610000] PM: late suspend of devices complete after 0.200 msecs
[  830.700000] PM: noirq suspend of devices complete after 80.000 msecs
[  831.400000] PM: Saving platform NVS memory
[  831.700000] PM: Restoring platform NVS memory
[  832.100000] PM: noirq resume of devices complete after 160.000 msecs
[  832.110000] PM: early resume of devices complete after 0.200 msecs
[  834.400000] PM: resume of devices complete after 2280.000 msecs
";
    let c = &cycles(text)[0];
    assert_eq!(time(c, Phase::Sync), Some(Ns(200 * MS)));
    assert!(!c.phase(Phase::Sync).unwrap().complete, "its end is in no line");
    assert_eq!(time(c, Phase::Suspend), Some(Ns(700 * MS)));
    let down = c.phases.iter().filter(|p| p.phase == Phase::Noirq).map(|p| p.end).max();
    assert_eq!(down.map(|d| d - c.start), Some(Ns(1_000 * MS)));
    // Firmware slept meanwhile, and nobody knows how long.
    assert_eq!(c.asleep, None);
    // Of s2idle that time is the sleep.
    let idle = text.replace("PM: Saving platform NVS memory", "foo: bar");
    assert!(cycles(&idle)[0].asleep.is_some());
}

#[test]
fn a_callback_that_returned_an_error_is_who_ended_the_sleep() {
    let text = "\
[   70.000000] PM: suspend entry (deep)
[   80.300000] foo_sdio mmc2:0001:1: PM: dpm_run_callback(): foo_suspend+0x0/0x44 returns -14
[   80.310000] PM: suspend of devices aborted after 10200.000 msecs
[   80.320000] PM: Some devices failed to suspend, or early wake event detected
";
    let by = |text: &str| match cycles(text)[0].outcome {
        Outcome::AbortedByDevice { device, errno } => (device.is_some(), errno),
        ref other => panic!("{other:?}"),
    };
    assert_eq!(by(text), (true, -14));
    // A driver's own words are none of the core.
    assert!(!by(&text.replace("PM: dpm_run_callback(): foo_suspend+0x0/0x44 returns", "code")).0);
}

#[test]
fn what_old_kernels_did_for_an_image_is_read() {
    let text = "\
[  900.000000] PM: Syncing filesystems ... done.
[  900.010000] Freezing user space processes ... (elapsed 0.00 seconds) done.
[  900.020000] Freezing remaining freezable tasks ... (elapsed 0.00 seconds) done.
[  900.030000] PM: Shrinking memory...  -done (70000 pages freed)
[  909.030000] PM: Freed 280000 kbytes in 9.00 seconds (31.11 MB/s)
[  909.040000] Suspending console(s) (use no_console_suspend to debug)
[  909.240000] PM: Device 1-2 failed to freeze: error -16
[  909.400000] Restarting tasks ... done.
";
    let whole = &cycles(text)[0];
    let tail: String = text.lines().skip(4).map(|l| format!("{l}\n")).collect();
    let part = &cycles(&tail)[0];
    for c in [whole, part] {
        assert_eq!(c.mode, Mode::Disk);
        let step = &c.image[0];
        assert_eq!((step.work, step.end - step.start), (ImageWork::Allocate, Ns(9_000 * MS)));
    }
}

#[test]
fn the_words_of_a_hibernation_tell_its_mode() {
    let refused = "[  5.000000] foo 0000:0f:00.0: PM: failed to freeze async: error -95\n";
    let tail = "[  5.300000] OOM killer enabled.\n[  5.310000] Restarting tasks ... done.\n";
    let exit = "[  5.320000] PM: hibernation: hibernation exit\n";
    let freed = "[  5.200000] PM: hibernation: Basic memory bitmaps freed\n";
    let other = "[  5.000000] foo 0000:0f:00.0: PM: failed to suspend async: error -95\n";
    let mode = |parts: &[&str]| cycles(&parts.concat())[0].mode;
    assert_eq!(mode(&[refused, tail]), Mode::Disk);
    assert_eq!(mode(&[other, tail, exit]), Mode::Disk);
    assert_eq!(mode(&[other, freed, tail]), Mode::Disk);
    assert_eq!(mode(&[other, tail]), Mode::Unknown);
}

#[test]
fn a_way_up_that_breaks_off_reaches_its_last_line() {
    let text = "\
[ 2404.000000] PM: suspend of devices complete after 600.000 msecs
[ 2404.020000] PM: late suspend of devices complete after 16.000 msecs
[ 2404.600000] PM: early resume of devices complete after 4.000 msecs
[ 2404.760000] PM: resume of drv:foo dev:0000:00:02.0 complete after 150.000 msecs
";
    assert_eq!(time(&cycles(text)[0], Phase::Resume), Some(Ns(160 * MS)));
    let cut: String = text.lines().take(3).map(|l| format!("{l}\n")).collect();
    assert_eq!(time(&cycles(&cut)[0], Phase::Resume), None);
}

#[test]
fn the_release_stands_below_a_task_that_waits() {
    let text = [
        BACK,
        "[  500.0] INFO: task foo:5 blocked for more than 120 seconds.\n\
         [  500.000100]       Not tainted 4.19.0-rc3-board-00012-gabcdef #7\n",
    ]
    .concat();
    let reading = read_bytes("log", text.as_bytes(), &Options::default()).unwrap();
    let c = &reading.captures[0];
    assert_eq!(c.names.get(c.cycles[0].kernel), "4.19.0-rc3-board-00012-gabcdef");
}

#[test]
fn a_sleep_that_a_device_ended_is_none_in_name_only() {
    let text = |end: &str| {
        format!(
            "[  9.000000] PM: suspend entry (s2idle)\n\
             [  9.100000] amd_pmc FOO0005:00: SMU response timed out\n\
             [  9.200000] {end}\n[  9.300000] OOM killer enabled.\n[  9.400000] PM: suspend exit\n"
        )
    };
    let refused = text("amd_pmc FOO0005:00: PM: failed to suspend noirq: error -110");
    assert!(!ids(&refused).contains(&"mode-name-only"));
    assert!(ids(&text("foo: bar")).contains(&"mode-name-only"));
}

#[test]
fn the_watchdog_tells_of_a_callback_and_is_not_what_it_waits_for() {
    let text = |line: &str| {
        format!(
            "[  901.000000] PM: suspend entry (deep)\n[  931.000000] foo 0000:04:00.0: {line}\n\
             [  942.000000] foo 0000:04:00.0: PM: pci_pm_suspend returned 0 after 40900000 usecs\n"
        )
    };
    let watchdog = "**** DPM device timeout after 30 seconds; 90 seconds until panic ****";
    assert!(!ids(&text(watchdog)).contains(&"callback-timeout"));
    assert!(ids(&text("command timed out")).contains(&"callback-timeout"));
}

#[test]
fn joined_reports_keep_all_that_one_rule_found() {
    let two = "\
[    5.000000] foo 1-0050: PM: failed to freeze async: error -6
[    5.010000] foo 1-0051: PM: failed to freeze async: error -110
";
    let found = found(two);
    assert_eq!(found.len(), 2, "{found:#?}");
    let mut report = Report::default();
    report.join(found.clone());
    assert_eq!(report.findings.len(), 2);
    // Another reading of the same says it no second time.
    report.join(found);
    assert_eq!(report.findings.len(), 2);
}

const HEAD: &str = "name\t\tactive_count\tevent_count\twakeup_count\texpire_count\tactive_since\ttotal_time\tmax_time\tlast_change\tprevent_suspend_time\n";

#[test]
fn a_table_of_sources_in_which_nobody_is_active_is_an_answer() {
    let row = |name: &str, since: u32| format!("{name}\t12\t12\t0\t0\t{since}\t700\t61\t8021\t0\n");
    let text = |since| format!("Who is it?\n\n{HEAD}{}{}", row("foo", 0), row("bar", since));
    let sentence = says(&text(0), "abort-source-idle");
    assert!(sentence.contains("Of 2 wakeup sources none is active"), "{sentence}");
    assert_eq!(ids(&text(31_000)), ["abort-source-active"]);
}

#[test]
fn the_one_source_with_an_event_between_two_tables_woke() {
    let table = |n: u32, wraps: bool| {
        let text = format!(
            "name active_count event_count wakeup_count\nexpire_count active_since total_time\n\
             1c00.eth {n} {n} 0\n0 0 0\nfoo 2 2 0\n0 0 7\n"
        );
        if wraps {
            text
        } else {
            text.replace("_count\nexp", "_count exp").replace(" 0\n0 0", " 0 0 0")
        }
    };
    let sleep = "[  34.000000] PM: suspend entry (shallow)\n[  34.100000] Filesystems sync: 0.000 seconds\n\
                 [  34.200000] OOM killer enabled.\n[  34.300000] PM: suspend exit\n";
    for wraps in [false, true] {
        let text = [&table(0, wraps), sleep, &table(1, wraps)].concat();
        let sentence = says(&text, "mode-wake-source");
        assert!(sentence.contains("1c00.eth"), "{sentence}");
        let still = [&table(0, wraps), sleep, &table(0, wraps)].concat();
        assert!(!ids(&still).contains(&"mode-wake-source"));
    }
    assert!(!ids(&[table(0, false), table(1, false)].concat()).contains(&"mode-wake-source"));
}

#[test]
fn the_name_of_a_test_program_stands_before_counters() {
    let rows = ["success: 3", "fail: 2", "failed_freeze: 0", "failed_suspend: 2"];
    let text: String = rows.iter().map(|r| format!("ERROR - foo error: {r}\n")).collect();
    let plain: String = rows.iter().map(|r| format!("{r}\n")).collect();
    assert_eq!(ids(&text), ids(&plain));
    assert!(!ids(&plain).is_empty());
}

#[test]
fn an_end_of_the_way_up_is_none_of_the_way_down() {
    let text = "\
[   50.000000] PM: suspend entry (deep)
[   50.600000] PM: suspend devices took 0.400 seconds
[   63.000000] oak 0000:05:00.0: PM: pci_pm_resume+0x0/0xe0 returned 0 after 5200000 usecs
[   63.300000] PM: suspend exit
";
    let [c] = &cycles(text)[..] else { panic!("one cycle") };
    assert_eq!(c.suspend_time(), Some(Ns(600 * MS)));
    assert_eq!(c.resume_time(), Some(Ns(5_200 * MS)));
    assert!(says(text, "callback-slow").starts_with("pci_pm_resume of 0000:05:00.0 (oak)"));
}
