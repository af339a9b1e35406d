//! Modes of sleep in words.

use super::number::grouped;
use dormouse_base::image::ImageWork;
use dormouse_doctor::offered::Need;
use dormouse_sleep::modes::Way;

/// What may go wrong with a way to rest.
pub fn trap(way: Way) -> Option<&'static str> {
    Some(match way {
        Way::S2idle => {
            "s2idle pays only if the hardware sleeps in it. It is the quickest: no CPU is switched \
             off and no firmware is called. CLOCK_MONOTONIC may run on."
        }
        Way::Standby => {
            "standby calls firmware and switches CPUs off, and rarely draws less than s2idle."
        }
        Way::Deep => {
            "deep needs firmware that resumes; each CPU but the first is switched off and on again, \
             one after another."
        }
        Way::Disk => {
            "hibernation writes and reads the image; it needs swap and a device to resume from. It \
             is safe against an empty battery."
        }
        Way::Off | Way::Unnamed => return None,
    })
}

/// What hibernation needs, and whether it is there.
pub fn need(n: &Need) -> String {
    let mb = |b: u64| grouped(b.saturating_add(500_000) / 1_000_000);
    match n {
        Need::Way(Some(way)) => format!("the kernel allows it (disk is {way})"),
        Need::Way(None) => "the kernel forbids it (disk is disabled)".into(),
        Need::Forbidden(why) => format!("it is forbidden: {why}"),
        Need::Resume(d) if d == "0:0" => {
            "no device to resume from: resume= on the command line, unless systemd keeps it in an EFI variable"
                .into()
        }
        Need::Resume(d) => format!("a device to resume from: {d}"),
        Need::Room { free: 0, .. } => "there is no free swap".into(),
        Need::Room { free, image } => {
            format!("{} MB of swap are free; the image is at most {} MB", mb(*free), mb(*image))
        }
        Need::Compressor(c) => format!("the image is compressed with {c}"),
    }
}

/// A step of the image, as the begin of a sentence.
pub fn image(w: ImageWork) -> &'static str {
    match w {
        ImageWork::Allocate => "Making room",
        ImageWork::Copy => "Copying",
        ImageWork::Write => "Writing",
        ImageWork::Read => "Reading",
        ImageWork::Quiesce => "Stopping the devices of the kernel that read",
    }
}
