//! The kernel's rules for a disk's clock and sleep, as arithmetic: one file a
//! mechanism.
//!
//! | file | mechanism | where the kernel has it |
//! |---|---|---|
//! | `ondemand` | devfreq's governor simple_ondemand | drivers/devfreq/governor_simpleondemand.c, 6.12 and 7.2 |
//! | `devfreq` | looks, limits, changes of the clock | drivers/devfreq/devfreq.c, 6.12; stopping when idle: drivers/ufs/core/ufshcd.c, 6.12 |
//! | `qos` | a clock raised while requests flow, on the host or on the disk | |
//! | `nap` | clock gating and runtime suspend | drivers/ufs/core/ufshcd.c, drivers/base/power/runtime.c, block/blk-pm.c, 6.12 |
//! | `disk` | queue, service, and when each of the others acts | |
//! | `energy` | what states and transitions cost, and when a rest pays | |
//! | `oracle` | who knows every arrival, and the rule that knows none | |
//! | `load` | who asks for requests | |
//! | `settings` | what can be set, and what a disk is like | |
//! | `again` | sleeps of a recording decided again, with other delays | |

pub mod again;
mod devfreq;
pub mod disk;
pub mod energy;
pub mod load;
mod nap;
pub mod ondemand;
pub mod oracle;
mod qos;
pub mod settings;
