//! What a recording proves of the machine it was made on: which devices are
//! asynchronous, who waits for whom, and whether the rules of its kernel
//! reproduce it at all.
//!
//! A log names callbacks, threads and times. Flags of devices without
//! callbacks, device links and unlisted devices are inferred, as few as explain
//! what was recorded, each with its evidence; and the recording is simulated as
//! it was ([`fidelity`]), so that nobody has to trust a prediction whose start
//! is wrong.

pub mod doubt;
mod expected;
pub mod fidelity;
pub mod flags;
pub mod generation;
pub mod late;
pub mod links;
mod say;
mod starts;
pub mod subsystem;
mod tick;
mod unseen;
pub mod waits;
pub mod witness;

pub use doubt::{Doubt, doubt};
pub use expected::{Recorded, Seen};
pub use fidelity::{Check, Fidelity, Missing, Verdict, check};
pub use flags::{Flag, FlagProof};
pub use generation::Supported;
pub use late::{Late, late};
pub use tick::Tick;
pub use waits::Wait;
pub use witness::Witness;

use crate::simulate::Settings;
use crate::simulate::change::Change;
use crate::simulate::contention::locks;
use crate::simulate::kernel::choose;
use crate::simulate::outlook::Scheduler;
use crate::simulate::policy::{self, Policy};
use dormouse_base::capture::Capture;
use dormouse_board::derive::{Derived, chosen_cycles, derive};

/// The machine that a recording shows.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Its board, with what was inferred; its assumptions say all of it.
    pub derived: Derived,
    /// The kernel release that the recording names; empty if it names none.
    pub release: String,
    /// The rules it was read with: of the release, of what was asked for, or of
    /// the generation that the recording supports.
    pub scheduler: Scheduler,
    /// What the recording says of the generation, where no kernel is named.
    pub supported: Option<Supported>,
    /// Inferred flags.
    pub flags: Vec<Flag>,
    /// Inferred waits.
    pub waits: Vec<Wait>,
}

impl Machine {
    /// The self-check: every cycle of `capture`, which this machine was made
    /// from, simulated as it was.
    pub fn check(&self, capture: &Capture, settings: &Settings) -> Fidelity {
        check(&chosen_cycles(capture), &self.derived, self.scheduler, settings)
    }

    /// What this machine and others that explain `capture` as well, which it was
    /// made from, say of `changes` under `then`: see [`mod@doubt`].
    pub fn doubt(
        &self,
        capture: &Capture,
        then: Scheduler,
        changes: &[Change],
        settings: &Settings,
    ) -> Doubt {
        doubt(&self.derived, &self.witness(capture), then, changes, settings)
    }

    /// What `capture`, which this machine was made from, shows beside its board.
    pub fn witness(&self, capture: &Capture) -> Witness {
        let tick = Tick::of(capture.machine.tick, &self.release);
        let cycles = chosen_cycles(capture);
        Witness::new(&cycles, &self.derived, &self.flags, tick, self.scheduler)
    }
}

/// The machine that `capture` shows, under the rules of `asked`, else of the
/// kernel it names, else of the generation it supports.
///
/// # Errors
/// As [`derive`].
pub fn machine(capture: &Capture, asked: Option<Scheduler>) -> Result<Machine, String> {
    machine_among(capture, asked, &generation::ALL)
}

/// The same; if it must be guessed, the generation is one of `candidates`.
///
/// # Errors
/// As [`derive`].
pub fn machine_among(
    capture: &Capture,
    asked: Option<Scheduler>,
    candidates: &[&'static Policy],
) -> Result<Machine, String> {
    let mut derived = derive(capture)?;
    let cycles = chosen_cycles(capture);
    let releases = capture.cycles.iter().map(|c| capture.names.get(c.kernel));
    let release: String = releases.into_iter().find(|k| !k.is_empty()).unwrap_or("").into();
    let named = choose(&release).ok().map(|(policy, kernel)| Scheduler { policy, kernel });
    let (scheduler, supported) = match asked.or(named) {
        Some(s) => (s, None),
        None => {
            let s = generation::supported(&cycles, &derived, candidates);
            (Scheduler { policy: s.policy, kernel: None }, Some(s))
        }
    };
    // A switched-off pm_async is no generation.
    let rules = if derived.board.pm_async { scheduler.policy } else { &policy::G0 };
    let flags = flags::decide(&cycles, &mut derived, rules, scheduler.kernel.as_ref());
    let inferred = waits::infer(&cycles, &mut derived, rules);
    let inferred = waits::confirmed(inferred, &mut derived, scheduler);
    links::links(capture, &mut derived, scheduler);
    locks(capture, &mut derived);
    say::say(&mut derived, supported.as_ref(), &flags, &inferred);
    Ok(Machine { derived, release, scheduler, supported, flags, waits: inferred })
}
