//! Small files of debugfs and sysfs, as people show them: after the command that
//! printed them, or as `grep` does.

use super::lines::{Line, Lines, number};
use super::said::is_bus;
use crate::text::has_date;
use dormouse_base::time::Ns;
use dormouse_power::Evidence;
use dormouse_power::deferral::{Deferral, Need, Source};
use dormouse_power::link::{Link, Synced, Wait};
use dormouse_power::state::{State, Table};

/// A line as evidence, with blanks for tabs.
pub(super) fn evidence(line: &Line<'_>, at: usize) -> Evidence {
    let text = line.text.chars().take(400).map(|c| if c == '\t' { ' ' } else { c }).collect();
    Evidence { line: at as u64 + 1, time: None, text, doubtful: false }
}

/// Whether a line prints `file`: `cat …/file`, `==> …/file <==`, `…/file:`.
pub(super) fn prints(line: &Line<'_>, file: &str) -> bool {
    let Some((before, after)) = line.text.split_once(file) else { return false };
    let by = ["cat ", "more ", "less ", "head ", "tail ", "==", "# ", "$ "];
    let after = after.trim();
    (by.iter().any(|b| before.contains(b)) || (after == ":" && before.starts_with('/')))
        && (after.is_empty() || after.starts_with([':', '<', '=', '|', ';', '\'', '"']))
}

/// Words that stand where devices do in scripts that print the file.
const SCRIPT: [&str; 14] = [
    "fi", "done", "else", "esac", "end", "then", "do", "exit", "logout", "EOF", "echo", "cat",
    "printf", "sudo",
];

/// `DEV<tab>DRIVER: reason`, or the device alone.
fn deferred(line: &Line<'_>, at: usize) -> Option<Deferral> {
    let text = &*line.text;
    let (device, rest) = match text.split_once(['\t', ' ']) {
        Some((d, r)) => (d, r.trim()),
        None => (text, ""),
    };
    let (driver, reason) = match rest.split_once(": ") {
        Some((driver, reason)) if !driver.contains(' ') => (driver, reason),
        None if rest.is_empty() => ("", ""),
        _ => return None,
    };
    let odd = |c: char| {
        c.is_whitespace() || matches!(c, '#' | '$' | '[' | ']' | '"' | '?' | '>' | '`' | '~')
    };
    if SCRIPT.contains(&device)
        || line.elided()
        || device.is_empty()
        || device.contains(odd)
        || device.ends_with([':', ',', ';'])
    {
        return None;
    }
    Some(Deferral {
        device: device.to_string(),
        driver: driver.to_string(),
        reason: reason.to_string(),
        source: Source::Listed,
        times: 1,
        evidence: evidence(line, at),
    })
}

/// Whether a line says that a list of deferred devices follows: a caption of a person or
/// a script (`Deferred devices:`).
pub(super) fn captions(lines: &Lines<'_>, line: &Line<'_>, at: usize) -> bool {
    let words = line.text.to_ascii_lowercase();
    words.trim_end_matches(['*', '=', ' ']).ends_with(':')
        && words.contains("deferred")
        && ["device", "probe", "list"].iter().any(|w| words.contains(w))
        && (at + 1..at + 4).any(|i| lines.get(i).quotes == line.quotes && is_row(&lines.get(i), i))
}

/// Whether a name is of a form that only devices have: `fe8c0000.phy`, `4-0068`, `spi0.1`,
/// `0000:01:00.0`.
fn is_address(name: &str) -> bool {
    let hex = |t: &str, least: usize| t.len() >= least && t.bytes().all(|b| b.is_ascii_hexdigit());
    let digits = |t: &str| !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit());
    let platform = name
        .split_once('.')
        .is_some_and(|(a, rest)| hex(a, 3) && rest.starts_with(|c: char| c.is_ascii_alphabetic()));
    let i2c = name.split_once('-').is_some_and(|(bus, a)| digits(bus) && hex(a, 4));
    let spi = name.strip_prefix("spi").and_then(|r| r.split_once('.'));
    let pci = name.len() == 12 && name.as_bytes()[4] == b':' && name.as_bytes()[7] == b':';
    platform || i2c || pci || spi.is_some_and(|(bus, cs)| digits(bus) && digits(cs))
}

/// A row beyond doubt, wherever it stands: a device with what its driver or the core said,
/// or the bare name of one that only devices have.
fn is_row(line: &Line<'_>, at: usize) -> bool {
    deferred(line, at).is_some_and(|d| {
        is_address(&d.device)
            || !d.driver.is_empty()
                && !d.reason.is_empty()
                && !is_address(&d.driver)
                && (d.need().is_some() || line.text.contains(['\t']) || line.text.contains("  "))
    })
}

