//! Disks of chosen power states in a guest: what a description
//! (`dormouse_read::storage::described`) becomes there, and what loads on them measured.

use crate::answer::Answer;
use crate::kernels::Kernel;
use crate::qemu::Machine;
use crate::run::{base, play};
use crate::{Error, Result};
use dormouse_guest::plan::{Storage, Task};
use dormouse_read::storage::described::{Described, Draft};
use dormouse_storage::simulate::settings::{Governor, IdleStop, Qos};
use std::time::Duration;

/// A description and its name.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Without blanks.
    pub name: String,
    /// Disk, settings and load, as text.
    pub description: String,
    /// Our module raises the clock after a time-out that it finds itself, whatever the
    /// description says of one.
    pub finds_timeout: bool,
    /// Of the places that are read.
    pub seed: u64,
}

/// Boots `kernel` once, does the loads one after another, and gives what was measured,
/// as text. Its lines (times in nanoseconds):
///
/// | line | meaning |
/// |---|---|
/// | `dormouse-storage 1` | first line: the version |
/// | `kernel RELEASE` | |
/// | `span N` | from the first request to the end of the last one |
/// | `served N`, `changes N`, `ungates N` | requests, changes of the clock, times that it was switched on again |
/// | `asleep_ns N`, `gated_ns N`, `at HZ N` | time in each state while the load ran |
/// | `fqos NAME VALUE` | figures of the module that raises the clock (kernel/fqos/README.md) |
/// | `r AT LATENCY` | a request: when it was made, counted from the first, and how long it took |
/// | `end` | last line |
///
/// # Errors
/// When a description cannot be had as a module, or the guest fails.
pub fn run(
    kernel: &Kernel,
    machine: &Machine,
    trials: &[Trial],
    limit: Duration,
) -> Result<Vec<String>> {
    let tasks = trials.iter().map(|t| Ok(Task::Storage(storage(t)?))).collect::<Result<_>>()?;
    let (answer, _): (Answer, _) = play(kernel, machine, base(machine.arch)?, tasks, limit)?;
    Ok(trials.iter().map(|t| answer.text(&format!("storage {}", t.name))).collect())
}

/// The description as parameters of our modules.
fn storage(trial: &Trial) -> Result<Storage> {
    let refuse = |why: &str| Error::other(format!("{}: {why}", trial.name));
    let mut draft = Draft::default();
    draft.read(&trial.description).map_err(|e| refuse(&e))?;
    let Described { drive, settings, load, .. } = draft.finish().map_err(|e| refuse(&e))?;
    let load = load.ok_or_else(|| refuse("it has no load"))?;
    if drive.start != 0 || drive.gate.enter != 0 {
        return Err(refuse("the laboratory's disk begins at its slowest clock and gates at once"));
    }
    let devfreq = settings.devfreq;
    let slowest = drive.levels.first().copied().unwrap_or(1);
    let fastest = drive.levels.last().copied().unwrap_or(1);
    let (mut least, mut most) = (devfreq.least, devfreq.most);
    let (up, down) = match devfreq.governor {
        Governor::SimpleOndemand(t) => (t.up, t.down),
        // Debian's kernels have no other governor: its limits do the same.
        Governor::Performance => {
            least = fastest;
            (90, 5)
        }
        Governor::Powersave => {
            most = slowest;
            (90, 5)
        }
    };
    let levels: Vec<String> = drive.levels.iter().map(u64::to_string).collect();
    let stop = match devfreq.idle_stop {
        IdleStop::Never => 0,
        IdleStop::UnlessRaised => 1,
        IdleStop::Always => 2,
    };
    let ms = |ns: i64| ns / 1_000_000;
    if devfreq.poll % 1_000_000 != 0 || settings.autosuspend.is_some_and(|d| d % 1_000_000 != 0) {
        return Err(refuse("the kernel takes whole milliseconds for poll and autosuspend"));
    }
    let disk = format!(
        "levels={} base_ns={} transfer_ns={} switch_ns={} blocks={} gate_ns={} ungate_ns={} \
         suspend_ns={} resume_ns={} autosuspend_ms={} poll_ms={} deferrable={} pauses={stop} \
         up={up} down={down}",
        levels.join(","),
        drive.law.base,
        drive.law.transfer,
        drive.change,
        u8::from(drive.waits),
        settings.gate.unwrap_or(0),
        drive.gate.wake,
        drive.suspend.enter,
        drive.suspend.wake,
        settings.autosuspend.map_or(-1, ms),
        ms(devfreq.poll),
        u8::from(devfreq.deferrable),
    );
    let fqos = match settings.qos {
        Qos::Off => None,
        Qos::Host { timeout } => Some((String::new(), timeout)),
        Qos::Disk { timeout } => Some(("as_published=1".to_owned(), timeout)),
    };
    let us = |ns: i64| if trial.finds_timeout { 0 } else { ns.unsigned_abs() / 1_000 };
    let mut sets = Vec::new();
    if most < fastest {
        sets.push(("max_freq".to_owned(), most.to_string()));
    }
    if least > slowest {
        sets.push(("min_freq".to_owned(), least.to_string()));
    }
    Ok(Storage {
        name: trial.name.clone(),
        disk,
        fqos: fqos.map(|(words, timeout)| (words, us(timeout))),
        devfreq: sets,
        load,
        seed: trial.seed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(text: &str) -> Trial {
        let description = format!("dormouse-disk 1\nclocks 100MHz 400MHz\nbase 60us\n{text}");
        Trial { name: "t".into(), description, finds_timeout: false, seed: 1 }
    }

    #[test]
    fn a_description_becomes_parameters() {
        let text = "per-kib 1.5us\npoll 60ms\nqos lun\ntimeout 30ms\nmin-freq 400MHz\n\
                    autosuspend 100ms\nload every 6ms count 4\n";
        let p = storage(&trial(text)).unwrap();
        assert_eq!(p.fqos, Some(("as_published=1".into(), 30_000)));
        assert_eq!(p.devfreq, [("min_freq".to_owned(), "400000000".to_owned())]);
        for word in ["levels=100000000,400000000", "transfer_ns=96000", "autosuspend_ms=100"] {
            assert!(p.disk.split(' ').any(|w| w == word), "{word}: {}", p.disk);
        }
        let own = Trial { finds_timeout: true, ..trial(text) };
        assert_eq!(storage(&own).unwrap().fqos, Some(("as_published=1".into(), 0)));
    }

    #[test]
    fn what_the_module_cannot_be_is_refused() {
        let law = "per-kib 1us\n";
        for (text, why) in [
            ("poll 60ms\n", "no load"),
            ("poll 500us\nload count 4\n", "whole milliseconds"),
            ("poll 60ms\nstart 400MHz\nload count 4\n", "slowest clock"),
            ("poll 60ms\nspeed 3\n", "not known"),
        ] {
            let e = storage(&trial(&format!("{law}{text}"))).unwrap_err().to_string();
            assert!(e.contains(why), "{e}");
        }
    }
}
