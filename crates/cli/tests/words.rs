//! What a screen says is true: a test for each sentence that once was not.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What `dormouse` prints, and its exit code; `input` is its standard input.
fn said(args: &[&str], input: &str) -> (Option<i32>, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_dormouse"))
        .args(args)
        .current_dir(root())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    // Whoever refuses its arguments does not read.
    let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
    let out = child.wait_with_output().expect("it ends");
    let text = [out.stdout, out.stderr].map(|b| String::from_utf8(b).expect("text")).concat();
    (out.status.code(), text)
}

/// The words of a screen without its line breaks.
fn words(args: &[&str], input: &str) -> String {
    said(args, input).1.split_whitespace().collect::<Vec<_>>().join(" ")
}

const LAPTOP: &str = "captures/laptop-7.3.tar.gz";
const AM335X: &str = "boards/am335x.board";
const CLOCK: &str = "captures/laptop-6.12.tar.gz";

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
    assert!(text.starts_with("Resume 223.7 ms:"), "{text}");
    assert!(text.contains("82.0 ms clock jump left out"), "{text}");
    assert!(text.contains("pm_test=core (test, no real sleep)"), "{text}");
    assert!(!text.contains("slept") && !text.contains("asleep"), "{text}");
    let all = words(&["show", CLOCK], "");
    let said = "Cycles 1 and 3 contain a clock jump of the RTC (82.00 and 45.00 ms), left out.";
    assert!(all.contains(said), "{all}");
    // The largest resume of the others is no longer the one with the jump.
    assert!(all.contains("total resume 224.15 223.82 225.00"), "{all}");
}

#[test]
fn a_recording_of_its_own_gets_no_advice_on_how_to_record() {
    let text = words(&["show", "--cycle", "3", LAPTOP], "");
    assert!(text.contains("17 events are out of order"), "{text}");
    assert!(!text.contains("trace_clock") && !text.contains("before the suspend"), "{text}");
    assert!(text.contains("1 callback has no end (first: INT3403:00)."), "{text}");
}

/// A kernel log whose second callback never returns, and then another boot.
const HANG: &str = "\
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
fn silent() -> String {
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
fn a_log_without_callbacks_says_so_first() {
    let (code, text) = said(&["show", "-"], &silent());
    assert_eq!(code, Some(0));
    assert!(text.starts_with("No device callbacks in this log, so no device can be named."));
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

/// Every screen that needs no kernel: its name and its arguments.
const SCREENS: [(&str, &[&str]); 11] = [
    ("show one cycle", &["show", "--cycle", "2", "captures/am335x-6.12.tar.gz"]),
    ("show many cycles", &["show", "captures/am335x-6.12.tar.gz"]),
    ("show a test level", &["show", "captures/laptop-6.12.tar.gz"]),
    ("show with warnings", &["show", "--cycle", "3", "captures/laptop-7.3.tar.gz"]),
    ("compare", &["compare", "captures/laptop-6.12.tar.gz", "captures/laptop-7.3.tar.gz"]),
    ("plan met", &["plan", AM335X, "--kernel", "6.12", "--resume", "90ms", "--offer", "usb1"]),
    ("plan not met", &["plan", AM335X, "--kernel", "6.12", "--resume", "80ms"]),
    ("plan ready", &["plan", AM335X, "--kernel", "6.12", "--ready", "4a100000.ethernet=50ms"]),
    ("tune", &["tune", "boards/cases/c25.board", "--kernel", "7.3", "--profile", "zero"]),
    ("tune nothing", &["tune", "boards/cases/c25.board", "--kernel", "7.3", "--deny", "*"]),
    ("show no file", &["show", "no/such/file"]),
];

/// The rules that hold for each line of each screen.
fn rules(name: &str, text: &str) {
    for line in text.lines() {
        let columns = line.chars().count();
        // Errors are wrapped for a terminal; in a file they stay one line.
        let error = line.starts_with("dormouse: ");
        assert!(columns <= 80 || error, "{name}: {columns} columns: {line}");
        assert!(!line.contains(" 0 ns") && !line.contains(" us "), "{name}: {line}");
        for n in ["1 devices", "1 cycles", "1 callbacks", "1 workers", "1 flags", "1 changes"] {
            let at = line.find(n);
            let digit = |at: usize| at > 0 && line.as_bytes()[at - 1].is_ascii_digit();
            assert!(at.is_none_or(digit), "{name}: {line}");
        }
        for old in ["attack", "in the middle", "gained", "decides", "as it were"] {
            assert!(!line.to_lowercase().contains(old), "{name}: {old}: {line}");
        }
    }
}

/// Rows of a table of phases add up to their total, up to their rounding.
fn totals(name: &str, text: &str) {
    let value = |line: &str| -> Option<f64> {
        let rest: String = line.chars().skip(38).collect();
        rest.split_whitespace().next()?.parse().ok()
    };
    let mut lines = text.lines().skip_while(|l| !l.starts_with("Phase  ")).skip(1).peekable();
    let mut tables = 0;
    while let Some(total) = lines.next().filter(|l| l.starts_with("total ")) {
        let mut rows = Vec::new();
        while let Some(row) = lines.next_if(|l| l.starts_with("  ")) {
            rows.push(value(row).unwrap_or_else(|| panic!("{name}: {row}")));
        }
        let (sum, total) = (rows.iter().sum::<f64>(), value(total).expect("a total"));
        let rounding = 0.005 * (rows.len() + 1) as f64 + 1e-9;
        assert!((sum - total).abs() <= rounding, "{name}: {sum} is not {total}");
        tables += 1;
    }
    assert!(tables > 0, "{name} has no table of phases: {text}");
}

#[test]
fn every_screen_is_as_reviewed() {
    for (name, args) in SCREENS {
        let (code, text) = said(args, "");
        rules(name, &text);
        if args.contains(&"--cycle") && code == Some(0) {
            totals(name, &text);
        }
        let name = name.replace(' ', "_");
        insta::assert_snapshot!(
            name,
            format!("$ dormouse {}\n{text}exit {code:?}", args.join(" "))
        );
    }
}

/// What a headline says a device saves is what `analyse` computes of it.
#[test]
fn the_saving_of_a_headline_is_the_computed_one() {
    for (file, cycle) in [("captures/am335x-6.12.tar.gz", "2"), (LAPTOP, "3"), (CLOCK, "2")] {
        let (_, text) = said(&["show", "--cycle", cycle, file], "");
        let (_, json) = said(&["show", "--json", "--cycle", cycle, file], "");
        let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        let cycle = &json["cycles"][0];
        for a in cycle["answer"].as_array().expect("answers") {
            let half = a["direction"].as_str().expect("a half");
            let devices = cycle["devices"].as_array().expect("devices");
            let gain = |d: &serde_json::Value| d[half]["gain_ns"].as_i64().expect("a gain");
            let most = devices.iter().map(gain).max().expect("a device");
            assert_eq!(a["gain_ns"].as_i64(), Some(most), "{file}: {half}");
            let ms = format!("{:.2} ms", most as f64 / 1e6);
            let short = format!("{:.1} ms", most as f64 / 1e6);
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(words.contains(&ms) || words.contains(&short), "{file}: {ms}: {words}");
        }
    }
}
