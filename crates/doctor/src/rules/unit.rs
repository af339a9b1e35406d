//! Programs and services of systemd that could not put the machine to sleep.

use super::libc::{self, EBUSY};
use super::swap;
use crate::attempt::Attempt;
use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Finding, Level};
use crate::message::{Message, Trust};
use crate::stage::{ends_sleep, passed};
use crate::way::Kind;
use dormouse_base::say;
use dormouse_base::time::Ns;

/// A program that could not write to `/sys/power/state`, as it says itself: AMD's script
/// for s2idle prints the error of Python, shells and rtcwake that of the C library.
/// Where something else tells why, this says no more.
pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    tested(case, out);
    written(case, out);
    answered(case, out);
    reads_image(case, out);
}

fn written(case: &Case, out: &mut Vec<Finding>) {
    let why = |f: &Finding| match f.area {
        Area::Abort | Area::Freezer => true,
        Area::Hibernation => f.level == Level::Broken,
        _ => false,
    };
    if out.iter().any(why) {
        return;
    }
    let python = |m: &Message| {
        let (_, rest) = m.text.split_once("[Errno ")?;
        rest.split_once(']')?.0.parse::<i32>().ok()
    };
    // The command whose error the lines below it show.
    let asked = |at: usize| {
        let above = case.messages[..at].iter().rev().take(COMMAND);
        above.into_iter().any(|m| m.has("/sys/power/state"))
    };
    let mut said: Vec<(&Message, Option<i32>)> = Vec::new();
    let words = [
        "Failed to write /sys/power/state: ",
        "System resumed again: ",
        "Failed to suspend",
        "write error",
    ];
    for (i, m) in case.messages.having_any(&words) {
        // systemd before 240 names the file.
        let systemd = || m.after("Failed to write /sys/power/state: ");
        let errno = if let Some(why) = m.after("System resumed again: ").or_else(systemd) {
            libc::said_by_libc(why).map(Some)
        } else if m.has("Failed to suspend") {
            case.messages[i + 1..].iter().take(2).find_map(python).map(Some)
        } else if let Some(why) = m.text.trim().strip_prefix("rtcwake: write error") {
            // Most of its versions do not say which (util-linux, sys-utils/rtcwake.c).
            Some(libc::said_by_libc(why.trim_start_matches([':', ' '])))
        } else {
            let why = m.text.trim().rsplit_once("write error: ").map(|w| w.1);
            let errno = why.and_then(libc::said_by_libc);
            errno.filter(|e| *e == EBUSY || asked(i)).map(Some)
        };
        said.extend(errno.map(|e| (m, e)));
    }
    if needed(case, out) {
        return;
    }
    let units = failed_units(case);
    let errno = said.iter().find_map(|s| s.1);
    if said.is_empty() {
        return of_units(case, &units, out);
    }
    let verb = match units.first() {
        Some((_, unit)) if unit.contains("hibernate") => "hibernate the machine",
        _ => "put the machine to sleep",
    };
    let often = said.len().max(units.len());
    let why = match errno.map(|e| say::refused(-e)) {
        Some(told) if often == said.len() => format!(": {told}"),
        Some(told) => format!("; {} it says why: {told}", say::once(said.len())),
        None => String::new(),
    };
    let text = format!("A program could not {verb}{}{why}.", say::and_times(often));
    let rule = ("write-refused", Area::Abort, Level::Broken);
    let kernel = of_kernel(case, said[0].0);
    let more = kernel.map_or("The text has no line of the kernel that says more.".into(), |k| {
        format!("The kernel said just before: \"{}\".", k.text.trim())
    });
    let f = Finding::new(rule, Confidence::Likely)
        .says(format!("{text} {more}"))
        .look(format!(
            "Take the kernel's own log of that moment: journalctl -k -o short-monotonic.{}",
            if matches!(errno, Some(16) | None) {
                " A pending wakeup gives EBUSY too."
            } else {
                ""
            }
        ))
        .times(often)
        .shown_by(lines(kernel.into_iter().chain(said.iter().map(|s| s.0))));
    out.push(match errno {
        Some(e) => f.of_error(-e),
        None => f,
    });
}

/// So many lines above the word that a sleep was not started stands what it needed.
const NEEDED: usize = 40;

