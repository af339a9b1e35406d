//! Several cycles: what they have in common, and which stand out.

use super::page::{Ink, Page, WIDTH};
use super::safe::{fit_end, left, right, safe};
use super::silent;
use crate::wording::common::{half_of, key, order, outlier};
use crate::wording::number::{self, ms};
use crate::wording::{self, bottleneck, losses, next, plural, trust};
use crate::{Explained, Selection};
use dormouse_base::capture::Capture;
use dormouse_base::cycle::{Began, Outcome};
use dormouse_base::loss::Severity;
use dormouse_base::phase::Direction;
use dormouse_base::time::Ns;
use dormouse_doctor::waits::Wait;
use dormouse_sleep::analyse::answer::{HELPS, Known};
use dormouse_sleep::analyse::spread::{DeviceSpread, Group, PERCENTILES_FROM, Spread, groups};
use dormouse_sleep::analyse::{CycleView, per_mille};

/// A list of so many cycles or fewer is shown whole.
const ALL_CYCLES: usize = 10;

/// Of more, so many of the slowest.
const SLOWEST: usize = 5;

/// All cycles: groups that may be compared, then one line a cycle.
pub(super) fn show(
    page: &mut Page,
    all: &[Explained],
    cycles: &[(usize, &Explained, usize)],
    selection: &Selection,
    warnings: usize,
) {
    let captures: Vec<&Capture> = all.iter().map(|e| &*e.capture).collect();
    let pairs: Vec<(&Capture, &[CycleView])> =
        all.iter().map(|e| (&*e.capture, e.views.as_slice())).collect();
    let mut groups = groups(&pairs);
    groups.sort_by_key(|g| std::cmp::Reverse(g.cycles.len()));
    let silent = captures.iter().all(|c| c.cycles.iter().all(|c| c.callbacks.is_empty()));
    let waits = longest_waits(cycles);
    let shown = || cycles.iter().map(|(_, e, i)| (&e.capture.cycles[*i], &e.views[*i]));
    let mut named = !waits.is_empty();
    if silent {
        let mut found: Vec<_> = all.iter().flat_map(|e| &e.findings).collect();
        dormouse_doctor::sorted(&mut found);
        let longest = all.iter().filter_map(Explained::longest_end).max();
        let found = dormouse_doctor::answer(found, !waits.is_empty(), longest);
        named |= found.is_some();
        silent::show(page, &captures, found, &waits, shown());
    }
    if groups.is_empty() {
        alone(page, cycles, silent);
        if let Some(c) = told(cycles).and_then(|(_, e, i)| trust::caution_of(&e.capture, *i)) {
            page.wrapped(Ink::Hot, 0, 2, &safe(&c));
        }
    }
    for (n, g) in groups.iter().enumerate() {
        if n > 0 {
            page.blank();
        }
        answer(page, all, g, trust::caution_in(captures_of(all, g)));
    }
    let all_cycles = cycles.iter().map(|(_, e, i)| (&*e.capture, &e.capture.cycles[*i]));
    let failed = trust::not_resumed(all_cycles);
    if let Some(text) = &failed {
        page.wrapped(Ink::Hot, 0, 2, &safe(text));
    }
    let mut found = all.iter().flat_map(|e| &e.findings);
    let wrong = found.any(dormouse_doctor::is_wrong);
    let warnings = trust::count_of_warnings(warnings, wrong || failed.is_some());
    page.wrapped(Ink::Plain, 0, 0, &format!("{}. {warnings}", plural(cycles.len(), "cycle")));
    if let Some(text) = trust::unit_of_log(&captures) {
        page.wrapped(Ink::Plain, 0, 2, &text);
    }
    for g in &groups {
        group(page, all, g, selection, groups.len() > 1);
    }
    silent::waits(page, &waits, selection.top);
    list(page, cycles, selection, groups.is_empty());
    if silent {
        silent::advice(page, &captures, named, shown());
    }
}

