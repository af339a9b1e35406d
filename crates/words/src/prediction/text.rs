//! A prediction for a terminal, 80 columns.

use super::KernelRow;
use crate::fidelity::at_least;
use crate::text::page::{Ink, Page};
use crate::text::safe;
use crate::wording::comparison::percent;
use crate::wording::doubt::{doubt, open};
use crate::wording::next::{next, typed, word};
use crate::wording::number::{change as change_words, ms, ms_change as change};
use crate::wording::phase::kernel;
use crate::wording::reason::alone;
use crate::wording::{assumed, note};
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::say::capital;
use dormouse_base::time::Ns;
use dormouse_board::assumed::Assumed;
use dormouse_board::derive::Derived;
use dormouse_sleep::analyse::path::Reason;
use dormouse_sleep::evidence::{Missing, Verdict};
use dormouse_sleep::simulate::note::Note;
use dormouse_sleep::simulate::policy::{Evidence, Policy};
use dormouse_sleep::simulate::predict::{Outlook, Prediction, Scheduler};
use std::fmt::Write as _;

/// The answer: both halves, the one that changes more first.
fn answer(p: &Prediction) -> String {
    let half = |d: Direction| (p.before.half(d), p.claimed(d).unwrap_or(p.before.half(d)));
    let by = |d: Direction| (half(d).1 - half(d).0).0.abs();
    let mut order = [Direction::Resume, Direction::Suspend];
    if by(order[1]) > by(order[0]) {
        order.reverse();
    }
    let shown = order.into_iter().filter(|d| half(*d) != (Ns::ZERO, Ns::ZERO));
    let shown = shown.filter(|d| is_recorded(p, *d));
    let said = shown.map(|d| said_of(p, d));
    let said: Vec<String> = said.collect();
    const WITHIN: &str = ", within the model's error";
    const MISSED: &str = ": no change is claimed, the model misses the recording";
    let all = |end: &str| said.iter().all(|s| s.ends_with(end)) && said.len() > 1;
    // A half that needs a clause of its own ends it.
    let between = if said.iter().any(|s| s.contains(", ")) { "; " } else { ", " };
    let text = match all(WITHIN) {
        _ if all(MISSED) => said.join(" and ").replacen(MISSED, "", said.len() - 1),
        true => said.join(", ").replacen(WITHIN, "", said.len() - 1),
        false => said.join(between),
    };
    if text.is_empty() { "No phase of devices is simulated.".into() } else { sentence(&text) }
}

/// What is said of one half, as a sentence.
pub fn half(p: &Prediction, d: Direction) -> String {
    sentence(&said_of(p, d))
}

/// `text` with a large letter at its begin and a full stop.
fn sentence(text: &str) -> String {
    if text.is_empty() { String::new() } else { capital(text) + "." }
}

/// What is claimed of one half, or why nothing is.
fn said_of(p: &Prediction, d: Direction) -> String {
    let was = p.before.half(d);
    let is = p.claimed(d).unwrap_or(was);
    let mut phases = Phase::DEVICE.iter().filter(|x| x.direction() == d && !p.claims(**x));
    let cut = cut(p, d);
    if !cut.is_empty() && (missed(p, d).is_some() || p.claimed(d).is_none()) {
        let what = match &cut[..] {
            [one] => (*one).into(),
            [one, two] => format!("{one} and {two}"),
            all => format!("{} of its phases", all.len()),
        };
        return format!("{}: no figure, the recording lacks the start or end of {what}", d.name());
    }
    if let Some(off) = missed(p, d) {
        return format!("{}: no figure, the model misses the recording by {off}", d.name());
    }
    if p.claimed(d).is_none() {
        return unclaimed(p, d);
    }
    let low = if cut.is_empty() { "" } else { " at least" };
    if (is - was).hundredths_of_ms() != 0 {
        return format!("{}{low} {was} -> {is} ({})", d.name(), change_words(was, is));
    }
    match phases.next() {
        _ if !cut.is_empty() => format!("{} stays at {was} or more", d.name()),
        None if p.after.half(d) == p.before.half(d) => format!("{} stays at {was}", d.name()),
        None => format!("{} stays at {was}, within the model's error", d.name()),
        Some(_) => format!("{} stays at {was}, within the model's error", d.name()),
    }
}

