//! What a text says of power domains, clocks, regulators and probing: tables of
//! debugfs and messages of the kernel, in a file of their own or quoted in a mail.
//!
//! | step | file |
//! |---|---|
//! | lines, without the marks of mail | `lines` |
//! | tables | `genpd`, `clk`, `regulator` |
//! | small files of debugfs and sysfs | `files`, `acpi` |
//! | folders of such files, device trees | `whole` |
//! | one message of the kernel | `said` |
//! | what recorded sleeps switched | `switched` |
//!
//! Places where a table or a message may begin are found with searches over the
//! whole text; what is read is read once.

mod acpi;
mod clk;
mod files;
mod genpd;
mod lines;
mod regulator;
mod said;
mod switched;
mod whole;

use crate::container::Source;
use crate::detect::Format;
use crate::ftrace::Beside;
use crate::grams::Asked;
use crate::klog::{Item, Record, records};
use crate::part::{Part, Taken};
use crate::text::{self, LONGEST, Text};
use dormouse_base::loss::Severity;
use dormouse_doctor::stack::whole_frame;
use dormouse_doctor::tells_of_then;
use dormouse_power::deferral::Need;
use dormouse_power::link::Link;
use dormouse_power::name::{key, keys_upward, stem};
use dormouse_power::probe::{Life, Outcome, Provider};
use dormouse_power::{Case, Evidence};
use lines::{Lines, unquoted};
use memchr::memmem;
use std::collections::{HashMap, HashSet};
pub use switched::switched;

/// Mail programs wrap lines of this length and more.
const WRAPPED: usize = 50;

/// A message goes on over at most this many further lines.
const JOINS: usize = 2;

/// A warning has registers and a stack; what it is about stands within so many lines.
const STACK: usize = 60;

/// Words by which places of tables and files are found.
const PLACES: [&[u8]; 23] = [
    b"pm_genpd_summary",
    b"domain  ",
    b"domain status",
    b"clock   ",
    b"regulator   ",
    b"regulator use open",
    b"devices_deferred",
    b"eferred ",
    b"eferred:",
    b"Rejected",
    b"pm_genpd/",
    b"class/devlink",
    b"virtual/devlink/",
    b"waiting_for_supplier",
    b"/state_synced",
    b"supplier ",
    b"domain\t",
    b"power_resources_",
    b"/power_state",
    b"real_power_state",
    b"LNXPOWER:",
    b"DEFERRED: ",
    b"Residency(us)",
];

/// Takes inputs one after another, a text each.
#[derive(Default)]
pub(crate) struct PowerPass {
    texts: Vec<Text<Case>>,
    small: whole::Small,
}

impl PowerPass {
    /// Reads `part`: its `text`, or what stands in it beside the events of a trace.
    pub(crate) fn add(&mut self, part: &Part<'_>, text: &Asked<'_>) {
        // A file of debugfs without its name says little: those of a folder are one text.
        if !self.small.add(&part.source) {
            self.texts.push(read_part(part, text).of(&part.source));
        }
    }

    pub(crate) fn finish(mut self) -> Vec<Text<Case>> {
        self.texts
            .extend(self.small.text().map(|(name, lines)| of_text(&name, &Asked::of(&lines))));
        self.texts
    }
}

fn read_part(part: &Part<'_>, text: &Asked<'_>) -> Text<Case> {
    let (name, bytes) = (part.source.name, part.source.bytes);
    match (part.format, &part.taken) {
        (Format::DeviceTree, _) => whole::of_tree(name, bytes),
        (_, Some(taken)) => of_capture(name, taken),
        _ => text::none(name, bytes).unwrap_or_else(|| of_text(name, text)),
    }
}

/// Reads bytes that are in memory and shown as `name`.
pub fn read_bytes(name: &str, bytes: &[u8]) -> Text<Case> {
    let part = Part::of(Source { name, group: "", bytes, damage: None });
    match part.format {
        Format::Ftrace => read_part(&part, &Asked::of(&Beside::of(bytes))),
        _ => read_part(&part, &part.asked),
    }
}

