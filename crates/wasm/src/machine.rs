//! A machine as a report keeps it: a board file, the times of each cycle, and
//! how the page calls the devices.

use crate::evidence::{SelfCheck, Witness};
use dormouse_base::time::Ns;
use dormouse_board::assumed::Assumed;
use dormouse_board::derive::{Derived, Times};
use dormouse_board::{parse, print};
use serde::{Deserialize, Serialize};

/// What [`Derived`] holds, in a form that packs well.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Machine {
    /// The board file.
    pub board: String,
    /// Kernel release of the capture; empty if it does not say.
    pub kernel: String,
    /// Medians of the phases as observed.
    pub observed: [Option<i64>; 8],
    /// What was assumed.
    pub assumptions: Vec<String>,
    /// Number of each board device on the page, each as the step from the one
    /// before; [`NOWHERE`] for a device that is not there.
    pub origin: Vec<i64>,
    /// Nanoseconds of a tick of `cycles`.
    pub unit: i64,
    /// The times of the cycles.
    pub cycles: Vec<CycleTimes>,
    /// How many cycles the capture has; `cycles` may be fewer.
    pub cycles_of: usize,
    /// How well the recording is reproduced.
    #[serde(default)]
    pub check: SelfCheck,
    /// What other machines that explain the recording are made of; `None` for a machine
    /// that was not recorded.
    #[serde(default)]
    pub witness: Option<Witness>,
}

/// Times of one cycle, only of callbacks that the board has.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct CycleTimes {
    /// Device times eight plus phase, each as the step from the one before.
    pub at: Vec<u32>,
    /// Ticks.
    pub time: Vec<i64>,
}

/// The number of a device that is not on the page.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// Saves at most `most` times of cycles, whole cycles only, and `assumptions` in
/// words. `number` says how a device of the capture is called on the page. What the
/// recording shows beside the machine is added by whoever has it.
pub fn save(
    derived: &Derived,
    assumptions: Vec<String>,
    kernel: &str,
    most: usize,
    number: &dyn Fn(u32) -> Option<u32>,
) -> Machine {
    let devices = &derived.board.devices;
    let mut cycles = Vec::new();
    let mut left = most;
    for times in &derived.cycles {
        let mut c = CycleTimes::default();
        let mut last = 0;
        for (d, slots) in times.iter().enumerate() {
            for (i, t) in slots.iter().enumerate() {
                let (Some(t), Some(_)) = (t, devices[d].work[i]) else { continue };
                let at = (d * 8 + i) as u32;
                c.at.push(at - last);
                c.time.push(t.0);
                last = at;
            }
        }
        if c.at.len() > left {
            break;
        }
        left -= c.at.len();
        cycles.push(c);
    }
    let unit = cycles.iter().flat_map(|c| &c.time).fold(0, |a, &b| crate::columns::gcd(a, b));
    let unit = unit.max(1);
    for t in cycles.iter_mut().flat_map(|c| &mut c.time) {
        *t /= unit;
    }
    Machine {
        board: print(&derived.board, ""),
        kernel: kernel.into(),
        observed: derived.observed.map(|o| o.map(|t| t.0)),
        assumptions,
        origin: steps(origin(derived).into_iter().map(|old| number(old).unwrap_or(NOWHERE))),
        unit,
        cycles,
        cycles_of: derived.cycles.len(),
        ..Machine::default()
    }
}

/// For every device of the board its number in the capture.
fn origin(derived: &Derived) -> Vec<u32> {
    let mut origin: Vec<u32> = (0..derived.board.devices.len() as u32).collect();
    for (old, &new) in derived.place.iter().enumerate() {
        if let Some(o) = origin.get_mut(new as usize) {
            *o = old as u32;
        }
    }
    origin
}

fn steps(numbers: impl Iterator<Item = u32>) -> Vec<i64> {
    let mut last = 0;
    numbers
        .map(|n| {
            let step = i64::from(n) - last;
            last = i64::from(n);
            step
        })
        .collect()
}

/// Numbers of the board's devices on the page.
pub(crate) fn on_page(m: &Machine) -> Vec<u32> {
    let mut at = 0i64;
    let number = |step: &i64| {
        at = at.saturating_add(*step);
        u32::try_from(at).unwrap_or(NOWHERE)
    };
    m.origin.iter().map(number).collect()
}

/// The machine that was saved.
///
/// # Errors
/// A sentence, if the board file is not one.
pub fn load(m: &Machine) -> Result<Derived, String> {
    let board = parse(&m.board).map_err(|e| e.to_string())?;
    let n = board.devices.len();
    let cycle = |c: &CycleTimes| -> Times {
        let mut times = vec![[None; 8]; n];
        let mut at = 0usize;
        for (&step, &t) in c.at.iter().zip(&c.time) {
            at = at.saturating_add(step as usize);
            if let Some(slots) = times.get_mut(at / 8) {
                slots[at % 8] = Some(Ns(t.saturating_mul(m.unit)));
            }
        }
        times
    };
    Ok(Derived {
        cycles: m.cycles.iter().map(cycle).collect(),
        observed: m.observed.map(|o| o.map(Ns)),
        assumptions: m.assumptions.iter().cloned().map(Assumed::Said).collect(),
        board,
        ..Derived::default()
    })
}
