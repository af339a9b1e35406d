//! Where a further log begins in a text: its clock goes back.

use crate::case::Case;
use crate::message::{Message, Trust};
use dormouse_base::time::Ns;

/// A clock that goes back by more than this is another one: lines of one log stand out
/// of order by less.
const BACK: i64 = 1_000_000_000;

/// Whether `next` is of another log than what was last said at `last`. Programs that print
/// between lines of the kernel may have another clock.
pub(crate) fn is_another(last: Option<Ns>, next: &Message) -> bool {
    let same = |a: Ns, b: Ns| (a > Ns::CALENDAR) == (b > Ns::CALENDAR);
    matches!((last, next.time), (Some(a), Some(b)) if same(a, b) && b.0 + BACK < a.0)
}

/// The first lines of all logs but the first. What follows a made image goes on with
/// the clock of that image (kernel/power/hibernate.c:create_image).
pub(crate) fn further_logs(case: &Case) -> Vec<u64> {
    let mut out = Vec::new();
    // By the kernel's clock and by the calendar.
    let mut last: [Option<&Message>; 2] = [None; 2];
    for m in case.messages.iter().filter(|m| m.trust == Trust::Logged) {
        let Some(time) = m.time else { continue };
        let clock = usize::from(time > Ns::CALENDAR);
        let image = last[clock].is_some_and(|l| l.has("Image created"));
        if is_another(last[clock].and_then(|l| l.time), m) && !image {
            out.push(m.line);
            last = [None; 2];
        }
        last[clock] = Some(m);
    }
    out
}
