//! Levels at which storage can be: power states of NVMe drives, and what
//! devfreq counted for the clocks of a device.

use dormouse_base::beside::{Cell, Table};
use serde::Serialize;

/// A power state of an NVMe drive, as `nvme id-ctrl` prints it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PowerState {
    /// Its number.
    pub number: u32,
    /// Most power, uW.
    pub most_uw: Option<u64>,
    /// Whether requests are served in it.
    pub operational: bool,
    /// Time to enter it, us.
    pub entry_us: u64,
    /// Time to leave it, us.
    pub exit_us: u64,
    /// Power when idle, uW.
    pub idle_uw: Option<u64>,
    /// Power when active, uW.
    pub active_uw: Option<u64>,
}

/// What is doubtful in a drive's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// The deeper state takes more power.
    Power {
        /// Number of the state that should take more.
        shallow: u32,
        /// And of the other.
        deep: u32,
    },
    /// The deeper state is quicker to enter.
    Entry {
        /// As above.
        shallow: u32,
        /// As above.
        deep: u32,
    },
    /// The deeper state is quicker to leave.
    Exit {
        /// As above.
        shallow: u32,
        /// As above.
        deep: u32,
    },
    /// A number is missing.
    Gap {
        /// Which.
        number: u32,
    },
}

/// A drive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drive {
    /// What the text calls it.
    pub name: String,
    /// Its states by number.
    pub states: Vec<PowerState>,
    /// The number of its last state, where the text says it: `npss` of the controller counts
    /// from zero (NVM Express base specification, identify controller: NPSS).
    pub last_state: Option<u32>,
    /// What the host set it to do by itself: from each state, after so many ms of
    /// idleness, into another (`nvme get-feature -f 0xc -H`).
    pub falls: Vec<Fall>,
    /// Whether it goes by that table (`APSTE`, feature 0xc), if the text says so.
    pub apst: Option<bool>,
    /// Entries of that table that the text shows.
    pub entries: u32,
    /// The state that it was in (`nvme get-feature -f 2`).
    pub now: Option<u32>,
    /// What it takes to switch it off at run time and on again (`rtd3e`, `rtd3r`), us; 0 is
    /// "not reported".
    pub off: [Option<u64>; 2],
    /// How long leaving a state may take by the kernel's setting, us, if the text shows it
    /// (`default_ps_max_latency_us` of nvme_core; 0 is no state at all).
    pub limit: Option<u64>,
    /// Another one that the text names, us, where no line shows that it was set.
    pub named_limit: Option<u64>,
    /// Whether it can go by such a table at all (`apsta` of the controller), if the text says so.
    pub can: Option<bool>,
}

/// What a drive does by itself when nobody asks it for anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByItself {
    /// It goes into other states by its table.
    Falls,
    /// It is to go by its table, which the text does not show.
    On,
    /// It is to go by its table, and that is empty: it enters nothing by itself.
    EmptyTable,
    /// Autonomous transitions are off: it enters nothing by itself.
    Off,
    /// It has none: the kernel sets no table (nvme_configure_apst, drivers/nvme/host/core.c, 6.12).
    Unable,
}

/// What the kernel's own setting would do with a state that saves power
/// (`nvme_configure_apst`, drivers/nvme/host/core.c, 6.12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entered {
    /// It serves requests: the drive is never sent there.
    Serves,
    /// Entered after so many ms without a request.
    After(u64),
    /// Leaving it takes longer than `default_ps_max_latency_us`.
    TooSlow,
    /// Another of the same class of latency, or a quicker one, is entered instead.
    Passed,
    /// The drive has no autonomous transitions.
    Unable,
}

/// Defaults of nvme_core's parameters: the longest exit latency, and two classes of
/// entry and exit together, us, each with its time without requests, ms (6.12).
const MOST_EXIT: u64 = 100_000;
const PRIMARY: (u64, u64) = (15_000, 100);
const SECONDARY: (u64, u64) = (100_000, 2_000);

