//! What systemd and logind say of a sleep as a whole: hooks that failed, processes that hung, requests that came to nothing, and the way to the kernel.

use super::direction::way_of;
use super::quote::{WAKE, span, words};
use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Finding, Level, Task};
use crate::rules::unit::{is_a_sleep, is_unanswered};
use crate::said;
use crate::way::{Kind, Step};
use dormouse_base::phase::Direction;
use dormouse_base::say;
use dormouse_base::time::Ns;

/// From here on the way from systemd to the kernel is slow, and longer than that was a
/// sleep, in ms.
const SLOW: i64 = 2_000;
const MOST: i64 = 1_200_000;

pub(super) fn judge(steps: &[Step], out: &mut Vec<Finding>) {
    refused(steps, out);
    hooks(steps, out);
    asked_again(steps, out);
    killed(steps, out);
    timed_out(steps, out);
    failed(steps, out);
}

/// The unit of which a line says that its time was over.
fn over(text: &str) -> Option<&str> {
    let (name, rest) = text.split_once("]: ")?.1.split_once(": ")?;
    let over = ["start operation timed out", "Mounting timed out", "result 'timeout'"];
    let kind = [".service", ".mount", ".socket", ".device"].iter().any(|k| name.ends_with(k));
    (over.iter().any(|o| rest.contains(o)) && kind).then_some(name)
}

/// Whether a line says that systemd begins to start a unit.
fn begins(s: &Step, name: &str) -> bool {
    let begins = ["Starting ", "Mounting "].iter().any(|w| s.text.contains(w));
    begins && s.text.contains(name) && !s.text.contains("timed out")
}

/// A unit that failed in a wake-up, by the result that systemd prints (src/core/unit.c:
/// unit_log_failure, 257): no fault of the sleep by itself. The unit that asks the kernel to sleep
/// is the sleep, and is told of as that.
fn failed(steps: &[Step], out: &mut Vec<Finding>) {
    let of = |text: &str| -> Option<(String, String)> {
        let (name, rest) = text.split_once("]: ")?.1.split_once(": Failed with result '")?;
        Some((name.to_owned(), rest.split('\'').next()?.to_owned()))
    };
    let all = steps.iter().enumerate().filter_map(|(at, s)| {
        let (name, result) = of(&s.text)?;
        let mut before = steps[..at].iter().rev().take_while(|x| x.run == s.run);
        let back = before.find(|x| x.kind == Kind::Back)?;
        let other = result != "timeout" && !is_a_sleep(&name);
        (other && s.ms - back.ms < SOON).then_some((name, result, back, s))
    });
    let all: Vec<(String, String, &Step, &Step)> = all.collect();
    let Some(first) = all.first() else { return };
    // One may fail several times.
    let names: std::collections::BTreeSet<&str> = all.iter().map(|u| u.0.as_str()).collect();
    let more = match names.len() - 1 {
        0 => String::new(),
        n => format!(" So did {}.", say::plural(n, "more unit")),
    };
    // What runs for the sake of a wake-up alone was not done.
    let own = |u: &(String, String, &Step, &Step)| of_sleeps(&u.0);
    let found = all.iter().find(|u| own(u));
    let ((name, result, back, s), own) = (found.unwrap_or(first), found.is_some());
    let (level, so) = match own {
        true => (
            Level::Broken,
            "By its name it is of sleeps: what it does behind one was not done, or not all of it.",
        ),
        false => (Level::Note, "Whether the sleep is the reason, no line says."),
    };
    let said = |x: &&Step| {
        let inside = x.line > back.line && x.line < s.line && x.run == s.run;
        inside && !x.text.contains("systemd[") && said::complains(&x.text)
    };
    let error = steps.iter().rfind(said).filter(|_| own);
    let why =
        error.map_or(String::new(), |e| format!("The last error before that line: {}.", words(e)));
    out.push(
        Finding::new(("way-unit-failed", Area::Phase, level), Confidence::Certain)
            .says(format!(
                "The unit {name} failed {} after the kernel was back ({result}).{more} {so}",
                span(s.ms - back.ms, s.grain)
            ))
            .because(why)
            .look(format!("journalctl -b -u {name} has what it said before."))
            .times(all.len())
            .when(Some(Direction::Resume), None)
            .shown_by([back.shown(), s.shown()])
            .shown_by(error.map(|e| e.shown())),
    );
}

