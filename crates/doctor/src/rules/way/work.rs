//! Units that ran within a sleep by systemd's own lines of their begin and end: before it, where
//! the sleep waited for them, and behind it, where nothing need have.

use super::quote::{WAKE, is_a_start, span, words};
use crate::finding::{Area, Confidence, Finding, Level};
use crate::rules::unit::is_a_sleep;
use crate::way::{Kind, Step};
use dormouse_base::phase::Direction;
use dormouse_base::time::Ns;

/// From here on a unit took long, in ms; stamps of whole seconds may be off by one of them.
const LONG: i64 = 1_000;
/// What follows the end of a unit so soon waited for it, in ms.
const AT_ONCE: i64 = 100;
/// What begins so soon behind the return is of the wake-up, in ms.
const SOON: i64 = 5_000;
/// So many units of one sleep are told of.
const MOST: usize = 3;

/// Whether it took long from one line to another.
fn is_long(begin: &Step, end: &Step) -> bool {
    let coarse = begin.grain.max(end.grain) >= 1_000;
    end.ms - begin.ms >= if coarse { 2 * LONG } else { LONG }
}

/// A unit that ran.
struct Work<'s> {
    name: &'s str,
    begin: &'s Step,
    end: &'s Step,
}

/// The unit of which a line says that systemd starts it (src/core/job.c, src/core/unit.c: the
/// identifier stands before the description from 247 on where it is asked for, and by default in
/// Debian).
fn started(text: &str) -> Option<&str> {
    let (who, rest) = text.split_once("]: ")?;
    let name = rest.strip_prefix("Starting ")?.split(' ').next()?.trim_end_matches("...");
    (who.starts_with("systemd[") && name.ends_with(".service")).then_some(name)
}

fn is_its_end(text: &str, name: &str) -> bool {
    let Some((_, rest)) = text.split_once("]: ") else { return false };
    let behind = |w: &str| rest.strip_prefix(w).is_some_and(|r| r.starts_with(name));
    behind("Finished ") || behind("Started ") || rest.starts_with(&format!("{name}: Deactivated"))
}

/// Units of the sleep whose request, or whose return, is at `at`.
pub(super) fn judge(steps: &[Step], at: usize, out: &mut Vec<Finding>) {
    let first = &steps[at];
    let down = first.kind == Kind::Asked;
    let near = |s: &&Step| {
        let over: &[Kind] = if down { &[Kind::Back] } else { &[Kind::Asked, Kind::Sleeps] };
        s.run == first.run && s.ms - first.ms < WAKE && !over.contains(&s.kind)
    };
    let rest: Vec<&Step> = steps[at..].iter().take_while(near).collect();
    let ended = |(i, begin): (usize, &&'_ Step)| -> Option<(usize, usize)> {
        let name = started(&begin.text)?;
        let end = rest[i..].iter().position(|s| is_its_end(&s.text, name))? + i;
        (is_long(begin, rest[end]) && !is_a_sleep(name)).then_some((i, end))
    };
    let mut all: Vec<(usize, usize)> = rest.iter().enumerate().filter_map(ended).collect();
    all.sort_by_key(|w| std::cmp::Reverse(rest[w.1].ms - rest[w.0].ms));
    let told = |w: &Work<'_>, out: &[Finding]| {
        let says = |f: &Finding| f.id == "way-wait" && f.sentence.contains(w.name);
        out.iter().any(says)
    };
    for (begin, end) in all.into_iter().take(MOST) {
        let Some(name) = started(&rest[begin].text) else { continue };
        let work = Work { name, begin: rest[begin], end: rest[end] };
        // Jobs of timers follow a night too.
        if told(&work, out) || !down && work.begin.ms - first.ms > SOON {
            continue;
        }
        let next = rest[end..].iter().find(|s| is_of_the_sleep(s)).copied();
        tell(if down { before(&work, next) } else { behind(&work) }, name, out);
    }
    hooks(&rest, down, out);
}

