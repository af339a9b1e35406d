//! What a report is made of, and how much of it is kept.

use crate::block::Said;
use dormouse_base::capture::Capture;
use dormouse_sleep::analyse::CycleView;
use dormouse_words::doctor::Worded;
use dormouse_words::wording::waits::Silent;
use dormouse_words::wording::whole::Table;

/// A capture as it is called in the report.
#[derive(Clone, Copy, Debug)]
pub struct Labelled<'a> {
    /// What the user called it: a file, a folder.
    pub label: &'a str,
    /// The capture.
    pub capture: &'a Capture,
    /// What was understood of it: one view a cycle.
    pub views: &'a [CycleView],
    /// What the doctor says of it, in words.
    pub findings: &'a [Worded],
    /// Devices that the log's own lines say were waited for, by cycle, longest first; none
    /// where callbacks tell more.
    pub waits: &'a [Silent],
    /// Its sleeps from the request to a machine that can be used, by the lines of services.
    pub whole: Option<&'a Table>,
}

/// Bounds of what the page holds.
#[derive(Clone, Debug)]
pub struct Options {
    /// Title of the page.
    pub title: String,
    /// Most callbacks embedded of one cycle.
    pub cycle_callbacks: usize,
    /// Most callbacks embedded of all cycles together.
    pub callbacks: usize,
    /// Most devices named in the page.
    pub devices: usize,
    /// A text as the page may say it.
    pub said: Said,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            title: "dormouse report".into(),
            cycle_callbacks: 100_000,
            callbacks: 400_000,
            devices: 20_000,
            said: |text| text,
        }
    }
}
