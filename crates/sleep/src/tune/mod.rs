//! The async flag of every device (and `pm_async`) for the shortest suspend
//! plus resume under one kernel's scheduling.
//!
//! [`evidence`] says for which devices the flag may be proposed and why;
//! `search::flags` finds the setting; [`tune`] takes away every flip that is
//! not worth making and puts the rest in the order in which they help. [`offer`] says
//! what power domains would save beside that.

pub mod evidence;
pub mod offer;
pub mod worth;

use crate::simulate::{Floor, Policy, Settings, Stuck, Topology, run_within};
use dormouse_base::device::{DeviceId, Link, LinkKind};
use dormouse_base::phase::Phase;
use dormouse_base::stats::random::Random;
use dormouse_base::stats::search::flags;
use dormouse_base::time::Ns;
use dormouse_board::Board;
use evidence::{Evidence, evidence};
use serde::Serialize;

/// What may be changed, and how long to search.
#[derive(Clone, Debug)]
pub struct Options {
    /// Also propose async where nothing but hope supports it.
    pub bold: bool,
    /// Devices whose flag must stay as it is.
    pub keep: Vec<bool>,
    /// Most simulations of the search.
    pub limit: u64,
    /// Seed of the search and of the random search it is compared with.
    pub seed: u64,
    /// A flip that gains less than this is not proposed.
    pub worthwhile: Ns,
}

impl Options {
    /// Careful, everything open, 2,000 simulations, 20 us.
    pub fn new(board: &Board) -> Options {
        Options {
            bold: false,
            keep: vec![false; board.devices.len()],
            limit: 2_000,
            seed: 1,
            worthwhile: Ns(20_000),
        }
    }
}

/// Suspend and resume of one setting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cost {
    /// All device phases on the way down.
    #[serde(rename = "suspend_ns")]
    pub suspend: Ns,
    /// All device phases on the way up.
    #[serde(rename = "resume_ns")]
    pub resume: Ns,
}

impl Cost {
    /// Both.
    pub fn total(self) -> Ns {
        self.suspend + self.resume
    }
}

/// One flag to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flip {
    /// Whose.
    pub device: DeviceId,
    /// The new value.
    pub to_async: bool,
    /// What supports it.
    pub evidence: Evidence,
    /// What it would gain alone.
    pub alone: Ns,
    /// What it gains after those before it in the list.
    pub now: Ns,
}

/// The result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tuned {
    /// As the board came.
    pub before: Cost,
    /// With the flips below (and `pm_async`).
    pub after: Cost,
    /// As `after`, if all devices that are synchronous now held one lock: what
    /// is left of the gain should their drivers exclude one another, which no
    /// graph and no recording of synchronous devices can show. `None` if none
    /// with callbacks becomes async.
    pub if_exclusive: Option<Cost>,
    /// As `after`, if each device that is synchronous now waited for the one
    /// before it as it does now: what is left should one of their drivers need
    /// another device that no graph names. `None` as `if_exclusive`.
    pub if_ordered: Option<Cost>,
    /// `pm_async`, if it should change.
    pub pm_async: Option<bool>,
    /// Flags to change, in the order in which they help most.
    #[serde(skip)]
    pub flips: Vec<Flip>,
    /// All devices synchronous.
    pub all_sync: Cost,
    /// All devices that may be async, async.
    pub all_async: Cost,
    /// The best of as many random settings as the search looked at.
    pub random: Cost,
    /// How many flags were free.
    pub free_flags: usize,
    /// How many more would have been, were they not asked to stay.
    #[serde(skip)]
    pub kept: usize,
    /// How many more a bold search would look at.
    #[serde(skip)]
    pub if_bold: usize,
    /// Every setting of the free flags was looked at.
    pub exact: bool,
    /// Simulations of the search.
    pub simulations: u64,
}

impl Tuned {
    /// `board` as tuned.
    pub fn apply(&self, board: &Board) -> Board {
        let mut out = board.clone();
        for f in &self.flips {
            out.graph.devices[f.device.index()].async_flag = Some(f.to_async);
        }
        out.pm_async = self.pm_async.unwrap_or(board.pm_async);
        out
    }
}

