//! What the laboratory says, as functions of facts: a kernel must boot for them.

use crate::text::page::{Ink, Page};
use crate::text::safe;
use crate::wording::next::{next, typed, word};
use crate::wording::number::{change, ms, plural};
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::time::Ns;
use std::fmt::Write as _;

/// A series of kernels that an archive has.
#[derive(Clone, Copy, Debug)]
pub struct Offer<'a> {
    /// Such as `6.12`.
    pub series: &'a str,
    /// The release that would be fetched.
    pub release: &'a str,
    /// Whether it runs boards: its headers are there.
    pub boards: bool,
    /// The release that is in the cache.
    pub cached: Option<&'a str>,
}

/// What the archive offers.
pub fn kernels(offers: &[Offer<'_>]) -> String {
    let boards = offers.iter().filter(|o| o.boards).count();
    let cached = offers.iter().filter(|o| o.cached.is_some()).count();
    let mut out = wrapped(&format!(
        "{} kernel series in the archive, {boards} of them run boards; {cached} in the cache.",
        offers.len()
    ));
    out.push_str(&wrapped(
        "board module: it runs boards. image only: no headers are left in the archive, so it runs \
         with the guest's own devices.",
    ));
    let _ = writeln!(out, "\n{:<8}{:<28}{:<14}in the cache", "Series", "release", "what it runs");
    for o in offers {
        let kind = if o.boards { "board module" } else { "image only" };
        let line = format!(
            "{:<8}{:<28}{kind:<14}{}",
            safe(o.series),
            safe(o.release),
            safe(o.cached.unwrap_or(""))
        );
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out + "\n" + &next("lab run --kernel 6.12 --board FILE -o recording.tar.gz")
}

/// Sleeps of a guest with systemd: its kernel, how deep, how often, what was planted, and where
/// its journal is.
pub fn slept_with(
    release: &str,
    mode: &str,
    cycles: u32,
    delays: &[String],
    journal: &str,
) -> String {
    let mut out = wrapped(&format!(
        "Debian's systemd slept {} on {} ({mode}); {} in it.",
        plural(cycles as usize, "time"),
        safe(release),
        match delays.len() {
            0 => "no delay was planted".to_owned(),
            1 => "1 delay was planted".to_owned(),
            n => format!("{n} delays were planted"),
        },
    ));
    out.push_str(&wrapped(
        "Each is as exact as a program's start is quick: some milliseconds of the guest's time.",
    ));
    for delay in delays {
        let _ = writeln!(out, "  {}", safe(delay));
    }
    out + "\n" + &next(&format!("show {}", word(journal)))
}

/// A kernel that was built.
#[derive(Clone, Copy, Debug)]
pub struct Built<'a> {
    /// What it is called.
    pub name: &'a str,
    /// Its release.
    pub release: &'a str,
    /// Source, configuration, options, patches.
    pub made_of: &'a [String],
    /// It was there already.
    pub before: bool,
    /// The compiler's warnings.
    pub warnings: &'a [String],
}

/// What was built, of what, and how to run it; of several, how to compare the ends.
pub fn built(all: &[Built<'_>]) -> String {
    let mut out = String::new();
    for b in all {
        let was = if b.before { "was built before, of the same" } else { "is built" };
        out.push_str(&wrapped(&format!("{} {was}: {}.", safe(b.name), safe(b.release))));
        out.push_str(&wrapped(&match b.warnings.len() {
            0 => "The compiler warned of nothing.".into(),
            n => format!("The compiler warned {}.", plural(n, "time")),
        }));
        // Of several, the next is made of the same and one patch more.
        let parts = if all.len() > 1 { b.made_of.len().saturating_sub(1) } else { 0 };
        for part in &b.made_of[parts..] {
            out.push_str(&wrapped(&format!("  {}", safe(part))));
        }
        for w in b.warnings.iter().take(5) {
            out.push_str(&wrapped(&safe(w)));
        }
        if let more @ 1.. = b.warnings.len().saturating_sub(5) {
            out.push_str(&wrapped(&format!("and {more} more")));
        }
    }
    let run = match all {
        [first, .., last] => {
            format!("compare {} {} --board FILE", word(first.name), word(last.name))
        }
        [one] => format!("lab run --kernel {} --board FILE -o recording.tar.gz", word(one.name)),
        [] => return out,
    };
    out + "\n" + &next(&run)
}

/// A recording that a guest made.
#[derive(Clone, Copy, Debug)]
pub struct Ran<'a> {
    /// Its file.
    pub path: &'a str,
    /// Cycles in it.
    pub cycles: usize,
    /// The kernel's release.
    pub release: &'a str,
    /// CPUs of the guest.
    pub cpus: u32,
}

/// What was recorded, and what the guest does differently from the board.
/// `alone` if it is the only one, so that a next command can name it.
pub fn ran(r: &Ran<'_>, out_of_step: bool, differences: &[&str], alone: bool) -> String {
    let mut out = wrapped(&format!(
        "Wrote {}: {} of {} on {}.",
        r.path,
        plural(r.cycles, "cycle"),
        r.release,
        plural(r.cpus as usize, "CPU")
    ));
    out.push_str(&as_asked(out_of_step, differences));
    if alone {
        out.push('\n');
        out.push_str(&next(&format!("show {}", word(r.path))));
    }
    out
}

/// Whether the guest is what was asked for, and whether a run can be repeated.
pub fn as_asked(out_of_step: bool, differences: &[&str]) -> String {
    let mut out = String::new();
    if out_of_step {
        out.push_str(&wrapped(
            "Caution: the threads of this QEMU could not be kept in step (is it static, or a build \
             of its own?): on a busy machine a run may differ from the next.",
        ));
    }
    for d in differences {
        out.push_str(&wrapped(&format!("The guest differs from the board: {d}.")));
    }
    out
}

/// A recording that was made again from what it says of itself.
#[derive(Clone, Copy, Debug)]
pub struct Rerun<'a> {
    /// Its file.
    pub path: &'a str,
    /// Every byte is as it was.
    pub same: bool,
    /// The kernel that it was recorded on, and the one in the cache, if they
    /// differ.
    pub kernels: Option<(&'a str, &'a str)>,
    /// The guest's program is another build.
    pub other_program: bool,
    /// Where the new one was written.
    pub output: Option<&'a str>,
}

