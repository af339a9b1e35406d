//! Hibernations: each trip with its own callbacks, in its own phases and order.

use crate::ran::output;
use serde_json::Value;
use std::path::PathBuf;

fn predict(file: &str, more: &[&str]) -> String {
    let args = [&["predict", file, "--kernel", "6.12", "--resamples", "0"][..], more].concat();
    let out = output(&args);
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "dormouse {args:?}: {said}");
    String::from_utf8(out.stdout).unwrap()
}

/// A trace in the words of `trace_pm` (include/trace/events/power.h).
struct Trace {
    text: String,
    us: u64,
}

impl Trace {
    fn line(&mut self, event: &str) {
        let (s, us) = (self.us / 1_000_000, self.us % 1_000_000);
        self.text
            .push_str(&format!("            init-1       [000] ..... {s:5}.{us:06}: {event}\n"));
    }

    /// A phase in which disk takes `disk` and its parent bus takes `bus` microseconds.
    fn phase(&mut self, name: &str, number: u32, word: &str, disk: u64, bus: u64) {
        self.line(&format!("suspend_resume: {name}[{number}] begin"));
        for (device, parent, took) in [("disk", "bus", disk), ("bus", "none", bus)] {
            let of = format!("drv {device}");
            let call = format!("{of}, parent: {parent}, bus [{word}]");
            self.line(&format!("device_pm_callback_start: {call}"));
            self.us += took;
            self.line(&format!("device_pm_callback_end: {of}, err=0"));
        }
        self.us += 2;
        self.line(&format!("suspend_resume: {name}[{number}] end"));
    }
}

/// What a kernel leaves that hibernated and could not power off in time to lose
/// its log: freeze, thaw, writing the image, poweroff.
fn whole() -> String {
    let mut t = Trace { text: "# tracer: nop\n#\n".into(), us: 5_000_000 };
    t.phase("dpm_prepare", 1, "freeze", 1, 1);
    t.phase("dpm_suspend", 1, "freeze", 30_000, 2_000);
    t.phase("dpm_resume", 32, "thaw", 11_000, 1_000);
    t.phase("dpm_complete", 32, "thaw", 1, 1);
    t.us += 2_000_000;
    t.phase("dpm_prepare", 4, "hibernate", 1, 1);
    t.phase("dpm_suspend", 4, "hibernate", 70_000, 5_000);
    t.text
}

#[test]
fn every_trip_has_its_own_callbacks() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ftrace.txt");
    std::fs::write(&file, whole()).unwrap();
    let file = file.to_str().unwrap();
    let all: Value = serde_json::from_str(&predict(file, &["--json"])).unwrap();
    let all = all["trips"].as_array().expect("one answer a trip");
    let phase = |of: &Value, index: usize| of["observed_ns"][index].as_i64();
    assert_eq!(all.len(), 2);
    assert_eq!(all[0]["trip"]["down"], "freeze");
    assert_eq!(all[0]["trip"]["up"], "thaw");
    assert_eq!(all[1]["trip"]["down"], "hibernate");
    assert!(all[1]["trip"]["up"].is_null());
    // Suspend and resume of the first, suspend of the second.
    assert_eq!(phase(&all[0], 1), Some(32_002_000));
    assert_eq!(phase(&all[0], 6), Some(12_002_000));
    assert_eq!(phase(&all[1], 1), Some(75_002_000));
    assert_eq!(phase(&all[1], 6), None);
    // The text has the same, and no way up where there is none.
    let said = predict(file, &[]);
    let (first, second) = said.split_once("of a hibernation that calls hibernate").unwrap();
    assert!(first.contains("freeze and thaw") && first.contains("\nresume "), "{said}");
    assert!(second.contains("\nsuspend ") && !second.contains("\nresume "), "{said}");
    let simulated = |text: &str, row: &str| -> f64 {
        let line = text.lines().find(|l| l.starts_with(row)).unwrap();
        line.split_whitespace().nth(2).unwrap().parse().unwrap()
    };
    assert!((simulated(first, "suspend  ") - 32.0).abs() < 0.5, "{said}");
    assert!((simulated(first, "resume  ") - 12.0).abs() < 0.5, "{said}");
    assert!((simulated(second, "suspend  ") - 75.0).abs() < 0.5, "{said}");
}

#[test]
fn what_is_done_with_the_image_is_a_row_of_its_own() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/hibernate.dmesg");
    let said = predict(file, &[]);
    let row = |name: &str| said.lines().find(|l| l.starts_with(name)).unwrap_or_default();
    assert!(row("image allocate").contains(" 250.00") && row("image write").contains(" 2000.00"));
    let (first, second) = said.split_once("that calls poweroff").expect("two trips");
    assert!(first.contains("image write") && !second.contains("image"), "{said}");
}

#[test]
fn a_real_hibernation_is_reproduced() {
    let usual = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let data = std::env::var_os("DORMOUSE_DATA").map_or(usual, PathBuf::from);
    let real = data.join("logs/real");
    let file = real.join("i915-4.6-hibernate-160422-163915-ivybridge-dev-late-ftrace.txt.gz");
    if !file.exists() {
        println!("SKIPPED: {} is absent (set DORMOUSE_DATA)", file.display());
        return;
    }
    let said = predict(file.to_str().unwrap(), &[]);
    assert!(said.contains("calls freeze and restore"), "{said}");
    // Not noirq resume: of its 15.1 ms 1.4 are in no callback, and are missed.
    for row in ["suspend  ", "late suspend", "noirq suspend", "early resume", "resume  "] {
        let line = said.lines().find(|l| l.starts_with(row)).unwrap();
        let times: Vec<f64> =
            line[15..].split_whitespace().filter_map(|w| w.parse().ok()).collect();
        let (seen, now) = (times[0], times[1]);
        let allowed = (seen * 0.03).max(1.0);
        assert!((seen - now).abs() <= allowed, "{line}");
    }
}
