//! What is wrong with the sleep of a machine: findings, each with its evidence.
//!
//! | step | file |
//! |---|---|
//! | what a kernel log says, message by message | `message` |
//! | each message that kernels print around sleep, by its format | `formats` |
//! | which messages belong to which attempt to sleep | `attempt` |
//! | tasks and what they wait in, as a dump shows them | `stack` |
//! | where in a sleep a message stands | `stage` |
//! | crashes, warnings, stuck tasks and CPUs | `trouble` |
//! | values of sysfs and debugfs files that a text shows | `value` |
//! | what the files of a running machine say | `now` |
//! | timers of tasks, and what becomes of clocks in a sleep | `timer` |
//! | rules, a file an area | `rules/` |
//! | what the cycles of a trace or a capture show | `recorded` |
//! | modes that a machine offers, and what hibernation needs | `offered` |
//! | callbacks in the wrong phase, syncs that were given up | `phases` |
//! | how deep it slept, by what was measured around a cycle | `depth` |
//! | who was last to freeze, by scheduler events | `freezing` |
//! | what runtime PM did around a sleep | `runtime` |
//! | power domains that were switched in callbacks | `switch` |
//! | errors that no rule knows, and which kernels print a text | `said` |
//! | what findings are made of | `finding`, of `dormouse_base::finding` |
//!
//! No evidence, no finding. What cannot be checked is listed with the reason.
//! Times are nanoseconds. Nothing here does I/O.
#![forbid(unsafe_code)]

pub mod attempt;
pub mod depth;
pub mod finding;
pub mod formats;
pub mod freezing;
pub mod message;
pub mod now;
pub mod offered;
pub mod phases;
pub mod recorded;
mod rules;
mod runtime;
pub mod said;
pub mod stack;
mod stage;
pub mod switch;
pub mod timer;
pub mod trouble;
pub mod value;

pub use rules::ready::NO_STATE;

use attempt::{Attempt, Place};
use dormouse_base::time::Ns;
use finding::{Finding, Unchecked};
use message::{Message, Trust};
use now::{Waiting, Writer};
use said::{Printed, Unjudged, printed, unjudged};
use timer::Timer;
use value::Value;

/// One text, taken apart.
#[derive(Clone, Debug, Default)]
pub struct Case {
    /// Messages, in order of the text.
    pub messages: Vec<Message>,
    /// Values of kernel files that the text shows, in its order.
    pub values: Vec<Value>,
    /// Attempts to sleep, in order of the text.
    pub attempts: Vec<Attempt>,
    /// Parts of attempts whose beginning is not in the text: the first message of each,
    /// and whether its end is there.
    pub parts: Vec<(usize, bool)>,
    /// Tasks that waited while the machine was looked at; none of a text.
    pub waiting: Vec<Waiting>,
    /// Tasks that ran under a real-time policy meanwhile; none of a text.
    pub spinning: Vec<Waiting>,
    /// Armed timers of the running machine; none of a text.
    pub timers: Vec<Timer>,
    /// Disks of the running machine that have data to write; none of a text.
    pub disks: Vec<Writer>,
}

/// What the doctor says of a text.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Worst first; equal ones in order of the text.
    pub findings: Vec<Finding>,
    /// What the text cannot show.
    pub unchecked: Vec<Unchecked>,
    /// Attempts to sleep in the text, in its order.
    pub sleeps: Vec<Sleep>,
    /// Lines of a kernel log in the text.
    pub logged: usize,
    /// Where a further log begins in the text, by its lines: of a later boot, or of
    /// another machine.
    pub logs: Vec<u64>,
    /// Messages of attempts that tell of an error or a timeout and are evidence of no
    /// finding: what a driver complains of and no rule knows.
    pub errors: Vec<Unjudged>,
    /// Which kernels print what the text shows, where it names none.
    pub printed: Option<Printed>,
    /// It is a recording, a trace or a capture, not a text.
    pub recorded: bool,
}

