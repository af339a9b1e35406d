//! What a plan says of its budget: met, not met, and by what.

use super::reality::{data, said as of};
use super::words::{CLOCK, said, words};
use serde_json::Value;

const SMALL: &str = "captures/am335x-6.12.tar.gz";

/// `eth0` has no callback; its parent `4a100000.ethernet` takes 58 ms.
#[test]
fn a_device_is_ready_when_what_it_needs_is() {
    for input in [SMALL, "boards/am335x.board"] {
        for (device, needs, least) in [
            ("eth0", "4a100000.ethernet (cpsw)", 58),
            ("mmcblk0", "mmc0:aaaa (mmcblk)", 61),
            ("fb0", "4830e000.lcdc (tilcdc)", 16),
        ] {
            let ask = ["plan", input, "--ready", &format!("{device}=10ms"), "--json"];
            let (code, text) = said(&ask, "");
            assert_eq!(code, Some(4), "{ask:?}: {text}");
            let json: Value =
                serde_json::from_str(text.split("\ndormouse:").next().unwrap()).unwrap();
            let ready = json["before"]["ready_ns"][0].as_i64().expect("a time");
            assert!(ready >= least * 1_000_000, "{device} of {input}: {ready}");
            // The words are of the same answer.
            if input == SMALL {
                continue;
            }
            let text = words(&ask[..4], "");
            let said = format!("{device}, which has no callback and needs {needs}, is ready after");
            assert!(text.contains(&said), "{text}");
        }
    }
    // What must be ready frees nothing by an offer of what stands above it.
    let text = words(&["plan", SMALL, "--ready", "eth0=10ms"], "");
    assert!(!text.contains("needed by eth0"), "{text}");
}

/// Neither more kinds nor an offer meets it, both together do.
#[test]
fn the_next_command_of_a_plan_for_a_device_meets_its_budget() {
    let text = words(&["plan", SMALL, "--ready", "4830e000.lcdc=10ms"], "");
    assert!(!text.contains("No option meets"), "{text}");
    let next = text.split("Next: dormouse ").nth(1).unwrap_or_default();
    let next = next.split(" dormouse: ").next().unwrap_or_default().replace("\\ ", "");
    let (code, after) = said(&next.split_whitespace().collect::<Vec<_>>(), "");
    assert_eq!(code, Some(0), "{next}: {after}");
    assert!(after.contains("4830e000.lcdc (tilcdc) is ready after"), "{after}");
    // Out of reach whatever is allowed: what was tried, and a budget that is not.
    let text = words(&["plan", SMALL, "--ready", "eth0=1ms"], "");
    let said_so = "No option that was tried meets the budget, alone or with the others. Closest is";
    assert!(text.contains(said_so) && text.contains("eth0 ready after"), "{text}");
    let next = text.split("Next: dormouse ").nth(1).unwrap_or_default();
    let next = next.split(" dormouse: ").next().unwrap_or_default().replace("\\ ", "");
    let (code, after) = said(&next.split_whitespace().collect::<Vec<_>>(), "");
    assert_eq!(code, Some(0), "{next}: {after}");
}

#[test]
fn a_plan_names_network_usb_and_disk_that_go() {
    let text = words(&["plan", CLOCK, "--resume", "150ms"], "");
    let lost = "You lose at least the network at phy0, wlan0; the disk nvme0n1; 16 devices go.";
    assert!(text.contains(lost), "{text}");
    let text = words(&["plan", SMALL, "--resume", "79ms", "--offer", "usb1"], "");
    let lost = "You lose at least wake-up by usb1; USB at usb1; 3 devices go.";
    assert!(text.contains(lost), "{text}");
    // The smallest change comes first: the hub, not the controller above it.
    assert!(text.contains(" remove usb1 (usb) "), "{text}");
    assert!(!text.contains("remove 47401400.usb"), "{text}");
    let text = words(&["plan", "boards/phone.board", "--resume", "100ms"], "");
    assert!(text.contains("You lose at least the network at phy0;"), "{text}");
}

#[test]
fn the_steps_show_what_has_a_budget() {
    let ask = ["plan", SMALL, "--suspend", "10ms", "--ready", "4830e000.lcdc=30ms"];
    let text = words(&ask, "");
    assert!(text.contains("alone added suspend ready"), "{text}");
    assert!(text.contains("saves: of suspend and the time until it is ready, added up."), "{text}");
    // A name to be typed is whole.
    let text = words(&["plan", CLOCK, "--resume", "250ms"], "");
    assert!(text.contains("needed by i2c-DLL075B:01: offer i2c-DLL075B:01"), "{text}");
    // And the next command asks the same kernel.
    let text = words(&["plan", "boards/am335x.board", "--kernel", "6.12", "--resume", "250ms"], "");
    assert!(text.contains("Next: dormouse tune boards/am335x.board --kernel 6.12"), "{text}");
}

/// The recording is slower than its model, and CPUs and tasks took their time too: what meets
/// 112.9 ms is the model, or the device phases alone.
#[test]
fn a_budget_that_only_the_model_meets_is_not_met() {
    let text = words(&["plan", SMALL, "--resume", "112.9ms"], "");
    assert!(!text.contains("No change is needed"), "{text}");
    let both = "Resume recorded 113.1 ms, by the model 112.5 ms; the larger is judged.";
    assert!(text.contains(both) && text.contains("recorded cycles meet the budget"), "{text}");
    let text = words(&["plan", SMALL, "--resume", "113.5ms"], "");
    assert!(text.contains("No change is needed: resume stays at 113.1 ms"), "{text}");
}

/// Drawn times are no machine's: a budget is refused unless one insists, and every answer
/// says so.
#[test]
fn a_budget_on_assumed_times_is_refused() {
    let dir = tempfile::tempdir().expect("a folder");
    let board = dir.path().join("drawn.board");
    let text = "board 1\ntimes assumed\ndevice soc\ndevice 10.usb parent=soc resume=30ms\n";
    std::fs::write(&board, text).expect("written");
    let board = board.to_str().expect("a path");
    let (code, text) = said(&["plan", board, "--resume", "20ms"], "");
    assert_eq!(code, Some(5), "{text}");
    assert!(text.contains("every time of this board is assumed, not measured"), "{text}");
    for ask in
        [&["plan", board, "--resume", "20ms", "--force"][..], &["predict", board], &["tune", board]]
    {
        let text = words(ask, "");
        assert!(text.contains("Every time of this board is assumed, not measured"), "{text}");
        let json = words(&[ask, &["--json"]].concat(), "");
        assert!(json.contains("\"Every time of this board is assumed, not measured"), "{json}");
    }
}

/// All machines that explain the log meet 185 ms; of 112 ms they disagree.
#[test]
fn a_budget_that_every_machine_meets_is_met() {
    let Some(log) = data("logs/mail/lenovo-2024-02-12.part1.i8042_suspend_resume_dmesg.txt") else {
        return;
    };
    let text = of(&["plan", "--resume", "185ms"], &log);
    assert!(text.contains(" would meet the budget: resume 2"), "{text}");
    let open = "The recording leaves open how far: resume 14";
    assert!(text.contains(open), "{text}");
    assert!(text.contains("every machine that explains it meets the budget."), "{text}");
    let text = of(&["plan", "--resume", "112ms"], &log);
    assert!(text.contains("the recording leaves open what removing "), "{text}");
    // A range of which the model lies outside stands beside what was recorded.
    let text = of(&["predict", "--without", "MSFT0101:00"], &log);
    assert!(text.contains("resume 254.1 ms as recorded -> 249.5 ms to 260.4 ms"), "{text}");
}
