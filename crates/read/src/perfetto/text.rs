//! Names and texts of the events that are kept beside power management, as
//! `trace` prints them.
//!
//! Perfetto stores fields by number; the number of an event's field in
//! `FtraceEvent` and those of its own fields are fixed by its public protos.

use super::wire::Fields;
use crate::event::Kind;
use std::collections::HashMap;
use std::io::Write;

/// Number in `FtraceEvent`, name, and text. In the text `{1s}` is field 1 as
/// text; `d` signed, `u` unsigned, `c` CPU of three digits, `p` address, `f`
/// function, `b` block device, `t` task state, `r` runtime PM status, `x`
/// hexadecimal, `g` state of clock gating, `l` this field in percent of the next.
const EVENTS: [(u32, &str, &str); 48] = [
    (3, "print", "tracing_mark_write: {2s}"),
    (
        4,
        "sched_switch",
        "prev_comm={1s} prev_pid={2d} prev_prio={3d} prev_state={4t} ==> \
         next_comm={5s} next_pid={6d} next_prio={7d}",
    ),
    (11, "cpu_frequency", "state={1u} cpu_id={2u}"),
    (13, "cpu_idle", "state={1u} cpu_id={2u}"),
    (14, "clock_enable", "{1s} state={2u} cpu_id={3u}"),
    (15, "clock_disable", "{1s} state={2u} cpu_id={3u}"),
    (16, "clock_set_rate", "{1s} state={2u} cpu_id={3u}"),
    (17, "sched_wakeup", "comm={1s} pid={2d} prio={3d} target_cpu={5c}"),
    (18, "sched_blocked_reason", "pid={1d} iowait={3u} caller={2f}"),
    (20, "sched_waking", "comm={1s} pid={2d} prio={3d} target_cpu={5c}"),
    (21, "ipi_entry", "({1s})"),
    (36, "irq_handler_entry", "irq={1d} name={2s}"),
    (45, "block_rq_issue", "{1b} {5s} {4u} ({7s}) {2u} + {3u} [{6s}]"),
    (56, "workqueue_activate_work", "work struct {1p}"),
    (57, "workqueue_execute_end", "work struct {1p}: function {2f}"),
    (58, "workqueue_execute_start", "work struct {1p}: function {2f}"),
    (
        59,
        "workqueue_queue_work",
        "work struct={1p} function={2f} workqueue={6s} req_cpu={4d} cpu={5d}",
    ),
    (60, "regulator_disable", "name={1s}"),
    (61, "regulator_disable_complete", "name={1s}"),
    (62, "regulator_enable", "name={1s}"),
    (63, "regulator_enable_complete", "name={1s}"),
    (64, "regulator_enable_delay", "name={1s}"),
    (65, "regulator_set_voltage", "name={1s} ({2d}-{3d})"),
    (66, "regulator_set_voltage_complete", "name={1s}, val={2u}"),
    (114, "sched_wakeup_new", "comm={1s} pid={2d} prio={3d} target_cpu={5c}"),
    (115, "block_bio_backmerge", "{1b} {4s} {2u} + {3u} [{5s}]"),
    (117, "block_bio_complete", "{1b} {5s} {2u} + {3u} [{4d}]"),
    (118, "block_bio_frontmerge", "{1b} {4s} {2u} + {3u} [{5s}]"),
    (119, "block_bio_queue", "{1b} {4s} {2u} + {3u} [{5s}]"),
    (120, "block_bio_remap", "{1b} {6s} {2u} + {3u} <- ({4b}) {5u}"),
    (122, "block_getrq", "{1b} {4s} {2u} + {3u} [{5s}]"),
    (125, "block_rq_complete", "{1b} {5s} ({6s}) {2u} + {3u} [{7d}]"),
    (126, "block_rq_insert", "{1b} {5s} {4u} ({7s}) {2u} + {3u} [{6s}]"),
    (131, "block_split", "{1b} {4s} {2u} / {3u} [{5s}]"),
    (320, "clk_enable", "{1s}"),
    (321, "clk_disable", "{1s}"),
    (322, "clk_set_rate", "{1s} {2u}"),
    (404, "wakeup_source_activate", "{1s} state=0x{2x}"),
    (405, "wakeup_source_deactivate", "{1s} state=0x{2x}"),
    (407, "ufshcd_clk_gating", "{1s}: gating state changed to {2g}"),
    (489, "rpm_status", "{1s} status={2r}"),
    (491, "sched_migrate_task", "comm={1s} pid={2d} prio={3d} orig_cpu={4d} dest_cpu={5d}"),
    (541, "devfreq_frequency", "dev_name={1s} freq={2u} prev_freq={3u} load={4l}"),
    (546, "block_io_start", "{1b} {6s} {4u} ({8s}) {2u} + {3u} [{7s}]"),
    (547, "block_io_done", "{1b} {6s} {4u} ({8s}) {2u} + {3u} [{7s}]"),
    (553, "hrtimer_expire_entry", "hrtimer={1p} function={3f} now={2d}"),
    (557, "timer_expire_entry", "timer={1p} function={3f} now={2u} baseclk={4u}"),
    (559, "local_timer_entry", "vector={1d}"),
];

