//! Is the laboratory repeatable? Boots the same thing many times and compares
//! the recordings byte for byte; where they differ, says where they part.

use crate::capture::{Captures, Wish, captures};
use crate::kernels::Kernel;
use crate::qemu::{Disturbance, Machine};
use crate::{Error, Result};
use dormouse_base::time::Ns;
use dormouse_board::Board;
use dormouse_board::generate::{Durations, Options, generate};

/// What the boots showed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repeated {
    /// Boots whose recording differs from the first one's.
    pub different: u32,
    /// Boots whose whole kernel log differs from the first one's, though the
    /// recording may be the same: how often chance came near.
    pub logs_different: u32,
    /// Lines of trace in a recording.
    pub lines: usize,
    /// For each boot that differs in either, where.
    pub partings: Vec<Parting>,
}

/// Where a boot parts from the first one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parting {
    /// Which boot, from 1.
    pub boot: u32,
    /// The first line of the recording (trace, log and counters of the cycles
    /// in order) that differs.
    pub recording: Option<Difference>,
    /// The first record of the kernel log, from the start of the boot, that
    /// differs: how early chance came in.
    pub log: Option<Difference>,
}

/// Two lines that should be the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// From 1.
    pub line: usize,
    /// In the first boot; empty if it has no such line.
    pub was: String,
    /// In this boot; empty if it has no such line.
    pub is: String,
}

/// The board that `make prove SUBJECT=repeat` uses: 200 devices with links, short
/// callbacks in all phases, some of them computing.
pub fn board() -> Board {
    generate(&Options {
        devices: 200,
        cpus: 4,
        computing: 20,
        locked: 10,
        durations: Durations { low: Ns(5_000), high: Ns(4_000_000) },
        ..Options::default()
    })
}

/// One boot: the bytes of its capture file, the text of its cycles, its log.
struct Seen {
    bytes: Vec<u8>,
    text: String,
    log: String,
}

/// Boots `boots` times and compares everything that was recorded: traces,
/// kernel log, device list, clocks and counters. All boots but the first are
/// disturbed as `disturbance` says. Calls `each` after every boot but the first
/// with what it found so far.
///
/// # Errors
/// As [`captures`].
pub fn repeat(
    kernel: &Kernel,
    machine: &Machine,
    wish: &Wish<'_>,
    boots: u32,
    disturbance: Disturbance,
    mut each: impl FnMut(&Repeated, u32),
) -> Result<Repeated> {
    let first = look(captures(kernel, machine, std::slice::from_ref(wish), 0)?)?;
    let machine = &Machine { disturbance, ..machine.clone() };
    let mut out = Repeated {
        lines: first.text.lines().filter(|l| !l.starts_with('#')).count(),
        ..Repeated::default()
    };
    for boot in 2..=boots {
        let seen = look(captures(kernel, machine, std::slice::from_ref(wish), 0)?)?;
        let parting = Parting {
            boot,
            recording: (seen.bytes != first.bytes).then(|| {
                // The device list or the machine may differ where cycles do not.
                difference(&first.text, &seen.text).unwrap_or_default()
            }),
            log: difference(&first.log, &seen.log),
        };
        out.different += u32::from(parting.recording.is_some());
        out.logs_different += u32::from(parting.log.is_some());
        if parting.recording.is_some() || parting.log.is_some() {
            out.partings.push(parting);
        }
        each(&out, boot);
    }
    Ok(out)
}

fn look(captures: Captures) -> Result<Seen> {
    let failed = |e: std::io::Error| Error::other(e.to_string());
    let (mut bytes, mut text) = (Vec::new(), String::new());
    for recording in &captures.recordings {
        bytes.extend(dormouse_machine::file::encode(recording, Vec::new()).map_err(failed)?);
        for c in recording.cycles() {
            let c = c.map_err(failed)?;
            text.push_str(&String::from_utf8_lossy(&c.trace));
            text.push_str(&String::from_utf8_lossy(&c.dmesg));
            text.push_str(&format!("{:?}\n", c.stats));
        }
    }
    Ok(Seen { bytes, text, log: captures.logs.concat() })
}

/// The first line in which `a` and `b` differ; none if they are the same.
fn difference(a: &str, b: &str) -> Option<Difference> {
    let (mut a, mut b) = (a.lines(), b.lines());
    for line in 1.. {
        match (a.next(), b.next()) {
            (None, None) => break,
            (x, y) if x == y => {}
            (x, y) => {
                let text = |l: Option<&str>| l.unwrap_or_default().trim().to_owned();
                return Some(Difference { line, was: text(x), is: text(y) });
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_differs_is_quoted_and_a_missing_one_counts() {
        assert_eq!(difference("a\nb\n", "a\nb\n"), None);
        let d = difference("a\nb\nc\n", "a\n x\nc\n").unwrap();
        assert_eq!((d.line, &*d.was, &*d.is), (2, "b", "x"));
        let d = difference("a\n", "a\nb\n").unwrap();
        assert_eq!((d.line, &*d.was, &*d.is), (2, "", "b"));
    }
}
