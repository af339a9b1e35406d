//! What a kernel log does not say of its machine, drawn as real machines have it.
//!
//! A log names no device link, no parent of a silent device, no class device
//! without callbacks. What is drawn here never contradicts the recording: a wait
//! only leads from a device to one that had ended before it began, whenever both
//! were called; and at a silent synchronous device the main thread stops only
//! where it came by later.

use super::expected::Seen;
use super::{Witness, tick};
use crate::simulate::change::is_needed;
use crate::simulate::policy::{FirstPass, Policy};
use dormouse_base::device::{Device, DeviceId, Link, LinkKind};
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::stats::random::Random;
use dormouse_base::time::Ns;
use dormouse_board::derive::Derived;
use dormouse_board::order::{in_order, superiors_first};
use dormouse_board::{Board, BoardDevice, Work};

/// Time stamps of two threads may be apart by this.
const APART: Ns = Ns(50_000);

/// Callbacks that end within this time of each other end together …
const TOGETHER: Ns = Ns(20_000);

/// … if they took longer than this.
const SHORT: Ns = Ns(200_000);

/// How often each is drawn, percent of the devices concerned. A quarter of the
/// devices of a laptop have a class device that its drivers made; one in five
/// has a device link (`ls /sys/class/devlink` of the recordings that list them).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rates {
    /// Links, by consumer.
    pub links: u64,
    /// Times of callbacks that ended together with another one, or may have slept
    /// until a tick.
    pub together: u64,
    /// Silent synchronous children, by asynchronous device.
    pub children: u64,
    /// Parents that are only named, by name: that they are synchronous.
    pub parents: u64,
    /// And that they have a parent themselves, which called back.
    pub grandparents: u64,
    /// Something that keeps a device from being a leaf or root.
    pub inner: u64,
    /// Flags of silent devices of which nothing is seen are the other way round.
    pub flags: u64,
    /// Waits inferred from times are something else.
    pub waits: u64,
    /// Asynchronous devices stand elsewhere in the list.
    pub order: u64,
}

impl Rates {
    pub(crate) const USUAL: Rates = Rates {
        links: 25,
        together: 25,
        children: 25,
        parents: 60,
        grandparents: 40,
        inner: 12,
        flags: 20,
        waits: 25,
        order: 50,
    };

    /// All of them times `part` by `whole`.
    pub(super) fn times(self, part: u64, whole: u64) -> Rates {
        let of = |rate: u64| (rate * part / whole).min(100);
        Rates {
            links: of(self.links),
            together: of(self.together),
            children: of(self.children),
            parents: of(self.parents),
            grandparents: of(self.grandparents),
            inner: of(self.inner),
            flags: of(self.flags),
            waits: of(self.waits),
            order: of(self.order),
        }
    }
}

/// What the recording allows to be unseen.
pub(super) struct Unseen<'a> {
    derived: &'a Derived,
    policy: &'static Policy,
    witness: &'a Witness,
    /// For each device those that it may need, in order of the list.
    suppliers: Vec<Vec<u32>>,
    /// Callbacks, by device and phase, that ended together with another one, and
    /// their own time if they only waited for what that one waited for; and those
    /// that a late tick may have kept.
    together: Vec<(u32, usize, Ns)>,
}

/// A silent synchronous device and where it stands: before the device of that
/// number.
struct Silent {
    before: u32,
    parent: Option<u32>,
    children: Vec<u32>,
    supplier: Option<u32>,
}

