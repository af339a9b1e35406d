//! Lines of a hibernation about its image.

use super::grain::TICK;
use super::held::not_written;
use super::marks::message;
use super::number::{number, seconds};
use super::prefix::Record;
use super::state::Log;
use super::steps::{advance, log_stamp, settle};
use crate::event::Stamp;
use crate::text;
use dormouse_base::cycle::Mode;
use dormouse_base::image::{ImageStep, ImageWork};
use dormouse_base::time::Ns;

impl Log<'_> {
    /// What a hibernation says of its image.
    pub(super) fn image(&mut self, text: &[u8], stamp: &Stamp<'_>, said: bool) -> bool {
        let text = message(text);
        // kernel/power/snapshot.c:create_basic_memory_bitmaps, free_basic_memory_bitmaps.
        if let Some(done) = text.strip_prefix(b"Basic memory bitmaps ")
            && self.t.open_serial() != 0
        {
            self.is_of(Mode::Disk);
            if done == b"freed" {
                self.finds_no_memory();
            }
            return true;
        }
        if self.loses_image(text) {
            return true;
        }
        let step = image_step(text);
        // A text may begin where the image is made, or have no more than that this failed.
        let makes = step.is_some_and(|s| s.0 == ImageWork::Allocate) || making(text);
        if self.t.open_serial() == 0 {
            if said && not_written(text) {
                self.is_piece(stamp);
            } else if said && makes {
                self.open(stamp, false);
            } else {
                return false;
            }
            self.sync();
            self.t.set_mode(Mode::Disk);
        }
        // Kernels before 2.6.32 shrink what others use until an image fits.
        if text.starts_with(b"Preallocating image memory") || text.starts_with(b"Shrinking memory")
        {
            settle(self, stamp);
            self.t.touch(&log_stamp(self, stamp));
            // The same line says how much it was where it ends so.
            let goes_on = text.ends_with(b"memory") || text.ends_with(b"...");
            self.c.allocating = goes_on.then_some(self.now);
            return true;
        }
        if text.starts_with(b"Allocated ") && text.ends_with(b" pages for snapshot") {
            // It did suffice; how much it was the next line tells, where the text has that.
            self.allocates_until_now();
            return true;
        }
        if makes && step.is_none() {
            // What is copied has its memory.
            self.c.allocating = None;
            self.t.set_mode(Mode::Disk);
            self.t.touch(&Stamp { time: self.now, pid: 0, comm: b"", cpu: u32::MAX, at: 0 });
            self.makes_image();
            return true;
        }
        if not_written(text) {
            self.finds_no_memory();
            if text.starts_with(b"Error ") && self.c.image_made.is_some() {
                self.core_is_down();
            }
            if let Some(c) = self.t.current().filter(|c| !c.cycle.reads_image) {
                c.told.image_failed = true;
            }
            return true;
        }
        // kernel/power/snapshot.c:check_header, as the first page is read.
        self.c.image_refused |= text.starts_with(b"Image mismatch: ");
        let Some((work, bytes, took)) = step else { return self.copies(text) };
        if work == ImageWork::Read && std::mem::take(&mut self.c.image_refused) {
            // Nothing was read, whatever the kernel counts (kernel/power/swap.c:swsusp_read).
            self.t.touch(&log_stamp(self, stamp));
            return true;
        }
        advance(self, took);
        let now = self.now;
        if work == ImageWork::Allocate && self.timed {
            self.allocated_behind(now - took);
        }
        self.c.allocating = self.c.allocating.filter(|_| work != ImageWork::Allocate);
        let written = (work == ImageWork::Write).then_some(now);
        self.c.image_made = written.or(self.c.image_made);
        if let Some(c) = self.t.current() {
            // The same, measured.
            let same = |s: &mut ImageStep| s.work == ImageWork::Allocate && s.bytes == 0;
            if work == ImageWork::Allocate {
                c.cycle.image.pop_if(same);
            }
            c.cycle.image.push(ImageStep { work, start: now - took, end: now, bytes });
            c.cycle.mode = Mode::Disk;
            c.last = c.last.max(now);
        }
        true
    }
}

impl Log<'_> {
    /// Who asked for the hibernation that is over says that memory did not suffice
    /// (src/sleep/sleep.c:execute of systemd, by the error that the kernel gave back): no image
    /// was made, whatever lines of the kernel are left out.
    pub(super) fn asker_lacks_memory(&mut self, r: &Record<'_>) {
        if !r.has(b"System resumed again: ") || !r.text.ends_with(b": Cannot allocate memory") {
            return;
        }
        let unmade = self.c.image_made.is_none();
        if let Some(c) = self.t.current().filter(|c| c.over && unmade)
            && c.cycle.mode == Mode::Disk
            && !c.cycle.reads_image
        {
            c.told.image_failed = true;
        }
    }

    /// Memory was taken for an image, and no line tells how much: it did not suffice, and the way
    /// down ends here (kernel/power/snapshot.c:hibernate_preallocate_memory, which prints that it
    /// allocated some in any other case; 2.6.32 to 7.3).
    pub(super) fn finds_no_memory(&mut self) {
        if self.c.allocating.is_some()
            && let Some(c) = self.t.current()
        {
            c.told.image_failed = true;
        }
        self.allocates_until_now();
    }

    fn allocates_until_now(&mut self) {
        let Some(start) = self.c.allocating.take() else { return };
        let end = self.now;
        if let Some(c) = self.t.current() {
            let step = ImageStep { work: ImageWork::Allocate, start, end, bytes: 0 };
            c.cycle.image.extend((start < end).then_some(step));
            c.last = c.last.max(end);
        }
    }

    /// Memory was taken from `start` on, by what the kernel measured. The steps before it were
    /// over then: where their stamps are later, they are those of a reader who was frozen.
    fn allocated_behind(&mut self, start: Ns) {
        let by = self.done_until() - start;
        let Some(c) = self.t.current() else { return };
        let first = c.cycle.phases.iter().map(|p| p.start).min();
        let room = first.is_some_and(|f| f - by >= c.cycle.start);
        if by > TICK && room {
            for p in &mut c.cycle.phases {
                (p.start, p.end) = (p.start - by, p.end - by);
            }
            self.c.freezing = self.c.freezing.map(|(stamp, from)| (stamp, from - by));
        }
    }
}

/// A kernel makes an image (kernel/power/snapshot.c:hibernate_preallocate_memory,
/// swsusp_save; `Creating hibernation image` before 5.x).
fn making(text: &[u8]) -> bool {
    const WORDS: [&[u8]; 5] = [
        b"Preallocating image memory",
        b"Shrinking memory...",
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
        (b"Freed ", ImageWork::Allocate),
        (b"Wrote ", ImageWork::Write),
        (b"Read ", ImageWork::Read),
    ];
    let (rest, work) =
        works.iter().find_map(|(word, work)| Some((text.strip_prefix(*word)?, *work)))?;
    let at = text::find(rest, b" kbytes in ")?;
    let kbytes = u64::try_from(number(&rest[..at])?).ok()?;
    Some((work, kbytes.saturating_mul(1_024), seconds(&rest[at + 11..])?))
}
