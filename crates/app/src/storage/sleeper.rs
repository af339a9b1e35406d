//! A disk that falls asleep, as a recording shows it: its requests, the delay in
//! force, and what one wake-up took.

use super::show::{Shown, show};
use crate::failure::{NotReproduced, Nothing};
use anyhow::Result;
use dormouse_read::Given;
use dormouse_storage::request::Disk;
use dormouse_storage::simulate::again::{Again, Arrival, again};
use dormouse_storage::summary::{DiskSummary, Latency};
use dormouse_storage::trust::{is_one_delay, reproduced};
use dormouse_storage::wait::{Cause, Span};
use dormouse_words::wording::storage::time;

/// Which sleep is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// The clocks of UFS (`clkgate_delay_ms`).
    Gate,
    /// Runtime suspend (`autosuspend_delay_ms`).
    Autosuspend,
}

impl Asked {
    /// The setting, in the kernel's word.
    pub fn setting(self) -> &'static str {
        match self {
            Asked::Gate => "clkgate_delay_ms",
            Asked::Autosuspend => "autosuspend_delay_ms",
        }
    }

    fn causes(self) -> &'static [Cause] {
        match self {
            Asked::Gate => &[Cause::UngateWorker, Cause::Ungate],
            Asked::Autosuspend => &[
                Cause::ResumeWorker,
                Cause::ResumeSuspend,
                Cause::ResumeGrace,
                Cause::ResumeParents,
                Cause::Resume,
            ],
        }
    }
}

/// What a recording says of it.
#[derive(Clone, Debug)]
pub struct Sleeper {
    /// The recording.
    pub source: String,
    /// The disk.
    pub disk: Disk,
    /// Which sleep.
    pub asked: Asked,
    /// The delay in force: longer than the first, at most the second, ns.
    pub present: (i64, i64),
    /// The delay that the model takes, ns: the middle of those that were seen, if
    /// any was, else the longest that explains the recording.
    pub taken: i64,
    /// That delay was seen. Else it is a bound alone: no request was served otherwise
    /// with any delay between the two, and the time asleep is not known.
    pub known: bool,
    /// What one wait for the sleeping storage took, ns.
    pub wake: i64,
    /// Times that requests waited in the recording.
    pub wakes: u64,
    /// As recorded.
    pub recorded: Latency,
    /// The model with the delay in force.
    pub model: (Latency, Again),
    /// From the first request to the last completion, ns.
    pub span: i64,
    /// The end of the recording, ns.
    pub until: i64,
    /// Times that it was woken and no request was under way: something else asked.
    pub unasked: u64,
    /// Its requests, in order of time.
    pub arrivals: Vec<Arrival>,
}

impl Sleeper {
    /// Reads what is given for it.
    ///
    /// # Errors
    /// As [`Sleeper::of`], or if there is no storage in the inputs.
    pub fn open(given: &Given, asked: Asked, disk: Option<Disk>) -> Result<Sleeper> {
        Sleeper::of(&show(given)?, asked, disk)
    }

    /// Takes it from what was read. Without `disk` the one that waited most.
    ///
    /// # Errors
    /// [`Nothing`] if the sleep in question does not show; [`NotReproduced`] if the
    /// recording is not what its own delay would give.
    pub fn of(shown: &Shown, asked: Asked, disk: Option<Disk>) -> Result<Sleeper> {
        let waited = |d: &DiskSummary| -> i64 {
            d.requests
                .iter()
                .flat_map(|t| asked.causes().iter().map(|c| t.slices.get(*c).unwrap_or(0)))
                .sum()
        };
        let all = shown.reading.traces.iter().zip(&shown.disks);
        let all = all.flat_map(|(t, disks)| disks.iter().map(move |d| (t, d)));
        let found = all
            .filter(|(_, d)| disk.is_none_or(|x| x == d.disk) && !d.requests.is_empty())
            .max_by_key(|(_, d)| waited(d));
        let Some((trace, d)) = found else {
            return Err(Nothing("no request of that disk is complete in the input".into()).into());
        };
        let mut arrivals: Vec<Arrival> = d
            .requests
            .iter()
            .filter_map(|t| {
                let waited = asked.causes().iter().filter_map(|c| t.slices.get(*c)).sum();
                Arrival::of(&t.request, &t.slices, waited)
            })
            .collect();
        arrivals.sort_by_key(|a| (a.begin, a.own));
        let mut waits: Vec<i64> = arrivals.iter().map(|a| a.waited).filter(|w| *w > 0).collect();
        if waits.is_empty() {
            return Err(Nothing(
            "no request waited for that sleep in this recording, so what waking costs is not known; \
             make one in which it did: dormouse record --with storage --for 60s"
                .into(),
        )
        .into());
        }
        waits.sort_unstable();
        let wake = waits[waits.len() / 2];
        let present = bounds(&arrivals)?;
        if present.1 == i64::MAX {
            return Err(Nothing(
            "only the first request of this recording waited, so the delay in force is not known: \
             record longer"
                .into(),
        )
        .into());
        }
        let gates = if asked == Asked::Gate { &trace.gates[..] } else { &[] };
        let all = trace.requests.iter().filter_map(|r| Some((r.begin()?, r.completed?)));
        let (woken, unasked) = woken(&trace.spans, asked, &all.collect::<Vec<_>>());
        let seen = passed(&arrivals, gates, &woken)?.filter(|d| *d > present.0 && *d < present.1);
        let taken = seen.unwrap_or(present.1 - 1);
        let was = again(&arrivals, Some(taken), wake);
        let recorded = d.all;
        let model = latency(&was);
        if !reproduced(model.mean, recorded.mean) {
            return Err(NotReproduced(format!(
            "the recording has {} us on average and the model {}: the storage did not wake in one \
             way here, so no change is predicted",
            recorded.mean / 1_000,
            model.mean / 1_000
        ))
        .into());
        }
        let begin = arrivals.first().map_or(0, |a| a.begin);
        let end = arrivals.iter().map(|a| a.begin + a.own + a.waited).max().unwrap_or(begin);
        Ok(Sleeper {
            source: trace.name.clone(),
            disk: d.disk,
            asked,
            present,
            taken,
            known: seen.is_some(),
            wake,
            wakes: waits.len() as u64,
            recorded,
            model: (model, was),
            span: end - begin,
            until: trace.until,
            unasked,
            arrivals,
        })
    }
}

