//! What a screen says is true: a test for each sentence that once was not.

use super::screens::{NO_TIMES, SMALL, STANDS_STILL};
use crate::ran;
use crate::rows::expanded;

/// What `dormouse` prints, and its exit code; `input` is its standard input.
pub(crate) fn said(args: &[&str], input: &str) -> (Option<i32>, String) {
    let out = if args.contains(&"-") { ran::piped(args, input) } else { ran::output(args) };
    let text = [out.stdout, out.stderr].map(|b| String::from_utf8(b).expect("text")).concat();
    (out.status.code(), text)
}

/// The words of a screen without its line breaks.
pub(crate) fn words(args: &[&str], input: &str) -> String {
    said(args, input).1.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub(crate) const LAPTOP: &str = "captures/laptop-7.3.tar.gz";
pub(crate) const AM335X: &str = "boards/am335x.board";
pub(crate) const CLOCK: &str = "captures/laptop-6.12.tar.gz";

#[test]
fn a_device_is_ranked_by_what_its_absence_saves() {
    // 0000:00:00.0 is on the path for 88 ms, and its absence saves half a
    // millisecond.
    let text = words(&["show", "--cycle", "3", LAPTOP], "");
    assert!(text.contains("Suspend 143.3 ms: no single device helps much."), "{text}");
    assert!(text.contains("The best is 0000:00:02.0 (i915): without it, 4.08 ms less"), "{text}");
    assert!(!text.contains("0000:00:00.0 (skl_uncore) is the bottleneck"), "{text}");
}

#[test]
fn a_clock_jump_of_a_test_level_is_no_sleep_and_no_resume() {
    let text = words(&["show", "--cycle", "1", CLOCK], "");
    assert!(text.starts_with("Resume 223.0 ms:"), "{text}");
    assert!(text.contains("clock jump of 82.6 ms not counted"), "{text}");
    assert!(text.contains("pm_test=core (test, no real sleep)"), "{text}");
    assert!(!text.contains("slept") && !text.contains(" s asleep"), "{text}");
    let all = words(&["show", CLOCK], "");
    let said =
        "In cycles 1 and 3 the RTC moved the clock by 82.63 and 45.79 ms, which is not counted.";
    assert!(all.contains(said), "{all}");
    // The largest resume of the others is no longer the one with the jump.
    assert!(all.contains("total resume 224.15 223.82 224.21"), "{all}");
}

#[test]
fn a_recording_of_its_own_gets_no_advice_on_how_to_record() {
    let text = words(&["show", "--cycle", "3", LAPTOP], "");
    assert!(text.contains("2 events are out of order"), "{text}");
    assert!(!text.contains("trace_clock") && !text.contains("before the suspend"), "{text}");
}

/// A kernel log whose second callback never returns, and then another boot.
pub(crate) const HANG: &str = "\
[   50.000000] PM: suspend entry (deep)
[   50.100000] calling  gpu+ @ 9, parent: soc
[   53.900000] mxc 38000000.gpu: PM: calling pm_genpd_resume_noirq+0x0/0x10 @ 9, parent: soc
[   53.910000] mxc 38000000.gpu: PM: pm_genpd_resume_noirq+0x0/0x10 returned 0 after 10000 usecs
[   53.917545] vpu 38300000.vpu: PM: calling pm_genpd_resume_noirq+0x0/0x10 @ 9, parent: soc
[   71.105000] vpu 38400000.vpu: PM: calling pm_genpd_resume_noirq+0x0/0x10 @ 9, parent: soc
[   71.106000] vpu 38400000.vpu: PM: pm_genpd_resume_noirq+0x0/0x10 returned 0 after 10 usecs
";

#[test]
fn a_callback_without_an_end_is_no_bottleneck() {
    let text = words(&["show", "-"], HANG);
    assert!(text.starts_with("Resume time unknown: 38300000.vpu (vpu) began its noirq"), "{text}");
    assert!(text.contains("at 53.917545 s and the log has no end for it"), "{text}");
    assert!(!text.contains("is the bottleneck"), "{text}");
}

/// A trace without callbacks, whose clock stops during sleep.
pub(crate) fn silent() -> String {
    let step = |t: &str, what: &str| format!("  sh-12 [000] .... {t}: suspend_resume: {what}\n");
    [
        step("100.000000", "suspend_enter[3] begin"),
        step("100.001000", "suspend_enter[3] end"),
        step("100.001100", "sync_filesystems[0] begin"),
        step("100.002000", "sync_filesystems[0] end"),
        step("100.002100", "freeze_processes[0] begin"),
        step("100.003000", "freeze_processes[0] end"),
        step("100.250000", "dpm_prepare[2] begin"),
        step("100.251000", "dpm_prepare[2] end"),
        step("100.252000", "dpm_suspend[2] begin"),
        step("100.255000", "dpm_suspend[2] end"),
        step("100.256000", "machine_suspend[3] begin"),
        step("100.256800", "machine_suspend[3] end"),
        step("100.257000", "dpm_resume[16] begin"),
        step("100.259000", "dpm_resume[16] end"),
        step("100.259100", "thaw_processes[0] begin"),
        step("100.259900", "thaw_processes[0] end"),
    ]
    .concat()
}

#[test]
fn a_clock_that_stops_does_not_time_the_sleep() {
    let text = words(&["show", "-"], &silent());
    assert!(text.contains("time asleep not known"), "{text}");
    assert!(text.contains("asleep not known: this clock stops during sleep"), "{text}");
}

#[test]
fn a_log_whose_clock_stood_does_not_time_the_sleep() {
    // The last CPU took 40 ms between the two ways.
    let log = "[  50.000000] printk: Suspending console(s) (use no_console_suspend to debug)\n\
        [  50.200000] Disabling non-boot CPUs ...\n[  50.210000] CPU1: shutdown\n\
        [  50.250000] Enabling non-boot CPUs ...\n[  50.260000] CPU1 is up\n\
        [  50.500000] OOM killer enabled.\n[  50.500100] Restarting tasks ... done.\n\
        [  50.510000] PM: suspend exit\n";
    let text = words(&["show", "-"], log);
    assert!(text.contains("time asleep not known"), "{text}");
}

#[test]
fn a_log_that_shows_the_first_steps_alone_gives_no_share_of_them() {
    let log = "[Wed Mar  5 10:00:00 2031] PM: suspend entry (s2idle)\n\
        [Wed Mar  5 10:00:00 2031] Filesystems sync: 0.044 seconds\n\
        [Wed Mar  5 10:00:00 2031] Freezing user space processes\n\
        [Wed Mar  5 10:00:00 2031] Freezing user space processes completed (elapsed 0.003 seconds)\n\
        [Wed Mar  5 10:00:00 2031] Freezing remaining freezable tasks\n\
        [Wed Mar  5 10:00:00 2031] Freezing remaining freezable tasks completed (elapsed 0.001 seconds)\n\
        [Wed Mar  5 10:00:07 2031] foo 1-1: PM: failed to suspend: error -5\n\
        [Wed Mar  5 10:00:07 2031] PM: Some devices failed to suspend, or early wake event detected\n\
        [Wed Mar  5 10:00:07 2031] PM: suspend exit\n";
    let text = words(&["show", "-"], log);
    assert!(!text.contains("went into sync"), "{text}");
    assert!(text.contains("7.0 s pass on the way down"), "{text}");
}

#[test]
fn a_log_without_callbacks_says_below_its_times_how_to_get_them() {
    let (code, text) = said(&["show", "-"], &silent());
    assert_eq!(code, Some(0));
    let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words} in {text}"));
    assert!(
        at("total suspend") < at("No device callbacks in this log, so no device can be named.")
    );
    assert!(text.contains("\n  echo 1 > /sys/power/pm_print_times\n"), "{text}");
    assert!(text.contains("\n  echo 1 > /sys/power/pm_debug_messages\n"), "{text}");
}

