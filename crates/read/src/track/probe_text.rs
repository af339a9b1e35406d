//! What stands behind the name of a probe.

use crate::event::word;

/// Who called: from the text of a return, `(hub_port_debounce+0x5f/0x1a0 [usbcore] <- msleep)`, or
/// from `caller=hub_port_debounce+0x5f/0x1a0`. Empty if the kernel could not name it.
pub(super) fn caller(text: &[u8]) -> &[u8] {
    let returns = text.strip_prefix(b"(").and_then(|rest| {
        let end = rest.windows(4).position(|w| w == b" <- ")?;
        Some(&rest[..end])
    });
    returns.or_else(|| word(text, b"caller")).map_or(b"", symbol)
}

/// The name in `hub_port_debounce+0x5f/0x1a0`; empty of an address.
fn symbol(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|&b| b == b'+' || b == b' ').unwrap_or(text.len());
    if text.starts_with(b"0x") { b"" } else { &text[..end] }
}

/// The text in `name="…"`; it may hold blanks and quotes. Empty if there is none, or nothing could be read.
pub(super) fn quoted(text: &[u8]) -> &[u8] {
    const NAME: &[u8] = b"name=\"";
    let begins = |at: usize| text[at..].starts_with(NAME) && (at == 0 || text[at - 1] == b' ');
    let Some(begin) = (0..text.len()).find(|at| begins(*at)) else { return b"" };
    let rest = &text[begin + NAME.len()..];
    let end = rest.iter().rposition(|&b| b == b'"').unwrap_or(rest.len());
    &rest[..end]
}

/// The address in `lock=0xffff888003a1c0e0`.
pub(super) fn lock(text: &[u8]) -> Option<u64> {
    address(word(text, b"lock")?.strip_prefix(b"0x")?)
}

/// What is printed for an address in `ffff888003a1c0e0 (ret=0)`.
pub(super) fn printed(text: &[u8]) -> Option<u64> {
    let word = text.split(|&b| b == b' ').next()?;
    address(word.strip_prefix(b"0x").unwrap_or(word))
}

fn address(word: &[u8]) -> Option<u64> {
    u64::from_str_radix(std::str::from_utf8(word).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caller_stands_before_the_arrow() {
        assert_eq!(caller(b"(wait+0x19/0x20 <- usleep_range) arg1=0x0"), b"wait");
        assert_eq!(caller(b"(usb_wait+0x19/0x20 [usbcore] <- msleep)"), b"usb_wait");
        assert_eq!(caller(b"(0xffffffffc0401234 <- msleep)"), b"");
        assert_eq!(caller(b"(msleep+0x0/0x40) time=40"), b"");
        assert_eq!(caller(b"(finish_wait+0x4/0x90) caller=zorb+0x19/0x20 [zorb]"), b"zorb");
        assert_eq!(caller(b"(finish_wait+0x4/0x90) caller=0xffffffffc0401234"), b"");
        assert_eq!(caller(b""), b"");
    }

    #[test]
    fn what_a_call_was_asked_for_stands_behind_it() {
        assert_eq!(quoted(b"(_request_firmware+0x4/0x650) name=\"a b.bin\""), b"a b.bin");
        assert_eq!(quoted(b"(acpi_evaluate_object+0x4/0x300) name=(fault)"), b"");
        assert_eq!(quoted(b"(x) name=\"cut"), b"cut");
        assert_eq!(quoted(b"(_genpd_power_on+0x4/0x2c0) name=\"a \"b\" c\""), b"a \"b\" c");
        assert_eq!(quoted(b"(_genpd_power_on+0x4/0x2c0)"), b"");
        assert_eq!(quoted(b"(x) filename=\"y\""), b"");
        assert_eq!(
            lock(b"(__mutex_lock_slowpath+0x4/0x20) lock=0xffffffffc0a1"),
            Some(0xffff_ffff_c0a1)
        );
        assert_eq!(lock(b"(x) lock=0xzz"), None);
        assert_eq!(lock(b"(x) lock=7"), None);
        assert_eq!(printed(b"ffff888003a1c0e0 (ret=0)"), Some(0xffff_8880_03a1_c0e0));
        assert_eq!((printed(b""), printed(b"(ret=0)")), (None, None));
    }
}
