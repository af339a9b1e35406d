//! Process 1 of a guest whose callbacks sleep, poll, lock, load and transfer as a plan says, while
//! `dormouse record --inside` looks. Run by `tools/check-inside`; does nothing outside such a
//! guest.
//!
//! kernel/trouble notes what each wait took by the clock of the trace. What was recorded must be
//! that, with its caller; phases must be no longer for it; and whatever step the recorder is killed
//! at, everything is put back. Prints one line a finding and `PASSED` or `FAILED` at the end.

#[allow(dead_code, reason = "shared with other guests")]
mod common;

use common::{compare, dormouse, knobs};
use dormouse_base::capture::Capture;
use dormouse_base::phase::Phase;
use dormouse_base::stats::random::Random;
use std::collections::BTreeMap;
use std::fs;

const TROUBLE: &str = "/sys/kernel/debug/dormouse_trouble";
const BOARD: &str = "/sys/kernel/debug/dormouse/board";
const CAPTURE: &str = "/tmp/capture.tar.gz";

/// What the callbacks do.
const PLAN: &str = "vexnet suspend bus 30;oak-bridge suspend bus 120;\
    wibble-hub suspend debounce 100;wibble-hub resume debounce 20;\
    zorb_codec late settle 5;zorb_codec resume settle 12;zorb_codec suspend event 20;\
    vexnet suspend poll 40;quux-phy suspend answer 30;quux-phy resume answer 7;\
    oak-bridge resume vain 50;firdsp resume load 0;elm-gpio suspend i2c 12;\
    yew_mmc suspend flush 0;yew_mmc resume acpi 20";

/// Pairs of a device and a function of that, without a limit or with it.
const KINDS: usize = 12;

/// Who calls each function there (kernel/trouble/inside.c).
const CALLERS: [(&str, &str); 10] = [
    ("wait_event", "zorb_wait_event"),
    ("flush_work", "fnord_flush"),
    ("usleep_range_state", "zorb_settle"),
    ("wait_for_completion", "quux_wait_answer"),
    ("wait_for_completion_timeout", "oak_wait_in_vain"),
    ("mutex_lock", "fnord_use_bus"),
    ("request_firmware", "firdsp_load"),
    ("i2c_transfer", "elm_read_gpio"),
    ("acpi_evaluate_object", "yew_ask_firmware"),
    ("msleep", "wibble_debounce fnord_use_bus"),
];

/// Sleeps of each kind whose phases are compared.
const ROUNDS: usize = 5;

fn main() {
    common::run(check);
}

fn check() -> usize {
    let _ = fs::create_dir_all("/lib/firmware/dormouse");
    let _ = fs::write("/lib/firmware/dormouse/firdsp.bin", vec![0x5a; 1 << 20]);
    for module in ["/trouble.ko", "/board.ko"] {
        let loaded =
            fs::File::open(module).and_then(|m| Ok(rustix::system::finit_module(&m, c"", 0)?));
        if let Err(e) = loaded {
            println!("{module} cannot be loaded: {e}");
            return 1;
        }
    }
    let before = knobs();
    let mut bad = waits();
    bad += compare("after the recordings", &before);
    bad += phases("the plan", "", "1", 0);
    bad += match fs::write(BOARD, board()) {
        Ok(()) => {
            phases("200 devices in order", "clear", "0", 0)
                + phases("200 devices side by side", "clear", "1", 2 * 200)
        }
        Err(e) => {
            println!("the board cannot be built: {e}");
            1
        }
    };
    let _ = fs::write(BOARD, "dormouse-board 1\nend\n");
    bad + killed()
}

/// 200 devices that sleep from 5 us to 8 ms in each of six phases, as many short as long.
fn board() -> String {
    let mut text = String::from("dormouse-board 1\ndevice root active\n");
    let mut random = Random::new(1);
    for i in 0..200 {
        text += &format!("device d{i} parent={} async active bound", i / 10);
        for phase in ["suspend", "late", "noirq", "resume_noirq", "early", "resume"] {
            let share = random.below(1_000) as f64 / 1_000.0;
            text += &format!(" {phase}={}", (5_000.0 * 1_600f64.powf(share)) as u64);
        }
        text += "\n";
    }
    text + "end\n"
}

