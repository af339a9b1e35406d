//! What was inferred of a reduced recording, held against the board.

use super::graph::{Truth, key};
use dormouse_base::capture::Capture;
use dormouse_base::cycle::Cycle;
use dormouse_base::device::DeviceId;
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::time::Ns;
use dormouse_board::Board;
use std::collections::{BTreeMap, BTreeSet};

/// A callback that begins so soon after another has ended may have waited for it.
const JUST_AFTER: Ns = Ns(150_000);

/// A wait shorter than this cannot be told from what the machinery takes.
const LONG: Ns = Ns(500_000);

/// How many were inferred, how many of these are so, and how many there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Score {
    pub inferred: u64,
    pub right: u64,
    /// Of what is to be found.
    pub all: u64,
    /// How many were found.
    pub found: u64,
}

impl Score {
    pub(crate) fn add(&mut self, other: Score) {
        self.inferred += other.inferred;
        self.right += other.right;
        self.all += other.all;
        self.found += other.found;
    }
}

/// How an inferred board compares with the true one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Held {
    /// Devices that both know.
    pub devices: u64,
    /// Devices of the log whose name stands for several.
    pub ambiguous: u64,
    /// Async flags.
    pub flags: Score,
    /// Waits that no line of the log names: of all that there are.
    pub waits: Score,
    /// Of those that delayed something in the recording.
    pub shown: Score,
    /// What was inferred wrongly or missed although it shows, as sentences.
    pub wrong: Vec<String>,
}

/// Holds `inferred` against the machine that `capture` describes in full.
/// `used` are the cycles that were left in the log.
pub(crate) fn hold(capture: &Capture, used: &[&Cycle], inferred: &Board) -> Held {
    let truth = Truth::new(capture, used);
    let mut held = Held::default();
    let mut at: BTreeMap<u32, DeviceId> = BTreeMap::new();
    let mut of: Vec<Option<u32>> = vec![None; inferred.graph.devices.len()];
    for id in inferred.graph.ids() {
        match truth.place.get(&key(&inferred.names, inferred.graph.get(id))) {
            Some(&Some(t)) if truth.logged[t as usize] => {
                at.insert(t, id);
                of[id.index()] = Some(t);
            }
            Some(None) => held.ambiguous += 1,
            _ => {}
        }
    }
    held.devices = at.len() as u64;
    flags(capture, inferred, &at, &mut held);
    waits(&truth, capture, used, inferred, &at, &of, &mut held);
    held
}

fn flags(capture: &Capture, inferred: &Board, at: &BTreeMap<u32, DeviceId>, held: &mut Held) {
    for (&t, &id) in at {
        let is = capture.graph.devices[t as usize].async_flag == Some(true);
        let said = inferred.graph.get(id).async_flag == Some(true);
        let s = &mut held.flags;
        s.inferred += u64::from(said);
        s.right += u64::from(said && is);
        s.all += u64::from(is);
        s.found += u64::from(is && said);
        if is != said {
            let name = inferred.names.get(inferred.graph.get(id).name);
            let word = |on| if on { "asynchronous" } else { "synchronous" };
            held.wrong.push(format!("{name} is {} and taken as {}", word(is), word(said)));
        }
    }
}

