//! What a recording says of its disk: what its clocks cost, the settings in force, and
//! its sleeps, as far as the model has the same requests.

use super::show::Shown;
use super::sleeper::{Asked, Sleeper};
use crate::failure::{NotReproduced, Nothing};
use anyhow::Result;
use dormouse_storage::recording::Trace;
use dormouse_storage::request::Disk;
use dormouse_storage::service::{ENOUGH, Sample, Unknown, law};
use dormouse_storage::simulate::disk::{Outcome, simulate};
use dormouse_storage::simulate::load::Load;
use dormouse_storage::simulate::ondemand::DRIVERS;
use dormouse_storage::simulate::settings::{
    Devfreq, Drive, Governor, IdleStop, Nap, Qos, Settings,
};
use dormouse_storage::summary::{DiskSummary, Latency};
use dormouse_storage::trust::reproduced;
use dormouse_storage::wait::{Cause, Family};
use dormouse_words::wording::storage::time;

/// A disk as it was recorded.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The recording.
    pub source: String,
    /// The disk.
    pub disk: Disk,
    /// The device that devfreq scales, by its name.
    pub device: String,
    /// As recorded.
    pub recorded: Latency,
    /// What it is like.
    pub drive: Drive,
    /// The settings that explain the recording.
    pub settings: Settings,
    /// What the model makes of them.
    pub before: Outcome,
    /// Its requests.
    pub load: Load,
}

fn refuse<T>(why: String) -> Result<T> {
    Err(NotReproduced(why).into())
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
    Some((first.hz_before, list.iter().map(|c| (c.time, c.hz)).collect()))
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

/// Takes it from what was read. Without `disk` the one that served most requests.
///
/// # Errors
/// [`NotReproduced`], with the reason alone, if the recording does not show what a clock costs, or is not what
/// devfreq's rules would make of it.
pub(super) fn observed(shown: &Shown, disk: Option<Disk>) -> Result<Observed> {
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
    // A sleep that requests waited for has a delay and a way back.
    let sleep = |asked| match Sleeper::of(shown, asked, Some(d.disk)) {
        Ok(s) => Ok((Some(s.taken), Nap { enter: 0, wake: s.wake })),
        Err(e) if e.is::<Nothing>() => Ok((None, Nap::default())),
        Err(e) => Err(e),
    };
    let ((gate, gating), (autosuspend, suspending)) =
        (sleep(Asked::Gate)?, sleep(Asked::Autosuspend)?);
    let drive = Drive {
        law,
        start: levels.iter().position(|l| *l == hz).unwrap_or(0),
        change: switches.get(switches.len() / 2).copied().unwrap_or(0),
        waits: t.watched.switching,
        levels,
        gate: gating,
        suspend: suspending,
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
        gate,
        autosuspend,
        slack: 0,
    };
    let stops = [IdleStop::Never, IdleStop::UnlessRaised, IdleStop::Always];
    let tries = DRIVERS.iter().flat_map(|t| stops.iter().map(|s| with(*t, *s)));
    let (settings, before) = tries
        .map(|s| (s, simulate(&drive, &s, &load)))
        .min_by_key(|(_, o)| (o.latency().mean - d.all.mean).abs())
        .expect("there are tries");
    if !reproduced(before.latency().mean, d.all.mean) {
        return refuse(format!(
            "the recording has {} on average, and devfreq's rules with any usual thresholds make it \
             {} at best",
            time(d.all.mean),
            time(before.latency().mean)
        ));
    }
    let family = Family::of_disk(d.disk);
    let scaled = t.changes.iter().find(|c| Family::of_device(&c.device) == family);
    Ok(Observed {
        source: t.name.clone(),
        disk: d.disk,
        device: scaled.map_or_else(String::new, |c| c.device.clone()),
        recorded: d.all,
        drive,
        settings,
        before,
        load,
    })
}
