//! A command that takes in several subjects at once: one section each.

use super::{Form, Section, Verb, parsed};
use crate::{redact, terminal};
use anyhow::Result;
use clap::ArgMatches;
use dormouse_app::failure::{Nothing, Usage};
use dormouse_read::Given;
use dormouse_words::wording::next::typed;
use serde_json::{Map, Value, json};
use std::cell::RefCell;
use std::ffi::OsString;
use std::io::{self, Write};
use std::rc::Rc;

/// A section, as it was printed.
struct Said {
    form: &'static Form,
    text: Vec<u8>,
}

/// Lets every form of `verb` that fits look at the input, and prints what they find.
///
/// # Errors
/// If none finds anything, that of the first; else what went wrong beside.
pub(super) fn sections(
    verb: &'static Verb,
    matches: &ArgMatches,
    given: &Given,
    rest: &[OsString],
) -> Result<()> {
    let mut forms = verb.fitting(matches)?;
    let asked = matches.get_many::<String>(super::ONLY).is_some();
    let one = forms.len() == 1;
    if !asked && !one {
        forms.retain(|f| !matches!(f.section, Section::Asked(_)));
        if given.paths().is_empty() {
            let why = format!(
                "dormouse {}: give an input; without one, `dormouse check` looks at this machine",
                verb.words
            );
            return Err(Usage(why).into());
        }
    }
    let alone = asked || one;
    if forms.len() > 2 {
        given.read_all();
    }
    let question = Question { verb, rest, given, alone };
    match matches.get_flag("json") {
        true => document(&question, &forms),
        false => screen(&question, &forms),
    }
}

/// One form of `verb`, in the document of the verb, and whether for others.
///
/// # Errors
/// What the form says.
pub(super) fn only(
    verb: &'static Verb,
    form: &'static Form,
    (rest, redact): (&[OsString], redact::Redact),
) -> Result<()> {
    let matches = parsed(verb, form, rest)?;
    let given = Given::new(&super::named(form, &matches));
    let question = Question { verb, rest, given: &given, alone: true };
    redact::answered(redact, &given, None, || match rest.iter().any(|w| w == "--json") {
        true => document(&question, &[form]),
        false => screen(&question, &[form]),
    })
}

/// What every section is asked.
struct Question<'a> {
    verb: &'static Verb,
    rest: &'a [OsString],
    given: &'a Given,
    /// Whether one subject was asked for.
    alone: bool,
}

impl Question<'_> {
    /// Runs a form; what it prints is kept.
    fn said(&self, form: &'static Form) -> (Vec<u8>, Result<()>) {
        terminal::captured(|| self.answered(form))
    }

    fn answered(&self, form: &'static Form) -> Result<()> {
        let matches = parsed(self.verb, form, self.rest)?;
        match form.section {
            Section::TopIf(run) | Section::MemberIf(_, run) if !self.alone => {
                run(&matches, self.given)
            }
            _ => (form.run)(&matches, self.given),
        }
    }
}

/// What went wrong: that nothing is there counts only if nothing is anywhere.
#[derive(Default)]
struct Failures {
    first: Option<anyhow::Error>,
    real: Option<anyhow::Error>,
}

impl Failures {
    fn add(&mut self, e: anyhow::Error) {
        if !e.is::<Nothing>() && self.real.is_none() {
            self.real = Some(e);
        } else if self.first.is_none() {
            self.first = Some(e);
        }
    }

    /// The error of the command, of which `any` section was printed.
    fn end(self, any: bool) -> Result<()> {
        match (self.real, self.first) {
            (Some(e), _) => Err(e),
            (None, Some(e)) if !any => Err(e),
            _ => Ok(()),
        }
    }
}