/// Reads a text.
fn of_text(name: &str, asked: &Asked<'_>) -> Text<Case> {
    let mut text = Text { name: name.into(), ..Text::default() };
    let plain = without_no_break_spaces(asked.bytes());
    let plain = plain.as_deref().map(Asked::of);
    let asked = plain.as_ref().unwrap_or(asked);
    tables(asked, &mut text);
    messages(asked, &mut text.case);
    lives(asked.bytes(), &mut text.case);
    text
}

/// Some mail programs put U+00A0 for blanks.
fn without_no_break_spaces(bytes: &[u8]) -> Option<Vec<u8>> {
    let at: Vec<usize> = memmem::find_iter(bytes, b"\xc2\xa0").collect();
    if at.is_empty() {
        return None;
    }
    let mut out = Vec::with_capacity(bytes.len());
    let mut from = 0;
    for at in at {
        out.extend_from_slice(&bytes[from..at]);
        out.push(b' ');
        from = at + 2;
    }
    out.extend_from_slice(&bytes[from..]);
    Some(out)
}

/// Reads tables and small files.
fn tables(asked: &Asked<'_>, text: &mut Text<Case>) {
    let lines = Lines::new(asked.bytes());
    let case = &mut text.case;
    if files::whole_list(&lines) {
        for at in 0..lines.len() {
            files::list_row(&lines, at, &mut case.deferrals);
        }
        return;
    }
    let mut places: Vec<usize> =
        PLACES.iter().flat_map(|needle| asked.places(needle)).map(|at| lines.place(at)).collect();
    places.sort_unstable();
    places.dedup();
    // A table is read once: places inside it are passed over.
    let mut after = 0;
    let mut unread = 0;
    for at in places {
        if at < after {
            continue;
        }
        let line = lines.get(at);
        if genpd::is_head(&lines, at) || files::prints(&line, "pm_genpd_summary") {
            if let Some((dump, end)) = genpd::read(&lines, at, &mut unread) {
                case.dumps.push(dump);
                after = end;
            }
        } else if clk::is_head(&line) {
            if let Some((table, end)) = clk::read(&lines, at) {
                case.clocks.push(table);
                after = end;
            }
        } else if regulator::is_head(&line) {
            if let Some((table, end)) = regulator::read(&lines, at) {
                case.regulators.push(table);
                after = end;
            }
        } else if files::is_states_head(&line) {
            if let Some((mut table, end)) = files::states(&lines, at) {
                // Its other files may stand before it.
                if let Some(old) = case.states.iter().position(|t| {
                    t.domain == table.domain && t.states.is_empty() && !t.domain.is_empty()
                }) {
                    let old = case.states.remove(old);
                    (table.latencies, table.active_ms) = (old.latencies, old.active_ms);
                    table.idle_ms = old.idle_ms;
                }
                case.states.push(table);
                after = end;
            }
        } else if line.text.starts_with("State ") && line.text.contains("Residency(us)") {
            after = files::described(&lines, at, &mut case.states);
        } else if files::prints(&line, "devices_deferred") || files::captions(&lines, &line, at) {
            let before = case.deferrals.len();
            after = files::list(&lines, at, &mut case.deferrals);
            case.none_deferred |= before == case.deferrals.len() && files::is_empty(&lines, at);
        } else if files::prints_folder(&line, "class/devlink") {
            after = files::listing(&lines, at, &mut case.links);
        } else if line.text.contains("devlink/") {
            files::links(&line, at, &mut case.links);
        } else if line.text.contains("/waiting_for_supplier") {
            case.waits.extend(files::waiting(&lines, at));
        } else if line.text.contains("/state_synced") {
            case.synced.extend(files::synced(&lines, at));
        } else if line.text.contains("/active_time") {
            files::time(&lines, at, "active_time", &mut case.states);
        } else if line.text.contains("/total_idle_time") {
            files::time(&lines, at, "total_idle_time", &mut case.states);
        } else if acpi::is_file(&line) {
            after = acpi::take(&lines, &line, at, &mut case.acpi);
        } else if let Some(d) = files::marked(&line, at) {
            case.deferrals.push(d);
        } else if let Some(d) = files::counted(&line, at) {
            case.deferrals.push(d);
        } else if files::is_listed(&lines, at) {
            files::list_row(&lines, at, &mut case.deferrals);
        }
    }
    if unread > 0 {
        text.losses.add(
            "unread_row",
            unread,
            Severity::Warning,
            "rows of a table are damaged: give the file of debugfs as it is",
            None,
        );
    }
}