/// A unit that the sleep needs failed, so systemd did not start it (src/core/job.c: `Dependency
/// failed for %s.`, which does not name the unit: it is the one that failed last before). Whether
/// one did. The target of a sleep falls in the same words when the unit that asks the kernel
/// fails itself (units/suspend.target: `Requires=systemd-suspend.service`): that sleep was tried.
fn needed(case: &Case, out: &mut Vec<Finding>) -> bool {
    const FAILED: &str = "Dependency failed for ";
    let of = |m: &Message| {
        let what = m.after(FAILED)?.trim_end_matches('.');
        let what = what.rsplit(" - ").next()?;
        let what = what.strip_prefix("System ").unwrap_or(what);
        UNITS.iter().find(|u| u.1 == what).map(|u| u.0)
    };
    fn service(m: &Message) -> String {
        let name = m.text.split(".service: Failed").next().unwrap_or_default();
        format!("{}.service", name.rsplit(' ').next().unwrap_or(name))
    }
    let above = |at: usize| case.messages[at.saturating_sub(NEEDED)..at].iter().rev();
    let found = case.messages.having(FAILED).find_map(|(at, m)| {
        let unit = of(m)?;
        let failed = above(at).find(|x| x.has(".service: Failed with result "))?;
        let name = service(failed);
        (!is_a_sleep(&name)).then_some((at, m, unit, failed, name))
    });
    let Some((at, m, unit, failed, name)) = found else { return false };
    let exit = above(at).find(|x| x.has("code=") && x.text.contains(&name));
    let how = exit.and_then(|x| x.after("status=")).map_or(String::new(), |s| {
        let end = s.find([',', ' ', ')']).unwrap_or(s.len());
        format!(" (status {})", s[..end].trim())
    });
    // What a target needs may fail behind the sleep too.
    let near = |x: &&Message| passed(x, m).is_none_or(|t| t <= NEAR);
    let asked = above(at).filter(near).find(|x| ASKED.iter().any(|w| x.has(w)));
    let so = match asked {
        None => format!(
            "did not start the sleep ({unit}), because something that it needs failed: no kernel was asked."
        ),
        Some(x) => format!(
            "says that something which the sleep ({unit}) needs failed. The sleep itself had begun: \"{}\".",
            behind_program(&x.text)
        ),
    };
    let f = Finding::new(("write-refused", Area::Abort, Level::Broken), Confidence::Likely)
        .says(format!("{name} failed{how}, and right behind it systemd {so}"))
        .look(format!("See why: journalctl -b -u {name}. A unit that need not stop a sleep is wanted by it (WantedBy=), and not required."))
        .shown_by(lines(exit.into_iter().chain([failed, m]).chain(asked)));
    out.push(f);
    true
}

/// What is of one sleep stands so close together.
const NEAR: Ns = Ns::from_ms(60_000);

/// Words of a kernel or of systemd-sleep that the kernel was asked (kernel/power/suspend.c,
/// hibernate.c; systemd, src/sleep/sleep.c, 183 to 257).
const ASKED: [&str; 7] = [
    "suspend entry (",
    "suspend exit",
    "hibernation entry",
    "hibernation exit",
    "Performing sleep operation",
    "Entering sleep state",
    "]: Suspending system...",
];

/// The words of a line without the program that wrote it.
fn behind_program(text: &str) -> &str {
    text.split_once("]: ").map_or(text, |t| t.1).trim()
}

/// The line in which the kernel is back from the last sleep before `m`, right before it.
fn back_before<'a>(case: &'a Case, m: &Message) -> Option<(&'a Attempt, &'a Message)> {
    let before = |a: &&Attempt| a.closed && !a.inside && case.messages[a.first].line < m.line;
    let last = case.attempts.iter().rev().find(before)?;
    let exit = case.of(last).iter().rfind(|x| x.trust.is_of_a_kernel() && ends_sleep(x))?;
    let near = passed(exit, m).map_or(m.line - exit.line.min(m.line) <= 20, |t| t <= NEAR);
    (exit.line < m.line && near).then_some((last, exit))
}

/// Whether the unit that asked for a sleep failed right behind it: what stands between its begin
/// and its end is no night. One that sleeps twice may have slept once.
pub(super) fn failed_behind(case: &Case, attempt: &Attempt) -> bool {
    let of = |(m, unit): &(&Message, &str)| {
        *unit != UNITS[0].0 && back_before(case, m).is_some_and(|b| b.0.first == attempt.first)
    };
    failed_units(case).iter().any(of)
}

