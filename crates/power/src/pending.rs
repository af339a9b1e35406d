//! A supplier whose `sync_state` waits for consumers
//! (drivers/base/core.c:fw_devlink_dev_sync_state): it keeps what the boot loader
//! left on until all of them have probed.

use dormouse_base::finding::Evidence;

/// `DRV SUPPLIER: sync_state() pending due to CONSUMER`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    /// The supplier.
    pub supplier: String,
    /// Its driver or bus.
    pub driver: String,
    /// The consumer; empty if the kernel stopped waiting (`Forcing sync_state()`).
    pub consumer: String,
    /// The line.
    pub evidence: Evidence,
}
