//! What runs after an error, what is resumed, and what competes for what.

use dormouse_base::cycle::{Cycle, Outcome};
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;
use dormouse_board::{Board, parse};
use dormouse_sleep::simulate::policy::Policy;
use dormouse_sleep::simulate::{Cpus, Profile, Run, Settings, simulate};

fn board(text: &str) -> Board {
    parse(&format!("board 1\n{text}")).expect("a board")
}

fn with(board: &Board, policy: &str, settings: &Settings) -> Run {
    simulate(board, Policy::find(policy).expect("policy"), settings).expect("a schedule")
}

fn zero(board: &Board, policy: &str) -> Run {
    with(board, policy, &Settings::zero_cost())
}

fn ran(board: &Board, cycle: &Cycle, phase: Phase) -> Vec<String> {
    let name = |c: &dormouse_base::cycle::Callback| {
        board.names.get(board.graph.get(c.device).name).to_string()
    };
    let mut list: Vec<String> =
        cycle.callbacks.iter().filter(|c| c.phase == phase).map(name).collect();
    list.sort();
    list
}

const ALL: &str = "suspend=1ms late=1ms noirq=1ms resume_noirq=1ms early=1ms resume=1ms";

#[test]
fn a_failed_prepare_completes_what_was_prepared() {
    let b = board(&format!("device a {ALL}\ndevice b prepare=1ms,ret=-5 {ALL}\ndevice c {ALL}\n"));
    for policy in ["G0", "G1", "G4", "DC"] {
        let r = zero(&b, policy);
        assert!(matches!(r.cycle.outcome, Outcome::AbortedByDevice { errno: -5, .. }));
        assert_eq!(ran(&b, &r.cycle, Phase::Prepare), ["a", "b"]);
        assert!(ran(&b, &r.cycle, Phase::Suspend).is_empty());
        assert!(ran(&b, &r.cycle, Phase::Resume).is_empty());
        assert_eq!(ran(&b, &r.cycle, Phase::Complete), ["a"]);
        assert_eq!(r.cycle.asleep, None);
    }
}

#[test]
fn a_failed_late_phase_is_undone_inside_its_bracket() {
    let b = board(&format!(
        "device a {ALL}\ndevice b suspend=1ms late=1ms,ret=-16 early=1ms resume=1ms\ndevice c {ALL}\n"
    ));
    let r = zero(&b, "G1");
    assert_eq!(ran(&b, &r.cycle, Phase::Late), ["b", "c"]);
    // b failed, a was not reached.
    assert_eq!(ran(&b, &r.cycle, Phase::ResumeEarly), ["c"]);
    assert_eq!(ran(&b, &r.cycle, Phase::Resume), ["a", "b", "c"]);
    assert!(r.cycle.phase(Phase::Noirq).is_none());
    let (late, early) =
        (r.cycle.phase(Phase::Late).unwrap(), r.cycle.phase(Phase::ResumeEarly).unwrap());
    assert!(late.start <= early.start && early.end <= late.end, "early lies inside late");
}

#[test]
fn a_failed_noirq_phase_is_undone_after_it() {
    let b = board(&format!(
        "device a {ALL}\ndevice b noirq=1ms,ret=-5 {}\ndevice c {ALL}\n",
        "suspend=1ms late=1ms resume_noirq=1ms early=1ms resume=1ms"
    ));
    for policy in ["G1", "G4"] {
        let r = zero(&b, policy);
        assert_eq!(ran(&b, &r.cycle, Phase::Noirq), ["b", "c"], "{policy}");
        assert_eq!(ran(&b, &r.cycle, Phase::ResumeNoirq), ["c"], "{policy}");
        assert_eq!(ran(&b, &r.cycle, Phase::ResumeEarly), ["a", "b", "c"], "{policy}");
        assert_eq!(ran(&b, &r.cycle, Phase::Resume), ["a", "b", "c"], "{policy}");
        let noirq = r.cycle.phase(Phase::Noirq).unwrap();
        assert!(r.cycle.phase(Phase::ResumeNoirq).unwrap().start >= noirq.end);
    }
}

#[test]
fn a_resume_error_stops_nothing() {
    let b =
        board("device a suspend=1ms resume=1ms,ret=-5\ndevice b parent=a suspend=1ms resume=1ms\n");
    for policy in ["G0", "G1", "G4", "DC"] {
        let r = zero(&b, policy);
        assert_eq!(r.cycle.outcome, Outcome::Slept);
        assert_eq!(ran(&b, &r.cycle, Phase::Resume), ["a", "b"]);
    }
}

#[test]
fn a_wakeup_event_aborts_suspend_and_late_but_not_noirq() {
    let b = board(&format!("device a {ALL}\ndevice b {ALL}\ndevice c {ALL}\n"));
    let at = |us: i64| {
        let s = Settings { wakeup_at: Some(Ns::from_us(us)), ..Settings::zero_cost() };
        with(&b, "G4", &s)
    };
    // During the callback of c: b sees it.
    let r = at(500);
    assert_eq!(r.cycle.outcome, Outcome::AbortedByWakeup);
    assert_eq!(ran(&b, &r.cycle, Phase::Suspend), ["c"]);
    assert_eq!(ran(&b, &r.cycle, Phase::Resume), ["c"]);
    let r = at(3_500);
    assert_eq!(ran(&b, &r.cycle, Phase::Late), ["c"]);
    assert_eq!(ran(&b, &r.cycle, Phase::Resume), ["a", "b", "c"]);
    // noirq runs through; the last look before sleeping sees it.
    let r = at(6_500);
    assert_eq!(ran(&b, &r.cycle, Phase::Noirq), ["a", "b", "c"]);
    assert_eq!((r.cycle.outcome, r.cycle.asleep), (Outcome::AbortedByWakeup, None));
    assert_eq!(at(20_000).cycle.outcome, Outcome::Slept);
}

