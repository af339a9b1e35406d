//! The delay before storage falls asleep that meets a budget at least cost.
//!
//! The cost of a delay is time: what the storage is awake, and for every wake-up
//! its break-even time, the time asleep that saves as much as waking costs.

use crate::simulate::again::{Again, Arrival, again};

/// Delays are set in whole milliseconds (`autosuspend_delay_ms`, drivers/base/power/
/// sysfs.c; `clkgate_delay_ms`, drivers/ufs/core/ufshcd.c; 6.12), ns.
const STEP: i64 = 1_000_000;

/// A delay and what comes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// ns; `None` for never asleep.
    pub delay: Option<i64>,
    /// What comes of it.
    pub again: Again,
    /// Its cost, ns awake.
    pub cost: i128,
}

/// The delays that can differ for these requests, the shortest first and never
/// last, in whole milliseconds: with any other the storage sleeps as often as with
/// the next shorter of these, and is awake longer. At most `most` of them; the
/// flag says that these are all.
pub fn delays(arrivals: &[Arrival], wake: i64, most: usize) -> (Vec<Option<i64>>, bool) {
    let mut out: Vec<i64> = std::vec![0];
    let mut busy: Option<i64> = None;
    for a in arrivals {
        let rest = busy.map_or(0, |end| a.begin.saturating_sub(end));
        if rest > 0 {
            // A wake-up before it makes a rest shorter, by any part of its time.
            let steps = |ns: i64| ns.max(0).saturating_add(STEP - 1) / STEP;
            out.extend((steps(rest.saturating_sub(wake))..=steps(rest)).take(most.max(1)));
        }
        let end = a.begin.saturating_add(a.own);
        busy = Some(busy.map_or(end, |b| b.max(end)));
        // Doubles are dropped on the way, so that memory is bounded by delays.
        if out.len() > 4 * most.max(256) {
            out.sort_unstable();
            out.dedup();
        }
    }
    out.sort_unstable();
    out.dedup();
    let all = out.len() < most.max(2);
    if !all {
        // The longest is kept: with it the storage stays awake in every rest.
        let (n, last) = (out.len(), out[out.len() - 1]);
        let keep = most.max(2) - 1;
        out = (0..keep).map(|i| out[i * n / keep]).chain([last]).collect();
        out.dedup();
    }
    (out.into_iter().map(|ms| Some(ms * STEP)).chain([None]).collect(), all)
}

/// What a wake-up costs, and how long was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// What a wake-up takes, ns.
    pub wake: i64,
    /// The time asleep that saves as much as one costs, ns.
    pub break_even: i64,
    /// The end of the recording, ns: after the last request the storage stays awake
    /// for the delay, or until then.
    pub until: i64,
}

/// What a delay costs.
pub fn of(arrivals: &[Arrival], delay: Option<i64>, terms: Terms) -> Found {
    let Terms { wake, break_even, until } = terms;
    let again = again(arrivals, delay, wake);
    let begin = arrivals.first().map_or(0, |a| a.begin);
    let ends = arrivals.iter().zip(&again.latencies).map(|(a, l)| a.begin.saturating_add(*l));
    let end = ends.max().unwrap_or(begin);
    let span = end.saturating_sub(begin);
    // A wait for the storage does not make the rest after it shorter.
    let own = arrivals.iter().map(|a| a.begin.saturating_add(a.own)).max();
    let rest = until.saturating_sub(own.unwrap_or(until)).max(0);
    let held = delay.map_or(rest, |delay| delay.min(rest));
    let awake = i128::from(span - again.asleep) + i128::from(held);
    let cost = awake + i128::from(again.wakes) * i128::from(break_even);
    Found { delay, again, cost }
}

/// The cheapest of `delays`, and among those that keep 99 of 100 requests within
/// `p99` ns, if one is given. Without any that does, the one with the least p99.
/// The flag says whether the budget is met. Of equals the shortest delay.
pub fn cheapest(
    arrivals: &[Arrival],
    delays: &[Option<i64>],
    terms: Terms,
    p99: Option<i64>,
) -> Option<(Found, bool)> {
    let mut best: Option<(Found, (bool, i128))> = None;
    let mut sample = Vec::with_capacity(arrivals.len());
    for &delay in delays {
        let f = of(arrivals, delay, terms);
        let rank = match p99 {
            None => (false, f.cost),
            Some(budget) => {
                sample.clear();
                sample.extend_from_slice(&f.again.latencies);
                match quantile99(&mut sample) {
                    x if x <= budget => (false, f.cost),
                    x => (true, i128::from(x)),
                }
            }
        };
        if best.as_ref().is_none_or(|b| rank < b.1) {
            best = Some((f, rank));
        }
    }
    best.map(|(f, (missed, _))| (f, !missed))
}

/// What nobody can undercut who lets every request in: in each rest the lesser of
/// staying awake and waking once, ns awake. Whoever knows the next request wakes
/// before it, and nobody waits.
/// It sleeps at once after the last.
pub fn foresight(arrivals: &[Arrival], break_even: i64) -> i128 {
    let mut cost = 0;
    let mut busy: Option<i64> = None;
    for a in arrivals {
        let from = busy.unwrap_or(a.begin);
        cost += i128::from(a.begin.saturating_sub(from).clamp(0, break_even.max(0)));
        let end = a.begin.saturating_add(a.own);
        cost += i128::from(end.saturating_sub(from.max(a.begin)).max(0));
        busy = Some(from.max(end));
    }
    cost
}

