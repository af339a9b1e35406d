//! A machine that a report kept predicts what the capture predicts.

use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;
use dormouse_board::derive::Derived;
use dormouse_board::generate::{Options, generate};
use dormouse_sleep::evidence::{Recorded, Seen, Tick, Witness as Full};
use dormouse_sleep::simulate::policy;
use dormouse_sleep::simulate::predict::Scheduler;
use dormouse_wasm::answer::{State, answer};
use dormouse_wasm::evidence::{SelfCheck, Witness};
use dormouse_wasm::machine::{load, save};
use serde_json::{Value, json};

/// A board with the times of three cycles.
fn derived() -> Derived {
    let board = generate(&Options { devices: 120, ..Options::default() });
    let times = |k: i64| {
        let slow = |w: Option<dormouse_board::Work>| w.map(|w| Ns(w.sleep.0 + k * 1_000));
        board.devices.iter().map(|d| d.work.map(slow)).collect()
    };
    Derived { cycles: (0..3).map(times).collect(), board, ..Derived::default() }
}

fn ask(state: &mut State, request: &Value) -> Value {
    let text = answer(state, request.to_string().as_bytes());
    serde_json::from_str(&text).expect("an answer is JSON")
}

#[test]
fn what_is_saved_comes_back() {
    let before = derived();
    let kept = save(&before, Vec::new(), "6.12", usize::MAX, &Some);
    let after = load(&kept).expect("a board");
    assert_eq!(after.board.devices, before.board.devices);
    assert_eq!(after.board.graph.links, before.board.graph.links);
    assert_eq!(after.cycles, before.cycles);
}

#[test]
fn cycles_beyond_the_limit_are_left_out_whole() {
    let all = save(&derived(), Vec::new(), "", usize::MAX, &Some);
    let one = all.cycles[0].at.len();
    let kept = save(&derived(), Vec::new(), "", one + 1, &Some);
    assert_eq!((kept.cycles.len(), kept.cycles_of), (1, 3));
}

#[test]
fn a_page_can_load_predict_and_resample() {
    let mut state = State::default();
    let refused = ask(&mut state, &json!({ "do": "predict", "change": {} }));
    assert_eq!(refused["error"], "no machine is loaded");
    let machine = save(&derived(), Vec::new(), "6.12", usize::MAX, &Some);
    let loaded = ask(&mut state, &json!({ "do": "load", "machine": machine }));
    assert_eq!(loaded["ok"]["devices"], derived().board.devices.len());
    let same = ask(&mut state, &json!({ "do": "predict", "change": {} }));
    assert_eq!(same["ok"]["before"], same["ok"]["after"]);
    let change = json!({ "do": "predict", "change": { "pm_async": 0 } });
    let serial = ask(&mut state, &change);
    let time = |o: &Value| o["suspend_ns"].as_i64().expect("a time");
    assert!(time(&serial["ok"]["after"]) > time(&serial["ok"]["before"]));
    let some = ask(&mut state, &json!({ "do": "resample", "steps": 3 }));
    let more = ask(&mut state, &json!({ "do": "resample", "steps": 2 }));
    assert_eq!((&some["ok"]["samples"], &more["ok"]["samples"]), (&json!(3), &json!(5)));
    let wrong = ask(&mut state, &json!({ "do": "predict", "change": { "sync": ["no such"] } }));
    assert!(wrong["error"].as_str().is_some_and(|e| e.contains("no device matches")));
    let nonsense = answer(&mut state, b"{");
    assert!(nonsense.contains("error"));
}

