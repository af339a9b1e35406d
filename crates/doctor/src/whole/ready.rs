//! The limit on the way back as a whole: so long after the kernel's return the network, the
//! session or the screen is there.

use super::{Mark, WholeWay};
use crate::gate::Told;
use dormouse_base::gate::{Figure, Gate, Unit, Verdict};
use dormouse_base::say::{plural, span};
use dormouse_base::time::Ns;

/// A limit: what is to be ready, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// What.
    pub mark: Mark,
    /// So long after the kernel was back.
    pub within: Ns,
}

/// A limit holds if so many of a hundred sleeps keep it.
pub(super) const HOLD: usize = 95;

/// What one sleep says of a limit, by stamps that may be coarse.
fn verdict(took: Ns, of: &WholeWay, within: Ns) -> Verdict {
    verdict_of(took, if of.is_coarse() { of.grain_ns.0 } else { 0 }, within)
}

/// What a time says of a limit, if it may be wrong by `coarse` ns.
pub(super) fn verdict_of(took: Ns, coarse: i64, within: Ns) -> Verdict {
    if took.0.saturating_add(coarse) <= within.0 {
        Verdict::Met
    } else if took.0.saturating_sub(coarse) > within.0 {
        Verdict::Missed
    } else {
        Verdict::Unknown
    }
}

/// The gate: met if 95 of 100 sleeps are told to keep it; one of which no line tells does not.
pub fn ready(told: &[Told<'_>], asked: Ready) -> Gate {
    let Ready { mark, within } = asked;
    let gate = Gate::new(mark.gate(), span(within));
    let all: Vec<&WholeWay> = told.iter().flat_map(|t| &t.report.ways).collect();
    let times: Vec<(Ns, &WholeWay)> =
        all.iter().filter_map(|w| Some((w.ready(mark)?, *w))).collect();
    let Some((worst, of)) = times.iter().max_by_key(|t| t.0) else {
        return gate.says(format!(
            "Whether {} {} after the kernel's return is not known: no line with a time tells both.",
            mark.name(),
            span(within)
        ));
    };
    let count = |v: Verdict| times.iter().filter(|(t, w)| verdict(*t, w, within) == v).count();
    let (n, met, missed) = (times.len(), count(Verdict::Met), count(Verdict::Missed));
    // A sleep of which no line tells may be the one that was late.
    let of_all = told.iter().map(|t| t.report.slept).sum::<usize>().max(all.len());
    let whole = match (met * 100 >= HOLD * of_all, missed * 100 > (100 - HOLD) * of_all) {
        (true, _) => Verdict::Met,
        (_, true) => Verdict::Missed,
        _ => Verdict::Unknown,
    };
    let stamps = if of.is_coarse() { ", by stamps of whole seconds" } else { "" };
    let latest = format!("the latest after {}{stamps} (line {})", span(*worst), of.line);
    let what = mark.name();
    let sentence = match whole {
        Verdict::Met if n == 1 => format!("In the one sleep that tells, {what} in time: {latest}."),
        Verdict::Met => format!("In {met} of {n} sleeps that tell, {what} in time: {latest}."),
        Verdict::Missed if n == 1 => {
            format!("In the one sleep that tells, {what} too late: {latest}.")
        }
        Verdict::Missed => {
            format!("In {missed} of {n} sleeps that tell, {what} too late: {latest}.")
        }
        Verdict::Unknown if n < of_all => format!(
            "Whether {what} in time is not known: of {} no line tells within 5 min; of the others, {latest}.",
            plural(of_all - n, "sleep")
        ),
        Verdict::Unknown => format!(
            "Whether {what} in time is not known: stamps of whole seconds allow both, {latest}."
        ),
    };
    let open = "The kernel's own way back comes before that: --resume is its limit.";
    gate.found(whole, Some(Figure { nano: worst.0, unit: Unit::Seconds })).says(sentence).but(open)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Report;
    use crate::whole::Row;

    fn way(took: i64, grain: i64) -> WholeWay {
        let row = |until, ms: i64| Row {
            until,
            took_ns: Ns(ms * 1_000_000),
            line: 2,
            silence: None,
            firmware: None,
        };
        WholeWay {
            from: Mark::Kernel,
            line: 1,
            grain_ns: Ns(grain * 1_000_000),
            rows: vec![row(Mark::Back, 9_000), row(Mark::Address, took)],
        }
    }

    fn judged(ways: Vec<WholeWay>, within: i64) -> Gate {
        let report = Report { ways, ..Report::default() };
        let told = Told { name: "x", report: &report, case: None, measured: &[] };
        ready(&[told], Ready { mark: Mark::Address, within: Ns(within * 1_000_000) })
    }

    #[test]
    fn ninety_five_of_a_hundred_decide() {
        assert_eq!(judged(vec![way(1_800, 1)], 2_000).verdict, Verdict::Met);
        let missed = judged(vec![way(2_200, 1)], 2_000);
        assert_eq!(missed.verdict, Verdict::Missed);
        assert_eq!(missed.found.map(Figure::decimal), Some("2.2".into()));
        let twenty = |late: usize| {
            (0..20).map(|i| way(if i < late { 3_000 } else { 1_000 }, 1)).collect::<Vec<_>>()
        };
        assert_eq!(judged(twenty(1), 2_000).verdict, Verdict::Met);
        assert_eq!(judged(twenty(2), 2_000).verdict, Verdict::Missed);
        // Sleeps of which nothing is told may be the late ones.
        let mut some = twenty(0);
        some[..10].iter_mut().for_each(|w| w.rows.truncate(1));
        assert_eq!(judged(some, 2_000).verdict, Verdict::Unknown);
    }

    #[test]
    fn coarse_stamps_and_no_line_decide_nothing() {
        assert_eq!(judged(vec![way(2_000, 1_000)], 2_000).verdict, Verdict::Unknown);
        assert_eq!(judged(vec![way(4_000, 1_000)], 2_000).verdict, Verdict::Missed);
        assert_eq!(judged(Vec::new(), 2_000).verdict, Verdict::Unknown);
    }
}