/// Finds the flags. Deterministic for a board, policy, settings and options.
///
/// # Errors
///
/// If the board cannot be simulated as it came; settings under which the
/// kernel would hang are merely never chosen.
pub fn tune(
    board: &Board,
    policy: &Policy,
    settings: &Settings,
    options: &Options,
) -> Result<Tuned, Stuck> {
    let mut trial = Trial::new(board, policy, settings)?;
    let before = trial.cost_now(Ns::MAX)?.unwrap_or_default();
    let flags = board.graph.ids().zip(evidence(board)).filter_map(|(d, e)| e.map(|e| (d, e)));
    let stays = |d: DeviceId| options.keep.get(d.index()).copied().unwrap_or(false);
    let (mut free, mut kept, mut if_bold) = (Vec::new(), 0, 0);
    for (d, e) in flags {
        match (stays(d), options.bold || e.is_careful()) {
            (false, true) => free.push((d, e)),
            (true, true) => kept += 1,
            (false, false) => if_bold += 1,
            (true, false) => {}
        }
    }
    let as_came: Vec<bool> =
        free.iter().map(|(d, _)| board.graph.get(*d).async_flag == Some(true)).collect();
    let weight: Vec<i64> = free.iter().map(|(d, _)| weight(board, *d)).collect();

    let all = |value: bool| vec![value; free.len()];
    let all_sync = trial.cost(&free, &all(false)).unwrap_or(before);
    let all_async = trial.cost(&free, &all(true)).unwrap_or(before);
    let found = flags::best(
        |f, ceiling| trial.score(&free, f, &as_came, ceiling),
        &starts(&as_came, &weight),
        &weight,
        options.limit,
        &mut Random::new(options.seed),
    );
    let random = random_search(&mut trial, &free, &as_came, found.evaluated, options.seed);

    let mut chosen = found.flags;
    // What is not worth a flag of its own must not add up to a result that is
    // worse than a simpler choice.
    let ceiling = [before, all_sync, all_async, random].map(Cost::total).into_iter().min();
    let ceiling = ceiling.unwrap_or(before.total());
    trial.give_back(&free, &as_came, &mut chosen, options.worthwhile, ceiling);
    let after_flags = trial.cost(&free, &chosen).unwrap_or(before);
    // Without asynchronous work at all nothing is queued: for a board of very
    // short callbacks that can be best.
    let without = trial.with_pm_async(false, |t| t.cost(&free, &as_came)).unwrap_or(before);
    let off = board.pm_async && without.total() + options.worthwhile < after_flags.total();
    let (after, flips) = if off {
        (without, Vec::new())
    } else {
        (after_flags, trial.staircase(&free, &as_came, &chosen, before))
    };
    let [if_exclusive, if_ordered] = at_worst(board, policy, settings, &flips);
    Ok(Tuned {
        before,
        after,
        if_exclusive,
        if_ordered,
        pm_async: off.then_some(false),
        flips,
        all_sync,
        all_async,
        random,
        free_flags: free.len(),
        kept,
        if_bold,
        exact: found.exact,
        simulations: found.evaluated,
    })
}

/// The cost with `flips`, if all devices that are synchronous now held one
/// lock, and if they had to keep their order.
fn at_worst(
    before: &Board,
    policy: &Policy,
    settings: &Settings,
    flips: &[Flip],
) -> [Option<Cost>; 2] {
    let mut board = before.clone();
    let mut becoming = 0;
    for f in flips {
        let i = f.device.index();
        board.graph.devices[i].async_flag = Some(f.to_async);
        becoming += usize::from(f.to_async && !board.devices[i].no_callbacks());
    }
    if becoming == 0 {
        return [None, None];
    }
    let cost = |board: &Board| {
        let mut trial = Trial::new(board, policy, settings).ok()?;
        trial.cost_now(Ns::MAX).ok().flatten()
    };
    // What is synchronous now runs one after the other, and goes on so.
    let serial: Vec<DeviceId> = before
        .graph
        .ids()
        .filter(|d| before.graph.get(*d).async_flag != Some(true))
        .filter(|d| !before.devices[d.index()].no_callbacks())
        .collect();
    let exclusive = with_lock(board.clone(), &serial).and_then(|b| cost(&b));
    for pair in serial.windows(2) {
        let [supplier, consumer] = [pair[0], pair[1]];
        let kind = LinkKind::Stateless;
        board.graph.links.push(Link { consumer, supplier, kind, pm_runtime: false });
    }
    [exclusive, cost(&board)]
}

