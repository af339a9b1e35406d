//! A gate: a limit that somebody asked for, and whether it holds. Each subject judges its
//! own and says the sentence; whoever prints adds no word.
//!
//! ```
//! use dormouse_base::gate::{Figure, Gate, Unit, Verdict, whole};
//!
//! let watts = |nano| Some(Figure { nano, unit: Unit::Watts });
//! let limit = Gate::new("max-power", "1 W").found(Verdict::Missed, watts(1_250_000_000));
//! assert_eq!(limit.found.unwrap().decimal(), "1.25");
//! let open = Gate::new("resume", "1.00 s");
//! assert_eq!(whole(&[open.clone(), limit]), Verdict::Missed);
//! assert_eq!(whole(&[open]), Verdict::Unknown);
//! ```

use crate::finding::Finding;
use serde::{Serialize, Serializer};
use std::borrow::Cow;

/// Whether a limit holds; the worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It holds.
    Met,
    /// The input does not hold what would tell: no success.
    Unknown,
    /// It does not hold.
    Missed,
}

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Time.
    Seconds,
    /// A share.
    Percent,
    /// Power.
    Watts,
    /// Findings that count.
    Findings,
}

impl Unit {
    /// As JSON and test systems name it.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Seconds => "seconds",
            Unit::Percent => "percent",
            Unit::Watts => "watts",
            Unit::Findings => "findings",
        }
    }
}

/// A figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figure {
    /// In billionths of its unit.
    pub nano: i64,
    /// Of what.
    pub unit: Unit,
}

/// Billionths of a unit.
pub const NANO: i64 = 1_000_000_000;

impl Figure {
    /// `1.25`: all digits that it has, and no further ones.
    pub fn decimal(self) -> String {
        let (sign, n) = (if self.nano < 0 { "-" } else { "" }, self.nano.unsigned_abs());
        let unit = NANO.unsigned_abs();
        let fraction = format!("{:09}", n % unit);
        let fraction = fraction.trim_end_matches('0');
        let point = if fraction.is_empty() { "" } else { "." };
        format!("{sign}{}{point}{fraction}", n / unit)
    }
}

impl Serialize for Figure {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Number {
            value: f64,
            unit: Unit,
        }
        Number { value: self.nano as f64 / NANO as f64, unit: self.unit }.serialize(to)
    }
}

/// A finding that counts against a gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Counted {
    /// Its input, as the user named it.
    pub input: String,
    /// The line of the input that shows it, from 1; null where it has none.
    pub line: Option<u64>,
    /// Name of the rule.
    pub rule: &'static str,
    /// How bad.
    pub level: &'static str,
    /// What is wrong.
    pub sentence: String,
}

impl Counted {
    /// Of a finding of this input.
    pub fn new(input: &str, f: &Finding) -> Counted {
        Counted {
            input: input.into(),
            line: f.evidence.iter().map(|e| e.line).find(|l| *l > 0),
            rule: f.id,
            level: f.level.name(),
            sentence: f.sentence.clone(),
        }
    }
}

/// A limit, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Gate {
    /// The option that asks for it, and `findings` of --fail-on: the name of a test.
    pub name: Cow<'static, str>,
    /// What was asked, in words: `1.00 s`, `broken`.
    pub limit: String,
    /// Whether it holds.
    pub verdict: Verdict,
    /// The worst that was found, if the input tells.
    pub found: Option<Figure>,
    /// What became of it, as a sentence; of one that is not known, why.
    pub sentence: String,
    /// What was left out, as a sentence; empty if nothing.
    pub open: String,
    /// The findings that count.
    pub counted: Vec<Counted>,
}

impl Gate {
    /// Nothing is known of it yet.
    pub fn new(name: impl Into<Cow<'static, str>>, limit: impl Into<String>) -> Gate {
        Gate {
            name: name.into(),
            limit: limit.into(),
            verdict: Verdict::Unknown,
            found: None,
            sentence: String::new(),
            open: String::new(),
            counted: Vec::new(),
        }
    }

    /// What was found.
    pub fn found(mut self, verdict: Verdict, found: Option<Figure>) -> Gate {
        (self.verdict, self.found) = (verdict, found);
        self
    }

    /// What became of it.
    pub fn says(mut self, sentence: impl Into<String>) -> Gate {
        self.sentence = sentence.into();
        self
    }

    /// What was left out.
    pub fn but(mut self, open: impl Into<String>) -> Gate {
        self.open = open.into();
        self
    }
}

/// What all gates together come to: the worst. Nothing asked is nothing known.
pub fn whole(gates: &[Gate]) -> Verdict {
    gates.iter().map(|g| g.verdict).max().unwrap_or(Verdict::Unknown)
}
