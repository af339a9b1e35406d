//! Limits on the idle states of the guest.

use super::system::{Result, write};
use std::path::Path;

pub(super) const CPUS: &str = "/sys/devices/system/cpu";

/// Sets a limit (us; 0 is none) and disables a state, or none, on every CPU.
pub(super) fn set(limit_us: u32, disabled: Option<u32>) -> Result<()> {
    for cpu in cpus() {
        write(&format!("{cpu}/power/pm_qos_resume_latency_us"), &limit_us.to_string())?;
        for (i, _) in states().iter().enumerate() {
            let off = disabled == Some(i as u32);
            write(&format!("{cpu}/cpuidle/state{i}/disable"), if off { "1" } else { "0" })?;
        }
    }
    Ok(())
}

/// Folders of the states of the first CPU.
pub(super) fn states() -> Vec<String> {
    (0..)
        .map(|i| format!("{CPUS}/cpu0/cpuidle/state{i}"))
        .take_while(|p| Path::new(p).exists())
        .collect()
}

pub(super) fn cpus() -> Vec<String> {
    (0..).map(|n| format!("{CPUS}/cpu{n}")).take_while(|p| Path::new(p).exists()).collect()
}
