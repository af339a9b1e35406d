//! When a cycle was by the wall clock, and of which machine.

use super::kernel_log::capture;
use super::synthetic::{self, Generation};

#[test]
fn a_cycle_has_the_machine_and_the_wall_clock_that_its_lines_name() {
    type Dress = fn(u64, &str) -> String;
    let dresses: [(Dress, &str, bool); 6] = [
        (
            |us, t| {
                format!(
                    "Sep 01 10:11:{:02}.{:06} box kernel: {t}",
                    us / 1_000_000 % 60,
                    us % 1_000_000
                )
            },
            "box",
            false,
        ),
        (
            |us, t| {
                format!("Sep 01 10:11:{:02}.{:06} kernel: {t}", us / 1_000_000 % 60, us % 1_000_000)
            },
            "",
            false,
        ),
        (
            |us, t| format!("[{:5}.{:06}] box-2.lan kernel: {t}", us / 1_000_000, us % 1_000_000),
            "box-2.lan",
            false,
        ),
        (|us, t| format!("[{:5}.{:06}] {t}", us / 1_000_000, us % 1_000_000), "", false),
        (
            |us, t| {
                format!(
                    "2024-02-06T04:26:{:02}.{:06}+01:00 box kernel: {t}",
                    us / 1_000_000 % 60,
                    us % 1_000_000
                )
            },
            "box",
            true,
        ),
        (
            |us, t| {
                format!(
                    "<6>1 2024-02-06T04:26:{:02}.{:06}+01:00 box kernel - - - {t}",
                    us / 1_000_000 % 60,
                    us % 1_000_000
                )
            },
            "box",
            true,
        ),
    ];
    for (dress, host, dated) in dresses {
        let log = synthetic::log(Generation::Bare, dress);
        let c = capture(&log);
        assert_eq!(c.names.get(c.host_of(&c.cycles[0])), host, "{log}");
        let at = c.cycles[0].wall_clock().map(|t| t.0 / 60_000_000_000 * 60);
        assert_eq!(at, dated.then_some(1_707_189_960), "{log}");
    }
}
