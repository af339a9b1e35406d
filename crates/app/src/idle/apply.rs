//! A setting of CPU idle tried on this machine, and kept if it helps.

use super::machine::{Machine, Present};
use super::predict::powers;
use super::recorded::recorded;
use super::watts::Watts;
use crate::failure::Usage;
use anyhow::{Context, Result, bail, ensure};
use dormouse_idle::verdict::Figures;
use dormouse_machine::apply::{keep_values, plan};
use dormouse_machine::guard::{NotRestored, Observer};
use dormouse_machine::options::Detail;
use dormouse_machine::recorder::Watch;
use dormouse_machine::root::Root;
use dormouse_machine::watch::{Ask, Until, record};
use dormouse_read::Given;
use dormouse_sleep::acceptance::{Effect, LEAST_PAIRS, effect};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The machine and who watches what is done to it.
pub struct Host<'a> {
    /// Where its sysfs is.
    pub root: &'a Root,
    /// Folder of the journal.
    pub journal: &'a str,
    /// How long each recording takes.
    pub span: Duration,
    /// Told of every write.
    pub observer: &'a mut dyn Observer,
    /// Told of progress, and asked whether to stop.
    pub watch: &'a mut dyn Watch,
}

/// What is tried.
#[derive(Clone, Debug)]
pub struct Trial<'a> {
    /// Files of sysfs with what is written to each.
    pub writes: &'a [(String, String)],
    /// Largest 99th percentile of wake-up delays, ns.
    pub p99: i64,
    /// Power by state; assumed if absent.
    pub watts: Option<&'a Watts>,
    /// How the machine runs.
    pub present: &'a Present,
    /// For each pair, whether the setting comes first.
    pub with_first: &'a [bool],
    /// Folder in which the recordings stay.
    pub save: Option<&'a Path>,
}

/// What had to get better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim {
    /// The delay: it is over the budget without the setting.
    Delay,
    /// The energy: the delay is within the budget anyway.
    Energy,
}

/// Why the setting stays or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// What had to get better did, and the budget is met.
    Helps,
    /// It did not, beyond doubt.
    NotShown,
    /// The budget is not met with the setting.
    OverBudget,
    /// Fewer pairs than can prove anything.
    TooFewPairs,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Judged {
    /// What had to get better.
    pub aim: Aim,
    /// Why it stays or not.
    pub reason: Reason,
    /// 99th percentile of wake-up delays, ns.
    pub delay: Effect,
    /// Energy, thousandths of always polling, or by the power that was given.
    pub energy: Effect,
    /// Pairs that count.
    pub pairs: usize,
    /// Settings that stay.
    pub kept: usize,
}

/// A trial, also one that ended early.
#[derive(Debug)]
pub struct Attempt {
    /// Recordings that stay.
    pub saved: Vec<PathBuf>,
    /// Settings that could not be put back.
    pub failed: Vec<NotRestored>,
    /// The verdict. On an error every setting was put back.
    pub judged: Result<Judged>,
}

/// Whether the states of `m` are those of this machine, and what is to be written is
/// there.
///
/// # Errors
/// [`Usage`] if not.
pub fn is_of_this_machine(root: &Root, m: &Machine, writes: &[(String, String)]) -> Result<()> {
    let other = |what: String| {
        let advice = "record this machine with `dormouse record --with idle` and tune that";
        Usage(format!("--apply: {what}, so the input is of another machine: {advice}"))
    };
    for cpu in &m.cpus {
        for (i, state) in cpu.table.states().iter().enumerate() {
            let folder = format!("/sys/devices/system/cpu/cpu{}/cpuidle/state{i}", cpu.number);
            let of = |file| root.read(&format!("{folder}/{file}")).unwrap_or_default();
            let same = of("name").trim() == state.name
                && of("latency").trim() == (state.latency / 1_000).to_string();
            if !same {
                return Err(other(format!("{folder} is not {}", state.name)).into());
            }
        }
    }
    if let Some((path, _)) = writes.iter().find(|(path, _)| root.read(path).is_none()) {
        return Err(other(format!("{path} is not there")).into());
    }
    Ok(())
}

/// Records the machine in pairs with and without the setting, and keeps it if it
/// helps. It never sleeps; every setting is put back after each recording.
///
/// # Errors
/// If no folder for recordings can be had.
pub fn attempt(host: Host<'_>, trial: &Trial<'_>) -> Result<Attempt> {
    let mine = std::env::temp_dir().join(format!("dormouse-idle-{}", std::process::id()));
    let folder = trial.save.map_or(mine.as_path(), |folder| folder);
    match trial.save {
        Some(_) => fs::create_dir_all(folder),
        None => fs::create_dir(folder),
    }
    .with_context(|| format!("cannot make {}", folder.display()))?;
    let mut out = Attempt { saved: Vec::new(), failed: Vec::new(), judged: Err(stopped()) };
    out.judged = try_all(host, trial, folder, &mut out.saved, &mut out.failed);
    if trial.save.is_none() {
        let _ = fs::remove_dir_all(folder);
        out.saved.clear();
    }
    Ok(out)
}

fn stopped() -> anyhow::Error {
    anyhow::anyhow!("stopped: the setting was not kept, and everything was put back")
}