/// The 99th percentile, as [`crate::summary::Latency`] counts it.
fn quantile99(sample: &mut [i64]) -> i64 {
    let at = (sample.len() * 99).div_ceil(100).max(1) - 1;
    if sample.is_empty() { 0 } else { *sample.select_nth_unstable(at).1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::Latency;

    const MS: i64 = 1_000_000;

    /// Requests of 1 ms at these moments, ms.
    fn at(moments: &[i64]) -> Vec<Arrival> {
        moments.iter().map(|m| Arrival { begin: m * MS, own: MS, waited: 0 }).collect()
    }

    #[test]
    fn the_cheapest_delay_stays_awake_in_short_rests_alone() {
        // Rests of 9, 9, 979 ms; a wake takes 5 ms and costs 20.
        let a = at(&[0, 10, 20, 1_000]);
        let (list, all) = delays(&a, 5 * MS, 1_000);
        assert!(all && list.contains(&Some(9 * MS)) && list.contains(&None), "{list:?}");
        let terms = Terms { wake: 5 * MS, break_even: 20 * MS, until: 0 };
        let (f, met) = cheapest(&a, &list, terms, None).unwrap();
        assert!(met);
        assert_eq!((f.delay, f.again.wakes), (Some(9 * MS), 1));
        // Awake: 3 requests and 2 rests, the delay, the wake-up and its request.
        assert_eq!(f.cost, i128::from((21 + 9 + 5 + 1 + 20) * MS));
        // A request may wait for no wake-up: awake through all of it.
        let (f, met) = cheapest(&a, &list, terms, Some(2 * MS)).unwrap();
        assert!(met);
        assert_eq!((f.delay, f.again.wakes), (Some(979 * MS), 0));
        // No delay makes a request faster than it is.
        let (f, met) = cheapest(&a, &list, terms, Some(MS / 2)).unwrap();
        assert!(!met && f.again.wakes == 0);
    }

    #[test]
    fn no_other_delay_is_cheaper_and_none_undercuts_foresight() {
        let mut random = dormouse_random(7);
        for _ in 0..300 {
            let n = 2 + random(20);
            let mut t = 0;
            let arrivals: Vec<Arrival> = (0..n)
                .map(|_| {
                    t += random(40) * MS / 2 + random(MS);
                    Arrival { begin: t, own: 1 + random(3 * MS), waited: 0 }
                })
                .collect();
            let (wake, even) = (1 + random(6 * MS), random(30 * MS));
            let (list, all) = delays(&arrivals, wake, 10_000);
            assert!(all);
            let terms = Terms { wake, break_even: even, until: t + random(60 * MS) };
            for budget in [None, Some(random(8 * MS))] {
                let (best, met) = cheapest(&arrivals, &list, terms, budget).unwrap();
                let every = (0..60).map(|ms| Some(ms * MS)).chain([None]);
                for delay in every {
                    let f = of(&arrivals, delay, terms);
                    let p99 = Latency::of(&mut f.again.latencies.clone()).p99;
                    assert!(f.cost >= foresight(&arrivals, even), "{delay:?}");
                    if budget.is_none_or(|b| p99 <= b) {
                        assert!(met && best.cost <= f.cost, "{delay:?} beats {best:?}");
                    }
                }
            }
            // Waiting for the break-even time costs at most twice the best, the
            // wake-ups themselves, and the time until it sleeps at the end.
            let rule = of(&arrivals, Some(even), terms);
            let waits = i128::from(wake) * i128::from(rule.again.wakes);
            assert!(rule.cost <= 2 * foresight(&arrivals, even) + waits + i128::from(even));
        }
    }

    #[test]
    fn after_the_last_request_it_stays_awake_for_the_delay() {
        // One request of 1 ms, and 100 ms of recording after it.
        let terms = Terms { wake: MS, break_even: 5 * MS, until: 101 * MS };
        let cost = |delay| of(&at(&[0]), delay, terms).cost;
        let held = [Some(0), Some(30 * MS), Some(400 * MS), None].map(cost);
        assert_eq!(held, [1, 31, 101, 101].map(|ms| ms * i128::from(MS)));
        assert_eq!(foresight(&at(&[0]), terms.break_even), i128::from(MS));
    }

    #[test]
    fn too_many_delays_are_thinned_and_that_is_said() {
        let a = at(&(0..500).map(|i| i * i).collect::<Vec<_>>());
        let (list, all) = delays(&a, MS, 50);
        assert!(!all && list.len() <= 52, "{}", list.len());
        assert_eq!(list[0], Some(0));
        assert_eq!(list[list.len() - 2], Some((499 * 499 - 498 * 498 - 1) * MS));
        assert_eq!(delays(&[], MS, 50), (std::vec![Some(0), None], true));
        let terms = Terms { wake: 1, break_even: 1, until: 0 };
        assert_eq!(cheapest(&[], &[], terms, None), None);
    }

    /// Numbers below a bound, the same for a seed.
    fn dormouse_random(seed: u64) -> impl FnMut(i64) -> i64 {
        let mut x = seed;
        move |bound| {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((x >> 33) as i64) % bound.max(1)
        }
    }
}