/// Whether a recording is still the same.
pub fn rerun(r: &Rerun<'_>) -> String {
    let same = if r.same { "the same, byte for byte" } else { "different" };
    let mut out = wrapped(&format!("{}: the recording made again is {same}.", r.path));
    if let Some((was, is)) = r.kernels {
        out.push_str(&wrapped(&format!(
            "Caution: recorded on {was}, the cache has {is}: a difference may be the kernel's."
        )));
    }
    if r.other_program {
        out.push_str(&wrapped(
            "Caution: recorded by another build of the guest's program: a difference may be its.",
        ));
    }
    let input = typed(r.path);
    if let Some(to) = r.output {
        out.push_str(&wrapped(&format!("Wrote {to}.")));
    }
    let command = match (r.same, r.output) {
        (true, _) => format!("show {input}"),
        (false, Some(to)) => format!("compare {input} {}", word(to)),
        (false, None) => format!("lab run --only again {input} -o again.tar.gz"),
    };
    out + "\n" + &next(&command)
}

/// The same thing, booted many times.
#[derive(Clone, Copy, Debug)]
pub struct Repeated<'a> {
    /// The kernel's release.
    pub release: &'a str,
    /// CPUs of the guest.
    pub cpus: u32,
    /// How it slept.
    pub sleep: &'a str,
    /// Boots after the first.
    pub again: usize,
    /// Recordings that differ from the first.
    pub different: usize,
    /// Kernel logs that differ from the first.
    pub logs_different: usize,
    /// Lines of a recording.
    pub lines: usize,
}

