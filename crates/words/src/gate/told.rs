//! What every form says of a gate.

use crate::text::safe;
use dormouse_base::gate::{Figure, Gate, Verdict};

/// Where tests are, in the tree of a test system.
pub(super) const SUITE: &str = "dormouse.check";

/// What is said of a gate, a line each, with nothing in it that a terminal would act on.
pub(super) fn lines(gate: &Gate) -> Vec<String> {
    let said = [&gate.sentence, &gate.open].into_iter().filter(|s| !s.is_empty());
    let counted = gate.counted.iter().map(|c| {
        let at = c.line.map_or(String::new(), |l| format!(", line {l}"));
        safe(&format!("{} ({}{at}): {}", c.rule, c.input, c.sentence)).into_owned()
    });
    said.map(|s| safe(s).into_owned()).chain(counted).collect()
}

/// What was found, where the verdict rests on it.
pub(super) fn measured(gate: &Gate) -> Option<Figure> {
    gate.found.filter(|_| gate.verdict != Verdict::Unknown)
}