/// An entry of the table of autonomous transitions (APST).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Fall {
    /// From this state.
    pub from: u32,
    /// After so long without a request, ms.
    pub after_ms: u64,
    /// Into this one.
    pub to: u32,
}

impl Drive {
    /// How many states it has, where its table shows fewer: the text is cut.
    pub fn cut_of(&self) -> Option<u32> {
        let all = self.last_state?.checked_add(1)?;
        let shown = self.states.last().map_or(0, |s| s.number + 1);
        (shown > 0 && shown < all).then_some(all)
    }

    /// What it does by itself, as far as the text says.
    pub fn by_itself(&self) -> Option<ByItself> {
        match self.apst {
            _ if self.can == Some(false) => Some(ByItself::Unable),
            Some(false) => Some(ByItself::Off),
            _ if !self.falls.is_empty() => Some(ByItself::Falls),
            Some(true) if self.entries > 0 => Some(ByItself::EmptyTable),
            Some(true) => Some(ByItself::On),
            None => None,
        }
    }

    /// What the kernel's setting, or its own one where the text shows none, would do with each
    /// state; in the order of the states.
    pub fn by_kernel(&self) -> Vec<Entered> {
        let limit = self.limit.unwrap_or(MOST_EXIT);
        // From the deepest up, as the kernel fills its table; a class is used once.
        let mut class = u32::MAX;
        let mut out: Vec<Entered> = Vec::new();
        for s in self.states.iter().rev() {
            let both = s.entry_us.saturating_add(s.exit_us);
            let entered = if s.operational {
                Entered::Serves
            } else if self.can == Some(false) {
                Entered::Unable
            } else if s.exit_us > limit || limit == 0 {
                Entered::TooSlow
            } else if both <= PRIMARY.0 && class != 1 {
                class = 1;
                Entered::After(PRIMARY.1)
            } else if both > PRIMARY.0 && both <= SECONDARY.0 && class > 2 {
                class = 2;
                Entered::After(SECONDARY.1)
            } else {
                Entered::Passed
            };
            out.push(entered);
        }
        out.reverse();
        out
    }

    /// The deepest state that the drive is in at times, as far as the text shows: none if it
    /// enters none by itself, and else what the kernel's rule leaves of its table.
    pub fn deepest_entered(&self) -> Option<&PowerState> {
        if matches!(self.by_itself(), Some(ByItself::EmptyTable | ByItself::Off)) {
            return None;
        }
        let fallen = |s: &&PowerState| self.falls.iter().any(|f| f.to == s.number);
        if !self.falls.is_empty() {
            return self.states.iter().rev().find(fallen);
        }
        let by_rule = self.states.iter().zip(self.by_kernel()).rev();
        by_rule.into_iter().find(|(_, e)| matches!(e, Entered::After(_))).map(|(s, _)| s)
    }

    /// Neighbours whose figures are in the wrong order.
    pub fn doubts(&self) -> Vec<Doubt> {
        let mut out = Vec::new();
        let mut next = self.states.first().map_or(0, |s| s.number);
        for s in &self.states {
            for number in next..s.number {
                out.push(Doubt::Gap { number });
            }
            next = s.number + 1;
        }
        for pair in self.states.windows(2) {
            let (a, b) = (&pair[0], &pair[1]);
            let (shallow, deep) = (a.number, b.number);
            if let (Some(p), Some(q)) = (a.most_uw, b.most_uw)
                && q > p
            {
                out.push(Doubt::Power { shallow, deep });
            }
            if b.entry_us < a.entry_us {
                out.push(Doubt::Entry { shallow, deep });
            }
            if b.exit_us < a.exit_us {
                out.push(Doubt::Exit { shallow, deep });
            }
        }
        out
    }

    /// States that draw as much as the one before them and take longer to leave: by the
    /// drive's own figures they save nothing.
    pub fn useless(&self) -> impl Iterator<Item = (&PowerState, &PowerState)> {
        let sleeps = |s: &&PowerState| !s.operational;
        let pairs =
            self.states.iter().filter(sleeps).zip(self.states.iter().filter(sleeps).skip(1));
        pairs.filter(|(a, b)| {
            a.most_uw.is_some()
                && (a.most_uw, a.idle_uw, a.active_uw) == (b.most_uw, b.idle_uw, b.active_uw)
                && b.exit_us > a.exit_us
        })
    }

