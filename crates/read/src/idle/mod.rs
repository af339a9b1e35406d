//! CPU idle states: snapshots of tables and counters, and traces of sleeps.
//!
//! | file | reads |
//! |---|---|
//! | `absent` | answers that there are no states |
//! | `corefreq` | CoreFreq's table of states |
//! | `between` | what stands between lines of tables: words part measurements |
//! | `causes` | what woke CPUs and what they did for it: timers, interrupts, task switches |
//! | `column` | columns of turbostat's tables, and cells |
//! | `decisions` | what a governor was told and decided, from function probes |
//! | `files` | single files of /proc and /sys, for the check of real-time settings |
//! | `fio` | what fio measured of a disk, by size of a read |
//! | `labelled` | tables of turbostat with bars, whose first column names the measurement |
//! | `late` | how late wake-ups came, by tests: cyclictest, `rtla timerlat` |
//! | `monitor` | tables of `cpupower monitor` |
//! | `powertop` | the screen of powertop 1.x |
//! | `powerstats` | the table of idle states of powertop 2.x |
//! | `sysfs` | `grep -r . /sys/devices/system/cpu/cpu*/cpuidle` in its dresses, and bare values |
//! | `table` | `cpupower idle-info`, and tables with a line for each state |
//! | `turbostat` | tables of turbostat |
//! | `trace` | ftrace text, `trace.dat` and Perfetto: `cpu_idle`, `cpu_idle_miss`, what woke the CPU |
//!
//! Snapshots are read before traces, because a trace says no target residencies:
//! with a snapshot of the machine beside it the choice of each state can be
//! judged. A trace that is the only input is read in its place.

mod absent;
mod between;
mod causes;
pub(crate) mod column;
mod corefreq;
mod decisions;
pub mod files;
pub mod fio;
mod labelled;
mod late;
mod monitor;
mod powerstats;
mod powertop;
mod sysfs;
mod table;
mod timerlat;
mod trace;
mod turbostat;

use crate::container::Source;
use crate::detect::Format;
use crate::ftrace::Beside;
use crate::grams::Asked;
use crate::part::Part;
use crate::text::lossy;
use dormouse_base::loss::{Losses, Severity};
use dormouse_capture::schema::CaptureFile;
use dormouse_idle::absent::Absent;
use dormouse_idle::late::Test;
use dormouse_idle::limit::CpuLimit;
use dormouse_idle::named::{keeps_shallow, settings};
use dormouse_idle::snapshot::Snapshot;
use dormouse_idle::state::{ONLY_S2IDLE, State, StateSet, Table};
use dormouse_idle::tally::Sleeps;
use dormouse_idle::turbostat::Run;
use std::borrow::Cow;
use std::collections::BTreeMap;
pub(crate) use table::MOST_STATES;
pub use trace::Keep;

/// What inputs say of idle states.
#[derive(Clone, Debug, Default)]
pub struct IdleReading {
    /// Every snapshot, in order of the inputs.
    pub snapshots: Vec<Snapshot>,
    /// Every run of turbostat, in order of the inputs.
    pub runs: Vec<Run>,
    /// Tests of how late wake-ups come, in order of the inputs.
    pub late: Vec<Test>,
    /// Every trace with idle events, in order of the inputs.
    pub traces: Vec<Sleeps>,
    /// The kernel that a recording of dormouse is of.
    pub release: Option<String>,
    /// Answers that there are no idle states, in order of the inputs.
    pub absent: Vec<Absent>,
    /// Lines of texts that name what may keep CPUs from deeper states.
    pub limits: Vec<(u64, String)>,
    /// Latencies that CPUs are allowed at most.
    pub latencies: Vec<CpuLimit>,
    /// What could not be read, and what to do about it.
    pub losses: Losses,
    keep: Keep,
    /// Copied trees of sysfs, as text, by the folder or archive that they are in.
    trees: BTreeMap<String, String>,
}

/// What is to be done with the traces of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Traces {
    /// It has none.
    None,
    /// They are read now: every table is known.
    Now,
    /// They wait for the tables of other inputs.
    Later,
}

