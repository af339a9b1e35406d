//! Tables in which a person sets figures before a change beside those after it, as mails with
//! patches have them: in two columns, in two rows, in two lines that are alike but for their
//! figures, in a table of runs, or in a sentence.

use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Evidence, Finding, Level};
use crate::message::Message;
use crate::rules::fall::{from_to, is_unsure};
use crate::rules::grid::{self, Figure, Grid, Row, figure};
use crate::sentence;
use dormouse_base::say;

/// The rule that tells of such a table.
pub(crate) const COLUMNS: &str = "before-and-after";

/// Words for what was before, and for what came after.
const BEFORE: [&str; 11] = [
    "before",
    "base",
    "baseline",
    "vanilla",
    "stock",
    "unpatched",
    "without",
    "old",
    "mainline",
    "original",
    "orig",
];
const AFTER: [&str; 6] = ["after", "patched", "with", "new", "fixed", "patch"];

/// So many figures are told.
const MOST: usize = 8;

/// A row has so many letters at most.
const LONGEST: usize = 120;

/// Of what such a table must speak, in its head or in the names of its rows: of sleep, idle
/// states, or power.
const SUBJECTS: [&str; 26] = [
    "suspend",
    "resume",
    "sleep",
    "wake",
    "freez",
    "thaw",
    "idle",
    "power",
    "watt",
    "pkg",
    "latency",
    "residency",
    "above",
    "below",
    "energy",
    "noirq",
    "hibern",
    "s2idle",
    "s0ix",
    "drain",
    "c-state",
    "c10",
    "c6",
    "c1",
    "joule",
    "sync",
];

/// What stands before a sleep and after it is no change.
const PLACES: [&str; 5] = ["suspend", "resume", "sleep", "boot", "reboot"];

/// What a change is called besides.
const ADDED: [&str; 3] = ["series", "patches", "patchset"];

/// What stands beside figures, and is none of a kernel.
const CHANGES: [&str; 9] =
    ["change", "delta", "diff", "difference", "gain", "improvement", "ratio", "speedup", "note"];

/// The governors of the kernel: idle (drivers/cpuidle/governors/*.c), and frequency
/// (drivers/cpufreq/cpufreq_*.c, kernel/sched/cpufreq_schedutil.c, 6.12).
const GOVERNORS: [&str; 9] = [
    "menu",
    "teo",
    "ladder",
    "haltpoll",
    "schedutil",
    "ondemand",
    "conservative",
    "performance",
    "powersave",
];

/// What a column is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A kernel as it was.
    Before,
    /// A kernel with a change.
    After,
    /// A governor, or a release of the kernel.
    Kernel,
    /// How two others differ.
    Change,
    Other,
}

/// What one row compares: a figure a column.
#[derive(Clone, Debug, PartialEq)]
struct Compared {
    name: String,
    figures: Vec<Figure>,
}

/// The columns of a table that a change parts, the one that others are held against first.
#[derive(Clone, Debug, PartialEq)]
struct Table {
    /// Empty where two columns are before and after.
    columns: Vec<String>,
    rows: Vec<Compared>,
}

fn is(word: &str, list: &[&str]) -> bool {
    list.iter().any(|w| word.trim_end_matches(':').eq_ignore_ascii_case(w))
}

/// What the name of a column says; nothing if it names a place in one sleep.
fn kind(name: &str) -> Option<Kind> {
    let parts = |c: char| !(c.is_alphanumeric() || matches!(c, '.' | '-' | '/' | '%'));
    let words: Vec<&str> = name.split(parts).filter(|w| !w.is_empty()).collect();
    let any = |list: &[&str]| words.iter().any(|w| is(w, list));
    let sides = |w: &str| is(w, &BEFORE) || is(w, &AFTER);
    if words.windows(2).any(|w| sides(w[0]) && is(w[1], &PLACES)) {
        return None;
    }
    let release = |w: &&str| {
        let number = w.strip_prefix('v').or_else(|| w.strip_prefix("linux-"));
        number.is_some_and(|n| n.starts_with(|c: char| c.is_ascii_digit()) && n.contains('.'))
    };
    let kernels = any(&GOVERNORS) || words.iter().any(release);
    Some(match () {
        () if words.is_empty() || any(&CHANGES) || words == ["%"] => Kind::Change,
        () if any(&["without", "w/o", "before", "unpatched"]) => Kind::Before,
        () if any(&AFTER) || any(&ADDED) => Kind::After,
        () if any(&BEFORE) => Kind::Before,
        () if kernels => Kind::Kernel,
        () => Kind::Other,
    })
}

