//! Decisions: a tuned set of flags, a plan and what it is worth in energy, as
//! text and JSON.

pub mod apply;
pub mod back;
pub mod culprits;
pub mod domains;
pub mod energy;
pub mod hold;
pub mod plan;
pub mod series;
pub mod tune;

use crate::text::safe;
use dormouse_base::device::DeviceId;
use dormouse_board::Board;

/// The device as a person refers to it: name, and driver where it is known.
pub(crate) fn device(board: &Board, id: DeviceId) -> String {
    let d = board.graph.get(id);
    let (name, driver) = (board.names.get(d.name), board.names.get(d.driver));
    if driver.is_empty() || driver == name {
        safe(name).into_owned()
    } else {
        format!("{} ({})", safe(name), safe(driver))
    }
}

/// At most `width` characters, with a mark where something is missing: without what
/// stands in brackets if that is enough.
pub(crate) fn clip(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_string();
    }
    if let Some((name, rest)) = text.split_once(" (")
        && let Some((_, end)) = rest.rsplit_once(')')
        && name.chars().count() + end.chars().count() <= width
    {
        return format!("{name}{end}");
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}
