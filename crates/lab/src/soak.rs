//! Thousands of short sleeps in one boot, with callbacks that fail, wake-up events,
//! devices that come and go and flags that change, all at random.

use crate::describe::describe;
use crate::kernels::Kernel;
use crate::qemu::Machine;
use crate::run::{base, play};
use crate::{Error, Result};
use dormouse_board::Board;
use dormouse_guest::plan::{DIRECTORY, Soak, Task};
use std::collections::BTreeMap;
use std::time::Duration;

/// What came of it.
#[derive(Clone, Debug)]
pub struct Soaked {
    /// Figures by name: `cycles`, `stuck` and so on.
    pub figures: BTreeMap<String, Vec<u64>>,
    /// The kernel's log.
    pub log: String,
    /// Wall time.
    pub took: Duration,
}

/// Words of a kernel's log that stand for a fault.
const FAULTS: [&str; 9] = [
    "WARNING:",
    "BUG:",
    "Oops",
    "Call Trace",
    "INFO: task",
    "INFO: possible",
    "refcount_t",
    "ODEBUG",
    "suspicious",
];

impl Soaked {
    /// The first number of a figure, 0 if it is not there.
    pub fn first(&self, name: &str) -> u64 {
        self.figures.get(name).and_then(|n| n.first()).copied().unwrap_or(0)
    }

    /// How much a figure grew between a tenth of the way and the end.
    pub fn growth(&self, name: &str) -> i64 {
        match self.figures.get(name).map(Vec::as_slice) {
            Some([early, late]) => *late as i64 - *early as i64,
            _ => 0,
        }
    }

    /// What must not have been: empty if all is well.
    pub fn faults(&self) -> Vec<String> {
        let mut out: Vec<String> = ["overlaps", "stuck", "unasked", "leaks"]
            .iter()
            .filter(|n| self.first(n) > 0)
            .map(|n| format!("{n} {}", self.first(n)))
            .collect();
        if self.figures.contains_key("lockdep") && self.first("lockdep") == 0 {
            out.push("lockdep has stopped looking".into());
        }
        let bad = self.log.lines().filter(|l| FAULTS.iter().any(|f| l.contains(f)));
        out.extend(bad.take(20).map(str::to_owned));
        out
    }
}

/// Boots `kernel` once and lets `board` sleep as `wish` says; its description and the
/// board's are one.
///
/// # Errors
/// When the guest does not come to its end within `limit`: it hangs, or a cycle without
/// trouble fails.
pub fn run(
    kernel: &Kernel,
    machine: &Machine,
    board: &Board,
    wish: &Soak,
    limit: Duration,
) -> Result<Soaked> {
    let mut archive = base(machine.arch)?;
    let file = "soaked";
    let text = describe(board, &[])?.text;
    archive.file(&format!("{DIRECTORY}/{file}"), 0o644, text.as_bytes());
    let soak = Task::Soak(Soak { description: file.into(), ..wish.clone() });
    let tasks = vec![Task::Module, soak];
    let (answer, output) = play(kernel, machine, archive, tasks, limit)?;
    let mut figures = BTreeMap::new();
    for line in answer.text("soak").lines() {
        let mut words = line.split_whitespace();
        let name = words.next().unwrap_or_default().to_owned();
        figures.insert(name, words.filter_map(|w| w.parse().ok()).collect());
    }
    if figures.get("cycles").is_none_or(|c: &Vec<u64>| c != &[u64::from(wish.cycles)]) {
        return Err(Error::other("the guest did not count its cycles".to_owned()));
    }
    Ok(Soaked { figures, log: answer.text("log"), took: output.took })
}
