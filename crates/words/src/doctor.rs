//! What `dormouse check` prints.

use crate::finding::{below, left_out, not_checked, shown, word};
use crate::text::page::{Ink, Page};
use crate::text::{safe, whole};
use crate::wording::next::{self, typed};
use crate::wording::number::ms;
use crate::wording::sleeps::{attempts, sleeps, whole};
use crate::wording::unchecked::unchecked;
use dormouse_base::loss::Losses;
use dormouse_base::time::Ns;
use dormouse_doctor::finding::{Advice, Confidence, Finding, Level, Unchecked};
use dormouse_doctor::{First, NO_STATE, Report};
use serde_json::{Value, json};

/// One judged text.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// As the user named it.
    pub name: &'a str,
    /// What was found.
    pub report: &'a Report,
    /// What could not be read.
    pub losses: &'a Losses,
    /// It is the running machine, not a text.
    pub live: bool,
}

/// A finding in words, for pages that are about something else.
#[derive(Clone, Debug)]
pub struct Worded {
    /// Its rule.
    pub id: &'static str,
    /// The row of a cycle that it concerns, as `show` calls it.
    pub row: &'static str,
    /// How bad.
    pub level: &'static str,
    /// How sure.
    pub confidence: &'static str,
    /// What is wrong.
    pub sentence: String,
    /// What shows it.
    pub evidence: Vec<String>,
    /// What to do, how to undo it, and what it may cost; these two may be empty.
    pub advice: Vec<[String; 3]>,
    /// What the first advice takes off a sleep, where the simulator was asked.
    pub saves: Option<Ns>,
    /// The same as a sentence, or nothing.
    pub saved: String,
}

/// `f` in words.
pub fn worded(f: &Finding) -> Worded {
    let of = |a: &Advice| [a.text.clone(), a.undo.clone(), a.risk.clone()];
    Worded {
        id: f.id,
        row: f.row,
        level: f.level.name(),
        confidence: f.confidence.name(),
        sentence: f.sentence.clone(),
        evidence: f.evidence.iter().map(shown).collect(),
        advice: f.advice.iter().map(of).collect(),
        saves: f.saves,
        saved: f.saves.map_or_else(String::new, saved),
    }
}

/// A finding as a first line.
pub fn headline(f: &Finding) -> String {
    // Who woke it is no fault.
    if f.level == Level::Note {
        f.sentence.clone()
    } else {
        format!("{}: {}", word(f.level), f.sentence)
    }
}

/// The findings of a page about cycles: one line each, with the row that it concerns,
/// and where to read more. Of one cycle only what has a time inside it, or none.
pub(crate) fn beside(page: &mut Page, list: &[&Finding], typed: &[String]) {
    if list.is_empty() {
        return;
    }
    page.heading("Findings");
    for f in list.iter().take(BESIDE) {
        let guess = if f.confidence == Confidence::Guess { " (a guess)" } else { "" };
        let saved = f.saves.map_or_else(String::new, |by| format!(" {}", saved(by)));
        // A number of an error says little, where the text has the reason.
        let why =
            if f.level == Level::Broken && !f.why.is_empty() { [" ", &f.why] } else { [""; 2] };
        let text = format!("{}{guess}: {}{}{saved}", word(f.level), f.sentence, why.concat());
        page.entry(&format!("  {:<10}", f.row), &safe(&text));
    }
    let left = list.len().saturating_sub(BESIDE);
    let more = if left > 0 { format!("{left} more, evidence") } else { "Evidence".into() };
    // What came through a pipe is gone.
    let input = match typed {
        [one] if one != "-" => next::typed(one),
        _ => "FILE".into(),
    };
    page.paragraph(2, &format!("{more} and what to do: dormouse check {input}"));
}

/// So many findings stand beside a cycle.
const BESIDE: usize = 5;

/// The first line: the worst finding, or that there is none.
fn answer(report: &Report, live: bool) -> String {
    match report.first() {
        None if live => match report.sleeps.len() {
            0 => "Nothing wrong found: this machine has not slept since it was started.".into(),
            n => format!("Nothing wrong found: {} since this machine was started.", attempts(n)),
        },
        None if report.recorded => {
            format!("Nothing wrong found: the recording has {}.", attempts(report.sleeps.len()))
        }
        None if report.sleeps.is_empty() && report.logged == 0 => {
            "No rule found a fault in the values that the text shows; it has no kernel log.".into()
        }
        None if report.sleeps.is_empty() => "Nothing wrong found, and no sleep in the text.".into(),
        None => format!("Nothing wrong found: the text has {}.", sleeps(&report.sleeps)),
        Some(First::Answer(f)) => f.sentence.clone(),
        Some(First::Unread(told, doubt)) => format!(
            "{} No rule found a fault, but the text proves no healthy sleep. {}",
            told.sentence, doubt.sentence
        ),
        Some(First::Doubt(doubt, told)) => {
            let told = told.map_or(String::new(), |f| format!(" {}", f.sentence));
            format!(
                "No rule found a fault, but the text proves no healthy sleep. {}{told}",
                doubt.sentence
            )
        }
        Some(First::NotJudged(f)) => format!("No rule found a fault. {}", f.sentence),
        // Who writes has a reason: what is good to know may be no comfort to him.
        Some(First::Note(f)) if report.letter => format!("No rule found a fault. {}", f.sentence),
        Some(First::Note(f)) => format!("Nothing wrong found. {}", f.sentence),
        Some(First::Wrong(f)) => headline(f),
    }
}

