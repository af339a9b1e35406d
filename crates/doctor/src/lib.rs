//! What is wrong with the sleep of a machine: findings, each with its evidence.
//!
//! | step | file |
//! |---|---|
//! | what rules read, and what is said of it | `case`, `judged`, `report` |
//! | what a kernel log says, message by message | `message` |
//! | its text, searched for many words, and all of them | `words`, `messages` |
//! | each message that kernels print around sleep, by its format | `formats` |
//! | which messages belong to which attempt to sleep | `attempt` |
//! | tasks and what they wait in, as a dump shows them | `stack` |
//! | where in a sleep a message stands | `stage` |
//! | crashes, warnings, stuck tasks and CPUs | `trouble` |
//! | devices that a log without callbacks says were waited for | `waits` |
//! | values of sysfs and debugfs files that a text shows | `value` |
//! | what a text shows of nights besides messages: counters, tables, batteries, rounds | `night` |
//! | lines of services, measured times and marks of a firmware around a sleep | `way` |
//! | a sleep from the request to a usable machine, as rows that add up; a limit on it | `whole` |
//! | what the files of a running machine say | `now` |
//! | timers of tasks, and whether time stands still in s2idle | `timer`, `stands` |
//! | where a further log begins | `logs` |
//! | what a text tells as of an earlier time | `earlier` |
//! | whether a writer complains of a sleep, in English and three more tongues | `complaint`, `tongue` |
//! | headings that part two measurements | `border` |
//! | whose quoted log the writer denies for his machine, and what helped him | `denied`, `remedy` |
//! | what works with a change that somebody tried; sentences over two lines | `tested`, `sentence` |
//! | what comments of a configuration tell | `noted` |
//! | what its writer gives as a reason, where no rule has one | `reason` |
//! | messages, values and cycles as evidence | `evidence` |
//! | rules, a file an area | `rules/` |
//! | what the cycles of a trace or a capture show | `recorded` |
//! | modes that a machine offers, and what hibernation needs | `offered` |
//! | callbacks in the wrong phase, syncs that were given up | `phases` |
//! | how deep it slept, by what was measured around a cycle | `depth` |
//! | limits that were asked for, and whether they hold | `gate` |
//! | who was last to freeze, by scheduler events | `freezing` |
//! | what runtime PM did around a sleep | `runtime` |
//! | power domains that were switched in callbacks | `switch` |
//! | links of PCI Express that are worse after a sleep | `link` |
//! | errors that no rule knows | `said` |
//! | those of devices right behind a sleep | `aftermath` |
//! | what findings are made of | `finding`, of `dormouse_base::finding` |
//!
//! No evidence, no finding. What cannot be checked is listed with the reason.
//! Times are nanoseconds. Nothing here does I/O.
#![forbid(unsafe_code)]

mod aftermath;
pub mod attempt;
pub mod border;
mod case;
mod complaint;
mod denied;
pub mod depth;
mod earlier;
mod evidence;
pub mod finding;
pub mod formats;
pub mod freezing;
pub mod gate;
pub mod history;
mod judged;
mod link;
mod logs;
pub mod message;
mod messages;
pub mod night;
mod noted;
pub mod now;
pub mod offered;
pub mod phases;
mod reason;
pub mod recorded;
pub mod refusal;
mod remedy;
mod report;
mod rules;
mod runtime;
pub mod said;
mod sentence;
mod slowness;
pub mod stack;
mod stage;
pub mod stands;
pub mod switch;
mod tested;
pub mod timer;
mod tongue;
pub mod trouble;
pub mod value;
pub mod waits;
pub mod way;
pub mod whole;
mod words;

pub use earlier::tells_of_then;
pub use rules::patch::MEASURED;
pub use rules::ready::NO_STATE;

pub use case::Case;
pub use judged::JudgedCase;
pub use messages::Messages;
pub use report::{
    First, Report, Sleep, answer, doubt, is_crash, is_wrong, no_return, sorted, tells_depth,
    told_of_sleep,
};
pub use words::Words;

use attempt::Attempt;
use logs::further_logs;
use message::{Message, Trust};
use report::leave_to_the_user;
use said::told;
use std::collections::BTreeSet;

/// Judges a text.
pub fn judge(case: &Case) -> Report {
    let mut findings = Vec::new();
    for rule in rules::ALL {
        rule(case, &mut findings);
    }
    // What a person wrote about a log is at most a suspicion.
    for f in &mut findings {
        if f.evidence.iter().all(|e| e.doubtful) {
            f.confidence = finding::Confidence::Guess;
        }
    }
    noted::temper(case, &mut findings);
    rules::night::woke::judge(case, &mut findings);
    leave_to_the_user(&mut findings);
    reason::quote(case, &mut findings);
    earlier::lower(case, &mut findings);
    rules::patch::one_of_two(&mut findings);
    rules::patch::without(case, &mut findings);
    sorted(&mut findings);
    let sleep = |a: &Attempt| Sleep {
        mode: a.mode.clone(),
        line: case.messages[a.first].line,
        begun: true,
        closed: a.closed || rules::night::woke::back(case, a).is_some(),
    };
    let parts = case.parts.iter().map(|&(first, closed)| Sleep {
        mode: String::new(),
        line: case.messages[first].line,
        begun: false,
        closed,
    });
    // An attempt that was refused because another was under way is none.
    let whole = case.attempts.iter().filter(|a| !a.inside).map(sleep);
    let mut sleeps: Vec<Sleep> = whole.chain(parts).collect();
    sleeps.sort_by_key(|s| s.line);
    // What a rule judged once is judged where it is said again: findings of several attempts
    // show one of them.
    let format =
        |m: &Message| formats::all().recognise(&m.text).map(|k| std::ptr::from_ref(k.format));
    let shown: BTreeSet<u64> = findings.iter().flat_map(|f| &f.evidence).map(|e| e.line).collect();
    let judged: BTreeSet<_> = case.messages.at_lines(&shown).filter_map(format).collect();
    let cited =
        |m: &Message| shown.contains(&m.line) || format(m).is_some_and(|f| judged.contains(&f));
    let mut errors = told(case);
    let mut behind = aftermath::told(case);
    for list in [&mut errors, &mut behind] {
        list.retain(|(m, _)| !cited(m) && !said::is_told(m, &findings));
    }
    findings.extend(said::not_judged(case, &errors, &behind, |m| aftermath::since(case, m)));
    findings.extend(rules::doubt::judge(case, &findings));
    if case.counted {
        findings.iter_mut().flat_map(|f| &mut f.evidence).for_each(|e| e.time = None);
    }
    sorted(&mut findings);
    Report {
        findings,
        unchecked: rules::unchecked(case),
        sleeps,
        logs: further_logs(case),
        logged: case.messages.iter().filter(|m| m.trust == Trust::Logged).count(),
        ways: whole::firmware::ways(case),
        slept: whole::slept(case),
        letter: rules::doubt::is_letter(case),
        recorded: false,
    }
}