/// Whether a unit is run for the sake of sleeps, by its name; those that ask the kernel to sleep
/// (units/systemd-suspend.service.in and its like) fail where it does not.
pub(super) fn of_sleeps(unit: &str) -> bool {
    // Whole words: a program may be called sleepd.
    const WORDS: [&str; 8] =
        ["resume", "suspend", "sleep", "hibernate", "hibernation", "wake", "wakeup", "standby"];
    let lower = unit.to_ascii_lowercase();
    let is = |w: &str| WORDS.contains(&w);
    let mut words = lower.split(|c: char| !c.is_ascii_alphanumeric());
    !lower.starts_with("systemd-") && words.any(is)
}

/// A unit that fails so soon after the kernel was back failed in the wake-up, in ms.
const SOON: i64 = 60_000;

/// A unit that was started in a wake-up, and that systemd gave up when its time was over
/// (src/core/service.c:service_dispatch_timer, and the result that every version prints).
fn timed_out(steps: &[Step], out: &mut Vec<Finding>) {
    let found = steps.iter().enumerate().find_map(|(at, s)| {
        let name = over(&s.text)?;
        let before = || steps[..at].iter().rev().take_while(|x| x.run == s.run);
        let began = before().find(|x| begins(x, name))?;
        // What was started before the sleep is of another matter.
        let back = before().find(|x| x.kind == Kind::Back)?;
        let soon = back.line < began.line && began.ms - back.ms < WAKE;
        soon.then_some((name, back, began, s))
    });
    let Some((name, back, began, s)) = found else { return };
    let waited = s.ms - began.ms;
    out.push(
        Finding::new(("way-unit-timeout", Area::Phase, Level::Risk), Confidence::Certain)
            .says(format!(
                "The unit {name}, which systemd began to start {} after the kernel was back, did not come up: systemd gave it up after {}. What it waited for is not in the text.",
                span(began.ms - back.ms, 1),
                span(waited, s.grain)
            ))
            .look(format!("journalctl -u {name} and systemctl show -p TimeoutStartUSec {name}: what it runs, and its limit."))
            .costs(Ns(waited.saturating_mul(1_000_000)))
            .when(Some(Direction::Resume), None)
            .shown_by([back.shown(), began.shown(), s.shown()]),
    );
}

