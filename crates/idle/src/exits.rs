//! How long CPUs take to wake: as measured, in an order that is the same each time
//! and favours no length.
//!
//! What is measured of a wake-up is an exit latency and an interrupt's handler. A
//! state that was never entered is drawn like the one whose latency is nearest: its
//! mean and its spread grow with the latency, those of the handler do not. The table's
//! latency counts if that state's is as near to the table as can be told.

use crate::state::Table;
use crate::wake::{CAUSES, Wakes};

/// Fewer measured exits than this say nothing of a state.
pub const FEW: usize = 8;

/// Measured times and what is made of one: `to + (time - mean) * part / ONE`.
#[derive(Clone, Copy, Debug, Default)]
struct Source<'a> {
    list: &'a [i64],
    mean: i64,
    to: i64,
    part: i64,
}

/// A whole; its square is `1 << 32`.
const ONE: i64 = 1 << 16;

/// Exits of the states of a CPU.
pub(crate) struct Exits<'a> {
    /// By state, after events and after ticks, whose handler is longer.
    by_state: Vec<[Source<'a>; 2]>,
    turn: u64,
}

/// Numbers that are next to each other come far apart (the finalizer of splitmix64);
/// 0 stays 0.
fn scatter(n: u64) -> u64 {
    let n = (n ^ n >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ n >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ n >> 31
}

/// Mean and variance.
fn moments(list: &[i64]) -> (i64, i128) {
    let n = list.len().max(1) as i128;
    let mean = list.iter().map(|&v| i128::from(v)).sum::<i128>() / n;
    let squares = list.iter().map(|&v| (i128::from(v) - mean).pow(2));
    let sum = squares.fold(0i128, i128::saturating_add);
    (mean as i64, sum / n)
}

/// A state that takes `latency`, like one that takes `near` and was measured;
/// `handler` is mean and variance of the handler, if its variance is known.
fn like(list: &[i64], near: i64, latency: i64, handler: (i64, i128)) -> Source<'_> {
    let (mean, spread) = moments(list);
    let (near, latency) = (i128::from(near.max(1)), i128::from(latency));
    // What the handler is in this state nobody measured: a table that is off by less
    // than it varies is right.
    let off = i128::from(mean - handler.0) - near;
    let measured = i128::from((mean - handler.0).max(0));
    let exit = if off * off <= handler.1 { latency } else { measured * latency / near };
    // Of independent parts the variances add up.
    let own = (spread - handler.1).max(0);
    let own = own.saturating_mul(latency.saturating_mul(latency)) / (near * near);
    let grown = own.saturating_add(handler.1.min(spread));
    let part = grown.saturating_mul(1 << 32).checked_div(spread).unwrap_or(0).unsigned_abs().isqrt()
        as i64;
    Source { list, mean, to: handler.0 + exit as i64, part }
}

