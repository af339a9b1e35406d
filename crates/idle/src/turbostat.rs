//! What turbostat measured, interval by interval, and what power of states can
//! be told from it.

use crate::named::{is_doubtful, keeps_shallow, settings};
use crate::powertop::Powertop;
use std::collections::BTreeMap;

/// Values of one line by column, thousandths.
pub type Row = BTreeMap<String, i64>;

/// One interval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interval {
    /// The line for the whole machine.
    pub machine: Row,
    /// Lines of CPUs that could be read.
    pub cpus: Vec<Row>,
}

/// Thousandths of a per cent as `12.3 %`; a little is not nothing.
pub fn percent(thousandths: i64) -> String {
    if (1..50).contains(&thousandths) {
        return "<0.1 %".into();
    }
    let tenths = thousandths.max(0).saturating_add(50) / 100;
    format!("{}.{} %", tenths / 10, tenths % 10)
}

/// Everything of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// As the user named it.
    pub label: String,
    /// Marks of a mail before it: somebody wrote it whom this mail quotes.
    pub quotes: usize,
    /// The machine on which it was measured, if the prompt above it names one.
    pub host: Option<String>,
    /// The words above it, where a text has several.
    pub caption: Option<String>,
    /// Names of columns, in their order.
    pub columns: Vec<String>,
    /// In order of time.
    pub intervals: Vec<Interval>,
    /// Lines that could not be read, or whose shares cannot be.
    pub lost: u64,
    /// The text says that lines were left out.
    pub cut: bool,
    /// Columns with the share of time in a state that the kernel asked for, which the
    /// head sets apart; without any they are told by their names.
    pub kernel: Vec<String>,
    /// Columns with a share that cannot be, and the largest of them, thousandths of
    /// a per cent; their figures are left out.
    pub cannot: BTreeMap<String, i64>,
    /// It is of powertop, and what that says besides shares.
    pub powertop: Option<Powertop>,
}

/// How far the mean of CPUs may lie from the line of the machine, thousandths of a per
/// cent: turbostat prints two digits of each, and reads CPUs one after another.
const SAME: i64 = 100;

/// Columns of power that a running machine cannot have at zero: a counter that the
/// firmware or a guest does not offer reads as nothing.
const POWERED: [&str; 3] = ["PkgWatt", "CorWatt", "RAMWatt"];

/// A core that is awake for this share keeps the package awake, thousandths of a per cent.
const ALWAYS: i64 = 99_000;

/// A state that the table has and that nobody entered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unentered {
    /// The deepest state that was entered.
    pub used: String,
    /// The next deeper one, which was not.
    pub next: String,
    /// The CPU that had the best chance, and for how long it was idle, in thousandths of a per
    /// cent; nothing if all of them had.
    pub idlest: Option<(u32, i64)>,
}

/// Where hardware stays shallower than the kernel asks, all thousandths of a per cent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotFollowed {
    /// The deep state that the kernel asks for most, and all deep states together.
    pub asked: (String, i64),
    /// Every counter of cores that the hardware has, as the table names it.
    pub counted: Vec<(String, i64)>,
    deep: i64,
}

impl NotFollowed {
    /// How long hardware was in any deep state.
    pub fn deep(&self) -> i64 {
        self.deep
    }
}

/// A state of this number and more flushes caches of its core and is counted by hardware as
/// C3, C6 or C7 (turbostat.c).
const DEEP: u32 = 3;

/// What the kernel asks for and hardware does not do is told from this share on, thousandths
/// of a per cent, if it is more than half of what is asked. Ours.
const TOLD: i64 = 20_000;

/// A CPU that is idle for more than half of the time has the chance to go deep, thousandths
/// of a per cent. Ours.
const HALF: i64 = 50_000;

/// A machine whose CPUs work for less is idle, thousandths of a per cent. Ours.
const IDLE: i64 = 10_000;

/// A package that goes no deeper has all of its clocks on.
const SHALLOW: u32 = 3;

