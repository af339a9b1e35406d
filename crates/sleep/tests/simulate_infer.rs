//! What a recording shows without saying so.

use dormouse_base::capture::{Capture, Machine};
use dormouse_base::phase::Phase;
use dormouse_base::stats::random::Random;
use dormouse_base::time::Ns;
use dormouse_board::assumed::Assumed;
use dormouse_board::derive::derive;
use dormouse_board::generate::{Durations, Options as BoardOptions, generate};
use dormouse_board::{Board, parse};
use dormouse_sleep::evidence::{self, links};
use dormouse_sleep::simulate::policy::{G4, Policy};
use dormouse_sleep::simulate::predict::Scheduler;
use dormouse_sleep::simulate::{Cpus, Profile, Settings, simulate};
use dormouse_sleep::tune::{Options, Tuned, tune};

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
    let n = links::links(capture, &mut derived, Scheduler { policy, kernel: None });
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
    assert!(derived.assumptions.contains(&Assumed::Vanished(1)));
    // 10, 17, 24, 31, 38, 45 ms.
    let audio = derived.board.devices[3].in_phase(Phase::Suspend).expect("it has one");
    assert_eq!(audio.sleep, Ns(27_500_000));
    assert_eq!(derived.cycles.len(), 6);
}

/// Three sensors behind one mutex that no graph shows, each with a regulator
/// that is declared; recorded with `pm_async` as in `modes`, every cycle with
/// slightly other times.
fn sensors(lock: u32, modes: &[bool]) -> (Board, Capture) {
    let lock = if lock > 0 { format!(",lock={lock}") } else { String::new() };
    let text = |cycle: usize| {
        let t = |base: usize| base * 1000 + cycle * 37 % 90;
        format!(
            "board 1\ncpus 4\ndevice root\ndevice rail parent=root async suspend=0.1ms\n\
             device disk parent=root async suspend=4ms resume=25ms\n\
             device light parent=root suspend={}us{lock} resume={}us{lock}\n\
             device heat parent=root suspend={}us{lock} resume={}us{lock}\n\
             device motion parent=root suspend={}us{lock} resume={}us{lock}\n\
             link light rail stateless\nlink heat rail stateless\nlink motion rail stateless\n",
            t(6),
            t(9),
            t(7),
            t(10),
            t(8),
            t(11)
        )
    };
    let mut capture = Capture {
        machine: Machine { cpus: Some(4), pm_async: Some(true), ..Machine::default() },
        ..Capture::default()
    };
    for (cycle, &on) in modes.iter().enumerate() {
        let mut board = parse(&text(cycle)).expect("a board");
        // Whoever records to find out sets the flags.
        if modes.contains(&false) {
            board.graph.devices.iter_mut().for_each(|d| d.async_flag = Some(true));
        }
        board.pm_async = on;
        let mut profile = Profile::x86();
        profile.cpus = Some(Cpus::equal(4));
        profile.max_active = Some(1024);
        let settings = Settings { profile, pm_async: None, wakeup_at: None };
        let mut run = simulate(&board, &G4, &settings).expect("a schedule");
        run.cycle.kernel = board.names.add("7.3.4");
        capture.names = board.names;
        capture.graph = board.graph;
        capture.cycles.push(run.cycle);
    }
    (parse(&text(0)).expect("a board"), capture)
}

fn total(board: &Board) -> Ns {
    let mut settings = Settings { profile: Profile::x86(), pm_async: None, wakeup_at: None };
    settings.complete(board.cpus, None);
    let run = simulate(board, &G4, &settings).expect("a schedule");
    run.cycle.phases.iter().filter(|p| p.phase.has_devices()).map(|p| p.duration()).sum()
}

fn tuned(board: &Board) -> Tuned {
    let mut settings = Settings { profile: Profile::x86(), pm_async: None, wakeup_at: None };
    settings.complete(board.cpus, None);
    tune(board, &G4, &settings, &Options::new(board)).expect("a schedule")
}