/// What the columns of a table compare, if they do.
fn compared(grid: &Grid) -> Option<Table> {
    let kinds: Vec<Kind> = grid.columns.iter().map(|c| kind(c)).collect::<Option<_>>()?;
    let has = |k: Kind| kinds.contains(&k);
    // Governors alone are compared too: one of them is the base, the first.
    let alone = kinds.iter().filter(|k| **k == Kind::Kernel).count() > 1;
    if !alone && !(has(Kind::After) && (has(Kind::Before) || has(Kind::Kernel))) {
        return None;
    }
    let mut taken: Vec<usize> = (0..kinds.len()).collect();
    taken.retain(|i| !matches!(kinds[*i], Kind::Change | Kind::Other));
    // A change is held against what was before it, whatever stands first.
    let rank = |i: &usize| (kinds[*i] != Kind::Before, kinds[*i] == Kind::After);
    taken.sort_by_key(rank);
    let row = |r: &Row| {
        let figures = taken.iter().map(|i| r.figures.get(*i)?.clone());
        Some(Compared { name: r.name.clone(), figures: figures.collect::<Option<_>>()? })
    };
    let rows: Vec<Compared> = grid.rows.iter().filter_map(row).collect();
    let plain = taken.len() == 2 && has(Kind::Before) && has(Kind::After);
    let names = taken.iter().map(|i| grid.columns[*i].clone());
    let columns = if plain { Vec::new() } else { names.collect() };
    (!rows.is_empty()).then_some(Table { columns, rows })
}

/// Two lines that say the same but for one figure, behind labels: `v6.1: "… 0.364 seconds"`.
fn two_lines(a: &str, b: &str) -> Option<Compared> {
    let labelled = |line: &str| {
        let (label, rest) = line.trim().split_once(':')?;
        let short = !label.is_empty() && label.len() <= 24 && !rest.trim().is_empty();
        short.then(|| (label.trim().to_owned(), rest.trim().to_owned()))
    };
    let ((first, a), (second, b)) = (labelled(a)?, labelled(b)?);
    let version = |l: &str| l.trim_start_matches('v').starts_with(|c: char| c.is_ascii_digit());
    let kinds = (is(&first, &BEFORE) || version(&first)) && is(&second, &AFTER);
    let words =
        |line: &str| -> Vec<String> { line.split_whitespace().map(str::to_owned).collect() };
    let (a, b) = (words(&a), words(&b));
    if !kinds || a.len() != b.len() || a.len() < 2 {
        return None;
    }
    let number = |w: &str| figure(w.trim_matches(['(', ')', '"', ',', ';']));
    let mut differ = a.iter().zip(&b).filter(|(x, y)| x != y);
    let (was, is) = differ.next()?;
    if differ.next().is_some() {
        return None;
    }
    let name = a.iter().filter(|w| number(w).is_none() && w.chars().any(char::is_alphabetic));
    let name: Vec<&str> = name.map(|w| w.trim_matches(['"', '(', ')', ','])).collect();
    Some(Compared { name: name.join(" "), figures: vec![number(was)?, number(is)?] })
}

