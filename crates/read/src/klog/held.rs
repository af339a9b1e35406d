//! What a log keeps until it knows what it belongs to.

use super::prefix::Record;
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;

/// The end of a callback whose begin did not come.
pub(crate) struct Loose {
    pub(super) owner: Box<[u8]>,
    pub(super) function: Box<[u8]>,
    pub(super) error: i32,
    pub(super) took: Ns,
    pub(super) at: u64,
    pub(super) timed: bool,
    /// The line is a row of a table and cannot be anything else.
    pub(super) row: bool,
    /// The duration holds what the device waited for its parent, and devices of
    /// several subsystems share the name: the longest counts, not their sum.
    pub(super) with_waits: bool,
}

/// Where the way down was given up.
#[derive(Clone, Copy)]
pub(super) struct Refusal {
    /// The phase that the first line of the refusal names.
    pub(super) phase: Phase,
    /// When its last line came.
    pub(super) at: Ns,
    /// What lies before it was laid out.
    pub(super) laid_out: bool,
}

/// Reading the image of the open cycle.
pub(super) struct Restore {
    /// When the image was made, by its clock as the log shows it and as the cycle counts.
    pub(super) made: Ns,
    pub(super) made_at: Ns,
    /// When the kernel that reads began with it, and its last word, by its own clock.
    pub(super) begun: Option<Ns>,
    pub(super) last: Option<Ns>,
    /// Its release, if the log tells.
    pub(super) release: Vec<u8>,
}

/// Whether a message is the first that a kernel says before it reads an image
/// (kernel/power/hibernate.c:software_resume, kernel/power/swap.c:swsusp_check, 3.0 to 7.3).
pub(super) fn begins_restore(message: &[u8]) -> bool {
    const WORDS: [&[u8]; 4] = [
        b"resume from hibernation",
        b"Image signature found, resuming",
        b"Preparing processes for restore.",
        b"Preparing processes for hibernation restore.",
    ];
    WORDS.contains(&message)
}

/// Whether a message says that an image could not be made or written
/// (kernel/power/hibernate.c:create_image, kernel/power/swap.c:swsusp_write, 6.1 to 7.3), or
/// that memory has no room for one (kernel/power/snapshot.c:hibernate_preallocate_memory, 2.6.32
/// to 7.3, which gives up with -ENOMEM then).
pub(super) fn not_written(message: &[u8]) -> bool {
    const WORDS: [&[u8]; 3] =
        [b"Cannot find swap device", b"Cannot get swap writer", b"Not enough free swap"];
    let is = |end: &[u8]| message.starts_with(b"Error ") && message.ends_with(end);
    let creating = is(b" creating image") || is(b" creating hibernation image");
    let short = message.starts_with(b"Image allocation is ") && message.ends_with(b" pages short");
    creating || short || WORDS.iter().any(|w| message.starts_with(w))
}

/// Where the last lines of a log stand, in it and in an attempt.
#[derive(Default)]
pub(super) struct Place {
    /// The whole second of the line, where it has no better time.
    pub(super) second: Option<(bool, i64)>,
    /// How far an attempt was by its last line that tells.
    pub(super) way: Option<usize>,
    /// The last line with a time.
    pub(super) stamped: u64,
    /// The words above name a sleep.
    sleep: bool,
    /// They name a module that is loaded or unloaded, or another kernel that is started.
    module: bool,
}

impl Place {
    /// Takes in words that are no message.
    pub(super) fn words(&mut self, r: &Record<'_>) {
        const SLEEP: [&[u8]; 5] = [b"uspend", b"leep", b"ibernat", b"esume", b"tandby"];
        const MODULE: [&[u8]; 5] = [b"rmmod ", b"insmod ", b"modprobe ", b" unload", b"kexec"];
        self.sleep |= SLEEP.iter().any(|w| r.has(w));
        self.module |= MODULE.iter().any(|w| r.has(w));
    }

    /// Whether a freezing of tasks is of no sleep, by those words: others ask for it too
    /// (kernel/power/process.c:freeze_processes, by modules and kernel/kexec_core.c:kernel_kexec).
    pub(super) fn is_of_a_module(&self) -> bool {
        self.module && !self.sleep
    }
}