#[test]
fn a_lock_that_a_recording_cannot_show_is_said_as_a_risk() {
    let (real, capture) = sensors(1, &[true; 4]);
    let derived = evidence::machine(&capture, None).expect("cycles").derived;
    assert!(derived.board.devices.iter().flat_map(|d| d.work).flatten().all(|w| w.lock == 0));
    let t = tuned(&derived.board);
    let claimed = t.before.total() - t.after.total();
    assert!(claimed > Ns::from_ms(10), "the graph allows it: {claimed}");
    // What the machine with the lock really gains is what it says as a risk.
    let gained = total(&real) - total(&t.apply(&real));
    let left = t.before.total() - t.if_exclusive.expect("several become async").total();
    assert!((gained - left).0.abs() < 500_000, "really {gained}, said to be left {left}");
    assert!(left < claimed - Ns::from_ms(10), "{left} of {claimed}");
}

#[test]
fn a_lock_that_a_recording_shows_is_found_and_nothing_is_claimed() {
    let modes = [true, false, true, false, true, false];
    let (real, capture) = sensors(1, &modes);
    let derived = evidence::machine(&capture, None).expect("cycles").derived;
    let board = &derived.board;
    let holders: Vec<&str> = board
        .graph
        .ids()
        .filter(|d| board.devices[d.index()].in_phase(Phase::Resume).is_some_and(|w| w.lock == 1))
        .map(|d| board.names.get(board.graph.get(d).name))
        .collect();
    assert_eq!(holders, ["light", "heat", "motion"]);
    let said = derived.assumptions.iter().find_map(|a| match a {
        Assumed::Lock { devices, .. } => Some(devices.join(" ")),
        _ => None,
    });
    assert_eq!(said.as_deref(), Some("light heat motion"));
    // The times are those alone, so that a prediction is right in both modes.
    for on in [true, false] {
        let mut real = real.clone();
        real.graph.devices.iter_mut().for_each(|d| d.async_flag = Some(true));
        let mut board = board.clone();
        (real.pm_async, board.pm_async) = (on, on);
        let (is, was) = (total(&board), total(&real));
        assert!((is - was).0.abs() < was.0 / 50, "pm_async {on}: predicted {is}, is {was}");
    }
    // All of them beside one another: nothing is gained over one after another.
    let mut sync = board.clone();
    for d in sync.graph.devices.iter_mut().skip(3) {
        d.async_flag = Some(false);
    }
    let t = tuned(&sync);
    let claimed = t.before.total() - t.after.total();
    let mut real_sync = real.clone();
    for (d, s) in real_sync.graph.devices.iter_mut().zip(&sync.graph.devices) {
        d.async_flag = s.async_flag;
    }
    let gained = total(&real_sync) - total(&t.apply(&real_sync));
    assert!((gained - claimed).0.abs() < 500_000, "claimed {claimed}, really {gained}");
}

#[test]
fn without_a_lock_none_is_found() {
    let modes = [true, false, true, false, true, false];
    let (_, capture) = sensors(0, &modes);
    let derived = evidence::machine(&capture, None).expect("cycles").derived;
    assert!(derived.board.devices.iter().flat_map(|d| d.work).flatten().all(|w| w.lock == 0));
}

