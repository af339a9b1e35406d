//! What a machine's sleep would take if something changed.

use crate::changes::Changes;
use crate::kernels::{Now, scheduler};
use dormouse_base::capture::Capture;
use dormouse_board::assumed::Assumed;
use dormouse_board::derive::Derived;
use dormouse_sleep::evidence::{self, Doubt, Fidelity, Witness, doubt};
use dormouse_sleep::simulate::change::{Change, apply};
use dormouse_sleep::simulate::note::Note;
use dormouse_sleep::simulate::policy::{self, Policy};
use dormouse_sleep::simulate::predict::{
    Outlook, Prediction, Question, Scheduler, outlook, predict as simulate,
};
use dormouse_sleep::simulate::{Profile, Settings, Stuck};

/// How to simulate with the costs of `profile`: with as many CPUs as asked for,
/// also where the profile brings CPUs of its own.
pub fn settings(mut profile: Profile, cpus: Option<u32>) -> Settings {
    if cpus.is_some() {
        profile.cpus = None;
    }
    Settings { profile, pm_async: None, wakeup_at: None }
}

/// A machine and what is asked about it.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// The machine.
    pub derived: &'a Derived,
    /// The kernel release that was recorded; empty if none.
    pub release: &'a str,
    /// The kernel that the machine is taken to run now, instead.
    pub from_kernel: Option<&'a str>,
    /// The rules that the times of the recording support, if it names no kernel.
    pub shown: Option<Scheduler>,
    /// How well the recording is reproduced.
    pub fidelity: &'a Fidelity,
    /// What the recording shows beside the machine, so that other machines that
    /// explain it can be asked too; `None` for a board file.
    pub witness: Option<&'a Witness>,
    /// What changes.
    pub changes: &'a Changes,
    /// How to simulate: see [`settings`].
    pub settings: &'a Settings,
    /// Cycles resampled for the range; 0 for none.
    pub samples: u32,
    /// Seed of the resampling.
    pub seed: u64,
}

/// A prediction and what it rests on.
#[derive(Debug)]
pub struct Predicted {
    /// Before and after. Its assumptions begin with the guess, if one was made.
    pub prediction: Prediction,
    /// The rules now.
    pub now: Scheduler,
    /// The rules after the change.
    pub then: Scheduler,
    /// The changes, in the order in which they were applied.
    pub changes: Vec<Change>,
}

/// Simulates the machine before and after the change. `hint` says how to
/// name a kernel where one is guessed.
///
/// # Errors
/// A sentence: a kernel that is not known, a pattern that no device matches, or
/// a board that has no schedule.
pub fn predict(ask: &Ask<'_>, hint: Option<&'static str>) -> Result<Predicted, String> {
    let now = Now::of(ask.from_kernel, ask.release)?.or(ask.shown);
    let then = ask.changes.kernel.as_deref().map_or(Ok(now.by), scheduler)?;
    let changes = ask.changes.list()?;
    let between = [now.by, then];
    let doubt = doubt_of(ask.derived, ask.witness, between, &changes, ask.settings);
    let question = Question {
        derived: ask.derived,
        now: now.by,
        then,
        changes: &changes,
        settings: ask.settings,
        fidelity: ask.fidelity,
        doubt: &doubt,
        seed: ask.seed,
        samples: ask.samples,
    };
    let mut prediction = simulate(&question)?;
    if now.guessed {
        prediction.assumptions.insert(0, Assumed::NewestKernel(hint));
    }
    Ok(Predicted { prediction, now: now.by, then, changes })
}

/// What other machines that explain the recording say of `changes` and of the second
/// rules in place of the first; nothing where nothing changes or nothing was recorded.
pub fn doubt_of(
    derived: &Derived,
    witness: Option<&Witness>,
    [now, then]: [Scheduler; 2],
    changes: &[Change],
    settings: &Settings,
) -> Doubt {
    let same = changes.is_empty() && then.policy.name == now.policy.name;
    match witness {
        Some(witness) if !same => doubt(derived, witness, then, changes, settings),
        _ => Doubt::default(),
    }
}

/// One generation of kernels and what the machine would take on it.
pub(crate) type KernelRow = (&'static Policy, Result<Outlook, Stuck>);

/// The changed machine under the rules of every kernel generation and of the
/// proposals, and what applying the changes had to note.
///
/// # Errors
/// As [`predict`].
pub fn all_kernels(ask: &Ask<'_>) -> Result<(Vec<KernelRow>, Vec<Note>), String> {
    let changed = apply(&ask.derived.board, &ask.changes.list()?)?;
    let rows = policy::KERNELS
        .into_iter()
        .chain([&policy::DC, &policy::DCW])
        .map(|p| (p, outlook(&changed.board, Scheduler { policy: p, kernel: None }, ask.settings)))
        .collect();
    Ok((rows, changed.notes))
}

/// The cycle that is predicted for the machine of `capture`, as a capture like
/// an observed one.
///
/// # Errors
/// As [`predict`], and if no cycle has a device callback.
pub fn predicted_capture(capture: &Capture, changes: &Changes) -> Result<Capture, String> {
    let machine = evidence::machine(capture, None)?;
    let settings = settings(Profile::x86(), changes.cpus);
    let ask = Ask {
        derived: &machine.derived,
        release: &machine.release,
        shown: machine.supported.as_ref().map(|_| machine.scheduler),
        fidelity: &machine.check(capture, &settings),
        witness: Some(&machine.witness(capture)),
        from_kernel: None,
        changes,
        settings: &settings,
        samples: 0,
        seed: 1,
    };
    let p = predict(&ask, None)?.prediction;
    Ok(Capture {
        names: p.changed.board.names,
        graph: p.changed.board.graph,
        cycles: vec![p.after.run.cycle],
        ..Capture::default()
    })
}