/// The name and the figure of a line whose label ends with a side: `resume time, before: 12 ms`.
fn side<'a>(line: &'a str, sides: &[&str]) -> Option<(&'a str, Figure)> {
    let (label, rest) = line.trim().split_once(':')?;
    let (name, last) = label.trim_end().rsplit_once([' ', '(', '[', ','])?;
    let name = name.trim_end_matches([' ', ',', '-', '(', '[']);
    let letters = name.chars().any(char::is_alphabetic);
    let side = is(last.trim_end_matches([')', ']']), sides);
    (side && letters).then_some((name, figure(rest.trim())?))
}

/// Two lines with one name, the first of what was before and the second of what came after.
fn two_sides(a: &str, b: &str) -> Option<Compared> {
    let ((name, was), (other, is)) = (side(a, &BEFORE)?, side(b, &AFTER)?);
    let same = name.eq_ignore_ascii_case(other) && was.kind == is.kind;
    same.then(|| Compared { name: name.to_owned(), figures: vec![was, is] })
}

/// All such pairs of lines of a text that speak of sleep.
fn sides<'a>(said: &[&'a Message]) -> Option<Found<'a>> {
    let (mut rows, mut shown) = (Vec::new(), Vec::new());
    for pair in said.windows(2) {
        let near = pair[1].line > pair[0].line && pair[1].line - pair[0].line <= 2;
        let row = near.then(|| two_sides(&pair[0].text, &pair[1].text)).flatten();
        if let Some(row) = row.filter(|r| speaks(&r.name)) {
            rows.push(row);
            shown.extend([pair[0], pair[1]]);
        }
    }
    let table = Table { columns: Vec::new(), rows };
    (!shown.is_empty()).then_some(Found {
        table,
        shown,
        caption: None,
        spoken: true,
        medians: false,
    })
}

/// Whether a line has a word of a kernel with a change, a governor, or a release.
fn names_a_side(line: &str) -> bool {
    let parts = |c: char| !(c.is_alphanumeric() || matches!(c, '.' | '-'));
    line.split(parts).any(|w| {
        let release = w.strip_prefix('v').or_else(|| w.strip_prefix("linux-"));
        let release = release.is_some_and(|n| n.starts_with(|c: char| c.is_ascii_digit()));
        release || is(w, &AFTER) || is(w, &ADDED) || is(w, &GOVERNORS)
    })
}

