//! Stamps that are coarser than a kernel's own, and what a text without its begin, its end or a
//! word of sleep proves. The texts are made up.

use super::kinds::says;
use super::words::said;

#[test]
fn a_wait_by_the_whole_seconds_of_the_kernels_own_clock_is_told_with_their_grain() {
    let down = |stamp: &dyn Fn(u32) -> String| {
        format!(
            "{} PM: suspend entry (s2idle)\n\
             {} printk: Suspending console(s) (use no_console_suspend to debug)\n\
             {} elm_hub serial3-1: pm: lamp-off request failed: -110\n",
            stamp(10),
            stamp(11),
            stamp(22)
        )
    };
    let dates = down(&|s| format!("[Tue Mar  4 08:11:{s:02} 2031]"));
    let must = ["About 11.0 s pass without a word", "elm_hub", "stamps are of whole seconds"];
    says("check", &dates, &must, &["no rule knows"]);
    let exact = down(&|s| format!("[  7{s:02}.250000]"));
    says("check", &exact, &["Slow: 11.0 s pass"], &["whole seconds"]);
    // Whoever keeps a journal is frozen meanwhile.
    let kept = down(&|s| format!("Mar 04 08:11:{s:02} elm kernel:"));
    says("check", &kept, &[], &["pass without a word"]);
    let up = "[Tue Mar  4 08:11:30 2031] ACPI: PM: Waking up from system sleep state S3\n\
        [Tue Mar  4 08:11:38 2031] elm 0000:0c:00.0: link is up\n\
        [Tue Mar  4 08:11:38 2031] PM: suspend exit\n";
    let must = ["About 8.0 s pass on the way up", "stamps are of whole seconds"];
    says("check", up, &must, &[]);
}

#[test]
fn a_way_down_that_turned_is_told_where_the_text_ends_behind_it() {
    let down = "[  301.000000] PM: suspend entry (s2idle)\n\
        [  301.200000] printk: Suspending console(s) (use no_console_suspend to debug)\n\
        [  301.900000] ACPI: EC: interrupt blocked\n";
    let up = "[  302.400000] ACPI: EC: interrupt unblocked\n";
    let must = [
        "silenced in line 3 and heard again in line 4",
        "1.4 s pass",
        "How long the machine slept between the two",
    ];
    says("check", &format!("{down}{up}"), &must, &["Nothing wrong"]);
    says("check", down, &["ends on the way down"], &["heard again"]);
    let over = format!("{down}{up}[  302.900000] PM: suspend exit\n");
    says("check", &over, &[], &["heard again"]);
}

#[test]
fn a_full_stop_of_the_writer_ends_no_word_of_the_core() {
    for stop in ["", "."] {
        let text = format!(
            "kernel: PM: hibernation: hibernation entry{stop}\n...\n\
             kernel: PM: hibernation: Creating image:\n\
             kernel: PM: hibernation: Need to copy 220144 pages\n\
             kernel: PM: hibernation: hibernation exit{stop}\n"
        );
        let must = ["1 attempt to sleep (hibernation; line 1), and its end"];
        says("check", &text, &must, &["whose beginning"]);
    }
}

#[test]
fn values_that_have_no_word_of_sleep_are_nothing_to_judge_for_both_verbs() {
    let text =
        "/sys/class/drm/card1-HDMI-A-3/enabled:disabled\n/sys/class/leds/elm::lamp/brightness:0\n";
    for verb in ["show", "check"] {
        let (code, out) = said(&[verb, "-"], text);
        assert!(code == Some(1) && out.contains("nothing to analyse"), "{verb}: {code:?} {out}");
    }
    let armed = "/sys/devices/pci0000:00/0000:00:15.0/usb3/power/wakeup:enabled\n";
    says("check", armed, &[], &["nothing to analyse"]);
}

#[test]
fn interrupts_are_on_in_a_soft_lockup_and_off_in_a_hard_one() {
    let stuck = |what: &str| format!("[  100.0] PM: suspend entry (deep)\n[  140.0] {what}\n");
    let soft = stuck("watchdog: BUG: soft lockup - CPU#2 stuck for 23s! [kworker/2:3:77]");
    let must = ["A CPU was stuck", "took interrupts"];
    says("check", &soft, &must, &["interrupts off"]);
    let hard = stuck("watchdog: Watchdog detected hard LOCKUP on cpu 2");
    says("check", &hard, &["interrupts off"], &["took interrupts"]);
}

#[test]
fn times_that_somebody_rounded_are_times_and_numbers_of_sections_are_none() {
    let log = "[  100.0] PM: suspend entry (deep)\n\
        [  100.3] Freezing user space processes\n\
        [  104.5] PM: suspend exit\n";
    says("check", log, &["1 attempt to sleep (deep; line 1), and its end"], &[]);
    let list = "[1.2] Fixed the oak\n[1.3] - 2031-01-02\n[12.5] Elm, A. and Oak, B.\n";
    says("check", list, &["no kernel message"], &[]);
}