/// The longest wait for each device on each way, over all cycles.
fn longest_waits(cycles: &[(usize, &Explained, usize)]) -> Vec<Wait> {
    let mut all: Vec<&Wait> = cycles.iter().flat_map(|(_, e, i)| e.waits_of(*i)).collect();
    all.sort_by_key(|w| std::cmp::Reverse(w.time));
    let mut seen = std::collections::HashSet::new();
    all.retain(|w| seen.insert((&w.device.name, w.direction)));
    all.into_iter().cloned().collect()
}

/// The cycles of a group, by capture.
fn captures_of<'a>(all: &'a [Explained], g: &Group<'_>) -> Vec<(&'a Capture, Vec<usize>)> {
    let mut out: Vec<(&Capture, Vec<usize>)> = Vec::new();
    let mut last = None;
    let mut list: Vec<_> = g.first.iter().chain(&g.cycles).collect();
    list.sort_unstable();
    for &(k, i) in list {
        if last != Some(k) {
            out.push((&all[k as usize].capture, Vec::new()));
            last = Some(k);
        }
        out.last_mut().expect("pushed above").1.push(i as usize);
    }
    out
}

/// What was wrong with every input, worst first: of several inputs with the name of each,
/// and of several cycles with those that it is of.
pub(super) fn warnings(all: &[Explained]) -> Vec<String> {
    let several = all.iter().filter(|e| !is_empty(e)).count() > 1;
    let mut list: Vec<((bool, Severity), String)> = Vec::new();
    let mut before = 0;
    for e in all {
        let c = &e.capture;
        for l in trust::warnings(&[c]) {
            let text = losses::warning(&l, &[c], None);
            let file = trust::file_of(c);
            let of = trust::cycles_of(l.kind, c).and_then(|list| numbers(&list, before));
            let text = match (several && !file.is_empty(), of) {
                (true, Some(of)) => format!("{file}, {of}: {text}"),
                (true, None) => format!("{file}: {text}"),
                (false, Some(of)) => format!("C{}: {text}", &of[1..]),
                (false, None) => text,
            };
            if list.iter().all(|known| known.1 != text) {
                list.push(((losses::touches_the_answer(&l), l.severity), text));
            }
        }
        before += e.views.len();
    }
    list.sort_by_key(|l| std::cmp::Reverse(l.0));
    list.into_iter().map(|l| l.1).collect()
}

fn is_empty(e: &Explained) -> bool {
    e.capture.cycles.is_empty() && e.capture.ranked.is_empty()
}

/// `cycle 3`, `cycles 1 to 3`, `cycles 2 and 5`; nothing for many that are no range.
fn numbers(list: &[usize], before: usize) -> Option<String> {
    let n = |i: &usize| (before + i + 1).to_string();
    let (first, last) = (list.first()?, list.last()?);
    Some(match list.len() {
        1 => format!("cycle {}", n(first)),
        len if len > 2 && last - first + 1 == len => format!("cycles {} to {}", n(first), n(last)),
        2 | 3 => format!("cycles {}", number::names(&list.iter().map(n).collect::<Vec<_>>())),
        _ => return None,
    })
}

/// No two cycles may be compared: the answer is that of the one with the
/// largest saving.
fn alone(page: &mut Page, cycles: &[(usize, &Explained, usize)], silent: bool) {
    let Some((n, e, i)) = told(cycles) else { return };
    let (cycle, view) = (&e.capture.cycles[*i], &e.views[*i]);
    if cycles.iter().all(|(_, e, i)| e.views[*i].rows.total == Ns::ZERO) {
        let is = |when: fn(&Began) -> bool| {
            cycles.iter().any(|(_, e, i)| when(&e.capture.cycles[*i].when))
        };
        let why = match () {
            () if is(|w| *w == Began::Stamped) => "no line tells of a phase",
            // A clock is there, and what lies between two lines is left out.
            () if is(|w| *w != Began::Unsaid) => "the lines carry no times finer than a second",
            () => "the lines carry no times",
        };
        let text = format!("{} found, none can be timed: {why}.", plural(cycles.len(), "cycle"));
        page.wrapped(Ink::Strong, 0, 2, &text);
    } else if let Some(h) = view.answer.halves().next().filter(|_| !silent) {
        let open = bottleneck::Open { cycle, known: h.known };
        let [first, rest] = bottleneck::half(&e.capture, cycle.mode, view, h, open);
        page.wrapped(Ink::Strong, 0, 2, &safe(&format!("Cycle {n}: {first}")));
        page.wrapped(Ink::Plain, 2, 2, &safe(&rest));
    }
}

