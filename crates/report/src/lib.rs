//! The HTML report: one file that holds the page, its data and the simulator.
//!
//! [`render`] chooses what to embed ([`choose`]), turns captures and what
//! `analyse` says of them into columns ([`data`]), compresses these into
//! blocks ([`block`]) and puts them into the page that `web/` builds
//! ([`page`]). Nothing is computed here that `show` does not print too.

pub mod block;
pub mod choose;
pub mod data;
pub mod idle;
mod letters;
pub mod page;

use dormouse_base::capture::Capture;
use dormouse_sleep::analyse::CycleView;
use dormouse_words::doctor::Worded;
use thiserror::Error;

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
}

impl Default for Options {
    fn default() -> Options {
        Options {
            title: "dormouse report".into(),
            cycle_callbacks: 100_000,
            callbacks: 400_000,
            devices: 20_000,
        }
    }
}

/// Why there is no report.
#[derive(Debug, Error)]
pub enum Error {
    /// The crate was built without the page.
    #[error(
        "this dormouse was built without the page of the report: run `make web`, then build again"
    )]
    NoPage,
    /// No capture has a cycle, and no trace the sleeps of CPUs.
    #[error(
        "nothing to report: no suspend or resume was found in the input, and no sleep of a CPU"
    )]
    NoCycle,
}

/// The report as HTML.
///
/// # Errors
/// If no capture holds a cycle, or if the crate was built without the page.
pub fn render(captures: &[Labelled<'_>], options: &Options) -> Result<String, Error> {
    if captures.iter().all(|c| c.capture.cycles.is_empty()) {
        return Err(Error::NoCycle);
    }
    if !page::is_built() {
        return Err(Error::NoPage);
    }
    let blocks = data::blocks(captures, options);
    Ok(page::assemble(&options.title, &blocks))
}