/// Why no total of a half is claimed, and how far it is known.
fn unclaimed(p: &Prediction, d: Direction) -> String {
    let phases = p.open(d);
    let missed = p.fidelity.not_reproduced();
    if phases.iter().any(|x| missed.iter().any(|c| c.phase == *x)) {
        return format!("{}: no change is claimed, the model misses the recording", d.name());
    }
    let guess = p.fidelity.blind && p.before.pm_async != p.after.pm_async;
    let range = p.doubt.half[usize::from(d == Direction::Resume)];
    if let Some(range) = range.filter(|(low, high)| low < high && !guess) {
        return open(d, &p.doubt, range);
    }
    let names: Vec<&str> = phases.iter().map(|x| x.title()).collect();
    match &names[..] {
        [] => format!("no figure for {}: its open phases are too long for one", d.name()),
        [one] => format!("no figure for {}: {one} is open", d.name()),
        _ => format!("no figure for {}: {} are open", d.name(), names.join(" and ")),
    }
}

/// Phases of a half whose start or end is not in the recording: the half took at
/// least what is seen of it.
fn cut(p: &Prediction, d: Direction) -> Vec<&'static str> {
    let phases = Phase::DEVICE.into_iter().filter(|x| x.direction() == d);
    phases.filter(|x| p.fidelity.is_cut(*x)).map(Phase::title).collect()
}

/// Whether some of a half is not in the recording: a start, an end, or a phase.
fn in_part(p: &Prediction, d: Direction) -> bool {
    let lacks = |x: Phase| {
        let missing = p.fidelity.phase(x).and_then(|c| c.missing);
        matches!(missing, Some(Missing::Phase | Missing::Ends(_) | Missing::Lost(_)))
    };
    !cut(p, d).is_empty() || Phase::DEVICE.into_iter().any(|x| x.direction() == d && lacks(x))
}

/// Whether anything of a half was recorded; true for a board file.
fn is_recorded(p: &Prediction, d: Direction) -> bool {
    p.observed.iter().all(Option::is_none) || p.recorded(d) > Ns::ZERO
}

/// By how much the model misses the recording of a half, if that is too much to
/// go by.
fn missed(p: &Prediction, d: Direction) -> Option<String> {
    let off = p.missed(d)?.0 as f64 / p.recorded(d).0 as f64 * 100.0;
    Some(percent(off).trim_start_matches(['+', '-']).into())
}

/// The second line: how far the model misses the recording as it was.
fn trust(p: &Prediction, whole: [(Ns, bool); 2]) -> String {
    let mut errors = Vec::new();
    for d in [Direction::Resume, Direction::Suspend] {
        let seen = p.recorded(d);
        if seen > Ns::ZERO && cut(p, d).is_empty() {
            let off = (p.modelled(d) - seen).0 as f64 / seen.0 as f64 * 100.0;
            errors.push(format!("{} {}", d.name(), percent(off)));
        } else if seen > Ns::ZERO {
            errors.push(format!("{} not known", d.name()));
        }
    }
    match errors.is_empty() {
        true => "Model, device phases only; there is no recording to check it against.".into(),
        false => {
            let halves = [Direction::Resume, Direction::Suspend];
            let far = halves.iter().any(|d| missed(p, *d).is_some() && cut(p, *d).is_empty());
            let far = if far { ": too far off to predict from" } else { "" };
            let errors = errors.join(", ");
            format!("Device phases only{}. Model error here: {errors}{far}.", of_all(p, whole))
        }
    }
}

