//! Lines that name the kernel's release.

use super::prefix::Record;
use crate::text;

/// The kernel release that a line names: an oops or warning (`CPU: 0 PID: 1 …
/// Not tainted 6.1.44 #1`), `uname -a` at a prompt (`Linux box 6.1.44 #1 …`),
/// the image that was booted, a USB root hub (`usb usb1: Manufacturer: Linux 6.1.44
/// xhci-hcd`, drivers/usb/core/hcd.c:rh_string), or the list of a bug reporter.
pub(super) fn release<'a>(r: &Record<'_>, text: &'a [u8]) -> Option<&'a [u8]> {
    let mut words = text.split(|&b| b == b' ').filter(|w| !w.is_empty());
    if text.starts_with(b"CPU: ") {
        let at = text::find(text, b"ainted")?;
        return text[at..].split(|&b| b == b' ').find(|w| is_release(w));
    }
    // kernel/hung_task.c:check_hung_task has it on a line of its own.
    if text.starts_with(b"Not tainted ") || text.starts_with(b"Tainted: ") {
        return words.find(|w| is_release(w)).filter(|_| memchr::memchr(b'#', text).is_some());
    }
    if words.next() == Some(b"Linux") {
        let release = words.nth(1).filter(|w| is_release(w))?;
        return words.next().is_some_and(|w| w.starts_with(b"#")).then_some(release);
    }
    if let Some(at) = text::find_known(text, &r.pairs, b"BOOT_IMAGE=") {
        let word = text[at..].split(|&b| b == b' ').next()?;
        let file = word.rsplit(|&b| b == b'/').next()?;
        let dash = memchr::memchr(b'-', file)?;
        return Some(&file[dash + 1..]).filter(|w| is_release(w));
    }
    if let Some(at) = text::find_known(text, &r.pairs, b": Manufacturer: Linux ") {
        let hub = text.starts_with(b"usb usb");
        let word = text[at..].split(|&b| b == b' ').nth(3)?;
        return Some(word).filter(|w| hub && is_release(w));
    }
    // AMD's script for s2idle marks it with a penguin.
    let marked = text.strip_prefix("\u{1f427} Kernel ".as_bytes());
    let rest = marked.or(text.strip_prefix(b"Kernel release:"))?;
    Some(rest.trim_ascii()).filter(|w| is_release(w))
}

/// `6.1.44`, `5.9.0-rc1-00026-g3395`, `4.6.0-rc4+`.
fn is_release(word: &[u8]) -> bool {
    let mut parts = word.splitn(3, |&b| b == b'.');
    let digits = |p: Option<&[u8]>| {
        p.is_some_and(|p| (1..=3).contains(&p.len()) && p.iter().all(u8::is_ascii_digit))
    };
    let tail = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'+' | b'_' | b'~');
    digits(parts.next())
        && digits(parts.next())
        && parts
            .next()
            .is_some_and(|p| p.first().is_some_and(u8::is_ascii_digit) && p.iter().all(tail))
}
