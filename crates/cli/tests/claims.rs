//! What a screen claims of what its input does not say.

use super::reality::{data, printed, said as of};
use super::words::{CLOCK, said, words};
use std::path::Path;

const SMALL: &str = "captures/am335x-6.12.tar.gz";

#[test]
fn a_guessed_kernel_is_no_fact() {
    let text = words(&["predict", "boards/am335x.board", "--without", "usb1"], "");
    assert!(text.contains("Kernel unknown, taken as 6.17.8 to 7.3 (G4)"), "{text}");
    let text = words(&["predict", "boards/am335x.board", "--all-kernels"], "");
    assert!(text.contains("The input names no kernel; on 6.17.8 to 7.3: 128.4 ms."), "{text}");
    assert!(text.contains("longest up to 6.7"), "{text}");
    let text = words(&["tune", SMALL], "");
    assert!(text.contains("Kernel 6.12.117 (G1). "), "{text}");
    assert!(!text.contains(" today "), "{text}");
    let Some(log) = data("logs/mail/tegra30-5.5rc-ftrace.part1.trace.txt") else { return };
    let text = of(&["predict", "--without", "drm"], &log);
    assert!(text.contains("Kernel unknown, taken as 6.17.8 to 7.3 (G4)."), "{text}");
    let text = of(&["predict", "--kernel", "5.5"], &log);
    assert!(text.contains("Kernel unknown, taken as 6.17.8 to 7.3 (G4) -> 5.5 (G1)."), "{text}");
}

/// What follows `Next: dormouse`, without what is printed below it.
fn next(text: &str) -> String {
    let next = text.split("Next: dormouse ").nth(1).unwrap_or_default();
    next.split(" dormouse: ").next().unwrap_or_default().replace("\\ ", "")
}

#[test]
fn what_a_prediction_of_another_kernel_leads_to_answers() {
    for more in [&["--kernel", "7.3"][..], &["--all-kernels"]] {
        let text = words(&[&["predict", SMALL], more].concat(), "");
        let command = next(&text);
        let (code, after) = said(&command.split_whitespace().collect::<Vec<_>>(), "");
        assert_eq!(code, Some(0), "{command}: {after}");
    }
}

#[test]
fn two_devices_of_one_name_are_not_one_said_twice() {
    let text = words(&["predict", CLOCK, "--without", "0000:00:00.0"], "");
    assert!(text.contains("Removed: 0000:00:00.0 (2 devices of that name)."), "{text}");
}

#[test]
fn a_prediction_keeps_80_columns() {
    let keeps = |text: &str| {
        let wide = text.lines().filter(|l| l.chars().count() > 80).collect::<Vec<_>>();
        assert!(wide.is_empty(), "{wide:#?}");
    };
    let (_, text) = said(&["predict", CLOCK, "--without", "phy0"], "");
    assert!(text.contains("(async, but queued late by the main thread)"), "{text}");
    keeps(&text);
    for (log, without) in [
        ("logs/real/ti-j7200-8250-omap-2023-10.txt.gz", "*"),
        ("logs/real/xps13-9360-sleepgraph-2020-06-29.txt.gz", "0000:00:02.0"),
    ] {
        let Some(log) = data(log) else { continue };
        keeps(&printed(&["predict", "--without", without], &log));
    }
}

/// Callbacks of this piece ended on worker threads; none of them begins in it.
#[test]
fn a_thread_that_is_not_seen_is_not_said_to_be_off() {
    let name = "logs/pm-graph/usb-4.9/suspend-usb-default/ivybridge_mem_ftrace.txt";
    let Some(trace) = data(name) else { return };
    let bytes = std::fs::read(trace).expect("a trace");
    let folder = tempfile::tempdir().expect("a folder");
    let piece = folder.path().join("piece.txt");
    std::fs::write(&piece, &bytes[bytes.len() - 400_000..]).expect("written");
    let text = of(&["plan", "--resume", "100ms"], Path::new(&piece));
    assert!(!text.contains("pm_async was off"), "{text}");
    assert!(text.contains("No callback in the recording began on a worker thread"), "{text}");
}