    /// The deepest state that the kernel lets a drive enter by itself, if a
    /// request may wait `limit` us for it: not operational, and its exit latency
    /// at most the limit (`nvme_configure_apst`, drivers/nvme/host/core.c of 6.12;
    /// the limit is `default_ps_max_latency_us`, 100,000 there).
    pub fn deepest(&self, limit: u64) -> Option<&PowerState> {
        self.states.iter().rev().find(|s| !s.operational && s.exit_us <= limit && limit > 0)
    }
}

/// A line of devfreq's table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Level {
    /// Clock.
    pub hz: u64,
    /// Changes from here to each clock, in the order of the levels.
    pub to: Vec<u64>,
    /// Time at it.
    pub ms: u64,
    /// The device is at it now.
    pub now: bool,
}

/// `trans_stat` of a devfreq device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transitions {
    /// What the text calls it.
    pub name: String,
    /// Lines, in the order of the text.
    pub levels: Vec<Level>,
    /// `Total transition`, if the text has it.
    pub total: Option<u64>,
}

impl Transitions {
    /// Changes that the table counts.
    pub fn counted(&self) -> u64 {
        self.levels.iter().flat_map(|l| &l.to).fold(0, |n, t| n.saturating_add(*t))
    }

    /// Time of all levels, ms.
    pub fn time(&self) -> u64 {
        self.levels.iter().map(|l| l.ms).fold(0, u64::saturating_add)
    }

    /// Changes, by the table's own sum where it has one (drivers/devfreq/devfreq.c:
    /// trans_stat_show, 6.12).
    pub fn changes(&self) -> u64 {
        self.total.unwrap_or_else(|| self.counted())
    }

    /// The level that it was at for all but a hundredth of the time, though others were used.
    pub fn mostly(&self) -> Option<&Level> {
        let most = self.levels.iter().max_by_key(|l| l.ms)?;
        let rest = self.time() - most.ms;
        let used = rest > 0 || most.ms > 0 && self.changes() > 0;
        (used && rest.saturating_mul(100) < self.time()).then_some(most)
    }

    /// Whether the device never left one level.
    pub fn stuck(&self) -> Option<&Level> {
        if self.changes() > 0 {
            return None;
        }
        let mut used = self.levels.iter().filter(|l| l.ms > 0);
        let first = used.next()?;
        used.next().is_none().then_some(first)
    }
}

/// The level whose share of the time changed most from one table to another of the same
/// levels: its place, and its shares before and after in thousandths.
pub fn shift(a: &Transitions, b: &Transitions) -> Option<(usize, u64, u64)> {
    let same = a.levels.len() == b.levels.len()
        && a.levels.iter().zip(&b.levels).all(|(x, y)| x.hz == y.hz);
    let (all_a, all_b) = (a.time(), b.time());
    if !same || all_a == 0 || all_b == 0 {
        return None;
    }
    let share =
        |time: u64, all: u64| (u128::from(time) * 2_000 / u128::from(all)).div_ceil(2) as u64;
    let shares =
        a.levels.iter().zip(&b.levels).map(|(x, y)| (share(x.ms, all_a), share(y.ms, all_b)));
    let most = shares.enumerate().max_by_key(|(n, (x, y))| (x.abs_diff(*y), std::cmp::Reverse(*n)));
    most.map(|(n, (x, y))| (n, x, y))
}

/// The first state in which two drives differ, by number: both tables name it, and not
/// with the same figures.
pub fn differs(a: &Drive, b: &Drive) -> Option<u32> {
    let other = |s: &&PowerState| b.states.iter().any(|t| t.number == s.number && *t != **s);
    a.states.iter().find(other).map(|s| s.number)
}