/// A message that may go on in the next line.
struct Open {
    text: String,
    evidence: Evidence,
    last: u64,
    joins: usize,
    quotes: usize,
    /// The sentences around it are of an earlier time.
    then: bool,
}

/// Reads messages.
fn messages(asked: &Asked<'_>, case: &mut Case) {
    let bytes = asked.bytes();
    // Most texts have few of the words: only those are looked for in each line.
    let present: Vec<memmem::Finder<'static>> = said::STEMS
        .iter()
        .filter(|s| asked.has(s))
        .map(|s| memmem::Finder::new(*s))
        .chain([memmem::Finder::new(b"requests probe defer")])
        .collect();
    if present.len() == 1 && !asked.has(b"robe defer") && !wraps(asked) {
        return;
    }
    let lines = Lines::new(bytes);
    let mut open: Option<Open> = None;
    // The line before, which may hold the device of a wrapped message.
    let (mut before, mut before_at, mut before_quotes) = (Vec::new(), 0, 0);
    // Lines of a stack that may follow an attempt that gave up.
    let mut stack = 0;
    records(bytes, &mut |item, at| {
        let Item::Record(r) = item else { return };
        if stack > 0 {
            stack -= 1;
            if !asks(r.text, case) {
                stack = 0;
            }
        }
        let raw = lines.raw(usize::try_from(at).map_or(0, |i| i.saturating_sub(1)));
        let (quotes, _) = unquoted(raw);
        let told = present.iter().any(|f| f.find(r.text).is_some());
        if let Some(o) = &mut open {
            let next = at == o.last + 1 && quotes == o.quotes && !r.fresh && o.joins < JOINS;
            let next = next && lines.goes_on(at, is_torn(&o.text));
            let prompt = matches!(r.text.first(), Some(b'#' | b'$')) || r.text.is_empty();
            if next && !prompt && (!told || is_tail(r.text)) {
                push(&mut o.text, r.text);
                (o.last, o.joins) = (at, o.joins + 1);
                if said::is_whole(&o.text) || (raw.len() < WRAPPED && !is_torn(&o.text)) {
                    close(&mut open, case);
                }
                before.clear();
                return;
            }
            close(&mut open, case);
        }
        if told || (raw.len() >= WRAPPED && ends_open(r.text)) {
            let mut text = String::new();
            let tail = is_tail(r.text);
            if tail && before_at + 1 == at && before_quotes == quotes && !r.fresh {
                push(&mut text, &before);
            }
            push(&mut text, r.text);
            let quoted = raw.first() == Some(&b'>') && !is_in_log(&lines, at, quotes);
            let doubtful = !r.fresh && (quoted || is_prose(&text));
            let evidence = Evidence { line: at, time: r.time, text: String::new(), doubtful };
            let whole = said::is_whole(&text) || (raw.len() < WRAPPED && !is_torn(&text));
            let then = !r.fresh && is_of_then(&lines, at);
            open = Some(Open { text, evidence, last: at, joins: 0, quotes, then });
            if whole {
                let before = case.probes.len();
                close(&mut open, case);
                if case.probes.len() > before {
                    stack = STACK;
                }
            }
        }
        before.clear();
        if !told && !r.fresh && raw.len() >= WRAPPED {
            before.extend_from_slice(&r.text[..r.text.len().min(LONGEST)]);
        }
        (before_at, before_quotes) = (at, quotes);
    });
    close(&mut open, case);
}

