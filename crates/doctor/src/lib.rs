//! What is wrong with the sleep of a machine: findings, each with its evidence.
//!
//! | step | file |
//! |---|---|
//! | what a kernel log says, message by message | `message` |
//! | which messages belong to which attempt to sleep | `attempt` |
//! | tasks and what they wait in, as a dump shows them | `stack` |
//! | values of sysfs and debugfs files that a text shows | `value` |
//! | rules, a file an area | `rules/` |
//! | what a rule found, without words | `fact` |
//! | the result | `finding` |
//!
//! No evidence, no finding. What cannot be checked is listed with the reason.
//! Times are nanoseconds. Nothing here does I/O.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod attempt;
pub mod fact;
pub mod finding;
pub mod message;
mod rules;
pub mod stack;
pub mod value;

use alloc::vec::Vec;
use attempt::Attempt;
use finding::{Finding, Unchecked};
use message::Message;
use value::Value;

/// One text, taken apart.
#[derive(Clone, Debug, Default)]
pub struct Case {
    /// Messages, in order of the text.
    pub messages: Vec<Message>,
    /// Values of kernel files that the text shows, in its order.
    pub values: Vec<Value>,
    /// Attempts to sleep, in order of the text.
    pub attempts: Vec<Attempt>,
}

/// What the doctor says of a text.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Worst first; equal ones in order of the text.
    pub findings: Vec<Finding>,
    /// What the text cannot show.
    pub unchecked: Vec<Unchecked>,
    /// Attempts to sleep in the text.
    pub attempts: usize,
}

impl Case {
    /// Takes messages apart.
    pub fn new(messages: Vec<Message>) -> Case {
        let values = value::shown(&messages);
        let attempts = attempt::split(&messages);
        Case { messages, values, attempts }
    }

    /// The messages of an attempt.
    pub fn of(&self, attempt: &Attempt) -> &[Message] {
        &self.messages[attempt.first..attempt.end]
    }
}

/// Judges a text.
pub fn judge(case: &Case) -> Report {
    let mut findings = Vec::new();
    for rule in rules::ALL {
        rule(case, &mut findings);
    }
    // What a person wrote about a log is at most a suspicion.
    for f in &mut findings {
        if f.evidence.iter().all(|e| e.doubtful) {
            f.confidence = finding::Confidence::Guess;
        }
    }
    findings.sort_by_key(|f| (f.level, f.confidence));
    Report { findings, unchecked: rules::unchecked(case), attempts: case.attempts.len() }
}
