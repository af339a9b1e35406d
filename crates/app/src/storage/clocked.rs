//! What another clock would have given, from a recording that shows what clocks cost.

use super::change::Change;
use super::show::show;
use crate::failure::{NotReproduced, Nothing};
use anyhow::Result;
use dormouse_storage::recording::Trace;
use dormouse_storage::request::Disk;
use dormouse_storage::service::{ENOUGH, Sample, Unknown, law};
use dormouse_storage::simulate::disk::{Outcome, simulate};
use dormouse_storage::simulate::energy::{BreakEven, Powers};
use dormouse_storage::simulate::load::Load;
use dormouse_storage::simulate::ondemand::Thresholds;
use dormouse_storage::simulate::oracle::{oracle, rule};
use dormouse_storage::simulate::settings::{
    Devfreq, Drive, Governor, IdleStop, Nap, Qos, Settings,
};
use dormouse_storage::summary::{DiskSummary, Latency};
use dormouse_storage::wait::{Cause, Family};
use dormouse_write::wording::storage::time;
use std::path::PathBuf;

/// Thresholds that drivers have: the kernel's own, those of UFS, those of MediaTek's UFS
/// (drivers/ufs, 6.12).
const THRESHOLDS: [Thresholds; 3] = [
    Thresholds { up: 90, down: 5 },
    Thresholds { up: 70, down: 5 },
    Thresholds { up: 50, down: 20 },
];

/// Mean latencies that agree so well are reproduced: parts of a hundred, and ns.
const REPRODUCED: (i64, i64) = (3, 20_000);

/// An answer.
#[derive(Clone, Debug)]
pub struct Clocked {
    /// The recording.
    pub source: String,
    /// As recorded.
    pub recorded: Latency,
    /// What the disk is like, by the recording.
    pub drive: Drive,
    /// Nothing is known of powers.
    pub powers: Powers,
    /// By the times of going there and back.
    pub even: BreakEven,
    /// The settings that explain the recording, and what the model makes of them.
    pub before: (Settings, Outcome),
    /// With those asked for.
    pub after: (Settings, Outcome),
    /// By one who knows every request.
    pub oracle: Outcome,
    /// By the rule that knows none.
    pub rule: (Settings, Outcome),
}

fn refuse<T>(why: String) -> Result<T> {
    Err(NotReproduced(format!("{why}, so no other clock is predicted")).into())
}

/// Clocks of the disk's family over time: the first, and each change.
fn clocks(t: &Trace, disk: Disk) -> Option<(u64, Vec<(i64, u64)>)> {
    let family = Family::of_disk(disk)?;
    let own = |d: &str| Family::of_device(d) == Some(family);
    let list: Vec<_> = t.changes.iter().filter(|c| own(&c.device)).collect();
    let first = list.first()?;
    // Two devices of a family are not told apart.
    if list.iter().any(|c| c.device != first.device) {
        return None;
    }
    Some((first.before, list.iter().map(|c| (c.time, c.frequency)).collect()))
}

/// Requests that were alone, did not wait for a sleep, and had one clock.
fn samples(d: &DiskSummary, first: u64, changes: &[(i64, u64)]) -> Vec<Sample> {
    let mut list: Vec<_> = d
        .requests
        .iter()
        .filter_map(|t| Some((t.request.begin()?, t.request.completed?, t)))
        .collect();
    list.sort_by_key(|x| (x.0, x.1));
    let mut out = Vec::new();
    let mut until = i64::MIN;
    for (n, (begin, end, t)) in list.iter().enumerate() {
        let alone = *begin >= until && list.get(n + 1).is_none_or(|next| next.0 >= *end);
        until = until.max(*end);
        let before = changes.partition_point(|c| c.0 <= *begin);
        let steady = changes.get(before).is_none_or(|c| c.0 >= *end);
        if alone && steady && t.slices.asleep() == 0 && t.request.sectors > 0 {
            let hz = before.checked_sub(1).map_or(first, |n| changes[n].1);
            let bytes = u64::from(t.request.sectors) * 512;
            out.push(Sample { bytes, hz, time: end - begin });
        }
    }
    out
}

