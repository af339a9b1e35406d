//! When all CPUs sleep at once: only then can their package sleep.
//!
//! The first event of a CPU tells what it did before: who falls asleep was awake, and
//! who wakes slept since the trace began. So all of the trace is covered, for the CPUs
//! that have an event.

use std::collections::BTreeMap;

/// Time that CPUs slept together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Together {
    asleep: BTreeMap<u32, bool>,
    /// Number of CPUs that are asleep.
    sleeping: usize,
    /// First and last event, ns.
    span: Option<(i64, i64)>,
    /// Time with all CPUs asleep, ns.
    pub all: i64,
    /// Times that this began.
    pub times: u64,
    /// The longest of them, ns.
    pub longest: i64,
    /// Time that one CPU alone was awake, ns: it kept the package from sleep.
    pub alone: BTreeMap<u32, i64>,
    /// Length of the piece that is open, ns.
    piece: i64,
}

impl Together {
    /// A CPU fell asleep or woke at `time` (ns).
    pub fn change(&mut self, cpu: u32, time: i64, sleeps: bool) {
        self.until(time);
        match self.asleep.insert(cpu, sleeps) {
            None => {
                self.sleeping += usize::from(sleeps);
                // It was awake all the while, alone where the others slept.
                if sleeps && self.asleep.len() > 1 {
                    self.alone = BTreeMap::from([(cpu, self.all)]);
                    (self.all, self.times, self.longest, self.piece) = (0, 0, 0, 0);
                }
                self.span.get_or_insert((time, time));
            }
            Some(was) if was != sleeps => {
                self.sleeping = if sleeps { self.sleeping + 1 } else { self.sleeping - 1 };
            }
            Some(_) => {}
        }
        if self.sleeping < self.asleep.len() {
            self.piece = 0;
        } else if self.piece == 0 && sleeps {
            self.times += 1;
        }
    }

    /// Counts the time up to `time`.
    fn until(&mut self, time: i64) {
        let Some((_, last)) = &mut self.span else { return };
        // Events of several CPUs may be out of order by a little.
        let passed = time.saturating_sub(*last).max(0);
        *last = time.max(*last);
        match self.asleep.len() - self.sleeping {
            0 => {
                self.all = self.all.saturating_add(passed);
                self.piece = self.piece.saturating_add(passed);
                self.longest = self.longest.max(self.piece);
            }
            1 => {
                if let Some((&cpu, _)) = self.asleep.iter().find(|c| !c.1) {
                    let sum = self.alone.entry(cpu).or_default();
                    *sum = sum.saturating_add(passed);
                }
            }
            _ => {}
        }
    }

    /// CPUs.
    pub fn cpus(&self) -> usize {
        self.asleep.len()
    }

    /// Length of the covered span, ns.
    pub fn span(&self) -> i64 {
        self.span.map_or(0, |(a, b)| b - a)
    }

    /// The CPU that was alone awake longest, and how long, ns.
    pub fn preventer(&self) -> Option<(u32, i64)> {
        self.alone.iter().map(|(&c, &t)| (c, t)).max_by_key(|&(c, t)| (t, std::cmp::Reverse(c)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_package_sleeps_while_both_cpus_do() {
        let mut t = Together::default();
        // CPU 1 falls asleep first at 100, so it was awake before; CPU 2 wakes first at
        // 335, so it slept all the while.
        for (cpu, at, sleeps) in [
            (0, 0, true),
            (1, 100, true),
            (0, 150, false),
            (0, 180, true),
            (1, 250, false),
            (0, 260, false),
            (0, 300, true),
            (1, 330, true),
            (2, 335, false),
        ] {
            t.change(cpu, at, sleeps);
        }
        assert_eq!((t.cpus(), t.span()), (3, 335));
        // 100 to 150, 180 to 250, 330 to 335.
        assert_eq!((t.all, t.longest, t.times), (125, 70, 3));
        // CPU 0 alone from 150 to 180; CPU 1 from 0 to 100, 250 to 260 and 300 to 330.
        assert_eq!(t.alone, BTreeMap::from([(0, 30), (1, 140)]));
        assert_eq!(t.preventer(), Some((1, 140)));
    }
}