/// Name and text template of an event that is kept.
pub(super) fn find(number: u32) -> Option<(&'static str, &'static str)> {
    place(number).map(|i| (EVENTS[i].1, EVENTS[i].2))
}

/// The place after the last, for events that the list does not have.
pub(super) const OTHERS: usize = EVENTS.len();

/// The part of the kernel that the event at a place is of.
pub(super) fn kind(place: usize) -> Kind {
    EVENTS.get(place).map_or(Kind::Unknown, |e| Kind::of(e.1.as_bytes()))
}

/// The place of an event in the list, by its number in `FtraceEvent`.
pub(super) fn place(number: u32) -> Option<usize> {
    EVENTS.binary_search_by_key(&number, |e| e.0).ok()
}

/// Which events of the list somebody `wants`.
pub(super) fn wanted(wants: &dyn Fn(&[u8]) -> bool) -> Vec<bool> {
    EVENTS.iter().map(|e| wants(e.1.as_bytes())).collect()
}

/// Fills `template` from the fields of `message` into `out`, which is cleared.
///
/// Functions are numbers that `functions` names, if the trace has names; else
/// they are addresses.
pub(super) fn fill(
    template: &str,
    message: &[u8],
    functions: &HashMap<u64, Box<[u8]>>,
    out: &mut Vec<u8>,
) {
    /// Field numbers that templates use are below this.
    const SLOTS: usize = 9;
    out.clear();
    let mut numbers = [0u64; SLOTS];
    let mut texts = [&b""[..]; SLOTS];
    for (n, v) in Fields::new(message) {
        if let Some(slot) = usize::try_from(n).ok().filter(|&n| n < SLOTS) {
            (numbers[slot], texts[slot]) = (v.number(), v.bytes());
        }
    }
    let mut rest = template.as_bytes();
    while let Some(open) = memchr::memchr(b'{', rest) {
        out.extend_from_slice(&rest[..open]);
        let (slot, kind) = (usize::from(rest[open + 1] - b'0'), rest[open + 2]);
        rest = &rest[open + 4..];
        let n = numbers[slot];
        // Writing to a Vec cannot fail.
        let _ = match kind {
            b's' => out.write_all(texts[slot]),
            b'd' => write!(out, "{}", n as i64),
            b'u' => write!(out, "{n}"),
            b'c' => write!(out, "{:03}", n as i64),
            b'f' if functions.contains_key(&n) => out.write_all(&functions[&n]),
            b'p' | b'f' => write!(out, "{n:016x}"),
            b'b' => write!(out, "{},{}", major(n), minor(n)),
            b't' => write!(out, "{}", task_state(n)),
            b'x' => write!(out, "{n:x}"),
            b'g' => out.write_all(gating_state(n).as_bytes()),
            b'l' => {
                let of = numbers[(slot + 1).min(SLOTS - 1)];
                // As the kernel's event does (include/trace/events/devfreq.h, 6.12).
                write!(out, "{}", n.saturating_mul(100).checked_div(of).unwrap_or(0))
            }
            _ => out.write_all(runtime_status(n as i64).as_bytes()),
        };
    }
    out.extend_from_slice(rest);
}

