//! What callbacks wait for: function probes where the kernel sleeps, takes a contended lock,
//! loads firmware, moves data over a bus or runs ACPI methods, only where a recording asks for it.
//!
//! Kprobes first, which every kernel of the laboratory takes; where one takes none, fprobes. The
//! reader (crates/read/src/track/probes.rs) gives a call to the callback
//! of its thread. Functions, not devices, are probed: a kernel cannot ask who calls before the
//! probe has cost what it costs.

use crate::guard::{Error, Guard};
use crate::idle::{self, GROUP};
use crate::options::Inside;
use crate::root::Root;
use crate::system;
use dormouse_capture::schema::ProbeCost;
use std::collections::BTreeMap;

/// Functions whose call and return are recorded: what the event is called, what kernels call the
/// function (the first that is there counts), and what of the call is recorded. None is one that
/// the core calls itself for each device, and of locks it is the part where others hold them: so
/// the walk over the devices is no longer. A driver calls the outermost; of those inside the
/// reader makes parts.
const PAIRS: [(&str, &[&str], &str); 35] = [
    ("msleep", &["msleep"], ""),
    ("msleep_interruptible", &["msleep_interruptible"], ""),
    ("usleep_range_state", &["usleep_range_state", "usleep_range"], ""),
    ("schedule_timeout_uninterruptible", &["schedule_timeout_uninterruptible"], ""),
    ("schedule_timeout_interruptible", &["schedule_timeout_interruptible"], ""),
    ("schedule_timeout_killable", &["schedule_timeout_killable"], ""),
    ("schedule_hrtimeout_range", &["schedule_hrtimeout_range"], ""),
    ("wait_for_completion_timeout", &["wait_for_completion_timeout"], ""),
    ("wait_for_completion_io", &["wait_for_completion_io"], ""),
    ("wait_for_completion_io_timeout", &["wait_for_completion_io_timeout"], ""),
    ("wait_for_completion_interruptible", &["wait_for_completion_interruptible"], ""),
    (
        "wait_for_completion_interruptible_timeout",
        &["wait_for_completion_interruptible_timeout"],
        "",
    ),
    ("wait_for_completion_killable", &["wait_for_completion_killable"], ""),
    ("wait_for_completion_state", &["wait_for_completion_state"], ""),
    ("flush_work", &["flush_work"], ""),
    ("flush_delayed_work", &["flush_delayed_work"], ""),
    ("cancel_work_sync", &["cancel_work_sync"], ""),
    ("cancel_delayed_work_sync", &["cancel_delayed_work_sync"], ""),
    ("flush_workqueue", &["__flush_workqueue", "flush_workqueue"], ""),
    ("synchronize_rcu", &["synchronize_rcu"], ""),
    ("device_pm_wait_for_dev", &["device_pm_wait_for_dev"], ""),
    ("down_read", &["rwsem_down_read_slowpath"], ""),
    ("down_write", &["rwsem_down_write_slowpath"], ""),
    ("request_firmware", &["request_firmware"], NAMED),
    ("firmware_request_nowarn", &["firmware_request_nowarn"], NAMED),
    ("firmware_request_platform", &["firmware_request_platform"], NAMED),
    ("request_firmware_direct", &["request_firmware_direct"], NAMED),
    ("request_firmware_into_buf", &["request_firmware_into_buf"], NAMED),
    ("i2c_transfer", &["i2c_transfer"], ""),
    ("i2c_smbus_xfer", &["i2c_smbus_xfer"], ""),
    ("spi_sync", &["spi_sync"], ""),
    ("mmc_wait_for_req", &["mmc_wait_for_req"], ""),
    ("usb_control_msg", &["usb_control_msg"], ""),
    ("usb_bulk_msg", &["usb_bulk_msg"], ""),
    ("acpi_evaluate_object", &["acpi_evaluate_object"], NAMED),
];

/// The name is the second argument of a request for firmware, and of ACPI's evaluation.
const NAMED: &str = " name=+0($arg2):string";

/// Mutexes that others hold. When they are had, `contention_end` tells
/// (include/trace/events/lock.h, 6.1 and 6.12), which costs less than a probed return.
const MUTEXES: [(&str, &str); 3] = [
    ("mutex_lock", "__mutex_lock_slowpath"),
    ("mutex_lock_interruptible", "__mutex_lock_interruptible_slowpath"),
    ("mutex_lock_killable", "__mutex_lock_killable_slowpath"),
];
const LOCK: &str = " lock=$arg1";
/// The event before says which lock it is, as the kernel prints it: not as a probe does. Its flags
/// have 32 for a mutex (`LCB_F_MUTEX`).
const CONTENDED: [(&str, &str); 2] =
    [("lock/contention_begin", "flags & 32"), ("lock/contention_end", "")];