impl<'a> Unseen<'a> {
    /// Of the recording that `derived` and `witness` were made of.
    pub(super) fn new(derived: &'a Derived, witness: &'a Witness) -> Unseen<'a> {
        let policy = witness.scheduler.policy;
        let mut all =
            Unseen { derived, policy, witness, suppliers: Vec::new(), together: Vec::new() };
        all.suppliers = all.candidates();
        all.together = all.ended_together();
        if let Some(i) = Phase::ResumeNoirq.device_index() {
            let held = tick::held(witness.latest, &witness.phases);
            all.together.extend(held.into_iter().map(|(d, own)| (d, i, own)));
        }
        all
    }

    fn is_async(&self, d: u32) -> bool {
        self.derived.board.graph.devices[d as usize].async_flag == Some(true)
    }

    /// For each device those that had ended before it began on every way up, and
    /// that began after it had ended on every way down, of those that were ever
    /// called in one phase with it.
    fn candidates(&self) -> Vec<Vec<u32>> {
        let n = self.derived.board.devices.len();
        let called: Vec<u32> = (0..n as u32)
            .filter(|&d| self.witness.phases.iter().any(|r| r.seen[d as usize].is_some()))
            .collect();
        let mut lists = vec![Vec::new(); n];
        for &c in &called {
            // The kernel makes no link against the order of its list.
            for &s in called.iter().filter(|&&s| s < c) {
                let parent = self.derived.board.graph.devices[c as usize].parent;
                if parent != Some(DeviceId(s)) && self.may_need(c, s) {
                    lists[c as usize].push(s);
                }
            }
        }
        lists
    }

    /// Callbacks in different threads that end at one moment waited for one thing,
    /// such as a lock or a CPU: what is their own is what lies behind the end of
    /// the other.
    fn ended_together(&self) -> Vec<(u32, usize, Ns)> {
        let mut list = Vec::new();
        for r in &self.witness.phases {
            let Some(index) = r.phase.device_index() else { continue };
            let mut ends: Vec<(Ns, Ns, u32)> = Vec::new();
            for (d, s) in r.seen.iter().enumerate() {
                ends.extend(s.filter(|s| s.complete).map(|s| (s.end, s.start, d as u32)));
            }
            ends.sort_unstable();
            for w in ends.windows(2) {
                let (first, (end, start, d)) = (w[0].0, w[1]);
                if end - first <= TOGETHER && start < first && first - start > SHORT {
                    list.push((d, index, end - first));
                }
            }
        }
        list
    }

    /// For a change that takes `gone` away: the devices that may go with it though
    /// no line says so, with what they would need; those first whose callbacks are
    /// the largest part of a phase.
    pub(crate) fn may_go(&self, gone: &[bool]) -> Vec<(u32, u32)> {
        let observed = &self.derived.observed;
        let mut list = Vec::new();
        for (c, suppliers) in self.suppliers.iter().enumerate().filter(|(c, _)| !gone[*c]) {
            let Some(&s) = suppliers.iter().find(|s| gone[**s as usize]) else { continue };
            let work = self.derived.board.devices[c].work;
            let part = |(work, phase): (&Option<Work>, &Option<Ns>)| {
                let (work, phase) = ((*work)?, (*phase)?);
                Some(work.sleep.0.saturating_mul(1_000) / phase.0.max(1))
            };
            let most = work.iter().zip(observed).filter_map(part).max().unwrap_or(0);
            list.push((std::cmp::Reverse(most), (c as u32, s)));
        }
        list.sort_unstable();
        list.into_iter().map(|(_, pair)| pair).collect()
    }

    fn may_need(&self, consumer: u32, supplier: u32) -> bool {
        let mut shared = false;
        for r in &self.witness.phases {
            let (Some(c), Some(s)) = (r.seen[consumer as usize], r.seen[supplier as usize]) else {
                continue;
            };
            let (first, then) = match r.phase.direction() {
                Direction::Suspend => (c, s),
                Direction::Resume => (s, c),
            };
            shared = true;
            if first.complete && first.end > then.start + APART {
                return false;
            }
        }
        shared
    }

    /// The range of places at which a silent synchronous device may stand that
    /// the main thread waits at for all of `waited`, in phases of `direction`:
    /// nobody on the main thread whom it reaches later may begin earlier.
    fn place(&self, waited: &[u32], direction: Direction) -> (u32, u32) {
        let n = self.derived.board.devices.len() as u32;
        let (mut low, mut high) = (0, n);
        for r in self.witness.phases.iter().filter(|r| r.phase.direction() == direction) {
            let ends = waited.iter().filter_map(|&d| r.seen[d as usize]).filter(|s| s.complete);
            let Some(until) = ends.map(|s| s.end).max() else { continue };
            let early =
                |s: &Option<Seen>| s.as_ref().is_some_and(|s| s.main && s.start + APART < until);
            let mut early = r.seen.iter().enumerate().filter(|(_, s)| early(s)).map(|(d, _)| d);
            match direction {
                Direction::Resume => {
                    if let Some(last) = early.next_back() {
                        low = low.max(last as u32 + 1);
                    }
                }
                Direction::Suspend => {
                    if let Some(first) = early.next() {
                        high = high.min(first as u32);
                    }
                }
            }
        }
        (low, high)
    }

    /// A machine that explains the recording as well as the derived one, as far
    /// as order goes; its silent devices and links are drawn from `r`. In addition
    /// the `certain` pairs of consumer and supplier are linked; nothing else is to
    /// need what `gone` marks. The devices do the work of `devices`.
    pub(super) fn draw(
        &self,
        rates: Rates,
        devices: &[BoardDevice],
        certain: &[(u32, u32)],
        gone: &[bool],
        r: &mut Random,
    ) -> Board {
        let mut board = self.derived.board.clone();
        board.devices.clone_from_slice(devices);
        let n = board.devices.len() as u32;
        let mut silent: Vec<Silent> = Vec::new();
        for &d in &self.witness.unproven {
            if r.chance(rates.flags, 100) {
                let flag = &mut board.graph.devices[d as usize].async_flag;
                *flag = Some(*flag != Some(true));
            }
        }
        for &(c, s) in certain {
            link(&mut board, c, s, LinkKind::Stateless);
        }
        self.waits(&mut board, rates, r, &mut silent);
        for c in 0..n {
            let list = &self.suppliers[c as usize];
            if !list.is_empty() && r.chance(rates.links, 100) {
                let s = list[r.below(list.len() as u64) as usize];
                if !gone[s as usize] {
                    link(&mut board, c, s, LinkKind::Stateless);
                }
            }
            if !self.is_async(c) {
                continue;
            }
            if r.chance(rates.children, 100) {
                let (low, _) = self.place(&[c], Direction::Resume);
                let low = low.max(c + 1);
                let before = if r.chance(1, 2) { low } else { between(r, low, n) };
                silent.push(Silent { before, parent: Some(c), children: vec![], supplier: None });
            }
            if r.chance(rates.inner, 100) {
                board.devices[c as usize].wakeup = true;
            }
            if c > 0 && r.chance(rates.inner, 100) {
                link(&mut board, c, r.below(u64::from(c)) as u32, LinkKind::Dormant);
            }
        }
        for children in &self.witness.orphans {
            if !r.chance(rates.parents, 100) {
                continue;
            }
            let (_, high) = self.place(children, Direction::Suspend);
            let high = children.iter().copied().fold(high, u32::min);
            let before = if r.chance(1, 2) { high } else { between(r, 0, high) };
            let all = |s: &&u32| {
                !gone[**s as usize]
                    && children.iter().all(|&c| self.suppliers[c as usize].contains(s))
            };
            let above = &self.suppliers[children[0] as usize];
            let above: Vec<u32> = above.iter().filter(all).copied().collect();
            let supplier = (!above.is_empty() && r.chance(rates.grandparents, 100))
                .then(|| above[r.below(above.len() as u64) as usize]);
            let before = before.max(supplier.map_or(0, |s| s + 1));
            silent.push(Silent { before, parent: None, children: children.clone(), supplier });
        }
        let order = self.order(rates, r);
        add(&mut board, silent, &order);
        board
    }

    /// The work of all devices, some of the callbacks that ended together as short
    /// as they would be if they only waited: next time nothing may keep them.
    pub(super) fn apart(&self, rates: Rates, r: &mut Random) -> Vec<BoardDevice> {
        let mut devices = self.derived.board.devices.clone();
        for &(d, index, time) in &self.together {
            if r.chance(rates.together, 100)
                && let Some(w) = &mut devices[d as usize].work[index]
            {
                w.sleep = w.sleep.min(time);
            }
        }
        devices
    }

    /// Devices in an order that the walk of the main thread shows as well. A
    /// kernel that starts asynchronous leaves before its walk does not show where
    /// they stand: anywhere behind their superiors.
    fn order(&self, rates: Rates, r: &mut Random) -> Vec<u32> {
        let board = &self.derived.board;
        let n = board.devices.len() as u32;
        let shown = self.policy.suspend.first_pass == FirstPass::Nothing;
        // Twice the number, so that something fits between.
        let mut place: Vec<(u32, u32)> = (0..n).map(|d| (2 * d, d)).collect();
        for d in (0..n).filter(|&d| !shown && self.is_async(d)) {
            if !r.chance(rates.order, 100) {
                continue;
            }
            let parent = board.graph.devices[d as usize].parent.map(|p| p.0);
            let above = board.graph.links.iter().filter(|l| l.consumer.0 == d);
            let first = above.map(|l| l.supplier.0).chain(parent).max().map_or(0, |a| a + 1);
            place[d as usize].0 = 2 * between(r, first, d) + 1;
        }
        place.sort_unstable();
        place.into_iter().map(|(_, d)| d).collect()
    }

    /// Some of the waits that only times show are no links: the main thread was
    /// stopped by a silent device in front of the waiter.
    fn waits(&self, board: &mut Board, rates: Rates, r: &mut Random, silent: &mut Vec<Silent>) {
        let main = |d: u32| !self.is_async(d);
        let mut gone = Vec::new();
        for (i, l) in board.graph.links.iter().enumerate() {
            if !is_needed(l.kind) || !r.chance(rates.waits, 100) {
                continue;
            }
            gone.push(i);
            let (c, s) = (l.consumer.0, l.supplier.0);
            if main(c) && self.is_async(s) {
                let new = Silent { before: c, parent: Some(s), children: vec![], supplier: None };
                silent.push(new);
            } else if main(s) && self.is_async(c) {
                let children = vec![c];
                silent.push(Silent { before: s + 1, parent: None, children, supplier: None });
            }
        }
        for i in gone.into_iter().rev() {
            board.graph.links.remove(i);
        }
    }
}

