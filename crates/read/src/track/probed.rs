//! Functions inside callbacks: probes at the begin (`NAME_cal`) and at the return (`NAME_ret`)
//! of functions, as pm-graph sets them with its option `-dev` (sleepgraph.py,
//! `addKprobes`) and `record --inside` does; that one also says at a begin alone who called
//! (`NAME_who`), where a return would cost more than it tells (crates/machine/src/inside.rs).

use dormouse_base::device::DeviceId;
use dormouse_base::names::Sym;
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;
use std::collections::HashMap;

/// What an event of a probe tells of its function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// It was called.
    Call,
    /// It returned.
    Return,
    /// It was called, and nobody looks for its return.
    Who,
}

/// Whether `name` is such a probe.
pub(crate) fn is_probe(name: &[u8]) -> bool {
    function(name).is_some()
}

/// The function of a probe, and what the probe tells.
pub(super) fn function(name: &[u8]) -> Option<(&[u8], Told)> {
    let end = name.len().checked_sub(4).filter(|&n| n > 0)?;
    match name.split_at(end) {
        (function, b"_cal") => Some((function, Told::Call)),
        (function, b"_ret") => Some((function, Told::Return)),
        (function, b"_who") => Some((function, Told::Who)),
        _ => None,
    }
}

/// Who called: from the text of a return, `(hub_port_debounce+0x5f/0x1a0 [usbcore] <- msleep)`, or
/// from `caller=hub_port_debounce+0x5f/0x1a0`. Empty if the kernel could not name it.
pub(super) fn caller(text: &[u8]) -> &[u8] {
    let returns = text.strip_prefix(b"(").and_then(|rest| {
        let end = rest.windows(4).position(|w| w == b" <- ")?;
        Some(&rest[..end])
    });
    returns.or_else(|| crate::event::word(text, b"caller")).map_or(b"", symbol)
}

/// The name in `hub_port_debounce+0x5f/0x1a0`; empty of an address.
fn symbol(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|&b| b == b'+' || b == b' ').unwrap_or(text.len());
    if text.starts_with(b"0x") { b"" } else { &text[..end] }
}

/// The text in `name="…"`; it may hold blanks. Empty if there is none, or nothing could be read.
pub(super) fn quoted(text: &[u8]) -> &[u8] {
    let Some(begin) = text.windows(7).position(|w| w == b" name=\"") else { return b"" };
    let rest = &text[begin + 7..];
    let end = rest.iter().rposition(|&b| b == b'"').unwrap_or(rest.len());
    &rest[..end]
}

/// The address in `lock=0xffff888003a1c0e0`.
pub(super) fn lock(text: &[u8]) -> Option<u64> {
    let word = crate::event::word(text, b"lock")?.strip_prefix(b"0x")?;
    u64::from_str_radix(std::str::from_utf8(word).ok()?, 16).ok()
}

/// A call that has not returned.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    pub callback: u32,
    pub function: Sym,
    pub start: Ns,
    /// What probed functions inside it took.
    pub inner: Ns,
    /// What of that is the same function's, as far as it was counted.
    pub same: Ns,
    /// What it was asked for.
    pub what: Sym,
    /// The mutex that it waits for.
    pub lock: Option<u64>,
    /// Who held that one longest so far, and in whose callback.
    pub holder: (Sym, Option<DeviceId>),
    /// How long that was, and until when is known who held it.
    pub held: (Ns, Ns),
}

/// A function that was called inside a callback, and by whom.
#[derive(Clone, Copy, Debug)]
pub(super) struct Who {
    pub callback: u32,
    pub function: Sym,
    pub caller: Sym,
}

/// What waits are told apart by.
pub(super) type Key = (DeviceId, Phase, [Sym; 4], Option<DeviceId>);

/// Probes of the cycle being assembled.
#[derive(Debug, Default)]
pub(super) struct Probes {
    /// Per thread.
    pub open: Vec<Vec<Open>>,
    /// Where in the list a callback's function is.
    pub place: HashMap<(u32, Sym), u32>,
    /// Where in its list a wait is.
    pub waits: HashMap<Key, u32>,
    /// Per thread, the last that said who called.
    pub who: Vec<Option<Who>>,
    /// Threads that wait for a mutex, by its address.
    pub locks: HashMap<u64, Vec<usize>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_is_told_by_its_end() {
        assert_eq!(function(b"msleep_cal"), Some((&b"msleep"[..], Told::Call)));
        assert_eq!(
            function(b"mutex_lock_slowpath_ret"),
            Some((&b"mutex_lock_slowpath"[..], Told::Return))
        );
        assert_eq!(function(b"x_who"), Some((&b"x"[..], Told::Who)));
        assert!(!is_probe(b"_cal") && !is_probe(b"rpm_return") && !is_probe(b"sched_switch"));
    }

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
        assert_eq!(
            lock(b"(__mutex_lock_slowpath+0x4/0x20) lock=0xffffffffc0a1"),
            Some(0xffff_ffff_c0a1)
        );
        assert_eq!(lock(b"(x) lock=0xzz"), None);
        assert_eq!(lock(b"(x) lock=7"), None);
    }
}
