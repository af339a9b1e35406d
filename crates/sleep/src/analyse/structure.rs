//! What had to happen before what inside one phase.
//!
//! The kernel's rules, all generations: on suspend a device waits for all its
//! children and consumers, on resume for its parent and suppliers. Synchronous
//! devices run one after another on the main thread in list order. A device
//! without a callback leaves no event, but it still waits and is still waited
//! for, so it is a node here too, with no length. A synchronous device without
//! a callback is passed only when the main thread's walk reaches it, and the
//! main thread waits there for the device's async dependencies.
//!
//! An edge is used only if the observed times agree with it; the others are
//! counted as contradictions.

use super::local::{Bond, Local};
use crate::simulate::Policy;
use dormouse_base::capture::Capture;
use dormouse_base::complete::LostKind;
use dormouse_base::cycle::{Cycle, PhaseSpan};
use dormouse_base::device::{DeviceId, LinkKind};
use dormouse_base::phase::Direction;
use dormouse_base::time::Ns;
pub use dormouse_board::threads::main_threads;
use std::cmp::Ordering;

/// "Just before": a start that follows the end of what it waited for within
/// this time was caused by it. A wake-up takes 5 to 50 us on an idle CPU; with
/// `pm_print_times` two printed lines lie between.
pub(crate) const JUST: Ns = Ns(1_000_000);

const NONE: u32 = u32::MAX;

/// Why one node comes after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// The later one is the parent and waited for its child.
    Child,
    /// The later one is the child and waited for its parent.
    Parent,
    /// The later one is the supplier and waited for its consumer.
    Consumer,
    /// The later one is the consumer and waited for its supplier.
    Supplier,
    /// Both run on the main thread.
    MainThread,
    /// The later one is async and was queued only when the main thread's walk
    /// reached it, after the earlier one had returned.
    Queue,
}

/// A callback, or a device without callback in this phase.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// The device; `None` if the log's device is not in the graph.
    pub device: Option<DeviceId>,
    /// Index into [`Cycle::callbacks`]; `None` for a device without callback.
    pub callback: Option<u32>,
    /// Begin; for a device without callback the moment it was passed.
    pub start: Ns,
    /// End.
    pub end: Ns,
    /// Runs on the main thread.
    pub main: bool,
    /// Its end is not in the source: `end` is the latest that it may be.
    pub open: bool,
    /// [`Node::start`] minus the end of what the node came after (the begin
    /// of the phase if there is nothing).
    pub lag: Ns,
    /// The edge that held the node back longest: index into
    /// [`Structure::edges`].
    pub binding: Option<u32>,
}

/// `to` cannot start before `from` has ended. Indices into
/// [`Structure::nodes`].
#[derive(Clone, Copy, Debug)]
pub struct Before {
    /// Ends first.
    pub from: u32,
    /// Starts later.
    pub to: u32,
    /// Why.
    pub relation: Relation,
    /// The source names this edge; if not, a rule of the kernel suggests it.
    pub known: bool,
}

/// The nodes of a phase in an order that every edge respects.
#[derive(Clone, Debug, Default)]
pub struct Structure {
    /// Callbacks and devices without, sorted so that edges lead forwards.
    pub nodes: Vec<Node>,
    /// Edges.
    pub edges: Vec<Before>,
    /// Known edges that the times contradict.
    pub contradictions: u32,
    /// Callbacks that ran elsewhere than on the main thread.
    pub workers: u32,
    /// The source ends in this phase, and no line of it was left out.
    pub last: bool,
}

/// Order of nodes: by time, then as the log has it, then as the walk goes. No
/// two nodes have the same.
type Key = (Ns, Ns, u32, u32);

/// What is known of a cycle.
#[derive(Clone, Copy)]
pub struct Seen<'a> {
    /// The machine.
    pub capture: &'a Capture,
    /// The cycle.
    pub cycle: &'a Cycle,
    /// Its devices.
    pub local: &'a Local,
    /// Which threads may be the main thread, see [`main_threads`].
    pub mains: &'a [bool],
    /// The rules of its kernel, if that is known.
    pub rules: Option<&'static Policy>,
}

