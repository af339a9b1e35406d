//! Tables of turbostat: a head, a line for the machine, lines for CPUs, again
//! and again. Also what `cpupower monitor` prints, whose shares are the same.

use dormouse_base::loss::{Losses, Severity};
use dormouse_idle::turbostat::{Interval, Row, Run};

/// Columns of which a head has some, beside shares of hardware states.
const KNOWN: [&str; 8] =
    ["Avg_MHz", "Busy%", "Bzy_MHz", "TSC_MHz", "CoreTmp", "PkgTmp", "PkgWatt", "CorWatt"];

fn is_known(word: &str) -> bool {
    KNOWN.contains(&word) || ["CPU%c", "Pkg%pc", "Pk%pc"].iter().any(|p| word.starts_with(p))
}

/// Fewest of them that make a line a head.
const FEWEST: usize = 3;

/// Columns that say which CPU a line is of. Versions before 4 leave them blank in
/// the line of the machine.
const PLACES: [&str; 8] = ["pk", "cor", "CPU", "Package", "Node", "Die", "Core", "APIC"];

/// What versions before 17 call a column, in today's words.
fn today(word: &str) -> &str {
    match word {
        "%c0" | "%Busy" => "Busy%",
        "%c1" => "CPU%c1",
        "%c3" => "CPU%c3",
        "%c6" => "CPU%c6",
        "%c7" => "CPU%c7",
        "%pc2" => "Pkg%pc2",
        "%pc3" => "Pkg%pc3",
        "%pc6" => "Pkg%pc6",
        "%pc7" => "Pkg%pc7",
        "%pc8" => "Pkg%pc8",
        "%pc9" => "Pkg%pc9",
        "%pc10" => "Pk%pc10",
        "Pkg_W" => "PkgWatt",
        "Cor_W" => "CorWatt",
        other => other,
    }
}

/// The words of a head; some versions print two names without a blank between.
fn names(line: &str) -> Vec<&str> {
    let mut out = Vec::new();
    for word in line.split_whitespace() {
        match word.strip_suffix("Pk%pc10").filter(|rest| !rest.is_empty()) {
            Some(rest) => out.extend([rest, "Pk%pc10"]),
            None => out.push(today(word)),
        }
    }
    out
}

/// Names of columns, if a line is a head.
fn head(line: &str) -> Option<Vec<&str>> {
    // A list of columns, as an option has it.
    if line.contains(',') {
        return None;
    }
    let words = names(line);
    let known = words.iter().filter(|w| is_known(w)).count();
    (known >= FEWEST).then_some(words)
}

/// Whether a text has a head with a line of numbers below it.
pub fn is_turbostat(text: &str) -> bool {
    let mut lines = text.lines().map(plain);
    while let Some(line) = lines.next() {
        let Some(mut columns) = head(line) else { continue };
        let mut below = lines.clone();
        let mut next = below.next();
        while let Some(more) = next.and_then(rest_of_head) {
            columns.extend(more);
            next = below.next();
        }
        if next.is_some_and(|l| row(&columns, l).is_some()) {
            return true;
        }
    }
    false
}

/// A line without the marks of a mail that quotes it.
fn plain(line: &str) -> &str {
    line.trim_start_matches(['>', ' '])
}

/// Names of columns that a mail client moved to the line below.
fn rest_of_head(line: &str) -> Option<Vec<&str>> {
    let words = names(line);
    let name = |w: &&str| {
        w.len() > 1 && w.chars().any(|c| c.is_ascii_alphabetic()) && !w.starts_with("0x")
    };
    // A sentence ends with a full stop and has small words.
    let table = words.iter().any(|w| w.ends_with('%') || w.contains('%') || w.ends_with("Watt"));
    (!words.is_empty() && table && words.iter().all(name)).then_some(words)
}

/// A decimal number in thousandths.
fn thousandths(word: &str) -> Option<i64> {
    if let Some(rest) = word.strip_prefix('-') {
        return thousandths(rest).map(|n| -n);
    }
    let (whole, part) = word.split_once('.').unwrap_or((word, ""));
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(part) {
        return None;
    }
    let part: i64 = format!("{part:0<3}").get(..3)?.parse().ok()?;
    whole.parse::<i64>().ok()?.checked_mul(1_000)?.checked_add(part)
}

