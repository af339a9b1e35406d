//! The kernel's rules for a disk's clock and sleep, as arithmetic: one file a
//! mechanism.
//!
//! | file | mechanism | where the kernel has it |
//! |---|---|---|
//! | `ondemand` | devfreq's governor simple_ondemand | drivers/devfreq/governor_simpleondemand.c, 6.12 and 7.2 |
//! | `disk` | arrivals, queue, service, and when each of the others acts | drivers/devfreq/devfreq.c, drivers/base/power/runtime.c, block/blk-pm.c, 6.12 |
//! | `settings` | what can be set, and what a disk is like | |
//! | `again` | sleeps of a recording decided again, with other delays | |

pub mod again;
pub mod disk;
pub mod ondemand;
pub mod settings;
