//! What another clock would have given, from a recording that shows what clocks cost.

use super::change::Change;
use super::observed::{Observed, observed};
use super::show::show;
use crate::failure::NotReproduced;
use crate::failure::Nothing;
use anyhow::Result;
use dormouse_read::Given;
use dormouse_storage::request::Disk;
use dormouse_storage::simulate::disk::{Outcome, simulate};
use dormouse_storage::simulate::energy::{BreakEven, Powers};
use dormouse_storage::simulate::oracle::{oracle, rule};
use dormouse_storage::simulate::settings::Settings;

/// An answer.
#[derive(Clone, Debug)]
pub struct Clocked {
    /// The recording.
    pub observed: Observed,
    /// Nothing is known of powers.
    pub powers: Powers,
    /// By the times of going there and back.
    pub even: BreakEven,
    /// With the settings asked for.
    pub after: (Settings, Outcome),
    /// By one who knows every request.
    pub oracle: Outcome,
    /// By the rule that knows none.
    pub rule: (Settings, Outcome),
}

/// Predicts another clock, with other delays before the sleeps or without. Without
/// `disk` the one that served most requests.
///
/// # Errors
/// As [`observed`], and [`Nothing`] if a delay is asked for and the sleep does not show.
pub fn clocked(given: &Given, change: &Change, disk: Option<Disk>) -> Result<Clocked> {
    let o = observed(&show(given)?, disk).map_err(|e| match e.downcast::<NotReproduced>() {
        Ok(n) => NotReproduced(format!("{}, so no other clock is predicted", n.0)).into(),
        Err(e) => e,
    })?;
    for (asked, nap) in [(change.gate, o.drive.gate), (change.autosuspend, o.drive.suspend)] {
        if asked.is_some() && nap.wake == 0 {
            let why = "no request waited for that sleep in this recording, so what waking costs is \
                       not known";
            return Err(Nothing(why.into()).into());
        }
    }
    let changed = change.apply(&o.drive, &o.settings)?;
    let even = BreakEven::of_times(&o.drive);
    let own = rule(&o.drive, &o.settings, &even);
    Ok(Clocked {
        powers: Powers::unknown(o.drive.levels.len()),
        after: (changed, simulate(&o.drive, &changed, &o.load)),
        oracle: oracle(&o.drive, &o.settings, &o.load, None, &even),
        rule: (own, simulate(&o.drive, &own, &o.load)),
        even,
        observed: o,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_storage::simulate::load::Load;
    use dormouse_storage::simulate::settings::{Governor, laboratory};
    use std::collections::BTreeMap as Map;
    use std::fmt::Write as _;
    use std::path::PathBuf;

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
        let c = clocked(&Given::new(&inputs), &change, None).unwrap();
        let seen = &c.observed;
        assert_eq!((seen.device.as_str(), seen.disk.major), ("1d84000.ufshc", 8));
        assert!((seen.recorded.mean - o.latency().mean).abs() < 2_000);
        assert!((seen.before.latency().mean - seen.recorded.mean).abs() < 20_000);
        let after = c.after.1.latency();
        assert!((after.max - 156_000).abs() < 3_000, "{after:?}");
        assert_eq!(after.requests as usize, load.count());
    }

    #[test]
    fn a_recording_without_a_change_of_the_clock_refuses() {
        let (text, ..) = trace(false);
        let (_folder, inputs) = file(&text);
        let change = Change { governor: Some(Governor::Powersave), ..Change::default() };
        let e = clocked(&Given::new(&inputs), &change, None).unwrap_err();
        assert!(e.downcast_ref::<NotReproduced>().is_some(), "{e}");
        assert!(e.to_string().contains("devfreq_frequency"), "{e}");
    }
}