/// Records one sleep, with that if it is said; what was said, and what can be read of it.
fn record(how: &[&str]) -> Option<(String, Capture)> {
    let mut args = vec!["record", "--yes", "--pm-test", "platform", "-o", CAPTURE];
    args.extend(how);
    let _ = fs::remove_file(CAPTURE);
    let ran = dormouse(&args, None);
    if !ran.success {
        println!("record: {}", ran.text);
        return None;
    }
    let bytes = fs::read(CAPTURE).ok()?;
    let reading = dormouse_read::read_bytes("x", &bytes, &Default::default()).ok()?;
    Some((ran.text, reading.captures.into_iter().next()?))
}

/// Each wait of the plan is recorded with its time and its caller.
fn waits() -> usize {
    let written = fs::write(format!("{TROUBLE}/plan"), format!("clear;{PLAN}"));
    if let Err(e) = written {
        println!("the plan is refused: {e}");
        return 1;
    }
    let list = format!("{TROUBLE}/inside");
    let mut bad = 0;
    for (round, how) in [(1, "--inside=all"), (2, "--inside=all"), (3, "--inside"), (4, "--inside")]
    {
        let _ = fs::read_to_string(&list);
        let Some((said, capture)) = record(&[how]) else { return bad + 1 };
        let truth = fs::read_to_string(&list).unwrap_or_default();
        if round == 1 {
            print!("{said}");
        }
        let costs =
            said.contains("What callbacks wait for was probed") && said.contains(" ns each");
        if !costs {
            println!("it does not say what the probes cost");
            bad += 1;
        }
        if !capture.losses.list.is_empty() {
            println!("losses: {:?}", capture.losses.list);
        }
        bad += round_of(round, how == "--inside=all", &truth, &capture);
    }
    bad
}

/// Sums by device and function: calls, ns.
type Sums = BTreeMap<(String, String), (u64, i64)>;

fn round_of(round: u32, all: bool, truth: &str, capture: &Capture) -> usize {
    let mut was = Sums::new();
    for line in truth.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [device, function, ns] = words[..] else { continue };
        // A register that is polled is many short sleeps, and what lies between them.
        let function = if function == "poll" { "usleep_range_state" } else { function };
        let ns: i64 = ns.parse().unwrap_or(0);
        // A lock that nobody holds is no wait.
        let free = function == "mutex_lock" && ns < 100_000;
        if free || (function == "wait_for_completion" && !all) {
            continue;
        }
        let sum = was.entry((device.into(), function.into())).or_default();
        sum.0 += 1;
        sum.1 += ns;
    }
    let mut found = Sums::new();
    let mut bad = 0;
    for w in &capture.cycles[0].waits {
        let name = |s| capture.names.get(s);
        let device = name(capture.graph.get(w.device).name).to_string();
        if !fs::exists(format!("/sys/bus/platform/drivers/{}", device.trim_end_matches(".0")))
            .unwrap_or(false)
            || !was.keys().any(|k| k.0 == device)
        {
            println!("{round}: besides: {device}, {}: {}", name(w.function), w.total);
            continue;
        }
        let (function, caller) = (name(w.function), name(w.caller));
        let sum = found.entry((device.clone(), function.into())).or_default();
        sum.0 += w.calls;
        sum.1 += w.total.0;
        let polled = function == "usleep_range_state" && caller == "vexnet_poll";
        let right = CALLERS
            .iter()
            .any(|(f, callers)| *f == function && callers.split(' ').any(|c| c == caller));
        let held = w.holds_for.map(|d| name(capture.graph.get(d).name));
        if round == 1 {
            println!(
                "{device}: {function} in {caller}, {} times, {}, held by {held:?}, {:?}",
                w.calls,
                w.total,
                name(w.what)
            );
        }
        if !right && !polled {
            println!("{round}: {device}: {function} was called by {caller:?}");
            bad += 1;
        }
        if function == "mutex_lock" && !held.is_some_and(|h| h != device && h.ends_with(".0")) {
            println!("{round}: {device}: the mutex was held by {held:?}");
            bad += 1;
        }
        if function == "request_firmware" && name(w.what) != "dormouse/firdsp.bin" {
            println!("{round}: {device}: the firmware is {:?}", name(w.what));
            bad += 1;
        }
    }
    for (key, (_, ns)) in &was {
        let is = found.get(key).map_or(0, |f| f.1);
        let (off, most) = ((is - ns).abs(), (ns / 50).max(50_000));
        let verdict = if off > most { "WRONG" } else { "right" };
        println!(
            "{round}: {} {}: {} us, recorded {} us, {verdict}",
            key.0,
            key.1,
            ns / 1_000,
            is / 1_000
        );
        bad += usize::from(off > most);
    }
    // Whatever takes turns differently is still waited for.
    if was.len() < KINDS || !was.keys().any(|k| k.1 == "mutex_lock") {
        println!("{round}: the module noted {} kinds of waits: {:?}", was.len(), was.keys());
        bad += 1;
    }
    bad
}

