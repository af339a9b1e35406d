//! Storage power states: which wait made a request slow, and what the kernel's
//! rules for clocks and runtime power management would do with other settings.
//!
//! | file | holds |
//! |---|---|
//! | `request` | a request, what it does, and the moments of its life |
//! | `ledger` | requests from the block layer's events |
//! | `wait` | what a disk was doing while requests waited, and the slices of one |
//! | `summary` | which wait costs most over all requests |
//! | `runtime` | runtime power management of devices from `rpm_*` events |
//! | `levels` | power states of NVMe drives and statistics of devfreq |
//! | `fault` | what settings of drives prove to be wrong |
//! | `held` | what keeps devices awake, and what wakes them for nothing |
//! | `knobs` | settings as sysfs says them, and which contradict each other |
//! | `conflict` | what contradicting settings say, as a sentence |
//! | `beside` | requests of two traces beside each other |
//! | `recording` | what a trace holds |
//! | `load` | what a load measured by itself |
//! | `service` | what a request takes at which clock, from a recording |
//! | `simulate` | devfreq, UFS clocks, autosuspend and service as integer arithmetic |
//! | `trust` | when a model is near enough to what was recorded, and a saving large enough |
//! | `tune` | the delay before the sleep that meets a budget at least cost |
//! | `search` | the settings of a disk that meet a budget at least cost |
//! | `verdict` | a simulated load beside what a kernel measured of it |
//!
//! Times are integer nanoseconds (`i64`), unless a name says otherwise.
#![forbid(unsafe_code)]

pub mod beside;
mod conflict;
pub mod fault;
pub mod held;
pub mod knobs;
pub mod ledger;
pub mod levels;
pub mod load;
pub mod recording;
pub mod request;
pub mod runtime;
pub mod search;
pub mod service;
pub mod simulate;
pub mod summary;
pub mod trust;
pub mod tune;
pub mod verdict;
pub mod wait;
