//! What the screens say of recordings of real machines, against what the
//! recordings themselves hold.
//!
//! The recordings are not part of the project: `DORMOUSE_DATA` names their folder
//! (by default `../shared/data`).

use crate::ran::output;
use serde_json::Value;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// A file or folder of the recordings, or `None` after saying so.
pub(crate) fn data(name: &str) -> Option<PathBuf> {
    // Screens name the path, and lines that hold no more than it are long.
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3)?;
    let data = std::env::var_os("DORMOUSE_DATA").map_or(above.join("shared/data"), PathBuf::from);
    let path = data.join(name);
    if !path.exists() {
        eprintln!("SKIPPED: no {}; set DORMOUSE_DATA", path.display());
        return None;
    }
    Some(path)
}

/// What a verb prints of `input`, in one line of single blanks.
pub(crate) fn said(args: &[&str], input: &Path) -> String {
    let text = printed(args, input);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub(crate) fn printed(args: &[&str], input: &Path) -> String {
    let out = output(args.iter().map(OsStr::new).chain([input.as_os_str()]));
    String::from_utf8(out.stdout).unwrap() + &String::from_utf8(out.stderr).unwrap()
}

fn json(args: &[&str], input: &Path) -> Value {
    serde_json::from_str(&printed(args, input)).unwrap()
}

/// Two cycles together gain what each gains alone, though a third, which was
/// aborted, had its devices in another order.
#[test]
fn cycles_together_say_what_each_says() {
    let Some(all) = data("logs/pm-graph/i915-4.6") else { return };
    let ask = ["predict", "--json", "--resamples", "0", "--kernel", "7.3"];
    let gain = |input: &Path| {
        let value = json(&ask, input);
        let time = |when: &str| {
            let phases = value[when]["phases"].as_array().unwrap();
            phases.iter().find(|p| p["name"] == "suspend").unwrap()["duration_ns"].as_i64().unwrap()
        };
        time("after") - time("before")
    };
    let runs =
        ["suspend-160422-155735-ivybridge-dev-late", "suspend-160422-162700-ivybridge-dev-noirq"];
    let alone: Vec<i64> = runs.iter().map(|r| gain(&all.join(r))).collect();
    let (low, high) = (alone[0].min(alone[1]), alone[0].max(alone[1]));
    let together = gain(&all);
    assert!((low - 500_000..=high + 500_000).contains(&together), "{together}: {alone:?}");
    let text = said(&["predict", "--resamples", "0", "--kernel", "7.3"], &all);
    assert!(text.contains("median of 2 of 3 cycles"), "{text}");
    assert!(
        text.contains("1 of 3 cycles is left out: the suspend failed or was aborted."),
        "{text}"
    );
    // The whole of a half that is claimed is one figure on both screens.
    let total = text.split("total resume").nth(1).unwrap().split(' ').nth(3).unwrap();
    let tuned = said(&["tune", "--kernel", "7.3"], &all);
    assert!(tuned.split(" all synchronous").next().unwrap().contains(total), "{total}: {tuned}");
}

/// The storage trace of the fixtures with lines put in where their times belong.
fn storage_trace(name: &str, more: &[&str]) -> PathBuf {
    let text = include_str!("fixtures/storage-trace.txt");
    let (head, events): (Vec<&str>, Vec<&str>) = text.lines().partition(|l| l.starts_with('#'));
    let at = |l: &str| l.split(": ").next().and_then(|l| l.split(' ').next_back()?.parse().ok());
    let mut events: Vec<(f64, &str)> =
        events.iter().chain(more).map(|l| (at(l).unwrap(), *l)).collect();
    events.sort_by(|a, b| a.0.total_cmp(&b.0));
    let lines: Vec<&str> = head.into_iter().chain(events.into_iter().map(|e| e.1)).collect();
    let path = std::env::temp_dir().join(format!("dormouse-{}-{name}.txt", std::process::id()));
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    path
}

/// Gated 150 ms after one request and 10 ms after another: no one delay does that.
#[test]
fn storage_that_fell_asleep_in_several_ways_is_not_tuned() {
    let gate = "          <idle>-0       [000] d.h..   100.712000: workqueue_queue_work: work \
                struct=00000000aaaa0001 function=ufshcd_gate_work workqueue=ufs_clk_gating_0 \
                req_cpu=8192 cpu=4294967295";
    let path = storage_trace("gates", &[gate]);
    for ask in
        [&["storage", "tune", "--least-energy"][..], &["storage", "predict", "--gate-delay", "1s"]]
    {
        let text = said(ask, &path);
        assert!(text.contains("fell asleep 9.77 ms, 150.0 ms after the last request"), "{text}");
        assert!(!text.contains("clkgate_delay_ms to"), "{text}");
    }
    std::fs::remove_file(&path).unwrap();
    let Some(real) = data("idle/real/s-pixel-listjank.txt.gz") else { return };
    let text = said(&["storage", "tune", "--least-energy"], &real);
    assert!(text.contains("fell asleep 5.15 ms, 10.8 ms, 49.9 ms after"), "{text}");
}

/// A query wakes the storage as well as a request does.
#[test]
fn a_wake_up_for_no_request_is_told() {
    let ungate = |time: &str, event: &str| {
        format!(
            "    kworker/u8:1-50      [002] .....   {time}: {event}: work struct 00000000aaaa0002: \
             function ufshcd_ungate_work"
        )
    };
    let begin = ungate("100.400052", "workqueue_execute_start");
    let end = ungate("100.402060", "workqueue_execute_end");
    // The delay is counted from the query, so it is no rest after a request.
    let gate = "          <idle>-0       [000] d.h..   100.412000: workqueue_queue_work: work \
                struct=00000000aaaa0001 function=ufshcd_gate_work workqueue=ufs_clk_gating_0 \
                req_cpu=8192 cpu=4294967295";
    let path = storage_trace("query", &[&begin, &end, gate]);
    for ask in
        [&["storage", "tune", "--least-energy"][..], &["storage", "predict", "--gate-delay", "1s"]]
    {
        let text = said(ask, &path);
        assert!(text.contains("Once it woke for no request"), "{text}");
    }
    std::fs::remove_file(&path).unwrap();
}

/// A phone's log with a failed and a whole suspend, of one kernel that it does not name.
#[test]
fn one_log_has_one_kernel_and_says_what_it_lacks() {
    let Some(log) = data("logs/real/pixel6-6.16-rc4-full-2025-07.txt.gz") else { return };
    let text = said(&["predict"], &log);
    assert_eq!(
        text.matches(" Kernel unknown, taken as up to 6.7, 6.9 to 6.15 (G1).").count(),
        2,
        "{text}"
    );
    // What `show` calls "at least" is so here too.
    assert!(text.contains("resume at least 449.9 ms, suspend at least 580.3 ms"), "{text}");
    assert!(text.contains("total resume >430.63"), "{text}");
    // 427.09 against 430.63: phases that were not recorded take no part.
    assert!(text.contains("Model error here: resume -0.8 %"), "{text}");
    // A phase that is not there did not take 0.00 ms.
    assert!(text.contains("noirq resume - 0.46 - not reproduced"), "{text}");
    assert!(!text.contains("0001:01:00.0 (first callback of the phase)"), "{text}");
    assert!(text.contains("suspend - not reproduced, so its path is not known"), "{text}");
}

/// What printing costs is no device's, and a failed attempt is not passed over.
#[test]
fn printing_is_named_and_an_attempt_without_its_begin() {
    let Some(log) = data("logs/real/pixel6-6.16-rc4-full-2025-07.txt.gz") else { return };
    let text = said(&["show"], &log);
    assert!(text.contains("About 196.3 ms of it (44 %) is the printing of this log"), "{text}");
    assert!(text.contains("at 519.144197 s, ended because eeprom@2 failed"), "{text}");
    let Some(log) = data("logs/real/ti-j7200-8250-omap-2023-10.txt.gz") else { return };
    let text = said(&["show"], &log);
    assert!(text.contains("170.8 ms: most of it is the printing of this log"), "{text}");
    assert!(!text.contains("cause in this log") && !text.contains("gap before suspend"), "{text}");
    assert!(!text.contains("matters most") && text.ends_with("Next: dmesg -n 1"), "{text}");
}

/// A log of two halves of a mail: before a fix, where a callback hangs, and after it.
#[test]
fn what_the_log_says_inside_a_callback_that_hangs_is_shown() {
    let line = |us: u32, text: &str| format!("[   10.{us:06}] {text}\n");
    let call = "dev a.vpu: PM: calling genpd_resume_noirq @ 5, parent: soc@0";
    let log = line(0, "PM: suspend entry (deep)")
        + &line(100_000, call)
        + &line(110_000, "regulator.6: failed to enable regulator: -EACCES")
        + "\nIt resumes after applying the fix. Here is the log:\n\n"
        + &line(900_000, "PM: suspend entry (deep)")
        + &line(950_000, call);
    let path = std::env::temp_dir().join(format!("dormouse-{}-hang.txt", std::process::id()));
    std::fs::write(&path, log).unwrap();
    let text = said(&["show", "--cycle", "1"], &path);
    let inside = "Line 3: regulator.6: failed to enable regulator: -EACCES.";
    assert!(text.contains(inside), "{text}");
    let text = said(&["show"], &path);
    assert!(text.contains("A sentence stands between two cycles at line 5"), "{text}");
    assert!(!text.contains("upper limit"), "{text}");
    std::fs::remove_file(&path).unwrap();
    let Some(log) = data("logs/real/imx-i2c-2024-11.txt.gz") else { return };
    let text = said(&["show"], &log);
    assert!(text.contains("imx-pgc-domain.6: failed to enable regulator: -EACCES."), "{text}");
    assert!(text.contains("About 8.03 ms pass for each line"), "{text}");
    assert!(text.contains("A sentence stands between two cycles at line 25"), "{text}");
}

fn capture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures").join(name)
}

