//! Kinds of texts that show something twice, or a device that its own driver gives up. The texts
//! are made up.

use super::kinds::says;

const JOURNAL: &str = "\
Feb 03 21:00:00 elm kernel: PM: suspend entry (s2idle)
Feb 04 05:00:00 elm kernel: PM: suspend exit
";

const REFUSED: &str = "\
Feb 03 09:00:00 elm kernel: PM: suspend entry (deep)
Feb 03 09:00:01 elm kernel: oak 0000:0a:00.0: PM: failed to suspend async: error -5
Feb 03 09:00:01 elm kernel: PM: Some devices failed to suspend, or early wake event detected
Feb 03 09:00:02 elm kernel: PM: suspend exit
";

/// `text` as a reply quotes it.
fn quoted(text: &str) -> String {
    text.lines().map(|l| format!("> {l}\n")).collect()
}

/// `text` as `dmesg -T` has it.
fn dated(text: &str) -> String {
    let line = |l: &str| {
        let (stamp, said) = l.split_once(" elm kernel: ").expect("a line of a journal");
        format!("[Mon {} 2031] {said}\n", stamp.replacen(" 0", "  ", 1))
    };
    text.lines().map(line).collect()
}

#[test]
fn a_log_that_stands_there_twice_is_one() {
    for (log, must, must_not) in [
        (JOURNAL, "The sleep of the text took 8 h", "2 sleeps"),
        (REFUSED, "ended the sleep: error -5", "2 times"),
    ] {
        for log in [log.to_string(), dated(log)] {
            let reply =
                format!("{log}\nOn Monday Elm wrote:\n{}What do you think?\n", quoted(&log));
            let twice = format!("This is it.\n\n{log}\nOnce more, I see this:\n\n{log}");
            for text in [&reply, &twice] {
                says("check", text, &[must, "1 attempt"], &[must_not, "2 attempts"]);
            }
            // What a reply alone shows, below its own log, is another sleep.
            let other = log.replace("Feb 0", "Mar 0").replace("Feb  ", "Mar  ");
            let reply = format!("{log}\nOn Monday Elm wrote:\n{}", quoted(&other));
            says("check", &reply, &["2 attempts"], &[]);
        }
    }
    // Two boots of a board without a clock have the same stamps.
    let boots = format!("{REFUSED}-- Boot 0123456789abcdef0123456789abcdef --\n{REFUSED}");
    says("check", &boots, &["2 attempts"], &[]);
}

#[test]
fn a_sentence_below_a_log_is_no_rest_of_its_last_line() {
    let log = "[  100.000000] PM: suspend entry (deep)\n[  102.000000] PM: suspend exit\n\
        [  104.000000] elmbt elm0: command 0x77 tx timeout of this controller\n\
        [  106.000000] elmbt elm0: reading what it is made of has failed (-110)\n";
    let text = format!("{log}The touchpad is dead after resume.\n");
    says(
        "check",
        &text,
        &["elm0 (elmbt) reported 2 errors behind the sleep", "The touchpad is dead"],
        &["Nothing wrong"],
    );
}

#[test]
fn who_is_given_up_by_his_driver_is_told() {
    let text = "[  100.000000] PM: suspend entry (deep)\n\
        [  101.100000] ACPI: PM: Waking up from system sleep state S3\n\
        [  101.500000] oak 0000:0a:02.0: [drm] *ERROR* vex did not start: -110\n\
        [  101.600000] oak 0000:0a:02.0: [drm] *ERROR* Failed to re-initialize GPU, declaring it wedged!\n\
        [  102.000000] PM: suspend exit\n";
    let must = ["Broken: 0000:0a:02.0 (oak) was given up by its driver", "vex did not start"];
    says("check", text, &must, &["Nothing wrong", "no rule knows"]);
    // Without a sleep it is none of one.
    let awake: String =
        text.lines().skip(1).filter(|l| !l.contains("PM: ")).map(|l| format!("{l}\n")).collect();
    assert!(!super::words::words(&["check", "-"], &awake).contains("device-lost"));
}

#[test]
fn a_crash_hours_behind_a_sleep_is_named_and_not_blamed_on_it() {
    let crash = "BUG: kernel NULL pointer dereference, address: 0000000000000008\n\
        [ 9000.000100] CPU: 7 PID: 77 Comm: oak Tainted: G\n\
        [ 9000.000200] RIP: 0010:elm_commit+0x45/0x120 [elm]\n";
    let text = format!(
        "[  100.000000] PM: suspend entry (deep)\n[  101.000000] PM: suspend exit\n[ 9000.000000] {crash}"
    );
    let must = ["The kernel crashed 2 h 28 min after the sleep", "elm_commit", "No line ties that"];
    says("check", &text, &must, &["Nothing wrong", "Broken"]);
    // One that had it before it slept, too, did not get it there.
    let before = format!("[   50.000000] {}{text}", crash.replace("[ 9000", "[   50"));
    says("check", &before, &[], &["The kernel crashed 2 h"]);
}

