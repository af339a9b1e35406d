//! Costs from recordings.
//!
//! Every recorded cycle is simulated again with its own callback times, and the
//! costs are changed until the schedule comes closest to the recorded one:
//! phase times and starts of callbacks. What can be read directly (prepare and
//! complete, which are serial, and with `pm_async` 0 all that the main thread
//! does) is. No cost is fitted per board: all recordings
//! given share one set.
//!
//! With the boards that the laboratory made the machines from, the simulation
//! takes the times from there, and what recorded callbacks took longer belongs
//! to the machinery too.

mod gaps;
mod sample;

use super::cost::{Costs, Cpus, Profile};
use super::kernel::Kernel;
use super::planned::{self, Plan};
use super::policy::G0;
use super::{Topology, run};
use dormouse_base::capture::Capture;
use dormouse_base::cycle::{Callback, Cycle, Outcome};
use dormouse_base::phase::Phase;
use dormouse_base::stats::describe::middle;
use dormouse_base::stats::random::Random;
use dormouse_base::time::Ns;
use dormouse_board::Board;
use dormouse_board::derive::derive;
use sample::{Sample, settings};
use std::collections::BTreeSet;

/// How well a profile fits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Misfit {
    /// Mean error of a phase's time.
    pub phase: Ns,
    /// Mean error of a callback's start, each at most 2 ms.
    pub start: Ns,
    /// Phases compared.
    pub phases: u32,
}

/// The result of [`calibrate`].
#[derive(Clone, Debug)]
pub struct Calibration {
    /// The fitted profile.
    pub profile: Profile,
    /// With the costs the fit began with.
    pub before: Misfit,
    /// With the fitted costs.
    pub after: Misfit,
    /// Cycles used.
    pub cycles: u32,
    /// Cycles that could not be used, with the reason.
    pub skipped: Vec<String>,
}

/// Costs that are fitted, each by itself; the rest keeps its default because a
/// recording cannot tell it from these.
const FITTED: [&str; 18] = [
    "callback",
    "no_callback",
    "queue",
    "wake",
    "create",
    "item",
    "walk",
    "visit",
    "leaf",
    "switch",
    "begin",
    "barrier",
    "wake_one",
    "wait",
    "look",
    "trigger",
    "runtime",
    "oversleep",
];

/// Factors that a cost is tried with, coarse ones first.
const FACTORS: [(i64, i64); 6] = [(4, 1), (1, 4), (3, 2), (2, 3), (9, 8), (8, 9)];

/// Random changes that [`wander`] tries: first half of them wide, then narrow
/// ones.
const TRIALS: u32 = 3_000;

/// Rounds of the descent at most.
const ROUNDS: u32 = 12;

/// Largest error of a start that counts, in nanoseconds.
const CLIP: i64 = 2_000_000;

/// Most cycles that are used; more add little.
const CYCLES: usize = 60;

/// Fits the costs to `captures`, beginning with `from`. `boards` is empty, or
/// holds for each capture the board that the laboratory made its machine from.
/// `name` says what the profile was fitted on.
///
/// # Errors
/// A sentence, if no cycle can be used.
pub fn calibrate(
    captures: &[Capture],
    boards: &[Board],
    from: &Profile,
    name: &str,
) -> Result<Calibration, String> {
    let mut skipped = Vec::new();
    let mut samples = Vec::new();
    let plans: Vec<Plan> = boards.iter().map(planned::plan).collect();
    let ports = planned::alone(captures);
    for (i, capture) in captures.iter().enumerate() {
        let plans = plans.get(i).map(|plan| [plan, &ports]);
        collect(capture, plans, &mut samples, &mut skipped);
    }
    if samples.is_empty() {
        return Err(match skipped.first() {
            Some(s) => format!("no cycle can be used: {s}"),
            None => "no cycle in the input".into(),
        });
    }
    let mut profile = from.clone();
    profile.name = name.into();
    let before = misfit(&profile, &samples);
    let cycles = samples.len() as u32;
    let laboratory = (!boards.is_empty()).then_some((captures, &plans[..]));
    profile = fit(profile, &samples, laboratory).ok_or("nothing to fit")?;
    profile.uncertainty = uncertainty(&profile, &samples);
    let after = misfit(&profile, &samples);
    Ok(Calibration { profile, before, after, cycles, skipped })
}

