//! What writing and reading the image of a hibernation takes (kernel/power/swap.c,
//! hibernate.c, 2.6 to 7.3).

use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Finding, Level};
use crate::message::{Message, seconds, thousandths};
use dormouse_base::phase::Direction;
use dormouse_base::say;
use dormouse_base::time::Ns;

/// A first tenth that takes so many times what later ones do stands out, from a second on.
const TIMES: i64 = 3;
const STANDS_OUT: i64 = 1_000_000_000;
/// Devices that take this long to quiesce are slow.
const QUIESCE: Ns = Ns(500_000_000);
/// Room for an image that takes this long was not free.
const ALLOCATES: Ns = Ns(10_000_000_000);
/// A clock that goes on by more between two lines after the image was read is another kernel's.
const JUMP: i64 = 3_000_000_000;
/// So many messages around the rate tell whether anything was read.
const AROUND: usize = 6;

/// One run of writing or reading.
struct Run<'a> {
    reads: bool,
    threads: Option<&'a str>,
    percent: Vec<(i64, &'a Message)>,
    rate: Option<(usize, &'a Message)>,
    refused: bool,
    starts: Option<Ns>,
}

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    for run in runs(case) {
        tell(case, &run, out);
    }
    quiesce(case, out);
    allocated(case, out);
}

/// What making room for an image took (kernel/power/snapshot.c:hibernate_preallocate_memory):
/// pages that are free come at GB/s, others are written out or dropped first.
fn allocated(case: &Case, out: &mut Vec<Finding>) {
    let said = |m: &&Message| m.trust.is_of_a_kernel();
    let took = |m: &Message| took_of(m, "Allocated ");
    let all = case.messages.having("Allocated ").map(|(_, m)| m).filter(said);
    let slow = all.filter_map(|m| Some((took(m)?, m))).max_by_key(|s| s.0);
    let Some((took, m)) = slow.filter(|s| s.0 >= ALLOCATES) else { return };
    // There was no room at all, which says it.
    if out.iter().any(|f| f.id == "hib-image-short") {
        return;
    }
    out.push(
        Finding::new(("hib-allocate-slow", Area::Hibernation, Level::Slow), Confidence::Certain)
            .says(format!(
                "Making room for the image took {}, says the kernel: \"{}\". Free memory is there at once; this was dropped or swapped out first.",
                say::seconds(took),
                m.text.trim()
            ))
            .look("Compare with less in use, and with another /sys/power/image_size: the kernel frees down to it before it makes the image.")
            .costs(took)
            .when(Some(Direction::Suspend), None)
            .shown_by(lines([m])),
    );
}

fn took_of(m: &Message, word: &str) -> Option<Ns> {
    seconds(rate(m, word)?.split_once(" kbytes in ")?.1)
}

/// How long an image or the room for it took, where a message says so.
pub(super) fn took(m: &Message) -> Option<Ns> {
    ["Allocated ", "Wrote ", "Read "].iter().find_map(|w| took_of(m, w))
}

/// `462616 kbytes in 14.01 seconds (33.02 MB/s)`; who types it writes `14.01s`.
fn rate<'a>(m: &'a Message, word: &str) -> Option<&'a str> {
    let rest = m.text.split_once(word)?.1;
    let (_, time) = rest.split_once(" kbytes in ")?;
    let unit = time.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let seconds = unit.starts_with(" seconds") || unit.starts_with("s ") || unit == "s";
    (m.says(word) && seconds).then_some(rest)
}

/// Each line of such a run has one of these.
const WORDS: [&str; 7] = [
    "thread(s) for",
    "Image saving progress:",
    "Image loading progress:",
    "Loading and decompressing image data",
    "Loading image data pages",
    "Wrote ",
    "Read ",
];

