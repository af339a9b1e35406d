//! Wake sources: armed, then read back. Without one that reads back as armed
//! nothing goes to sleep.

use crate::guard::{self, Guard};
use crate::options::Wake;
use crate::root::Root;
use dormouse_capture::schema::DeviceRow;

/// Why the machine would not wake up by itself.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No clock can wake the machine.
    #[error(
        "no real-time clock of this machine has an alarm that can wake it: use --wake external and wake it by hand, or --pm-test devices"
    )]
    NoClock,
    /// The alarm did not read back.
    #[error("the alarm was written to {path}, but it reads back as {found:?}: not sleeping")]
    NotArmed {
        /// Usual path.
        path: String,
        /// What was read.
        found: String,
    },
    /// The alarm is about to ring or has rung.
    #[error(
        "the alarm in {path} has rung before the machine could sleep: give more seconds with --wake rtc:SECONDS"
    )]
    TooLate {
        /// Usual path.
        path: String,
    },
    /// The device may not wake the system.
    #[error(
        "{path} reads {found:?} instead of \"enabled\": the device cannot wake the machine, not sleeping"
    )]
    NotEnabled {
        /// Usual path.
        path: String,
        /// What was read.
        found: String,
    },
    /// Nothing may wake the system.
    #[error(
        "no device is enabled to wake this machine: write \"enabled\" to power/wakeup of one, or use --wake external:DEVICE or --wake rtc"
    )]
    NothingEnabled,
    /// A write failed.
    #[error(transparent)]
    Guard(#[from] guard::Error),
}

/// A clock whose alarm can wake the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Clock {
    alarm: String,
    now: String,
    /// `power/wakeup` of the device behind the clock.
    wakeup: String,
}

fn clock(root: &Root) -> Option<Clock> {
    const FOLDER: &str = "/sys/class/rtc";
    root.list(FOLDER).into_iter().find_map(|name| {
        let at = format!("{FOLDER}/{name}");
        let alarm = format!("{at}/wakealarm");
        let wakeup = [format!("{at}/device/power/wakeup"), format!("{at}/power/wakeup")]
            .into_iter()
            .find(|p| root.read(p).is_some_and(|v| !v.is_empty()))?;
        root.exists(&alarm).then(|| Clock { alarm, now: format!("{at}/since_epoch"), wakeup })
    })
}

/// Arms `wake` for one cycle and reads back that it is armed.
pub fn arm(
    guard: &mut Guard<'_>,
    root: &Root,
    wake: &Wake,
    devices: &[DeviceRow],
) -> Result<(), Error> {
    match wake {
        Wake::Rtc { seconds } => {
            let clock = clock(root).ok_or(Error::NoClock)?;
            guard.set(&clock.wakeup, "enabled")?;
            guard.set(&clock.alarm, &format!("+{seconds}"))?;
        }
        Wake::External { enable } => {
            for device in enable {
                guard.set(&format!("{device}/power/wakeup"), "enabled")?;
            }
        }
        Wake::Timer { path, value, .. } => guard.set(path, value)?,
    }
    if guard.is_dry() { Ok(()) } else { check(root, wake, devices) }
}

/// Reads back that `wake` is armed. To be asked right before sleeping.
pub fn check(root: &Root, wake: &Wake, devices: &[DeviceRow]) -> Result<(), Error> {
    let enabled = |path: &str| match root.read(path).unwrap_or_default() {
        v if v == "enabled" => Ok(()),
        found => Err(Error::NotEnabled { path: path.into(), found }),
    };
    match wake {
        Wake::Rtc { .. } => {
            let clock = clock(root).ok_or(Error::NoClock)?;
            enabled(&clock.wakeup)?;
            let found = root.read(&clock.alarm).unwrap_or_default();
            let Ok(alarm) = found.parse::<u64>() else {
                return Err(Error::NotArmed { path: clock.alarm, found });
            };
            // Entering sleep takes a second or so; an alarm that rings on the
            // way down ends the attempt, one that rang before never wakes.
            match root.read_number::<u64>(&clock.now) {
                Some(now) if now + 1 >= alarm => Err(Error::TooLate { path: clock.alarm }),
                _ => Ok(()),
            }
        }
        Wake::External { enable } if enable.is_empty() => {
            // The device list knows where power/wakeup is; its values are old.
            let any = devices
                .iter()
                .filter(|d| d.wakeup.is_some())
                .any(|d| enabled(&format!("/sys{}/power/wakeup", d.devpath)).is_ok());
            if any { Ok(()) } else { Err(Error::NothingEnabled) }
        }
        Wake::External { enable } => {
            enable.iter().try_for_each(|d| enabled(&format!("{d}/power/wakeup")))
        }
        Wake::Timer { path, armed, .. } => {
            let found = root.read(path).unwrap_or_default();
            if found == *armed {
                Ok(())
            } else {
                Err(Error::NotArmed { path: path.clone(), found })
            }
        }
    }
}
