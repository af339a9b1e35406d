//! What recorded sleeps switched.

use dormouse_base::time::Ns;

/// What recorded sleeps show of a domain: medians of those that switched it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Switched {
    /// The domain.
    pub domain: String,
    /// To switch it on, without its parents.
    pub on: Option<Ns>,
    /// To switch it off.
    pub off: Option<Ns>,
    /// Of how many sleeps.
    pub sleeps: usize,
}
