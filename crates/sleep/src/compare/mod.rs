//! Comparing recordings with honest statistics.
//!
//! A [`Subject`] is what stands behind one name on the command line: the cycles
//! of one or more captures. [`compare`] takes figures of every cycle
//! ([`figure`]), tests each against the first subject ([`contrast`]), says
//! whether the recordings may be judged at all ([`steady`]), and takes the
//! difference apart along the critical paths ([`why`], and phase by phase in
//! [`account`]). [`excerpt`] compares inputs that show no whole cycle.

pub mod account;
pub mod contrast;
pub mod excerpt;
pub mod figure;
pub mod order;
pub mod seen;
pub mod steady;
pub mod turns;
pub mod why;

use crate::analyse::CycleView;
use crate::analyse::answer::is_comparable;
use account::{Account, NEWS, WORTH_SAYING};
use contrast::{Contrast, Verdict, cycles_needed};
use dormouse_base::capture::Capture;
use dormouse_base::cycle::Mode;
use dormouse_base::phase::Direction;
use dormouse_base::stats::random::Random;
use dormouse_base::stats::test::holm;
use figure::{DeviceFigure, Figure};
use seen::Seen;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use steady::{Steadiness, steadiness};
use why::Why;

/// One side of a comparison.
#[derive(Clone, Debug)]
pub struct Subject<'a> {
    /// What the user called it.
    pub label: String,
    /// Its captures with what `analyse` says of their cycles.
    pub captures: Vec<(&'a Capture, &'a [CycleView])>,
}

/// What was found out about one side.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Side {
    /// What the user called it.
    pub label: String,
    /// Kernel releases, sorted.
    pub kernels: Vec<String>,
    /// Machines (model, else host name), sorted; empty if no source says.
    pub machines: Vec<String>,
    /// Sleep states, sorted.
    pub modes: Vec<Mode>,
    /// Cycles that were compared.
    pub cycles: usize,
    /// Which boot each of them is of, counted from the first: a capture begins
    /// a boot, and so does a first cycle after boot. What is chance in a boot
    /// stays for all its cycles, so only boots are independent.
    #[serde(skip)]
    pub boots: Vec<usize>,
    /// Cycles left out because they did not sleep or are incomplete.
    pub left_out_incomplete: usize,
    /// Cycles left out at the beginning: first after boot, warm-up.
    pub left_out_warm_up: usize,
    /// Drift of the suspend total over the recording (tau), if beyond doubt.
    pub drift_suspend_tau: Option<f64>,
    /// The same for the resume total.
    pub drift_resume_tau: Option<f64>,
}

/// One figure on all sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Which figure.
    pub figure: Figure,
    /// Value of every cycle, a list a side; nanoseconds or counts.
    pub samples: Vec<Vec<f64>>,
    /// Each further side against the first.
    pub contrasts: Vec<Contrast>,
    /// Cycles a side that would show a difference of 2 %, for each further
    /// side.
    pub needed: Vec<Option<u64>>,
}

/// A device whose time differs beyond the corrected level.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceRow<'a> {
    /// The device and phase.
    pub figure: DeviceFigure<'a>,
    /// Which side differs from the first (from 1).
    pub side: usize,
    /// How.
    pub contrast: Contrast,
}

/// The whole comparison.
#[derive(Clone, Debug)]
pub struct Comparison<'a> {
    /// The sides in the order given.
    pub sides: Vec<Side>,
    /// Totals, phases, counts.
    pub rows: Vec<Row>,
    /// Devices that differ, largest difference first.
    pub devices: Vec<DeviceRow<'a>>,
    /// How many device figures were tested (Holm's correction is over these).
    pub devices_tested: usize,
    /// Why each further side differs from the first, by direction.
    pub why: Vec<[Why<'a>; 2]>,
    /// Where the change of each phase of devices comes from, for each further side.
    pub accounts: Vec<Vec<Account<'a>>>,
    /// The sides are different machines: compare with care.
    pub different_machines: bool,
    /// Further sides (from 1) that were recorded before or after the first, not
    /// in turns with it: what changed meanwhile looks like a difference.
    pub in_blocks: Vec<usize>,
}

