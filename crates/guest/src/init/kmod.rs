//! modprobe at work on the board module: what loads, and what may not.

use super::out::Out;
use super::system::Result;
use super::system::{self, program};
use super::udev::drivers;
use crate::plan::{Load, MODULE};
use std::fs;
use std::path::Path;

const CONFIGURATION: &str = "/etc/modprobe.d/dormouse.conf";
const NAME: &str = "dormouse_board";

/// Tries each of `loads`, and says what drives which device and what the kernel
/// calls at its start.
pub(super) fn run(loads: &[Load], dir: &Path, out: &mut Out) -> Result<()> {
    // Where modprobe looks, as an installed kernel has it.
    let place = format!("/lib/modules/{}", system::read_text("/proc/sys/kernel/osrelease"));
    fs::create_dir_all(&place).map_err(|e| format!("{place}: {e}"))?;
    let to = format!("{place}/{MODULE}");
    fs::copy(dir.join(MODULE), &to).map_err(|e| format!("{to}: {e}"))?;
    program("/sbin/depmod", &[])?;
    for load in loads {
        let said = try_one(load, dir).map_err(|e| format!("{}: {e}", load.name))?;
        out.send(&format!("load {}", load.name), said.as_bytes())?;
    }
    out.send("drivers", drivers().as_bytes())?;
    out.send("initcalls", initcalls().as_bytes())
}

/// Asks for the module by name with the configuration of `load`, then for it
/// past modprobe, and says what came of either, a line each.
fn try_one(load: &Load, dir: &Path) -> Result<String> {
    let text = system::read(&dir.join(&load.configuration))?;
    fs::write(CONFIGURATION, text).map_err(|e| format!("{CONFIGURATION}: {e}"))?;
    let mut said = String::new();
    let by_name = || program("/sbin/modprobe", &[NAME]).map(|_| ());
    let by_file = || system::load_module(&dir.join(MODULE));
    let ways: [(&str, &dyn Fn() -> Result<()>); 2] = [("modprobe", &by_name), ("kernel", &by_file)];
    for (way, done) in ways {
        let error = done().err().unwrap_or_default().replace('\n', " ");
        let loaded = Path::new("/sys/module").join(NAME).exists();
        if loaded {
            system::unload_module(NAME)?;
        }
        said.push_str(&format!(
            "{way}: {} {error}\n",
            if loaded { "loaded" } else { "not loaded" }
        ));
    }
    Ok(said)
}

/// The symbols of the kernel that name functions called at its start.
fn initcalls() -> String {
    let symbols = fs::read_to_string("/proc/kallsyms").unwrap_or_default();
    let lines = symbols.lines().filter(|l| l.contains("__initcall__kmod_"));
    lines.map(|l| format!("{l}\n")).collect()
}