/// The first table of a text that a change parts and that speaks of sleep, and its messages.
fn table<'a>(case: &'a Case, said: &[&'a Message]) -> Option<Found<'a>> {
    // Most lines are of no table, and told so by one look.
    let named: Vec<bool> = said.iter().map(|m| names_a_side(&m.text)).collect();
    (0..said.len()).filter(|i| named[*i..].iter().take(5).any(|n| *n)).find_map(|i| {
        let read = grid::grid(said, i).and_then(|g| {
            let table = compared(&g).or_else(|| compared(&g.turned()?))?;
            Some((table, g.lines.iter().map(|at| said[*at]).collect::<Vec<_>>()))
        });
        let two = || {
            let (a, b) = (said[i], said.get(i + 1)?);
            let near = b.line > a.line && b.line - a.line <= 2;
            let row = near.then(|| two_lines(&a.text, &b.text))??;
            Some((Table { columns: Vec::new(), rows: vec![row] }, vec![a, *b]))
        };
        let (table, shown) = read.or_else(two)?;
        let caption = caption(case, shown[0]).filter(|m| speaks(&m.text));
        let spoken = table.rows.iter().any(|r| speaks(&r.name)) || speaks(&shown[0].text);
        (spoken || caption.is_some()).then_some(Found {
            table,
            shown,
            caption,
            spoken,
            medians: false,
        })
    })
}

/// Columns by which rows of numbers of several runs are told apart.
const RUNS: [&str; 9] =
    ["kernel", "version", "release", "build", "config", "variant", "setup", "patch", "branch"];

/// Fewer rows are no table of runs, and of more the first are read.
const FEWEST: usize = 2;
const RUNS_READ: usize = 10_000;

/// By which column the head of such a table tells runs apart, and which columns are times of a
/// sleep, with their units.
fn runs(names: &[String]) -> Option<(usize, Vec<(usize, &str)>)> {
    let by = names.iter().position(|n| is(n, &RUNS))?;
    let timed = names.iter().enumerate().filter_map(|(i, n)| Some((i, n.rsplit_once('_')?.1)));
    let of: Vec<(usize, &str)> = timed.filter(|(_, unit)| UNITS.contains(unit)).collect();
    of.iter().any(|(i, _)| speaks(&names[*i])).then_some((by, of))
}

/// A table of runs as programs write it, with commas: `kernel,cycle,suspend_ms,resume_ms`. What
/// is compared is the median of each kernel.
fn commas<'a>(said: &[&'a Message]) -> Option<Found<'a>> {
    let cells =
        |m: &Message| -> Vec<String> { m.text.split(',').map(|c| c.trim().to_owned()).collect() };
    let mut next = 0;
    // The rows of a head are no heads, so that each line is split twice at most.
    let mut blocks = std::iter::from_fn(|| {
        let head = said.get(next)?;
        let names = cells(head);
        next += 1;
        let most = runs(&names).map_or(0, |_| RUNS_READ);
        let rows = said[next..].iter().take(most).map(|m| (*m, cells(m)));
        let is_row = |c: &[String]| c.len() == names.len() && runs(c).is_none();
        let rows: Vec<(&Message, Vec<String>)> = rows.take_while(|(_, c)| is_row(c)).collect();
        next += rows.len();
        Some((head, names, rows))
    });
    blocks.find_map(|(head, names, rows)| {
        let (by, of) = runs(&names)?;
        let mut kernels: Vec<String> = Vec::new();
        for (_, c) in &rows {
            if !kernels.contains(&c[by]) && kernels.len() < MOST {
                kernels.push(c[by].clone());
            }
        }
        let row = |&(i, unit): &(usize, &str)| {
            let median = |kernel: &String| {
                let own = rows.iter().filter(|(_, c)| c[by] == *kernel);
                let mut all: Vec<f64> = own.filter_map(|(_, c)| c[i].parse().ok()).collect();
                all.sort_by(f64::total_cmp);
                let middle = (all.get(all.len().checked_sub(1)? / 2)? + all[all.len() / 2]) / 2.0;
                figure(&format!("{middle} {unit}"))
            };
            let figures = kernels.iter().map(median).collect::<Option<Vec<Figure>>>()?;
            let name = names[i].rsplit_once('_').map_or("", |n| n.0).replace('_', " ");
            Some(Compared { name, figures })
        };
        let table = of.iter().map(row).collect::<Option<Vec<_>>>()?;
        if kernels.len() < 2 || rows.len() < FEWEST {
            return None;
        }
        let shown = std::iter::once(*head).chain(rows.iter().map(|r| r.0).take(2)).collect();
        let table = Table { columns: kernels, rows: table };
        Some(Found { table, shown, caption: None, spoken: true, medians: true })
    })
}

/// What the last part of such a name says of its unit.
const UNITS: [&str; 5] = ["ms", "us", "ns", "s", "sec"];

/// Such a sentence of the writer.
fn sentence<'a>(case: &'a Case) -> Option<Found<'a>> {
    let own = |m: &Message| case.quoted.binary_search(&m.line).is_err();
    let (_, m) = sentence::first(case, CLAIM, &own, &|s, _| from_to(s).is_some())?;
    let next = case.messages.iter().find(|n| n.line == m.line + 1).filter(|n| own(n));
    let text = [m.text.trim(), next.map_or("", |n| n.text.trim())].join(" ");
    let (at, row) = text.split(". ").enumerate().find_map(|(i, s)| Some((i, from_to(s)?)))?;
    // A sentence may begin in the line before: "It is not true that".
    let before = case.messages.iter().find(|n| n.line + 1 == m.line).map(|n| n.text.trim_end());
    let begun = before.filter(|b| at == 0 && !b.ends_with(['.', '!', '?', ':']));
    if begun.and_then(|b| b.split(['.', '!', '?']).next_back()).is_some_and(is_unsure) {
        return None;
    }
    let row = Compared { name: row.0, figures: row.1.into() };
    let table = Table { columns: Vec::new(), rows: vec![row] };
    Some(Found { table, shown: vec![m], caption: None, spoken: true, medians: false })
}

