//! A board as the engine walks it: flat arrays, no names.

use super::Stuck;
use super::emulator::gives_turn_away;
use dormouse_base::device::{DeviceId, LinkKind};
use dormouse_base::names::Sym;
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;
use dormouse_base::trip::Trip;
use dormouse_board::assumed::Assumed;
use dormouse_board::rest::{Rest, rest};
use dormouse_board::{Board, Work};

/// No device, no thread.
pub(crate) const NONE: u32 = u32::MAX;

/// A dependency: the other device and the kind of relation, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Edge(u32);

/// Kind of relation beside the four kinds of links.
pub(crate) const TREE: u32 = 0;

impl Edge {
    const SHIFT: u32 = 29;
    /// More devices than an edge can name.
    pub(crate) const LIMIT: usize = 1 << Edge::SHIFT;

    fn new(device: u32, kind: u32) -> Edge {
        Edge(device | kind << Edge::SHIFT)
    }

    pub(crate) fn device(self) -> usize {
        (self.0 & ((1 << Edge::SHIFT) - 1)) as usize
    }

    pub(crate) fn kind(self) -> u32 {
        self.0 >> Edge::SHIFT
    }

    /// Whether `mask` has the bit of this edge's kind.
    pub(crate) fn is_in(self, mask: u8) -> bool {
        mask >> self.kind() & 1 != 0
    }
}

/// Bit of a link kind in an edge mask; [`TREE`] has bit 0.
pub(crate) const fn kind_number(kind: LinkKind) -> u32 {
    match kind {
        LinkKind::Stateless => 1,
        LinkKind::Active => 2,
        LinkKind::Dormant => 3,
        LinkKind::SyncStateOnly | LinkKind::Cycle | LinkKind::Proxy => 4,
    }
}

/// Edges of every device, one after the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Edges {
    start: Vec<u32>,
    edges: Vec<Edge>,
}

impl Edges {
    fn new(n: usize, list: &[(u32, Edge)]) -> Edges {
        let mut start = vec![0u32; n + 1];
        for &(d, _) in list {
            start[d as usize + 1] += 1;
        }
        for i in 0..n {
            start[i + 1] += start[i];
        }
        let mut at = start.clone();
        let mut edges = vec![Edge(0); list.len()];
        for &(d, e) in list {
            edges[at[d as usize] as usize] = e;
            at[d as usize] += 1;
        }
        Edges { start, edges }
    }

    pub(crate) fn of(&self, d: usize) -> &[Edge] {
        &self.edges[self.start[d] as usize..self.start[d + 1] as usize]
    }
}

/// Facts about a device that no phase changes.
pub(crate) mod fact {
    pub(crate) const HAS_PARENT: u16 = 1;
    /// Also `no_pm` children and wakeup-source class devices.
    pub(crate) const HAS_CHILD: u16 = 2;
    /// In any state.
    pub(crate) const HAS_SUPPLIER: u16 = 4;
    /// In any state.
    pub(crate) const HAS_CONSUMER: u16 = 8;
    pub(crate) const ASYNC: u16 = 16;
    pub(crate) const SYSCORE: u16 = 32;
    pub(crate) const NO_CALLBACKS: u16 = 64;
    pub(crate) const NO_PM: u16 = 128;
    pub(crate) const WAKEUP: u16 = 256;
    pub(crate) const RUNTIME_SUSPENDED: u16 = 512;
    pub(crate) const NO_DIRECT: u16 = 1024;
    /// The parent has no parent (and no supplier).
    pub(crate) const CHILD_OF_ROOT: u16 = 2048;
    /// See [`super::gives_turn_away`].
    pub(crate) const GIVES_TURN_AWAY: u16 = 4096;
    /// See [`super::mark_inert`].
    pub(crate) const INERT: u16 = 8192;
}

/// A power domain, compiled.
#[derive(Clone, Debug, Default)]
pub(crate) struct Domain {
    pub(crate) name: Sym,
    pub(crate) parents: Vec<u32>,
    pub(crate) children: Vec<u32>,
    /// Time to switch off and on in each state; at least one.
    pub(crate) states: Vec<(Ns, Ns)>,
    /// Devices in it that the PM core knows (`device_count`).
    pub(crate) devices: u32,
    pub(crate) always_on: bool,
    pub(crate) active_wakeup: bool,
    /// When the cycle begins.
    pub(crate) starts_on: bool,
    /// The state that it is off in then.
    pub(crate) start_index: u32,
}

