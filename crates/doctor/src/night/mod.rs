//! What a text shows of nights besides messages of a kernel: counters of hardware sleep,
//! latencies that devices ask for, tables of turbostat, who owns an interrupt or a GPE,
//! charges of a battery, rounds of an endurance run. In order of the text, so that what
//! stands between two readings (a sleep, a change, words) tells what they are of.

pub mod android;
pub(crate) mod asleep;
pub mod charge;
pub mod machine;
pub mod report;
pub mod round;
pub mod table;

use crate::finding::Evidence;
use android::Battery;
use charge::{Charge, Drain, Window};
use machine::{Hardware, Owner};
use report::{Check, Report};
use round::{Round, Stats};
use table::{Latency, Shares};

/// Everything of one text.
#[derive(Clone, Debug, Default)]
pub struct Night {
    /// In its order.
    pub items: Vec<Item>,
    /// So many facts were left out: the text has more than are kept.
    pub left_out: u64,
}

/// One thing that the text shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Line of the text, from 1.
    pub line: u64,
    /// The line, without the marks of a mail.
    pub text: String,
    /// What it is.
    pub fact: Fact,
}

/// What a line shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// Typed at a prompt.
    Command(String),
    /// A heading or a sentence above a table.
    Words(String),
    /// The machine slept, or was sent to sleep, here; so many seconds, if the line says.
    Slept(Option<u64>),
    /// Somebody says that a sleep lasted so many seconds.
    Lasted(u64),
    /// A line that begins or ends a sleep, by the clock on the wall.
    Clock {
        /// It begins one.
        begins: bool,
        /// Milliseconds since some day.
        ms: i64,
        /// The kernel took that time itself; else whoever kept the log.
        precise: bool,
    },
    /// A service says that the machine is back from a sleep, at so many milliseconds since some
    /// day.
    Woke(i64),
    /// A line of a tool's report of a cycle.
    Report(Report),
    /// A line of a tool's report that is of the machine, and of no cycle.
    Check(Check),
    /// A test could not send the machine to sleep.
    NotRun,
    /// It idled awake for so many seconds.
    Idled(u64),
    /// A reading of a counter.
    Count(Count),
    /// Somebody writes what turbostat said of a share: `SYS%LPI 0.00`.
    Share {
        /// The column.
        name: String,
        /// Thousandths of a per cent.
        thousandths: i64,
    },
    /// A row of `ltr_show`.
    Latency(Latency),
    /// A row of turbostat for the whole machine.
    Shares(Shares),
    /// A condition of the platform's sleep, and whether it was met when it was read.
    Condition {
        /// The table that it is of.
        table: Conditions,
        /// As the table names it.
        name: String,
        /// It was met, gated, off or idle.
        met: bool,
    },
    /// Who owns an interrupt, a GPE, a port.
    Owner(Owner),
    /// A device that hardware tables name.
    Hardware(Hardware),
    /// What is left in a battery, or was used.
    Charge(Charge),
    /// What somebody says that a night cost.
    Drain(Drain),
    /// What was measured over a time.
    Window(Window),
    /// A cycle of an endurance run.
    Round(Round),
    /// Counts of an endurance run.
    Stats(Stats),
    /// Somebody writes that a test of S0ix passed.
    Passed,
    /// What a tool concludes of a sleep: it was deep, or it was not.
    Verdict {
        /// Deep enough for the tool.
        deep: bool,
    },
    /// A summary says that the hardware's own sleep was reached, for some part of a sleep.
    Reached,
    /// A part of an AMD chip was active for so many microseconds of its last sleep.
    Active {
        /// As the table names it.
        name: String,
        /// How long.
        us: u64,
    },
    /// A root port that a self-test saw outside of D3cold.
    Port(String),
    /// What Android counts since the last charge.
    Android(Battery),
}

/// Which table a condition is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conditions {
    /// `slp_s0_debug_status` (intel/pmc/core.c:pmc_core_slps0_display).
    SlpS0,
    /// `pch_ip_power_gating_status` or ppfear (pmc_core_display_map).
    Gating,
    /// `pll_status` and `mphy_core_lanes_power_gating_status`.
    Pll,
    /// `substate_requirements`: required by a substate, and its status.
    Requirement,
    /// `substate_status_registers`: bits, of which the table does not tell what needs them.
    Status,
}