/// The number of a state: 6 of `C6%`, `CPU%c6` and `Pkg%pc6`, 1 of `C1E%`.
fn number(column: &str) -> Option<u32> {
    let of_package = || column.split_once("%pc").map(|c| c.1);
    let of_core = || column.strip_prefix("CPU%c").or_else(|| column.strip_prefix('C'));
    let rest = of_package().or_else(of_core)?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// A CPU that stays shallow while the others do not: it is idle, and a mean over all hides it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Odd {
    /// The CPU.
    pub cpu: u32,
    /// The state that it was in most, and for how long, thousandths of a per cent.
    pub own: (String, i64),
    /// The state of the others, its share of this CPU, and the least share of the others.
    pub others: (String, [i64; 2]),
}

/// Shares of idleness and of work that are together this much contradict each other, thousandths
/// of a per cent. Ours.
const TOGETHER: i64 = 130_000;

/// A CPU stays out of a state that it is in for less, thousandths of a per cent. Ours.
const OUT: i64 = 5_000;

/// Why no package state was reached, as far as a table shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeptUp {
    /// At least one core was awake for this share, thousandths of a per cent.
    Core(i64),
    /// This CPU was busy for nearly all of the time, thousandths of a per cent.
    Busy(u32, i64),
    /// CPUs were in nothing deeper than this state, though the table has deeper ones.
    Shallow(String),
    /// One CPU was not where the others were.
    Odd(Odd),
    /// It does not.
    Unknown,
}

impl Run {
    /// Columns with the share of time in a state that the kernel asked for.
    pub fn states(&self) -> Vec<&str> {
        let state = |c: &&String| {
            c.strip_suffix('%').is_some_and(|n| {
                // `PKG_%` and `RAM_%` are throttling, `Any%C0` and the like not shares.
                n == "POLL"
                    || (n.starts_with('C') && n[1..].starts_with(|d: char| d.is_ascii_digit()))
            })
        };
        let named = self.columns.iter().filter(|c| self.kernel.is_empty() && state(c));
        named.chain(&self.kernel).map(String::as_str).collect()
    }

    /// Columns with the share of time in a package state, measured by hardware.
    pub fn package_states(&self) -> Vec<&str> {
        let package = |c: &&String| c.starts_with("Pkg%pc") || c.starts_with("Pk%pc");
        self.columns.iter().filter(package).map(String::as_str).collect()
    }

    /// Columns with the share of time in which all CPUs, or all of the system, were idle by the
    /// firmware's table LPIT (turbostat.c, 4.19 on).
    pub fn platform_states(&self) -> Vec<&str> {
        let platform = |c: &&String| matches!(c.as_str(), "CPU%LPI" | "SYS%LPI");
        self.columns.iter().filter(platform).map(String::as_str).collect()
    }

    /// Whether lines of all CPUs are here: none was lost or left out, and their mean is
    /// what the line of the machine says.
    pub(crate) fn shows_all_cpus(&self) -> bool {
        let near = |i: &Interval| {
            let of = |r: &Row| r.get("Busy%").copied();
            let all: Vec<i64> = i.cpus.iter().filter_map(of).collect();
            let n = i64::try_from(all.len()).unwrap_or(0);
            let sum = all.iter().fold(0i64, |a, b| a.saturating_add(*b));
            n > 0 && of(&i.machine).is_some_and(|m| (sum / n).abs_diff(m) <= SAME.unsigned_abs())
        };
        self.lost == 0 && !self.cut && self.intervals.iter().all(near)
    }

    /// The CPU that was awake most and its share of time, by its mean over intervals,
    /// thousandths of a per cent: the package can sleep only for the rest. Nothing if a
    /// CPU may be missing.
    pub fn busiest(&self) -> Option<(u32, i64)> {
        if !self.shows_all_cpus() || self.contradicted().is_some() {
            return None;
        }
        let mut sums: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
        for row in self.intervals.iter().flat_map(|i| &i.cpus) {
            if let (Some(&cpu), Some(&busy)) = (row.get("CPU"), row.get("Busy%")) {
                let s = sums.entry(cpu).or_default();
                *s = (s.0.saturating_add(busy), s.1 + 1);
            }
        }
        let mean = |(cpu, (sum, n)): (i64, (i64, i64))| {
            Some((u32::try_from(cpu / 1_000).ok()?, rounded(sum, n)))
        };
        sums.into_iter().filter_map(mean).max_by_key(|&(cpu, busy)| (busy, std::cmp::Reverse(cpu)))
    }