/// logind could not start what it was asked for.
fn refused(steps: &[Step], out: &mut Vec<Finding>) {
    let all: Vec<&Step> = steps.iter().filter(|s| s.kind == Kind::Refused).collect();
    let Some(at) = steps.iter().position(|s| s.kind == Kind::Refused) else { return };
    let s = &steps[at];
    let reason = s.text.rsplit_once("): ").or_else(|| s.text.rsplit_once(": "));
    let reason = reason.map_or(s.text.as_str(), |r| r.1).trim_end_matches('.');
    let mut rest = steps[at + 1..].iter().take_while(|x| x.run == s.run && x.kind != Kind::Asked);
    let entry = rest.find(|x| x.kind == Kind::Entry);
    // A call that waits for its answer ends after 25 s, when the kernel has long been asked.
    let near = |x: &&Step| x.run == s.run && s.ms - x.ms < SOON && x.kind != Kind::Back;
    let before = steps[..at].iter().rev().take_while(near);
    let begun = before.filter(|x| x.kind == Kind::Entry).last();
    let look = match begun {
        Some(_) => {
            "The kernel's last lines behind that tell how far the sleep came; where it hangs, no_console_suspend and a serial or net console show more."
        }
        None => {
            "systemctl status suspend.target and the unit that the line names: it may be masked, removed or renamed."
        }
    };
    out.push(
        Finding::new(("way-refused", Area::Abort, Level::Broken), Confidence::Certain)
            .says(match (begun, entry) {
                (Some(e), _) => format!(
                    "A request to sleep failed {} after a kernel was asked ({}), and no line between tells that it came back: {reason}.",
                    span(s.ms - e.ms, s.grain.max(e.grain)),
                    words(e)
                ),
                (None, None) if is_unanswered(reason) => format!(
                    "A request to sleep got no answer: {reason}. Whether a kernel was asked, no line says."
                ),
                (None, Some(e)) => format!(
                    "A request to sleep failed: {reason}. A kernel was asked all the same: {} comes after {}.",
                    words(e),
                    span(e.ms - s.ms, s.grain.max(e.grain))
                ),
                (None, None) => format!("A request to sleep failed before any kernel was asked: {reason}."),
            })
            .look(look)
            .times(all.len())
            .shown_by(all.iter().take(3).map(|s| s.shown())),
    );
}

/// Nobody asks for the next sleep so soon after the last one, in ms.
const AGAIN: i64 = 1_000;

/// A daemon that sends the machine to sleep again as it wakes up.
fn asked_again(steps: &[Step], out: &mut Vec<Finding>) {
    let asks = |s: &Step| s.kind == Kind::Asked || s.text.contains("Suspending system");
    let again = |at: usize| {
        let back = &steps[at];
        // Stamps of whole seconds show no more than that both are in one.
        let near = |s: &Step| s.ms - back.ms < AGAIN && s.grain < AGAIN || s.ms == back.ms;
        let over = |s: &&Step| s.run == back.run && near(s);
        let mut rest = steps[at + 1..].iter().take_while(over);
        // A hibernation may be the second part of what was asked for.
        let hibernates = |s: &Step| s.text.contains("ibernat") && !s.text.contains("suspend");
        let ask = rest.find(|s| asks(s)).filter(|s| !hibernates(s))?;
        matches!(back.kind, Kind::Back | Kind::Ended).then_some((back, ask))
    };
    let mut all: Vec<(&Step, &Step)> = (0..steps.len()).filter_map(again).collect();
    all.dedup_by_key(|p| p.1.line);
    let Some((back, ask)) = all.first() else { return };
    let after = match ask.ms - back.ms {
        0 => "in the moment that".to_string(),
        ms => format!("{} after", span(ms, ask.grain)),
    };
    out.push(
        Finding::new(("way-again", Area::Mode, Level::Risk), Confidence::Certain)
            .says(format!(
                "The machine was sent to sleep again {after} it was back, by a request{}: {} follows {}. Who asked, no line says.",
                say::and_times(all.len()),
                words(ask),
                words(back)
            ))
            .look("A button or lid event that comes twice, a desktop beside logind, or an idle timer that counted on asks so: watch with journalctl -f or elogind's log, and udevadm monitor.")
            .times(all.len())
            .shown_by([back.shown(), ask.shown()]),
    );
}

