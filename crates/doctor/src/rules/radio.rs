//! Radios that mac80211 could not start again as the machine came back.

use super::abort::owner;
use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Finding, Level};
use crate::message::Message;
use crate::said;
use dormouse_base::phase::Direction;
use dormouse_base::say;

/// What mac80211 says when the driver cannot start the hardware behind a sleep
/// (net/mac80211/util.c:ieee80211_reconfig, 3.10 to 7.3).
const GONE: &str = "Hardware became unavailable upon resume";

/// The driver's own words stand so many messages before it at most.
const NEAR: usize = 40;

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let mut said = case.messages.having(GONE).filter(|(_, m)| m.trust.is_of_a_kernel());
    let Some((at, first)) = said.next() else { return };
    let times = 1 + said.count();
    // Whoever spoke right before is the driver that could not; an error of another is not its own.
    let kernel = |m: &&Message| m.trust.is_of_a_kernel() && !m.has("cut here");
    let before = case.messages[at.saturating_sub(NEAR)..at].iter().rev().filter(kernel);
    let device = before.clone().next().map(|m| owner(&m.text)).filter(|d| !d.name.is_empty());
    let of_it = |m: &Message| device.as_ref() == Some(&owner(&m.text));
    let cause = before.clone().find(|m| of_it(m) && said::has_errno(&m.text));
    let device = device.filter(|_| cause.is_some());
    let who = device.as_ref().map_or("A radio".into(), say::device);
    let why =
        cause.map_or(String::new(), |m| format!(" Its driver says before: \"{}\".", m.text.trim()));
    out.push(
        Finding::new(("radio-not-restarted", Area::Abort, Level::Broken), Confidence::Certain)
            .says(format!("{who} did not start again when the machine came back.{why}"))
            .look("Look at its driver's first error of that return. To use it until then: unload its module before sleep and load it behind it.")
            .of_devices(device)
            .when(Some(Direction::Resume), None)
            .at("resume")
            .times(times)
            .shown_by(lines([first].into_iter().chain(cause))),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_radio_that_does_not_start_again_is_named_with_its_error() {
        let text = "Hardware became unavailable upon resume. This could be a software issue";
        let log = [(1, "elmwifi 0000:02:00.0: Failed to start: -110"), (2, text)];
        let mut out = Vec::new();
        judge(&Case::of_log(&log), &mut out);
        let [f] = &out[..] else { panic!("{out:?}") };
        assert!(f.sentence.starts_with("0000:02:00.0 (elmwifi) did not start again"), "{f:?}");
        judge(&Case::of_log(&log[..1]), &mut out);
        assert_eq!(out.len(), 1);
        out.clear();
        let other = [log[0], (2, "oak 0000:09:00.0: link is up"), (3, text)];
        judge(&Case::of_log(&other), &mut out);
        assert!(out[0].sentence.starts_with("A radio did not start again"), "{out:?}");
    }
}
