//! On which way of a sleep a step lies.

use crate::way::{Kind, Step};
use dormouse_base::phase::Direction;

/// On which way a step lies: behind the last word of a return, or behind that of a request.
pub(super) fn way_of(steps: &[Step], at: usize) -> Option<Direction> {
    let before = steps[..at].iter().rev().take_while(|s| s.run == steps[at].run);
    before.into_iter().find_map(|s| match s.kind {
        Kind::Back | Kind::Thawed | Kind::Opened => Some(Direction::Resume),
        Kind::Asked | Kind::Sleeps | Kind::Entry => Some(Direction::Suspend),
        _ => None,
    })
}