/// systemd goes on whatever a hook returns (src/sleep/sleep.c:execute).
fn hooks(steps: &[Step], out: &mut Vec<Finding>) {
    let all: Vec<&Step> = steps.iter().filter(|s| s.kind == Kind::Hook).collect();
    let Some(s) = all.first() else { return };
    let Some((path, how)) = s.text.split_once("system-sleep/") else { return };
    let name = how.split([' ', ':']).next().unwrap_or(how);
    let folder = path.rsplit([' ', '"']).next().unwrap_or("");
    let how = how[name.len()..].trim_matches([' ', '.', ':']);
    let how = if how == "Operation canceled" {
        "asked to cancel the sleep (Operation canceled)"
    } else {
        how
    };
    // elogind gives the sleep up where AllowSuspendInterrupts says so (src/sleep/sleep.c).
    let given_up = steps.iter().find(|s| s.text.contains("has been cancelled!"));
    let elogind =
        || steps.iter().any(|s| s.text.contains("elogind") || s.text.contains("e-suspend["));
    let then = match given_up {
        Some(_) => "The sleep was given up for it.",
        None if elogind() && steps.iter().any(|x| x.kind == Kind::Sleeps && x.line > s.line) => {
            "elogind went on with the sleep all the same."
        }
        None if elogind() => "Whether elogind went on with the sleep, no line says.",
        None => "systemd goes on with the sleep all the same.",
    };
    let level = if given_up.is_some() { Level::Broken } else { Level::Note };
    out.push(
        Finding::new(("way-hook-failed", Area::Phase, level), Confidence::Certain)
            .says(format!("The sleep hook {name} {how}. {then}"))
            .look(format!("Run it by hand: {folder}system-sleep/{name} pre suspend."))
            .times(all.len())
            .when(hook_way(steps, s), None)
            .shown_by(all.iter().take(3).map(|s| s.shown()))
            .shown_by(given_up.map(|s| s.shown())),
    );
}

/// On which way a hook was called: it is told itself, by its first argument.
fn hook_way(steps: &[Step], s: &Step) -> Option<Direction> {
    let at = steps.iter().position(|x| x.line == s.line && x.text == s.text)?;
    let told = |word: &str| s.text.split(|c: char| !c.is_ascii_alphanumeric()).any(|w| w == word);
    match (told("pre"), told("post")) {
        (true, false) => Some(Direction::Suspend),
        (false, true) => Some(Direction::Resume),
        _ => way_of(steps, at),
    }
}

/// `systemd-suspend.service: Killing process 512 (slow.sh) with signal SIGKILL.`
fn killed(steps: &[Step], out: &mut Vec<Finding>) {
    let Some(last) = steps.iter().rposition(|s| s.kind == Kind::Killed) else { return };
    let s = &steps[last];
    let Some((_, rest)) = s.text.split_once("Killing process ") else { return };
    let pid = rest.split(' ').next().and_then(|p| p.parse().ok()).unwrap_or(0);
    let name = rest.split_once('(').and_then(|r| r.1.split_once(')')).map_or("", |r| r.0);
    let began = [Kind::Back, Kind::Sleeps, Kind::Asked];
    let from = steps[..last].iter().rev().take_while(|x| x.run == s.run);
    let from = from.clone().find(|x| began.contains(&x.kind)).or(from.last());
    let since = from
        .map_or(String::new(), |f| format!(" {} after {}", span(s.ms - f.ms, s.grain), words(f)));
    out.push(
        Finding::new(("way-killed", Area::Phase, Level::Slow), Confidence::Certain)
            .says(format!("{name} did not end: systemd sent it SIGKILL{since}. What it waited for is not in the text."))
            .look("Run that program by hand with the arguments of the unit or hook that starts it, and see where it stays: cat /proc/PID/stack.")
            .of_tasks([Task { name: name.into(), pid }])
            .when(way_of(steps, last), None)
            .costs(Ns(from.map_or(0, |f| s.ms - f.ms).saturating_mul(1_000_000)))
            .shown_by(from.map(|f| f.shown()))
            .shown_by([s.shown()]),
    );
}

