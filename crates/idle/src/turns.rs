//! Which of several tasks that were woken together runs first, where all have one
//! weight and work for less than a slice.
//!
//! | step | kernel function (6.12) |
//! |---|---|
//! | a task is placed by the lag that it left with, unless nobody is there | `place_entity`, kernel/sched/fair.c |
//! | the one that is furthest behind runs | `pick_eevdf` |
//! | who leaves with less than nothing waits until the others caught up | `dequeue_entity` (`DELAY_DEQUEUE`) |
//! | and has no lag then | `clear_delayed`, `DELAY_ZERO` |

use std::collections::BTreeMap;

/// A task that is to run.
#[derive(Clone, Copy, Debug)]
struct Ready {
    /// Its place in what was woken.
    place: usize,
    /// How long it has run, in the time that all share (`vruntime`), ns.
    ran: i64,
    /// It is done and waits for the others.
    done: bool,
}

/// What tasks of a CPU left with.
#[derive(Clone, Debug, Default)]
pub struct Turns {
    /// By task: the share of time that it still is to have (`vlag`), ns; more than 0.
    lags: BTreeMap<u32, i64>,
}

fn mean(ready: &[Ready]) -> i64 {
    ready.iter().map(|r| r.ran).sum::<i64>() / ready.len().max(1) as i64
}

impl Turns {
    /// The order in which tasks run that were woken in this order: number of the task,
    /// and how long it works (ns). No lag is more than `most`.
    pub fn order(&mut self, woken: &[(u32, i64)], most: i64) -> Vec<usize> {
        let mut ready: Vec<Ready> = Vec::with_capacity(woken.len());
        for (place, (task, _)) in woken.iter().enumerate() {
            let n = ready.len() as i64;
            let lag = self.lags.remove(task).unwrap_or(0);
            // Its own weight moves the mean too.
            let ran = if n == 0 { 0 } else { mean(&ready) - lag * (n + 1) / n };
            ready.push(Ready { place, ran, done: false });
        }
        let mut order = Vec::with_capacity(woken.len());
        while order.len() < woken.len() {
            // Of equals the first.
            let Some(at) = (0..ready.len()).min_by_key(|&i| ready[i].ran) else { break };
            if ready[at].done {
                ready.remove(at);
                continue;
            }
            let (task, work) = woken[ready[at].place];
            order.push(ready[at].place);
            ready[at].ran = ready[at].ran.saturating_add(work.clamp(0, most));
            let lag = mean(&ready) - ready[at].ran;
            if lag < 0 {
                ready[at].done = true;
            } else {
                ready.remove(at);
                if lag > 0 {
                    self.lags.insert(task, lag.min(most));
                }
            }
        }
        order
    }

    /// A task ran alone.
    pub fn alone(&mut self, task: u32) {
        self.lags.remove(&task);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: i64 = 4_000_000;

    #[test]
    fn who_ran_less_at_the_end_goes_first_the_next_time() {
        let mut t = Turns::default();
        // 7 runs first and longer: 8 leaves with half of what it ran less.
        assert_eq!(t.order(&[(7, 90_000), (8, 30_000)], MOST), [0, 1]);
        assert_eq!(t.lags, BTreeMap::from([(8, 30_000)]));
        // It is placed twice that before the other and runs first: half is left.
        assert_eq!(t.order(&[(7, 90_000), (8, 30_000)], MOST), [1, 0]);
        assert_eq!(t.lags, BTreeMap::from([(8, 15_000)]));
        // Nothing is left, and the other, which is done later, gets nothing.
        assert_eq!(t.order(&[(7, 90_000), (8, 30_000)], MOST), [1, 0]);
        assert!(t.lags.is_empty(), "{t:?}");
        assert_eq!(t.order(&[(7, 90_000), (8, 30_000)], MOST), [0, 1]);
        // Alone it is its own mean; and the first that is woken is placed at the mean.
        t.alone(8);
        assert_eq!(t.order(&[(7, 90_000), (8, 30_000)], MOST), [0, 1]);
        assert_eq!(t.order(&[(8, 30_000), (7, 90_000)], MOST), [0, 1]);
    }

    #[test]
    fn every_task_runs_once() {
        let mut t = Turns::default();
        for round in 0..100u32 {
            let woken: Vec<(u32, i64)> =
                (0..5).map(|i| (i, i64::from((round * 7 + i * 13) % 11) * 10_000)).collect();
            let mut order = t.order(&woken, MOST);
            order.sort_unstable();
            assert_eq!(order, [0, 1, 2, 3, 4]);
        }
        assert_eq!(t.order(&[(1, i64::MAX), (2, i64::MAX), (3, -1)], MOST).len(), 3);
        assert!(t.order(&[], MOST).is_empty());
    }
}