/// Six of the eight phases of a small board take less than the tolerance.
#[test]
fn phases_that_cannot_be_wrong_count_for_nothing() {
    let am335x = capture("am335x-6.12.tar.gz");
    let text = said(&["evaluate"], &am335x);
    assert!(text.starts_with("The model is good here: 6 of 6 phases are right"), "{text}");
    assert!(text.contains("18 phases under 1 ms are not counted"), "{text}");
    assert!(text.contains("The recording is of the laboratory's QEMU guest"), "{text}");
    let text = said(&["predict", "--kernel", "7.3", "--resamples", "0"], &am335x);
    assert!(text.contains("late suspend 0.35 0.29 -0.06 too short to tell"), "{text}");
    assert!(text.contains("suspend 18.71 18.58 -0.13 reproduced"), "{text}");
}

/// 0.16 ms of 210 are less than the 0.57 ms that the model is off there.
#[test]
fn a_half_that_changes_by_less_than_the_error_stays() {
    let ask = ["predict", "--kernel", "7.3", "--resamples", "0"];
    let text = said(&ask, &capture("laptop-6.12.tar.gz"));
    assert!(text.contains("resume stays at 210.3 ms, within the model's error"), "{text}");
    assert!(text.contains("=: no change"), "{text}");
}

#[test]
fn what_makes_a_flag_safe_is_said_of_its_device() {
    let text = said(&["tune"], &capture("am335x-6.12.tar.gz"));
    assert!(text.contains("safe: device links declare what it needs (48060000.mmc)"), "{text}");
    assert!(text.contains("safe: it only adds order (i2c-0, 0-0024, 0-0050)"), "{text}");
}