    /// Share of the time with at least one core awake, which some processors count
    /// (`Any%C0`), by its mean, thousandths of a per cent.
    pub fn some_core(&self) -> Option<i64> {
        self.mean("Any%C0")
    }

    /// Deep states that the kernel asks for and hardware does not enter. Nothing of a table
    /// without counters of the hardware that are that deep, or that count nothing at all.
    pub fn not_followed(&self) -> Option<NotFollowed> {
        let with = |c: &str| Some((c.to_owned(), self.mean(c)?));
        let deep = |c: &&(String, i64)| number(&c.0).is_some_and(|n| n >= DEEP);
        let sum = |list: &mut dyn Iterator<Item = &(String, i64)>| -> i64 {
            list.fold(0, |a, s| a.saturating_add(s.1))
        };
        let asked: Vec<(String, i64)> = self.states().into_iter().filter_map(with).collect();
        let hardware = self.columns.iter().filter(|c| c.starts_with("CPU%c"));
        let counted: Vec<(String, i64)> = hardware.filter_map(|c| with(c)).collect();
        let most = asked.iter().filter(deep).max_by_key(|s| s.1)?;
        let deepest = counted.iter().filter(deep).filter_map(|c| number(&c.0)).max()?;
        let all = sum(&mut asked.iter().filter(deep));
        let (at, above) =
            (sum(&mut counted.iter().filter(deep)), sum(&mut counted.iter().filter(|c| !deep(c))));
        // What is deeper than C7 counts as C7; a table without that column says too little.
        let shown = number(&most.0).is_some_and(|n| n.min(7) <= deepest);
        let far = all >= TOLD && at < all / 2 && above > at;
        let asked = (most.0.trim_end_matches('%').to_owned(), all);
        (shown && far).then_some(NotFollowed { asked, counted, deep: at })
    }

    /// A state of the kernel's that was not entered, if CPUs or one of them was idle for most of
    /// the time.
    pub fn unentered(&self) -> Option<Unentered> {
        let states = self.states();
        let rows = || self.intervals.iter().flat_map(|i| i.cpus.iter().chain([&i.machine]));
        let used = |c: &str| rows().any(|r| r.get(c).is_some_and(|s| *s > 0));
        let last = states.iter().rposition(|c| used(c)).filter(|at| at + 1 < states.len())?;
        let name = |c: &str| c.trim_end_matches('%').to_owned();
        let found = |who| {
            let (used, next) = (name(states[last]), name(states[last + 1]));
            Some(Unentered { used, next, idlest: who })
        };
        if self.work().is_some_and(|w| w <= HALF) {
            return found(None);
        }
        let idlest = |r: &Row| Some((u32::try_from(r.get("CPU")? / 1_000).ok()?, *r.get("Busy%")?));
        let cpus = self.intervals.iter().flat_map(|i| &i.cpus).filter_map(idlest);
        let (cpu, busy) = cpus.min_by_key(|c| c.1).filter(|c| c.1 <= HALF)?;
        found(Some((cpu, 100_000 - busy)))
    }

    /// The mean of a column of each CPU, thousandths.
    fn of_cpus(&self, column: &str) -> BTreeMap<i64, i64> {
        let mut sums: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
        for row in self.intervals.iter().flat_map(|i| &i.cpus) {
            if let (Some(&cpu), Some(&value)) = (row.get("CPU"), row.get(column)) {
                let s = sums.entry(cpu).or_default();
                *s = (s.0.saturating_add(value), s.1 + 1);
            }
        }
        sums.into_iter().map(|(cpu, (sum, n))| (cpu, rounded(sum, n))).collect()
    }

