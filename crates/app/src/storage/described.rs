//! What a load would meet on a disk that somebody described.

use super::change::Change;
use crate::failure::{Nothing, Usage};
use anyhow::{Context, Result};
use dormouse_read::storage::described::{Described, Draft};
use dormouse_storage::simulate::disk::{Outcome, simulate};
use dormouse_storage::simulate::energy::{BreakEven, rests};
use dormouse_storage::simulate::load::Load;
use dormouse_storage::simulate::oracle::{oracle, rule};
use dormouse_storage::simulate::settings::Settings;
use std::io::Read;
use std::path::Path;

/// Longest file that is read.
const LONGEST: u64 = 256 << 20;

/// An answer.
#[derive(Clone, Debug)]
pub struct Foretold {
    /// The disk and its load.
    pub described: Described,
    /// The load.
    pub load: Load,
    /// With the settings of the files.
    pub before: Outcome,
    /// With those asked for, if any was.
    pub after: Option<(Settings, Outcome)>,
    /// By one who knows every arrival.
    pub oracle: Outcome,
    /// By the rule that knows none.
    pub rule: (Settings, Outcome),
    /// When a rest pays.
    pub even: BreakEven,
    /// What the break-even times are of.
    pub basis: Basis,
}

/// What break-even times are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Powers of all states that the disk has.
    Powers,
    /// Somebody gave them, at least one.
    Given,
    /// Nothing but the times of going there and back.
    Times,
}

/// Simulates.
///
/// # Errors
/// [`Usage`] if a file cannot be understood; [`Nothing`] if none has a load.
pub fn described(disk: &Path, load: Option<&Path>, change: &Change) -> Result<Foretold> {
    let mut draft = Draft::default();
    for path in [Some(disk), load].into_iter().flatten() {
        let name = path.display();
        let file = std::fs::File::open(path).with_context(|| format!("cannot open {name}"))?;
        let mut text = String::new();
        let read = file.take(LONGEST).read_to_string(&mut text);
        read.with_context(|| format!("cannot read {name}"))?;
        draft.read(&text).map_err(|e| Usage(format!("{name}: {e} (docs/storage.md)")))?;
    }
    let described =
        draft.finish().map_err(|e| Usage(format!("{}: {e} (docs/storage.md)", disk.display())))?;
    let Some(load) = described.load.clone() else {
        let why = "no file has a load; write for example: load burst 8 every 200ms count 120";
        return Err(Nothing(why.into()).into());
    };
    let before = simulate(&described.drive, &described.settings, &load);
    let after = if change.is_none() {
        None
    } else {
        let s = change.apply(&described.drive, &described.settings)?;
        Some((s, simulate(&described.drive, &s, &load)))
    };
    let rests = rests(&described.drive, &described.powers);
    let given = described.even != BreakEven::default();
    let (even, rests, basis) = match &rests {
        _ if given => (described.even, None, Basis::Given),
        Some(r) => (BreakEven::of(r), Some(r), Basis::Powers),
        None => (BreakEven::of_times(&described.drive), None, Basis::Times),
    };
    let best = oracle(&described.drive, &described.settings, &load, rests, &even);
    let own = rule(&described.drive, &described.settings, &even);
    let rule = (own, simulate(&described.drive, &own, &load));
    Ok(Foretold { described, load, before, after, oracle: best, rule, even, basis })
}
