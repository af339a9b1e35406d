//! The page of CPU idle states: every sleep of a trace on a shared timeline, and
//! what another governor would make of its wake-ups.

use crate::block::{Blocks, Said};
use crate::{Error, page};
use dormouse_idle::state::{StateSet, Table};
use dormouse_idle::tally::Sleeps;
use dormouse_idle::wake::Episode;
use dormouse_words::idle::{Page, json, show};
use serde::Serialize;
use serde_json::Value;

/// What the page is made of.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// Title of the page.
    pub title: &'a str,
    /// What `show --only idle` prints; its first trace with sleeps is drawn.
    pub page: &'a Page<'a>,
    /// The governor of the recording, if the dump says it.
    pub governor: Option<&'a str>,
    /// The command line of the input, for commands to copy.
    pub input: &'a str,
    /// A text as the page may say it.
    pub said: Said,
}

/// Most sleeps in the page; of more, the first in time are drawn.
const MOST: usize = 300_000;

#[derive(Serialize)]
struct Summary<'a> {
    schema: &'static str,
    subject: &'static str,
    version: &'static str,
    title: &'a str,
    input: &'a str,
    governor: Option<&'a str>,
    /// The answer, and how far to trust it.
    answer: [String; 2],
    /// All that `show --only idle` prints.
    text: String,
    figures: Value,
    begin_ns: i64,
    end_ns: i64,
    cpus: Vec<Cpu>,
    left_out: Vec<String>,
}

#[derive(Serialize)]
struct Cpu {
    cpu: u32,
    /// Name, exit latency, target residency (ns), and whether it polls; empty
    /// without a table.
    states: Vec<(String, i64, i64, bool)>,
    /// Disabled states by bit.
    disabled: u16,
    sleeps: usize,
    block: u32,
}

/// The sleeps of one CPU.
#[derive(Default, Serialize)]
struct Columns {
    /// From the end of the sleep before (or the begin of the page) to the begin, ns.
    gap: Vec<i64>,
    length: Vec<i64>,
    state: Vec<u32>,
    timer: Vec<u8>,
    /// 0: no task ran after it, 1: one did, 2: not known.
    ran: Vec<u8>,
}

/// The page as HTML.
///
/// # Errors
/// [`Error::NoCycle`] if no trace has sleeps; [`Error::NoPage`] if the crate was
/// built without the page.
pub fn render(input: &Input<'_>) -> Result<String, Error> {
    let found = |t: &&Sleeps| t.episodes.values().any(|e| !e.is_empty());
    let sleeps = input.page.traces.iter().find(found).ok_or(Error::NoCycle)?;
    if !page::is_built() {
        return Err(Error::NoPage);
    }
    let mut blocks = Blocks::new(input.said);
    let summary = summary(input, sleeps, &mut blocks);
    blocks.set_summary(&summary);
    Ok(page::assemble_idle(&blocks))
}

fn summary<'a>(input: &Input<'a>, sleeps: &Sleeps, blocks: &mut Blocks) -> Summary<'a> {
    let text = show(input.page);
    let mut paragraphs = text.replace("\n  ", " ").lines().map(str::to_owned).collect::<Vec<_>>();
    paragraphs.resize(2.max(paragraphs.len()), String::new());
    let begin = sleeps.episodes.values().filter_map(|e| e.first()).map(|e| e.enter).min();
    let begin = begin.unwrap_or(0);
    let until = cut(sleeps);
    let mut left_out = Vec::new();
    if let Some(until) = until {
        let all: usize = sleeps.episodes.values().map(Vec::len).sum();
        left_out.push(format!(
            "Of {all} sleeps the first {MOST} are drawn, up to {} s; the figures cover all.",
            (until - begin) / 1_000_000_000
        ));
    }
    let mut end = begin;
    let mut cpus = Vec::new();
    for (&cpu, list) in &sleeps.episodes {
        let list: Vec<&Episode> =
            list.iter().filter(|e| until.is_none_or(|until| e.exit <= until)).collect();
        end = list.last().map_or(end, |e| end.max(e.exit));
        let (states, disabled) = sleeps.tally.table(cpu).map_or_else(Default::default, table);
        let block = blocks.add(&columns(&list, begin));
        cpus.push(Cpu { cpu, states, disabled, sleeps: list.len(), block });
    }
    Summary {
        schema: "dormouse-report/1",
        subject: "idle",
        version: env!("CARGO_PKG_VERSION"),
        title: input.title,
        input: input.input,
        governor: input.governor,
        answer: [paragraphs.swap_remove(0), paragraphs.swap_remove(1.min(paragraphs.len() - 1))],
        figures: json::show(input.page),
        text,
        begin_ns: begin,
        end_ns: end,
        cpus,
        left_out,
    }
}

/// The end of the last sleep that is drawn, if not all are.
fn cut(sleeps: &Sleeps) -> Option<i64> {
    let all: usize = sleeps.episodes.values().map(Vec::len).sum();
    if all <= MOST {
        return None;
    }
    let mut ends: Vec<i64> = sleeps.episodes.values().flatten().map(|e| e.exit).collect();
    ends.sort_unstable();
    ends.get(MOST - 1).copied()
}

fn table((table, disabled): &(Table, StateSet)) -> (Vec<(String, i64, i64, bool)>, u16) {
    let one = |s: &dormouse_idle::state::State| (s.name.clone(), s.latency, s.residency, s.polls);
    (table.states().iter().map(one).collect(), disabled.0)
}

fn columns(list: &[&Episode], begin: i64) -> Columns {
    let mut out = Columns::default();
    let mut before = begin;
    for e in list {
        out.gap.push(e.enter - before);
        out.length.push(e.exit - e.enter);
        out.state.push(e.state);
        out.timer.push(u8::from(e.timer));
        out.ran.push(e.ran.map_or(2, u8::from));
        before = e.exit;
    }
    out
}
