//! From a log without callbacks to the devices that were waited for, and two such logs beside
//! each other.

use crate::ran::output;
use serde_json::Value;
use std::path::{Path, PathBuf};

fn file(name: &str, text: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("waits");
    std::fs::create_dir_all(&dir).expect("a folder");
    let path = dir.join(name);
    std::fs::write(&path, text).expect("written");
    path
}

fn ran(words: &[&str], paths: &[&Path]) -> (Option<i32>, String) {
    let all = words.iter().map(Into::into).chain(paths.iter().map(|p| p.as_os_str().to_owned()));
    let out = output(all);
    (out.status.code(), String::from_utf8(out.stdout).expect("text"))
}

const PLAIN: &str = "\
[  700.000100] PM: suspend entry (deep)
[  700.010000] Freezing remaining freezable tasks ... (elapsed 0.001 seconds) done.
[  700.020000] printk: Suspending console(s) (use no_console_suspend to debug)
[  700.300000] ACPI: EC: interrupt blocked
[  700.310000] Disabling non-boot CPUs ...
[  700.320000] smpboot: CPU 1 is now offline
[  700.400000] Enabling non-boot CPUs ...
[  700.410000] CPU1 is up
[  700.420000] ACPI: PM: Waking up from system sleep state S3
[  700.430000] ACPI: EC: interrupt unblocked
[  700.500000] ata6: link is slow to respond, please be patient (ready=0)
[  701.100000] thunderbolt 0000:a4:00.6: ready 640ms after resume
[  703.600000] ata6: SATA link up 1.5 Gbps (SStatus 113 SControl 300)
[  703.700000] OOM killer enabled.
[  703.710000] Restarting tasks ... done.
[  703.720000] PM: suspend exit
";

/// The log in other dresses says the same.
#[test]
fn lines_of_a_log_without_callbacks_name_devices() {
    let quoted: String = PLAIN.lines().map(|l| format!("> {l}\n")).collect();
    let decoded: String = PLAIN.lines().map(|l| format!("kern  :info  : {l}\n")).collect();
    let caller: String = PLAIN.lines().map(|l| l.replacen("] ", "][ T4711] ", 1) + "\n").collect();
    let syslog: String =
        PLAIN.lines().map(|l| format!("Nov  3 10:11:12 host kernel: {l}\n")).collect();
    for (name, text) in [
        ("raw", PLAIN),
        ("quoted", &quoted),
        ("decoded", &decoded),
        ("caller", &caller),
        ("syslog", &syslog),
    ] {
        let path = file(&format!("{name}.log"), text);
        let (code, out) = ran(&["show", "--only", "sleep", "--json"], &[&path]);
        assert_eq!(code, Some(0), "{name}");
        let doc: Value = serde_json::from_str(&out).expect("JSON");
        let told: Vec<String> = doc["cycles"][0]["waits"]
            .as_array()
            .expect("waits")
            .iter()
            .map(|w| {
                let ms = w["time_ns"].as_i64().expect("a time") / 1_000_000;
                let text = |key: &str| w[key].as_str().expect("text").to_owned();
                format!("{} {} {ms} {}", text("device"), text("cause"), text("confidence"))
            })
            .collect();
        assert_eq!(told, ["ata6 link 3100 likely", "0000:a4:00.6 not_ready 640 certain"], "{name}");
        let (_, screen) = ran(&["show", "--only", "sleep"], &[&path]);
        assert!(screen.contains("for ata6, at most 3.1 s"), "{name}: {screen}");
        assert!(!screen.contains("no device can be named"), "{name}: {screen}");
    }
}

/// Two mails that quote the same callbacks of two kernels.
#[test]
fn excerpts_are_compared_callback_by_callback() {
    let excerpt = |ms: [i64; 3]| {
        let (mut text, mut us) = (String::from("Here is what I see:\n\n"), 40_000_000);
        for (device, ms) in
            ["i2c_hid i2c-ELAN0412:00", "xe 0000:00:02.0", "sdhci 80860F14:00"].into_iter().zip(ms)
        {
            let at = |us: i64| format!("> [{:5}.{:06}] ", us / 1_000_000, us % 1_000_000);
            let call = "calling generic_suspend+0x0/0x80 @ 311, parent: bus";
            text += &format!("{}{device}: PM: {call}\n", at(us));
            us += ms * 1_000;
            let end = format!("generic_suspend+0x0/0x80 returned 0 after {} usecs", ms * 1_000);
            text += &format!("{}{device}: PM: {end}\n", at(us));
        }
        text
    };
    let (a, b) = (file("a.txt", &excerpt([4, 90, 7])), file("b.txt", &excerpt([4, 60, 12])));
    let (code, screen) = ran(&["compare"], &[&a, &b]);
    assert_eq!(code, Some(0));
    assert!(screen.starts_with("3 callbacks on both sides: together 101.00 -> 76.00 ms (-25.00)"));
    assert!(screen.contains("0000:00:02.0 generic_suspend"), "{screen}");
    assert!(screen.lines().any(|l| l.contains("sum") && l.ends_with("-25.00")), "{screen}");
    let (code, json) = ran(&["compare", "--json"], &[&a, &b]);
    let doc: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!((code, &doc["subject"]), (Some(0), &Value::from("excerpts")));
    let account = &doc["accounts"][0];
    let sum: f64 = ["devices", "order", "waits", "unexplained"]
        .iter()
        .map(|k| account[k].as_f64().expect("a sum"))
        .sum();
    assert!((sum - account["change"].as_f64().expect("a change")).abs() < 0.5, "{account}");
    // A limit is judged on totals, and there are none.
    let (code, _) = ran(&["compare", "--fail-if-slower", "3%"], &[&a, &b]);
    assert_eq!(code, Some(1));
}