    /// The one CPU that was idle and stayed shallower than all others, of at least three.
    pub fn odd(&self) -> Option<Odd> {
        let states = self.states();
        let busy = self.of_cpus("Busy%");
        let by_state: Vec<BTreeMap<i64, i64>> = states.iter().map(|c| self.of_cpus(c)).collect();
        let name = |at: usize| states[at].trim_end_matches('%').to_owned();
        let of = |at: usize| {
            let all = &by_state[at];
            let out: Vec<i64> = all.iter().filter(|c| *c.1 <= OUT).map(|c| *c.0).collect();
            let [cpu] = out[..] else { return None };
            let least = all.iter().filter(|c| *c.0 != cpu).map(|c| *c.1).min()?;
            let idle = busy.get(&cpu).is_none_or(|b| *b <= HALF);
            if all.len() < 3 || least < HALF || !idle {
                return None;
            }
            let own = (0..at).max_by_key(|i| by_state[*i].get(&cpu).copied().unwrap_or(0))?;
            Some(Odd {
                cpu: u32::try_from(cpu / 1_000).ok()?,
                own: (name(own), *by_state[own].get(&cpu)?),
                others: (name(at), [all[&cpu], least]),
            })
        };
        (1..states.len()).rev().find_map(of)
    }

    /// Whether the rows break off before all package states of the head are told.
    pub fn is_cut(&self) -> bool {
        let unseen = |c: &&str| self.mean(c).is_none() && !self.cannot.contains_key(*c);
        !self.intervals.is_empty() && self.package_states().iter().any(unseen)
    }

    /// How long CPUs worked, if that is most of the time, thousandths of a per cent.
    pub fn busy(&self) -> Option<i64> {
        self.work().filter(|w| *w > HALF && self.contradicted().is_none())
    }

    /// How long the kernel had CPUs idle and hardware counts them at work, thousandths of a per
    /// cent, where both cannot be: together they are more than all of the time. The states that the
    /// kernel asked for were not entered, or MPERF counts in them too.
    pub fn contradicted(&self) -> Option<[i64; 2]> {
        let asked = self.states().into_iter().filter(|c| *c != "POLL%");
        let asked = asked.filter_map(|c| self.mean(c)).fold(0i64, i64::saturating_add);
        let busy = self.mean("Busy%")?;
        let both = asked.min(busy) > HALF && asked.saturating_add(busy) >= TOGETHER;
        (both && asked <= 100_000 + SAME).then_some([asked, busy])
    }

    /// Whether no package state of the table was reached though the machine was idle: each CPU
    /// was for most of the time.
    pub fn idle_and_up(&self) -> bool {
        let shares = |list: Vec<&str>| -> Vec<i64> {
            list.into_iter().filter_map(|c| self.mean(c)).collect()
        };
        let package = shares(self.package_states());
        let none = !package.is_empty() && package.iter().all(|s| *s == 0) && !self.is_cut();
        let platform = shares(self.platform_states()).iter().any(|s| *s > 0);
        let one_works = self.busiest().is_some_and(|b| b.1 > HALF)
            || self.some_core().is_some_and(|s| s >= ALWAYS);
        none && !platform && !one_works && self.work().is_some_and(|w| w <= IDLE)
    }

    /// The package state at which an idle machine stands: its cores sleep deep, the package is
    /// for half of the time in states no deeper than [`SHALLOW`], and in none of the deeper
    /// ones that the table has. Which, its share, and how many deeper ones there are.
    pub fn stuck_at(&self) -> Option<(&str, i64, usize)> {
        let all: Vec<(&str, i64)> =
            self.package_states().into_iter().filter_map(|c| Some((c, self.mean(c)?))).collect();
        let (name, share) = all.iter().rev().find(|s| s.1 > 0).copied()?;
        let deeper = all.iter().rev().take_while(|s| s.0 != name).count();
        let depth = number(name)?;
        let platform = self.platform_states().iter().any(|c| self.mean(c).is_some_and(|s| s > 0));
        // A core state that a package state of this depth does not need.
        let deep = |c: &&String| c.starts_with("CPU%c") && number(c).is_some_and(|n| n > depth);
        let cores = self.columns.iter().filter(deep).filter_map(|c| self.mean(c)).max()?;
        let asleep = self.package_asleep()? >= HALF;
        let idle = self.work().is_some_and(|w| w <= IDLE) && cores >= HALF && asleep;
        (idle && !platform && !self.is_cut() && depth <= SHALLOW && deeper > 1)
            .then_some((name, share, deeper))
    }

