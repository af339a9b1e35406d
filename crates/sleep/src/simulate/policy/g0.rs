//! G0: everything on the main thread.
//!
//! Any kernel with `/sys/power/pm_async` = 0 (or `pm_trace` on): a device is
//! asynchronous only if `async_suspend && pm_async_enabled && !pm_trace`. The
//! walk then is a strict sequence in list order, backwards when suspending;
//! nothing ever waits.

use super::{Evidence, G1, Policy};

/// `pm_async` = 0.
pub const G0: Policy = Policy {
    name: "G0",
    kernels: "every kernel with pm_async 0",
    title: "fully synchronous (pm_async=0)",
    source: "every kernel, is_async() in drivers/base/power/main.c",
    evidence: Evidence::Kernel("6.1, 6.12, 7.2"),
    workers: false,
    ..G1
};
