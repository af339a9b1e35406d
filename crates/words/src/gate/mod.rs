//! The answer of a check for test systems: each gate is a test, always of the same name, so
//! that a dashboard finds it in every run. What is not known is a skipped test.

mod github;
mod junit;
mod kcidb;
mod ktap;
mod lava;

use crate::text::safe;
use dormouse_base::gate::{Figure, Gate};
use dormouse_sleep::budget::Gated;

/// The form of a test system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `JUnit`'s XML.
    Junit,
    /// The kernel's test anything protocol (Documentation/dev-tools/ktap.rst).
    Ktap,
    /// Signals of LAVA's test shell.
    Lava,
    /// Reports of `KernelCI`'s database.
    Kcidb,
    /// Workflow commands of GitHub.
    Github,
}

impl Form {
    /// All of them, with their names.
    pub const ALL: [(&'static str, Form); 5] = [
        ("junit", Form::Junit),
        ("ktap", Form::Ktap),
        ("lava", Form::Lava),
        ("kcidb", Form::Kcidb),
        ("github", Form::Github),
    ];
}

/// Where tests are, in the tree of a test system.
const SUITE: &str = "dormouse.check";

/// The answer in the form of a test system. `inputs` as they were typed; `build` is what
/// KCIDB calls the kernel that was tested.
pub fn print(form: Form, answer: &Gated, inputs: &[String], build: &str) -> String {
    match form {
        Form::Junit => junit::print(answer, inputs),
        Form::Ktap => ktap::print(answer),
        Form::Lava => lava::print(answer),
        Form::Kcidb => kcidb::print(answer, inputs, build),
        Form::Github => github::print(answer),
    }
}

/// What is said of a gate, a line each, with nothing in it that a terminal would act on.
fn lines(gate: &Gate) -> Vec<String> {
    let said = [&gate.sentence, &gate.open].into_iter().filter(|s| !s.is_empty());
    let counted = gate.counted.iter().map(|c| {
        let at = c.line.map_or(String::new(), |l| format!(", line {l}"));
        safe(&format!("{} ({}{at}): {}", c.rule, c.input, c.sentence)).into_owned()
    });
    said.map(|s| safe(s).into_owned()).chain(counted).collect()
}

/// What was found, where the verdict rests on it.
fn measured(gate: &Gate) -> Option<Figure> {
    gate.found.filter(|_| gate.verdict != dormouse_base::gate::Verdict::Unknown)
}
