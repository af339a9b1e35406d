//! A case with what was found in it.

use crate::case::Case;
use crate::report::Report;
use std::ops::Deref;
use std::sync::OnceLock;

/// A case that is judged once, however many ask.
#[derive(Clone, Debug, Default)]
pub struct JudgedCase {
    case: Case,
    report: OnceLock<Report>,
}

impl JudgedCase {
    /// Not judged yet.
    pub fn new(case: Case) -> JudgedCase {
        JudgedCase { case, report: OnceLock::new() }
    }

    /// What is wrong.
    pub fn report(&self) -> &Report {
        self.report.get_or_init(|| crate::judge(&self.case))
    }
}

impl Deref for JudgedCase {
    type Target = Case;

    fn deref(&self) -> &Case {
        &self.case
    }
}
