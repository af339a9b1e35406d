//! Rows of a sleep by the lines of services: from the request to the kernel, and from the
//! kernel's return to the end of the unit. They add up; a wait that no line explains says so.

use super::direction::way_of;
use super::quote::{LEASE, WAKE, span, words};
use super::{before, logind, network, unit, work};
use crate::attempt::Attempt;
use crate::case::Case;
use crate::finding::{Area, Confidence, Finding, Level, Task};
use crate::message::Trust;
use crate::rules::abort;
use crate::way::{Kind, Step};
use dormouse_base::phase::Direction;
use dormouse_base::time::Ns;

/// A gap between two lines is slow from here on, in ms.
const SLOW: i64 = 1_000;
/// So much may two stamps differ from a length that a line tells, in ms.
const FITS: i64 = 1_500;
/// A wait of a service for another in vain takes at least this long, in ms.
const WAITED: i64 = 4_000;
/// What stands so long before the word of the kernel belongs to the wake-up, in ms.
const EARLY: i64 = 30_000;
/// Where no line ends the unit, lines belong to the wake-up up to such a pause, in ms.
const PAUSE: i64 = 5_000;
/// So many rows are listed.
const ROWS: usize = 8;

/// `(UID 0/root, PID 5345/gnome-shell)`: the last name between the parentheses.
fn holder(text: &str) -> Option<Task> {
    let inner = text.split_once('(')?.1.split_once(')')?.0;
    let (before, name) = inner.rsplit_once('/')?;
    let pid = before.rsplit(' ').next()?.parse().unwrap_or(0);
    Some(Task { name: name.trim().into(), pid })
}

pub(crate) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let steps = &case.way.steps;
    for s in steps.iter().filter(|s| s.kind == Kind::Lock).take(1) {
        let who = holder(&s.text);
        let name = who.as_ref().map_or("a program".into(), |t| t.name.clone());
        let n = steps.iter().filter(|x| x.kind == Kind::Lock).count();
        out.push(
            Finding::new(("way-delay-lock", Area::Phase, Level::Slow), Confidence::Certain)
                .says(format!("{name} held a delay lock until logind's limit: the sleep began only then. The limit is InhibitDelayMaxSec, 5 s where nobody set another. Why it did not let go is not in the text."))
                .look("systemd-inhibit --list names who holds a lock; the limit is in logind.conf.")
                .of_tasks(who)
                .times(n)
                .shown_by([s.shown()]),
        );
    }
    logind::judge(case, out);
    unit::judge(steps, out);
    before::judge(steps, out);
    for (i, s) in steps.iter().enumerate() {
        match s.kind {
            Kind::Back if !before_is_back(steps, i) => {
                after(steps, i, out);
                work::judge(steps, i, out);
                network::judge(steps, i, out);
            }
            Kind::Asked => before(steps, i, out),
            Kind::Sleeps => unit::to_the_kernel(steps, i, out),
            Kind::TimedOut => timeout(steps, i, out),
            Kind::Screen => screen(steps, i, out),
            _ => {}
        }
    }
    if !case.messages.iter().any(|m| m.trust == Trust::Logged) {
        network::without_a_sleep(steps, out);
    }
    // Rows of a wake-up in which nothing is slow are told where nothing else is.
    let others = out.iter().any(|f| f.id != "way-rows" && f.level != Level::Note);
    out.retain(|f| f.id != "way-rows" || !others);
    // A wait before sleeps that all came to nothing is not what keeps the machine awake.
    let slept = |a: &Attempt| !a.closed || !abort::ended_early(case, a);
    if !case.attempts.is_empty() && !case.attempts.iter().any(slept) {
        let before =
            |f: &&mut Finding| f.id == "way-wait" && f.about.direction == Some(Direction::Suspend);
        out.iter_mut().filter(before).for_each(|f| f.level = Level::Note);
    }
    // One sentence a rule: the longest.
    for id in ["way-wait", "way-rows", "way-timeout", "way-screen", "way-network"] {
        // The way down and the way back are two.
        for way in [None, Some(Direction::Suspend), Some(Direction::Resume)] {
            // Of rows in which nothing is slow one sentence is enough for both.
            let is = |f: &Finding| f.id == id && (f.about.direction == way || id == "way-rows");
            let longest = out.iter().filter(|f| is(f)).map(|f| f.costs).max().flatten();
            let mut kept = false;
            out.retain(|f| {
                let keep = !is(f) || f.costs == longest && !kept;
                kept |= keep && is(f);
                keep
            });
        }
    }
}