    /// The line of those that name a limit whose setting keeps CPUs as shallow as they were, with
    /// the setting.
    pub fn likely_limit<'a>(
        &self,
        limits: &'a [(u64, String)],
    ) -> Option<(&'a (u64, String), String)> {
        let shallow = |name: &str| number(name).is_none_or(|n| n <= 1);
        let fits = match self.kept_up() {
            KeptUp::Shallow(name) => shallow(&name),
            KeptUp::Unknown => self.deepest_used().is_none_or(|n| shallow(&n)),
            KeptUp::Core(_) | KeptUp::Busy(..) | KeptUp::Odd(_) => false,
        };
        let one = |l: &'a (u64, String)| {
            let found = settings(&l.1).into_iter().find(|(s, on)| *on && keeps_shallow(s));
            found.filter(|_| !is_doubtful(&l.1)).map(|(s, _)| (l, s))
        };
        limits.iter().filter(|_| fits).find_map(one)
    }

    /// What the table shows of a package that never slept.
    pub fn kept_up(&self) -> KeptUp {
        let core = self.some_core().filter(|s| *s >= ALWAYS);
        if let (None, Some((cpu, share))) = (core, self.busy_cpu()) {
            return KeptUp::Busy(cpu, share);
        }
        if let (None, Some(odd)) = (core, self.odd()) {
            return KeptUp::Odd(odd);
        }
        match (core, self.deepest_used()) {
            (Some(share), _) => KeptUp::Core(share),
            (None, Some(name)) => KeptUp::Shallow(name),
            (None, None) => KeptUp::Unknown,
        }
    }

    /// A CPU that was busy for nearly all of each interval beside one that idled: whatever the CPUs
    /// did that the table does not show, the package could not sleep. Where all are busy they may
    /// poll (`idle=poll`).
    fn busy_cpu(&self) -> Option<(u32, i64)> {
        let mut sums: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
        for row in self.intervals.iter().flat_map(|i| &i.cpus) {
            if let (Some(&cpu), Some(&busy)) = (row.get("CPU"), row.get("Busy%")) {
                let s = sums.entry(cpu).or_default();
                *s = (s.0.saturating_add(busy), s.1 + 1);
            }
        }
        let whole = i64::try_from(self.intervals.len()).ok()?;
        let mean = sums.into_iter().filter(|(_, s)| s.1 == whole);
        let all: Vec<_> = mean.map(|(cpu, (sum, n))| (cpu / 1_000, rounded(sum, n))).collect();
        let (cpu, busy) = *all.iter().max_by_key(|m| m.1).filter(|m| m.1 >= ALWAYS)?;
        all.iter().find(|m| m.1 <= HALF)?;
        (self.contradicted().is_none()).then_some((u32::try_from(cpu).ok()?, busy))
    }

    /// The deepest state that CPUs were in, where the table has a deeper one that none was in:
    /// by hardware's counters if it has any, else by what the kernel asked for.
    fn deepest_used(&self) -> Option<String> {
        let counted: Vec<&str> =
            self.columns.iter().map(String::as_str).filter(|c| c.starts_with("CPU%c")).collect();
        let used = |c: &&str| self.mean(c).is_some_and(|s| s > 0);
        let list = if counted.iter().filter(|c| used(c)).count() > 0 && counted.len() > 1 {
            counted
        } else {
            self.states()
        };
        let last = list.iter().rposition(used).filter(|at| at + 1 < list.len())?;
        // Hardware counts C1E as C1: the kernel's name says which of them it was.
        let same = |c: &&str| number(c) == number(list[last]) && used(c);
        let named = self.states().into_iter().rfind(same);
        let name = named.unwrap_or(list[last]);
        Some(name.trim_start_matches("CPU%").trim_end_matches('%').to_uppercase())
    }

    /// Time in the polling state, by its mean, thousandths of a per cent, where the share
    /// of work counts it too: it runs a loop, and is a state of idleness. Some tables
    /// have it beside the work; then all shares together add up to the whole.
    pub fn polled(&self) -> Option<i64> {
        let (poll, busy) = (self.mean("POLL%")?, self.mean("Busy%")?);
        let others: Vec<i64> =
            self.states().iter().filter(|c| **c != "POLL%").filter_map(|c| self.mean(c)).collect();
        let sum = others.iter().fold(busy, |a, b| a.saturating_add(*b));
        let beside = (sum + poll).abs_diff(100_000) < sum.abs_diff(100_000);
        Some(poll.min(busy)).filter(|_| others.is_empty() || !beside)
    }

    /// Share of time at work, polling left out, thousandths of a per cent.
    pub fn work(&self) -> Option<i64> {
        Some(self.mean("Busy%")? - self.polled().unwrap_or(0))
    }

    /// Columns of power that say nothing: zero all the time.
    pub fn not_reported(&self) -> Vec<&str> {
        let zero = |c: &&String| {
            let mut all = self.intervals.iter().filter_map(|i| i.machine.get(*c)).peekable();
            POWERED.contains(&c.as_str()) && all.peek().is_some() && all.all(|w| *w == 0)
        };
        self.columns.iter().filter(zero).map(String::as_str).collect()
    }

    /// Power of the package, by its mean, thousandths of a watt, where it was reported.
    pub fn power(&self) -> Option<i64> {
        let said = !self.not_reported().contains(&"PkgWatt");
        self.mean("PkgWatt").filter(|_| said)
    }

    /// Share of time in any package state, by its mean, thousandths of a per cent;
    /// `None` without such columns.
    pub fn package_asleep(&self) -> Option<i64> {
        let states = self.package_states();
        let sum = states.iter().filter_map(|c| self.mean(c)).fold(0i64, i64::saturating_add);
        (!states.is_empty()).then_some(sum)
    }

    /// Mean of a column of the machine, thousandths.
    pub fn mean(&self, column: &str) -> Option<i64> {
        let all: Vec<i64> =
            self.intervals.iter().filter_map(|i| i.machine.get(column).copied()).collect();
        let n = i64::try_from(all.len()).ok().filter(|n| *n > 0)?;
        Some(rounded(all.iter().fold(0, |a, b| a.saturating_add(*b)), n))
    }

    /// Sum of a column of the machine, whole.
    pub fn sum(&self, column: &str) -> Option<i64> {
        let all = self.intervals.iter().filter_map(|i| i.machine.get(column).copied());
        Some(all.reduce(i64::saturating_add)? / 1_000)
    }
}

