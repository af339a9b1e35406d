//! Sleeps with some settings on and others off, kept in a list that outlives whatever ends the
//! machine or this process. A line is on disk before a sleep begins, so the next start knows
//! of one that the machine did not come back from. The recorder's guard makes each change and
//! puts it back after each sleep.

use crate::apply::power_async;
use crate::devices::{device_of, devices, mark_essential};
use crate::guard::{Observer, Restored};
use crate::list::List;
use crate::machine::boot_id;
use crate::options::{Options, Wake};
use crate::process;
use crate::recorder::{self, Error, Watch};
use crate::root::Root;
use dormouse_capture::schema::{CycleStats, DeviceRow};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// The list of what happened.
const LIST: &str = "trials.jsonl";
/// Clocks with alarms tick in seconds, and entering a sleep takes part of one.
const SLACK_S: f64 = 2.0;

/// What is turned off and on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Whether a device may wake the machine (`power/wakeup`); the trouble is a sleep that ends
    /// before its alarm.
    Wakeup,
    /// Whether callbacks of a device may run beside others (`power/async`); the trouble is a
    /// sleep that fails.
    Async,
    /// Whether a device has its driver; the trouble is a sleep that fails.
    Driver,
}

impl Kind {
    /// The word on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::Wakeup => "wakeup",
            Kind::Async => "async",
            Kind::Driver => "driver",
        }
    }
}

/// A device with a setting that can be turned off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// The device's path below `/sys`.
    pub devpath: String,
    /// The kernel's name of the device.
    pub name: String,
    /// Bus or class.
    pub subsystem: String,
    /// Bound driver, or nothing.
    pub driver: String,
}

/// What a search is about. A list is of one such search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// What is turned off.
    pub kind: Kind,
    /// The trouble comes at least once in so many sleeps.
    pub rarest: u32,
    /// A command that fails if the trouble is there after a sleep, or nothing.
    pub check: Vec<String>,
    /// What is turned off and on.
    pub settings: Vec<Setting>,
}

/// A sleep, and why it was one with trouble.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// Which settings were on.
    pub on: Vec<bool>,
    /// What went wrong.
    pub trouble: Option<String>,
}

/// A line of the list.
#[derive(Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
enum Line {
    Asked(Asked),
    /// A process began to work on the list.
    Start {
        boot_id: String,
    },
    /// A sleep begins; `off` are the numbers of what is off.
    Begin {
        off: Vec<usize>,
    },
    /// It ended.
    End {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trouble: Option<String>,
    },
}

/// The list, open and locked.
#[derive(Debug)]
pub struct Trials {
    list: List,
    /// What it is about.
    pub asked: Asked,
    /// Sleeps that ended, or that the machine did not come back from.
    pub done: Vec<Trial>,
    /// Lines that cannot be read.
    pub unreadable: u32,
    /// The last sleep ended with a restart of the machine: this start has found that.
    pub hung: bool,
}

