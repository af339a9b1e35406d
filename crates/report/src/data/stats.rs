//! Phases and devices over all cycles.

use super::summary::{DeviceStats, PhaseStats};
use crate::choose::Kept;
use dormouse_base::capture::Capture;
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;
use dormouse_sleep::analyse::CycleView;
use dormouse_sleep::analyse::rows::What;
use dormouse_sleep::analyse::spread::Spread;
use dormouse_words::wording;
use serde::Serialize;

/// Distribution of each phase over the cycles `counted`; without those of which it is not
/// known how long the half took.
pub fn phases(capture: &Capture, views: &[CycleView], counted: &[usize]) -> Vec<PhaseStats> {
    let mut times: [Vec<Ns>; Phase::ALL.len()] = Default::default();
    for &i in counted {
        let mut sum = [None; Phase::ALL.len()];
        let answer = &views[i].answer;
        let known = |d| answer.halves().all(|h| h.direction != d || h.known.is_figure());
        for r in &views[i].rows.list {
            if let What::Phase(p) = r.what
                && known(r.direction)
            {
                let slot = &mut sum[capture.cycles[i].phases[p as usize].phase as usize];
                *slot = Some(slot.unwrap_or(Ns::ZERO) + r.counted);
            }
        }
        for (list, t) in times.iter_mut().zip(sum) {
            list.extend(t);
        }
    }
    let stat = |(i, list): (usize, &mut Vec<Ns>)| {
        let s = Spread::of(list)?;
        Some(PhaseStats {
            phase: i,
            label: wording::phase(Phase::ALL[i]),
            cycles: s.count,
            min_ns: s.min.0,
            median_ns: s.median.0,
            p95_ns: s.p95.0,
            max_ns: s.max.0,
        })
    };
    times.iter_mut().enumerate().filter_map(stat).collect()
}

/// Distribution of each kept device over the cycles `counted`. A half in which it ran
/// nothing, or something whose end is missing, has no time of it, unless it never has one.
pub fn devices(
    capture: &Capture,
    views: &[CycleView],
    counted: &[usize],
    kept: &Kept,
) -> DeviceStats {
    #[derive(Default)]
    struct Lists {
        half: [Vec<Ns>; 2],
        total: Vec<Ns>,
        path: Vec<Ns>,
        gain: Vec<Ns>,
    }
    let mut all: Vec<Lists> = Vec::new();
    all.resize_with(kept.old.len(), Lists::default);
    for &i in counted {
        let mut seen = vec![[(false, false); 2]; capture.graph.devices.len()];
        for c in &capture.cycles[i].callbacks {
            let (ended, open) = &mut seen[c.device.index()][c.phase.direction() as usize];
            *ended |= c.complete;
            *open |= !c.complete;
        }
        for d in &views[i].ranking.devices {
            let Some(k) = kept.get(d.device.index()) else { continue };
            let l = &mut all[k as usize];
            for half in [0, 1] {
                if seen[d.device.index()][half] == (true, false) {
                    l.half[half].push(d.busy[half]);
                }
            }
            l.total.push(d.total_busy());
            l.path.push(d.total_on_path());
            l.gain.push(d.total_gain());
        }
    }
    let mut out = DeviceStats::default();
    for (k, l) in all.iter_mut().enumerate() {
        let Some(total) = Spread::of(&mut l.total) else { continue };
        let median = |v: &mut Vec<Ns>| Spread::of(v).unwrap_or_default().median.0;
        out.device.push(k as u32);
        out.cycles.push(total.count);
        out.suspend_median.push(median(&mut l.half[0]));
        out.resume_median.push(median(&mut l.half[1]));
        out.total_min.push(total.min.0);
        out.total_median.push(total.median.0);
        out.total_p95.push(total.p95.0);
        out.total_max.push(total.max.0);
        out.path_median.push(median(&mut l.path));
        out.gain_median.push(median(&mut l.gain));
    }
    out
}

/// Time of devices in every cycle and phase.
#[derive(Debug, Serialize)]
pub struct Places {
    /// Distribution by device and phase, in ticks.
    pub phase_stats: PlaceStats,
    /// Devices whose total is given for every cycle.
    pub series: Series,
    /// Nanoseconds of a tick.
    pub unit: i64,
}

/// Columns, one entry a device and phase.
#[derive(Debug, Default, Serialize)]
pub struct PlaceStats {
    device: Vec<u32>,
    phase: Vec<u8>,
    cycles: Vec<u32>,
    min: Vec<i64>,
    median: Vec<i64>,
    p95: Vec<i64>,
    max: Vec<i64>,
}

/// Totals by cycle; -1 where a device did not run.
#[derive(Debug, Default, Serialize)]
pub struct Series {
    device: Vec<u32>,
    total: Vec<Vec<i64>>,
}

/// Times here are for orientation and cut to microseconds.
const TICK: i64 = 1000;

/// Most numbers that the series of all devices together may have.
const SERIES: usize = 200_000;