/// What a wait was for, where the line at its end says that it ended: a hook of systemd-sleep
/// (src/shared/exec-util.c:do_execute), or a unit that was started before.
fn ran(rows: &[&Step], begin: &Step, end: &Step) -> Option<String> {
    // Both lines bear the path of one hook: it speaks itself.
    let path = |t: &str| {
        let (_, rest) = t.split_once("system-sleep/")?;
        let name = rest.split(|c: char| c.is_whitespace() || c == ':').next()?;
        (!name.is_empty()).then(|| name.to_owned())
    };
    if let Some(name) = path(&begin.text).filter(|n| path(&end.text).as_ref() == Some(n)) {
        return Some(format!(" Both lines are of the sleep hook {name}: that is what ran."));
    }
    let hook = |t: &str| {
        let (_, rest) = t.split_once("system-sleep/")?;
        let (name, how) = rest.split_once(' ')?;
        how.starts_with("succeeded").then(|| format!("The sleep hook {name}"))
    };
    let unit = |t: &str| {
        let (_, rest) = t.split_once("]: ")?;
        let ended = rest.strip_prefix("Finished ").map(|r| r.split(' ').next().unwrap_or(r));
        let left = || rest.split_once(": Deactivated").map(|r| r.0);
        let name = ended.or_else(left)?;
        let starts =
            |s: &&&Step| s.line < end.line && s.text.contains("Starting ") && s.text.contains(name);
        let own = !name.contains("systemd-suspend") && name.ends_with(".service");
        (own && rows.iter().any(|s| starts(&s))).then(|| name.to_string())
    };
    let who = hook(&end.text).or_else(|| unit(&end.text))?;
    Some(format!(" {who} ran in that time: the line at its end says that it ended."))
}

const HOOKS: &str = " In between systemd-sleep runs its hooks, those of /usr/lib/systemd/system-sleep, and waits for all of them: no line says which one took the time.";

/// Whether the kernel was back before already: its exit and the word of systemd-sleep.
fn before_is_back(steps: &[Step], at: usize) -> bool {
    let run = steps[at].run;
    let earlier = steps[..at].iter().rev().take_while(|s| s.run == run);
    let asks = [Kind::Sleeps, Kind::Entry, Kind::Asked, Kind::Ended];
    // The unit of a sleep may end before its last word of the return.
    let parts = |s: &Step| {
        let again = s.kind == Kind::Ended && steps[at].ms - s.ms <= PAUSE;
        asks.contains(&s.kind) && !again
    };
    let last = earlier.take_while(|s| !parts(s));
    last.into_iter().any(|s| s.kind == Kind::Back)
}

/// From the kernel's return to the end of the unit, and to an address.
fn after(steps: &[Step], at: usize, out: &mut Vec<Finding>) {
    let first = &steps[at];
    let sleeps = [Kind::Sleeps, Kind::Entry];
    let near =
        |s: &&Step| s.run == first.run && s.ms - first.ms < WAKE && !sleeps.contains(&s.kind);
    // What opened it, and rows of a table, stand before the word of the kernel.
    let is_early = |s: &&Step| {
        let kind = matches!(s.kind, Kind::Opened | Kind::Row);
        kind && s.run == first.run && first.ms - s.ms < EARLY
    };
    let early = steps[..at].iter().rev().take_while(is_early).count();
    let rest: Vec<&Step> = steps[at - early..].iter().take_while(near).collect();
    let ends = |s: &&&Step| matches!(s.kind, Kind::Ended);
    let last = rest.iter().rposition(|s| ends(&s));
    let pause = rest.windows(2).skip(early).position(|w| w[1].ms - w[0].ms > PAUSE);
    // Units of the wake-up may follow that of the sleep.
    let resumes = |s: &&Step| s.text.contains("Finished ") && s.text.contains("resume");
    let more = last.and_then(|l| Some(l + 1 + rest[l + 1..].iter().rposition(resumes)?));
    let last = more.or(last);
    let end = last.unwrap_or(pause.map_or(rest.len() - 1, |p| p + early));
    let rows = &rest[..=end.min(rest.len() - 1)];
    // A service says that the way is over, or that it began.
    let known = |s: &&&Step| matches!(s.kind, Kind::Thawed | Kind::Address);
    let service = first.text.contains("System re");
    let chosen = last.is_some() || early > 0 || service || rows.iter().any(|s| known(&s));
    if let Some(f) = lease(&rest).map(|f| f.because(ready(&rest))) {
        out.push(f);
    }
    if rows.len() > 1 && chosen {
        let from = if early > 0 { "before the kernel was back" } else { "back from sleep" };
        said(rows, from, last.is_some() && early == 0, out);
    }
}

