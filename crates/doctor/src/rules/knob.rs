//! Settings that change what a sleep is (kernel/power/main.c,
//! Documentation/ABI/testing/sysfs-power, 6.12 and 7.3), as their files show them or the
//! kernel's command line sets them.

pub(super) use crate::offered::bracketed as chosen;

use crate::case::Case;
use crate::evidence::value;
use crate::finding::{Area, Confidence, Evidence, Finding, Level, OLD};
use crate::message::Message;
use crate::stage;
use crate::value::Value;

/// `pm_freeze_timeout` of a kernel that nobody changed, ms.
const FREEZE_TIMEOUT: u64 = 20_000;

/// Threads that compress the image of a kernel that nobody changed (kernel/power/swap.c:
/// `CMP_THREADS`, 6.1 to 7.3).
const COMPRESSION_THREADS: u32 = 3;

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    tested(case, out);
    watchdog(case, out);
    let ordered = ordered(case);
    unconstrained(case, &ordered, out);
    let file = |v: &&Value| v.folder() == "/sys/power" || ELSEWHERE.contains(&v.path.as_str());
    let files = case.values.iter().filter(file).filter_map(|v| Some((unusual(v)?, value(v))));
    let words = ordered.iter().filter_map(|(v, line)| Some((unusual(v)?, line.clone())));
    for (f, evidence) in files.chain(words) {
        // What such a setting cost was told already.
        if !out.iter().any(|x| x.id == f.id) {
            out.push(f.shown_by([evidence]));
        }
    }
}

/// s2idle stayed shallow, and the kernel was not asked to say which device the firmware waited
/// for: from 7.x on it compares them only if told to
/// (drivers/acpi/x86/s2idle.c:acpi_s2idle_prepare_late_lps0, 7.3).
fn unconstrained(case: &Case, ordered: &[(Value, Evidence)], out: &mut Vec<Finding>) {
    const NAME: &str = "check_lps0_constraints";
    let shallow =
        |f: &Finding| matches!(f.id, "mode-name-only" | "mode-partial" | "mode-not-counted");
    let file = case.values.iter().find(|v| v.name() == NAME).map(|v| (v, value(v)));
    let word = ordered.iter().find(|(v, _)| v.name() == NAME).map(|(v, line)| (v, line.clone()));
    let Some((v, evidence)) = file.or(word) else { return };
    if is_on(&v.value) || !out.iter().any(shallow) {
        return;
    }
    let f = Finding::new(("knob-constraints", Area::Mode, Level::Note), Confidence::Certain)
        .says("The kernel does not compare devices with what the firmware asks for in the deep state (check_lps0_constraints is off), so that no line names one is no proof.")
        .change(format!("echo Y > {}", v.path), OLD, "")
        .shown_by([evidence]);
    out.push(f);
}

/// Files outside `/sys/power` with such a setting. drivers/acpi/x86/s2idle.c is of the
/// module acpi up to 6.1, and of acpi_x86 since.
const ELSEWHERE: [&str; 3] = [
    "/sys/module/acpi/parameters/sleep_no_lps0",
    "/sys/module/acpi_x86/parameters/sleep_no_lps0",
    WAKEUP_LIMIT,
];

/// A limit on the time that CPUs take to wake, which s2idle keeps too
/// (kernel/sched/idle.c:cpuidle_idle_call, kernel/power/qos.c, 7.3).
pub(crate) const WAKEUP_LIMIT: &str = "/dev/cpu_wakeup_latency";

/// What nobody limits (`PM_QOS_RESUME_LATENCY_NO_CONSTRAINT`, include/linux/pm_qos.h, 7.3).
const NO_LIMIT: i32 = i32::MAX;

/// The limit of [`WAKEUP_LIMIT`] in us, if there is one.
pub(crate) fn wakeup_limit(case: &Case) -> Option<u32> {
    limit_in(case.values.iter().find(|v| v.path == WAKEUP_LIMIT)?)
}

fn limit_in(v: &Value) -> Option<u32> {
    let us: i32 = v.value.parse().ok()?;
    u32::try_from(us).ok().filter(|_| us != NO_LIMIT)
}

/// Settings of the kernel's command line whose files the text does not show, as those files
/// would say them: `pm_async=off` (kernel/power/main.c:pm_async_setup, 7.3),
/// `hibernate_compression_threads=N` (swap.c, 7.3), `MODULE.PARAMETER=VALUE`.
fn ordered(case: &Case) -> Vec<(Value, Evidence)> {
    let mut out: Vec<(Value, Evidence)> = Vec::new();
    let orders = case.messages.having("ommand line: ").map(|(_, m)| m);
    let said = orders.filter(|m| m.trust.is_of_a_kernel()).filter_map(|m| {
        let after = ["Kernel command line: ", "Command line: "].iter().find_map(|w| m.after(w))?;
        Some((after, m.line, Evidence::from(m)))
    });
    let file = case.values.iter().filter(|v| v.path == "/proc/cmdline");
    let file = file.map(|v| (v.value.as_str(), v.line, value(v)));
    for (words, line, evidence) in said.chain(file) {
        for word in words.split_whitespace() {
            let Some((path, value)) = file_of(word) else { continue };
            if case.values.iter().any(|v| v.path == path) {
                continue;
            }
            // Of two words for one setting the later one holds.
            out.retain(|(v, _)| v.path != path);
            out.push((Value { line, path, value }, evidence.clone()));
        }
    }
    out
}

