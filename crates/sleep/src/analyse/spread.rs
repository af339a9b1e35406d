//! Many cycles: median, p95 and spread, and the cycles that stand out.

use super::CycleView;
use super::answer::is_comparable;
use dormouse_base::capture::Capture;
use dormouse_base::cycle::Mode;
use dormouse_base::names::Sym;
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::stats::describe::middle;
use dormouse_base::time::Ns;
use std::collections::BTreeMap;

/// Order statistics of one quantity over cycles, exact in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spread {
    /// How many values.
    pub count: u32,
    /// Smallest.
    pub min: Ns,
    /// Middle value; the mean of the middle two, rounded down to the
    /// nanosecond.
    pub median: Ns,
    /// Smallest value that at least 95 % of the values do not exceed.
    pub p95: Ns,
    /// Largest.
    pub max: Ns,
    /// Median of the absolute distances from the median.
    pub mad: Ns,
}

impl Spread {
    /// Of `values`, which are sorted in place.
    pub fn of(values: &mut [Ns]) -> Option<Spread> {
        let median = middle(values, Ns::mean)?;
        let n = values.len();
        let mut distance: Vec<Ns> = values.iter().map(|&v| Ns((v - median).0.abs())).collect();
        Some(Spread {
            count: n as u32,
            min: values[0],
            median,
            p95: values[(n * 95).div_ceil(100).saturating_sub(1)],
            max: values[n - 1],
            mad: middle(&mut distance, Ns::mean)?,
        })
    }

    /// Far above the rest: more than 5.19 median distances over the median
    /// (3.5 standard deviations, if the values were normally distributed), and
    /// by more than 5 % and 1 ms, so that clocks and rounding name nobody.
    pub(crate) fn is_outlier(&self, value: Ns) -> bool {
        let over = value.since(self.median);
        self.count >= 4
            && over.0 > self.mad.0.saturating_mul(519) / 100
            && over.0 > self.median.0 / 20
            && over > Ns(1_000_000)
    }
}

/// From so many cycles on a 95th percentile is another value than the largest.
pub const PERCENTILES_FROM: usize = 20;

/// A cycle: index of its capture, index in it.
pub type CycleIndex = (u32, u32);

/// One phase over all cycles of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseSpread {
    /// The phase; spans of one cycle are added up.
    pub phase: Phase,
    /// Time counted for it.
    pub time: Spread,
}

/// A device as it is recognised across captures.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeviceKey<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its driver, as the first source names it.
    pub driver: &'a str,
    /// Its parent's name.
    pub parent: &'a str,
    /// Which of those that are alike in all of this, in list order.
    pub nth: u32,
}

/// One device over all cycles of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceSpread<'a> {
    /// The device.
    pub key: DeviceKey<'a>,
    /// Time of its callbacks in a cycle.
    pub busy: Spread,
    /// Time on critical paths in a cycle, by `Direction as usize`.
    pub on_path: [Spread; 2],
    /// What a cycle would gain without it, over all cycles of the group (zero
    /// where it is not on the path), by `Direction as usize`.
    pub gain: [Spread; 2],
    /// In how many cycles it was the device with the longest time on the path.
    pub led: u32,
    /// In how many cycles no device's absence would save more, by `Direction as
    /// usize`.
    pub saves_most: [u32; 2],
}

/// A cycle that stands out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outlier<'a> {
    /// The cycle.
    pub cycle: CycleIndex,
    /// In which half.
    pub direction: Direction,
    /// How long the half took.
    pub time: Ns,
    /// How much that is above the median.
    pub over: Ns,
    /// Most cycles of the group show phases of devices in this half; this one
    /// shows none, so what it took longer for is not known.
    pub devices_missing: bool,
    /// The device whose time on the path grew most over its median, and by how
    /// much; `None` if no device's did.
    pub device: Option<(DeviceKey<'a>, Ns)>,
    /// The phase that grew most over its median; `None` in its place stands
    /// for all gaps between phases together.
    pub phase: Option<(Option<Phase>, Ns)>,
}

/// Cycles that may be compared: same kernel, same sleep state, all slept, and not of
/// two logs of one file. Cycles of two captures that do not name their kernel are of two
/// groups: nothing says that they are of one machine.
#[derive(Clone, Debug, Default)]
pub struct Group<'a> {
    /// Kernel release.
    pub kernel: &'a str,
    /// Sleep state.
    pub mode: Mode,
    /// Which log of its source, where one source holds several.
    pub log: u32,
    /// Cycles in order, without the first after boot.
    pub cycles: Vec<CycleIndex>,
    /// First cycles after boot: shown apart.
    pub first: Vec<CycleIndex>,
    /// Way down.
    pub suspend: Spread,
    /// Way up.
    pub resume: Spread,
    /// By phase in order.
    pub phases: Vec<PhaseSpread>,
    /// By device, the largest median gain first, then the longest median on the
    /// path, then the longest median time.
    pub devices: Vec<DeviceSpread<'a>>,
    /// Cycles that stand out.
    pub outliers: Vec<Outlier<'a>>,
}