#[test]
fn a_small_change_is_not_called_none() {
    // The table says -0.07 ms for resume.
    let text = words(&["predict", "captures/am335x-6.12.tar.gz", "--async", "musb*"], "");
    assert!(text.contains("hardly changes") && !text.contains("does not change"), "{text}");
}

#[test]
fn what_is_elsewhere_can_change() {
    let text = words(&["compare", "captures/laptop-6.12.tar.gz", LAPTOP], "");
    assert!(text.starts_with("Suspend: no significant change (+0.20 ms"), "{text}");
    assert!(text.contains("the phase suspend is 5.16 ms faster"), "{text}");
    assert!(text.contains("gaps between phases are 4.30 ms longer"), "{text}");
    assert!(text.contains("takes 63 % of suspend on both sides."), "{text}");
    assert!(!text.contains("cannot show"), "{text}");
}

/// A trace of `halves`: seconds from the start of suspend to the end of resume
/// of each cycle, `None` for one whose device phases are missing.
fn cycles(list: &[(f64, bool)]) -> String {
    let mut out = String::new();
    let mut at = 100.0;
    for &(resume, devices) in list {
        let mut step = |by: f64, what: &str| {
            at += by;
            out += &format!("  sh-12 [000] .... {at:.6}: {what}\n");
        };
        step(0.0, "suspend_resume: suspend_enter[3] begin");
        step(0.001, "suspend_resume: suspend_enter[3] end");
        if devices {
            step(0.001, "suspend_resume: dpm_prepare[2] begin");
            step(0.001, "suspend_resume: dpm_prepare[2] end");
            step(0.001, "suspend_resume: dpm_suspend[2] begin");
            step(0.001, "device_pm_callback_start: x a, parent: p, bus [suspend]");
            step(0.010, "device_pm_callback_end: x a, err=0");
            step(0.001, "suspend_resume: dpm_suspend[2] end");
        }
        step(0.001, "suspend_resume: machine_suspend[3] begin");
        step(5.0, "suspend_resume: machine_suspend[3] end");
        if devices {
            step(0.001, "suspend_resume: dpm_resume[16] begin");
            step(0.001, "device_pm_callback_start: x a, parent: p, bus [resume]");
            step(resume, "device_pm_callback_end: x a, err=0");
            step(0.001, "suspend_resume: dpm_resume[16] end");
            step(0.001, "suspend_resume: dpm_complete[16] begin");
            step(0.001, "suspend_resume: dpm_complete[16] end");
        } else {
            step(resume, "suspend_resume: resume_console[3] begin");
            step(0.001, "suspend_resume: resume_console[3] end");
        }
        step(0.001, "suspend_resume: thaw_processes[0] begin");
        step(0.001, "suspend_resume: thaw_processes[0] end");
        at += 30.0;
    }
    out
}

