//! A clock as `clk_summary` of debugfs lists it (drivers/clk/clk.c:clk_summary_show_one).

/// A clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    /// Line of the text, from 1.
    pub line: u64,
    /// Its name.
    pub name: String,
    /// Place of its parent in the table.
    pub parent: Option<usize>,
    /// How often it is enabled.
    pub enabled: u64,
    /// How often it is prepared.
    pub prepared: u64,
    /// Its rate in Hz, if the text has it.
    pub rate: Option<u64>,
    /// Whether the column of the hardware says so, which the kernel also writes of a clock
    /// whose driver has no switch for it (clk_summary_show_one, without `.enable`); known from
    /// 5.16 on.
    pub runs: Option<bool>,
    /// Devices that hold it, with their name for it; known from 6.6 on.
    pub consumers: Vec<(String, String)>,
}

impl Clock {
    /// Whether the hardware may let it run: at 0 Hz it does not.
    pub fn may_run(&self) -> bool {
        self.runs == Some(true) && self.rate != Some(0)
    }
}

/// One table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// Line of its head, from 1.
    pub line: u64,
    /// Clocks, parents before children.
    pub clocks: Vec<Clock>,
    /// Rows are left out in the text, or the text leaves the table before its end.
    pub cut: bool,
}

impl Table {
    /// How many children of each clock are enabled.
    fn children_on(&self) -> Vec<usize> {
        let mut out = std::vec![0; self.clocks.len()];
        for c in self.clocks.iter().filter(|c| c.enabled > 0) {
            if let Some(p) = c.parent {
                out[p] += 1;
            }
        }
        out
    }

    /// How many are enabled.
    pub fn enabled(&self) -> usize {
        self.clocks.iter().filter(|c| c.enabled > 0).count()
    }

    /// How many run, or cannot be switched, where the table says so of any (5.16 on).
    pub fn running(&self) -> Option<usize> {
        let known = self.clocks.iter().any(|c| c.runs.is_some());
        known.then(|| self.clocks.iter().filter(|c| c.may_run()).count())
    }

    /// Places of enabled clocks with more holders than enabled children: somebody
    /// other than a clock holds them.
    pub fn holders(&self) -> Vec<usize> {
        let on = self.children_on();
        let held = |&i: &usize| self.clocks[i].enabled > on[i] as u64;
        (0..self.clocks.len()).filter(held).collect()
    }

    /// Places of clocks that may run though nobody enabled them or a clock below them.
    pub fn unasked(&self) -> Vec<usize> {
        let on = self.children_on();
        let runs = |&i: &usize| {
            let c = &self.clocks[i];
            c.enabled == 0 && c.may_run() && on[i] == 0
        };
        (0..self.clocks.len()).filter(runs).collect()
    }
}
