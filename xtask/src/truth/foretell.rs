//! What a reduced recording alone foretells of a change, beside what the kernel
//! then did.

use super::graph::{Key, key};
use super::log::log;
use anyhow::{Context, Result, bail};
use dormouse_model::capture::Capture;
use dormouse_model::cycle::Cycle;
use dormouse_model::device::DeviceId;
use dormouse_model::phase::Phase;
use dormouse_model::time::Ns;
use dormouse_read::Options;
use dormouse_sleep::evidence::fidelity::{Fidelity, Verdict};
use dormouse_sleep::evidence::{Doubt, machine};
use dormouse_sleep::simulate::change::{Change, apply};
use dormouse_sleep::simulate::kernel::{Kernel, choose};
use dormouse_sleep::simulate::predict::{Scheduler, outlook};
use dormouse_sleep::simulate::{Profile, Settings};
use std::collections::BTreeSet;

/// A prediction is right if it is apart by at most so many percent …
pub const PERCENT: i64 = 5;

/// … or by at most this.
pub const FLOOR: Ns = Ns(100_000);

/// How the second recording differs from the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// `/sys/power/pm_async` is now so.
    PmAsync(bool),
    /// Another release.
    Kernel(String),
    /// These are gone.
    Without(Vec<String>),
}

impl Question {
    /// In words, for a table.
    pub fn words(&self) -> String {
        match self {
            Question::PmAsync(on) => format!("pm_async {} to {}", i32::from(!on), i32::from(*on)),
            Question::Kernel(release) => format!("kernel {release}"),
            Question::Without(names) => format!("without {}", names.join(", ")),
        }
    }
}

/// One phase foretold, and what came.
#[derive(Clone, Debug)]
pub struct Row {
    pub told: Told,
    /// What the kernel then did, and how far its cycles were apart.
    pub then: Ns,
    pub spread: Ns,
}

impl Row {
    /// How far the prediction is from what came.
    pub fn apart(&self) -> Ns {
        Ns((self.told.foretold - self.then).0.abs())
    }

    /// Right enough.
    pub fn right(&self) -> bool {
        self.apart() <= Ns((self.then.0 * PERCENT / 100).max(FLOOR.0))
    }
}

/// Reads the kernel log of a recording as if it had come by mail.
pub fn reduced(capture: &Capture, keep: impl Fn(usize) -> bool) -> Result<Capture> {
    let text = log(capture, keep);
    let reading = dormouse_read::read_bytes("reduced.dmesg", text.as_bytes(), &Options::default())?;
    reading.captures.into_iter().next().context("the reduced log has no cycle")
}

/// What changed from `before` to `after`, found by comparing the recordings.
pub fn question(before: &Capture, after: &Capture) -> Result<Question> {
    let release = |c: &Capture| {
        c.cycles.first().map(|y| c.names.get(y.kernel).to_owned()).unwrap_or_default()
    };
    if before.machine.pm_async != after.machine.pm_async {
        return Ok(Question::PmAsync(after.machine.pm_async == Some(true)));
    }
    if release(before) != release(after) {
        return Ok(Question::Kernel(release(after)));
    }
    let left: BTreeSet<Key> = after.graph.devices.iter().map(|d| key(&after.names, d)).collect();
    let gone: Vec<bool> =
        before.graph.devices.iter().map(|d| !left.contains(&key(&before.names, d))).collect();
    // Only the topmost: what depends on it goes with it. Of that, what a log names.
    let top = before.graph.ids().filter(|id| gone[id.index()]).filter(|id| {
        let parent = before.graph.get(*id).parent.is_some_and(|p| gone[p.index()]);
        let mut links = before.graph.links.iter().filter(|l| l.consumer == *id);
        !parent && !links.any(|l| gone[l.supplier.index()])
    });
    let called = |id: DeviceId| {
        before
            .cycles
            .iter()
            .flat_map(|c| &c.callbacks)
            .any(|c| c.device == id && c.phase.may_be_async())
    };
    let names: Vec<String> = top
        .filter(|id| !before.graph.get(*id).facts.no_pm && called(*id))
        .map(|id| before.names.get(before.graph.get(id).name).to_owned())
        .collect();
    if names.is_empty() {
        bail!("the two recordings are of the same machine under the same kernel");
    }
    Ok(Question::Without(names))
}

/// The cycles that both sides are judged by: all but the first after boot, if
/// there are others.
pub fn warm(capture: &Capture) -> Vec<&Cycle> {
    let warm: Vec<&Cycle> = capture.cycles.iter().filter(|c| !c.first_after_boot).collect();
    if warm.is_empty() { capture.cycles.iter().collect() } else { warm }
}