#[test]
fn a_half_has_one_total() {
    // Nothing says when the machine slept, and a minute passes in between.
    let log = "\
[   50.000000] PM: suspend entry (deep)
[   50.100000] drv a: PM: calling f_suspend+0x0/0x10 @ 7, parent: soc
[   50.120000] drv a: PM: f_suspend+0x0/0x10 returned 0 after 20000 usecs
[  110.500000] drv a: PM: calling f_resume+0x0/0x10 @ 7, parent: soc
[  110.534000] drv a: PM: f_resume+0x0/0x10 returned 0 after 34000 usecs
[  110.540000] PM: suspend exit
";
    let silent = silent();
    for (args, input) in [
        (vec!["show", "-"], log),
        (vec!["show", "-"], silent.as_str()),
        (vec!["show", "--cycle", "2", CLOCK], ""),
    ] {
        let text = words(&args, input);
        let args: Vec<&str> = [&args[..], &["--json"]].concat();
        let json: serde_json::Value = serde_json::from_str(&said(&args, input).1).expect("JSON");
        for half in ["Suspend", "Resume"] {
            let key = format!("{}_ns", half.to_lowercase());
            let Some(ns) = json["cycles"][0][&key].as_i64() else { continue };
            let total = format!("total {} {:.2} ", half.to_lowercase(), ns as f64 / 1e6);
            let least = total.replacen(' ', "\u{0}", 1).replacen(' ', ", at least ", 1);
            let found = text.contains(&total) || text.contains(&least.replace('\u{0}', " "));
            assert!(found, "{total}: {text}");
            let short = if ns >= 10_000_000 { 1 } else { 2 };
            let said = format!("{:.short$} ms", ns as f64 / 1e6);
            let first = text.split("Phase ms").next().expect("an answer");
            let headline = [format!("{half} {said}:"), format!("{half} at least {said}:")];
            assert!(headline.iter().any(|h| first.contains(h)), "{headline:?}: {first}");
        }
    }
}

#[test]
fn the_sentence_speaks_of_its_half_not_of_one_phase() {
    // 0000:00:02.0 is on the path of two phases; its half is what counts.
    for file in [LAPTOP, CLOCK, "captures/am335x-6.12.tar.gz"] {
        let text = words(&["show", "--cycle", "2", file], "");
        let (_, json) = said(&["show", "--json", "--cycle", "2", file], "");
        let json = expanded(serde_json::from_str(&json).expect("JSON"));
        let cycle = &json["cycles"][0];
        for a in cycle["answer"].as_array().expect("answers") {
            let device = &a["device"];
            if device.is_null() {
                continue;
            }
            let half = a["direction"].as_str().expect("a half");
            let list = cycle["devices"].as_array().expect("devices");
            let d = list.iter().find(|d| d["device"] == *device).expect("it is listed");
            assert_eq!(a["time_ns"], d[format!("{half}_critical_ns")], "{file}: {device}");
        }
        let first = text.split("Phase ms").next().expect("an answer");
        assert!(!first.contains("on the critical path"), "{first}");
    }
}

#[test]
fn callbacks_are_counted_once() {
    // Four callbacks began; two have no end.
    let text = words(&["show", "-"], HANG);
    assert!(text.contains("2 callbacks complete, 2 without an end"), "{text}");
    assert!(text.contains("2 callbacks have no end (first: gpu)"), "{text}");
    assert!(!text.contains(" of 4 callbacks"), "{text}");
}

#[test]
fn an_outlier_is_measured_from_the_median() {
    let same = (2.0, true);
    let text = words(&["show", "-"], &cycles(&[same, same, same, (5.3, false), same, same]));
    let said = "Cycle 4: resume 5.303 s, 3.296 s above the median; its device phases are not in \
                the log.";
    assert!(text.contains(said), "{text}");
}

