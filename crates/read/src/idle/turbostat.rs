//! Tables of turbostat: a head, a line for the machine, lines for CPUs, again
//! and again.
//!
//! Mail clients break heads and lines, at the same column or not. A head goes on while
//! lines are names of columns; a line goes on where what follows can stand in the
//! columns that are left and cannot begin a line. Tables with words, a command or
//! another caption between them are measurements of their own.

use super::between::{Between, between, host, joined, plain, quotes};
use super::column::{Cell, Kind, PLACES, cells, fits, head, kind, rest_of_head};
use crate::grams::Asked;
use crate::setting::Settings;
use dormouse_base::loss::{Losses, Severity};
use dormouse_idle::turbostat::{Interval, Row, Run};

/// Most that shares of one CPU can add up to, thousandths of a per cent: counters
/// are not read at one instant.
const WHOLE: i64 = 105_000;

/// Whether a text has a head with a line of numbers below it.
pub(crate) fn is_turbostat(text: &str, asked: &Asked<'_>) -> bool {
    if !asked.has_any(&["%", "MHz", "Watt"]) {
        return false;
    }
    let mut lines = text.lines().map(plain);
    while let Some(line) = lines.next() {
        let Some(mut columns) = head(line) else { continue };
        let mut below = lines.clone();
        let mut next = below.next();
        while let Some(more) = next.and_then(|l| rest_of_head(&columns, l)) {
            columns.extend(more);
            next = below.next();
        }
        let blank = next.is_some_and(|l| l.trim().is_empty());
        let next = if blank { below.next() } else { next };
        if next.and_then(cells).is_some() {
            return true;
        }
    }
    false
}

/// A head.
#[derive(Default)]
struct Head<'a> {
    columns: Vec<&'a str>,
    /// Names on its first line, and cells on that of the line below it, if a mail client
    /// broke them.
    broken: [Option<usize>; 2],
    /// Columns that name the CPU of a line.
    places: usize,
    /// Lines are told apart by a column with the number of the CPU.
    cpus: bool,
}

impl<'a> Head<'a> {
    fn new(columns: Vec<&'a str>, broken: [Option<usize>; 2]) -> Head<'a> {
        let places = columns.iter().filter(|c| PLACES.contains(c)).count();
        let cpus = columns.contains(&"CPU");
        Head { columns, broken, places, cpus }
    }

    /// Old versions leave the places of the machine's line blank.
    fn is_blank(&self, cells: &[Cell]) -> bool {
        self.places > 0
            && cells.len() + self.places == self.columns.len()
            && self.columns.contains(&"GHz")
    }

    /// Whether a line of `cells` is complete, or the one below goes on with it.
    fn goes_on(&self, cells: &[Cell], next: &str, first: bool) -> bool {
        let Some(more) = super::column::cells(next) else { return false };
        let n = cells.len();
        if n >= self.columns.len()
            || self.is_blank(cells)
            || !fits(&self.columns[n..], &more, false)
        {
            return false;
        }
        let alone = fits(&self.columns, &more, true)
            && (!self.cpus || more.len() >= self.places)
            && self.columns.iter().zip(&more).all(|(c, m)| *m != Cell::Dash || PLACES.contains(c));
        if !alone && fits(&self.columns[n..], &more, true) {
            return true;
        }
        // The line of the machine has every column.
        let machine = if self.cpus { cells.contains(&Cell::Dash) } else { first };
        machine || self.broken.contains(&Some(n))
    }
}

/// One text as it is read.
struct Reading<'a> {
    name: &'a str,
    head: Head<'a>,
    /// Where the table of this head began.
    begin: usize,
    /// A line ended early, as those of later threads and cores do.
    short: bool,
    /// The line above says how long a command ran (`10.931644 sec`): what follows is one
    /// measurement (turbostat.c:fork_it).
    timed: bool,
    /// The table below is one measurement.
    single: bool,
    /// The last line belongs to a table.
    inside: bool,
    /// Words, a command or another caption since the last line of a table.
    apart: bool,
    caption: Option<String>,
    /// What was set by then.
    settings: Settings,
    /// The machine of the last prompt.
    host: Option<String>,
    /// Marks of a mail before the head.
    quotes: usize,
    /// The line of the machine was left out, so its CPUs are too.
    headless: bool,
    impossible: u64,
    unread: u64,
    unread_at: Option<u64>,
}

/// What a line says of its columns.
struct Line {
    row: Row,
    /// Of the whole machine.
    machine: bool,
    /// Columns whose figure cannot be, though the line is whole.
    cannot: Vec<(String, i64)>,
}

