//! `pm_genpd_summary` in every layout: children in a column of the row (to 5.12),
//! whole paths and a performance state (5.13 to 6.9), names, runtime status and
//! who switches (6.10 on), each also wrapped by mail, quoted, or with lines left
//! out. Rows are known by their words, not by their columns: names may be longer
//! than a column, and mail programs eat blanks.

use super::lines::{Line, Lines, cells, number};
use dormouse_power::domain::{Device, Domain, Dump, Runtime, Status};

/// Whether a line is the head of a table.
pub fn is_head(line: &Line<'_>) -> bool {
    line.text.starts_with("domain ")
        && line.text.contains(" status")
        && ["children", "slaves", "/device"].iter().any(|w| line.text.contains(w))
}

/// The rest of a head that a mail program wrapped, or its second line.
fn is_more_of_head(line: &Line<'_>) -> bool {
    ["performance", "/device ", "managed by", "runtime status", "children", "slaves"]
        .iter()
        .any(|w| line.text.starts_with(w))
        || line.text == "/device"
        // A mail program may have wrapped the rule as well.
        || line.text.len() > 3 && line.text.bytes().all(|b| b == b'-')
}

enum Row {
    Domain(Domain),
    Device(Device),
}

/// The row that a line is. `squeezed`: a page of the web made one blank of each run, so
/// the children of a domain follow its status.
fn row(line: &Line<'_>, at: u64, squeezed: bool) -> Option<Row> {
    let text = &*line.text;
    // The word that tells stands in a cell of its own; if blanks were eaten, it is
    // the second word.
    let mut words = text.split(' ').filter(|w| !w.is_empty());
    let second = words.next().and_then(|first| {
        let word = words.next()?;
        Some((text[first.len()..].find(word)? + first.len(), word))
    });
    let is_status = |w: &str| Status::of(w).is_some() || Runtime::of(w).is_some();
    let (begin, word) = cells(text).skip(1).find(|(_, c)| is_status(c)).or_else(|| {
        let is_row = |rest: &str| {
            rest.split_ascii_whitespace().all(|w| number(w).is_some() || w == "SW" || w == "HW")
        };
        let is_list = |rest: &str| squeezed && (rest.contains(',') || !rest.trim().contains(' '));
        second.filter(|(at, w)| {
            let rest = &text[at + w.len()..];
            is_status(w) && (is_row(rest) || is_list(rest))
        })
    })?;
    let name = text[..begin].trim_end();
    let rest = text[begin + word.len()..].trim();
    if name.is_empty() {
        return None;
    }
    let performance = rest.split_ascii_whitespace().next().and_then(number);
    if let Some(runtime) = Runtime::of(word) {
        let hardware = match rest.split_ascii_whitespace().last() {
            Some("SW") => Some(false),
            Some("HW") => Some(true),
            _ => None,
        };
        let path = name.to_string();
        return Some(Row::Device(Device { line: at, path, runtime, performance, hardware }));
    }
    let mut domain = Domain {
        line: at,
        text: text.chars().take(160).collect(),
        name: name.to_string(),
        status: Status::of(word)?,
        performance,
        children: Vec::new(),
        devices: Vec::new(),
        cut: false,
    };
    if performance.is_none() && !rest.is_empty() {
        add_children(&mut domain, rest);
    }
    Some(Row::Domain(domain))
}

/// Names with commas between.
fn add_children(domain: &mut Domain, text: &str) {
    let names = text.split(',').map(str::trim).filter(|n| !n.is_empty());
    domain.children.extend(names.map(str::to_string));
}

/// Reads the table whose head is line `from`, or that the command in line `from`
/// printed, and says where it ends. `unread` counts rows that are none.
pub fn read(lines: &Lines<'_>, from: usize, unread: &mut u64) -> Option<(Dump, usize)> {
    let first = lines.get(from);
    let mut dump = Dump { line: from as u64 + 1, ..Dump::default() };
    // Without its head a table is known by the command before it.
    let mut at = from;
    // `grep -A9` ends somewhere.
    let grep = first.text.contains("grep ");
    let squeezed = |i: usize| is_head(&lines.get(i)) && !lines.get(i).text.contains("  ");
    let squeezed = (from..from + 2).any(squeezed);
    if is_head(&first) {
        at += 1;
    } else {
        at = (from + 1..from + 4).find(|&i| {
            let line = lines.get(i);
            line.quotes == first.quotes
                && (is_head(&line) || matches!(row(&line, 0, false), Some(Row::Domain(_))))
        })?;
        dump.cut |= (from + 1..at).any(|i| lines.get(i).elided());
    }
    let mut in_list = false;
    let mut strange = 0;
    while at < lines.len() {
        let line = lines.get(at);
        if line.quotes != first.quotes {
            break;
        }
        at += 1;
        if line.text.is_empty() {
            if dump.domains.is_empty() {
                continue;
            }
            break;
        }
        if line.elided() {
            dump.cut = true;
            if let Some(d) = dump.domains.last_mut() {
                d.cut = true;
            }
            continue;
        }
        if is_more_of_head(&line) || (is_head(&line) && dump.domains.is_empty()) {
            continue;
        }
        let last = dump.domains.last_mut();
        if std::mem::take(&mut in_list)
            && let Some(d) = last
        {
            in_list = line.text.ends_with(',');
            add_children(d, &line.text);
            continue;
        }
        // The path of a device that a page of the web broke.
        if squeezed && line.text == "/devices/" {
            continue;
        }
        match row(&line, at as u64, squeezed) {
            Some(Row::Domain(d)) => {
                in_list = line.text.ends_with(',');
                dump.domains.push(d);
                continue;
            }
            Some(Row::Device(device)) => {
                if let Some(d) = last {
                    d.devices.push(device);
                } else {
                    // The line of its domain is left out.
                    dump.cut = true;
                }
                continue;
            }
            None => {}
        }
        let Some(d) = last else {
            at -= 1;
            break;
        };
        if rest_of_row(d, &line) {
            continue;
        }
        if line.indent >= 16 || (line.indent >= 8 && line.text.contains(',')) {
            in_list = line.text.ends_with(',');
            add_children(d, &line.text);
        } else if line.indent >= 4 && strange < 20 {
            strange += 1;
            d.cut = true;
        } else {
            // A line that is neither a row nor the end of the command's output: who
            // knows what the domain had.
            let ends = ["```", "$", "#", "~~~"].iter().any(|w| line.text.contains(w));
            d.cut |= !ends;
            at -= 1;
            break;
        }
    }
    if let Some(d) = dump.domains.last_mut().filter(|_| grep) {
        (d.cut, dump.cut) = (true, true);
    }
    *unread += strange;
    (!dump.domains.is_empty()).then_some((dump, at))
}

/// What a mail program wrapped: a performance state, or who switches.
fn rest_of_row(domain: &mut Domain, line: &Line<'_>) -> bool {
    let words = line.words();
    let ok = words.iter().all(|w| number(w).is_some() || *w == "SW" || *w == "HW");
    if !ok || words.len() > 2 {
        return false;
    }
    for w in words {
        match (domain.devices.last_mut(), number(w)) {
            (Some(d), Some(n)) => d.performance = d.performance.or(Some(n)),
            (None, Some(n)) => domain.performance = domain.performance.or(Some(n)),
            (Some(d), None) => d.hardware = Some(w == "HW"),
            (None, None) => {}
        }
    }
    true
}