/// A plan removes the controller above a radio, and says how to ask for less.
#[test]
fn a_plan_says_how_to_ask_for_less() {
    let laptop = capture("laptop-6.12.tar.gz");
    let ask = ["plan", "--resume", "164ms"];
    let text = said(&ask, &laptop);
    assert!(text.contains("no file removes it: add --keep 0000:3a:00.0 to this command"), "{text}");
    let text = said(&[&ask[..], &["--keep", "0000:3a:00.0"]].concat(), &laptop);
    assert!(text.contains(" remove phy0") && text.contains(" 154.2"), "{text}");
}

/// Two tables of a mail: with a kernel that fails, and with one that works.
#[test]
fn tables_of_two_kernels_are_no_story_of_time() {
    let Some(mail) = data("domains/pd-rk3588-npu-stayon.txt") else { return };
    let text = said(&["domains", "show"], &mail);
    assert!(text.contains("They may be of two moments, or of two kernels."), "{text}");
    assert!(!text.contains(", then off-0"), "{text}");
    assert!(text.contains("Regulators (line 35): 5 of 6 enabled, with lines left out"), "{text}");
    // In the second alone the controller has the supply open.
    let (first, second) = text.split_once("Regulators (line 79)").unwrap();
    let open = "vdd_npu_s0 is open for fd8d8000.power-management:power-controller-domain";
    assert!(!first.contains(open) && second.contains(open), "{text}");
}