/// The cycle that the first line tells of, where none may be compared.
fn told<'a, 'e>(
    cycles: &'a [(usize, &'e Explained, usize)],
) -> Option<&'a (usize, &'e Explained, usize)> {
    let worth = |c: &&(usize, &Explained, usize)| {
        let answer = &c.1.views[c.2].answer;
        // Where a machine hung is worth more than any saving.
        let hung = answer.halves().any(|h| matches!(h.known, Known::Not { .. }));
        (hung, answer.halves().next().map(|h| (h.saving(), h.total)))
    };
    cycles.iter().max_by_key(|c| (worth(c), std::cmp::Reverse(c.0)))
}

/// The first lines of a group.
fn answer(page: &mut Page, all: &[Explained], g: &Group<'_>, mut caution: Option<String>) {
    let kernel = if g.kernel.is_empty() { "kernel unknown" } else { g.kernel };
    for direction in order(g) {
        page.wrapped(Ink::Strong, 0, 2, &safe(&half_of(g, direction, guessed(all, g))));
        if let Some(c) = caution.take() {
            page.wrapped(Ink::Hot, 0, 2, &safe(&c));
        }
    }
    let first = match g.first.len() {
        0 => String::new(),
        n => format!(" ({n} left out: first after boot)"),
    };
    let text = format!(
        "{}{first}{}, kernel {}, {}{}.",
        match g.cycles.len() {
            1 => "One cycle".into(),
            n => format!("Median of {}", plural(n, "cycle")),
        },
        [of_log(all, g), file_of(all, g)]
            .into_iter()
            .flatten()
            .map(|l| format!(" of {l}"))
            .collect::<String>(),
        safe(kernel.trim_start_matches("kernel ")),
        trust::state(g.mode),
        guest(all).map_or(String::new(), |g| format!(", in {g}"))
    );
    page.wrapped(Ink::Plain, 0, 2, &text);
    jumps(page, all, g);
}

/// `log 2, which begins at 2024-09-20 20:39:41`, where a source holds several.
fn of_log(all: &[Explained], g: &Group<'_>) -> Option<String> {
    let &(k, i) = g.first.first().or(g.cycles.first())?;
    let capture = &all[k as usize].capture;
    let source = capture.cycles[i as usize].source;
    let mut of_source = capture.cycles.iter().filter(|c| c.source == source);
    if of_source.clone().all(|c| c.log == 0) {
        return None;
    }
    let first = of_source.find(|c| c.log == g.log)?;
    let when = trust::began(capture, first);
    let when = if when.is_empty() { when } else { format!(" (first cycle {when})") };
    Some(format!("log {}{when}", g.log + 1))
}

/// The file of a group, where others are of another.
fn file_of(all: &[Explained], g: &Group<'_>) -> Option<String> {
    let mut files: Vec<String> = all.iter().filter(|e| !is_empty(e)).map(of_file).collect();
    files.dedup();
    let mut own = g.cycles.iter().map(|c| c.0);
    let first = own.next()?;
    (files.len() > 1 && own.all(|k| k == first)).then(|| of_file(&all[first as usize]))
}

fn of_file(e: &Explained) -> String {
    trust::file_of(&e.capture)
}

/// The emulator that all of them ran in.
fn guest(all: &[Explained]) -> Option<&'static str> {
    let first = all.first()?.capture.guest()?;
    all.iter().all(|e| e.capture.guest() == Some(first)).then_some(first)
}

