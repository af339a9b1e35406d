//! `pm_genpd_summary` in every layout: children in a column of the row (to 5.12),
//! whole paths and a performance state (5.13 to 6.9), names, runtime status and
//! who switches (6.10 on), each also wrapped by mail, quoted, or with lines left
//! out. Rows are known by their words, not by their columns: names may be longer
//! than a column, and mail programs eat blanks.

use super::lines::{Line, Lines, cells, number};
use dormouse_power::domain::{Device, Domain, Dump, Runtime, Status};

/// Whether line `at` is the head of a table; a mail program may have wrapped it.
pub(crate) fn is_head(lines: &Lines<'_>, at: usize) -> bool {
    let line = lines.get(at);
    let more = |line: &Line<'_>| {
        // In a table with bars (`posted`) the device is a column of the same row.
        ["children", "slaves", "/device", "  device"].iter().any(|w| line.text.contains(w))
    };
    line.text.starts_with("domain ")
        && line.text.contains(" status")
        && (more(&line) || (at + 1..at + 3).map(|i| lines.get(i)).any(|l| is_more_of_head(&l)))
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
    let parts: Vec<&str> = cells(rest).map(|c| c.1).collect();
    let device = parts.windows(2).find_map(|p| Some((p[0], Runtime::of(p[1])?)));
    if let Some((path, runtime)) = device {
        let path = path.to_string();
        domain.devices.push(Device { line: at, path, runtime, performance: None, hardware: None });
    } else if performance.is_none() && !rest.is_empty() {
        add_children(&mut domain, rest);
    }
    Some(Row::Domain(domain))
}

/// Names with commas between.
fn add_children(domain: &mut Domain, text: &str) {
    let names = text.split(',').map(str::trim).filter(|n| !n.is_empty());
    domain.children.extend(names.map(str::to_string));
}

/// Whether a line is a row beyond doubt, wherever it stands.
fn is_row(line: &Line<'_>) -> bool {
    let sure = cells(&line.text).nth(1).is_some_and(|(_, c)| {
        let word = c.split(' ').next().unwrap_or(c);
        Status::of(word).is_some() || Runtime::of(word).is_some()
    });
    sure && row(line, 0, false).is_some()
}

/// The row in line `at`, and how many lines it takes: a mail program may have put the
/// status into the next.
fn joined(lines: &Lines<'_>, at: usize, quotes: usize, squeezed: bool) -> Option<(Row, usize)> {
    let line = lines.get(at);
    let number = at as u64 + 1;
    if let Some(row) = row(&line, number, squeezed) {
        return Some((row, 1));
    }
    let next = lines.get(at + 1);
    let first = next.text.split_ascii_whitespace().next().unwrap_or("");
    let status = Status::of(first).is_some() || Runtime::of(first).is_some();
    if next.quotes != quotes || !status || line.text.contains("  ") || line.text.contains(',') {
        return None;
    }
    let text = format!("{}  {}", line.text, next.text);
    Some((row(&Line { text: text.into(), ..line }, number, squeezed)?, 2))
}

