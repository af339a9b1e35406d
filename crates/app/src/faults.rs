//! What tables of idle states, of drives and of power domains prove, and settings of devices:
//! `check` says the same of them as `show`.

use crate::doctor::{Judged, doctor};
use crate::failure::Nothing;
use crate::subject::speaks_of_domains;
use anyhow::Result;
use dormouse_base::finding::{Area, Finding, Level};
use dormouse_base::loss::Losses;
use dormouse_doctor::Report;
use dormouse_doctor::finding::Unchecked;
use dormouse_idle::fault::{faults as of_idle, late, limited};
use dormouse_power::judge;
use dormouse_read::Given;
use dormouse_read::idle::Keep;
use dormouse_storage::fault::{
    contradicted, failed, faults as of_storage, in_name_only, kept_awake, spins_on,
};
use dormouse_storage::held::by_settings;
use dormouse_words::text::safe;
use std::slice::from_ref;

/// What tables prove, and what they show.
struct Faults {
    found: Vec<Finding>,
    /// They show runtime power management.
    runtime: bool,
}

/// What tables in `given` prove; nothing if it has none.
fn faults(given: &Given) -> Result<Option<Faults>> {
    let idle = given.idle(Keep::Counts)?;
    let storage = given.storage()?;
    let mut found: Vec<Finding> =
        given.power()?.iter().flat_map(|t| judge(&t.case).findings).collect();
    if !idle.speaks_besides_traces() && !storage.speaks() && found.is_empty() {
        return Ok(None);
    }
    found.extend(of_idle(&idle.snapshots, &idle.runs, &idle.absent, &idle.limits));
    found.extend(limited(&idle.latencies, &idle.snapshots));
    found.extend(of_storage(&storage.drives));
    found.extend(failed(&storage.traces));
    found.extend(kept_awake(&by_settings(&storage.knobs)));
    found.extend(in_name_only(&storage.knobs));
    found.extend(contradicted(&storage.knobs));
    found.extend(spins_on(&storage.knobs));
    found.extend(late(&idle.late));
    let events = storage.traces.iter().any(|t| !t.runtime.devices.is_empty());
    let runtime = events || !storage.knobs.power.is_empty();
    Ok(Some(Faults { found, runtime }))
}

/// Judges every text of which a kernel or a writer speaks, as a section above those of its tables:
/// what is wrong by a table is said there first, and what keeps devices from probing has a section
/// that says it.
///
/// # Errors
/// As [`doctor`].
pub fn above_tables(given: &Given) -> Result<Vec<Judged>> {
    let mut out = doctor(given)?;
    let wrong = |f: &Finding| f.level != Level::Note && f.area != Area::Domain;
    // Tables of a folder may be of another of its files.
    if let ([judged], [path]) = (&mut out[..], given.paths())
        && !path.is_dir()
        && let Some(Faults { mut found, .. }) = faults(given)?
    {
        found.retain(wrong);
        judged.report.join(found);
    }
    Ok(out)
}

/// Judges every text that is given: what its kernel said, and its tables.
///
/// # Errors
/// If an input cannot be read, or [`Nothing`] if none of them speaks of sleep or has a table.
pub fn checked(given: &Given) -> Result<Vec<Judged>> {
    let (mut out, silent) = match doctor(given) {
        Ok(judged) => (judged, None),
        Err(e) => match e.downcast::<Nothing>() {
            // What keeps devices from probing is judged elsewhere, and as a whole.
            Ok(nothing) if speaks_of_domains(given) => return Err(nothing.into()),
            Ok(nothing) => (Vec::new(), Some(nothing)),
            Err(e) => return Err(e),
        },
    };
    for path in given.paths() {
        let one = match given.paths() {
            [_] => None,
            _ => Some(given.only(from_ref(path))),
        };
        let Some(Faults { found, runtime }) = faults(one.as_ref().unwrap_or(given))? else {
            continue;
        };
        let name = safe(&path.display().to_string()).into_owned();
        // Standard input has a name of its own.
        let alone = path.as_os_str() == "-" && one.is_none() && out.len() == 1;
        match out.iter_mut().find(|j| alone || j.name == name) {
            Some(judged) => {
                judged.report.join(found);
                // What a log alone does not answer, tables and events beside it may.
                judged.report.unchecked.retain(|u| !(runtime && *u == Unchecked::RuntimePm));
            }
            None => {
                let mut report = Report::default();
                report.join(found);
                let (losses, measured) = (Losses::default(), Vec::new());
                out.push(Judged { name, report, losses, case: None, measured });
            }
        }
    }
    match silent {
        Some(nothing) if out.is_empty() => Err(nothing.into()),
        _ => Ok(out),
    }
}