/// `board` with one lock more, which all callbacks of `holders` hold that hold
/// none and may be asynchronous.
fn with_lock(mut board: Board, holders: &[DeviceId]) -> Option<Board> {
    let works = board.devices.iter().flat_map(|d| d.work).flatten();
    let lock = works.map(|w| w.lock).max().unwrap_or(0).checked_add(1)?;
    for d in holders {
        for p in Phase::DEVICE.into_iter().filter(|p| p.may_be_async()) {
            let work = p.device_index().and_then(|k| board.devices[d.index()].work[k].as_mut());
            if let Some(w) = work.filter(|w| w.lock == 0) {
                w.lock = lock;
            }
        }
    }
    Some(board)
}

/// Bits of a score below the total, for the number of changes.
const SHIFT: u32 = 20;

/// A board whose flags are set again and again.
struct Trial<'a> {
    topology: Topology,
    policy: &'a Policy,
    settings: &'a Settings,
    floor: Floor,
}

impl<'a> Trial<'a> {
    fn new(board: &Board, policy: &'a Policy, settings: &'a Settings) -> Result<Trial<'a>, Stuck> {
        let topology = Topology::new(board)?;
        let floor = Floor::new(&topology, settings);
        Ok(Trial { topology, policy, settings, floor })
    }

    /// `None` if it takes longer than `limit`.
    fn cost_now(&mut self, limit: Ns) -> Result<Option<Cost>, Stuck> {
        let Some(run) = run_within(&self.topology, self.policy, self.settings, &self.floor, limit)?
        else {
            return Ok(None);
        };
        let mut cost = Cost::default();
        for p in &run.cycle.phases {
            match p.phase.device_index() {
                Some(0..=3) => cost.suspend += p.duration(),
                Some(_) => cost.resume += p.duration(),
                None => {}
            }
        }
        Ok(Some(cost))
    }

    /// `None` if the kernel would hang, or if it takes longer than `limit`.
    fn within(&mut self, free: &[(DeviceId, Evidence)], flags: &[bool], limit: Ns) -> Option<Cost> {
        for ((d, _), &f) in free.iter().zip(flags) {
            self.topology.set_async(*d, f);
        }
        self.cost_now(limit).ok().flatten()
    }

    fn cost(&mut self, free: &[(DeviceId, Evidence)], flags: &[bool]) -> Option<Cost> {
        self.within(free, flags, Ns::MAX)
    }

    /// The total, and among equals the setting with fewer changes. A hang is
    /// worse than everything, and so is what is above `ceiling`.
    fn score(
        &mut self,
        free: &[(DeviceId, Evidence)],
        flags: &[bool],
        as_came: &[bool],
        ceiling: i64,
    ) -> i64 {
        let changes = flags.iter().zip(as_came).filter(|(a, b)| a != b).count() as i64;
        let limit = if ceiling == i64::MAX { Ns::MAX } else { Ns(ceiling >> SHIFT) };
        match self.within(free, flags, limit) {
            Some(c) => c.total().0.saturating_mul(1 << SHIFT).saturating_add(changes),
            None => i64::MAX,
        }
    }

    fn with_pm_async<T>(&mut self, value: bool, f: impl FnOnce(&mut Self) -> T) -> T {
        let was = self.topology.set_pm_async(value);
        let result = f(self);
        self.topology.set_pm_async(was);
        result
    }

    /// Takes back flips that are not worth making: first in halves, then one
    /// by one, as long as the total does not grow by `worthwhile` a flip, nor
    /// beyond `ceiling`.
    fn give_back(
        &mut self,
        free: &[(DeviceId, Evidence)],
        as_came: &[bool],
        chosen: &mut [bool],
        worthwhile: Ns,
        ceiling: Ns,
    ) {
        let Some(mut cost) = self.cost(free, chosen).map(Cost::total) else { return };
        let changed =
            |c: &[bool]| -> Vec<usize> { (0..c.len()).filter(|&i| c[i] != as_came[i]).collect() };
        let mut size = changed(chosen).len();
        while size >= 1 {
            for group in changed(chosen).chunks(size) {
                for &i in group {
                    chosen[i] = as_came[i];
                }
                let allowed = cost + Ns(worthwhile.0.saturating_mul(group.len() as i64));
                let allowed = allowed.min(ceiling + Ns(1));
                match self.within(free, chosen, allowed).map(Cost::total) {
                    Some(c) if c < allowed => cost = c.min(cost),
                    _ => {
                        for &i in group {
                            chosen[i] = !as_came[i];
                        }
                    }
                }
            }
            size /= 2;
        }
    }

    /// The flips in the order in which each helps most after the others. Past
    /// a few dozen the order is by what each gains alone: the full order costs
    /// the square of their number.
    fn staircase(
        &mut self,
        free: &[(DeviceId, Evidence)],
        as_came: &[bool],
        chosen: &[bool],
        before: Cost,
    ) -> Vec<Flip> {
        const FULL_ORDER: usize = 24;
        let mut left: Vec<(usize, Ns)> = Vec::new();
        for i in (0..free.len()).filter(|&i| chosen[i] != as_came[i]) {
            let mut one = as_came.to_vec();
            one[i] = chosen[i];
            let with = self.cost(free, &one).map_or(before.total(), Cost::total);
            left.push((i, before.total() - with));
        }
        left.sort_by_key(|&(i, alone)| (-alone, i));
        // The tail of a long list is what helps least: its order is worth no more.
        let in_full = left.len() <= FULL_ORDER;
        let mut flags = as_came.to_vec();
        let mut now = before.total();
        let mut out = Vec::new();
        while !left.is_empty() {
            let mut best = (0, i64::MAX);
            if in_full && left.len() > 1 {
                for (at, &(i, _)) in left.iter().enumerate() {
                    flags[i] = chosen[i];
                    let limit = Ns(best.1);
                    let cost = self.within(free, &flags, limit).map_or(i64::MAX, |c| c.total().0);
                    flags[i] = as_came[i];
                    if cost < best.1 {
                        best = (at, cost);
                    }
                }
            }
            let (i, alone) = left.remove(best.0);
            flags[i] = chosen[i];
            let cost = self.cost(free, &flags).map_or(now, Cost::total);
            out.push(Flip {
                device: free[i].0,
                to_async: chosen[i],
                evidence: free[i].1,
                alone,
                now: now - cost,
            });
            now = cost;
        }
        out
    }
}

