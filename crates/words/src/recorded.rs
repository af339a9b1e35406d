//! What `record` and `restore` say when they are done: as functions of facts,
//! because a machine must sleep for them.

use crate::text::page::{Ink, Page};
use crate::text::safe;
use crate::wording::next::{next, word};
use crate::wording::number::{grouped, ms, percent, plural};
use dormouse_base::mark::Marked;
use dormouse_base::say::capital;
use dormouse_base::time::Ns;

/// A cycle that did not sleep.
#[derive(Clone, Copy, Debug)]
pub struct Failed<'a> {
    /// Its number, from 1.
    pub cycle: u32,
    /// What the kernel returned, in words.
    pub why: &'a str,
    /// The device that refused, if the kernel names one.
    pub device: Option<&'a str>,
}

/// A recording that was written.
#[derive(Clone, Copy, Debug, Default)]
pub struct Recorded<'a> {
    /// To which file.
    pub path: &'a str,
    /// Cycles in it.
    pub cycles: usize,
    /// Devices in it.
    pub devices: usize,
    /// Device links in it.
    pub links: usize,
    /// Size of the file.
    pub bytes: u64,
    /// Cycles that did not sleep.
    pub failed: &'a [Failed<'a>],
    /// Trace events that were lost.
    pub lost_events: u64,
    /// Cycles in which `CLOCK_MONOTONIC` stood still.
    pub stood_still: usize,
    /// What probes inside callbacks cost, if there were any.
    pub probes: Option<Probed>,
    /// What else went wrong: kind and advice.
    pub losses: &'a [(&'a str, &'a str)],
}

/// Function probes inside callbacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Probed {
    /// How often the kernel came by one.
    pub hits: u64,
    /// How often it could not follow one.
    pub missed: u64,
    /// What one took, if that was measured.
    pub each: Option<Ns>,
    /// How long the machine was awake in these cycles.
    pub awake: Ns,
}

/// A recording of a machine that sleeps.
pub fn recorded(r: &Recorded<'_>) -> String {
    let mut page = Page::new(false);
    let first = format!(
        "Wrote {}: {}, {}, {}, {} KB.",
        r.path,
        plural(r.cycles, "cycle"),
        plural(r.devices, "device"),
        plural(r.links, "link"),
        grouped(r.bytes.div_ceil(1_024))
    );
    page.wrapped(Ink::Strong, 0, 2, &safe(&first));
    let lost = match r.lost_events {
        0 => "no trace event was lost.".into(),
        n => lost_events(n),
    };
    let slept = match (r.failed.len(), r.cycles) {
        (0, 1) => "The cycle ran to its end".into(),
        (0, _) => "All cycles ran to their end".to_string(),
        (n, all) => format!("{n} of {} failed", plural(all, "cycle")),
    };
    page.wrapped(Ink::Plain, 0, 2, &format!("{slept}; {lost}"));
    for f in r.failed {
        page.wrapped(Ink::Plain, 0, 2, &safe(&refused(f)));
    }
    let still = format!(
        "CLOCK_MONOTONIC stood still in {} of {} (the trace uses the boot clock).",
        r.stood_still,
        plural(r.cycles, "cycle")
    );
    page.wrapped(Ink::Plain, 0, 2, &still);
    if let Some(p) = r.probes {
        page.wrapped(Ink::Plain, 0, 2, &probed(p));
    }
    losses(&mut page, r.losses);
    page.finish() + "\n" + &next(&format!("show {}", word(r.path)))
}

/// All probes may lie on what a phase waits for, so that it is so much longer; most do not.
fn probed(p: Probed) -> String {
    let hits = plural(usize::try_from(p.hits).unwrap_or(usize::MAX), "time");
    let cost = match p.each {
        Some(each) => {
            let took = Ns(each.0.saturating_mul(i64::try_from(p.hits).unwrap_or(i64::MAX)));
            format!(
                "What callbacks wait for was probed {hits}, {} ns each as measured before: at \
                 most {} ms of {} ms awake, {}.",
                each.0,
                ms(took),
                ms(p.awake),
                percent(took, p.awake)
            )
        }
        None => format!(
            "What callbacks wait for was probed {hits}; what a probe takes could not be measured \
             on this machine."
        ),
    };
    match p.missed {
        0 => cost,
        n => format!(
            "{cost} {} were missed, because too many ran at once: their waits have no end.",
            plural(usize::try_from(n).unwrap_or(usize::MAX), "return")
        ),
    }
}

/// A cycle that never ended.
#[derive(Clone, Copy, Debug)]
pub struct Hung<'a> {
    /// Its number, from 1.
    pub cycle: u32,
    /// Where the recorder's own marks end.
    pub when: When,
    /// The machine was started again meanwhile.
    pub restarted: bool,
    /// The phase in which the last words of the kernel stand.
    pub phase: Option<&'a str>,
    /// The device that came last.
    pub device: Option<&'a str>,
    /// What told those.
    pub told_by: Option<&'a str>,
}