/// Places of the kept devices in every cycle.
pub fn places(capture: &Capture, views: &[CycleView], counted: &[usize], kept: &Kept) -> Places {
    let n = kept.old.len();
    let cycles = capture.cycles.len();
    let mut times: Vec<[Vec<Ns>; 8]> = Vec::new();
    times.resize_with(n, Default::default);
    for &i in counted {
        // A device may run a phase more than once: add up within the cycle.
        let mut last: Vec<[u32; 8]> = vec![[0; 8]; n];
        for cb in &capture.cycles[i].callbacks {
            let (Some(k), Some(p)) = (kept.get(cb.device.index()), cb.phase.device_index()) else {
                continue;
            };
            let list = &mut times[k as usize][p];
            let seen = &mut last[k as usize][p];
            if *seen > 0 {
                list[*seen as usize - 1] += cb.duration();
            } else {
                list.push(cb.duration());
                *seen = list.len() as u32;
            }
        }
    }
    let mut phase_stats = PlaceStats::default();
    for (k, lists) in times.iter_mut().enumerate() {
        for (p, list) in lists.iter_mut().enumerate() {
            let Some(s) = Spread::of(list) else { continue };
            phase_stats.device.push(k as u32);
            phase_stats.phase.push(Phase::DEVICE[p] as u8);
            phase_stats.cycles.push(s.count);
            phase_stats.min.push(s.min.0 / TICK);
            phase_stats.median.push(s.median.0 / TICK);
            phase_stats.p95.push(s.p95.0 / TICK);
            phase_stats.max.push(s.max.0 / TICK);
        }
    }
    Places { phase_stats, series: series(views, kept, cycles), unit: TICK }
}

/// For the devices that took longest in any cycle, as many as there is room.
fn series(views: &[CycleView], kept: &Kept, cycles: usize) -> Series {
    let mut most = vec![Ns::ZERO; kept.old.len()];
    for d in views.iter().flat_map(|v| &v.ranking.devices) {
        if let Some(k) = kept.get(d.device.index()) {
            most[k as usize] = most[k as usize].max(d.total_busy());
        }
    }
    let mut order: Vec<u32> =
        (0..most.len() as u32).filter(|&k| most[k as usize] > Ns::ZERO).collect();
    order.sort_by_key(|&k| (std::cmp::Reverse(most[k as usize]), k));
    order.truncate(SERIES / cycles.max(1));
    let mut place = vec![usize::MAX; most.len()];
    for (row, &k) in order.iter().enumerate() {
        place[k as usize] = row;
    }
    let mut total = vec![vec![-1i64; cycles]; order.len()];
    for (i, v) in views.iter().enumerate() {
        for d in &v.ranking.devices {
            let Some(k) = kept.get(d.device.index()) else { continue };
            if let Some(row) = total.get_mut(place[k as usize]) {
                row[i] = d.total_busy().0 / TICK;
            }
        }
    }
    Series { device: order, total }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;
    use crate::choose;
    use dormouse_read::{Options as ReadOptions, read_bytes};
    use dormouse_sleep::analyse::explain;

    /// Two sleeps: of the first the port's callback has no end, and resume is missing.
    const PARTS: &str = "\
[   10.000000] pcieport port: PM: calling pci_pm_suspend_noirq+0x0/0x300 @ 9, parent: pci0
[   10.000100] mt card: PM: calling pci_pm_suspend_noirq+0x0/0x300 @ 9, parent: port
[   10.020100] mt card: PM: pci_pm_suspend_noirq+0x0/0x300 returned 0 after 20000 usecs
[   50.000000] mt card: PM: calling pci_pm_suspend_noirq+0x0/0x300 @ 9, parent: port
[   50.030000] mt card: PM: pci_pm_suspend_noirq+0x0/0x300 returned 0 after 30000 usecs
[   50.030100] pcieport port: PM: calling pci_pm_suspend_noirq+0x0/0x300 @ 9, parent: pci0
[   50.091400] pcieport port: PM: pci_pm_suspend_noirq+0x0/0x300 returned 0 after 61300 usecs
[   51.000000] mt card: PM: calling pci_pm_resume_noirq+0x0/0x300 @ 9, parent: port
[   51.073400] mt card: PM: pci_pm_resume_noirq+0x0/0x300 returned 0 after 73400 usecs
";

    #[test]
    fn a_cycle_without_a_callback_is_no_zero() {
        let reading = read_bytes("log", PARTS.as_bytes(), &ReadOptions::default()).expect("text");
        let capture = &reading.captures[0];
        let views = explain(capture);
        assert_eq!(capture.cycles.len(), 2);
        let kept = choose::devices(capture, &Options::default());
        let stats = devices(capture, &views, &[0, 1], &kept);
        let of = |name: &str| {
            let at = |k: &u32| {
                let old = kept.old[*k as usize] as usize;
                capture.names.get(capture.graph.devices[old].name) == name
            };
            let row = stats.device.iter().position(at).expect("a row");
            (stats.suspend_median[row], stats.resume_median[row])
        };
        assert_eq!(of("port"), (61_300_000, 0));
        assert_eq!(of("card"), (25_000_000, 73_400_000));
    }
}