/// The costs of the kernel's own machinery; `None` if there is nothing to begin with.
fn fit(
    mut profile: Profile,
    samples: &[Sample],
    laboratory: Option<(&[Capture], &[Plan])>,
) -> Option<Profile> {
    read_serial(&mut profile, samples);
    let mut starts = vec![profile.clone(), Profile { cpus: Some(Cpus::equal(1)), ..profile }];
    if let Some((captures, plans)) = laboratory {
        // Hardware computes on its CPUs at the same time; an emulator may not.
        let oversleep = median(oversleeps(captures, plans)).map_or(Ns::ZERO, Ns);
        let first_tick = first_tick(captures, plans, oversleep);
        for p in &mut starts {
            let Costs { prepare, finish, .. } = p.costs;
            p.costs = Costs { prepare, finish, oversleep, ..Costs::COUNTED };
            p.cpus = None;
            p.emulator.get_or_insert_default().first_tick = first_tick;
        }
        starts.truncate(1);
    }
    let mut best: Option<(i64, Profile)> = None;
    for mut p in starts {
        let read = gaps::read(&mut p, samples);
        let searched: Vec<&str> = FITTED.iter().copied().filter(|n| !read.contains(n)).collect();
        let begin = p.costs;
        let mut score = descend(&mut p, samples, &searched, ROUNDS);
        if laboratory.is_some() {
            score = wander(&mut p, &begin, samples, &searched, score);
        }
        if best.as_ref().is_none_or(|(s, _)| score < *s) {
            best = Some((score, p));
        }
    }
    best.map(|(_, profile)| profile)
}

fn collect(
    capture: &Capture,
    plans: Option<[&Plan; 2]>,
    samples: &mut Vec<Sample>,
    skipped: &mut Vec<String>,
) {
    let mut workers_before: Option<u32> = None;
    for (i, cycle) in capture.cycles.iter().enumerate() {
        let idle = match workers_before {
            Some(n) if !cycle.first_after_boot => n.max(2),
            _ => 2,
        };
        workers_before = Some(workers(cycle).max(workers_before.unwrap_or(0)));
        if samples.len() >= CYCLES {
            continue;
        }
        match sample(capture, cycle, plans, idle) {
            Ok(s) => samples.push(Sample { draw: samples.len() as u64 + 1, ..s }),
            Err(why) => skipped.push(format!("cycle {}: {why}", i + 1)),
        }
    }
}

/// Calls `see` with every callback of `capture` that only slept: its cycle,
/// itself, and how long it was to sleep.
fn sleepers(capture: &Capture, plan: &Plan, mut see: impl FnMut(usize, &Callback, Ns)) {
    let keys = planned::keys(&capture.names, &capture.graph);
    for (i, cycle) in capture.cycles.iter().enumerate() {
        for c in cycle.callbacks.iter().filter(|c| c.complete && c.phase.may_be_async()) {
            let Some(index) = c.phase.device_index() else { continue };
            match plan.get(&keys[c.device.index()]).and_then(|work| work[index]) {
                Some(w) if planned::only_sleeps(&w) => see(i, c, w.sleep),
                _ => {}
            }
        }
    }
}

/// For each capture how much longer callbacks took that only sleep than they
/// were to: the lower quartile, because the larger values waited for a CPU,
/// which the simulator knows by itself.
fn oversleeps(captures: &[Capture], plans: &[Plan]) -> Vec<i64> {
    let mut all = Vec::new();
    for (capture, plan) in captures.iter().zip(plans) {
        let mut late = Vec::new();
        sleepers(capture, plan, |_, c, planned| late.push((c.duration() - planned).0.max(0)));
        late.sort_unstable();
        all.extend(late.get(late.len() / 4));
    }
    all
}