/// Whether order and gaps are guessed in any of a group.
fn guessed(all: &[Explained], g: &Group<'_>) -> bool {
    let lost = |(c, cycles): (&Capture, Vec<usize>)| {
        trust::warnings_in(c, &cycles).iter().any(|l| losses::is_of_time(l.kind))
    };
    captures_of(all, g).into_iter().any(lost)
}

/// Cycles of a test level whose clock jumped.
fn jumps(page: &mut Page, all: &[Explained], g: &Group<'_>) {
    let mut jumped: Vec<(usize, Ns)> = g
        .first
        .iter()
        .chain(&g.cycles)
        .map(|c| (number(all, *c), all[c.0 as usize].views[c.1 as usize].rows.clock_jump))
        .filter(|j| j.1 > Ns::ZERO)
        .collect();
    jumped.sort_unstable();
    if jumped.is_empty() {
        return;
    }
    let list = |f: &dyn Fn(&(usize, Ns)) -> String| {
        let list = jumped.iter().take(SLOWEST).map(f).collect::<Vec<_>>();
        if list.len() == 2 { list.join(" and ") } else { list.join(", ") }
    };
    let more = if jumped.len() > SLOWEST { " and more" } else { "" };
    let s = if jumped.len() == 1 { "" } else { "s" };
    let text = format!(
        "In cycle{s} {}{more} the RTC moved the clock by {} ms, which is not counted.",
        list(&|j| j.0.to_string()),
        list(&|j| ms(j.1))
    );
    page.wrapped(Ink::Plain, 0, 2, &text);
}

fn number(all: &[Explained], (k, i): (u32, u32)) -> usize {
    all[..k as usize].iter().map(|e| e.views.len()).sum::<usize>() + i as usize + 1
}

fn group(page: &mut Page, all: &[Explained], g: &Group<'_>, selection: &Selection, several: bool) {
    let many = g.cycles.len() >= PERCENTILES_FROM;
    if several {
        let kernel = if g.kernel.is_empty() { "kernel unknown" } else { g.kernel };
        let of = plural(g.cycles.len(), "cycle");
        let log = of_log(all, g).map_or(String::new(), |_| format!("Log {}, ", g.log + 1));
        let text = format!("{log}{}, {}: {of}", safe(kernel), trust::state(g.mode));
        let room = WIDTH.saturating_sub(text.len() + 2);
        let file = file_of(all, g).filter(|f| room > f.len().min(16));
        match file {
            Some(f) if !log.is_empty() => {
                page.heading(&format!("{}, l{}", fit_end(&f, room), &text[1..]));
            }
            Some(f) => page.heading(&format!("{}, {text}", fit_end(&f, room))),
            None => page.heading(&text),
        }
    } else {
        page.blank();
    }
    let names: &[&str] =
        if many { &["median", "min", "max", "p95", "MAD"] } else { &["median", "min", "max"] };
    let names: String = names.iter().map(|n| right(n, 9)).collect();
    page.line(&[(Ink::Strong, &format!("{}{names}", left("Phase, ms", 34)))]);
    for d in [Direction::Suspend, Direction::Resume] {
        let total = [&g.suspend, &g.resume][d as usize];
        if total.max == Ns::ZERO {
            continue;
        }
        spread(page, &format!("total {}", d.name()), total, Ink::Strong, many);
        let of_half = |p: &&dormouse_sleep::analyse::spread::PhaseSpread| p.phase.direction() == d;
        let short = |p: &&dormouse_sleep::analyse::spread::PhaseSpread| {
            per_mille(p.time.max, total.median) < 10
        };
        for p in g.phases.iter().filter(of_half).filter(|p| !short(p)) {
            spread(page, &format!("  {}", wording::phase(p.phase)), &p.time, Ink::Plain, many);
        }
    }
    let unit = if many { "MAD: typical distance. " } else { "" };
    let note = format!("  {unit}Without gaps and rows under 1 %; medians do not add up.");
    page.line(&[(Ink::Faint, &note)]);
    devices(page, g, selection, guessed(all, g));
    let mut said = false;
    for o in g.outliers.iter().take(selection.top) {
        if !said {
            page.heading("Cycles that stand out");
            said = true;
        }
        page.paragraph(2, &safe(&outlier(o, number(all, o.cycle), g)));
    }
}

