//! What several cycles say together of one machine.

use dormouse_base::capture::Capture;
use dormouse_base::cycle::{Callback, Cycle, Outcome, Switch, Thread, ThreadId};
use dormouse_base::device::{Device, DeviceId};
use dormouse_base::names::Sym;
use dormouse_base::phase::{Phase, PmEvent};
use dormouse_base::power_domain::{PowerDomain, User};
use dormouse_base::time::Ns;
use dormouse_board::assumed::Assumed;
use dormouse_board::derive::derive;

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

/// Power domains gpu in top, aon, and one that is off: gpu's devices a and b run noirq
/// at the same time, a switches.
fn switched_capture() -> Capture {
    let mut c = capture(&["a", "b", "c"], Vec::new());
    let mut domain = |name: &str, on, inside: &[&str], users: &[(u32, bool)]| {
        let users = users
            .iter()
            .map(|&(device, unsupported)| User { device: DeviceId(device), unsupported });
        let domain = PowerDomain {
            name: c.names.add(name),
            on,
            inside: inside.iter().map(|n| c.names.add(n)).collect(),
            users: users.collect(),
        };
        c.domains.push(domain);
    };
    // The newest first, as in debugfs.
    domain("gpu", false, &[], &[(0, false), (1, true)]);
    domain("aon", true, &[], &[(2, false)]);
    domain("spare", false, &[], &[]);
    domain("top", true, &["gpu"], &[]);
    let name = |n: &str| c.names.find(n).unwrap();
    let us = |us: i64| Ns(us * 1_000);
    let call = |device: u32, phase, thread: u16, start: i64, end: i64| Callback {
        device: DeviceId(device),
        phase,
        event: PmEvent::Suspend,
        thread: ThreadId(thread),
        function: Sym::EMPTY,
        start: us(start),
        end: us(end),
        error: 0,
        complete: true,
    };
    let switch = |domain: &str, on, thread: u16, start: i64, end: i64| Switch {
        domain: name(domain),
        on,
        phase: Some(if on { Phase::ResumeNoirq } else { Phase::Noirq }),
        device: None,
        thread: ThreadId(thread),
        start: us(start),
        end: us(end),
        complete: true,
    };
    let cycle = Cycle {
        outcome: Outcome::Slept,
        callbacks: vec![
            call(0, Phase::Noirq, 1, 1_000, 5_200),
            call(1, Phase::Noirq, 2, 1_000, 1_500),
            call(2, Phase::Noirq, 0, 1_000, 1_300),
            call(0, Phase::ResumeNoirq, 1, 10_000, 19_700),
            call(1, Phase::ResumeNoirq, 2, 10_100, 19_600),
            call(2, Phase::ResumeNoirq, 0, 10_000, 10_400),
        ],
        switches: vec![
            switch("gpu", false, 1, 1_200, 4_200),
            switch("top", false, 1, 4_200, 5_200),
            switch("top", true, 1, 10_000, 11_000),
            switch("gpu", true, 1, 11_000, 19_000),
        ],
        threads: vec![Thread { is_main: Some(true), ..Thread::default() }; 1],
        ..Cycle::default()
    };
    c.cycles = vec![cycle];
    c
}

#[test]
fn what_a_domain_takes_is_no_time_of_its_devices() {
    let derived = derive(&switched_capture()).unwrap();
    let board = &derived.board;
    let domains: Vec<(&str, i64, i64, bool, &[u32])> = board
        .domains
        .iter()
        .map(|d| {
            let s = d.states[0];
            let name = board.names.get(d.name);
            (name, s.off.0 / 1_000, s.on.0 / 1_000, d.always_on, &d.parents[..])
        })
        .collect();
    assert_eq!(
        domains,
        [
            ("top", 1_000, 1_000, false, &[][..]),
            ("gpu", 3_000, 8_000, false, &[0][..]),
            ("aon", 0, 0, true, &[][..]),
        ]
    );
    assert!(board.domains.iter().all(|d| d.always_on || d.start == Some(None)));
    let of = |name: &str| {
        let at = board.graph.devices.iter().position(|d| board.names.get(d.name) == name).unwrap();
        let b = &board.devices[at];
        let time = |index: usize| b.work[index].map_or(0, |w| w.sleep.0 / 1_000);
        let domain = b.domain.map(|n| board.names.get(board.domains[n as usize].name));
        (domain, b.rpm_disabled, time(3), time(4))
    };
    // a switched, b waited on the way up and not on the way down.
    assert_eq!(of("a"), (Some("gpu"), false, 200, 700));
    assert_eq!(of("b"), (Some("gpu"), true, 500, 600));
    assert_eq!(of("c"), (Some("aon"), false, 300, 400));
}

#[test]
fn what_keeps_a_domain_on_that_nobody_uses_is_no_device() {
    let kept = |status: &str, on: bool| {
        let mut c = switched_capture();
        let status = c.names.add(status);
        c.graph.devices.iter_mut().for_each(|d| d.facts.runtime_status = status);
        let gpu = &mut c.domains[0];
        gpu.on = on;
        gpu.users.iter_mut().for_each(|u| u.unsupported = false);
        derive(&c).unwrap().board.domains[1].rpm_always_on
    };
    assert!(kept("suspended", true));
    assert!(!kept("active", true), "a user keeps it on");
    assert!(!kept("suspended", false), "it is off");
}

/// gpu has a second parent, `rail`, that another thread switches until `until`.
fn second_parent(until: i64, start: i64) -> Vec<String> {
    let mut c = switched_capture();
    let gpu = c.names.find("gpu").unwrap();
    let rail =
        PowerDomain { name: c.names.add("rail"), on: true, inside: vec![gpu], users: vec![] };
    c.domains.push(rail.clone());
    let us = |us: i64| Ns(us * 1_000);
    let switches = &mut c.cycles[0].switches;
    let rail = Switch { domain: rail.name, thread: ThreadId(3), ..switches[2] };
    switches.insert(2, Switch { start: us(9_500), end: us(until), ..rail });
    (switches[3].start, switches[3].end) = (us(start), us(start + 500));
    let board = derive(&c).unwrap().board;
    let gpu = board.domains.iter().find(|d| board.names.get(d.name) == "gpu").unwrap();
    let name = |&p: &u32| board.names.get(board.domains[p as usize].name).to_string();
    gpu.parents.iter().map(name).collect()
}

#[test]
fn the_order_of_parents_is_what_a_thread_shows_that_waited() {
    // top is switched right after the wait for rail; long after rail was on, which tells
    // nothing; and while rail is not on yet.
    assert_eq!(second_parent(10_450, 10_470), ["rail", "top"]);
    assert_eq!(second_parent(9_800, 10_020), ["top", "rail"]);
    assert_eq!(second_parent(10_900, 10_020), ["top", "rail"]);
}

#[test]
fn domains_without_switches_stay_in_the_times_and_it_is_said() {
    let mut c = switched_capture();
    c.cycles[0].switches.clear();
    let derived = derive(&c).unwrap();
    assert!(derived.board.domains.is_empty());
    assert!(derived.assumptions.contains(&Assumed::DomainsUnknown(2)), "{derived:?}");
    let longest = derived.board.devices.iter().filter_map(|d| d.work[4]).map(|w| w.sleep).max();
    assert_eq!(longest, Some(Ns(9_700_000)));
}
