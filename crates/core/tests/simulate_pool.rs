//! The worker pool against figures measured on kernels.

use dormouse_core::board::{Board, BoardDevice, Work};
use dormouse_core::device::{Device, DeviceId};
use dormouse_core::phase::Phase;
use dormouse_core::simulate::{Costs, Policy, Profile, Settings, simulate};
use dormouse_core::time::Ns;

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

#[test]
fn probe() {
    for policy in ["G1", "G4", "GS", "DC"] {
        for idle in [2, 300] {
            let mut profile = Profile::zero();
            profile.costs = Costs { create: Ns(135_000), wake: Ns(20_000), ..Costs::default() };
            profile.idle_workers = idle;
            let s = Settings { profile, pm_async: None, wakeup_at: None };
            let r = simulate(&chains(), Policy::find(policy).unwrap(), &s).unwrap();
            println!("{policy} idle {idle}: suspend {} resume {} {:?}", r.cycle.phase(Phase::Suspend).unwrap().duration(), r.cycle.phase(Phase::Resume).unwrap().duration(), r.tally);
        }
    }
}
