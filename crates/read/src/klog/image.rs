//! Lines of a hibernation about its image.

use super::held::not_written;
use super::number::{number, seconds};
use super::state::Log;
use super::steps::{advance, log_stamp, message, settle};
use crate::event::Stamp;
use crate::text;
use dormouse_base::cycle::Mode;
use dormouse_base::image::{ImageStep, ImageWork};
use dormouse_base::time::Ns;

/// What a hibernation says of its image.
pub(super) fn image(log: &mut Log<'_>, text: &[u8], stamp: &Stamp<'_>, said: bool) -> bool {
    let text = message(text);
    if log.loses_image(text) {
        return true;
    }
    let step = image_step(text);
    // A text may begin where the image is made, or have no more than that this failed.
    let makes = step.is_some_and(|s| s.0 == ImageWork::Allocate) || making(text);
    if log.t.open_serial() == 0 {
        if said && not_written(text) {
            log.is_piece(stamp);
        } else if said && makes {
            log.open(stamp, false);
        } else {
            return false;
        }
        log.sync();
        log.t.set_mode(Mode::Disk);
    }
    if text.starts_with(b"Preallocating image memory") {
        settle(log, stamp);
        log.t.touch(&log_stamp(log, stamp));
        return true;
    }
    if makes && step.is_none() {
        log.t.set_mode(Mode::Disk);
        log.t.touch(&Stamp { time: log.now, pid: 0, comm: b"", cpu: u32::MAX, at: 0 });
        log.c.image_made = Some(log.now);
        log.core_is_down();
        return true;
    }
    if not_written(text) {
        if text.starts_with(b"Error ") && log.c.image_made.is_some() {
            log.core_is_down();
        }
        if let Some(c) = log.t.current().filter(|c| !c.cycle.reads_image) {
            c.told.image_failed = true;
        }
        return true;
    }
    let Some((work, bytes, took)) = step else { return log.copies(text) };
    advance(log, took);
    let now = log.now;
    let written = (work == ImageWork::Write).then_some(now);
    log.c.image_made = written.or(log.c.image_made);
    if let Some(c) = log.t.current() {
        c.cycle.image.push(ImageStep { work, start: now - took, end: now, bytes });
        c.cycle.mode = Mode::Disk;
        c.last = c.last.max(now);
    }
    true
}

/// A kernel makes an image (kernel/power/snapshot.c:hibernate_preallocate_memory,
/// swsusp_save; `Creating hibernation image` before 5.x).
fn making(text: &[u8]) -> bool {
    const WORDS: [&[u8]; 4] = [
        b"Preallocating image memory",
        b"Creating image",
        b"Creating hibernation image",
        b"Need to copy ",
    ];
    WORDS.iter().any(|w| text.starts_with(w))
}

/// `Wrote 1600452 kbytes in 20.06 seconds (77.91 MB/s)`: what was done, how much and for
/// how long.
pub(super) fn image_step(text: &[u8]) -> Option<(ImageWork, u64, Ns)> {
    let works = [
        (&b"Allocated "[..], ImageWork::Allocate),
        (b"Wrote ", ImageWork::Write),
        (b"Read ", ImageWork::Read),
    ];
    let (rest, work) =
        works.iter().find_map(|(word, work)| Some((text.strip_prefix(*word)?, *work)))?;
    let at = text::find(rest, b" kbytes in ")?;
    let kbytes = u64::try_from(number(&rest[..at])?).ok()?;
    Some((work, kbytes.saturating_mul(1_024), seconds(&rest[at + 11..])?))
}