/// A table, where it stands, and what stands above it.
struct Found<'a> {
    table: Table,
    shown: Vec<&'a Message>,
    caption: Option<&'a Message>,
    /// Its own words say what it is of.
    spoken: bool,
    /// Each figure is the median of some.
    medians: bool,
}

/// Whether words are of sleep, idle states or power.
fn speaks(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    SUBJECTS.iter().any(|s| lower.contains(s))
}

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let said: Vec<&Message> = case
        .messages
        .iter()
        .filter(|m| !m.trust.is_of_a_kernel() || m.time.is_none())
        .filter(|m| m.text.len() <= LONGEST)
        .collect();
    // The writer's own words come before those that he quotes.
    let (quoted, own): (Vec<&Message>, Vec<&Message>) =
        said.iter().copied().partition(|m| case.quoted.binary_search(&m.line).is_ok());
    let found = sides(&own).or_else(|| table(case, &own));
    let found = found.or_else(|| sides(&quoted)).or_else(|| table(case, &quoted));
    let found = found.or_else(|| commas(&said)).or_else(|| sentence(case));
    let Some(found) = found else { return };
    let Found { table, shown, caption, spoken, medians } = found;
    // What the rows are of stands above them.
    let of = caption
        .filter(|_| !spoken)
        .map_or(String::new(), |m| format!(" (\"{}\")", m.text.trim().trim_end_matches(':')));
    let words: Vec<String> = table.rows.iter().take(MOST).map(told).collect();
    let more = match table.rows.len().saturating_sub(MOST) {
        0 => String::new(),
        n => format!("; {n} more"),
    };
    let sides = match &table.columns[..] {
        [] => format!("sets figures before a change beside those after it{of}"),
        names => format!("sets figures of {} beside each other{of}", say::names(names)),
    };
    let sides = if medians { sides.replace("sets figures", "sets medians") } else { sides };
    let slower = match &table.rows[..] {
        [one] => slower(one),
        _ => "",
    };
    let (against, sentence) = match against(case, &table.rows) {
        Some((words, m)) => (words, Some(m)),
        None => (String::new(), None),
    };
    let shown = caption.into_iter().chain(shown).chain(sentence);
    out.push(
        Finding::new((COLUMNS, Area::Phase, Level::Note), Confidence::Guess)
            .says(format!(
                "The writer {sides}: {}{more}.{slower}{against} How often each was measured decides what that proves.",
                words.join("; ")
            ))
            .look("Record several sleeps of both kernels, then dormouse compare A B.")
            .shown_by(lines(shown).into_iter().map(|e| Evidence { doubtful: true, ..e })),
    );
}

/// What a single row says of a way down or up that takes longer now.
fn slower(row: &Compared) -> &'static str {
    let lower = row.name.to_ascii_lowercase();
    let ways = ["resume", "latency", "freez", "thaw", "noirq", "wake-up", "wakeup"];
    let of_time = row.figures.iter().all(|f| f.kind == "time");
    let rises = by(row.figures.first(), row.figures.last()).is_some_and(|by| by > RISES);
    let is = of_time && rises && ways.iter().any(|w| lower.contains(w));
    if is { " By these figures it is slower." } else { "" }
}

/// Which rows rise by so much of a hundred that a claim about all of them is wrong.
const RISES: f64 = 5.0;

