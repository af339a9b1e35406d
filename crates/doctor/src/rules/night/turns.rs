//! Sleeps of a text by the clock on the wall.

use crate::case::Case;
use crate::night::{Fact, Item};

/// One sleep: begin and end in ms of the wall clock, and its lines.
pub(crate) struct Turn<'a> {
    pub(crate) from: i64,
    pub(crate) to: i64,
    pub(crate) begin: &'a Item,
    pub(crate) end: &'a Item,
}

/// Sleeps of a text by the wall clock, in order.
pub(crate) fn turns(case: &Case) -> Vec<Turn<'_>> {
    let clock = |i: &'_ Item| match i.fact {
        Fact::Clock { begins, ms, precise } => Some((begins, ms, precise)),
        _ => None,
    };
    let exact = case.night.items.iter().filter_map(clock).any(|c| c.2);
    let mut out: Vec<Turn<'_>> = Vec::new();
    let mut open: Option<(&Item, i64)> = None;
    for item in &case.night.items {
        let Some((begins, ms, precise)) = clock(item) else { continue };
        if precise != exact {
            continue;
        }
        match (begins, open) {
            // Both the daemon and the kernel tell of one begin.
            (true, Some((_, from))) if (0..TOGETHER).contains(&(ms - from)) => {}
            (true, _) => open = Some((item, ms)),
            (false, Some((begin, from))) if ms >= from => {
                out.push(Turn { from, to: ms, begin, end: item });
                open = None;
            }
            (false, Some(_)) => open = None,
            // The kernel tells of the end after tasks were started.
            (false, None) => {}
        }
    }
    out
}

/// Lines of one begin stand so many ms apart at most.
const TOGETHER: i64 = 30_000;

/// How long the sleeps of a text took in all by the wall clock, in s, and how many they are.
pub(in crate::rules) fn asleep(case: &Case) -> Option<(i64, usize)> {
    let all = turns(case);
    (!all.is_empty()).then(|| (all.iter().map(|t| (t.to - t.from) / 1_000).sum(), all.len()))
}
