//! What is printed of an answer that there are no idle states.

use super::wrapped::wrap;
use crate::text::safe;
use dormouse_idle::absent::Absent;
use dormouse_idle::fault::faults;

/// That there are no states; what else the text has is another answer.
pub(super) fn text(list: &[Absent], others: bool) -> Option<String> {
    let found = faults(&[], &[], list, &[]).into_iter().next()?;
    let mut out = wrap(&safe(&found.sentence));
    for e in &found.evidence {
        out += &wrap(&format!("Line {} says so: {}", e.line, safe(&e.text)));
    }
    if others {
        out += &wrap(
            "What stands below is another answer of the text, of another machine, kernel or \
             moment: it says nothing of this one.",
        );
    }
    Some(out)
}