impl Exits<'_> {
    /// From what was measured. Each `draw` is another order, as likely.
    pub(crate) fn new<'a>(wakes: &'a Wakes, table: &Table, draw: u64) -> Exits<'a> {
        let states = table.states();
        let latency = |j: usize| states[j].latency;
        let [events, ticks] = [&wakes.exits, &wakes.tick_exits]
            .map(|lists| move |i: usize| lists.get(i).filter(|e| e.len() >= FEW).map(|e| &e[..]));
        // What is left of the shortest exits is the handler's.
        let shortest = (0..states.len())
            .filter(|&i| !states[i].polls)
            .find_map(|i| Some((i, moments(events(i)?))));
        let unlike = |of: &dyn Fn(usize) -> Option<&'a [i64]>, i: usize| {
            let near = (0..states.len())
                .filter(|&j| of(j).is_some() && !states[j].polls)
                .min_by_key(|&j| (latency(i) - latency(j)).abs())?;
            let handler = match shortest {
                Some((j, (mean, spread))) => {
                    ((mean - latency(j)).max(0), if j == near { 0 } else { spread })
                }
                None => (0, 0),
            };
            Some(like(of(near)?, latency(near), latency(i), handler))
        };
        let own = |list: Option<&'a [i64]>| {
            list.map(|list| Source { list, part: ONE, ..Source::default() })
        };
        let one = |i: usize| {
            let (event, tick) = (own(events(i)), own(ticks(i)));
            let other = || unlike(&events, i).or_else(|| unlike(&ticks, i)).unwrap_or_default();
            [event.or(tick).unwrap_or_else(other), tick.or(event).unwrap_or_else(other)]
        };
        Exits {
            by_state: (0..if CAUSES { states.len() } else { 0 }).map(one).collect(),
            turn: if CAUSES { scatter(draw) } else { 0 },
        }
    }

    /// The next exit latency of `state`, whose table says `latency`.
    pub(crate) fn draw(&mut self, state: usize, latency: i64, tick: bool) -> i64 {
        if !CAUSES {
            return latency;
        }
        let found = self.by_state.get(state).map(|e| e[usize::from(tick)]);
        let Some(source) = found.filter(|e| !e.list.is_empty()) else {
            return latency;
        };
        // Fractions of the golden ratio fill any interval evenly.
        self.turn = self.turn.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let at = (u128::from(self.turn) * source.list.len() as u128) >> 64;
        let off = i128::from(source.list[at as usize] - source.mean);
        let grown = off * i128::from(source.part) / i128::from(ONE);
        source.to.saturating_add(grown as i64).max(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::State;

    /// Exits of 10 us within 2, and a handler of 3 us within 1, that is now and
    /// then 5 us longer: what 100 us come to is known but for the order.
    #[test]
    fn a_state_that_was_never_entered_takes_its_latency_and_the_same_handler() {
        let state = |us: i64| State { latency: us * 1_000, ..State::default() };
        let table = Table::new([0, 2, 10, 100].map(state).to_vec()).expect("a table");
        // Every pair of an exit and a handler, so that they are independent.
        let sums = |latency: i64, within: i64| {
            let mut all: Vec<i64> = (0..20)
                .flat_map(|e| (0..20).map(move |h| (e, h)))
                .map(|(e, h)| {
                    let handler = 3_000 + 100 * (h - 10) + if h % 5 == 0 { 5_000 } else { 0 };
                    latency + within * (2 * e - 19) / 19 + handler
                })
                .collect();
            all.sort_unstable();
            all
        };
        let exits = std::vec![Vec::new(), sums(2_000, 400), sums(10_000, 2_000)];
        let wakes = Wakes { exits, ..Wakes::default() };
        let mut drawn = Exits::new(&wakes, &table, 1);
        let mut list: Vec<i64> = (0..400).map(|_| drawn.draw(3, 100_000, false)).collect();
        list.sort_unstable();
        let (want, spread) = moments(&sums(100_000, 20_000));
        let (mean, found) = moments(&list);
        assert!((mean - want).abs() < 500, "{mean} {want}");
        assert!((found - spread).abs() * 20 < spread, "{found} {spread}");
        // What was measured is drawn as it is.
        assert!((0..100).all(|_| wakes.exits[2].contains(&drawn.draw(2, 10_000, true))));
        // Nothing measured: the table.
        assert_eq!(Exits::new(&Wakes::default(), &table, 1).draw(3, 100_000, false), 100_000);
    }

    #[test]
    fn no_table_is_too_large() {
        let state = |us: i64| State { latency: us, ..State::default() };
        let table = Table::new(std::vec![state(0), state(1), state(i64::MAX / 2)]);
        let exits = std::vec![Vec::new(), std::vec![i64::MAX / 4; 4].repeat(4)];
        let mut wide = exits.clone();
        wide[1][..8].fill(0);
        for exits in [exits, wide] {
            let wakes = Wakes { exits, ..Wakes::default() };
            let table = table.as_ref().expect("a table");
            assert!(Exits::new(&wakes, table, 0).draw(2, 1, false) >= 0);
        }
    }
}
