//! One computing thread for all CPUs: what an emulator that counts instructions
//! does to a schedule.

use dormouse_base::device::Device;
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;
use dormouse_board::generate::{Durations, Options, generate};
use dormouse_board::{Board, BoardDevice, Work};
use dormouse_sleep::simulate::policy::{ALL, Policy};
use dormouse_sleep::simulate::{Costs, Cpus, Emulator, Profile, Run, Settings, simulate};

fn emulator(cpus: u32) -> Profile {
    with(cpus, Emulator::default())
}

fn with(cpus: u32, emulator: Emulator) -> Profile {
    let (cpus, emulator) = (Some(Cpus::equal(cpus)), Some(emulator));
    Profile { costs: Costs::COUNTED, cpus, emulator, ..Profile::x86() }
}

/// The last CPU has its first tick at some time in `first_tick`.
fn late(cpus: u32, first_tick: (Ns, Ns), draw: u64) -> Profile {
    with(cpus, Emulator { first_tick, draw, ..Emulator::default() })
}

fn run(board: &Board, policy: &str, profile: Profile) -> Run {
    let settings = Settings { profile, pm_async: None, wakeup_at: None };
    simulate(board, Policy::find(policy).expect("a policy"), &settings).expect("a schedule")
}

/// `n` asynchronous devices without parents, with this work in `phase`.
fn flat(n: usize, phase: Phase, work: Work) -> Board {
    let mut board = Board { cpus: 4, pm_async: true, ..Board::default() };
    for _ in 0..n {
        board.graph.push(Device { async_flag: Some(true), ..Device::default() });
        let mut d = BoardDevice::default();
        d.work[phase.device_index().expect("a device phase")] = Some(work);
        // A device without suspend is never suspended, so never resumed.
        for w in &mut d.work[1..=6] {
            w.get_or_insert_default();
        }
        board.devices.push(d);
    }
    board
}

fn time(run: &Run, phase: Phase) -> Ns {
    run.cycle.phase(phase).expect("the phase").duration()
}

#[test]
fn sleeps_overlap_and_computing_does_not() {
    let ms = Ns::from_ms(1);
    let sleeping = flat(4, Phase::Suspend, Work { sleep: ms, ..Work::default() });
    let computing = flat(4, Phase::Suspend, Work { compute: ms, ..Work::default() });
    for policy in ["G1", "G4", "DC"] {
        let t = time(&run(&sleeping, policy, emulator(4)), Phase::Suspend);
        assert!(t < Ns(1_500_000), "{policy}: {t}");
        let t = time(&run(&computing, policy, emulator(4)), Phase::Suspend);
        assert!(t > Ns::from_ms(4) && t < Ns(4_700_000), "{policy}: {t}");
        let parallel = Profile { emulator: None, ..emulator(4) };
        let t = time(&run(&computing, policy, parallel), Phase::Suspend);
        assert!(t < Ns::from_ms(2), "{policy} on four real CPUs: {t}");
    }
}

#[test]
fn every_policy_runs_everything_in_order() {
    for seed in 0..24 {
        let board = generate(&Options {
            seed,
            devices: 20 + (seed as u32 % 5) * 40,
            computing: 30,
            locked: 10,
            async_share: 40 + (seed as u32 % 3) * 30,
            durations: Durations { low: Ns::from_us(5), high: Ns::from_ms(2) },
            ..Options::default()
        });
        for policy in ALL {
            let emulator = Emulator {
                preempts: Some(seed % 2 == 0),
                searches: Some(seed % 3 == 0),
                first_tick: (Ns::from_ms(1), Ns::from_ms(1)),
                draw: seed,
            };
            let mut profile = with(1 + seed as u32 % 4, emulator);
            profile.idle_workers = [2, 60][seed as usize / 2 % 2];
            let settings = Settings { profile, pm_async: None, wakeup_at: None };
            let first = simulate(&board, policy, &settings).expect("a schedule");
            let again = simulate(&board, policy, &settings).expect("a schedule");
            assert_eq!(first.cycle.callbacks, again.cycle.callbacks, "{} seed {seed}", policy.name);
            let zero = simulate(&board, policy, &Settings::zero_cost()).expect("a schedule");
            assert_eq!(
                first.cycle.callbacks.len(),
                zero.cycle.callbacks.len(),
                "{} seed {seed}",
                policy.name
            );
            for c in first.cycle.callbacks.iter().filter(|c| c.phase == Phase::Suspend) {
                let Some(parent) = board.graph.get(c.device).parent else { continue };
                let parent = first
                    .cycle
                    .callbacks
                    .iter()
                    .find(|p| p.device == parent && p.phase == Phase::Suspend);
                assert!(parent.is_none_or(|p| p.start >= c.end), "{} seed {seed}", policy.name);
            }
        }
    }
}

