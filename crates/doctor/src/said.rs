//! What messages say by their formats alone: errors that no rule knows.

use crate::attempt::Attempt;
use crate::case::Case;
use crate::complaint;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Device, Finding, Level};
use crate::formats::{Known, Meaning, all};
use crate::message::{Message, Trust};
use crate::refusal;
use crate::rules::abort::{owner, returned};
use crate::rules::silent::BEHIND;
use crate::stack;
use crate::stage::{self, Stages, passed, phase_took};
use dormouse_base::phase::Direction;
use dormouse_base::say;
use dormouse_base::time::Ns;
use std::collections::BTreeSet;

/// A message of an attempt that tells of an error, and that no rule judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unjudged {
    /// Its line.
    pub line: u64,
    /// The part of the kernel that says it; empty where the format is not known.
    pub subject: &'static str,
    /// The device that it is said of; empty if of none, or if the format is not known.
    pub device: String,
}

/// The message as an error that no rule judged, if it is one. What the source calls an error
/// or worse is one in whatever words; of other messages the words decide.
fn unjudged(m: &Message, known: Option<&Known<'_>>) -> Option<Unjudged> {
    let is = match known.map(|k| k.format) {
        // A machine that is switched off for good says so at the highest level.
        Some(f) if matches!(f.meaning, Some(Meaning::Nothing | Meaning::Shutdown)) => false,
        Some(f) => f.is_error() || complains(&m.text),
        None => complains(&m.text),
    };
    // A row of a dump is one of what the dump tells.
    let is = is && m.trust == Trust::Logged && !sums_up(&m.text) && !is_frame(&m.text);
    let is = is && !is_of_tables(&m.text);
    is.then(|| Unjudged {
        line: m.line,
        subject: known.map_or("", |k| k.format.subject),
        device: known.and_then(|k| k.device).map_or(String::new(), |d| d.1.to_string()),
    })
}

/// The message as an error, whose words were weighed.
pub(crate) fn unjudged_words(m: &Message) -> Option<Unjudged> {
    let known = all().recognise(&m.text);
    let nothing = known
        .as_ref()
        .is_some_and(|k| matches!(k.format.meaning, Some(Meaning::Nothing | Meaning::Shutdown)));
    let is = m.trust == Trust::Logged && !nothing && !is_frame(&m.text) && !is_of_tables(&m.text);
    is.then(|| Unjudged {
        line: m.line,
        subject: known.as_ref().map_or("", |k| k.format.subject),
        device: known.and_then(|k| k.device).map_or(String::new(), |d| d.1.to_string()),
    })
}

/// The finding that there are errors that no rule knows: it judges none of them, so that they
/// are not passed over in silence. Those right `behind` a sleep are never more than a note;
/// `since` says how long behind.
pub(crate) fn not_judged(
    case: &Case,
    errors: &[(&Message, Unjudged)],
    behind: &[(&Message, Unjudged)],
    since: impl Fn(&Message) -> Option<Ns>,
) -> Option<Finding> {
    if let Some(f) = one_device(case, errors) {
        return Some(f);
    }
    let mut errors: Vec<&(&Message, Unjudged)> = errors.iter().chain(behind).collect();
    errors.sort_by_key(|e| e.0.line);
    errors.dedup_by_key(|e| e.0.line);
    let (first, known) = *errors.first()?;
    let device = named(first, known);
    let who = is_named(first, &device);
    let of = if who { format!(" of {}", say::device(&device)) } else { String::new() };
    let text = first.text.trim();
    let direction = way(case, first);
    let resume = direction == Some(Direction::Resume);
    let inside = case.attempts.iter().any(|a| case.of(a).iter().any(|m| m.line == first.line));
    let behind = case.attempts.iter().rfind(|a| {
        let last = case.messages[..a.end].last();
        a.closed && last.is_some_and(|m| m.line < first.line)
    });
    let passed = behind.and_then(|a| passed(case.messages[..a.end].last()?, first));
    let passed = passed
        .or_else(|| since(first))
        .filter(|t| !inside && t.0 > 0)
        .map_or(String::new(), |t| format!(" It came {} behind the sleep.", say::span(t)));
    let mut devices: Vec<Device> = who.then_some(device).into_iter().collect();
    for (m, known) in &errors[1..] {
        let other = named(m, known);
        let is = is_named(m, &other) && names_a_device(&m.text);
        if is && devices.iter().all(|d| d.name != other.name) {
            devices.push(other);
        }
    }
    let others = match &devices[usize::from(who)..] {
        [] => String::new(),
        rest => format!(" Others are of {}.", say::devices(rest)),
    };
    let sentence = match errors.len() {
        1 => format!("A line tells of an error{of} that no rule knows: \"{text}\".{passed}"),
        n => format!(
            "{n} lines tell of errors that no rule knows, the first{of}: \"{text}\".{passed}{others}"
        ),
    };
    let f = Finding::new(("not-judged", Area::Phase, Level::Note), Confidence::Certain)
        .says(sentence)
        .look("Whether it has to do with the sleep is not judged: read the lines around it.")
        .times(errors.len())
        .of_devices(devices)
        .shown_by(lines(errors.iter().map(|e| e.0)));
    Some(if resume { f.at("resume").when(direction, None) } else { f })
}

