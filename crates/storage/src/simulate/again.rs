//! Sleeps of a recording decided again with other delays: the same requests, the
//! same service, the same time to wake, other times at which the storage falls
//! asleep.
//!
//! What a recording shows of a sleep is when it ended and what that cost. Here
//! the delay before it is the question, so requests that waited would not have,
//! or others would.

use crate::request::Request;
use crate::wait::Slices;

/// A request as it was: when it began, what it took without the wait for a
/// sleeping storage, and that wait, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When.
    pub begin: i64,
    /// Without waits for the sleep in question.
    pub own: i64,
    /// The wait.
    pub waited: i64,
}

impl Arrival {
    /// Of a request and that part of its latency.
    pub fn of(r: &Request, slices: &Slices, waited: i64) -> Option<Arrival> {
        Some(Arrival { begin: r.begin()?, own: slices.total() - waited, waited })
    }
}

/// What comes of a delay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Again {
    /// Latency of each request, ns, in order of arrival.
    pub latencies: Vec<i64>,
    /// Times that the storage had to be woken.
    pub wakes: u64,
    /// Time asleep, ns.
    pub asleep: i64,
}

/// Decides again: asleep `delay` ns after the last request ended (`None`: never);
/// waking takes `wake` ns, and who comes meanwhile waits for the rest of it.
/// `arrivals` are in order of time.
pub fn again(arrivals: &[Arrival], delay: Option<i64>, wake: i64) -> Again {
    let mut out = Again { latencies: Vec::with_capacity(arrivals.len()), wakes: 0, asleep: 0 };
    // Until when requests are under way, and until when the storage is waking.
    let (mut busy, mut waking): (Option<i64>, i64) = (None, i64::MIN);
    for a in arrivals {
        match (busy, delay) {
            (Some(end), Some(delay)) if a.begin > end.saturating_add(delay) => {
                out.wakes += 1;
                out.asleep += a.begin - end.saturating_add(delay);
                waking = a.begin.saturating_add(wake);
            }
            // How long the storage had rested before the recording is not known:
            // the first request waits as it did.
            (None, Some(_)) if a.waited > 0 => {
                out.wakes += 1;
                waking = a.begin.saturating_add(a.waited);
            }
            _ => {}
        }
        let wait = waking.saturating_sub(a.begin).max(0);
        let latency = a.own + wait;
        out.latencies.push(latency);
        let end = a.begin + latency;
        busy = Some(busy.map_or(end, |b| b.max(end)));
    }
    out
}

/// Who knows every request: in each rest longer than `even` it sleeps at once, and is
/// awake in time, so nobody waits. `wake` of the rest is spent on waking.
pub fn foreseen(arrivals: &[Arrival], even: i64, wake: i64) -> Again {
    let mut out = Again { latencies: Vec::with_capacity(arrivals.len()), wakes: 0, asleep: 0 };
    let mut busy: Option<i64> = None;
    for a in arrivals {
        let rest = busy.map_or(0, |end| a.begin.saturating_sub(end));
        if rest > even.max(wake) {
            out.wakes += 1;
            out.asleep += rest - wake;
        }
        out.latencies.push(a.own);
        let end = a.begin.saturating_add(a.own);
        busy = Some(busy.map_or(end, |b| b.max(end)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals() -> Vec<Arrival> {
        [(0, 10), (100, 10), (1_000, 10), (1_020, 10), (5_000, 10)]
            .map(|(begin, own)| Arrival { begin, own, waited: 0 })
            .into()
    }

    #[test]
    fn a_longer_delay_saves_wakes_and_costs_sleep() {
        let short = again(&arrivals(), Some(50), 40);
        assert_eq!(short.latencies, [10, 50, 50, 30, 50]);
        assert_eq!((short.wakes, short.asleep), (3, 40 + 800 + 3_900));
        let long = again(&arrivals(), Some(2_000), 40);
        assert_eq!((long.wakes, long.latencies.as_slice()), (1, &[10, 10, 10, 10, 50][..]));
        let known = foreseen(&arrivals(), 500, 40);
        assert_eq!((known.wakes, known.asleep), (2, (890 - 40) + (3_970 - 40)));
        assert_eq!(known.latencies, [10; 5]);
        let never = again(&arrivals(), None, 40);
        assert_eq!((never.wakes, never.asleep), (0, 0));
    }
}
