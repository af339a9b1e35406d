//! `dormouse export`: captures for other tools.

use crate::changes::ChangeArgs;
use crate::number::number;
use crate::{redact, terminal};
use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use dormouse_app::explain::labelled;
use dormouse_app::failure::Usage;
use dormouse_app::predict::predicted_capture;
use dormouse_read::Given;
use dormouse_sleep::analyse::explain as analyse;
use dormouse_sleep::analyse::start::{Start, starts};
use dormouse_words::perfetto::{self, Group};
use dormouse_words::{Explained, Selection};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

/// Write captures in a form that other tools read.
///
/// perfetto: a trace for ui.perfetto.dev (docs/perfetto.md). parquet: a table
/// for DuckDB, pandas and the like (docs/parquet-schema.md). json, csv and
/// markdown: as `show` prints them.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  dormouse export recording.tar.gz --to perfetto -o trace.pb\n  dormouse export recording.tar.gz --to csv -o callbacks.csv"
)]
pub(crate) struct ExportArgs {
    /// Logs, traces, folders of runs; `-` is standard input.
    #[arg(required = true)]
    input: Vec<PathBuf>,
    /// Form to write.
    #[arg(long, value_enum)]
    to: Form,
    /// File to write; `-` is standard output.
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// Only this cycle, counted from 1 over all inputs.
    #[arg(long, value_name = "N", value_parser = number::<usize>(1, usize::MAX))]
    cycle: Option<usize>,
    /// Which table of parquet to write [default: callbacks].
    #[arg(long, value_enum)]
    table: Option<Table>,
    #[command(flatten, next_help_heading = "Predicted beside the observed (perfetto)")]
    change: ChangeArgs,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Form {
    Perfetto,
    Csv,
    Json,
    Parquet,
    Markdown,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Table {
    /// A row a callback.
    Callbacks,
    /// A row a phase or gap of a cycle.
    Phases,
    /// A row a cycle.
    Cycles,
}

/// Runs the verb.
pub(crate) fn run(args: ExportArgs, given: &Given) -> Result<()> {
    let (mut labels, mut all): (Vec<String>, Vec<Explained>) =
        labelled(given, false)?.into_iter().unzip();
    let count: usize = all.iter().map(|e| e.views.len()).sum();
    if let Some(n) = args.cycle.filter(|n| !(1..=count).contains(n)) {
        bail!(Usage(format!("there is no cycle {n}; the input has {count}")));
    }
    if args.table.is_some() && args.to != Form::Parquet {
        bail!(Usage("--table has no effect without --to parquet".into()));
    }
    let changes = args.change.changes();
    if !changes.is_empty() && args.to != Form::Perfetto {
        bail!(Usage("only --to perfetto shows a prediction beside the observed".into()));
    }
    if args.to == Form::Parquet && !cfg!(feature = "parquet") {
        bail!(Usage(
            "this dormouse was built without Parquet; build it with \
             `cargo build --release -p dormouse --features parquet`"
                .into()
        ));
    }
    if args.to == Form::Csv && count > 0 {
        super::show::rows(given, &all)?;
    }
    let binary = matches!(args.to, Form::Perfetto | Form::Parquet);
    if binary && args.output.as_os_str() == "-" && terminal::is_watched() {
        bail!(Usage("the output is binary: use -o FILE or a pipe".into()));
    }
    if binary {
        labels.iter_mut().for_each(|l| *l = redact::name(l));
        all.iter_mut().for_each(|e| redact::capture(&mut e.capture));
    }
    let predicted = match all.iter().find(|e| !e.views.is_empty()) {
        Some(e) if !changes.is_empty() => {
            let capture = predicted_capture(&e.capture, &changes).map_err(Usage)?;
            Some(Explained {
                views: analyse(&capture),
                findings: Vec::new(),
                ways: Vec::new(),
                waits: Vec::new(),
                capture: capture.into(),
            })
        }
        _ => None,
    };
    let selection = Selection { cycle: args.cycle, ..Selection::default() };
    let write = |out: &mut (dyn Write + Send)| -> io::Result<()> {
        match args.to {
            Form::Json => dormouse_words::json::show(&all, &selection, &mut &mut *out),
            Form::Csv => dormouse_words::csv::show(&all, &selection, &mut &mut *out),
            Form::Markdown => {
                out.write_all(dormouse_words::markdown::show(&all, &selection).as_bytes())
            }
            Form::Perfetto => trace(&all, &selection, predicted.as_ref(), &mut &mut *out),
            Form::Parquet => table(&labels, &all, args.table.unwrap_or(Table::Callbacks), out),
        }
    };
    if args.output.as_os_str() == "-" {
        if binary {
            redact::is_done();
        }
        return terminal::print_with(|out| {
            let mut bytes = Vec::new();
            write(&mut bytes)?;
            out.write_all(&bytes)
        });
    }
    let shown = args.output.display();
    let file = File::create(&args.output).with_context(|| format!("{shown} cannot be written"))?;
    let mut out = BufWriter::new(file);
    let wrote = match binary {
        true => write(&mut out),
        false => {
            let mut text = Vec::new();
            write(&mut text).and_then(|()| out.write_all(&redact::text(text)))
        }
    };
    let wrote = wrote.and_then(|()| out.flush());
    wrote.with_context(|| format!("{shown} cannot be written"))?;
    terminal::wrote(&args.output, "");
    Ok(())
}

/// Every chosen cycle as a process of its own, then the predicted one.
fn trace(
    all: &[Explained],
    selection: &Selection,
    predicted: Option<&Explained>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut cycles: Vec<(String, &Explained, usize)> = selection
        .cycles(all)
        .map(|(n, e, i)| {
            let source = e.capture.names.get(e.capture.cycles[i].source);
            let observed = if predicted.is_some() { "observed, " } else { "" };
            (format!("{observed}cycle {n}: {source}"), e, i)
        })
        .collect();
    cycles.extend(predicted.map(|e| ("predicted".to_string(), e, 0)));
    let reasons: Vec<Vec<Start>> = cycles
        .iter()
        .map(|(_, e, i)| starts(&e.capture, &e.capture.cycles[*i], &e.views[*i]))
        .collect();
    let groups: Vec<Group<'_>> = cycles
        .iter()
        .zip(&reasons)
        .map(|(&(ref name, e, i), starts)| Group {
            name,
            capture: &e.capture,
            cycle: &e.capture.cycles[i],
            view: &e.views[i],
            starts,
        })
        .collect();
    perfetto::write(&groups, out)
}

#[cfg(feature = "parquet")]
fn table(
    labels: &[String],
    all: &[Explained],
    table: Table,
    out: &mut (dyn Write + Send),
) -> io::Result<()> {
    use dormouse_words::parquet::{Source, Table as Which, write};
    let which = match table {
        Table::Callbacks => Which::Callbacks,
        Table::Phases => Which::Phases,
        Table::Cycles => Which::Cycles,
    };
    let sources: Vec<Source<'_>> = labels
        .iter()
        .zip(all)
        .map(|(label, e)| Source { label, capture: &e.capture, views: &e.views })
        .collect();
    write(&sources, which, out).map_err(io::Error::other)
}

#[cfg(not(feature = "parquet"))]
fn table(
    _labels: &[String],
    _all: &[Explained],
    table: Table,
    _out: &mut (dyn Write + Send),
) -> io::Result<()> {
    Err(io::Error::other(format!("the table of {table:?} needs the feature parquet")))
}