/// Devices that most cycles have, with at least 1 % of a half.
fn devices(page: &mut Page, g: &Group<'_>, selection: &Selection, guessed: bool) {
    for half in [0, 1] {
        let total = [g.suspend, g.resume][half].median;
        let worth = |d: &&DeviceSpread<'_>| {
            d.busy.count as usize * 2 > g.cycles.len()
                && per_mille(d.on_path[half].median.max(d.gain[half].median), total) >= 10
        };
        let mut list: Vec<&DeviceSpread<'_>> = g.devices.iter().filter(worth).collect();
        list.sort_by_key(|d| std::cmp::Reverse((d.gain[half].median, d.on_path[half].median)));
        if list.is_empty() {
            continue;
        }
        let names = ["path", "saving", "best in"].map(|n| right(n, 10)).concat();
        let title = ["Devices in suspend, median ms", "Devices in resume, median ms"][half];
        page.heading(&format!("{}{names}", left(title, 44)));
        for d in list.into_iter().take(selection.top) {
            let saving = if guessed { "-".into() } else { ms(d.gain[half].median) };
            let values = [ms(d.on_path[half].median), saving];
            let values = values.map(|v| right(&v, 10)).concat();
            let led = match d.saves_most[half] {
                _ if guessed => String::new(),
                0 => String::new(),
                n => right(&format!("{n}/{}", g.cycles.len()), 10),
            };
            let label = left(&format!("  {}", key(&d.key)), 44);
            page.line(&[(Ink::Plain, &label), (Ink::Plain, &values), (Ink::Plain, &led)]);
        }
    }
}

fn spread(page: &mut Page, label: &str, s: &Spread, ink: Ink, many: bool) {
    let mut values = vec![s.median, s.min, s.max];
    if many {
        values.extend([s.p95, s.mad]);
    }
    // A log that prints whole milliseconds knows no more of this phase.
    let whole = values.iter().all(|t| t.0 % 1_000_000 == 0) && s.median > Ns::ZERO;
    let one = |t: Ns| if whole { format!("{}   ", t.0 / 1_000_000) } else { ms(t) };
    let text: String = values.iter().map(|&t| right(&one(t), 9)).collect();
    let text = text.trim_end();
    page.line(&[(ink, &left(label, 34)), (Ink::Plain, text)]);
}