/// A program that went on when the unit of a sleep was stopped: its name, its number and the line (systemd, src/core/unit.c: `Unit process %i (%s) remains running after unit
/// stopped.`).
fn remains(case: &Case) -> Option<(&str, &str, &Message)> {
    const REMAINS: &str = " remains running after unit stopped";
    case.messages.having(REMAINS).find_map(|(_, m)| {
        let (unit, rest) = m.text.split_once(": Unit process ")?;
        let (unit, (number, name)) = (unit.rsplit_once("systemd-")?.1, rest.split_once(" (")?);
        is_a_sleep(&format!("systemd-{unit}")).then_some((name.split_once(')')?.0, number, m))
    })
}

/// So many lines above the word of a program stands what the kernel said of it.
const SAID: usize = 4;

/// The kernel's last line above that of a program, where it speaks of a sleep.
fn of_kernel<'a>(case: &'a Case, m: &Message) -> Option<&'a Message> {
    let at = case.messages.partition_point(|x| x.line < m.line);
    let near = case.messages[at.saturating_sub(SAID)..at].iter().rev();
    // What another program wrote into the same journal is shown beside it.
    let last = near.into_iter().find(|x| x.trust == Trust::Logged)?;
    let speaks = ["ibernat", "uspend", "wap", "resume", "ockdown"].iter().any(|w| last.has(w));
    let ends = last.has("suspend exit") || last.has("suspend entry");
    (speaks && !ends && last.line < m.line).then_some(last)
}

/// So many lines above an error stands its command.
const COMMAND: usize = 3;

/// The self-test of a kernel with CONFIG_PM_TEST_SUSPEND, which sleeps once at boot and says so
/// if it could not (kernel/power/suspend_test.c).
fn tested(case: &Case, out: &mut Vec<Finding>) {
    const FAILED: &str = "suspend test failed, error ";
    let said = case.messages.having(FAILED).map(|(_, m)| m);
    let said: Vec<(&Message, i32)> = said
        .filter(|m| m.trust.is_of_a_kernel() && m.says(FAILED))
        .filter_map(|m| Some((m, m.after(FAILED)?.trim().parse().ok()?)))
        .collect();
    let Some((_, errno)) = said.first() else { return };
    let why = match *errno {
        -22 => {
            " The machine may not offer the state that was asked for: see the modes of /sys/power/mem_sleep."
        }
        _ => "",
    };
    out.push(
        Finding::new(("write-refused", Area::Abort, Level::Broken), Confidence::Certain)
            .says(format!(
                "The kernel's own test at boot could not put the machine to sleep{}: {}.{why}",
                say::and_times(said.len()),
                say::refused(*errno)
            ))
            .look("The lines between that test's entry and exit say why; test_suspend= of the command line chooses the state.")
            .times(said.len())
            .of_error(*errno)
            .shown_by(lines(said.iter().map(|s| s.0))),
    );
}

/// Units that put the machine to sleep: their names, and how systemd describes them.
const UNITS: [(&str, &str); 4] = [
    ("suspend-then-hibernate", "Suspend; Hibernate if not used for a period of time"),
    ("hybrid-sleep", "Hybrid Suspend+Hibernate"),
    ("hibernate", "Hibernate"),
    ("suspend", "Suspend"),
];

/// Whether a unit is one of those (units/systemd-suspend.service.in and its like).
pub(super) fn is_a_sleep(unit: &str) -> bool {
    let name = unit.strip_prefix("systemd-").and_then(|u| u.strip_suffix(".service"));
    name.is_some_and(|name| UNITS.iter().any(|u| u.0 == name))
}

