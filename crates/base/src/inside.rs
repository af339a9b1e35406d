//! What ran inside a callback, where functions were probed beside it.

use crate::device::DeviceId;
use crate::names::Sym;
use crate::phase::Phase;
use crate::time::Ns;

/// A call of a probed function that is at least so long is a long one: msleep(20) and what
/// waits for a device, not a lock or a register.
pub const LONG: Ns = Ns(20_000_000);

/// Calls of a probed function that no other probed function made: what the callbacks of a device
/// in one phase waited for, as their own code asked for it. Those of a callback do not overlap,
/// so their times are no longer than the callback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Whose callbacks.
    pub device: DeviceId,
    /// In which phase.
    pub phase: Phase,
    /// The function, as the probe is called.
    pub function: Sym,
    /// Who called it; empty if the recording does not say.
    pub caller: Sym,
    /// What it was asked for: a firmware's name, an ACPI method; empty if nothing is recorded.
    pub what: Sym,
    /// Who held the mutex longest meanwhile; empty if it is no mutex, or nobody knows.
    pub holder: Sym,
    /// The device in whose callback the holder was.
    pub holds_for: Option<DeviceId>,
    /// How many calls ended.
    pub calls: u64,
    /// How many of them had a return that the probe missed.
    pub missed: u64,
    /// From calls to returns.
    pub total: Ns,
    /// The shortest call.
    pub least: Ns,
    /// The longest.
    pub most: Ns,
}

/// Calls of one probed function inside the callbacks of one device in one phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inside {
    /// Whose callbacks.
    pub device: DeviceId,
    /// In which phase.
    pub phase: Phase,
    /// The function, as the probe is called.
    pub function: Sym,
    /// From calls to returns; of a function that calls itself the outermost call counts.
    pub total: Ns,
    /// That less what other probed functions inside it took. The own times of all functions of
    /// a callback are no longer than the callback.
    pub own: Ns,
    /// Own time of calls that have at least [`LONG`] of it.
    pub long: Ns,
    /// How many calls ended.
    pub calls: u64,
    /// How many of them had a return that the probe missed: they took no longer than until the
    /// thread did something else.
    pub missed: u64,
}
