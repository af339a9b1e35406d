//! What a machine's machinery costs: a profile, and the settings of a simulation with it.

use crate::predict;
use anyhow::{Context, Result, anyhow};
use dormouse_sleep::simulate::{Profile, Settings, profile as profiles};
use std::fs;

/// A built-in profile or one in a file.
///
/// # Errors
/// If the file cannot be read or is no profile.
pub fn profile(name: &str) -> Result<Profile> {
    if let Some(p) = Profile::find(name) {
        return Ok(p);
    }
    let text = fs::read_to_string(name).with_context(|| {
        format!("cannot read the profile {name} (built in are x86, phone and zero)")
    })?;
    profiles::parse(&text).map_err(|e| anyhow!("{name}: {e}"))
}

/// How to simulate: see [`predict::settings`].
///
/// # Errors
/// As [`profile`].
pub fn settings(profile_name: &str, cpus: Option<u32>) -> Result<Settings> {
    Ok(predict::settings(profile(profile_name)?, cpus))
}
