//! Readers. One binary, because linking is most of the cost of a small
//! test; each file is a module of it.

mod ahead;
mod binary_damage;
mod capture_file;
mod cases;
mod clocks;
mod corpus;
mod counters;
mod damaged_back;
mod doctor;
mod domains;
mod dresses;
mod dtb;
mod firmware;
mod formats;
mod ftrace_text;
mod halves;
mod idle;
mod idle_mails;
mod idle_oracle;
mod inside;
#[allow(dead_code, reason = "each module uses its own part")]
#[path = "support/invariants.rs"]
mod invariants;
mod keeper;
mod kernel_log;
mod letters;
mod lost;
mod night;
mod nights;
mod oracle;
mod perfetto_oracle;
mod pieces;
mod posted;
mod probing;
#[path = "../../../fuzz/readers.rs"]
mod readers;
mod reports;
mod robustness;
mod same_events;
mod silent;
mod storage;
mod storage_damage;
mod subjects;
#[allow(dead_code, reason = "each module uses its own part")]
mod support;
#[allow(dead_code, reason = "each module uses its own part")]
#[path = "support/synthetic.rs"]
mod synthetic;
mod timeline;
mod tracedat_oracle;
mod trouble;
mod udev;
mod wall_clock;
mod way;
mod weighed;

/// Seconds of processor that this thread has taken: what a reader takes, however busy the
/// machine is.
fn processor() -> std::time::Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    now.try_into().expect("no negative time")
}
