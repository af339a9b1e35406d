//! CPU idle states (the kernel's cpuidle): which state a governor chooses, why,
//! and what that costs.
//!
//! Times are integer nanoseconds (`i64`, as the kernel's `s64`), unless a name
//! says otherwise. Nothing here does I/O.
#![forbid(unsafe_code)]

pub mod absent;
pub mod beside;
pub mod contrast;
pub mod cpulist;
pub mod decided;
pub mod doubt;
pub mod energy;
pub mod exits;
pub mod fault;
pub mod governors;
pub mod knob;
pub mod late;
pub mod limit;
pub mod named;
pub mod oracle;
pub mod pack;
pub mod powertop;
pub mod predict;
pub mod reads;
pub mod realtime;
pub mod section;
pub mod snapshot;
pub mod state;
pub mod tally;
pub mod ticks;
pub mod together;
pub mod trust;
pub mod tune;
pub mod turbostat;
pub mod turns;
pub mod verdict;
pub mod wake;