/// Groups the cycles of all captures; groups with one cycle are left out.
pub fn groups<'a>(all: &[(&'a Capture, &'a [CycleView])]) -> Vec<Group<'a>> {
    let mut by: BTreeMap<(&str, Mode, u32, u32), Vec<CycleIndex>> = BTreeMap::new();
    for (k, (capture, views)) in all.iter().enumerate() {
        let logs = capture.cycles.iter().any(|c| c.log > 0);
        for (i, c) in capture.cycles.iter().enumerate() {
            // What no line times is no time of 0.
            let timed = views.get(i).is_some_and(|v| v.rows.total > Ns::ZERO);
            if is_comparable(c) && timed {
                let alone = logs || c.kernel.is_empty();
                let part = if alone { k as u32 } else { u32::MAX };
                let key = (capture.names.get(c.kernel), c.mode, c.log, part);
                by.entry(key).or_default().push((k as u32, i as u32));
            }
        }
    }
    by.retain(|_, list| list.len() > 1);
    if by.is_empty() {
        return Vec::new();
    }
    let keys: Vec<Vec<DeviceKey<'a>>> = all.iter().map(|(c, _)| device_keys(c)).collect();
    let of = |((kernel, mode, log, _), list)| group(all, &keys, (kernel, mode, log), list);
    by.into_iter().map(of).collect()
}

/// Every device of a capture as it is recognised in others.
pub(crate) fn device_keys(capture: &Capture) -> Vec<DeviceKey<'_>> {
    // Equal names of a capture are one symbol.
    let mut seen: BTreeMap<[Sym; 3], u32> = BTreeMap::new();
    capture
        .graph
        .devices
        .iter()
        .map(|d| {
            let parent = match d.parent.filter(|p| p.index() < capture.graph.devices.len()) {
                Some(p) => capture.graph.get(p).name,
                None => d.parent_name,
            };
            let symbols = [d.name, d.driver, parent];
            let n = seen.entry(symbols).or_default();
            *n += 1;
            let [name, driver, parent] = symbols.map(|s| capture.names.get(s));
            DeviceKey { name, driver, parent, nth: *n }
        })
        .collect()
}

/// One device in the cycles of a group: only where it occurred.
#[derive(Default)]
struct Series {
    busy: Vec<Ns>,
    on_path: [Vec<Ns>; 2],
    gain: [Vec<Ns>; 2],
    led: u32,
    saves_most: [u32; 2],
}

