//! Hibernation (kernel/power/hibernate.c, snapshot.c, swap.c).

use super::{found, lines};
use crate::Case;
use crate::fact::Fact;
use crate::finding::{Area, Confidence, Finding, Level};
use crate::message::Message;
use alloc::string::ToString;
use alloc::vec::Vec;

pub fn judge(case: &Case, out: &mut Vec<Finding>) {
    let all =
        |word: &str| -> Vec<&Message> { case.messages.iter().filter(|m| m.has(word)).collect() };
    let short = all(" pages short");
    if let Some(m) = short.iter().find(|m| m.says("Image allocation is ")) {
        let pages = m.after("Image allocation is ").and_then(|r| r.split(' ').next());
        out.push(found(
            ("hib-image-short", Area::Hibernation, Level::Broken),
            Confidence::Certain,
            Fact::ImageShort { pages: pages.unwrap_or("").to_string() },
            lines([*m]),
        ));
    }
    let swap: Vec<&Message> = case
        .messages
        .iter()
        .filter(|m| m.says("Cannot find swap device") || m.says("Not enough free swap"))
        .collect();
    if !swap.is_empty() {
        out.push(found(
            ("hib-no-swap", Area::Hibernation, Level::Broken),
            Confidence::Certain,
            Fact::NoSwap { none: swap[0].says("Cannot") },
            lines(swap),
        ));
    }
    let other = all("Image mismatch: ");
    if !other.is_empty() {
        out.push(found(
            ("hib-other-kernel", Area::Hibernation, Level::Broken),
            Confidence::Certain,
            Fact::ImageOfOther,
            lines(other),
        ));
    }
    let load: Vec<&Message> = case
        .messages
        .iter()
        .filter(|m| m.says("Failed to load image") || m.says("Failed to load hibernation image"))
        .collect();
    if !load.is_empty() {
        out.push(found(
            ("hib-load-failed", Area::Hibernation, Level::Broken),
            Confidence::Certain,
            Fact::ImageUnread,
            lines(load),
        ));
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
            out.push(found(
                ("hib-crash", Area::Hibernation, Level::Broken),
                Confidence::Likely,
                Fact::HibernationCrash,
                lines([m]),
            ));
            break;
        }
    }
}
