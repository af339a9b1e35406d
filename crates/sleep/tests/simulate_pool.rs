//! The worker pool against figures measured on kernels.

use dormouse_base::device::{Device, DeviceId};
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;
use dormouse_board::{Board, BoardDevice, Work};
use dormouse_sleep::simulate::{Costs, Policy, Profile, Settings, simulate};

/// 20 chains of 10 asynchronous devices, 2 ms each: critical path 20 ms.
fn chains() -> Board {
    let mut board = Board { cpus: 4, pm_async: true, ..Board::default() };
    for chain in 0..20u32 {
        for i in 0..10u32 {
            let id = chain * 10 + i;
            board.graph.push(Device {
                parent: (i > 0).then(|| DeviceId(id - 1)),
                async_flag: Some(true),
                ..Device::default()
            });
            let mut d = BoardDevice::default();
            let w = Some(Work { sleep: Ns::from_ms(2), ..Work::default() });
            d.work[1] = w;
            d.work[6] = w;
            board.devices.push(d);
        }
    }
    board
}

fn suspend(policy: &str, idle_workers: u32) -> (f64, u64, u32) {
    let mut profile = Profile::zero();
    profile.costs = Costs { create: Ns(135_000), wake: Ns(20_000), ..Costs::default() };
    profile.idle_workers = idle_workers;
    let settings = Settings { profile, pm_async: None, wakeup_at: None };
    let policy = Policy::find(policy).expect("policy");
    let run = simulate(&chains(), policy, &settings).expect("a schedule");
    let time = run.cycle.phase(Phase::Suspend).expect("ran").duration();
    (time.as_ms_f64(), run.tally.workers_created, run.tally.parked_at_once)
}

/// A second, independent interpreter of the same rules gave these times with
/// the same two constants (a worker costs 0.135 ms, a wake-up 0.02 ms); the
/// kernels 7.2.12 and 6.12.111 themselves took 41.0 and 42.3 ms cold, 27.1 and
/// 27.9 ms warm, because they oversleep and compute.
#[test]
fn cold_and_warm_pools_agree_with_another_interpreter() {
    for (policy, idle, expected) in [
        ("G4", 2, 35.9),
        ("G4", 300, 23.1),
        ("G1", 2, 39.4),
        ("G1", 300, 25.7),
        ("GS", 2, 23.1),
        ("GS", 300, 21.1),
    ] {
        let (ms, ..) = suspend(policy, idle);
        let off = (ms - expected) / expected;
        println!("{policy} with {idle} idle workers: {ms:.2} ms, expected {expected} ({off:+.3})");
        assert!(off.abs() < 0.08, "{policy} {idle}: {ms} ms, expected {expected}");
    }
}

/// Only readiness keeps workers from being parked: one worker for each chain.
#[test]
fn a_readiness_scheduler_needs_a_worker_for_each_chain_only() {
    for policy in ["GS", "DC"] {
        let (_, created, parked) = suspend(policy, 2);
        assert!(created <= 20, "{policy} created {created}");
        assert_eq!(parked, 0, "{policy}");
    }
    for policy in ["G1", "G4"] {
        let (_, created, parked) = suspend(policy, 2);
        assert!(created >= 100 && parked >= 80, "{policy}: {created} created, {parked} parked");
    }
}

/// A damaged recording may tell of any number of CPUs.
#[test]
fn billions_of_cpus_cost_no_memory() {
    use dormouse_sleep::simulate::Cpus;
    let Cpus::List(all) = Cpus::equal(u32::MAX) else { panic!("a list") };
    assert_eq!(all.len(), 8_192);
}