fn group<'a>(
    all: &[(&'a Capture, &'a [CycleView])],
    keys: &[Vec<DeviceKey<'a>>],
    (kernel, mode, log): (&'a str, Mode, u32),
    list: Vec<CycleIndex>,
) -> Group<'a> {
    let cycle = |&(k, i): &CycleIndex| &all[k as usize].0.cycles[i as usize];
    let view = |&(k, i): &CycleIndex| &all[k as usize].1[i as usize];
    let (first, mut cycles): (Vec<_>, Vec<_>) =
        list.into_iter().partition(|c| cycle(c).first_after_boot);
    if cycles.is_empty() {
        cycles.clone_from(&first);
    }
    let first = if first == cycles { Vec::new() } else { first };
    let n = cycles.len();

    let mut halves = [Vec::with_capacity(n), Vec::with_capacity(n)];
    let mut phases: Vec<[Ns; Phase::ALL.len()]> = Vec::with_capacity(n);
    // A device is looked up by its texts once a capture, not once a cycle.
    let mut places: BTreeMap<&DeviceKey<'a>, usize> = BTreeMap::new();
    let mut place_of: Vec<Vec<usize>> = std::vec![Vec::new(); all.len()];
    let mut series: Vec<Series> = Vec::new();
    for c in &cycles {
        let place_of = &mut place_of[c.0 as usize];
        if place_of.is_empty() {
            let place = |key| {
                let new = places.len();
                *places.entry(key).or_insert(new)
            };
            place_of.extend(keys[c.0 as usize].iter().map(place));
            series.resize_with(places.len(), Series::default);
        }
        let v = view(c);
        halves[0].push(v.rows.counted(Direction::Suspend));
        halves[1].push(v.rows.counted(Direction::Resume));
        phases.push(phase_times(cycle(c), v));
        let leader = v.ranking.by_path.first();
        let best = [v.answer.suspend, v.answer.resume]
            .map(|h| h.and_then(|h| h.bottleneck().map(|b| b.device)));
        for (i, d) in v.ranking.devices.iter().enumerate() {
            let s = &mut series[place_of[d.device.index()]];
            s.busy.push(d.total_busy());
            s.on_path[0].push(d.on_path[0]);
            s.on_path[1].push(d.on_path[1]);
            s.led += u32::from(leader == Some(&(i as u32)));
            for half in [0, 1] {
                s.gain[half].push(d.gain[half]);
                s.saves_most[half] += u32::from(best[half] == Some(d.device));
            }
        }
    }
    let spread = |v: &[Ns]| Spread::of(&mut v.to_vec()).unwrap_or_default();
    // A half that the log does not time is no half of 0.
    let timed = |v: &[Ns]| {
        let known: Vec<Ns> = v.iter().copied().filter(|t| *t > Ns::ZERO).collect();
        spread(if known.is_empty() { v } else { &known })
    };
    let (suspend, resume) = (timed(&halves[0]), timed(&halves[1]));
    let phase_spreads: Vec<Option<Spread>> = Phase::ALL
        .iter()
        .map(|&p| {
            let present = cycles.iter().zip(&phases).filter(|(c, _)| cycle(c).phase(p).is_some());
            Spread::of(&mut present.map(|(_, t)| t[p as usize]).collect::<Vec<_>>())
        })
        .collect();
    // In order of the keys, so that an outlier can look its devices up.
    let mut devices: Vec<DeviceSpread<'a>> = places
        .into_iter()
        .map(|(key, place)| (key, std::mem::take(&mut series[place])))
        .filter(|(_, s)| !s.busy.is_empty())
        .map(|(key, s)| DeviceSpread {
            key: key.clone(),
            busy: spread(&s.busy),
            on_path: [spread(&s.on_path[0]), spread(&s.on_path[1])],
            gain: s.gain.map(|mut gain| {
                gain.resize(n, Ns::ZERO);
                Spread::of(&mut gain).unwrap_or_default()
            }),
            led: s.led,
            saves_most: s.saves_most,
        })
        .collect();
    // A device that most cycles do not have normally takes no time.
    let median = |key: &DeviceKey<'a>, half: usize| {
        let at = devices.binary_search_by(|d| d.key.cmp(key)).ok();
        let common = at.map(|at| devices[at].on_path[half]).filter(|s| s.count as usize * 2 > n);
        common.map_or(Ns::ZERO, |s| s.median)
    };
    let gaps: Vec<[Ns; 2]> = cycles.iter().map(|c| gap_times(view(c))).collect();
    let gap_medians = [0, 1].map(|h| spread(&gaps.iter().map(|g| g[h]).collect::<Vec<_>>()).median);

    let mut outliers = Vec::new();
    for (at, c) in cycles.iter().enumerate() {
        for direction in [Direction::Suspend, Direction::Resume] {
            let half = direction as usize;
            let time = halves[half][at];
            if ![suspend, resume][half].is_outlier(time) {
                continue;
            }
            let ranking = &view(c).ranking;
            let device = ranking
                .devices
                .iter()
                .map(|d| (&keys[c.0 as usize][d.device.index()], d))
                .map(|(k, d)| (k, d.on_path[half].since(median(k, half))))
                .max_by(|a, b| a.1.cmp(&b.1).then(b.0.cmp(a.0)))
                .filter(|(_, over)| *over > Ns::ZERO)
                .map(|(k, over)| (k.clone(), over));
            let over = |p: Phase| {
                let usual = phase_spreads[p as usize].map_or(Ns::ZERO, |s| s.median);
                (Some(p), phases[at][p as usize].since(usual))
            };
            let between = (None, gaps[at][half].since(gap_medians[half]));
            let phase = Phase::ALL
                .into_iter()
                .filter(|p| p.direction() == direction)
                .map(over)
                .chain([between])
                .max_by_key(|&(p, over)| (over, std::cmp::Reverse(p)))
                .filter(|&(_, over)| over > Ns::ZERO);
            let over = time.since([suspend, resume][half].median);
            let shows = |c: &CycleIndex| {
                let of_half = |p: &dormouse_base::cycle::PhaseSpan| {
                    p.phase.has_devices() && p.phase.direction() == direction
                };
                cycle(c).phases.iter().any(of_half)
            };
            let usual = cycles.iter().filter(|c| shows(c)).count() * 2 > n;
            let devices_missing = usual && !shows(c);
            outliers.push(Outlier {
                cycle: *c,
                direction,
                time,
                over,
                devices_missing,
                device,
                phase: phase.filter(|_| !devices_missing),
            });
        }
    }

    devices.sort_by_key(|d| {
        let gain = d.gain[0].median + d.gain[1].median;
        std::cmp::Reverse((gain, d.on_path[0].median + d.on_path[1].median, d.busy.median))
    });
    let phases = Phase::ALL
        .into_iter()
        .filter(|&p| p != Phase::Asleep)
        .filter_map(|phase| Some(PhaseSpread { phase, time: phase_spreads[phase as usize]? }))
        .collect();
    Group { kernel, mode, log, cycles, first, suspend, resume, phases, devices, outliers }
}

fn phase_times(cycle: &dormouse_base::cycle::Cycle, view: &CycleView) -> [Ns; Phase::ALL.len()] {
    let mut out = [Ns::ZERO; Phase::ALL.len()];
    for r in &view.rows.list {
        if let super::rows::What::Phase(i) = r.what {
            out[cycle.phases[i as usize].phase as usize] += r.counted;
        }
    }
    out
}

fn gap_times(view: &CycleView) -> [Ns; 2] {
    let mut out = [Ns::ZERO; 2];
    for r in &view.rows.list {
        if let super::rows::What::Gap { .. } = r.what {
            out[r.direction as usize] += r.counted;
        }
    }
    out
}
