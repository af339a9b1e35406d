//! What a text does not allow to say, and why.

/// What was not looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unchecked {
    /// Why a domain without users is on: flags and `stay_on` stand in no table.
    Flags,
    /// What keeps devices from probing: no list and no message of deferrals.
    Probing,
    /// What keeps domains on: no table of them.
    Domains,
    /// What drivers make of what a device tree asks of regulators.
    Rails,
    /// The kernel crashed in this line, for which nothing here is a reason.
    Crash {
        /// The line, from 1.
        line: u64,
    },
}

impl Unchecked {
    /// What it is, and why it was not looked at.
    pub fn told(self) -> (&'static str, String) {
        let (what, why) = match self {
            Unchecked::Flags => {
                ("flags of domains", "always-on flags and stay_on stand in no table")
            }
            Unchecked::Probing => (
                "what keeps devices from probing",
                "give the kernel log and /sys/kernel/debug/devices_deferred",
            ),
            Unchecked::Domains => {
                ("what keeps domains on", "give /sys/kernel/debug/pm_genpd/pm_genpd_summary")
            }
            Unchecked::Rails => (
                "whether regulators do as the tree asks",
                "a driver without set_suspend_enable and set_suspend_disable leaves them as they \
                 are, and s2idle asks nothing of them",
            ),
            Unchecked::Crash { line } => {
                let why = format!(
                    "the kernel crashed in line {line}; nothing here is shown to be its reason"
                );
                return ("the crash", why);
            }
        };
        (what, why.into())
    }
}