/// Memory that one structure after another is built in: that of a large machine
/// would be taken from the system and given back for every phase.
#[derive(Default)]
pub struct Room {
    keys: Vec<Key>,
    nodes: [Vec<Node>; 2],
    edges: [Vec<Before>; 2],
    first: Vec<u32>,
    last: Vec<u32>,
    order: Vec<u32>,
    place: Vec<u32>,
    /// Numbers of callbacks, of devices that the main thread passed, of others.
    parts: [Vec<u32>; 3],
    ready: Vec<Ns>,
}

impl Room {
    /// Takes back the memory of a structure that was built here.
    pub(crate) fn reuse(&mut self, s: Structure) {
        self.nodes[0] = s.nodes;
        self.edges[0] = s.edges;
    }
}

struct Build<'a> {
    room: &'a mut Room,
    out: Structure,
    span: &'a PhaseSpan,
}

impl Build<'_> {
    fn node(&mut self, node: Node, key: Key) -> u32 {
        self.out.nodes.push(node);
        self.room.keys.push(key);
        self.out.nodes.len() as u32 - 1
    }

    /// Adds an edge if the times allow it.
    fn edge(&mut self, from: u32, to: u32, relation: Relation, known: bool) -> bool {
        if from == to {
            return true;
        }
        let fits = self.out.nodes[from as usize].end <= self.out.nodes[to as usize].start
            && self.room.keys[from as usize] < self.room.keys[to as usize];
        if fits {
            self.out.edges.push(Before { from, to, relation, known });
        }
        fits
    }
}

impl Structure {
    /// Builds the structure of `span`, whose callbacks are `callbacks`.
    pub fn of(seen: &Seen<'_>, span: &PhaseSpan, callbacks: &[u32], room: &mut Room) -> Structure {
        let Seen { cycle, local, mains, .. } = *seen;
        let mut out = Structure {
            nodes: std::mem::take(&mut room.nodes[0]),
            edges: std::mem::take(&mut room.edges[0]),
            last: cycle.phases.iter().all(|p| p.start <= span.start)
                && cycle.lost.iter().all(|l| l.kind != LostKind::Places),
            ..Structure::default()
        };
        out.nodes.clear();
        out.edges.clear();
        room.keys.clear();
        // Last node of each device; the first callback's node takes the edges.
        let mut first = none(&mut room.first, local.ids.len());
        let mut last = none(&mut room.last, local.ids.len());
        let mut b = Build { room, out, span };
        let walks = span.phase.may_be_async() && !callbacks.is_empty();
        let nodes = callbacks.len().max(if walks { local.ids.len() } else { 0 });
        b.room.keys.reserve(nodes);
        b.out.nodes.reserve(nodes);
        b.out.edges.reserve(if walks { nodes * 2 } else { nodes });
        let mut previous_main = NONE;
        for &c in callbacks {
            let cb = &cycle.callbacks[c as usize];
            let main = mains.get(usize::from(cb.thread.0)).copied().unwrap_or(false);
            let start = cb.start.max(span.start).min(span.end);
            let end = cb.end.max(start).min(span.end);
            let at = local.of_callback[c as usize];
            let device = (at != NONE).then_some(cb.device);
            let node = Node {
                device,
                callback: Some(c),
                start,
                end,
                main,
                open: !cb.complete,
                lag: Ns::ZERO,
                binding: None,
            };
            let node = b.node(node, (start, end, c, 0));
            b.out.workers += u32::from(!main);
            if main {
                if previous_main != NONE {
                    b.edge(previous_main, node, Relation::MainThread, true);
                }
                previous_main = node;
            }
            if at != NONE {
                if first[at as usize] == NONE {
                    first[at as usize] = node;
                } else {
                    b.edge(last[at as usize], node, Relation::MainThread, true);
                }
                last[at as usize] = node;
            }
        }
        if walks {
            let Seen { capture, rules, .. } = *seen;
            let mut walk = Walk { capture, local, rules, first, last };
            walk.run(&mut b);
            (first, last) = (walk.first, walk.last);
        }
        (b.room.first, b.room.last) = (first, last);
        b.finish(callbacks.len())
    }