/// The second line: how sure that is, and what else there is.
fn trust(report: &Report, live: bool) -> String {
    let sure = match report.findings.first().map(|f| f.confidence) {
        None => return String::new(),
        Some(Confidence::Certain) if live => "The files below say so.",
        Some(Confidence::Likely) if live => "That is the one reading that fits what is below.",
        Some(Confidence::Guess) if live => "That is a suspicion: these files do not prove it.",
        Some(Confidence::Certain) if report.recorded => "The times below say so.",
        Some(Confidence::Guess) if report.recorded => {
            "That is a suspicion: a recording shows when a callback ran, not what it did."
        }
        Some(Confidence::Certain) => "The lines below say so.",
        Some(Confidence::Likely) => "That is the one reading that fits the lines below.",
        Some(Confidence::Guess) => {
            "That is a suspicion: the lines may be about another machine, or not prove it."
        }
    };
    let rest = report.findings.len() - 1;
    let in_text = match report.sleeps.len() {
        0 => String::new(),
        n if live => format!(" The log since boot has {}.", attempts(n)),
        n if report.recorded => format!(" The recording has {}.", attempts(n)),
        // A table may list more.
        n if report.findings.iter().any(|f| f.id == "loop-table") => {
            format!(" Its log has {}.{}", attempts(n), whole(&report.sleeps, &report.logs))
        }
        n => format!(" The text has {}.{}", attempts(n), whole(&report.sleeps, &report.logs)),
    };
    match rest {
        0 => format!("{sure}{in_text}"),
        n => format!("{sure}{in_text} {}", below(n)),
    }
}

fn finding(page: &mut Page, f: &Finding, with_sentence: bool) {
    if with_sentence {
        page.blank();
        page.wrapped(Ink::Strong, 0, 2, &safe(&format!("{}: {}", word(f.level), f.sentence)));
    }
    if !f.why.is_empty() {
        page.paragraph(2, &safe(&f.why));
    }
    page.paragraph(2, &format!("rule {}, {}", f.id, f.confidence.name()));
    for e in &f.evidence {
        page.entry("    ", &shown(e));
    }
    if let Some(saves) = f.saves {
        page.entry("  ", &saved(saves));
    }
    for a in &f.advice {
        page.entry("  Do: ", &safe(&a.text));
        if !a.undo.is_empty() {
            page.entry("      ", &format!("Undo: {}", a.undo));
        }
        if !a.risk.is_empty() {
            page.entry("      ", &format!("Risk: {}", a.risk));
        }
    }
}

/// What the remedy of a finding takes off a sleep, where the simulator was asked.
fn saved(by: Ns) -> String {
    let said = if by < Ns(50_000) {
        "nothing: other devices take as long beside it".into()
    } else {
        format!("{} ms of a sleep", ms(by))
    };
    format!("By simulation of this recording its remedy saves {said}.")
}

/// What was not looked at, and why.
fn not_looked_at(s: &Subject<'_>) -> Vec<(String, String)> {
    let words = |u: &_| {
        let (what, why) = unchecked(*u);
        (what.into(), why.into())
    };
    s.report.unchecked.iter().map(words).collect()
}

/// The page of one text. `named` where there are several.
pub fn text(s: &Subject<'_>, named: bool, colour: bool) -> String {
    let mut page = Page::new(colour);
    if named {
        page.line(&[(Ink::Faint, &safe(s.name))]);
    }
    page.wrapped(Ink::Strong, 0, 2, &safe(&answer(s.report, s.live)));
    let trust = match (s.report.findings.is_empty(), not_looked_at(s).is_empty()) {
        (true, true) => "That proves no health: only what the text shows was judged.".into(),
        (true, false) => "That proves no health: see what was not checked.".into(),
        _ => trust(s.report, s.live),
    };
    page.wrapped(Ink::Plain, 0, 2, &trust);
    let first = s.report.first();
    for (i, f) in s.report.findings.iter().enumerate() {
        // A doubt that the answer gave is not said again.
        let said =
            matches!(first, Some(First::Doubt(doubt, _) | First::Unread(_, doubt)) if doubt == f);
        finding(&mut page, f, i > 0 && !said);
    }
    whole::table(&mut page, &s.report.ways);
    left_out(&mut page, &not_looked_at(s), s.losses);
    page.finish()
}

/// The last line of the screen: what the one text that was read says of times,
/// if it shows a sleep; else a recording, where the kernel can sleep at all.
pub fn next(name: Option<&str>, reports: &[&Report]) -> String {
    let none = |f: &Finding| f.id == NO_STATE;
    let never = reports
        .iter()
        .any(|r| r.unchecked.contains(&Unchecked::NoSleep) || r.findings.iter().any(none));
    let command = match name {
        Some(name) => format!("show {}", typed(name)),
        None if never => "check LOG".into(),
        None => "record --yes -o recording.tar.gz".into(),
    };
    format!("\n{}", next::next(&command))
}

/// The same as JSON (docs/doctor-json.md).
pub fn json(s: &Subject<'_>) -> Value {
    json!({
        "name": s.name,
        "sleeps": s.report.sleeps.len(),
        "findings": s.report.findings,
        "ways": s.report.ways,
        "not_checked": not_checked(&not_looked_at(s)),
        "losses": s.losses,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_that_cannot_sleep_is_not_to_be_recorded() {
        let able = Report::default();
        assert!(super::next(None, &[&able]).contains("record --yes"));
        let never = Report { unchecked: vec![Unchecked::NoSleep], ..Report::default() };
        assert!(!super::next(None, &[&never]).contains("record"));
    }
}
