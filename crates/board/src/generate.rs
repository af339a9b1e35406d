//! Random boards: the same options and seed give the same board everywhere.

use super::{Board, BoardDevice, Work};
use dormouse_base::device::{Device, DeviceId, Link, LinkKind};
use dormouse_base::names::Sym;
use dormouse_base::stats::random::Random;
use dormouse_base::time::Ns;

/// A range of durations, drawn log-uniformly: each factor of ten is as likely
/// as the next, as with the callbacks of real machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Durations {
    /// Shortest.
    pub low: Ns,
    /// Longest.
    pub high: Ns,
}

impl Durations {
    /// Draws a duration, rounded to three digits so that files stay readable.
    pub fn draw(self, random: &mut Random) -> Ns {
        let low = self.low.0.max(1) as f64;
        let ratio = (self.high.0.max(self.low.0).max(1) as f64) / low;
        // The mathematics of one library, so the same bits on every machine.
        let x = low * libm::exp(random.unit() * libm::log(ratio));
        round(x as i64)
    }
}

/// Rounds to three significant digits.
fn round(n: i64) -> Ns {
    let mut scale = 1;
    while n / scale >= 1000 {
        scale *= 10;
    }
    Ns((n + scale / 2) / scale * scale)
}

/// What [`generate`] makes. Shares are percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Which of the boards with these properties.
    pub seed: u64,
    /// Devices, class children included.
    pub devices: u32,
    /// CPUs.
    pub cpus: u32,
    /// Longest chain of parents, the root included; at least 1.
    pub depth: u32,
    /// Most children of a device, class children not counted; at least 1.
    pub fan_out: u32,
    /// Links for each 100 devices.
    pub links: u32,
    /// Links that are dormant.
    pub dormant: u32,
    /// Links that are sync_state_only.
    pub sync_state_only: u32,
    /// Asynchronous devices (class children are always synchronous).
    pub async_share: u32,
    /// Class children: synchronous leaves without callbacks, such as `net`,
    /// `input` and `block` devices.
    pub class_children: u32,
    /// Devices with callbacks whose callbacks compute instead of sleeping.
    pub computing: u32,
    /// Devices with a wakeup source.
    pub wakeup: u32,
    /// Devices with callbacks that have late and early ones too.
    pub late: u32,
    /// Devices with callbacks that have noirq ones too, on both ways.
    pub noirq: u32,
    /// Devices with callbacks that have prepare and complete too.
    pub prepare: u32,
    /// Devices that ask for direct-complete and are runtime-suspended.
    pub direct_complete: u32,
    /// Devices with callbacks that hold one of the locks.
    pub locked: u32,
    /// How many locks there are.
    pub locks: u32,
    /// Time of each callback.
    pub durations: Durations,
}

impl Options {
    /// A large machine: the boards that `tune` is judged by and timed with.
    pub fn large(async_share: u32) -> Options {
        Options { seed: 3, devices: 1_000, cpus: 8, async_share, ..Options::default() }
    }
}

/// Shares of asynchronous devices that large boards are looked at with.
pub const SHARES: [u32; 4] = [0, 30, 60, 90];

impl Default for Options {
    fn default() -> Options {
        Options {
            seed: 1,
            devices: 200,
            cpus: 4,
            depth: 6,
            fan_out: 4,
            links: 30,
            dormant: 0,
            sync_state_only: 0,
            async_share: 60,
            class_children: 20,
            computing: 0,
            wakeup: 5,
            late: 20,
            noirq: 20,
            prepare: 0,
            direct_complete: 0,
            locked: 0,
            locks: 4,
            durations: Durations { low: Ns::from_us(5), high: Ns::from_ms(50) },
        }
    }
}

/// The state of a board in the making.
struct Maker {
    options: Options,
    random: Random,
    board: Board,
    depth: Vec<u32>,
    /// Devices that can take a child, with the children they have.
    open: Vec<(DeviceId, u32)>,
    /// Devices that are not class children.
    hardware: Vec<DeviceId>,
}

/// Makes the board of `options`. Superiors come before subordinates, and a
/// link leads from a later consumer to an earlier supplier.
pub fn generate(options: &Options) -> Board {
    let mut m = Maker {
        options: *options,
        random: Random::new(options.seed),
        board: Board { cpus: options.cpus.max(1), pm_async: true, ..Board::default() },
        depth: Vec::new(),
        open: Vec::new(),
        hardware: Vec::new(),
    };
    m.board.graph.order_known = true;
    m.board.graph.links_known = true;
    for i in 0..options.devices {
        let class_child = !m.hardware.is_empty() && m.percent(options.class_children);
        if class_child { m.class_child(i) } else { m.hardware(i) }
    }
    m.links();
    m.board
}

impl Maker {
    fn percent(&mut self, share: u32) -> bool {
        self.random.chance(u64::from(share), 100)
    }