    /// The nodes of the critical path in order of time: from the end of the
    /// phase back along the edge that held each node longest.
    pub(crate) fn critical_nodes(&self) -> Vec<u32> {
        let mut path = Vec::new();
        let Some(end) = self.nodes.iter().map(|n| n.end).max() else { return path };
        // Between nodes that end together, the one that began first says most. One
        // without an end proves nothing beside them; among such the one that began
        // last claims least, unless the source ends here, which may be a hang.
        let key = |i: &u32| {
            let node = &self.nodes[*i as usize];
            let proves = !node.open && node.end > node.start;
            let began = if node.open && !self.last { node.start.0 } else { -node.start.0 };
            (node.callback.is_some(), proves, began, *i)
        };
        let together = (0..self.nodes.len() as u32).filter(|&i| self.nodes[i as usize].end == end);
        let mut at = together.max_by_key(key);
        while let Some(i) = at {
            path.push(i);
            let binding = self.nodes[i as usize].binding;
            at = binding.map(|e| self.edges[e as usize].from);
        }
        path.reverse();
        path
    }

    /// How many callbacks started just after a device they depend on.
    pub fn waits(&self, cycle: &Cycle) -> u32 {
        let blocked = |n: &&Node| {
            n.lag <= JUST
                && n.callback.is_some_and(|c| (c as usize) < cycle.callbacks.len())
                && n.binding.is_some_and(|e| {
                    !matches!(
                        self.edges[e as usize].relation,
                        Relation::MainThread | Relation::Queue
                    )
                })
        };
        self.nodes.iter().filter(blocked).count() as u32
    }
}

/// The walk over the device list of one phase.
struct Walk<'a> {
    capture: &'a Capture,
    local: &'a Local,
    rules: Option<&'static Policy>,
    first: Vec<u32>,
    last: Vec<u32>,
}