fn runs(case: &Case) -> Vec<Run<'_>> {
    let mut out: Vec<Run<'_>> = Vec::new();
    let mut threads = None;
    let mut open = false;
    for (i, m) in case.messages.having_any(&WORDS) {
        if let Some(rest) = m.after("Using ").filter(|r| r.contains("thread(s) for")) {
            (threads, open) = (Some(rest), false);
        }
        let words = [("Image saving progress:", false), ("Image loading progress:", true)];
        let progress = words.iter().find_map(|w| Some((m.after(w.0)?, w.1)));
        let began =
            m.has("Loading and decompressing image data") || m.has("Loading image data pages");
        let done = rate(m, "Wrote ").map(|_| false).or_else(|| rate(m, "Read ").map(|_| true));
        let Some(reads) = progress.map(|p| p.1).or(done).or(began.then_some(true)) else {
            continue;
        };
        if !open || out.last().is_none_or(|r| r.reads != reads || r.rate.is_some()) {
            let starts = m.time.filter(|_| reads);
            out.push(Run {
                reads,
                threads: threads.take(),
                percent: Vec::new(),
                rate: None,
                refused: false,
                starts,
            });
            open = true;
        }
        let Some(run) = out.last_mut() else { continue };
        if let Some((rest, _)) = progress {
            let n = rest.trim().trim_end_matches('.').trim_end_matches('%').parse();
            run.percent.extend(n.ok().map(|n: i64| (n, m)));
        }
        if done.is_some() {
            run.rate = Some((i, m));
            let around =
                &case.messages[i.saturating_sub(AROUND)..(i + AROUND).min(case.messages.len())];
            run.refused = reads && around.iter().any(|m| m.has("Image mismatch"));
        }
    }
    out
}

/// How long tenths took: the first, and the median of the others.
fn tenths(run: &Run<'_>) -> Option<(i64, i64)> {
    let at: Vec<i64> = run.percent.iter().filter_map(|p| p.1.time).map(|t| t.0).collect();
    // Where lines were left out, what passes between two is no tenth.
    let each = run.percent.windows(2).all(|w| w[1].0 - w[0].0 == 10);
    if at.len() < 4 || at.len() != run.percent.len() || run.percent[0].0 != 0 || !each {
        return None;
    }
    let mut all: Vec<i64> = at.windows(2).map(|w| w[1].saturating_sub(w[0])).collect();
    let first = all.remove(0);
    all.sort_unstable();
    (all[0] >= 0).then(|| (first, all[all.len() / 2]))
}

/// What the image was packed to (kernel/power/swap.c:save_compressed_image, 6.9 to 7.3), and by
/// how much.
fn packed<'a>(case: &'a Case, (at, m): (usize, &Message)) -> Option<(String, &'a Message)> {
    let kbytes = |text: &str| text.trim().split(' ').next()?.parse::<u64>().ok();
    let near = case.messages[at + 1..].iter().take(AROUND);
    let (size, said) = near.filter_map(|m| Some((m.after(PACKED)?, m))).next()?;
    let (all, size) = (kbytes(rate(m, "Wrote ")?)?, kbytes(size).filter(|n| *n > 0)?);
    let tenths = (all.saturating_mul(10) + size / 2) / size;
    let text = format!("Compressed it is {size} kbytes: {}.{} to 1.", tenths / 10, tenths % 10);
    Some((text, said))
}

const PACKED: &str = "Image size after compression:";

/// Where the kernel that wrote an image goes on without the rest of it: what it frees then, and its
/// exit (kernel/power/hibernate.c:hibernate, 5.4 to 7.3). The kernel that comes back from an image
/// has no line of writing it in its log.
fn broken_off<'a>(case: &'a Case, run: &Run<'_>) -> Option<&'a Message> {
    let &(percent, last) = run.percent.last().filter(|_| !run.reads && run.rate.is_none())?;
    let at = case.messages.iter().position(|m| m.line == last.line)?;
    let goes_on = |m: &&Message| {
        !m.says("hibernation entry")
            && !m.text.starts_with("Linux version")
            && !m.has("Image saving done")
    };
    let mut after = case.messages[at + 1..].iter().take_while(goes_on);
    let later = |m: &Message| m.time.zip(last.time).is_some_and(|(end, from)| end >= from);
    let ends = |m: &&Message| m.says("hibernation exit") || m.says("Basic memory bitmaps freed");
    after.find(ends).filter(|m| percent < 100 && later(m))
}

