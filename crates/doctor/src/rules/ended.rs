//! What is said of a device that ended an attempt to sleep, by its error.

use super::libc::EBUSY;
use crate::finding::{Area, Confidence, Device, Finding, Level};
use dormouse_base::phase::Direction;
use dormouse_base::say;

/// A device that ended attempts to sleep; a hub said just before that the device `awake`
/// below it was not suspended.
pub(crate) fn device_failed(
    device: Device,
    error: i32,
    times: usize,
    usb: bool,
    awake: Option<&str>,
) -> Finding {
    if error == 0 {
        return unknown_error(device, times);
    }
    let (who, often, told) = (say::device(&device), say::times(times), say::refused(error));
    let rule = ("device-failed", Area::Abort, Level::Broken);
    let f = Finding::new(rule, Confidence::Certain)
        .of_error(error)
        .times(times)
        .when(Some(Direction::Suspend), None);
    let f = match awake {
        Some(below) => f
            .says(format!("{who} ended the sleep{often}: {told}. Just before, a hub said that {below} below it was not suspended yet."))
            .look(format!("Unplug {below}, or unbind its driver, and try again: a driver that does not suspend it, or a wakeup of it, keeps the controller awake.")),
        None if error > 0 => f
            .says(format!("{who} ended the sleep{often}: its callback returned {error}. Only 0 is success, so the kernel takes a positive value as an error."))
            .look("The driver must return 0; pm_runtime_resume() as a callback of system sleep returns 1."),
        None if error == -EBUSY && usb => f
            .says(format!("{who} ended the sleep{often}: error {error} (EBUSY). The usual cause is a wakeup pending at a USB port below it; no line that was read says which."))
            .look(format!("Find the device that wakes: switch its power/wakeup off, one device at a time, beginning with {}.", device.name)),
        None => f
            .says(format!("{who} ended the sleep{often}: {told}."))
            .look(format!("Look at what the driver of {} says before that line. If it says nothing there, boot with initcall_debug: then the log names the callback that returned the error.", device.name)),
    };
    // Only the error is proven; that its bus went first is one reading.
    let f = match error {
        -6 | -108 | -121 if awake.is_none() => f.look(
            "One reading: what it is behind was suspended before it. Check the order (device link, parent).",
        ),
        _ => f,
    };
    f.of_devices([device])
}

/// The same where the text ends inside of the number of the error.
fn unknown_error(device: Device, times: usize) -> Finding {
    let (who, often) = (say::device(&device), say::times(times));
    Finding::new(("device-failed", Area::Abort, Level::Broken), Confidence::Likely)
        .says(format!(
            "{who} ended the sleep{often}; with which error is not known, because the line is cut."
        ))
        .look("Give the whole line: the number behind \"error\" says why.")
        .look(format!("Look at what the driver of {} says before that line. If it says nothing there, boot with initcall_debug: then the log names the callback that returned the error.", device.name))
        .times(times)
        .when(Some(Direction::Suspend), None)
        .of_devices([device])
}
