//! What a text shows of a whole wake-up besides the messages of a kernel.
//!
//! | file | reads |
//! |---|---|
//! | `step` | lines of logind, systemd, hooks, networks and Android with their times |
//! | `figure` | tables and tools with times that somebody measured |
//! | `firmware` | cbmem, FPDT |
//! | `graph` | calls of a graph of functions |
//! | `shown` | a line as a finding quotes it |
//! | `traced` | marks of programs in a trace, and the sleeps that they stand behind |

mod figure;
mod firmware;
mod graph;
mod shown;
mod step;
mod traced;

use crate::grams::Asked;
use dormouse_doctor::way::Way;
pub(crate) use traced::{Traced, has_marks};

/// A longer text is no letter of a person.
const LETTER: usize = 256 << 10;

/// Reads a text.
pub(crate) fn read(asked: &Asked<'_>) -> Way {
    let bytes = asked.bytes();
    let letter = bytes.len() <= LETTER;
    let mut way = Way { steps: step::read(asked, letter), ..Way::default() };
    if letter {
        let text = String::from_utf8_lossy(bytes);
        way.marks = firmware::read(&text);
        way.figures = figure::read(&text);
        way.calls = graph::read(&text);
    }
    way
}
