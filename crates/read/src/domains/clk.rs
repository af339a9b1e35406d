//! `clk_summary`: two counts (to 4.20), a third for protection, then a column on
//! whether the hardware lets the clock run (5.16 on) and consumers (6.6 on).

use super::lines::{Line, Lines, number};
use dormouse_power::clock::{Clock, Table};

/// Children stand three columns further in (drivers/clk/clk.c:clk_summary_show_one). One
/// less than two is a blank that a row lost on its way.
const STEP: usize = 2;

/// Whether a line is the one of the head that names the column of clocks.
pub(crate) fn is_head(line: &Line<'_>) -> bool {
    line.text.starts_with("clock ")
        && (line.text.contains(" count") || line.text.contains("enable_cnt"))
}

/// Reads the table whose head is line `from`, and says where it ends.
pub(super) fn read(lines: &Lines<'_>, from: usize) -> Option<(Table, usize)> {
    let head = lines.get(from);
    let above = if from > 0 { lines.get(from - 1).text } else { "".into() };
    // Words of the head may be wrapped onto the line above.
    let mut words = format!("{above} {}", head.text);
    let mut at = from + 1;
    while at < lines.len().min(from + 5) {
        let line = lines.get(at);
        at += 1;
        if line.ruled() {
            break;
        }
        words.push_str(&line.text);
    }
    if at > from + 1 && !lines.get(at - 1).ruled() {
        at = from + 1;
        words = format!("{above} {}", head.text);
    }
    let rate_at =
        if words.contains("protect") || head.text.matches("count").count() > 2 { 3 } else { 2 };
    let mut table = Table { line: from as u64 + 1, ..Table::default() };
    // Parents of the row: their indent and place.
    let mut stack: Vec<(usize, usize)> = Vec::new();
    let mut numbers = 0;
    // Numbers of the first row: a name may end with one.
    let mut usual = None;
    while at < lines.len() {
        let line = lines.get(at);
        if line.quotes == head.quotes && line.elided() {
            // Whose child the next row is, only the rows left out would tell.
            stack.clear();
            table.cut = true;
            at += 1;
            continue;
        }
        if line.quotes != head.quotes || line.text.is_empty() || line.fence() {
            if let Some(next) = goes_on(lines, at, head.quotes) {
                stack.clear();
                (table.cut, at) = (true, next);
                continue;
            }
            break;
        }
        at += 1;
        let words = line.words();
        let begin = (1..words.len().saturating_sub(1))
            .find(|&i| number(words[i]).is_some() && number(words[i + 1]).is_some());
        let begin = begin.map(|b| {
            let run = words[b..].iter().take_while(|w| number(w).is_some()).count();
            b + run.saturating_sub(*usual.get_or_insert(run))
        });
        let rest = match begin {
            Some(begin) if number(words[0]).is_none() => {
                while stack.last().is_some_and(|(indent, _)| indent + STEP > line.indent) {
                    stack.pop();
                }
                let parent = stack.last().map(|(_, i)| *i);
                let name = words[..begin].join(" ");
                stack.push((line.indent, table.clocks.len()));
                let enabled = number(words[begin]).unwrap_or(0);
                let prepared = number(words[begin + 1]).unwrap_or(0);
                table.clocks.push(Clock {
                    line: at as u64,
                    name,
                    parent,
                    enabled,
                    prepared,
                    ..Clock::default()
                });
                numbers = 2;
                &words[begin + 2..]
            }
            // A row that a mail program wrapped, or one more consumer.
            _ if !table.clocks.is_empty() && is_rest(&line, &words) => &words[..],
            _ => {
                at -= 1;
                let next = goes_on(lines, at, head.quotes);
                table.cut |= next.is_some() || !line.prompt();
                let Some(next) = next else { break };
                stack.clear();
                at = next;
                continue;
            }
        };
        if let Some(clock) = table.clocks.last_mut() {
            finish(clock, rest, &mut numbers, rate_at);
        }
    }
    // The last row ends before the columns that the others have.
    let has_rate = |c: &Clock| c.rate.is_some();
    table.cut |= table.clocks.iter().any(has_rate) && !table.clocks.last().is_some_and(has_rate);
    (!table.clocks.is_empty()).then_some((table, at))
}

/// Where the table goes on that stopped before line `at`: a name, and the counts and the
/// rate of a clock behind it.
fn goes_on(lines: &Lines<'_>, at: usize, quotes: usize) -> Option<usize> {
    let is_row = |line: &Line<'_>, _: usize| {
        let words = line.words();
        words.len() > 4
            && number(words[0]).is_none()
            && words[1..5].iter().all(|w| number(w).is_some())
    };
    lines.resumes(at, quotes, is_row, is_head)
}

fn is_rest(line: &Line<'_>, words: &[&str]) -> bool {
    number(words[0]).is_some()
        || matches!(words[0], "Y" | "N" | "?")
        || (words.len() <= 2
            && (line.indent >= 12
                || line.text.contains("no_connection_id")
                || line.text.contains("deviceless")))
}

/// The words of a row behind its counts.
fn finish(clock: &mut Clock, words: &[&str], numbers: &mut usize, rate_at: usize) {
    let mut consumer: Option<&str> = None;
    for w in words {
        match (number(w), *w) {
            (Some(n), _) if clock.runs.is_none() && consumer.is_none() => {
                if *numbers == rate_at {
                    clock.rate = Some(n);
                }
                *numbers += 1;
            }
            (_, "Y" | "N" | "?") if clock.runs.is_none() && consumer.is_none() => {
                clock.runs = (*w != "?").then_some(*w == "Y");
            }
            (_, word) => match consumer.take() {
                Some("deviceless") => {}
                Some(device) => {
                    let id = if word == "no_connection_id" { "" } else { word };
                    clock.consumers.push((device.to_string(), id.to_string()));
                }
                None => consumer = Some(word),
            },
        }
    }
}
