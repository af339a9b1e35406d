//! One log in the dresses of those who keep it, and from its end.

use dormouse_doctor::finding::{Confidence, Finding};
use dormouse_doctor::judge;
use dormouse_read::doctor::read_bytes;

/// The time of day, and millionths.
fn parts(us: u32) -> (String, String) {
    let s = us / 1_000_000;
    (format!("09:{:02}:{:02}", s / 60, s % 60), format!("{:06}", us % 1_000_000))
}

/// One log as its keepers write it, and each of them with the newest line first.
#[test]
fn a_log_says_the_same_in_every_dress_and_from_its_end() {
    let log = [
        (98_803_081, "PM: suspend entry (deep)"),
        (98_819_226, "Freezing user space processes"),
        (
            118_822_270,
            "Freezing user space processes failed after 20.003 seconds (1 tasks refusing to freeze, wq_busy=0):",
        ),
        (118_822_281, "task:syncthing       state:D stack:0     pid:474   ppid:1"),
        (118_822_291, " request_wait_answer+0xa1/0x210 [fuse]"),
        (118_855_001, "Restarting tasks ... done."),
        (118_856_308, "PM: suspend exit"),
        (118_856_371, "PM: suspend entry (s2idle)"),
        (118_869_226, "Freezing user space processes"),
        (119_100_002, "xhci_hcd 0000:00:14.0: PM: failed to suspend async: error -16"),
        (119_700_001, "Restarting tasks ... done."),
        (119_701_000, "PM: suspend exit"),
        (261_000_000, "amd_pmc AMDI0007:00: Last suspend didn't reach deepest state"),
    ];
    type Keeper = fn(u32, &str) -> String;
    let keepers: [(&str, Keeper); 17] = [
        ("dmesg", |us, m| format!("[{:12.6}] {m}", f64::from(us) / 1e6)),
        ("with callers", |us, m| format!("[{:12.6}][ T1234] {m}", f64::from(us) / 1e6)),
        ("dmesg -T", |us, m| format!("[Mon Mar 10 {} 2025] {m}", parts(us).0)),
        ("dmesg --time-format iso", |us, m| {
            format!("2025-03-10T{},{}+00:00 {m}", parts(us).0, parts(us).1)
        }),
        ("in colours", |us, m| {
            format!("\u{1b}[32m[{:12.6}] \u{1b}[0m\u{1b}[33m{m}\u{1b}[0m", f64::from(us) / 1e6)
        }),
        ("short", |us, m| format!("Mar 10 {} fw13 kernel: {m}", parts(us).0)),
        ("short-full", |us, m| format!("Mon 2025-03-10 {} CET fw13 kernel: {m}", parts(us).0)),
        ("short-iso", |us, m| format!("2025-03-10T{}+01:00 fw13 kernel: {m}", parts(us).0)),
        ("short-precise", |us, m| {
            format!("Mar 10 {}.{} fw13 kernel: {m}", parts(us).0, parts(us).1)
        }),
        ("short-monotonic", |us, m| format!("[{:12.6}] fw13 kernel: {m}", f64::from(us) / 1e6)),
        ("json", |us, m| {
            format!(
                "{{\"MESSAGE\":\"{m}\",\"_SOURCE_MONOTONIC_TIMESTAMP\":\"{us}\",\"_TRANSPORT\":\"kernel\"}}"
            )
        }),
        ("json-pretty", |us, m| {
            format!(
                "{{\n\t\"_SOURCE_MONOTONIC_TIMESTAMP\" : \"{us}\",\n\t\"MESSAGE\" : \"{m}\",\n\t\"_TRANSPORT\" : \"kernel\"\n}}"
            )
        }),
        ("RFC 3164", |us, m| format!("<6>Mar 10 {} fw13 kernel: {m}", parts(us).0)),
        ("RFC 5424", |us, m| {
            format!("<6>1 2025-03-10T{}.{}Z fw13 kernel - - - {m}", parts(us).0, parts(us).1)
        }),
        ("logcat", |us, m| {
            let (tag, rest) = m.split_once(": ").unwrap_or(("", m));
            format!("03-10 {}.{}     0     0 I {tag:8}: {rest}", parts(us).0, &parts(us).1[..3])
        }),
        ("a serial console", |us, m| format!("[{:12.6}] {m}\r", f64::from(us) / 1e6)),
        ("no times", |_, m| m.into()),
    ];
    for (name, keeper) in keepers {
        let mut lines: Vec<String> = log.iter().map(|(us, m)| keeper(*us, m)).collect();
        for order in ["forward", "from its end"] {
            let text = read_bytes("log", lines.join("\n").as_bytes());
            let report = judge(&text.case);
            let mut ids: Vec<&str> = report.findings.iter().map(|f| f.id).collect();
            ids.sort_unstable();
            // Without times nobody knows how soon the second sleep came.
            let mut all =
                vec!["device-failed", "freeze-failed", "mode-name-only", "sync-retry-s2idle"];
            all.truncate(if name == "no times" { 3 } else { 4 });
            assert_eq!(ids, all, "{name}, {order}");
            let guess = |f: &Finding| f.confidence == Confidence::Guess;
            assert!(!report.findings.iter().any(guess), "{name}, {order}: {report:?}");
            assert_eq!(report.sleeps.len(), 2, "{name}, {order}");
            let told = text.losses.list.iter().any(|l| l.kind == "newest_first");
            assert_eq!(told, order != "forward", "{name}");
            lines.reverse();
        }
    }
}

/// Another log in the same text, or the older boot below the newer one, turns nothing round.
#[test]
fn a_second_log_is_no_reversed_one() {
    let boot = |from: u32| {
        format!(
            "[  {from}.100000] PM: suspend entry (deep)\n[  {from}.200000] Freezing user space processes\n[  {from}.900000] PM: suspend exit\n"
        )
    };
    let text = read_bytes("log", format!("{}{}{}", boot(900), boot(500), boot(100)).as_bytes());
    assert_eq!(judge(&text.case).sleeps.len(), 3);
    assert!(text.losses.list.is_empty(), "{:?}", text.losses);
}
