//! Boots a guest with a script, and reads what it says: cases, and lines of a word and a text.

use anyhow::{Context, Result, ensure};
use dormouse_lab::kernels::Kernel;
use dormouse_lab::qemu::{Accel, Arch, Machine};
use dormouse_lab::userland::{Wish, run as booted};
use dormouse_lab::{kernels, kmod};
use serde_json::Value;
use std::fs;
use std::time::Duration;

const COMMON: &str = include_str!("common.sh");
const LIMIT: Duration = Duration::from_secs(2_400);

/// What the guests have.
pub(super) struct Guests {
    kernel: Kernel,
    programs: Vec<(String, Vec<u8>)>,
    seed: u64,
}

/// What a script said of one case.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) name: String,
    lines: Vec<(String, String)>,
}

impl Guests {
    pub(super) fn new(program: &str, series: &str, seed: u64) -> Result<Guests> {
        let kernel = kernels::get(Arch::Amd64, series)?;
        let module = kmod::battery(&kernel)?;
        let read = |path: &std::path::Path| {
            fs::read(path).with_context(|| format!("cannot read {}", path.display()))
        };
        let programs = vec![
            ("dormouse".to_owned(), read(program.as_ref())?),
            ("dormouse_battery.ko".to_owned(), read(&module)?),
        ];
        Ok(Guests { kernel, programs, seed })
    }

    pub(super) fn release(&self) -> &str {
        &self.kernel.release
    }

    /// Boots one with this script.
    pub(super) fn run(&self, script: &str) -> Result<Vec<Case>> {
        let mut machine = Machine::new(Arch::Amd64, Accel::Icount, 1, &self.kernel.release);
        machine.seed = self.seed;
        // The alarm comes from the clock itself, without HPET.
        // And while nothing happens nothing is checked, which would take most of a long sleep.
        machine.words = "hpet=disable tsc=reliable nowatchdog".into();
        let wish = Wish {
            cycles: 0,
            deep: false,
            delays: Vec::new(),
            script: Some(format!("{COMMON}{script}").into_bytes()),
            programs: self.programs.clone(),
            limit: LIMIT,
        };
        let said = booted(&self.kernel, &machine, &wish)?.said;
        let mut out: Vec<Case> = Vec::new();
        for line in said.lines() {
            if let Some(name) = line.strip_prefix("@@ ") {
                out.push(Case { name: name.into(), lines: Vec::new() });
            } else if let Some(case) = out.last_mut() {
                let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
                case.lines.push((word.into(), rest.into()));
            }
        }
        ensure!(!out.is_empty(), "the guest said nothing: {said}");
        Ok(out)
    }
}

impl Case {
    /// The texts of a word.
    pub(super) fn all(&self, word: &str) -> Vec<&str> {
        self.lines.iter().filter(|l| l.0 == word).map(|l| l.1.as_str()).collect()
    }

    /// The one text of a word; none is an empty one.
    pub(super) fn text(&self, word: &str) -> &str {
        self.all(word).last().copied().unwrap_or("")
    }

    pub(super) fn number(&self, word: &str) -> Option<f64> {
        self.text(word).trim().parse().ok()
    }

    /// What `watch --json` said.
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(self.text("json")).unwrap_or(Value::Null)
    }

    /// Rows that are kept, of this source or any.
    pub(super) fn rows(&self, source: &str) -> usize {
        let is = |r: &&Value| source.is_empty() || r["source"] == source;
        self.json()["sleeps"].as_array().map_or(0, |all| all.iter().filter(is).count())
    }

    /// How long the unit took before a sleep and after it, ms, as systemd wrote it, of each sleep.
    pub(super) fn hooks(&self) -> Vec<(f64, f64)> {
        let times = |begin: &str, end: &[&str]| -> Vec<f64> {
            let (mut from, mut out) = (None, Vec::new());
            for line in self.all("unit") {
                let at = line.trim_start_matches('[').trim_start().split(']').next();
                let at: Option<f64> = at.and_then(|t| t.trim().parse().ok());
                if line.contains(begin) {
                    from = at;
                } else if end.iter().any(|e| line.contains(e)) {
                    out.extend(from.take().zip(at).map(|(a, b)| (b - a) * 1e3));
                }
            }
            out
        };
        let before = times(": Starting ", &[": Finished "]);
        let after = times(": Stopping ", &[": Deactivated ", ".service: Deactivated "]);
        before.into_iter().zip(after).collect()
    }
}
