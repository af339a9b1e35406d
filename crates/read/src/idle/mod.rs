//! CPU idle states: snapshots of tables and counters, and traces of sleeps.
//!
//! | file | reads |
//! |---|---|
//! | `corefreq` | CoreFreq's table of states |
//! | `between` | what stands between lines of tables: words part measurements |
//! | `causes` | what woke CPUs and what they did for it: timers, interrupts, task switches |
//! | `column` | columns of turbostat's tables, and cells |
//! | `decisions` | what a governor was told and decided, from function probes |
//! | `files` | single files of /proc and /sys, for the check of real-time settings |
//! | `fio` | what fio measured of a disk, by size of a read |
//! | `monitor` | tables of `cpupower monitor` |
//! | `sysfs` | `grep -r . /sys/devices/system/cpu/cpu*/cpuidle` in its dresses, and bare values |
//! | `table` | `cpupower idle-info`, and tables with a line for each state |
//! | `turbostat` | tables of turbostat |
//! | `trace` | ftrace text, `trace.dat` and Perfetto: `cpu_idle`, `cpu_idle_miss`, what woke the CPU |
//!
//! Snapshots are read before traces, because a trace says no target residencies:
//! with a snapshot of the machine beside it the choice of each state can be
//! judged. Only a trace on standard input is read in its place.

mod between;
mod causes;
mod column;
mod corefreq;
mod decisions;
pub mod files;
pub mod fio;
mod monitor;
mod sysfs;
mod table;
mod trace;
mod turbostat;

use crate::capture_file::{self, container::is_capture_tar};
use crate::container::{self, Source};
use crate::{Input, Options, ReadError};
use dormouse_base::loss::{Losses, Severity};
use dormouse_idle::snapshot::Snapshot;
use dormouse_idle::state::{ONLY_S2IDLE, State, StateSet, Table};
use dormouse_idle::tally::Sleeps;
use dormouse_idle::turbostat::Run;
use std::collections::BTreeMap;

/// What inputs say of idle states.
#[derive(Clone, Debug, Default)]
pub struct IdleReading {
    /// Every snapshot, in order of the inputs.
    pub snapshots: Vec<Snapshot>,
    /// Every run of turbostat, in order of the inputs.
    pub runs: Vec<Run>,
    /// Every trace with idle events, in order of the inputs.
    pub traces: Vec<Sleeps>,
    /// The kernel that a recording of dormouse is of.
    pub release: Option<String>,
    /// What could not be read, and what to do about it.
    pub losses: Losses,
    keep: Keep,
}

/// What is kept of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// Counts: memory does not grow with the trace.
    #[default]
    Counts,
    /// Every sleep too.
    Episodes,
}

/// Table and disabled states by CPU.
type Tables = BTreeMap<u32, (Table, StateSet)>;

/// Reads `inputs`.
///
/// # Errors
/// If an input named by the caller cannot be read or unpacked.
pub fn read(inputs: &[Input], options: &Options, keep: Keep) -> Result<IdleReading, ReadError> {
    let mut out = IdleReading { keep, ..IdleReading::default() };
    let mut traces = false;
    for input in inputs {
        container::for_each(input, &options.limits, &mut |source| {
            out.damage(&source);
            if is_capture_tar(source.bytes) {
                out.capture(&source, &[], false);
                if *input == Input::Stdin {
                    let tables = each(&out.snapshots);
                    out.capture(&source, &tables, true);
                } else {
                    traces = true;
                }
            } else if container::is_tar(source.bytes) {
                traces |= out.archive(&source, false);
            } else if is_trace(source.bytes) {
                // A mail may hold a trace and the states of its CPUs.
                if has_states(source.bytes) {
                    out.snapshot(source.name, source.bytes);
                }
                // Standard input comes once, so what follows it is not known.
                if *input == Input::Stdin {
                    let tables = each(&out.snapshots);
                    out.trace(source.name, source.bytes, &tables);
                } else {
                    traces = true;
                }
            } else {
                out.snapshot(source.name, source.bytes);
            }
        })?;
    }
    if traces {
        let tables = each(&out.snapshots);
        for input in inputs.iter().filter(|i| **i != Input::Stdin) {
            container::for_each(input, &options.limits, &mut |source| {
                if is_capture_tar(source.bytes) {
                    out.capture(&source, &tables, true);
                } else if is_trace(source.bytes) {
                    out.trace(source.name, source.bytes, &tables);
                }
            })?;
        }
    }
    Ok(out)
}

