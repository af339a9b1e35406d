//! Which thread of a recorded cycle is the main thread, and what the others
//! prove of the devices that ran in them.
//!
//! The thread that wrote `/sys/power/state` runs every synchronous device; a
//! callback in any other thread is an asynchronous device's (`async_schedule`,
//! kernel/async.c). A trace says which one wrote; a kernel log only names the
//! thread of each callback (`@ 1234`).

use dormouse_base::cycle::Cycle;

/// Which threads are the main thread: as the reader proved, or else the one
/// that ran most callbacks. A cycle whose source names no threads has none.
pub fn main_threads(cycle: &Cycle) -> Vec<bool> {
    let mut mains: Vec<bool> = cycle.threads.iter().map(|t| t.is_main == Some(true)).collect();
    if !mains.contains(&true) && cycle.threads.iter().any(|t| t.is_main.is_none()) {
        let load = load(cycle);
        let most = (0..load.len())
            .filter(|&i| cycle.threads[i].is_main.is_none())
            .max_by_key(|&i| (load[i], std::cmp::Reverse(i)));
        if let Some(i) = most {
            mains[i] = true;
        }
    }
    mains
}

/// How many callbacks each thread ran.
fn load(cycle: &Cycle) -> Vec<u32> {
    let mut load = vec![0u32; cycle.threads.len()];
    for c in &cycle.callbacks {
        if let Some(l) = load.get_mut(usize::from(c.thread.0)) {
            *l += 1;
        }
    }
    load
}
