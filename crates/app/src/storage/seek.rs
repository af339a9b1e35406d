//! The settings of a disk that meet a budget at least cost, of one that was recorded or
//! that somebody described.

use super::change::Change;
use super::described::{Basis, described};
use super::observed::observed;
use super::show::Shown;
use super::tune::{Budget, Wish};
use crate::failure::Usage;
use anyhow::{Context, Result};
use dormouse_read::storage::described::Draft;
use dormouse_storage::request::Disk;
use dormouse_storage::search::{Choice, Found, Price, Space, search};
use dormouse_storage::simulate::disk::simulate;
use dormouse_storage::simulate::energy::{BreakEven, Powers, rests};
use dormouse_storage::simulate::load::Load;
use dormouse_storage::simulate::oracle::{oracle, rule};
use dormouse_storage::simulate::settings::{Drive, Settings};
use dormouse_storage::summary::Latency;
use std::path::Path;

/// Requests that a search may simulate, over all settings that it tries.
const MOST_REQUESTS: u64 = 20_000_000;

/// Settings that are tried, whatever the load.
const LEAST_TRIED: u64 = 60;

/// What was found.
#[derive(Clone, Debug)]
pub struct Sought {
    /// The recording, or the file of the disk.
    pub source: String,
    /// Of a recording: its disk, the device that devfreq scales, and its latencies.
    pub recorded: Option<(Disk, String, Latency)>,
    /// What the disk is like.
    pub drive: Drive,
    /// Its load.
    pub load: Load,
    /// What its states cost.
    pub powers: Powers,
    /// When a rest pays.
    pub even: BreakEven,
    /// What the break-even times are of.
    pub basis: Basis,
    /// Now, chosen, and how it was searched.
    pub found: Found,
    /// By one who knows every request.
    pub oracle: Choice,
    /// By the rule that knows none.
    pub rule: Choice,
}

/// A disk, its settings, its load and what it costs.
struct Given {
    drive: Drive,
    settings: Settings,
    load: Load,
    powers: Powers,
    even: BreakEven,
}

/// Of a disk that somebody described.
///
/// # Errors
/// As [`described`].
pub fn seek_described(
    disk: &Path,
    load: Option<&Path>,
    wish: &Wish,
    thresholds: bool,
) -> Result<Sought> {
    let f = described(disk, load, &Change::default())?;
    let d = f.described;
    let given = Given {
        drive: d.drive,
        settings: d.settings,
        load: f.load,
        powers: d.powers,
        even: d.even,
    };
    seek(disk.display().to_string(), None, given, wish, thresholds)
}

/// Of a recording that shows what clocks cost; `costs` is a file with lines of powers,
/// energies and break-even times, as in the description of a disk.
///
/// # Errors
/// As [`observed`]; [`Usage`] if the file cannot be understood.
pub fn seek_recorded(
    shown: &Shown,
    costs: Option<&Path>,
    wish: &Wish,
    thresholds: bool,
) -> Result<Sought> {
    let o = observed(shown, wish.disk)?;
    let (powers, even) = match costs {
        None => (Powers::unknown(o.drive.levels.len()), BreakEven::default()),
        Some(path) => {
            let name = path.display();
            let text =
                std::fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
            let mut draft = Draft::default();
            let read = draft.read(&text).and_then(|()| draft.costs(&o.drive.levels));
            read.map_err(|e| Usage(format!("{name}: {e} (docs/storage.md)")))?
        }
    };
    let recorded = (o.disk, o.device, o.recorded);
    let (drive, settings, load) = (o.drive, o.settings, o.load);
    let given = Given { drive, settings, load, powers, even };
    seek(o.source, Some(recorded), given, wish, thresholds)
}

fn seek(
    source: String,
    recorded: Option<(Disk, String, Latency)>,
    given: Given,
    wish: &Wish,
    thresholds: bool,
) -> Result<Sought> {
    let Given { drive, settings, load, powers, even } = given;
    let table = rests(&drive, &powers);
    let known = even != BreakEven::default();
    let (even, basis) = match &table {
        _ if known => (even, Basis::Given),
        Some(r) => (BreakEven::of(r), Basis::Powers),
        None => (BreakEven::of_times(&drive), Basis::Times),
    };
    let now = simulate(&drive, &settings, &load);
    // Powers that leave out a state of now compare nothing.
    let price = match powers.energy(&now) {
        Ok(_) => Price::Powers(&powers),
        Err(_) if !powers.any() => Price::Times(&even),
        Err(state) => {
            let why = format!(
                "no power of {} is given, in which this disk is now",
                dormouse_words::storage::model::state_text(&drive, state)
            );
            return Err(Usage(why).into());
        }
    };
    let p99 = match wish.budget {
        Budget::P99(ns) => Some(ns),
        Budget::Energy => None,
    };
    let space = Space::of(&drive, &settings, &even, &now.gaps, thresholds);
    let most = (MOST_REQUESTS / (load.count() as u64).max(1)).max(LEAST_TRIED);
    let found = search(&drive, &settings, &load, price, p99, &space, most);
    let choice = |settings: Settings, outcome| {
        let cost = price.of(&outcome);
        Choice { settings, outcome, cost }
    };
    let table = if known { None } else { table };
    let best = oracle(&drive, &settings, &load, table.as_ref(), &even);
    let own = rule(&drive, &settings, &even);
    let (best, own) = (choice(settings, best), choice(own, simulate(&drive, &own, &load)));
    Ok(Sought {
        source,
        recorded,
        load,
        even,
        basis,
        found,
        oracle: best,
        rule: own,
        drive,
        powers,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_words::storage::disk::describe;

    const DISK: &str = include_str!("../../../cli/tests/fixtures/laboratory.disk");

    fn read(text: &str) -> dormouse_read::storage::described::Described {
        let mut d = Draft::default();
        d.read(text).and_then(|()| d.finish()).unwrap()
    }

    #[test]
    fn a_disk_that_was_written_is_read_again() {
        let open = DISK.replace("load burst 8 every 200ms count 120", "at 5ms 4096\nat 9ms");
        let more = "qos lun\ntimeout 3ms\nmin-freq 400MHz\ngate-delay 2ms\nslack 25\ntick 4ms\n\
                    idle-stop always\ntimer deferrable\nbreak-even gate 4ms\n";
        for text in [DISK.to_string(), open + more] {
            let d = read(&text);
            let load = d.load.as_ref().unwrap();
            let again = read(&describe(&d.drive, &d.settings, load, &d.powers, &d.even));
            assert_eq!(d, again);
        }
    }

    #[test]
    fn the_settings_that_are_chosen_give_what_was_said() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.disk");
        std::fs::write(&path, DISK).unwrap();
        let wish = Wish { asked: None, budget: Budget::P99(600_000), break_even: None, disk: None };
        let s = seek_described(&path, None, &wish, false).unwrap();
        assert!(s.found.met && s.found.chosen.outcome.latency().p99 <= 600_000);
        let text = describe(&s.drive, &s.found.chosen.settings, &s.load, &s.powers, &s.even);
        let d = read(&text);
        let o = simulate(&d.drive, &d.settings, &s.load);
        assert_eq!(o, s.found.chosen.outcome);
        // A power of what it does now is missing.
        std::fs::write(&path, DISK.replace("power idle 100MHz 60mW\n", "")).unwrap();
        let e = seek_described(&path, None, &wish, false).unwrap_err().to_string();
        assert!(e.contains("idle at 100 MHz"), "{e}");
    }
}
