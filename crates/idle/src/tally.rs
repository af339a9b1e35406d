//! Counts over a trace: how often and how long each CPU was in each state, and
//! whether another state had been better. Memory grows with CPUs and states,
//! never with the length of the trace.

use crate::decided::Step;
use crate::energy::Powers;
use crate::state::{StateSet, Table};
use crate::ticks::Ticks;
use crate::together::Together;
use crate::wake::{Episode, Wakes};
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

/// Sleeps counted in one trace.
#[derive(Clone, Debug, Default)]
pub struct Sleeps {
    /// As the user named it.
    pub name: String,
    /// Counts.
    pub tally: Tally,
    /// Every sleep by CPU, if they were to be kept.
    pub episodes: BTreeMap<u32, Vec<Episode>>,
    /// Causes of wake-ups by CPU, where timers and task switches were recorded and
    /// every sleep was kept.
    pub wakes: BTreeMap<u32, Wakes>,
    /// What a governor was told and decided, by CPU and in order of time, where
    /// that was recorded and every sleep was kept.
    pub steps: Vec<(u32, Step)>,
    /// Names of causes of wake-ups, by their number in the tally.
    pub wakers: Vec<String>,
    /// Events that were read.
    pub events: u64,
    /// `cpu_idle_miss` was recorded.
    pub has_misses: bool,
    /// Kinds of event that say what woke a CPU were recorded.
    pub has_wakers: bool,
}

/// What wake-ups of one cause came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Woken {
    /// Wake-ups.
    pub count: u64,
    /// Exit latencies of the states that they ended, by the table, ns.
    pub delay: i64,
    /// What these states cost to enter and to leave: what would have been saved had
    /// the CPU slept on. Assumed power ([`Powers::assumed`]) times ns.
    pub energy: i128,
}

impl Woken {
    /// Adds what others came to.
    pub fn add(&mut self, other: Woken) {
        self.count += other.count;
        self.delay = self.delay.saturating_add(other.delay);
        self.energy += other.energy;
    }

    fn take(&mut self, other: Woken) {
        self.count = self.count.saturating_sub(other.count);
        self.delay = self.delay.saturating_sub(other.delay);
        self.energy -= other.energy;
    }
}

/// Something that woke CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waker<'a> {
    /// What: `irq eth0`, `timer tick_nohz_handler`; none where nothing was seen.
    pub name: Option<&'a str>,
    /// How often, and at what cost.
    pub woken: Woken,
}

impl Sleeps {
    /// What woke CPUs: what cost most energy first, where tables are known; else what
    /// came most often.
    pub fn wakers(&self) -> Vec<Waker<'_>> {
        let mut sums = alloc::vec![Woken::default(); self.wakers.len()];
        let mut unexplained = Woken::default();
        for c in self.tally.cpus.values() {
            unexplained.add(c.unexplained);
            for (&n, &woken) in &c.wakers {
                if let Some(sum) = sums.get_mut(n as usize) {
                    sum.add(woken);
                }
            }
        }
        let mut out: Vec<Waker> = self
            .wakers
            .iter()
            .zip(sums)
            .map(|(name, woken)| Waker { name: Some(name), woken })
            .collect();
        out.push(Waker { name: None, woken: unexplained });
        out.retain(|w| w.woken.count > 0);
        // Equal ones by name, so that the order is one.
        out.sort_by(|a, b| {
            let cost = |w: &Waker| (w.woken.energy, w.woken.delay, w.woken.count);
            cost(b).cmp(&cost(a)).then(a.name.cmp(&b.name))
        });
        out
    }
}

/// Steps of the histogram in each doubling of a residency.
const STEPS: usize = 4;
/// Steps in all: residencies up to 2^63 ns.
const BUCKETS: usize = 64 * STEPS;

/// Residencies in steps of a quarter of a doubling.
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: [u64; BUCKETS],
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram { counts: [0; BUCKETS] }
    }
}

