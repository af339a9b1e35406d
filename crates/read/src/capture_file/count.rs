//! Counts scheduler events of a trace, where it has them (`--detail sched`).

use memchr::memmem;

/// How often the kernel woke, and switched to, the threads that suspend devices:
/// workers and the main thread. `None` if the trace has no scheduler events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scheduled {
    /// `sched_wakeup` of such a thread.
    pub wakeups: Option<u64>,
    /// `sched_switch` to such a thread.
    pub switches: Option<u64>,
}

/// Counts in the text of a trace whose main thread is called `main`.
pub fn scheduled(trace: &[u8], main: &str) -> Scheduled {
    let ours = |comm: &[u8]| {
        comm.starts_with(b"kworker/")
            || (!main.is_empty()
                && comm.strip_prefix(main.as_bytes()).is_some_and(|rest| rest.starts_with(b" ")))
    };
    Scheduled {
        wakeups: count(trace, b": sched_wakeup: ", b"comm=", ours),
        switches: count(trace, b": sched_switch: ", b"next_comm=", ours),
    }
}

/// Lines with `event` whose text after `field` is accepted; `None` without any
/// line of that event.
fn count(trace: &[u8], event: &[u8], field: &[u8], accept: impl Fn(&[u8]) -> bool) -> Option<u64> {
    let field = memmem::Finder::new(field);
    let (mut any, mut accepted) = (false, 0);
    for at in memmem::find_iter(trace, event) {
        any = true;
        let rest = &trace[at + event.len()..];
        let line = &rest[..memchr::memchr(b'\n', rest).unwrap_or(rest.len())];
        if let Some(f) = field.find(line) {
            accepted += u64::from(accept(&line[f + field.needle().len()..]));
        }
    }
    any.then_some(accepted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_workers_and_the_main_thread_count() {
        let trace = b"\
 a-1 [000] d.... 1.0: sched_wakeup: comm=kworker/u8:2 pid=31 prio=120 target_cpu=000\n\
 a-1 [000] d.... 1.1: sched_wakeup: comm=dormouse pid=77 prio=120 target_cpu=000\n\
 a-1 [000] d.... 1.2: sched_wakeup: comm=dormouse2 pid=78 prio=120 target_cpu=000\n\
 a-1 [000] d.... 1.3: sched_switch: prev_comm=kworker/0:1 prev_pid=8 prev_prio=120 \
prev_state=I ==> next_comm=swapper/0 next_pid=0 next_prio=120\n";
        let got = scheduled(trace, "dormouse");
        assert_eq!(got, Scheduled { wakeups: Some(2), switches: Some(0) });
        assert_eq!(scheduled(b" a-1 1.0: suspend_resume: x[0] begin\n", "a"), Scheduled::default());
    }
}
