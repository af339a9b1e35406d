//! Random SoCs: boards whose devices are in power domains. The same options and seed
//! give the same board everywhere.

use super::domain::{Domain, State};
use super::generate::Durations;
use super::{Board, BoardDevice, Work};
use dormouse_base::device::{Device, DeviceId};
use dormouse_base::names::Sym;
use dormouse_base::stats::random::Random;
use dormouse_base::time::Ns;

/// What [`soc`] makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Which of the boards with these properties.
    pub seed: u64,
    /// Power domains.
    pub domains: u32,
    /// CPUs.
    pub cpus: u32,
}

/// Time that a domain takes to switch on: from a clock gate to a GPU with its rail.
const ON: Durations = Durations { low: Ns(100_000), high: Ns(10_000_000) };
/// And off.
const OFF: Durations = Durations { low: Ns(50_000), high: Ns(3_000_000) };
/// What drivers do in the noirq phases.
const NOIRQ: Durations = Durations { low: Ns(20_000), high: Ns(500_000) };
/// And elsewhere.
const OTHER: Durations = Durations { low: Ns(50_000), high: Ns(3_000_000) };

/// Makes the board of `options`: domains with one, two or no parents, some with two
/// states, some that stay on; devices in them, some of them unused at run time, and
/// devices in no domain.
pub fn soc(options: &Options) -> Board {
    let mut random = Random::new(options.seed);
    let mut board = Board { cpus: options.cpus.max(1), pm_async: true, ..Board::default() };
    board.graph.order_known = true;
    board.graph.links_known = true;
    for n in 0..options.domains {
        let domain = domain(&mut random, &mut board, n);
        board.domains.push(domain);
    }
    let soc = device(&mut board, "soc", None, BoardDevice::default());
    let mut made = 0;
    for n in 0..options.domains {
        // As a rule all devices of a domain are idle, or none is.
        let idle = random.chance(40, 100);
        for _ in 0..random.below(4) + u64::from(n + 1 == options.domains) {
            let mut work = work(&mut random);
            work.domain = Some(n);
            work.wakeup = random.chance(8, 100);
            work.runtime_suspended = idle != random.chance(10, 100);
            let id = device(&mut board, &format!("d{made}"), Some(soc), work);
            board.graph.devices[id.index()].async_flag = Some(random.chance(70, 100));
            made += 1;
        }
        if random.chance(30, 100) {
            let work = work(&mut random);
            let id = device(&mut board, &format!("free{n}"), Some(soc), work);
            board.graph.devices[id.index()].async_flag = Some(random.chance(70, 100));
        }
    }
    board
}

fn domain(random: &mut Random, board: &mut Board, n: u32) -> Domain {
    let state = |random: &mut Random| State {
        off: OFF.draw(random),
        on: ON.draw(random),
        residency: Ns::ZERO,
    };
    let mut states = Vec::from([state(random)]);
    if random.chance(20, 100) {
        let deep = state(random);
        states.push(State { off: states[0].off + deep.off, on: states[0].on + deep.on, ..deep });
    }
    let mut parents = Vec::new();
    for chance in [75, 12] {
        if n > 0 && random.chance(chance, 100) {
            let p = random.below(u64::from(n)) as u32;
            if !parents.contains(&p) {
                parents.push(p);
            }
        }
    }
    Domain {
        name: board.names.add(&format!("pd{n}")),
        parents,
        states,
        always_on: random.chance(5, 100),
        rpm_always_on: random.chance(8, 100),
        active_wakeup: random.chance(15, 100),
        ..Domain::default()
    }
}

fn work(random: &mut Random) -> BoardDevice {
    let mut device = BoardDevice::default();
    let mut give = |slots: [usize; 2], chance, durations: Durations| {
        if random.chance(chance, 100) {
            for slot in slots {
                let sleep = durations.draw(random);
                device.work[slot] = Some(Work { sleep, ..Work::default() });
            }
        }
    };
    // By Phase::device_index: suspend and resume, noirq on both ways.
    give([3, 4], 60, NOIRQ);
    give([1, 6], 50, OTHER);
    device
}

fn device(board: &mut Board, name: &str, parent: Option<DeviceId>, work: BoardDevice) -> DeviceId {
    let name = board.names.add(name);
    let parent_name = parent.map_or(Sym::EMPTY, |p| board.graph.get(p).name);
    board.devices.push(work);
    board.graph.push(Device { name, parent, parent_name, ..Device::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_soc_repeats_and_can_be_written_down() {
        for seed in 0..20 {
            let options = Options { seed, domains: 3 + 2 * seed as u32, cpus: 4 };
            let board = soc(&options);
            let text = crate::print(&board, "");
            assert_eq!(text, crate::print(&soc(&options), ""));
            assert_eq!(text, crate::print(&crate::parse(&text).unwrap(), ""), "{seed}");
            assert_eq!(board.domains.len(), options.domains as usize);
            assert!(board.devices.iter().any(|d| d.domain.is_some()));
        }
    }
}
