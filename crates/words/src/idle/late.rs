//! What `dormouse show --only idle` prints of tests of wake-ups.

use super::wrapped::wrap;
use crate::text::{fit, safe};
use crate::wording::number::{grouped, plural};
use dormouse_idle::late::{
    Beside, CHANCE, Differs, Lost, OfIdle, Sure, Test, Thread, mean_us as mean, us,
};
use std::fmt::Write as _;

/// Percentiles of a histogram, as people say them.
const QUANTILES: [(u64, &str); 4] =
    [(50_000, "50 %"), (99_000, "99 %"), (99_900, "99.9 %"), (99_990, "99.99 %")];

fn who(bound: bool, number: u32) -> String {
    format!("{} {number}", if bound { "CPU" } else { "thread" })
}

/// `2 h 26 min`.
fn long(seconds: u64) -> String {
    match (seconds / 3_600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, m, s) if m < 10 && s > 0 => format!("{m} min {s} s"),
        (0, m, _) => format!("{m} min"),
        (h, m, _) => format!("{} h {m} min", grouped(h)),
    }
}

/// One test. `beside`: another one is compared with it below.
pub(super) fn text(t: &Test, top: usize, beside: bool) -> String {
    let Some(worst) = t.worst() else { return String::new() };
    let where_ = match t.bound {
        true => format!("on CPU {}", worst.number),
        false => format!("in thread {}", worst.number),
    };
    let whole = match t.wakeups() {
        Some(1) => "The one wake-up".into(),
        Some(n) => format!("The worst of {} wake-ups", grouped(n)),
        None => "The worst wake-up".into(),
    };
    let mut out = wrap(&format!(
        "{whole} came {} us late, {where_}; the mean of all is {} us.",
        us(worst.most),
        mean(t.mean())
    ));
    let file = t.label.rsplit('/').next().unwrap_or(&t.label);
    let caption = t.caption.as_ref().map_or(String::new(), |c| format!(", \"{}\"", safe(c)));
    let ran = match t.seconds() {
        Some(s) => format!(" It ran for about {} (wake-ups times interval).", long(s)),
        None => String::new(),
    };
    out += &wrap(&format!(
        "{} of {}, {}{caption}.{ran} A maximum is one wake-up and can only grow: a longer test \
         may find a later one.",
        plural(t.threads.len(), "thread"),
        t.program.name(),
        safe(file)
    ));
    if let Some(h) = &t.histogram {
        let known = |(of, name): &(u64, &str)| Some(format!("{name} {} us", us(h.quantile(*of)?)));
        let list: Vec<String> = QUANTILES.iter().filter_map(known).collect();
        let over = match h.over {
            0 => String::new(),
            n => format!(" {} came later than the histogram reaches.", grouped(n)),
        };
        if !list.is_empty() {
            out +=
                &wrap(&format!("Of all wake-ups were at most so late: {}.{over}", list.join(", ")));
        }
    }
    if let Some(n) = worst.smis.filter(|n| *n > 0) {
        out += &wrap(&format!(
            "Firmware interrupted that thread {} times (SMI): no kernel can prevent that.",
            grouped(n)
        ));
    }
    if t.coarse {
        out += &wrap(
            "It warns that there are no high resolution timers: a timer ends with the next tick, \
             up to a whole tick late.",
        );
    }
    if t.priority() == Some(0) {
        out += &wrap(
            "It ran as a normal task (P: 0), which others keep waiting: no latency of real time.",
        );
    }
    if !beside && !t.coarse {
        out += &wrap(&format!("{}{}", reason(worst), held(t.dma_latency_us)));
    }
    out.push('\n');
    out + &table(t, top)
}