/// A board, compiled. Independent of policy and costs, so one compilation
/// serves any number of runs.
#[derive(Clone, Debug, Default)]
pub struct Topology {
    /// Devices on `dpm_list`, in its order.
    pub(crate) list: Vec<u32>,
    pub(crate) parent: Vec<u32>,
    pub(crate) facts: Vec<u16>,
    /// Parent, then suppliers in order of creation.
    pub(crate) superiors: Edges,
    /// Children in order of registration, then consumers.
    pub(crate) subordinates: Edges,
    /// Which of the eight callbacks exist, a bit each.
    pub(crate) has: Vec<u8>,
    /// Work by phase and device.
    pub(crate) work: [Vec<Work>; 8],
    /// How many locks `work` names.
    pub(crate) locks: u32,
    /// Power domains, parents first.
    pub(crate) domains: Vec<Domain>,
    /// The domain of each device, or [`NONE`]; empty without domains.
    pub(crate) domain: Vec<u32>,
    /// `/sys/power/pm_async` of the board.
    pub(crate) pm_async: bool,
    /// Which families of callbacks are called.
    pub(crate) trip: Trip,
}

/// Whether runtime PM was ever enabled for device `i`; `None` if nothing tells. A device that
/// never had it says `unsupported` (drivers/base/power/sysfs.c:runtime_status_show, 6.1 to 7.3).
fn has_runtime_pm(board: &Board, i: usize) -> Option<bool> {
    match board.names.get(board.graph.devices[i].facts.runtime_status) {
        _ if board.devices[i].runtime.enabled() => Some(true),
        "" => None,
        status => Some(status != "unsupported"),
    }
}

/// Whether device `i` has no callback, no link, and so far as is known no runtime PM: a phase
/// has nothing to do for it but to wait.
fn is_idle(t: &Topology, board: &Board, i: usize) -> bool {
    const NOT: u16 = fact::NO_PM | fact::SYSCORE | fact::HAS_SUPPLIER | fact::HAS_CONSUMER;
    let facts = t.facts[i];
    facts & fact::NO_CALLBACKS != 0 && facts & NOT == 0 && has_runtime_pm(board, i) != Some(true)
}

/// Marks the devices that the walk of kernel/upstream passes (`dpm_inert_depth()` there): at
/// most four in a row, because the waits for them nest.
fn mark_inert(t: &mut Topology, board: &Board) {
    const IN_A_ROW: u8 = 4;
    let mut row = vec![0; t.facts.len()];
    for i in 0..t.facts.len() {
        let above = match t.parent[i] {
            NONE => 0,
            parent => row[parent as usize],
        };
        if above < IN_A_ROW && is_idle(t, board, i) {
            row[i] = above + 1;
            t.facts[i] |= fact::INERT;
        }
    }
}

/// What is taken for granted of the devices that are passed: nothing where the machine tells it.
pub(crate) fn inert_untold(board: &Board) -> Option<Assumed> {
    let t = Topology::new(board).ok()?;
    let untold = |i: &usize| is_idle(&t, board, *i) && has_runtime_pm(board, *i).is_none();
    let untold = (0..t.len()).filter(untold).count();
    let none_listed = t.list.iter().all(|&d| t.facts[d as usize] & fact::NO_CALLBACKS == 0);
    (untold > 0 || none_listed).then_some(Assumed::Inert(untold))
}

