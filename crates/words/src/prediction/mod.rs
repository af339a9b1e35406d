//! What `dormouse predict` says, as text and JSON.

pub mod json;
pub mod text;

use dormouse_sleep::simulate::Stuck;
use dormouse_sleep::simulate::policy::Policy;
use dormouse_sleep::simulate::predict::Outlook;

/// One generation of kernels, and what it makes of the board.
pub type KernelRow = (&'static Policy, Result<Outlook, Stuck>);