fn tell(case: &Case, run: &Run<'_>, out: &mut Vec<Finding>) {
    let who =
        if run.reads { "The boot kernel read the image" } else { "The kernel wrote the image" };
    let mut level = Level::Note;
    let mut shown: Vec<&Message> = Vec::new();
    let mut words = String::new();
    if let Some((_, m)) = run.rate {
        shown.push(m);
        let told = rate(m, "Wrote ").or_else(|| rate(m, "Read ")).unwrap_or_default();
        if run.refused {
            out.push(
                Finding::new(("hib-rate-of-nothing", Area::Hibernation, Level::Note), Confidence::Certain)
                    .says(format!("\"{}\" is no time of a load: the image was refused by its header, so nothing of it was read.", m.text.trim()))
                    .shown_by(lines([m])),
            );
            return;
        }
        words = format!("{who}: {}.", told.trim().trim_end_matches('.'));
    } else if let (Some(first), Some(last)) = (run.percent.first(), run.percent.last()) {
        if run.percent.len() < 2 {
            return;
        }
        if let Some(end) = broken_off(case, run) {
            let f = Finding::new(("hib-broken-off", Area::Hibernation, Level::Broken), Confidence::Likely)
                .says(format!(
                    "The image of the hibernation was not written: the kernel stopped at {} % and went on running.",
                    last.0
                ))
                .look("Lines between that and the end say why: a wakeup, an error of the disk, or no room; the machine did not sleep.")
                .shown_by(lines([last.1, end]));
            return out.push(f);
        }
        shown.extend([first.1, last.1]);
        if let (Some(a), Some(b)) = (first.1.time, last.1.time) {
            words = format!(
                "{who} from {} % to {} % in {}; the end of that is not in the text.",
                first.0,
                last.0,
                say::span(b.since(a))
            );
        }
    }
    if words.is_empty() {
        return;
    }
    let mut why = Vec::new();
    if let Some(threads) = run.threads {
        let threads = threads.trim().trim_end_matches('.');
        why.push(format!("It used {threads}."));
    }
    if let Some((packed, m)) = run.rate.filter(|_| !run.reads).and_then(|r| packed(case, r)) {
        why.push(packed);
        shown.push(m);
    }
    if let Some((first, later)) = tenths(run) {
        let tenth = format!(
            "The first tenth took {}, a later one {} (median).",
            say::span(Ns(first)),
            say::span(Ns(later))
        );
        if first >= STANDS_OUT && later <= first / TIMES {
            level = Level::Slow;
            words = format!("{words} {tenth} No line says why the first took longer.");
            shown.extend(run.percent.iter().take(2).map(|p| p.1));
        } else {
            why.push(tenth);
        }
    }
    if let Some(t) = run.starts.filter(|t| t.0 < 600_000_000_000) {
        why.push(format!("It began {} after that kernel's start.", say::span(t)));
    }
    if let Some((at, m)) = run.rate.filter(|_| run.reads && !case.messages.has("Failed to load")) {
        let mut before = m.time;
        for m in case.messages[at + 1..].iter().take(80) {
            let Some(t) = m.time else { continue };
            if before.is_some_and(|b| (t - b).0 > JUMP) {
                why.push(format!("From the line at {} on stamps are of the frozen kernel's clock, which goes on where it stopped: that jump is no wait.", say::seconds(t)));
                break;
            }
            before = Some(t);
        }
    }
    shown.sort_by_key(|m| m.line);
    shown.dedup_by_key(|m| m.line);
    out.push(
        Finding::new(("hib-image-time", Area::Hibernation, level), Confidence::Certain)
            .says(words)
            .because(why.join(" "))
            .shown_by(lines(shown)),
    );
}