fn try_all(
    host: Host<'_>,
    trial: &Trial<'_>,
    folder: &Path,
    saved: &mut Vec<PathBuf>,
    failed: &mut Vec<NotRestored>,
) -> Result<Judged> {
    let Host { root, journal, span, observer, watch } = host;
    let mut pairs: Vec<[Option<Figures>; 2]> = vec![[None, None]; trial.with_first.len()];
    for (n, (pair, with)) in plan(trial.with_first).into_iter().enumerate() {
        let ask = Ask {
            with: vec![Detail::Idle],
            until: Until::After(span),
            buffer_kib: None,
            journal: journal.into(),
            set: if with { trial.writes.to_vec() } else { Vec::new() },
        };
        let outcome = record(root, &ask, observer, watch)?;
        *failed = outcome.restored.failed;
        ensure!(failed.is_empty(), "a setting was not put back; nothing was kept");
        if let Some(e) = outcome.error {
            bail!("{e}; the setting was not kept, and everything was put back");
        }
        if watch.stop() {
            return Err(stopped());
        }
        let Some(pair) = pair else { continue };
        let side = if with { "with" } else { "without" };
        let path = folder.join(format!("{n:02}-{side}.tar.gz"));
        outcome
            .recording
            .save(&path)
            .with_context(|| format!("cannot write {}", path.display()))?;
        saved.push(path.clone());
        pairs[pair][usize::from(with)] = figures(&path, trial)?;
    }
    let mut judged = judge(&pairs, trial.p99);
    if judged.reason == Reason::Helps {
        judged.kept = keep_values(root, journal, trial.writes, observer)
            .context("it helps, but could not be kept; everything was put back")?;
    }
    Ok(judged)
}

/// What one recording says itself; nothing if no delay could be measured in it.
fn figures(path: &Path, trial: &Trial<'_>) -> Result<Option<Figures>> {
    // The governor may be another one than that of the input.
    let present = Present { governor: None, ..trial.present.clone() };
    let machine = Machine::open(&Given::new(&[path.to_owned()]), &present)?;
    let measured = machine.cpus.iter().any(|c| !c.wakes.delays.is_empty());
    let figures = recorded(&machine, &powers(&machine, trial.watts)?);
    Ok(measured.then_some(figures))
}

/// Judges pairs without and with the setting: it helps if the delay falls to the
/// budget, or, where the budget is met anyway, if the energy falls within it.
pub fn judge(pairs: &[[Option<Figures>; 2]], p99: i64) -> Judged {
    let whole: Vec<(&Figures, &Figures)> =
        pairs.iter().filter_map(|[a, b]| Some((a.as_ref()?, b.as_ref()?))).collect();
    let of = |f: fn(&Figures) -> i64| {
        effect(&whole.iter().map(|(a, b)| (f(a) as f64, f(b) as f64)).collect::<Vec<_>>())
    };
    let (delay, energy) = (of(|f| f.p99), of(|f| f.energy));
    let aim = if delay.without > p99 as f64 { Aim::Delay } else { Aim::Energy };
    let better = match aim {
        Aim::Delay => delay.is_less(),
        Aim::Energy => energy.is_less(),
    };
    let reason = if whole.len() < LEAST_PAIRS {
        Reason::TooFewPairs
    } else if !better {
        Reason::NotShown
    } else if delay.with > p99 as f64 {
        Reason::OverBudget
    } else {
        Reason::Helps
    };
    Judged { aim, reason, delay, energy, pairs: whole.len(), kept: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(n: usize, without: (i64, i64), with: (i64, i64)) -> Vec<[Option<Figures>; 2]> {
        let figures = |(p99, energy): (i64, i64), n: usize| {
            Some(Figures { p99: p99 + n as i64, energy: energy + n as i64, ..Figures::default() })
        };
        (0..n).map(|n| [figures(without, n), figures(with, n)]).collect()
    }

    #[test]
    fn what_is_over_the_budget_has_to_come_below_it() {
        let reason = |p: &[[Option<Figures>; 2]]| judge(p, 60_000).reason;
        assert_eq!(reason(&pairs(10, (500_000, 100), (50_000, 400))), Reason::Helps);
        assert_eq!(reason(&pairs(10, (500_000, 100), (90_000, 400))), Reason::OverBudget);
        assert_eq!(reason(&pairs(10, (500_000, 100), (500_000, 100))), Reason::NotShown);
        assert_eq!(reason(&pairs(7, (500_000, 100), (50_000, 400))), Reason::TooFewPairs);
    }

    #[test]
    fn what_is_within_the_budget_has_to_save_energy_and_to_stay_there() {
        let judged = |with| judge(&pairs(10, (50_000, 400), with), 60_000);
        assert_eq!(
            (judged((55_000, 300)).aim, judged((55_000, 300)).reason),
            (Aim::Energy, Reason::Helps)
        );
        assert_eq!(judged((90_000, 300)).reason, Reason::OverBudget);
        assert_eq!(judged((10_000, 400)).reason, Reason::NotShown);
    }

    #[test]
    fn a_pair_with_a_side_missing_does_not_count() {
        let mut some = pairs(8, (500_000, 100), (50_000, 400));
        some[3][1] = None;
        assert_eq!(judge(&some, 60_000).reason, Reason::TooFewPairs);
    }
}
