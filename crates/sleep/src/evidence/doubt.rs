//! Other machines that explain a recording as well.
//!
//! That a machine reproduces its recording is not enough, because many do. So
//! several are made that differ in what the recording does not say
//! ([`super::unseen`]) and in what the machinery costs, and simulate to the
//! recording all the same. A prediction is claimed only where all of them answer
//! alike.

use super::fidelity::WORTH;
use super::starts::Starts;
use super::unseen::{Rates, Unseen};
use super::{Verdict, Witness, tick};
use crate::simulate::Settings;
use crate::simulate::change::{Change, apply};
use crate::simulate::cost::{Costs, Profile};
use crate::simulate::outlook::{Outlook, Scheduler, outlook};
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::stats::random::Random;
use dormouse_base::time::Ns;
use dormouse_board::Board;
use dormouse_board::derive::Derived;

/// So many machines beside the claimed one, and at most as many again of which
/// each callback begins when it did.
const MACHINES: u64 = 24;

/// So many where all of the machine is listed, and chance alone is open.
const WHOLE: u64 = 16;

/// How often a machine that does not explain the recording is drawn again, with
/// less that is unseen.
const TRIES: usize = 4;

/// What the machinery costs, in halves of what the settings say; some are more
/// than the recording leaves room for.
const COSTS: [i64; 4] = [2, 1, 4, 8];

/// Machines agree on a phase if they are apart by at most so many percent …
const PERCENT: i64 = 4;

/// … or by at most this.
const LEAST: Ns = Ns(80_000);

/// Two machines explain a recording alike if they miss it by this or less …
const ALIKE: Ns = Ns(200_000);

/// … or by at most one of so many parts of it.
const ALIKE_PART: i64 = 100;

/// [`Phase::device_index`] of resume noirq.
const RESUME_NOIRQ: usize = 4;

/// A machine that explains the recording too.
#[derive(Clone, Debug)]
struct Other {
    board: Board,
    /// Costs of the machinery, in halves of those of the settings.
    halves: i64,
    /// Simulated as it was.
    before: [Ns; 8],
    /// Each callback begins when it did.
    begins: bool,
}

/// What all machines together say of the changed phases.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Doubt {
    /// How many machines answered.
    pub machines: usize,
    /// The recording lists links, flags and silent devices: the machines differ only in
    /// costs and in chance.
    pub listed: bool,
    /// No line says how long a tick is; so long a one was taken where it matters.
    pub tick: Option<Ns>,
    /// The shortest and the longest answer by [`Phase::device_index`], the
    /// recorded time and what the change makes of it.
    pub range: [Option<(Ns, Ns)>; 8],
    /// What the claimed machine answers.
    pub claim: [Option<Ns>; 8],
    /// The same of the whole way down and the whole way up, with `prepare` and
    /// `complete` as recorded.
    pub half: [Option<(Ns, Ns)>; 2],
    /// The halves as recorded.
    pub today: [Ns; 2],
    /// Recorded in `prepare` and `complete`, of which no machine tells.
    pub beside: [Ns; 2],
    /// As `range`, of machines that explain the recording callback by callback, and
    /// without what nothing explains: if these differ, no reading of the recording
    /// can tell.
    pub witnessed: [Option<(Ns, Ns)>; 8],
}

impl Doubt {
    /// Whether one answer of `phase` is right for all machines.
    pub fn agrees(&self, phase: Phase) -> bool {
        let answered = |i: usize| self.range[i].is_none() || self.answer(i).is_some();
        phase.device_index().is_none_or(answered)
    }

    /// That answer: of the claimed machine, or the middle of all.
    fn answer(&self, index: usize) -> Option<Ns> {
        let (claim, range) = (self.claim[index]?, self.range[index]?);
        let middle = Ns::mean(range.0, range.1);
        [claim, middle].into_iter().find(|a| alike(*a, range))
    }

    /// How far that answer is from what the claimed machine says.
    pub fn shift(&self, phase: Phase) -> Ns {
        let shift = |i: usize| Some(self.answer(i)? - self.claim[i]?);
        phase.device_index().and_then(shift).unwrap_or_default()
    }

    /// The shortest and the longest answer of a half, if machines differ there: by more
    /// than its phases may be off together.
    pub fn open(&self, direction: Direction) -> Option<(Ns, Ns)> {
        let phases = Phase::DEVICE.iter().filter(|p| p.direction() == direction);
        let answer = |p: &Phase| Some(self.claim[p.device_index()?]? + self.shift(*p));
        let answers = phases.filter_map(answer);
        let (sum, may) = answers.fold((Ns::ZERO, Ns::ZERO), |(s, m), a| (s + a, m + allowed(a)));
        let half = usize::from(direction == Direction::Resume);
        let sum = sum + self.beside[half];
        self.half[half].filter(|(low, high)| (*high - sum).max(sum - *low) > may)
    }