/// A recorded phase of `derived`: every third device, each with other times.
fn witness() -> Full {
    let devices = derived().board.devices.len();
    let at = |d: usize| Seen {
        start: Ns(d as i64 * 1_000),
        end: Ns(d as i64 * 1_500 + 7_000),
        main: d.is_multiple_of(2),
        complete: !d.is_multiple_of(9),
    };
    let seen = (0..devices).map(|d| d.is_multiple_of(3).then(|| at(d))).collect();
    let phase = |phase, ms: i64| Recorded { phase, duration: Ns(ms * 1_000_000), seen };
    let first = phase(Phase::Suspend, 40);
    let second = Recorded { phase: Phase::ResumeNoirq, duration: Ns(3_000), ..first.clone() };
    Full {
        scheduler: Scheduler { policy: &policy::G4, kernel: None },
        listed: false,
        unproven: vec![3, 9],
        orphans: vec![vec![1, 2], vec![5]],
        latest: Some(Ns(4_000_000)),
        tick: Tick { length: Ns(4_000_000), assumed: true },
        phases: vec![first, second],
    }
}

#[test]
fn what_the_recording_shows_comes_back() {
    let (full, devices) = (witness(), derived().board.devices.len());
    let kept = serde_json::to_string(&Witness::save(&full, usize::MAX)).expect("JSON");
    let kept: Witness = serde_json::from_str(&kept).expect("what was written");
    assert_eq!(format!("{:?}", kept.load(devices, full.scheduler)), format!("{full:?}"));
    let callbacks = devices.div_ceil(3);
    let one = Witness::save(&full, 2 * callbacks - 1).load(devices, full.scheduler);
    assert_eq!(one.phases.len(), 1, "whole phases only");
    // A damaged page names devices that are not there.
    let small = Witness::save(&full, usize::MAX).load(4, full.scheduler);
    assert_eq!((small.unproven, small.orphans), (vec![3], vec![vec![1, 2]]));
    assert!(small.phases.iter().all(|p| p.seen.len() <= 4));
}

#[test]
fn a_page_claims_what_all_machines_answer_and_no_more_than_its_self_check() {
    let mut machine = save(&derived(), Vec::new(), "6.12", usize::MAX, &Some);
    let claims = |machine: &dormouse_wasm::machine::Machine| {
        let mut state = State::default();
        ask(&mut state, &json!({ "do": "load", "machine": machine }));
        let change = json!({ "do": "predict", "change": { "pm_async": 0 } });
        let predicted = ask(&mut state, &change);
        (predicted["ok"].clone(), ask(&mut state, &json!({ "do": "claims" }))["ok"].clone())
    };
    // A self-check that is off by nothing: the prediction itself.
    let exact = |p: &Value| -> Vec<(u8, i64, i64, u8)> {
        let phases = p["before"]["phases"].as_array().expect("phases");
        let time = |s: &Value| s["duration_ns"].as_i64().expect("a time");
        let device = |s: &Value| {
            Phase::DEVICE.iter().position(|d| s["phase"] == json!(*d as u8)).expect("a phase") as u8
        };
        phases.iter().map(|s| (device(s), time(s), time(s), 0)).collect()
    };
    let (predicted, _) = claims(&machine);
    machine.check = SelfCheck { rows: exact(&predicted), blind: false };
    let (predicted, said) = claims(&machine);
    assert_eq!(said["halves"][0][1], predicted["after"]["suspend_ns"]);
    // One whose begin or end is not in the recording: no change of it.
    machine.check.rows.iter_mut().for_each(|r| r.3 = 1);
    let (_, said) = claims(&machine);
    assert!(said["halves"][0][0].as_str().is_some_and(|s| s.contains("lacks")), "{said}");
    machine.check.rows.iter_mut().for_each(|r| r.3 = 0);
    // One that misses every phase by half: no figure.
    machine.check.rows.iter_mut().for_each(|r| r.1 += r.1 / 2 + 20_000_000);
    let (predicted, said) = claims(&machine);
    assert_eq!(said["halves"][0][1], Value::Null);
    assert!(said["halves"][0][0].as_str().is_some_and(|s| s.contains("misses")), "{said}");
    let phases = predicted["after"]["phases"].as_array().expect("phases");
    let at = phases.iter().position(|p| p["phase"] == json!(Phase::Suspend as u8));
    assert_eq!(said["phases"][at.expect("a suspend phase")], Value::Null);
}
