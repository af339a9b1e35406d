//! What the logs alone foretell, counted: right, wrong and refused, why, and what
//! of it nobody could know.

use super::args::{Args, file_name};
use super::foretell::{FLOOR, PERCENT, Question, Refusal, Row, foretell};
use crate::accuracy::recorded;
use anyhow::{Context, Result};
use std::fmt::Write as _;

/// At most so many percent of the predictions may be refused.
const REFUSED: u64 = 20;

/// Kinds of questions, and the place of `pm_async` 0 to 1 among them.
const KINDS: [&str; 4] =
    ["pm_async 1 to 0", "pm_async 0 to 1", "another kernel", "a device removed"];
const BLIND: usize = 1;

fn kind(question: &Question) -> usize {
    match question {
        Question::PmAsync(false) => 0,
        Question::PmAsync(true) => BLIND,
        Question::Kernel(_) => 2,
        Question::Without(_) => 3,
    }
}

/// How the predictions of one kind of change came out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    right: u64,
    wrong: u64,
    /// No line says which devices are asynchronous.
    flags: u64,
    /// The phase is not reproduced as it was.
    missed: u64,
    /// Machines that explain the log answer differently.
    machines: u64,
    /// Of the refused: no single figure is right for all machines of this log.
    unanswerable: u64,
    /// Of those of `machines`: what came lies in the range that was given.
    inside: u64,
    /// All of them, answered from the whole recording: right, wrong, refused.
    whole: [u64; 3],
}

impl Tally {
    fn add(&mut self, row: &Row, whole: Option<&Row>) {
        match (&row.told.refused, row.right()) {
            (Some(why), _) => self.refuse(why, row),
            (None, true) => self.right += 1,
            (None, false) => self.wrong += 1,
        }
        if let Some(w) = whole {
            let how = match (&w.told.refused, w.right()) {
                (Some(_), _) => 2,
                (None, true) => 0,
                (None, false) => 1,
            };
            self.whole[how] += 1;
        }
    }

    fn refuse(&mut self, why: &Refusal, row: &Row) {
        *match why {
            Refusal::Flags(..) => &mut self.flags,
            Refusal::Missed(..) => &mut self.missed,
            Refusal::Machines { .. } => &mut self.machines,
        } += 1;
        let came = row.then;
        self.unanswerable += u64::from(why.is_unanswerable(came));
        let inside = why.range().is_some_and(|(low, high)| (low..=high).contains(&came));
        self.inside += u64::from(inside);
    }

    fn sum(&mut self, other: Tally) {
        let pairs = [
            (&mut self.right, other.right),
            (&mut self.wrong, other.wrong),
            (&mut self.flags, other.flags),
            (&mut self.missed, other.missed),
            (&mut self.machines, other.machines),
            (&mut self.unanswerable, other.unanswerable),
            (&mut self.inside, other.inside),
        ];
        pairs.into_iter().for_each(|(to, n)| *to += n);
        self.whole.iter_mut().zip(other.whole).for_each(|(to, n)| *to += n);
    }

    fn refused(&self) -> u64 {
        self.flags + self.missed + self.machines
    }

    fn all(&self) -> u64 {
        self.right + self.wrong + self.refused()
    }

    /// Nothing wrong and trusted, neither of the log nor of the whole, and little refused.
    fn met(&self) -> bool {
        self.wrong + self.whole[1] == 0 && self.refused() * 100 <= self.all() * REFUSED
    }
}

/// Writes what is foretold of each pair, and what came of it; whether all that is
/// asked was met.
pub(crate) fn foretold(args: &Args, out: &mut String) -> Result<bool> {
    if args.pairs.is_empty() {
        return Ok(true);
    }
    let _ = writeln!(
        out,
        "\nForetold from the log of one cycle before the change, beside what the kernel then did \
         (right: {PERCENT} %\nor {FLOOR} apart at most).\n\n{:<26}{:<15}{:>10}{:>10}{:>10}{:>10}{:>9}",
        "", "", "now", "simulated", "foretold", "came", "apart"
    );
    let mut kinds = [Tally::default(); 4];
    for (before, after) in &args.pairs {
        let (first, second) = (recorded::capture(before)?, recorded::capture(after)?);
        let last = first.cycles.len() - 1;
        let asked = foretell(&first, &second, |i| i == last, &args.costs)
            .with_context(|| format!("{before}={after}"))?;
        let _ = writeln!(out, "{}: {}", file_name(before), asked.question.words());
        for row in &asked.rows {
            let whole = asked.whole.iter().find(|w| w.told.phase == row.told.phase);
            kinds[kind(&asked.question)].add(row, whole);
            line(out, row);
            let whole = whole.filter(|w| w.told.refused.is_none() && !w.right());
            if let Some(w) = whole.filter(|_| args.verbose) {
                let _ = writeln!(out, "{:<26}the whole recording says {}", "", w.told.foretold);
            }
        }
    }
    let mut all = Tally::default();
    kinds.iter().for_each(|k| all.sum(*k));
    counts(out, &kinds, &all);
    causes(out, &kinds, &all);
    verdict(out, &kinds[BLIND], &all);
    Ok(all.met())
}

fn line(out: &mut String, row: &Row) {
    let told = &row.told;
    let verdict = match (&told.refused, row.right()) {
        (Some(why), _) => format!(" refused: {}", why.words()),
        (None, true) => String::new(),
        (None, false) => format!(" WRONG (its own cycles are {} apart)", row.spread),
    };
    let cells = [told.now, told.simulated, told.foretold, row.then].map(|t| format!("{t:>10}"));
    let _ = writeln!(
        out,
        "{:<26}{:<15}{}{:>9}{verdict}",
        "",
        told.phase.title(),
        cells.concat(),
        row.apart().to_string(),
    );
}

