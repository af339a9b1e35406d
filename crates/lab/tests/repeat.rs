//! Boots repeat byte for byte, whatever the host does meanwhile. Boots guests,
//! so ignored by default: `make lab-cases` runs it too, and `make lab-repeat`
//! does the same on every kernel with ten boots each.

use dormouse_core::board::generate::{Options, generate};
use dormouse_lab::capture::Wish;
use dormouse_lab::kernels;
use dormouse_lab::plan::Sleep;
use dormouse_lab::qemu::{Accel, Arch, Disturbance, Machine};
use dormouse_lab::repeat::repeat;
use std::time::Duration;

/// Four CPUs, because their turns are what chance changes first.
#[test]
#[ignore = "boots a guest: `make lab-cases` runs it, and `make test` with it"]
fn boots_are_the_same_on_a_disturbed_host_and_only_because_threads_keep_in_step() {
    let kernel = kernels::get(Arch::Amd64, "6.12").unwrap_or_else(|e| panic!("{e}"));
    let machine = Machine::new(Arch::Amd64, Accel::Icount, 4, &kernel.release);
    let board = generate(&Options { devices: 40, cpus: 4, ..Options::default() });
    let wish = Wish {
        board: Some(&board),
        sleep: Sleep::Platform,
        pm_async: true,
        cycles: 1,
        samples: 1,
        limit: Duration::from_secs(900),
    };
    let boots = |disturbance| {
        let r = repeat(&kernel, &machine, &wish, 2, disturbance, |_, _| {})
            .unwrap_or_else(|e| panic!("{e}"));
        println!("{}, 4 CPUs, {disturbance:?}: {r:?}", kernel.release);
        r.different
    };
    assert_eq!(boots(Disturbance::Jitter), 0);
    // Were nothing disturbed, or the comparison blind, this would be 0 as well.
    assert_eq!(boots(Disturbance::JitterAlone), 1);
}
