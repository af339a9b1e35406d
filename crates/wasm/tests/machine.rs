//! A machine that a report kept predicts what the capture predicts.

use dormouse_board::derive::Derived;
use dormouse_board::generate::{Options, generate};
use dormouse_model::time::Ns;
use dormouse_wasm::answer::{State, answer};
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