/// Lines of systemd that a unit which puts the machine to sleep failed, one a failure, and
/// which: it says so twice, and a text may have either.
fn failed_units(case: &Case) -> Vec<(&Message, &'static str)> {
    const WORDS: [&str; 2] = [".service: Failed with result ", "Failed to start "];
    let result = |m: &Message| {
        let unit = m.text.split_once(WORDS[0])?.0.rsplit_once("systemd-")?.1;
        UNITS.iter().find(|u| u.0 == unit).map(|u| u.0)
    };
    // `Failed to start systemd-hibernate.service - System Hibernate.`
    let start = |m: &Message| {
        let what = m.after(WORDS[1])?.trim_end_matches('.');
        let what = what.rsplit(" - ").next()?.strip_prefix("System ").unwrap_or(what);
        UNITS.iter().find(|u| u.1 == what).map(|u| u.0)
    };
    let all = |of: &dyn Fn(&Message) -> Option<&'static str>, word: &str| -> Vec<_> {
        case.messages.having(word).filter_map(|(_, m)| Some((m, of(m)?))).collect()
    };
    let (results, starts) = (all(&result, WORDS[0]), all(&start, WORDS[1]));
    let said = if starts.len() > results.len() { starts } else { results };
    if !said.is_empty() {
        return said;
    }
    let listed = |(at, m): (usize, &'_ Message)| {
        let unit = UNITS.iter().find(|u| is_failed(case, at, m, &format!("systemd-{}.", u.0)))?;
        Some((case.messages.get(at)?, unit.0))
    };
    case.messages.having(".service").filter_map(listed).take(1).collect()
}

/// Whether `systemctl --failed` lists a unit in a line, or `systemctl status` calls it failed in
/// the few lines below its name.
fn is_failed(case: &Case, at: usize, m: &Message, unit: &str) -> bool {
    const STATUS: usize = 6;
    let text = m.text.trim_start_matches(['●', '×', '*', ' ', '\t']);
    if !text.starts_with(unit) {
        return false;
    }
    let mut words = text.split_whitespace().skip(1);
    let row = words.next() == Some("loaded") && words.next() == Some("failed");
    let below = case.messages[at + 1..].iter().take(STATUS);
    let mut status = below.take_while(|b| !b.text.contains(".service - "));
    let named = text.contains(".service - ");
    row || named && status.any(|b| b.text.trim_start().starts_with("Active: failed"))
}

/// What stands between the request and its answer.
const VIA: [&str; 2] = [" system via logind: ", " system via elogind: "];

/// Whether a request was not answered, rather than refused (errno ETIMEDOUT of sd-bus, whose call
/// waits for 25 s): the sleep may be under way.
pub(super) fn is_unanswered(why: &str) -> bool {
    why.starts_with("Connection timed out")
}

/// Whether a request did not reach who was to answer it: what systemd and the bus say of a service
/// that cannot be started (systemd, src/core/dbus-unit.c: "Unit %s is masked.", "Unit %s not
/// found."; D-Bus: "The name … was not provided by any .service files").
fn is_unreached(why: &str) -> bool {
    let unit = why.starts_with("Unit ") && ["masked.", "found."].iter().any(|w| why.ends_with(w));
    unit || why.contains("was not provided by any .service files")
}

/// Whether the machine does not offer what was asked for (systemd, src/login/logind-dbus.c: "Sleep
/// verb '%s' is not configured or configuration is not supported by kernel"; older: `Sleep verb
/// "%s" not supported`).
fn is_not_offered(why: &str) -> bool {
    why.starts_with("Sleep verb ") && why.contains("not supported")
}

/// Who did not do what was asked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By<'a> {
    Logind,
    /// systemd refused to start this target.
    Start(&'a str),
    /// systemd gave this target up, for a unit that it needs.
    Job(&'a str),
}

/// Answers to requests of one kind with one reason.
struct Answer<'a> {
    first: &'a Message,
    hibernates: bool,
    by: By<'a>,
    why: &'a str,
    times: usize,
}