/// Latencies of what was decided again.
pub(super) fn latency(a: &Again) -> Latency {
    Latency::of(&mut a.latencies.clone())
}

/// The delay in force: every rest before which the storage stayed awake is shorter,
/// every rest after which a request waited is longer.
fn bounds(arrivals: &[Arrival]) -> Result<(i64, i64)> {
    let (mut least, mut most) = (0, i64::MAX);
    let mut busy: Option<i64> = None;
    for a in arrivals {
        if let Some(end) = busy {
            let rest = a.begin - end;
            if a.waited > 0 && rest > 0 {
                most = most.min(rest);
            } else if a.waited == 0 {
                least = least.max(rest);
            }
        }
        let end = a.begin + a.own + a.waited;
        busy = Some(busy.map_or(end, |b| b.max(end)));
    }
    if least >= most {
        return Err(NotReproduced(format!(
            "the storage slept after {} us without requests and was awake after {} us, so no one \
             delay explains this recording",
            most / 1_000,
            least / 1_000
        ))
        .into());
    }
    Ok((least, most))
}

/// The middle of the rests after which the storage was gated, ns; of those alone that
/// nothing but requests ended before, as far as `woken` says.
///
/// # Errors
/// [`NotReproduced`] if they differ by more than one delay does: some drivers have one
/// for each clock (`clkgate_delay_ms_perf`), or something that is no request held it.
fn passed(arrivals: &[Arrival], gates: &[i64], woken: &[i64]) -> Result<Option<i64>> {
    let mut ends: Vec<i64> = arrivals.iter().map(|a| a.begin + a.own + a.waited).collect();
    ends.sort_unstable();
    let rest = |gate: &i64| {
        let before = ends.partition_point(|e| e <= gate);
        let end = *ends.get(before.checked_sub(1)?)?;
        (!woken.iter().any(|w| end < *w && w < gate)).then_some(gate - end)
    };
    let mut rests: Vec<i64> = gates.iter().filter_map(rest).collect();
    rests.sort_unstable();
    let (Some(&least), Some(&most)) = (rests.first(), rests.last()) else { return Ok(None) };
    if !is_one_delay(least, most) {
        let list: Vec<String> = rests.iter().take(4).map(|r| time(*r)).collect();
        let more = if rests.len() > 4 { ", ..." } else { "" };
        return Err(NotReproduced(format!(
            "the storage fell asleep {}{more} after the last request, so no one delay explains \
             this recording, and none is predicted",
            list.join(", ")
        ))
        .into());
    }
    Ok(rests.get(rests.len() / 2).copied())
}

/// When the clocks of UFS were switched on for something that is no request, such as a
/// query, and how often: no request, of when it began and ended, was under way.
fn woken(spans: &[Span], asked: Asked, requests: &[(i64, i64)]) -> (Vec<i64>, u64) {
    let alone = |s: &&Span| {
        asked == Asked::Gate
            && s.cause == Cause::Ungate
            && !requests.iter().any(|(begin, end)| *begin < s.end && s.begin < *end)
    };
    let list: Vec<i64> = spans.iter().filter(alone).map(|s| s.begin).collect();
    let count = list.len() as u64;
    (list, count)
}
