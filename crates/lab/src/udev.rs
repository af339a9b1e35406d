//! Debian's udev at work in a guest: what rules make of a board's devices.

use crate::Result;
use crate::describe::describe;
use crate::kernels::Kernel;
use crate::programs::pack;
use crate::qemu::Machine;
use crate::run::{base, play};
use dormouse_board::Board;
use dormouse_guest::plan::{DIRECTORY, Task, Trial};
use std::collections::BTreeMap;
use std::time::Duration;

/// What `power/async` of every device of a guest was, by path below `/sys`.
pub type Flags = BTreeMap<String, String>;

/// The driver of each device, by path below `/sys`.
pub type Drivers = BTreeMap<String, String>;

/// Lines of a path, a tab and words: drivers have names with blanks.
pub(crate) fn by_path(text: &str) -> BTreeMap<String, String> {
    let pairs = text.lines().filter_map(|l| l.rsplit_once('\t'));
    pairs.map(|(path, word)| (path.to_owned(), word.to_owned())).collect()
}

/// What one set of rules did.
#[derive(Clone, Debug)]
pub struct Tried {
    /// After the board's devices had appeared while udev was running: what a
    /// start of the machine gives.
    pub appeared: Flags,
    /// After `udevadm trigger` too, which also reaches devices that were there
    /// before udev.
    pub triggered: Flags,
    /// The driver of every device that has one then, by path below `/sys`.
    pub drivers: Drivers,
    /// What udev printed.
    pub said: String,
}

/// Builds `board` in one guest again and again, each time with one of `rules`
/// in `/etc/udev/rules.d` and the daemon running. The guest's own devices keep
/// what rules before have set.
///
/// # Errors
/// As [`crate::run::run`], and if udev cannot be had or does not run there.
pub fn try_rules(
    kernel: &Kernel,
    machine: &Machine,
    board: &Board,
    rules: &[&str],
    limit: Duration,
) -> Result<Vec<Tried>> {
    let mut archive = base(machine.arch)?;
    // One program that does as it is called.
    pack(
        &mut archive,
        "usr/bin/udevadm",
        &["/usr/lib/systemd/systemd-udevd", "/usr/bin/udevadm"],
        "/etc/udev/rules.d",
    )?;
    let mut trials = Vec::new();
    let description = describe(board, &[])?.text;
    archive.file(&format!("{DIRECTORY}/board"), 0o644, description.as_bytes());
    for (i, text) in rules.iter().enumerate() {
        let file = format!("rules{i}");
        archive.file(&format!("{DIRECTORY}/{file}"), 0o644, text.as_bytes());
        trials.push(Trial { name: format!("trial{i}"), description: "board".into(), rules: file });
    }
    let udev = trials.iter().cloned().map(Task::Udev);
    let tasks = std::iter::once(Task::Module).chain(udev).collect();
    let (answer, _) = play(kernel, machine, archive, tasks, limit)?;
    let of = |what: &str, name: &str| by_path(&answer.text(&format!("{what} {name}")));
    let tried = trials.iter().map(|t| Tried {
        appeared: of("appeared", &t.name),
        triggered: of("triggered", &t.name),
        drivers: of("drivers", &t.name),
        said: answer.text(&format!("udev {}", t.name)),
    });
    Ok(tried.collect())
}
