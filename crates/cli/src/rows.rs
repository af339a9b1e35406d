//! What an input holds, as rows for tables of many inputs: from one reading.

use crate::{redact, terminal};
use anyhow::Result;
use dormouse_app::doctor::doctor;
use dormouse_app::explain::labelled;
use dormouse_app::failure::Nothing;
use dormouse_app::subject::{speaks_of_domains, speaks_of_idle, speaks_of_storage};
use dormouse_read::Given;
use dormouse_words::Explained;
use dormouse_words::doctor::{Subject, json};
pub use dormouse_words::parquet::{Column, Texts, Values};
use dormouse_words::parquet::{Source, Table};
use dormouse_words::text::safe;
use std::path::Path;

/// Columns with their names; one list for each machine of the input.
pub type Rows = Vec<Vec<(&'static str, Values)>>;

/// What `show`, `check` and `export` say of an input, for others.
#[derive(Clone, Debug, Default)]
pub struct Held {
    /// The host of each cycle; empty if nobody names it.
    pub hosts: Vec<String>,
    /// As `export` writes them (docs/parquet-schema.md).
    pub cycles: Rows,
    /// The same.
    pub phases: Rows,
    /// The same.
    pub callbacks: Rows,
    /// The member `texts` of `show --json`.
    pub texts: Vec<u8>,
}

/// Reads the input at `path`; `key` names hosts, as `--redact` with a file of it does.
///
/// # Errors
/// What `show` says if nothing is there.
pub fn held(path: &Path, key: [u8; 32]) -> Result<Held, String> {
    let given = Given::new(&[path.into()]);
    given.read_told();
    let held = redact::keyed(key, &given, || of(&given));
    held.map_err(|e| {
        let whole = terminal::whole(&e);
        safe(&whole.split_whitespace().collect::<Vec<_>>().join(" ")).into_owned()
    })
}

fn of(given: &Given) -> Result<Held> {
    let judged = doctor(given).unwrap_or_default();
    let slept = labelled(given, false);
    let told = judged.iter().any(|j| !j.report.findings.is_empty() || !j.report.sleeps.is_empty());
    let speaks = [speaks_of_domains, speaks_of_storage, speaks_of_idle];
    let mut all: Vec<Explained> = match slept {
        Ok(all) => all.into_iter().map(|(_, e)| e).collect(),
        Err(e) if e.is::<Nothing>() && (told || speaks.iter().any(|is| is(given))) => Vec::new(),
        Err(e) => return Err(e),
    };
    let mut held = Held::default();
    for e in &all {
        redact::learn(&e.capture);
        let hosts = e.capture.cycles.iter().map(|c| e.capture.names.get(e.capture.host_of(c)));
        held.hosts.extend(hosts.map(redact::host));
    }
    let subjects = judged.iter().map(|j| Subject {
        name: &j.name,
        report: &j.report,
        losses: &j.losses,
        live: false,
    });
    let texts: Vec<_> = subjects.map(|s| json(&s)).collect();
    held.texts = redact::text(serde_json::to_vec(&texts)?);
    let mut before = 0;
    for e in &mut all {
        redact::capture(&mut e.capture);
        let source = Source { label: "", capture: &e.capture, views: &e.views };
        held.cycles.push(Table::Cycles.rows(&source, before));
        held.phases.push(Table::Phases.rows(&source, before));
        held.callbacks.push(Table::Callbacks.rows(&source, before));
        before += e.capture.cycles.len();
    }
    Ok(held)
}
