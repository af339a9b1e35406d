//! Damaged texts of storage: whatever is cut, put in another order, wrapped, doubled or
//! glued, reading and judging ends without a panic, and says something or nothing.

use dormouse_read::storage::read_bytes;
use dormouse_storage::held::{broken_by_events, broken_by_settings, by_events, by_settings};
use dormouse_storage::held::{pointless, refused, short};
use dormouse_storage::summary::{Cpus, summarise};
use proptest::prelude::*;

/// Lines of every form that a reader of storage knows, times that are wrapped among them.
const LINES: [&str; 46] = [
    "# tracer: nop",
    "    app-7     [001] .....    10.000000: block_bio_queue: 8,0 W 4096 + 64 [app]",
    "    app-7     [001] .....    10.000001: block_split: 8,0 W 4096 / 4128 [app]",
    "    app-7     [001] .....    10.000002: block_getrq: 8,0 W 4096 + 32 [app]",
    "    app-7     [001] .....    10.000003: block_rq_insert: 8,0 W 16384 () 4096 + 32 none,0,0 [app]",
    "    app-7     [001] .....    10.000004: block_rq_issue: 8,0 W 16384 () 4096 + 32 none,0,0 [app]",
    "    app-7     [001] .....    10.000009: block_rq_requeue: 8,0 W () 4096 + 32 none,0,0 [0]",
    "    <idle>-0  [001] d.h..    10.000400: block_rq_complete: 8,0 W () 4096 + 16 none,0,0 [0]",
    "    <idle>-0  [001] d.h..    10.000401: block_rq_error: 8,0 W () 4112 + 16 none,0,0 [-5]",
    "    <idle>-0  [001] d.h.. 9223372036.854775: block_rq_complete: 8,0 W () 4096 + 32 none,0,0 [0]",
    "    <idle>-0  [001] d..1.     9.900000: cpu_idle: state=2 cpu_id=1",
    "    app-7     [002] .....    11.000000: block_rq_issue: 8,0 FF 0 () 18446744073709551615 + 0 [app]",
    "    app-7     [002] .....    11.000900: block_rq_complete: 8,0 FF () 18446744073709551615 + 0 [0]",
    "    app-7     [002] .....    11.001000: block_bio_remap: 8,0 R 99 + 8 <- (8,1) 11",
    "    app-7     [002] .....    11.001000: block_bio_backmerge: 8,0 R 18446744073709551615 + 4294967295 [app]",
    "    kw-9      [000] .....    12.000000: ufshcd_clk_gating: a.ufshc: gating state changed to REQ_CLKS_ON",
    "    kw-9      [000] .....    12.000300: ufshcd_clk_gating: a.ufshc: gating state changed to CLKS_ON",
    "    kw-9      [000] .....    12.300000: clk_disable: a_ufs_clk",
    "    kw-9      [000] .....    12.400000: clk_enable: a_ufs_clk",
    "    kw-9      [000] .....    12.500000: ufshcd_profile_clk_scaling: a.ufshc: scale_up: took 9223372036854 usecs, err 0",
    "    kw-9      [000] .....    13.000000: devfreq_monitor: dev_name=a.ufshc freq=100 polling_ms=60 load=12",
    "    kw-9      [000] .....    13.000000: devfreq_frequency: dev_name=a.ufshc freq=400 prev_freq=100",
    "    kw-9      [000] .....    14.000000: rpm_resume: 0:0:0:0 flags-1 cnt-1  dep-0  auto-1 p-0 irq-0 child-0",
    "    kw-9      [000] .....    14.100000: rpm_return_int: rpm_resume+0x1/0x2:0:0:0:0 ret=0",
    "    kw-9      [000] .....    13.900000: rpm_suspend: 0:0:0:0 flags-a cnt-0  dep-0  auto-1 p-0 irq-0 child-0",
    "    kw-9      [000] .....    14.200000: rpm_return_int: rpm_suspend+0x1/0x2:0:0:0:0 ret=-5",
    "    kw-9      [000] .....    14.300000: rpm_status: 0:0:0:0 status=RPM_RESUMING",
    " 2)               |  /* rpm_resume: b.usb flags-4 cnt-1  dep-0  auto-1 p-0 irq-0 child-0 */",
    "[   12.100000][  T9] rpm_idle: c flags-4 cnt-0  dep-0  auto-1 p-0 irq-0 child-0",
    "  8,0    1        1     0.000000000  2067  Q   D 80000 + 16 [dd]",
    "  8,0    1        2 1266874889.709458888  2066  D   D 80000 + 16 [dd]",
    "  8,0    3        1 18446744073.709458888  2066  D   R 512 (12 01 80 00 ff 00) [dd]",
    "  8,0    1        4     0.000400000     0  C   D 79000 + 1016 [0]",
    "/sys/devices/a/host0/power/runtime_status:resuming",
    "/sys/devices/a/host0/power/autosuspend_delay_ms:-9223372036854775808",
    "get-feature:0x0c (Autonomous Power State Transition), Current value:0x00000001",
    "0000: 18 2c 01 00 00 00 00 00 00 00 00 00 00 00 00 00",
    "Entry [31-4294967295] are:",
    "Idle Transition Power State   (ITPS): 3",
    "ps    3 : mp:0.0700W non-operational enlat:18446744073709551615 exlat:18446744073709551615",
    "ps 4294967295 : mp:0.0050W non-operational enlat:500 exlat:9000",
    "ps   31 : mp:0.0050W non-operational enlat:500 exlat:9000",
    "           : 297000000 594000000   time(ms)",
    "* 297000000:         18446744073709551615        40         18446744073709551615",
    "   read: IOPS=18446744073709551.9k, BW=99999999999999GiB/s (1MB/s)(1MiB/1msec)",
    "     clat (usec): min=1, max=18446744073709, avg=99999999999.50, stdev=1",
];

