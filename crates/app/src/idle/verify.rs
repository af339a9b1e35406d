//! Predictions of a change of idle settings held against recordings of it.

use super::machine::{Machine, Present};
use super::predict::{Limit, Setting, of_draw, powers};
use super::recorded::recorded;
use crate::failure::Usage;
use anyhow::{Context, Result};
use dormouse_idle::decided::Again;
use dormouse_idle::energy::Powers;
use dormouse_idle::governors::Kind;
use dormouse_idle::predict::Account;
use dormouse_idle::verdict::{Figures, Row};
use dormouse_read::Given;
use std::path::{Path, PathBuf};

/// The same work recorded under one setting.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// What woke the CPUs.
    pub work: String,
    /// The setting, as it is named.
    pub setting: String,
    /// What was recorded.
    pub path: PathBuf,
}

/// Predictions of one kernel.
#[derive(Clone, Debug)]
pub struct Verified {
    /// Its release.
    pub kernel: String,
    /// CPUs that were recorded.
    pub cpus: usize,
    /// One for each recording: by work, and the setting that the others are predicted
    /// from before the others; recordings of the same next to each other.
    pub rows: Vec<Row>,
    /// Decisions of all recordings, made again.
    pub again: Again,
}

impl Verified {
    /// Every prediction is right.
    pub fn met(&self) -> bool {
        !self.rows.is_empty()
            && self.rows.iter().all(Row::met)
            && self.again.equal == self.again.decisions
    }
}

/// Replays that a prediction is made of, each with exit latencies in another order: a
/// governor answers small differences with other choices, and those even out.
const REPLAYS: u64 = 8;

/// Predicts each recording of each folder from the one of the same work in the same
/// folder under the setting called `first`, that one included; by kernel and number of
/// CPUs. Folders of one kernel say how far it repeats itself.
///
/// # Errors
/// If a recording cannot be read, or there is none under `first`.
pub fn verify(folders: &[PathBuf], first: &str) -> Result<Vec<Verified>> {
    let mut out: Vec<Verified> = Vec::new();
    for folder in folders {
        let one = folder_of(folder, first)?;
        match out.iter_mut().find(|v| (&v.kernel, v.cpus) == (&one.kernel, one.cpus)) {
            Some(v) => {
                v.rows.extend(one.rows);
                v.again.add(&one.again);
            }
            None => out.push(one),
        }
    }
    for v in &mut out {
        v.rows.sort_by(|a, b| {
            let key = |r: &Row| (r.work.clone(), !r.same(), r.settings[1].clone());
            key(a).cmp(&key(b))
        });
        for alike in v.rows.chunk_by_mut(|a, b| a.work == b.work && a.settings == b.settings) {
            let spread = Figures::spread(&alike.iter().map(|r| &r.after).collect::<Vec<_>>());
            for row in alike {
                row.spread = spread.clone();
            }
        }
    }
    Ok(out)
}

/// Recordings of `dormouse lab run --only idle --work` in a folder: `WORK-SETTING.tar.gz`,
/// by work, and `first` before the other settings.
fn recordings(folder: &Path, first: &str) -> Result<Vec<Recorded>> {
    let mut out = Vec::new();
    let list = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    for entry in list {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some((work, setting)) =
            name.strip_suffix(".tar.gz").and_then(|name| name.split_once('-'))
        else {
            continue;
        };
        out.push(Recorded { work: work.into(), setting: setting.into(), path: path.clone() });
    }
    out.sort_by(|a, b| {
        let key = |r: &Recorded| (r.work.clone(), r.setting != first, r.setting.clone());
        key(a).cmp(&key(b))
    });
    Ok(out)
}

/// The predictions of one folder.
fn folder_of(folder: &Path, first: &str) -> Result<Verified> {
    let list = recordings(folder, first)?;
    let mut out =
        Verified { kernel: String::new(), cpus: 0, rows: Vec::new(), again: Again::default() };
    let mut before: Option<(String, Machine, Figures, Figures)> = None;
    for r in &list {
        let machine = open(&r.path).with_context(|| r.path.display().to_string())?;
        let powers = powers(&machine, None)?;
        let after = recorded(&machine, &powers);
        out.again.add(&machine.again);
        if before.as_ref().is_none_or(|b| b.0 != r.work) {
            if r.setting != first {
                let why = format!("{}: no recording of {} under {first}", folder.display(), r.work);
                return Err(Usage(why).into());
            }
            out.kernel = machine.release.clone().unwrap_or_default();
            out.cpus = machine.cpus.len();
            let own = of_replays(&machine, &setting(&machine, first)?, &powers);
            before = Some((r.work.clone(), machine.clone(), after.clone(), own));
        }
        let Some((_, from, figures, own)) = &before else { continue };
        let predicted = if r.setting == first {
            own.clone()
        } else {
            of_replays(from, &setting(from, &r.setting)?, &powers)
        };
        out.rows.push(Row {
            work: r.work.clone(),
            settings: [first.into(), r.setting.clone()],
            before: figures.clone(),
            own: own.clone(),
            predicted,
            after,
            spread: Figures::default(),
        });
    }
    if out.rows.is_empty() {
        let why =
            format!("{}: no recordings of dormouse lab run --only idle --work", folder.display());
        return Err(Usage(why).into());
    }
    Ok(out)
}

fn open(path: &Path) -> Result<Machine> {
    Machine::open(
        &Given::new(&[path.to_owned()]),
        &Present { governor: None, version: None, hz: 250 },
    )
}

/// The setting of this name (`dormouse_lab::plan::IdleSetting`), as a change of a
/// recording without a limit or disabled states.
fn setting(m: &Machine, name: &str) -> Result<Setting> {
    let odd = || Usage(format!("no setting is called {name}"));
    let mut words = name.split('-');
    let kind = words.next().and_then(Kind::named).ok_or_else(odd)?;
    let mut out = Setting { governor: (kind, m.governor.1), ..Setting::present(m) };
    for word in words {
        if let Some(us) = word.strip_prefix("limit").and_then(|w| w.strip_suffix("us")) {
            let us: i64 = us.parse().map_err(|_| odd())?;
            out.limits.push(Limit { ns: us * 1_000, cpus: Vec::new() });
        } else {
            let i = word.strip_prefix("without").and_then(|w| w.parse::<usize>().ok());
            let state = i.and_then(|i| m.states.get(i)).ok_or_else(odd)?;
            out.disable.push(state.clone());
        }
    }
    Ok(out)
}

/// What the model says.
fn of_replays(m: &Machine, setting: &Setting, powers: &[Powers]) -> Figures {
    let mut a = Account::default();
    for draw in 0..REPLAYS {
        a.add(&of_draw(m, setting, powers, draw));
    }
    let span = a.span.max(1);
    Figures {
        shares: a.states.iter().map(|s| s.time * 10_000 / span).collect(),
        p50: a.delay(500).unwrap_or(0),
        p99: a.delay(990).unwrap_or(0),
        energy: (a.energy / i128::from(span)) as i64,
        sleeps: a.sleeps() / REPLAYS,
    }
}
