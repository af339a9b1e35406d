//! The HTML report: one file that holds the page, its data and the simulator.
//!
//! [`render`] chooses what to embed ([`choose`]), turns captures and what
//! `analyse` says of them into columns ([`data`]), compresses these into
//! blocks ([`block`]) and puts them into the page that `web/` builds
//! ([`page`]). Nothing is computed here that `show` does not print too.

pub mod block;
mod choose;
pub mod data;
pub mod idle;
mod labelled;
mod letters;
pub mod page;

pub use labelled::{Labelled, Options};

use thiserror::Error;

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
