//! What `dormouse watch` prints, and `show` of a history.

use crate::csv::cell;
use crate::text::page::{Ink, Page};
use crate::text::safe;
use crate::wording::next;
use crate::wording::number::{names, plural};
use dormouse_base::say::{capital, date, span};
use dormouse_base::time::Ns;
use dormouse_doctor::history::past::LOG;
use dormouse_doctor::history::since::{
    FALSE_ALARMS, Measure, NEEDED, Since, Verdict, known, verdict,
};
use dormouse_doctor::history::{Drain, Kind, Night, Row};
use dormouse_sleep::analyse::decode::decode;
use serde_json::{Value, json};

/// All that is shown.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    /// Sleeps, in order of their times.
    pub rows: &'a [Row],
    /// Their nights.
    pub nights: &'a [Night],
    /// Since when those are others.
    pub since: &'a [Since],
    /// What was done and lost on the way: sentences.
    pub remarks: &'a [String],
    /// What could not be written at its time: when, ms, and what.
    pub faults: &'a [(i64, String)],
    /// The command that comes next.
    pub next: &'a str,
}

const KINDS: [Kind; 6] =
    [Kind::Slept, Kind::Hot, Kind::NameOnly, Kind::Loop, Kind::Awake, Kind::Cut];
/// So many nights are in the table, the newest.
const LINES: usize = 21;

/// `1.25` of thousandths.
fn hundredths(thousandths: f64) -> String {
    let h = (thousandths / 10.0 + 0.5) as i64;
    format!("{}.{:02}", h / 100, h % 100)
}

/// A level of a measure.
fn level(s: &Since, value: f64) -> String {
    match s.measure {
        Measure::Drain if s.percent => format!("{} % an hour", hundredths(value)),
        Measure::Drain => format!("{} W", hundredths(value)),
        Measure::Hardware => format!("{} %", (value / 10.0 + 0.5) as i64),
        Measure::Wakes | Measure::Failures => format!("{} a night", hundredths(value * 1_000.0)),
        Measure::Resume => span(Ns((value as i64).saturating_mul(1_000_000))),
    }
}

fn measure(m: Measure) -> &'static str {
    match m {
        Measure::Drain => "drain asleep",
        Measure::Hardware => "share of hardware sleep",
        Measure::Wakes => "wake-ups",
        Measure::Failures => "failed attempts",
        Measure::Resume => "time to resume",
    }
}

fn day(ms: i64) -> String {
    date(ms).chars().take(10).collect()
}

/// The answer: what nights they are, and since when they are worse.
fn answer(h: &Shown<'_>) -> String {
    let (Some(first), n) = (h.nights.first(), h.nights.len()) else {
        return "No sleep is kept yet.".into();
    };
    let count = |k: &Kind| (h.nights.iter().filter(|n| n.kind == *k).count(), k.name());
    let kinds: Vec<String> =
        KINDS.iter().map(count).filter(|c| c.0 > 0).map(|(n, k)| format!("{n} {k}")).collect();
    let of = format!("{} since {}: {}.", plural(n, "night"), day(first.began_ms), names(&kinds));
    let night = |s: &Since| h.nights.get(s.night).map_or(String::new(), |n| day(n.began_ms));
    let then = match verdict(h.since) {
        Verdict::Worse(s, now) => {
            let more = match h.since.len() {
                1 => String::new(),
                n => format!(" And {} below.", plural(n - 1, "further step")),
            };
            format!(
                "Worse since the night of {}: {} {} before, {} {}.{more}",
                night(s),
                measure(s.measure),
                level(s, s.before),
                level(s, now),
                if now == s.after { "since" } else { "now" }
            )
        }
        Verdict::Better(s) => {
            format!("Not worse; better since the night of {}: {}.", night(s), measure(s.measure))
        }
        Verdict::Same if n < NEEDED => {
            format!("Too few to tell whether they became worse: that takes {NEEDED}.")
        }
        Verdict::Same => "That they became worse is not shown.".into(),
    };
    format!("{of} {then}")
}

/// How far to trust it.
fn trust(h: &Shown<'_>) -> String {
    let logs = h.rows.iter().filter(|r| r.source == LOG).count();
    let of_logs = match logs {
        0 => String::new(),
        n => format!(" {} told by logs, without batteries.", are(n, "sleep")),
    };
    let of = |m: Measure| format!("{} of {}", measure(m), known(m, h.nights));
    let known: Vec<String> = [Measure::Drain, Measure::Hardware, Measure::Resume].map(of).to_vec();
    let alarms = (1.0 / FALSE_ALARMS) as i64;
    format!(
        "Known of these nights: {}.{of_logs} Of {alarms} histories without a change, one look at each says of 1 at most that it has one; daily looks say so more often. Times are UTC.",
        names(&known)
    )
}