impl Answer<'_> {
    fn sentence(&self) -> String {
        let Answer { first, hibernates, by, why, times } = self;
        let who = if first.has(VIA[1]) { "elogind" } else { "logind" };
        let what = if *hibernates { "hibernate the machine" } else { "put the machine to sleep" };
        let often = say::and_times(*times);
        match by {
            By::Start(target) => {
                return format!(
                    "systemd refused to start {target}{often}: \"{why}\". No kernel was asked by that."
                );
            }
            By::Job(target) => {
                return format!(
                    "systemd could not {what}{often}: a unit that {target} needs failed. Whether that is the one which asks the kernel, this line does not tell."
                );
            }
            By::Logind => {}
        }
        match () {
            () if is_unanswered(why) => format!(
                "{who} gave no answer to the request to {what}{often}: \"{why}\". Whether the kernel was asked, that line does not tell."
            ),
            () if is_unreached(why) => format!(
                "systemctl could not reach {who} to {what}{often}: \"{why}\". The kernel was not asked."
            ),
            () => format!("{who} refused to {what}{often}: \"{why}\". The kernel was not asked."),
        }
    }

    fn advice(&self) -> &'static str {
        match () {
            () if matches!(self.by, By::Job(_)) => {
                "The journal of that moment names the unit and what it said: journalctl -b -e, systemctl --failed."
            }
            () if is_not_offered(self.why) && !self.hibernates => {
                "See cat /sys/power/state: without mem and freeze this kernel offers no suspend, as on some boards, in containers and in virtual machines; that is no fault of the hardware. If one is there, see AllowSuspend= and its like in /etc/systemd/sleep.conf."
            }
            () if is_unreached(self.why) => {
                "Look at that service: systemctl status systemd-logind (systemctl unmask, if it is masked), then ask again."
            }
            () if self.hibernates => {
                "The log of logind says more of it (journalctl -b -u systemd-logind); compare /proc/swaps, resume= of the command line and /sys/power/resume."
            }
            () => "The log of logind says more of it (journalctl -b -u systemd-logind).",
        }
    }
}

/// What a request that came to nothing has: of logind (see `answered`), and of the first versions
/// of systemctl that asked it (src/systemctl/systemctl.c:reboot_with_logind: "Failed to execute
/// operation: %s"), of a target that was to be started (start_unit_one: "Failed to start %s: %s")
/// or waited for (src/shared/bus-unit-util.c:check_wait_response, 209 to 257: "A dependency job
/// for %s failed. See 'journalctl -xe' for details.").
const REQUESTS: [&str; 6] = [
    "Call to ",
    VIA[0],
    VIA[1],
    "Failed to execute operation: ",
    ".target: ",
    "A dependency job for ",
];

/// What a line says of such a request: whether of an image, who did not do it, and why.
fn said<'a>(case: &Case, at: usize, m: &'a Message) -> Option<(bool, By<'a>, &'a str)> {
    const VERBS: [&str; 7] = [
        "Suspend",
        "Hibernate",
        "HybridSleep",
        "SuspendThenHibernate",
        "Sleep",
        "suspend",
        "hibernate",
    ];
    let text = m.text.trim();
    let hibernates = |what: &str| what.contains("ibernate");
    let target = |name: &'a str| {
        let is = name.strip_suffix(".target").is_some_and(|n| UNITS.iter().any(|u| u.0 == n));
        is.then_some(name)
    };
    let called = text.strip_prefix("Call to ").and_then(|r| r.split_once(" failed: "));
    let asked = || {
        let request = text.strip_prefix("Failed to ")?;
        VIA.iter().find_map(|via| request.split_once(via))
    };
    if let Some((verb, why)) = called.or_else(asked) {
        let is = VERBS.contains(&verb) && !why.is_empty();
        return is.then_some((hibernates(verb), By::Logind, why));
    }
    if let Some(job) = text.strip_prefix("A dependency job for ") {
        let name = target(job.split_once(" failed.")?.0)?;
        return Some((hibernates(name), By::Job(name), ""));
    }
    if let Some((name, why)) =
        text.strip_prefix("Failed to start ").and_then(|r| r.split_once(": "))
    {
        let name = target(name)?;
        return (!why.is_empty()).then_some((hibernates(name), By::Start(name), why));
    }
    // `systemctl enable` fails in the same words.
    let why = text.strip_prefix("Failed to execute operation: ")?;
    let mut above = case.messages[at.saturating_sub(COMMAND)..at].iter().rev();
    let command = above.find_map(|m| m.after("systemctl ")).map_or("", |c| c.trim());
    let verb = command.split(' ').next().unwrap_or_default();
    let of_sleep = UNITS.iter().any(|u| u.0 == verb) || why.starts_with("Sleep verb ");
    (of_sleep && !why.is_empty()).then_some((hibernates(verb), By::Logind, why))
}

