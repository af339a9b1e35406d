//! Flags tried on the running machine, and kept if they help.
//!
//! [`measure`] records sleeps with the flags as they are and as proposed, in
//! pairs whose order the caller has drawn. The recorder's guard sets the
//! proposed ones and puts them back after each sleep, so whatever happens the
//! machine has its own flags again. [`keep`]
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
    pub fn pending(&self, root: &Root) -> Result<Vec<(String, String)>, Unfit> {
        let mut wanted = Vec::new();
        if let Some(on) = self.pm_async {
            wanted.push((PM_ASYNC.to_string(), if on { "1" } else { "0" }.to_string()));
        }
        for (device, on) in &self.devices {
            if !is_device(device) {
                return Err(Unfit::NotADevice { path: device.clone() });
            }
            wanted.push(power_async(device, *on));
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
        options.set.extend(self.devices.iter().map(|(device, on)| power_async(device, *on)));
        options
    }
}

/// `power/async` of a device, and what it reads with its flag so.
pub fn power_async(device: &str, on: bool) -> (String, String) {
    (format!("{device}/power/async"), if on { "enabled" } else { "disabled" }.into())
}

/// The path comes from a file: it must not lead anywhere else.
fn is_device(path: &str) -> bool {
    path.strip_prefix("/sys/devices/").is_some_and(|rest| {
        !rest.chars().any(char::is_control)
            && rest.split('/').all(|part| !matches!(part, "" | "." | ".."))
    })
}

/// One sleep and how it was made.
#[derive(Debug)]
pub struct Try {
    /// Which pair it is of, from 0; `None` is a warm-up.
    pub pair: Option<usize>,
    /// It had the proposed flags.
    pub with_flags: bool,
    /// What was recorded: one cycle.
    pub recording: Recording,
}

/// What was recorded.
#[derive(Debug, Default)]
pub struct Measured {
    /// Every sleep, in order.
    pub tries: Vec<Try>,
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

    /// All sleeps of one side of the pairs as one recording.
    pub fn side(&self, with_flags: bool) -> Recording {
        let mut whole = Recording::default();
        let of_side = |t: &&Try| t.pair.is_some() && t.with_flags == with_flags;
        for (n, t) in self.tries.iter().filter(of_side).enumerate() {
            if n == 0 {
                whole = t.recording.clone();
            } else {
                whole.append(t.recording.clone());
            }
        }
        whole
    }
}

/// Sleeps that [`measure`] takes for so many pairs.
pub fn sleeps(pairs: usize) -> usize {
    2 + 2 * pairs
}

/// The sleeps in order: of which pair, and whether with the proposed flags. One
/// of each kind comes first and counts for nothing: it makes the workers that
/// the flags need, and takes what is only there in a first cycle after boot.
pub fn plan(with_first: &[bool]) -> Vec<(Option<usize>, bool)> {
    let pairs = with_first.iter().enumerate();
    let of = |(n, first): (usize, &bool)| [(Some(n), *first), (Some(n), !*first)];
    [(None, false), (None, true)].into_iter().chain(pairs.flat_map(of)).collect()
}

/// Sleeps in pairs, once with the flags as they are and once with `flags`, each
/// a recording of its own; `with_first` says for each pair which comes first.
/// Every knob is put back before this returns.
///
/// # Errors
/// If not a single step could be done, as [`recorder::record`].
pub fn measure(
    root: &Root,
    options: &Options,
    flags: &Flags,
    with_first: &[bool],
    observer: &mut dyn Observer,
    watch: &mut dyn Watch,
) -> Result<Measured, recorder::Error> {
    let options = Options { cycles: 1, ..options.clone() };
    let proposed = flags.on_top(&options);
    let mut out = Measured::default();
    for (n, (pair, with_flags)) in plan(with_first).into_iter().enumerate() {
        if n > 0 && !recorder::pause(options.interval, watch) {
            out.stopped = true;
            break;
        }
        let options = if with_flags { &proposed } else { &options };
        let outcome = match recorder::record(root, options, observer, watch) {
            Ok(outcome) => outcome,
            Err(e) if n == 0 => return Err(e),
            Err(e) => {
                out.error = Some(e);
                break;
            }
        };
        out.stopped = outcome.recording.is_empty() && outcome.error.is_none();
        out.failed = outcome.restored.failed;
        out.error = outcome.error;
        out.tries.push(Try { pair, with_flags, recording: outcome.recording });
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

/// Writes each value to its file, to stay, and says how many changed. On an error
/// none does.
///
/// # Errors
/// If one cannot be written, or the journal not be written.
pub fn keep_values(
    root: &Root,
    folder: &str,
    values: &[(String, String)],
    observer: &mut dyn Observer,
) -> Result<usize, guard::Error> {
    let mut guard = Guard::begin(root, folder, observer)?;
    for (path, value) in values {
        guard.set(path, value)?;
    }
    guard.keep()
}

fn set(mut guard: Guard<'_>, root: &Root, flags: &Flags) -> Result<usize, guard::Error> {
    let pending = flags.pending(root).map_err(|e| guard::Error::Absent {
        path: match e {
            Unfit::NotADevice { path } | Unfit::NotHere { path } => path,
        },
        advice: "the device has gone; record this machine again",
    })?;
    for (path, value) in pending {
        guard.set(&path, &value)?;
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
    fn a_pair_has_both_and_the_warm_up_is_of_none() {
        let of = |pair, with| (pair, with);
        let want = [
            of(None, false),
            of(None, true),
            of(Some(0), true),
            of(Some(0), false),
            of(Some(1), false),
            of(Some(1), true),
        ];
        assert_eq!(plan(&[true, false]), want);
        assert_eq!(sleeps(2), want.len());
    }
}