impl Topology {
    /// Compiles `board`.
    ///
    /// # Errors
    /// A parent or link that names a device which is not there, or itself;
    /// more than 2^29 devices.
    pub fn new(board: &Board) -> Result<Topology, Stuck> {
        let devices = &board.graph.devices;
        let n = devices.len();
        if n >= Edge::LIMIT || board.devices.len() != n {
            return Err(Stuck::BadBoard { device: None });
        }
        let mut t = Topology {
            list: Vec::with_capacity(n),
            parent: vec![NONE; n],
            facts: vec![0; n],
            has: vec![0; n],
            pm_async: board.pm_async,
            trip: board.trip,
            ..Topology::default()
        };
        let rest = rest(board);
        let mut up = Vec::with_capacity(n + board.graph.links.len());
        let mut down = Vec::with_capacity(n + board.graph.links.len());
        for (i, d) in devices.iter().enumerate() {
            let me = i as u32;
            let b = &board.devices[i];
            let mut f = 0;
            if d.facts.no_pm {
                f |= fact::NO_PM;
            } else {
                t.list.push(me);
                if d.async_flag == Some(true) {
                    f |= fact::ASYNC;
                }
            }
            if d.facts.syscore {
                f |= fact::SYSCORE;
            }
            let in_domain = b.domain.is_some() && !d.facts.no_pm;
            if in_domain {
                // genpd_prepare() never asks for direct-complete, and a device with a
                // PM domain is not without callbacks (device_pm_check_callbacks()).
                f |= fact::NO_DIRECT;
            }
            if b.no_callbacks() && !in_domain {
                f |= fact::NO_CALLBACKS;
            }
            if gives_turn_away(d, &board.names) {
                f |= fact::GIVES_TURN_AWAY;
            }
            if b.wakeup {
                f |= fact::WAKEUP | fact::HAS_CHILD;
            }
            if rest.suspended[i] {
                f |= fact::RUNTIME_SUSPENDED;
            }
            if b.no_direct_complete {
                f |= fact::NO_DIRECT;
            }
            if let Some(p) = d.parent {
                if p.index() >= n || p.index() == i {
                    return Err(Stuck::BadBoard { device: Some(DeviceId(me)) });
                }
                t.parent[i] = p.0;
                f |= fact::HAS_PARENT;
                up.push((me, Edge::new(p.0, TREE)));
                down.push((p.0, Edge::new(me, TREE)));
            }
            t.facts[i] |= f;
        }
        for &(p, _) in &down {
            t.facts[p as usize] |= fact::HAS_CHILD;
        }
        for l in &board.graph.links {
            let (c, s) = (l.consumer, l.supplier);
            if c.index() >= n || s.index() >= n || c == s {
                return Err(Stuck::BadBoard { device: Some(c) });
            }
            let kind = kind_number(l.kind);
            up.push((c.0, Edge::new(s.0, kind)));
            down.push((s.0, Edge::new(c.0, kind)));
            t.facts[c.index()] |= fact::HAS_SUPPLIER;
            t.facts[s.index()] |= fact::HAS_CONSUMER;
        }
        for i in 0..n {
            let p = t.parent[i];
            if p != NONE && t.facts[p as usize] & (fact::HAS_PARENT | fact::HAS_SUPPLIER) == 0 {
                t.facts[i] |= fact::CHILD_OF_ROOT;
            }
        }
        mark_inert(&mut t, board);
        t.superiors = Edges::new(n, &up);
        t.subordinates = Edges::new(n, &down);
        for (index, _) in Phase::DEVICE.iter().enumerate() {
            let mut work = Vec::with_capacity(n);
            for (i, b) in board.devices.iter().enumerate() {
                work.push(match b.work[index] {
                    Some(w) => {
                        t.has[i] |= 1 << index;
                        t.locks = t.locks.max(w.lock);
                        w
                    }
                    None => Work::default(),
                });
            }
            t.work[index] = work;
        }
        t.add_domains(board, &rest)?;
        t.resume_first(board, &rest);
        // Lock numbers are used as indices: a board that names lock 4000000000
        // must not cost memory.
        if t.locks > 0 {
            t.number_locks();
        }
        Ok(t)
    }

