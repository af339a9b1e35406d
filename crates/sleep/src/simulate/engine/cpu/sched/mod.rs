//! What a kernel's scheduler does when a thread is woken on a CPU that is busy.
//! It matters where CPUs take turns: before 6.6 a worker may come before the
//! main thread.

mod cfs;
mod eevdf;

pub(super) use cfs::Cfs;
pub(super) use eevdf::Eevdf;

use super::*;

/// The scheduler of a kernel.
pub(super) enum Sched {
    /// Before 6.6.
    Cfs(Cfs),
    /// From 6.6 on.
    Eevdf(Eevdf),
}

impl Sched {
    /// Worker `t` was made, when so much was computed.
    pub(super) fn made(&mut self, t: u32, computed: Ns) {
        match self {
            Sched::Cfs(s) => s.made(t, computed),
            Sched::Eevdf(_) => {}
        }
    }

    /// Whether worker `t`, woken on a CPU on which the main thread runs, runs
    /// before that goes on.
    pub(super) fn interrupts(&self, t: u32, computed: Ns) -> bool {
        match self {
            Sched::Cfs(s) => s.interrupts(t, computed),
            Sched::Eevdf(s) => s.interrupts(),
        }
    }

    /// Whether `t`, whose sleep is over, runs before threads that have waited for
    /// longer.
    pub(super) fn favours(&self, t: u32, computed: Ns) -> bool {
        match self {
            Sched::Cfs(s) => s.favours(t, computed),
            Sched::Eevdf(s) => s.favours(),
        }
    }

    /// Whether the main thread waits until no worker wants to run on its CPU.
    pub(super) fn main_comes_last(&self) -> bool {
        match self {
            Sched::Cfs(s) => s.main_comes_last(),
            Sched::Eevdf(s) => s.main_comes_last(),
        }
    }
}