/// Table and disabled states by CPU.
pub(crate) type Tables = BTreeMap<u32, (Table, StateSet)>;

/// Reads bytes that are in memory and shown as `name`: one snapshot text or one
/// trace, unpacked.
pub fn read_bytes(name: &str, bytes: &[u8]) -> IdleReading {
    let mut out = IdleReading::default();
    let part = Part::of(Source { name, group: "", bytes, damage: None });
    if out.add(&part, true) == Traces::Now {
        if part.format == Format::Ftrace {
            out.beside(&part, &Beside::of(bytes));
        }
        out.traces_of(&part);
    }
    out
}

/// The tables that each snapshot says.
fn each(snapshots: &[Snapshot]) -> Vec<Tables> {
    let tables = snapshots.iter().map(|s| tables(std::slice::from_ref(s)));
    tables.filter(|t| !t.is_empty()).collect()
}

/// Whether two snapshots can be of one machine: no CPU has two tables.
fn agree(a: &Tables, b: &Tables) -> bool {
    a.iter().all(|(cpu, (table, _))| b.get(cpu).is_none_or(|other| other.0 == *table))
}

/// Whether tables can be those of a trace: some of its CPUs are in them, with all of
/// their states.
fn fits(tables: &Tables, traces: &[Sleeps]) -> bool {
    let cpus = || traces.iter().flat_map(|t| &t.tally.cpus);
    let any = tables.is_empty() || cpus().next().is_none();
    (any || cpus().any(|(cpu, _)| tables.contains_key(cpu)))
        && cpus().all(|(cpu, c)| {
            let last = c.states.keys().next_back().map_or(0, |s| *s as usize);
            tables.get(cpu).is_none_or(|(table, _)| last < table.states().len())
        })
}

/// Tables of one machine together; of each CPU what the last snapshot says.
fn together(of: &[&Tables]) -> Option<Tables> {
    let first = of.first()?;
    let one = of.iter().enumerate().all(|(i, a)| of[i + 1..].iter().all(|b| agree(a, b)));
    let mut out = (*first).clone();
    of[1..].iter().for_each(|t| out.extend(t.iter().map(|(cpu, t)| (*cpu, t.clone()))));
    one.then_some(out)
}

/// Table and disabled states of each CPU whose figures are all known, by the
/// last snapshot that says them.
pub fn tables(snapshots: &[Snapshot]) -> BTreeMap<u32, (Table, StateSet)> {
    let mut out = BTreeMap::new();
    for (&cpu, seen) in snapshots.iter().filter(|s| s.sum_of == 0).flat_map(|s| &s.cpus) {
        let mut disabled = StateSet::NONE;
        let mut states = Vec::new();
        for (at, (&i, s)) in seen.iter().enumerate() {
            let (Some(latency), Some(residency)) = (s.latency, s.residency) else { break };
            if at as u32 != i {
                break;
            }
            if s.disabled == Some(true) || residency >= ONLY_S2IDLE {
                disabled = disabled.with(at);
            }
            let name = s.name.clone().unwrap_or_default();
            let polls = name == "POLL" || name == "snooze";
            let ns = |us: u64| i64::try_from(us.saturating_mul(1_000)).unwrap_or(i64::MAX);
            states.push(State {
                name,
                latency: ns(latency),
                residency: ns(residency),
                polls,
                stops_timer: false,
            });
        }
        if states.len() == seen.len()
            && let Ok(table) = Table::new(states)
        {
            out.insert(cpu, (table, disabled));
        }
    }
    out
}

impl IdleReading {
    pub(crate) fn keeping(keep: Keep) -> IdleReading {
        IdleReading { keep, ..IdleReading::default() }
    }

    /// Whether something of it was read: states, counters, shares or sleeps.
    pub fn speaks(&self) -> bool {
        !self.traces.is_empty() || self.speaks_besides_traces()
    }

    /// The same without sleeps of traces.
    pub fn speaks_besides_traces(&self) -> bool {
        let tables = self.snapshots.is_empty() && self.runs.is_empty() && self.late.is_empty();
        !tables || !self.absent.is_empty() || !self.latencies.is_empty()
    }

