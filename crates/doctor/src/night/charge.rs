//! What a battery says before and after a sleep.

/// A reading of a battery's gauge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Charge {
    /// Which battery; empty if the line does not say.
    pub battery: String,
    /// What the figure is of.
    pub of: Gauge,
    /// The figure, in the unit of its gauge.
    pub value: i64,
    /// Seconds of the day or of the calendar when it was read, if the line says.
    pub at: Option<i64>,
    /// The step of the figure: 1,000 of a per cent that is whole.
    pub step: i64,
    /// Read before a sleep or after it, if the line says.
    pub side: Option<Side>,
    /// Who says so.
    pub by: Teller,
    /// The line speaks of a sleep.
    pub of_sleep: bool,
}

/// Who tells what a battery had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Teller {
    /// A file of the kernel.
    File,
    /// A line with a label, of a program or of a list that somebody kept.
    Program,
    /// A sentence.
    Person,
}

/// What a figure is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gauge {
    /// Microwatt-hours left.
    Energy,
    /// Microampere-hours left.
    Charge,
    /// Thousandths of a per cent left.
    Percent,
    /// Microwatt-hours when full.
    EnergyFull,
    /// Microampere-hours when full.
    ChargeFull,
}

/// Which side of a sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Before it.
    Before,
    /// After it.
    After,
}

/// What somebody measured over a time, in a row of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// How long, in seconds.
    pub seconds: i64,
    /// Microampere-hours that were used.
    pub charge: Option<i64>,
    /// Microwatts on the average.
    pub power: Option<i64>,
    /// Thousandths of a per cent an hour.
    pub hourly: Option<i64>,
    /// The row speaks of a sleep.
    pub of_sleep: bool,
}

/// What somebody says that a sleep took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drain {
    /// Thousandths of a per cent.
    pub percent: Option<i64>,
    /// Microwatt-hours.
    pub energy: Option<i64>,
    /// How long that took, in seconds.
    pub seconds: Option<i64>,
    /// The figure is said to be round: `about`, `~`.
    pub about: bool,
    /// The line speaks of a sleep.
    pub of_sleep: bool,
    /// A program measured it; else a person says so.
    pub by_program: bool,
}