/// What the halves took as a whole: `show` prints these.
fn of_all(p: &Prediction, whole: [(Ns, bool); 2]) -> String {
    let halves = [(Direction::Resume, whole[1]), (Direction::Suspend, whole[0])];
    let known = halves.into_iter().filter(|(d, t)| t.0 > Ns::ZERO && p.before.half(*d) > Ns::ZERO);
    let said = |(d, (t, least)): (Direction, (Ns, bool))| {
        format!("{}{} {t}", d.name(), if least { " at least" } else { "" })
    };
    let said: Vec<String> = known.map(said).collect();
    if said.is_empty() { String::new() } else { format!(" (recorded in all: {})", said.join(", ")) }
}

/// Where nine of ten resampled cycles are, if they are not all alike.
fn spread(p: &Prediction, direction: Direction) -> Option<String> {
    let range = |o: &Outlook| o.range.map(|r| r[usize::from(direction == Direction::Resume)]);
    // Less than one hundredth is no news.
    let same = |(low, high): (Ns, Ns)| !(high - low).is_share_of(1, high);
    let words = |(low, high): (Ns, Ns)| format!("{} to {}", ms(low), ms(high));
    let (was, is) = (range(&p.before)?, range(&p.after)?);
    if same(was) && same(is) {
        return None;
    }
    let whole = p.claimed(direction) == Some(p.after.half(direction));
    let then = if whole && was != is { format!(", changed {}", words(is)) } else { String::new() };
    Some(format!("{} as recorded {}{then}", direction.name(), words(was)))
}

/// What a screen says beside the prediction.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The kernel that was recorded, empty if none was.
    pub release: &'a str,
    /// Something was asked to change.
    pub asked: bool,
    /// The input as it was typed.
    pub input: &'a str,
    /// The kernel that was asked for.
    pub kernel: Option<&'a str>,
    /// Devices that were removed, and that a plan removes only if they are
    /// offered to it.
    pub offer: &'a [String],
    /// Cycles of this prediction, and of all that the input gets.
    pub cycles: (usize, usize),
    /// The emulator that it was recorded in, if it was.
    pub guest: Option<&'static str>,
    /// Recorded suspend and resume as a whole, as `show` has them, and whether they
    /// are at least so long; zero where they are not known.
    pub whole: [(Ns, bool); 2],
}

/// Cells of the table of phases.
struct Row {
    name: String,
    seen: String,
    was: String,
    is: String,
    diff: String,
    floor: String,
    order: String,
}

impl Row {
    /// A line; without a recording or a change their columns are empty.
    fn line(&self, asked: bool) -> String {
        let Row { name, seen, was, is, diff, floor, order } = self;
        let (is, diff) = if asked { (is.as_str(), diff.as_str()) } else { ("", "") };
        let text = match asked {
            true => {
                format!("{name:<15}{seen:>10}{was:>10}{is:>10}{diff:>10}{floor:>10}{order:>12}")
            }
            false => format!("{name:<15}{seen:>10}{was:>10}{floor:>10}{order:>12}"),
        };
        text.trim_end().to_string() + "\n"
    }
}