    /// Reads what `part` says of states, but for what stands beside its trace; what is to be
    /// done with its traces.
    pub(crate) fn add(&mut self, part: &Part<'_>, alone: bool) -> Traces {
        let source = &part.source;
        if let Some(damage) = &source.damage {
            self.losses.add("damaged_input", 1, Severity::Error, damage.to_string(), None);
        }
        match &part.taken {
            Some(Ok((file, losses))) => {
                self.losses.merge(losses.clone());
                self.recorded(source.name, file);
            }
            Some(Err(e)) => {
                self.losses.add("damaged_input", 1, Severity::Error, e.to_string(), None);
                return Traces::None;
            }
            None if !source.group.is_empty() && self.in_tree(source) => return Traces::None,
            None if !is_trace(part) => {
                self.snapshot(source.name, &part.asked);
                return Traces::None;
            }
            None if part.format == Format::KernelLog => _ = self.beside(part, source.bytes),
            None => {}
        }
        match alone {
            true => Traces::Now,
            false => Traces::Later,
        }
    }

    /// Reads what `text`, which stands beside the trace of `part`, says of states; whether it
    /// does. A mail may hold a trace and the states of its CPUs.
    pub(crate) fn beside(&mut self, part: &Part<'_>, text: &[u8]) -> bool {
        let states = has_states(text);
        if states {
            self.snapshot(part.source.name, &Asked::of(text));
        }
        states
    }

    /// The tables by which the trace of `part` is judged, if it can be read beside other
    /// subjects, in one pass; else [`IdleReading::traces_of`] reads it.
    pub(crate) fn tables_beside(&self, part: &Part<'_>) -> Option<Tables> {
        if part.taken.is_some() || !part.format.is_binary() && !trace::is_plain(part.source.bytes) {
            return None;
        }
        let all = each(&self.snapshots);
        if all.is_empty() { Some(Tables::new()) } else { together(&all.iter().collect::<Vec<_>>()) }
    }

