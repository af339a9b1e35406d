//! Counts over a trace: how often and how long each CPU was in each state, and
//! whether another state had been better. Memory grows with CPUs and states,
//! never with the length of the trace.

use crate::decided::Step;
use crate::energy::Powers;
use crate::state::{StateSet, Table};
use crate::ticks::Ticks;
use crate::together::Together;
use crate::wake::{Episode, Wakes};
use std::collections::BTreeMap;

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
    /// How many CPUs the machine has, as far as the head of the trace or a dump beside
    /// it tells.
    pub machine_cpus: Option<u32>,
    /// What CPUs asked the firmware of Arm for, by its number: a CPU alone, or its cluster
    /// too (drivers/cpuidle/cpuidle-psci.c:__psci_enter_domain_idle_state, 7.3).
    pub asked: BTreeMap<u64, Asked>,
}

/// Times that CPUs asked the firmware for a state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Times that came back.
    pub count: u64,
    /// How long they took together, ns.
    pub ns: i64,
    /// Of them, those in s2idle.
    pub s2idle: u64,
}

/// Whether the CPUs of a trace are all of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// They are.
    Machine,
    /// It has so many; the trace shows fewer.
    Part(u32),
    /// The input does not say.
    Unknown,
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
    /// Whether all CPUs of the machine are here. An excerpt of some of them says nothing
    /// of the package.
    pub fn coverage(&self) -> Coverage {
        let seen = self.tally.cpus.len() as u32;
        // CPUs are numbered from 0, so a higher number tells of more.
        let least = self.tally.cpus.keys().next_back().map_or(0, |last| last.saturating_add(1));
        match self.machine_cpus {
            Some(n) if seen >= n => Coverage::Machine,
            known if known.unwrap_or(0).max(least) > seen => {
                Coverage::Part(known.unwrap_or(0).max(least))
            }
            _ => Coverage::Unknown,
        }
    }

    /// What woke CPUs: what cost most energy first, where tables are known; else what
    /// came most often.
    pub fn wakers(&self) -> Vec<Waker<'_>> {
        let mut sums = std::vec![Woken::default(); self.wakers.len()];
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

/// Bits of a residency below its highest one that a step of the histogram tells.
const BITS: usize = 5;
/// Steps in each doubling.
const STEPS: usize = 1 << BITS;
/// Steps in all: residencies up to 2^63 ns.
const BUCKETS: usize = 64 * STEPS;

/// So many residencies are kept as they are, beyond them in steps: memory does not
/// grow with a trace.
const KEPT: usize = 2_048;

/// Residencies: each of them, or, once they are many, how many lie in each step of a
/// 32nd of a doubling.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    /// All of them, in the order of the trace; none once there are `counts`.
    values: Vec<i64>,
    /// Empty, or one number a step.
    counts: Vec<u64>,
}

/// A quantile of residencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantile {
    /// ns.
    pub ns: i64,
    /// One of the residencies; else the middle of a step, at most 1.6 % off.
    pub exact: bool,
}

impl Histogram {
    /// Counts one residency of `ns`.
    pub fn add(&mut self, ns: i64) {
        if self.counts.is_empty() && self.values.len() < KEPT {
            self.values.push(ns.max(0));
            return;
        }
        self.use_steps();
        self.counts[step(ns)] += 1;
    }

    fn use_steps(&mut self) {
        if self.counts.is_empty() {
            self.counts = std::vec![0; BUCKETS];
        }
        for ns in std::mem::take(&mut self.values) {
            self.counts[step(ns)] += 1;
        }
    }

    /// Adds what another counted; those that are kept as they are stay so.
    pub fn merge(&mut self, other: &Histogram) {
        if self.counts.is_empty() && other.counts.is_empty() {
            self.values.extend(&other.values);
            return;
        }
        self.use_steps();
        other.values.iter().for_each(|ns| self.counts[step(*ns)] += 1);
        for (a, b) in self.counts.iter_mut().zip(&other.counts) {
            *a += b;
        }
    }

    /// The smallest residency that `per_mille` of all do not exceed; `None` without
    /// residencies.
    pub fn quantile(&self, per_mille: u64) -> Option<Quantile> {
        let all = self.values.len() as u64 + self.counts.iter().sum::<u64>();
        let wanted = (all * per_mille).div_ceil(1_000).max(1);
        if self.counts.is_empty() {
            let mut values = self.values.clone();
            values.sort_unstable();
            let ns = *values.get(wanted as usize - 1)?;
            return Some(Quantile { ns, exact: true });
        }
        let mut sum = 0;
        let step = self.counts.iter().position(|n| {
            sum += n;
            sum >= wanted
        })?;
        Some(middle(step))
    }
}

/// The step of a residency: its highest bit and the `BITS` below that.
fn step(ns: i64) -> usize {
    let ns = ns.max(0) as u64;
    let top = 63 - (ns | 1).leading_zeros() as usize;
    let below = if top >= BITS { ns >> (top - BITS) } else { ns << (BITS - top) };
    top * STEPS + (below as usize & (STEPS - 1))
}

/// The middle of a step; below `STEPS` ns a step is one value.
fn middle(step: usize) -> Quantile {
    let (top, below) = (step / STEPS, (step % STEPS) as u64);
    let wide = STEPS as u64 + below;
    match top.checked_sub(BITS) {
        Some(0) => Quantile { ns: wide as i64, exact: true },
        Some(up) => Quantile { ns: ((wide << up) + (1 << (up - 1))) as i64, exact: false },
        None => Quantile { ns: (wide >> (BITS - top)) as i64, exact: true },
    }
}

