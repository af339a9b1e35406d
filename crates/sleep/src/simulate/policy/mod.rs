//! What a kernel generation does with a device when it is reached, finished or
//! triggered. The engine is the same for all; a policy is one constant.
//!
//! Each file holds the rules of one generation and says where they come from.
//! A later generation is written as its difference to the one before, so that
//! the files read as the history of `drivers/base/power/main.c`.

mod g0;
mod g1;
mod g1w;
mod g2;
mod g3;
mod g4;
mod gs;
mod ideas;
mod readiness;
mod series;

pub use g0::G0;
pub use g1::{G1, G1_BEFORE_5_6};
pub use g1w::G1W;
pub use g2::G2;
pub use g3::G3;
pub use g4::G4;
pub use gs::{GS, GS_PACKED};
pub use ideas::{LEAVES_ONLY, NO_LEAF_WAIT, NO_REPEAT, ROOT_TEST, ROOTS_AND_CHILDREN};
pub use readiness::{DC, DCW};
pub use series::SERIES;

use dormouse_base::device::LinkKind;
use dormouse_base::phase::Direction;

/// How far the predictions of a policy were compared with running kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// Worked cases were run on a kernel of this generation.
    Kernel(&'static str),
    /// Rules are read from source, a patch or a disassembly; no kernel ran them.
    NotHeld(&'static str),
    /// No kernel has these rules.
    Proposal,
}

/// Which device starts before the walk reaches it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstPass {
    /// None.
    Nothing,
    /// Every asynchronous device is queued.
    QueueAll,
    /// Asynchronous devices at the end of the graph are queued: leaves when
    /// suspending, roots when resuming, as [`Walk::ends`] defines them.
    QueueEnds,
    /// Asynchronous devices whose dependencies are all done are started.
    StartReady,
}

/// Which devices count as ends of the graph (leaves or roots).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// No child (suspend) or no parent (resume).
    Tree,
    /// And no link at all on that side, whatever its state.
    TreeAndLinks,
    /// As `TreeAndLinks`; when resuming also the children of roots.
    RootsAndChildren,
    /// Suspending, whoever would not wait; resuming as `TreeAndLinks`, but for parents
    /// that have nothing to do.
    Unhindered,
}

/// What the walk of the main thread does with an asynchronous device it
/// reaches; a synchronous one it runs itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// It is marked not done and queued now, ready or not.
    InitAndQueue,
    /// It was queued by the first pass.
    Leave,
    /// It is queued now unless somebody has done so before.
    Claim,
    /// Somebody starts it when it is ready. The walk runs every synchronous
    /// device, also those without a callback.
    LeaveToOthers,
    /// As `LeaveToOthers`, but the walk runs only synchronous devices that have
    /// something to run, and waits for each until it is ready.
    InOrder,
    /// As `InOrder`, but the walk takes the first *ready* one of the list.
    FirstReady,
}

/// What a finished device starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finished {
    /// Nothing.
    Nothing,
    /// Parent or children are queued if asynchronous, ready or not.
    QueueTree,
    /// And suppliers or consumers.
    QueueTreeAndLinks,
    /// Dependents of which this was the last missing dependency are started.
    StartReady,
}

/// How one direction (three phases) is walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Walk {
    /// Before the walk.
    pub first_pass: FirstPass,
    /// Which devices `FirstPass::QueueEnds` means.
    pub ends: Ends,
    /// When the walk comes to an asynchronous device.
    pub reached: Reached,
    /// When a device is done.
    pub finished: Finished,
    /// The list mutex is released around every device, not only around the
    /// synchronous ones that the main thread runs.
    pub unlock_each: bool,
    /// Workers wait for dependencies. Otherwise they are started only when
    /// there is nothing to wait for.
    pub workers_wait: bool,
    /// A device without dependencies on the waiting side does not enter the
    /// wait at all (and takes no list mutex there).
    pub skip_empty_wait: bool,
    /// A device whose parent has the same supplier does not look at that again, nor
    /// the supplier at it: the parent stands between.
    pub skip_repeated: bool,
}

/// What happens to the devices that an aborted suspend phase did not reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// They stay on their list: not suspended, not walked on the way back.
    Stays,
    /// They are completed and moved over; the way back filters them.
    Moves,
}

/// The rules of one generation or proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Short name such as `G4`.
    pub name: &'static str,
    /// Which kernels have these rules, by their releases.
    pub kernels: &'static str,
    /// What it is, in a phrase.
    pub title: &'static str,
    /// Which kernels, commits or messages the rules come from.
    pub source: &'static str,
    /// What the rules were held against.
    pub evidence: Evidence,
    /// Devices may run in workers at all.
    pub workers: bool,
    /// suspend, late, noirq.
    pub suspend: Walk,
    /// noirq, early, resume.
    pub resume: Walk,
    /// `SYNC_STATE_ONLY` links are waited for.
    pub waits_sync_state_only: bool,
    /// The wait for superiors looks at the parent under the list mutex, to
    /// survive devices that are deleted meanwhile (commit 0552e05fdfea, 5.6).
    pub parent_under_lock: bool,
    /// Devices that an abort left behind.
    pub rest: Rest,
    /// A syscore device counts as late-suspended.
    pub syscore_is_late: bool,
    /// Dependencies against the list order count. Where a completion is marked
    /// not done only when the walk arrives, they are silently not waited for;
    /// where all are marked up front, they are, and may deadlock.
    pub counts_against_order: bool,
    /// Workers run on the slowest CPUs alone, as the energy-aware scheduler puts
    /// short tasks there where CPUs differ.
    pub packs_workers: bool,
    /// The walk passes devices that have nothing to do, and whoever waits for one first
    /// handles it.
    pub passes_inert: bool,
}

impl Policy {
    /// The rules for one direction.
    pub fn walk(&self, direction: Direction) -> &Walk {
        match direction {
            Direction::Suspend => &self.suspend,
            Direction::Resume => &self.resume,
        }
    }

    /// Whether an asynchronous device is queued only when the walk of the main
    /// thread reaches it, and therefore not before the synchronous devices ahead
    /// of it have returned.
    pub(crate) fn queues_in_walk(&self, direction: Direction) -> bool {
        self.walk(direction).reached == Reached::InitAndQueue
    }

    /// Whether a link of this kind is waited for.
    pub fn waits_for(&self, kind: LinkKind) -> bool {
        match kind {
            LinkKind::Stateless | LinkKind::Active => true,
            LinkKind::Dormant => false,
            LinkKind::SyncStateOnly | LinkKind::Cycle | LinkKind::Proxy => {
                self.waits_sync_state_only
            }
        }
    }

    /// Whether running kernels agree with these rules.
    pub fn is_verified(&self) -> bool {
        matches!(self.evidence, Evidence::Kernel(_))
    }

    /// The policy called `name`, in any case.
    pub fn find(name: &str) -> Option<&'static Policy> {
        ALL.iter().copied().find(|p| p.name.eq_ignore_ascii_case(name))
    }
}

/// Every policy: generations in order of time, then proposals and ideas.
pub static ALL: [&Policy; 16] = [
    &G0,
    &G1,
    &G1W,
    &GS,
    &GS_PACKED,
    &G2,
    &G3,
    &G4,
    &DC,
    &DCW,
    &SERIES,
    &LEAVES_ONLY,
    &ROOTS_AND_CHILDREN,
    &NO_LEAF_WAIT,
    &ROOT_TEST,
    &NO_REPEAT,
];

/// The kernels and the unmerged series: what `--all-kernels` compares.
pub static KERNELS: [&Policy; 7] = [&G0, &G1W, &G1, &GS, &G2, &G3, &G4];
