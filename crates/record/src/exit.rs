//! Exit codes, the same for every verb. `docs/exit-codes.md` is the table for
//! users; a test holds the two together.

use dormouse_base::failure::Usage;
use dormouse_machine::presync::Error as SyncError;
use dormouse_read::ReadError;

/// Done.
pub(crate) const SUCCESS: u8 = 0;
/// The input was read and holds nothing to analyse.
pub const NOTHING: u8 = 1;
/// The command line makes no sense.
pub const USAGE: u8 = 2;
/// An input cannot be read, or an output cannot be written.
pub const INPUT: u8 = 3;
/// Asked and not met: slower than `compare --fail-if-slower` allows, or a
/// prediction that `--verify` did not confirm.
pub const NOT_MET: u8 = 4;
/// `plan`, `tune`: the simulation does not reproduce the recording.
pub const NOT_REPRODUCED: u8 = 5;
/// `sync`: a wakeup or a signal ended it.
pub(crate) const WOKEN: u8 = 6;
/// `sync`: not all was written in the time given.
pub(crate) const SPENT: u8 = 7;
/// `sync`: a file system reported an error.
pub(crate) const NOT_WRITTEN: u8 = 8;
/// `sync`: it cannot work on this machine, or not by this user.
pub(crate) const CANNOT: u8 = 9;

/// Every code with its meaning, as documented.
pub const ALL: [(u8, &str); 10] = [
    (SUCCESS, "success"),
    (NOTHING, "nothing to analyse in the input"),
    (USAGE, "bad usage"),
    (INPUT, "input cannot be read"),
    (NOT_MET, "asked and not met"),
    (NOT_REPRODUCED, "recording not reproduced"),
    (WOKEN, "ended by a wakeup or a signal"),
    (SPENT, "not ready in the time given"),
    (NOT_WRITTEN, "data cannot be written"),
    (CANNOT, "cannot work here"),
];

/// The table as `--help` prints it.
#[must_use]
pub fn table() -> String {
    let line = |(code, what): (u8, &str)| format!("\n  {code}  {what}");
    format!("Exit codes:{}", ALL.into_iter().map(line).collect::<String>())
}

/// A verb ended with a code of its own, and has said why.
#[derive(Debug, thiserror::Error)]
#[error("ended with exit code {0}")]
pub struct Ended(pub u8);

/// The code for an error of the verbs of this crate.
#[must_use]
pub fn code(error: &anyhow::Error) -> u8 {
    if let Some(Ended(code)) = error.downcast_ref() {
        return *code;
    }
    let code = error.chain().find_map(|e| {
        if e.is::<Usage>() {
            Some(USAGE)
        } else if e.is::<SyncError>() {
            Some(CANNOT)
        } else if e.is::<ReadError>() || e.is::<std::io::Error>() {
            Some(INPUT)
        } else {
            None
        }
    });
    code.unwrap_or(INPUT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_table_is_the_real_one() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/exit-codes.md");
        let text = std::fs::read_to_string(file).expect("docs/exit-codes.md");
        let rows: Vec<&str> = text.lines().filter(|l| l.starts_with("| ")).skip(1).collect();
        assert_eq!(rows.len(), ALL.len(), "one row a code");
        for (row, (code, what)) in rows.iter().zip(ALL) {
            assert!(row.starts_with(&format!("| {code} | {what} |")), "{row}");
        }
    }
}