/// One line a cycle; with its answer where no group gives one.
fn list(
    page: &mut Page,
    cycles: &[(usize, &Explained, usize)],
    selection: &Selection,
    answers: bool,
) {
    let total = |c: &(usize, &Explained, usize)| c.1.views[c.2].rows.total;
    let whole = cycles.len() <= ALL_CYCLES.max(selection.top);
    let mut shown: Vec<_> = cycles.iter().collect();
    if !whole {
        shown.sort_by_key(|c| (std::cmp::Reverse(total(c)), c.0));
        shown.truncate(SLOWEST);
    }
    let columns = format!("{:>5}{:>10}{:>10}", "Cycle", "suspend", "resume");
    let title = if whole {
        ", ms (--cycle N shows one)".into()
    } else {
        format!(", ms: the {SLOWEST} slowest (all: --top {})", cycles.len())
    };
    page.heading(&format!("{columns}{title}"));
    let source = |c: &(usize, &Explained, usize)| {
        c.1.capture.names.get(c.1.capture.cycles[c.2].source).to_string()
    };
    let file = |s: &str| next::file_of(s).to_string();
    // A name that all share is said nowhere.
    let shared = cycles.iter().all(|c| file(&source(c)) == file(&source(&cycles[0])));
    for &(n, e, i) in &shown {
        let (c, v) = (&e.capture.cycles[*i], &e.views[*i]);
        let least = |d| {
            let mut halves = v.answer.halves();
            halves.any(|h| h.direction == d && h.known == Known::AtLeast)
        };
        let t = |d| {
            let mut halves = v.answer.halves();
            let text = match v.rows.half(d).filter(|&t| t > Ns::ZERO) {
                _ if halves.any(|h| h.direction == d && !h.known.is_figure()) => "not known".into(),
                Some(t) if least(d) => format!(">{}", ms(t)),
                Some(t) => ms(t),
                None => "-".into(),
            };
            right(&text, 10)
        };
        let front = format!("{n:>5}{}{}  ", t(Direction::Suspend), t(Direction::Resume));
        let near = [i.checked_sub(1), Some(i + 1)].into_iter().flatten();
        let several = near.filter_map(|k| e.capture.cycles.get(k)).any(|o| o.source == c.source);
        let at = if several { trust::began(&e.capture, c) } else { String::new() };
        let mut facts: Vec<String> = Vec::new();
        if !at.is_empty() {
            facts.push(at);
        }
        if c.first_after_boot {
            facts.push("first after boot".into());
        }
        if c.has_hole(Direction::Suspend) || c.has_hole(Direction::Resume) {
            facts.push("the log has a hole".into());
        }
        if c.outcome != Outcome::Slept {
            facts.push(trust::outcome(&e.capture, c));
        } else if !shared {
            let used: usize = facts.iter().map(|f| f.len() + 2).sum();
            let room = WIDTH.saturating_sub(front.len() + used);
            facts.push(fit_end(&source(&(*n, e, *i)), room));
        }
        page.line(&[(Ink::Plain, &front), (Ink::Plain, &facts.join(", "))]);
        if answers {
            for h in v.answer.halves() {
                let open = bottleneck::Open { cycle: c, known: h.known };
                let [first, rest] = bottleneck::half(&e.capture, c.mode, v, h, open);
                page.paragraph(7, &safe(&format!("{first} {rest}")));
            }
        }
    }
}

/// The next command: the best device of the largest group, or one cycle.
pub(super) fn next_command(
    all: &[Explained],
    cycles: &[(usize, &Explained, usize)],
    selection: &Selection,
) -> String {
    let captures: Vec<&Capture> = all.iter().map(|e| &*e.capture).collect();
    let pairs: Vec<(&Capture, &[CycleView])> =
        all.iter().map(|e| (&*e.capture, e.views.as_slice())).collect();
    let groups = groups(&pairs);
    let largest = groups.iter().max_by_key(|g| g.cycles.len());
    let best = largest.and_then(|g| {
        let gain = |d: &&DeviceSpread<'_>| d.gain[0].median + d.gain[1].median;
        let total = g.suspend.median + g.resume.median;
        g.devices.iter().max_by_key(gain).filter(|d| per_mille(gain(d), total) >= HELPS)
    });
    next::next(&match best {
        Some(d) if !largest.is_some_and(|g| guessed(all, g)) => {
            let source = largest.and_then(|g| g.cycles.first()).map_or("", |&(k, i)| {
                let c = &all[k as usize].capture;
                c.names.get(c.cycles[i as usize].source)
            });
            // Of a folder of several machines one can be predicted.
            let file = match all.iter().filter(|e| !is_empty(e)).count() {
                0 | 1 => next::input(&selection.typed, source, captures.iter().copied()),
                _ => next::typed(next::file_of(source)),
            };
            format!("predict {file} --without {}", next::word(d.key.name))
        }
        _ => {
            let file = next::inputs(&selection.typed, captures.iter().copied());
            let of_group = |g: &Group<'_>| g.cycles.first().map(|&c| number(all, c));
            let n = largest.and_then(of_group).or(told(cycles).map(|c| c.0)).unwrap_or(1);
            format!("show {file} --cycle {n}")
        }
    })
}