impl Conditions {
    /// The file of debugfs.
    pub fn file(self) -> &'static str {
        match self {
            Conditions::SlpS0 => "slp_s0_debug_status",
            Conditions::Gating => "pch_ip_power_gating_status",
            Conditions::Pll => "pll_status or mphy_core_lanes_power_gating_status",
            Conditions::Requirement => "substate_requirements",
            Conditions::Status => "substate_status_registers",
        }
    }
}

/// What a counter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Counts {
    /// Time of the whole system in its low-power state, in microseconds.
    System,
    /// The same, of one substate.
    Substate,
    /// Time of the processor's package in one of its states, in microseconds.
    Package,
    /// How often such a state was entered.
    Entries,
    /// What one sleep counted, not a sum, in microseconds.
    Last,
}

/// A reading of a counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Count {
    /// `slp_s0_residency_usec`, `Package C10`, `S0i3.0`, `cxsd`.
    pub name: String,
    /// What it counts.
    pub of: Counts,
    /// What it stood at.
    pub value: u64,
}

impl Night {
    /// Whether the text shows anything of this kind that a rule can judge.
    pub fn speaks(&self) -> bool {
        // What else there is only tells what these are of; of rounds, charges and shares of
        // idle states a rule finds what a sleep was.
        let judged = |f: &Fact| {
            matches!(
                f,
                Fact::Count(_)
                    | Fact::Share { .. }
                    | Fact::Latency(_)
                    | Fact::Condition { .. }
                    | Fact::Check(Check::Head)
                    | Fact::NotRun
                    | Fact::Verdict { .. }
                    | Fact::Reached
                    | Fact::Port(_)
                    | Fact::Android(_)
                    | Fact::Owner(Owner::NoWakeupIrq)
            ) || matches!(f, Fact::Report(r) if !matches!(r, Report::Marked(_)))
        };
        self.items.iter().any(|i| judged(&i.fact))
    }

    /// Puts the begins and ends of sleeps into the order of time, in a text that stands the
    /// newest line first: what people write around a log goes on as it stands.
    pub fn clocks_turn(&mut self) {
        let is_clock = |i: &Item| matches!(i.fact, Fact::Clock { .. } | Fact::Woke(_));
        let places: Vec<usize> =
            (0..self.items.len()).filter(|i| is_clock(&self.items[*i])).collect();
        for (a, b) in places.iter().zip(places.iter().rev()).take(places.len() / 2) {
            self.items.swap(*a, *b);
        }
    }

    /// Facts of one kind, in order, each with its line.
    pub(crate) fn of<'a, T>(
        &'a self,
        pick: impl Fn(&'a Fact) -> Option<T>,
    ) -> impl DoubleEndedIterator<Item = (&'a Item, T)> {
        self.items.iter().filter_map(move |i| Some((i, pick(&i.fact)?)))
    }

    /// Readings of counters, in order, with their places.
    pub fn counts(&self) -> impl Iterator<Item = (usize, &Item, &Count)> {
        self.items.iter().enumerate().filter_map(|(at, i)| match &i.fact {
            Fact::Count(c) => Some((at, i, c)),
            _ => None,
        })
    }

    /// What lies between two items, those not counted in.
    pub fn between(&self, first: usize, last: usize) -> &[Item] {
        self.items.get(first + 1..last).unwrap_or_default()
    }

    /// Whether anything says that the machine slept.
    pub(crate) fn slept_at_all(&self) -> bool {
        let slept = |f: &Fact| {
            matches!(f, Fact::Slept(_) | Fact::Lasted(_) | Fact::Clock { .. } | Fact::Woke(_))
        };
        self.items.iter().any(|i| slept(&i.fact))
    }

    /// Whether the machine slept between two items.
    pub fn slept(&self, first: usize, last: usize) -> bool {
        self.between(first, last).iter().any(|i| matches!(i.fact, Fact::Slept(_)))
    }
}

impl From<&Item> for Evidence {
    fn from(i: &Item) -> Evidence {
        Evidence { line: i.line, time: None, text: i.text.clone(), doubtful: false }
    }
}
