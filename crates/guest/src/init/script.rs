//! Scripts of the shell.

use super::out::Out;
use super::system::Result;
use super::system::{load_module_with, program, unload_module};
use crate::plan::{IDLE_MODULE, KEPT, Script};
use dormouse_base::say::tail;
use dormouse_machine::guard::NoObserver;
use dormouse_machine::options::Detail;
use dormouse_machine::recorder::NoWatch;
use dormouse_machine::root::Root;
use dormouse_machine::watch::{Ask, Until, record};
use std::path::Path;

/// Trace buffer of each CPU in KiB.
const BUFFER_KIB: u64 = 64 * 1024;

/// Runs it in the folder of the plan, sends what it printed, the recording of the second
/// one, and the files that they kept.
pub(super) fn run(script: &Script, dir: &Path, out: &mut Out) -> Result<()> {
    let kept = dir.join(KEPT);
    std::fs::create_dir_all(&kept).map_err(|e| format!("{}: {e}", kept.display()))?;
    let said = first(script, dir)?;
    if let Some((file, with)) = &script.recorded {
        out.send("capture script", &recorded(file, with)?)?;
    }
    if script.idle.is_some() {
        unload_module("dormouse_idle")?;
    }
    let list = std::fs::read_dir(&kept).map_err(|e| format!("{}: {e}", kept.display()))?;
    for entry in list.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        out.send(&format!("kept {name}"), &super::system::read(&entry.path())?)?;
    }
    out.send("script", said.as_bytes())
}

fn recorded(file: &str, with: &[Detail]) -> Result<Vec<u8>> {
    let ask = Ask {
        with: with.to_vec(),
        until: Until::Ends(["/bin/sh", "-e", file].map(str::to_owned).to_vec()),
        buffer_kib: Some(BUFFER_KIB),
        journal: "/tmp/dormouse".into(),
        set: Vec::new(),
    };
    let outcome = record(&Root::real(), &ask, &mut NoObserver, &mut NoWatch);
    let outcome = outcome.map_err(|e| e.to_string())?;
    if let Some(e) = outcome.error {
        return Err(e.to_string());
    }
    if let Some(f) = outcome.restored.failed.first() {
        return Err(format!("{} was not put back: {}", f.path, f.reason));
    }
    dormouse_machine::file::encode(&outcome.recording, Vec::new()).map_err(|e| e.to_string())
}

fn first(script: &Script, dir: &Path) -> Result<String> {
    if let Some(parameters) = &script.idle {
        load_module_with(&dir.join(IDLE_MODULE), parameters)?;
    }
    std::env::set_current_dir(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    program("/bin/sh", &["-e", &script.file]).map_err(|e| tail(&e, 10))
}