/// One line: values by column, and whether it is of the whole machine. Later
/// threads of a core and later cores of a package end early.
fn row(columns: &[&str], line: &str) -> Option<(Row, bool)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    if words.is_empty() || words.len() > columns.len() {
        return None;
    }
    let mut out = Row::new();
    let mut dashes = 0;
    // Blank places: the line of the machine in old versions.
    let places = columns.iter().take_while(|c| PLACES.contains(c)).count();
    let blank = places > 0 && words.len() + places == columns.len() && columns.contains(&"GHz");
    if blank {
        dashes = 1;
    }
    let columns = if blank { &columns[places..] } else { columns };
    for (column, word) in columns.iter().zip(&words) {
        match thousandths(word) {
            Some(n) => {
                out.insert((*column).to_owned(), n);
            }
            None if *word == "-" => dashes += 1,
            // A register that the caller added.
            None if word.starts_with("0x") => {}
            // A counter that could not be read.
            None if word.bytes().all(|b| b == b'*') || word.ends_with("nan") => {}
            None => return None,
        }
    }
    // A line of dashes says nothing.
    let names_cpu = blank || columns.contains(&"CPU");
    (!out.is_empty()).then_some((out, if names_cpu { dashes > 0 } else { true }))
}

/// Most that shares of one CPU can add up to, thousandths of a per cent: counters
/// are not read at one instant.
const WHOLE: i64 = 105_000;

/// Shares of hardware states that exceed the whole: columns are misplaced.
fn is_impossible(row: &Row) -> bool {
    let shares = row.iter().filter(|(c, _)| c.starts_with("CPU%c") || c.as_str() == "Busy%");
    let package = row.iter().filter(|(c, _)| c.starts_with("Pkg%pc") || c.starts_with("Pk%pc"));
    let sum = |shares: &mut dyn Iterator<Item = (&String, &i64)>| -> i64 {
        shares.fold(0, |a, s| a.saturating_add(*s.1))
    };
    sum(&mut { shares }) > WHOLE || sum(&mut { package }) > WHOLE
}

/// A line with a value in every column.
fn full(columns: &[&str], line: &str) -> bool {
    line.split_whitespace().count() == columns.len() && row(columns, line).is_some()
}

/// What stands between two heads.
#[derive(Clone, Copy, Debug, Default)]
struct Block {
    /// Intervals before it.
    begin: usize,
    /// A column names the CPU.
    places: bool,
    /// A line ended early, as those of later threads and cores do.
    short: bool,
}

impl Block {
    /// Without a column that names CPUs, lines are those of the machine and of its
    /// CPUs if one ended early; else each is an interval of its own.
    fn end(&mut self, run: Option<&mut Run>) {
        let Some(run) = run.filter(|_| !self.places && self.short) else { return };
        self.short = false;
        if self.begin < run.intervals.len() {
            let cpus = run.intervals.split_off(self.begin + 1);
            run.intervals[self.begin].cpus.extend(cpus.into_iter().map(|i| i.machine));
        }
    }
}

/// Reads the tables of a text as one run; a head with other columns begins
/// another.
pub fn read(name: &str, text: &str, out: &mut Vec<Run>, losses: &mut Losses) {
    let first = out.len();
    let mut columns: Vec<&str> = Vec::new();
    let (mut unread, mut at) = (0, None);
    let mut impossible = 0;
    let mut headless = false;
    let mut inside = false;
    let mut wrapped = false;
    let mut block = Block::default();
    let mut lines = text.lines().map(plain).enumerate().peekable();
    while let Some((i, line)) = lines.next() {
        if let Some(mut found) = head(line) {
            block.end(out.last_mut());
            wrapped = false;
            while let Some(more) = lines.peek().and_then(|l| rest_of_head(l.1)) {
                found.extend(more);
                wrapped = true;
                lines.next();
            }
            if out.len() == first || columns != found {
                let columns = found.iter().map(|c| (*c).to_owned()).collect();
                out.push(Run { label: name.to_owned(), columns, intervals: Vec::new() });
            }
            columns = found;
            inside = true;
            block = Block { begin: out.last().map_or(0, |r| r.intervals.len()), ..block };
            block.places = columns.contains(&"CPU");
            continue;
        }
        // A message of the kernel may stand between the lines of a table.
        if !inside {
            let whole = !wrapped && !columns.is_empty() && full(&columns, line);
            if !whole {
                continue;
            }
            inside = true;
        }
        let Some(run) = out.last_mut() else { continue };
        let mut whole = line.to_owned();
        // The line of the machine has every column, so its pieces can be joined;
        // those of CPUs may end early, so theirs cannot.
        while wrapped
            && row(&columns, &whole).is_some()
            && whole.split_whitespace().count() < columns.len()
            && let Some((_, more)) = lines.next_if(|l| !l.1.trim().is_empty())
        {
            whole = format!("{whole} {more}");
        }
        match row(&columns, &whole) {
            Some((row, machine)) if is_impossible(&row) => {
                impossible += 1;
                headless |= machine;
            }
            // What belongs to a line of the machine that was left out.
            Some((_, false)) if headless => impossible += 1,
            Some((machine, true)) => {
                headless = false;
                block.short |= whole.split_whitespace().count() < columns.len();
                run.intervals.push(Interval { machine, cpus: Vec::new() });
                inside = !wrapped;
            }
            Some((cpu, false)) => match run.intervals.last_mut() {
                Some(interval) => interval.cpus.push(cpu),
                // One CPU has no line for the machine.
                None => run.intervals.push(Interval { machine: cpu.clone(), cpus: vec![cpu] }),
            },
            None => {
                inside = false;
                // Text after a table is no damage; numbers that do not fit are.
                if line.split_whitespace().take(3).filter(|w| thousandths(w).is_some()).count() == 3
                {
                    unread += 1;
                    at.get_or_insert(i as u64 + 1);
                }
            }
        }
    }
    block.end(out.last_mut());
    let mut i = 0;
    out.retain(|r| {
        i += 1;
        i <= first || !r.intervals.is_empty()
    });
    let advice = "lines of a turbostat table that do not fit its head (wrapped by a mail client?): \
                  the table is read up to there";
    let misplaced = "lines of a turbostat table whose shares exceed the whole (columns misplaced?): they \
                     are left out";
    losses.add("impossible_line", impossible, Severity::Warning, misplaced, None);
    losses.add("unread_line", unread, Severity::Warning, advice, at);
}