#[test]
fn locks_are_not_invented_on_busy_boards() {
    let (mut all, mut invented) = (0, 0);
    for seed in 1..=6 {
        for locked in [0, 30] {
            let durations = Durations { low: Ns::from_us(400), high: Ns::from_ms(20) };
            let base = BoardOptions { durations, ..BoardOptions::default() };
            let options = BoardOptions { seed, devices: 120, locked, ..base };
            let original = generate(&options);
            let mut capture = Capture {
                machine: Machine { cpus: Some(4), pm_async: Some(true), ..Machine::default() },
                names: original.names.clone(),
                graph: original.graph.clone(),
                ..Capture::default()
            };
            let kernel = capture.names.add("7.3.4");
            let mut random = Random::new(seed);
            for n in 0..8 {
                let mut board = original.clone();
                board.pm_async = n % 2 == 0;
                // Times vary by a tenth from cycle to cycle.
                for w in board.devices.iter_mut().flat_map(|d| &mut d.work).flatten() {
                    w.sleep = Ns(w.sleep.0 * (950 + random.below(100) as i64) / 1000);
                }
                let mut settings =
                    Settings { profile: Profile::x86(), pm_async: None, wakeup_at: None };
                settings.complete(board.cpus, None);
                let mut run = simulate(&board, &G4, &settings).expect("a schedule");
                run.cycle.kernel = kernel;
                capture.cycles.push(run.cycle);
            }
            let derived = evidence::machine(&capture, None).expect("cycles").derived;
            let (mut found, mut wrong) = (0, 0);
            let groups = derived.board.devices.iter().zip(&original.devices);
            for (d, o) in groups {
                for (w, was) in d.work.iter().zip(&o.work) {
                    let (Some(w), Some(was)) = (w, was) else { continue };
                    found += usize::from(w.lock > 0 && was.lock > 0);
                    wrong += usize::from(w.lock > 0 && was.lock == 0);
                }
            }
            println!("seed {seed}, locked {locked}: {found} found, {wrong} invented");
            assert!(locked > 0 || wrong == 0, "seed {seed}: {wrong} invented");
            assert!(locked == 0 || found > 0, "seed {seed}: none found");
            all += found;
            invented += wrong;
        }
    }
    // A device that ends just when a holder does, in every cycle, looks like
    // the holder. To take it for one is to claim less, not more.
    assert!(invented * 20 <= all, "{invented} beside {all}");
}

/// A controller waits inside its callback for a companion behind a slow hub.
fn companions(cycles: usize) -> Capture {
    let text = "board 1\ncpus 4\ndevice root\n\
        device hub parent=root async resume=18ms\n\
        device companion parent=hub async resume=12ms\n\
        device controller parent=root async resume=26ms\n";
    let mut capture = Capture {
        machine: Machine { cpus: Some(4), pm_async: Some(true), ..Machine::default() },
        ..Capture::default()
    };
    for cycle in 0..cycles {
        let mut board = parse(text).expect("a board");
        board.pm_async = cycle % 2 == 0;
        let mut profile = Profile::x86();
        profile.cpus = Some(Cpus::equal(4));
        profile.max_active = Some(1024);
        let settings = Settings { profile, pm_async: None, wakeup_at: None };
        let mut run = simulate(&board, &G4, &settings).expect("a schedule");
        let named = |c: &dormouse_base::cycle::Callback, n| {
            c.phase == Phase::Resume && board.names.get(board.graph.get(c.device).name) == n
        };
        let callbacks = &mut run.cycle.callbacks;
        let ended = callbacks.iter().find(|c| named(c, "companion")).expect("it ran").end;
        let late = callbacks.iter_mut().find(|c| named(c, "controller")).expect("it ran");
        if late.start < ended {
            // As a kernel with this driver would have it.
            late.end += ended - late.start;
        }
        run.cycle.kernel = board.names.add("7.3.4");
        capture.names = board.names;
        capture.graph = board.graph;
        capture.cycles.push(run.cycle);
    }
    capture
}

#[test]
fn a_wait_inside_a_callback_is_an_order_and_not_a_lock() {
    let derived = evidence::machine(&companions(6), None).expect("cycles").derived;
    let board = &derived.board;
    let name = |d| board.names.get(board.graph.get(d).name);
    let links: Vec<(&str, &str)> =
        board.graph.links.iter().map(|l| (name(l.consumer), name(l.supplier))).collect();
    assert_eq!(links, [("controller", "companion")], "{:?}", derived.assumptions);
    assert!(board.devices.iter().flat_map(|d| d.work).flatten().all(|w| w.lock == 0));
    let said = derived.assumptions.iter().find_map(|a| match a {
        Assumed::WorksAfter { waiter, awaited, .. } => Some((&waiter[..], &awaited[..])),
        _ => None,
    });
    assert_eq!(said, Some(("controller", "companion")));
    // 18, 12 and 26 one after the other, whichever flags it has.
    assert!(total(board) > Ns::from_ms(56), "{}", total(board));
    let mut free = board.clone();
    free.graph.links.clear();
    assert!(total(&free) < Ns::from_ms(32), "without the link: {}", total(&free));
    // One cycle that shows it proves nothing.
    let derived = evidence::machine(&companions(2), None).expect("cycles").derived;
    assert!(derived.board.graph.links.is_empty());
}
