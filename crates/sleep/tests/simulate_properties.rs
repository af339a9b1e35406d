//! Properties that every schedule must have, on generated boards.

use dormouse_base::cycle::{Callback, Cycle};
use dormouse_base::device::LinkKind;
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::time::Ns;
use dormouse_board::generate::{Durations, Options, generate};
use dormouse_board::{Board, parse};
use dormouse_sleep::simulate::bounds::bounds;
use dormouse_sleep::simulate::change::{Change, apply};
use dormouse_sleep::simulate::policy::{ALL, Policy};
use dormouse_sleep::simulate::{Cpus, Profile, Run, Settings, Stuck, Topology, run, simulate};

/// Boards of many kinds; every seed has its own mixture.
fn boards(count: u64) -> impl Iterator<Item = Board> {
    (0..count).map(|seed| {
        let pick =
            |values: &[u32], shift: u64| values[((seed >> shift) % values.len() as u64) as usize];
        generate(&Options {
            seed,
            devices: pick(&[20, 60, 150], 0),
            async_share: pick(&[60, 100, 0, 30], 1),
            links: pick(&[0, 30, 80], 2),
            dormant: pick(&[0, 30], 1),
            sync_state_only: pick(&[0, 20], 2),
            computing: pick(&[0, 40], 0),
            prepare: 10,
            direct_complete: pick(&[0, 20], 3),
            locked: pick(&[0, 15], 1),
            durations: Durations { low: Ns::from_us(5), high: Ns::from_ms(20) },
            ..Options::default()
        })
    })
}

fn costly(cpus: u32) -> Settings {
    let mut profile = Profile::x86();
    profile.cpus = Some(Cpus::equal(cpus));
    profile.max_active = Some(256);
    Settings { profile, pm_async: None, wakeup_at: None }
}

fn named(name: &str) -> &'static Policy {
    Policy::find(name).expect("policy")
}

fn half(cycle: &Cycle, direction: Direction) -> i64 {
    cycle.phases.iter().filter(|p| p.phase.direction() == direction).map(|p| p.duration().0).sum()
}

#[test]
fn no_schedule_is_below_its_bounds() {
    for board in boards(40) {
        let topology = Topology::new(&board).expect("a board");
        for settings in [Settings::zero_cost(), costly(2), costly(16)] {
            for policy in ALL {
                let r = run(&topology, policy, &settings).expect("a schedule");
                let cpus = settings.profile.cpus.as_ref().expect("set");
                let pm_async = policy.workers && board.pm_async;
                let b = bounds(&topology, &r.cycle, cpus, pm_async);
                for bound in &b.phases {
                    let took = r.cycle.phase(bound.phase).expect("ran").duration();
                    assert!(
                        took >= bound.path,
                        "{} {}: {took} < {}",
                        policy.name,
                        bound.phase,
                        bound.path
                    );
                    assert!(bound.order >= bound.path);
                    // Their main thread does not keep to the list.
                    if !matches!(policy.name, "DCw" | "conserve") {
                        assert!(
                            took >= bound.order,
                            "{} {}: {took} < {}",
                            policy.name,
                            bound.phase,
                            bound.order
                        );
                    }
                }
                let down = b.path(Direction::Suspend);
                assert!(b.overlapped.0 <= down && b.parallel_ends.0 <= down);
            }
        }
    }
}

/// With list order for synchronous devices and no costs, nothing is lost: the
/// readiness proposal reaches the bound exactly.
#[test]
fn the_readiness_proposal_reaches_the_order_bound() {
    let mut compared = 0;
    for board in boards(60) {
        // Locks and the look at direct-complete devices can cost more.
        let plain = board
            .devices
            .iter()
            .all(|d| !d.runtime_suspended && d.work.iter().flatten().all(|w| w.lock == 0));
        if !plain {
            continue;
        }
        let topology = Topology::new(&board).expect("a board");
        let r = run(&topology, named("DC"), &Settings::zero_cost()).expect("a schedule");
        for b in &bounds(&topology, &r.cycle, &Cpus::Unlimited, true).phases {
            let took = r.cycle.phase(b.phase).expect("ran").duration();
            assert_eq!(took, b.order, "{}", b.phase);
            compared += 1;
        }
    }
    assert!(compared > 100, "only {compared} phases compared");
}

