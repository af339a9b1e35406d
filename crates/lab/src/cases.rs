//! The check of the laboratory against worked cases: what a kernel does with
//! a graph, beside what the rules of its generation say it must do.

use crate::describe::guest_name;
use crate::plan::Sleep;
use crate::run::{Job, Outcome};
use crate::trace::cycles;
use crate::{Error, Result};
use dormouse_core::board::{Board, BoardDevice, Work};
use dormouse_core::device::{Device, DeviceId, Link, LinkKind};
use dormouse_core::phase::Phase;
use dormouse_core::time::Ns;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Start and end in milliseconds by device. Beside the two directions the file
/// has totals, which are plain numbers.
#[derive(Debug, Deserialize)]
struct Tables {
    suspend: BTreeMap<String, [f64; 2]>,
    resume: BTreeMap<String, [f64; 2]>,
}

/// The file of cases.
#[derive(Debug, Deserialize)]
pub struct Cases {
    /// The graphs.
    pub cases: Vec<Case>,
    /// By case and generation.
    expected: BTreeMap<String, BTreeMap<String, Tables>>,
}

/// One graph. Devices: name, parent, flags, suspend ms, resume ms. Links:
/// consumer, supplier, kind.
#[derive(Debug, Deserialize)]
pub struct Case {
    /// Such as `c01`.
    pub id: String,
    devices: Vec<(String, String, String, i64, i64)>,
    links: Vec<(String, String, String)>,
}

/// The pair of phases in which a board's callbacks run. The walk is the same
/// in all three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pair {
    /// suspend and resume.
    Normal,
    /// late and early.
    LateEarly,
    /// noirq and noirq.
    Noirq,
}

impl Pair {
    /// Phases on the way down and up.
    pub fn phases(self) -> (Phase, Phase) {
        match self {
            Pair::Normal => (Phase::Suspend, Phase::Resume),
            Pair::LateEarly => (Phase::Late, Phase::ResumeEarly),
            Pair::Noirq => (Phase::Noirq, Phase::ResumeNoirq),
        }
    }

    /// How deep a cycle must go to reach them.
    pub fn sleep(self) -> Sleep {
        match self {
            Pair::Normal => Sleep::Devices,
            Pair::LateEarly | Pair::Noirq => Sleep::Platform,
        }
    }
}

/// The generation of rules that the kernel `release` follows (kernels 6.1.76
/// and later of 6.1 resume in a single pass).
pub fn generation(release: &str, pm_async: bool) -> &'static str {
    let mut n = release.split(|c: char| !c.is_ascii_digit()).map(|w| w.parse().unwrap_or(0));
    let version: (u32, u32) = (n.next().unwrap_or(0), n.next().unwrap_or(0));
    match version {
        _ if !pm_async => "G0",
        (6, 1) => "G1w",
        (..=5, _) | (6, ..=15) => "G1",
        (6, 16) => "G2",
        _ => "G4",
    }
}

/// A callback that ran at another time than expected, or not, or unexpectedly.
#[derive(Clone, Debug, PartialEq)]
pub struct Mismatch {
    /// Phase.
    pub phase: Phase,
    /// Device, in the case's words.
    pub device: String,
    /// Expected start and end in ms, if it was to run.
    pub expected: Option<[f64; 2]>,
    /// Seen start and end in ms, if it ran.
    pub seen: Option<[f64; 2]>,
}

/// Result of comparing one cycle.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// Intervals that were compared.
    pub compared: usize,
    /// Largest deviation among intervals that agree, in ms.
    pub worst: f64,
    /// Those that do not agree.
    pub mismatches: Vec<Mismatch>,
}

impl Cases {
    /// Reads the file.
    pub fn parse(json: &str) -> Result<Cases> {
        serde_json::from_str(json).map_err(|e| Error::other(format!("cases: {e}")))
    }

