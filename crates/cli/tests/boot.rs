//! `dormouse boot check` and boards of device trees, as a person uses them.

use super::words::said;
use serde_json::Value;

const SAMPLE: &str = "crates/read/tests/dtb/sample.dtb";

#[test]
fn a_tree_with_all_drivers_probes_in_time() {
    let (code, text) = said(&["boot", "check", SAMPLE, "--kernel", "6.12"], "");
    assert_eq!(code, Some(0), "{text}");
    assert!(text.starts_with("Every device that has a driver probes in time.\n"), "{text}");
    assert!(text.trim_end().lines().last().unwrap().starts_with("Next: dormouse boot check"));
    assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
}

#[test]
fn a_missing_driver_is_named_with_what_waits_for_it() {
    let orphan = ["boot", "check", SAMPLE, "--kernel", "6.12", "--without", "dormouse,clock"];
    let (_, text) = said(&orphan, "");
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("only when the time for drivers is over"), "{text}");
    let why =
        "40003000.serial: 40002000.clocks has no driver. Enable a driver for \"dormouse,clock\"";
    assert!(flat.contains(why), "{text}");

    let trap = [&orphan[..], &["--no-timeout", "--json"]].concat();
    let (_, text) = said(&trap, "");
    let json: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(json["schema"], "dormouse-boot/1");
    let never = json["never"].as_array().unwrap();
    assert!(never.iter().any(|w| w["device"] == "40003000.serial"), "{text}");
    assert!(never.iter().all(|w| w["root"]["device"] == "40002000.clocks"), "{text}");
    assert_eq!(json["driverless"][0]["compatible"], "dormouse,clock");

    // Without links nobody waits, whatever is missing.
    let off = [&orphan[..], &["--fw-devlink", "off", "--against", "rpm"]].concat();
    let (_, text) = said(&off, "");
    assert!(text.contains("is a new link."), "{text}");
}

#[test]
fn a_log_in_the_place_of_a_tree_is_read_as_text() {
    let log = "[   12.3] platform a.dev: deferred probe pending: wait for supplier /b\n";
    let (code, text) = said(&["boot", "check", "-"], log);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("a.dev"), "{text}");
}

#[test]
fn a_board_has_the_links_of_the_kernel_that_is_named() {
    let of = |words: &[&str]| {
        let args = [&["board", "from", SAMPLE][..], words].concat();
        said(&args, "").1.lines().filter(|l| l.starts_with("link ")).count()
    };
    assert_eq!(of(&["--kernel", "6.12"]), 7);
    // Clocks without #clock-cells end a list in 6.1, and links for sync_state alone go.
    assert_eq!(of(&["--kernel", "6.12", "--fw-devlink", "off"]), 0);
    assert_eq!(of(&["--kernel", "6.12", "--fw-devlink", "permissive"]), 0);
    let (code, text) = said(&["board", "from", SAMPLE, "--kernel", "x"], "");
    assert!(code == Some(2) && text.contains("write a release"), "{text}");
}
