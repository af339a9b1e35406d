//! Exit codes: those of the recorder, and those of answers.

use dormouse_app::failure::{Damaged, NotMet, NotReproduced, Nothing};
use dormouse_lab::Error as LabError;
pub(crate) use dormouse_record::exit::*;

/// The code for an error of a verb.
pub(crate) fn code(error: &anyhow::Error) -> u8 {
    let of_answers = error.chain().find_map(|e| {
        if e.is::<Nothing>() {
            Some(NOTHING)
        } else if e.is::<Damaged>() {
            Some(INPUT)
        } else if matches!(e.downcast_ref(), Some(LabError::NoKernel(_))) {
            Some(USAGE)
        } else if e.is::<NotMet>() {
            Some(NOT_MET)
        } else if e.is::<NotReproduced>() {
            Some(NOT_REPRODUCED)
        } else {
            None
        }
    });
    of_answers.unwrap_or_else(|| dormouse_record::exit::code(error))
}
