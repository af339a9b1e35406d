//! Tasks that did not freeze, by their list alone: the line that says so is not in the text.

use super::freezer::{HELD_UP, LISTED, place, wait};
use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Finding, Level, Task as Named};
use crate::message::{Message, Trust};
use crate::stack::{self, Task};
use dormouse_base::phase::Phase;
use dormouse_base::say;
use dormouse_base::time::Ns;

/// Tasks are listed when their time is over, 20 s by default (kernel/power/process.c:
/// freeze_timeout_msecs); so long behind the begin at least, by stamps that may be coarse.
const NEARLY: Ns = Ns::from_ms(15_000);
/// Tasks that did not freeze run again at once: where so long passes a sleep may lie between.
const AT_ONCE: Ns = Ns::from_ms(30_000);
/// So many messages behind the list are looked at.
const BEHIND: usize = 2_000;

/// Whether lines behind the message `at`, which stands in the freezing, show that tasks froze all
/// the same, or have the kernel's own word of its failure.
fn froze_or_told(case: &Case, at: usize) -> bool {
    let in_it = |a: &&crate::attempt::Attempt| (a.first..a.end).contains(&at);
    let end = case.attempts.iter().find(in_it).map_or(case.messages.len(), |a| a.end);
    let rest = case.messages[at..end].iter().take(BEHIND).skip(1);
    for m in rest.filter(|m| m.trust.is_of_a_kernel()) {
        if m.says("Freezing user space") && (m.has("completed") || m.has("elapsed"))
            || m.says("Freezing ") && (m.has("failed after") || m.has("aborted"))
            || m.says("OOM killer disabled")
            || m.says("Freezing remaining")
        {
            return true;
        }
        let again = m.says("OOM killer enabled") || m.has("Restarting tasks");
        if again || crate::stage::ends_sleep(m) {
            return crate::stage::passed(&case.messages[at], m).is_some_and(|t| t > AT_ONCE);
        }
        if crate::stage::ends(m) || m.says("Freezing user space") || m.says("suspend entry") {
            return false;
        }
        // Any phase behind the freezing.
        let early = [Phase::Sync, Phase::Freeze, Phase::FreezeUser].map(Some);
        if crate::stage::begins(m).is_some_and(|s| !early.contains(&s.phase)) {
            return true;
        }
    }
    false
}

/// Tasks that are listed while tasks are being frozen, where the line that says that it failed is
/// not in the text: the kernel lists those that did not freeze right behind it
/// (kernel/power/process.c:try_to_freeze_tasks). A dump of somebody else has a head of its own.
pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    const OTHERS: [&str; 5] = ["INFO: ", "sysrq", "Show Blocked State", "Show State", "BUG: "];
    let begins = |m: &Message| {
        m.says("Freezing user space processes") && m.trust == Trust::Logged && {
            let rest = m.after("processes").unwrap_or_default().trim();
            rest.is_empty() || rest == "..."
        }
    };
    for (at, begin) in case.messages.having("Freezing user space").filter(|(_, m)| begins(m)) {
        let ends = |m: &Message| {
            m.says("Freezing ")
                || m.says("OOM killer")
                || m.says("Restarting tasks")
                || OTHERS.iter().any(|w| m.has(w))
        };
        let behind = &case.messages[at + 1..];
        let behind = &behind[..behind.iter().position(ends).unwrap_or(behind.len())];
        let Some(dump) = behind.iter().position(|m| m.text.starts_with("task:")) else { continue };
        let mut tasks = stack::tasks(&case.messages, at + 1 + dump, LISTED);
        tasks.retain(|t| t.at <= at + behind.len());
        let Some(first) = tasks.first() else { continue };
        let after = crate::stage::passed(begin, &case.messages[first.at]);
        // Without stamps only an attempt that ended there tells that their time was over.
        let ended =
            || case.attempts.iter().any(|a| (a.first..a.end).contains(&first.at) && a.closed);
        if !after.map_or_else(ended, |t| t >= NEARLY) || froze_or_told(case, first.at) {
            continue;
        }
        let why = wait(first, false);
        let named = |t: &Task| Named { name: t.name.clone(), pid: t.pid };
        let names: Vec<Named> = tasks.iter().map(named).collect();
        let after = after
            .filter(|t| *t >= HELD_UP)
            .map_or(String::new(), |t| format!(" {} after the freezing began", say::span(t)));
        let stood = place(first).map_or(String::new(), |f| format!(" It stood in {}.", f.words()));
        out.push(
            Finding::new(("freeze-failed", Area::Freezer, Level::Broken), Confidence::Likely)
                .says(format!(
                    "{} had not frozen: the kernel lists {}{after}, while tasks were being frozen, and the line that says that it failed is not in the text. The first {}.{stood}",
                    say::tasks(&names),
                    if names.len() == 1 { "it" } else { "them" },
                    why.words()
                ))
                .look(why.advice())
                .of_function(place(first).map(|f| f.function.as_str()))
                .shown_by(lines(
                    [begin].into_iter().chain(tasks.iter().map(|t| &case.messages[t.at])),
                ))
                .of_tasks(names),
        );
        return;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGIN: (i64, &str) = (7_000, "Freezing user space processes");
    const DUMP: (i64, &str) =
        (27_000, "task:oakd            state:D stack:0     pid:771   ppid:1      flags:0x00004006");

    fn told(lines: &[(i64, &str)]) -> Vec<Finding> {
        let mut out = Vec::new();
        judge(&Case::of_log(lines), &mut out);
        out
    }

    #[test]
    fn a_task_that_is_listed_while_tasks_freeze_did_not_freeze() {
        let frame = (27_001, " request_wait_answer+0x77/0x210 [fuse]");
        let found = told(&[BEGIN, DUMP, frame, (27_100, "OOM killer enabled.")]);
        let words = &found[0].sentence;
        assert!(words.starts_with("oakd (pid 771) had not frozen: the kernel lists it"), "{words}");
        assert!(words.contains("20.0 s after the freezing began"), "{words}");
        assert!(words.contains("request_wait_answer (fuse)"), "{words}");
        for other in [
            &[
                BEGIN,
                (8_000, "Freezing user space processes completed (elapsed 0.7 seconds)"),
                DUMP,
            ][..],
            &[BEGIN, (26_000, "INFO: task oakd:771 blocked for more than 122 seconds."), DUMP],
            &[BEGIN, (26_000, "sysrq: Show Blocked State"), DUMP],
            &[
                BEGIN,
                (
                    26_000,
                    "Freezing user space processes failed after 20.0 seconds (1 tasks refusing to freeze, wq_busy=0):",
                ),
                DUMP,
            ],
            &[DUMP, BEGIN],
            &[BEGIN, (12_000, DUMP.1), (12_100, "OOM killer enabled.")],
            &[
                BEGIN,
                DUMP,
                (27_100, "Freezing user space processes completed (elapsed 20.0 seconds)"),
            ],
            &[
                BEGIN,
                DUMP,
                (27_100, "printk: Suspending console(s) (use no_console_suspend to debug)"),
            ],
            &[BEGIN, DUMP, (27_100, "PM: suspend of devices complete after 9.000 msecs")],
            &[BEGIN, DUMP, (900_000, "PM: suspend exit")],
        ] {
            assert!(told(other).is_empty(), "{other:?}");
        }
    }
}