    /// Counts the sleeps of `part`, with the tables of [`IdleReading::tables_beside`].
    pub(crate) fn sink<'a>(&self, part: &'a Part<'_>, tables: &'a Tables) -> trace::Sink<'a> {
        trace::Sink::of(part.source.name, part.source.bytes, tables, self.keep)
    }

    /// Takes what [`IdleReading::sink`] counted.
    pub(crate) fn take(
        &mut self,
        part: &Part<'_>,
        (tables, sink): (&Tables, trace::Sink<'_>),
        mut losses: Losses,
    ) {
        let traces = sink.end(&mut losses);
        match fits(tables, &traces) {
            true => self.counted(traces, losses),
            false => self.traces_of(part),
        }
    }

    fn counted(&mut self, traces: Vec<Sleeps>, losses: Losses) {
        self.losses.merge(losses);
        if traces.iter().all(|t| t.tally.sleeps() == 0) {
            let advice = "a trace without idle events: record the event power:cpu_idle \
                          (dormouse record --with idle --for 10s); a machine without \
                          /sys/devices/system/cpu/cpu0/cpuidle, as most virtual ones, has none";
            self.losses.add("no_idle_data", 1, Severity::Warning, advice, None);
        }
        self.traces.extend(traces);
    }

    /// Reads the traces of `part`, with the tables that are known by now.
    pub(crate) fn traces_of(&mut self, part: &Part<'_>) {
        let name = part.source.name;
        let tables = each(&self.snapshots);
        let Some(file) = part.file() else { return self.trace(name, part.source.bytes, &tables) };
        // What it says of its machine itself is of its machine.
        let mut own = Vec::new();
        for text in file.cycles.iter().flat_map(|c| &c.idle).filter(|t| !t.is_empty()) {
            let text = String::from_utf8_lossy(text);
            sysfs::parse(name, &text, &mut own, &mut Losses::default());
        }
        let own = each(&own);
        let tables = if own.is_empty() { &tables } else { &own };
        for cycle in &file.cycles {
            self.trace(name, &cycle.trace, tables);
        }
    }

    /// Takes a file of a copied tree of sysfs, which is one value; whether it is one.
    fn in_tree(&mut self, source: &Source<'_>) -> bool {
        let Some((tree, path)) = source.name.rsplit_once("/devices/system/cpu/") else {
            return false;
        };
        if !path.contains("/cpuidle/") || !sysfs::names_attribute(path) {
            return false;
        }
        let value = String::from_utf8_lossy(source.bytes);
        let line = format!("/sys/devices/system/cpu/{path}:{}\n", value.trim_end());
        let tree = tree.strip_suffix("sys").unwrap_or(tree).trim_end_matches(['/', ':']);
        *self.trees.entry(tree.to_string()).or_default() += &line;
        true
    }

    /// Reads copied trees of sysfs.
    pub(crate) fn in_trees(&mut self) {
        for (name, tree) in std::mem::take(&mut self.trees) {
            sysfs::parse(&name, &tree, &mut self.snapshots, &mut self.losses);
        }
    }

    fn snapshot(&mut self, name: &str, asked: &Asked<'_>) {
        let readable = lossy(asked.bytes());
        let text = without_rules(&readable);
        let changed = text.as_ptr() != asked.bytes().as_ptr();
        let other = changed.then(|| Asked::of(text.as_bytes()));
        let asked = other.as_ref().unwrap_or(asked);
        let before = self.snapshots.len();
        let absent = absent::read(name, &text, asked);
        let told = !absent.is_empty();
        self.absent.extend(absent);
        if sysfs::is_sysfs(&text) {
            sysfs::parse(name, &text, &mut self.snapshots, &mut self.losses);
        } else if sysfs::is_bare(&text) {
            sysfs::bare(name, &text, &mut self.snapshots, &mut self.losses);
        }
        // A mail may hold a dump and a table.
        if table::is_idle_info(&text, asked) {
            table::idle_info(name, &text, &mut self.snapshots, &mut self.losses);
        } else if table::is_posted(&text, asked) {
            table::posted(name, &text, &mut self.snapshots, &mut self.losses);
        } else if corefreq::is_corefreq(&text, asked) {
            corefreq::read(name, &text, &mut self.snapshots, &mut self.losses);
        } else if table::is_csv(&text) {
            table::csv(&text, &mut self.snapshots, &mut self.losses);
        }
        let runs = self.runs.len();
        if monitor::is_monitor(&text, asked) {
            monitor::read(name, &text, &mut self.runs, &mut self.losses);
        }
        if turbostat::is_turbostat(&text, asked) {
            turbostat::read(name, &text, &mut self.runs, &mut self.losses);
        }
        if powertop::is_powertop(&text, asked) {
            powertop::read(name, &text, &mut self.runs, &mut self.losses);
        }
        if powerstats::is_table(asked) {
            powerstats::read(name, &text, &mut self.runs);
        }
        by_machine(&mut self.runs[runs..]);
        let tests = self.late.len();
        if late::is_late(asked) {
            late::read(name, &readable, &mut self.late, &mut self.losses);
        }
        // Rows with labels have lines of their own in the other text.
        let latencies = latencies(&readable);
        let told = told || !latencies.is_empty();
        self.latencies.extend(latencies);
        // Only of tables that measure shares it is asked what they lack.
        if self.runs.len() > runs {
            self.limits.extend(limits(&readable));
        }
        let none = self.snapshots.len() == before && self.runs.len() == runs;
        if none && self.late.len() == tests && !told {
            let advice = format!(
                "{name} holds nothing about idle states that is known here; known are dumps of \
                 /sys/devices/system/cpu/cpu*/cpuidle (grep -r .), cpupower idle-info, tables of turbostat, screens of powertop 1.x, rows of cyclictest, and traces \
                 with the event cpu_idle"
            );
            self.losses.add("no_idle_data", 1, Severity::Warning, advice, None);
        }
    }

    /// Reads traces; of `tables`, which each snapshot said, with those that can be of
    /// their machine.
    fn trace(&mut self, name: &str, bytes: &[u8], tables: &[Tables]) {
        let all: Vec<&Tables> = tables.iter().collect();
        let read =
            |with: &Tables, losses: &mut Losses| trace::read(name, bytes, with, self.keep, losses);
        let none = Tables::new();
        let mut losses = Losses::default();
        let one = together(&all);
        let mut traces = read(one.as_ref().unwrap_or(&none), &mut losses);
        let known = match &one {
            Some(tables) => fits(tables, &traces),
            // Several machines: those of which it can be, by its CPUs and states.
            None if !all.is_empty() => {
                let cpus = |t: &Tables| {
                    let seen = traces.iter().flat_map(|t| t.tally.cpus.keys());
                    let mut seen: Vec<u32> = seen.copied().collect();
                    seen.sort_unstable();
                    seen.dedup();
                    t.keys().copied().eq(seen)
                };
                let can = all.iter().copied().filter(|t| cpus(t) && fits(t, &traces));
                let of = together(&can.collect::<Vec<_>>());
                if let Some(of) = &of {
                    losses = Losses::default();
                    traces = read(of, &mut losses);
                }
                of.is_some()
            }
            None => true,
        };
        if !known {
            if one.is_some() {
                losses = Losses::default();
                traces = read(&none, &mut losses);
            }
            let file = name.rsplit('/').next().unwrap_or(name);
            let advice = format!(
                "the tables of states here are of other machines than {file}, or nothing says \
                 which is of its machine, so its sleeps are not judged: give the trace and a dump \
                 of its machine alone"
            );
            losses.add("tables_of_other_machines", 1, Severity::Warning, advice, None);
        }
        self.counted(traces, losses);
    }

    /// What sysfs said in a recording of dormouse.
    fn recorded(&mut self, name: &str, file: &CaptureFile) {
        let release = file.document.kernel.release.clone();
        self.release = Some(release).filter(|r| !r.is_empty()).or(self.release.take());
        for cycle in &file.cycles {
            for (when, text) in ["before", "after"].iter().zip(&cycle.idle) {
                if !text.is_empty() {
                    let text = String::from_utf8_lossy(text);
                    let name = format!("{name} {when}");
                    sysfs::parse(&name, &text, &mut self.snapshots, &mut self.losses);
                }
            }
        }
    }
}

