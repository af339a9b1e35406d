//! Texts as people post them, made up: what they prove is found, and nothing is said of them
//! that they contradict.

use dormouse_base::capture::Capture;
use dormouse_base::cycle::{Mode, Outcome, PmTestLevel};
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;
use dormouse_doctor::finding::{Confidence, Finding, Level};
use dormouse_doctor::judge;
use dormouse_read::Given;
use dormouse_read::doctor::read_bytes;

fn findings(text: &str) -> Vec<Finding> {
    judge(&read_bytes("text", text.as_bytes()).case).findings
}

/// Rule and sentence of the first finding of `id`.
fn told(text: &str, id: &str) -> Option<Finding> {
    findings(text).into_iter().find(|f| f.id == id)
}

fn capture(text: &str) -> std::sync::Arc<Capture> {
    let file = tempfile::Builder::new().suffix(".txt").tempfile().expect("a file");
    std::fs::write(file.path(), text).expect("written");
    let given = Given::new(&[file.path().into()]);
    given.sleep().expect("read").captures.first().expect("a log").clone()
}

#[test]
fn what_the_core_says_more_of_a_failure_is_no_error_of_its_own() {
    let text = "[   40.000000] PM: suspend entry (deep)\n\
        [   40.020000] Filesystems sync: 0.019 seconds\n\
        [   40.050000] mmc2: error -110 reading status reg of PM func\n\
        [   40.060000] mmcblk mmc2:59b4: PM: dpm_run_callback(): mmc_bus_suspend+0x0/0x80 returns -110\n\
        [   40.060100] mmcblk mmc2:59b4: PM: failed to suspend async: error -110\n\
        [   40.070000] PM: Some devices failed to suspend, or early wake event detected\n\
        [   40.300000] PM: suspend exit\n";
    let f = told(text, "device-failed").expect("a device failed");
    let why = f.why;
    assert!(why.contains("mmc2: error -110 reading status"), "{why}");
    assert_eq!(told(text, "not-judged").map(|f| f.sentence), None);
}

#[test]
fn a_name_that_was_cut_off_stands_in_the_line_before() {
    let text = "07:31:02  PM: suspend entry (deep)\n\
        07:31:05  ehci-pci 0000:00:1d.0: PM: pci_pm_suspend(): hcd_pci_suspend returns -16\n\
        07:31:05  PM: failed to suspend async: error -16\n\
        07:31:05  PM: Some devices failed to suspend, or early wake event detected\n\
        07:31:05  PM: suspend exit\n";
    let c = capture(text);
    let Outcome::AbortedByDevice { device: Some(device), errno } = c.cycles[0].outcome else {
        panic!("{:?}", c.cycles[0].outcome)
    };
    assert_eq!((c.names.get(c.graph.get(device).name), errno), ("0000:00:1d.0", -16));
    assert_eq!(told(text, "not-judged").map(|f| f.sentence), None);
}

#[test]
fn lines_between_fences_are_of_a_kernel() {
    let lines = "Elan-TS 4-0015: PM: dpm_run_callback(): elants_suspend [elants_i2c] returns -121\n\
        Elan-TS 4-0015: PM: failed to suspend async: error -121\n\
        PM: Some devices failed to suspend, or early wake event detected\n";
    let sure = |text: &str| told(text, "device-failed").map(|f| f.confidence);
    assert_eq!(sure(&format!("It aborts:\n\n```text\n{lines}```\n")), Some(Confidence::Certain));
    // Three lines with the core's mark, one below the other, nobody types.
    assert_eq!(sure(&format!("It aborts:\n{lines}")), Some(Confidence::Certain));
    let (two, _) = lines.rsplit_once("PM: Some").expect("three lines");
    assert_eq!(sure(&format!("It aborts:\n{two}")), Some(Confidence::Guess));
}

#[test]
fn a_journal_of_another_language_has_times() {
    let log = |month: &str| {
        format!(
            "{month} 04 21:40:02 kiste kernel: PM: suspend entry (s2idle)\n\
             {month} 04 21:40:02 kiste kernel: Filesystems sync: 0.040 seconds\n\
             {month} 04 21:40:02 kiste kernel: Freezing user space processes ... \n\
             {month} 04 21:40:02 kiste kernel: (elapsed 0.006 seconds) done.\n\
             {month} 04 21:40:02 kiste kernel: Freezing remaining freezable tasks ... (elapsed 0.002 seconds) done.\n"
        )
    };
    let steps = |text: &str| {
        let c = capture(text);
        let of = |p: Phase| c.cycles[0].phase(p).map(|s| s.duration());
        (of(Phase::Sync), of(Phase::FreezeUser), of(Phase::FreezeKernel))
    };
    let ms = |n| Some(Ns::from_ms(n));
    for month in ["Oct", "okt", "oct.", "ott", "lok.", "\u{43e}\u{43a}\u{442}"] {
        assert_eq!(steps(&log(month)), (ms(40), ms(6), ms(2)), "{month}");
    }
}