/// The sections below one another. The first has no heading: its first line is the
/// answer. The last line is its next command.
fn screen(q: &Question<'_>, forms: &[&'static Form]) -> Result<()> {
    let mut failures = Failures::default();
    let mut all: Vec<Said> = Vec::new();
    for form in forms {
        // Findings stand beside the cycles that they concern.
        let beside = !q.alone && matches!(form.section, Section::TopIf(_));
        if beside && all.iter().any(|s| matches!(s.form.section, Section::Top)) {
            continue;
        }
        let (text, result) = q.said(form);
        if let Err(e) = result {
            failures.add(e);
        }
        if !text.is_empty() {
            all.push(Said { form, text });
        }
    }
    let (any, mut out, mut next) = (!all.is_empty(), String::new(), String::new());
    let below: Vec<&str> = all.iter().skip(1).map(|s| s.form.heading).collect();
    for (i, section) in all.iter().enumerate() {
        let text = String::from_utf8_lossy(&section.text);
        let (body, last) = without_next(&text);
        if i == 0 {
            next = last.into();
            let more = [list_of(&below), (!q.alone).then(|| by_itself(q, section.form)).flatten()];
            let more: Vec<String> = more.into_iter().flatten().collect();
            match (more.is_empty(), body.split_once("\n\n")) {
                (false, Some((head, body))) => {
                    let more = terminal::wrapped(&more.join(" "));
                    out += &format!("{head}\n{more}\n{body}");
                }
                _ => out += body,
            }
        } else {
            let line = "-".repeat(section.form.heading.chars().count());
            out += &format!("\n{}\n{line}\n{body}", section.form.heading);
        }
    }
    terminal::print(&(out + &next))?;
    failures.end(any)
}

/// The headings of what follows.
fn list_of(below: &[&str]) -> Option<String> {
    (!below.is_empty()).then(|| format!("Below: {}.", below.join(", ")))
}

/// How a section that is no sleep is asked for, for those who know its old words.
fn by_itself(q: &Question<'_>, form: &Form) -> Option<String> {
    let (Section::Member(_) | Section::MemberIf(..)) = form.section else { return None };
    let before = form.before.first()?;
    // What came through a pipe is gone.
    let input = match q.given.paths() {
        [one] if one.as_os_str() != "-" => typed(&one.display().to_string()),
        _ => return None,
    };
    let (words, subject) = (q.verb.words, form.subject);
    Some(format!("Only this (formerly {before}): dormouse {words} --only {subject} {input}"))
}

/// A screen and its last line, which names the next command.
fn without_next(text: &str) -> (&str, &str) {
    let at = text.rfind("\nNext: ").or_else(|| text.rfind("\n\u{1b}[1mNext: "));
    at.map_or((text, ""), |at| text.split_at(at))
}

/// One document: what stands at the top, and a member for each other subject.
fn document(q: &Question<'_>, forms: &[&'static Form]) -> Result<()> {
    let mut failures = Failures::default();
    let mut members = Map::new();
    let mut top: Option<&'static Form> = None;
    for form in forms {
        let name = match form.section {
            Section::Top => {
                top = Some(form);
                continue;
            }
            Section::TopIf(_) => None,
            Section::Member(name) | Section::MemberIf(name, _) | Section::Asked(name) => Some(name),
        };
        let (text, result) = q.said(form);
        if let Err(e) = result {
            failures.add(e);
        }
        if text.is_empty() {
            continue;
        }
        let value: Value = serde_json::from_slice(&text)?;
        match (name, value) {
            (Some(name), value) => _ = members.insert(name.into(), value),
            (None, Value::Object(of)) => {
                members.extend(of.into_iter().filter(|(k, _)| k != "schema"));
            }
            (None, _) => unreachable!("a document is an object"),
        }
    }
    // What is long is written while it is made, and the members go before its end.
    let tail = Tail(Rc::new(RefCell::new(Vec::new())));
    let mut any = !members.is_empty();
    if let Some(form) = top {
        let result = terminal::into(Box::new(tail.clone()), || q.answered(form));
        if let Err(e) = result {
            failures.first = failures.first.take();
            match e.is::<Nothing>() {
                true => failures.first = Some(e),
                false => failures.real = Some(e),
            }
        }
    }
    let held = tail.0.take();
    if held.is_empty() && any {
        let mut whole = Map::new();
        whole.insert("schema".into(), json!(dormouse_words::document::SHOW));
        whole.extend(members);
        terminal::print(&format!("{:#}\n", Value::Object(whole)))?;
    } else if !held.is_empty() {
        any = true;
        let end = held.iter().rposition(|b| *b == b'}').unwrap_or(0);
        terminal::print_with(|out| {
            out.write_all(&held[..end])?;
            for (name, value) in &members {
                write!(out, ",\n{}: {value}", json!(name))?;
            }
            out.write_all(b"}\n")
        })?;
    }
    failures.end(any)
}

/// Keeps a document until its members are known.
#[derive(Clone)]
struct Tail(Rc<RefCell<Vec<u8>>>);

impl Write for Tail {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