/// `sum / n`, rounded to the nearest.
fn rounded(sum: i64, n: i64) -> i64 {
    sum.saturating_mul(2).saturating_add(n).div_euclid(n.saturating_mul(2).max(1))
}

/// Why no power is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotTold {
    /// No column of power (`PkgWatt`), or none of states.
    NoColumns,
    /// Fewer intervals than twice the unknowns.
    TooFew,
    /// The shares stay within five points, or go together.
    NoVariation,
    /// On intervals that were not fitted on, the mean of the others is better.
    NoBetterThanMean,
    /// A state would need less than nothing, or a deeper one more than a
    /// shallower one.
    Nonsense,
}

/// Power of all CPUs in one state.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// By column: watts if every CPU were always in it.
    pub watts: Vec<(String, f64)>,
    /// Root of the mean squared error on intervals that were not fitted on, W.
    pub error: f64,
    /// The same of the mean of the other intervals, W.
    pub error_of_mean: f64,
    /// Intervals.
    pub intervals: usize,
}

/// A state whose share stays within so many points tells nothing of its power:
/// what it adds would be a guess, extrapolated to 100.
const STILL: f64 = 5.0;

/// Twice the fewest unknowns: one state, and what does not change.
const FEWEST: usize = 4;

/// Power by state, by least squares over intervals: what `PkgWatt` adds for each
/// per cent of a state over the deepest. Each interval is foretold from all
/// others, and that must beat their mean.
pub fn watts(run: &Run) -> Result<Told, NotTold> {
    let mut columns: Vec<&str> = Vec::from(["Busy%"]);
    columns.extend(run.states());
    if run.states().is_empty() || run.power().is_none() {
        return Err(NotTold::NoColumns);
    }
    let polls = run.polled().is_some();
    let of = |row: &Row, c: &str| row.get(c).map(|v| *v as f64 / 1_000.0);
    let mut rows: Vec<(Vec<f64>, f64)> = Vec::new();
    for i in &run.intervals {
        let mut shares: Option<Vec<f64>> = columns.iter().map(|c| of(&i.machine, c)).collect();
        // Work without the polling that it counts.
        if let (Some(s), Some(poll)) = (&mut shares, of(&i.machine, "POLL%").filter(|_| polls)) {
            s[0] -= poll;
        }
        if let (Some(shares), Some(w)) = (shares, of(&i.machine, "PkgWatt")) {
            rows.push((shares, w));
        }
    }
    // The last state is the rest: shares add up to 100.
    let last = columns.len() - 1;
    let varies = |k: &usize| {
        let all = || rows.iter().map(|r| r.0[*k]);
        all().fold(0.0, f64::max) - all().fold(100.0, f64::min) >= STILL
    };
    let used: Vec<usize> = (0..last).filter(varies).collect();
    // Whether shares vary is only told by some intervals.
    if rows.len() < FEWEST {
        return Err(NotTold::TooFew);
    }
    if used.is_empty() {
        return Err(NotTold::NoVariation);
    }
    let design = |r: &(Vec<f64>, f64)| -> Vec<f64> {
        std::iter::once(1.0).chain(used.iter().map(|&k| r.0[k])).collect()
    };
    let table: Vec<(Vec<f64>, f64)> = rows.iter().map(|r| (design(r), r.1)).collect();
    let all: Vec<&(Vec<f64>, f64)> = table.iter().collect();
    // Shares that go together stay so, however many intervals follow.
    if table.len() > used.len() && (solve(&all).is_none() || go_together(&table)) {
        return Err(NotTold::NoVariation);
    }
    if rows.len() < 2 * (used.len() + 1) {
        return Err(NotTold::TooFew);
    }
    let (mut model, mut plain) = (0.0, 0.0);
    for out in 0..table.len() {
        let rest: Vec<&(Vec<f64>, f64)> =
            table.iter().enumerate().filter(|(i, _)| *i != out).map(|(_, r)| r).collect();
        let fit = solve(&rest).ok_or(NotTold::NoVariation)?;
        let (x, y) = &table[out];
        let told: f64 = x.iter().zip(&fit).map(|(a, b)| a * b).sum();
        let mean = rest.iter().map(|r| r.1).sum::<f64>() / rest.len() as f64;
        model += (y - told) * (y - told);
        plain += (y - mean) * (y - mean);
    }
    let n = table.len() as f64;
    if model >= plain {
        return Err(NotTold::NoBetterThanMean);
    }
    let fit = solve(&all).ok_or(NotTold::NoVariation)?;
    let mut told = Vec::new();
    for (&k, d) in used.iter().zip(&fit[1..]) {
        told.push((String::from(columns[k]), fit[0] + 100.0 * d));
    }
    told.push((String::from(columns[last]), fit[0]));
    if told.iter().any(|t| t.1 < 0.0) || told.windows(2).any(|w| w[1].1 > w[0].1) {
        return Err(NotTold::Nonsense);
    }
    let (error, error_of_mean) = (root(model / n), root(plain / n));
    Ok(Told { watts: told, error, error_of_mean, intervals: table.len() })
}

