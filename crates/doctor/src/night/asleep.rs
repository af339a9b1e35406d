//! What a sleep was, as far as its text proves it: what limits are held against.

/// How much of a sleep the hardware slept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    /// Thousandths of a per cent.
    pub thousandths: i64,
    /// The sleep was to be so long: something may have ended it earlier.
    pub ordered: bool,
    /// The line that tells; 0 of a recording.
    pub line: u64,
}

/// What a sleep drew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Power {
    /// Microwatts, by the steps of the gauge.
    Drawn {
        /// At least.
        least: i64,
        /// By its figures.
        about: i64,
        /// At most.
        most: i64,
        /// The line that tells.
        line: u64,
    },
    /// A gauge of charge or per cent, and nothing that makes watts of it.
    NoWatts,
    /// Nobody says how long the sleep was.
    NoTime,
    /// The battery had more afterwards.
    Charged,
    /// A person says it, in words.
    Told,
}
