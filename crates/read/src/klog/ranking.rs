//! Ends of callbacks without their begins: a list that somebody made, or a loss.

use super::held::Loose;
use super::phase;
use super::state::Log;
use crate::track::{DeviceKey, END_ALONE};
use dormouse_base::loss::Severity;
use dormouse_base::phase::Direction;
use dormouse_base::ranked::{Ranked, Ranking};
use dormouse_base::time::Ns;
use std::collections::HashSet;

/// Most such ends kept of one input; more are counted as lost.
const MAX_LOOSE: usize = 1_000_000;

/// Owner and function.
type Callback = (Box<[u8]>, Box<[u8]>);

impl Log<'_> {
    /// Keeps a slow callback that an old kernel printed by itself.
    pub(super) fn slow(
        &mut self,
        driver: &[u8],
        device: &[u8],
        operation: &[u8],
        took: Ns,
        at: u64,
    ) {
        let known = self.loose.len();
        // A driver's name may hold a blank; a device's does not.
        self.loose(&[driver, b" ", device].concat(), operation, 0, took, true, at);
        if let Some(l) = self.loose.get_mut(known) {
            l.with_waits = true;
        }
    }

    /// Keeps the end of a callback whose begin did not come.
    pub(super) fn loose(
        &mut self,
        owner: &[u8],
        function: &[u8],
        error: i32,
        took: Ns,
        row: bool,
        at: u64,
    ) {
        if self.loose.len() >= MAX_LOOSE {
            return self.count_loose(1, at);
        }
        self.loose.push(Loose {
            owner: owner.trim_ascii().into(),
            function: function.into(),
            error,
            took,
            at,
            timed: self.timed,
            row,
            with_waits: false,
        });
        // Only the open cycle can still be told what it lost.
        if !row {
            self.lose_start(function, took);
        }
    }

    /// Decides what the ends kept so far are. Beside `calling` lines they are
    /// losses: their own lines are missing. Alone they are a list.
    pub(super) fn settle_loose(&mut self) {
        let called = std::mem::take(&mut self.called);
        let all = std::mem::take(&mut self.loose);
        let mut list = Vec::with_capacity(all.len());
        for l in all {
            if l.row || called == 0 { list.push(l) } else { self.count_loose(1, l.at) }
        }
        let mut seen: HashSet<Callback> = HashSet::new();
        let mut begin = 0;
        let mut up = false;
        for i in 0..list.len() {
            let l = &list[i];
            let direction = phase::told(&l.function).0;
            // The same callback once more, or the way down after the way up:
            // another run. A sorted table without times mixes directions, and
            // without functions it names a device once for each.
            let turned = l.timed && up && direction == Some(Direction::Suspend);
            let again =
                !l.function.is_empty() && !seen.insert((l.owner.clone(), l.function.clone()));
            if turned || again {
                self.rank(&list[begin..i]);
                begin = i;
                seen.clear();
                seen.insert((l.owner.clone(), l.function.clone()));
            }
            up = direction == Some(Direction::Resume);
        }
        self.rank(&list[begin..]);
    }

    fn count_loose(&mut self, count: u64, at: u64) {
        self.t.losses().add(END_ALONE.0, count, Severity::Warning, END_ALONE.1, Some(at));
    }

    fn rank(&mut self, list: &[Loose]) {
        let Some(first) = list.first() else { return };
        let mut rows = Vec::with_capacity(list.len());
        for l in list {
            let (driver, device) = if l.function.is_empty() {
                (&b""[..], &l.owner[..])
            } else {
                super::calls::split(&l.owner)
            };
            let driver_known = !l.function.is_empty();
            let key = DeviceKey { driver, device, parent: b"", driver_known };
            let (direction, phase) = phase::told(&l.function);
            rows.push(Ranked {
                device: self.t.device(&key),
                function: self.t.names().add_bytes(&l.function),
                direction,
                phase,
                took: l.took,
                error: l.error,
            });
        }
        let mut rows: Vec<(Ranked, &Loose)> = rows.into_iter().zip(list).collect();
        rows.sort_by_key(|(r, _)| std::cmp::Reverse(r.took));
        let mut longest = HashSet::new();
        rows.retain(|(r, l)| !l.with_waits || longest.insert((r.device, r.direction)));
        let rows = rows.into_iter().map(|(r, _)| r).collect();
        let ranking = Ranking { at: first.at, rows, ..Ranking::default() };
        self.t.add_ranking(ranking);
    }
}