impl Histogram {
    /// Counts one residency of `ns`.
    pub fn add(&mut self, ns: i64) {
        let ns = ns.max(0) as u64;
        let top = 63 - (ns | 1).leading_zeros() as usize;
        // The two bits below the highest one.
        let step = if top >= 2 { (ns >> (top - 2)) as usize & 3 } else { 0 };
        self.counts[top * STEPS + step] += 1;
    }

    /// Adds what another counted.
    pub fn merge(&mut self, other: &Histogram) {
        for (a, b) in self.counts.iter_mut().zip(&other.counts) {
            *a += b;
        }
    }

    /// The residency below which `per_mille` of all lie, ns, as the lower end of
    /// its step (at most a fifth too small); `None` without residencies.
    pub fn quantile(&self, per_mille: u64) -> Option<i64> {
        let all: u64 = self.counts.iter().sum();
        let wanted = (all * per_mille).div_ceil(1_000).max(1);
        let mut sum = 0;
        for (i, &n) in self.counts.iter().enumerate() {
            sum += n;
            if sum >= wanted {
                let (top, step) = (i / STEPS, (i % STEPS) as i64);
                let base = 1i64 << top.min(62);
                return (all > 0).then_some(base + if top >= 2 { step * (base / 4) } else { 0 });
            }
        }
        None
    }
}

/// How a state served.
#[derive(Clone, Debug, Default)]
pub struct StateTally {
    /// Sleeps that begin and end in the trace.
    pub entries: u64,
    /// Their time, ns.
    pub time: i64,
    /// The longest of them, ns.
    pub longest: i64,
    /// Residencies.
    pub residencies: Histogram,
    /// `cpu_idle_miss` of type above: the kernel says too deep.
    pub said_above: u64,
    /// `cpu_idle_miss` of type below: the kernel says too shallow.
    pub said_below: u64,
    /// By the kernel's rule, computed again from the time stamps: too deep.
    pub above: u64,
    /// The same: too shallow.
    pub below: u64,
    /// A shallower state had cost less energy: the wake-up came before this one
    /// paid.
    pub too_deep: u64,
    /// A deeper one had cost less, which is not asked of the next one only.
    pub too_shallow: u64,
}

/// Which sleep something ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woke {
    /// None.
    No,
    /// The one that is still open.
    Open,
    /// The last one that is over.
    Last,
}

/// How one CPU idled.
#[derive(Clone, Debug, Default)]
pub struct CpuTally {
    /// By number of the state.
    pub states: BTreeMap<u32, StateTally>,
    /// Wake-ups whose sleep began before the trace.
    pub unbegun: u64,
    /// Sleeps that began while another was open: an event is missing.
    pub overlaps: u64,
    /// Sleeps that were open where the tracer lost events of the CPU: nobody
    /// knows whether the next end is theirs.
    pub torn: u64,
    /// The sleep that is open: state, and when it began (ns).
    pub open: Option<(u32, i64)>,
    /// Wake-ups by what woke the CPU.
    pub wakers: BTreeMap<u32, Woken>,
    /// Wake-ups of which nothing was seen on this CPU.
    pub unexplained: Woken,
    /// What woke it last, if that is known.
    cause: Option<u32>,
    /// What the last wake-up cost.
    cost: Woken,
    /// A CPU is awake, and the cause of that is not seen yet.
    woken: bool,
    /// What ends the open sleep was seen already.
    explained: bool,
}

/// Counts over a trace.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// By CPU.
    pub cpus: BTreeMap<u32, CpuTally>,
    /// First and last event, ns.
    pub span: Option<(i64, i64)>,
    /// When all CPUs slept at once.
    pub together: Together,
    /// Ticks that were kept or stopped.
    pub ticks: Ticks,
    tables: BTreeMap<u32, (Table, StateSet)>,
    powers: BTreeMap<u32, Powers>,
}

