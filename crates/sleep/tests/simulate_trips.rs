//! The trips of a hibernation: other callbacks, no direct-complete, and one that
//! ends below.

use dormouse_base::phase::{Phase, PmEvent};
use dormouse_base::trip::Trip;
use dormouse_board::{Board, parse};
use dormouse_sleep::simulate::policy::Policy;
use dormouse_sleep::simulate::{Run, Settings, simulate};

fn run(board: &Board, policy: &str) -> Run {
    simulate(board, Policy::find(policy).unwrap(), &Settings::zero_cost()).unwrap()
}

fn board(trip: Trip) -> Board {
    let text = "board 1\n\
        device a suspend=1ms resume=1ms\n\
        device b parent=a direct_complete runtime_suspended suspend=5ms resume=5ms\n";
    Board { trip, ..parse(text).unwrap() }
}

#[test]
fn only_a_suspend_leaves_devices_alone() {
    let time = |trip, phase| {
        let r = run(&board(trip), "G4");
        r.cycle.phase(phase).map(|p| p.duration().0 / 1_000_000)
    };
    let frozen = Trip { down: PmEvent::Freeze, up: Some(PmEvent::Restore) };
    assert_eq!(time(Trip::default(), Phase::Suspend), Some(1));
    assert_eq!(time(frozen, Phase::Suspend), Some(6));
    assert_eq!(time(Trip::default(), Phase::Resume), Some(1));
    assert_eq!(time(frozen, Phase::Resume), Some(6));
}

#[test]
fn phases_and_callbacks_carry_the_events_of_their_trip() {
    let trip = Trip { down: PmEvent::Freeze, up: Some(PmEvent::Thaw) };
    for policy in ["G0", "G1", "G1w", "G2", "G4", "DC"] {
        let cycle = run(&board(trip), policy).cycle;
        assert_eq!(cycle.phases.len(), 8);
        assert!(cycle.phases.iter().all(|p| p.event == trip.event(p.phase.direction())));
        assert!(cycle.callbacks.iter().all(|c| c.event == trip.event(c.phase.direction())));
    }
}

#[test]
fn power_off_ends_below() {
    let trip = Trip { down: PmEvent::Hibernate, up: None };
    let cycle = run(&board(trip), "G4").cycle;
    let phases: Vec<Phase> = cycle.phases.iter().map(|p| p.phase).collect();
    assert_eq!(phases, [Phase::Prepare, Phase::Suspend, Phase::Late, Phase::Noirq]);
    assert_eq!(cycle.end, cycle.phases[3].end);
}