/// Where prompts name several machines, tables are called by them.
fn by_machine(runs: &mut [Run]) {
    let hosts: Vec<String> = runs.iter().filter_map(|r| r.host.clone()).collect();
    if hosts.iter().all(|h| *h == hosts[0]) {
        return;
    }
    for r in runs.iter_mut() {
        let Some(host) = &r.host else { continue };
        let several = hosts.iter().filter(|h| *h == host).count() > 1;
        r.caption = Some(match r.caption.take().filter(|_| several) {
            Some(words) => format!("{host}, {words}"),
            None => host.clone(),
        });
    }
}

/// A table that a page drew with bars, as its program printed it.
fn without_rules(text: &str) -> Cow<'_, str> {
    let drawn = |l: &str| {
        let l = l.trim();
        l.len() > 4 && l.starts_with('|') && l.ends_with('|') && !l.contains("||")
    };
    if !text.contains("\n|") || !text.lines().any(drawn) {
        return Cow::Borrowed(text);
    }
    let text = labelled::apart(text);
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        let rule = drawn(line) && line.bytes().all(|b| b" |:-\t".contains(&b));
        match (drawn(line), rule) {
            // The line stays, so that others keep their numbers.
            (_, true) => {}
            (true, _) => out += line.replace('|', " ").trim(),
            _ => out += line,
        }
        out.push('\n');
    }
    Cow::Owned(out)
}

/// Words of what keeps CPUs out of deep states, in lower case.
const LIMITS: [&str; 9] = [
    "cpu_dma_latency",
    "max_cstate=",
    "idle=poll",
    "idle=halt",
    "idle=nomwait",
    "cpuidle.off=1",
    "force_latency",
    "latency-performance",
    "nohlt",
];