/// When the last CPU has its first tick, between which times: what sleeps on it
/// in resume noirq ends then, and not before. In each cycle the first end of a
/// callback that is late by more than waiting for a CPU explains, without the
/// outer tenths; where CPUs stayed online there is no such tick, whatever is late.
fn first_tick(captures: &[Capture], plans: &[Plan], oversleep: Ns) -> (Ns, Ns) {
    const LATE: Ns = Ns(300_000);
    let mut ends = Vec::new();
    for (capture, plan) in captures.iter().zip(plans) {
        let mut first: Vec<Option<i64>> = vec![None; capture.cycles.len()];
        sleepers(capture, plan, |i, c, planned| {
            let cycle = &capture.cycles[i];
            let Some(span) = cycle.phase(c.phase).filter(|_| !cycle.mode.keeps_cpus()) else {
                return;
            };
            if c.phase == Phase::ResumeNoirq && c.duration() - planned > LATE {
                let end = (c.end - span.start - oversleep).0;
                first[i] = Some(first[i].map_or(end, |f| f.min(end)));
            }
        });
        ends.extend(first.into_iter().flatten());
    }
    ends.sort_unstable();
    let tenth = |n: usize| Ns(ends.get(ends.len() * n / 10).copied().unwrap_or(0));
    (tenth(1), tenth(9))
}

/// Worker threads that ran callbacks.
fn workers(cycle: &Cycle) -> u32 {
    let seen: BTreeSet<u16> = cycle
        .callbacks
        .iter()
        .filter(|c| c.phase.may_be_async())
        .filter(|c| {
            cycle.threads.get(usize::from(c.thread.0)).is_some_and(|t| t.is_main == Some(false))
        })
        .map(|c| c.thread.0)
        .collect();
    seen.len() as u32
}

fn sample(
    capture: &Capture,
    cycle: &Cycle,
    plans: Option<[&Plan; 2]>,
    idle: u32,
) -> Result<Sample, String> {
    if !matches!(cycle.outcome, Outcome::Slept | Outcome::Partial) {
        return Err("it was aborted".into());
    }
    let one = Capture {
        names: capture.names.clone(),
        machine: capture.machine.clone(),
        graph: capture.graph.clone(),
        cycles: vec![cycle.clone()],
        ..Capture::default()
    };
    let mut derived = derive(&one)?;
    if let Some([plan, ports]) = plans {
        let own = planned::guest(&derived.board, plan);
        planned::apply(&mut derived.board, &[plan, ports, &own]);
    }
    let board: &Board = &derived.board;
    let topology = Topology::new(board).map_err(|e| format!("{e}"))?;
    let kernel = Kernel::parse(capture.names.get(cycle.kernel));
    let policy = match kernel {
        // With pm_async 0 a kernel still looks for what it could start.
        Some(k) => k.policy(),
        None if !board.pm_async => &G0,
        None => return Err("the kernel is not known".into()),
    };
    let mut phases = Vec::new();
    for span in &cycle.phases {
        if !span.phase.may_be_async() || !span.complete {
            continue;
        }
        let mut starts = vec![None; board.devices.len()];
        for c in cycle.callbacks.iter().filter(|c| c.phase == span.phase) {
            if c.start < span.start || c.end > span.end {
                continue;
            }
            if let Some(&d) = derived.place.get(c.device.index()) {
                starts[d as usize].get_or_insert((c.start - span.start).0);
            }
        }
        phases.push((span.phase, span.duration().0, starts));
    }
    if phases.is_empty() {
        return Err("it has no complete device phase".into());
    }
    Ok(Sample {
        policy,
        kernel,
        cpus: board.cpus,
        idle,
        draw: 0,
        phases,
        prepare: serial(cycle, Phase::Prepare, topology.list.len()),
        finish: serial(cycle, Phase::Complete, topology.list.len()),
        gaps: match topology.pm_async {
            true => Vec::new(),
            false => gaps::gaps(cycle, |d| derived.place.get(d.index()).copied()),
        },
        topology,
    })
}

