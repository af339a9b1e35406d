//! A script of the shell.

use super::Result;
use super::system::{load_module_with, program, unload_module};
use crate::error::tail;
use crate::plan::{IDLE_MODULE, Script};
use std::path::Path;

/// Runs it in the folder of the plan, and gives what it printed.
pub fn run(script: &Script, dir: &Path) -> Result<String> {
    if let Some(parameters) = &script.idle {
        load_module_with(&dir.join(IDLE_MODULE), parameters)?;
    }
    std::env::set_current_dir(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let said = program("/bin/sh", &["-e", &script.file]).map_err(|e| tail(&e, 10))?;
    if script.idle.is_some() {
        unload_module("dormouse_idle")?;
    }
    Ok(said)
}