/// From `low` to `high`, both included; `low` if they are the wrong way round.
fn between(r: &mut Random, low: u32, high: u32) -> u32 {
    if high <= low { low } else { r.between(u64::from(low), u64::from(high)) as u32 }
}

fn link(board: &mut Board, consumer: u32, supplier: u32, kind: LinkKind) {
    let (consumer, supplier) = (DeviceId(consumer), DeviceId(supplier));
    board.graph.links.push(Link { consumer, supplier, kind, pm_runtime: false });
}

/// Puts silent devices where they belong, and the others in `order`.
fn add(board: &mut Board, silent: Vec<Silent>, others: &[u32]) {
    let mut places: Vec<(u32, u32)> = Vec::new();
    for s in silent {
        let mut device = Device { async_flag: Some(false), ..Device::default() };
        device.parent = s.parent.map(DeviceId);
        let id = board.graph.push(device);
        board.devices.push(BoardDevice::default());
        places.push((s.before, id.0));
        for c in s.children {
            board.graph.devices[c as usize].parent = Some(id);
        }
        if let Some(supplier) = s.supplier {
            board.graph.devices[id.index()].parent = Some(DeviceId(supplier));
        }
    }
    places.sort_unstable();
    let mut places = places.into_iter().peekable();
    let mut order = Vec::with_capacity(board.devices.len());
    for &d in others {
        while let Some(&(_, id)) = places.peek().filter(|p| p.0 <= d) {
            order.push(id);
            places.next();
        }
        order.push(d);
    }
    order.extend(places.map(|(_, id)| id));
    in_order(board, &order);
    if superiors_first(board) > 0 {
        // What closes a ring was drawn in vain.
        board.graph.links.retain(|l| !l.kind.is_sync_state_only());
    }
}