/// The mutex that the walk and all its workers take for each device: where they meet nothing is
/// recorded.
const LIST: &str = "dpm_list_mtx";

/// `wait_event()` is no function: what it does before it sleeps, each time, and after the last
/// (include/linux/wait.h:___wait_event, 6.1 and 6.12).
const EVENT: [(&str, &str, &str); 2] =
    [("wait_event", "_cal", "prepare_to_wait_event"), ("wait_event", "_ret", "finish_wait")];

/// A completion that is waited for without a limit. The core asks so for every device that
/// another may depend on, so phases of a millisecond are half as long again: only where it is
/// asked for.
const COMPLETION: &str = "wait_for_completion";

/// `done` is the first field of a completion (include/linux/completion.h, 6.1 and 6.12). Most are
/// done, and then nothing is recorded.
const DONE: &str = " done=+0($arg1):u32";
const NOT_DONE: &str = "done == 0";

/// What its waiter sleeps in, which tells how long: a return of [`COMPLETION`] would cost where
/// nobody waits.
const SLEEPS_IN: &str = "schedule_timeout";

/// What gives a mutex away for which somebody waits: called by the one that held it.
const UNLOCK: (&str, &str) = ("mutex_unlock", "__mutex_unlock_slowpath");

/// How this architecture finds the caller at the begin of a function: what lies on the stack, or
/// a register.
#[cfg(target_arch = "x86_64")]
const CALLER: &str = " caller=$stack0:symbol";
#[cfg(target_arch = "aarch64")]
const CALLER: &str = " caller=%lr:symbol";
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const CALLER: &str = "";

/// Threads that may be in one function at once: as many as a workqueue runs work items
/// (WQ_DFL_ACTIVE, include/linux/workqueue.h, 6.12: 1024).
const THREADS: &str = "1024";

/// Events that time the probes, and the system call that they stand in.
const COST: [&str; 2] = ["inside_cost", "inside_cost_end"];
const CHEAP: [&str; 2] = ["__x64_sys_getppid", "__arm64_sys_getppid"];

/// Where a probe stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Begin,
    Return,
}

/// One that is probed.
#[derive(Clone, Debug)]
struct Function {
    /// Its events: how each is called, the kernel's function, and where in it. Those that tell
    /// of the end are made first: a call without one has no end.
    events: Vec<(String, String, At)>,
    /// What of a call is recorded.
    given: String,
    /// What is recorded only.
    filter: Option<String>,
}

/// Probes that are announced and not made.
#[derive(Debug, Default)]
pub(crate) struct Planned {
    list: String,
    functions: Vec<Function>,
    /// Events of the kernel's own, and what is recorded of them only.
    had: Vec<(String, Option<String>)>,
    /// This kernel has no function probes.
    unknown: bool,
}

/// Probes that were made.
#[derive(Debug, Default)]
pub(crate) struct Probes {
    /// Paths of their events below `events`, and the filter that each gets.
    pub events: Vec<(String, Option<String>)>,
    /// What this kernel did not take.
    pub missing: Vec<String>,
    /// The events that time a probe were made.
    timed: bool,
}

/// Announces the probes of those functions that this kernel has; they are removed with the guard.
///
/// # Errors
/// If the journal cannot be written.
pub(crate) fn plan(
    guard: &mut Guard<'_>,
    root: &Root,
    tracefs: &str,
    what: Inside,
) -> Result<Planned, Error> {
    let mut plan = Planned { list: format!("{tracefs}/dynamic_events"), ..Planned::default() };
    if !root.exists(&plan.list) {
        plan.unknown = true;
        return Ok(plan);
    }
    let symbols = root.read("/proc/kallsyms").unwrap_or_default();
    let there = Symbols::find(&symbols);
    let list = there.list();
    let but = |field: &str| list.as_ref().map(|at| format!("{field} != 0x{at}"));
    let had = CONTENDED.iter().all(|(event, _)| root.exists(&format!("{tracefs}/events/{event}")));
    plan.functions = functions(&there, what == Inside::All, had, but("lock"));
    if had {
        let filter = |of: &str| {
            let all = [Some(of.to_string()).filter(|f| !f.is_empty()), but("lock_addr")];
            let all: Vec<String> = all.into_iter().flatten().collect();
            Some(all.join(" && ")).filter(|f| !f.is_empty())
        };
        plan.had = CONTENDED.map(|(event, of)| (event.into(), filter(of))).into();
    }
    for (name, _, _) in plan.functions.iter().flat_map(|f| &f.events) {
        guard.announce_probe(&plan.list, &format!("{GROUP}/{name}"))?;
    }
    for name in COST {
        guard.announce_probe(&plan.list, &format!("{GROUP}/{name}"))?;
    }
    Ok(plan)
}

