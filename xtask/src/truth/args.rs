//! What is asked for on the command line.

use anyhow::{Context, Result, bail};
use dormouse_sleep::simulate::{Profile, profile};
use std::fs;

/// Recordings, and what they are held against.
pub(super) struct Args {
    /// Recordings whose flags and waits are inferred and held.
    pub(super) alone: Vec<String>,
    /// The first foretells the second.
    pub(super) pairs: Vec<(String, String)>,
    pub(super) costs: Profile,
    /// Show each false inference, and what the whole recording answers wrongly.
    pub(super) verbose: bool,
}

pub(super) fn parse(args: &[String]) -> Result<Args> {
    let mut a =
        Args { alone: Vec::new(), pairs: Vec::new(), costs: Profile::x86(), verbose: false };
    let mut args = args.iter();
    while let Some(word) = args.next() {
        match word.as_str() {
            "-v" | "--verbose" => a.verbose = true,
            "--profile" => {
                let file = args.next().context("--profile needs a file")?;
                a.costs = match Profile::find(file) {
                    Some(p) => p,
                    None => profile::parse(&fs::read_to_string(file).context(file.clone())?)?,
                };
            }
            _ => match word.split_once('=') {
                Some((before, after)) => a.pairs.push((before.into(), after.into())),
                None => a.alone.push(word.clone()),
            },
        }
    }
    if a.alone.is_empty() && a.pairs.is_empty() {
        bail!("give CAPTURE for what is inferred, BEFORE=AFTER for what is foretold, or both");
    }
    Ok(a)
}

pub(super) fn file_name(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.strip_suffix(".tar.gz").unwrap_or(name)
}