impl Tally {
    /// A tally that knows the table, and what is disabled, of some CPUs: only
    /// for those it says whether a state was right.
    pub fn with_tables(tables: BTreeMap<u32, (Table, StateSet)>) -> Tally {
        let powers = tables.iter().map(|(&cpu, (t, _))| (cpu, Powers::assumed(t))).collect();
        Tally { tables, powers, ..Tally::default() }
    }

    /// Table and disabled states of every CPU that is known.
    pub fn tables(&self) -> &BTreeMap<u32, (Table, StateSet)> {
        &self.tables
    }

    /// The table of a CPU and what is disabled there, if known.
    pub fn table(&self, cpu: u32) -> Option<&(Table, StateSet)> {
        self.tables.get(&cpu)
    }

    /// How much exit latency sleeps paid, ns: the median, the 99th percentile
    /// and the largest of the exit latencies of the states that were entered.
    pub fn latency_paid(&self) -> Option<(i64, i64, i64)> {
        let mut paid: BTreeMap<i64, u64> = BTreeMap::new();
        for (cpu, c) in &self.cpus {
            let (table, _) = self.tables.get(cpu)?;
            for (&state, s) in &c.states {
                let entered = table.states().get(state as usize)?;
                *paid.entry(entered.latency).or_default() += s.entries;
            }
        }
        let all: u64 = paid.values().sum();
        let quantile = |per_mille: u64| {
            let mut sum = 0;
            paid.iter().find_map(|(&latency, &n)| {
                sum += n;
                (sum * 1_000 >= all * per_mille).then_some(latency)
            })
        };
        let longest = *paid.iter().rfind(|p| *p.1 > 0)?.0;
        Some((quantile(500)?, quantile(990)?, longest))
    }

    /// An event of any kind at `time` (ns).
    pub fn seen(&mut self, time: i64) {
        let (first, last) = self.span.unwrap_or((time, time));
        self.span = Some((first.min(time), last.max(time)));
    }

    /// `cpu_idle` with a state: `cpu` goes to sleep.
    pub fn enter(&mut self, cpu: u32, time: i64, state: u32) {
        self.together.change(cpu, time, true);
        self.ticks.enter(cpu, time);
        let c = self.cpus.entry(cpu).or_default();
        c.overlaps += u64::from(c.open.is_some());
        if core::mem::take(&mut c.woken) {
            c.unexplained.add(c.cost);
        }
        c.open = Some((state, time));
        (c.explained, c.cause) = (false, None);
    }

    /// `cpu_idle` with state 4294967295: `cpu` is awake. State and begin of the
    /// sleep, if it began in the trace.
    pub fn exit(&mut self, cpu: u32, time: i64) -> Option<(u32, i64)> {
        self.together.change(cpu, time, false);
        self.ticks.exit(cpu, time);
        let c = self.cpus.entry(cpu).or_default();
        let Some((state, begin)) = c.open.take() else {
            c.unbegun += 1;
            return None;
        };
        let i = state as usize;
        let table = self.tables.get(&cpu).and_then(|t| t.0.states().get(i));
        let cost = Woken {
            count: 0,
            delay: table.map_or(0, |s| s.latency),
            energy: self.powers.get(&cpu).map_or(0, |p| p.of(i, 0)),
        };
        if let Some(known) = c.cause.and_then(|n| c.wakers.get_mut(&n)) {
            known.add(cost);
        }
        c.cost = Woken { count: 1, ..cost };
        c.woken = !c.explained;
        let slept = time.saturating_sub(begin);
        let s = c.states.entry(state).or_default();
        s.entries += 1;
        s.time = s.time.saturating_add(slept);
        s.longest = s.longest.max(slept);
        s.residencies.add(slept);
        if let Some((table, disabled)) = self.tables.get(&cpu) {
            judge(s, table, *disabled, state as usize, slept);
        }
        Some((state, begin))
    }

