//! Power domains in the noirq phases, by hand: costs are zero, so every time is a
//! sum of those of the board.

use dormouse_base::cycle::{Cycle, Switch};
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;
use dormouse_board::{Board, parse};
use dormouse_sleep::simulate::{Policy, Settings, simulate};

fn run(board: &Board, pm_async: bool) -> Cycle {
    let settings = Settings { pm_async: Some(pm_async), ..Settings::zero_cost() };
    let policy = Policy::find("G2").unwrap();
    simulate(board, policy, &settings).unwrap().cycle
}

fn phase(cycle: &Cycle, phase: Phase) -> Ns {
    cycle.phase(phase).unwrap().duration()
}

/// Domains as they were switched: name, and whether on.
fn switched<'a>(board: &'a Board, cycle: &'a Cycle) -> Vec<(&'a str, bool)> {
    let name = |s: &Switch| (board.names.get(s.domain), s.on);
    cycle.switches.iter().map(name).collect()
}

/// Four domains, of which nobody uses `gpu`.
const SPIKE: &str = "board 1\ncpus 4\n\
    domain top on=4ms off=2ms\n\
    domain io parent=top on=2ms off=1ms\n\
    domain gpu parent=top on=8ms off=3ms\n\
    domain aon on=1ms off=1ms always_on\n\
    device dev0 domain=io async noirq=0.2ms resume_noirq=0.2ms\n\
    device dev1 domain=io async noirq=0.2ms resume_noirq=0.2ms\n\
    device dev2 domain=gpu async runtime_suspended noirq=0.2ms resume_noirq=0.2ms\n\
    device dev3 domain=gpu async runtime_suspended noirq=0.2ms resume_noirq=0.2ms\n\
    device dev4 domain=aon async noirq=0.2ms resume_noirq=0.2ms\n";

#[test]
fn synchronous_devices_pay_every_domain_in_full() {
    let board = parse(SPIKE).unwrap();
    let cycle = run(&board, false);
    // gpu is off before: only io goes off, and top with it, since nothing inside is on.
    assert_eq!(phase(&cycle, Phase::Noirq), Ns::from_ms(1 + 2 + 1));
    // All on again, gpu too though nobody used it.
    assert_eq!(phase(&cycle, Phase::ResumeNoirq), Ns::from_ms(4 + 2 + 8 + 1));
    let up = [("io", false), ("top", false), ("top", true), ("io", true), ("gpu", true)];
    assert_eq!(switched(&board, &cycle), up);
}

#[test]
fn asynchronous_devices_of_a_domain_queue_and_domains_overlap() {
    let board = parse(SPIKE).unwrap();
    let cycle = run(&board, true);
    // top by whoever is first; io and gpu at the same time; one device after its domain.
    assert_eq!(phase(&cycle, Phase::ResumeNoirq), Ns::from_us(4_000 + 8_000 + 200));
    let gpu: Vec<_> = cycle
        .callbacks
        .iter()
        .filter(|c| c.phase == Phase::ResumeNoirq && [2, 3].contains(&c.device.0))
        .map(|c| c.end - c.start)
        .collect();
    assert_eq!(gpu, [Ns::from_us(12_200); 2], "the one switches, the other waits for it");
    assert_eq!(phase(&cycle, Phase::Noirq), Ns::from_us(200 + 1_000 + 2_000));
}

#[test]
fn without_its_users_a_domain_is_never_visited() {
    let with = run(&parse(SPIKE).unwrap(), false);
    let text: String =
        SPIKE.lines().filter(|l| !l.contains("domain=gpu")).map(|l| format!("{l}\n")).collect();
    let without = run(&parse(&text).unwrap(), false);
    let saved = phase(&with, Phase::ResumeNoirq) - phase(&without, Phase::ResumeNoirq);
    assert_eq!(saved, Ns::from_us(8_000 + 2 * 200));
}

#[test]
fn a_device_that_may_wake_keeps_an_active_wakeup_domain_on() {
    let text = |flags: &str, wakeup: &str| {
        format!(
            "board 1\ndomain top on=4ms off=2ms\ndomain d parent=top on=2ms off=1ms {flags}\n\
             device a domain=d {wakeup} resume_noirq=1us suspend=1us\ndevice b domain=d\n"
        )
    };
    for (flags, wakeup, on) in [
        ("active_wakeup", "wakeup", false),
        ("active_wakeup", "", true),
        ("", "wakeup", true),
        ("rpm_always_on", "", true),
        ("always_on", "", false),
    ] {
        let board = parse(&text(flags, wakeup)).unwrap();
        let cycle = run(&board, false);
        assert_eq!(!cycle.switches.is_empty(), on, "{flags} {wakeup}");
    }
    // Whom the wakeup path leads through counts too.
    let board = parse(
        "board 1\ndomain d on=2ms active_wakeup\ndevice a domain=d suspend=1us\n\
         device b parent=a wakeup suspend=1us\n",
    )
    .unwrap();
    assert!(run(&board, false).switches.is_empty());
}

#[test]
fn a_shallow_child_keeps_its_parent_on_and_a_deep_one_is_switched_by_its_state() {
    let text = |start: &str| {
        format!(
            "board 1\ndomain top on=4ms off=2ms\n\
             domain d parent=top state=1ms/2ms state=5ms/8ms {start}\n\
             device a domain=d runtime_suspended\ndevice b domain=top runtime_suspended\n"
        )
    };
    let up = |start: &str| {
        let cycle = run(&parse(&text(start)).unwrap(), false);
        (phase(&cycle, Phase::Noirq), phase(&cycle, Phase::ResumeNoirq))
    };
    let ms = Ns::from_ms;
    // Off before, in state 0: it stays there, and top on with it.
    assert_eq!(up(""), (ms(0), ms(2)));
    assert_eq!(up("start=off-1"), (ms(0), ms(4 + 8)));
    assert_eq!(up("start=on"), (ms(5 + 2), ms(4 + 8)));
    // A governor without constraints takes the deepest state at run time, so top is off.
    assert_eq!(up("governor=simple_qos"), (ms(0), ms(4 + 8)));
}

#[test]
fn what_devices_tolerate_decides_what_a_sleep_switches() {
    let up = |qos: &str| {
        let board = parse(&format!(
            "board 1\ndomain top on=4ms off=2ms governor=simple_qos\n\
             domain d parent=top state=1ms/2ms state=5ms/8ms governor=simple_qos\n\
             device a domain=d runtime_suspended {qos}\n"
        ));
        let cycle = run(&board.unwrap(), false);
        (phase(&cycle, Phase::Noirq), phase(&cycle, Phase::ResumeNoirq))
    };
    let ms = Ns::from_ms;
    assert_eq!(up(""), (ms(0), ms(4 + 8)));
    // Nobody of top's own is there to switch it off in the sleep.
    assert_eq!(up("qos=13.5ms"), (ms(0), ms(8)));
    assert_eq!(up("qos=8ms"), (ms(0), ms(2)));
    assert_eq!(up("qos=2ms"), (ms(5 + 2), ms(4 + 8)));
    assert_eq!(up("qos=0"), (ms(5 + 2), ms(4 + 8)));
}

#[test]
fn a_driver_that_fails_switches_nothing_more() {
    let board = parse(
        "board 1\ndomain d on=2ms off=1ms\ndevice a domain=d noirq=1us resume_noirq=1us\n\
         device b domain=d noirq=1us,ret=-5\n",
    )
    .unwrap();
    // b fails first, so a is never asked and the domain stays as it is.
    let cycle = run(&board, false);
    assert!(cycle.switches.is_empty(), "{:?}", cycle.switches);
}