/// Before and after, bounds, the critical path and why.
pub fn text(p: &Prediction, derived: &Derived, q: &Question<'_>) -> String {
    let mut out = String::new();
    let mut page = Page::new(false);
    if q.asked {
        page.wrapped(Ink::Strong, 0, 2, &answer(p));
    } else {
        page.wrapped(Ink::Strong, 0, 2, NOTHING_ASKED);
    }
    page.wrapped(Ink::Plain, 0, 2, &trust(p, q.whole));
    if let Some(times) = Assumed::times(derived.board.times) {
        page.wrapped(Ink::Plain, 0, 2, &assumed::assumed(&times));
    }
    let recorded = |s: Scheduler| match s.kernel {
        Some(k) if q.release.starts_with(&k.to_string()) => {
            format!("{} ({})", safe(q.release), s.policy.name)
        }
        _ if q.release.is_empty() => kernel(s),
        _ => format!("{}, recorded on {}", kernel(s), safe(q.release)),
    };
    let (was, is) = (recorded(p.before.scheduler), kernel(p.after.scheduler));
    let kernels = if kernel(p.before.scheduler) == is { was } else { format!("{was} -> {is}") };
    let median = match derived.cycles.len() {
        0 | 1 => String::new(),
        n if n < q.cycles.0 => format!(", median of {n} of {} cycles", q.cycles.0),
        n => format!(", median of {n} cycles"),
    };
    let verified = p.after.scheduler.policy.is_verified();
    let unsure = if verified { "" } else { " Its rules are not verified on a kernel." };
    let inside = q.guest.map_or(String::new(), |g| format!(", in {g}"));
    // What nothing names is no fact of the recording.
    let taken = if assumed::is_kernel_guessed(&p.assumptions) { "unknown, taken as " } else { "" };
    page.wrapped(Ink::Plain, 0, 2, &format!("Kernel {taken}{kernels}{median}{inside}.{unsure}"));
    let trip = derived.board.trip;
    let (here, all) = q.cycles;
    if here < all && !trip.hibernates() {
        let which = match trip.up {
            None => "ended on the way down",
            Some(_) => "went down and up",
        };
        let ones = if here == 1 { "one".into() } else { here.to_string() };
        let text = format!("Of {all} cycles this predicts the {ones} that {which}.");
        page.wrapped(Ink::Plain, 0, 2, &text);
    }
    if trip.hibernates() {
        let part = format!("The part of a hibernation that calls {}.", trip.name());
        page.wrapped(Ink::Plain, 0, 2, &part);
    }
    page.blank();
    out.push_str(&page.finish());
    table(&mut out, p, derived, q.asked);
    out.push_str(&legend(p, derived, q.asked));
    let ranges = [Direction::Suspend, Direction::Resume].map(|d| spread(p, d));
    let ranges: Vec<String> = ranges.into_iter().flatten().collect();
    let mut page = Page::new(false);
    if !ranges.is_empty() {
        let text = format!("Nine of ten resampled cycles, ms: {}.", ranges.join("; "));
        page.wrapped(Ink::Plain, 0, 2, &text);
    }
    if let Some(text) = quiet(p, q.asked) {
        page.wrapped(Ink::Plain, 0, 2, &text);
    }
    out.push_str(&page.finish());
    out.push_str(&crate::fidelity::text(&p.fidelity, &derived.board));
    section(&mut out, "What the recording leaves open", &doubt(&p.doubt, &p.fidelity));
    path(&mut out, p, if q.asked { " after the change" } else { "" });
    section(&mut out, "What changed", &note::sentences(&p.notes));
    out.push_str(&assumed::section(&p.assumptions));
    out + "\n" + &next(&next_command(p, q))
}

/// What the halves take if no line is printed, where lines cost something.
fn quiet(p: &Prediction, asked: bool) -> Option<String> {
    let q = p.quiet?;
    let half = |(i, d): (usize, Direction)| {
        let (was, is) = (ms(q.before[i]), ms(q.after[i]));
        match p.claimed(d).is_some() && asked {
            true => format!("{} {was} -> {is}", d.name()),
            false => format!("{} {was}", d.name()),
        }
    };
    let halves = [Direction::Suspend, Direction::Resume].into_iter().enumerate();
    let all: Vec<String> = halves.filter(|(i, _)| q.before[*i] > Ns::ZERO).map(half).collect();
    Some(format!(
        "Without the printed lines of the log, ms: {}. dormouse record prints none.",
        all.join("; ")
    ))
}