/// Largest inflation of a variance: of a column of which the others tell more than
/// nine tenths, no effect of its own can be told (Kutner, Nachtsheim, Neter and Li,
/// Applied Linear Statistical Models, 5th edition, 10.5).
const INFLATION: f64 = 10.0;

/// Whether some column of `table`, whose first is constant, follows from the others.
fn go_together(table: &[(Vec<f64>, f64)]) -> bool {
    let n = table.first().map_or(0, |r| r.0.len());
    (1..n).filter(|_| n > 2).any(|k| {
        let rows: Vec<(Vec<f64>, f64)> = table
            .iter()
            .map(|(x, _)| {
                (x.iter().enumerate().filter(|(i, _)| *i != k).map(|(_, v)| *v).collect(), x[k])
            })
            .collect();
        let mean = rows.iter().map(|r| r.1).sum::<f64>() / rows.len() as f64;
        let all: f64 = rows.iter().map(|r| (r.1 - mean) * (r.1 - mean)).sum();
        let Some(fit) = solve(&rows.iter().collect::<Vec<_>>()) else { return true };
        let left = rows.iter().map(|(x, y)| {
            let told: f64 = x.iter().zip(&fit).map(|(a, b)| a * b).sum();
            (y - told) * (y - told)
        });
        left.sum::<f64>() * INFLATION < all
    })
}