#[cfg(test)]
mod histogram_tests {
    use super::*;

    /// The definition, for values in any order.
    fn of(mut all: Vec<i64>, per_mille: usize) -> i64 {
        all.sort_unstable();
        all[(all.len() * per_mille).div_ceil(1_000).max(1) - 1]
    }

    #[test]
    fn few_residencies_have_exact_quantiles_and_many_nearly() {
        let mut seed = 7u64;
        let mut next = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // From 1 ns to seconds.
            (((seed >> 33) >> (seed >> 59)) as i64).max(1)
        };
        let values: Vec<i64> = (0..3 * KEPT).map(|_| next()).collect();
        for n in [1, 2, 99, KEPT, KEPT + 1, values.len()] {
            let (mut one, mut halves) =
                (Histogram::default(), [(); 2].map(|()| Histogram::default()));
            for (i, &v) in values[..n].iter().enumerate() {
                one.add(v);
                halves[i % 2].add(v);
            }
            let [mut both, other] = halves;
            both.merge(&other);
            for q in [1, 500, 990, 1_000] {
                let want = of(values[..n].to_vec(), q);
                let got = one.quantile(q as u64).unwrap();
                assert!(got.exact || n > KEPT, "{n}");
                for got in [got, both.quantile(q as u64).unwrap()] {
                    let off = (got.ns - want).abs();
                    assert!(
                        if got.exact { off == 0 } else { off * 64 <= want },
                        "{n} {q}: {got:?}, {want}"
                    );
                }
            }
        }
        assert_eq!(Histogram::default().quantile(500), None);
        assert!(one_too_many().counts.len() == BUCKETS && one_too_many().values.is_empty());
    }

    fn one_too_many() -> Histogram {
        let mut h = Histogram::default();
        (0..=KEPT as i64).for_each(|ns| h.add(ns));
        h
    }

    #[test]
    fn every_residency_has_a_step() {
        for ns in [0, 1, 2, 31, 32, 33, 63, 64, 1 << 40, i64::MAX] {
            let Quantile { ns: near, exact } = middle(step(ns));
            assert!(exact && near == ns.max(1) || (near - ns).abs() <= ns / 64 + 1, "{ns}: {near}");
        }
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
    /// How long sleeps were that the kernel calls too deep, too shallow, ns.
    pub said_time: [i64; 2],
    /// The same of those that were computed again.
    pub time_of: [i64; 2],
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
    /// Events that stand in the trace twice, or again later, and count once.
    pub repeated: u64,
    /// The last of its events, ns.
    at: Option<i64>,
    /// That was the end of a sleep.
    over: bool,
    /// How long its last sleep was, ns.
    slept: i64,
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
        let powers =
            tables.iter().map(|(&cpu, (t, off))| (cpu, Powers::assumed(t, *off))).collect();
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

    /// Whether an event of `cpu` stands in the trace already: a line that was quoted
    /// twice, or lines that come again in a reply. Events of one CPU are in order.
    pub fn repeats(&mut self, cpu: u32, time: i64, state: Option<u32>) -> bool {
        let Some(c) = self.cpus.get_mut(&cpu) else { return false };
        let again = c.at.is_some_and(|at| {
            time < at || time == at && c.open.map(|o| o.0) == state && (state.is_some() || c.over)
        });
        c.repeated += u64::from(again);
        again
    }

    /// `cpu_idle` with a state: `cpu` goes to sleep.
    pub fn enter(&mut self, cpu: u32, time: i64, state: u32) {
        self.together.change(cpu, time, true);
        self.ticks.enter(cpu, time);
        let c = self.cpus.entry(cpu).or_default();
        c.overlaps += u64::from(c.open.is_some());
        if std::mem::take(&mut c.woken) {
            c.unexplained.add(c.cost);
        }
        c.open = Some((state, time));
        (c.at, c.over) = (Some(time), false);
        (c.explained, c.cause) = (false, None);
    }

    /// `cpu_idle` with state 4294967295: `cpu` is awake. State and begin of the
    /// sleep, if it began in the trace.
    pub fn exit(&mut self, cpu: u32, time: i64) -> Option<(u32, i64)> {
        self.together.change(cpu, time, false);
        self.ticks.exit(cpu, time);
        let c = self.cpus.entry(cpu).or_default();
        (c.at, c.over) = (Some(time), true);
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
        c.slept = slept;
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
        let c = self.cpus.entry(cpu).or_default();
        let s = c.states.entry(state).or_default();
        *(if above { &mut s.said_above } else { &mut s.said_below }) += 1;
        let time = &mut s.said_time[usize::from(!above)];
        *time = time.saturating_add(c.slept);
    }

    /// Something that `cpu` does, which woke it if it is the first thing after
    /// a sleep. Where a CPU halts with interrupts on, the handler comes before the
    /// end of the sleep. `cause` is the caller's number for it.
    pub fn woken_by(&mut self, cpu: u32, cause: u32) -> Woke {
        let Some(c) = self.cpus.get_mut(&cpu) else { return Woke::No };
        let inside = c.open.is_some() && !std::mem::replace(&mut c.explained, true);
        let after = std::mem::take(&mut c.woken);
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
        if (0..state).any(|i| enabled(&i)) {
            s.above += 1;
            s.time_of[0] = s.time_of[0].saturating_add(slept);
        }
    } else if slept > entered.latency
        && let Some(next) = (state + 1..states.len()).find(enabled)
        && slept - entered.latency >= states[next].residency
    {
        s.below += 1;
        s.time_of[1] = s.time_of[1].saturating_add(slept);
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