fn are(n: usize, one: &str) -> String {
    format!("{} {}", plural(n, one), if n == 1 { "is" } else { "are" })
}

/// `0.62 W`, `1.50 %/h`; no figure where the gauge shows none.
fn drain(d: Option<Drain>) -> String {
    let Some(d) = d else { return "-".into() };
    match (d.microwatts, d.an_hour) {
        (None, None) => "-".into(),
        _ if d.coarse => COARSE.into(),
        (Some(w), _) => format!("{} W", hundredths(w.max(0) as f64 / 1_000.0)),
        (_, Some(s)) => format!("{} %/h", hundredths(s.max(0) as f64)),
    }
}

/// Stands for the drain of a night in which the gauge moved too little.
const COARSE: &str = "coarse";

/// What the name of a waker means, if it is known.
fn waker(name: &str) -> String {
    decode(name, "").map_or_else(|| name.to_string(), |m| m.text())
}

/// One night of the table.
fn line(n: &Night) -> String {
    let hardware = n.hardware.map_or("-".into(), |s| format!("{} %", (s + 5) / 10));
    let resume = n.resume_ms.map_or("-".into(), |ms| span(Ns(ms.saturating_mul(1_000_000))));
    let slept = span(Ns(n.slept_ms.saturating_mul(1_000_000)));
    let kind = if n.kind == Kind::Cut { CUT } else { n.kind.name() };
    let (began, waker) = (date(n.began_ms), waker(&n.waker));
    format!(
        "{began:<16} {slept:<10} {kind:<12} {:>8} {hardware:>5} {:>2} {:>2} {resume:>6} {waker}",
        drain(n.drain),
        n.wakes,
        n.failed
    )
}

/// The heads of its columns: wakes and failures are numbers of one or two digits.
const HEAD: &str = "began            slept      kind            drain    hw wk fl resume woken by";
/// `never came back`, in a narrow column.
const CUT: &str = "cut";

/// What heads and short words of the table mean.
fn legend(nights: &[Night]) -> String {
    let cut = match nights.iter().any(|n| n.kind == Kind::Cut) {
        true => format!("; {CUT}: a sleep never came back"),
        false => String::new(),
    };
    let rough = match nights.iter().any(|n| n.drain.is_some_and(|d| d.coarse)) {
        true => {
            format!(
                "; {COARSE}: the gauge moved by fewer than three of its steps, which makes no figure"
            )
        }
        false => String::new(),
    };
    format!(
        "hw: share of hardware sleep; wk: wake-ups after which it slept again; fl: failed attempts{cut}{rough}."
    )
}

/// A change as a sentence.
fn told(h: &Shown<'_>, s: &Since) -> String {
    let at = |i: usize| h.nights.get(i).map_or(String::new(), |n| day(n.began_ms));
    let range = match s.range.0 == s.range.1 {
        true => String::new(),
        false => format!(", or of one from {} to {}", at(s.range.0), at(s.range.1)),
    };
    let with: Vec<String> = s
        .with
        .iter()
        .map(|r| match (r.from.as_str(), r.to.as_str()) {
            ("", to) => format!("{} {to}, new on {}", r.name, at(r.night)),
            (from, "") => format!("{} {from}, gone on {}", r.name, at(r.night)),
            (from, to) => format!("{} {from} to {to} on {}", r.name, at(r.night)),
        })
        .collect();
    let with = match with.is_empty() {
        true => " No kept version changed there.".into(),
        false => format!(" It coincides with {}; that is no proof of a cause.", names(&with)),
    };
    let (word, p) = (if s.worse { "Worse" } else { "Better" }, (s.p * 10_000.0 + 0.5) as i64);
    format!(
        "{word} since the night of {}{range}: {} {} before, {} since. Chance does this in at most {p} of 10,000 histories.{with}",
        at(s.night),
        measure(s.measure),
        level(s, s.before),
        level(s, s.after)
    )
}

/// A sleep that never came back.
fn lost(r: &Row) -> String {
    let mode = if r.mode.is_empty() { "" } else { ", to " };
    let words = match (r.failed_device.as_str(), r.failed_step.as_str()) {
        ("", "") => String::new(),
        ("", phase) => format!("; the kernel's last words stand in {phase}"),
        (device, "") => format!("; the kernel's last words name {device}"),
        (device, phase) => format!("; the kernel's last words name {device}, in {phase}"),
    };
    // What journalctl takes has no dashes.
    let boot: String = r.boot.chars().filter(char::is_ascii_hexdigit).collect();
    let more = if boot.is_empty() { String::new() } else { format!(": journalctl -k -b {boot}") };
    format!("{}{mode}{}{words}{more}", date(r.began_ms), r.mode)
}

