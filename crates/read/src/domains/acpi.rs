//! Files of ACPI devices as `grep` or `ls` shows them: `power_state`,
//! `real_power_state`, `resource_in_use`, `path`, and the folders
//! `power_resources_D0` to `_D3hot` and `_wakeup`.

use super::files::evidence;
use super::lines::{Line, Lines};
use dormouse_power::acpi::{Resource, Table};

/// Names of power resources begin so (ACPI_POWER_HID, include/acpi/acpi_drivers.h).
const RESOURCE: &str = "LNXPOWER:";

/// Folders of resources; a state follows.
const NEEDS: &str = "power_resources_";

/// States that have such a folder, and those that a device can be in.
const STATES: [&str; 6] = ["D0", "D1", "D2", "D3hot", "D3cold", "wakeup"];

/// Whether a line may be such a file.
pub(super) fn is_file(line: &Line<'_>) -> bool {
    line.text.contains(NEEDS) || line.text.contains("power_state") || line.text.contains(RESOURCE)
}

/// The resource that a text begins with, and what follows.
fn resource(text: &str) -> Option<(&str, &str)> {
    let digits = text.strip_prefix(RESOURCE)?;
    let end = digits.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(digits.len());
    (end > 0).then(|| text.split_at(RESOURCE.len() + end))
}

/// The device in whose folder a path ends; that of ACPI is a link of the real one.
fn device(path: &str) -> Option<&str> {
    let path = path.trim_end_matches('/');
    let path = path.strip_suffix("/firmware_node").unwrap_or(path);
    let name = path.rsplit(['/', ' ', '\'', '"']).next()?;
    (!name.is_empty() && name != "*").then_some(name)
}

/// What stands behind a path, or in the next line where a command printed the file.
fn value<'a>(lines: &'a Lines<'_>, at: usize, rest: &'a str) -> Option<String> {
    let told = rest.trim_end_matches("<==").trim_start_matches(':').trim();
    if !told.is_empty() {
        return Some(told.to_string());
    }
    let next = lines.get(at + 1).text;
    (!next.is_empty() && !next.contains('/')).then(|| next.into_owned())
}

fn note<'t>(table: &'t mut Table, name: &str, line: &Line<'_>, at: usize) -> &'t mut Resource {
    table.resources.entry(name.into()).or_insert_with(|| Resource {
        line: at as u64 + 1,
        text: evidence(line, at).text,
        ..Resource::default()
    })
}

/// Takes line `at`, and where it names a folder what `ls` printed of it; where that
/// ends.
pub(super) fn take(lines: &Lines<'_>, line: &Line<'_>, at: usize, table: &mut Table) -> usize {
    let text = &*line.text;
    if let Some((before, rest)) = text.split_once(NEEDS) {
        let word = |c: char| !c.is_ascii_alphanumeric();
        let (state, rest) = rest.split_at(rest.find(word).unwrap_or(rest.len()));
        let Some(name) = device(before).filter(|_| STATES.contains(&state)) else { return at + 1 };
        let need = |table: &mut Table, resource: &str| {
            let needs = &mut table.devices.entry(name.into()).or_default().needs;
            let pair = (state.to_string(), resource.to_string());
            if !needs.contains(&pair) {
                needs.push(pair);
            }
        };
        if let Some((resource, rest)) = resource(rest.trim_start_matches('/')) {
            note(table, resource, line, at);
            need(table, resource);
            file(lines, line, at, resource, rest, table);
            return at + 1;
        }
        // `ls` of the folder: names, or `-l` with an arrow behind each.
        let mut next = at + 1;
        while next < lines.len() {
            let row = lines.get(next);
            let words = row.text.split("->").next().unwrap_or("").split_ascii_whitespace();
            let found: Vec<_> = words.filter_map(resource).map(|(r, _)| r).collect();
            if found.is_empty() && !row.text.starts_with("total ") || row.text.contains(NEEDS) {
                break;
            }
            for r in found {
                note(table, r, &row, next);
                need(table, r);
            }
            next += 1;
        }
        return next;
    }
    // The resource whose own folder this is stands last.
    if let Some((before, rest)) = text.match_indices(RESOURCE).last().map(|(i, _)| text.split_at(i))
        && let Some((resource, rest)) = resource(rest)
    {
        if before.ends_with('/') {
            file(lines, line, at, resource, rest, table);
        }
        return at + 1;
    }
    for (word, real) in [("/real_power_state", true), ("/power_state", false)] {
        let Some((path, rest)) = text.split_once(word) else { continue };
        // PCI has a file of that name too, of another meaning.
        let acpi = ["firmware_node", "/acpi/", "LNXSYSTM"].iter().any(|w| path.contains(w));
        let state = value(lines, at, rest).filter(|v| STATES[..5].contains(&v.as_str()));
        let (Some(name), Some(state), true) = (device(path), state, real || acpi) else { continue };
        let d = table.devices.entry(name.into()).or_default();
        d.line = Some(evidence(line, at));
        *(if real { &mut d.real } else { &mut d.state }) = state;
        break;
    }
    at + 1
}

/// A file of a resource.
fn file(lines: &Lines<'_>, line: &Line<'_>, at: usize, name: &str, rest: &str, table: &mut Table) {
    // A listing of all devices names resources too, and says nothing of them.
    if let Some(rest) = rest.strip_prefix("/resource_in_use") {
        let r = note(table, name, line, at);
        r.in_use = match value(lines, at, rest).as_deref() {
            Some("0") => Some(false),
            Some("1") => Some(true),
            _ => r.in_use,
        };
        (r.line, r.text) = (at as u64 + 1, evidence(line, at).text);
    } else if let Some(path) = rest.strip_prefix("/path").and_then(|r| value(lines, at, r)) {
        note(table, name, line, at).path = path;
    }
}