    fn note(&mut self, answers: &[Option<(Ns, Ns)>; 8], begins: bool) {
        self.machines += 1;
        let wider = |to: &mut Option<(Ns, Ns)>, (low, high): (Ns, Ns)| {
            let range = to.get_or_insert((low, high));
            *range = (range.0.min(low), range.1.max(high));
        };
        let mut halves: [Option<(Ns, Ns)>; 2] = [None; 2];
        for (phase, answer) in Phase::DEVICE.into_iter().zip(answers) {
            let (Some(i), Some((low, high))) = (phase.device_index(), *answer) else { continue };
            // The claimed machine comes first.
            self.claim[i].get_or_insert(Ns::mean(low, high));
            wider(&mut self.range[i], (low, high));
            if begins {
                let answer = Ns::mean(low, high);
                wider(&mut self.witnessed[i], (answer, answer));
            }
            let half = &mut halves[usize::from(phase.direction() == Direction::Resume)];
            let sum = half.get_or_insert((Ns::ZERO, Ns::ZERO));
            *sum = (sum.0 + low, sum.1 + high);
        }
        for ((to, half), beside) in self.half.iter_mut().zip(halves).zip(self.beside) {
            half.into_iter().for_each(|(l, h)| wider(to, (l + beside, h + beside)));
        }
    }
}

/// Whether `answer` is right for all of `range`.
fn alike(answer: Ns, (low, high): (Ns, Ns)) -> bool {
    (high - answer).max(answer - low) <= allowed(answer)
}

/// So far from `answer` machines may be that agree with it.
fn allowed(answer: Ns) -> Ns {
    Ns(answer.0 * PERCENT / 100).max(LEAST)
}

fn times(o: &Outlook) -> [Ns; 8] {
    let mut all = [Ns::ZERO; 8];
    for phase in Phase::DEVICE {
        if let Some(i) = phase.device_index() {
            all[i] = o.phase(phase);
        }
    }
    all
}

/// `settings` with costs of so many halves.
fn with_costs(settings: &Settings, halves: i64) -> Settings {
    let mut settings = settings.clone();
    if halves != 2 {
        let profile: &mut Profile = &mut settings.profile;
        for (name, _) in Costs::NAMES {
            if let Some(cost) = profile.costs.field(name) {
                cost.0 = cost.0 * halves / 2;
            }
        }
    }
    settings
}

/// Machines that explain `cycles` as well as `derived`, the claimed one first, for
/// a question about `changes`. Where the recording lists links they differ only in
/// costs and in what a callback does when no CPU keeps it until its first tick.
fn others(
    derived: &Derived,
    witness: &Witness,
    changes: &[Change],
    settings: &Settings,
) -> Vec<Other> {
    let by = witness.scheduler;
    let mut list = Vec::new();
    let Ok(claimed) = outlook(&derived.board, by, settings) else { return list };
    let before = times(&claimed);
    list.push(Other { board: derived.board.clone(), halves: 2, before, begins: true });
    let misses = |index: usize, time: Ns| derived.observed[index].map(|o| (time - o).0.abs());
    // A phase that the claimed machine does not reproduce tells nothing.
    let told: Vec<usize> = (1..7)
        .filter(|&i| {
            derived.observed[i].is_some_and(|o| Verdict::on(o, before[i]) != Verdict::NotReproduced)
        })
        .collect();
    let slack = |i: usize| {
        let seen = derived.observed[i].filter(|_| told.contains(&i))?;
        Some(ALIKE.max(Ns(seen.0 / ALIKE_PART)))
    };
    // The phases take as long …
    let explains = |times: &[Ns; 8]| {
        told.iter().all(|&i| match (misses(i, times[i]), misses(i, before[i]), slack(i)) {
            (Some(is), Some(was), Some(slack)) => is <= was + slack.0,
            _ => true,
        })
    };
    if witness.listed {
        list.extend(by_chance(derived, witness, settings).filter(|other| explains(&other.before)));
        return list;
    }
    let mut gone = std::vec![false; derived.board.devices.len()];
    if let Ok(changed) = apply(&derived.board, changes) {
        gone.fill(true);
        changed.origin.iter().for_each(|d| gone[d.index()] = false);
    }
    let unseen = Unseen::new(derived, witness);
    let begun = Starts::recorded(&derived.board, &witness.phases);
    let claimed = Starts::simulated(&derived.board, &claimed.run.cycle);
    // … and each callback begins when it did.
    let begins = |board: &Board, o: &Outlook| {
        let starts = Starts::simulated(board, &o.run.cycle);
        begun.explained_alike(&starts, &claimed, slack)
    };
    let may_go = unseen.may_go(&gone);
    for number in 0..MACHINES {
        let mut r = Random::new(number);
        // One device that goes too, or several.
        let from = may_go.len().min(number as usize);
        let several = if number % 2 == 0 { 1 } else { 4 };
        let certain = &may_go[from..may_go.len().min(from + several)];
        // The first that explains the phases, and the first of which each callback
        // begins when it did: what is hard to draw is not impossible.
        let mut found = false;
        for attempt in 0..TRIES * COSTS.len() {
            let halves = COSTS[(number as usize + attempt) % COSTS.len()];
            let rates = Rates::USUAL.times(1 + number % 4, 2 << (attempt / COSTS.len()));
            let devices = unseen.apart(rates, &mut r);
            let mut again = r.clone();
            let board = unseen.draw(rates, &derived.board.devices, certain, &gone, &mut r);
            let Ok(o) = outlook(&board, by, &with_costs(settings, halves)) else { continue };
            let before = times(&o);
            if !explains(&before) {
                continue;
            }
            let begins = begins(&board, &o);
            if begins || !found {
                let board = unseen.draw(rates, &devices, certain, &gone, &mut again);
                list.push(Other { board, halves, before, begins });
                found = true;
            }
            if begins {
                break;
            }
        }
    }
    list
}