/// Perfetto stores block devices as user space does (12 and 20 bits, split).
fn major(dev: u64) -> u64 {
    dev >> 8 & 0xfff | dev >> 32 & 0xffff_f000
}

fn minor(dev: u64) -> u64 {
    dev & 0xff | dev >> 12 & 0xffff_ff00
}

/// Letters of the state's bits; `+` for a task that was preempted (4.14 and
/// later: the bit above those that are reported).
fn task_state(state: u64) -> String {
    const LETTERS: &str = "SDTtXZPI";
    let bits = state & 0xff;
    let mut letters: Vec<String> = (LETTERS.chars().enumerate())
        .filter(|(i, _)| bits >> i & 1 == 1)
        .map(|(_, c)| c.to_string())
        .collect();
    if letters.is_empty() {
        letters.push("R".into());
    }
    letters.join("|") + if state & 0x100 != 0 { "+" } else { "" }
}

/// `enum clk_gating_state` of `include/ufs/ufshcd.h`, 6.12.
fn gating_state(state: u64) -> &'static str {
    match state {
        0 => "CLKS_OFF",
        1 => "CLKS_ON",
        2 => "REQ_CLKS_OFF",
        3 => "REQ_CLKS_ON",
        _ => "?",
    }
}

fn runtime_status(status: i64) -> &'static str {
    match status {
        0 => "RPM_ACTIVE",
        1 => "RPM_RESUMING",
        2 => "RPM_SUSPENDED",
        3 => "RPM_SUSPENDING",
        _ => "RPM_INVALID",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Kind;
    use crate::perfetto::wire::{put_bytes, put_number};

    #[test]
    fn a_bio_that_goes_on_elsewhere_reads_as_the_kernel_prints_it() {
        let message = [8, 0x80, 0x10, 16, 0xac, 2, 24, 8, 32, 0x81, 0x10, 40, 0xfc, 1, 50, 1, b'R'];
        let mut out = Vec::new();
        fill(find(120).unwrap().1, &message, &HashMap::new(), &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), "8,0 R 300 + 8 <- (8,1) 252");
    }

    #[test]
    fn the_table_is_sorted_and_its_templates_are_whole() {
        assert!(EVENTS.is_sorted_by(|a, b| a.0 < b.0));
        for (n, name, template) in EVENTS {
            // What programs write is of no part of the kernel.
            let unknown = Kind::of(name.as_bytes()) == Kind::Unknown;
            assert_eq!(unknown, name == "print", "{name}");
            let mut out = Vec::new();
            fill(template, b"", &HashMap::new(), &mut out);
            assert!(!out.contains(&b'{') && !out.contains(&b'}'), "{name}");
            assert_eq!(find(n), Some((name, template)));
        }
        assert_eq!(find(5), None);
        let idle = wanted(&|name| name == b"cpu_idle");
        assert_eq!(idle.iter().position(|&w| w), place(13));
        assert_eq!(idle.iter().filter(|&&w| w).count(), 1);
    }

    #[test]
    fn fields_are_filled_in() {
        let mut m = Vec::new();
        put_bytes(&mut m, 1, b"a b");
        put_number(&mut m, 2, 7);
        put_number(&mut m, 3, -1i64 as u64);
        put_number(&mut m, 4, 0x102);
        put_bytes(&mut m, 5, b"swapper/1");
        let mut out = Vec::new();
        let (_, t) = find(4).unwrap();
        fill(t, &m, &HashMap::new(), &mut out);
        assert_eq!(
            std::str::from_utf8(&out).unwrap(),
            "prev_comm=a b prev_pid=7 prev_prio=-1 prev_state=D+ ==> \
             next_comm=swapper/1 next_pid=0 next_prio=0"
        );
        assert_eq!((major(0x801), minor(0x801)), (8, 1));
        let (_, t) = find(58).unwrap();
        fill(t, &m, &HashMap::from([(7, b"run"[..].into())]), &mut out);
        assert!(out.ends_with(b": function run"));
        fill(t, &m, &HashMap::new(), &mut out);
        assert!(out.ends_with(b": function 0000000000000007"));
    }
}