/// The device of a message, by its format or its words.
fn named(m: &Message, known: &Unjudged) -> Device {
    let owner = owner(&m.text);
    match known.device.as_str() {
        // A driver may say its own name once more.
        name if name.is_empty() || name == owner.driver => owner,
        name => Device { name: name.into(), ..owner },
    }
}

/// Whether a message is its own: it begins with its name.
fn is_named(m: &Message, device: &Device) -> bool {
    let with_interface = || m.text.starts_with(&format!("{} {} ", device.driver, device.name));
    !device.name.is_empty() && (m.text.contains(&format!("{}: ", device.name)) || with_interface())
}

/// Whether the line begins with the name of a device, as the kernel prints it behind that of its
/// driver or its subsystem: no program, and no words.
pub(crate) fn names_a_device(text: &str) -> bool {
    let Device { name, driver } = owner(text);
    let Some((head, _)) = text.split_once(": ") else { return false };
    let plain = |w: &str| {
        !w.is_empty() && w.bytes().all(|b| b.is_ascii_graphic() && !b"[]()\"'`=,;/".contains(&b))
    };
    let has_digit = name.bytes().any(|b| b.is_ascii_digit());
    let numbers = name.bytes().all(|b| b.is_ascii_digit());
    // `driver device:`, `driver device interface:`, `Bluetooth: hci0:`, `wlan0:`.
    let words = head.trim_start_matches("Bluetooth: ").split(' ').count();
    let small =
        driver.is_empty() || plain(&driver) && driver.starts_with(|c: char| c.is_ascii_lowercase());
    let said = text.contains(&format!("{name}: ")) || text.contains(&format!(" {name} "));
    let fits = words < 3 || words == 3 && !head.ends_with(&name);
    fits && said && small && plain(&name) && has_digit && !numbers && !head.ends_with(']')
}

/// Which way the machine went when it said that.
fn way(case: &Case, said: &Message) -> Option<Direction> {
    let at = case.messages.iter().position(|m| m.line == said.line)?;
    // A text may begin inside a phase, whose end tells which it was.
    let ends = || case.messages[at..].iter().find_map(phase_took).map(|p| p.0);
    Stages::new(&case.messages).at(at, &[]).map(|s| s.direction).or_else(ends)
}