impl Walk<'_> {
    fn run(&mut self, b: &mut Build<'_>) {
        let suspend = b.span.phase.direction() == Direction::Suspend;
        let graph = &self.capture.graph;
        let ordered = graph.order_known;
        let direction = b.span.phase.direction();
        let queue_rule = self.rules.map(|p| p.queues_in_walk(direction));
        // Without a known order or kernel the rule may only suggest.
        let queues = queue_rule.unwrap_or(suspend);
        let queue_known = queue_rule.is_some() && ordered;
        let n = self.local.ids.len();
        let mut main = Main { chain: NONE, chain_known: true, callback: NONE };
        let mut reached: Vec<(u32, u32)> = Vec::new();
        for step in 0..n {
            let step = if suspend { n - 1 - step } else { step };
            let i = self.local.superior_first[step];
            let node = self.first[i as usize];
            if node == NONE {
                self.pass(b, i, step as u32, suspend, ordered, &mut main);
                continue;
            }
            self.depend(b, i, node, suspend);
            if b.out.nodes[node as usize].main {
                if ordered && main.chain != NONE && main.chain != main.callback {
                    b.edge(main.chain, node, Relation::MainThread, main.chain_known);
                }
                main = Main { chain: node, chain_known: true, callback: node };
            } else if !queues && suspend && ordered && main.chain != NONE {
                reached.push((main.chain, node));
            } else if queues && ordered && main.chain != NONE {
                let known = queue_known && main.chain_known;
                let fits = b.edge(main.chain, node, Relation::Queue, known);
                if !fits && main.callback != NONE {
                    b.edge(main.callback, node, Relation::Queue, queue_known);
                }
            }
        }
        if queues && !ordered {
            queue_by_time(b);
        }
        let ready = ready(b);
        reached_by_time(b, &reached, &ready);
        held_by_time(b, &ready);
        b.room.ready = ready;
    }

    /// Edges from the devices that `i` waits for to its callback `node`.
    fn depend(&self, b: &mut Build<'_>, i: u32, node: u32, suspend: bool) {
        let edges = if suspend { self.local.subordinates(i) } else { self.local.superiors(i) };
        for e in edges {
            let from = self.last[e.to as usize];
            let Some((relation, sure)) = self.relation(e.bond, suspend) else { continue };
            if from != NONE && !b.edge(from, node, relation, sure) {
                let silent = b.out.nodes[from as usize].callback.is_none();
                b.out.contradictions += u32::from(sure && !silent);
            }
        }
    }

    /// Adds the node of a device without callback in this phase.
    fn pass(
        &mut self,
        b: &mut Build<'_>,
        i: u32,
        step: u32,
        suspend: bool,
        ordered: bool,
        main: &mut Main,
    ) {
        let id = self.local.ids[i as usize];
        let device = self.capture.graph.get(id);
        if device.facts.no_pm || device.facts.syscore {
            return;
        }
        let waits = suspend || self.local.active[i as usize];
        let is_async = device.async_flag == Some(true);
        let edges = if suspend { self.local.subordinates(i) } else { self.local.superiors(i) };
        let edges = if waits { edges } else { &[] };
        let mut t = b.span.start;
        let mut sequence = 0;
        let mut see = |b: &Build<'_>, from: u32| {
            let key = (b.out.nodes[from as usize].end, b.room.keys[from as usize].2);
            if key > (t, sequence) {
                (t, sequence) = key;
            }
        };
        for e in edges {
            let from = self.last[e.to as usize];
            if from != NONE && self.relation(e.bond, suspend).is_some() {
                see(b, from);
            }
        }
        let chained = ordered && !is_async && main.chain != NONE;
        if chained {
            see(b, main.chain);
        }
        let node = Node {
            device: Some(id),
            callback: None,
            start: t,
            end: t,
            main: !is_async,
            open: false,
            lag: Ns::ZERO,
            binding: None,
        };
        let forward = if suspend { self.local.ids.len() as u32 - step } else { step + 1 };
        let node = b.node(node, (t, t, sequence, forward));
        for e in edges {
            let from = self.last[e.to as usize];
            if let (true, Some((r, sure))) = (from != NONE, self.relation(e.bond, suspend)) {
                b.edge(from, node, r, sure);
            }
        }
        if chained {
            b.edge(main.chain, node, Relation::MainThread, main.chain_known);
        }
        self.last[i as usize] = node;
        if ordered && !is_async {
            main.chain = node;
            main.chain_known &= device.async_flag == Some(false);
        }
    }

    /// Which relation an edge is, and whether this kernel surely waits for it:
    /// `SYNC_STATE_ONLY` links were waited for up to 6.17.
    fn relation(&self, bond: Bond, suspend: bool) -> Option<(Relation, bool)> {
        let old = self.rules.is_some_and(|p| p.queues_in_walk(Direction::Suspend));
        Some(match (bond, suspend) {
            (Bond::Parent, true) => (Relation::Child, true),
            (Bond::Parent, false) => (Relation::Parent, true),
            (Bond::Link(LinkKind::Dormant), _) => return None,
            (Bond::Link(k), true) => (Relation::Consumer, !k.is_sync_state_only() || old),
            (Bond::Link(k), false) => (Relation::Supplier, !k.is_sync_state_only() || old),
        })
    }
}

/// Without list order: an async device may have been queued after the callback
/// of the main thread that ended last before its start.
fn queue_by_time(b: &mut Build<'_>) {
    let mut main: Option<u32> = None;
    for i in 0..b.out.nodes.len() as u32 {
        let node = b.out.nodes[i as usize];
        if node.callback.is_none() {
            break;
        }
        if node.main {
            main = Some(i);
        } else if let Some(m) = main {
            // The nodes of callbacks are in order of start, so `m` is the last
            // that had started; it may still be running, and then it does not
            // fit.
            b.edge(m, i, Relation::Queue, false);
        }
    }
}

