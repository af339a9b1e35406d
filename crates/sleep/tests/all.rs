//! System sleep. One binary, because linking is most of the cost of a small
//! test; each file is a module of it.
// Tests and benches read files and clocks; the crate itself does not.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod acceptance;
mod analyse_simulated;
#[allow(dead_code, reason = "each module uses its own part")]
mod common;
mod compare_account;
mod compare_order;
mod energy;
mod plan;
mod simulate_aborts;
mod simulate_calibrate;
mod simulate_cases;
mod simulate_domains;
mod simulate_doubt;
mod simulate_infer;
mod simulate_pool;
mod simulate_properties;
mod simulate_shared;
mod simulate_trips;
mod tune;
