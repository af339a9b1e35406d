//! A trace without the events of callbacks, which are most of it.

use memchr::memmem::Finder;
use memchr::{memchr, memrchr};
use std::borrow::Cow;

/// `bytes` without the lines of callbacks: all that those say is names, which readers keep, and
/// times.
pub(crate) fn without_callbacks(bytes: &[u8]) -> Cow<'_, [u8]> {
    let finder = Finder::new(b": device_pm_callback_");
    let mut rest = bytes;
    let mut out = Vec::new();
    while let Some(at) = finder.find(rest) {
        let start = memrchr(b'\n', &rest[..at]).map_or(0, |n| n + 1);
        let end = memchr(b'\n', &rest[at..]).map_or(rest.len(), |n| at + n + 1);
        out.extend_from_slice(&rest[..start]);
        rest = &rest[end..];
    }
    if rest.len() == bytes.len() {
        return Cow::Borrowed(bytes);
    }
    out.extend_from_slice(rest);
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_callbacks_go_and_all_others_stay() {
        let of = |text: &str| {
            String::from_utf8(without_callbacks(text.as_bytes()).into_owned()).expect("text")
        };
        let event = " sh-1 [000] ..... 1.5: device_pm_callback_start: usb 3-4, parent: usb3";
        assert_eq!(
            of(&format!("# head\n{event}\nhostname=x\n{event}\n{event}")),
            "# head\nhostname=x\n"
        );
        assert_eq!(of(&format!("{event}\n")), "");
        assert_eq!(of("no event\n"), "no event\n");
        assert_eq!(of(""), "");
    }
}