impl Drive {
    /// Its power states and settings as a table.
    pub fn table(&self) -> Table {
        // In W with three digits, where no state of the drive has more.
        let all = self.states.iter().flat_map(|s| [s.most_uw, s.idle_uw, s.active_uw]);
        let fine = all.flatten().any(|uw| uw % 1_000 != 0);
        let (unit, of) = if fine { ("mW", 1) } else { ("W", 1_000) };
        let watts = |uw: u64| Cell::thousandths(i64::try_from(uw / of).unwrap_or(i64::MAX), unit);
        let mut cells = Vec::new();
        for s in &self.states {
            let mut cell = |what: &str, cell: Cell| {
                cells.push((format!("state {}, {what}", s.number), cell));
            };
            for (what, power) in [("most", s.most_uw), ("idle", s.idle_uw), ("active", s.active_uw)]
            {
                cell(what, power.map_or(Cell::Word("not reported".into()), watts));
            }
            cell("entry", Cell::whole(s.entry_us, "us"));
            cell("exit", Cell::whole(s.exit_us, "us"));
        }
        for f in &self.falls {
            let name = format!("from state {} into {} after", f.from, f.to);
            cells.push((name, Cell::whole(f.after_ms, "ms")));
        }
        if let Some(on) = self.apst {
            let word = if on { "on" } else { "off" };
            cells.push(("APST".into(), Cell::Word(word.into())));
        }
        if let Some(now) = self.now {
            cells.push(("state now".into(), Cell::Word(now.to_string())));
        }
        for (what, time) in ["off (RTD3)", "on again (RTD3)"].into_iter().zip(self.off) {
            cells.extend(time.map(|us| (what.into(), Cell::whole(us, "us"))));
        }
        Table { kind: "power states", label: self.name.clone(), cells }
    }
}