#[test]
fn check_tells_what_show_tells_of_tables() {
    let disk = |level: &str| {
        format!(
            "# hdparm -B -C /dev/sdq\n/dev/sdq:\n APM_level\t= {level}\n drive state is:  active/idle\n"
        )
    };
    says(
        "check",
        &disk("254"),
        &["sdq does not spin down by itself: its APM level is 254"],
        &["No rule found", "Nothing wrong"],
    );
    says("check", &disk("127"), &[], &["does not spin down"]);
    let test = |most: u32| {
        format!(
            "$ cyclictest -m -p95 -i1000 -D 60\n\
             T: 0 ( 2604) P:95 I:1000 C:  60000 Min:      1 Act:    2 Avg:    2 Max:    {most}\n\
             T: 1 ( 2605) P:95 I:1000 C:  60000 Min:      1 Act:    2 Avg:    2 Max:    14\n"
        )
    };
    let must = ["came 3,900 us late, in thread 0", "the worst of the others came 14 us late"];
    says("check", &test(3_900), &must, &["No rule found", "Nothing wrong"]);
    says("check", &test(19), &[], &["us late"]);
    let part = "[   10.100000] PM: resume of devices complete after 700.111 msecs\n\
        [   21.700000] PM: Finishing wakeup.\n[   21.700100] OOM killer enabled.\n\
        [   21.700200] Restarting tasks ... done.\n[   21.710000] PM: suspend exit\n";
    says("check", part, &["Slow: 11.6 s pass on the way up"], &["Nothing wrong"]);
    says("check", &part.replace("[   21.7", "[   10.2"), &[], &["Slow"]);
}

#[test]
fn who_gave_a_table_is_told_what_is_read() {
    let table = "$ oakctl list\nname count state\noak 7 on\nelm 9 off\nfir 12 on\n";
    let must = ["it has a table below \"oakctl list\"", "Tables that are read: turbostat"];
    says("check", table, &must, &["give a kernel log"]);
    says("check", "I have a laptop.\n", &["give a kernel log"], &["it has a table"]);
    let boot = "$ systemd-analyze blame\n1min 70ms oak-wait.service\n 9.200s elm.service\n\
        $ systemd-analyze\nStartup finished in 3.0s (kernel) + 1min 5s (userspace) = 1min 8s\n";
    says("check", boot, &["this is a boot", "oak-wait.service, 1min 70ms"], &[]);
}

#[test]
fn what_a_disk_or_a_card_does_is_told_of_a_text_without_a_kernel_log() {
    let woken = "Feb 03 11:20:07 elm smartd[77]: Device: /dev/sdq [SAT], SMART Usage Attribute: 194 changed\n\
        Feb 03 11:20:09 elm hd-idle[7]: spinup: sdq\n";
    says(
        "check",
        woken,
        &["smartd looks at sdq 2.0 s before it spins up"],
        &["nothing to analyse"],
    );
    let lan = "# ethtool elm0 | grep Wake\n\tSupports Wake-on: pumbg\n\tWake-on: ug\n";
    says("check", lan, &["elm0 may wake the machine", "a suspect"], &["nothing to analyse"]);
    let storm = |name: &str| {
        format!(
            "$ cat /proc/interrupts\n            CPU0       CPU1\n\
             \x20  9:        177        199   IO-APIC    9-fasteoi   acpi\n\
             \x20 21:    3385781          0   IO-APIC   21-fasteoi   {name}\n\
             \x20 22:         10          0   IO-APIC   22-fasteoi   oak\n"
        )
    };
    says(
        "check",
        &storm("ELMX0007:00"),
        &["IRQ 21 of ELMX0007:00 came 3,385,781 times"],
        &["nothing to analyse"],
    );
    says("check", &storm("oak_hcd:usb1"), &[], &["IRQ 21"]);
}

#[test]
fn a_hibernation_behind_a_sleep_has_its_own_length() {
    let log = "Feb 03 22:00:06 elm kernel: PM: suspend entry (deep)\n\
        Feb 04 00:00:06 elm kernel: PM: suspend exit\n\
        Feb 04 00:00:07 elm kernel: PM: hibernation: hibernation entry\n\
        Feb 04 07:00:07 elm kernel: PM: hibernation: hibernation exit\n";
    says("check", log, &["took, in their order: 2 h 0 min (deep), 7 h 0 min (hibernation)"], &[]);
}

#[test]
fn a_sleep_hidden_in_the_stamps_of_a_frozen_journal_is_told() {
    let line = |s: &str, what: &str| format!("2031-02-03T06:23:{s}+01:00 elm kernel: {what}\n");
    let log = |froze: &str, rest: &str| {
        [
            line("31.469565", "PM: suspend entry (s2idle)"),
            line("31.496378", "Freezing user space processes"),
            line(froze, "Freezing user space processes completed (elapsed 0.003 seconds)"),
            line(froze, "OOM killer disabled."),
            line(rest, "Restarting tasks ... done."),
            line(rest, "PM: suspend exit"),
        ]
        .concat()
    };
    says(
        "check",
        &log("47.154966", "47.355193"),
        &["lies in that jump and took about 15.7 s"],
        &[],
    );
    says("check", &log("31.499378", "33.355193"), &[], &["took about"]);
}

#[test]
fn power_while_the_machine_runs_is_judged_without_a_sleep() {
    let warning = "[   30.100000] ------------[ cut here ]------------\n\
        [   30.100000] WARNING: CPU: 0 PID: 88 at drivers/regulator/core.c:2998 _regulator_disable+0x14c/0x1f0\n\
        [   30.100100] unbalanced disables for vdd_oak\n[   30.100200] Call trace:\n\
        [   30.100300]  _regulator_disable+0x14c/0x1f0\n\
        [   30.100400]  elm_runtime_suspend+0x20/0x40 [elm]\n";
    let must =
        ["in elm_runtime_suspend, a callback of runtime power management", "The regulator vdd_oak"];
    says("check", warning, &must, &["nothing to analyse"]);
    let card = "[   84.421076] mmc7: _mmc_resume: awake failed (-110), fallback to full init\n";
    says(
        "check",
        card,
        &["mmc7 says that it failed to change its power state"],
        &["nothing to analyse"],
    );
    let lock = "$ dumpsys power | grep -i wake\n  PARTIAL_WAKE_LOCK              'oak.sync' ACQ=-3h12m4s (uid=10123 pid=4567)\n";
    says("check", lock, &["oak.sync (uid 10123) holds a partial wake lock, for 3 h 12 min"], &[]);
}
