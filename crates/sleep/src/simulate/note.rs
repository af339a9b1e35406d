//! What was changed on a machine, and what that changes: facts. Whoever shows
//! them words them. Devices are named, so that a note can be told without its
//! board.

use super::Policy;
use super::ratio::Ratio;
use super::way::Way;
use dormouse_base::phase::Direction;
use dormouse_base::time::Ns;
use dormouse_board::rest::Start;

/// One fact.
#[derive(Clone, Debug)]
pub enum Note {
    /// `/sys/power/pm_async` is this now.
    PmAsync(bool),
    /// The machine has so many CPUs now.
    Cpus(u32),
    /// Devices have this async flag now.
    Flags {
        /// Those that had another one.
        changed: Vec<String>,
        /// Asynchronous.
        on: bool,
        /// What was asked for.
        pattern: String,
    },
    /// Devices are asynchronous, and `pm_async` is 0.
    NothingRunsAsync,
    /// Callback times of devices are multiplied.
    Scaled {
        /// The devices.
        devices: Vec<String>,
        /// By how much.
        by: Ratio,
    },
    /// What callbacks of devices wait for in a function is multiplied.
    ScaledInside {
        /// The devices.
        devices: Vec<String>,
        /// The function, as it was asked for.
        function: String,
        /// By how much.
        by: Ratio,
        /// What all of it took.
        was: Ns,
        /// What it takes now.
        is: Ns,
    },
    /// Callbacks of devices run in another phase.
    Moved {
        /// The devices.
        devices: Vec<String>,
        /// From where to where.
        way: Way,
    },
    /// Power domains are as words of their line say.
    Domains {
        /// Which.
        domains: Vec<String>,
        /// How.
        words: String,
    },
    /// Devices may take so long to wake, or any time.
    Qos {
        /// Which.
        devices: Vec<String>,
        /// How long, if there is a limit; 0 keeps them awake.
        tolerance: Option<Ns>,
        /// Devices that are awake for it before the sleep, and were not.
        held: Vec<String>,
        /// Power domains that begin the sleep otherwise: now and then.
        domains: Vec<(String, Start, Start)>,
        /// A domain of theirs has a governor; without one nobody asks.
        governed: bool,
    },
    /// Devices that are suspended at run time are left so.
    LeftSuspended {
        /// The devices.
        devices: Vec<String>,
    },
    /// Devices are gone.
    Removed {
        /// Those asked for.
        devices: Vec<String>,
        /// What depends on them.
        also: Vec<String>,
    },
    /// Other rules.
    Scheduling(&'static Policy, &'static Policy),
    /// A half hardly changes.
    Hardly {
        /// Which half.
        half: Direction,
        /// Its time after the change.
        is: Ns,
        /// Why.
        why: Limit,
    },
    /// Whose part of the critical path of a half changed: device (or time
    /// between callbacks), before, after; the largest parts first.
    Path(Direction, Vec<(Option<String>, Ns, Ns)>),
    /// A device of the path no longer waits for another one.
    NoLonger {
        /// In which half.
        half: Direction,
        /// Who.
        device: String,
        /// For whom.
        awaited: String,
        /// It was a wait for its turn, not for a dependency.
        turn: bool,
        /// How much later it starts; earlier if negative.
        by: Ns,
    },
}

/// What keeps a half from changing.
#[derive(Clone, Copy, Debug)]
pub enum Limit {
    /// The longest chain of dependent devices takes so long.
    Chain(Ns),
    /// The synchronous devices, one after the other, take so long.
    Synchronous(Ns),
    /// What was changed is not long on its path.
    OffPath,
}
