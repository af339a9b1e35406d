//! `dormouse report`: one HTML file that shows and explains captures.

use crate::exit::nothing_in;
use anyhow::{Context, Result};
use clap::Args;
use dormouse_read::{Input, Options as ReadOptions, read};
use dormouse_report::{Labelled, Options, render};
use dormouse_sleep::analyse::explain;
use dormouse_write::Explained;
use std::fs;
use std::path::{Path, PathBuf};

/// Write one HTML file that shows and explains captures.
///
/// The file opens from disk in any browser, loads nothing from a network, and
/// can be attached to a bug report. docs/reading-the-report.md explains it.
#[derive(Args)]
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
    let all = read_labelled(&args.input, args.compare)?;
    let labelled: Vec<Labelled<'_>> = all
        .iter()
        .map(|(label, e)| Labelled { label, capture: &e.capture, views: &e.views })
        .collect();
    let title = args.title.unwrap_or_else(|| {
        format!("dormouse report: {}", labelled.first().map_or("", |l| l.label))
    });
    let html = render(&labelled, &Options { title, ..Options::default() })?;
    if args.output.as_os_str() == "-" {
        return crate::terminal::print(&html);
    }
    let shown = args.output.display();
    fs::write(&args.output, &html).with_context(|| format!("{shown} cannot be written"))?;
    eprintln!("{shown}: {} KB", html.len().div_ceil(1024));
    Ok(())
}

/// Captures with what to call them. Inputs of one machine are joined unless
/// they are to be told `apart`.
///
/// # Errors
/// If an input cannot be read, or no cycle is in any.
pub fn read_labelled(inputs: &[PathBuf], apart: bool) -> Result<Vec<(String, Explained)>> {
    let groups: Vec<&[PathBuf]> = if apart { inputs.chunks(1).collect() } else { vec![inputs] };
    let mut out = Vec::new();
    for group in groups {
        let list: Vec<Input> = group.iter().map(Input::from_arg).collect();
        let reading = read(&list, &ReadOptions::default())?;
        let label = group.iter().map(|p| short(p)).collect::<Vec<_>>().join(", ");
        let several = reading.captures.iter().filter(|c| !c.cycles.is_empty()).count() > 1;
        for (i, capture) in reading.captures.into_iter().enumerate() {
            let host = capture.names.get(capture.machine.host).to_string();
            let name = match (several, host.is_empty()) {
                (false, _) => label.clone(),
                (true, false) => host,
                (true, true) => format!("{label} ({})", i + 1),
            };
            out.push((name, Explained { views: explain(&capture), capture }));
        }
    }
    if out.iter().all(|(_, e)| e.views.is_empty()) {
        return Err(nothing_in(inputs, out.iter().map(|(_, e)| &e.capture)).into());
    }
    Ok(out)
}

/// The last part of a path: enough to recognise it, and safe to pass on.
fn short(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