/// The finding about the one device of which the most errors are, if they are too many for
/// chance, or the writer says that something is dead behind the sleep.
fn one_device(case: &Case, errors: &[(&Message, Unjudged)]) -> Option<Finding> {
    let mut of: Vec<(Device, Vec<&Message>)> = Vec::new();
    for (m, known) in errors {
        let device = named(m, known);
        if !is_named(m, &device) {
            continue;
        }
        match of.iter_mut().find(|o| o.0.name == device.name) {
            Some(o) => o.1.push(*m),
            None => of.push((device, vec![*m])),
        }
    }
    // Each says so by a number or a mark, or one of many does.
    let plain = |m: &Message| has_errno(&m.text) || m.has("*ERROR*");
    let complaint = complaint::of_return(case);
    let crowd = if complaint.is_some() { FEW } else { CROWD };
    for (_, list) in &mut of {
        let numbers = list.iter().filter(|m| plain(m)).count();
        if numbers == 0 || list.len() < crowd {
            list.retain(|m| plain(m));
        }
    }
    of.retain(|o| !o.1.is_empty());
    of.sort_by_key(|o| std::cmp::Reverse(o.1.len()));
    let several = of.get(1).is_some_and(|o| o.1.len() >= FEW);
    let (device, list) = of.into_iter().next()?;
    let others = errors.len() - list.len();
    // Where several complain, none of them is the one, unless the writer misses something.
    let enough = match complaint {
        Some(_) => list.len() >= FEW && !several,
        None => list.len() >= MANY && others == 0,
    };
    if !enough {
        return None;
    }
    let direction = way(case, list[0]);
    let resume = direction == Some(Direction::Resume);
    let when = match direction {
        Some(Direction::Resume) => "while it came back",
        Some(_) => "while it went down",
        None if !shows_sleep(case) => "",
        None => "behind the sleep",
    };
    // Words of a writer put no line behind a sleep.
    let apart = match when {
        "" => " The text has no line of a sleep: whether they are behind one, it does not show.",
        _ => "",
    };
    let others = match others {
        0 => String::new(),
        1 => " One more line tells of an error, of another.".into(),
        n => format!(" {n} more lines tell of errors, of others."),
    };
    let told = complaint.map_or(String::new(), |(_, s)| {
        format!(
            " The writer says: \"{s}\". Whether that is of this device, no line that was read says."
        )
    });
    let who = say::device(&device);
    let sentence = format!(
        "{who} reported {} errors{}{when}, the first: \"{}\".{apart}{told}{others}",
        list.len(),
        if when.is_empty() { "" } else { " " },
        list[0].text.trim()
    );
    let sure = if complaint.is_some() { Confidence::Guess } else { Confidence::Likely };
    let rule = ("device-errors", Area::Phase, Level::Risk);
    let shown = list.iter().copied().chain(complaint.map(|c| c.0));
    let f = Finding::new(rule, sure)
        .says(sentence)
        .look(
            "Look whether the device works afterwards; who maintains its driver wants these lines.",
        )
        .times(list.len())
        .of_devices([device])
        .shown_by(lines(shown));
    Some(if resume { f.at("resume") } else { f }.when(direction, None))
}

/// Whether the text has a line of a sleep.
pub(crate) fn shows_sleep(case: &Case) -> bool {
    !case.attempts.is_empty()
        || !case.parts.is_empty()
        || case.messages.iter().any(|m| m.trust.is_of_a_kernel() && stage::ends_sleep(m))
}

/// So many errors of one device in a sleep are no chance. Ours.
const MANY: usize = 3;
/// Of so many one with a number is enough.
const CROWD: usize = 4;
/// So many are enough where the writer says that something is dead behind the sleep.
const FEW: usize = 2;

/// Whether a message has an error number of the kernel: `failed (-110)`, `error -5`.
pub(crate) fn has_errno(text: &str) -> bool {
    let number = |w: &str| {
        let w = w.rsplit('=').next()?;
        let digits = w.trim_matches(['(', ')', '.', ',', ':', ';']).strip_prefix('-')?;
        digits.parse::<u32>().ok().filter(|n| (1..=133).contains(n))
    };
    text.split_whitespace().any(|w| number(w).is_some())
}

/// Whether a message says nothing that those before it do not tell: the last words of
/// kernel/power/suspend.c:suspend_devices_and_enter and suspend_enter, and of
/// kernel/hung_task.c:check_hung_task.
fn sums_up(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    text.contains("some devices failed to suspend")
        || text.contains("suspend of devices failed")
        // kernel/power/swap.c:swsusp_write, whatever get_swap_writer said before.
        || text.contains("cannot get swap writer")
        || text.contains("disables this message")
}

/// Whether ACPICA tells of a fault in the tables of a firmware, which each boot and each sleep
/// has anew (drivers/acpi/acpica/utxferror.c; AE_NOT_FOUND and AE_ALREADY_EXISTS of
/// psargs.c, dswload.c). That something did not answer in time is another error.
fn is_of_tables(text: &str) -> bool {
    let text = text.trim_start_matches("kernel: ");
    let of_acpi = ["ACPI BIOS Error (bug)", "ACPI Error: ", "ACPI: "];
    let codes = ["AE_NOT_FOUND", "AE_ALREADY_EXISTS", "No _Lxx or _Exx"];
    of_acpi.iter().any(|w| text.starts_with(w)) && codes.iter().any(|w| text.contains(w))
}