/// What the columns and the dashes of the table mean.
fn legend(p: &Prediction, derived: &Derived, asked: bool) -> String {
    let mut page = Page::new(false);
    page.blank();
    let n = derived.cycles.len();
    if n > 1 {
        let text = format!("recorded: median of {n} cycles; model: the same, simulated.");
        page.wrapped(Ink::Plain, 0, 2, &text);
    }
    let after = if asked { " after the change" } else { "" };
    let floor = format!(
        "floor: the longest chain of devices that wait for each other{after}; no scheduler can \
         beat it."
    );
    page.wrapped(Ink::Plain, 0, 2, &floor);
    let text = "sync floor: the floor as long as synchronous devices run one after the other.";
    page.wrapped(Ink::Plain, 0, 2, text);
    let halves = [Direction::Suspend, Direction::Resume];
    if halves.iter().any(|d| is_recorded(p, *d) && in_part(p, *d)) {
        let text = ">: at least; a part of it is not in the recording.";
        page.wrapped(Ink::Plain, 0, 2, text);
    }
    if halves.iter().any(|d| missed(p, *d).is_some()) {
        let text = "-: no figure, because the model misses the recording, or a part of it is \
                    missing (self-check below).";
        page.wrapped(Ink::Plain, 0, 2, text);
    } else if asked && Phase::DEVICE.into_iter().any(|phase| !p.claims(phase)) {
        let text = "-: no change is claimed: it is within the model's error there, the model \
                    misses the phase, or the recording leaves it open. Totals take a phase within \
                    the error as it is, and have no figure where one over 1 % is open.";
        page.wrapped(Ink::Plain, 0, 2, text);
    }
    if asked {
        let text =
            "=: no change; of a total also one that is smaller than the model's error there.";
        page.wrapped(Ink::Plain, 0, 2, text);
    }
    page.finish()
}

/// Line 1, where no change was asked for.
const NOTHING_ASKED: &str = "Nothing to predict: add --kernel, --pm-async, --async, --sync, --without, --scale, --move or --cpus.";

/// A line a phase, and the totals.
fn table(out: &mut String, p: &Prediction, derived: &Derived, asked: bool) {
    let trip = derived.board.trip;
    let observed = derived.observed.iter().any(Option::is_some);
    let head = ["ms", if observed { "recorded" } else { "" }, "model", "changed", "diff"];
    let [name, seen, was, is, diff] = head.map(String::from);
    let head = Row { name, seen, was, is, diff, floor: "floor".into(), order: "sync floor".into() };
    out.push_str(&head.line(asked));
    // A trip that ends below has no way up.
    let runs = |d: Direction| d == Direction::Suspend || trip.up.is_some();
    for phase in Phase::DEVICE.into_iter().filter(|p| runs(p.direction())) {
        let (was, is) = (p.before.phase(phase), p.changed_to(phase));
        let bound = p.after.bounds.phase(phase);
        let seen = phase.device_index().and_then(|i| derived.observed[i]);
        let missed = missed(p, phase.direction()).is_some();
        // A phase that was not recorded, of a half that comes out wrong.
        if (missed || !is_recorded(p, phase.direction())) && seen.is_none() {
            continue;
        }
        let claims = p.claims(phase);
        let dash = |text: String| if missed { "-".to_string() } else { text };
        let row = Row {
            name: phase.title().into(),
            seen: seen.map_or(String::new(), |t| at_least(&p.fidelity, phase, ms(t))),
            was: ms(was),
            is: if claims { ms(is) } else { "-".into() },
            diff: if claims { change(was, is) } else { "-".into() },
            floor: dash(bound.map_or(String::new(), |b| ms(b.path))),
            order: dash(bound.map_or(String::new(), |b| ms(b.order))),
        };
        out.push_str(&row.line(asked));
    }
    let halves = [Direction::Suspend, Direction::Resume].into_iter();
    for direction in halves.filter(|d| runs(*d) && is_recorded(p, *d)) {
        let low = if in_part(p, direction) { ">" } else { "" };
        let ms = |t: Ns| format!("{low}{}", ms(t));
        let exact = crate::wording::number::ms;
        let (was, is) = (p.before.half(direction), p.claimed(direction));
        let known = |text: &dyn Fn(Ns) -> String| is.map_or("-".into(), text);
        let seen = p.recorded(direction);
        // A total of what the model misses is no figure.
        let missed = missed(p, direction).is_some();
        let cell = |text: String| if missed { "-".to_string() } else { text };
        let row = Row {
            name: format!("total {}", direction.name()),
            seen: if observed { ms(seen) } else { String::new() },
            was: cell(ms(was)),
            is: cell(known(&ms)),
            diff: cell(known(&|is| change(was, is))),
            floor: cell(exact(p.after.bounds.path(direction))),
            order: cell(exact(p.after.bounds.order(direction))),
        };
        out.push_str(&row.line(asked));
    }
    for step in &derived.image {
        let took = ms(step.end.since(step.start));
        let row = Row {
            name: format!("image {}", step.work.name()),
            seen: took.clone(),
            was: took.clone(),
            is: took,
            diff: change(Ns::ZERO, Ns::ZERO),
            floor: match step.bytes {
                0 => "-".into(),
                bytes => format!("{} MB", bytes / 1_000_000),
            },
            order: String::new(),
        };
        out.push_str(&row.line(asked));
    }
}