/// A failing device must not leave the main thread of a readiness scheduler
/// asleep: the parent it waits for is never started.
#[test]
fn an_error_wakes_a_main_thread_that_waits() {
    let b = board(
        "device p suspend=1ms resume=1ms\ndevice c parent=p async suspend=5ms,ret=-5 resume=1ms\n",
    );
    for policy in ["G1", "G1w", "GS", "G2", "G4", "DC", "DCw"] {
        let r = zero(&b, policy);
        assert!(matches!(r.cycle.outcome, Outcome::AbortedByDevice { errno: -5, .. }), "{policy}");
        assert_eq!(ran(&b, &r.cycle, Phase::Suspend), ["c"], "{policy}");
        assert!(ran(&b, &r.cycle, Phase::Resume).is_empty(), "{policy}");
    }
}

#[test]
fn syscore_no_pm_and_direct_complete_devices_cost_nothing() {
    let b = board(&format!(
        "device r\ndevice s parent=r syscore {ALL}\ndevice n parent=r no_pm {ALL}\n\
         device d parent=r direct_complete runtime_suspended {ALL}\n\
         device e parent=r direct_complete {ALL}\n"
    ));
    for policy in ["G0", "G1", "G4", "DC"] {
        let r = zero(&b, policy);
        // e asked for direct-complete but is not runtime-suspended.
        let expected = if policy == "G4" || policy == "DC" { vec!["e", "s"] } else { vec!["e"] };
        for phase in [Phase::Suspend, Phase::Late, Phase::Noirq, Phase::ResumeNoirq, Phase::Resume]
        {
            assert_eq!(ran(&b, &r.cycle, phase), ["e"], "{policy} {phase}");
        }
        // From 6.18 on a syscore device counts as late-suspended.
        assert_eq!(ran(&b, &r.cycle, Phase::ResumeEarly), expected, "{policy}");
        assert!(r.tally.early.syscore >= 4 && r.tally.early.direct_complete >= 5, "{policy}");
    }
}

#[test]
fn a_child_that_suspends_takes_direct_complete_from_its_superiors() {
    let b = board(&format!(
        "device p direct_complete runtime_suspended {ALL}\n\
         device q direct_complete runtime_suspended {ALL}\n\
         device c parent=p suspend=1ms resume=1ms\nlink c q dormant\n"
    ));
    let r = zero(&b, "G4");
    assert_eq!(ran(&b, &r.cycle, Phase::Suspend), ["c", "p", "q"]);
}

#[test]
fn computing_competes_and_sleeping_does_not() {
    let text = |work: &str| {
        board(&(0..4).map(|i| format!("device d{i} async suspend={work}\n")).collect::<String>())
    };
    let took = |b: &Board, cpus: Cpus| {
        let mut s = Settings::zero_cost();
        s.profile.cpus = Some(cpus);
        s.profile.slice = Ns::from_ms(5);
        with(b, "G4", &s).cycle.phase(Phase::Suspend).unwrap().duration()
    };
    let (sleep, compute) = (text("10ms"), text("10ms.cpu"));
    assert_eq!(took(&sleep, Cpus::equal(1)), Ns::from_ms(10));
    assert_eq!(took(&compute, Cpus::equal(1)), Ns::from_ms(40));
    assert_eq!(took(&compute, Cpus::equal(2)), Ns::from_ms(20));
    assert_eq!(took(&compute, Cpus::Unlimited), Ns::from_ms(10));
    // One fast and one half as fast, shared in slices of 3 ms: three units of
    // speed... 40 ms of work at 1.5 times the speed cannot take less.
    let mixed = took(&compute, Cpus::List(vec![1000, 500]));
    assert!(mixed >= Ns(26_666_666) && mixed <= Ns::from_ms(40), "{mixed}");
}

#[test]
fn a_shared_lock_serialises_callbacks() {
    let b = board(
        "device a async suspend=10ms,lock=7\ndevice b async suspend=10ms,lock=7\ndevice c async suspend=10ms\n",
    );
    let r = zero(&b, "G4");
    assert_eq!(r.cycle.phase(Phase::Suspend).unwrap().duration(), Ns::from_ms(20));
    assert_eq!(r.tally.blocked_on_locks, 1);
}

/// Above the limit of active items one starts only when another ends.
#[test]
fn the_limit_of_active_items_serialises() {
    let b = board(&(0..6).map(|i| format!("device d{i} async suspend=10ms\n")).collect::<String>());
    let limited = |n: u32| Settings {
        profile: Profile { max_active: Some(n), ..Profile::zero() },
        ..Settings::zero_cost()
    };
    let r = with(&b, "G4", &limited(2));
    assert_eq!(r.cycle.phase(Phase::Suspend).unwrap().duration(), Ns::from_ms(30));
    assert_eq!(r.tally.above_limit, 4 + 5 * 4);
}