    /// Compares the first cycle of `outcome` with what `generation` does.
    pub fn compare(
        &self,
        case: &Case,
        generation: &str,
        pair: Pair,
        outcome: &Outcome,
        tolerance: f64,
    ) -> Result<Verdict> {
        let table = self
            .expected
            .get(&case.id)
            .and_then(|c| c.get(generation))
            .ok_or_else(|| Error::other(format!("{}: no table for {generation}", case.id)))?;
        let cycles = cycles(&outcome.trace);
        let cycle = cycles
            .first()
            .ok_or_else(|| Error::other(format!("{}: the trace has no cycle", outcome.name)))?;
        let (down, up) = pair.phases();
        let mut v = Verdict::default();
        for (phase, expected) in [(down, &table.suspend), (up, &table.resume)] {
            for (i, (name, ..)) in case.devices.iter().enumerate() {
                let seen = cycle
                    .of
                    .get(&(phase, guest_name(i)))
                    .map(|s| [s.start.as_ms_f64(), s.end.as_ms_f64()]);
                let expected = expected.get(name).copied();
                let off = match (expected, seen) {
                    (None, None) => continue,
                    (Some(e), Some(s)) => (e[0] - s[0]).abs().max((e[1] - s[1]).abs()),
                    _ => f64::INFINITY,
                };
                v.compared += 1;
                if off <= tolerance {
                    v.worst = v.worst.max(off);
                } else {
                    v.mismatches.push(Mismatch { phase, device: name.clone(), expected, seen });
                }
            }
        }
        Ok(v)
    }
}

impl Case {
    /// Whether a suspend callback fails.
    pub fn fails(&self) -> bool {
        self.devices.iter().any(|d| d.2.contains('e'))
    }

    /// The graph as a board whose callbacks run in the phases of `pair`.
    pub fn board(&self, pair: Pair) -> Result<Board> {
        let mut b = Board { cpus: 1, pm_async: true, ..Board::default() };
        let id = |name: &str| {
            self.devices
                .iter()
                .position(|d| d.0 == name)
                .map(|i| DeviceId(i as u32))
                .ok_or_else(|| Error::other(format!("{}: no device {name}", self.id)))
        };
        let (down, up) = pair.phases();
        for (name, parent, flags, suspend, resume) in &self.devices {
            let has = |flag| flags.contains(flag);
            let mut device =
                Device { name: b.names.add(name), async_flag: Some(has('a')), ..Device::default() };
            if !parent.is_empty() {
                device.parent = Some(id(parent)?);
            }
            b.graph.push(device);
            let mut more = BoardDevice { wakeup: has('w'), ..BoardDevice::default() };
            if !has('n') {
                for (phase, ms, ret) in
                    [(down, *suspend, if has('e') { -5 } else { 0 }), (up, *resume, 0)]
                {
                    let i = phase.device_index().expect("pairs hold device phases");
                    more.work[i] = Some(Work { sleep: Ns::from_ms(ms), ret, ..Work::default() });
                }
            }
            b.devices.push(more);
        }
        for (consumer, supplier, kind) in &self.links {
            let kind = match kind.as_str() {
                "s" => LinkKind::Stateless,
                "d" => LinkKind::Dormant,
                "y" => LinkKind::SyncStateOnly,
                other => return Err(Error::other(format!("{}: link kind {other}", self.id))),
            };
            b.graph.links.push(Link {
                consumer: id(consumer)?,
                supplier: id(supplier)?,
                kind,
                pm_runtime: false,
            });
        }
        Ok(b)
    }

    /// The job that lets a kernel do the case.
    pub fn job<'a>(&self, board: &'a Board, pair: Pair, pm_async: bool) -> Job<'a> {
        Job {
            name: format!("{}-{pair:?}-async{}", self.id, u8::from(pm_async)),
            board: Some(board),
            sleep: pair.sleep(),
            pm_async,
            cycles: 1,
        }
    }
}
