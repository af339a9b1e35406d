//! What a reader could not use: counted by kind, never thrown, never silent.

use serde::Serialize;
use std::borrow::Cow;

/// How much a loss may change the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Expected and harmless.
    Info,
    /// Some figures are missing or less certain.
    Warning,
    /// The answer may be wrong or is largely missing.
    Error,
}

impl Severity {
    /// `info`, `warning` or `error`.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// One kind of loss and how often it happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Loss {
    /// A stable `snake_case` word.
    pub kind: &'static str,
    /// How many lines, events or devices were affected.
    pub count: u64,
    /// How much it matters.
    pub severity: Severity,
    /// What the user can do about it; a sentence.
    pub advice: Cow<'static, str>,
    /// Where it happened first: line (text) or byte offset (binary), from 1.
    pub first_at: Option<u64>,
}

/// All losses of one input, in the order in which the kinds first occurred.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Losses {
    /// One entry a kind.
    pub list: Vec<Loss>,
}

impl Losses {
    /// Counts `count` more of `kind`.
    pub fn add(
        &mut self,
        kind: &'static str,
        count: u64,
        severity: Severity,
        advice: impl Into<Cow<'static, str>>,
        at: Option<u64>,
    ) {
        if count == 0 {
            return;
        }
        match self.list.iter_mut().find(|l| l.kind == kind) {
            Some(l) => l.count = l.count.saturating_add(count),
            None => {
                self.list.push(Loss { kind, count, severity, advice: advice.into(), first_at: at })
            }
        }
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: Losses) {
        for l in other.list {
            self.add(l.kind, l.count, l.severity, l.advice, l.first_at);
        }
    }

    /// How often `kind` happened.
    pub fn count(&self, kind: &str) -> u64 {
        self.list.iter().find(|l| l.kind == kind).map_or(0, |l| l.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_merged_and_keep_their_first_place() {
        let mut a = Losses::default();
        a.add("x", 2, Severity::Info, "do", Some(7));
        let mut b = Losses::default();
        b.add("x", 3, Severity::Info, "do", Some(1));
        b.add("y", 0, Severity::Info, "do", None);
        a.merge(b);
        assert_eq!(a.count("x"), 5);
        assert_eq!(a.list.len(), 1);
        assert_eq!(a.list[0].first_at, Some(7));
    }
}