#[test]
fn without_async_a_phase_is_the_sum_of_its_callbacks_and_costs() {
    for mut board in boards(40) {
        board.pm_async = false;
        for policy in ALL {
            let r = simulate(&board, policy, &Settings::zero_cost()).expect("a schedule");
            for span in &r.cycle.phases {
                let sum: Ns = callbacks(&r, span.phase).map(Callback::duration).sum();
                assert_eq!(span.duration(), sum, "{} {}", policy.name, span.phase);
            }
            assert_eq!(r.tally.items, 0);
            assert_eq!(r.tally.blocked_waits, 0);
        }
        // With costs, suspend_late of G0: every device is walked, looks through
        // its dependencies, has a callback or not, and is completed.
        let settings = costly(4);
        let c = settings.profile.costs;
        let r = simulate(&board, named("G0"), &settings).expect("a schedule");
        let listed = board.graph.devices.len() as i64;
        let span = r.cycle.phase(Phase::Late).expect("ran");
        let work: i64 = callbacks(&r, Phase::Late).map(|c| c.duration().0).sum();
        let calls = callbacks(&r, Phase::Late).count() as i64;
        // A direct-complete device returns at once in each of the six phases.
        let direct = r.tally.early.direct_complete as i64 / 6;
        let expected = c.begin.0
            + c.barrier.0
            + c.lock.0 * (listed + 1)
            + listed * (c.walk.0 + c.wait.0 + c.complete.0)
            + calls * c.callback.0
            + (listed - calls - direct) * c.no_callback.0
            + work;
        assert_eq!(span.duration().0, expected);
    }
}

fn callbacks(r: &Run, phase: Phase) -> impl Iterator<Item = &Callback> {
    r.cycle.callbacks.iter().filter(move |c| c.phase == phase)
}

