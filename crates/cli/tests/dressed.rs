//! Kinds of texts that people post, as in `kinds.rs`: what stands around the lines of a log, and
//! lines that end a way down. The texts are made up.

use super::kinds::{says, sleep};

#[test]
fn what_a_program_puts_around_each_line_hides_nothing() {
    let log = sleep("");
    let figure = super::words::words(&["show", "-"], &log);
    let first = figure.lines().next().expect("an answer");
    let lines: Vec<&str> = log.lines().collect();
    let each = |of: &dyn Fn(&str) -> String| lines.iter().map(|l| of(l) + "\n").collect::<String>();
    let cell = |l: &str| format!("| {} | {} |", l[1..13].trim(), &l[15..]);
    for text in [
        each(&|l| format!("{l} \\")),
        each(&|l| format!("{l} |")),
        each(&|l| format!("{l}^M")),
        each(&|l| format!("\"{l}\",")),
        each(&|l| format!("(1{}) {}", l[1..13].trim(), &l[15..])),
        each(&|l| format!("T+{}s {}", l[1..13].trim(), &l[15..])),
        each(&|l| format!("{},kernel,{}", l[1..13].trim(), &l[15..])),
        format!("| time | text |\n|---|---|\n{}", each(&cell)),
    ] {
        says("show", &text, &[first], &["only part of", "nothing to analyse"]);
    }
}

#[test]
fn memory_that_does_not_suffice_ends_the_way_down() {
    let log = |says: &str| {
        format!(
            "[  200.000000] PM: hibernation: hibernation entry\n\
             [  200.100000] Filesystems sync: 0.080 seconds\n\
             [  200.110000] Freezing user space processes\n\
             [  200.113000] Freezing user space processes completed (elapsed 0.003 seconds)\n\
             [  200.113100] OOM killer disabled.\n\
             [  200.120000] PM: hibernation: Preallocating image memory\n\
             {says}\
             [  204.140000] PM: hibernation: Basic memory bitmaps freed\n\
             [  204.150000] OOM killer enabled.\n\
             [  204.150100] Restarting tasks: Starting\n\
             [  204.152000] Restarting tasks: Done\n\
             [  204.152100] PM: hibernation: hibernation exit\n"
        )
    };
    let short = "[  204.130000] PM: hibernation: Image allocation is 731 pages short\n";
    let took = "Suspend 4.123 s: 4.010 s (97 %) went into the image (allocate)";
    says("show", &log(short), &[took], &["Resume 4"]);
    let json = super::words::words(&["show", "--json", "-"], &log(""));
    assert!(json.contains("\"outcome\":\"image_failed\""), "{json}");
    let took =
        "[  204.135000] PM: hibernation: Allocated 911000 kbytes in 4.01 seconds (227.18 MB/s)\n";
    let json = super::words::words(&["show", "--json", "-"], &log(took));
    assert!(json.contains("\"outcome\":\"slept\""), "{json}");
}

#[test]
fn a_log_that_ends_as_acpi_prepares_shows_the_whole_way_down() {
    let log = "[  300.000000] PM: suspend entry (deep)\n\
        [  300.010000] Filesystems sync: 0.009 seconds\n\
        [  300.011000] Freezing user space processes\n\
        [  300.013000] Freezing user space processes completed (elapsed 0.002 seconds)\n\
        [  300.013100] OOM killer disabled.\n\
        [  300.013200] Freezing remaining freezable tasks\n\
        [  300.014000] Freezing remaining freezable tasks completed (elapsed 0.000 seconds)\n\
        [  300.014100] printk: Suspending console(s) (use no_console_suspend to debug)\n\
        [  304.014100] ACPI: PM: Preparing to enter system sleep state S3\n";
    let json = super::words::words(&["show", "--json", "-"], log);
    assert!(json.contains("\"suspend_ns\":4014100000"), "{json}");
}

#[test]
fn an_example_of_a_message_is_no_message() {
    let none = ["Broken", "Slow:", "Risk:"];
    says("show", "**** DPM device timeout ****\n", &[], &none);
    let patch = "Subject: [PATCH v2] oak: say why\n\nThe log has\n\n\
        \x20 oak 20.oak: PM: failed to suspend: error -16\n\nonly. Say more.\n\n\
        diff --git a/drivers/oak.c b/drivers/oak.c\n@@ -1,2 +1,2 @@\n-a\n+b\n";
    says("check", patch, &["gives one line as an example"], &none);
    let log = patch.replace("  oak 20", "[   77.000000] oak 20");
    says("check", &log, &["Broken: "], &["gives one line"]);
}

#[test]
fn a_limit_that_is_set_is_no_error() {
    let said = |text: &str| sleep(&format!("[  104.100000] elm 0000:0e:00.0: {text}\n"));
    for set in ["Shutdown timeout set to 9 seconds", "timeout: 7 s", "watchdog timeout=30"] {
        says("check", &said(set), &[], &["tells of an error"]);
    }
    for error in ["timeout", "timeout waiting for 9 blocks", "timeout: no answer"] {
        says("check", &said(error), &["tells of an error"], &[]);
    }
}

#[test]
fn each_number_below_one_command_is_of_its_own_file() {
    let files = "/sys/power/suspend_stats/success \
        /sys/devices/system/cpu/cpuidle/low_power_idle_system_residency_us";
    let text = |after: u32| {
        format!("$ cat {files}\n4\n6100\n$ rtcwake -m freeze -s 300\n$ cat {files}\n5\n{after}\n")
    };
    says("check", &text(6_100), &["slept in name only"], &[]);
    says("check", &text(270_006_100), &[], &["slept in name only"]);
}

#[test]
fn a_check_of_the_kernel_that_finds_a_fault_is_no_crash() {
    let log = |report: &str| {
        super::kinds::DOWN.to_owned()
            + &format!(
                "[  101.000000] {report}\n\
                 [  101.000010] CPU: 1 UID: 0 PID: 77 Comm: systemd-sleep Not tainted 6.12.0 #1\n\
                 [  101.000020] Call Trace:\n\
                 [  101.000030]  elm_suspend+0x6c/0x130 [elm]\n\
                 [  101.090000] PM: suspend of devices complete after 80.000 msecs\n\
                 [  104.500000] OOM killer enabled.\n[  104.503000] PM: suspend exit\n"
            )
    };
    let found = ["A check of the kernel found a fault while devices suspended: "];
    let kasan = log("BUG: KASAN: slab-out-of-bounds in elm_suspend+0x6c/0x130 [elm]");
    says(
        "check",
        &kasan,
        &[found[0], "KASAN: slab-out-of-bounds, in elm_suspend (elm)"],
        &["crashed"],
    );
    let ubsan = log("UBSAN: shift-out-of-bounds in drivers/elm.c:7:9");
    says("check", &ubsan, &[found[0], "UBSAN: shift-out-of-bounds"], &["crashed", "warned"]);
}