#[test]
fn a_cycle_is_not_aborted_by_two_causes() {
    let step = |t: &str, what: &str| format!("  sh-12 [000] .... {t}: suspend_resume: {what}\n");
    let aborted = [
        step("100.000000", "suspend_enter[3] begin"),
        step("100.001000", "suspend_enter[3] end"),
        step("100.002000", "dpm_prepare[2] begin"),
        step("100.003000", "dpm_prepare[2] end"),
        step("100.004000", "dpm_suspend[2] begin"),
        step("100.005000", "dpm_suspend[2] end"),
        step("100.006000", "dpm_resume[16] begin"),
        step("100.007000", "dpm_resume[16] end"),
        step("100.008000", "thaw_processes[0] begin"),
        step("100.009000", "thaw_processes[0] end"),
    ];
    let text = words(&["show", "-"], &aborted.concat());
    assert!(text.contains("aborted, probably by a wakeup event"), "{text}");
    assert!(text.contains("1 cycle was aborted, but no callback failed"), "{text}");
    assert!(!text.contains("aborted by a device"), "{text}");
}

/// What a headline says a device saves is what `analyse` computes of it.
#[test]
fn the_saving_of_a_headline_is_the_computed_one() {
    for (file, cycle) in [("captures/am335x-6.12.tar.gz", "2"), (LAPTOP, "3"), (CLOCK, "2")] {
        let (_, text) = said(&["show", "--cycle", cycle, file], "");
        let (_, json) = said(&["show", "--json", "--cycle", cycle, file], "");
        let json = expanded(serde_json::from_str(&json).expect("JSON"));
        let cycle = &json["cycles"][0];
        for a in cycle["answer"].as_array().expect("answers") {
            let half = a["direction"].as_str().expect("a half");
            let devices = cycle["devices"].as_array().expect("devices");
            let key = format!("{half}_gain_ns");
            let gain = |d: &serde_json::Value| d[&key].as_i64().expect("a gain");
            let most = devices.iter().map(gain).max().expect("a device");
            assert_eq!(a["gain_ns"].as_i64(), Some(most), "{file}: {half}");
            let ms = format!("{:.2} ms", most as f64 / 1e6);
            let short = format!("{:.1} ms", most as f64 / 1e6);
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(words.contains(&ms) || words.contains(&short), "{file}: {ms}: {words}");
        }
    }
}

/// A log that ends in a callback: its machine hung there, or the log was cut.
const ENDS_IN_ONE: &str = "\
[   53.888902] galcore 38000000.gpu3d: PM: calling genpd_resume_noirq @ 529, parent: platform
[   53.909518] galcore 38000000.gpu3d: PM: genpd_resume_noirq returned 0 after 12331 usecs
[   53.917545] mxc_hantro 38300000.vpu: PM: calling genpd_resume_noirq @ 529, parent: soc@0
[   53.925659] i2c_imx_xfer, pm_runtime_resume_and_get is -13
";

#[test]
fn a_log_that_ends_in_a_callback_has_no_bottleneck() {
    let text = words(&["show", "-"], ENDS_IN_ONE);
    assert!(text.starts_with("Resume time unknown: 38300000.vpu"), "{text}");
    assert!(!text.contains("Without it"), "{text}");
    // The same callback again, whole, does not hide the hang.
    let again = ENDS_IN_ONE.replace("[   53.", "[   71.")
        + "[   71.931157] mxc_hantro 38300000.vpu: PM: genpd_resume_noirq returned 0 after 6458 usecs\n";
    let text = words(&["show", "-"], &(ENDS_IN_ONE.to_string() + &again));
    assert!(text.starts_with("Cycle 1: Resume time unknown: 38300000.vpu"), "{text}");
    assert!(text.contains(" 1 - not known at 53.888 s"), "{text}");
}

#[test]
fn a_device_without_an_end_saves_nobody_knows_what() {
    // The phase has an end, and the longest callback of it has none.
    let log = "\
[   60.000000] drv a: PM: calling f_resume+0x0/0x10 @ 7, parent: soc
[   60.000100] drv b: PM: calling f_resume+0x0/0x10 @ 8, parent: soc
[   60.800100] drv b: PM: f_resume+0x0/0x10 returned 0 after 800000 usecs
[   61.000000] PM: resume of devices complete after 1000.000 msecs
[   61.100000] PM: suspend exit
";
    let text = words(&["show", "-"], log);
    assert!(text.contains("no bottleneck can be named; 1 callback has no end"), "{text}");
    assert!(text.contains("Of those that ended, b (drv) took longest, 800.0 ms"), "{text}");
    assert!(text.contains(" a (drv) - - - no end - - "), "{text}");
}