/// Square root by Newton's rule: the same on every machine.
fn root(x: f64) -> f64 {
    let mut r = if x > 1.0 { x } else { 1.0 };
    for _ in 0..64 {
        r = (r + x / r) / 2.0;
    }
    r
}

/// Least squares by the normal equations, with elimination; `None` if columns
/// depend on each other.
fn solve(rows: &[&(Vec<f64>, f64)]) -> Option<Vec<f64>> {
    let n = rows.first()?.0.len();
    let mut a = std::vec![std::vec![0.0f64; n + 1]; n];
    for (x, y) in rows.iter().map(|r| (&r.0, r.1)) {
        for i in 0..n {
            for j in 0..n {
                a[i][j] += x[i] * x[j];
            }
            a[i][n] += x[i] * y;
        }
    }
    for k in 0..n {
        let size = |i: usize| if a[i][k] < 0.0 { -a[i][k] } else { a[i][k] };
        let best = (k..n).fold(k, |m, i| if size(i) > size(m) { i } else { m });
        if size(best) < 1e-9 {
            return None;
        }
        a.swap(k, best);
        for i in (0..n).filter(|&i| i != k) {
            let f = a[i][k] / a[k][k];
            let pivot = a[k].clone();
            for (v, p) in a[i].iter_mut().zip(&pivot).skip(k) {
                *v -= f * p;
            }
        }
    }
    Some((0..n).map(|i| a[i][n] / a[i][i]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_cpu_that_stays_shallow_is_not_lost_in_a_mean() {
        let cpu = |n: i64, shallow: i64, deep: i64| -> Row {
            let cells = [("CPU", n * 1_000), ("Busy%", 400), ("C1%", shallow), ("C6%", deep)];
            cells.iter().map(|(c, v)| ((*c).into(), *v)).collect()
        };
        let of = |cpus: Vec<Row>| Run {
            columns: ["CPU", "Busy%", "C1%", "C6%"].map(String::from).to_vec(),
            intervals: Vec::from([Interval { machine: Row::new(), cpus }]),
            ..Run::default()
        };
        let run = of(Vec::from([cpu(0, 700, 98_000), cpu(1, 99_000, 0), cpu(2, 500, 97_500)]));
        let odd = run.odd().expect("CPU 1");
        let others = ("C6".into(), [0, 97_500]);
        assert_eq!((odd.cpu, odd.own, odd.others), (1, ("C1".into(), 99_000), others));
        let alike = of(Vec::from([cpu(0, 700, 98_000), cpu(1, 600, 97_000), cpu(2, 500, 97_500)]));
        assert_eq!(alike.odd(), None);
        let two = of(Vec::from([cpu(0, 99_000, 0), cpu(1, 99_000, 0), cpu(2, 500, 97_500)]));
        assert_eq!(two.odd(), None, "two are no odd one");
        // A CPU that works all the time is reason enough, whatever the others did.
        let mut busy = of(Vec::from([cpu(0, 700, 98_000), cpu(7, 0, 0)]));
        assert!(!matches!(busy.kept_up(), KeptUp::Busy(..)));
        busy.intervals[0].cpus[1].insert("Busy%".into(), 99_800);
        assert_eq!(busy.kept_up(), KeptUp::Busy(7, 99_800));
    }

    #[test]
    fn a_package_that_stands_in_a_shallow_state_is_told_from_one_that_works() {
        let names = ["Busy%", "CPU%c6", "Pkg%pc2", "Pkg%pc3", "Pkg%pc6"];
        let of = |cells: [i64; 5]| Run {
            columns: names.map(String::from).to_vec(),
            intervals: Vec::from([Interval {
                machine: names.iter().zip(cells).map(|(c, v)| ((*c).into(), v)).collect(),
                cpus: Vec::new(),
            }]),
            ..Run::default()
        };
        let stuck = of([1_200, 95_600, 61_400, 0, 0]);
        assert_eq!(stuck.stuck_at(), Some(("Pkg%pc2", 61_400, 2)));
        for other in [
            [1_200, 95_600, 30_000, 0, 50_000],
            [1_200, 20_000, 61_400, 0, 0],
            [40_000, 55_000, 61_400, 0, 0],
            [1_200, 95_600, 30_000, 0, 0],
        ] {
            assert_eq!(of(other).stuck_at(), None, "{other:?}");
        }
    }
}
