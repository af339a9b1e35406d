//! Ideas from the discussion around the merged series, each as one difference
//! to the newest kernel, so that its effect can be seen alone.

use super::{Ends, Evidence, Finished, G4, Policy, Walk};

/// Suspend starts leaves up front, but a finished device triggers nothing:
/// everything else is queued when the walk reaches it.
pub const LEAVES_ONLY: Policy = Policy {
    name: "leaves-only",
    kernels: "idea, in no kernel",
    title: "G4 that starts leaves up front but triggers no parents",
    source: "idea: the first half of the 6.16 suspend series alone",
    evidence: Evidence::Proposal,
    suspend: Walk { finished: Finished::Nothing, ..G4.suspend },
    ..G4
};

/// Almost nothing on a real machine is a root, so the first resume pass finds
/// little to start; here it takes the children of roots as well.
pub const ROOTS_AND_CHILDREN: Policy = Policy {
    name: "roots-and-children",
    kernels: "idea, in no kernel",
    title: "G4 that starts roots and their children up front on resume",
    source: "idea: widen the first pass of the 6.16 resume series",
    evidence: Evidence::Proposal,
    resume: Walk { ends: Ends::RootsAndChildren, ..G4.resume },
    ..G4
};

/// A leaf without consumers has nothing to wait for when suspending, so it does
/// not look.
pub const NO_LEAF_WAIT: Policy = Policy {
    name: "no-leaf-wait",
    kernels: "idea, in no kernel",
    title: "G4 that skips the wait of a leaf without consumers",
    source: "idea: test before dpm_wait_for_subordinate()",
    evidence: Evidence::Proposal,
    suspend: Walk { skip_empty_wait: true, ..G4.suspend },
    ..G4
};

/// A device without superiors does not take the list mutex in the wait for
/// them.
pub const ROOT_TEST: Policy = Policy {
    name: "root-test",
    kernels: "idea, in no kernel",
    title: "G4 that tests for a root inside the wait for superiors",
    source: "idea: test before the mutex in dpm_wait_for_superior()",
    evidence: Evidence::Proposal,
    resume: Walk { skip_empty_wait: true, ..G4.resume },
    ..G4
};

/// What a device and its parent both depend on is waited for once.
pub const NO_REPEAT: Policy = Policy {
    name: "no-repeat",
    kernels: "idea, in no kernel",
    title: "G4 that waits only once for a supplier of a device and its parent",
    source: "idea: test in dpm_wait_for_suppliers() and its mirror",
    evidence: Evidence::Proposal,
    suspend: Walk { skip_repeated: true, ..G4.suspend },
    resume: Walk { skip_repeated: true, ..G4.resume },
    ..G4
};