impl Reading<'_> {
    /// Without a column that names CPUs, lines are those of the machine and of its CPUs if one
    /// ended early, if they are of one measurement, or if all of them have the same package
    /// counters; else each is an interval of its own.
    fn end_block(&mut self, run: Option<&mut Run>) {
        let of_one = std::mem::take(&mut self.short) | std::mem::take(&mut self.single);
        let Some(run) = run.filter(|_| !self.head.cpus) else { return };
        let block = run.intervals.get(self.begin..).unwrap_or_default();
        if self.begin < run.intervals.len() && (of_one || is_one_package(block)) {
            let cpus = run.intervals.split_off(self.begin + 1);
            run.intervals[self.begin].cpus.extend(cpus.into_iter().map(|i| i.machine));
        }
    }

    fn begin_run(&mut self, out: &mut Vec<Run>) {
        out.push(Run {
            label: self.name.to_owned(),
            caption: self.caption.take(),
            host: self.host.clone(),
            quotes: self.quotes,
            columns: self.head.columns.iter().map(|c| (*c).to_owned()).collect(),
            ..Run::default()
        });
        self.apart = false;
    }

    fn line(&self, cells: &[Cell]) -> Option<Line> {
        let head = &self.head;
        let blank = head.is_blank(cells);
        let columns = &head.columns[if blank { head.places } else { 0 }..];
        if !fits(columns, cells, false) {
            return None;
        }
        let mut row = Row::new();
        let mut cannot = Vec::new();
        for (column, cell) in columns.iter().zip(cells) {
            let Cell::Number(n, _) = *cell else { continue };
            let share = kind(column) == Kind::Share && *column != "Totl%C0";
            if share && n > WHOLE && cells.len() == head.columns.len() {
                cannot.push(((*column).to_owned(), n));
            } else {
                row.insert((*column).to_owned(), n);
            }
        }
        let machine = blank || cells.contains(&Cell::Dash) || !head.cpus;
        (!row.is_empty()).then_some(Line { row, machine, cannot })
    }

    /// Takes a line of numbers into the last run.
    fn take(&mut self, cells: &[Cell], at: u64, out: &mut Vec<Run>) {
        let line = self.line(cells).filter(|l| !self.head.cpus || l.row.len() > self.head.places);
        let Some(line) = line else {
            self.lost(cells.len(), at, out);
            return;
        };
        self.inside = true;
        if self.apart && !self.is_next_cpu(cells, out) {
            // The same columns, measured anew.
            self.end_block(out.last_mut());
            self.begin_run(out);
            self.begin = 0;
        }
        (self.apart, self.caption) = (false, None);
        let Some(run) = out.last_mut() else { return };
        // One figure that cannot be is a counter's, several are columns that moved.
        let moved = is_impossible(&line.row) || line.cannot.len() > 1;
        if moved || !line.machine && self.headless {
            self.impossible += 1;
            run.lost += 1;
            self.headless |= line.machine;
            return;
        }
        for (column, n) in line.cannot {
            let most = run.cannot.entry(column).or_insert(n);
            *most = n.max(*most);
        }
        if line.machine {
            self.headless = false;
            self.short |= cells.len() < self.head.columns.len() && !self.head.is_blank(cells);
            run.intervals.push(Interval { machine: line.row, cpus: Vec::new() });
            return;
        }
        match run.intervals.last_mut() {
            Some(interval) => interval.cpus.push(line.row),
            // One CPU has no line for the machine; of several that stand alone the means are
            // made where the table ends.
            None => run.intervals.push(Interval { machine: Row::new(), cpus: vec![line.row] }),
        }
    }

    /// Whether a line is of a CPU behind those of the last interval: a reply in the
    /// middle of a table does not end it.
    fn is_next_cpu(&self, cells: &[Cell], out: &[Run]) -> bool {
        if cells.len() < 3 || !fits(&self.head.columns, cells, true) {
            return false;
        }
        let Some(line) = self.line(cells).filter(|l| !l.machine) else { return false };
        let last = out.last().and_then(|r| r.intervals.last()).and_then(|i| i.cpus.last());
        let place = |r: &Row| ["Package", "Core", "CPU"].map(|c| r.get(c).copied());
        last.is_none_or(|last| place(&line.row) > place(last))
    }

    fn lost(&mut self, cells: usize, at: u64, out: &mut [Run]) {
        // A number alone is a sentence's.
        if cells < 3 {
            self.inside = false;
            return;
        }
        self.unread += 1;
        self.unread_at.get_or_insert(at);
        if let Some(run) = out.last_mut() {
            run.lost += 1;
        }
    }
}