#[test]
fn dependencies_that_are_waited_for_are_kept() {
    for board in boards(40) {
        for settings in [Settings::zero_cost(), costly(3)] {
            for policy in ALL {
                let r = simulate(&board, policy, &settings).expect("a schedule");
                for phase in Phase::DEVICE.into_iter().filter(|p| p.may_be_async()) {
                    let mut at = vec![None; board.devices.len()];
                    for c in callbacks(&r, phase) {
                        assert!(at[c.device.index()].is_none(), "ran twice");
                        at[c.device.index()] = Some((c.start, c.end));
                    }
                    let mut edges: Vec<(usize, usize)> = Vec::new();
                    for (i, d) in board.graph.devices.iter().enumerate() {
                        edges.extend(d.parent.map(|p| (p.index(), i)));
                    }
                    for l in &board.graph.links {
                        if l.kind != LinkKind::Dormant && policy.waits_for(l.kind) {
                            edges.push((l.supplier.index(), l.consumer.index()));
                        }
                    }
                    for (superior, subordinate) in edges {
                        let (Some(a), Some(b)) = (at[superior], at[subordinate]) else { continue };
                        match phase.direction() {
                            Direction::Suspend => assert!(b.1 <= a.0, "{} {phase}", policy.name),
                            Direction::Resume => assert!(a.1 <= b.0, "{} {phase}", policy.name),
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn the_same_input_gives_the_same_schedule() {
    for board in boards(10) {
        for policy in ALL {
            let a = simulate(&board, policy, &costly(4)).expect("a schedule");
            let b = simulate(&board, policy, &costly(4)).expect("a schedule");
            assert_eq!(a.cycle, b.cycle);
            assert_eq!(a.tally, b.tally);
        }
    }
}

#[test]
fn removing_a_device_never_lengthens_the_readiness_schedule() {
    let mut tried = 0;
    for board in boards(40) {
        if board.devices.iter().any(|d| d.work.iter().flatten().any(|w| w.lock > 0)) {
            continue;
        }
        let full = simulate(&board, named("DC"), &Settings::zero_cost()).expect("a schedule");
        for d in (0..board.devices.len()).step_by(3) {
            let name = board.names.get(board.graph.devices[d].name).to_string();
            let less = apply(&board, &[Change::Without(name.clone())]).expect("it is there");
            let r = simulate(&less.board, named("DC"), &Settings::zero_cost()).expect("a schedule");
            for direction in [Direction::Suspend, Direction::Resume] {
                let (was, is) = (half(&full.cycle, direction), half(&r.cycle, direction));
                assert!(is <= was, "without {name}: {} from {was} to {is}", direction.name());
            }
            tried += 1;
        }
    }
    assert!(tried > 200, "only {tried} tried");
}

/// Kernels from 6.16 on can get slower when a device goes away: here `c`, a
/// quick synchronous child, triggers `p` as soon as it has suspended. Without it
/// nothing does (the wakeup source makes `p` no leaf), so `p` starts only when
/// the walk has passed the slow `s`.
#[test]
fn triggers_make_removal_harmful() {
    let board = parse(
        "board 1\ndevice r\ndevice p parent=r async wakeup suspend=200ms\n\
         device s parent=r suspend=160ms\ndevice c parent=p suspend=1ms\n",
    )
    .expect("a board");
    let without = apply(&board, &[Change::Without("c".into())]).expect("it is there").board;
    let ms = |board: &Board, policy: &str| {
        let r = simulate(board, named(policy), &Settings::zero_cost()).expect("a schedule");
        half(&r.cycle, Direction::Suspend) / 1_000_000
    };
    assert_eq!((ms(&board, "G4"), ms(&without, "G4")), (201, 360));
    assert_eq!((ms(&board, "DC"), ms(&without, "DC")), (201, 200));
}

/// A work-conserving main thread can be slower than strict order: it takes a
/// long synchronous device that is ready before a short one that a chain waits
/// for (the anomaly of list scheduling).
#[test]
fn work_conserving_is_not_always_faster() {
    let board = parse(
        "board 1\ndevice r\ndevice p parent=r suspend=1ms\ndevice l parent=r suspend=100ms\n\
         device top parent=r async suspend=1ms\ndevice k parent=top suspend=1ms\n\
         device q parent=k async suspend=2ms\n\
         device chain parent=r async suspend=300ms\ndevice x parent=chain suspend=1ms\n\
         device y parent=x async suspend=1ms\n",
    )
    .expect("a board");
    let took = |policy: &str| {
        let r = simulate(&board, named(policy), &Settings::zero_cost()).expect("a schedule");
        half(&r.cycle, Direction::Suspend) / 1_000_000
    };
    assert_eq!(took("DC"), 302);
    assert!(took("DCw") > took("DC"), "{} and {}", took("DCw"), took("DC"));
}

/// Where completions are marked not done one by one, a dependency against the
/// list order is silently not waited for; where all are marked first, the same
/// graph hangs. The readiness proposal does not count such edges.
#[test]
fn dependencies_against_the_list_order() {
    let board = parse(
        "board 1\ndevice a async suspend=5ms resume=5ms\n\
         device b parent=a suspend=5ms resume=5ms\nlink a b active\n",
    )
    .expect("a board");
    let suspend = |policy: &str| {
        simulate(&board, named(policy), &Settings::zero_cost())
            .map(|r| r.cycle.phase(Phase::Suspend).map(|p| p.duration()))
    };
    assert_eq!(suspend("DC"), Ok(Some(Ns::from_ms(10))));
    for policy in ["G2", "G3", "G4"] {
        let Err(Stuck::Deadlock { phase, devices, limit }) = suspend(policy) else {
            panic!("{policy} does not hang");
        };
        assert_eq!((phase, devices.len(), limit), (Phase::Suspend, 2, None), "{policy}");
    }
    // G1 survives suspend and hangs in resume, where all are marked first.
    let Err(Stuck::Deadlock { phase, .. }) = suspend("G1") else { panic!("G1 does not hang") };
    assert_eq!(phase, Phase::ResumeNoirq);
}

/// A kernel runs only so many asynchronous devices at once. Rules that start leaves first,
/// whoever consumes them, may fill all places with suppliers, while their consumers are
/// queued behind. A kernel of 6.12 hangs so with 1,722 devices and 256 places.
#[test]
fn suppliers_in_all_places_wait_for_consumers_behind_them() {
    let board = parse(
        "board 1\ndevice s1 async suspend=1ms\ndevice s2 async suspend=1ms\n\
         device c1 async suspend=1ms\ndevice k1 parent=c1 async suspend=1ms\n\
         device c2 async suspend=1ms\ndevice k2 parent=c2 async suspend=1ms\n\
         link c1 s1 active\nlink c2 s2 active\n",
    )
    .expect("a board");
    let with = |policy: &str, places: u32| {
        let mut settings = Settings::zero_cost();
        settings.profile.max_active = Some(places);
        simulate(&board, named(policy), &settings)
    };
    let stuck = with("G2", 2).expect_err("two places are too few");
    let Stuck::Deadlock { phase, limit, .. } = &stuck else { panic!("{stuck}") };
    assert_eq!((*phase, *limit), (Phase::Suspend, Some(2)));
    let told = dormouse_sleep::simulate::predict::hang(&board, &stuck);
    assert!(told.contains("All 2 asynchronous devices"), "{told}");
    assert!(with("G2", 3).is_ok());
    // Whoever starts only what is ready fills no place with a wait.
    assert!(with("GS", 2).is_ok());
    assert!(with("DC", 2).is_ok());
}