/// File and value of a word of the command line.
fn file_of(word: &str) -> Option<(String, String)> {
    let (name, value) = word.split_once('=')?;
    match name {
        "pm_async" if value == "off" => Some(("/sys/power/pm_async".into(), "0".into())),
        "hibernate_compression_threads" => {
            Some((["/sys/power/", name].concat(), value.to_string()))
        }
        _ => {
            let (module, parameter) = name.split_once('.')?;
            // A dash in a name is an underscore (kernel/params.c:dash2underscore).
            let plain = |text: &str| text.replace('-', "_");
            let path = ["/sys/module/", &plain(module), "/parameters/", &plain(parameter)].concat();
            Some((path, value.to_string()))
        }
    }
}

/// Whether a parameter of the kernel is on: `Y` in its file, and more words on the command
/// line (lib/kstrtox.c:kstrtobool).
fn is_on(text: &str) -> bool {
    matches!(text, "1" | "Y" | "y" | "on" | "true" | "t" | "T")
}

/// The watchdog of device sleep, where its settings are shown: `dpm_watchdog_*` of
/// `/proc/sys/kernel` and of the module pm (drivers/base/power/main.c, 7.3).
fn watchdog(case: &Case, out: &mut Vec<Finding>) {
    const SYSCTL: &str = "/proc/sys/kernel/dpm_watchdog_";
    let is = |v: &&Value| v.path.starts_with(SYSCTL) || v.path.ends_with("/dpm_watchdog_enabled");
    let shown: Vec<&Value> = case.values.iter().filter(is).collect();
    let of = |name: &str| shown.iter().find(|v| v.name() == name).map(|v| v.value.as_str());
    let seconds = |name: &str| of(name)?.parse::<u32>().ok();
    let on = of("dpm_watchdog_enabled").map(is_on);
    let Some(dies) = seconds("dpm_watchdog_timeout_secs") else { return };
    let warns = seconds("dpm_watchdog_warning_timeout_secs");
    let text = match (on, warns) {
        (Some(false), _) => "The watchdog of device sleep is off (pm.dpm_watchdog_enabled): a callback that never returns hangs the machine without a word.".to_string(),
        (_, Some(w)) if w < dies => format!("The watchdog of device sleep warns of a callback after {w} s, and stops the kernel after {dies} s."),
        _ => format!("The watchdog of device sleep stops the kernel once a callback takes {dies} s, without a warning before."),
    };
    let change = match on {
        Some(false) => "echo Y > /sys/module/pm/parameters/dpm_watchdog_enabled".to_string(),
        // No time can be longer than the kernel was built with (proc_dodpm_watchdog_timeout_secs).
        _ => format!(
            "For an earlier warning: sysctl kernel.dpm_watchdog_warning_timeout_secs={}",
            (warns.unwrap_or(dies) / 2).max(1)
        ),
    };
    let f = Finding::new(("knob-dpm-watchdog", Area::Phase, Level::Note), Confidence::Certain)
        .says(text)
        .change(change, OLD, "")
        .shown_by(shown.into_iter().map(value));
    out.push(f);
}

/// `PM: suspend debug: Waiting for 5 second(s).` (kernel/power/suspend.c:suspend_test),
/// `PM: hibernation debug: Waiting for 5 seconds.` (hibernate.c:hibernation_debug_sleep): only a
/// test says so.
fn tested(case: &Case, out: &mut Vec<Finding>) {
    let is = |m: &&Message| m.trust.is_of_a_kernel() && stage::waits_for_a_test(m);
    let waits = case.messages.having("debug: Waiting for ").map(|(_, m)| m);
    let said: Vec<&Message> = waits.filter(is).collect();
    if said.is_empty() {
        return;
    }
    let sleeps = match said.len() {
        1 => "A sleep was".to_string(),
        n => format!("{n} sleeps were"),
    };
    let mut levels: Vec<&str> = Vec::new();
    let mut behind = 0;
    for m in &said {
        // What is shown of it before a sleep is of that sleep.
        let within = |x: &&Message| x.line > behind && x.line < m.line;
        let level = case.messages.having("pm_test").map(|x| x.1).filter(within);
        levels.extend(level.filter_map(|x| level_in(&x.text)).next_back().filter(|l| *l != "none"));
        behind = m.line;
    }
    // Of some nobody says the level.
    let all = levels.len() == said.len();
    levels.dedup();
    let levels = match all {
        true => format!(" ({})", levels.join(", ")),
        false => String::new(),
    };
    let f = Finding::new(("knob-pm-test", Area::Mode, Level::Risk), Confidence::Certain)
        .says(format!(
            "{sleeps} only a test: pm_test was on{levels}, so the machine stopped half-way, stayed awake and came back by itself."
        ))
        .change("If that was not meant: echo none > /sys/power/pm_test", OLD, "")
        .times(said.len())
        .shown_by(crate::evidence::lines(said));
    out.push(f);
}