/// Those of this kernel. One that is nowhere belongs to a driver that is not there: nobody waits
/// in it.
fn functions(there: &Symbols<'_>, all: bool, had: bool, but_list: Option<String>) -> Vec<Function> {
    let mut out = Vec::new();
    let pair = |name: &str, symbol: &str, given: &str| Function {
        events: vec![
            (format!("{name}_ret"), symbol.into(), At::Return),
            (format!("{name}_cal"), symbol.into(), At::Begin),
        ],
        given: given.into(),
        filter: None,
    };
    let begin = |event: String, symbol: String, given: String, filter: Option<String>| Function {
        events: vec![(event, symbol, At::Begin)],
        given,
        filter,
    };
    for (name, symbols, given) in PAIRS {
        if let Some(symbol) = symbols.iter().find_map(|s| there.name(s)) {
            out.push(pair(name, &symbol, given));
        }
    }
    let event: Option<Vec<_>> = EVENT
        .iter()
        .rev()
        .map(|(name, end, symbol)| Some((format!("{name}{end}"), there.name(symbol)?, At::Begin)))
        .collect();
    out.extend(event.map(|events| Function { events, given: CALLER.into(), filter: None }));
    for (name, symbol) in MUTEXES {
        match there.name(symbol) {
            Some(symbol) if had => {
                let given = format!("{LOCK}{CALLER}");
                out.push(begin(format!("{name}_cal"), symbol, given, but_list.clone()));
            }
            Some(symbol) => out.push(pair(name, &symbol, LOCK)),
            None => {}
        }
    }
    if let Some(symbol) = there.name(UNLOCK.1) {
        out.push(begin(format!("{}_who", UNLOCK.0), symbol, LOCK.into(), but_list));
    }
    if let (true, Some(completion), Some(sleeps)) =
        (all, there.name(COMPLETION), there.name(SLEEPS_IN))
    {
        out.push(pair(SLEEPS_IN, &sleeps, ""));
        let given = format!("{DONE}{CALLER}");
        out.push(begin(format!("{COMPLETION}_who"), completion, given, Some(NOT_DONE.into())));
    }
    out
}

/// Makes the probes.
///
/// # Errors
/// If the journal cannot be written.
pub(crate) fn probes(guard: &mut Guard<'_>, plan: &Planned) -> Result<Probes, Error> {
    let mut out = Probes::default();
    if plan.unknown {
        out.missing.push("function probes".into());
        return Ok(out);
    }
    out.events.extend(plan.had.clone());
    for Function { events, given, filter } in &plan.functions {
        let mut made = Vec::new();
        for (name, symbol, at) in events {
            let event = format!("{GROUP}/{name}");
            if !define(guard, &plan.list, &event, symbol, *at, given)? {
                out.missing.push(format!("probe of {symbol}"));
                made.clear();
                break;
            }
            made.push((event, filter.clone()));
        }
        out.events.append(&mut made);
    }
    if !plan.functions.is_empty() {
        let [begin, end] = COST.map(|name| format!("{GROUP}/{name}"));
        for call in CHEAP {
            out.timed = define(guard, &plan.list, &end, call, At::Return, "")?
                && define(guard, &plan.list, &begin, call, At::Begin, "")?;
            if out.timed {
                break;
            }
        }
    }
    Ok(out)
}

/// Makes one event in the first way that this kernel takes. Whether it took any.
fn define(
    guard: &mut Guard<'_>,
    list: &str,
    event: &str,
    symbol: &str,
    at: At,
    given: &str,
) -> Result<bool, Error> {
    for line in lines(event, symbol, at, given) {
        match guard.define(list, event, &line) {
            Ok(()) => return Ok(true),
            Err(e @ Error::Journal { .. }) => return Err(e),
            Err(_) => {}
        }
    }
    Ok(false)
}

