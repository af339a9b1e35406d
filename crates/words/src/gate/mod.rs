//! The answer of a check for test systems: each gate is a test, always of the same name, so
//! that a dashboard finds it in every run. What is not known is a skipped test.

mod github;
mod junit;
mod kcidb;
mod ktap;
mod lava;
mod told;

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
