//! What may be asked to change about a machine.

use dormouse_sleep::simulate::change::{Change, Wishes};

/// Changes of one machine; several combine. Patterns are device names, or
/// `DRIVER/NAME`, with `*` and `?`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes {
    /// Kernel release such as 6.12 or 7.3, or a policy such as G1 or DC.
    pub kernel: Option<String>,
    /// `/sys/power/pm_async`.
    pub pm_async: Option<bool>,
    /// Devices that become asynchronous.
    pub asynchronous: Vec<String>,
    /// Devices that become synchronous.
    pub sync: Vec<String>,
    /// Devices that are removed, with what depends on them.
    pub without: Vec<String>,
    /// Times of devices multiplied, as `PATTERN=FACTOR`.
    pub scale: Vec<String>,
    /// Callbacks that run in another phase, as `PATTERN=FROM:TO`.
    pub moves: Vec<String>,
    /// Power domains that are otherwise, as `DOMAIN=WORDS`.
    pub domains: Vec<String>,
    /// How long devices may take to wake, as `PATTERN=TIME` or `PATTERN=none`.
    pub qos: Vec<String>,
    /// Patterns of devices that stay suspended as they are.
    pub leave_suspended: Vec<String>,
    /// Number of CPUs.
    pub cpus: Option<u32>,
}

impl Changes {
    /// Nothing is to change.
    pub fn is_empty(&self) -> bool {
        *self == Changes::default()
    }

    /// The changes of the board in the order in which they are applied. The
    /// kernel is not among them.
    ///
    /// # Errors
    /// A sentence, if a factor is none.
    pub fn list(&self) -> Result<Vec<Change>, String> {
        Wishes {
            without: &self.without,
            pm_async: self.pm_async,
            asynchronous: &self.asynchronous,
            sync: &self.sync,
            scale: &self.scale,
            moves: &self.moves,
            domains: &self.domains,
            qos: &self.qos,
            leave_suspended: &self.leave_suspended,
            cpus: self.cpus,
        }
        .list()
    }
}