/// What `systemctl` prints of a request that logind refused
/// (systemd, src/systemctl/systemctl-logind.c: "Call to %s failed: %s" and "Failed to %s system
/// via logind: %s"; elogind's elogind_reboot has its own name there): no unit was started for it, unless
/// the answer alone did not come. Each reason is told by itself, and the last one stands.
fn answered(case: &Case, out: &mut Vec<Finding>) {
    if out.iter().any(|f| f.id == "write-refused")
        || case.way.steps.iter().any(|s| s.kind == Kind::Refused)
    {
        return;
    }
    let mut answers: Vec<Answer<'_>> = Vec::new();
    let mut refusal = None;
    for (at, first) in case.messages.having_any(&REQUESTS) {
        let Some((hibernates, by, why)) = said(case, at, first) else { continue };
        refusal = Some(first);
        let same = |a: &&mut Answer<'_>| a.hibernates == hibernates && a.why == why && a.by == by;
        match answers.iter_mut().find(same) {
            Some(same) => same.times += 1,
            None => answers.push(Answer { first, hibernates, by, why, times: 1 }),
        }
    }
    let Some(last) = answers.last() else { return };
    let lacks_swap = answers.iter().any(|a| a.why.contains("swap"));
    let swaps = if lacks_swap { swap::rows(case) } else { Vec::new() };
    let (free, shown) = swap::free(case, &swaps);
    let told: Vec<String> = answers.iter().map(Answer::sentence).collect();
    let text = told.join(" Later in the text ");
    let own = refusal.and_then(|r| own_reason(case, r));
    let why = own.map_or(String::new(), |r| format!("The log of logind says: \"{}\".", r.0));
    let f = Finding::new(("write-refused", Area::Abort, Level::Broken), Confidence::Likely)
        .says(format!("{text}{free}"))
        .because(why)
        .look(last.advice())
        .times(answers.iter().map(|a| a.times).sum())
        .shown_by(lines(answers.iter().map(|a| a.first).chain(shown).chain(own.map(|r| r.1))));
    out.push(f);
}

/// Why logind cannot do what it was asked for, by its own log: the plainest of its words, and the
/// last line that has them (systemd, src/shared/sleep-util.c, 246 to 253, sleep-config.c and
/// hibernate-util.c from 254 on). What it says behind the last `refusal` by the clock, or of
/// something else than an image, is no reason of it; words without a clock may be pasted below.
fn own_reason<'a>(case: &'a Case, refusal: &Message) -> Option<(&'a str, &'a Message)> {
    const WORDS: [&str; 4] = [
        "hibernation is not possible",
        "Unable to read ",
        "ailed to read ",
        "not supported by kernel",
    ];
    const TOPICS: [&str; 6] = ["memory", "resume", "swap", "hibernat", "image", "boot"];
    let of_an_image = |text: &str| {
        let lower = text.split_once("]: ").map_or(text, |t| t.1).to_ascii_lowercase();
        let mut words = lower.split(|c: char| !c.is_ascii_alphanumeric());
        TOPICS.iter().any(|t| lower.contains(t))
            || words.any(|w| w == "efi" || w.starts_with("efivar"))
    };
    let of_logind = |m: &'_ Message| {
        m.text.contains("logind[")
            && of_an_image(&m.text)
            && passed(refusal, m).is_none_or(|t| t <= Ns::ZERO)
            && !m.text.contains("Sleep verb ")
            && !m.text.contains("Call to ")
    };
    WORDS.iter().find_map(|w| {
        let mut said = case.messages.having(w).map(|(_, m)| m).filter(|m| of_logind(m));
        let m = said.next_back()?;
        Some((m.text.split_once("]: ")?.1.trim().trim_end_matches('.'), m))
    })
}

/// The service that tells the kernel where an image is failed: the machine starts afresh, and
/// what an image held is lost, if there was one.
fn reads_image(case: &Case, out: &mut Vec<Finding>) {
    const UNIT: &str = "systemd-hibernate-resume";
    if out.iter().any(|f| f.area == Area::Hibernation && f.level == Level::Broken) {
        return;
    }
    let failed = |at: usize, m: &Message| {
        is_failed(case, at, m, UNIT)
            || m.has(": Failed with result ") && m.text.contains(UNIT)
            || m.text.trim_start().starts_with("Failed to start Resume from hibernation")
    };
    let said = case.messages.having_any(&[UNIT, "Failed to start Resume"]);
    let Some((_, first)) = said.into_iter().find(|(at, m)| failed(*at, m)) else { return };
    let exit = case
        .messages
        .having("code=exited, status=")
        .map(|(_, m)| m)
        .find(|m| m.text.contains(UNIT) || m.line.abs_diff(first.line) <= 12);
    let status = exit.and_then(|m| m.after("status=")?.split([')', ' ', ',']).next());
    let status = status.map_or(String::new(), |s| format!(" (status {s})"));
    let own = own_words(case, UNIT);
    let why =
        own.as_ref().map_or(String::new(), |(words, _)| format!(" Its own words: \"{words}\"."));
    let f = Finding::new(("image-unit-failed", Area::Hibernation, Level::Risk), Confidence::Likely)
        .says(format!(
            "The service {UNIT} failed at this start{status}: the machine did not resume from hibernation, and started afresh.{why} Whether an image was there, these lines do not tell."
        ))
        .look("journalctl -b -k, at the words \"PM: hibernation\" and \"Image\": they say whether an image was found, and why it was not used.")
        .shown_by(lines([first].into_iter().chain(exit).chain(own.map(|o| o.1))));
    out.push(f);
}