/// Time of a serial phase for each device, callbacks with work of their own
/// taken out.
fn serial(cycle: &Cycle, phase: Phase, devices: usize) -> Option<i64> {
    let span = cycle.phase(phase).filter(|s| s.complete)?;
    let own: i64 = cycle
        .callbacks
        .iter()
        .filter(|c| c.phase == phase)
        .map(|c| c.duration().0)
        .filter(|&t| t >= 20_000)
        .sum();
    Some((span.duration().0 - own).max(0) / (devices as i64).max(1))
}

/// prepare and complete are serial: their cost is read, not searched.
fn read_serial(profile: &mut Profile, samples: &[Sample]) {
    let set = |values: Vec<i64>, field: &mut Ns| {
        if let Some(m) = median(values) {
            *field = Ns(m);
        }
    };
    let costs = &mut profile.costs;
    set(samples.iter().filter_map(|s| s.prepare).collect(), &mut costs.prepare);
    set(samples.iter().filter_map(|s| s.finish).collect(), &mut costs.finish);
}

fn median(mut values: Vec<i64>) -> Option<i64> {
    middle(&mut values, |low, high| low + (high - low) / 2)
}

/// Whether which CPU each worker happened to run on last decides resume noirq:
/// what sleeps on the CPU that came up last sleeps until its first tick, half a
/// millisecond or more. A fit led by that would make all else worse.
fn chance(profile: &Profile, s: &Sample) -> bool {
    let several = matches!(&profile.cpus, Some(Cpus::List(l)) if l.len() > 1);
    several
        && s.topology.pm_async
        && profile.emulator.as_ref().is_some_and(|e| e.first_tick.1 > Ns::ZERO)
}

/// Sums of errors over the phases of one sample that chance does not decide: of
/// phase times, of starts, and how many starts were compared.
fn errors(profile: &Profile, s: &Sample) -> Option<(i64, i64, i64)> {
    let settings = settings(profile, s);
    let chance = chance(&settings.profile, s);
    let r = run(&s.topology, s.policy, &settings).ok()?;
    let mut sums = (0, 0, 0);
    for (phase, time, starts) in &s.phases {
        let Some(span) = r.cycle.phase(*phase) else { continue };
        if chance && *phase == Phase::ResumeNoirq {
            continue;
        }
        sums.0 += (span.duration().0 - time).abs();
        for c in r.cycle.callbacks.iter().filter(|c| c.phase == *phase) {
            if let Some(seen) = starts[c.device.index()] {
                // What the model does not know (a lock, a late interrupt) makes
                // errors of any size; they must not outweigh the rest.
                sums.1 += ((c.start - span.start).0 - seen).abs().min(CLIP);
                sums.2 += 1;
            }
        }
    }
    Some(sums)
}

/// What the descent makes small: the error of each phase's time plus the mean
/// error of its starts, in nanoseconds. What is not below `limit` is of no
/// interest, and need not be looked at to its end.
fn score(profile: &Profile, samples: &[Sample], limit: i64) -> i64 {
    let mut sum = 0i64;
    for s in samples {
        sum = sum.saturating_add(match errors(profile, s) {
            Some((phase, start, n)) => phase + 2 * start * s.phases.len() as i64 / n.max(1),
            None => i64::MAX / 1_000_000,
        });
        if sum >= limit {
            break;
        }
    }
    sum
}

fn misfit(profile: &Profile, samples: &[Sample]) -> Misfit {
    let (mut phase, mut start, mut n, mut phases) = (0, 0, 0, 0);
    for s in samples {
        if let Some((p, st, c)) = errors(profile, s) {
            phase += p;
            start += st;
            n += c;
            phases += s.phases.len() as i64;
        }
    }
    Misfit { phase: Ns(phase / phases.max(1)), start: Ns(start / n.max(1)), phases: phases as u32 }
}

