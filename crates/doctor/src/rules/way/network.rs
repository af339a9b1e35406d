//! The network after a wake-up: when its link was there, and its address.

use super::quote::{LEASE, WAKE, span, words};
use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Finding, Level};
use crate::message::Message;
use crate::way::{Kind, Step, interface, shown};
use dormouse_base::phase::Direction;
use dormouse_base::say;
use dormouse_base::time::Ns;

/// A link that came later than this was not waited for, in ms.
const PLUGGED: i64 = 60_000;

/// What lines say of the network.
struct Row {
    text: String,
    /// Until the last of it, in ms.
    took: i64,
    /// Lines that show it.
    seen: Vec<(u64, String)>,
    /// The machine waited for it: the text has its address.
    waited: bool,
}

/// By what is known from `from` on.
fn row(from: &Step, rest: &[&Step], later: &[Step]) -> Option<Row> {
    let first = |kind: Kind, lost: Kind| {
        rest.iter().find(|s| s.kind == kind && taken_back(s, rest, lost).is_none()).copied()
    };
    let link = first(Kind::Link, Kind::NoLink);
    let address = first(Kind::Address, Kind::NoAddress);
    let grain = rest.iter().map(|s| s.grain).max().unwrap_or(1).max(from.grain);
    // An address that stands before the link is that of another interface.
    let same = |a: &str, b: &str| interface(a).zip(interface(b)).is_none_or(|(a, b)| a == b);
    let link = link.filter(|l| address.is_none_or(|a| l.ms <= a.ms && same(&l.text, &a.text)));
    let says = |what: &str, s: &Step| {
        format!("its {what} {} after {}: {}", span(s.ms - from.ms, grain), words(from), words(s))
    };
    let text = match (link, address) {
        (Some(l), Some(a)) => format!(
            "The network had its address {} after {}: {}. Its link was there {} before that: {}.",
            span(a.ms - from.ms, grain),
            words(from),
            words(a),
            span(a.ms - l.ms, grain),
            words(l)
        ),
        (Some(l), None) => {
            let address = match behind_the_clock(from, later) {
                Some(a) => format!(
                    " Its address came behind line {}, where the clock was set: stamps on its two sides cannot be compared ({}).",
                    a.0.line,
                    words(a.1)
                ),
                None => " No line that was read has its address.".into(),
            };
            format!("The network had {}.{address}", says("link", l))
        }
        // The daemon's word for all that it needs to reach others (NM_STATE_CONNECTED_GLOBAL,
        // src/libnm-core-public/nm-dbus-interface.h, 1.50).
        (None, Some(a)) if a.text.contains("CONNECTED_GLOBAL") => format!(
            "NetworkManager called the network connected {} after {}: {}. When its address came, no line that was read says.",
            span(a.ms - from.ms, grain),
            words(from),
            words(a)
        ),
        (None, Some(a)) => format!("The network had {}.", says("address", a)),
        (None, None) => return None,
    };
    let last = address.or(link.filter(|l| l.ms - from.ms < PLUGGED))?;
    let seen = [link, address].into_iter().flatten().map(|s| (s.line, s.text.clone())).collect();
    Some(Row { text, took: last.ms - from.ms, seen, waited: address.is_some() })
}

/// The line behind `s` that takes back what it says.
pub(crate) fn taken_back<'a>(s: &Step, rest: &[&'a Step], lost: Kind) -> Option<&'a Step> {
    let soon = |l: &&&Step| l.kind == lost && l.line > s.line && l.ms - s.ms < SOON;
    rest.iter().find(soon).copied()
}

/// What is lost so soon was never reached, in ms.
pub(crate) const SOON: i64 = 5_000;

/// In which line the machine itself gave up a network that it had: NetworkManager, which stops a
/// device (src/core/nm-manager.c:do_sleep_wake), wpa_supplicant, the kernel's
/// (net/mac80211/mlme.c:ieee80211_mgd_deauth).
fn gave_up<'a>(rest: &[&'a Step]) -> Option<&'a Step> {
    const OWN: [&str; 3] = ["activated -> unmanaged", "locally_generated=1", "by local choice"];
    rest.iter().find(|s| OWN.iter().any(|w| s.text.contains(w))).copied()
}