/// Takes a line of the stack behind an attempt that gave up: the first function that asks
/// for a provider names it (drivers/base/dd.c:driver_deferred_probe_check_state). Whether
/// more may follow.
fn asks(text: &[u8], case: &mut Case) -> bool {
    let Some(probe) = case.probes.last_mut() else { return false };
    if probe.asked.is_some()
        || probe.outcome != Outcome::GaveUp
        || memmem::find(text, b"end trace").is_some()
    {
        return false;
    }
    if let Some(function) = std::str::from_utf8(text).ok().and_then(whole_frame).map(|f| f.function)
        && let Some(provider) = Provider::asked_by(&function)
    {
        probe.asked = Some((provider, function));
    }
    true
}

/// Words that a mail program may have torn apart.
fn wraps(asked: &Asked<'_>) -> bool {
    asked.has_any(&[&b"Fixed dependency\n"[..], b"deferred\n", b"probe\n"])
}

/// A line that ends inside a message.
fn ends_open(text: &[u8]) -> bool {
    [&b": deferred"[..], b": Fixed dependency", b": failed to add", b": error -EPROBE_DEFER:"]
        .iter()
        .any(|w| text.ends_with(w))
}

/// A message that cannot end so.
fn is_torn(text: &str) -> bool {
    [" with", " due to", " supplier", "()", " due", " with error"].iter().any(|w| text.ends_with(w))
}

/// A line that begins inside a message.
fn is_tail(text: &[u8]) -> bool {
    [
        &b"sync_state()"[..],
        b"deferred probe",
        b"Fixed dependency",
        b"dependency cycle",
        b"probe of ",
    ]
    .iter()
    .any(|w| text.starts_with(w))
        || text.starts_with(b"to PM domain")
        || text.starts_with(b"PM domain")
}

/// Whether the quoted line `at`, from 1, stands among lines of a log: two of the three
/// before it and the three after it, in the same quote, name a driver and a device.
fn is_in_log(lines: &Lines<'_>, at: u64, quotes: usize) -> bool {
    let at = usize::try_from(at).unwrap_or(usize::MAX);
    let near = (at.saturating_sub(4)..at.saturating_add(3)).filter(|&i| i + 1 != at);
    let said = |&i: &usize| {
        let line = lines.get(i);
        let driver = said::head(&line.text).map_or("", |(driver, ..)| driver);
        line.quotes == quotes && !driver.is_empty() && !is_prose(&line.text)
    };
    near.filter(said).count() >= 2
}

/// A person's sentence has more words before the device than a driver's name.
fn is_prose(text: &str) -> bool {
    said::head(text).is_none_or(|(driver, ..)| driver.split(' ').count() > 3)
}

fn push(text: &mut String, more: &[u8]) {
    if text.len() < LONGEST {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(&String::from_utf8_lossy(&more[..more.len().min(2 * LONGEST)]));
    }
}

fn close(open: &mut Option<Open>, case: &mut Case) {
    let Some(mut o) = open.take() else { return };
    // A line that a person quoted whole: the mark before it went with the time stamp.
    if o.text.matches('`').count() == 1
        && let Some(whole) = o.text.strip_suffix('`')
    {
        o.text.truncate(whole.len());
    }
    let known = case.stuck.len();
    let told = o.evidence.time.is_none() && (o.then || is_in_a_sentence(&o.text));
    let shown = o.text.chars().take(LONGEST).collect();
    let mut evidence = Evidence { text: shown, ..o.evidence };
    // A person's sentence quotes a message: it may be anybody's.
    if o.text.contains('`') {
        evidence.doubtful = true;
        for quoted in o.text.split('`').skip(1).step_by(2) {
            said::take(quoted.trim(), evidence.clone(), case);
        }
    } else {
        said::take(o.text.trim(), evidence, case);
    }
    case.stuck[known..].iter_mut().for_each(|s| s.told |= told);
}

