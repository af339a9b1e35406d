//! Flags tried on the running machine, and kept if they help.
//!
//! [`measure`] records cycles with the flags as they are and as proposed. The
//! recorder's guard sets the proposed ones and puts them back after each
//! recording, so whatever happens the machine has its own flags again. [`keep`]
//! then makes them stay: announced in the journal one by one, and committed by
//! one rename when all are set. Killed before that, `dormouse restore` puts
//! them back; afterwards `dormouse restore --kept` does.

use crate::guard::{self, Guard, NotRestored, Observer};
use crate::knob;
use crate::options::Options;
use crate::recorder::{self, Watch};
use crate::recording::Recording;
use crate::root::Root;

const PM_ASYNC: &str = "/sys/power/pm_async";

/// What to try.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// `/sys/power/pm_async`; `None` leaves it alone.
    pub pm_async: Option<bool>,
    /// `power/async` of devices, by usual path (`/sys/devices/…`).
    pub devices: Vec<(String, bool)>,
}

/// Why flags cannot be tried on this machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// Not the path of a device.
    #[error(
        "{path:?} is not the folder of a device in sysfs (/sys/devices/…): \
         record this machine with `dormouse record` and tune that"
    )]
    NotADevice {
        /// As given.
        path: String,
    },
    /// This machine has no such knob.
    #[error(
        "{path} is not on this machine, so the input is of another machine or older than a change \
         of hardware: record this machine with `dormouse record` and tune that"
    )]
    NotHere {
        /// Usual path.
        path: String,
    },
}

impl Flags {
    /// Path and value of every knob that differs from what is wanted.
    ///
    /// # Errors
    /// If a device is not on this machine.
    pub fn pending(&self, root: &Root) -> Result<Vec<(String, &'static str)>, Unfit> {
        let mut wanted = Vec::new();
        if let Some(on) = self.pm_async {
            wanted.push((PM_ASYNC.to_string(), if on { "1" } else { "0" }));
        }
        for (device, on) in &self.devices {
            if !is_device(device) {
                return Err(Unfit::NotADevice { path: device.clone() });
            }
            let word = if *on { "enabled" } else { "disabled" };
            wanted.push((format!("{device}/power/async"), word));
        }
        let mut pending = Vec::new();
        for (path, value) in wanted {
            let text = root.read(&path).ok_or_else(|| Unfit::NotHere { path: path.clone() })?;
            if knob::in_force(&text) != value {
                pending.push((path, value));
            }
        }
        Ok(pending)
    }

    /// `options` of a recording with these flags.
    fn on_top(&self, options: &Options) -> Options {
        let mut options = options.clone();
        options.pm_async = self.pm_async.or(options.pm_async);
        options.device_async.extend(self.devices.iter().cloned());
        options
    }
}

/// The path comes from a file: it must not lead anywhere else.
fn is_device(path: &str) -> bool {
    path.strip_prefix("/sys/devices/").is_some_and(|rest| {
        !rest.chars().any(char::is_control)
            && rest.split('/').all(|part| !matches!(part, "" | "." | ".."))
    })
}

/// What was recorded, two recordings a side.
#[derive(Debug, Default)]
pub struct Measured {
    /// With the flags as they are.
    pub before: Vec<Recording>,
    /// With those proposed.
    pub after: Vec<Recording>,
    /// Knobs that could not be put back.
    pub failed: Vec<NotRestored>,
    /// What ended it early, if anything did.
    pub error: Option<recorder::Error>,
    /// Ended early because it was asked to.
    pub stopped: bool,
}

impl Measured {
    /// Every cycle was recorded and every knob put back.
    pub fn is_whole(&self) -> bool {
        self.failed.is_empty() && self.error.is_none() && !self.stopped
    }
}

/// Which recordings have the proposed flags: as they are, proposed, proposed,
/// as they are. A machine that gets slower or faster all the time favours
/// neither.
const ORDER: [bool; 4] = [false, true, true, false];

/// Cycles of one recording, so that each side has at least `cycles`.
fn cycles_each(cycles: u32) -> u32 {
    cycles.div_ceil(2).max(1)
}

/// Records `options.cycles` cycles with the flags as they are, and as many with
/// `flags`. Every knob is put back before this returns.
///
/// # Errors
/// If not a single step could be done, as [`recorder::record`].
pub fn measure(
    root: &Root,
    options: &Options,
    flags: &Flags,
    observer: &mut dyn Observer,
    watch: &mut dyn Watch,
) -> Result<Measured, recorder::Error> {
    let options = Options { cycles: cycles_each(options.cycles), ..options.clone() };
    let proposed = flags.on_top(&options);
    let mut out = Measured::default();
    for (part, with_flags) in ORDER.into_iter().enumerate() {
        let options = if with_flags { &proposed } else { &options };
        let outcome = match recorder::record(root, options, observer, watch) {
            Ok(outcome) => outcome,
            Err(e) if part == 0 => return Err(e),
            Err(e) => {
                out.error = Some(e);
                return Ok(out);
            }
        };
        out.stopped = outcome.recording.len() < options.cycles as usize;
        let side = if with_flags { &mut out.after } else { &mut out.before };
        side.push(outcome.recording);
        out.failed = outcome.restored.failed;
        out.error = outcome.error;
        out.stopped &= out.error.is_none();
        if !out.is_whole() {
            break;
        }
    }
    Ok(out)
}

/// Shows `observer` every write of [`measure`] (one recording of each kind: the
/// others write the same) and of [`keep`], and makes none.
///
/// # Errors
/// As [`measure`] and [`keep`].
pub fn rehearse(
    root: &Root,
    options: &Options,
    flags: &Flags,
    observer: &mut dyn Observer,
) -> Result<(), recorder::Error> {
    for options in [options, &flags.on_top(options)] {
        if let Some(e) = recorder::rehearse(root, options, observer)?.error {
            return Err(e);
        }
    }
    let guard = Guard::dry(root, &options.journal, observer);
    set(guard, root, flags)?;
    Ok(())
}

/// Sets `flags` to stay and says how many knobs changed. On an error none does.
///
/// # Errors
/// If a knob cannot be set, or the journal not be written.
pub fn keep(
    root: &Root,
    folder: &str,
    flags: &Flags,
    observer: &mut dyn Observer,
) -> Result<usize, guard::Error> {
    set(Guard::begin(root, folder, observer)?, root, flags)
}

fn set(mut guard: Guard<'_>, root: &Root, flags: &Flags) -> Result<usize, guard::Error> {
    let pending = flags.pending(root).map_err(|e| guard::Error::Absent {
        path: match e {
            Unfit::NotADevice { path } | Unfit::NotHere { path } => path,
        },
        advice: "the device has gone; record this machine again",
    })?;
    for (path, value) in pending {
        guard.set(&path, value)?;
    }
    guard.keep()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_of_devices_are_written_to() {
        assert!(is_device("/sys/devices/pci0000:00/0000:00:14.0"));
        for bad in [
            "/sys/devices",
            "/sys/devices/",
            "/sys/power",
            "/sys/devices/../power",
            "/sys/devices/a/./b",
            "/sys/devices/a//b",
            "/sys/devices/a\n",
            "sys/devices/a",
            "/tmp/sys/devices/a",
        ] {
            assert!(!is_device(bad), "{bad:?}");
        }
    }

    #[test]
    fn an_odd_number_of_cycles_is_rounded_up() {
        assert_eq!([1, 2, 5, 10].map(cycles_each), [1, 1, 3, 5]);
    }
}