/// That the network is down in the last line that tells of it, where none shows it up.
fn down(from: &Step, rest: &[&Step]) -> Option<Finding> {
    let of = [Kind::Address, Kind::NoAddress, Kind::Link, Kind::NoLink];
    let last = rest.iter().rfind(|s| of.contains(&s.kind))?;
    if !matches!(last.kind, Kind::NoAddress | Kind::NoLink) {
        return None;
    }
    let was = rest.iter().find(|s| s.kind == Kind::Address);
    let was = was.map_or(String::new(), |s| {
        format!(" {} stands before that, and was taken back.", words(s))
    });
    let own = gave_up(rest)
        .map_or(String::new(), |s| format!(" The machine gave it up itself: {}.", words(s)));
    Some(
        Finding::new((DOWN, Area::Phase, Level::Note), Confidence::Certain)
            .says(format!(
                "No line shows the network up again after {}: the last that tells of it is {}.{was}{own}",
                words(from),
                words(last)
            ))
            .look("The lines that follow tell whether it came: journalctl -u NetworkManager -u wpa_supplicant -k -o short-precise.")
            .when(Some(Direction::Resume), None)
            .shown_by([from.shown(), last.shown()]),
    )
}

/// A network that is down behind a wake-up is no all-clear.
pub(crate) const DOWN: &str = "way-network-down";

/// The line that set the clock behind a wake-up, and the address that came after it.
fn behind_the_clock<'a>(from: &Step, later: &'a [Step]) -> Option<(&'a Step, &'a Step)> {
    let over = [Kind::Sleeps, Kind::Entry, Kind::Asked];
    let all = later.iter().take_while(|s| !over.contains(&s.kind));
    let mut rest = all.skip_while(|s| s.run == from.run);
    let set = rest.next().filter(|s| s.kind == Kind::ClockSet && s.run == from.run + 1)?;
    Some((set, rest.find(|s| s.kind == Kind::Address && s.run == set.run)?))
}

fn finding(from: &Step, row: Row) -> Finding {
    let Row { text, took, seen, waited } = row;
    // A link alone may have been plugged in late.
    let level = if waited && took >= LEASE { Level::Slow } else { Level::Note };
    Finding::new(("way-network", Area::Phase, level), Confidence::Certain)
        .when(Some(Direction::Resume), None)
        .says(text)
        .costs(Ns(took.saturating_mul(1_000_000)))
        .shown_by([from.shown()])
        .shown_by(seen.iter().map(|(line, text)| shown(*line, text)))
}

/// After the kernel was back.
pub(super) fn judge(steps: &[Step], at: usize, out: &mut Vec<Finding>) {
    let from = &steps[at];
    let over = [Kind::Sleeps, Kind::Entry, Kind::Asked];
    let near = |s: &&Step| s.run == from.run && s.ms - from.ms < WAKE && !over.contains(&s.kind);
    let rest: Vec<&Step> = steps[at + 1..].iter().take_while(near).collect();
    if out.iter().any(|f| f.id == "way-lease") {
        return;
    }
    let Some(mut row) = row(from, &rest, &steps[at + 1..]) else {
        out.extend(down(from, &rest));
        return;
    };
    // A machine that gave its link up waits for it, as for an address.
    if let Some(own) = gave_up(&rest).filter(|s| s.ms - from.ms <= row.took) {
        row.waited = true;
        row.text += &format!(
            " The sleep did not lose it: the machine gave it up itself, {} after that line: {}.",
            span(own.ms - from.ms, own.grain.max(from.grain)),
            words(own)
        );
        row.seen.push((own.line, own.text.clone()));
    }
    out.push(finding(from, row));
}

/// NetworkManager's own time of a line, `[1547525605.3919]` since 1970
/// (src/core/nm-logging.c), in ms.
fn own_time(m: &Message) -> Option<i64> {
    let (_, rest) = m.text.split_once("> [").or_else(|| m.text.split_once(">  ["))?;
    let (seconds, rest) = rest.split_once('.')?;
    let part = rest.get(..3)?.parse::<i64>().ok()?;
    Some(seconds.parse::<i64>().ok()?.checked_mul(1_000)? + part)
}

