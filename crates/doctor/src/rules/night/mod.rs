//! What texts say of nights besides the messages of a kernel: what a sleep counted, what
//! blocked it, what it cost, which round of many failed.

pub(crate) mod again;
mod android;
mod checks;
mod condition;
pub(crate) mod cost;
pub(super) mod counted;
mod deepest;
mod grew;
pub(super) mod latency;
pub(crate) mod owner;
pub(crate) mod package;
pub(crate) mod required;
pub(crate) mod rounds;
mod shares;
pub(crate) mod slept;
mod tool;
pub(crate) mod turns;
pub(crate) mod woke;
pub(crate) mod zero;

use crate::case::Case;
use crate::finding::Finding;
use crate::night::asleep::{Power, Share};
use crate::night::report::Report;
use crate::night::{Counts, Fact};

pub(crate) fn judge(case: &Case, out: &mut Vec<Finding>) {
    tool::judge(case, out);
    checks::judge(case, out);
    slept::early(case, out);
    again::judge(case, out);
    cost::judge(case, out);
    rounds::judge(case, out);
    owner::judge(case, out);
    grew::judge(case, out);
    android::judge(case, out);
    // How deep a sleep was tells what blocked nothing.
    shares::judge(case, out);
    counted::judge(case, out);
    latency::judge(case, out);
    condition::judge(case, out);
    zero::judge(case, out);
    deepest::judge(case, out);
    // What is known of every night, where nothing more is.
    slept::judge(case, out);
}

/// Whether the text has a counter of the whole system.
pub(crate) fn has_counters(case: &Case) -> bool {
    case.night.items.iter().any(|i| match &i.fact {
        Fact::Count(c) => matches!(c.of, Counts::System | Counts::Substate | Counts::Last),
        Fact::Shares(s) => s.system().is_some(),
        Fact::Verdict { .. } | Fact::Report(Report::Hardware { .. } | Report::NoHardware) => true,
        _ => false,
    })
}

/// Shares of sleeps that the hardware slept, by what a tool reports, else by counters.
pub(crate) fn slept_shares(case: &Case) -> Vec<Share> {
    let reported = tool::slept_shares(case);
    if reported.is_empty() { counted::slept_shares(case) } else { reported }
}

/// What each sleep drew.
pub(crate) fn powers(case: &Case) -> Vec<Power> {
    cost::powers(case)
}
