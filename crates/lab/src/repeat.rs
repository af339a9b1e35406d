//! Is the laboratory repeatable? Boots the same thing many times and compares
//! the recordings byte for byte.

use crate::capture::{Wish, capture};
use crate::kernels::Kernel;
use crate::qemu::Machine;
use crate::{Error, Result};
use dormouse_core::board::Board;
use dormouse_core::board::generate::{Durations, Options, generate};
use dormouse_core::time::Ns;

/// What the boots showed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repeated {
    /// Boots whose recording differs from the first one's.
    pub different: u32,
    /// Lines of trace in a recording.
    pub lines: usize,
    /// For each boot that differs, where first.
    pub first_differences: Vec<String>,
}

/// The board that `make lab-repeat` uses: 200 devices with links, short
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

/// Boots `boots` times and compares everything that was recorded: traces,
/// kernel log, device list, clocks and counters.
pub fn repeat(kernel: &Kernel, machine: &Machine, wish: &Wish<'_>, boots: u32) -> Result<Repeated> {
    let mut first: Option<(Vec<u8>, String)> = None;
    let mut out = Repeated::default();
    for n in 0..boots {
        let recording = capture(kernel, machine, wish)?;
        let failed = |e: std::io::Error| Error::other(e.to_string());
        let bytes = dormouse_record::file::encode(&recording, Vec::new()).map_err(failed)?;
        let mut text = String::new();
        for c in recording.cycles() {
            let c = c.map_err(failed)?;
            text.push_str(&String::from_utf8_lossy(&c.trace));
            text.push_str(&String::from_utf8_lossy(&c.dmesg));
            text.push_str(&format!("{:?}\n", c.stats));
        }
        match &first {
            None => {
                out.lines = text.lines().filter(|l| !l.starts_with('#')).count();
                first = Some((bytes, text));
            }
            Some((a, _)) if *a == bytes => {}
            Some((_, a)) => {
                out.different += 1;
                out.first_differences.push(difference(n, a, &text));
            }
        }
    }
    Ok(out)
}

fn difference(boot: u32, a: &str, b: &str) -> String {
    match a.lines().zip(b.lines()).find(|(x, y)| x != y) {
        Some((x, y)) => format!("boot {boot}: \"{}\" was \"{}\"", y.trim(), x.trim()),
        None => format!("boot {boot}: device list or machine differ, cycles do not"),
    }
}