/// Whether a line begins as a row, and a message of the kernel stands where its cells go on: a
/// console that both wrote to.
fn is_torn(line: &str) -> bool {
    let Some((head, _)) = line.split_once('[').filter(|(_, rest)| rest.contains("] ")) else {
        return false;
    };
    let number = |w: &str| w == "-" || w.parse::<f64>().is_ok();
    head.split_whitespace().count() >= 2 && head.split_whitespace().all(number)
}

/// What lines of CPUs say of their machine: means of shares and clocks, sums of counts, and
/// of what only a core's or package's first line has, that.
fn of_cpus(columns: &[String], cpus: &[Row]) -> Row {
    let mut out = Row::new();
    for c in columns.iter().filter(|c| !PLACES.contains(&c.as_str())) {
        let all: Vec<i128> = cpus.iter().filter_map(|r| r.get(c)).map(|n| i128::from(*n)).collect();
        let (sum, n) = (all.iter().sum::<i128>(), all.len() as i128);
        let package = ["Pkg", "Pk%", "RAM", "GFX"].iter().any(|p| c.starts_with(p));
        let value = match kind(c) {
            _ if n == 0 => continue,
            _ if package => all[0],
            Kind::Count if !c.ends_with("MHz") && !c.ends_with("Tmp") => sum,
            _ => (2 * sum + n).div_euclid(2 * n),
        };
        out.insert(c.clone(), i64::try_from(value).unwrap_or(i64::MAX));
    }
    out
}

/// Whether lines have the same counters of a package, some of them no 0: those are of one moment.
fn is_one_package(block: &[Interval]) -> bool {
    let counters = |i: &Interval| -> Vec<i64> {
        let of =
            |c: &str| ["Pkg%pc", "Pk%pc", "SYS%LPI", "CPU%LPI"].iter().any(|p| c.starts_with(p));
        i.machine.iter().filter(|(c, _)| of(c)).map(|c| *c.1).collect()
    };
    let Some(first) = block.first().map(counters) else { return false };
    let told = first.iter().filter(|n| **n != 0).count() > 1;
    block.len() > 1 && told && block.iter().all(|i| counters(i) == first)
}

/// Shares of hardware states that exceed the whole: columns are misplaced.
fn is_impossible(row: &Row) -> bool {
    let shares = row.iter().filter(|(c, _)| c.starts_with("CPU%c") || c.as_str() == "Busy%");
    let package = row.iter().filter(|(c, _)| c.starts_with("Pkg%pc") || c.starts_with("Pk%pc"));
    let sum = |shares: &mut dyn Iterator<Item = (&String, &i64)>| -> i64 {
        shares.fold(0, |a, s| a.saturating_add(*s.1))
    };
    sum(&mut { shares }) > WHOLE || sum(&mut { package }) > WHOLE
}

/// How much of a package stands in the line of a CPU: all of it in that of its first, the core's
/// in that of the core's first, and of a further thread its own (turbostat.c:format_counters).
fn levels(cpus: &[Row]) -> Vec<u8> {
    let place = |r: &Row, c: &str| r.get(c).copied();
    let level = |at: usize| {
        let same = |c| at > 0 && place(&cpus[at], c) == place(&cpus[at - 1], c);
        match (same("Package"), same("Core")) {
            (true, true) => 0,
            (true, false) => 1,
            (false, _) => 2,
        }
    };
    (0..cpus.len()).map(level).collect()
}

/// Takes lines of CPUs out that break off: they have no more than half of the cells that others
/// have of which as much is known, or less. How many they were.
fn broken_off(run: &mut Run) -> u64 {
    let mut lost = 0;
    let rows = |run: &Run| -> Vec<(u8, usize)> {
        let of = |cpus: &[Row]| levels(cpus).into_iter().zip(cpus.iter().map(Row::len)).collect();
        run.intervals.iter().flat_map(|i| -> Vec<(u8, usize)> { of(&i.cpus) }).collect()
    };
    let all = rows(run);
    let short = |at: usize, (level, len): (u8, usize)| {
        let others = all.iter().enumerate().filter(|o| o.0 != at && o.1.0 <= level);
        let mut others: Vec<usize> = others.map(|o| o.1.1).collect();
        others.sort_unstable();
        others.get(others.len() / 2).is_some_and(|median| len * 2 <= *median)
    };
    let mut gone: Vec<bool> = all.iter().enumerate().map(|(at, row)| short(at, *row)).collect();
    gone.reverse();
    for interval in &mut run.intervals {
        interval.cpus.retain(|_| {
            let is = gone.pop().unwrap_or(false);
            lost += u64::from(is);
            !is
        });
    }
    run.lost += lost;
    lost
}

