//! What several cycles say together of one machine.

use dormouse_board::derive::derive;
use dormouse_model::capture::Capture;
use dormouse_model::cycle::{Callback, Cycle, Outcome, Thread, ThreadId};
use dormouse_model::device::{Device, DeviceId};
use dormouse_model::names::Sym;
use dormouse_model::phase::{Phase, PmEvent};
use dormouse_model::time::Ns;

/// A cycle in which the devices were prepared in this order, and then each ran a
/// late callback of so many milliseconds, if one is given.
fn cycle(order: &[u32], late: &[(u32, i64)]) -> Cycle {
    let call = |device: u32, phase, start: i64, time: Ns| Callback {
        device: DeviceId(device),
        phase,
        event: PmEvent::Suspend,
        thread: ThreadId(0),
        function: Sym::EMPTY,
        start: Ns::from_ms(start),
        end: Ns::from_ms(start) + time,
        error: 0,
        complete: true,
    };
    let mut callbacks: Vec<Callback> =
        order.iter().map(|&d| call(d, Phase::Prepare, 0, Ns(1_000))).collect();
    callbacks.extend(order.iter().map(|&d| call(d, Phase::Suspend, 1, Ns::from_ms(1))));
    callbacks.extend(late.iter().map(|&(d, ms)| call(d, Phase::Late, 9, Ns::from_ms(ms))));
    let main = Thread { is_main: Some(true), ..Thread::default() };
    Cycle { outcome: Outcome::Slept, callbacks, threads: vec![main], ..Cycle::default() }
}

fn capture(names: &[&str], cycles: Vec<Cycle>) -> Capture {
    let mut c = Capture { cycles, ..Capture::default() };
    for name in names {
        let name = c.names.add(name);
        c.graph.push(Device { name, ..Device::default() });
    }
    c.graph.order_known = true;
    c
}

/// A mouse that was plugged in again stands at the end of the list, with an input
/// device of another number: in the cycle that failed, not in the others.
#[test]
fn the_list_is_that_of_the_cycles_in_use() {
    let mut failed = cycle(&[0, 1, 2, 3], &[]);
    failed.outcome = Outcome::AbortedByWakeup;
    // "mouse" comes before "screen" in the others, and "input9" is not there.
    let all = capture(
        &["bus", "screen", "mouse", "input9"],
        vec![failed, cycle(&[0, 2, 1], &[]), cycle(&[0, 2, 1], &[])],
    );
    let one = Capture { cycles: vec![all.cycles[1].clone()], ..all.clone() };
    for capture in [all, one] {
        let derived = derive(&capture).unwrap();
        let board = &derived.board;
        let walked = board.graph.devices.iter().filter(|d| !d.facts.no_pm);
        let names: Vec<&str> = walked.map(|d| board.names.get(d.name)).collect();
        let known: Vec<&str> = names.into_iter().filter(|n| *n != "input9").collect();
        assert_eq!(known, ["bus", "mouse", "screen"]);
        assert!(board.graph.order_known, "{:?}", derived.assumptions);
    }
}

#[test]
fn a_device_that_no_cycle_in_use_has_is_in_no_list() {
    let mut failed = cycle(&[0, 1, 2], &[]);
    failed.outcome = Outcome::AbortedByWakeup;
    let derived = derive(&capture(&["bus", "screen", "input9"], vec![failed, cycle(&[0, 1], &[])]));
    let derived = derived.unwrap();
    let off: Vec<bool> = derived.board.graph.devices.iter().map(|d| d.facts.no_pm).collect();
    assert_eq!(off, [false, false, true]);
    let said = format!("{:?}", derived.assumptions);
    assert!(said.contains("LeftOut { failed: 1, of: 2 }"), "{said}");
}

/// The recorded median of a phase has the cycle without the callback in it, so the
/// machine that is held against it must have half of the callback.
#[test]
fn what_half_of_the_cycles_ran_counts_half() {
    let late = |lists: &[&[(u32, i64)]]| {
        let cycles = lists.iter().map(|l| cycle(&[0, 1], l)).collect();
        let derived = derive(&capture(&["bus", "screen"], cycles)).unwrap();
        derived.board.devices[1].work[2].map(|w| w.sleep)
    };
    assert_eq!(late(&[&[(1, 12)], &[]]), Some(Ns::from_ms(6)));
    assert_eq!(late(&[&[(1, 12)], &[], &[]]), None);
    assert_eq!(late(&[&[(1, 12)], &[(1, 12)], &[]]), Some(Ns::from_ms(12)));
}
