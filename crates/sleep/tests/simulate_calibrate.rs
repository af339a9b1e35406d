//! Costs are found again from recordings made with known ones.

use dormouse_base::capture::{Capture, Machine};
use dormouse_base::time::Ns;
use dormouse_board::generate::{Durations, Options, generate};
use dormouse_sleep::simulate::calibrate::calibrate;
use dormouse_sleep::simulate::policy::Policy;
use dormouse_sleep::simulate::{Costs, Cpus, Emulator, Profile, Settings, simulate};

/// What a recorder would have written on a machine with these costs.
fn recording(seed: u64, share: u32, policy: &str, release: &str, costs: Costs) -> Capture {
    let mut board = generate(&Options {
        seed,
        devices: 120,
        async_share: share,
        wakeup: 0,
        durations: Durations { low: Ns::from_us(5), high: Ns::from_ms(2) },
        ..Options::default()
    });
    let mut profile = Profile { costs, ..Profile::x86() };
    profile.cpus = Some(Cpus::equal(4));
    profile.max_active = Some(256);
    let settings = Settings { profile, pm_async: None, wakeup_at: None };
    let policy = Policy::find(policy).expect("policy");
    let mut cycle = simulate(&board, policy, &settings).expect("a schedule").cycle;
    cycle.kernel = board.names.add(release);
    cycle.first_after_boot = true;
    Capture {
        names: board.names,
        machine: Machine { cpus: Some(4), pm_async: Some(true), ..Machine::default() },
        graph: board.graph,
        cycles: vec![cycle],
        ..Capture::default()
    }
}

#[test]
fn known_costs_are_found_again() {
    let truth = Costs {
        callback: Ns(9_000),
        no_callback: Ns(2_500),
        queue: Ns(7_000),
        wake: Ns(25_000),
        create: Ns(140_000),
        prepare: Ns(3_300),
        finish: Ns(4_400),
        ..Costs::X86
    };
    let captures: Vec<Capture> = [
        (1, 100, "G1", "6.12.117"),
        (2, 50, "G1", "6.12.117"),
        (3, 100, "G4", "7.2.12"),
        (4, 50, "G4", "7.2.12"),
    ]
    .into_iter()
    .map(|(seed, share, policy, release)| recording(seed, share, policy, release, truth))
    .collect();
    let c = calibrate(&captures, &[], &Profile::x86(), "a test").expect("cycles");
    println!(
        "{:?} {:?} {}",
        c.before,
        c.after,
        dormouse_sleep::simulate::profile::print(&c.profile)
    );
    assert_eq!(c.cycles, 4);
    assert!(c.skipped.is_empty());
    // Times are rounded to nothing here, so the fit must come very close.
    assert!(c.after.phase.0 * 20 < c.before.phase.0, "{:?} after {:?}", c.after, c.before);
    for (name, found, real) in [
        ("callback", c.profile.costs.callback, truth.callback),
        ("queue", c.profile.costs.queue, truth.queue),
        ("wake", c.profile.costs.wake, truth.wake),
        ("create", c.profile.costs.create, truth.create),
        ("prepare", c.profile.costs.prepare, truth.prepare),
        ("finish", c.profile.costs.finish, truth.finish),
    ] {
        let off = (found.0 - real.0).abs() * 100 / real.0;
        assert!(off <= 25, "{name}: found {found}, is {real}");
    }
    assert_eq!(c.profile.name, "a test");
}

#[test]
fn nothing_usable_is_an_error() {
    assert!(calibrate(&[], &[], &Profile::x86(), "").is_err());
    let mut capture = recording(1, 50, "G1", "", Costs::X86);
    assert!(
        calibrate(&[capture.clone()], &[], &Profile::x86(), "").unwrap_err().contains("kernel")
    );
    capture.cycles.clear();
    assert!(calibrate(&[capture], &[], &Profile::x86(), "").is_err());
}

#[test]
fn costs_of_the_main_thread_are_read_from_its_gaps() {
    let truth = Costs {
        walk: Ns(20),
        visit: Ns(110),
        leaf: Ns(170),
        wait: Ns(190),
        look: Ns(120),
        runtime: Ns(90),
        no_callback: Ns(60),
        callback: Ns(1_100),
        begin: Ns(3_000),
        barrier: Ns(800),
        ..Costs::COUNTED
    };
    let mut captures = Vec::new();
    let mut boards = Vec::new();
    // Of one size only, nothing tells the begin of a phase from its many steps.
    for (seed, devices, class_children) in [(1, 100, 20), (2, 250, 85)] {
        let mut board = generate(&Options {
            seed,
            devices,
            class_children,
            durations: Durations { low: Ns::from_us(5), high: Ns::from_us(200) },
            ..Options::default()
        });
        board.pm_async = false;
        let emulator = Some(Emulator::default());
        let profile = Profile { costs: truth, emulator, ..Profile::x86() };
        let mut settings = Settings { profile, pm_async: None, wakeup_at: None };
        settings.complete(board.cpus, None);
        let policy = Policy::find("G4").expect("policy");
        let mut cycle = simulate(&board, policy, &settings).expect("a schedule").cycle;
        let mut names = board.names.clone();
        cycle.kernel = names.add("7.2.12");
        captures.push(Capture {
            names,
            machine: Machine { cpus: Some(4), pm_async: Some(false), ..Machine::default() },
            graph: board.graph.clone(),
            cycles: vec![cycle],
            ..Capture::default()
        });
        boards.push(board);
    }
    let c = calibrate(&captures, &boards, &Profile::x86(), "a test").expect("cycles");
    println!("{}", dormouse_sleep::simulate::profile::print(&c.profile));
    let found = c.profile.costs;
    for (name, found, real) in [
        ("walk", found.walk, truth.walk),
        ("visit", found.visit, truth.visit),
        ("leaf", found.leaf, truth.leaf),
        ("wait", found.wait, truth.wait),
        ("look", found.look, truth.look),
        ("runtime", found.runtime, truth.runtime),
        ("callback", found.callback, truth.callback),
        ("barrier", found.barrier, truth.barrier),
    ] {
        assert!((found.0 - real.0).abs() <= 10, "{name}: found {found}, is {real}");
    }
}
