//! All views count the same attempts to sleep: the cycles of `show`, the attempts of its
//! findings; the modes of sleep count those of them that slept or failed to, and no more:
//! a test level is no sleep.

use super::ran::root;
use super::reality::data;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Attempts by view; `None` where a view has nothing to say.
fn attempts(input: &Path) -> [Option<u64>; 3] {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dormouse"));
    let out = command
        .args(["show", "--only", "sleep,findings,modes", "--json"])
        .arg(input)
        .output()
        .expect("it runs");
    let said: Value = serde_json::from_slice(&out.stdout).unwrap_or_default();
    let sum = |rows: &Value, keys: &[&str]| {
        let rows = rows.as_array()?;
        Some(rows.iter().flat_map(|r| keys.iter().map(|k| r[*k].as_u64().unwrap_or(0))).sum())
    };
    let cycles = said["cycles"].as_array().map(|c| c.len() as u64);
    [cycles, sum(&said["texts"], &["sleeps"]), sum(&said["modes"]["modes"], &["slept", "failed"])]
}

/// Inputs whose views differ, with what each says.
fn apart(inputs: &[PathBuf]) -> Vec<String> {
    let each = inputs.iter().map(|i| (i, attempts(i)));
    let differ = each.filter(|(_, [cycles, texts, modes])| {
        cycles.is_some() && (texts != cycles || modes.is_some_and(|m| Some(m) > *cycles))
    });
    differ.map(|(i, all)| format!("{}: {all:?}", i.display())).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(list) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut all: Vec<PathBuf> = list.flatten().map(|e| e.path()).filter(|p| p.is_file()).collect();
    all.sort();
    all
}

#[test]
fn views_count_the_same_attempts_in_every_recording_of_the_tree() {
    let captures = files(&root().join("captures"));
    assert!(captures.len() >= 3);
    let captures: Vec<_> =
        captures.into_iter().filter(|p| p.extension().is_some_and(|e| e == "gz")).collect();
    assert_eq!(apart(&captures), Vec::<String>::new());
}

/// Texts of real machines and mails: those that differ are listed, and are few.
#[test]
fn views_count_the_same_attempts_in_nearly_every_text() {
    let (Some(made_up), Some(real)) = (data("field/inputs"), data("doctor")) else { return };
    let texts = [files(&made_up), files(&real)].concat();
    let apart = apart(&texts);
    println!("{} of {} texts apart\n{}", apart.len(), texts.len(), apart.join("\n"));
    assert!(apart.len() * 100 <= texts.len(), "{} of {}", apart.len(), texts.len());
}
