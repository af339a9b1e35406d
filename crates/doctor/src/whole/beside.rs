//! The whole ways of two sides beside each other, row by row.

use super::{Mark, WholeWay};
use std::collections::BTreeMap;

/// With fewer sleeps on a side nothing is claimed.
pub const LEAST: usize = 5;

/// A stretch of the way back, in the sleeps of two sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Both {
    /// What begins it.
    pub from: Mark,
    /// What ends it.
    pub until: Mark,
    /// How long it is in the sleeps of each side that have it, in ns.
    pub took: [Vec<i64>; 2],
}

/// What both sides have: first from the kernel's return to each mark, then each row between two
/// marks that follow each other. What has the time asleep in it is no row of a machine.
pub fn both(sides: [&[WholeWay]; 2]) -> Vec<Both> {
    let mut whole: BTreeMap<Mark, [Vec<i64>; 2]> = BTreeMap::new();
    let mut rows: BTreeMap<(Mark, Mark), [Vec<i64>; 2]> = BTreeMap::new();
    for (side, ways) in sides.into_iter().enumerate() {
        for way in ways {
            let mut from = way.from;
            for row in &way.rows {
                if let Some(t) = way.ready(row.until).filter(|_| row.until > Mark::Back) {
                    whole.entry(row.until).or_default()[side].push(t.0);
                }
                if row.until != Mark::Back {
                    rows.entry((from, row.until)).or_default()[side].push(row.took_ns.0);
                }
                from = row.until;
            }
        }
    }
    let first = whole.into_iter().map(|(until, took)| Both { from: Mark::Back, until, took });
    let rows = rows.into_iter().map(|((from, until), took)| Both { from, until, took });
    // What begins with the return is there already.
    let rows = rows.filter(|b| b.from != Mark::Back);
    first.chain(rows).filter(|b| b.took.iter().all(|t| !t.is_empty())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::whole::Row;
    use dormouse_base::time::Ns;

    fn way(rows: &[(Mark, i64)]) -> WholeWay {
        let row = |r: &(Mark, i64)| Row {
            until: r.0,
            took_ns: Ns(r.1),
            line: 2,
            silence: None,
            firmware: None,
        };
        let rows = rows.iter().map(row).collect();
        WholeWay { from: Mark::Kernel, line: 1, grain_ns: Ns(1), rows }
    }

    #[test]
    fn what_both_have_is_compared_and_a_night_is_not() {
        let a = [way(&[(Mark::Back, 900), (Mark::Unit, 4), (Mark::Address, 6)])];
        let b = [
            way(&[(Mark::Back, 100), (Mark::Unit, 5), (Mark::Address, 9)]),
            way(&[(Mark::Back, 100), (Mark::Screen, 5)]),
        ];
        let all = both([&a, &b]);
        let got: Vec<_> = all.iter().map(|b| (b.from, b.until, b.took.clone())).collect();
        assert_eq!(
            got,
            [
                (Mark::Back, Mark::Unit, [vec![4], vec![5]]),
                (Mark::Back, Mark::Address, [vec![10], vec![14]]),
                (Mark::Unit, Mark::Address, [vec![6], vec![9]]),
            ]
        );
    }
}
