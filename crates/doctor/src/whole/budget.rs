//! What would keep a limit on the way back: the rows of every recorded sleep, whose they are, and
//! which changes the text proves to apply to them.
//!
//! It is arithmetic on recorded rows, and no simulation. A change takes a stretch of time out of
//! a sleep. Where something else may have run in that stretch, what is left may still have been
//! waited for: then the change takes *at most* that stretch, and a sleep has a least and a most
//! that is left. No sleep can be left with less: at each moment outside of all stretches
//! something else was on the way to the mark, and takes as long as it took.

use super::Mark;
use super::pieces::{Change, Left, Owner, Part, Sleep, sleep};
use super::ready::{HOLD, Ready};
use crate::gate::Told;
use dormouse_base::gate::Verdict;
use dormouse_base::say::{plural, span};
use dormouse_base::stats::describe::middle;
use dormouse_base::time::Ns;
use serde::Serialize;
use std::collections::BTreeMap;

/// What a change takes, over all sleeps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Offer {
    /// Which.
    pub change: Change,
    /// Sleeps in which it takes anything.
    pub sleeps: usize,
    /// The median of what it takes in those.
    pub median_ns: Ns,
    /// The most.
    pub longest_ns: Ns,
    /// In some of them it takes that or less.
    pub at_most: bool,
}

/// A row over all sleeps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Share {
    /// What ends it.
    pub until: Mark,
    /// Who could mend it.
    pub owner: Owner,
    /// Sleeps that have it.
    pub sleeps: usize,
    /// Its median.
    pub median_ns: Ns,
    /// The longest.
    pub longest_ns: Ns,
}

/// One limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Limit {
    /// As it was asked for.
    pub what: String,
    /// So long after the kernel's return.
    pub within_ns: Ns,
    /// Sleeps that keep it as they are.
    pub kept: usize,
    /// Sleeps that keep it with the set, at least.
    pub kept_then: usize,
    /// What 95 of 100 sleeps that tell keep as they are.
    pub now_ns: Ns,
    /// The same with the set, if each change takes all that it can.
    pub then_least_ns: Ns,
    /// The same, if those that are sure alone take anything.
    pub then_most_ns: Ns,
    /// The rows on the way to it, in order of their marks.
    pub rows: Vec<Share>,
    /// What each change would take.
    pub changes: Vec<Offer>,
    /// The sleeps that tell.
    pub sleeps: Vec<Sleep>,
}

/// What keeps all limits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// The answer, in words.
    pub answer: String,
    /// `met`: in 95 of 100 recorded sleeps; `unknown`: only if changes take all that they can,
    /// or stamps or lines do not tell; `missed`: not even then.
    pub verdict: Verdict,
    /// The same without any change.
    pub now: Verdict,
    /// Sleeps of the texts; of one that does not tell nothing is known.
    pub slept: usize,
    /// Stamps of whole seconds are why it is not known.
    pub coarse: bool,
    /// The smallest set of changes; all that help, if no set does.
    pub set: Vec<Change>,
    /// Other sets of its size that may keep the limits as well, where that is not known: the
    /// text does not tell which of them was waited for.
    pub or: Vec<Vec<Change>>,
    /// Each limit.
    pub limits: Vec<Limit>,
}

/// What this is, and what it is not.
pub const ARITHMETIC: &str = "This is arithmetic on recorded rows and no simulation: a change takes its stretch of each \
     recorded sleep out, and what it costs itself is not in it. \"At most\" stands where \
     something else may have run at the same time.";