/// What may run there. systemd says this when its hooks have run and its sessions are frozen,
/// and writes to /sys/power/state next (src/sleep/sleep.c:execute, 219 to 258). The kernel says
/// first that it enters, and before 4.12 that it has synced (kernel/power/suspend.c).
fn between(a: &Step, b: &Step) -> &'static str {
    let systemd = a.text.contains("systemd-sleep");
    let synced = b.text.contains("yncing filesystems") || b.text.contains("ilesystems sync");
    match (systemd, synced) {
        (true, true) => {
            "systemd-sleep says so when its hooks have run, and the kernel's line ends with the sync: writing dirty data may be what took so long. If the kernel's lines were written down as the machine woke up, it slept in that time."
        }
        (true, false) => {
            "systemd-sleep says so when its hooks have run, and asks the kernel next: no hook runs in between. If the kernel's lines were written down as the machine woke up, it slept in that time."
        }
        (false, _) => {
            "Hooks and the freezing of sessions run there, before the kernel begins. If the kernel's lines were written down as the machine woke up, it slept in that time."
        }
    }
}

/// A request that an inhibitor lock refused, as systemctl and loginctl of elogind say it
/// (src/systemctl/systemctl-logind.c:logind_check_inhibitors, 183 to 258): who holds the lock.
pub(super) fn inhibited(case: &Case, out: &mut Vec<Finding>) {
    let said = case.messages.all_having("peration inhibited by \"");
    let Some(m) = said.last() else { return };
    let Some(rest) = m.after("peration inhibited by \"") else { return };
    let who = rest.split_once("(PID ").and_then(|(_, r)| r.split_once(')'));
    let (pid, name) = who.and_then(|w| w.0.split_once(" \"")).unwrap_or(("", ""));
    let name = name.split('"').next().unwrap_or_default();
    let name = if name.is_empty() { rest.split('"').next().unwrap_or_default() } else { name };
    let why = rest.split_once("reason is \"").and_then(|r| r.1.split('"').next());
    let why = why.map_or(String::new(), |w| format!(" Its reason: \"{w}\"."));
    out.push(
        Finding::new(("way-inhibited", Area::Abort, Level::Risk), Confidence::Certain)
            .says(format!(
                "A request to sleep was refused{}: {name} holds a lock that inhibits it.{why}",
                say::and_times(said.len())
            ))
            .look("systemd-inhibit --list (loginctl list-inhibitors) names who holds a lock; `-i` ignores them.")
            .of_tasks([Task { name: name.into(), pid: pid.parse().unwrap_or(0) }])
            .times(said.len())
            .shown_by(lines([*m])),
    );
}

