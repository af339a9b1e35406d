//! Idle governors of a real kernel, recorded with all that they decide by.

use crate::kernels::Kernel;
use crate::plan::{Idle, Plan};
use crate::qemu::Machine;
use crate::run::{base, play};
use crate::{Error, Result};
use std::time::Duration;

/// Boots `kernel` once and gives a recording for each of `wishes`, as text. Its
/// lines (`N` is a number of a CPU; times in nanoseconds):
///
/// | line | meaning |
/// |---|---|
/// | `dormouse-idle 1` | first line: the version |
/// | `kernel RELEASE`, `hz N`, `states TEXT` | the kernel, ticks a second, what the module was told |
/// | `state I NAME LATENCY RESIDENCY` | microseconds, as sysfs has them; state 0 polls |
/// | `limit US`, `disabled I` | holds for what follows, until the next `governor` |
/// | `governor NAME` | what follows is decided by it |
/// | `g` | every CPU begins with an empty history |
/// | `d N LIMIT STOPPED TIMER EVENT STATE STOP` | a decision: latency limit, whether the tick is stopped, both sleep lengths (`-` where they were not asked for), the state, whether to stop the tick (`-` for a governor that does not say) |
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
    let plan =
        Plan { results: machine.arch.results().into(), idle: wishes.to_vec(), ..Plan::default() };
    let (answer, _) = play(kernel, machine, base(machine.arch)?, &plan, limit)?;
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
