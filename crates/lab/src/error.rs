//! What can go wrong in the laboratory.

use std::path::{Path, PathBuf};

/// An error with what was wrong, where, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be read or written.
    #[error("{path}: {source}", path = .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A program that is needed is not there.
    #[error("{program} is not installed; {advice}")]
    Missing {
        /// Its name.
        program: &'static str,
        /// How to get it.
        advice: String,
    },
    /// A program ended with an error.
    #[error("{what} failed\n{output}")]
    Program {
        /// What it was to do.
        what: String,
        /// The end of its output.
        output: String,
    },
    /// The guest did not finish. The console is shown, because it holds the
    /// only trace of a panic or a hang.
    #[error("the guest {what}; its console ends with:\n{console}")]
    Guest {
        /// What happened.
        what: String,
        /// Last lines of the guest's console.
        console: String,
    },
    /// The archive has no such kernel; the sentence says which it has.
    #[error("{0}")]
    NoKernel(String),
    /// Anything else, in one sentence.
    #[error("{0}")]
    Other(String),
}

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Error about the file at `path`.
    pub fn file(path: impl AsRef<Path>) -> impl FnOnce(std::io::Error) -> Error {
        let path = path.as_ref().to_path_buf();
        move |source| Error::File { path, source }
    }

    /// Error that is one sentence.
    pub fn other(text: impl Into<String>) -> Error {
        Error::Other(text.into())
    }
}