/// From the word of systemd-sleep to the first one of the kernel.
pub(super) fn to_the_kernel(steps: &[Step], at: usize, out: &mut Vec<Finding>) {
    let a = &steps[at];
    let over = [Kind::Back, Kind::Asked, Kind::Sleeps, Kind::Ended];
    let mut rest = steps[at + 1..].iter().take_while(|s| s.run == a.run);
    let Some(b) = rest.find(|s| s.kind == Kind::Entry || over.contains(&s.kind)) else { return };
    let gap = b.ms - a.ms;
    if b.kind != Kind::Entry || !(SLOW..MOST).contains(&gap) {
        return;
    }
    out.push(
        Finding::new(("way-to-kernel", Area::Phase, Level::Slow), Confidence::Likely)
            .says(format!(
                "{} pass between {} and the first word of the kernel, {}. {}",
                span(gap, a.grain.max(b.grain)),
                words(a),
                words(b),
                between(a, b)
            ))
            .look("journalctl -o short-monotonic has the kernel's own times; `time sync` just before a sleep tells how much is to be written.")
            .costs(Ns(gap.saturating_mul(1_000_000)))
            .shown_by([a.shown(), b.shown()]),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::way;

    fn judged(lines: &[(i64, &str, Kind)]) -> Vec<Finding> {
        let mut case = Case::default();
        case.way.steps = Step::of(lines);
        let mut out = Vec::new();
        way::judge(&case, &mut out);
        out
    }

    fn failed(unit: &str) -> Finding {
        let fails = format!("systemd[1]: {unit}: Failed with result 'exit-code'.");
        let mut found = judged(&[
            (0, "kernel: PM: suspend exit", Kind::Back),
            (900, "elm.sh[7]: cannot write: Input/output error", Kind::Other),
            (5_000, &fails, Kind::Other),
            (7_000, "nm[9]: manager: NetworkManager state is now CONNECTED_GLOBAL", Kind::Address),
        ]);
        let network = found.iter().find(|f| f.id == "way-network").expect("a network");
        assert!(network.sentence.starts_with("NetworkManager called the network connected 7.0 s"));
        assert_eq!(network.row, "resume");
        let at = found.iter().position(|f| f.id == "way-unit-failed").expect("a unit");
        found.swap_remove(at)
    }

    #[test]
    fn a_unit_of_the_wake_up_that_failed_is_broken_and_another_a_note() {
        let own = failed("oak-resume.service");
        assert_eq!((own.level, own.row), (Level::Broken, "resume"));
        assert!(own.why.contains("cannot write: Input/output error"), "{}", own.why);
        assert!(of_sleeps("elm-standby@oak.service") && !of_sleeps("elm-sleepd.service"));
        for other in ["oak.service", "wakeonelm.service", "systemd-oakd.service"] {
            assert_eq!(failed(other).level, Level::Note, "{other}");
        }
        for sleep in ["suspend", "hibernate", "hybrid-sleep", "suspend-then-hibernate"] {
            let fails =
                format!("systemd[1]: systemd-{sleep}.service: Failed with result 'exit-code'.");
            let back =
                (0, "systemd-sleep[7]: System resumed again: Cannot allocate memory", Kind::Back);
            let found = judged(&[back, (900, &fails, Kind::Other)]);
            assert!(found.iter().all(|f| f.id != "way-unit-failed"), "{sleep}");
        }
    }

    #[test]
    fn a_request_without_an_answer_is_no_refusal_before_the_kernel() {
        let fails = |via: &str, why: &str| {
            format!("loginctl[7]: Failed to suspend system via {via}: {why}")
        };
        let said = |steps: &[(i64, &str, Kind)]| {
            let found = judged(steps);
            found.iter().find(|f| f.id == "way-refused").expect("a refusal").sentence.clone()
        };
        let late = fails("elogind", "Connection timed out");
        let entry = (0, "kernel: PM: suspend entry (deep)", Kind::Entry);
        let behind = said(&[entry, (25_000, &late, Kind::Refused)]);
        assert!(behind.contains("25.0 s after a kernel was asked"), "{behind}");
        let back = (9_000, "kernel: PM: suspend exit", Kind::Back);
        let alone = said(&[entry, back, (25_000, &late, Kind::Refused)]);
        assert!(alone.contains("got no answer: Connection timed out"), "{alone}");
        let refused = fails("elogind", "Access denied");
        let refused = said(&[(0, &refused, Kind::Refused)]);
        assert!(refused.contains("before any kernel was asked: Access denied"), "{refused}");
    }

    #[test]
    fn what_comes_behind_the_return_is_of_the_way_back() {
        let lease = judged(&[
            (0, "kernel: PM: suspend exit", Kind::Back),
            (1_000, "nm[9]: dhcp4 (elm0): activation: beginning transaction", Kind::Other),
            (9_000, "nm[9]: dhcp4 (elm0): state changed new lease", Kind::Address),
        ]);
        let ways = lease.iter().map(|f| (f.id, f.row, f.about.direction));
        let resume = Some(Direction::Resume);
        assert!(
            ways.clone().all(|w| (w.1, w.2) == ("resume", resume)),
            "{:?}",
            ways.collect::<Vec<_>>()
        );
        let killed = |before| {
            let found = judged(&[
                (0, "the line before", before),
                (
                    9_000,
                    "systemd[1]: elm.service: Killing process 5 (oak) with signal SIGKILL.",
                    Kind::Killed,
                ),
            ]);
            found.iter().find(|f| f.id == "way-killed").expect("one").row
        };
        assert_eq!((killed(Kind::Back), killed(Kind::Asked)), ("resume", "suspend"));
    }
}
