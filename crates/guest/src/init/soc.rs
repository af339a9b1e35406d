//! The drivers of SoC-9000 (kernel/soc9000): how its devices probe, and some sleeps.

use super::out::Out;
use super::system::Result;
use super::system::{load_module_with, read, read_text, write};
use crate::plan::SOC_MODULE;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

const TRACING: &str = "/sys/kernel/tracing";
const DEBUG: &str = "/sys/kernel/debug";

/// Loads the module, registers its drivers under observation, sleeps twice with
/// `pm_async` 0 and 1.
pub(super) fn run(parameters: &str, dir: &Path, out: &mut Out) -> Result<()> {
    // Events exist once the module does, so its drivers come later.
    load_module_with(&dir.join(SOC_MODULE), &format!("start=0 {parameters}"))?;
    for event in ["soc9000", "power/suspend_resume"] {
        write(&format!("{TRACING}/events/{event}/enable"), "1")?;
    }
    write("/sys/module/soc9000/parameters/start", "1")?;
    sleep(Duration::from_secs(2));
    for (name, file) in [
        ("soc waits", "devices_deferred"),
        ("soc domains", "pm_genpd/pm_genpd_summary"),
        ("soc clocks", "clk/clk_summary"),
    ] {
        out.send(name, read_text(&format!("{DEBUG}/{file}")).as_bytes())?;
    }
    write("/sys/power/mem_sleep", "deep")?;
    for pm_async in ["0", "1"] {
        write("/sys/power/pm_async", pm_async)?;
        for _ in 0..2 {
            write("/sys/power/state", "mem")?;
            sleep(Duration::from_secs(1));
        }
    }
    out.send("soc trace", &read(Path::new(&format!("{TRACING}/trace")))?)
}