/// Where a cycle was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Before the write that sleeps.
    Before,
    /// In it.
    Asleep,
    /// After it.
    After,
}

/// A cycle that never ended, with what is known of it.
pub fn hung(h: &Hung<'_>) -> String {
    let when = match (h.restarted, h.when) {
        (true, When::Before) => "the machine was started again before it slept",
        (true, When::Asleep) => {
            "the machine went to sleep and was started again: it hung or lost power on the way \
             down, asleep or on the way up"
        }
        (true, When::After) => "the machine was started again after it had come back",
        (false, When::Before) => "the recorder was ended before the machine slept",
        (false, When::Asleep) => "the recorder was ended while the machine slept",
        (false, When::After) => "the recorder was ended after the machine had come back",
    };
    let phase = h.phase.map_or(String::new(), |p| format!(" in the phase {p}"));
    let told = match (h.restarted, h.told_by) {
        (false, _) => "It says nothing of the sleep and does not count.".into(),
        (true, None) => "It counts as failed. Nothing was kept over the restart that tells more: \
                         pstore and the journal end before, and pm_trace was off."
            .into(),
        (true, Some(by)) => format!(
            "It counts as failed. The last that {by} tells is {}{phase}.",
            h.device.unwrap_or("no device")
        ),
    };
    let mut page = Page::new(false);
    page.wrapped(Ink::Plain, 0, 2, &safe(&format!("Cycle {} was cut: {when}. {told}", h.cycle)));
    page.finish()
}

/// A campaign.
#[derive(Clone, Copy, Debug)]
pub struct Endured<'a> {
    /// The folder of its capture files.
    pub cycles: &'a str,
    /// Cycles that failed.
    pub failed: u64,
    /// Cycles that say whether the machine sleeps.
    pub judged: u64,
    /// In which the share of failures lies with 95 %.
    pub interval: (f64, f64),
    /// The share to be below: one in so many.
    pub one_in: u64,
    /// Further cycles without a failure that show this with 95 %; 0 if it is shown.
    pub more: u64,
    /// Cycles that the kernel refused.
    pub refused: &'a [Failed<'a>],
    /// Cycles that never ended.
    pub cuts: &'a [Hung<'a>],
    /// Devices that were lost, by the cycle after which they were not there.
    pub lost: &'a [(u32, &'a [String])],
    /// Lines of its list that cannot be read.
    pub unreadable: u32,
}

/// What a campaign shows.
pub fn endured(e: &Endured<'_>) -> String {
    let mut page = Page::new(false);
    let percent = |share: f64| format!("{:.2}", share * 100.0);
    let of = plural(usize::try_from(e.judged).unwrap_or(usize::MAX), "cycle");
    let first = match (e.judged, e.failed) {
        (0, _) => "No cycle has ended yet.".into(),
        (_, 0) => {
            format!("None of {of} failed: at 95 %, at most {} % of all do.", percent(e.interval.1))
        }
        (n, failed) => format!(
            "{} of {of} failed, {} %: at 95 %, between {} and {} % of all do.",
            grouped(failed),
            percent(failed as f64 / n as f64),
            percent(e.interval.0),
            percent(e.interval.1)
        ),
    };
    page.wrapped(Ink::Strong, 0, 2, &first);
    let shown = match e.more {
        0 => format!("This shows less than 1 failure in {} at 95 %.", e.one_in),
        n => format!(
            "{} more without a failure would show less than 1 in {} at 95 %.",
            plural(usize::try_from(n).unwrap_or(usize::MAX), "cycle"),
            e.one_in
        ),
    };
    page.wrapped(Ink::Plain, 0, 2, &shown);
    for f in e.refused {
        page.wrapped(Ink::Plain, 0, 2, &safe(&refused(f)));
    }
    let mut out = page.finish();
    out.extend(e.cuts.iter().map(hung));
    let mut page = Page::new(false);
    for (cycle, devices) in e.lost {
        let text = format!("Gone after cycle {cycle}: {}.", devices.join(", "));
        page.wrapped(Ink::Plain, 0, 2, &safe(&text));
    }
    if e.unreadable > 0 {
        let lines = plural(e.unreadable as usize, "line");
        let text =
            format!("{lines} of the campaign's list cannot be read: what they said is lost.");
        page.wrapped(Ink::Plain, 0, 2, &text);
    }
    out + &page.finish() + "\n" + &next(&format!("show {}", word(e.cycles)))
}

fn refused(f: &Failed<'_>) -> String {
    let by = f.device.map_or(String::new(), |d| format!(" (device {d})"));
    format!("Cycle {} failed: {}{by}.", f.cycle, f.why)
}

/// A recording of a machine that stayed awake.
#[derive(Clone, Copy, Debug, Default)]
pub struct Watched<'a> {
    /// To which file.
    pub path: &'a str,
    /// How long it was watched.
    pub time: Ns,
    /// Exit code of the command, if there was one and it had one.
    pub exit: Option<i32>,
    /// Trace events that were lost.
    pub lost_events: u64,
    /// What else went wrong: kind and advice.
    pub losses: &'a [(&'a str, &'a str)],
    /// Sleeps of CPUs were recorded.
    pub idle: bool,
    /// What it cost, if that was measured.
    pub cost: Option<Cost>,
}

