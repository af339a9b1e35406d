//! What a text shows of a whole wake-up besides the messages of a kernel.
//!
//! | file | reads |
//! |---|---|
//! | `step` | lines of logind, systemd, hooks, networks and Android with their times |
//! | `figure` | tables and sentences with times that somebody measured |
//! | `firmware` | cbmem, FPDT |
//! | `graph` | calls of a graph of functions |

mod figure;
mod firmware;
mod graph;
mod step;

use dormouse_doctor::way::Way;

/// A longer text is no letter of a person.
const LETTER: usize = 256 << 10;

/// A line is shown up to here.
const SHOWN: usize = 200;

/// Reads a text.
pub(crate) fn read(bytes: &[u8]) -> Way {
    let mut way = Way { steps: step::read(bytes), ..Way::default() };
    if bytes.len() <= LETTER {
        let text = String::from_utf8_lossy(bytes);
        way.marks = firmware::read(&text);
        way.figures = figure::read(&text);
        way.calls = graph::read(&text);
    }
    way
}

/// A line up to what is shown, without marks of mails.
fn shown(line: &str) -> String {
    let line = line.trim_start_matches(['>', ' ', '\t']).trim_end();
    line.chars().take(SHOWN).collect()
}
