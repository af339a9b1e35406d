//! The kernel that reads the image of a hibernation (kernel/power/hibernate.c:
//! software_resume, 6.12): it freezes tasks and stops devices too, and that is no way
//! down. It has a clock of its own, and is gone when the image runs.

use super::grain::PAUSE;
use super::held::{self, Restore};
use super::image;
use super::marks;
use super::prefix::Record;
use super::state::Log;
use dormouse_base::cycle::Mode;
use dormouse_base::image::{ImageStep, ImageWork};
use dormouse_base::phase::{Phase, PmEvent};
use dormouse_base::time::Ns;

/// The image's clock goes on within this time of when it was made.
const SOON: Ns = Ns(600_000_000_000);

impl Log<'_> {
    /// Whether a message says that an image is not restored (kernel/power/hibernate.c:
    /// software_resume): what the text has of it before, if only a line or two, is no attempt.
    pub(super) fn loses_image(&mut self, message: &[u8]) -> bool {
        const WORDS: [&[u8]; 2] = [b"Failed to load image", b"Failed to load hibernation image"];
        let loses = WORDS.iter().any(|w| message.starts_with(w));
        self.reads_image |= loses;
        if let Some(c) = self.t.current().filter(|c| loses && !c.over && !c.cycle.lines.begun) {
            c.cycle.reads_image |= c.cycle.phases.is_empty();
        }
        loses
    }

    /// Whether a phase that ends now is of the devices of the kernel that read the image
    /// (kernel/power/hibernate.c:hibernation_restore): that is part of the way back. Where their
    /// callbacks were recorded it stays a trip of its own.
    pub(super) fn quiesces(&mut self, phase: Phase, event: PmEvent, took: Ns) -> bool {
        let mark = self.c.mark;
        let silent = self.t.current().is_some_and(|c| c.cycle.callbacks.len() == mark);
        if event != PmEvent::Quiesce || !silent {
            return false;
        }
        if !self.timed {
            self.now += took;
        }
        let (now, work) = (self.now, ImageWork::Quiesce);
        if let Some(c) = self.t.current() {
            c.cycle.image.push(ImageStep { work, start: now - took, end: now, bytes: 0 });
            c.cycle.mode = Mode::Disk;
            c.last = c.last.max(now);
        }
        self.c.covered = now;
        if phase == Phase::Noirq {
            self.c.sleep_from = Some(now);
        }
        true
    }

    /// Whether a line says that the image is whole: it was copied since the line before
    /// (kernel/power/snapshot.c:swsusp_save), and nothing slept yet.
    pub(super) fn copies(&mut self, text: &[u8]) -> bool {
        if !text.starts_with(b"Image created (") {
            return false;
        }
        let made = self.c.image_made.filter(|made| *made < self.now);
        self.makes_image();
        let end = self.now;
        if let Some((start, c)) = made.zip(self.t.current()) {
            c.cycle.image.push(ImageStep { work: ImageWork::Copy, start, end, bytes: 0 });
        }
        true
    }

    /// An image is being made, with the system core down since the first line that said so
    /// (kernel/power/snapshot.c:swsusp_save counts pages, then copies them): what passes from
    /// there is no phase of devices.
    pub(super) fn makes_image(&mut self) {
        self.c.image_from = Some(self.now);
        match self.c.image_made.replace(self.now) {
            Some(_) => self.c.sleep_from = Some(self.now),
            None => self.core_is_down(),
        }
    }

    /// The image is made with the system core down (kernel/power/hibernate.c:create_image), of
    /// which no line tells: up to now that is the way down.
    pub(super) fn core_is_down(&mut self) {
        let now = self.now;
        self.c.sleep_from = Some(now);
        let last = self.t.current().and_then(|c| c.cycle.phases.last_mut());
        match last.filter(|p| p.phase == Phase::SyscoreSuspend) {
            Some(down) => down.end = now,
            None if self.c.syscore.is_none() => self.plain(Phase::SyscoreSuspend, now, now, 0),
            None => {}
        }
    }

    /// The open cycle has made an image, and another kernel begins: whether it is taken
    /// for the one that reads it.
    pub(super) fn reads_its_image(&mut self, release: &[u8]) -> bool {
        if self.restore.is_none() {
            let open = self.t.open_serial() != 0 && self.c.serial() == self.t.open_serial();
            let Some(made_at) = self.c.image_made.filter(|_| open) else { return false };
            // It was written since it was made, and its clock goes on from before that.
            let made = self.c.image_from.unwrap_or(made_at) - self.skew;
            self.restore =
                Some(Restore { made, made_at, begun: None, last: None, release: Vec::new() });
        }
        if let Some(restore) = self.restore.as_mut().filter(|_| !release.is_empty()) {
            restore.release = release.to_vec();
        }
        true
    }

    /// Whether a line of the kernel that reads an image meant anything; nothing if it is
    /// of another.
    pub(super) fn restoring(&mut self, r: &Record<'_>) -> Option<bool> {
        let restore = self.restore.as_mut()?;
        let text = marks::message(r.text);
        let entry = text.starts_with(b"suspend entry (") || text == b"hibernation entry";
        if entry || text.starts_with(b"Syncing filesystems") {
            let release = std::mem::take(&mut restore.release);
            self.restore = None;
            self.boot_of(&release);
            return None;
        }
        let jumped = |t: Ns| restore.last.is_none_or(|l| (t - l).0.abs() > PAUSE.0);
        let goes_on = |t: Ns| t + PAUSE > restore.made && t < restore.made + SOON && jumped(t);
        let image_runs = [&b"Enabling non-boot CPUs"[..], b"Basic memory bitmaps freed"];
        let back = image_runs.iter().any(|w| text.starts_with(w)) || text == b"hibernation exit";
        if back || r.time.is_some_and(goes_on) && !text.starts_with(b"Linux version ") {
            let took = restore.begun.zip(restore.last).map_or(Ns::ZERO, |(a, b)| b - a);
            let now = restore.made_at + took;
            match r.time {
                Some(time) => self.skew = now - time,
                None => self.now = now,
            }
            let made_at = restore.made_at;
            self.restore = None;
            // The image sleeps no longer than it is not read.
            self.wake(made_at);
            return None;
        }
        if held::begins_restore(text) {
            restore.begun = restore.begun.or(r.time);
        }
        restore.last = r.time.or(restore.last);
        let elapsed = restore.begun.zip(restore.last).map_or(Ns::ZERO, |(a, b)| b - a);
        let end = restore.made_at + elapsed;
        let Some((work, bytes, took)) = image::image_step(text) else { return Some(false) };
        if let Some(c) = self.t.current() {
            c.cycle.image.push(ImageStep { work, start: end - took, end, bytes });
            c.last = c.last.max(end);
        }
        Some(true)
    }
}