#[test]
fn tags_of_a_page_hide_no_reason() {
    let text = "Aug 07 08:31:30 box kernel: <font color=\"#C01C28\"><b>ahci 0000:07:00.1: Controller reset failed (0xffffffff)</b></font>\n\
        Aug 07 08:31:30 box kernel: <font color=\"#C01C28\"><b>ahci 0000:07:00.1: PM: failed to resume async: error -5</b></font>\n";
    let f = told(text, "device-not-resumed").expect("a device failed");
    assert!(f.why.contains("\"ahci 0000:07:00.1: Controller reset failed"));
}

#[test]
fn a_controller_that_died_is_the_reason_of_what_hangs_on_it() {
    let text = "[  812.100000] xhci_hcd 0000:0d:00.0: HC died; cleaning up\n\
        [  812.100200] usb 7-1: PM: dpm_run_callback(): usb_dev_resume returns -22\n\
        [  812.100300] usb 7-1: PM: failed to resume async: error -22\n";
    let f = told(text, "device-not-resumed").expect("a device failed");
    assert!(f.why.contains("0000:0d:00.0: HC died"));
}

#[test]
fn a_warning_beside_lines_of_firmware_is_of_a_sleep() {
    let warned = "[   71.000300] WARNING: CPU: 0 PID: 912 at drivers/base/syscore.c:96 syscore_resume+0x1b3/0x1d0\n";
    let after = |line: &str, function: &str| {
        let warned = warned.replace("syscore_resume", function);
        let text = format!("[   71.000100] {line}\n{warned}");
        told(&text, "phase-warning").map(|f| f.sentence)
    };
    let (low, down) = (
        "ACPI: PM: Low-level resume complete",
        "ACPI: PM: Preparing to enter system sleep state S3",
    );
    let said = |line, function| after(line, function).expect("a warning");
    let up = said(low, "syscore_resume");
    assert!(up.contains("while CPUs came back"), "{up}");
    let off = said(down, "syscore_suspend");
    assert!(off.contains("while CPUs were switched off"), "{off}");
    // A function that tells nothing leaves it to the lines.
    assert!(said(down, "elm_work").contains("while devices suspended"));
    assert!(said(low, "elm_work").contains("while devices resumed"));
    assert_eq!(after("ACPI: PM: Preparing to enter system sleep state S5", "elm_work"), None);
}

#[test]
fn an_image_that_is_being_read_is_told() {
    let text = "[    5.100000] PM: Using 3 thread(s) for lz4 decompression\n\
        [    5.101000] PM: Loading and decompressing image data (412345 pages)...\n\
        [    5.900000] PM: Image loading progress:  30%\n";
    let f = told(text, "hib-image-read").expect("an image");
    assert!(f.level == Level::Note && f.sentence.contains("ends at 30%"), "{}", f.sentence);
    let whole = format!("{text}[    9.900000] PM: Image loading done\n");
    assert_eq!(told(&whole, "hib-image-read").map(|f| f.sentence), None);
}

#[test]
fn a_service_that_failed_tells_that_a_sleep_did() {
    let line = |unit: &str| {
        format!(
            "Jun 09 17:12:03 box systemd[1]: systemd-{unit}.service: Failed with result 'exit-code'.\n"
        )
    };
    let f = told(&line("hibernate").repeat(2), "write-refused").expect("a finding");
    assert!(f.sentence.contains("(hibernate), 2 times"), "{}", f.sentence);
    assert!(told(&line("networkd"), "write-refused").is_none());
}