/// How long the callbacks of a device take in the phases that may be async;
/// for a device without any, what its parent's take, because relaying the
/// parent's wait is all it does.
fn weight(board: &Board, d: DeviceId) -> i64 {
    let own = |d: DeviceId| -> i64 {
        Phase::DEVICE
            .into_iter()
            .filter(|p| p.may_be_async())
            .filter_map(|p| board.devices[d.index()].in_phase(p))
            .map(|w| (w.sleep + w.compute).0)
            .sum()
    };
    match own(d) {
        0 => board.graph.get(d).parent.map_or(0, own),
        n => n,
    }
}

/// Settings to begin with: as it came, none, all, and async only for what
/// takes longer than some limit (short callbacks cost more to queue than to
/// run), with and without what was async already.
fn starts(as_came: &[bool], weight: &[i64]) -> Vec<Vec<bool>> {
    let mut list = vec![as_came.to_vec(), vec![false; as_came.len()], vec![true; as_came.len()]];
    let mut sorted = weight.to_vec();
    sorted.sort_unstable();
    for step in 1..12 {
        let Some(&limit) = sorted.get(sorted.len() * step / 12) else { continue };
        let long: Vec<bool> = weight.iter().map(|&w| w >= limit).collect();
        let and_as_came = long.iter().zip(as_came).map(|(a, b)| *a || *b).collect();
        list.push(long);
        list.push(and_as_came);
    }
    list
}

/// The control: as many random settings as the search looked at, each with its
/// own share of async flags.
fn random_search(
    trial: &mut Trial<'_>,
    free: &[(DeviceId, Evidence)],
    as_came: &[bool],
    looks: u64,
    seed: u64,
) -> Cost {
    let mut random = Random::new(seed ^ 0x5eed);
    let mut best = trial.cost(free, as_came).unwrap_or_default();
    for _ in 0..looks {
        let share = random.below(101);
        let flags: Vec<bool> = free.iter().map(|_| random.chance(share, 100)).collect();
        if let Some(c) = trial.within(free, &flags, best.total())
            && c.total() < best.total()
        {
            best = c;
        }
    }
    best
}