/// What the program of a unit says of its failure, in the log of the system: `Failed to write
/// '254:1' to /sys/power/resume: Invalid argument` (systemd, src/hibernate-resume).
fn own_words<'a>(case: &'a Case, unit: &str) -> Option<(&'a str, &'a Message)> {
    let process = format!("{unit}[");
    let fails =
        |w: &str| ["ailed", "nvalid", "rror", "ould not", "annot"].iter().any(|f| w.contains(f));
    case.messages.iter().find_map(|m| {
        let words = m.text.split_once(process.as_str())?.1.split_once("]: ")?.1.trim();
        fails(words).then_some((words, m))
    })
}

/// How the process of such a unit ended, as systemd tells it in its log and in `systemctl
/// status` (src/core/service.c: "Main process exited, code=%s, status=%i/%s").
struct End<'a> {
    message: &'a Message,
    /// The signal that ended it; nothing if it gave up itself.
    signal: Option<&'a str>,
    /// What it ended with, if it gave up itself.
    status: Option<i32>,
}

fn end<'a>(case: &'a Case, unit: &str) -> Option<End<'a>> {
    let service = format!("systemd-{unit}.service");
    let word = |text: &'a str| {
        let end = text.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(text.len());
        Some(&text[..end]).filter(|w| !w.is_empty())
    };
    case.messages.having("code=").map(|(_, m)| m).find_map(|m| {
        let of_it = m.has(&service) || m.has("ExecStart=") && m.has("systemd-sleep");
        let code = word(m.after("code=")?).filter(|_| of_it)?;
        let signal = match code {
            "killed" | "dumped" => match m.after("signal=") {
                Some(name) => word(name),
                None => m.after("status=")?.split_once('/').and_then(|s| word(s.1)),
            },
            "exited" => None,
            _ => return None,
        };
        let status = (code == "exited").then(|| m.after("status=")).flatten();
        let status = status.and_then(|s| word(s)?.parse().ok());
        Some(End { message: m, signal, status })
    })
}

/// What s2disk and its like print as they give up, with the C library's words for the error
/// (uswsusp 1.0, suspend.c:suspend_error): `… (try swapon -a). Reason: No such device`. A text
/// may begin inside of it.
fn reason(case: &Case) -> Option<(&Message, i32)> {
    let mut said = case.messages.having("Reason: ").map(|(_, m)| m);
    said.find_map(|m| {
        let (before, why) = m.text.rsplit_once("Reason: ")?;
        let own = ["s2disk", "s2both", "s2ram", "suspend: "].iter().any(|p| before.contains(p));
        (own || before.contains("resume device")).then_some(())?;
        Some((m, libc::said_by_libc(why)?))
    })
}

/// What systemd-sleep said last of its own.
fn last_words(case: &Case) -> Option<&Message> {
    const USUAL: [&str; 5] = [
        "Performing sleep operation",
        "Entering sleep state",
        "Suspending system",
        "Successfully froze",
        "System returned from",
    ];
    // What hooks print has its name too.
    const FAILS: [&str; 8] =
        ["ailed", "annot", "could not", "ould not", "rror", "efus", "nvalid", "ot enough"];
    let mut said = case.messages.having("systemd-sleep[").map(|(_, m)| m);
    said.rfind(|m| !USUAL.iter().any(|u| m.has(u)) && FAILS.iter().any(|w| m.has(w)))
}

