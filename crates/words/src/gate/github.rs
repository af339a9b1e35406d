//! Workflow commands of GitHub, which become annotations: what is not known is a warning.

use super::told::lines;
use dormouse_base::gate::Verdict;
use dormouse_sleep::budget::Gated;

pub(super) fn print(answer: &Gated) -> String {
    let mut out = String::new();
    for g in &answer.gates {
        let level = match g.verdict {
            Verdict::Met => "notice",
            Verdict::Missed => "error",
            Verdict::Unknown => "warning",
        };
        let title = property(&format!("dormouse {}", g.name));
        let all = lines(g);
        let said = all.len() - g.counted.len();
        let text = data(&all[..said].join(" "));
        out += &format!("::{level} title={title}::{text}\n");
        for (c, text) in g.counted.iter().zip(&all[said..]) {
            let (title, text) = (property(&format!("dormouse {}", c.rule)), data(text));
            let file = match c.line {
                Some(line) if c.input != "-" => {
                    format!("file={},line={line},", property(&c.input))
                }
                _ => String::new(),
            };
            out += &format!("::{level} {file}title={title}::{text}\n");
        }
    }
    out
}

/// Text as a command takes it behind its last `::` (actions/toolkit, command.ts).
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// The same as a property.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