#[test]
fn lines_without_a_time_are_told_from_a_log_without_times() {
    let timed = "[   50.000000] PM: suspend entry (deep)\n[   51.000000] PM: suspend exit\n";
    let text = words(&["show", "-"], &(timed.to_string() + NO_TIMES));
    assert!(text.contains("line has no time stamp (first at line"), "{text}");
    assert!(!text.contains("No time stamps"), "{text}");
}

#[test]
fn a_quoted_end_is_no_list_beside_whole_cycles() {
    let quoted = "\
[  519.143872] lwis-i2c eeprom@2: PM: platform_pm_suspend returned -16 after 1596 usecs
[    1.000000] Linux version 6.16.0
";
    let log = STANDS_STILL.replace("[    1.", "[   21.").replace("[    2.", "[   22.");
    let text = words(&["show", "-"], &(quoted.to_string() + &log));
    assert!(!text.contains("took longest"), "{text}");
    assert!(text.contains("1 callback has no start (first at line 1)"), "{text}");
}

#[test]
fn the_answer_of_lists_is_the_longest_of_all() {
    let log = "\
[  104.241129] ice 0000:86:00.0: PM: pci_pm_resume+0x0/0x110 returned 0 after 9415 usecs
[  104.241206] ice 0000:86:00.1: PM: pci_pm_resume+0x0/0x110 returned 0 after 9443 usecs
[  122.749022] ice 0000:86:00.1: PM: pci_pm_resume+0x0/0x110 returned 0 after 9485 usecs
[  122.749068] ice 0000:86:00.0: PM: pci_pm_resume+0x0/0x110 returned 0 after 9532 usecs
";
    let text = words(&["show", "-"], log);
    assert!(text.starts_with("0000:86:00.0 (ice) took longest, 9.53 ms"), "{text}");
}

#[test]
fn a_log_of_ends_alone_tells_what_it_can() {
    let end = "[   51.000000] Restarting tasks ... done.\n[   51.001000] PM: suspend exit\n";
    let text = words(&["show", "-"], end);
    assert!(text.contains("This log times no phase of a sleep"), "{text}");
    let slept = "[   50.900000] Timekeeping suspended for 3600.200 seconds\n";
    let text = words(&["show", "-"], &format!("{slept}{end}"));
    assert!(text.starts_with("Asleep 3600.200 s."), "{text}");
    assert!(text.contains("This log times no phase"), "{text}");
    let woke = "[   50.900000] Timekeeping suspended for 0.200 seconds\n";
    let text = words(&["show", "-"], &format!("{woke}{end}"));
    assert!(text.starts_with("A sleep was over after 200 ms"), "{text}");
}

#[test]
fn what_a_headline_says_of_gaps_its_row_does_not_deny() {
    // The row of the gaps: p 0.40, after Holm's correction.
    let text = words(&["compare", CLOCK, LAPTOP], "");
    let gaps = "gaps between phases are 4.30 ms longer, between freeze and prepare: platform begin, \
                console suspend < 0.01 ms -> 4.28 ms in every cycle (so few prove nothing: p = 0.40)";
    assert!(text.contains(gaps), "{text}");
    assert!(text.contains("p: of the rows of a table together (Holm's correction)"), "{text}");
}

#[test]
fn a_kernel_that_nobody_knows_is_refused() {
    for verb in ["predict", "plan", "tune"] {
        let budget: &[&str] = if verb == "plan" { &["--resume", "90ms"] } else { &[] };
        let args = [&[verb, AM335X, "--kernel", "9.9"], budget].concat();
        let (code, text) = said(&args, "");
        assert_eq!(code, Some(2), "{text}");
        assert!(text.contains("dormouse: nothing is known of kernel 9.9"), "{text}");
    }
}

#[test]
fn a_plan_says_where_less_than_it_removes_would_do() {
    // No file removes the radio alone, so the plan takes the controller above it.
    let text = words(&["plan", CLOCK, "--resume", "164ms"], "");
    assert!(text.contains(" remove 0000:3a:00.0 (ath10k_pci) "), "{text}");
    let less = "to remove only phy0 would meet the budget too (suspend 139.0 ms, resume \
                154.2 ms), but no file removes it: add --keep 0000:3a:00.0 to this command";
    assert!(text.contains(less), "{text}");
    // A root hub that a file removes is removed without the controller above it.
    let text = words(&["plan", SMALL, "--resume", "90ms", "--offer", "usb1"], "");
    assert!(text.contains(" remove usb1 (usb) ") && !text.contains("to remove only"), "{text}");
    // It saves what a prediction of that says.
    assert!(text.contains("resume 113.1 ms -> 78.5 ms"), "{text}");
    let text = words(&["predict", SMALL, "--without", "usb1"], "");
    assert!(text.contains("Resume 112.5 ms -> 77.9 ms"), "{text}");
}