    /// The tracer lost events of `cpu`, or of any CPU: what sleeps there is not
    /// known until the next event.
    pub fn lost(&mut self, cpu: Option<u32>) {
        for (_, c) in self.cpus.iter_mut().filter(|c| cpu.is_none_or(|cpu| *c.0 == cpu)) {
            c.torn += u64::from(c.open.take().is_some());
            (c.woken, c.cause) = (false, None);
        }
        self.ticks.lost(cpu);
    }

    /// Adds what was counted of other CPUs of the same machine, in a trace of
    /// their own. When all slept at once is then not known.
    pub fn join(&mut self, other: Tally) {
        self.together = Together::default();
        self.cpus.extend(other.cpus);
        self.ticks.join(other.ticks);
        if let Some((first, last)) = other.span {
            self.seen(first);
            self.seen(last);
        }
    }

    /// `cpu_idle_miss`: the kernel says that the last sleep was too deep
    /// (`above`) or too shallow.
    pub fn miss(&mut self, cpu: u32, state: u32, above: bool) {
        let s = self.cpus.entry(cpu).or_default().states.entry(state).or_default();
        *(if above { &mut s.said_above } else { &mut s.said_below }) += 1;
    }

    /// Something that `cpu` does, which woke it if it is the first thing after
    /// a sleep. Where a CPU halts with interrupts on, the handler comes before the
    /// end of the sleep. `cause` is the caller's number for it.
    pub fn woken_by(&mut self, cpu: u32, cause: u32) -> Woke {
        let Some(c) = self.cpus.get_mut(&cpu) else { return Woke::No };
        let inside = c.open.is_some() && !core::mem::replace(&mut c.explained, true);
        let after = core::mem::take(&mut c.woken);
        if !(inside || after) {
            return Woke::No;
        }
        // What it costs is known when the sleep is over.
        let cost = if inside { Woken { count: 1, ..Woken::default() } } else { c.cost };
        c.wakers.entry(cause).or_default().add(cost);
        c.cause = Some(cause);
        if inside { Woke::Open } else { Woke::Last }
    }

    /// What woke `cpu` last is known better now.
    pub fn renamed(&mut self, cpu: u32, cause: u32) {
        let Some(c) = self.cpus.get_mut(&cpu) else { return };
        let Some(old) = c.cause.replace(cause) else {
            c.cause = None;
            return;
        };
        let cost = if c.open.is_some() { Woken { count: 1, ..Woken::default() } } else { c.cost };
        c.wakers.entry(old).or_default().take(cost);
        c.wakers.entry(cause).or_default().add(cost);
    }

    /// Sleeps that begin and end in the trace.
    pub fn sleeps(&self) -> u64 {
        self.cpus.values().flat_map(|c| c.states.values()).map(|s| s.entries).sum()
    }
}

/// Was `state` right for a sleep of `slept` ns?
fn judge(s: &mut StateTally, table: &Table, disabled: StateSet, state: usize, slept: i64) {
    let states = table.states();
    let Some(entered) = states.get(state) else { return };
    let enabled = |&i: &usize| !disabled.has(i);
    // The kernel's rule (`cpuidle_enter_state`, drivers/cpuidle/cpuidle.c, 6.12).
    if slept < entered.residency {
        s.above += u64::from((0..state).any(|i| enabled(&i)));
    } else if slept > entered.latency
        && let Some(next) = (state + 1..states.len()).find(enabled)
    {
        s.below += u64::from(slept - entered.latency >= states[next].residency);
    }
    // Without its exit latency: the time from falling asleep to the wake-up,
    // which the best state would have been chosen for.
    let until = slept - entered.latency.min(slept);
    let best = (0..states.len()).rev().filter(enabled).find(|&i| states[i].residency <= until);
    match best {
        Some(best) if best < state => s.too_deep += 1,
        Some(best) if best > state => s.too_shallow += 1,
        _ => {}
    }
}