/// When screen, link and address came, counted from the first line of a wake-up.
fn ready(rest: &[&Step]) -> String {
    let Some(first) = rest.first() else { return String::new() };
    let screen = |s: &Step| s.kind == Kind::Screen || s.text.contains("Enabling monitor ");
    let came = |name: &str, is: &dyn Fn(&Step) -> bool| {
        let s = rest.iter().find(|s| is(s))?;
        Some(format!("{name} came after {}", span(s.ms - first.ms, s.grain.max(first.grain))))
    };
    let all: Vec<String> = [
        came("the screen", &screen),
        came("the link", &|s| s.kind == Kind::Link),
        came("the address", &|s| s.kind == Kind::Address),
    ]
    .into_iter()
    .flatten()
    .collect();
    match all.len() {
        0 | 1 => String::new(),
        _ => format!("Counted from {}: {}.", words(first), all.join(", ")),
    }
}

/// A network that was there and waited for its address: a wait between two lines of DHCP.
fn lease(rest: &[&Step]) -> Option<Finding> {
    let of_dhcp = |s: &Step| s.text.to_ascii_lowercase().contains("dhcp");
    let at = rest.iter().position(|s| of_dhcp(s) && s.kind == Kind::Address)?;
    let (from, a) = rest[..at].iter().enumerate().rev().find(|(_, s)| of_dhcp(s))?;
    let (a, b) = (*a, rest[at]);
    // Somebody asked, and the link was there all the time.
    let has = |s: &Step, words: &[&str]| {
        let lower = s.text.to_ascii_lowercase();
        words.iter().any(|w| lower.contains(w))
    };
    let asks = has(a, &["begin", "discover", "request", "solicit"]);
    let link = ["carrier", "link", "connect", "deauth", "associat", "sleep", "suspend"];
    if !asks || rest[from + 1..at].iter().any(|s| has(s, &link)) {
        return None;
    }
    let took = b.ms - a.ms;
    (took >= LEASE).then(|| {
        Finding::new(("way-lease", Area::Phase, Level::Slow), Confidence::Certain)
            .says(format!(
                "The network waited {} for its address after the wake-up: {} follows {}.",
                span(took, a.grain.max(b.grain)),
                words(b),
                words(a)
            ))
            .look("Watch who answers late: tcpdump -ni INTERFACE port 67 or port 68; a lease that is kept over the sleep asks nobody.")
            .when(Some(Direction::Resume), None)
            .costs(Ns(took.saturating_mul(1_000_000)))
            .shown_by([a.shown(), b.shown()])
    })
}

/// From the request to the kernel.
fn before(steps: &[Step], at: usize, out: &mut Vec<Finding>) {
    let first = &steps[at];
    // An earlier line asked already.
    if at > 0 && steps[at - 1].kind == Kind::Asked && steps[at - 1].run == first.run {
        return;
    }
    let near = |s: &&Step| s.run == first.run && s.ms - first.ms < WAKE && s.kind != Kind::Back;
    let rest: Vec<&Step> = steps[at..].iter().take_while(near).collect();
    let asked = rest.iter().position(|s| s.kind == Kind::Sleeps);
    if let Some(end) = asked.or_else(|| rest.iter().position(|s| s.kind == Kind::Entry)) {
        said(&rest[..=end], "asked to sleep", true, out);
        work::judge(steps, at, out);
    }
}