/// Whether a message is a row of a dump: `? schedule_timeout+0x20/0x2a0`,
/// `[<c0611c1c>] (schedule_timeout+0x20/0x2a0) from …`, `#PF: error_code(0x0002) - …`.
fn is_frame(text: &str) -> bool {
    let text = text.trim_start();
    let word = text.trim_start_matches("? ").split(' ').next().unwrap_or_default();
    text.starts_with("[<")
        || text.starts_with("#PF: ")
        || word.contains("+0x") && word.contains("/0x")
        || stack::whole_frame(text).is_some()
}

/// Whether a message is what the core says more of a failure that a finding tells: the
/// callback that returned the error, or the device in words of which its name was lost.
pub(crate) fn is_told(m: &Message, findings: &[Finding]) -> bool {
    let of = |device: &str, error: i32| {
        findings.iter().any(|f| {
            f.about.error == Some(error)
                && (device.is_empty() || f.about.devices.iter().any(|d| d.name == device))
        })
    };
    // One that breaks off, of a device that is told of.
    let cut = || {
        let of = |f: &Finding| f.about.devices.iter().any(|d| m.has(&d.name));
        m.has(" PM: failed to ") && findings.iter().any(of)
    };
    let core = || refusal::of_core(&m.text).is_some() || refusal::of_image(&m.text).is_some();
    let refused = || refusal::of_device(&m.text).or_else(|| refusal::of_restore(&m.text));
    // How a start goes on whose image was refused (kernel/power/hibernate.c:
    // load_image_and_restore, create_image).
    let load = || {
        m.says("Failed to load hibernation image")
            || m.says("Failed to load image")
            || m.says("Error ") && m.text.trim_end().ends_with(" resuming")
    };
    let refused_image = |f: &Finding| f.area == Area::Hibernation && f.level == Level::Broken;
    returned(m).is_some_and(|f| of(f.device, f.error))
        || cut()
        || load() && findings.iter().any(refused_image)
        || refused().is_some_and(|r| r.device.is_empty() && of("", r.error))
        || core() && findings.iter().any(|f| matches!(f.area, Area::Abort | Area::Hibernation))
}

/// A message without what changes from one to the next: numbers.
pub(crate) fn kind(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let c = if c.is_ascii_digit() { '0' } else { c };
        if !(c == '0' && out.ends_with('0')) {
            out.push(c);
        }
    }
    out
}

/// Words of errors.
const WORDS: [&str; 9] = [
    " error",
    // What a graphics driver calls one (include/drm/drm_print.h:DRM_ERROR).
    "*error*",
    "failed",
    "timed out",
    "timeout",
    "never came up",
    "not responding",
    "not respond ",
    "giving up",
];

/// Whether a message tells of an error, by its words.
pub(crate) fn complains(text: &str) -> bool {
    // Each of the words has one of these threes of letters, and few other lines have one. All
    // threes are looked at, because a processor does many at a time.
    let bytes = text.as_bytes();
    let behind = |n: usize| bytes.get(n..).unwrap_or_default();
    let threes = bytes.iter().zip(behind(1)).zip(behind(2));
    let any = threes.fold(false, |any, ((a, b), c)| {
        let (a, b, c) = (a | 32, b | 32, c | 32);
        let is = |of: &[u8; 3]| (a == of[0]) & (b == of[1]) & (c == of[2]);
        any | is(b"rro")
            | is(b"fai")
            | is(b"tim")
            | is(b"r c")
            | is(b"t r")
            | is(b"g u")
            | is(b" !=")
    });
    if !any {
        return false;
    }
    let text = text.to_ascii_lowercase();
    let says = |word: &str| text.contains(word);
    let tells = |w: &&str| says(w) && !(**w == *"timeout" && sets_a_limit(&text));
    (WORDS.iter().any(tells) || is_other(&text))
        && !says("error 0")
        && !sums_up(&text)
        && !says("0 errors")
        && !says("no error")
}