/// Judges every set of changes by every sleep; nothing if no line tells of any limit.
pub fn plan(told: &[Told<'_>], asked: &[Ready]) -> Option<Plan> {
    let all = || told.iter().flat_map(|t| t.report.ways.iter().map(move |w| (t, w)));
    let slept = told.iter().map(|t| t.report.slept).sum::<usize>().max(all().count());
    let of = |r: &Ready| -> (Ready, Vec<Sleep>) {
        let sleeps = all().filter_map(|(t, w)| sleep(t.name, w, &t.case?.way.steps, r.mark));
        (*r, sleeps.collect())
    };
    let limits: Vec<(Ready, Vec<Sleep>)> = asked.iter().map(of).collect();
    if limits.is_empty() || limits.iter().any(|l| l.1.is_empty()) {
        return None;
    }
    let judged = |set: &[Change]| {
        let of = |(r, sleeps): &(Ready, Vec<Sleep>)| holds(sleeps, set, r.within, slept);
        limits.iter().map(of).max().unwrap_or(Verdict::Unknown)
    };
    let now = judged(&[]);
    let Chosen { set, or, verdict } = chosen(&limits, &judged);
    let coarse = limits.iter().flat_map(|l| &l.1).any(|s| s.grain_ns >= super::SECOND);
    let coarse = coarse && verdict == Verdict::Unknown;
    let limits: Vec<Limit> = limits.into_iter().map(|(r, s)| limit(r, s, &set)).collect();
    let mut plan = Plan { answer: String::new(), verdict, now, slept, coarse, set, or, limits };
    plan.answer = answer(&plan);
    Some(plan)
}

/// Whether 95 of 100 sleeps keep a limit; one that does not tell may be late.
fn holds(sleeps: &[Sleep], set: &[Change], within: Ns, slept: usize) -> Verdict {
    let count = |v| sleeps.iter().filter(|s| s.verdict(set, within) == v).count();
    match (count(Verdict::Met) * 100 >= HOLD * slept, count(Verdict::Missed) * 100) {
        (true, _) => Verdict::Met,
        (_, missed) if missed > (100 - HOLD) * slept => Verdict::Missed,
        _ => Verdict::Unknown,
    }
}

/// A set and what it does.
struct Chosen {
    set: Vec<Change>,
    or: Vec<Vec<Change>>,
    verdict: Verdict,
}

/// The smallest set that is met, else the smallest that may be, else all that take anything;
/// of sets of one size the one that leaves least, and then the one whose own rows are longest.
fn chosen(limits: &[(Ready, Vec<Sleep>)], judged: &dyn Fn(&[Change]) -> Verdict) -> Chosen {
    let sleeps = || limits.iter().flat_map(|l| &l.1);
    let helps = |c: &Change| sleeps().flat_map(|s| &s.pieces).any(|p| p.change == *c);
    let offered: Vec<Change> = Change::ALL.into_iter().filter(helps).collect();
    let subset = |bits: u32| -> Vec<Change> {
        let has = |(i, _): &(usize, &Change)| bits & 1 << i != 0;
        offered.iter().enumerate().filter(has).map(|(_, c)| *c).collect()
    };
    let left = |set: &[Change], of: &dyn Fn(Left) -> Ns| -> Ns {
        let each = limits.iter().map(|(_, all)| kept_by(all.iter().map(|s| of(s.left(set)))));
        each.fold(Ns::ZERO, |a, b| Ns(a.0.saturating_add(b.0)))
    };
    let own = |set: &[Change]| -> i64 {
        let mine = |r: &&Part| set.iter().any(|c| c.rows().contains(&r.until));
        sleeps().flat_map(|s| s.rows.iter().filter(mine)).map(|r| r.took_ns.0).sum()
    };
    let mut sets: Vec<Vec<Change>> = (0..1 << offered.len()).map(subset).collect();
    sets.sort_by_cached_key(|s| {
        let (most, least) = (left(s, &|l| l.most.0), left(s, &|l| l.least.0));
        (s.len(), most, std::cmp::Reverse(own(s)), least, s.clone())
    });
    for wanted in [Verdict::Met, Verdict::Unknown] {
        let mut fit = sets.iter().filter(|s| judged(s) == wanted);
        let Some(set) = fit.next().cloned() else { continue };
        let alike = fit.filter(|s| wanted == Verdict::Unknown && s.len() == set.len());
        return Chosen { or: alike.cloned().collect(), set, verdict: wanted };
    }
    // What adds nothing to others is no part of the best.
    let best = sets.iter().min_by_key(|s| (left(s, &|l| l.least.0), s.len())).cloned();
    Chosen { set: best.unwrap_or_default(), or: Vec::new(), verdict: Verdict::Missed }
}

/// What 95 of 100 keep.
fn kept_by(times: impl Iterator<Item = Ns>) -> Ns {
    let mut all: Vec<Ns> = times.collect();
    all.sort_unstable();
    let at = (all.len() * HOLD).div_ceil(100).saturating_sub(1);
    all.get(at).copied().unwrap_or(Ns::ZERO)
}

fn limit(r: Ready, sleeps: Vec<Sleep>, set: &[Change]) -> Limit {
    let met =
        |set: &[Change]| sleeps.iter().filter(|s| s.verdict(set, r.within) == Verdict::Met).count();
    let offer = |change: Change| {
        let pieces = || sleeps.iter().flat_map(|s| &s.pieces).filter(|p| p.change == change);
        let mut took: Vec<i64> = pieces().map(|p| p.until_ns.0 - p.from_ns.0).collect();
        Some(Offer {
            change,
            sleeps: took.len(),
            median_ns: Ns(middle(&mut took, i64::midpoint)?),
            longest_ns: Ns(*took.last()?),
            at_most: pieces().any(|p| p.at_most),
        })
    };
    Limit {
        what: r.mark.asked().into(),
        within_ns: r.within,
        kept: met(&[]),
        kept_then: met(set),
        now_ns: kept_by(sleeps.iter().map(|s| s.took_ns)),
        then_least_ns: kept_by(sleeps.iter().map(|s| s.left(set).least.0)),
        then_most_ns: kept_by(sleeps.iter().map(|s| s.left(set).most.0)),
        rows: shares(&sleeps),
        changes: Change::ALL.into_iter().filter_map(offer).collect(),
        sleeps,
    }
}

/// The rows of all sleeps; one that is another's in some of them is two.
fn shares(sleeps: &[Sleep]) -> Vec<Share> {
    let mut all: BTreeMap<(Mark, Owner), Vec<i64>> = BTreeMap::new();
    for row in sleeps.iter().flat_map(|s| &s.rows) {
        all.entry((row.until, row.owner)).or_default().push(row.took_ns.0);
    }
    let of = |((until, owner), mut took): ((Mark, Owner), Vec<i64>)| {
        let (sleeps, median_ns) = (took.len(), Ns(middle(&mut took, i64::midpoint)?));
        Some(Share { until, owner, sleeps, median_ns, longest_ns: Ns(*took.last()?) })
    };
    all.into_iter().filter_map(of).collect()
}

/// Changes in words.
fn listed(set: &[Change]) -> String {
    set.iter().map(|c| c.name()).collect::<Vec<_>>().join(" and ")
}

/// The answer in words.
fn answer(plan: &Plan) -> String {
    let limits = &plan.limits;
    let one = limits.len() == 1;
    // `2.0 s`, or `net 2.0 s, unit 90 ms`.
    let each = |of: &dyn Fn(&Limit) -> String| -> String {
        let named = |l: &Limit| if one { of(l) } else { format!("{} {}", l.what, of(l)) };
        limits.iter().map(named).collect::<Vec<_>>().join(", ")
    };
    let asked: Vec<String> =
        limits.iter().map(|l| format!("{} within {}", l.what, span(l.within_ns))).collect();
    let asked = asked.join(", ");
    let told = limits.iter().map(|l| l.sleeps.len()).min().unwrap_or(0);
    let all = plural(plan.slept, "recorded sleep");
    let sleeps = if told < plan.slept { format!("{told} of {all} tell") } else { all };
    let was = format!("95 % keep {} now", each(&|l| span(l.now_ns)));
    let list = listed(&plan.set);
    match plan.verdict {
        Verdict::Met if plan.set.is_empty() => {
            format!("{asked}: kept as it is ({sleeps}; {was}).")
        }
        Verdict::Met => format!(
            "{asked}: {} would keep it: {list}. 95 % would keep {} ({sleeps}; {was}).",
            plural(plan.set.len(), "change"),
            each(&|l| span(l.then_most_ns)),
        ),
        Verdict::Unknown if plan.set.is_empty() => {
            format!("{asked}: whether it is kept as it is, is not known ({sleeps}; {was}).")
        }
        Verdict::Unknown => {
            let range = each(&|l| match l.then_least_ns == l.then_most_ns {
                true => span(l.then_most_ns),
                false => format!("{} to {}", span(l.then_least_ns), span(l.then_most_ns)),
            });
            let or: String = plan.or.iter().map(|s| format!("; or with {}", listed(s))).collect();
            format!(
                "{asked}: whether any change keeps it is not known. It may be kept with {list} (95 % would keep {range}){or} ({sleeps}; {was})."
            )
        }
        Verdict::Missed if plan.set.is_empty() => format!(
            "{asked}: no change that the text proves to apply takes anything away ({sleeps}; {was})."
        ),
        Verdict::Missed => format!(
            "{asked}: no set of changes does. The best leaves {} at least: {list} ({sleeps}; {was}).",
            each(&|l| span(l.then_least_ns))
        ),
    }
}

/// What a change takes, in words.
pub fn taken(o: &Offer) -> String {
    let most = if o.at_most { "at most " } else { "" };
    let longest = span(o.longest_ns);
    match (o.sleeps, span(o.median_ns)) {
        (1, _) => format!("takes {most}{longest} in 1 sleep"),
        (n, median) if median == longest => format!("takes {most}{longest} in each of {n} sleeps"),
        (n, median) => format!(
            "takes {most}{median} in the middle of {n} sleeps, {most}{longest} in the longest"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Case;
    use crate::report::Report;
    use crate::way::{Kind, Step};
    use dormouse_base::stats::random::Random;

    const WAKE: &str = "manager: sleep: wake requested (sleeping: yes  enabled: yes)";

    /// Lines of one way back: ms behind the return, what they are and say.
    fn case(nights: &[Vec<(i64, Kind, &str)>], grain: i64) -> Case {
        let mut case = Case::new(Vec::new(), &[]);
        let mut line = 0;
        for (i, night) in nights.iter().enumerate() {
            let zero = i as i64 * 3_600_000;
            let own = [(-30_000, Kind::Entry, "suspend entry"), (0, Kind::Back, "suspend exit")];
            for (ms, kind, text) in own.iter().chain(night) {
                line += 1;
                let ms = (zero + ms).div_euclid(grain) * grain;
                let text = (*text).to_string();
                case.way.steps.push(Step {
                    line,
                    text,
                    ms,
                    grain,
                    run: 0,
                    wall: true,
                    kind: *kind,
                });
            }
        }
        case
    }

    fn planned(case: &Case, asked: &[(Mark, i64)]) -> Option<Plan> {
        let report = Report { ways: super::super::of(case), ..Report::default() };
        let told = Told { name: "x", report: &report, case: Some(case), measured: &[] };
        let asked: Vec<Ready> = asked
            .iter()
            .map(|(mark, ms)| Ready { mark: *mark, within: Ns(ms * 1_000_000) })
            .collect();
        plan(&[told], &asked)
    }

    fn night(hook: i64, link: i64, lease: i64, told: bool) -> Vec<(i64, Kind, &'static str)> {
        let mut out = vec![(hook, Kind::Ended, "Finished systemd-suspend.service")];
        if told {
            out.push((hook, Kind::Back, WAKE));
        }
        out.push((hook + link, Kind::Link, "eth0: Link is Up"));
        out.push((hook + link, Kind::Other, "dhcp4 (eth0): beginning transaction"));
        out.push((hook + link + lease, Kind::Address, "dhcp4 (eth0): new lease"));
        out
    }

    #[test]
    fn the_smallest_set_is_found_and_what_is_not_proven_is_not_claimed() {
        let told = case(&vec![night(90_000, 300, 1_500, true); 4], 1);
        let net = |limit| planned(&told, &[(Mark::Address, limit)]).expect("a plan");
        let one = net(2_000);
        assert_eq!((one.verdict, &one.set[..]), (Verdict::Met, &[Change::Hooks][..]));
        assert_eq!(one.limits[0].then_most_ns, Ns(1_800_000_000), "{}", one.answer);
        assert_eq!(net(500).set, [Change::Hooks, Change::Lease]);
        assert_eq!(net(100).set, [Change::Hooks, Change::Lease, Change::Carrier]);
        let as_it_is = net(100_000);
        assert_eq!((as_it_is.now, as_it_is.set.len()), (Verdict::Met, 0));
        // Whose rows they are, and that they add up.
        let s = &one.limits[0].sleeps[0];
        let owners: Vec<Owner> = s.rows.iter().map(|r| r.owner).collect();
        assert_eq!(owners, [Owner::UserSpace, Owner::Kernel, Owner::UserSpace]);
        assert_eq!(s.rows.iter().map(|r| r.took_ns).sum::<Ns>(), s.took_ns);
        // The same without a word that the network waited for the unit.
        let silent = case(&vec![night(90_000, 300, 1_500, false); 4], 1);
        let open = planned(&silent, &[(Mark::Address, 2_000)]).expect("a plan");
        assert_eq!((open.verdict, &open.set[..]), (Verdict::Unknown, &[Change::Hooks][..]));
        assert_eq!(open.or, [[Change::Carrier]], "a link of its own may have been as late");
        let both = planned(&silent, &[(Mark::Unit, 1_000), (Mark::Address, 2_000)]).expect("one");
        assert_eq!((both.verdict, &both.set[..]), (Verdict::Unknown, &[Change::Hooks][..]));
        // Of the unit itself it is known.
        let unit = planned(&silent, &[(Mark::Unit, 1_000)]).expect("a plan");
        assert_eq!((unit.verdict, &unit.set[..]), (Verdict::Met, &[Change::Hooks][..]));
    }

    #[test]
    fn what_no_change_takes_away_is_said_and_a_late_one_in_twenty_is_allowed() {
        let slow = |ms| {
            vec![
                (ms, Kind::Other, ""),
                (ms, Kind::Screen, ""),
                (ms + 1, Kind::Took(1), "Screen on took 1 ms"),
            ]
        };
        let late = case(&vec![slow(3_000); 3], 1);
        let none = planned(&late, &[(Mark::Screen, 2_000)]).expect("a plan");
        assert_eq!((none.verdict, none.set.len()), (Verdict::Missed, 0), "{}", none.answer);
        let nights = |late: usize| -> Vec<_> {
            (0..20).map(|i| night(if i < late { 9_000 } else { 10 }, 10, 10, true)).collect()
        };
        let of = |late| planned(&case(&nights(late), 1), &[(Mark::Address, 1_000)]).expect("one");
        assert_eq!((of(1).now, of(1).set.len()), (Verdict::Met, 0));
        assert_eq!((of(2).now, of(2).set), (Verdict::Missed, vec![Change::Hooks]));
        assert!(planned(&late, &[(Mark::Address, 1)]).is_none());
    }

    #[test]
    fn stamps_of_whole_seconds_tell_no_half_second() {
        let coarse = case(&vec![night(400, 700, 1_500, true); 4], 1_000);
        let of = |limit| planned(&coarse, &[(Mark::Address, limit)]).expect("a plan");
        assert!(of(500).coarse && of(500).verdict == Verdict::Unknown, "{}", of(500).answer);
        assert!(!of(9_000).coarse && of(9_000).now == Verdict::Met);
    }

    /// Of drawn nights: what is left is never more than it was, never less than what no change
    /// touches, and more changes never leave more; the answer is the first of all sets.
    #[test]
    fn of_drawn_nights_no_set_that_is_smaller_does() {
        let mut r = Random::new(7);
        let mut draw = |n: u64| r.below(n) as i64;
        for _ in 0..300 {
            let nights: Vec<_> = (0..1 + draw(6))
                .map(|_| night(draw(900), 1 + draw(900), 1 + draw(900), draw(2) == 0))
                .collect();
            let limit = draw(2_000);
            let case = case(&nights, 1);
            let plan = planned(&case, &[(Mark::Address, limit)]).expect("a plan");
            let sleeps = &plan.limits[0].sleeps;
            let within = Ns(limit * 1_000_000);
            let sets = (0..16_u32).map(|bits| {
                let has = |(i, _): &(usize, Change)| bits & 1 << i != 0;
                Change::ALL.into_iter().enumerate().filter(has).map(|c| c.1).collect::<Vec<_>>()
            });
            for set in sets {
                let v = holds(sleeps, &set, within, sleeps.len());
                let alike = v == plan.verdict && v != Verdict::Missed;
                assert!(!alike || set.len() >= plan.set.len(), "{set:?}: {}", plan.answer);
                assert!(v >= plan.verdict, "{set:?} does better than {}", plan.answer);
                for s in sleeps {
                    let Left { least, most } = s.left(&set);
                    assert!(Ns::ZERO <= least.0 && least.0 <= most.0 && most.0 <= s.took_ns);
                    assert!(s.left(&Change::ALL).least.0 <= least.0);
                    assert_eq!(s.rows.iter().map(|r| r.took_ns).sum::<Ns>(), s.took_ns);
                }
            }
        }
    }
}