/// The ways to ask for an event (Documentation/trace/fprobetrace.rst for those that begin with f): the
/// last do without the caller, which not all can say.
fn lines(event: &str, symbol: &str, at: At, given: &str) -> Vec<String> {
    match at {
        At::Return => vec![
            format!("r{THREADS}:{event} {symbol}"),
            format!("f{THREADS}:{event} {symbol}%return"),
            format!("f:{event} {symbol}%return"),
        ],
        At::Begin => {
            let mut out = Vec::new();
            let bare = given.strip_suffix(CALLER).filter(|_| !CALLER.is_empty());
            for given in [Some(given), bare].into_iter().flatten() {
                for kind in ["p", "f"] {
                    out.push(format!("{kind}:{event} {symbol}{given}"));
                }
            }
            out
        }
    }
}

/// Functions of the running kernel.
enum Symbols<'a> {
    /// Nothing says which there are.
    Unsaid,
    /// Those that are asked for here, as the kernel calls them: compilers append `.isra.0` and
    /// the like.
    /// Besides, where [`LIST`] lies.
    Said(BTreeMap<&'a str, &'a str>, Option<&'a str>),
}

impl<'a> Symbols<'a> {
    fn find(kallsyms: &'a str) -> Symbols<'a> {
        if kallsyms.is_empty() {
            return Symbols::Unsaid;
        }
        let (mut out, mut list) = (BTreeMap::new(), None);
        let wanted = |name: &str| {
            PAIRS.iter().any(|p| p.1.contains(&name))
                || EVENT.iter().any(|e| e.2 == name)
                || MUTEXES.iter().any(|m| m.1 == name)
                || [UNLOCK.1, COMPLETION, SLEEPS_IN].contains(&name)
        };
        for line in kallsyms.lines() {
            let mut words = line.split_ascii_whitespace();
            let (Some(at), Some(kind), Some(name)) = (words.next(), words.next(), words.next())
            else {
                continue;
            };
            // Zeros are an address that nobody may know.
            if name == LIST && at.bytes().any(|b| b != b'0') {
                list = Some(at);
            }
            if !matches!(kind, "t" | "T") {
                continue;
            }
            let plain = name.split('.').next().unwrap_or(name);
            // Parts that are never run (`.cold`) are no begin of it.
            if !wanted(plain) || name.contains(".cold") || name.contains(".part") {
                continue;
            }
            let known = out.entry(plain).or_insert(name);
            if name == plain {
                *known = name;
            }
        }
        Symbols::Said(out, list)
    }

    fn list(&self) -> Option<String> {
        match self {
            Symbols::Said(_, list) => list.map(String::from),
            Symbols::Unsaid => None,
        }
    }

    fn name(&self, function: &str) -> Option<String> {
        match self {
            Symbols::Unsaid => Some(function.into()),
            Symbols::Said(names, _) => names.get(function).map(|n| (*n).into()),
        }
    }
}

/// What the begin and the return of a probed function take together, ns, on this machine:
/// measured in the instance at `path`, which is made and does not record. `None` if that cannot
/// be measured.
///
/// # Errors
/// If the instance cannot be switched.
pub(crate) fn cost(
    guard: &mut Guard<'_>,
    path: &str,
    probes: &Probes,
) -> Result<Option<u64>, Error> {
    if !probes.timed || guard.is_dry() {
        return Ok(None);
    }
    let on = format!("{path}/tracing_on");
    let mut call = || {
        system::call();
        true
    };
    let without = idle::time(&mut call);
    let switch = |guard: &mut Guard<'_>, value: &str| {
        COST.iter()
            .all(|name| guard.write(&format!("{path}/events/{GROUP}/{name}/enable"), value).is_ok())
    };
    guard.write(&on, "1")?;
    let with = if switch(guard, "1") { idle::time(&mut call) } else { None };
    guard.write(&on, "0")?;
    switch(guard, "0");
    Ok(without.zip(with).map(|(without, with)| with.saturating_sub(without)))
}

/// How often the probes were hit so far, and how often they missed one
/// (`kprobe_profile`; of fprobes the kernel counts nothing).
pub(crate) fn hits(root: &Root, probes: &Probes) -> (u64, u64) {
    let Some(tracefs) = root.tracefs() else { return (0, 0) };
    let text = root.read(&format!("{tracefs}/kprobe_profile")).unwrap_or_default();
    let mut sum = (0u64, 0u64);
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let (Some(name), Some(hits), Some(missed)) = (words.next(), words.next(), words.next())
        else {
            continue;
        };
        let ours = |event: &String| event.rsplit_once('/').is_some_and(|(_, n)| n == name);
        if !probes.events.iter().any(|(event, _)| ours(event)) {
            continue;
        }
        sum.0 = sum.0.saturating_add(hits.parse().unwrap_or(0));
        sum.1 = sum.1.saturating_add(missed.parse().unwrap_or(0));
    }
    sum
}

