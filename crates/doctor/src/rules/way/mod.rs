//! The whole way of a sleep, from the request to a machine that can be used: what services
//! say, what people measured, what a firmware marks.

mod before;
mod direction;
mod figures;
mod firmware;
mod graph;
mod hook;
mod lock;
pub(crate) mod logind;
pub(crate) mod network;
mod quote;
mod steps;
mod unit;
mod work;

use crate::case::Case;
use crate::finding::Finding;

pub(crate) fn judge(case: &Case, out: &mut Vec<Finding>) {
    network::told(case, out);
    unit::inhibited(case, out);
    lock::judge(case, out);
    if !case.way.is_empty() {
        steps::judge(case, out);
        firmware::judge(case, out);
        graph::judge(case, out);
        figures::judge(case, out);
    }
    hook::judge(case, out);
}