/// Devices of this machine that have such a setting, on. Left out is what must stay: the clock
/// that wakes the machine with all it hangs on, and for drivers what holds the root file
/// system, swap and consoles.
#[must_use]
pub fn settings(root: &Root, kind: Kind) -> Vec<Setting> {
    let (mut rows, _) = devices(root);
    mark_essential(root, &mut rows);
    let clocks: Vec<String> = root
        .list("/sys/class/rtc")
        .into_iter()
        .filter_map(|name| device_of(root, &format!("/sys/class/rtc/{name}")))
        .collect();
    let holds = |above: &str, below: &str| {
        below.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let is_clock =
        |d: &DeviceRow| clocks.iter().any(|c| holds(&d.devpath, c) || holds(c, &d.devpath));
    let has = |d: &DeviceRow| match kind {
        Kind::Wakeup => d.wakeup == Some(true),
        Kind::Async => d.async_flag == Some(true) && !d.driver.is_empty() && !d.no_pm,
        Kind::Driver => {
            let file = |f: &str| root.exists(&format!("{}/{f}", folder(&d.subsystem, &d.driver)));
            !d.driver.is_empty() && d.essential.is_empty() && file("unbind") && file("bind")
        }
    };
    rows.into_iter()
        .filter(|d| has(d) && (kind == Kind::Async || !is_clock(d)))
        .map(|d| Setting {
            devpath: d.devpath,
            name: d.name,
            subsystem: d.subsystem,
            driver: d.driver,
        })
        .collect()
}

/// The folder of a driver.
fn folder(bus: &str, driver: &str) -> String {
    format!("/sys/bus/{bus}/drivers/{driver}")
}

impl Asked {
    /// `options` with what is not on turned off. A device that has gone is off by itself.
    fn on_top(&self, root: &Root, options: &Options, on: &[bool]) -> Options {
        let mut options = Options { cycles: 1, phases_only: true, ..options.clone() };
        for (setting, _) in self.settings.iter().zip(on).filter(|(_, on)| !**on) {
            let device = format!("/sys{}", setting.devpath);
            let (path, value) = match self.kind {
                Kind::Wakeup => (format!("{device}/power/wakeup"), "disabled".into()),
                Kind::Async => power_async(&device, false),
                Kind::Driver => {
                    let driver = folder(&setting.subsystem, &setting.driver);
                    options.unbind.push((driver, setting.name.clone()));
                    continue;
                }
            };
            if root.exists(&path) {
                options.set.push((path, value));
            }
        }
        options
    }

    /// What went wrong in a sleep.
    fn trouble(&self, options: &Options, stats: &CycleStats) -> Option<String> {
        if stats.result != 0 {
            let why = io::Error::from_raw_os_error(-stats.result);
            return Some(match stats.suspend_stats_changed.get("last_failed_dev") {
                Some(device) => format!("refused by {device}: {why}"),
                None => format!("refused: {why}"),
            });
        }
        if let (Kind::Wakeup, Wake::Rtc { seconds }, true) =
            (self.kind, &options.wake, options.really_sleeps())
        {
            let ns = stats.clocks.boottime_after.saturating_sub(stats.clocks.boottime_before);
            let slept = ns as f64 / 1e9;
            if slept + SLACK_S < f64::from(*seconds) {
                return Some(format!("woke after {slept:.1} s of {seconds}"));
            }
        }
        let (program, words) = self.check.split_first()?;
        let mut check = Command::new(program);
        match check.args(words).stdin(Stdio::null()).stdout(Stdio::null()).status() {
            Ok(status) if status.success() => None,
            Ok(status) => Some(match process::code_of(status) {
                Some(code) => format!("{program} ended with {code}"),
                None => format!("{program} did not end by itself"),
            }),
            Err(e) => Some(format!("{program} cannot be run: {e}")),
        }
    }
}

/// What came of one sleep.
#[derive(Debug)]
pub struct Slept {
    /// What was put back.
    pub restored: Restored,
    /// Why nothing is known of the sleep, if so: it is not in the list then.
    pub error: Option<Error>,
}

impl Trials {
    /// Opens the list in `folder`, which is made if it is not there, and settles what the last
    /// start left. `asked` begins a new list; an old one keeps what it is about.
    ///
    /// # Errors
    /// If the folder cannot be used, or another process works on it.
    pub fn open(root: &Root, folder: &Path, asked: &Asked) -> io::Result<Trials> {
        fs::create_dir_all(folder)?;
        let busy = "another process works on this search";
        let (list, bytes) = List::open(folder, LIST, busy)?;
        let mut trials =
            Trials { list, asked: asked.clone(), done: Vec::new(), unreadable: 0, hung: false };
        let open = trials.remember(&bytes)?;
        if let Some((on, _)) = open.filter(|(_, boot)| *boot != boot_id(root)) {
            let trouble = Some("the machine did not come back".to_string());
            trials.list.add(&Line::End { trouble: trouble.clone() })?;
            trials.done.push(Trial { on, trouble });
            trials.hung = true;
        }
        if bytes.is_empty() {
            trials.list.add(&Line::Asked(asked.clone()))?;
        }
        trials.list.add(&Line::Start { boot_id: boot_id(root) })?;
        Ok(trials)
    }

    /// Takes in the list; gives the sleep that it leaves open, with its boot.
    fn remember(&mut self, list: &[u8]) -> io::Result<Option<(Vec<bool>, String)>> {
        let (mut boot, mut open, mut told) = (String::new(), None, list.is_empty());
        for line in list.split(|b| *b == b'\n').filter(|l| !l.is_empty()) {
            match serde_json::from_slice(line) {
                Ok(Line::Asked(asked)) => (self.asked, told) = (asked, true),
                // One that was killed says nothing of its sleep.
                Ok(Line::Start { boot_id }) => (boot, open) = (boot_id, None),
                Ok(Line::Begin { off }) => {
                    let mut on = vec![true; self.asked.settings.len()];
                    for n in off {
                        on.get_mut(n).into_iter().for_each(|is| *is = false);
                    }
                    open = Some((on, boot.clone()));
                }
                Ok(Line::End { trouble }) => {
                    self.done.extend(open.take().map(|(on, _)| Trial { on, trouble }));
                }
                Err(_) => self.unreadable += 1,
            }
        }
        if told {
            return Ok(open);
        }
        let why =
            "its first line does not say what is searched: it is damaged, or no list of a search";
        Err(io::Error::new(io::ErrorKind::InvalidData, why))
    }

    /// Sleeps once with these on, and adds what came of it.
    ///
    /// # Errors
    /// If not a single step could be done, or the list cannot be written: no sleep is made then.
    pub fn sleep(
        &mut self,
        root: &Root,
        options: &Options,
        on: Vec<bool>,
        observer: &mut dyn Observer,
        watch: &mut dyn Watch,
    ) -> Result<Slept, Error> {
        let off = on.iter().enumerate().filter(|(_, on)| !**on).map(|(n, _)| n).collect();
        self.list.add(&Line::Begin { off }).map_err(Error::Kept)?;
        let with = self.asked.on_top(root, options, &on);
        let outcome = recorder::record(root, &with, observer, watch)?;
        let (restored, error) = (outcome.restored, outcome.error);
        let stats = outcome.recording.cycles().next().transpose().map_err(Error::Trace)?;
        if let Some(cycle) = stats.filter(|_| error.is_none()) {
            let trouble = self.asked.trouble(options, &cycle.stats);
            self.list.add(&Line::End { trouble: trouble.clone() }).map_err(Error::Kept)?;
            self.done.push(Trial { on, trouble });
        }
        Ok(Slept { restored, error })
    }

    /// Shows `observer` every write of a sleep with all settings off, and makes none.
    ///
    /// # Errors
    /// As [`recorder::rehearse`].
    pub fn rehearse(
        root: &Root,
        options: &Options,
        asked: &Asked,
        observer: &mut dyn Observer,
    ) -> Result<Option<Error>, Error> {
        let with = asked.on_top(root, options, &vec![false; asked.settings.len()]);
        Ok(recorder::rehearse(root, &with, observer)?.error)
    }
}