/// Reads the tables of a text, each measurement as a run.
pub(super) fn read(name: &str, text: &str, out: &mut Vec<Run>, losses: &mut Losses) {
    let first = out.len();
    let mut r = Reading {
        name,
        head: Head::default(),
        begin: 0,
        short: false,
        timed: false,
        single: false,
        inside: false,
        apart: false,
        caption: None,
        settings: Settings::default(),
        host: None,
        quotes: 0,
        headless: false,
        impossible: 0,
        unread: 0,
        unread_at: None,
    };
    let mut marks = text.lines().map(quotes);
    let mut lines = (1..).zip(text.lines().map(plain)).peekable();
    let mut passed = 0;
    while let Some((at, line)) = lines.next() {
        if let Some(name) = host(line) {
            r.host = Some(name.to_owned());
        }
        if let Some(mut columns) = head(line) {
            r.quotes = marks.nth(at as usize - 1 - passed).unwrap_or(0);
            passed = at as usize;
            r.end_block(out.last_mut());
            let mut broken = None;
            while let Some(more) = lines.peek().and_then(|l| rest_of_head(&columns, l.1)) {
                broken.get_or_insert(columns.len());
                columns.extend(more);
                lines.next();
            }
            let same = out.len() > first && !r.apart && columns == r.head.columns;
            r.head = Head::new(columns, [broken, None]);
            if !same {
                r.begin_run(out);
            }
            r.begin = out.last().map_or(0, |r| r.intervals.len());
            r.single = std::mem::take(&mut r.timed);
            (r.inside, r.headless, r.caption) = (true, false, None);
            continue;
        }
        if r.head.columns.is_empty() {
            r.note(line, out);
            continue;
        }
        let Some(mut row) = cells(line) else {
            match r.inside && is_torn(line) {
                true => r.lost(usize::MAX, at, out),
                false => r.note(line, out),
            }
            continue;
        };
        r.timed = false;
        let first = out.last().is_some_and(|run| run.intervals.len() == r.begin);
        while let Some((_, next)) = lines.next_if(|l| r.head.goes_on(&row, l.1, first)) {
            if first {
                r.head.broken[1].get_or_insert(row.len());
            }
            row.extend(cells(next).unwrap_or_default());
        }
        // After words only a whole line is sure to be of a table.
        let whole = row.len() == r.head.columns.len();
        let goes_on = r.head.cpus && (!r.apart || r.is_next_cpu(&row, out));
        if r.inside || whole || goes_on {
            r.take(&row, at, out);
        } else if row.len() >= 3 {
            r.lost(row.len(), at, out);
        }
    }
    r.end_block(out.last_mut());
    for run in out.iter_mut().skip(first) {
        if run.columns.iter().any(|c| c == "CPU") {
            r.unread += broken_off(run);
        }
        for i in run.intervals.iter_mut().filter(|i| i.machine.is_empty()) {
            i.machine = of_cpus(&run.columns, &i.cpus);
        }
    }
    let mut i = 0;
    out.retain(|r| {
        i += 1;
        i <= first || !r.intervals.is_empty()
    });
    for run in &out[first.min(out.len())..] {
        for (column, most) in &run.cannot {
            let advice = format!(
                "{column} says {}.{:02} %, which no share of time can be: such cells are left out of this table",
                most / 1_000,
                most % 1_000 / 10
            );
            losses.add("impossible_column", 1, Severity::Warning, advice, None);
        }
    }
    let misplaced = "lines of a turbostat table whose shares exceed the whole (columns misplaced?): they \
                     are left out";
    losses.add("impossible_line", r.impossible, Severity::Warning, misplaced, None);
    let advice = "lines of a turbostat table that do not fit its head (glued or moved cells?): they are \
                  left out";
    losses.add("unread_line", r.unread, Severity::Warning, advice, r.unread_at);
}

impl Reading<'_> {
    /// A line that is none of a table.
    fn note(&mut self, line: &str, out: &mut [Run]) {
        if self.settings.line(line) {
            (self.inside, self.apart, self.caption) = (false, true, self.settings.words());
            return;
        }
        let blank = line.trim().is_empty();
        self.timed = crate::night::interval(line).is_some() || self.timed && blank;
        match between(line) {
            Between::Nothing => {}
            Between::Message => self.inside = false,
            Between::Gap => {
                if let Some(run) = out.last_mut() {
                    run.cut = true;
                }
            }
            Between::Apart(caption) => {
                (self.inside, self.apart) = (false, true);
                let above = self.caption.take();
                let both = above.as_deref().and_then(|c| joined(c, line));
                self.caption = both.or(caption).or(above);
            }
        }
    }
}