    /// Compiles the power domains.
    fn add_domains(&mut self, board: &Board, rest: &Rest) -> Result<(), Stuck> {
        if board.domains.is_empty() {
            return Ok(());
        }
        /// Callbacks that genpd has: prepare, noirq on both ways, complete.
        const GENPD: u8 = 1 | 1 << 3 | 1 << 4 | 1 << 7;
        self.domain = vec![NONE; board.devices.len()];
        self.domains = board
            .domains
            .iter()
            .map(|d| Domain {
                name: d.name,
                parents: d.parents.clone(),
                states: d.states.iter().map(|s| (s.off, s.on)).collect(),
                always_on: d.always_on,
                active_wakeup: d.active_wakeup,
                ..Domain::default()
            })
            .collect();
        for (i, b) in board.devices.iter().enumerate() {
            let Some(n) = b.domain.filter(|_| self.facts[i] & fact::NO_PM == 0) else { continue };
            let Some(domain) = self.domains.get_mut(n as usize) else {
                return Err(Stuck::BadBoard { device: Some(DeviceId(i as u32)) });
            };
            domain.devices += 1;
            self.domain[i] = n;
            self.has[i] |= GENPD;
        }
        for (n, start) in rest.domains.iter().enumerate() {
            let d = &mut self.domains[n];
            (d.starts_on, d.start_index) = (start.on, start.state);
            if d.states.is_empty() || d.parents.iter().any(|&p| p as usize >= n) {
                return Err(Stuck::BadBoard { device: None });
            }
            for p in d.parents.clone() {
                self.domains[p as usize].children.push(n as u32);
            }
        }
        Ok(())
    }

    /// The mutex of domain `n`, after the list's and those of the board.
    pub(crate) fn domain_mutex(&self, n: u32) -> u32 {
        self.locks + 1 + n
    }

    /// Suspend callbacks that first resume their device at run time take that time too,
    /// and that of every suspended device above, which the first of its children to
    /// suspend resumes with it (drivers/base/power/runtime.c:rpm_resume, 6.1 to 7.3). A
    /// device that is left alone (direct-complete) has no callback, and none of this.
    fn resume_first(&mut self, board: &Board, rest: &Rest) {
        if self.trip.hibernates() {
            return;
        }
        let mut asleep: Vec<bool> = board
            .devices
            .iter()
            .zip(&rest.suspended)
            .map(|(d, suspended)| *suspended && d.runtime.enabled() && d.runtime.usage == 0)
            .collect();
        let suspend = Phase::Suspend.device_index().unwrap_or(1);
        for i in (0..board.devices.len()).rev() {
            if !board.devices[i].runtime.first || self.has[i] & 1 << suspend == 0 {
                continue;
            }
            let mut at = i;
            while std::mem::replace(&mut asleep[at], false) {
                let work = board.devices[at].runtime.work[1].unwrap_or_default();
                self.work[suspend][i].sleep += work.sleep;
                self.work[suspend][i].compute += work.compute;
                match self.parent[at] {
                    NONE => break,
                    above => at = above as usize,
                }
            }
        }
    }

    /// Renumbers locks densely, in order of their number.
    fn number_locks(&mut self) {
        let mut used: Vec<u32> =
            self.work.iter().flatten().map(|w| w.lock).filter(|&l| l > 0).collect();
        used.sort_unstable();
        used.dedup();
        for w in self.work.iter_mut().flatten() {
            if w.lock > 0 {
                w.lock = used.binary_search(&w.lock).map_or(0, |i| i as u32 + 1);
            }
        }
        self.locks = used.len() as u32;
    }

    /// Sets or clears `power/async` of a device, so that a search need not
    /// compile its board again and again. A device that is not on `dpm_list` or
    /// not there has no flag.
    pub(crate) fn set_async(&mut self, device: DeviceId, on: bool) {
        match self.facts.get_mut(device.index()) {
            Some(f) if *f & fact::NO_PM == 0 && on => *f |= fact::ASYNC,
            Some(f) => *f &= !fact::ASYNC,
            None => {}
        }
    }

    /// Sets `/sys/power/pm_async` and returns what it was.
    pub(crate) fn set_pm_async(&mut self, on: bool) -> bool {
        std::mem::replace(&mut self.pm_async, on)
    }

    /// Number of devices, `no_pm` ones included.
    pub fn len(&self) -> usize {
        self.parent.len()
    }

    /// Whether there is no device.
    pub fn is_empty(&self) -> bool {
        self.parent.is_empty()
    }
}