#[test]
fn a_test_of_devices_has_their_time_without_their_lines() {
    let text = "[   61.100000] PM: suspend entry (deep)\n\
        [   61.120000] Filesystems sync: 0.018 seconds\n\
        [   61.130000] Freezing user space processes ... (elapsed 0.001 seconds) done.\n\
        [   61.132000] Freezing remaining freezable tasks ... (elapsed 0.000 seconds) done.\n\
        [   61.133000] printk: Suspending console(s) (use no_console_suspend to debug)\n\
        [   61.833000] PM: suspend debug: Waiting for 5 second(s).\n\
        [   67.133000] OOM killer enabled.\n\
        [   67.133100] Restarting tasks ... done.\n\
        [   67.140000] PM: suspend exit\n";
    let c = capture(text);
    let took = |p: Phase| c.cycles[0].phase(p).map(|s| s.duration());
    assert_eq!(c.cycles[0].mode, Mode::PmTest(PmTestLevel::Devices));
    assert_eq!(took(Phase::Suspend), Some(Ns::from_ms(700)));
    assert_eq!(took(Phase::Resume), Some(Ns::from_ms(300)));
}

#[test]
fn a_crash_of_the_worker_of_runtime_pm_is_told_without_its_frames() {
    let text = "[    6.271422] BUG: unable to handle page fault for address: ffffffffffffffd8\n\
        [    6.271439] Oops: 0000 [#1] SMP NOPTI\n\
        [    6.271444] CPU: 1 PID: 18 Comm: kworker/1:0 Not tainted 6.1.90 #19\n\
        [    6.271456] Workqueue: pm pm_runtime_work\n\
        [    6.271466] RIP: 0010:kestrel_suspend+0x25/0x180 [snd_kestrel]\n";
    let f = told(text, "rpm-crash").expect("a crash");
    assert!(f.sentence.starts_with("kestrel_suspend (snd_kestrel) crashed"), "{}", f.sentence);
}

#[test]
fn one_look_proves_no_call_without_end() {
    let look = "/sys/devices/pci0000:00/0000:00:1c.4/power/runtime_status:resuming\n";
    let level = |text: &str| told(text, "rpm-status").map(|f| f.level);
    assert_eq!(level(look), Some(Level::Note));
    assert_eq!(level(&format!("{look}two minutes later:\n{look}")), Some(Level::Broken));
}

#[test]
fn what_a_disk_announces_is_not_what_passed_before() {
    let text = "[   37.000000] PM: suspend entry (deep)\n\
        [   37.010000] Freezing remaining freezable tasks ... (elapsed 0.001 seconds) done.\n\
        [   37.012000] printk: Suspending console(s) (use no_console_suspend to debug)\n\
        [   37.512000] sd 3:0:0:0: [sdb] Synchronizing SCSI cache\n\
        [   37.515000] sd 3:0:0:0: [sdb] Stopping disk\n\
        [   37.520000] atlantic 0000:05:00.0: down\n\
        [   40.690000] ACPI: EC: interrupt blocked\n\
        [   40.700000] Disabling non-boot CPUs ...\n";
    let case = read_bytes("text", text.as_bytes()).case;
    let disk: Vec<_> = dormouse_doctor::waits::waits(&case, &[(1, 8)])
        .concat()
        .into_iter()
        .filter(|w| w.device.name == "3:0:0:0")
        .collect();
    assert_eq!(disk, []);
}

#[test]
fn copying_an_image_is_a_step_of_it() {
    let text = "[   12.000000] PM: hibernation: hibernation entry\n\
        [   12.100000] PM: hibernation: Allocated 849380 kbytes in 0.05 seconds (16987.60 MB/s)\n\
        [   12.110000] Freezing remaining freezable tasks\n\
        [   12.112000] Freezing remaining freezable tasks completed (elapsed 0.001 seconds)\n\
        [   12.113000] printk: Suspending console(s) (use no_console_suspend to debug)\n\
        [   12.313000] Disabling non-boot CPUs ...\n\
        [   12.330000] PM: hibernation: Creating image:\n\
        [   12.340000] PM: hibernation: Need to copy 190112 pages\n\
        [   16.340000] PM: hibernation: Image created (190112 pages copied, 101 zero pages)\n\
        [   16.341000] Enabling non-boot CPUs ...\n\
        [   18.900000] PM: hibernation: Wrote 760448 kbytes in 2.00 seconds (380.22 MB/s)\n";
    let c = capture(text);
    let steps: Vec<_> = c.cycles[0]
        .image
        .iter()
        .map(|s| (s.work.name(), (s.end - s.start).0 / 1_000_000))
        .collect();
    assert_eq!(steps, [("allocate", 50), ("copy", 4_000), ("write", 2_000)]);
    // Without stamps what the kernel prints is left.
    let bare: String =
        text.lines().map(|l| format!("{}\n", l.trim_start().split_once("] ").unwrap().1)).collect();
    let c = capture(&bare);
    let steps: Vec<_> = c.cycles[0]
        .image
        .iter()
        .map(|s| (s.work.name(), (s.end - s.start).0 / 1_000_000))
        .collect();
    assert_eq!(steps, [("allocate", 50), ("write", 2_000)]);
    // The image of a machine that came back was made before that line.
    let back = text.replace(
        "[   16.340000] PM: hibernation: Image created (190112 pages copied, 101 zero pages)\n",
        "",
    );
    assert!(capture(&back).cycles[0].image.iter().all(|s| s.work.name() != "copy"));
}