/// Reads, and asks everything that a verb asks.
fn judge(text: &[u8]) {
    let r = read_bytes("x", text);
    for t in &r.traces {
        let cpus = Cpus { woken: &t.woken, exits: Some(&r.knobs.exits) };
        for d in summarise(&t.requests, &t.spans, t.watched, cpus, t.begin) {
            let parts: i128 = d.requests.iter().map(|x| i128::from(x.slices.total())).sum();
            assert!(parts >= 0 && d.all.max >= d.all.p50);
        }
        let _ = (by_events(&t.runtime), broken_by_events(&t.runtime, t.until));
        let _ = (refused(&t.runtime), pointless(&t.runtime), short(&t.runtime, None));
    }
    let _ = (by_settings(&r.knobs), broken_by_settings(&r.knobs), r.knobs.conflicts());
    for d in &r.drives {
        let _ = (d.doubts(), d.by_itself(), d.by_kernel());
    }
    for t in &r.transitions {
        let _ = (t.counted(), t.time(), t.stuck());
    }
    for j in &r.jobs {
        let _ = j.queue();
    }
}

/// What happens to a line on its way into a mail.
fn dressed(line: &str, how: u8, cut: usize) -> String {
    let place = |n: usize| (0..=n.min(line.len())).rev().find(|n| line.is_char_boundary(*n));
    let at = place(cut).unwrap_or(0);
    match how {
        0 => format!("> {line}"),
        1 => format!("{}\n{}", &line[..at], &line[at..]),
        2 => line[at..].into(),
        3 => line[..at].into(),
        4 => format!("{line}\n{line}"),
        5 => format!("> > {}\n> {}", &line[..at], &line[at..]),
        _ => line.into(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: std::env::var("DORMOUSE_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(512),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn no_damaged_text_ends_in_a_panic(
        list in prop::collection::vec((0..LINES.len(), 0_u8..12, 0_usize..120), 1..40)
    ) {
        let text: Vec<String> = list.iter().map(|(n, how, at)| dressed(LINES[*n], *how, *at)).collect();
        judge(text.join("\n").as_bytes());
    }

    #[test]
    fn no_flipped_byte_ends_in_a_panic(
        begin in 0..LINES.len(),
        flips in prop::collection::vec((0_usize..6_000, any::<u8>()), 1..12)
    ) {
        let mut text = LINES[begin..].join("\n").into_bytes();
        for (at, byte) in flips {
            let length = text.len();
            text[at % length] = byte;
        }
        judge(&text);
    }
}

#[test]
fn every_form_is_read() {
    let r = read_bytes("x", LINES.join("\n").as_bytes());
    assert!(!r.traces.is_empty() && !r.transitions.is_empty() && !r.jobs.is_empty());
    assert!(!r.drives.is_empty() && r.knobs.any());
}