/// Why two subjects cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A side has no complete cycle.
    NothingToCompare {
        /// Its label.
        label: String,
    },
    /// The sides slept in different ways, so no phase means the same.
    DifferentModes {
        /// Labels with their modes, as `NAME: deep`.
        modes: Vec<String>,
    },
}

impl<'a> Comparison<'a> {
    /// The accounts of one further side (from 1) that are worth reading: the phase differs
    /// beyond the level, or a single cycle allows no test; and it differs by enough.
    pub fn worth_reading(&self, side: usize) -> Vec<&Account<'a>> {
        let contrast = |figure| {
            let row = self.rows.iter().find(|r| r.figure == figure)?;
            row.contrasts.get(side - 1)
        };
        let worth = |account: &&Account<'_>| {
            let total = contrast(Figure::Total(account.phase.direction()));
            let share = WORTH_SAYING * total.map_or(0.0, |k| k.median[0].max(k.median[1]));
            let differs = contrast(Figure::Phase(account.phase))
                .is_some_and(|k| k.verdict != Verdict::NoDifference);
            differs && libm::fabs(account.change()) >= share.max(NEWS)
        };
        self.accounts.get(side - 1).into_iter().flatten().filter(worth).collect()
    }
}

/// Compares every further subject with the first. Deterministic: the bootstrap
/// is drawn from a fixed seed.
///
/// # Errors
///
/// Refuses sides without complete cycles, and (unless `across_modes`) sides of
/// different sleep states.
pub fn compare<'a>(
    subjects: &[Subject<'a>],
    across_modes: bool,
) -> Result<Comparison<'a>, Refusal> {
    let mut sides = Vec::new();
    let mut cycles: Vec<Vec<Seen<'a>>> = Vec::new();
    for s in subjects {
        let (side, seen) = gather(s);
        if seen.is_empty() {
            return Err(Refusal::NothingToCompare { label: side.label });
        }
        sides.push(side);
        cycles.push(seen);
    }
    if !across_modes && sides.iter().any(|s| s.modes != sides[0].modes) {
        let modes = sides
            .iter()
            .flat_map(|s| s.modes.iter().map(|m| std::format!("{}: {}", s.label, m.name())))
            .collect();
        return Err(Refusal::DifferentModes { modes });
    }
    let mut random = Random::new(1);
    let mut rows: Vec<Row> = figure::figures(&cycles)
        .into_iter()
        .map(|figure| row(figure, &cycles, &mut random))
        .collect();
    // Phases and gaps are one family of tests and counts another; the two totals are
    // what was asked for and stay as they are.
    correct(&mut rows, |f| matches!(f, Figure::Phase(_) | Figure::Gaps(_)));
    correct(&mut rows, |f| matches!(f, Figure::Count(_)));
    let (devices, devices_tested) = devices(&cycles, &mut random);
    let why = cycles[1..]
        .iter()
        .map(|b| [Direction::Suspend, Direction::Resume].map(|d| why::explain(d, &cycles[0], b)))
        .collect();
    let accounts = cycles[1..].iter().map(|b| account::accounts(&cycles[0], b)).collect();
    let different_machines = sides.iter().any(|s| {
        !s.machines.is_empty() && !sides[0].machines.is_empty() && s.machines != sides[0].machines
    });
    let began = |side: &[Seen<'_>]| -> Vec<_> { side.iter().map(|s| s.cycle.began).collect() };
    let first = began(&cycles[0]);
    let in_blocks = (1..cycles.len())
        .filter(|&i| turns::in_blocks(&first, &began(&cycles[i])) == Some(true))
        .collect();
    Ok(Comparison {
        sides,
        rows,
        devices,
        devices_tested,
        why,
        accounts,
        different_machines,
        in_blocks,
    })
}