/// The screen.
pub fn text(h: &Shown<'_>, colour: bool) -> String {
    let mut page = Page::new(colour);
    page.wrapped(Ink::Strong, 0, 0, &answer(h));
    if !h.nights.is_empty() {
        page.wrapped(Ink::Plain, 0, 0, &trust(h));
    }
    for r in h.remarks {
        page.wrapped(Ink::Plain, 0, 0, &safe(r));
    }
    if let Some((at, what)) = h.faults.last() {
        let times = plural(h.faults.len(), "time");
        let text = format!(
            "A sleep could not be kept as it should {times}, last on {} ({what}); what was kept aside is in the database now.",
            date(*at)
        );
        page.wrapped(Ink::Plain, 0, 0, &safe(&text));
    }
    if !h.since.is_empty() {
        page.heading("Changes");
        for s in h.since {
            page.entry("  ", &safe(&told(h, s)));
        }
    }
    if !h.nights.is_empty() {
        let left = h.nights.len().saturating_sub(LINES);
        page.heading(&match left {
            0 => "Nights".to_string(),
            n => format!("Nights, the last {LINES} (--json has the {n} before)"),
        });
        page.line(&[(Ink::Faint, HEAD)]);
        for n in &h.nights[left..] {
            let ink = if n.kind == Kind::Slept { Ink::Plain } else { Ink::Hot };
            page.line(&[(ink, &safe(&line(n)))]);
        }
        page.wrapped(Ink::Faint, 0, 0, &legend(&h.nights[left..]));
    }
    let cut: Vec<&Row> = h.rows.iter().filter(|r| r.ended_ms.is_none()).collect();
    if !cut.is_empty() {
        page.heading("Never came back");
        for r in cut.iter().rev().take(LINES) {
            page.entry("  ", &safe(&lost(r)));
        }
    }
    page.finish() + "\n" + &next::next(h.next)
}

/// The same for programs; `sleeps` are the rows as objects.
pub fn json(h: &Shown<'_>, sleeps: Vec<Value>) -> Value {
    let fine = |n: &Night| n.drain.filter(|d| !d.coarse);
    let night = |n: &Night| {
        json!({
            "began_ms": n.began_ms, "sleeps": n.rows, "slept_ms": n.slept_ms, "kind": n.kind.name(),
            "drain_microwatts": fine(n).and_then(|d| d.microwatts),
            "drain_thousandths_of_percent_an_hour": fine(n).and_then(|d| d.an_hour),
            "drain_is_rough": n.drain.map(|d| d.coarse),
            "hardware_sleep_thousandths": n.hardware, "wakes": n.wakes, "failures": n.failed,
            "resume_ms": n.resume_ms, "waker": n.waker,
        })
    };
    let since = |s: &Since| {
        let with = s.with.iter();
        json!({
            "measure": s.measure.name(), "night": s.night, "from_night": s.range.0,
            "to_night": s.range.1, "p": s.p, "before": s.before, "after": s.after,
            "unit": unit(s), "worse": s.worse,
            "coincides_with": with.map(|r| json!({ "night": r.night, "name": r.name,
                "from": r.from, "to": r.to })).collect::<Vec<_>>(),
        })
    };
    json!({
        "answer": answer(h),
        "nights": h.nights.iter().map(night).collect::<Vec<_>>(),
        "changes": h.since.iter().map(since).collect::<Vec<_>>(),
        "false_alarms": FALSE_ALARMS,
        "nights_needed": NEEDED,
        "remarks": h.remarks,
        "faults": h.faults.iter().map(|(at, what)| json!({ "at_ms": at, "what": what }))
            .collect::<Vec<_>>(),
        "sleeps": sleeps,
    })
}

fn unit(s: &Since) -> &'static str {
    match s.measure {
        Measure::Drain if s.percent => "thousandths of a per cent an hour",
        Measure::Drain => "mW",
        Measure::Hardware => "thousandths",
        Measure::Wakes | Measure::Failures => "a night",
        Measure::Resume => "ms",
    }
}

/// One line a sleep.
pub fn csv(columns: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut out = columns.join(",") + "\r\n";
    for row in rows {
        let cells: Vec<String> = row.iter().map(|c| cell(c)).collect();
        out += &(cells.join(",") + "\r\n");
    }
    out
}

/// Says what an installation or its end does.
pub fn installed(done: &[(String, &'static str)], dry: bool, next_command: &str) -> String {
    let mut page = Page::new(false);
    let head = match (done.is_empty(), dry) {
        (true, _) => "There is nothing to do.".to_string(),
        (_, true) => "This would be done; nothing was changed:".to_string(),
        (_, false) => "Done:".to_string(),
    };
    page.line(&[(Ink::Strong, &head)]);
    for (path, what) in done {
        page.entry("  ", &safe(&format!("{} {path}", capital(what))));
    }
    page.finish() + "\n" + &next::next(next_command)
}