/// Says rows, and the longest wait of them.
fn said(rows: &[&Step], from: &str, ended: bool, out: &mut Vec<Finding>) {
    let (first, last) = (rows[0], rows[rows.len() - 1]);
    let grain = rows.iter().map(|s| s.grain).max().unwrap_or(1);
    let all = last.ms - first.ms;
    let gaps: Vec<(&Step, &Step)> = rows.windows(2).map(|w| (w[0], w[1])).collect();
    let long = gaps.iter().max_by_key(|g| g.1.ms - g.0.ms).copied();
    let Some((a, b)) = long else { return };
    let down = from == "asked to sleep";
    let way = if down { Direction::Suspend } else { Direction::Resume };
    let gap = b.ms - a.ms;
    let least = if grain >= 1_000 { 2 * SLOW } else { SLOW };
    let listed: Vec<String> = {
        let mut by: Vec<&(&Step, &Step)> = gaps.iter().filter(|g| g.1.ms > g.0.ms).collect();
        by.sort_by_key(|g| std::cmp::Reverse(g.1.ms - g.0.ms));
        if by.len() <= ROWS {
            let place = |s: &Step| rows.iter().position(|r| r.line == s.line && r.text == s.text);
            by.sort_by_key(|g| place(g.0));
        }
        by.truncate(ROWS);
        by.iter().map(|g| format!("{} to {}", span(g.1.ms - g.0.ms, 1), words(g.1))).collect()
    };
    let mut why = match listed.len() {
        0 => String::new(),
        n if n < gaps.iter().filter(|g| g.1.ms > g.0.ms).count() => {
            format!("The longest rows: {}.", listed.join("; "))
        }
        _ => format!("The rows: {}.", listed.join("; ")),
    };
    let total = format!(
        "From {} ({from}) to {} it took {}.",
        words(first),
        words(last),
        span(all, first.grain.max(last.grain))
    );
    if grain >= 1_000 && all <= grain {
        // Stamps of whole seconds tell nothing of it.
        return;
    }
    let both_kernel = a.kind == Kind::Kernel && b.kind == Kind::Kernel;
    if gap < least || both_kernel || !ended {
        let slow = match gap < least {
            true => " No row takes a second: nothing in it is slow.",
            false => "",
        };
        let slow = if grain >= 1_000 && gap < least {
            " The stamps have whole seconds, and no wait shows in them."
        } else {
            slow
        };
        out.push(
            Finding::new(("way-rows", Area::Phase, Level::Note), Confidence::Certain)
                .says(format!("{total}{slow}"))
                .because(why)
                .when(Some(way), None)
                .costs(Ns(all.saturating_mul(1_000_000)))
                .shown_by([first.shown(), last.shown()]),
        );
        return;
    }
    // A line that says how long something took, at the end of the wait, owns it.
    let at = rows.iter().position(|s| s.line == b.line).unwrap_or(0);
    let owner = rows[at..].iter().take(4).find(|s| match s.kind {
        Kind::Took(ms) => (ms - gap).abs() <= FITS.max(grain),
        _ => false,
    });
    let in_vain = match b.kind {
        Kind::NotFrozen => {
            " It is how long systemd waited for that unit to freeze (10 s in version 256, 60 s later); what kept it from freezing is not in the text."
        }
        Kind::TimedOut => " The line at its end says that a time limit ran out.",
        _ if b.text.contains("gave up") => " The line at its end says who gave up, and on what.",
        Kind::Lock => " The line at its end says who held the sleep back.",
        _ if work::is_of_hooks(a, b) => HOOKS,
        _ => " No line says what ran in between.",
    };
    let ran = ran(rows, a, b);
    let in_vain = ran.as_deref().unwrap_or(in_vain);
    let owned = owner.map(|o| format!(" {} says how long: that is the wait.", words(o)));
    if why.is_empty() {
        why = total.clone();
    } else {
        why = format!("{total} {why}");
    }
    let hint = if (89_000..=92_000).contains(&gap) {
        " 90 s is systemd's usual limit for a unit or a call that does not answer."
    } else {
        ""
    };
    let mut f = Finding::new(("way-wait", Area::Phase, Level::Slow), Confidence::Certain)
        .says(format!(
            "{} pass between {} and {}.{}{hint}",
            span(gap, a.grain.max(b.grain)),
            words(a),
            words(b),
            owned.as_deref().unwrap_or(in_vain)
        ))
        .because(why)
        .costs(Ns(gap.saturating_mul(1_000_000)))
        .shown_by([a.shown(), b.shown()]);
    if let Some(o) = owner {
        f = f.shown_by([o.shown()]);
    }
    f = f.when(Some(way), None);
    let of_pm_utils = rows.iter().any(|s| s.text.starts_with("Running hooks for "));
    let of_android = rows.iter().any(|s| s.text.contains("PowerManagerService"));
    out.push(f.look(if of_android {
        "Ask who held a wakelock in that time: adb shell dumpsys power and dumpsys suspend_control_internal; adb logcat -b all -v threadtime has more lines of it."
    } else if of_pm_utils {
        "Measure each hook by itself: time /usr/lib/pm-utils/sleep.d/NAME resume suspend."
    } else {
        "Ask the journal of that moment with more of its lines: journalctl -o short-precise; hooks stand in /usr/lib/systemd/system-sleep."
    }));
}