/// What the writer says of all rows, and those that go the other way.
fn against<'a>(case: &'a Case, rows: &[Compared]) -> Option<(String, &'a Message)> {
    // Of a share or a rate nobody says here which way is better.
    let cost = |r: &&Compared| {
        let lower = r.name.to_ascii_lowercase();
        let other = [
            "%",
            "/s",
            "residency",
            "score",
            "fps",
            "iops",
            "c-state",
            "hit",
            "throughput",
            "sample",
            "runs",
            "count",
            "entries",
        ];
        !other.iter().any(|w| lower.contains(w)) && !r.figures.iter().any(|f| f.text.contains('%'))
    };
    let rises = |r: &&Compared| {
        let (was, is) = (r.figures.first(), r.figures.last());
        by(was, is).is_some_and(|by| by > RISES)
    };
    let worse: Vec<String> = rows.iter().filter(cost).filter(rises).map(told).collect();
    if worse.is_empty() {
        return None;
    }
    let own = |m: &Message| case.quoted.binary_search(&m.line).is_err();
    let (claim, m) = sentence::first(case, CLAIM, &own, &|s, _| claims_all(s))?;
    let verb = if worse.len() == 1 { "goes" } else { "go" };
    Some((format!(" Against \"{claim}\" {verb} {}.", worse.join(", ")), m))
}

/// So many bytes of such a sentence are quoted.
const CLAIM: usize = 120;

/// So many words lie between "all" and what all of it is, at most.
const CLOSE: usize = 6;

/// Whether a sentence says that nothing got worse, or all of it better.
fn claims_all(sentence: &str) -> bool {
    let lower = sentence.to_ascii_lowercase();
    let words: Vec<&str> =
        lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty()).collect();
    let any = |list: &[&str]| words.iter().any(|w| list.contains(w));
    let better = ["faster", "shorter", "quicker", "lower", "less", "better", "improve", "improves"];
    let better = |w: &&str| better.contains(w) || ["improved", "reduced", "drop"].contains(w);
    let worse = any(&["slower", "longer", "worse", "regression", "regressions", "regresses"]);
    let most = any(&["not", "most", "nearly", "almost", "mostly", "but", "except", "average"]);
    // "all" is said of what gets better, and stands right before it.
    let at = words.iter().position(|w| ["all", "every", "each", "everything"].contains(w));
    let all = at.is_some_and(|at| words.iter().skip(at).take(CLOSE).any(better));
    let none = any(&["no", "none", "nothing", "never", "neither"]);
    !most && (all || worse && none)
}

/// The line with a colon right above a table.
fn caption<'a>(case: &'a Case, head: &Message) -> Option<&'a Message> {
    let at = case.messages.partition_point(|m| m.line < head.line);
    let above = case.messages[..at].last()?;
    let near = head.line - above.line <= 2 && above.text.len() <= LONGEST;
    (near && above.text.trim_end().ends_with(':')).then_some(above)
}

/// By how much of a hundred a figure differs from another; of two shares nothing is said.
fn by(was: Option<&Figure>, is: Option<&Figure>) -> Option<f64> {
    let (was, is) = (was?, is?);
    let by = (was.value > 0.0 && was.kind == is.kind)
        .then(|| ((is.value - was.value) * 100.0 / was.value).round());
    by.filter(|_| !was.text.ends_with('%'))
}

