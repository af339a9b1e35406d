//! `dormouse report`: one HTML file that shows and explains captures.

use super::idle::asked::typed_all;
use crate::redact;
use anyhow::{Context, Result};
use clap::Args;
use dormouse_app::explain::labelled;
use dormouse_app::failure::Nothing;
use dormouse_app::idle;
use dormouse_read::Given;
use dormouse_report::{Labelled, Options, idle as page_of, render};
use dormouse_words::doctor::worded;
use dormouse_words::idle::Page;
use dormouse_words::wording::waits::told;
use dormouse_words::wording::whole;
use std::fs;
use std::path::PathBuf;

/// Write one HTML file that shows and explains captures.
///
/// Of a trace with cpu_idle and no system sleep it shows the sleeps of CPUs; a dump
/// of the machine's idle states beside it lets it judge them.
/// The file opens from disk in any browser, loads nothing from a network, and
/// can be attached to a bug report. Words such as host-1 stand for what identifies the
/// machine or its owner, unless --redact=no is given. docs/reading-the-report.md explains it.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  dormouse report recording.tar.gz -o report.html\n  dormouse report --compare before.tar.gz after.tar.gz -o report.html\n  dormouse report trace.txt states.txt -o report.html"
)]
pub(crate) struct ReportArgs {
    /// Logs, traces, folders of runs; `-` is standard input.
    #[arg(required = true)]
    input: Vec<PathBuf>,
    /// File to write; `-` is standard output.
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    output: PathBuf,
    /// Title of the page.
    #[arg(long)]
    title: Option<String>,
    /// Show each input by itself and how they differ, instead of joining the
    /// inputs of one machine.
    #[arg(long)]
    compare: bool,
}

/// Runs the verb.
pub(crate) fn run(args: ReportArgs, given: &Given) -> Result<()> {
    let all = match labelled(given, args.compare) {
        Err(e) if e.is::<Nothing>() => {
            let Some(html) = sleeps(&args, given)? else { return Err(e) };
            return written(&args, &html);
        }
        all => all?,
    };
    let said: Vec<Vec<_>> =
        all.iter().map(|(_, e)| e.findings.iter().map(worded).collect()).collect();
    let waits: Vec<Vec<_>> =
        all.iter().map(|(_, e)| (0..e.views.len()).map(|i| told(e, i)).collect()).collect();
    let whole: Vec<_> = all.iter().map(|(_, e)| whole::table(&e.ways)).collect();
    let captures: Vec<Labelled<'_>> = all
        .iter()
        .zip(said.iter().zip(&waits).zip(&whole))
        .map(|((label, e), ((findings, waits), whole))| Labelled {
            label,
            capture: &e.capture,
            views: &e.views,
            findings,
            waits,
            whole: whole.as_ref(),
        })
        .collect();
    let title = args.title.clone().unwrap_or_else(|| {
        format!("dormouse report: {}", captures.first().map_or("", |l| l.label))
    });
    let html = render(&captures, &Options { title, said: redact::text, ..Options::default() })?;
    written(&args, &html)
}

/// The page of the sleeps of CPUs; none if the input has none.
fn sleeps(args: &ReportArgs, given: &Given) -> Result<Option<String>> {
    let shown = match idle::show_sleeps(given) {
        Err(e) if e.is::<Nothing>() => return Ok(None),
        shown => shown?,
    };
    if shown.reading.traces.iter().all(|t| t.episodes.is_empty()) {
        return Ok(None);
    }
    // A page is passed on: it names files, and not where they lie on this disk.
    let names: Vec<PathBuf> =
        args.input.iter().map(|p| p.file_name().map_or_else(|| p.clone(), Into::into)).collect();
    let typed = typed_all(&names);
    let page = Page {
        snapshots: &shown.reading.snapshots,
        difference: None,
        traces: &shown.reading.traces,
        absent: &shown.reading.absent,
        limits: &shown.reading.limits,
        latencies: &shown.reading.latencies,
        runs: &shown.reading.runs,
        beside: shown.beside.as_ref(),
        late: &shown.reading.late,
        late_beside: shown.late.as_ref(),
        losses: &shown.reading.losses,
        packed: &shown.packed,
        top: 20,
        input: &typed,
    };
    let title = args.title.clone().unwrap_or_else(|| format!("dormouse report: {typed}"));
    let governor = shown.reading.snapshots.iter().find_map(|s| s.governor.as_deref());
    let input =
        page_of::Input { title: &title, page: &page, governor, input: &typed, said: redact::text };
    Ok(Some(page_of::render(&input)?))
}

fn written(args: &ReportArgs, html: &str) -> Result<()> {
    if args.output.as_os_str() == "-" {
        redact::is_done();
        return crate::terminal::print(html);
    }
    let shown = args.output.display();
    fs::write(&args.output, html).with_context(|| format!("{shown} cannot be written"))?;
    let size = html.len().div_ceil(1024);
    crate::terminal::wrote(&args.output, &format!(" ({size} KB). Open it in a browser."));
    Ok(())
}
