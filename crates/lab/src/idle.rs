//! Idle governors of a real kernel: recorded with all that they decide by, and at work
//! under changing settings.

use crate::kernels::Kernel;
use crate::qemu::Machine;
use crate::run::{base, play};
use crate::{Error, Result};
use dormouse_guest::plan::{Idle, IdleSetting, Loops, Task, Work};
use std::time::Duration;

/// Boots `kernel` once and gives a recording for each of `wishes`, as text. Its
/// lines (`N` is a number of a CPU; times in nanoseconds):
///
/// | line | meaning |
/// |---|---|
/// | `dormouse-idle 1` | first line: the version |
/// | `kernel RELEASE`, `hz N`, `states TEXT` | the kernel, ticks a second, what the module was told |
/// | `state I NAME LATENCY RESIDENCY` | microseconds, as sysfs has them; state 0 polls |
/// | `limit US`, `disabled I` | holds for what follows, until the next `limit` |
/// | `governor NAME` | what follows is decided by it |
/// | `g` | every CPU begins with an empty history |
/// | `d N LIMIT STOPPED TIMER EVENT STATE STOP [WAIT]` | a decision: latency limit, whether the tick is stopped, both sleep lengths (`-` where they were not asked for), the state, whether to stop the tick (`-` for a governor that does not say), tasks of this CPU that wait for I/O (6.1, where menu asks) |
/// | `r N STATE RESIDENCY POLLED TICK` | what came of it: state entered (negative: none, work came first), how long, whether polling reached its limit, whether the tick woke the CPU |
/// | `lost N` | events that did not fit into the buffer |
/// | `end` | last line |
///
/// # Errors
/// When the guest fails, or has lost events.
pub fn record(
    kernel: &Kernel,
    machine: &Machine,
    wishes: &[Idle],
    limit: Duration,
) -> Result<Vec<String>> {
    let tasks = wishes.iter().cloned().map(Task::Idle).collect();
    let (answer, _) = play(kernel, machine, base(machine.arch)?, tasks, limit)?;
    let texts: Vec<String> =
        wishes.iter().map(|w| answer.text(&format!("idle {}", w.name))).collect();
    for (wish, text) in wishes.iter().zip(&texts) {
        if text.lines().any(|l| l.strip_prefix("lost ").is_some_and(|n| n != "0")) {
            return Err(Error::other(format!(
                "{}: the guest's trace buffer lost events",
                wish.name
            )));
        }
    }
    Ok(texts)
}

/// One recording of [`loops`].
#[derive(Clone, Debug)]
pub struct Loop {
    /// What woke the CPUs.
    pub work: Work,
    /// What was set.
    pub setting: IdleSetting,
    /// Bytes of a capture file.
    pub capture: Vec<u8>,
}

/// Boots `kernel` once and records each kind of work under each setting, in the
/// order of the wish.
///
/// # Errors
/// When the guest fails.
pub fn loops(
    kernel: &Kernel,
    machine: &Machine,
    wish: &Loops,
    limit: Duration,
) -> Result<Vec<Loop>> {
    // A guest has no chance to hash addresses with, so all timers of a trace would
    // look alike (`ptr_to_hashval`, lib/vsprintf.c).
    let words = format!("{} no_hash_pointers", machine.words).trim().to_owned();
    let machine = Machine { words, ..machine.clone() };
    let (answer, _) =
        play(kernel, &machine, base(machine.arch)?, vec![Task::Loops(wish.clone())], limit)?;
    let mut out = Vec::new();
    for &work in &wish.works {
        for setting in &wish.settings {
            let name = wish.answer(work, setting);
            let bytes = answer.get(&name);
            let capture =
                bytes.ok_or_else(|| Error::other(format!("the guest sent no {name}")))?.to_vec();
            out.push(Loop { work, setting: setting.clone(), capture });
        }
    }
    Ok(out)
}