/// What a recording cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Part of the time of all CPUs, in ten thousandths.
    pub share: u64,
    /// Events of the kernel, and ns that one took.
    pub events: (u64, u64),
    /// Function probes, and ns that one took.
    pub probes: (u64, u64),
}

/// What was watched.
pub fn watched(w: &Watched<'_>) -> String {
    let mut page = Page::new(false);
    let first = format!("Wrote {}: {}, the machine stayed awake.", w.path, w.time);
    page.wrapped(Ink::Strong, 0, 2, &safe(&first));
    let lost = match w.lost_events {
        0 => "No trace event was lost.".into(),
        n => capital(&lost_events(n)),
    };
    page.wrapped(Ink::Plain, 0, 2, &lost);
    if let Some(code) = w.exit.filter(|&c| c != 0) {
        page.wrapped(Ink::Plain, 0, 2, &format!("The command ended with exit code {code}."));
    }
    if let Some(c) = w.cost {
        let of =
            |(n, ns): (u64, u64), what: &str| format!("{} at {ns} ns", plural(n as usize, what));
        let text = format!(
            "Recording took about {}.{:02} % of the CPUs' time: {}, {}, as measured before.",
            c.share / 100,
            c.share % 100,
            of(c.events, "event"),
            of(c.probes, "probe")
        );
        page.wrapped(Ink::Plain, 0, 2, &text);
    }
    losses(&mut page, w.losses);
    let verb = if w.idle { "show --only idle" } else { "show" };
    page.finish() + "\n" + &next(&format!("{verb} {}", word(w.path)))
}

fn lost_events(n: u64) -> String {
    let were = match n {
        1 => "1 trace event was".into(),
        n => format!("{} trace events were", grouped(n)),
    };
    format!("{were} lost: record again with a larger --buffer.")
}

fn losses(page: &mut Page, list: &[(&str, &str)]) {
    for (kind, advice) in list {
        let kind = kind.replace('_', " ");
        page.wrapped(Ink::Plain, 0, 2, &safe(&format!("{}: {advice}", capital(&kind))));
    }
}

/// Settings that were put back, and those that `tune --apply` kept.
#[derive(Clone, Copy, Debug, Default)]
pub struct Restored<'a> {
    /// Path and value of each.
    pub done: &'a [(String, String)],
    /// How many could not be put back.
    pub failed: usize,
    /// The machine has been restarted since.
    pub earlier_boot: bool,
    /// How many are kept.
    pub kept: usize,
}

/// What `mark` did: where its line stands, and where it does not.
pub fn marked(m: &Marked) -> String {
    let mut page = Page::new(false);
    let line = m.name.line();
    page.wrapped(
        Ink::Strong,
        0,
        2,
        &format!("Wrote \"{line}\" to {}.", safe(&m.written.join(" and "))),
    );
    for r in &m.refused {
        page.wrapped(Ink::Plain, 0, 2, &format!("Not to {}: {}.", safe(&r.path), safe(&r.reason)));
    }
    page.finish()
}

/// Why nothing was marked.
pub fn unmarked(m: &Marked) -> String {
    let each = m.refused.iter().map(|r| format!("{}: {}", r.path, r.reason));
    format!("{} is not marked: {}", m.name, each.collect::<Vec<_>>().join("; "))
}

/// What `restore` did.
pub fn restored(r: &Restored<'_>) -> String {
    let mut page = Page::new(false);
    let first = match (r.earlier_boot, r.done.len(), r.failed) {
        (true, ..) => "Nothing to put back: the machine has been restarted since, which reset \
                       everything."
            .into(),
        (false, 0, 0) => "Nothing to put back: no recorder was killed here.".into(),
        (false, n, 0) => format!(
            "{} put back; everything is as it was.",
            if n == 1 { "1 setting was".into() } else { format!("{n} settings were") }
        ),
        (false, n, bad) => format!("{n} of {} were put back.", plural(n + bad, "setting")),
    };
    page.wrapped(Ink::Strong, 0, 2, &first);
    let mut out = page.finish();
    for (path, value) in r.done {
        out += &format!("  {} = {}\n", safe(path), safe(value));
    }
    if r.kept > 0 {
        let kept = format!(
            "{} that `tune --apply` kept {} set.",
            plural(r.kept, "setting"),
            if r.kept == 1 { "stays" } else { "stay" }
        );
        let mut page = Page::new(false);
        page.wrapped(Ink::Plain, 0, 2, &kept);
        out += &page.finish();
        out += "\n";
        out += &next("restore --kept");
    } else if r.failed == 0 {
        out += "\n";
        out += &next("record --yes -o recording.tar.gz");
    }
    out
}