fn waits(
    truth: &Truth,
    capture: &Capture,
    used: &[&Cycle],
    inferred: &Board,
    at: &BTreeMap<u32, DeviceId>,
    of: &[Option<u32>],
    held: &mut Held,
) {
    let name = |t: u32| capture.names.get(capture.graph.devices[t as usize].name);
    // Links are what no line names; parents of the log are read, not inferred.
    for l in &inferred.graph.links {
        let ends = [l.consumer, l.supplier].map(|d| of.get(d.index()).copied().flatten());
        let [Some(consumer), Some(supplier)] = ends else { continue };
        let right = truth.above(consumer).contains(&supplier);
        held.waits.inferred += 1;
        held.waits.right += u64::from(right);
        if !right {
            let other = truth.above(supplier).contains(&consumer);
            let how = if other { ": it is the other way round" } else { "" };
            held.wrong.push(format!(
                "{} does not wait for {}{how}",
                name(consumer),
                name(supplier)
            ));
        }
    }
    let shown = shown(truth, capture, used);
    let known = Superiors::of(inferred);
    for (&t, &id) in at {
        let above = known.above(id);
        for s in truth.nearest(t) {
            let named = capture.graph.devices[s as usize].name
                == capture.graph.devices[t as usize].parent_name;
            let either = [t, s].iter().any(|&d| truth.asynchronous[d as usize]);
            let Some(supplier) = at.get(&s) else { continue };
            if named || !either {
                continue;
            }
            let found = above.contains(&supplier.0);
            held.waits.all += 1;
            held.waits.found += u64::from(found);
            if let Some((phase, long)) = shown.get(&(t, s)) {
                held.shown.all += 1;
                held.shown.found += u64::from(found);
                if !found {
                    held.wrong.push(format!(
                        "missed: {} needs {}, which delayed one of them in {}: {long}",
                        name(t),
                        name(s),
                        phase.title()
                    ));
                }
            }
        }
    }
    held.shown.inferred = held.waits.inferred;
    held.shown.right = held.waits.right;
}

/// Pairs (consumer, supplier) of which one delayed the other in the recording: of
/// all that the waiter had to wait for it ended last, just before the waiter
/// began, and had been running for long. With the phase, and how long.
fn shown(truth: &Truth, capture: &Capture, used: &[&Cycle]) -> BTreeMap<(u32, u32), (Phase, Ns)> {
    let mut out = BTreeMap::new();
    for cycle in used {
        for phase in Phase::DEVICE.into_iter().filter(|p| p.may_be_async()) {
            let mut span: BTreeMap<u32, (Ns, Ns)> = BTreeMap::new();
            for c in cycle.callbacks.iter().filter(|c| c.phase == phase && c.complete) {
                span.entry(c.device.0).or_insert((c.start, c.end));
            }
            for (&t, &(start, end)) in &span {
                for s in truth.nearest(t) {
                    let Some(&(from, to)) = span.get(&s) else { continue };
                    let (waiter, begin, awaited, since, until) = match phase.direction() {
                        Direction::Resume => (t, start, s, from, to),
                        Direction::Suspend => (s, from, t, start, end),
                    };
                    if until > begin || begin - until > JUST_AFTER || until - since < LONG {
                        continue;
                    }
                    // The main thread goes on when it is done with what came before.
                    if !truth.asynchronous[waiter as usize] && !truth.asynchronous[awaited as usize]
                    {
                        continue;
                    }
                    let last = match phase.direction() {
                        Direction::Resume => truth.nearest(waiter),
                        Direction::Suspend => truth.nearest_below(waiter),
                    };
                    let later = last.iter().filter_map(|d| span.get(d)).any(|s| s.1 > until);
                    if !later && capture.graph.devices.len() > t as usize {
                        out.insert((t, s), (phase, until - since));
                    }
                }
            }
        }
    }
    out
}

/// Everything that a device of a board needs, over parents and links.
struct Superiors {
    direct: Vec<Vec<u32>>,
}

impl Superiors {
    fn of(board: &Board) -> Superiors {
        let mut direct: Vec<Vec<u32>> = vec![Vec::new(); board.graph.devices.len()];
        for id in board.graph.ids() {
            direct[id.index()].extend(board.graph.get(id).parent.map(|p| p.0));
        }
        for l in &board.graph.links {
            direct[l.consumer.index()].push(l.supplier.0);
        }
        Superiors { direct }
    }

    fn above(&self, id: DeviceId) -> BTreeSet<u32> {
        let mut out = BTreeSet::new();
        let mut stack = vec![id.0];
        while let Some(d) = stack.pop() {
            for &s in &self.direct[d as usize] {
                if out.insert(s) {
                    stack.push(s);
                }
            }
        }
        out
    }
}