/// Median and distance of the outermost of what `phase` took.
fn times(cycles: &[&Cycle], phase: Phase) -> Option<(Ns, Ns)> {
    let spans = cycles.iter().filter_map(|c| c.phase(phase)).filter(|p| p.complete);
    let mut all: Vec<Ns> = spans.map(|p| p.duration()).collect();
    all.sort_unstable();
    let (&first, &last) = (all.first()?, all.last()?);
    Some((all[all.len() / 2], last - first))
}

/// What the log of `before` alone says of one phase.
#[derive(Clone, Debug)]
pub struct Told {
    pub phase: Phase,
    pub now: Ns,
    pub simulated: Ns,
    pub foretold: Ns,
    pub refused: Option<String>,
}

/// The rules of a release.
pub fn scheduler(release: &str) -> Result<Scheduler> {
    let (policy, kernel): (_, Option<Kernel>) =
        choose(release).map_err(|e| anyhow::anyhow!("{e}"))?;
    Ok(Scheduler { policy, kernel })
}

/// The rules and changes that `question` asks about, of a machine that runs `now`.
pub fn asked(question: &Question, now: Scheduler) -> Result<(Scheduler, Vec<Change>)> {
    Ok(match question {
        Question::PmAsync(on) => (now, vec![Change::PmAsync(*on)]),
        Question::Kernel(release) => (scheduler(release)?, Vec::new()),
        Question::Without(names) => (now, names.iter().cloned().map(Change::Without).collect()),
    })
}

/// Answers `question` from the log of `before` alone.
pub fn tell(
    before: &Capture,
    question: &Question,
    keep: impl Fn(usize) -> bool,
    costs: &Profile,
) -> Result<Vec<Told>> {
    let seen = reduced(before, keep)?;
    let machine = machine(&seen, None).map_err(anyhow::Error::msg)?;
    let (derived, now) = (&machine.derived, scheduler(&machine.release)?);
    let (then, changes) = asked(question, now)?;
    let settings = Settings { profile: costs.clone(), pm_async: None, wakeup_at: None };
    let fidelity = machine.check(&seen, &settings);
    let simulated = outlook(&derived.board, now, &settings)?;
    let changed = apply(&derived.board, &changes).map_err(anyhow::Error::msg)?;
    let foretold = outlook(&changed.board, then, &settings)?;
    let doubt = machine.doubt(&seen, then, &changes, &settings);
    let cycles: Vec<&Cycle> = seen.cycles.iter().collect();
    let mut told = Vec::new();
    for phase in Phase::DEVICE.into_iter().filter(|p| p.may_be_async()) {
        let Some((now, _)) = times(&cycles, phase) else { continue };
        let simulated = simulated.phase(phase);
        told.push(Told {
            phase,
            now,
            simulated,
            // What nothing explains stays as it was.
            foretold: now + (foretold.phase(phase) - simulated),
            refused: refusal(&fidelity, &doubt, phase, question),
        });
    }
    Ok(told)
}

/// Answers the question that the two recordings ask, from the log of `before`
/// alone.
pub fn foretell(
    before: &Capture,
    after: &Capture,
    keep: impl Fn(usize) -> bool,
    costs: &Profile,
) -> Result<(Question, Vec<Row>)> {
    let question = question(before, after)?;
    let mut rows = Vec::new();
    for told in tell(before, &question, keep, costs)? {
        let Some((then, spread)) = times(&warm(after), told.phase) else { continue };
        rows.push(Row { told, then, spread });
    }
    Ok((question, rows))
}

/// As `dormouse predict` refuses: nothing is claimed of a phase that is not
/// reproduced as it was, nor of flags that a log without workers cannot show.
fn refusal(
    fidelity: &Fidelity,
    doubt: &Doubt,
    phase: Phase,
    question: &Question,
) -> Option<String> {
    if fidelity.blind && *question == Question::PmAsync(true) {
        return Some("nothing in the log says which devices are asynchronous".into());
    }
    let check = fidelity.phase(phase)?;
    if check.verdict == Verdict::NotReproduced {
        return Some(format!("took {} and is simulated as {}", check.recorded, check.simulated));
    }
    let range = phase.device_index().and_then(|i| doubt.range[i]).filter(|_| !doubt.agrees(phase));
    range.map(|(low, high)| format!("{} machines say {low} to {high}", doubt.machines))
}