/// Devices of the boot kernel that take long before the frozen one takes over.
fn quiesce(case: &Case, out: &mut Vec<Finding>) {
    for (i, m) in case.messages.having("quiesce of devices complete after ") {
        let Some(rest) = m.after("quiesce of devices complete after ") else { continue };
        let Some(took) = thousandths(rest).and_then(|us| i64::try_from(us).ok()) else { continue };
        let took = Ns::from_us(took);
        if took < QUIESCE || m.has("late") || m.has("noirq") {
            continue;
        }
        // Backwards to where it began.
        let from = m.time.map(|t| t - took);
        let inside = |x: &&Message| x.time.is_none() || x.time >= from;
        let mut within = case.messages[..i].iter().rev().take_while(inside);
        let firmware = within.find(|x| x.has("WARNING:") && x.has("request_firmware"));
        let firmware = firmware.filter(|x| from.is_some() && x.time.is_some());
        let why = firmware.map_or(String::new(), |_| {
            "In that time the kernel warns that firmware was asked for while user space was frozen; that the one waited for the other is not said.".into()
        });
        out.push(
            Finding::new(("hib-quiesce-slow", Area::Hibernation, Level::Slow), Confidence::Certain)
                .says(format!("Devices of the boot kernel took {} to quiesce before the frozen kernel went on. No line says which device took it.", say::span(took)))
                .because(why)
                .look("Boot with initcall_debug: the boot kernel then names each callback and its time.")
                .costs(took)
                .shown_by(lines(firmware.into_iter().chain([m]))),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_that_is_given_up_half_way_was_not_written() {
        let mut log = vec![
            (300_000, "PM: Image saving progress:   0%"),
            (310_000, "PM: Image saving progress:  30%"),
            (312_000, "PM: hibernation: Basic memory bitmaps freed"),
            (313_000, "PM: hibernation: hibernation exit"),
        ];
        let judged = |log: &[(i64, &str)]| {
            let mut out = Vec::new();
            judge(&Case::of_log(log), &mut out);
            out.into_iter().map(|f| f.id).collect::<Vec<_>>()
        };
        assert_eq!(judged(&log), ["hib-broken-off"]);
        log.insert(2, (0, "Linux version 6.12.1"));
        assert_eq!(judged(&log), ["hib-image-time"]);
    }

    #[test]
    fn an_image_is_told_by_its_tenths_and_a_refused_one_by_nothing() {
        let mut out = Vec::new();
        let all = [
            (2_000, "PM: Using 2 thread(s) for lz4 decompression"),
            (2_001, "PM: Loading and decompressing image data (9000 pages)..."),
            (2_010, "PM: Image loading progress:   0%"),
            (6_010, "PM: Image loading progress:  10%"),
            (6_510, "PM: Image loading progress:  20%"),
            (7_010, "PM: Image loading progress:  30%"),
        ];
        judge(&Case::of_log(&all), &mut out);
        assert_eq!((out[0].id, out[0].level), ("hib-image-time", Level::Slow));
        assert!(out[0].sentence.contains("The first tenth took 4.0 s, a later one 500 ms"));
        out.clear();
        judge(
            &Case::of_log(&[
                (1_000, "PM: Image mismatch: version"),
                (1_001, "PM: Read 900 kbytes in 0.01 seconds (90.00 MB/s)"),
            ]),
            &mut out,
        );
        assert_eq!(out[0].id, "hib-rate-of-nothing");
        assert_eq!(out.len(), 1);
        out.clear();
        judge(
            &Case::of_log(&[(9_000, "PM: quiesce of devices complete after 2500.000 msecs")]),
            &mut out,
        );
        assert_eq!((out[0].id, out[0].costs), ("hib-quiesce-slow", Some(Ns(2_500_000_000))));
    }
}
