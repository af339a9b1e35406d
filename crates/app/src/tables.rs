//! Two tables beside each other: of two files, or of one mail.

use anyhow::Result;
use dormouse_base::beside::{Beside, Cell, Steps, Table, beside, steps};
use dormouse_doctor::value::Value;
use dormouse_read::Given;
use dormouse_read::printed::{Printed, printed};

/// Two inputs beside each other; `None` if they have no table of one kind. Of several tables
/// of a kind in an input the first counts.
///
/// # Errors
/// If an input cannot be read.
pub fn compare(inputs: [&Given; 2], labels: [&str; 2]) -> Result<Option<Beside>> {
    let (a, b) = (tables(inputs[0])?, tables(inputs[1])?);
    let named = |mut found: Beside| {
        found.labels = labels.map(String::from);
        found
    };
    let pair = |x: &Table| b.iter().find_map(|y| beside(x, y));
    Ok(a.iter().find_map(pair).map(named))
}

/// The first two tables of one kind in an input beside each other; `None` if there are no two.
///
/// # Errors
/// If the input cannot be read.
pub fn compare_one(input: &Given) -> Result<Option<Beside>> {
    let all = tables(input)?;
    let later = |i: usize| all[i + 1..].iter().find_map(|y| beside(&all[i], y));
    let found = (0..all.len()).find_map(later).map(|mut found| {
        if found.labels[0] == found.labels[1] {
            found.labels = ["the first".into(), "the second".into()];
        }
        found
    });
    Ok(found)
}

/// Counters of a file that one input prints again and again; `None` if it prints none twice.
///
/// # Errors
/// If the input cannot be read.
pub fn counters(input: &Given) -> Result<Option<Steps>> {
    let all = files(input)?;
    let again = |p: &Printed| -> Vec<Table> {
        all.iter().filter(|q| q.path == p.path).map(Printed::table).collect()
    };
    Ok(all.iter().find_map(|p| steps(&p.path, &again(p))))
}

/// Files of several lines that the texts of an input print.
fn files(input: &Given) -> Result<Vec<Printed>> {
    let mut out = Vec::new();
    for path in input.paths().iter().filter(|p| !p.is_dir()) {
        out.extend(printed(&String::from_utf8_lossy(&input.raw(path)?)));
    }
    Ok(out)
}

/// Every table of an input, in the order of kinds, then of the text.
fn tables(input: &Given) -> Result<Vec<Table>> {
    let mut out = Vec::new();
    let reading = input.storage()?;
    out.extend(runs(&reading.jobs));
    out.extend(reading.drives.iter().map(dormouse_storage::levels::Drive::table));
    out.extend(reading.transitions.iter().map(dormouse_storage::levels::Transitions::table));
    let texts = input.power()?;
    out.extend(texts.iter().flat_map(|t| &t.case.dumps).map(dormouse_power::domain::Dump::table));
    let regulators = texts.iter().flat_map(|t| &t.case.regulators);
    out.extend(regulators.map(dormouse_power::regulator::Table::table));
    // Files of sysfs and debugfs that the text shows with their values.
    let files = files(input)?;
    out.extend(files.iter().map(Printed::table));
    for text in input.said()?.iter() {
        let whole = |v: &&Value| !files.iter().any(|f| f.path == v.path);
        let values = text.case.values.iter().filter(whole);
        out.extend(dumps(values.map(|v| (v.path.clone(), v.value.clone()))));
    }
    Ok(out)
}

/// Jobs of one run of fio a table; a job that comes again, or that is named otherwise and does
/// the same, begins another.
fn runs(jobs: &[dormouse_storage::load::Job]) -> Vec<Table> {
    let mut out: Vec<Vec<dormouse_storage::load::Job>> = Vec::new();
    for j in jobs {
        let again =
            |run: &Vec<dormouse_storage::load::Job>| run.iter().any(|k| k.direction == j.direction);
        match out.last_mut() {
            Some(run) if !again(run) => run.push(j.clone()),
            _ => out.push(vec![j.clone()]),
        }
    }
    let one_name =
        |run: &Vec<dormouse_storage::load::Job>| run.iter().all(|j| j.name == run[0].name);
    let table = |run: Vec<dormouse_storage::load::Job>| {
        let label = run.first().map_or(String::new(), |j| j.name.clone());
        // Of one job the name is the table's, so that `before` and `after` are compared.
        let single = one_name(&run);
        let mut table = dormouse_storage::load::table(&run);
        for (name, _) in table.cells.iter_mut().filter(|_| single) {
            *name = name.strip_prefix(&format!("{label} ")).unwrap_or(name).to_owned();
        }
        Table { label, ..table }
    };
    out.into_iter().map(table).collect()
}

/// Values of files; a file that is read again begins another dump.
fn dumps(values: impl Iterator<Item = (String, String)>) -> Vec<Table> {
    let mut out: Vec<Table> = Vec::new();
    for (path, value) in values {
        let cell = match value.trim().parse::<i64>() {
            Ok(n) => Cell::thousandths(n.saturating_mul(1_000), ""),
            Err(_) => Cell::Word(value),
        };
        match out.last_mut() {
            Some(t) if !t.cells.iter().any(|c| c.0 == path) => t.cells.push((path, cell)),
            _ => out.push(Table {
                kind: "files of sysfs",
                label: format!("reading {}", out.len() + 1),
                cells: vec![(path, cell)],
            }),
        }
    }
    out
}
