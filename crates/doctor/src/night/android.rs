//! What Android counts since the last charge.

/// A line of `dumpsys batterystats`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Battery {
    /// The screen was off on battery.
    ScreenOff {
        /// So long, in ms.
        ms: u64,
        /// So much of it the machine did not sleep.
        awake: u64,
    },
    /// So many per cent were used with the screen off.
    Discharged(u64),
    /// What woke it once, by a line of the history.
    Woke(String),
    /// Something that held it awake, or woke it.
    Held {
        /// What.
        kind: Kind,
        /// Its name.
        name: String,
        /// In all, in ms.
        ms: u64,
        /// How often.
        times: u64,
    },
}

/// What a list is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Wake locks of the kernel.
    Kernel,
    /// Partial wake locks of apps.
    App,
    /// Reasons for wake-ups.
    Reason,
}
