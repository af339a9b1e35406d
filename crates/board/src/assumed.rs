//! What is taken for granted of a machine, because its source does not say it,
//! and what was inferred from times: facts. Whoever shows them words them.

use crate::Times;
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;

impl Assumed {
    /// What is assumed of the times of a board.
    pub fn times(of: Times) -> Option<Assumed> {
        match of {
            Times::Measured => None,
            Times::Assumed => Some(Assumed::Times { invented: false }),
            Times::Invented => Some(Assumed::Times { invented: true }),
        }
    }
}

/// One assumption or inference. Devices are named, so that it can be told
/// without the board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Assumed {
    /// Every time of the board: none was measured. The machine itself is invented.
    Times {
        /// It has no other times.
        invented: bool,
    },
    /// The number of CPUs is not recorded; so many are taken.
    Cpus(u32),
    /// `pm_async` is not recorded; it is this, by whether callbacks ran in
    /// worker threads.
    PmAsync(bool),
    /// The async flags of so many devices are those of the thread of their
    /// callbacks.
    FlagsOfThreads(u32),
    /// The async flags of so many devices are not known: synchronous.
    FlagsUnknown(u32),
    /// So many devices vanish during the cycle: prepared, never completed.
    Vanished(u32),
    /// The order of devices is that in which the main thread ran them.
    Order,
    /// So many power domains have devices, and what switching them takes was not
    /// recorded: it is part of the devices' times.
    DomainsUnknown(usize),
    /// Links are not listed; only parents are waited for.
    Links,
    /// So many devices name a parent that the source does not list.
    Orphans(usize),
    /// Callbacks sleep; how much of them is computing is not known.
    CallbacksSleep,
    /// One cycle stands for all.
    OneCycle,
    /// Cycles that ended early are not used.
    LeftOut {
        /// So many.
        failed: usize,
        /// Of all that were recorded.
        of: usize,
    },
    /// No kernel is named; the times fit these rules, of which one is taken.
    Rules {
        /// Names of the rules that fit alike.
        fit: Vec<String>,
        /// The one taken.
        taken: String,
        /// What it does.
        title: String,
    },
    /// Silent devices are asynchronous: the main thread went on.
    WentOn {
        /// Names of the devices.
        devices: Vec<String>,
        /// What it went on to.
        next: Option<String>,
        /// What had not ended then.
        last: Option<String>,
    },
    /// Silent devices are synchronous: the main thread stood still at them.
    Stood {
        /// Names of the devices.
        devices: Vec<String>,
        /// What had to end first.
        last: Option<String>,
    },
    /// Silent devices of which nothing is seen have the flag of their
    /// subsystem: how many of which.
    Subsystems(Vec<(String, usize)>),
    /// One device waits for another, by the times alone.
    Waits {
        /// Who waits.
        waiter: Option<String>,
        /// For whom.
        awaited: Option<String>,
        /// In which phase.
        phase: Phase,
        /// How much later than anything else explains.
        late: Ns,
        /// How long after the other ended.
        gap: Ns,
        /// In how many phases.
        times: u32,
    },
    /// The same, seen in many cycles.
    WaitsAlways {
        /// Who waits.
        waiter: String,
        /// For whom.
        awaited: String,
        /// In which phase.
        phase: Phase,
        /// In how many of how many cycles.
        seen: (usize, usize),
    },
    /// One device works only when another has ended, although it starts first.
    WorksAfter {
        /// Who works later.
        waiter: String,
        /// After whom.
        awaited: String,
        /// In which phase.
        phase: Phase,
    },
    /// Devices exclude each other: a lock.
    Lock {
        /// Names of the devices.
        devices: Vec<String>,
        /// In which phases.
        phases: Vec<Phase>,
    },
    /// Every callback printed two lines, at up to this cost together.
    Printing(Ns),
    /// The input names no kernel; it is taken as one with the newest rules. How
    /// to name one, if there is a way.
    NewestKernel(Option<&'static str>),
    /// Kernels after the newest one that is known are taken to schedule as it
    /// does.
    BeyondKnowledge,
    /// Of so many devices without callbacks nothing tells whether they have runtime PM: they
    /// are taken to have none. 0: no device without callbacks is listed at all.
    Inert(usize),
    /// These rules (name, kernels) were verified on no kernel.
    Unverified(&'static str, &'static str),
    /// What the kernel's machinery costs is this profile's.
    Overhead(String),
    /// Worded already, by whoever made the page that it comes from.
    Said(String),
}