/// Reasons of the core that cannot end so: a mail program put the rest into the next line.
fn is_torn(reason: &str) -> bool {
    ["supplier", "wait for", "wait", " not"].iter().any(|w| reason.ends_with(w))
        || reason.starts_with("supplier ") && !reason.ends_with("not ready")
}

/// The rest of a reason is no longer; prose is.
const SHORT: usize = 40;

/// The row in line `at` with what a mail program put into the line after it, and how many
/// lines that are.
fn joined(lines: &Lines<'_>, at: usize, quotes: usize) -> Option<(Deferral, usize)> {
    let line = lines.get(at);
    let next = lines.get(at + 1);
    let next_is_rest = next.quotes == quotes
        && !next.text.is_empty()
        && !next.prompt()
        && !next.fence()
        && !next.elided();
    let whole = |n| {
        let text = format!("{} {}", line.text, next.text);
        deferred(&Line { text: text.into(), ..line.clone() }, at).map(|d| (d, n))
    };
    match deferred(&line, at) {
        // The driver and its colon alone: the reason is in the next line.
        None if line.text.ends_with(':') && next_is_rest => whole(2),
        None => None,
        // A reason of a driver that was too long for one more word.
        Some(d)
            if next_is_rest
                && !d.reason.is_empty()
                && next.text.len() <= SHORT
                && deferred(&next, at + 1).is_none()
                && lines.goes_on(at as u64 + 2, false) =>
        {
            whole(2).or(Some((d, 1)))
        }
        Some(d) if is_torn(&d.reason) && next_is_rest && !is_row(&next, at + 1) => {
            whole(2).filter(|(d, _)| d.need().is_some_and(|n| n != Need::Lost)).or(Some((d, 1)))
        }
        Some(d) => Some((d, 1)),
    }
}

/// `devices_deferred` after the command or caption in line `from`; where it ends.
pub(super) fn list(lines: &Lines<'_>, from: usize, out: &mut Vec<Deferral>) -> usize {
    let quotes = lines.get(from).quotes;
    let mut at = from + 1;
    // Whether tabs, or the blanks that a program made of them, stand behind the names.
    let mut columns = false;
    loop {
        let line = lines.get(at);
        if line.text.starts_with("[sudo]") {
            at += 1;
            continue;
        }
        let wide = line.text.contains('\t') || line.text.contains("  ");
        let fits = |d: &Deferral| {
            // One blank is left of a tab behind seven letters.
            let one = d.driver.is_empty() || d.device.len() % 8 == 7;
            !is_bus(&d.device)
                && !is_address(&d.driver)
                && (wide || one || !columns || is_address(&d.device))
        };
        let row = joined(lines, at, quotes).filter(|(d, _)| line.quotes == quotes && fits(d));
        match row {
            Some((d, taken)) => {
                columns |= wide;
                out.push(d);
                at += taken;
            }
            None => match lines.resumes(at, quotes, is_row, |_| false) {
                // A row that does not fit this list ends it.
                Some(next) if next > at => at = next,
                _ => return at,
            },
        }
    }
}

/// Whether the command in a line printed nothing: another prompt follows at once. What is cut
/// off, refused or left out is not empty.
pub(super) fn is_empty(lines: &Lines<'_>, at: usize) -> bool {
    let (line, next) = (lines.get(at), lines.get(at + 1));
    let waits = matches!(&*next.text, "#" | "$");
    line.prompt() && line.quotes == next.quotes && (waits || next.prompt())
}

/// Whether a line is a row of such a file without a command: a tab stands between
/// the device and what a driver or bus said.
pub(crate) fn is_listed(lines: &Lines<'_>, at: usize) -> bool {
    let raw = lines.raw(at);
    let Some(tab) = raw.iter().position(|&b| b == b'\t').filter(|&t| t > 0) else { return false };
    !raw[..tab].contains(&b' ')
        && !raw[tab + 1..].starts_with(b"\t")
        && deferred(&lines.get(at), at).is_some_and(|d| d.need().is_some())
}

/// A row that a script of a test farm prints into its log: `… DEFERRED: DEV<tab>REASON`.
pub(super) fn marked(line: &Line<'_>, at: usize) -> Option<Deferral> {
    let (_, row) = line.text.split_once("DEFERRED: ")?;
    deferred(&Line { text: row.into(), ..line.clone() }, at)
}