/// More than two tests: which was worst, and each in a row.
pub(super) fn overview(tests: &[Test]) -> String {
    let name = |t: &Test| safe(t.name().rsplit('/').next().unwrap_or("")).into_owned();
    let all: Vec<(&Test, u64)> = tests.iter().filter_map(|t| Some((t, t.worst()?.most))).collect();
    let most = all.iter().rev().max_by_key(|t| t.1);
    let (Some(most), Some(least)) = (most, all.iter().min_by_key(|t| t.1)) else {
        return String::new();
    };
    let mut out = wrap(&format!(
        "Of {} the worst wake-up came latest in \"{}\", by {} us, and least late in \"{}\", by {} us.",
        plural(all.len(), "test"),
        name(most.0),
        us(most.1),
        name(least.0),
        us(least.1)
    ));
    out += &wrap("Each is one test; a maximum is one wake-up and depends on how long a test runs.");
    let _ = writeln!(out, "\n{:<48}{:>14}{:>14}", "Test", "mean us", "max us");
    for (t, most) in all.iter().take(FEW) {
        let name = fit(&name(t), 47);
        let _ = writeln!(out, "{name:<48}{:>14}{:>14}", mean(t.mean()), us(*most));
    }
    if let more @ 1.. = all.len().saturating_sub(FEW) {
        out += &wrap(&format!("and {}.", plural(more, "more test")));
    }
    out
}

/// What a test does not say.
const UNKNOWN: &str = "What made it late the test does not say: the exit of an idle state, an \
                       interrupt, another task or firmware can.";

/// What the interrupt of its timer says of the latest wake-up.
fn reason(worst: &Thread) -> String {
    match worst.lost().zip(worst.interrupt) {
        Some((Lost::Behind, at_most)) => format!(
            "The interrupt of its timer came {} us late at most, and leaving an idle state lies \
             before it: that is not what made it late. What comes behind it the test does not \
             say: another interrupt, another task, or the kernel with preemption off.",
            us(at_most)
        ),
        Some((Lost::Before, at_most)) => format!(
            "The interrupt of its timer alone came up to {} us late: the exit of an idle state, \
             a part of the kernel with interrupts off, or firmware does that. Which of them, the \
             test does not say.",
            us(at_most)
        ),
        None => UNKNOWN.into(),
    }
}

/// cyclictest asks for a latency itself while it runs; at 0 governors choose the first state
/// (drivers/cpuidle/governors/menu.c, menu_select, 6.12).
fn held(dma: Option<u64>) -> &'static str {
    match dma {
        Some(0) => {
            " While it ran it held /dev/cpu_dma_latency at 0 us, which leaves CPUs only their \
             first idle state: deeper ones are no likely reason."
        }
        _ => "",
    }
}

fn table(t: &Test, top: usize) -> String {
    let mut rows: Vec<&Thread> = t.threads.iter().collect();
    let cut = rows.len() > top.max(FEW);
    if cut {
        rows.sort_by_key(|r| (std::cmp::Reverse(r.most), r.number));
        rows.truncate(top);
    }
    let head = if t.bound { "CPU" } else { "Thread" };
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{head:<10}{:>14}{:>14}{:>12}{:>12}{:>12}",
        "wake-ups", "interval us", "least us", "mean us", "max us"
    );
    let number = |n: Option<u64>| n.map_or("-".into(), grouped);
    for r in rows {
        let _ = writeln!(
            out,
            "{:<10}{:>14}{:>14}{:>12}{:>12}{:>12}",
            r.number,
            number(r.count),
            number(r.interval_us),
            us(r.least),
            us(r.mean),
            us(r.most)
        );
    }
    if cut {
        out += &wrap(&format!("and {} more, none later.", plural(t.threads.len() - top, "thread")));
    }
    out
}

/// So many threads are shown in their order; of more the latest.
const FEW: usize = 16;

/// Settings as a list of words.
fn list(all: &[&Differs]) -> String {
    let names: Vec<String> = all.iter().map(|d| safe(&d.setting).into_owned()).collect();
    match &names[..] {
        [rest @ .., last] if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => names.concat(),
    }
}