/// `Shutdown timeout set to 8 seconds`, `timeout: 5 s`, `timeout=30`: how long something may take,
/// and nothing that took so long.
fn sets_a_limit(text: &str) -> bool {
    let Some((_, rest)) = text.rsplit_once("timeout") else { return false };
    let value = rest.trim_start().strip_prefix([':', '=']).or(rest.strip_prefix(" set to "));
    value.is_some_and(|v| v.trim_start().starts_with(|c: char| c.is_ascii_digit()))
}

/// `selftest: 0x0 != 0x55`: what was read of a device is not what it should be, and the line
/// ends with that.
fn is_other(text: &str) -> bool {
    let number = |w: Option<&str>| {
        w.is_some_and(|w| {
            let hex = w.trim_end_matches(['.', ',', ')', '!']).trim_start_matches("0x");
            !hex.is_empty() && hex.bytes().all(|b| b.is_ascii_hexdigit())
        })
    };
    text.trim_end().split_once(" != ").is_some_and(|(read, wanted)| {
        number(read.split(' ').next_back()) && !wanted.contains(' ') && number(Some(wanted))
    })
}

/// Errors inside the attempts of a text that no rule may have judged, by formats alone; and those
/// right behind one that themselves say that they are of it. What the machine says in other
/// hours too is none of a sleep.
pub(crate) fn told(case: &Case) -> Vec<(&Message, Unjudged)> {
    // What the writer misses since is looked for a while longer.
    let dead = complaint::of_return(case).is_some();
    let spans = case.attempts.iter().map(|a| case.of(a).iter().chain(behind(case, a)));
    let said = spans.flatten().chain(parts(case));
    let ends = (0..case.messages.len()).filter(|at| stage::ends_sleep(&case.messages[*at]));
    let later = ends.filter(|_| dead).flat_map(|end| after(case, end));
    // A text may show what its writer misses behind a sleep, and nothing of the sleep.
    let none = dead && case.attempts.is_empty() && case.parts.is_empty();
    let whole = if none { &case.messages[..] } else { &[] };
    let said = said.chain(later).chain(whole).filter(|m| m.trust.is_of_a_kernel());
    let error = |m| Some((m, unjudged(m, all().recognise(&m.text).as_ref())?));
    let mut errors: Vec<(&Message, Unjudged)> = said.filter_map(error).collect();
    let parts = case.parts.iter().map(|p| inside(case, p.0));
    let begins = case.attempts.iter().map(|a| a.first).chain(parts);
    let first = begins.min().unwrap_or(0);
    let heads: BTreeSet<&[u8]> = errors.iter().map(|e| head(e.0)).collect();
    let before = case.messages[..first].iter().filter(|m| heads.contains(head(m)));
    let usual: BTreeSet<String> = before.map(|m| kind(&m.text)).collect();
    errors.retain(|e| !usual.contains(&kind(&e.0.text)));
    errors.sort_by_key(|e| e.0.line);
    errors.dedup_by_key(|e| e.0.line);
    errors
}

/// What the kernel says within [`PART`] behind message `end`.
fn after(case: &Case, end: usize) -> impl Iterator<Item = &Message> {
    let from = case.messages.get(end);
    let near = move |m: &&Message| from.and_then(|f| passed(f, m)).is_some_and(|t| t <= PART);
    case.messages[end..].iter().take(LINES).filter(near)
}

/// Where a part of an attempt begins that message `at` begins: a phase that ends there was
/// under way in the lines before it, for as long as the kernel says that it took.
fn inside(case: &Case, at: usize) -> usize {
    let took = phase_took(&case.messages[at]).map(|p| p.2);
    let Some((end, took)) = case.messages[at].time.zip(took) else { return at };
    let begins = |m: &Message| m.time.is_some_and(|t| t >= end - took && t <= end);
    let before = case.messages[..at].iter().rev();
    at - before.take_while(|m| m.trust.is_of_a_kernel() && begins(m)).count()
}

/// Messages of attempts whose beginning is not in the text, as far as it goes on with them.
fn parts(case: &Case) -> impl Iterator<Item = &Message> {
    let early = case.parts.iter().flat_map(|&(at, _)| &case.messages[inside(case, at)..at]);
    early.chain(case.of_parts().zip(&case.parts).flat_map(|(all, &(_, closed))| {
        let exit = |m: &Message| m.says("suspend exit") || m.says("hibernation exit");
        let exit = all.iter().position(exit).filter(|_| closed).map_or(all.len(), |at| at + 1);
        let near = move |m: &&Message| passed(&all[0], m).is_none_or(|t| t <= PART);
        all[..exit].iter().take_while(near)
    }))
}