/// Whether a text has a table of `cpupower monitor`.
pub fn is_monitor(text: &str) -> bool {
    text.lines().any(|l| monitor_head(plain(l)).is_some())
}

/// Cells of a line with groups: `0| 1|| 2`.
fn cells(line: &str) -> Vec<&str> {
    line.split('|').map(str::trim).filter(|c| !c.is_empty()).collect()
}

/// Columns of `PKG|CORE| CPU| C3 || C0 | Cx | Freq || POLL | C1`, in turbostat's
/// words: the first names are the hardware's, those of the last group the kernel's.
fn monitor_head(line: &str) -> Option<Vec<String>> {
    let names = cells(line);
    let at = names.iter().position(|n| *n == "CPU")?;
    if !line.contains("||") || at > 2 {
        return None;
    }
    let groups: Vec<&str> = line.split("||").collect();
    let kernel = cells(groups.last()?);
    let hardware = names.len() - kernel.len();
    let one = |(i, n): (usize, &&str)| match *n {
        _ if i <= at => (*n).to_owned(),
        _ if i >= hardware => format!("{n}%"),
        "C0" => "Busy%".into(),
        "Freq" => "Bzy_MHz".into(),
        n if n.starts_with("PC") => format!("Pkg%pc{}", &n[2..]),
        n if n.starts_with('C') && n != "Cx" => format!("CPU%{}", n.to_lowercase()),
        n => n.to_owned(),
    };
    Some(names.iter().enumerate().map(one).collect())
}

/// Reads such tables; the line of the machine is the mean of its CPUs.
pub fn monitor(name: &str, text: &str, out: &mut Vec<Run>, losses: &mut Losses) {
    let mut columns: Vec<String> = Vec::new();
    let mut cpus: Vec<Row> = Vec::new();
    let mut unread = 0;
    let mut keep = |columns: &[String], cpus: &mut Vec<Row>| {
        if cpus.is_empty() {
            return;
        }
        let n = cpus.len() as i64;
        let mean = |c: &String| {
            let sum: i64 = cpus.iter().filter_map(|r| r.get(c)).sum();
            (c.clone(), sum / n)
        };
        let machine = columns.iter().map(mean).collect();
        let interval = Interval { machine, cpus: std::mem::take(cpus) };
        match out.last_mut().filter(|r| r.label == name && r.columns == columns) {
            Some(run) => run.intervals.push(interval),
            None => out.push(Run {
                label: name.to_owned(),
                columns: columns.to_vec(),
                intervals: vec![interval],
            }),
        }
    };
    for line in text.lines().map(plain) {
        if let Some(found) = monitor_head(line) {
            keep(&columns, &mut cpus);
            columns = found;
            continue;
        }
        let values = cells(line);
        if !line.contains('|') {
            // What follows is no line of this table.
            keep(&columns, &mut cpus);
            columns.clear();
            continue;
        }
        if columns.is_empty() || line.contains("*is offline") {
            continue;
        }
        let row: Option<Row> = (values.len() == columns.len())
            .then(|| columns.iter().cloned().zip(&values).map(|(c, v)| Some((c, thousandths(v)?))))
            .and_then(Iterator::collect);
        match row {
            Some(row) => cpus.push(row),
            None => unread += 1,
        }
    }
    keep(&columns, &mut cpus);
    let advice = "lines of a cpupower monitor table that do not fit its head: they are left out";
    losses.add("unread_line", unread, Severity::Warning, advice, None);
}