/// Which settings differ by the text, and what that proves.
fn differs(b: &Beside) -> String {
    let mut out = String::new();
    let label = |side: usize| safe(&b.labels[side]).into_owned();
    for side in [0, 1] {
        for (sure, words) in [
            (Sure::Said, "Words of the text tell them apart: this one ran with"),
            (Sure::Alone, "Above this one alone the text names"),
        ] {
            let of = |d: &&Differs| d.side == side && d.sure == sure;
            let all: Vec<&Differs> = b.differs.iter().filter(of).collect();
            if !all.is_empty() {
                let words = words.replace("this one", &format!("\"{}\"", label(side)));
                out += &wrap(&format!("{words} {}.", list(&all)));
            }
        }
    }
    if let [Some(x), Some(y)] = b.dma_latency_us
        && x != y
    {
        out += &wrap(&format!("/dev/cpu_dma_latency was set to {x} us and to {y} us."));
    }
    let normal = b.normal_task();
    if let Some((side, p)) = normal {
        out += &wrap(&format!(
            "\"{}\" ran as a normal task (P: 0), the other with priority {p}: what a normal task \
             waits for is no latency of real time.",
            label(side)
        ));
    }
    let idle: Vec<&Differs> = b.differs.iter().filter(|d| d.of_idle).collect();
    let Some(side) = idle.first().map(|d| d.side) else {
        let why = match b.differs.is_empty() && normal.is_none() {
            true => "What changed between them the text does not say, and so not",
            false => "That does not prove",
        };
        return out + &wrap(&format!("{why} that idle states made the difference."));
    };
    let keep = if idle.len() > 1 { "keep" } else { "keeps" };
    out += &wrap(&match b.of_idle(side) {
        OfIdle::NotBetter => format!(
            "{} {keep} CPUs out of deep idle states, and the run with it was not better by \
             {CHANCE} % and more, as one run differs from the next: idle states are not what made \
             the other one late.",
            list(&idle)
        ),
        OfIdle::MeanAlone => format!(
            "{} {keep} CPUs out of deep idle states, and the run with it was better in the mean alone: \
             idle states cost the other one there, and are not what made its worst wake-up late.",
            list(&idle)
        ),
        OfIdle::OtherLength => format!(
            "{} {keep} CPUs out of deep idle states. That these made the other run late is not \
             proven: one of both had more than twice as many wake-ups, of which the worst is worse.",
            list(&idle)
        ),
        OfIdle::NotEntered => format!(
            "{} {keep} CPUs out of deep idle states. That these made the other run late is not \
             proven: cyclictest held /dev/cpu_dma_latency at 0 us in it, which shuts all but the \
             first state while it runs.",
            list(&idle)
        ),
        OfIdle::Better => format!(
            "{} {keep} CPUs out of deep idle states: leaving those is the likely part of what the \
             other run took longer.",
            list(&idle)
        ),
    });
    out
}

/// Two tests, and what changed.
pub fn beside(b: &Beside) -> String {
    let file = |l: &str| safe(l.rsplit('/').next().unwrap_or(l)).into_owned();
    let labels =
        b.labels.each_ref().map(|l| if l.contains(' ') { safe(l).into_owned() } else { file(l) });
    let [was, is] = b.worst;
    let [mean_was, mean_is] = b.mean.map(mean);
    let went = match is.1.cmp(&was.1) {
        std::cmp::Ordering::Less => "fell",
        std::cmp::Ordering::Equal => "stayed",
        std::cmp::Ordering::Greater => "rose",
    };
    let mut out = wrap(&format!(
        "The worst wake-up {went} from {} us ({}) to {} us ({}), the mean from {mean_was} to \
         {mean_is} us.",
        us(was.1),
        who(b.bound, was.0),
        us(is.1),
        who(b.bound, is.0)
    ));
    let counts = match b.wakeups {
        [Some(x), Some(y)] => format!(" ({} and {} wake-ups)", grouped(x), grouped(y)),
        _ => String::new(),
    };
    out += &wrap(&format!(
        "\"{}\" beside \"{}\": two tests, each once{counts}. A maximum is one wake-up and depends on \
         how long a test runs.",
        labels[0], labels[1]
    ));
    out += &differs(b);
    let head = if b.bound { "CPU" } else { "Thread" };
    let _ = writeln!(
        out,
        "\n{head:<10}{:>14}{:>14}{:>14}{:>14}",
        "first max us", "second max", "first mean", "second mean"
    );
    for t in b.threads.iter().take(FEW) {
        let [a, z] = t.most.map(us);
        let [x, y] = t.mean.map(us);
        let name = fit(&t.number.to_string(), 9);
        let _ = writeln!(out, "{name:<10}{a:>14}{z:>14}{x:>14}{y:>14}");
    }
    if let more @ 1.. = b.threads.len().saturating_sub(FEW) {
        out += &wrap(&format!("and {} more.", plural(more, "thread")));
    }
    out
}