/// So long after its first line a part of an attempt is over, where no line says so.
const PART: Ns = Ns(60_000_000_000);

/// How a message begins: of most that differ no more need be looked at.
fn head(m: &Message) -> &[u8] {
    let text = m.text.as_bytes();
    &text[..text.len().min(3)]
}

/// What is said of coming back when the attempt is over already: devices that resume in the
/// background; and drives and USB devices that do not answer for a while longer.
fn behind<'a>(case: &'a Case, a: &Attempt) -> impl Iterator<Item = &'a Message> {
    let end = case.messages[..a.end].last();
    let program = |m: &Message| m.text.split(": ").next().is_some_and(|h| h.ends_with(']'));
    let near = case.messages[a.end..].iter().take(LINES);
    let soon = move |m: &&Message| end.and_then(|e| passed(e, m)).is_some_and(|t| t <= SOON);
    let of_it = |m: &&Message| [" resum", "suspend"].iter().any(|w| m.has(w));
    let near = near.take_while(soon).filter(of_it).filter(move |m| a.closed && !program(m));
    let later = move |m: &&Message| end.and_then(|e| passed(e, m)).is_some_and(|t| t <= BEHIND);
    let begins = |m: &&Message| !m.says("suspend entry") && !m.says("hibernation entry");
    let drives = case.messages[a.end..].iter().take_while(later).take_while(begins);
    let at_once = case.messages[a.end..].iter().take(LINES).take_while(soon).take_while(begins);
    let drives = drives.filter(|m| a.closed && is_of_a_drive(m));
    let silent = at_once.filter(move |m| a.closed && !program(m) && is_of_a_device(m));
    near.chain(drives).chain(silent)
}

/// Whether a device did not answer, by the name that it begins with and an error number: what is
/// out of order, and no refusal of a thing that was asked for.
fn is_of_a_device(m: &Message) -> bool {
    const SILENT: [&str; 5] = ["-110", "-71", "-5)", "tx timeout", "*ERROR*"];
    let device = owner(&m.text);
    complains(&m.text) && is_named(m, &device) && SILENT.iter().any(|w| m.has(w))
}

/// Whether a drive, its port or a USB device did not answer: by the format of the message, with
/// the number of an error or the words for it.
fn is_of_a_drive(m: &Message) -> bool {
    let silent =
        || has_errno(&m.text) || ["timeout", "timed out", "not respond"].iter().any(|w| m.has(w));
    let subject = || all().recognise(&m.text).map(|k| k.format.subject);
    let drive = |s| matches!(s, "ata" | "mmc" | "nvme" | "scsi" | "ufs" | "usb");
    complains(&m.text) && silent() && subject().is_some_and(drive)
}