/// When the last thing that each node waits for had ended, by the edges so far.
fn ready(b: &mut Build<'_>) -> Vec<Ns> {
    let mut ready = std::mem::take(&mut b.room.ready);
    ready.clear();
    ready.resize(b.out.nodes.len(), b.span.start);
    for e in &b.out.edges {
        let r = &mut ready[e.to as usize];
        *r = (*r).max(b.out.nodes[e.from as usize].end);
    }
    ready
}

/// From 6.16 on, suspend queues leaves first and others when a subordinate has
/// finished. A device with a child that never runs (the `wakeupN` of every
/// wakeup source) or with dormant consumers only is neither: the walk queues
/// it. The log shows no such child, so this is assumed where nothing else
/// explains a start just after the walk came by.
fn reached_by_time(b: &mut Build<'_>, reached: &[(u32, u32)], ready: &[Ns]) {
    for &(chain, node) in reached {
        let (end, start) = (b.out.nodes[chain as usize].end, b.out.nodes[node as usize].start);
        let ready = ready[node as usize];
        if start.since(ready) > JUST && end > ready && start.since(end) <= JUST {
            b.edge(chain, node, Relation::Queue, false);
        }
    }
}

/// The main thread stood still for longer than [`JUST`] and went on just after
/// a worker's callback had ended. Nothing else that is known explains it, so it
/// was held at a device that the log does not show (before 4.x, prepare shows
/// only devices with a prepare callback) and that waits for this one.
fn held_by_time(b: &mut Build<'_>, ready: &[Ns]) {
    let callbacks = b.out.nodes.iter().take_while(|n| n.callback.is_some()).count();
    let mut ends: Vec<(Ns, u32)> = (0..callbacks as u32)
        .map(|i| (b.out.nodes[i as usize].end, i))
        .filter(|&(_, i)| !b.out.nodes[i as usize].main)
        .collect();
    ends.sort_unstable();
    for (i, &ready) in ready.iter().enumerate().take(callbacks) {
        let node = b.out.nodes[i];
        if !node.main || node.start.since(ready) <= JUST {
            continue;
        }
        let k = ends.partition_point(|e| e.0 <= node.start);
        let Some(&(end, worker)) = k.checked_sub(1).and_then(|k| ends.get(k)) else { continue };
        if node.start.since(end) <= JUST && end > ready {
            b.edge(worker, i as u32, Relation::MainThread, false);
        }
    }
}

/// Where the main thread is in its walk.
struct Main {
    /// Last node it passed.
    chain: u32,
    /// All devices passed since the last callback are known to be synchronous.
    chain_known: bool,
    /// Last callback it ran.
    callback: u32,
}

/// `list` with so many times [`NONE`].
fn none(list: &mut Vec<u32>, count: usize) -> Vec<u32> {
    let mut list = std::mem::take(list);
    list.clear();
    list.resize(count, NONE);
    list
}