/// One failed, and nothing else tells why.
fn of_units(case: &Case, units: &[(&Message, &str)], out: &mut Vec<Finding>) {
    let Some((_, unit)) = units.first() else { return };
    let rule = ("write-refused", Area::Abort, Level::Broken);
    let end = end(case, unit);
    let signal = end.as_ref().and_then(|e| e.signal);
    let reason = reason(case);
    // Ours: systemd's own program ends with 1, and others hand on the error that they got.
    let known = |n: &i32| *n > 1 && say::refused(-n).contains('(');
    let status = end.as_ref().and_then(|e| e.status).filter(known);
    let last = last_words(case).or(reason.map(|r| r.0));
    let words = last.and_then(|m| m.after("systemd-sleep[")?.split_once("]: "));
    let words = words.map(|w| w.1.trim());
    let remains = remains(case);
    let asked = if case.attempts.is_empty() && case.parts.is_empty() {
        " The text has no line of a kernel that was asked to sleep."
    } else {
        ""
    };
    let why = match (signal, words) {
        (Some(s), Some(w)) => format!(
            "The program systemd-sleep itself was ended by SIG{s}, and said last: \"{w}\".{asked}"
        ),
        (Some(s), None) => format!("The program systemd-sleep itself was ended by SIG{s}.{asked}"),
        (None, Some(w)) => format!("The program systemd-sleep said last: \"{w}\"."),
        (None, None) if let Some((name, number, _)) = remains => {
            format!(
                "{name} (process {number}) stood in its way: it still ran when its unit had been stopped."
            )
        }
        (None, None) => match (reason, status) {
            (Some((m, errno)), _) => format!(
                "The program that was to do it says why: \"{}\", {}.",
                m.text.trim(),
                say::refused(-errno)
            ),
            (None, Some(n)) => format!(
                "Its program ended with status {n}, which as an error of the C library is {}: programs such as s2disk hand it on.",
                say::refused(-n)
            ),
            _ => format!("{}stood in its way.", crate::reason::NONE),
        },
    };
    let back = units.iter().find_map(|u| back_before(case, u.0));
    let tried = back.map_or(String::new(), |(a, exit)| {
        let after = passed(&case.messages[a.first], exit).filter(|t| *t > Ns::ZERO);
        let after = after.map_or(String::new(), |t| format!(" {} later", say::span(t)));
        format!(
            " The kernel was asked (line {}) and was back{after} (line {}).",
            case.messages[a.first].line, exit.line
        )
    });
    let f = Finding::new(rule, Confidence::Likely)
        .says(format!(
            "systemd could not put the machine to sleep ({unit}){}.{tried} {why}",
            say::and_times(units.len())
        ))
        .times(units.len())
        .shown_by(lines(units.iter().map(|u| u.0)))
        .shown_by(lines(back.map(|b| b.1)))
        .shown_by(lines(end.map(|e| e.message).into_iter().chain(last)))
        .shown_by(lines(remains.map(|r| r.2)));
    let errno = reason.map(|r| r.1).or(status);
    let f = match errno.filter(|_| signal.is_none()) {
        Some(e) => f.of_error(-e),
        None => f,
    };
    out.push(match signal {
        None if reason.is_some_and(|r| r.0.has("resume device")) => f.look("See swapon --show, and that resume device of /etc/uswsusp.conf (or resume=) names that swap."),
        Some(_) => f.look("A program of systemd crashed: coredumpctl info shows where; update systemd and what it loads, or report it there."),
        None => f.look("Take the whole log of that moment, with the kernel's lines: journalctl -b -o short-monotonic."),
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_of_logind_stands_before_the_refusal_and_is_of_an_image() {
        let refused = (5_000, "Call to Hibernate failed: Access denied");
        let own = |at: i64, line: &str| {
            let case = Case::of_log(&[(at, line), refused]);
            own_reason(&case, &case.messages[1]).map(|r| r.0.to_owned())
        };
        let swap = "systemd-logind[77]: Failed to read /proc/swaps: Permission denied";
        assert!(own(4_000, swap).is_some_and(|w| w.starts_with("Failed to read /proc/swaps")));
        assert_eq!(own(9_000, swap), None, "behind it");
        let other = "systemd-logind[77]: Failed to read /run/systemd/seats/seat7: No such file";
        assert_eq!(own(4_000, other), None);
    }
}
