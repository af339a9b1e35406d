//! What powertop measured besides the shares of states (powertop.c, display.c, 1.8 to 1.13; the
//! overview of 2.x).

/// Wake-ups, power and stays of one screen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Powertop {
    /// How often CPUs were woken, thousandths a second.
    pub wakeups: Option<i64>,
    /// For how long it looked, thousandths of a second.
    pub interval: Option<i64>,
    /// What the battery gave, as powertop read of ACPI, thousandths of a watt.
    pub watts: Option<i64>,
    /// The mean stay in a state, thousandths of a ms, shallow states first.
    pub stays: Vec<(String, i64)>,
    /// What woke CPUs, in its order.
    pub causes: Vec<Cause>,
}

/// A row of `Top causes for wakeups`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// As powertop names it.
    pub name: String,
    /// Its share of all that was counted, thousandths of a per cent.
    pub share: i64,
    /// How often it came, thousandths a second.
    pub rate: i64,
}
