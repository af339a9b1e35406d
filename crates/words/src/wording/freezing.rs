//! Who was last to freeze, as sentences.

use super::doctor::{Advice, look};
use super::number::ms;
use dormouse_doctor::fact::{Fact, Named};
use dormouse_doctor::freezing::Why;

fn task(t: &Named) -> String {
    match (t.pid, t.name.as_str()) {
        (0, "") => "another task".into(),
        (0, name) => name.into(),
        (pid, name) => format!("{name} (pid {pid})"),
    }
}

/// What was found; empty of what is not about freezing.
pub fn sentence(f: &Fact) -> String {
    match f {
        Fact::FreezeBlocker { task: t, cost, polling, why, function } => {
            let place = function.as_ref().map_or(String::new(), |f| format!(" in {f}"));
            let why = match why {
                Why::Waited { waker } if waker.is_empty() => {
                    format!("it waited{place} for I/O or a lock, until an interrupt woke it")
                }
                Why::Waited { waker } => {
                    format!("it waited{place} for I/O or a lock, until {waker} woke it")
                }
                Why::LongWay => "it was told to freeze and took long to leave the kernel".into(),
                Why::Computed => "it computed in the kernel; it did not wait for I/O".into(),
                Why::Starved { by } => format!(
                    "it wanted to run and got no CPU, which {} had; it did not wait for I/O",
                    task(by)
                ),
            };
            format!(
                "{} was last to freeze, {} ms after everybody else: {why}. The kernel looked {} ms later.",
                task(t),
                ms(*cost),
                ms(*polling)
            )
        }
        Fact::FreezePolling { worst } => format!(
            "Everything was frozen up to {} ms before the kernel looked again: it sleeps up to 8 ms between two looks.",
            ms(*worst)
        ),
        _ => String::new(),
    }
}

/// What to do about it.
pub fn advice(f: &Fact) -> Vec<Advice> {
    let Fact::FreezeBlocker { task: t, why, function, .. } = f else {
        return vec![look("Nothing: no setting changes how often the kernel looks.")];
    };
    let fuse = function.as_ref().is_some_and(|f| f.starts_with("request_wait_answer"));
    let name = task(t);
    vec![match why {
        Why::Waited { .. } if fuse => look(format!(
            "Find the server of the FUSE file system that {name} uses; run it outside user.slice, or stop its users before sleep."
        )),
        Why::Waited { .. } => Advice {
            text: format!(
                "Stop {name} before sleep, in a hook: kill -STOP {}. Or see what makes its disk slow.",
                t.pid
            ),
            undo: "kill -CONT with the same number, in the hook after sleep",
            risk: "what it does stands still a little longer",
        },
        Why::LongWay | Why::Computed => {
            look(format!("See what {name} does in the kernel: perf record -g -p {}.", t.pid))
        }
        Why::Starved { by } => look(format!(
            "Look at {}: a priority in real time, or too many tasks that compute on that CPU.",
            task(by)
        )),
    }]
}