impl Build<'_> {
    /// Sorts the nodes, the first `callbacks` of which are callbacks, renumbers
    /// the edges, finds what held each node longest.
    fn finish(mut self, callbacks: usize) -> Structure {
        let n = self.out.nodes.len();
        if !self.room.keys.is_sorted() {
            self.sort(callbacks);
        }
        // In order of the later node, so that the binding of the earlier one is
        // known.
        if !self.out.edges.is_sorted_by_key(|e| e.to) {
            by_later_node(&self.out.edges, n, &mut self.room.place, &mut self.room.edges[1]);
            std::mem::swap(&mut self.out.edges, &mut self.room.edges[1]);
        }
        for node in &mut self.out.nodes {
            node.lag = node.start.since(self.span.start);
        }
        let edges = self.out.edges.len();
        let mut i = 0;
        while i < edges {
            let to = self.out.edges[i].to;
            let mut best = i;
            i += 1;
            while i < edges && self.out.edges[i].to == to {
                if self.holds_longer(self.out.edges[i], self.out.edges[best]) {
                    best = i;
                }
                i += 1;
            }
            let ready = self.out.nodes[self.out.edges[best].from as usize].end;
            let node = &mut self.out.nodes[to as usize];
            node.binding = Some(best as u32);
            node.lag = node.start.since(ready);
        }
        self.out
    }

    fn sort(&mut self, callbacks: usize) {
        let Room { keys, order, place, nodes: [_, nodes], parts: [calls, passed, other], .. } =
            &mut *self.room;
        let n = keys.len();
        // Callbacks are sorted already, and so are the devices that the main
        // thread passed in its walk.
        let of_main = |i: &u32| self.out.nodes[*i as usize].main;
        let silent = || callbacks as u32..n as u32;
        fill(calls, 0..callbacks as u32);
        fill(passed, silent().filter(of_main));
        fill(other, silent().filter(|i| !of_main(i)));
        for part in [&mut *calls, passed, other] {
            if !part.is_sorted_by_key(|&i| keys[i as usize]) {
                part.sort_by_key(|&i| keys[i as usize]);
            }
        }
        merge(keys, passed, other, place);
        merge(keys, calls, place, order);
        place.resize(n, 0);
        for (new, &old) in order.iter().enumerate() {
            place[old as usize] = new as u32;
        }
        nodes.clear();
        nodes.extend(order.iter().map(|&i| self.out.nodes[i as usize]));
        std::mem::swap(&mut self.out.nodes, nodes);
        for e in &mut self.out.edges {
            e.from = place[e.from as usize];
            e.to = place[e.to as usize];
        }
    }

    /// Whether `a` holds back the later node of both longer than `b` does.
    fn holds_longer(&self, a: Before, b: Before) -> bool {
        let end = |e: Before| self.out.nodes[e.from as usize].end;
        match end(a).cmp(&end(b)) {
            Ordering::Equal => self.rank(a) > self.rank(b),
            longer => longer == Ordering::Greater,
        }
    }

    /// The edge that ended last holds; between edges that ended at once, the
    /// later node, then a dependency before the order of a thread, which could
    /// not be changed without it.
    fn rank(&self, e: Before) -> (bool, bool, bool, u32) {
        let from = &self.out.nodes[e.from as usize];
        // A silent synchronous device that the main thread passed without
        // waiting is to the next device on the main thread one of many in order.
        let order = is_order(e.relation);
        let own = !order
            && from.callback.is_none()
            && from.main
            && self.out.nodes[e.to as usize].main
            && from.binding.is_none_or(|b| is_order(self.out.edges[b as usize].relation));
        let depends = !own && !order;
        (depends, !own, e.known, e.from)
    }
}

fn fill(list: &mut Vec<u32>, from: impl Iterator<Item = u32>) {
    list.clear();
    list.extend(from);
}

/// Writes the numbers of two lists to `out`, both and it in order of their keys.
fn merge(keys: &[Key], a: &[u32], b: &[u32], out: &mut Vec<u32>) {
    out.clear();
    let mut b = b.iter().copied().peekable();
    for &i in a {
        while let Some(j) = b.next_if(|&j| keys[j as usize] < keys[i as usize]) {
            out.push(j);
        }
        out.push(i);
    }
    out.extend(b);
}

/// Writes the edges by their later node to `out`, those of one node in the order
/// they had.
fn by_later_node(edges: &[Before], nodes: usize, at: &mut Vec<u32>, out: &mut Vec<Before>) {
    at.clear();
    at.resize(nodes + 1, 0);
    for e in edges {
        at[e.to as usize + 1] += 1;
    }
    for i in 0..nodes {
        at[i + 1] += at[i];
    }
    out.clear();
    out.extend_from_slice(edges);
    for e in edges {
        let place = &mut at[e.to as usize];
        out[*place as usize] = *e;
        *place += 1;
    }
}

/// Order of a thread, not a wait for a device.
fn is_order(r: Relation) -> bool {
    matches!(r, Relation::MainThread | Relation::Queue)
}