#[test]
fn an_offer_of_what_another_needs_is_not_promised_to_help() {
    let text = words(&["plan", SMALL, "--suspend", "1ms"], "");
    let row = "musb-hdrc.0.auto (musb-hdrc) 0.31 needed by usb1: offer usb1";
    assert!(text.contains(row), "{text}");
}

#[test]
fn a_prediction_says_what_show_says_of_the_whole_half() {
    for file in [SMALL, CLOCK] {
        let text = words(&["show", file], "");
        let total = |half: &str| {
            let rest = text.split(&format!("{half}, median ")).nth(1).expect("a half");
            rest.split(':').next().expect("a time").to_string()
        };
        let want =
            format!("(recorded in all: resume {}, suspend {})", total("Resume"), total("Suspend"));
        let text = words(&["predict", file, "--kernel", "7.3"], "");
        assert!(text.contains(&want), "{want}: {text}");
    }
}

#[test]
fn a_calibration_begins_with_its_verdict() {
    let (_, text) = said(&["calibrate", CLOCK], "");
    assert!(text.starts_with("# Better than x86, on 24 phases of 4 cycles:"), "{text}");
    assert!(text.ends_with(&format!("# Next: dormouse calibrate {CLOCK} -o my.profile\n")));
}

const SLEEPS: &str = "crates/cli/tests/fixtures/idle-trace.txt";
const STATES: &str = "crates/cli/tests/fixtures/idle-states.txt";

#[test]
fn the_best_static_setting_obeys_the_limit_that_was_asked_for() {
    let text = words(&["idle", "predict", SLEEPS, STATES, "--latency-limit", "50us"], "");
    let best = text.split("best static: ").nth(1).expect("a bound");
    let limit = best.split(" us").next().and_then(|l| l.rsplit(' ').next()).expect("a limit");
    assert!(limit.parse::<u64>().is_ok_and(|us| us <= 50), "{best}");
    // The headline's change is the first row of those it lies between.
    let energy = text.strip_prefix("Energy ").and_then(|t| t.split(" %").next()).expect("energy");
    assert!(text.contains(&format!("as the trace says energy {energy} %")), "{text}");
}

#[test]
fn a_model_that_misses_sleeps_says_how_many() {
    // Recorded: 30 sleeps in C8.
    let text = words(&["idle", "predict", SLEEPS, STATES, "--latency-limit", "50us"], "");
    assert!(text.contains("of idle time in a state; it has "), "{text}");
    assert!(text.contains(", recorded were "), "{text}");
}

/// A log that breaks off inside a line and goes on after the sleep.
pub(crate) const HOLE: &str = "\
[    1.000000] PM: suspend entry (deep)
[    1.100000] drv a: PM: calling f_suspend+0x0/0x10 @ 7, parent: platform
[    1.110000] drv a: PM: f_suspend+0x0/0x10 returned 0 after 10000 usecs
[    1.120000] drv a: PM: calling f_suspend_noirq+0x0/0x10 @ 7, parent: platform
[    1.130000] drv a: PM: f_suspend_noirq+0x0/0x10 returned 0 after 10000 usecs
[    1.140000] drv b: PM: calling f_suspend_noirq+0x0/0x10 @ 7, paren[    1.340000] drv a: PM: calling f_resume+0x0/0x10 @ 7, parent: platform
[    1.350000] drv a: PM: f_resume+0x0/0x10 returned 0 after 10000 usecs
[    1.370000] Restarting tasks ... done.
[    1.380000] PM: suspend exit
";