/// Changes one cost after the other as long as that helps.
fn descend(profile: &mut Profile, samples: &[Sample], names: &[&str], rounds: u32) -> i64 {
    let mut best = score(profile, samples, i64::MAX);
    let begin = profile.costs;
    for _ in 0..rounds {
        let before = best;
        for &name in names {
            // Recorded times have the late end of a sleep in them already.
            if name == "oversleep" && begin.oversleep == Ns::ZERO {
                continue;
            }
            for (part, whole) in FACTORS {
                while let Some(field) = profile.costs.field(name) {
                    let old = *field;
                    // A cost stays within a range around what the fit began with.
                    let from = { begin }.field(name).map_or(1, |f| f.0);
                    let (low, high) = ((from / 32).max(1), (from * 32).max(10_000));
                    let new = Ns((old.0 * part / whole).clamp(low, high));
                    if new == old {
                        break;
                    }
                    *field = new;
                    let now = score(profile, samples, best);
                    if now >= best {
                        if let Some(field) = profile.costs.field(name) {
                            *field = old;
                        }
                        break;
                    }
                    best = now;
                }
            }
        }
        if (before - best) * 500 < before {
            break;
        }
    }
    best
}

/// Costs make up for one another, and with computing shared the misfit is rough:
/// changing one at a time gets stuck. Tries random changes of a few at once and
/// keeps what is better. Wide ones begin now and then from what the fit began
/// with, or a cost that once fell to almost nothing would never come back.
fn wander(
    profile: &mut Profile,
    begin: &Costs,
    samples: &[Sample],
    names: &[&str],
    mut best: i64,
) -> i64 {
    let mut random = Random::new(1);
    for trial in 0..TRIALS {
        let wide = trial < TRIALS / 2;
        let (low, high) = if wide { (600, 1700) } else { (850, 1180) };
        let mut p = profile.clone();
        for _ in 0..=random.below(3) {
            let name = names[random.below(names.len() as u64) as usize];
            let thousandths = random.between(low, high) as i64;
            let again = wide && random.below(6) == 0;
            let from = { *begin }.field(name).map_or(0, |f| f.0);
            if let Some(field) = p.costs.field(name) {
                let from = if again { from } else { field.0 };
                *field = Ns((from * thousandths / 1000).max(10));
            }
        }
        let now = score(&p, samples, best);
        if now < best {
            best = now;
            *profile = p;
        }
    }
    best
}

/// Spread of each cost over fits to single cycles, as standard deviation of
/// the mean; nothing with fewer than three cycles.
fn uncertainty(profile: &Profile, samples: &[Sample]) -> [Option<Ns>; 23] {
    let mut spread = [None; 23];
    let used = samples.len().min(8);
    if used < 3 {
        return spread;
    }
    let step = samples.len() / used;
    let fits: Vec<[Ns; 23]> = (0..used)
        .map(|i| {
            let mut p = profile.clone();
            let one = std::slice::from_ref(&samples[i * step]);
            let read = gaps::read(&mut p, one);
            let searched: Vec<&str> =
                FITTED.iter().copied().filter(|n| !read.contains(n)).collect();
            descend(&mut p, one, &searched, 2);
            read_serial(&mut p, one);
            p.costs.values()
        })
        .collect();
    for (i, (name, _)) in Costs::NAMES.iter().enumerate() {
        if !FITTED.contains(name) && !matches!(*name, "prepare" | "finish") {
            continue;
        }
        let values: Vec<f64> = fits.iter().map(|f| f[i].0 as f64).collect();
        let deviation = libm::sqrt(dormouse_base::stats::describe::variance(&values) / used as f64);
        spread[i] = Some(Ns(deviation as i64));
    }
    spread
}