/// Reads the table whose head is line `from`, or that the command in line `from`
/// printed, and says where it ends. `unread` counts rows that are none.
pub(super) fn read(lines: &Lines<'_>, from: usize, unread: &mut u64) -> Option<(Dump, usize)> {
    let first = lines.get(from);
    let mut dump = Dump { line: from as u64 + 1, ..Dump::default() };
    // Without its head a table is known by the command before it.
    let mut at = from;
    // `grep -A9` ends somewhere.
    let grep = first.text.contains("grep ");
    let squeezed = |i: usize| is_head(lines, i) && !lines.get(i).text.contains("  ");
    let squeezed = (from..from + 2).any(squeezed);
    if is_head(lines, from) {
        at += 1;
    } else {
        // The command and what it printed may stand in a fence each.
        let skipped = |&i: &usize| {
            let line = lines.get(i);
            line.text.is_empty() || line.fence() || line.elided()
        };
        let blank = (from + 1..lines.len()).take(6).take_while(skipped).count();
        at = (from + 1..from + 4 + blank).find(|&i| {
            let line = lines.get(i);
            line.quotes == first.quotes
                && (is_head(lines, i)
                    || matches!(joined(lines, i, first.quotes, false), Some((Row::Domain(_), _))))
        })?;
        dump.cut |= (from + 1..at).any(|i| lines.get(i).elided());
    }
    let mut in_list = false;
    let mut strange = 0;
    while at < lines.len() {
        let line = lines.get(at);
        if line.quotes == first.quotes && line.elided() {
            dump.cut = true;
            if let Some(d) = dump.domains.last_mut() {
                d.cut = true;
            }
            at += 1;
            continue;
        }
        let ends = line.quotes != first.quotes || line.text.is_empty() || line.fence();
        if !ends && (is_more_of_head(&line) || (is_head(lines, at) && dump.domains.is_empty())) {
            at += 1;
            continue;
        }
        if !ends
            && std::mem::take(&mut in_list)
            && let Some(d) = dump.domains.last_mut()
        {
            in_list = line.text.ends_with(',');
            add_children(d, &line.text);
            at += 1;
            continue;
        }
        // The path of a device that a page of the web broke.
        if squeezed && line.text == "/devices/" {
            at += 1;
            continue;
        }
        let found = (!ends).then(|| joined(lines, at, first.quotes, squeezed)).flatten();
        let last = dump.domains.last_mut();
        match found {
            // A table with a row for each device names the domain in each.
            Some((Row::Domain(d), taken))
                if !d.devices.is_empty() && last.as_ref().is_some_and(|l| l.name == d.name) =>
            {
                if let Some(last) = last {
                    last.devices.extend(d.devices);
                }
                at += taken;
                continue;
            }
            Some((Row::Domain(d), taken)) => {
                in_list = line.text.ends_with(',');
                dump.domains.push(d);
                at += taken;
                continue;
            }
            Some((Row::Device(device), taken)) => {
                if let Some(d) = last {
                    d.devices.push(device);
                } else {
                    // The line of its domain is left out.
                    dump.cut = true;
                }
                at += taken;
                continue;
            }
            None => {}
        }
        if let Some(d) = last.filter(|_| !ends) {
            let children = line.indent >= 16 || line.indent >= 8 && line.text.contains(',');
            let damaged = !children && line.indent >= 4 && strange < 20;
            let taken = rest_of_row(d, &line);
            if !taken && children {
                in_list = line.text.ends_with(',');
                add_children(d, &line.text);
            } else if !taken && damaged {
                strange += 1;
                d.cut = true;
            }
            if taken || children || damaged {
                at += 1;
                continue;
            }
        }
        // A line that is neither a row nor the end of the command's output: who knows
        // what the domain had.
        let end = ends || line.prompt() || line.text.contains(['$', '#']);
        let known = |name: &str| dump.domains.iter().any(|d| d.name == name);
        let is_next = |line: &Line<'_>, _: usize| {
            is_row(line)
                && match row(line, 0, false) {
                    Some(Row::Domain(d)) => !known(&d.name),
                    row => row.is_some(),
                }
        };
        // What comes again is of another table.
        let another = |line: &Line<'_>| {
            line.text.starts_with("domain ")
                || line.text.contains("pm_genpd_summary")
                || is_row(line)
                    && matches!(row(line, 0, false), Some(Row::Domain(d)) if known(&d.name))
        };
        let next = lines.resumes(at, first.quotes, is_next, another);
        if let (true, Some(d)) = (!end || next.is_some(), dump.domains.last_mut()) {
            d.cut = true;
        }
        let Some(next) = next else { break };
        at = next;
    }
    if let Some(d) = dump.domains.last_mut().filter(|_| grep) {
        (d.cut, dump.cut) = (true, true);
    }
    // The row of a domain at the very end of the text: lines of its devices may be cut off.
    let last = (at..lines.len()).all(|i| lines.get(i).text.is_empty());
    if let Some(d) = dump.domains.last_mut().filter(|d| last && d.devices.is_empty()) {
        d.cut = true;
    }
    *unread += strange;
    (!dump.domains.is_empty()).then_some((dump, at))
}

/// What a mail program wrapped: the children of a domain, a performance state, or who
/// switches.
fn rest_of_row(domain: &mut Domain, line: &Line<'_>) -> bool {
    let words = line.words();
    // `a, b, c   0`, behind a row of 5.13 to 6.9 that ended with the status.
    if let Some((state, names)) = words.split_last()
        && let Some(state) = number(state)
        && domain.devices.is_empty()
        && domain.performance.is_none()
        && let Some((last, others)) = names.split_last()
        && !last.ends_with(',')
        && others.iter().all(|n| n.ends_with(','))
    {
        add_children(domain, &names.join(" "));
        domain.performance = Some(state);
        return true;
    }
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
