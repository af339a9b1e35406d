//! `dormouse check` and boards of device trees, as a person uses them.

use super::words::said;
use serde_json::Value;

const SAMPLE: &str = "crates/read/tests/dtb/sample.dtb";

#[test]
fn a_tree_with_all_drivers_probes_in_time() {
    let (code, text) = said(&["check", SAMPLE, "--kernel", "6.12"], "");
    assert_eq!(code, Some(0), "{text}");
    assert!(text.starts_with("Every device that has a driver probes in time.\n"), "{text}");
    assert!(text.trim_end().lines().last().unwrap().starts_with("Next: dormouse check"));
    assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
}

#[test]
fn a_missing_driver_is_named_with_what_waits_for_it() {
    let orphan = ["check", SAMPLE, "--kernel", "6.12", "--without", "dormouse,clock"];
    let (code, text) = said(&orphan, "");
    assert_eq!(code, Some(0), "late is not never: {text}");
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("only when the time for drivers is over"), "{text}");
    let why =
        "40003000.serial: 40002000.clocks has no driver. Enable a driver for \"dormouse,clock\"";
    assert!(flat.contains(why), "{text}");

    let trap = [&orphan[..], &["--no-timeout", "--json"]].concat();
    let (code, text) = said(&trap, "");
    assert!(code == Some(4) && text.ends_with(" devices never probe\n"), "{text}");
    let document = &text[..=text.rfind('}').expect("an object")];
    let json: Value = serde_json::from_str(document).expect("JSON");
    assert_eq!(json["schema"], "dormouse-check/1");
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
fn a_name_that_nothing_has_is_no_question() {
    let ask = |words: &[&str]| said(&[&["boot", "check", SAMPLE][..], words].concat(), "");
    let (code, text) = ask(&["--without", "dormouse,clock", "--without", "dormouse,clok"]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("--without dormouse,clok:") && !text.contains("probes"), "{text}");
    assert_eq!(ask(&["--without", "40002000.clocks"]).0, Some(0));
}

#[test]
fn a_log_in_the_place_of_a_tree_is_read_as_text() {
    let log = "[   12.3] platform a.dev: deferred probe pending: wait for supplier /b\n";
    let (code, text) = said(&["check", "-"], log);
    assert_eq!(code, Some(4), "{text}");
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

/// An arm64 image has tables of drivers; this one has one for the clock of the sample.
fn table(compatible: &str) -> Vec<u8> {
    let mut e = vec![0; 64];
    e.extend_from_slice(compatible.as_bytes());
    e.resize(400, 0);
    e
}

#[test]
fn a_folder_of_modules_says_which_drivers_are_missing() {
    let dir = tempfile::tempdir().expect("a folder");
    let at = |name: &str| dir.path().join(name).display().to_string();
    let check = |modules: &str| {
        let args = ["check", SAMPLE, "--kernel", "6.12", "--modules", modules, "--json"];
        let (code, text) = said(&args, "");
        (code, text.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let folder = dir.path().display().to_string();
    // A package that was only unpacked.
    let (code, text) = check(&folder);
    assert!(code != Some(0) && text.contains("depmod -b"), "{text}");
    std::fs::write(at("modules.alias"), "alias of:N*T*Cdormouse,uart uart_mod\n").unwrap();
    // What is built in is not known: nothing is missing, and a caution says why.
    let (_, text) = check(&folder);
    let json: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(json["driverless"].as_array().unwrap().len(), 0, "{text}");
    assert!(text.contains("\"built_in_unknown\""), "{text}");
    std::fs::write(at("modules.builtin.modinfo"), "x.alias=of:N*T*Cother,x\0").unwrap();
    let (_, text) = check(&folder);
    let json: Value = serde_json::from_str(&text).expect("JSON");
    let without = |json: &Value| -> Vec<String> {
        let all = json["driverless"].as_array().unwrap().iter();
        all.map(|d| d["compatible"].as_str().unwrap().to_owned()).collect()
    };
    assert!(without(&json).contains(&"dormouse,clock".into()), "{text}");
    let missing = json["without_driver"].as_array().unwrap();
    assert!(missing.iter().any(|d| d["compatible"] == "dormouse,phy"), "{text}");
    assert!(missing.iter().all(|d| d["compatible"] != "dormouse,uart"), "{text}");
    // A module that is loaded anyway drives it too, and has no alias for it.
    std::fs::write(at("modules.order"), "kernel/uart-mod.ko\n").unwrap();
    std::fs::create_dir(at("kernel")).unwrap();
    std::fs::write(at("kernel/uart-mod.ko"), table("dormouse,clock")).unwrap();
    let (_, text) = check(&folder);
    let json: Value = serde_json::from_str(&text).expect("JSON");
    assert!(!without(&json).contains(&"dormouse,clock".into()), "{text}");
    // One that is damaged is counted.
    std::fs::remove_file(at("kernel/uart-mod.ko")).unwrap();
    std::fs::write(at("kernel/uart-mod.ko.xz"), b"\xfd7zXZ\0 no such stream").unwrap();
    let (_, text) = check(&folder);
    assert!(text.contains("\"unread_module\""), "{text}");
}
