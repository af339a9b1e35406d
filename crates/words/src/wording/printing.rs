//! What printing a kernel log cost while it was written.

use super::number::{grouped, share};
use dormouse_base::capture::Capture;
use dormouse_base::cycle::Cycle;
use dormouse_base::phase::Direction;
use dormouse_base::time::Ns;
use dormouse_sleep::analyse::CycleView;
use dormouse_sleep::analyse::answer::Half;
use dormouse_sleep::analyse::printing::{lines_cost, slow_console};

/// The sentence of [`slow_console`].
pub(crate) fn dominates(each: Ns) -> String {
    format!(
        "About {each} pass for each line: a slow console? Print no messages there (dmesg -n 1, or \
         boot without the serial console), suspend again, and: dmesg > log; dormouse show log"
    )
}

/// What lies between callbacks of a half that nothing in the log explains.
pub fn silence(
    capture: &Capture,
    cycle: &Cycle,
    view: &CycleView,
    half: Direction,
) -> &'static str {
    let slow = |h: &Half| h.direction == half && slow_console(cycle, view, h).is_some();
    match view.answer.halves().any(slow) {
        true => "printing of the log (slow console?)",
        false => super::reason::silence(capture),
    }
}

/// What the lines of all callbacks that the main thread ran cost a half together, if
/// that is much of it.
pub fn part(cycle: &Cycle, h: &Half) -> Option<String> {
    let (count, sum) = lines_cost(cycle, h)?;
    Some(format!(
        "About {sum} of it ({}) is the printing of this log: two lines for each of {} callbacks. \
         dormouse record prints none.",
        share(sum, h.total),
        grouped(count)
    ))
}