/// Hooks that took long and are not the longest wait of the way, which is told by itself.
fn hooks(rest: &[&Step], down: bool, out: &mut Vec<Finding>) {
    const NAME: &str = "Hooks of systemd-sleep";
    let way = if down { Direction::Suspend } else { Direction::Resume };
    let told = |f: &Finding| {
        f.id == "way-wait" && f.about.direction == Some(way) && f.sentence.contains("system-sleep")
    };
    let pairs = rest.windows(2).filter(|w| is_of_hooks(w[0], w[1]));
    let longest = pairs.map(|w| (w[1].ms - w[0].ms, w[0], w[1])).max_by_key(|w| w.0);
    let Some((took, begin, end)) = longest.filter(|w| is_long(w.1, w.2)) else { return };
    if out.iter().any(told) {
        return;
    }
    let when = if down { "before the kernel was asked" } else { "behind the kernel's return" };
    let work = Work { name: NAME, begin, end };
    let f = of(&work, took, Level::Slow, way)
        .says(format!(
            "{NAME} ran {} {when}, those of /usr/lib/systemd/system-sleep: no line says which one took the time.",
            span(took, begin.grain.max(end.grain))
        ))
        .look("Run each by itself with \"pre suspend\" or \"post suspend\" behind it, under time.")
        .costs(Ns(took.saturating_mul(1_000_000)));
    tell(f, NAME, out);
}

/// Whether systemd-sleep runs its hooks between two lines (src/sleep/sleep.c:execute, 252 to 257):
/// behind the last word before them and before the first behind them.
pub(super) fn is_of_hooks(a: &Step, b: &Step) -> bool {
    let begins = a.text.contains("froze unit 'user.slice'") || is_a_start(&a.text);
    let thaws = matches!(b.kind, Kind::Thawed | Kind::Ended) || b.text.contains("Unit now thawed");
    begins && b.kind == Kind::Sleeps
        || a.kind == Kind::Back && thaws && b.text.starts_with("systemd")
}

/// One sentence a unit and way: the longest time of all sleeps.
fn tell(new: Finding, name: &str, out: &mut Vec<Finding>) {
    let begin = format!("{name} ran ");
    let same = |f: &&mut Finding| {
        let way = f.about.direction == new.about.direction;
        f.id == new.id && way && f.sentence.starts_with(&begin)
    };
    let Some(old) = out.iter_mut().find(same) else { return out.push(new) };
    let times = old.about.times.unwrap_or(1) + 1;
    if old.costs < new.costs {
        *old = new;
    }
    old.about.times = Some(times);
}

/// Whether a line is a step of the sleep itself.
fn is_of_the_sleep(s: &Step) -> bool {
    let target = || s.text.contains("Reached target") && s.text.contains("sleep.target");
    matches!(s.kind, Kind::Sleeps | Kind::Entry) || is_a_start(&s.text) || target()
}

fn before(w: &Work<'_>, next: Option<&Step>) -> Finding {
    let took = w.end.ms - w.begin.ms;
    let grain = w.begin.grain.max(w.end.grain);
    let at_once = |s: &&Step| s.ms - w.end.ms <= AT_ONCE && grain < 1_000;
    let (level, so) = match next.filter(at_once) {
        Some(s) => {
            (Level::Slow, format!(" {} follows at once: the sleep waited for it.", words(s)))
        }
        None => {
            (Level::Note, " Whether the sleep waited for it, the times do not show.".to_owned())
        }
    };
    of(w, took, level, Direction::Suspend)
        .says(format!("{} ran {} before the sleep.{so}", w.name, span(took, grain)))
        .look(format!(
            "systemctl list-dependencies --before {0} says what it is ordered before; journalctl -u {0} what it did.",
            w.name
        ))
        .costs(Ns(took.saturating_mul(1_000_000)))
}

fn behind(w: &Work<'_>) -> Finding {
    let took = w.end.ms - w.begin.ms;
    let grain = w.begin.grain.max(w.end.grain);
    of(w, took, Level::Note, Direction::Resume)
        .says(format!(
            "{} ran {} behind the sleep. Nothing that the text shows waited for it.",
            w.name,
            span(took, grain)
        ))
        .look(format!("journalctl -u {} has what it did.", w.name))
        .costs(Ns(took.saturating_mul(1_000_000)))
}

fn of(w: &Work<'_>, took: i64, level: Level, way: Direction) -> Finding {
    let rule = ("way-unit-work", Area::Phase, level);
    Finding::new(rule, Confidence::Certain)
        .because(format!("{} to {}: {}.", words(w.begin), words(w.end), span(took, 1)))
        .when(Some(way), None)
        .shown_by([w.begin.shown(), w.end.shown()])
}