/// What to ask next.
fn next_command(p: &Prediction, q: &Question<'_>) -> String {
    let file = typed(q.input);
    if !p.fidelity.not_reproduced().is_empty() {
        return format!("compare --only model {file}");
    }
    let on = q.kernel.map_or(String::new(), |k| format!(" --kernel {}", word(k)));
    let board = &p.changed.board;
    if !q.asked {
        let way = if p.after.half(Direction::Resume) > Ns::ZERO {
            Direction::Resume
        } else {
            Direction::Suspend
        };
        let longest = p
            .path
            .iter()
            .filter(|s| s.phase.direction() == way && s.device.is_some())
            .max_by_key(|s| s.time)
            .and_then(|s| s.device);
        return match longest {
            Some(d) => {
                format!(
                    "predict {file} --without {}",
                    word(board.names.get(board.graph.get(d).name))
                )
            }
            None => format!("tune {file}"),
        };
    }
    // The smallest set of changes that gets there as well.
    let (was, is) = (p.before.half(Direction::Resume), p.claimed(Direction::Resume));
    let is = is.unwrap_or(was);
    if (was - is).is_share_of(1, was) && was > is {
        // What the recording has beside its device phases stays.
        let beside = (q.whole[1].0 - was).max(Ns::ZERO);
        let budget = ((is + beside).0 + 999_999) / 1_000_000;
        let offer: String = match q.offer.len() {
            0..=4 => q.offer.iter().map(|d| format!(" --offer {}", word(d))).collect(),
            _ => format!(" --offer {}", word("*")),
        };
        return format!("tune {file} --resume {budget}ms{on}{offer}");
    }
    // Of a kernel that was not recorded a recording leaves more open than flags bring.
    match p.fidelity.verdict() == Verdict::NotApplicable {
        true => format!("tune {file}{on}"),
        false => format!("tune {file}"),
    }
}

