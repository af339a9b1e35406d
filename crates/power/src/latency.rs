//! A domain that took longer to switch than it had said
//! (drivers/pmdomain/core.c:_genpd_power_on, _genpd_power_off).

use dormouse_base::finding::Evidence;
use dormouse_base::time::Ns;

/// `PM: X: Power-on latency exceeded, new value N ns`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exceeded {
    /// The domain.
    pub domain: String,
    /// Switched off, not on.
    pub off: bool,
    /// What it took.
    pub took: Ns,
    /// The line.
    pub evidence: Evidence,
}
