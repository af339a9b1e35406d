//! Process 1 of a guest in which `dormouse search` looks for devices that wake it, and for a
//! driver that refuses to sleep: one, two, two only together, none; always or now and then;
//! killed on the way. Run by `tools/check-search`; does nothing outside such a guest.
//!
//! kernel/trouble makes the wake-ups: one of a device that may not wake the machine is none,
//! by the kernel's own rule (`pm_wakeup_dev_event`). Prints one line a finding and `PASSED` or
//! `FAILED` at the end.

#[allow(dead_code, reason = "shared with other guests")]
mod common;

use common::{compare, dormouse, knobs};
use std::fs;

const PLAN: &str = "/sys/kernel/debug/dormouse_trouble/plan";
/// What the next sleeps meet: a line each, DEVICE WHAT HOW_OFTEN.
const PLANTED: &str = "/tmp/planted";
/// How many sleeps were.
const COUNT: &str = "/tmp/count";

fn main() {
    // What `search` runs after each sleep: it plants the trouble of the next.
    if std::env::args().nth(1).as_deref() == Some("plant") {
        plant();
        return;
    }
    common::run(check);
}

/// Plants the trouble of the next sleep. A trouble that comes once in n comes in no order that
/// a search could follow.
fn plant() {
    let count: u64 = fs::read_to_string(COUNT).ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    let _ = fs::write(COUNT, (count + 1).to_string());
    fs::write(PLAN, "clear").expect("a plan can be cleared");
    for (n, line) in fs::read_to_string(PLANTED).unwrap_or_default().lines().enumerate() {
        let words: Vec<&str> = line.split(' ').collect();
        let once_in: u64 = words[2].parse().unwrap_or(1);
        let mixed = (count + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15 ^ (n as u64) << 32);
        if (mixed >> 33).is_multiple_of(once_in.max(1)) {
            let number = if words[1] == "fail" { 16 } else { 0 };
            // The plan has devices without their number.
            let device = words[0].trim_end_matches(".0");
            fs::write(PLAN, format!("{device} suspend {} {number}", words[1]))
                .expect("trouble can be planted");
        }
    }
}

fn check() -> usize {
    let module = match fs::File::open("/trouble.ko") {
        Ok(module) => module,
        Err(e) => {
            println!("there is no module: {e}");
            return 1;
        }
    };
    if let Err(e) = rustix::system::finit_module(&module, c"", 0) {
        println!("the module cannot be loaded: {e}");
        return 1;
    }
    let cases: [(&str, &str, &[&str], &str, i32); 6] = [
        ("certain", "wakeup", &["elm-gpio.0 wake 1"], "This machine is woken by elm-gpio.0 ", 0),
        ("now and then", "wakeup", &["vexnet.0 wake 2"], "This machine is woken by vexnet.0 ", 0),
        (
            "two",
            "wakeup",
            &["vexnet.0 wake 2", "oak-bridge.0 wake 1"],
            "This machine is woken by vexnet.0 (vexnet) and oak-bridge.0 (oak-bridge), each",
            0,
        ),
        ("none", "wakeup", &[], "The trouble did not come", 4),
        // No wake-up, so no right to wake is to blame.
        ("elsewhere", "wakeup", &["firdsp.0 fail 2"], "None of ", 4),
        (
            "driver",
            "driver",
            &["firdsp.0 fail 1"],
            "The trouble comes with the driver of firdsp.0",
            0,
        ),
    ];
    let mut bad = 0;
    let before = knobs();
    let mut slept = 0;
    for (name, kind, planted, says, code) in cases {
        let _ = fs::write(PLANTED, planted.join("\n"));
        let _ = fs::remove_file(COUNT);
        plant();
        let folder = format!("/tmp/{}", name.replace(' ', "-"));
        let mut args = vec!["search", kind, "--yes", "--pm-test", "devices", "--interval", "0"];
        args.extend(["--one-in", "3", "--cycles", "80", "--campaign", &folder]);
        // Four are enough to be told apart.
        for among in ["vexnet.0", "elm-gpio.0", "firdsp.0", "oak-bridge.0"] {
            args.extend(["--among", among]);
        }
        args.extend(["--", "/init", "plant"]);
        // Killed twice on the way: in its third sleep, and in the tenth after that.
        for at in ["3.12", "10.20"] {
            let ran = dormouse(&args, Some(at));
            if ran.killed {
                bad += usize::from(!dormouse(&["restore"], None).success);
                bad += compare(&format!("{name}, killed at {at}"), &before);
                // The sleep that was cut may have met what was planted.
                plant();
            } else if ran.code != Some(code) {
                println!("{name}: it ended before {at}: {}", ran.text);
                bad += 1;
            }
        }
        let ran = dormouse(&args, None);
        let text = ran.text.split_whitespace().collect::<Vec<_>>().join(" ");
        let right = ran.code == Some(code) && text.contains(says);
        let list = fs::read_to_string(format!("{folder}/trials.jsonl")).unwrap_or_default();
        let sleeps = list.lines().filter(|l| l.contains("\"end\"")).count();
        slept += sleeps;
        println!("{name}: {} after {sleeps} sleeps", if right { "right" } else { "WRONG" });
        println!("{}", ran.text);
        bad += usize::from(!right) + compare(name, &before);
    }
    println!("{slept} sleeps in all");
    bad
}