/// The cycles of a subject that may be compared, and what was left out.
fn gather<'a>(subject: &Subject<'a>) -> (Side, Vec<Seen<'a>>) {
    let mut side = Side { label: subject.label.clone(), ..Side::default() };
    let mut kernels = BTreeSet::new();
    let mut machines = BTreeSet::new();
    let mut modes = BTreeSet::new();
    let mut seen = Vec::new();
    let mut boots = Vec::new();
    let mut boot = 0;
    for (nth_capture, (capture, views)) in subject.captures.iter().enumerate() {
        let name = |s| capture.names.get(s);
        let machine = [capture.machine.model, capture.machine.host]
            .into_iter()
            .map(name)
            .find(|n| !n.is_empty());
        machines.extend(machine.map(String::from));
        boot += 1;
        for (cycle, view) in capture.cycles.iter().zip(views.iter()) {
            boot += usize::from(cycle.first_after_boot);
            if !is_comparable(cycle) {
                side.left_out_incomplete += 1;
                continue;
            }
            if cycle.first_after_boot {
                side.left_out_warm_up += 1;
                continue;
            }
            modes.insert(cycle.mode);
            if !cycle.kernel.is_empty() {
                kernels.insert(String::from(name(cycle.kernel)));
            }
            seen.push(Seen { capture, nth_capture, cycle, view });
            boots.push(boot);
        }
    }
    let totals = |d: Direction| -> Vec<f64> {
        seen.iter().map(|s: &Seen<'_>| s.view.rows.counted(d).0 as f64).collect()
    };
    let down: Steadiness = steadiness(&totals(Direction::Suspend));
    let up = steadiness(&totals(Direction::Resume));
    let cold = down.warm_up.max(up.warm_up);
    seen.drain(..cold);
    side.boots = boots.split_off(cold);
    side.left_out_warm_up += cold;
    side.drift_suspend_tau = down.drift;
    side.drift_resume_tau = up.drift;
    side.cycles = seen.len();
    side.kernels = kernels.into_iter().collect();
    side.machines = machines.into_iter().collect();
    side.modes = modes.into_iter().collect();
    (side, seen)
}

fn row(figure: Figure, cycles: &[Vec<Seen<'_>>], random: &mut Random) -> Row {
    let samples: Vec<Vec<f64>> =
        cycles.iter().map(|side| side.iter().filter_map(|s| figure.value(s)).collect()).collect();
    let contrasts = samples[1..].iter().map(|b| Contrast::new(&samples[0], b, random)).collect();
    let needed = samples[1..].iter().map(|b| cycles_needed(&samples[0], b, 0.02)).collect();
    Row { figure, samples, contrasts, needed }
}

/// Applies Holm's correction to the rows of one family, side by side.
fn correct(rows: &mut [Row], family: impl Fn(Figure) -> bool) {
    let sides = rows.first().map_or(0, |r| r.contrasts.len());
    for side in 0..sides {
        let mut members: Vec<&mut Contrast> = rows
            .iter_mut()
            .filter(|r| family(r.figure))
            .map(|r| &mut r.contrasts[side])
            .filter(|c| c.welch.is_some())
            .collect();
        let p: Vec<f64> = members.iter().map(|c| c.p_corrected).collect();
        for (c, p) in members.iter_mut().zip(holm(&p)) {
            c.correct(p);
        }
    }
}

/// Tests every device in every phase against the first side, corrects for
/// their number, and keeps what differs.
fn devices<'a>(cycles: &[Vec<Seen<'a>>], random: &mut Random) -> (Vec<DeviceRow<'a>>, usize) {
    let by_side: Vec<BTreeMap<DeviceFigure<'a>, Vec<f64>>> =
        cycles.iter().map(|side| figure::device_samples(side)).collect();
    let mut rows = Vec::new();
    let mut tested = 0;
    for (side, samples) in by_side.iter().enumerate().skip(1) {
        let pairs: Vec<(&DeviceFigure<'a>, &Vec<f64>, &Vec<f64>)> = samples
            .iter()
            .filter_map(|(k, b)| by_side[0].get(k).map(|a| (k, a, b)))
            .filter(|(_, a, b)| a.len() > 1 && b.len() > 1)
            .collect();
        let p: Vec<f64> = pairs
            .iter()
            .map(|(_, a, b)| dormouse_base::stats::test::welch(a, b).map_or(1.0, |w| w.p))
            .collect();
        tested += p.len();
        for ((key, a, b), p) in pairs.iter().zip(holm(&p)) {
            if p < contrast::LEVEL {
                let mut contrast = Contrast::new(a, b, random);
                contrast.correct(p);
                rows.push(DeviceRow { figure: **key, side, contrast });
            }
        }
    }
    rows.sort_by(|x, y| {
        let size = |r: &DeviceRow<'_>| libm::fabs(r.contrast.difference);
        size(y).total_cmp(&size(x)).then_with(|| x.figure.cmp(&y.figure))
    });
    (rows, tested)
}