/// The whole text is such a file: every line has its form, a tab between a name and its reason
/// (drivers/base/dd.c:deferred_devs_show, 6.12) or what a program made of that.
pub(crate) fn whole_list(lines: &Lines<'_>) -> bool {
    let mut tabs = 0;
    for at in 0..lines.len() {
        let line = lines.get(at);
        if line.text.is_empty() {
            continue;
        }
        let Some(row) = deferred(&line, at).filter(|_| line.indent == 0) else { return false };
        let wide = line.text.contains('\t') || line.text.contains("  ");
        // One blank is left of a tab behind seven letters, and no stamp stands before a row.
        let dated = has_date(lines.raw(at));
        if !wide && !row.reason.is_empty() && (dated || row.device.len() % 8 != 7) {
            return false;
        }
        tabs += usize::from(lines.raw(at).contains(&b'\t'));
    }
    tabs > 0
}

/// The row of such a file in line `at`.
pub(crate) fn list_row(lines: &Lines<'_>, at: usize, out: &mut Vec<Deferral>) {
    let line = lines.get(at);
    out.extend(deferred(&line, at).filter(|_| !line.text.is_empty()));
}

/// Whether a line lists a folder: `ls /sys/…/folder`.
pub(crate) fn prints_folder(line: &Line<'_>, folder: &str) -> bool {
    let Some((before, after)) = line.text.split_once(folder) else { return false };
    (before.contains("ls ") || before.starts_with('/'))
        && matches!(after.trim(), "" | "/" | ":" | "/:")
}

/// `255 supplier X not ready`: lines that a person counted.
pub(super) fn counted(line: &Line<'_>, at: usize) -> Option<Deferral> {
    let (count, rest) = line.text.split_once(' ')?;
    let rest = rest.trim_start();
    let told = rest.starts_with("supplier ") && rest.ends_with(" not ready");
    if !told && !rest.starts_with("wait for supplier ") {
        return None;
    }
    Some(Deferral {
        device: String::new(),
        driver: String::new(),
        reason: rest.to_string(),
        source: Source::Counted,
        times: number(count)?,
        evidence: evidence(line, at),
    })
}

/// Whether a line is the head of `idle_states`.
pub(crate) fn is_states_head(line: &Line<'_>) -> bool {
    line.text.starts_with("State ")
        && line.text.contains(" Usage")
        && line.text.contains(" Rejected")
        && !line.text.contains("Latency")
}

/// The domain in whose folder a path ends.
fn domain_of(line: &Line<'_>) -> Option<String> {
    let (_, rest) = line.text.split_once("pm_genpd/")?;
    let (domain, _) = rest.split_once('/')?;
    Some(domain.to_string())
}

/// Reads `idle_states` whose head is line `from`, and says where it ends.
pub(super) fn states(lines: &Lines<'_>, from: usize) -> Option<(Table, usize)> {
    let head = lines.get(from);
    let more = head.text.contains("Above");
    let mut table =
        Table { line: from as u64 + 1, text: head.text.to_string(), ..Table::default() };
    table.domain = (from.saturating_sub(2)..from)
        .rev()
        .find_map(|i| domain_of(&lines.get(i)))
        .unwrap_or_default();
    let mut at = from + 1;
    while at < lines.len() {
        let line = lines.get(at);
        let words = line.words();
        let name = words.first().copied().unwrap_or("");
        let is_state = name.strip_prefix('S').is_some_and(|n| number(n).is_some());
        if !is_state || line.quotes != head.quotes {
            break;
        }
        let value = |i: usize| words.get(i).and_then(|w| number(w));
        table.states.push(State {
            ms: value(1).unwrap_or(0),
            usage: value(2).unwrap_or(0),
            rejected: value(3).unwrap_or(0),
            above: value(4).filter(|_| more),
            below: value(5).filter(|_| more),
        });
        at += 1;
    }
    (!table.states.is_empty()).then_some((table, at))
}

/// Reads `idle_states_desc` whose head is line `from`, and says where it ends: state, off
/// and on together in us, residency, name (drivers/pmdomain/core.c:idle_states_desc_show,
/// 7.3).
pub(super) fn described(lines: &Lines<'_>, from: usize, tables: &mut Vec<Table>) -> usize {
    let head = lines.get(from);
    let domain = (from.saturating_sub(2)..from).rev().find_map(|i| domain_of(&lines.get(i)));
    let mut latencies = Vec::new();
    while let Some(us) = Some(lines.get(from + 1 + latencies.len()))
        .filter(|l| l.quotes == head.quotes && l.text.starts_with('S'))
        .and_then(|l| l.words().get(1).and_then(|w| number(w)))
    {
        latencies.push(Ns(i64::try_from(us.saturating_mul(1_000)).unwrap_or(i64::MAX)));
    }
    let end = from + 1 + latencies.len();
    if let (Some(domain), false) = (domain, latencies.is_empty()) {
        table_of(domain, &head, from, tables).latencies = latencies;
    }
    end
}