/// What NetworkManager was told by logind of a sleep (src/core/nm-manager.c:do_sleep_wake), in a
/// text that shows nothing else of one: that somebody asked for it, not that the machine slept.
pub(super) fn told(case: &Case, out: &mut Vec<Finding>) {
    let known = !case.attempts.is_empty() || !case.parts.is_empty();
    let other = [Kind::Sleeps, Kind::Entry, Kind::Asked, Kind::Ended, Kind::Thawed];
    if known || case.way.steps.iter().any(|s| other.contains(&s.kind)) {
        return;
    }
    let mut said = case.messages.having("sleep requested (sleeping: ").map(|(_, m)| m);
    let Some(sleep) = said.find(|m| m.has("sleep: sleep requested") || m.has("NetworkManager"))
    else {
        return;
    };
    let woke = case.messages.having("wake requested (sleeping: ").map(|(_, m)| m);
    let woke =
        woke.filter(|m| m.line > sleep.line).find(|m| m.has("wake requested (sleeping: yes"));
    if let Some(by) = by_hand(case, sleep) {
        out.push(by);
        return;
    }
    let asked = "so somebody asked for one; that the machine slept no line shows";
    let words = match woke.map(|w| own_time(w).zip(own_time(sleep)).map(|(b, a)| b - a)) {
        Some(Some(ms)) if ms >= 0 => format!(
            "NetworkManager was told of a sleep, and {} later of the wake-up, {asked}.",
            say::span(Ns(ms.saturating_mul(1_000_000)))
        ),
        Some(_) => format!("NetworkManager was told of a sleep and later of the wake-up, {asked}."),
        None => format!(
            "NetworkManager was told of a sleep, {asked}, nor that NetworkManager was told of a wake-up."
        ),
    };
    out.push(
        Finding::new((TOLD, Area::Abort, Level::Note), Confidence::Likely)
            .says(words)
            .look("The kernel's log of that moment tells whether it slept, and for how long: journalctl -k -o short-precise.")
            .shown_by(lines([sleep].into_iter().chain(woke))),
    );
}

/// A process that told NetworkManager alone: its own call over D-Bus is audited with the number of
/// the process, and what logind announces is not (src/core/nm-manager.c:impl_manager_sleep and
/// sleeping_cb, src/core/nm-audit.c, 1.2 to 1.50).
fn by_hand(case: &Case, sleep: &Message) -> Option<Finding> {
    const NEAR: u64 = 20;
    const OP: &str = "op=\"sleep-control\"";
    let is = |m: &&Message| m.has("arg=\"on\"") && m.line.abs_diff(sleep.line) <= NEAR;
    let audit = case.messages.having(OP).map(|(_, m)| m).find(is)?;
    let number = audit.after(" pid=").map(|w| w.split(' ').next().unwrap_or(w));
    let number = number.filter(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
    let who = number.map_or("A process".into(), |n| format!("Process {n}"));
    let command = case.messages.having("NetworkManager.Sleep").map(|(_, m)| m);
    let command =
        command.filter(|m| m.line.abs_diff(sleep.line) <= NEAR).find(|m| m.has("COMMAND="));
    let by = command.and_then(|m| m.after("COMMAND=")?.split(' ').next());
    let by = by.map_or(String::new(), |c| format!(", by {}", c.rsplit('/').next().unwrap_or(c)));
    Some(
        Finding::new((TOLD, Area::Abort, Level::Note), Confidence::Likely)
            .says(format!(
                "{who} told NetworkManager alone to put its devices to sleep{by}: that is no request for a sleep of the system, and no line of the text has one."
            ))
            .look("The same call with false wakes its devices again; systemctl suspend is what puts the machine to sleep.")
            .shown_by(lines([sleep, audit].into_iter().chain(command))),
    )
}

/// What a service was told is all that a text shows of a sleep.
pub(crate) const TOLD: &str = "way-told";

/// A link that was lost and came back, in lines that speak of no sleep.
pub(super) fn without_a_sleep(steps: &[Step], out: &mut Vec<Finding>) {
    let of_a_link = [Kind::Link, Kind::NoLink, Kind::Address, Kind::NoAddress, Kind::Other];
    if steps.iter().any(|s| !of_a_link.contains(&s.kind)) {
        return;
    }
    let Some(at) = steps.iter().position(|s| s.kind == Kind::NoLink) else { return };
    let from = &steps[at];
    let near = |s: &&Step| s.run == from.run && s.ms - from.ms < WAKE;
    let rest: Vec<&Step> = steps[at + 1..].iter().take_while(near).collect();
    out.extend(row(from, &rest, &[]).map(|row| {
        let text = format!("{} These lines do not speak of a sleep.", row.text);
        Finding { level: Level::Note, ..finding(from, Row { text, ..row }) }
    }));
}
