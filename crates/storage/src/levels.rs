//! Levels at which storage can be: power states of NVMe drives, and what
//! devfreq counted for the clocks of a device.

/// A power state of an NVMe drive, as `nvme id-ctrl` prints it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PowerState {
    /// Its number.
    pub number: u32,
    /// Most power, uW.
    pub most: Option<u64>,
    /// Whether requests are served in it.
    pub operational: bool,
    /// Time to enter it, us.
    pub entry: u64,
    /// Time to leave it, us.
    pub exit: u64,
    /// Power when idle, uW.
    pub idle: Option<u64>,
    /// Power when active, uW.
    pub active: Option<u64>,
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
    /// What the host set it to do by itself: from each state, after so many ms of
    /// idleness, into another (`nvme get-feature -f 0xc -H`).
    pub falls: Vec<Fall>,
    /// The state that it was in (`nvme get-feature -f 2`).
    pub now: Option<u32>,
}

/// An entry of the table of autonomous transitions (APST).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fall {
    /// From this state.
    pub from: u32,
    /// After so long without a request, ms.
    pub after_ms: u64,
    /// Into this one.
    pub to: u32,
}

impl Drive {
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
            if let (Some(p), Some(q)) = (a.most, b.most)
                && q > p
            {
                out.push(Doubt::Power { shallow, deep });
            }
            if b.entry < a.entry {
                out.push(Doubt::Entry { shallow, deep });
            }
            if b.exit < a.exit {
                out.push(Doubt::Exit { shallow, deep });
            }
        }
        out
    }

    /// The deepest state that the kernel lets a drive enter by itself, if a
    /// request may wait `limit` us for it: not operational, and its exit latency
    /// at most the limit (`nvme_configure_apst`, drivers/nvme/host/core.c of 6.12;
    /// the limit is `default_ps_max_latency_us`, 100,000 there).
    pub fn deepest(&self, limit: u64) -> Option<&PowerState> {
        self.states.iter().rev().find(|s| !s.operational && s.exit <= limit)
    }
}

/// A line of devfreq's table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Level {
    /// Clock, Hz.
    pub frequency: u64,
    /// Changes from here to each clock, in the order of the levels.
    pub to: Vec<u64>,
    /// Time at it, ms.
    pub time: u64,
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
        self.levels.iter().flat_map(|l| &l.to).sum()
    }

    /// Time of all levels, ms.
    pub fn time(&self) -> u64 {
        self.levels.iter().map(|l| l.time).sum()
    }

    /// Whether the device never left one level.
    pub fn stuck(&self) -> Option<&Level> {
        let mut used = self.levels.iter().filter(|l| l.time > 0);
        let first = used.next()?;
        used.next().is_none().then_some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(number: u32, most: u64, operational: bool, entry: u64, exit: u64) -> PowerState {
        PowerState { number, most: Some(most), operational, entry, exit, ..PowerState::default() }
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
    fn counts_of_a_table() {
        let level =
            |frequency, to: &[u64], time| Level { frequency, to: to.to_vec(), time, now: false };
        let t = Transitions {
            name: "x".into(),
            levels: std::vec![level(100, &[0, 3], 10), level(400, &[2, 0], 0)],
            total: Some(5),
        };
        assert_eq!((t.counted(), t.time()), (5, 10));
        assert_eq!(t.stuck().map(|l| l.frequency), Some(100));
    }
}