/// Whether a sentence of a person goes on behind what it quotes: `… "x status stuck at 'off'" and
/// returns`.
fn is_in_a_sentence(text: &str) -> bool {
    let closing = text.rfind(['"', '”']).filter(|at| text.find(['"', '“']) < Some(*at));
    let behind = closing.map_or("", |at| text[at..].trim_start_matches(['"', '”']));
    behind.split_whitespace().filter(|w| w.starts_with(char::is_alphabetic)).count() >= 2
}

/// So many lines of text above and below a line may say of when it is.
const AROUND: usize = 2;

/// Whether sentences around the line `at`, from 1, tell of an earlier time.
fn is_of_then(lines: &Lines<'_>, at: u64) -> bool {
    let at = usize::try_from(at).unwrap_or(usize::MAX);
    let text = |i: usize| lines.get(i).text.trim().to_string();
    let filled = |t: &String| !t.is_empty();
    let above = (0..at.saturating_sub(1)).rev().take(2 * AROUND).map(text).filter(filled);
    let below = (at..lines.len()).take(2 * AROUND).map(text).filter(filled);
    let (above, below): (Vec<_>, Vec<_>) =
        (above.take(AROUND).collect(), below.take(AROUND).collect());
    tells_of_then(&above, &below)
}

/// Reads what drivers said of devices that waited, and of those that they or a
/// sync_state waited for. Names come from the messages, so this goes over the
/// text once more.
fn lives(bytes: &[u8], case: &mut Case) {
    let mut names: HashSet<String> = HashSet::new();
    let mut keys: HashSet<String> = HashSet::new();
    let mut stems: HashSet<String> = HashSet::new();
    for d in &case.deferrals {
        match d.need() {
            Some(Need::Device(name)) => drop(names.insert(name.to_string())),
            Some(Need::Node(path)) => keys.extend(keys_upward(path)),
            Some(Need::Lost) => {}
            None if d.reason.is_empty() && stem(&d.device).len() > 3 => {
                stems.insert(stem(&d.device).to_string());
            }
            None => {}
        }
        names.insert(d.device.clone());
    }
    names.extend(case.pending.iter().map(|p| p.consumer.clone()));
    let failed = case.probes.iter().filter(|p| matches!(p.outcome, Outcome::Failed(_)));
    names.extend(failed.map(|p| p.device.clone()));
    names.remove("");
    if names.is_empty() && keys.is_empty() {
        return;
    }
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut out: Vec<Life> = Vec::new();
    records(bytes, &mut |item, at| {
        let Item::Record(Record { text, time, fresh, .. }) = item else { return };
        let Some(end) = memmem::find(&text[..text.len().min(160)], b": ") else { return };
        let Ok(who) = std::str::from_utf8(&text[..end]) else { return };
        let wanted = |device: &str| {
            names.contains(device)
                || (!stems.is_empty() && stems.contains(stem(device)))
                || (!keys.is_empty() && keys.contains(&key(device)))
        };
        let (driver, device) = match who.rsplit_once(' ') {
            Some((driver, device)) if wanted(device) => (driver.trim(), device),
            // With the name of its interface (net/core/dev.c:__netdev_printk).
            Some((rest, _)) => match rest.rsplit_once(' ') {
                Some((driver, device)) if wanted(device) => (driver.trim(), device),
                _ => return,
            },
            // What a core registered, on the device: `mmc1: … controller on DEV`.
            None => match memmem::find(text, b" on ").map(|at| &text[at + 4..]) {
                Some(rest) => {
                    let name = rest.split(|b| matches!(b, b' ' | b',')).next();
                    let Some(Ok(name)) = name.map(std::str::from_utf8) else { return };
                    if !wanted(name) || !who.ends_with(|c: char| c.is_ascii_digit()) {
                        return;
                    }
                    (who, name)
                }
                None => return,
            },
        };
        if !fresh || driver.is_empty() || driver.len() > 40 || said::is_bus(driver) {
            return;
        }
        let message = String::from_utf8_lossy(&text[end + 2..text.len().min(LONGEST)]);
        // What the core says in a driver's name is no word of the driver.
        if message.starts_with("deferred probe") || message.starts_with("sync_state()") {
            return;
        }
        let place = *places.entry(device.to_string()).or_insert_with(|| {
            let text = String::from_utf8_lossy(&text[..text.len().min(LONGEST)]).into_owned();
            out.push(Life {
                device: device.to_string(),
                driver: driver.to_string(),
                first: at,
                evidence: Evidence { line: at, time, text, doubtful: false },
                ..Life::default()
            });
            out.len() - 1
        });
        let life = &mut out[place];
        life.last = at;
        let words = message.to_ascii_lowercase();
        let bad = ["fail", "error", "unable", "cannot", "can't"].iter().any(|w| words.contains(w));
        if bad && life.failure.is_none() {
            let text = String::from_utf8_lossy(&text[..text.len().min(LONGEST)]).into_owned();
            life.failure = Some(Evidence { line: at, time, text, doubtful: false });
        }
    });
    case.lives = out;
}

