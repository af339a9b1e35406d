//! `dormouse calibrate`: costs of the machinery from recordings.

use crate::terminal;
use anyhow::{Context, Result};
use clap::Args;
use dormouse_app::calibrate::{Ask, better, calibrate};
use dormouse_read::Given;
use dormouse_sleep::simulate::Costs;
use dormouse_sleep::simulate::profile;
use dormouse_words::document::{CALIBRATE, document};
use dormouse_words::text::page::Page;
use dormouse_words::text::safe;
use dormouse_words::wording::next::{next, word};
use dormouse_words::wording::plural;
use serde_json::json;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

/// Measure the kernel's overhead from recordings; write a profile.
///
/// Each cycle is simulated with its own callback times; the costs are changed
/// until phase times and starts come closest to the recorded ones. The profile
/// names the recordings: it holds for that machine, or for machines like it.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  dormouse calibrate recording.tar.gz -o my.profile\n  dormouse calibrate --from phone a.tar.gz b.tar.gz -o my.profile"
)]
pub(crate) struct CalibrateArgs {
    /// Captures or logs; their cycles share one set of costs.
    #[arg(required = true)]
    inputs: Vec<PathBuf>,
    /// Profile to start from: x86, phone or a file.
    #[arg(long, value_name = "PROFILE", default_value = "x86")]
    from: String,
    /// The board that the laboratory made a recording's machine from: times are
    /// then taken from there, and the CPUs may turn out to share one computing
    /// thread. One for each input, in the same order.
    #[arg(long, value_name = "FILE")]
    board: Vec<PathBuf>,
    /// What the profile is of; the names of the inputs if absent.
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Where to write the profile; the terminal if absent.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print JSON instead of the profile.
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub(crate) fn run(args: CalibrateArgs, given: &Given) -> Result<()> {
    let ask = Ask { from: args.from, boards: args.board, name: args.name };
    let c = calibrate(given, &ask)?;
    if args.json {
        let costs: Vec<_> = Costs::NAMES
            .iter()
            .zip(c.profile.costs.values())
            .zip(c.profile.uncertainty)
            .map(|(((name, meaning), value), spread)| {
                json!({ "name": name, "meaning": meaning, "ns": value.0,
                        "deviation_ns": spread.map(|s| s.0) })
            })
            .collect();
        let value = json!({
            "name": c.profile.name,
            "cycles": c.cycles,
            "phases": c.after.phases,
            "phase_error_ns": { "before": c.before.phase.0, "after": c.after.phase.0 },
            "start_error_ns": { "before": c.before.start.0, "after": c.after.start.0 },
            "costs": costs,
            "skipped": c.skipped,
        });
        return terminal::print(&document(CALIBRATE, "sleep", &value));
    }
    better(&c, &ask.from)?;
    let of = format!(
        "{} of {}",
        plural(c.after.phases as usize, "phase"),
        plural(c.cycles as usize, "cycle")
    );
    let fit = format!(
        "{} error per phase (was {}), {} per start of a callback (was {})",
        c.after.phase, c.before.phase, c.after.start, c.before.start
    );
    // What a prediction calls not reproduced is further off.
    let far = c.after.phase > dormouse_base::time::Ns::from_ms(3);
    let verdict = match far {
        true => format!(
            "Do not use: better than {}, but still far off, on {of}: {fit}. Lines that the \
             kernel printed, or a log that is not whole, cost what no profile explains.",
            ask.from
        ),
        false => format!("Better than {}, on {of}: {fit}.", ask.from),
    };
    let mut page = Page::new(false);
    page.entry("# ", &safe(&verdict));
    // Every line of a comment begins like the first.
    let mut text = page.finish().replace("\n  ", "\n# ");
    text.push_str(&profile::print(&c.profile));
    for s in c.skipped.iter().take(20) {
        let _ = writeln!(text, "# not used: {s}");
    }
    match &args.output {
        Some(path) => {
            fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
            let file = word(&path.display().to_string());
            let input = word(&given.paths()[0].display().to_string());
            let said = [verdict, format!("Wrote {}.", path.display())];
            let command = next(&format!("predict {input} --profile {file} --pm-async 0"));
            terminal::print(&(said.map(|s| terminal::wrapped(&s)).concat() + "\n" + &command))
        }
        None => {
            // The profile may go to a pipe, so what to do with it is a comment of it.
            let files = given.paths().iter().map(|i| word(&i.display().to_string()));
            let files: Vec<String> = files.collect();
            let command = next(&format!("calibrate {} -o my.profile", files.join(" ")));
            for line in command.lines() {
                let _ = writeln!(text, "# {line}");
            }
            terminal::print(&text)
        }
    }
}
