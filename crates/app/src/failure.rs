//! Why a use case ends without an answer. The command line makes its exit code
//! of these types (`docs/exit-codes.md`).

pub use dormouse_base::failure::Usage;

/// The input holds nothing to analyse: says what was looked at.
#[derive(Debug, thiserror::Error)]
#[error("nothing to analyse: {0}")]
pub struct Nothing(pub String);

/// The input is cut or damaged, and nothing in it could be read.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Damaged(pub String);

/// The simulation of a recording is too far from it to decide anything.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NotReproduced(pub String);

/// What was asked for is not met: slower than allowed, or a prediction that a
/// kernel did not confirm.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NotMet(pub String);

impl NotMet {
    /// A verdict on findings, of which so many say that something is broken.
    ///
    /// # Errors
    /// If there are any.
    pub fn if_broken(findings: usize) -> Result<(), NotMet> {
        match findings {
            0 => Ok(()),
            1 => Err(NotMet("1 finding says that something is broken".into())),
            n => Err(NotMet(format!("{n} findings say that something is broken"))),
        }
    }
}