/// The critical path after the change: pieces of at least one hundredth of
/// their half.
fn path(out: &mut String, p: &Prediction, after: &str) {
    let board = &p.changed.board;
    let halves = [Direction::Suspend, Direction::Resume];
    // Of a half that comes out wrong nobody knows the path.
    let known = halves.into_iter().filter(|d| missed(p, *d).is_none());
    let known: Vec<Direction> = known.filter(|d| p.after.half(*d) > Ns::ZERO).collect();
    if !known.is_empty() {
        let _ = writeln!(out, "\nCritical path{after}, ms");
    }
    for direction in known {
        let half = p.after.half(direction);
        let mut small = Ns::ZERO;
        // Nor of a phase that comes out wrong.
        let mut hidden: Vec<&str> = Vec::new();
        for piece in p.path.iter().filter(|s| s.phase.direction() == direction) {
            if p.fidelity.misses(piece.phase) {
                let title = piece.phase.title();
                if !hidden.contains(&title) && p.fidelity.phase(piece.phase).is_some() {
                    hidden.push(title);
                }
                continue;
            }
            let Some(device) = piece.device.filter(|_| piece.time.is_share_of(1, half)) else {
                small += piece.time;
                continue;
            };
            // Of a device that began late, and nothing on the path says why.
            let why = match piece.reason {
                Reason::Unexplained => String::new(),
                reason => format!(" ({})", alone(reason)),
            };
            let name = safe(board.names.get(board.graph.get(device).name));
            // What does not fit beside its device stands below it.
            let wide = 29 + name.chars().count() + why.chars().count() > 80;
            let between = if wide { format!("\n{:28}", "") } else { String::new() };
            let _ = writeln!(
                out,
                "  {:<14}{:>11}  {name}{between}{why}",
                piece.phase.title(),
                ms(piece.time),
            );
        }
        if small > Ns::ZERO {
            let _ = writeln!(out, "  {:<14}{:>11}  rest of this half", direction.name(), ms(small));
        }
        for title in hidden {
            let _ =
                writeln!(out, "  {title:<14}{:>11}  not reproduced, so its path is not known", "-");
        }
    }
}

/// A heading and sentences, wrapped at 80 columns.
fn section(out: &mut String, title: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    let mut page = Page::new(false);
    page.blank();
    page.line(&[(Ink::Plain, title)]);
    for line in lines {
        page.entry("- ", &safe(line));
    }
    out.push_str(&page.finish());
}

/// One line a generation of kernels, what no schedule beats, and what was
/// changed. `now` is the generation that was recorded.
pub fn kernels(
    rows: &[KernelRow],
    (now, guessed): (Scheduler, bool),
    notes: &[Note],
    assumptions: &[Assumed],
) -> String {
    let mut page = Page::new(false);
    page.wrapped(Ink::Strong, 0, 2, &fastest(rows, now, guessed));
    page.wrapped(Ink::Plain, 0, 2, COMPARED);
    page.blank();
    let mut out = page.finish();
    let _ = writeln!(out, "{:<46}{:>9}{:>9}  verified on", "Kernels, ms", "suspend", "resume");
    for (p, o) in rows {
        let name = format!("{} ({})", p.kernels, p.name);
        match o {
            Ok(o) => {
                let verified = match p.evidence {
                    Evidence::Kernel(k) => k,
                    Evidence::NotHeld(_) => "no kernel",
                    Evidence::Proposal => "-",
                };
                let (down, up) = (o.half(Direction::Suspend), o.half(Direction::Resume));
                let _ = writeln!(out, "{name:<46}{:>9}{:>9}  {verified}", ms(down), ms(up));
            }
            Err(e) => {
                let mut page = Page::new(false);
                page.wrapped(Ink::Plain, 0, 4, &format!("{name}: {}", safe(&e.to_string())));
                out.push_str(&page.finish());
            }
        }
    }
    if let Some((_, Ok(o))) = rows.iter().find(|(p, _)| p.name == "G4") {
        let b = &o.bounds;
        let ways = |of: &dyn Fn(Direction) -> Ns| (of(Direction::Suspend), of(Direction::Resume));
        let _ =
            writeln!(out, "\n{:<46}{:>9}{:>9}", "What no schedule beats, ms", "suspend", "resume");
        for (name, (down, up)) in [
            ("floor (longest chain)", ways(&|d| b.path(d))),
            ("sync floor (synchronous devices one by one)", ways(&|d| b.order(d))),
            ("what if phases overlapped for each device", b.overlapped),
            ("prepare and complete alone, if parallel", b.parallel_ends),
        ] {
            if (down, up) == (Ns::ZERO, Ns::ZERO) {
                continue;
            }
            let _ = writeln!(out, "{name:<46}{:>9}{:>9}", ms(down), ms(up));
        }
    }
    section(&mut out, "What changed", &note::sentences(notes));
    section(&mut out, "Assumed", &assumed::sentences(assumptions));
    out
}