/// How many recordings differ.
pub fn repeated(r: &Repeated<'_>) -> String {
    let first = match r.different {
        0 => format!("All {} are the same, byte for byte.", plural(r.again + 1, "recording")),
        n => format!("{n} of {} differ from the first.", plural(r.again, "recording")),
    };
    wrapped(&first)
        + &wrapped(&format!(
            "{}, {}, {}, {} of trace; {} of {} differ.",
            r.release,
            plural(r.cpus as usize, "CPU"),
            r.sleep,
            plural(r.lines, "line"),
            r.logs_different,
            plural(r.again, "kernel log")
        ))
        + "\n"
        + &next(&match r.different {
            0 => format!("lab run --kernel {} --board FILE -o recording.tar.gz", series(r.release)),
            _ => format!("lab run --only repeat --kernel {}", series(r.release)),
        })
}

/// `6.12` of `6.12.117+deb12-amd64`.
fn series(release: &str) -> String {
    let mut parts = release.split('.').take(2);
    let (major, minor) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
    format!("{major}.{}", minor.split(|c: char| !c.is_ascii_digit()).next().unwrap_or(""))
}

/// A device phase as recorded and as another kernel did it: time from the first
/// start to the last end, and callbacks.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The phase.
    pub phase: Phase,
    /// As recorded; `None` if it had no callback.
    pub recorded: Option<(Ns, usize)>,
    /// As the other kernel did it.
    pub replayed: Option<(Ns, usize)>,
}

/// A recorded machine on another kernel.
#[derive(Clone, Copy, Debug)]
pub struct Replayed<'a> {
    /// The kernel that was recorded; empty if none is named.
    pub was: &'a str,
    /// The kernel that ran it.
    pub is: &'a str,
    /// Cycles on each side.
    pub cycles: [usize; 2],
    /// The phases.
    pub rows: &'a [Row],
}

/// Both beside each other.
pub fn replayed(r: &Replayed<'_>) -> String {
    let mut said = Vec::new();
    for d in [Direction::Suspend, Direction::Resume] {
        let rows = || r.rows.iter().filter(|x| x.phase.direction() == d);
        let sum = |side: fn(&Row) -> Option<(Ns, usize)>| -> Ns {
            rows().filter_map(side).map(|s| s.0).sum()
        };
        let (was, is) = (sum(|x| x.recorded), sum(|x| x.replayed));
        if was > Ns::ZERO && is > Ns::ZERO {
            said.push(format!("{} {was} -> {is} ({})", d.name(), change(was, is)));
        }
    }
    let was = if r.was.is_empty() { "unknown kernel" } else { r.was };
    let first = match said.is_empty() {
        true => format!("{was} -> {}: no device phase is on both sides.", r.is),
        false => format!("{was} -> {}: {}.", r.is, said.join(", ")),
    };
    let mut out = wrapped(&first);
    out.push_str(&wrapped(&format!(
        "Device phases from the first start to the last end; medians of {} and {}; the guest's \
         own devices left out.",
        plural(r.cycles[0], "cycle"),
        plural(r.cycles[1], "cycle")
    )));
    let _ = writeln!(
        out,
        "\n{:<22}{:>14}{:>11}{:>14}{:>11}",
        "Phase, ms", "recorded", "callbacks", "replayed", "callbacks"
    );
    for Row { phase, recorded, replayed } in r.rows {
        let cells = |x: &Option<(Ns, usize)>| match x {
            Some((t, n)) => (ms(*t), n.to_string()),
            None => ("-".into(), "-".into()),
        };
        let ((t, n), (u, m)) = (cells(recorded), cells(replayed));
        let _ = writeln!(out, "{:<22}{t:>14}{n:>11}{u:>14}{m:>11}", phase.title());
    }
    out
}

fn wrapped(text: &str) -> String {
    let mut page = Page::new(false);
    page.wrapped(Ink::Plain, 0, 2, &safe(text));
    page.finish()
}
