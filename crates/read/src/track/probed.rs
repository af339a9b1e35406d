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

/// The kernel's own events where somebody begins to wait for a lock, and where it is had
/// (include/trace/events/lock.h, 6.1 and 6.12).
pub(super) const WANTED: &[u8] = b"contention_begin";
pub(super) const HAD: &[u8] = b"contention_end";

/// Whether `name` is such a probe, or tells when what one waits for is over.
pub(crate) fn is_probe(name: &[u8]) -> bool {
    function(name).is_some() || name == WANTED || name == HAD
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

/// A call that has not returned.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    pub callback: u32,
    pub function: Sym,
    /// Who called it, where the call says so; empty otherwise.
    pub caller: Sym,
    pub start: Ns,
    /// What probed functions inside it took.
    pub inner: Ns,
    /// What of that is the same function's, as far as it was counted.
    pub same: Ns,
    /// What it was asked for.
    pub what: Sym,
    /// The mutex that it waits for.
    pub lock: Option<u64>,
    /// That one as the kernel's own events print it, which may hide where it lies.
    pub printed: Option<u64>,
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
}