/// Phases with and without probes: at most 1 % or 25 us longer. Where callbacks sleep side by
/// side on the one CPU, so many probes of theirs are hit while it may have nothing else to do;
/// those are held to a microsecond each, in the phases that have callbacks.
fn phases(what: &str, plan: &str, pm_async: &str, probes: i64) -> usize {
    if !plan.is_empty() {
        let _ = fs::write(format!("{TROUBLE}/plan"), plan);
    }
    let mut times: BTreeMap<Phase, [Vec<i64>; 2]> = BTreeMap::new();
    // The first of each is warmer than none and does not count.
    for round in 0..=ROUNDS {
        for inside in [false, true] {
            let Some((said, capture)) =
                record(&["--pm-async", pm_async, "--inside"][..2 + usize::from(inside)])
            else {
                return 1;
            };
            if round == 0 {
                if inside {
                    let line = said.lines().skip_while(|l| !l.starts_with("What callbacks"));
                    println!("{what}: {}", line.take(2).collect::<Vec<_>>().join(" "));
                    println!("{what}: {}", events());
                }
                continue;
            }
            for span in capture.cycles[0].phases.iter().filter(|s| s.phase.has_devices()) {
                let both = times.entry(span.phase).or_default();
                both[usize::from(inside)].push(span.duration().0);
            }
        }
    }
    let mut bad = 0;
    for (phase, mut both) in times {
        both.iter_mut().for_each(|list| list.sort_unstable());
        let [without, with] = both.map(|list| list[list.len() / 2]);
        let longer = with - without;
        let least = matches!(phase, Phase::Prepare | Phase::Complete);
        let price = if least { 0 } else { 1_000 * probes };
        let limit = (without / 100).max(25_000) + price;
        let verdict = if longer > limit { "TOO LONG" } else { "right" };
        println!(
            "{what}: {}: {} us, {longer_us} us more ({:.2} %), {verdict}",
            phase.name(),
            without / 1_000,
            longer as f64 * 100.0 / without.max(1) as f64,
            longer_us = longer / 1_000,
        );
        bad += usize::from(verdict != "right");
    }
    bad
}

/// How often each event of the last recording came, those of the core's own left out.
fn events() -> String {
    let bytes = fs::read(CAPTURE).unwrap_or_default();
    let Ok((file, _)) = dormouse_capture::read(&bytes) else { return String::new() };
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for line in String::from_utf8_lossy(&file.cycles[0].trace).lines() {
        let name = line.split(": ").nth(1).unwrap_or_default();
        if ["_cal", "_ret", "_who"].iter().any(|end| name.ends_with(end)) {
            *counts.entry(name.into()).or_default() += 1;
        }
    }
    let list: Vec<String> = counts.iter().map(|(name, n)| format!("{name} {n}")).collect();
    list.join(", ")
}

/// How many steps lie between two deaths: a multiple of no pattern in which steps come. The tests
/// of the crate kill it before each, on a made-up tree; here a step takes a whole recording.
const STRIDE: usize = 13;

/// Killed before its steps.
fn killed() -> usize {
    let before = knobs();
    let mut bad = 0;
    let args = ["record", "--yes", "--pm-test", "freezer", "--inside", "-o", CAPTURE];
    for turn in 0..200 {
        let step = turn * STRIDE;
        let ran = dormouse(&args, Some(&step.to_string()));
        if !ran.killed {
            bad += usize::from(!ran.success) + compare("inside: after the whole", &before);
            println!("inside: killed {turn} times, before each {STRIDE}th of up to {step} steps");
            return bad;
        }
        let next = match turn % 3 {
            2 => dormouse(&["record", "--yes", "--pm-test", "freezer", "-o", "/tmp/next"], None),
            _ => dormouse(&["restore"], None),
        };
        if !next.success {
            bad += 1;
            println!("inside: step {step}: {}", next.text);
        }
        bad += compare(&format!("inside: killed before step {step}"), &before);
    }
    println!("inside: did not come to an end");
    bad + 1
}