/// An attempt to sleep, for a reader who wants to find it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sleep {
    /// `s2idle`, `deep`, `hibernation`; empty if the text does not say.
    pub mode: String,
    /// Line of its first message, from 1.
    pub line: u64,
    /// The text has its beginning.
    pub begun: bool,
    /// The text has its end.
    pub closed: bool,
}

impl Case {
    /// Takes messages apart; attempts to sleep are at `places`.
    pub fn new(messages: Vec<Message>, places: &[Place]) -> Case {
        let values = value::shown(&messages);
        let (attempts, parts) = attempt::attempts(&messages, places);
        Case { messages, values, attempts, parts, ..Case::default() }
    }

    /// The messages of an attempt.
    pub fn of(&self, attempt: &Attempt) -> &[Message] {
        &self.messages[attempt.first..attempt.end]
    }
}

/// A clock that goes back by more than this is another one: lines of one log stand out
/// of order by less.
const BACK: i64 = 1_000_000_000;

/// Later than this is a time of the calendar, not of a kernel's clock.
const CALENDAR: Ns = Ns(100_000_000_000_000_000);

/// Whether `next` is of another log than what was last said at `last`. Programs that print
/// between lines of the kernel may have another clock.
fn is_another(last: Option<Ns>, next: &Message) -> bool {
    let same = |a: Ns, b: Ns| (a > CALENDAR) == (b > CALENDAR);
    matches!((last, next.time), (Some(a), Some(b)) if same(a, b) && b.0 + BACK < a.0)
}

/// The first lines of all logs but the first. What follows a made image goes on with
/// the clock of that image (kernel/power/hibernate.c:create_image).
fn further_logs(case: &Case) -> Vec<u64> {
    let mut out = Vec::new();
    // By the kernel's clock and by the calendar.
    let mut last: [Option<&Message>; 2] = [None; 2];
    for m in case.messages.iter().filter(|m| m.trust == Trust::Logged) {
        let Some(time) = m.time else { continue };
        let clock = usize::from(time > CALENDAR);
        let image = last[clock].is_some_and(|l| l.has("Image created"));
        if is_another(last[clock].and_then(|l| l.time), m) && !image {
            out.push(m.line);
            last = [None; 2];
        }
        last[clock] = Some(m);
    }
    out
}

/// The worst first; of what costs time the dearest comes first.
fn sorted(findings: &mut [Finding]) {
    let cost = |f: &Finding| f.costs.filter(|_| f.level == finding::Level::Slow);
    findings.sort_by_key(|f| (f.level, f.confidence, std::cmp::Reverse(cost(f))));
}

/// The middle of times, the longest first; of an even count half way between the two
/// middle ones.
fn median<T>(longest_first: &[(Ns, T)]) -> Ns {
    let Some(last) = longest_first.len().checked_sub(1) else { return Ns::ZERO };
    Ns::mean(longest_first[longest_first.len() / 2].0, longest_first[last / 2].0)
}

impl Report {
    /// Takes in what another reading of the same machine says: what neither could show
    /// stays unchecked, and no rule speaks twice.
    pub fn join(&mut self, other: Vec<Finding>) {
        for f in other {
            if !self.findings.iter().any(|x| x.id == f.id) {
                self.findings.push(f);
            }
        }
        sorted(&mut self.findings);
    }
}

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
    sorted(&mut findings);
    let sleep = |a: &Attempt| Sleep {
        mode: a.mode.clone(),
        line: case.messages[a.first].line,
        begun: true,
        closed: a.closed,
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
    let cited = |line| findings.iter().flat_map(|f| &f.evidence).any(|e| e.line == line);
    let errors = case
        .attempts
        .iter()
        .flat_map(|a| case.of(a))
        .filter(|m| !cited(m.line))
        .filter_map(unjudged)
        .collect();
    Report {
        errors,
        printed: printed(case),
        findings,
        unchecked: rules::unchecked(case),
        sleeps,
        logs: further_logs(case),
        logged: case.messages.iter().filter(|m| m.trust == Trust::Logged).count(),
        recorded: false,
    }
}
