//! A line as a finding quotes it.

/// A line is shown up to here.
const SHOWN: usize = 200;

/// A line up to what is shown, without marks of mails.
pub(super) fn shown(line: &str) -> String {
    let line = line.trim_start_matches(['>', ' ', '\t']).trim_end();
    line.chars().take(SHOWN).collect()
}
