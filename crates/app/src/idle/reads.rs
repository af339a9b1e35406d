//! What idle states cost reads of a disk.

use super::machine::Present;
use crate::failure::{Nothing, Usage};
use anyhow::Result;
use dormouse_base::loss::Losses;
use dormouse_idle::governors::{Kind, Version};
use dormouse_idle::reads::{Cell, Line, Rules, Waited, exit_that_loses, line, waited};
use dormouse_idle::state::Table;
use dormouse_read::Given;
use dormouse_read::idle::{Keep, fio, tables};
use std::path::{Path, PathBuf};

/// What is asked.
#[derive(Clone, Debug)]
pub struct Wait {
    /// What fio measured with shallow states alone.
    pub fio: PathBuf,
    /// Dumps of the machine's idle states.
    pub states: Vec<PathBuf>,
    /// The state that the CPU waited in then; the first that does not poll if absent.
    pub shallow: Option<String>,
    /// How states are chosen now.
    pub present: Present,
    /// States that may not be entered, by name.
    pub disable: Vec<String>,
    /// Largest exit latency allowed, ns.
    pub limit: i64,
    /// The device's interrupt is a timer of the CPU.
    pub foreseen: bool,
    /// What fio measured with all states, to compare.
    pub measured: Option<PathBuf>,
    /// Reads of so many bytes lose so many thousandths, as someone saw elsewhere.
    pub seen: Option<(u64, i64)>,
}

/// Reads of one size.
#[derive(Clone, Debug)]
pub struct Row {
    /// As measured with shallow states.
    pub cell: Cell,
    /// The device's part of it, ns.
    pub wait: i64,
    /// What the CPU does meanwhile.
    pub waited: Waited,
    /// How long a read takes then, ns.
    pub read: i64,
    /// As measured with all states, ns.
    pub measured: Option<i64>,
}

/// What is foretold.
#[derive(Clone, Debug)]
pub struct Reads {
    /// Sizes, the smallest first.
    pub rows: Vec<Row>,
    /// The states.
    pub table: Table,
    /// The one that the CPU waited in when it was measured.
    pub shallow: usize,
    /// The governor that chooses.
    pub governor: (Kind, Version),
    /// Work of the CPU by size, and the wait for the device.
    pub lines: [Option<Line>; 2],
    /// With [`Wait::seen`]: size, thousandths, and how much longer an exit takes
    /// that costs so much, ns.
    pub seen: Option<(u64, i64, i64)>,
    /// What could not be read.
    pub losses: Losses,
}

/// Foretells.
///
/// # Errors
/// If an input cannot be read, [`Nothing`] without reads or a table, [`Usage`] for
/// states that are not there.
pub fn reads(given: &Given, ask: &Wait) -> Result<Reads> {
    let mut losses = Losses::default();
    let cells = means(&cells(given, &ask.fio, &mut losses)?);
    if cells.is_empty() {
        let why = format!(
            "{} holds no reads of one block at a time (fio --output-format=json)",
            ask.fio.display()
        );
        return Err(Nothing(why).into());
    }
    let reading = given.only(&ask.states).idle(Keep::Counts)?;
    losses.merge(reading.losses.clone());
    // A disk's interrupts go to any CPU; of kinds of CPUs the first stands for all.
    let Some((table, mut disabled)) = tables(&reading.snapshots).into_values().next() else {
        let why = "no table of idle states: give a dump of the machine \
                   (grep -r . /sys/devices/system/cpu/cpu*/cpuidle > states.txt)";
        return Err(Nothing(why.into()).into());
    };
    let named = |name: &str| {
        let found = table.states().iter().position(|s| s.name == name);
        found.ok_or_else(|| {
            let all: Vec<&str> = table.states().iter().map(|s| s.name.as_str()).collect();
            Usage(format!("no state is called {name}: {}", all.join(", ")))
        })
    };
    let first = || table.states().iter().position(|s| !s.polls).unwrap_or(0);
    let shallow = ask.shallow.as_deref().map_or_else(|| Ok(first()), named)?;
    for name in &ask.disable {
        disabled = disabled.with(named(name)?);
    }
    let said = reading.snapshots.iter().find_map(|s| Kind::named(s.governor.as_deref()?));
    let kind = ask.present.governor.or(said).unwrap_or(Kind::Menu);
    if kind == Kind::Haltpoll && table.states().len() != 2 {
        let why = "haltpoll knows two states, to poll and to halt; this machine has others";
        return Err(Usage(why.into()).into());
    }
    let release = || Version::nearest(reading.release.as_deref().unwrap_or(""));
    let version = ask.present.version.unwrap_or_else(release);
    let rules = Rules {
        table: &table,
        disabled,
        limit: ask.limit,
        tick: 1_000_000_000 / i64::from(ask.present.hz.max(1)),
        kind,
        version,
        foreseen: ask.foreseen,
    };
    let others = match &ask.measured {
        Some(path) => means(&self::cells(given, path, &mut losses)?),
        None => Vec::new(),
    };
    let row = |cell: &Cell| {
        let wait = cell.wait(table.states()[shallow].latency);
        let waited = waited(&rules, cell.work, wait);
        let read = cell.work + wait + waited.paid;
        let measured = others.iter().find(|o| o.block == cell.block).map(|o| o.read);
        Row { cell: *cell, wait, waited, read, measured }
    };
    let rows: Vec<Row> = cells.iter().map(row).collect();
    let by =
        |f: fn(&Row) -> i64| line(&rows.iter().map(|r| (r.cell.block, f(r))).collect::<Vec<_>>());
    let lines = [by(|r| r.cell.work), by(|r| r.wait)];
    let seen = match ask.seen {
        Some((block, lost)) => {
            let Some(row) = rows.iter().find(|r| r.cell.block == block) else {
                let why = "the size that --seen names was not measured";
                return Err(Usage(why.into()).into());
            };
            Some((block, lost, exit_that_loses(&row.cell, lost)))
        }
        None => None,
    };
    Ok(Reads { rows, shallow, governor: (kind, version), lines, seen, losses, table })
}

fn cells(given: &Given, path: &Path, losses: &mut Losses) -> Result<Vec<Cell>> {
    let bytes = given.raw(path)?;
    Ok(fio::cells(&path.display().to_string(), &bytes, losses))
}

/// One cell for each size: the mean of its runs.
fn means(cells: &[Cell]) -> Vec<Cell> {
    cells
        .chunk_by(|a, b| a.block == b.block)
        .map(|runs| {
            let mean = |f: fn(&Cell) -> i64| runs.iter().map(f).sum::<i64>() / runs.len() as i64;
            Cell { block: runs[0].block, read: mean(|c| c.read), work: mean(|c| c.work) }
        })
        .collect()
}
