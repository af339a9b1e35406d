//! Callbacks that move to another phase.

use dormouse_base::phase::{Direction, Phase};

/// From which phase to which callbacks move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// Where they are.
    pub from: Phase,
    /// Where they will be.
    pub to: Phase,
}

impl Way {
    /// Reads `noirq:late`. With `suspend` or `late` it is a way down, and callbacks of
    /// the way up move with it; with `early` or `resume` only these move.
    ///
    /// # Errors
    /// A sentence saying what is accepted.
    pub fn parse(text: &str) -> Result<Way, String> {
        const DOWN: [Phase; 3] = [Phase::Suspend, Phase::Late, Phase::Noirq];
        const UP: [Phase; 3] = [Phase::Resume, Phase::ResumeEarly, Phase::ResumeNoirq];
        let (from, to) = text.split_once(':').unwrap_or((text, ""));
        let find = |all: [Phase; 3]| {
            let named = |name: &str| all.into_iter().find(|p| p.name() == name);
            Some(Way { from: named(from)?, to: named(to)? }).filter(|w| w.from != w.to)
        };
        find(DOWN).or(find(UP)).ok_or_else(|| {
            format!(
                "`{text}` is no move; write FROM:TO with two of suspend, late and noirq, or, for \
                 the way up alone, of noirq, early and resume"
            )
        })
    }

    /// The same on the way up: what is done last is undone first.
    pub(super) fn mirrored(self) -> Option<Way> {
        let up = |p| match p {
            Phase::Suspend => Some(Phase::Resume),
            Phase::Late => Some(Phase::ResumeEarly),
            Phase::Noirq => Some(Phase::ResumeNoirq),
            _ => None,
        };
        Some(Way { from: up(self.from)?, to: up(self.to)? })
    }

    /// As it is written.
    pub fn text(self) -> String {
        format!("{}:{}", self.from.name(), self.to.name())
    }

    /// Callbacks of both halves move.
    pub fn is_down(self) -> bool {
        self.from.direction() == Direction::Suspend
    }
}
