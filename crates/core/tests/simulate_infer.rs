//! What a recording shows without saying so.

use dormouse_core::board::derive::derive;
use dormouse_core::board::parse;
use dormouse_core::capture::{Capture, Machine};
use dormouse_core::phase::Phase;
use dormouse_core::simulate::policy::{G4, Policy};
use dormouse_core::simulate::predict::Scheduler;
use dormouse_core::simulate::{Cpus, Profile, Settings, infer, simulate};
use dormouse_core::time::Ns;

/// Recordings of a machine whose device links the log does not list: the times
/// of `slow` differ from cycle to cycle.
fn recordings(link: &str) -> Capture {
    let mut capture = Capture {
        machine: Machine { cpus: Some(4), pm_async: Some(true), ..Machine::default() },
        ..Capture::default()
    };
    for cycle in 0..6 {
        let text = format!(
            "board 1\ncpus 4\ndevice root\ndevice gpu parent=root async suspend=30ms resume=9ms\n\
             device pin parent=root suspend=1ms resume=1ms\n\
             device audio parent=root async suspend={}ms resume=5ms\n\
             device other parent=root async suspend=3ms resume=2ms\n{link}",
            10 + 7 * (cycle * 5 % 6)
        );
        let mut board = parse(&text).expect("a board");
        let mut profile = Profile::x86();
        profile.cpus = Some(Cpus::equal(4));
        profile.max_active = Some(1024);
        let settings = Settings { profile, pm_async: None, wakeup_at: None };
        let mut run = simulate(&board, &G4, &settings).expect("a schedule");
        run.cycle.kernel = board.names.add("7.3.4");
        board.graph.links.clear();
        board.graph.links_known = false;
        capture.names = board.names;
        capture.graph = board.graph;
        capture.cycles.push(run.cycle);
    }
    capture
}

fn names(capture: &Capture) -> Vec<(String, String)> {
    let mut derived = derive(capture).expect("cycles");
    let policy: &'static Policy = Policy::find("G4").expect("policy");
    let n = infer::links(capture, &mut derived, Scheduler { policy, kernel: None });
    let board = &derived.board;
    assert_eq!(board.graph.links.len(), n);
    let name = |d| board.names.get(board.graph.get(d).name).to_string();
    board.graph.links.iter().map(|l| (name(l.consumer), name(l.supplier))).collect()
}

#[test]
fn a_link_that_always_delays_is_found() {
    let found = names(&recordings("link audio gpu stateless\n"));
    assert_eq!(found, [("audio".to_string(), "gpu".to_string())]);
}

#[test]
fn without_a_link_none_is_invented() {
    assert!(names(&recordings("")).is_empty());
    // Fewer than three cycles prove nothing.
    let mut few = recordings("link audio gpu stateless\n");
    few.cycles.truncate(2);
    assert!(names(&few).is_empty());
}

#[test]
fn medians_flags_and_vanished_devices_come_from_the_cycles() {
    let mut capture = recordings("");
    // The flag of a device is what its thread shows.
    for d in &mut capture.graph.devices {
        d.async_flag = None;
    }
    // `other` is prepared and suspended in every cycle and never completed.
    let other = capture.graph.ids().last().expect("devices");
    for c in &mut capture.cycles {
        c.callbacks.retain(|c| c.device != other || matches!(c.phase, Phase::Prepare));
    }
    let derived = derive(&capture).expect("cycles");
    let flags: Vec<Option<bool>> =
        derived.board.graph.devices.iter().map(|d| d.async_flag).collect();
    assert_eq!(flags[1..4], [Some(true), Some(false), Some(true)]);
    assert!(derived.board.graph.get(other).facts.syscore, "vanished");
    assert!(derived.assumptions.iter().any(|a| a.contains("vanish")));
    // 10, 17, 24, 31, 38, 45 ms.
    let audio = derived.board.devices[3].in_phase(Phase::Suspend).expect("it has one");
    assert_eq!(audio.sleep, Ns(27_500_000));
    assert_eq!(derived.cycles.len(), 6);
}
