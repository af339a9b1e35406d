//! What is said of a text.

use crate::root::Root;
use crate::supplier::Supplier;
use crate::unchecked::Unchecked;
use crate::{cycle, domain};
use dormouse_base::finding::Finding;

/// What is said of a text.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Worst first; of equal ones probes that failed, then what explains most.
    pub findings: Vec<Finding>,
    /// What the text cannot show.
    pub unchecked: Vec<Unchecked>,
    /// Why each domain of each dump is on.
    pub held: Vec<Vec<domain::Held>>,
    /// What holds each waiting device up, those that explain most first.
    pub roots: Vec<Root>,
    /// Cycles as a set of pairs.
    pub pairs: cycle::Pairs,
    /// Suppliers and the consumers that they wait for.
    pub suppliers: Vec<Supplier>,
}