fn rows<'a>(
    kinds: &'a [Tally; 4],
    all: &'a Tally,
) -> impl Iterator<Item = (&'static str, &'a Tally)> {
    let asked = KINDS.into_iter().zip(kinds).filter(|(_, t)| t.all() > 0);
    asked.chain([("all", all)])
}

fn counts(out: &mut String, kinds: &[Tally; 4], all: &Tally) {
    let _ = writeln!(
        out,
        "\n{:<20}{:>8}{:>8}{:>9}{:>14}",
        "", "right", "wrong", "refused", "unanswerable"
    );
    for (title, t) in rows(kinds, all) {
        let _ = writeln!(
            out,
            "{title:<20}{:>8}{:>8}{:>9}{:>14}",
            t.right,
            t.wrong,
            t.refused(),
            t.unanswerable
        );
    }
    out.push_str(
        "unanswerable, of the refused: machines whose log is this one, each callback at its\n\
         time, do what no single figure is right for. Where flags are not known: none is\n\
         asynchronous, all are, and the machine itself.\n",
    );
}

fn causes(out: &mut String, kinds: &[Tally; 4], all: &Tally) {
    let _ = writeln!(
        out,
        "\nWhy they are refused, and what the whole recording (all devices, links and flags, as\n\
         `dormouse record` makes it) answers of all:\n\n\
         {:<20}{:>7}{:>8}{:>10}{:>9}{:>16}{:>7}{:>9}",
        "", "flags", "missed", "machines", "inside", "recorded: right", "wrong", "refused"
    );
    for (title, t) in rows(kinds, all) {
        let [right, wrong, refused] = t.whole;
        let _ = writeln!(
            out,
            "{title:<20}{:>7}{:>8}{:>10}{:>9}{right:>16}{wrong:>7}{refused:>9}",
            t.flags, t.missed, t.machines, t.inside
        );
    }
    out.push_str(
        "flags: no line says which devices are asynchronous. missed: the phase is not\n\
         reproduced as it was. machines: those that explain the log answer differently;\n\
         inside: of these, what the kernel then did lies in the range that is given.\n",
    );
    out.push_str(REASONS);
}

/// What no such log says, kind by kind.
const REASONS: &str = "
What these logs do not say:
- pm_async 0 to 1: without workers, which devices are asynchronous.
- another kernel: from 6.16 on leaves start first, and a class device without
  callbacks, a wakeup source or a dormant link makes a device no leaf; the other way
  round the order of asynchronous devices in the list counts, and 6.16 and later do
  not show it.
- a device removed: what needs it goes with it, and a link stands in no line.
- noirq resume: timers of a CPU that has just come up are late until its first tick,
  as chance has it. No recording foretells that.
";

fn verdict(out: &mut String, blind: &Tally, all: &Tally) {
    let percent = |part: u64, of: u64| part * 100 / of.max(1);
    let (refused, asked) = (all.refused(), all.all());
    let told = (refused - all.unanswerable, asked - all.unanswerable);
    let others = (refused - blind.refused(), asked - blind.all());
    let _ = writeln!(
        out,
        "\n{}: none may be wrong and at most {REFUSED} % refused; {} of {asked} are wrong, \
         {refused} refused ({} %);\n\
         of the whole recording {} are wrong, {} refused.\n\
         {} are unanswerable from such a log ({} %); of the other {}, {} are refused ({} %).\n\
         {} ask for pm_async 0 to 1; of the other {}, {} are refused ({} %).",
        if all.met() { "PASS" } else { "MISSED" },
        all.wrong,
        percent(refused, asked),
        all.whole[1],
        all.whole[2],
        all.unanswerable,
        percent(all.unanswerable, asked),
        told.1,
        told.0,
        percent(told.0, told.1),
        blind.all(),
        others.1,
        others.0,
        percent(others.0, others.1)
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::truth::foretell::Told;
    use dormouse_base::phase::Phase;
    use dormouse_base::time::Ns;

    fn row(foretold: i64, came: i64, refused: Option<Refusal>) -> Row {
        let [now, foretold, then] = [100, foretold, came].map(Ns::from_ms);
        let told = Told { phase: Phase::Suspend, now, simulated: now, foretold, refused };
        Row { told, then, spread: Ns::ZERO }
    }

    #[test]
    fn a_refusal_is_counted_with_its_cause_and_never_as_right() {
        let ms = |low, high| (Ns::from_ms(low), Ns::from_ms(high));
        let apart = |range: (Ns, Ns), witnessed| Refusal::Machines { count: 9, range, witnessed };
        let mut t = Tally::default();
        t.add(&row(100, 104, None), None);
        t.add(&row(100, 110, None), None);
        // Told apart by nothing in the log: 80 and 120 have no answer in common.
        let wide = apart(ms(80, 120), Some(ms(80, 120)));
        t.add(&row(100, 100, Some(wide)), Some(&row(100, 100, None)));
        // 98 is right for both; and the range did not hold what came.
        let near = apart(ms(96, 101), Some(ms(96, 101)));
        t.add(&row(100, 102, Some(near)), Some(&row(100, 140, None)));
        // No machine is known in which each callback begins when it did.
        t.add(&row(100, 100, Some(apart(ms(50, 150), None))), None);
        t.add(&row(100, 40, Some(Refusal::Flags(Ns::from_ms(100), Ns::from_ms(100)))), None);
        assert_eq!((t.right, t.wrong, t.refused()), (1, 1, 4));
        assert_eq!((t.machines, t.flags, t.missed), (3, 1, 0));
        assert_eq!((t.unanswerable, t.inside), (2, 2));
        assert_eq!(t.whole, [1, 1, 0]);
        assert!(!t.met());
    }
}