/// What line 1 of the table of kernels compares.
const COMPARED: &str = "Model, device phases only, all as simulated; --kernel V keeps those that change by \
                        less than the model's error. Line 1 compares released kernels with pm_async 1, \
                        no proposals.";

/// The rows that take as long as `time`, to a hundredth of a millisecond; one
/// range if they are the newest.
fn alike(times: &[(&Policy, Ns)], time: Ns) -> String {
    let same = |(_, t): &&(&Policy, Ns)| t.hundredths_of_ms() == time.hundredths_of_ms();
    let names: Vec<&str> = times.iter().filter(same).map(|(p, _)| p.kernels).collect();
    let newest = times.iter().rev().take_while(same).count();
    // `6.17 up to 6.17.7` begins with 6.17.
    let first = names.first().and_then(|n| n.split(' ').next()).unwrap_or("");
    let release = first.starts_with(|c: char| c.is_ascii_digit()) && !first.ends_with(',');
    match names.len() {
        n if n > 1 && n == newest && release => format!("{first} and later"),
        _ => names.join(", "),
    }
}

/// `on 6.16`, `up to 6.15`.
fn on(kernels: &str) -> String {
    if kernels.starts_with("up to ") { kernels.into() } else { format!("on {kernels}") }
}

/// The answer of the table: which kernels resume fastest, and today's.
fn fastest(rows: &[KernelRow], now: Scheduler, guessed: bool) -> String {
    // Kernels with workers; a series that was never merged is none.
    let real =
        |p: &&KernelRow| p.0.evidence != Evidence::Proposal && p.0.workers && p.0.name != "GS";
    let both = |o: &Outlook| o.half(Direction::Suspend) + o.half(Direction::Resume);
    let times = rows.iter().filter(real).filter_map(|(p, o)| o.as_ref().ok().map(|o| (p, both(o))));
    let times: Vec<(&Policy, Ns)> = times.map(|(p, t)| (*p, t)).collect();
    let today = times.iter().find(|(p, _)| p.name == now.policy.name);
    let key = |(_, t): &&(&Policy, Ns)| t.hundredths_of_ms();
    let (Some(best), Some(worst)) = (times.iter().min_by_key(key), times.iter().max_by_key(key))
    else {
        return "No kernel gets through this graph.".into();
    };
    let now = match today {
        Some((p, t)) if guessed => {
            format!(" The input names no kernel; on {}: {t}.", p.kernels)
        }
        Some((p, t)) => format!(" On the recorded kernel ({}): {t}.", p.kernels),
        None => String::new(),
    };
    if key(&best) == key(&worst) {
        return format!("Suspend plus resume take {} on every kernel.", best.1);
    }
    format!(
        "Suspend plus resume are shortest {} ({}), longest {} ({}).{now}",
        on(&alike(&times, best.1)),
        best.1,
        on(&alike(&times, worst.1)),
        worst.1
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_sleep::simulate::policy::KERNELS;

    #[test]
    fn kernels_that_are_alike_are_one_range() {
        let times = |ms: &[(&str, i64)]| -> Vec<(&'static Policy, Ns)> {
            let of = |name: &str| KERNELS.into_iter().find(|p| p.name == name).expect("a kernel");
            ms.iter().map(|(name, us)| (of(name), Ns(us * 1_000))).collect()
        };
        let all = times(&[("G1", 900_000), ("G2", 800_001), ("G3", 800_002), ("G4", 800_000)]);
        assert_eq!(alike(&all, all[3].1), "6.16 and later");
        assert_eq!(alike(&all, all[0].1), all[0].0.kernels);
        // Not the newest: each is named.
        let all = times(&[("G2", 800_000), ("G3", 800_000), ("G4", 700_000)]);
        assert_eq!(alike(&all, all[0].1), "6.16, 6.17 up to 6.17.7");
        assert_eq!(alike(&all, all[2].1), "6.17.8 to 7.3");
    }
}
