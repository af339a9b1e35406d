//! Functions inside callbacks: probes at the begin (`NAME_cal`) and at the return (`NAME_ret`)
//! of functions, as pm-graph sets them with its option `-dev` (sleepgraph.py,
//! `addKprobes`).

use dormouse_base::names::Sym;
use dormouse_base::time::Ns;
use std::collections::HashMap;

/// Whether `name` is such a probe.
pub(crate) fn is_probe(name: &[u8]) -> bool {
    function(name).is_some()
}

/// The function of a probe, and whether it is the call.
pub(super) fn function(name: &[u8]) -> Option<(&[u8], bool)> {
    let end = name.len().checked_sub(4).filter(|&n| n > 0)?;
    match name.split_at(end) {
        (function, b"_cal") => Some((function, true)),
        (function, b"_ret") => Some((function, false)),
        _ => None,
    }
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
}

/// Probes of the cycle being assembled.
#[derive(Debug, Default)]
pub(super) struct Probes {
    /// Per thread.
    pub open: Vec<Vec<Open>>,
    /// Where in the list a callback's function is.
    pub place: HashMap<(u32, Sym), u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_is_told_by_its_end() {
        assert_eq!(function(b"msleep_cal"), Some((&b"msleep"[..], true)));
        assert_eq!(
            function(b"mutex_lock_slowpath_ret"),
            Some((&b"mutex_lock_slowpath"[..], false))
        );
        assert!(!is_probe(b"_cal") && !is_probe(b"rpm_return") && !is_probe(b"sched_switch"));
    }
}