#[test]
fn the_last_cpu_wakes_nobody_before_its_first_tick() {
    let short = Work { sleep: Ns::from_us(50), ..Work::default() };
    let board = flat(8, Phase::ResumeNoirq, short);
    let tick = Ns::from_ms(3);
    let noirq = |profile: Profile| time(&run(&board, "G4", profile), Phase::ResumeNoirq);
    assert!(noirq(emulator(4)) < Ns::from_ms(1));
    let mut four = late(4, (tick, tick), 0);
    let took = noirq(four.clone());
    assert!(took >= tick && took < tick + Ns(100_000), "{took}");
    // The first CPU is never offline.
    assert!(noirq(late(1, (tick, tick), 0)) < Ns::from_ms(1));
    // Nor is the last one at a level of sleep that keeps all.
    four.keep_cpus();
    assert!(noirq(four) < Ns::from_ms(1));
}

#[test]
fn the_main_thread_comes_up_on_the_first_cpu() {
    let mut board = flat(8, Phase::ResumeNoirq, Work { sleep: Ns(50_000), ..Work::default() });
    board.pm_async = false;
    let tick = (Ns::from_ms(3), Ns::from_ms(5));
    for draw in 0..40 {
        let r = run(&board, "G4", late(4, tick, draw));
        let t = time(&r, Phase::ResumeNoirq);
        assert!(t < tick.0, "draw {draw}: {t}, so it slept on the last CPU");
    }
}

#[test]
fn when_the_first_tick_comes_is_drawn() {
    let board = flat(8, Phase::ResumeNoirq, Work { sleep: Ns(50_000), ..Work::default() });
    let tick = (Ns::from_ms(3), Ns::from_ms(5));
    let ends: Vec<Ns> = (1..=40)
        .map(|draw| run(&board, "G4", late(4, tick, draw)))
        .map(|r| time(&r, Phase::ResumeNoirq))
        .filter(|t| *t >= tick.0)
        .collect();
    let (first, last) = (ends.iter().min().expect("one"), ends.iter().max().expect("one"));
    assert!(*last < tick.1 + Ns(100_000) && *last - *first > Ns::from_ms(1), "{first} to {last}");
}

#[test]
fn old_workers_interrupt_the_walk_before_6_6() {
    let board = flat(60, Phase::Late, Work { sleep: Ns::from_us(5), ..Work::default() });
    let first = |preempts, idle_workers| {
        let emulator = Emulator { preempts: Some(preempts), ..Emulator::default() };
        let r = run(&board, "G1", Profile { idle_workers, ..with(1, emulator) });
        let start = r.cycle.phase(Phase::Late).expect("late").start;
        let calls = r.cycle.callbacks.iter().filter(|c| c.phase == Phase::Late);
        calls.map(|c| c.start - start).min().expect("a callback")
    };
    let queue_all = Costs::COUNTED.queue.0 * 60;
    assert!(first(true, 80).0 < queue_all / 2);
    assert!(first(false, 80).0 >= queue_all);
}

#[test]
fn a_due_timer_gives_the_turn_to_the_next_cpu() {
    let mut board = flat(3, Phase::Resume, Work::default());
    let resume = Phase::Resume.device_index().expect("a device phase");
    let us = Ns::from_us;
    for (d, (sleep, compute)) in [(300, 0), (100, 0), (0, 2000)].into_iter().enumerate() {
        board.devices[d].work[resume] =
            Some(Work { sleep: us(sleep), compute: us(compute), ..Work::default() });
        board.graph.devices[d].async_flag = Some(d == 0);
    }
    for draw in 0..20 {
        let r = run(&board, "G4", with(4, Emulator { draw, ..Emulator::default() }));
        let start = r.cycle.phase(Phase::Resume).expect("resume").start;
        let ends: Vec<Ns> = (0..3)
            .map(|d| {
                let mut calls = r.cycle.callbacks.iter().filter(|c| c.phase == Phase::Resume);
                calls.find(|c| c.device.index() == d).expect("a callback").end - start
            })
            .collect();
        // The first sleeps beside the second and ends while the third computes.
        assert!(ends[0] < us(450), "draw {draw}: {ends:?}");
        assert!(ends[2] > us(2100), "draw {draw}: {ends:?}");
    }
}

#[test]
fn which_cpus_threads_ran_on_is_drawn() {
    let board = generate(&Options {
        seed: 7,
        devices: 120,
        async_share: 90,
        durations: Durations { low: Ns::from_us(5), high: Ns::from_us(500) },
        ..Options::default()
    });
    let draw =
        |draw| run(&board, "G4", with(4, Emulator { draw, ..Emulator::default() })).cycle.callbacks;
    assert_eq!(draw(3), draw(3));
    let first = draw(1);
    assert!((2..6).any(|d| draw(d) != first));
}