/// Lines that name such a limit, or a latency that somebody asks for (`idle QoS … 100us`).
fn limits(text: &str) -> Vec<(u64, String)> {
    let asked = |words: &str| {
        let us = |at: usize| words[..at].trim_end().ends_with(|c: char| c.is_ascii_digit());
        words.contains("qos") && words.match_indices("us").any(|(at, _)| us(at))
    };
    let names = |line: &str| {
        let words = line.to_ascii_lowercase();
        LIMITS.iter().any(|w| words.contains(w)) || asked(&words)
    };
    let lines = (1..).zip(text.lines().map(|l| between::plain(l).trim()));
    let named = lines.filter(|(_, l)| names(l)).filter_map(|(at, l)| {
        if l.len() <= 200 {
            return Some((at, l.to_owned()));
        }
        // Of a long command line the setting alone.
        let one = settings(l).into_iter().find(|(s, on)| *on && keeps_shallow(s))?;
        Some((at, format!("… {} …", one.0)))
    });
    named.take(3).collect()
}

/// What `pm_qos_resume_latency_us` of CPUs says: `…/cpu2/power/pm_qos_resume_latency_us:5`, or
/// what `cat` of one of these files, or of all of them (`cpu*`), prints below.
fn latencies(text: &str) -> Vec<CpuLimit> {
    const FILE: &str = "/power/pm_qos_resume_latency_us";
    if !text.contains(FILE) {
        return Vec::new();
    }
    let mut out = Vec::new();
    let mut lines = (1..).zip(text.lines().map(|l| between::plain(l).trim())).peekable();
    while let Some((at, line)) = lines.next() {
        let Some((path, rest)) = line.split_once(FILE) else { continue };
        let name = path.rsplit('/').next().unwrap_or("");
        let number = name.strip_prefix("cpu").and_then(|n| n.parse().ok());
        if let (Some(cpu), Some(value)) = (number, rest.strip_prefix(':')) {
            out.extend(CpuLimit::of(at, cpu, value.trim()));
            continue;
        }
        let all = matches!(name, "cpu*" | "cpu[0-9]*");
        let cat = path.contains("cat /sys/") && rest.trim_matches(['`', ' ']).is_empty();
        if !cat || number.is_none() && !all {
            continue;
        }
        let is = |l: &str| l == "n/a" || !l.is_empty() && l.bytes().all(|b| b.is_ascii_digit());
        let most = if all { MOST_LIMITS } else { 1 };
        let mut values = Vec::new();
        while values.len() < most
            && let Some(value) = lines.next_if(|(_, l)| is(l))
        {
            values.push(value);
        }
        let cpus = number.map_or_else(|| by_name(values.len()), |cpu| vec![cpu]);
        let each = cpus.into_iter().zip(values);
        out.extend(each.filter_map(|(cpu, (at, value))| CpuLimit::of(at, cpu, value)));
    }
    out.truncate(MOST_LIMITS);
    out
}

/// So many CPUs in the order in which a shell lists their folders: 0, 1, 10, 11, 2.
fn by_name(n: usize) -> Vec<u32> {
    let mut all: Vec<u32> = (0..).take(n).collect();
    all.sort_by_key(|cpu| cpu.to_string());
    all
}

/// So many CPUs with a limit are kept.
const MOST_LIMITS: usize = 1_024;

/// Whether a text says states or tables too; traces are long and mostly do not.
fn has_states(bytes: &[u8]) -> bool {
    [
        &b"/latency"[..],
        b"/residency",
        b"/usage",
        b"Flags/Description:",
        b"Busy%",
        b"CPU%c",
        b"No idle states",
    ]
    .iter()
    .any(|w| memchr::memmem::find(bytes, w).is_some())
}

/// Whether an input may hold sleeps of CPUs.
fn is_trace(part: &Part<'_>) -> bool {
    let bytes = part.source.bytes;
    match part.format {
        Format::TraceDat | Format::Perfetto => true,
        Format::CaptureFile | Format::Blktrace | Format::DeviceTree => false,
        Format::Ftrace | Format::KernelLog | Format::Unknown => {
            memchr::memmem::find(&bytes[..bytes.len().min(64 << 10)], b"# tracer:").is_some()
                || memchr::memmem::find(bytes, b"cpu_idle: ").is_some()
        }
    }
}