impl Transitions {
    /// Shares of the time of its levels, and how often it changed, as a table.
    pub fn table(&self) -> Table {
        let all = self.time().max(1);
        let mut cells: Vec<(String, Cell)> = Vec::new();
        for l in &self.levels {
            let share = (u128::from(l.ms) * 200_000 / u128::from(all)).div_ceil(2);
            let share = i64::try_from(share).unwrap_or(i64::MAX);
            let name = format!("{}.{} MHz", l.hz / 1_000_000, l.hz % 1_000_000 / 100_000);
            cells.push((name, Cell::thousandths(share, "%")));
        }
        let total = self.changes();
        // Tables count since the device exists, each over a time of its own. Of a second there
        // may be few thousandths.
        let rate = (u128::from(total) * 7_200_000_000 / u128::from(all)).div_ceil(2);
        let rate = i64::try_from(rate).unwrap_or(i64::MAX);
        cells.push(("changes an hour".into(), Cell::thousandths(rate, "")));
        Table { kind: "trans_stat of devfreq", label: self.name.clone(), cells }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(number: u32, most: u64, operational: bool, entry: u64, exit: u64) -> PowerState {
        PowerState {
            number,
            most_uw: Some(most),
            operational,
            entry_us: entry,
            exit_us: exit,
            ..PowerState::default()
        }
    }

    #[test]
    fn a_deeper_state_that_draws_as_much_saves_nothing() {
        let states = |deep| Drive {
            states: vec![
                state(0, 6_000, true, 0, 0),
                state(3, 900, false, 2_000, 3_000),
                state(4, deep, false, 9_000, 40_000),
            ],
            ..Drive::default()
        };
        let found = |d: Drive| d.useless().map(|(a, b)| (a.number, b.number)).collect::<Vec<_>>();
        assert_eq!(found(states(900)), [(3, 4)]);
        assert!(found(states(5)).is_empty());
    }

    #[test]
    fn a_table_that_is_not_monotonic_is_named() {
        let d = Drive {
            name: "x".into(),
            states: std::vec![
                state(0, 8_490_000, true, 0, 0),
                state(1, 4_480_000, true, 0, 200),
                state(3, 40_000, false, 2_000, 1_200),
                state(4, 5_000, false, 500, 9_500),
            ],
            ..Drive::default()
        };
        assert_eq!(d.doubts(), [Doubt::Gap { number: 2 }, Doubt::Entry { shallow: 3, deep: 4 }]);
        assert_eq!(d.deepest(100_000).map(|s| s.number), Some(4));
        assert_eq!(d.deepest(5_000).map(|s| s.number), Some(3));
        assert_eq!(d.deepest(100), None);
    }

    #[test]
    fn what_a_drive_does_by_itself_and_what_the_kernel_would_have_it_do() {
        let mut d = Drive { apst: Some(true), ..Drive::default() };
        assert_eq!(d.by_itself(), Some(ByItself::On), "no entry was shown");
        d.entries = 32;
        assert_eq!(d.by_itself(), Some(ByItself::EmptyTable));
        d.falls.push(Fall { from: 0, after_ms: 200, to: 3 });
        assert_eq!(d.by_itself(), Some(ByItself::Falls));
        d.apst = Some(false);
        assert_eq!(d.by_itself(), Some(ByItself::Off));
        d.states = std::vec![
            state(0, 7_000_000, true, 0, 0),
            state(1, 90_000, false, 300, 900),
            state(2, 60_000, false, 4_000, 9_000),
            state(3, 4_000, false, 6_000, 41_000),
            state(4, 3_000, false, 6_000, 141_000),
        ];
        let (passed, slow) = (Entered::Passed, Entered::TooSlow);
        let (soon, late) = (Entered::After(100), Entered::After(2_000));
        assert_eq!(d.by_kernel(), [Entered::Serves, passed, soon, late, slow]);
        d.limit = Some(1_000);
        assert_eq!(d.by_kernel(), [Entered::Serves, soon, slow, slow, slow]);
        d.limit = Some(0);
        assert_eq!(d.by_kernel(), [Entered::Serves, slow, slow, slow, slow]);
        d.can = Some(false);
        let unable = Entered::Unable;
        assert_eq!(d.by_kernel(), [Entered::Serves, unable, unable, unable, unable]);
        assert_eq!(d.by_itself(), Some(ByItself::Unable));
    }

    #[test]
    fn two_tables_side_by_side() {
        let table = |times: [u64; 2]| Transitions {
            levels: std::vec![
                Level { hz: 100, ms: times[0], ..Level::default() },
                Level { hz: 400, ms: times[1], ..Level::default() },
            ],
            ..Transitions::default()
        };
        assert_eq!(shift(&table([90, 10]), &table([30, 70])), Some((0, 900, 300)));
        assert_eq!(shift(&table([0, 0]), &table([30, 70])), None);
        let drive = |exit| Drive {
            states: std::vec![state(0, 5, true, 0, 0), state(3, 1, false, 9, exit)],
            ..Drive::default()
        };
        assert_eq!((differs(&drive(7), &drive(8)), differs(&drive(7), &drive(7))), (Some(3), None));
    }

    #[test]
    fn counts_of_a_table() {
        let level = |frequency, to: &[u64], time| Level {
            hz: frequency,
            to: to.to_vec(),
            ms: time,
            now: false,
        };
        let t = Transitions {
            name: "x".into(),
            levels: std::vec![level(100, &[0, 3], 10), level(400, &[2, 0], 0)],
            total: Some(5),
        };
        assert_eq!((t.counted(), t.time()), (5, 10));
        // Other levels had less than a millisecond: it was changed all the same.
        assert_eq!((t.changes(), t.stuck()), (5, None));
        assert_eq!(t.mostly().map(|l| l.hz), Some(100));
        let never = std::vec![level(100, &[0, 0], 10), level(400, &[0, 0], 0)];
        let never = Transitions { levels: never, total: Some(0), ..Transitions::default() };
        assert_eq!((never.stuck().map(|l| l.hz), never.mostly()), (Some(100), None));
        let levels = std::vec![level(100, &[0, 3], 9_950), level(400, &[2, 0], 50)];
        let rare = Transitions { levels, ..Transitions::default() };
        assert_eq!((rare.stuck(), rare.mostly().map(|l| l.hz)), (None, Some(100)));
    }
}