    fn push(&mut self, name: String, parent: Option<DeviceId>, work: BoardDevice) -> DeviceId {
        let name = self.board.names.add(&name);
        let parent_name = parent.map_or(Sym::EMPTY, |p| self.board.graph.get(p).name);
        self.depth.push(parent.map_or(1, |p| self.depth[p.index()] + 1));
        self.board.devices.push(work);
        self.board.graph.push(Device { name, parent, parent_name, ..Device::default() })
    }

    fn class_child(&mut self, i: u32) {
        let at = self.random.below(self.hardware.len() as u64) as usize;
        let id = self.push(format!("c{i}"), Some(self.hardware[at]), BoardDevice::default());
        self.board.graph.devices[id.index()].async_flag = Some(false);
    }

    fn hardware(&mut self, i: u32) {
        let parent = self.take_parent();
        let work = self.work();
        let id = self.push(format!("d{i}"), parent, work);
        let is_async = self.percent(self.options.async_share);
        self.board.graph.devices[id.index()].async_flag = Some(is_async);
        self.hardware.push(id);
        if self.depth[id.index()] < self.options.depth {
            self.open.push((id, 0));
        }
    }

    /// A device with room for a child, each equally likely; a new root if
    /// there is none.
    fn take_parent(&mut self) -> Option<DeviceId> {
        let at = self.random.below(self.open.len() as u64) as usize;
        let (id, children) = self.open.get_mut(at)?;
        *children += 1;
        let (id, full) = (*id, *children >= self.options.fan_out.max(1));
        if full {
            self.open.swap_remove(at);
        }
        Some(id)
    }

    fn work(&mut self) -> BoardDevice {
        let o = self.options;
        let mut device = BoardDevice { wakeup: self.percent(o.wakeup), ..BoardDevice::default() };
        let computing = self.percent(o.computing);
        let locked = o.locks > 0 && self.percent(o.locked);
        let lock = if locked { self.random.between(1, u64::from(o.locks)) as u32 } else { 0 };
        // By Phase::device_index: prepare 0, suspend 1, late 2, noirq 3 and 4,
        // early 5, resume 6, complete 7.
        let late = self.percent(o.late);
        let noirq = self.percent(o.noirq);
        let prepare = self.percent(o.prepare);
        let present = [prepare, true, late, noirq, noirq, late, true, prepare];
        for (slot, present) in device.work.iter_mut().zip(present) {
            if present {
                let time = o.durations.draw(&mut self.random);
                let (sleep, compute) = if computing { (Ns::ZERO, time) } else { (time, Ns::ZERO) };
                *slot = Some(Work { sleep, compute, ret: 0, lock });
            }
        }
        if self.percent(o.direct_complete) {
            device.runtime_suspended = true;
            device.work[0].get_or_insert_default().ret = 1;
        }
        device
    }

    fn links(&mut self) {
        let o = self.options;
        let mut suppliers: Vec<DeviceId> = Vec::new();
        for at in 1..self.hardware.len() {
            let consumer = self.hardware[at];
            let count = o.links / 100 + u32::from(self.percent(o.links % 100));
            suppliers.clear();
            for _ in 0..count {
                let supplier = self.hardware[self.random.below(at as u64) as usize];
                let kind = match self.random.below(100) as u32 {
                    n if n < o.dormant => LinkKind::Dormant,
                    n if n < o.dormant.saturating_add(o.sync_state_only) => LinkKind::SyncStateOnly,
                    n if n.is_multiple_of(2) => LinkKind::Stateless,
                    _ => LinkKind::Active,
                };
                // The kernel has one link for a pair, and none to an ancestor.
                if suppliers.contains(&supplier) || self.is_ancestor(supplier, consumer) {
                    continue;
                }
                suppliers.push(supplier);
                self.board.graph.links.push(Link { consumer, supplier, kind, pm_runtime: false });
            }
        }
    }

    fn is_ancestor(&self, ancestor: DeviceId, of: DeviceId) -> bool {
        let graph = &self.board.graph;
        std::iter::successors(graph.get(of).parent, |&d| graph.get(d).parent).any(|d| d == ancestor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_spread_over_every_decade() {
        let mut random = Random::new(3);
        let durations = Durations { low: Ns::from_us(5), high: Ns::from_ms(50) };
        let mut decades = [0u32; 4];
        for _ in 0..8_000 {
            let t = durations.draw(&mut random).0;
            assert!((5_000..=50_000_000).contains(&t), "{t}");
            decades[(t / 5_000).ilog10().min(3) as usize] += 1;
        }
        assert!(decades.iter().all(|&n| (1_800..2_200).contains(&n)), "{decades:?}");
        assert_eq!(round(123_456), Ns(123_000));
        assert_eq!(round(999_900), Ns(1_000_000));
    }
}