/// What the probes cost between two counts, for the capture: at least what the trace holds.
pub(crate) fn spent(
    before: (u64, u64),
    after: (u64, u64),
    trace: &[u8],
    pair_ns: Option<u64>,
) -> ProbeCost {
    let is_probe = |line: &[u8]| {
        let ends = |w: &[u8]| matches!(w, b"_cal: " | b"_ret: " | b"_who: ");
        line.windows(6).any(ends) || line.windows(13).any(|w| w == b": contention_")
    };
    let lines = trace.split(|b| *b == b'\n').filter(|l| is_probe(l)).count() as u64;
    ProbeCost {
        hits: after.0.saturating_sub(before.0).max(lines),
        missed: after.1.saturating_sub(before.1),
        // Half of a pair.
        each_ns: pair_ns.map(|ns| ns.div_ceil(2)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_by_what_the_kernel_calls_them() {
        let text = "0000 T msleep\n0000 t __mutex_unlock_slowpath.isra.0\n\
                    0000 t __mutex_unlock_slowpath.isra.0.cold\n0000 t usb_control_msg\t[usbcore]\n\
                    0000 d spi_sync\n0000 t request_firmware.part.0\n";
        let found = Symbols::find(text);
        let name = |f| found.name(f);
        assert_eq!(name("msleep").as_deref(), Some("msleep"));
        assert_eq!(
            name("__mutex_unlock_slowpath").as_deref(),
            Some("__mutex_unlock_slowpath.isra.0")
        );
        assert_eq!(name("usb_control_msg").as_deref(), Some("usb_control_msg"));
        assert_eq!((name("spi_sync"), name("request_firmware")), (None, None));
        assert_eq!(Symbols::find("").name("spi_sync").as_deref(), Some("spi_sync"));
        let at = |text| Symbols::find(text).list();
        assert_eq!(at("ffffffff82a0b0c0 d dpm_list_mtx\n").as_deref(), Some("ffffffff82a0b0c0"));
        assert_eq!(at("0000000000000000 d dpm_list_mtx\n"), None);
    }

    #[test]
    fn a_mutex_is_had_where_the_kernel_says_so_or_where_its_function_returns() {
        let text = "0 t __mutex_lock_slowpath\n0 t __mutex_unlock_slowpath\n";
        let made = |had, but: Option<&str>| {
            let list = functions(&Symbols::find(text), false, had, but.map(String::from));
            let event = |f: &Function| {
                let names: Vec<&str> = f.events.iter().map(|e| e.0.as_str()).collect();
                format!("{} if {}", names.join(" "), f.filter.as_deref().unwrap_or("any"))
            };
            list.iter().map(event).collect::<Vec<_>>()
        };
        assert_eq!(
            made(true, Some("lock != 0x1")),
            ["mutex_lock_cal if lock != 0x1", "mutex_unlock_who if lock != 0x1"]
        );
        assert_eq!(
            made(false, None),
            ["mutex_lock_ret mutex_lock_cal if any", "mutex_unlock_who if any"]
        );
    }

    #[test]
    fn a_kernel_is_asked_in_every_way_that_it_may_take() {
        let ret = lines("dormouse/msleep_ret", "msleep", At::Return, " ignored");
        assert_eq!(ret[0], "r1024:dormouse/msleep_ret msleep");
        assert_eq!(ret[2], "f:dormouse/msleep_ret msleep%return");
        let given = format!("{DONE}{CALLER}");
        let who = lines("dormouse/x_who", "x", At::Begin, &given);
        assert_eq!(who[0], format!("p:dormouse/x_who x{given}"));
        assert_eq!(who.last().map(String::as_str), Some("f:dormouse/x_who x done=+0($arg1):u32"));
    }

    #[test]
    fn what_is_spent_is_counted_by_the_kernel_or_by_the_trace() {
        let trace = b" a-1 [000] 1.0: msleep_cal: (x)\n a-1 [000] 1.1: msleep_ret: (y <- x)\n";
        let cost = spent((10, 1), (15, 3), trace, Some(701));
        assert_eq!((cost.hits, cost.missed, cost.each_ns), (5, 2, Some(351)));
        assert_eq!(spent((0, 0), (0, 0), trace, None).hits, 2);
    }
}