/// The machine of a recording that lists all of it, with other costs, and with times
/// of callbacks that had not slept until the first tick of a CPU.
fn by_chance<'a>(
    derived: &'a Derived,
    witness: &'a Witness,
    settings: &'a Settings,
) -> impl Iterator<Item = Other> + 'a {
    let by = witness.scheduler;
    let held = tick::held(witness.latest, &witness.phases);
    let chance = witness.latest.is_some();
    let numbers = 0..if chance { WHOLE } else { COSTS.len() as u64 };
    let all = numbers.map(|n| (n, COSTS[n as usize % COSTS.len()]));
    // Without chance one machine of the settings' costs is enough.
    all.filter(move |(_, halves)| chance || *halves != 2).filter_map(move |(number, halves)| {
        let mut board = derived.board.clone();
        let before = times(&outlook(&board, by, &with_costs(settings, halves)).ok()?);
        let mut r = Random::new(number);
        for (d, own) in held.iter().filter(|_| r.chance(1, 2)) {
            if let Some(w) = &mut board.devices[*d as usize].work[RESUME_NOIRQ] {
                w.sleep = w.sleep.min(*own);
            }
        }
        Some(Other { board, halves, before, begins: true })
    })
}

/// What the machine `derived` and others that explain its recording, of which `witness`
/// is kept, say of `changes` under `then`. What of a phase
/// nothing explains may change: by all of it on another kernel, by half of it if other
/// threads run the callbacks, else by a quarter; and by as large a part as the phase
/// itself changes. Of a phase under [`WORTH`] a third may come or go with the threads
/// that run it, or all that it changes by. Where CPUs had just come up, each other
/// machine has a first tick of its own.
pub fn doubt(
    derived: &Derived,
    witness: &Witness,
    then: Scheduler,
    changes: &[Change],
    settings: &Settings,
) -> Doubt {
    let others = others(derived, witness, changes, settings);
    let (now, latest, tick) = (witness.scheduler, witness.latest, witness.tick);
    let mut doubt = Doubt { listed: witness.listed, ..Doubt::default() };
    for phase in Phase::DEVICE {
        let Some(i) = phase.device_index() else { continue };
        let half = usize::from(phase.direction() == Direction::Resume);
        let seen = derived.observed[i].unwrap_or_default();
        doubt.today[half] += seen;
        doubt.beside[half] += if (1..7).contains(&i) { Ns::ZERO } else { seen };
    }
    doubt.tick = latest.and(tick.assumed.then_some(tick.length));
    let threads = changes.iter().any(|c| matches!(c, Change::PmAsync(_)));
    let part = match now.policy.name == then.policy.name {
        false => 1,
        true if threads => 2,
        true => 4,
    };
    for (number, other) in others.iter().enumerate() {
        let Ok(changed) = apply(&other.board, changes) else { continue };
        let settings = with_costs(settings, other.halves);
        let Ok(o) = outlook(&changed.board, then, &settings) else { continue };
        let mut after = times(&o);
        if let Some(latest) = latest.filter(|_| o.pm_async && number > 0) {
            let mut r = Random::new(number as u64);
            let run = |b: &Board| Some(outlook(b, then, &settings).ok()?.run.cycle);
            let late = tick::late(&changed.board, &o.run.cycle, latest, &mut r, run);
            after[RESUME_NOIRQ] = late.unwrap_or(after[RESUME_NOIRQ]);
        }
        let mut answers = [None; 8];
        for (i, (after, before)) in after.into_iter().zip(other.before).enumerate() {
            let seen = derived.observed[i].filter(|_| (1..7).contains(&i));
            answers[i] = seen.map(|seen| {
                let change = after - before;
                let answer = seen + change;
                let rest = (seen - before).0.abs();
                let moved = change.0.abs().min(before.0).saturating_mul(rest) / before.0.max(1);
                // A short phase is the kernel's own work for the most part, and it passes
                // the self-check whatever that costs.
                let own =
                    if threads && seen < WORTH { (seen.0 / 3).max(change.0.abs()) } else { 0 };
                let rest = Ns((rest / part).max(moved).max(own));
                ((answer - rest).max(Ns::ZERO), answer + rest)
            });
        }
        doubt.note(&answers, other.begins);
    }
    doubt
}
