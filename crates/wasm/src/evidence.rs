//! What a report keeps of the recording beside the machine: how well it is reproduced,
//! and what other machines that explain it are made of.

use crate::columns::gcd;
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;
use dormouse_sleep::evidence::{
    Check, Fidelity, Missing, Recorded, Seen, Tick, Verdict, Witness as Full,
};
use dormouse_sleep::simulate::predict::Scheduler;
use serde::{Deserialize, Serialize};

/// The number of a device phase.
fn index(phase: Phase) -> Option<u8> {
    u8::try_from(phase.device_index()?).ok()
}

/// A [`Fidelity`]: one row a phase, which is all that is asked of it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SelfCheck {
    /// Phase, recorded and simulated nanoseconds, and what is missing of the recording:
    /// 0 nothing, 1 the begin or the end of the phase, 2 something else.
    pub rows: Vec<(u8, i64, i64, u8)>,
    /// `pm_async` was off, and nothing says who is asynchronous.
    pub blind: bool,
}

impl SelfCheck {
    /// Of a recording that is reproduced, if partly.
    pub fn save(f: &Fidelity) -> SelfCheck {
        let all = Phase::DEVICE.into_iter().filter_map(|p| f.phase(p).or(f.walk(p)));
        let lacks = |c: &Check| match c.missing {
            None => 0,
            Some(Missing::Bracket) => 1,
            Some(_) => 2,
        };
        let row = |c: &Check| Some((index(c.phase)?, c.recorded.0, c.simulated.0, lacks(c)));
        SelfCheck { rows: all.filter_map(row).collect(), blind: f.blind }
    }

    /// The self-check that was saved.
    pub fn load(&self) -> Fidelity {
        let mut f = Fidelity { blind: self.blind, ..Fidelity::default() };
        for &(phase, recorded, simulated, lacks) in &self.rows {
            let Some(&phase) = Phase::DEVICE.get(usize::from(phase)) else { continue };
            let (recorded, simulated) = (Ns(recorded), Ns(simulated));
            let (verdict, missing) = match lacks {
                0 => (Verdict::on(recorded, simulated), None),
                1 => (Verdict::NotReproduced, Some(Missing::Bracket)),
                _ => (Verdict::NotReproduced, Some(Missing::Callbacks)),
            };
            let list = if phase.may_be_async() { &mut f.checks } else { &mut f.walks };
            list.push(Check {
                cycle: 0,
                phase,
                event: Default::default(),
                recorded,
                simulated,
                printing: Ns::ZERO,
                callbacks: 0,
                verdict,
                missing,
                waits: Vec::new(),
            });
        }
        f
    }
}

/// A [`Full`] witness but for its rules, which the name of the kernel says.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Witness {
    listed: bool,
    unproven: Vec<u32>,
    orphans: Vec<Vec<u32>>,
    latest: Option<i64>,
    tick: i64,
    tick_assumed: bool,
    /// Nanoseconds of one tick of `phases`.
    unit: i64,
    phases: Vec<Columns>,
}

/// Callbacks of one recorded phase, in order of the device.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Columns {
    phase: u8,
    duration: i64,
    /// Device, less that of the callback before.
    device: Vec<u32>,
    start: Vec<i64>,
    length: Vec<i64>,
    /// 1 on the main thread, 2 with its end.
    marks: Vec<u8>,
}

impl Columns {
    fn save(r: &Recorded) -> Columns {
        let mut c = Columns {
            phase: index(r.phase).unwrap_or(u8::MAX),
            duration: r.duration.0,
            ..Columns::default()
        };
        let mut last = 0;
        for (d, s) in r.seen.iter().enumerate() {
            let Some(s) = s else { continue };
            c.device.push(d as u32 - last);
            last = d as u32;
            c.start.push(s.start.0);
            c.length.push((s.end - s.start).0);
            c.marks.push(u8::from(s.main) + 2 * u8::from(s.complete));
        }
        c
    }

    /// All times of it.
    fn times(&mut self) -> impl Iterator<Item = &mut i64> {
        [&mut self.duration].into_iter().chain(&mut self.start).chain(&mut self.length)
    }

    fn load(&self, unit: i64, devices: usize) -> Option<Recorded> {
        let time = |t: i64| Ns(t.saturating_mul(unit));
        let mut seen = vec![None; devices];
        let mut at = 0usize;
        let columns = self.device.iter().zip(&self.start).zip(&self.length).zip(&self.marks);
        for (((step, start), length), marks) in columns {
            at = at.saturating_add(*step as usize);
            let start = time(*start);
            let (main, complete) = (marks & 1 != 0, marks & 2 != 0);
            *seen.get_mut(at)? = Some(Seen { start, end: start + time(*length), main, complete });
        }
        let phase = *Phase::DEVICE.get(usize::from(self.phase))?;
        Some(Recorded { phase, duration: time(self.duration), seen })
    }
}

impl Witness {
    /// At most `most` callbacks, whole phases only; those of the first cycles.
    pub fn save(w: &Full, most: usize) -> Witness {
        let mut phases: Vec<Columns> = w.phases.iter().map(Columns::save).collect();
        let mut left = most;
        let fits = phases.iter().take_while(|c| {
            let fits = c.device.len() <= left;
            left = left.saturating_sub(c.device.len());
            fits
        });
        let kept = fits.count();
        phases.truncate(kept);
        let unit = phases.iter_mut().flat_map(Columns::times).fold(0, |a, b| gcd(a, *b)).max(1);
        phases.iter_mut().flat_map(Columns::times).for_each(|t| *t /= unit);
        Witness {
            listed: w.listed,
            unproven: w.unproven.clone(),
            orphans: w.orphans.clone(),
            latest: w.latest.map(|t| t.0),
            tick: w.tick.length.0,
            tick_assumed: w.tick.assumed,
            unit,
            phases,
        }
    }

    /// The witness of a machine of so many `devices` that runs under `scheduler`.
    /// Numbers of devices that the machine does not have are dropped.
    pub fn load(&self, devices: usize, scheduler: Scheduler) -> Full {
        let has = |d: &u32| (*d as usize) < devices;
        let only = |list: &Vec<u32>| -> Vec<u32> { list.iter().copied().filter(has).collect() };
        let orphans = self.orphans.iter().map(only).filter(|l| !l.is_empty());
        Full {
            scheduler,
            listed: self.listed,
            unproven: only(&self.unproven),
            orphans: orphans.collect(),
            latest: self.latest.map(Ns),
            tick: Tick { length: Ns(self.tick), assumed: self.tick_assumed },
            phases: self.phases.iter().filter_map(|c| c.load(self.unit, devices)).collect(),
        }
    }
}