#[test]
fn a_quoted_gap_is_a_gap() {
    let text = "[   31.000000] PM: suspend entry (deep)\n[...]\n\
        [   44.000000] PM: suspend devices took 1.210 seconds\n";
    let gaps = |text: &str| capture(text).losses.list.iter().any(|l| l.kind == "lines_left_out");
    assert!(gaps(text), "{:?}", capture(text).losses.list);
    let quoted: String = text.lines().map(|l| format!("> {l}\n")).collect();
    assert!(gaps(&quoted));
}

#[test]
fn the_driver_is_to_blame_for_a_crash_at_run_time_and_not_its_bus() {
    let said = |text: &str| told(text, "rpm-crash").expect("a crash").sentence;
    let pci = "\
[  310.100000] BUG: unable to handle page fault for address: ffffc90000a00018
[  310.100010] Oops: 0000 [#1] PREEMPT SMP
[  310.100020] CPU: 5 PID: 91 Comm: kworker/5:1 Not tainted 6.9.0 #1
[  310.100030] Workqueue: pm pm_runtime_work
[  310.100040] RIP: 0010:elm_runtime_suspend+0x1f/0xb0 [elm]
[  310.100050] Call Trace:
[  310.100060]  pci_pm_runtime_suspend+0x6c/0x1b0
[  310.100070]  __rpm_callback+0x4d/0x170
[  310.100080]  rpm_suspend+0x13b/0x6f0
[  310.100090] ---[ end trace 0000000000000000 ]---
";
    assert!(said(pci).starts_with("elm_runtime_suspend (elm) crashed"), "{}", said(pci));
    // A helper of the driver, behind a power domain.
    let domain = pci
        .replace("RIP: 0010:elm_runtime_suspend+0x1f/0xb0", "RIP: 0010:elm_clk_off+0x8/0x20")
        .replace(
            "pci_pm_runtime_suspend+0x6c/0x1b0",
            "elm_runtime_suspend+0x30/0x90 [elm]\n[  310.100061]  genpd_runtime_suspend+0xb0/0x2c0",
        );
    assert!(
        said(&domain).ends_with(
            "elm_runtime_suspend (elm) crashed the kernel as a callback of runtime power management, in elm_clk_off (elm)."
        ),
        "{}",
        said(&domain)
    );
    // The text ends before the core's own function.
    let cut = domain.split("[  310.100061]").next().unwrap();
    assert!(said(cut).starts_with("elm_runtime_suspend (elm) crashed"), "{}", said(cut));
    let arm = "\
Internal error: Oops: 5 [#1] SMP ARM
CPU: 0 PID: 12 Comm: kworker/0:2 Not tainted 5.10.0 #1
Workqueue: pm pm_runtime_work
PC is at oak_runtime_resume+0x18/0x6c
LR is at __rpm_callback+0x48/0x150
[<c0a1b200>] (oak_runtime_resume) from [<c06f1a00>] (__rpm_callback+0x48/0x150)
[<c06f1a00>] (__rpm_callback) from [<c06f1b00>] (rpm_callback+0x68/0x6c)
";
    assert!(said(arm).starts_with("oak_runtime_resume crashed"), "{}", said(arm));
    let headless = "\
[    7.300000] Call trace:
[    7.300010]  ash_runtime_suspend+0x14/0x1d4 [phy_ash] (P)
[    7.300020]  pm_generic_runtime_suspend+0x2c/0x44
[    7.300030]  __rpm_callback+0x48/0x1e0
[    7.300040]  rpm_suspend+0x10c/0x580
[    7.300050] Code: a9be7bfd 910003fd a90153f3 (39428660)
[    7.300060] ---[ end trace 0000000000000000 ]---
";
    assert!(said(headless).starts_with("ash_runtime_suspend (phy_ash) crashed"));
    // Without the code of the fault it may be a warning.
    let warned = headless.replace("(39428660)", "39428660");
    assert!(told(&warned, "rpm-crash").is_none());
}