/// `suspend 312.4 ms -> 300.8 ms (-4 %)`; of more than two columns each against the first.
fn told(r: &Compared) -> String {
    let share = r.name.contains('%');
    let by = |is: &Figure| {
        let by = by(r.figures.first(), Some(is)).filter(|_| !share);
        by.map_or(String::new(), |by| format!(" ({}{by} %)", if by > 0.0 { "+" } else { "" }))
    };
    let mut words = r.name.clone();
    for (i, f) in r.figures.iter().enumerate() {
        words += match (i, r.figures.len()) {
            (0, _) => " ",
            (_, 2) => " -> ",
            _ => ", ",
        };
        words += &f.text;
        if i > 0 {
            words += &by(f);
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Option<String> {
        let mut out = Vec::new();
        judge(&Case::of_prose(text), &mut out);
        out.pop().map(|f| f.sentence)
    }

    #[test]
    fn two_columns_two_rows_and_two_lines_are_read() {
        let columns =
            "        before   after\n PkgWatt   4.21   3.87\n C10 residency  71.4%  78.9%\n";
        let told = said(columns).expect("a table");
        assert!(
            told.contains("PkgWatt 4.21 -> 3.87 (-8 %); C10 residency 71.4% -> 78.9%."),
            "{told}"
        );
        let rows =
            "      suspend  resume\n before  312.4 ms  1012.3 ms\n after   300.8 ms  402.1 ms\n";
        let told = said(rows).expect("a table");
        assert!(
            told.contains("suspend 312.4 ms -> 300.8 ms (-4 %); resume 1012.3 ms -> 402.1 ms"),
            "{told}"
        );
        let two = "  v6.1:    \"Freezing user space (elapsed 0.364 seconds)\" median\n  patched: \"Freezing user space (elapsed 0.012 seconds)\" median\n";
        let told = said(two).expect("two lines");
        assert!(told.contains("0.364 -> 0.012 (-97 %)"), "{told}");
    }

    #[test]
    fn runs_with_commas_and_a_sentence_are_read() {
        let runs = "kernel,run,suspend_ms,resume_ms\n5.4.7,1,300,1000\n5.4.7,2,310,1020\n5.9.2,1,305,2100\n";
        let told = said(runs).expect("a table");
        assert!(
            told.contains("sets medians of 5.4.7 and 5.9.2 beside each other: suspend 305 ms -> 305 ms (0 %); resume 1010 ms -> 2100 ms (+108 %)"),
            "{told}"
        );
        assert_eq!(said("kernel,run,width_ms\n5.4.7,1,300\n5.9.2,1,305\n"), None, "of no sleep");
        assert_eq!(said("kernel,run,resume_ms\n5.4.7,1,300\n5.4.7,2,305\n"), None, "one kernel");
        let words = "With this series the whole resume time drops from 2.5 s to 0.5 s on\nthe elm board, most of it in oak.\n";
        let told = said(words).expect("a sentence");
        assert!(told.contains("whole resume time 2.5 s -> 0.5 s (-80 %)"), "{told}");
        let other = words.replace("resume time", "resume timeout");
        assert_eq!(said(&other), None);
        assert_eq!(said("It went from 2 s to 5 s of music after resume.\n"), None);
    }

    #[test]
    fn a_table_behind_many_heads_that_repeat_is_read() {
        let heads = "version,wake_us\n".repeat(20_000);
        let told = said(&format!("{heads}5.4.7,300\n5.9.2,405\n")).expect("a table");
        assert!(told.contains("medians of 5.4.7 and 5.9.2"), "{told}");
    }

    #[test]
    fn a_sentence_of_what_may_be_or_is_not_so_tells_no_figures() {
        for text in [
            "The resume time of the elm board drops from 2.5 s to 0.5 s.",
            "With this patch, suspend latency goes down from 300 ms to 120 ms.",
            "The time to wake fell from 3 s to 2 s.",
        ] {
            assert!(said(text).is_some(), "{text}");
        }
        for text in [
            "It is untrue that the resume time drops from 2.5 s to 0.5 s.",
            "He says the resume time drops from 2.5 s to 0.5 s, but that is not so.",
            "It does not hold that\nthe resume time drops from 2.5 s to 0.5 s.",
            "The resume time doesn't drop: it should go from 2.5 s to 0.5 s.",
            "I rejected it: the resume time went from 0.5 s to 2.5 s.",
            "If resume fails, the wait time of oak drops from 2.5 s to 0.5 s.",
            "Behind the resume, the poll time of oak drops from 2.5 s to 0.5 s.",
            "Does the resume time drop from 2.5 s to 0.5 s?",
        ] {
            assert_eq!(said(text), None, "{text}");
        }
    }

    #[test]
    fn a_label_ends_with_its_side() {
        let text = "so the time (it\nrefers to T_Elm + T_Oak):\n\nMean resume time of elm, before: ~335ns\nMean resume time of elm, after:  ~3362ns\n";
        let told = said(text).expect("two lines");
        assert!(
            told.contains(": Mean resume time of elm ~335ns -> ~3362ns (+904 %). By these figures it is slower."),
            "{told}"
        );
        assert!(!told.contains("T_Elm"), "{told}");
        let faster = text.replace("3362ns", "33ns");
        assert!(!said(&faster).expect("two lines").contains("slower"));
        assert_eq!(said(&text.replace("of elm, after", "of oak, after").replace("T_", "")), None);
    }

    #[test]
    fn a_caption_says_what_a_table_is_of() {
        let told = said(
            "Mean of 10 cycles, resume of devices:\n\n       before   after\n  mean  2.413 s  0.389 s\n",
        );
        let told = told.expect("a table");
        assert!(
            told.contains(
                "(\"Mean of 10 cycles, resume of devices\"): mean 2.413 s -> 0.389 s (-84 %)"
            ),
            "{told}"
        );
        assert_eq!(
            said("Mean of 10 cycles:\n\n       before   after\n  mean  2.413 s  0.389 s\n"),
            None
        );
    }

    #[test]
    fn a_row_that_goes_against_what_is_said_of_all_is_told() {
        let table = "| Phase | Original | This patch | Change |\n|---|---|---|---|\n| suspend | 212.4 ms | 120.8 ms | -43 % |\n| resume | 21.0 ms | 33.5 ms | +60 % |\n\n";
        let of = |claim: &str| said(&format!("{table}{claim}\n")).expect("a table");
        let told = of("All phases get faster with this.");
        assert!(told.contains("suspend 212.4 ms -> 120.8 ms (-43 %)"), "{told}");
        let against =
            "Against \"All phases get faster with this\" goes resume 21.0 ms -> 33.5 ms (+60 %).";
        assert!(told.contains(against), "{told}");
        for other in
            ["Nearly all phases get faster.", "It reduced what all of the phases cost.", ""]
        {
            assert!(!of(other).contains("Against"), "{other}");
        }
        assert!(of("No phase is slower now.").contains("Against"));
    }

    #[test]
    fn figures_of_two_units_are_held_against_each_other_by_what_they_measure() {
        let of = |is: &str| {
            said(&format!(
                "| hook | resume |\n|---|---|\n| with oak hook | {is} |\n| without | 90 ms |\n"
            ))
        };
        assert!(of("45 s").is_some_and(|t| t.contains("resume 90 ms -> 45 s (+49900 %)")));
        assert!(of("4 W").is_some_and(|t| t.contains("resume 90 ms -> 4 W.")));
    }

    #[test]
    fn governors_beside_each_other_are_held_against_the_first() {
        let told = said(
            "governor     menu    teo (v6.9)   teo + series\n----------\nidle power (mW)   400   500   410\nsleep %   85.7   20.3   84.7\n",
        );
        let told = told.expect("a table");
        assert!(
            told.contains(
                "figures of menu, teo (v6.9) and teo + series beside each other: idle power (mW) 400, 500 (+25 %), 410 (+3 %); sleep % 85.7, 20.3, 84.7."
            ),
            "{told}"
        );
    }

    #[test]
    fn what_compares_nothing_is_no_table() {
        for text in [
            "before and after the sleep\nit was 4 W\n",
            "old new\n\n\nPkgWatt 4 3\n",
            "suspend resume\nfirst 12 ms 13 ms\nsecond 14 ms 15 ms\n",
            "with: 3 of them\nwithout: 4 of those\n",
            "usb 1-1: new high-speed device\nPM: suspend exit\n",
        ] {
            assert_eq!(said(text), None, "{text}");
        }
    }
}
