//! The critical path of a simulated cycle, piece by piece.

use super::outlook::Outlook;
use crate::analyse::explain_by;
use crate::analyse::path::Reason;
use dormouse_base::capture::Capture;
use dormouse_base::device::DeviceId;
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;
use dormouse_board::Board;

/// A piece of a critical path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Which phase it belongs to.
    pub phase: Phase,
    /// Whose callback, by number on the board it was simulated on; `None` for
    /// a gap in which no callback of the path ran.
    pub device: Option<DeviceId>,
    /// How long.
    pub time: Ns,
    /// Why it did not start earlier.
    pub reason: Reason,
    /// When it started, from the start of its phase.
    pub start: Ns,
    /// What was waited for, if the reason is a device.
    pub waited_for: Option<DeviceId>,
}

/// The critical path of the simulated cycle, phase by phase in order of time.
/// It is found as for a recorded one, from times and dependencies alone.
pub fn critical_path(board: &Board, outlook: &Outlook) -> Vec<Piece> {
    let capture = Capture {
        names: board.names.clone(),
        graph: board.graph.clone(),
        cycles: vec![outlook.run.cycle.clone()],
        ..Capture::default()
    };
    let Some(view) = explain_by(&capture, outlook.scheduler.policy).pop() else {
        return Vec::new();
    };
    let mut pieces = Vec::new();
    for (span, phase) in capture.cycles[0].phases.iter().zip(&view.phases) {
        pieces.extend(phase.path.iter().map(|s| Piece {
            phase: span.phase,
            device: s.device,
            time: s.duration(),
            reason: s.reason,
            start: s.start.since(span.start),
            waited_for: s.waited_for,
        }));
    }
    pieces
}