/// Levels of tests (kernel/power/main.c:pm_tests, 6.12).
const LEVELS: [&str; 6] = ["none", "core", "processors", "platform", "devices", "freezer"];

/// The level that a line sets or names: `pm_test=devices`, `pm_test: devices`,
/// `echo devices > /sys/power/pm_test`.
fn level_in(text: &str) -> Option<&'static str> {
    let level = |w: &str| LEVELS.into_iter().find(|l| *l == w.trim_matches(['"', '\'', '`', ':']));
    let (before, after) = text.split_once("pm_test")?;
    let set = after.trim_start_matches(['`', ' ']).strip_prefix(['=', ':']);
    let named = set.and_then(|rest| level(rest.split_whitespace().next()?));
    let written = || {
        let at = before.rfind("echo ")?;
        before[at..].contains(['>', '|']).then(|| level(before[at..].split_whitespace().nth(1)?))?
    };
    named.or_else(written)
}

fn unusual(v: &Value) -> Option<Finding> {
    let on = v.value == "1";
    let (rule, text, usual, risk) = match v.name() {
        "pm_test" => {
            let level = chosen(&v.value).filter(|l| l != "none")?;
            (
                ("knob-pm-test", Area::Mode, Level::Broken),
                format!(
                    "A sleep now is only a test: pm_test is {level}, so the machine comes back by itself and never sleeps."
                ),
                "none",
                "",
            )
        }
        "pm_trace" if on => (
            ("knob-pm-trace", Area::Phase, Level::Risk),
            "pm_trace is on: each sleep overwrites the clock of the machine and suspends one device after the other.".into(),
            "0",
            "",
        ),
        "pm_async" if v.value == "0" => (
            ("knob-pm-async", Area::Phase, Level::Slow),
            "Devices suspend and resume one after the other: pm_async is 0.".into(),
            "1",
            "Somebody may have switched it off for a driver that needs an order nobody declared.",
        ),
        "hibernate_compression_threads" => {
            let threads = v.value.parse().ok().filter(|&n: &u32| n != COMPRESSION_THREADS)?;
            let by = if threads == 1 { "one thread".into() } else { format!("{threads} threads") };
            (
                ("knob-hib-threads", Area::Hibernation, Level::Note),
                format!(
                    "The image of a hibernation is compressed and read back by {by} at most (hibernate_compression_threads); usual are {COMPRESSION_THREADS}."
                ),
                "3",
                "",
            )
        }
        "sleep_no_lps0" if is_on(&v.value) => (
            ("knob-no-lps0", Area::Mode, Level::Risk),
            "The firmware is not told of s2idle: sleep_no_lps0 is on, so the platform stays out of its deepest state.".into(),
            "N",
            "Somebody may have switched it on for firmware that fails there.",
        ),
        "cpu_wakeup_latency" => {
            let us = limit_in(v)?;
            let text = format!(
                "A program holds {WAKEUP_LIMIT} open: no CPU may take longer than {us} us to wake, in s2idle either, so it sleeps in no deeper state."
            );
            let f = Finding::new(("knob-wakeup-limit", Area::Mode, Level::Risk), Confidence::Certain)
                .says(text)
                .look("See who holds it: fuser -v /dev/cpu_wakeup_latency. The limit ends when the file is closed.");
            return Some(f);
        }
        "pm_freeze_timeout" => {
            let ms = v.value.parse().ok().filter(|&ms: &u64| ms != FREEZE_TIMEOUT)?;
            (
                ("knob-freeze-timeout", Area::Freezer, Level::Note),
                format!(
                    "Tasks have {ms} ms to freeze (pm_freeze_timeout); the usual time is 20,000 ms."
                ),
                "20000",
                "",
            )
        }
        "pm_print_times" if on => (
            ("knob-print-times", Area::Phase, Level::Note),
            "Every callback is printed (pm_print_times), which costs time where the console is slow.".into(),
            "0",
            "",
        ),
        "sync_on_suspend" if v.value == "0" => (
            ("sync-off", Area::Sync, Level::Risk),
            "Dirty data is not written before sleep: sync_on_suspend is 0. It is lost if power fails or the machine does not resume.".into(),
            "1",
            "With a block device that is suspended below its file system (luksSuspend) sync never ends.",
        ),
        "freeze_filesystems" if on => (
            ("sync-freeze-fs", Area::Sync, Level::Note),
            "File systems are frozen before each sleep (freeze_filesystems). That writes dirty data in a step that no wakeup can end.".into(),
            "0",
            "",
        ),
        "autosleep" if !matches!(v.value.as_str(), "off" | "") => (
            ("knob-autosleep", Area::Mode, Level::Note),
            format!(
                "The machine goes to sleep by itself as {} whenever no wakeup source is active (autosleep).",
                v.value
            ),
            "off",
            "",
        ),
        _ => return None,
    };
    let change = format!("echo {usual} > {}", v.path);
    Some(Finding::new(rule, Confidence::Certain).says(text).change(change, OLD, risk))
}