/// Reads bytes that are in memory and shown as `name`: one snapshot text or one
/// trace, unpacked.
pub fn read_bytes(name: &str, bytes: &[u8]) -> IdleReading {
    let mut out = IdleReading::default();
    if container::is_tar(bytes) {
        out.archive(&Source { name, group: "", bytes, damage: None }, true);
    } else if is_trace(bytes) {
        if has_states(bytes) {
            out.snapshot(name, bytes);
        }
        let tables = each(&out.snapshots);
        out.trace(name, bytes, &tables);
    } else {
        out.snapshot(name, bytes);
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
    fn damage(&mut self, source: &Source<'_>) {
        if let Some(damage) = &source.damage {
            self.losses.add("damaged_input", 1, Severity::Error, damage.to_string(), None);
        }
    }

    fn snapshot(&mut self, name: &str, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        let before = self.snapshots.len();
        if sysfs::is_sysfs(&text) {
            sysfs::parse(name, &text, &mut self.snapshots, &mut self.losses);
        } else if sysfs::is_bare(&text) {
            sysfs::bare(name, &text, &mut self.snapshots, &mut self.losses);
        }
        // A mail may hold a dump and a table.
        if table::is_idle_info(&text) {
            table::idle_info(name, &text, &mut self.snapshots, &mut self.losses);
        } else if table::is_posted(&text) {
            table::posted(name, &text, &mut self.snapshots, &mut self.losses);
        } else if corefreq::is_corefreq(&text) {
            corefreq::read(name, &text, &mut self.snapshots, &mut self.losses);
        } else if table::is_csv(&text) {
            table::csv(&text, &mut self.snapshots, &mut self.losses);
        }
        let runs = self.runs.len();
        if monitor::is_monitor(&text) {
            monitor::read(name, &text, &mut self.runs, &mut self.losses);
        }
        if turbostat::is_turbostat(&text) {
            turbostat::read(name, &text, &mut self.runs, &mut self.losses);
        }
        if self.snapshots.len() == before && self.runs.len() == runs {
            let advice = format!(
                "{name} holds nothing about idle states that is known here; known are dumps of \
                 /sys/devices/system/cpu/cpu*/cpuidle (grep -r .), cpupower idle-info, tables of turbostat, and traces \
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
        self.losses.merge(losses);
        if traces.iter().all(|t| t.tally.sleeps() == 0) {
            let advice = "a trace without idle events: record it with the event power:cpu_idle";
            self.losses.add("no_idle_data", 1, Severity::Warning, advice, None);
        }
        self.traces.extend(traces);
    }

    /// Reads a recording of dormouse: what sysfs said, or its traces.
    fn capture(&mut self, source: &Source<'_>, tables: &[Tables], traces: bool) {
        let (file, losses) = match capture_file::read(source.bytes) {
            Ok(read) => read,
            Err(e) => {
                self.losses.add("damaged_input", 1, Severity::Error, e.to_string(), None);
                return;
            }
        };
        if traces {
            // What it says of its machine itself is of its machine.
            let mut own = Vec::new();
            for text in file.cycles.iter().flat_map(|c| &c.idle).filter(|t| !t.is_empty()) {
                let text = String::from_utf8_lossy(text);
                sysfs::parse(source.name, &text, &mut own, &mut Losses::default());
            }
            let own = each(&own);
            let tables = if own.is_empty() { tables } else { &own };
            for cycle in &file.cycles {
                self.trace(source.name, &cycle.trace, tables);
            }
            return;
        }
        self.losses.merge(losses);
        let release = file.document.kernel.release.clone();
        self.release = Some(release).filter(|r| !r.is_empty()).or(self.release.take());
        for cycle in &file.cycles {
            for (when, text) in ["before", "after"].iter().zip(&cycle.idle) {
                if !text.is_empty() {
                    let text = String::from_utf8_lossy(text);
                    let name = format!("{} {when}", source.name);
                    sysfs::parse(&name, &text, &mut self.snapshots, &mut self.losses);
                }
            }
        }
    }

    /// Reads the members of a tar; whether one of them is a trace.
    fn archive(&mut self, source: &Source<'_>, with_traces: bool) -> bool {
        let mut found = false;
        let mut tree = String::new();
        let mut archive = tar::Archive::new(source.bytes);
        let Ok(entries) = archive.entries() else { return false };
        for entry in entries {
            let Ok(mut entry) = entry else {
                let advice = "a tar archive that ends early: copy it again";
                self.losses.add("damaged_input", 1, Severity::Error, advice, None);
                break;
            };
            if !entry.header().entry_type().is_file() {
                continue;
            }
            let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            let mut bytes = Vec::new();
            // A member is never longer than its archive.
            let mut room = std::io::Read::take(&mut entry, source.bytes.len() as u64);
            if std::io::Read::read_to_end(&mut room, &mut bytes).is_err() {
                continue;
            }
            let name = format!("{}:{path}", source.name);
            if path.contains("/cpuidle/") && sysfs::names_attribute(&path) {
                // A copied tree: one file is one value.
                let value = String::from_utf8_lossy(&bytes);
                tree += &format!("{path}:{}\n", value.trim_end());
            } else if is_trace(&bytes) {
                found = true;
                if with_traces {
                    self.trace(&name, &bytes, &[]);
                } else {
                    let advice = "a trace inside a tar archive is not read here: unpack it first";
                    self.losses.add("trace_in_tar", 1, Severity::Warning, advice, None);
                }
            } else {
                self.snapshot(&name, &bytes);
            }
        }
        if !tree.is_empty() {
            sysfs::parse(source.name, &tree, &mut self.snapshots, &mut self.losses);
        }
        found
    }
}

/// Whether a text says states or tables too; traces are long and mostly do not.
fn has_states(bytes: &[u8]) -> bool {
    let binary = crate::tracedat::is_trace_dat(bytes)
        || crate::perfetto::is_perfetto(&bytes[..bytes.len().min(64 << 10)]);
    let any = |words: &[&[u8]]| words.iter().any(|w| memchr::memmem::find(bytes, w).is_some());
    !binary
        && any(&[b"/latency", b"/residency", b"/usage", b"Flags/Description:", b"Busy%", b"CPU%c"])
}

fn is_trace(bytes: &[u8]) -> bool {
    crate::tracedat::is_trace_dat(bytes)
        || crate::perfetto::is_perfetto(&bytes[..bytes.len().min(64 << 10)])
        || memchr::memmem::find(bytes, b"cpu_idle: ").is_some()
        || memchr::memmem::find(&bytes[..bytes.len().min(64 << 10)], b"# tracer:").is_some()
}