/// A capture file.
fn of_capture(name: &str, taken: &Taken) -> Text<Case> {
    let mut text = Text { name: name.into(), ..Text::default() };
    match taken {
        Ok((file, losses)) => {
            text = of_text(name, &Asked::of(&file.domains));
            text.losses.list.extend(losses.list.iter().cloned());
            let board = file.of_board();
            let of_board = |name: &str| board.get(name).copied().unwrap_or(name).to_string();
            let last = |p: &str| of_board(p.rsplit('/').next().unwrap_or(p));
            let users = text.case.dumps.iter_mut().flat_map(|d| &mut d.domains);
            for user in users.flat_map(|d| &mut d.devices) {
                if let Some(name) = board.get(user.name()) {
                    user.path = (*name).to_string();
                }
            }
            text.case.links.extend(file.links.iter().map(|l| Link {
                line: 0,
                supplier: last(&l.supplier),
                consumer: last(&l.consumer),
                status: l.status.clone(),
                sync_state_only: l.sync_state_only,
            }));
            if !file.tree.is_empty() {
                whole::tree(&file.tree, &mut text);
            }
            for l in &file.document.losses {
                let advice = l.advice.clone();
                text.losses.add("recorder_loss", l.count, Severity::Warning, advice, None);
            }
        }
        Err(e) => text.losses.add("damaged_input", 1, Severity::Warning, e.to_string(), None),
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_or_prose_below_a_message_is_none_of_it() {
        let message = "[   11.250020] spi spi1.0: deferred probe pending: mcp251x: waiting for the \
                       clock of the board";
        for below in
            ["```", "  ```\nmore words", "That is all it says here, and nothing more of it."]
        {
            let case = read_bytes("x", format!("```\n{message}\n{below}\n").as_bytes()).case;
            let reasons: Vec<&str> = case.deferrals.iter().map(|d| d.reason.as_str()).collect();
            assert_eq!(reasons, ["waiting for the clock of the board"], "{below}");
        }
        let wrapped = "[   11.250020][   T41] platform 1c0000.pcie: deferred probe\n\
                       pending: platform: wait for supplier\n/soc/i2c@10/pmic@8/LDO7\n";
        let case = read_bytes("x", wrapped.as_bytes()).case;
        assert!(case.deferrals[0].reason.ends_with("supplier /soc/i2c@10/pmic@8/LDO7"), "{case:?}");
    }

    #[test]
    fn a_table_with_bars_has_its_domains_and_their_devices() {
        let text = "| Domain | Status | Performance | Device | Runtime status |\n|---|---|---|---|---|\n\
                    | pd_a | on | 0 | /devices/platform/1000.dsp | suspended |\n\
                    | pd_a | on | 0 | /devices/platform/2000.dma | active |\n| pd_b | off-0 | 0 | | |\n";
        let plain = crate::posted::plain(text.as_bytes()).expect("a table");
        let case = read_bytes("x", &plain).case;
        let [dump] = &case.dumps[..] else { panic!("{case:?}") };
        let all: Vec<_> = dump.domains.iter().map(|d| (d.name.as_str(), d.devices.len())).collect();
        assert_eq!(all, [("pd_a", 2), ("pd_b", 0)]);
    }
}