#[test]
fn a_total_with_a_hole_in_it_is_a_lower_bound() {
    let text = words(&["show", "-"], HOLE);
    for said in [
        "Suspend at least 130.0 ms",
        "Resume at least 30.0 ms",
        "Caution: The log has a hole at line 6: a line breaks off",
        "time asleep not known",
        "total suspend, at least",
        "noirq suspend: the log has a hole here",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    assert!(!text.contains("mail client") && !text.contains("would take"), "{text}");
}

#[test]
fn each_log_of_a_file_has_its_dates_and_a_median_of_its_own() {
    let cycle = |stamp: &str, ms: u32| {
        let lines = [
            "PM: suspend entry (s2idle)".to_string(),
            format!("PM: suspend of devices complete after {ms}.000 msecs"),
            "PM: suspend-to-idle".into(),
            "PM: resume from suspend-to-idle".into(),
            "PM: resume of devices complete after 20.000 msecs".into(),
            "PM: suspend exit".into(),
        ];
        lines.map(|l| format!("{stamp},992 DEBUG:\t{l}\n")).concat()
    };
    let second = cycle("2024-09-20 20:10:41", 100) + &cycle("2024-09-20 20:12:41", 110);
    let first = cycle("2024-09-19 20:10:41", 200) + &cycle("2024-09-19 20:12:41", 300);
    let log = second + &first;
    let json = said(&["show", "-", "--json"], &log).1;
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let logs = json["groups"].as_array().expect("groups").iter().map(|g| g["log"].as_u64());
    let mut logs: Vec<Option<u64>> = logs.collect();
    logs.sort_unstable();
    assert_eq!(logs, [Some(1), Some(2)]);
    let text = words(&["show", "-"], &log);
    for said in [
        "Suspend, median at least 250.0 ms",
        "Suspend, median at least 105.0 ms",
        "Median of 2 cycles of log 1 (first cycle at 2024-09-19 20:10:41)",
        "1 >200.00 >20.00 at 2024-09-19 20:10:41 2 >300.00",
        "2 logs stand in one file (the first sleep of the second one in it is at line 13), numbered by date;",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
}

/// A log that begins and ends within a phase.
const CUT: &str = "\
[    1.100000] drv a: PM: calling f_suspend+0x0/0x10 @ 7, parent: platform
[    1.110000] drv a: PM: f_suspend+0x0/0x10 returned 0 after 10000 usecs
[    1.110100] drv b: PM: calling f_suspend+0x0/0x10 @ 7, parent: platform
[    1.120000] drv b: PM: f_suspend+0x0/0x10 returned 0 after 9900 usecs
";

#[test]
fn a_predicted_total_with_a_cut_phase_is_a_lower_bound() {
    let said = "Suspend: no figure, the recording lacks the start or end of suspend.";
    let text = words(&["predict", "-", "--cpus", "2"], CUT);
    assert!(text.starts_with(said), "{text}");
    for said in ["Model error here: suspend not known", "total suspend >20.00", ">: at least"] {
        assert!(text.contains(said), "{said}: {text}");
    }
    let text = words(&["predict", "-", "--without", "b"], CUT);
    assert!(text.starts_with(said), "{text}");
    // Of a half that nobody recorded nothing is said.
    assert!(!text.contains("esume"), "{text}");
}

#[test]
fn what_is_in_a_total_is_in_the_self_check() {
    let text = words(&["predict", CLOCK, "--without", "phy0"], "");
    assert!(text.contains("prepare 2.43 1.15 -1.29 partly, not counted"), "{text}");
    assert!(text.contains("complete 2.43 1.72 -0.71 reproduced, not counted"), "{text}");
    let json = said(&["predict", CLOCK, "--without", "phy0", "--json"], "").1;
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let phases = json["fidelity"]["phases"].as_array().expect("phases");
    assert_eq!(phases.iter().filter(|p| p["counted"] == false).count(), 2);
}

#[test]
fn a_start_says_from_where_it_counts() {
    let text = words(&["show", "--cycle", "2", SMALL], "");
    assert!(text.contains("It started 6.72 ms into the suspend phase. Its child"), "{text}");
}

#[test]
fn a_cycle_has_only_its_own_warnings() {
    let events = |args: &[&str]| -> u32 {
        let text = words(args, "");
        let said = text.split(" out of order").next().expect("a text");
        let count = said.trim_end_matches(" is").trim_end_matches(" are");
        let count = count.trim_end_matches(" events").trim_end_matches(" event");
        count.rsplit(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0)
    };
    let each = ["1", "2", "3", "4"].map(|n| events(&["show", "--cycle", n, LAPTOP]));
    assert!(each.iter().all(|n| *n < 18), "{each:?}");
    assert_eq!(each.iter().sum::<u32>(), 18);
    assert_eq!(events(&["show", LAPTOP]), 18);
}

#[test]
fn an_end_before_its_start_is_one_callback_that_took_no_time() {
    // INT3403:00 of cycle 4: its end has a time 3 us before that of its start.
    let text = words(&["show", LAPTOP], "");
    assert!(!text.contains("no start") && !text.contains("no end"), "{text}");
    let all = words(&["show", "--cycle", "4", LAPTOP], "");
    assert!(all.contains("1 event is out of order"), "{all}");
    assert!(all.contains(" callbacks complete: "), "{all}");
}

#[test]
fn a_gain_within_the_models_error_is_no_advice() {
    // 34 flags would save 1.68 ms of 342 ms; the model is off by as much.
    let text = words(&["tune", CLOCK], "");
    assert!(text.starts_with("No flag is worth changing:"), "{text}");
    assert!(text.contains("less than 1 %"), "{text}");
    assert!(!text.contains("Device to alone added") && !text.contains("--udev"), "{text}");
    // What the next command would do is said before it.
    assert!(text.contains("With --bold 60 more flags may change, which nothing proves safe."));
    assert!(text.contains("Next: dormouse tune captures/laptop-6.12.tar.gz --bold"), "{text}");
    // And it says on what the figures rest.
    let assumed = "The async flag of 3 devices is not known";
    assert!(text.contains(&format!("Assumed - {assumed}")), "{text}");
    let text = words(&["predict", CLOCK], "");
    assert!(text.contains(&format!("Assumed - {assumed}")), "{text}");
}

#[test]
fn the_next_command_of_a_plan_meets_its_budget() {
    let text = words(&["plan", SMALL, "--resume", "10ms", "--change", "async"], "");
    let next = text.split("Next: dormouse ").nth(1).unwrap_or_default();
    let next = next.split(" dormouse: ").next().unwrap_or_default().replace("\\ ", "");
    let args: Vec<&str> = next.split_whitespace().chain(["--force"]).collect();
    assert_eq!(args[0], "tune", "{text}");
    let (code, after) = said(&args, "");
    assert_eq!(code, Some(0), "{next}: {after}");
}

#[test]
fn one_that_would_do_as_well_is_no_contradiction() {
    let text = words(&["plan", CLOCK, "--resume", "164ms"], "");
    assert!(text.contains("to remove only phy0 would meet the budget too"), "{text}");
    assert!(!text.contains("No smaller set"), "{text}");
}

#[test]
fn a_recording_of_an_emulator_says_so() {
    let said = "in the laboratory's QEMU guest";
    for args in [
        &["show", SMALL][..],
        &["show", SMALL, "--cycle", "2"],
        &["predict", SMALL, "--without", "usb1"],
    ] {
        let text = words(args, "");
        assert!(text.contains(said), "{args:?}: {text}");
    }
    let text = words(&["compare", CLOCK, LAPTOP], "");
    assert_eq!(text.matches(", in a QEMU guest.").count(), 2, "{text}");
    let text = words(&["plan", SMALL, "--resume", "90ms", "--offer", "usb1"], "");
    assert!(text.contains("its CPU time is the emulator's"), "{text}");
}

#[test]
fn a_log_in_units_of_old_kernels_says_why_times_are_larger() {
    let log = |release: &str| format!("[    0.000000] Linux version {release}\n{STANDS_STILL}");
    let note = "the times here are 2.4 % above its numbers";
    assert!(words(&["show", "-"], &log("5.10.1")).contains(note));
    assert!(!words(&["show", "-"], &log("6.1.1")).contains(note));
}

/// A driver fails before any other line of its sleep.
const FAILS: &str = "\
[  100.000000] xhci_hcd 0000:00:14.0: PM: failed to suspend async: error -16
[  100.100000] PM: suspend of devices aborted after 465.967 msecs
[  100.200000] PM: Some devices failed to suspend, or early wake event detected
";

#[test]
fn show_and_doctor_name_the_same_device() {
    let text = words(&["doctor", "-"], FAILS);
    assert!(text.starts_with("Broken: 0000:00:14.0 (xhci_hcd) ended the sleep: error -16"));
    let text = words(&["show", "-"], FAILS);
    assert!(text.starts_with("This sleep failed: aborted by 0000:00:14.0 (error -16)."), "{text}");
    assert!(!text.contains("no device can be named"), "{text}");
}

#[test]
fn the_doctor_counts_errors_that_no_rule_knows() {
    let log = "\
[    1.000000] PM: suspend entry (deep)
[    1.500000] usb 1-1: device descriptor read/64, error -71
[    2.000000] PM: suspend exit
";
    let text = words(&["doctor", "-"], log);
    assert!(text.starts_with("No rule found a fault. A line tells of an error of 1-1 (usb)"));
    assert!(
        text.contains("line 2 at 1.500000 s: usb 1-1: device descriptor read/64, error -71"),
        "{text}"
    );
}

#[test]
fn flags_are_not_applied_from_a_recording_of_another_machine() {
    let (code, text) = said(&["tune", SMALL, "--apply", "--dry-run"], "");
    assert_eq!(code, Some(2));
    assert!(text.starts_with("dormouse: --apply needs a recording of this machine;"), "{text}");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.ends_with("is of the laboratory's QEMU guest"), "{text}");
}

#[test]
fn errors_keep_80_columns_wherever_they_go() {
    for args in [
        &["plan", SMALL, "--resume", "1x"][..],
        &["show", "no/such/file"],
        &["predict", SMALL, "--kernel", "99x"],
        &["show", SMALL, "--nosuch"],
    ] {
        let (code, text) = said(args, "");
        assert!(code != Some(0), "{args:?}");
        assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
    }
}

#[test]
fn a_number_before_waits_is_no_verb() {
    let text = words(
        &["domains", "show", "-"],
        "# cat /sys/kernel/debug/devices_deferred\n\
         1.phy\tplatform: supplier 2.ctrl not ready\n\
         2.ctrl\tmy-ctrl: failed to get entries\n\
         3.mmc\tmy-mmc: failed to get vmmc\n",
    );
    assert!(text.contains("failed to get entries (2 waits)"), "{text}");
    assert!(!text.contains("2 waits for"), "{text}");
}
