//! `dormouse report`: one HTML file that shows and explains captures.

use anyhow::{Context, Result};
use clap::Args;
use dormouse_app::explain::labelled;
use dormouse_report::{Labelled, Options, render};
use std::fs;
use std::path::PathBuf;

/// Write one HTML file that shows and explains captures.
///
/// The file opens from disk in any browser, loads nothing from a network, and
/// can be attached to a bug report. docs/reading-the-report.md explains it.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  dormouse report recording.tar.gz -o report.html\n  dormouse report --compare before.tar.gz after.tar.gz -o report.html"
)]
pub struct ReportArgs {
    /// Logs, traces, folders of runs; `-` is standard input.
    #[arg(required = true)]
    input: Vec<PathBuf>,
    /// File to write; `-` is standard output.
    #[arg(short, long, default_value = "report.html")]
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
pub fn run(args: ReportArgs) -> Result<()> {
    let all = labelled(&args.input, args.compare)?;
    let captures: Vec<Labelled<'_>> = all
        .iter()
        .map(|(label, e)| Labelled { label, capture: &e.capture, views: &e.views })
        .collect();
    let title = args.title.unwrap_or_else(|| {
        format!("dormouse report: {}", captures.first().map_or("", |l| l.label))
    });
    let html = render(&captures, &Options { title, ..Options::default() })?;
    if args.output.as_os_str() == "-" {
        return crate::terminal::print(&html);
    }
    let shown = args.output.display();
    fs::write(&args.output, &html).with_context(|| format!("{shown} cannot be written"))?;
    let size = html.len().div_ceil(1024);
    crate::terminal::wrote(&args.output, &format!(" ({size} KB). Open it in a browser."));
    Ok(())
}
