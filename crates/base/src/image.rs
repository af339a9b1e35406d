//! What a hibernation does with its image.

use crate::time::Ns;

/// One of the long steps of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageWork {
    /// Memory is freed and set aside for it.
    Allocate,
    /// Memory is copied into it, by one CPU with interrupts off.
    Copy,
    /// It is written to the swap device.
    Write,
    /// It is read back.
    Read,
    /// The kernel that read it stops its own devices: then the image runs.
    Quiesce,
}

impl ImageWork {
    /// In the order of their numbers.
    pub const ALL: [ImageWork; 5] = [
        ImageWork::Allocate,
        ImageWork::Copy,
        ImageWork::Write,
        ImageWork::Read,
        ImageWork::Quiesce,
    ];

    /// `allocate`, `copy`, `write`, `read` or `quiesce`.
    pub fn name(self) -> &'static str {
        match self {
            ImageWork::Allocate => "allocate",
            ImageWork::Copy => "copy",
            ImageWork::Write => "write",
            ImageWork::Read => "read",
            ImageWork::Quiesce => "quiesce",
        }
    }
}

/// A step of the image, as the kernel reports it when it is done
/// (`swsusp_show_speed`, kernel/power/hibernate.c).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageStep {
    /// Which.
    pub work: ImageWork,
    /// Begin: the end without the printed time, which has hundredths of a
    /// second.
    pub start: Ns,
    /// End: when the line was printed.
    pub end: Ns,
    /// How much, in bytes; 0 of a copy, which the kernel counts in pages, and of devices.
    pub bytes: u64,
}