/// The table of `domain`, made if it is new.
fn table_of<'t>(
    domain: String,
    line: &Line<'_>,
    at: usize,
    tables: &'t mut Vec<Table>,
) -> &'t mut Table {
    let found = tables.iter().rposition(|t| t.domain == domain);
    let place = found.unwrap_or_else(|| {
        let (line, text) = (at as u64 + 1, line.text.to_string());
        tables.push(Table { line, text, domain, ..Table::default() });
        tables.len() - 1
    });
    &mut tables[place]
}

/// `active_time` or `total_idle_time` of a domain: `N ms` behind the path or in the
/// next line.
pub(super) fn time(lines: &Lines<'_>, at: usize, file: &str, tables: &mut Vec<Table>) {
    let line = lines.get(at);
    let Some(domain) = domain_of(&line) else { return };
    let behind = line.text.split_once(file).map_or("", |(_, r)| r).trim_start_matches(':').trim();
    let next = lines.get(at + 1);
    let text = if behind.is_empty() { next.text.trim() } else { behind };
    let Some(ms) = text.strip_suffix(" ms").and_then(number) else { return };
    let table = table_of(domain, &line, at, tables);
    if file == "active_time" {
        table.active_ms = Some(ms);
    } else {
        table.idle_ms = Some(ms);
    }
}

/// Links of a line: a path below `devlink/`, with `/status:` or
/// `/sync_state_only:` and its value behind.
pub(super) fn links(line: &Line<'_>, at: usize, out: &mut Vec<Link>) {
    let Some((_, rest)) = line.text.rsplit_once("devlink/") else { return };
    let end = rest.find(|c: char| c == '/' || c.is_whitespace()).unwrap_or(rest.len());
    let Some(link) = Link::of(at as u64 + 1, &rest[..end]) else { return };
    let file = rest[end..].split_once(':');
    // Values of one link stand together.
    let same = |l: &&mut Link| l.supplier == link.supplier && l.consumer == link.consumer;
    let old = out.last_mut().filter(same).is_some();
    if !old {
        out.push(link);
    }
    if let (Some((file, value)), Some(l)) = (file, out.last_mut()) {
        match file {
            "/status" => l.status = value.trim().to_string(),
            "/sync_state_only" => l.sync_state_only = Some(value.trim() == "1"),
            _ => {}
        }
    }
}

/// What `ls /sys/class/devlink` in line `from` printed; where it ends.
pub(super) fn listing(lines: &Lines<'_>, from: usize, out: &mut Vec<Link>) -> usize {
    let mut at = from + 1;
    while at < lines.len() {
        let line = lines.get(at);
        let names = line.text.split_ascii_whitespace();
        let found: Vec<Link> = names.filter_map(|n| Link::of(at as u64 + 1, n)).collect();
        // `ls -l` begins with a sum, and names each folder twice.
        if found.is_empty() && !line.text.starts_with("total ") {
            break;
        }
        out.extend(found.into_iter().take_while(|_| !line.text.contains("devlink/")));
        links(&line, at, out);
        at += 1;
    }
    at
}

/// The device and the value of one of its attributes of 0 or 1, behind the path or in
/// the next line.
fn flag(lines: &Lines<'_>, at: usize, file: &str) -> Option<(String, bool, Evidence)> {
    let line = lines.get(at);
    let (path, rest) = line.text.split_once(file)?;
    let rest = rest.trim_end_matches("<==").trim_start_matches(':').trim();
    let next = lines.get(at + 1);
    let value = if rest.is_empty() { next.text.trim() } else { rest };
    let value = match value {
        "0" => false,
        "1" => true,
        _ => return None,
    };
    let device = path.rsplit('/').next()?.to_string();
    Some((device, value, evidence(&line, at)))
}

/// `waiting_for_supplier` of a device.
pub(super) fn waiting(lines: &Lines<'_>, at: usize) -> Option<Wait> {
    let (device, waits, evidence) = flag(lines, at, "/waiting_for_supplier")?;
    Some(Wait { device, waits, evidence })
}

/// `state_synced` of a device.
pub(crate) fn synced(lines: &Lines<'_>, at: usize) -> Option<Synced> {
    let (device, synced, evidence) = flag(lines, at, "/state_synced")?;
    Some(Synced { device, synced, evidence })
}
