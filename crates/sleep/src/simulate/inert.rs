//! Devices for which a phase has nothing to do but to wait: the patches of kernel/upstream
//! let the walk pass them (`dpm_inert_depth()` there).

use super::topology::{NONE, Topology, fact};
use dormouse_board::Board;
use dormouse_board::assumed::Assumed;

/// So many in a row at most, because the waits for them nest.
const IN_A_ROW: u8 = 4;

/// What nobody calls inert.
const NOT: u16 = fact::NO_PM | fact::SYSCORE | fact::HAS_SUPPLIER | fact::HAS_CONSUMER;

/// Whether runtime PM was ever enabled for device `i`; `None` if nothing tells. A device that
/// never had it says `unsupported` (drivers/base/power/sysfs.c:runtime_status_show, 6.1 to 7.3).
fn has_runtime_pm(board: &Board, i: usize) -> Option<bool> {
    match board.names.get(board.graph.devices[i].facts.runtime_status) {
        _ if board.devices[i].runtime.enabled() => Some(true),
        "" => None,
        status => Some(status != "unsupported"),
    }
}

/// Whether device `i` has no callback, no link, and so far as is known no runtime PM.
fn is_idle(t: &Topology, board: &Board, i: usize) -> bool {
    let facts = t.facts[i];
    facts & fact::NO_CALLBACKS != 0 && facts & NOT == 0 && has_runtime_pm(board, i) != Some(true)
}

/// Marks them in `t`, which is made of `board` and has its parents and links.
pub(super) fn mark(t: &mut Topology, board: &Board) {
    let mut row = vec![0; t.facts.len()];
    for i in 0..t.facts.len() {
        let above = match t.parent[i] {
            NONE => 0,
            parent => row[parent as usize],
        };
        if above < IN_A_ROW && is_idle(t, board, i) {
            row[i] = above + 1;
            t.facts[i] |= fact::INERT;
        }
    }
}

/// What is taken for granted of them: nothing where the machine tells it.
pub(super) fn taken(board: &Board) -> Option<Assumed> {
    let t = Topology::new(board).ok()?;
    let untold = |i: &usize| is_idle(&t, board, *i) && has_runtime_pm(board, *i).is_none();
    let untold = (0..t.len()).filter(untold).count();
    (untold > 0 || t.list.iter().all(|&d| t.facts[d as usize] & fact::NO_CALLBACKS == 0))
        .then_some(Assumed::Inert(untold))
}