/// Predicts another clock. Without `disk` the one that served most requests.
///
/// # Errors
/// [`NotReproduced`] if the recording does not show what a clock costs, or is not what
/// devfreq's rules would make of it.
pub fn clocked(inputs: &[PathBuf], change: &Change, disk: Option<Disk>) -> Result<Clocked> {
    let shown = show(inputs)?;
    let all = shown.reading.traces.iter().zip(&shown.disks);
    let found = all
        .flat_map(|(t, disks)| disks.iter().map(move |d| (t, d)))
        .filter(|(_, d)| disk.is_none_or(|x| x == d.disk) && !d.requests.is_empty())
        .max_by_key(|(_, d)| d.requests.len());
    let Some((t, d)) = found else {
        return Err(Nothing("no request of that disk is complete in the input".into()).into());
    };
    let Some((first, changes)) = clocks(t, d.disk) else {
        return refuse(format!(
            "the recording has no change of the clock of disk {} (devfreq_frequency), and what a \
             request takes at a clock that it never showed is not known",
            d.disk
        ));
    };
    let mut levels: Vec<u64> = changes.iter().map(|c| c.1).chain([first]).collect();
    levels.sort_unstable();
    levels.dedup();
    let most = *levels.last().expect("there is one");
    let law = match law(&samples(d, first, &changes), most) {
        Ok(law) => law,
        Err(Unknown::NotFaster) => {
            return refuse("a faster clock did not serve faster in this recording".into());
        }
        Err(Unknown::Clocks(seen)) => {
            let list: Vec<String> =
                seen.iter().map(|(hz, n)| format!("{n} at {} MHz", hz / 1_000_000)).collect();
            let list = if list.is_empty() { "none".into() } else { list.join(", ") };
            return refuse(format!(
                "what a clock costs takes {ENOUGH} requests alone at each of two clocks, and the \
                 recording has {list}"
            ));
        }
    };
    let Some(&(look, poll)) = t.looks.iter().find_map(|(device, l)| {
        (Family::of_device(device) == Family::of_disk(d.disk)).then_some(l)
    }) else {
        return refuse("no look of devfreq (devfreq_monitor) is in the recording".into());
    };
    let mut arrivals: Vec<(i64, u64)> = d
        .requests
        .iter()
        .filter_map(|t| Some((t.request.begin()?, u64::from(t.request.sectors) * 512)))
        .collect();
    arrivals.sort_unstable();
    let begin = arrivals[0].0;
    // Looks of the model are at whole intervals from its begin.
    let zero = look - ((look - begin).max(0) / poll + 1) * poll;
    let zero = zero + (begin - zero) / poll * poll;
    for a in &mut arrivals {
        a.0 -= zero;
    }
    let load = Load::Open(arrivals);
    let mut switches: Vec<i64> = t
        .spans
        .iter()
        .filter(|s| s.cause == Cause::Switch && Some(s.family) == Family::of_disk(d.disk))
        .map(|s| s.end - s.begin)
        .collect();
    switches.sort_unstable();
    let hz = changes[..changes.partition_point(|c| c.0 <= begin)].last().map_or(first, |c| c.1);
    let drive = Drive {
        law,
        start: levels.iter().position(|l| *l == hz).unwrap_or(0),
        change: switches.get(switches.len() / 2).copied().unwrap_or(0),
        waits: t.watched.switching,
        levels,
        gate: Nap::default(),
        suspend: Nap::default(),
    };
    let with = |thresholds, idle_stop| Settings {
        devfreq: Devfreq {
            governor: Governor::SimpleOndemand(thresholds),
            poll,
            // As the looks of the recording came.
            tick: 0,
            deferrable: false,
            idle_stop,
            least: 0,
            most: u64::MAX,
        },
        qos: Qos::Off,
        gate: None,
        autosuspend: None,
        slack: 0,
    };
    let stops = [IdleStop::Never, IdleStop::UnlessRaised, IdleStop::Always];
    let tries = THRESHOLDS.iter().flat_map(|t| stops.iter().map(|s| with(*t, *s)));
    let (settings, before) = tries
        .map(|s| (s, simulate(&drive, &s, &load)))
        .min_by_key(|(_, o)| (o.latency().mean - d.all.mean).abs())
        .expect("there are tries");
    let off = (before.latency().mean - d.all.mean).abs();
    if off * 100 > d.all.mean * REPRODUCED.0 && off > REPRODUCED.1 {
        return refuse(format!(
            "the recording has {} on average, and devfreq's rules with any usual thresholds make it \
             {} at best",
            time(d.all.mean),
            time(before.latency().mean)
        ));
    }
    let changed = change.apply(&drive, &settings)?;
    let even = BreakEven::of_times(&drive);
    let own = rule(&drive, &settings, &even);
    Ok(Clocked {
        source: t.name.clone(),
        recorded: d.all,
        powers: Powers::unknown(drive.levels.len()),
        after: (changed, simulate(&drive, &changed, &load)),
        oracle: oracle(&drive, &settings, &load, None, &even),
        rule: (own, simulate(&drive, &own, &load)),
        before: (settings, before),
        even,
        drive,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_storage::simulate::settings::laboratory;
    use std::collections::BTreeMap as Map;
    use std::fmt::Write as _;

    /// A trace of a disk whose clock devfreq raises and lowers, as the kernel writes it.
    fn trace(governed: bool) -> (String, Outcome, Load) {
        let (mut drive, settings) = laboratory();
        drive.law.software = 0;
        drive.change = 0;
        // Bursts of half a second, back to back, every second.
        let load = Load::Open(
            (0..4)
                .flat_map(|b| (0..900).map(move |n| (b * 1_000_000_000 + n * 600_000, 65_536)))
                .collect(),
        );
        let o = simulate(&drive, &settings, &load);
        let Load::Open(list) = &load else { unreachable!() };
        let mut lines: Map<(i64, u8, usize), String> = Map::new();
        let us = |t: i64| format!("{}.{:06}", 100 + t / 1_000_000_000, t / 1_000 % 1_000_000);
        for (n, ((at, _), latency)) in list.iter().zip(&o.latencies).enumerate() {
            let sector = 800 + 128 * n;
            for (t, word) in [(*at, "block_bio_queue"), (*at + 1_000, "block_rq_issue")] {
                let bytes = if word == "block_rq_issue" { " 65536 ()" } else { "" };
                lines.insert(
                    (t, 1, n),
                    format!(
                        "app-1 [000] ..... {}: {word}: 8,0 R{bytes} {sector} + 128 [app]",
                        us(t)
                    ),
                );
            }
            let end = at + latency;
            lines.insert(
                (end, 0, n),
                format!(
                    "<idle>-0 [000] ..... {}: block_rq_complete: 8,0 R () {sector} + 128 [0]",
                    us(end)
                ),
            );
        }
        // The clock as the latencies show it, at looks every 60 ms.
        let mut hz = 100_000_000;
        for k in 1..70_i64 {
            let t = k * 60_000_000;
            let next = list.iter().position(|a| a.0 >= t);
            let fast = next.is_some_and(|n| list[n].0 - t < 600_001 && o.latencies[n] < 300_000);
            let slow = next.is_some_and(|n| list[n].0 - t >= 600_001);
            let now = if fast {
                400_000_000
            } else if slow {
                100_000_000
            } else {
                hz
            };
            if now != hz && governed {
                lines.insert((t, 2, 0), format!("kworker/0:1-9 [000] ..... {}: devfreq_frequency: dev_name=1d84000.ufshc freq={now} prev_freq={hz} load=50", us(t)));
            }
            hz = now;
            lines.insert((t, 3, 0), format!("kworker/0:1-9 [000] ..... {}: devfreq_monitor: dev_name=1d84000.ufshc freq={hz} polling_ms=60 load=50", us(t)));
        }
        let mut text = String::from("# tracer: nop\n");
        for l in lines.values() {
            let _ = writeln!(text, "{l}");
        }
        (text, o, load)
    }

    fn file(text: &str) -> (tempfile::TempDir, Vec<PathBuf>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.txt");
        std::fs::write(&path, text).unwrap();
        (folder, vec![path])
    }

    #[test]
    fn a_recording_that_shows_two_clocks_says_what_the_faster_one_gives() {
        let (text, o, load) = trace(true);
        assert!(o.latencies.contains(&156_000) && o.latencies.contains(&444_000));
        let (_folder, inputs) = file(&text);
        let change = Change { governor: Some(Governor::Performance), ..Change::default() };
        let c = clocked(&inputs, &change, None).unwrap();
        assert!((c.recorded.mean - o.latency().mean).abs() < 2_000);
        assert!((c.before.1.latency().mean - c.recorded.mean).abs() < 20_000);
        let after = c.after.1.latency();
        assert!((after.max - 156_000).abs() < 3_000, "{after:?}");
        assert_eq!(after.count as usize, load.count());
    }

    #[test]
    fn a_recording_without_a_change_of_the_clock_refuses() {
        let (text, ..) = trace(false);
        let (_folder, inputs) = file(&text);
        let change = Change { governor: Some(Governor::Powersave), ..Change::default() };
        let e = clocked(&inputs, &change, None).unwrap_err();
        assert!(e.downcast_ref::<NotReproduced>().is_some(), "{e}");
        assert!(e.to_string().contains("devfreq_frequency"), "{e}");
    }
}
