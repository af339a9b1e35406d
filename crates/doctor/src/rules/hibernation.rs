//! Hibernation (kernel/power/hibernate.c, snapshot.c, swap.c).

use super::{found, lines};
use crate::Case;
use crate::finding::{Advice, Area, Confidence, Finding, Level};
use crate::message::Message;
use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;

pub fn judge(case: &Case, out: &mut Vec<Finding>) {
    let all =
        |word: &str| -> Vec<&Message> { case.messages.iter().filter(|m| m.has(word)).collect() };
    let short = all(" pages short");
    if let Some(m) = short.iter().find(|m| m.says("Image allocation is ")) {
        let pages =
            m.after("Image allocation is ").and_then(|r| r.split(' ').next()).unwrap_or("some");
        out.push(
            found(
                ("hib-image-short", Area::Hibernation, Level::Broken),
                Confidence::Certain,
                format!("Hibernation failed: memory could not hold the image, {pages} pages were missing."),
                lines([*m]),
            )
            .with(Advice::look("Free memory first: close programs, empty tmpfs (shared memory cannot be dropped), check that swap has room for it."))
            .with(Advice {
                text: "Or ask for a smaller image: echo 0 > /sys/power/image_size.".to_string(),
                undo: "Write the old value back.",
                risk: "More is written to swap before, and read back after.",
            }),
        );
    }
    let swap: Vec<&Message> = case
        .messages
        .iter()
        .filter(|m| m.says("Cannot find swap device") || m.says("Not enough free swap"))
        .collect();
    if !swap.is_empty() {
        out.push(
            found(
                ("hib-no-swap", Area::Hibernation, Level::Broken),
                Confidence::Certain,
                if swap[0].says("Cannot") {
                    "Hibernation failed: the kernel found no swap to write the image to."
                } else {
                    "Hibernation failed: swap had no room for the image."
                }
                .to_string(),
                lines(swap),
            )
            .with(Advice::look("See swapon --show, and that resume= (and resume_offset= of a swap file) name that swap.")),
        );
    }
    let other = all("Image mismatch: ");
    if !other.is_empty() {
        out.push(
            found(
                ("hib-other-kernel", Area::Hibernation, Level::Broken),
                Confidence::Certain,
                "The image was made by another kernel or on another machine, so it was not read.".to_string(),
                lines(other),
            )
            .with(Advice::look("Boot the kernel that hibernated; after an update of the kernel, reboot before hibernating.")),
        );
    }
    let load: Vec<&Message> = case
        .messages
        .iter()
        .filter(|m| m.says("Failed to load image") || m.says("Failed to load hibernation image"))
        .collect();
    if !load.is_empty() {
        out.push(
            found(
                ("hib-load-failed", Area::Hibernation, Level::Broken),
                Confidence::Certain,
                "The image was found and could not be read back, so the machine booted afresh.".to_string(),
                lines(load),
            )
            .with(Advice::look("Look at the error before that line: -84 is damaged data, -1 a check that failed. Whatever lies between swap and disk must pass the image on unchanged.")),
        );
    }
    // A crash between the image's making and the end of the hibernation.
    for a in case.attempts.iter().filter(|a| a.mode == "hibernation") {
        let messages = case.of(a);
        let made = messages.iter().position(|m| m.says("Creating image") || m.says("Need to copy"));
        let Some(made) = made else { continue };
        let is = |m: &&Message| {
            ["Oops: ", "BUG: ", "Kernel panic", "Unable to handle kernel"]
                .iter()
                .any(|w| m.text.starts_with(w))
        };
        if let Some(m) = messages[made..].iter().find(is) {
            out.push(
                found(
                    ("hib-crash", Area::Hibernation, Level::Broken),
                    Confidence::Likely,
                    "The kernel crashed on the way back from hibernation, after the image was made.".to_string(),
                    lines([m]),
                )
                .with(Advice::look("Check that both kernels see the same memory map (the e820 lines of the two boots).")),
            );
            break;
        }
    }
}