/// How long behind a sleep, and how many lines.
const SOON: Ns = Ns(10_000_000_000);
const LINES: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::Attempt;

    fn case(texts: &[&str]) -> Case {
        let message = |(i, text): (usize, &&str)| Message {
            line: i as u64 + 1,
            time: None,
            second: None,
            text: (*text).into(),
            trust: Trust::Logged,
        };
        let messages: Vec<Message> = texts.iter().enumerate().map(message).collect();
        let attempts = vec![Attempt { end: messages.len(), ..Attempt::default() }];
        Case { messages: messages.into(), attempts, ..Case::default() }
    }

    #[test]
    fn what_is_usual_or_the_end_of_a_hibernation_is_no_error_of_a_sleep() {
        let mut all = case(&[
            "foo 1-2: link 4 failed",
            "PM: suspend entry (deep)",
            "foo 1-2: link 7 failed",
            "bar 2-1: link 7 failed",
            "PM: suspend exit",
        ]);
        all.attempts[0].first = 1;
        let lines = |case: &Case| told(case).iter().map(|e| e.0.line).collect::<Vec<_>>();
        assert_eq!(lines(&all), [4]);
        let ends = ["PM: hibernation: hibernation entry", "reboot: Power down"];
        assert!(lines(&case(&ends)).is_empty());
        let firmware = "ACPI BIOS Error (bug): Could not resolve symbol [\\_SB.X], AE_NOT_FOUND";
        assert!(lines(&case(&["PM: suspend entry (deep)", firmware])).is_empty());
    }

    #[test]
    fn errors_of_one_device_again_and_again_are_its_trouble() {
        let texts = [1, 2, 3].map(|n| format!("elm 0000:29:00.0: vex {n} test failed (-110)"));
        let mut all: Vec<&str> = texts.iter().map(String::as_str).collect();
        all.push("PM: resume devices took 2.306 seconds");
        let judged = |texts: &[&str]| {
            let case = case(texts);
            let errors = told(&case);
            not_judged(&case, &errors, &[], |_| None).map(|f| (f.id, f.sentence))
        };
        let (id, sentence) = judged(&all).expect("a finding");
        assert_eq!(id, "device-errors");
        assert!(sentence.contains("reported 3 errors while it came back"), "{sentence}");
        assert_eq!(judged(&all[1..]).map(|f| f.0), Some("not-judged"));
        all[1] = "oak 3-1: vex 2 test failed (-110)";
        assert_eq!(judged(&all).map(|f| f.0), Some("not-judged"), "two devices");
    }

    #[test]
    fn an_error_right_behind_a_sleep_that_names_it_is_one_of_it() {
        let mut all = case(&[
            "PM: suspend entry (deep)",
            "PM: suspend exit",
            "foo bar1: error -110 whilst resuming",
            "baz 3-1: read failed",
        ]);
        all.attempts[0] = Attempt { end: 2, closed: true, ..Attempt::default() };
        let list: Vec<Message> = all
            .messages
            .iter()
            .cloned()
            .enumerate()
            .map(|(i, m)| Message { time: Some(Ns(i as i64 * 1_000_000_000)), ..m })
            .collect();
        all.messages = list.into();
        assert_eq!(told(&all).iter().map(|e| e.0.line).collect::<Vec<_>>(), [3]);
    }

    #[test]
    fn a_device_that_does_not_answer_right_behind_a_sleep_is_named_with_how_long_behind() {
        let said = |behind: &[(i64, &str)]| {
            let log = [(0, "PM: suspend entry (deep)"), (2_000, "PM: suspend exit")];
            let attempt = Attempt { end: 2, closed: true, ..Attempt::default() };
            let log = [&log[..], behind].concat();
            let all = Case { attempts: vec![attempt], ..Case::of_log(&log) };
            not_judged(&all, &told(&all), &[], |_| None).map(|f| f.sentence)
        };
        let words = said(&[(6_000, "elmbt elm0: command 0x77 failed (-110)")]).expect("told");
        assert!(words.contains("elm0 (elmbt)") && words.ends_with("4.0 s behind the sleep."));
        for other in [
            (40_000, "elmbt elm0: command 0x77 failed (-110)"),
            (6_000, "elmd[77]: oak: connection failed (-110)"),
            (6_000, "elmbt elm0: could not load optional vex: failed with -2"),
        ] {
            assert_eq!(said(&[other]), None, "{other:?}");
        }
    }

    #[test]
    fn what_the_source_calls_an_error_is_one_in_any_words() {
        let error = |text: &str| {
            told(&case(&[text])).into_iter().next().map(|(_, u)| (u.subject, u.device))
        };
        let dead = "xhci_hcd 0000:4c:00.3: HC died; cleaning up";
        assert_eq!(error(dead), Some(("usb", "0000:4c:00.3".into())));
        assert_eq!(error("zorble 7-1: the vex failed"), Some(("", String::new())));
        assert_eq!(error("PM: suspend exit"), None);
        assert_eq!(error("devtmpfs: error mounting -2"), None);
    }

    #[test]
    fn complaints_are_seen_in_any_case_of_letters() {
        for words in WORDS {
            for text in [words.to_string(), words.to_uppercase(), words.replace('t', "T")] {
                assert!(complains(&format!("x: y{text}")), "{text}");
                assert!(!complains(&text[..text.len() - 1]), "{text}");
            }
        }
        assert!(complains("elm 3-1: self test: 0x0 != 0xa5"));
        assert!(!complains("elm 3-1: if (a != b) return 0") && !complains("x: 5 != 4 of all"));
        assert!(!complains("x: error 0") && !complains("") && !complains("\u{e4}"));
    }
}