/// A service waited for another in vain, where rows of a wake-up do not say so already.
fn timeout(steps: &[Step], at: usize, out: &mut Vec<Finding>) {
    let s = &steps[at];
    let Some(before) = at.checked_sub(1).map(|i| &steps[i]).filter(|b| b.run == s.run) else {
        return;
    };
    let gap = s.ms - before.ms;
    let program = |t: &str| {
        t.split(['[', '(']).next().unwrap_or("").rsplit(' ').next().unwrap_or("").to_string()
    };
    let who = program(&s.text);
    let tells = |f: &Finding| matches!(f.id, "way-wait" | "way-unit-timeout");
    let told = out.iter().any(|f| tells(f) && f.evidence.iter().any(|e| e.line == s.line));
    // A unit that did not start or stop is another rule's: how long it waited, the line before
    // does not tell.
    let of_unit = [".service: ", ".mount: ", ".socket: ", ".device: "];
    let stops = s.text.contains("State 'stop-") || of_unit.iter().any(|u| s.text.contains(u));
    if stops || gap < WAITED || who.is_empty() || who != program(&before.text) || told {
        return;
    }
    // Who asks for an address is called by nobody's hook.
    let lower = s.text.to_ascii_lowercase();
    let of_network =
        ["dhcp", "associat", "authenticat", "carrier", "dns"].iter().any(|w| lower.contains(w));
    let (unknown, look) = match of_network {
        true => (
            "Why nobody answered, these lines do not say.",
            "Look what the driver of that network device says in the same minute: journalctl -k --since.",
        ),
        false => (
            "Who called it, and whether a sleep hook did, is not in these lines.",
            "Look which hook or unit starts it: systemctl status systemd-suspend, /usr/lib/systemd/system-sleep.",
        ),
    };
    out.push(
        Finding::new(("way-timeout", Area::Phase, Level::Slow), Confidence::Certain)
            .says(format!("{who} waited {} in vain: {}. {unknown}", span(gap, s.grain), words(s)))
            .costs(Ns(gap.saturating_mul(1_000_000)))
            .when(way_of(steps, at), None)
            .look(look)
            .shown_by([before.shown(), s.shown()]),
    );
}

/// Android: from the wish to wake up to a screen that is on.
fn screen(steps: &[Step], at: usize, out: &mut Vec<Finding>) {
    let first = &steps[at];
    let near = |s: &&Step| s.run == first.run && s.ms - first.ms < WAKE;
    let rest = steps[at + 1..].iter().take_while(near);
    let took: Vec<(&Step, i64)> = rest
        .take_while(|s| s.kind != Kind::Screen)
        .filter_map(|s| match s.kind {
            Kind::Took(ms) => Some((s, ms)),
            _ => None,
        })
        .collect();
    if let Some((s, ms)) = took.iter().find(|t| t.0.text.contains("while turning screen on")) {
        out.push(
            Finding::new(("way-screen", Area::Phase, Level::Note), Confidence::Certain)
                .says(format!("Turning the panel on took {} of the way after {}, says Android, which calls that a delay. The kernel's part is not in these lines.", span(*ms, 1), words(first)))
                .when(Some(Direction::Resume), None)
                .costs(Ns(ms.saturating_mul(1_000_000)))
                .shown_by([first.shown(), s.shown()]),
        );
    }
    let held = took.iter().find(|t| t.0.text.contains("Unblocked screen on"));
    let whole = took.iter().rfind(|t| t.0.text.contains("Screen on took")).copied();
    // Android 10 and later do not say how long all of it took.
    let by_stamps = || held.map(|h| (h.0, h.0.ms - first.ms));
    let Some((last, ms)) = whole.or_else(by_stamps) else { return };
    let held = held.filter(|h| h.1 <= ms).map_or(String::new(), |h| {
        format!(" {} of them the screen was held back until its content was drawn.", span(h.1, 1))
    });
    let level = if ms >= SLOW { Level::Slow } else { Level::Note };
    let slow = if ms >= SLOW { "" } else { " That is not slow." };
    out.push(
        Finding::new(("way-screen", Area::Phase, level), Confidence::Certain)
            .says(format!("The screen was on {} after {}.{held}{slow} The kernel's part is not in these lines.", span(ms, 1), words(first)))
            .when(Some(Direction::Resume), None)
            .costs(Ns(ms.saturating_mul(1_000_000)))
            .shown_by([first.shown(), last.shown()]),
    );
}
