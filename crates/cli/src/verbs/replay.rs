//! `dormouse lab run --only replay`: a recorded machine on another kernel.

use super::lab::{MachineArgs, find_kernel, make_machine, note_differences};
use crate::number::number;
use crate::terminal::{self, print, wrapped, wrote};
use anyhow::{Context, Result, bail};
use clap::Args;
use dormouse_app::failure::Usage;
use dormouse_app::machine::reproduced;
use dormouse_app::nothing::{nothing_in, nothing_of};
use dormouse_app::replay::rows;
use dormouse_app::settings::settings;
use dormouse_base::capture::Capture;
use dormouse_base::time::Ns;
use dormouse_lab::capture::{Wish, capture};
use dormouse_lab::plan::Sleep;
use dormouse_read::{Given, Options, read_bytes};
use dormouse_sleep::evidence::machine;
use dormouse_words::document::{RUN, document};
use dormouse_words::fidelity;
use dormouse_words::lab;
use dormouse_words::wording::assumed::sentences;
use dormouse_words::wording::next::{next, typed, word};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Duration;

/// Let another kernel suspend a recorded machine, in QEMU.
///
/// Builds the recorded devices, links and times in a guest, records what the
/// kernel does with them, and shows it beside the original. The result is a
/// capture like any other, with the recorded names.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  dormouse lab run --only replay recording.tar.gz --kernel 7.3 -o there.tar.gz\n  dormouse compare recording.tar.gz there.tar.gz"
)]
pub(crate) struct ReplayArgs {
    /// The recording.
    input: PathBuf,
    #[command(flatten)]
    machine: MachineArgs,
    /// The cycle whose times to use, by number from 1; or the median of all.
    #[arg(long, default_value = "median", value_name = "N|median")]
    cycle: String,
    /// devices, platform and core are test levels; s2idle and deep really
    /// sleep. platform is the first that has all phases.
    #[arg(long, value_parser = sleep, default_value = "platform",
          value_name = "devices|platform|core|s2idle|deep")]
    sleep: Sleep,
    /// /sys/power/pm_async; what was recorded, if absent.
    #[arg(long, value_name = "0|1", value_parser = number::<u8>(0, 1))]
    pm_async: Option<u8>,
    /// Cycles of each boot; the first after a boot is slower than the others.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = number::<u32>(1, 1_000))]
    cycles: u32,
    /// Capture file to write.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replay also a recording that the simulation does not reproduce.
    #[arg(long)]
    force: bool,
    /// Print JSON (docs/replay-json.md).
    #[arg(long)]
    json: bool,
}

fn sleep(text: &str) -> Result<Sleep, String> {
    // A hibernation has several trips; the comparison is of one.
    Sleep::find(text)
        .filter(|s| s.disk().is_none())
        .ok_or_else(|| "write devices, platform, core, s2idle or deep".into())
}

/// Runs the verb.
pub(crate) fn run(a: ReplayArgs, given: &Given) -> Result<()> {
    let original = load(&a, given)?;
    let shown = machine(&original, None).map_err(|e| nothing_of(given.paths(), [&original], &e))?;
    for text in sentences(&shown.derived.assumptions) {
        terminal::remarked(&wrapped(&format!("dormouse: assumed: {text}")));
    }
    let fidelity = shown.check(&original, &settings("x86", None)?);
    let board = shown.derived.board;
    reproduced(&fidelity, &board, <[_; 2]>::default(), a.force)?;
    let kernel = find_kernel(&a.machine)?;
    let machine = make_machine(&a.machine, &kernel, Some(&board));
    let wish = Wish {
        board: Some(&board),
        waits: &[],
        sleep: a.sleep,
        pm_async: a.pm_async.map_or(board.pm_async, |n| n == 1),
        cycles: a.cycles,
        detail: Vec::new(),
        samples: 1,
        limit: Duration::from_secs(a.machine.limit),
    };
    let recording = capture(&kernel, &machine, &wish)?;
    note_differences(&recording.file.document.lab);
    if let Some(to) = &a.output {
        recording.save(to).with_context(|| format!("cannot write {}", to.display()))?;
        wrote(to, "");
    }
    let bytes = dormouse_machine::file::encode(&recording, Vec::new())?;
    let reading = read_bytes("replay", &bytes, &Options::default())?;
    let Some(replayed) = reading.captures.into_iter().find(|c| !c.cycles.is_empty()) else {
        bail!("the kernel was run, but its recording holds no cycle");
    };
    if a.json {
        let mut value = json(&original, &replayed, &kernel.release);
        value["fidelity"] = fidelity::json(&fidelity, &board);
        return print(&document(RUN, "replay", &value));
    }
    let mut text = beside(&original, &replayed, &kernel.release);
    text.push_str(&fidelity::text(&fidelity, &board));
    let was = typed(&a.input.display().to_string());
    let command = match &a.output {
        Some(to) => format!("compare {was} {}", word(&to.display().to_string())),
        None => format!("replay {was} --kernel {} -o there.tar.gz", word(&a.machine.kernel)),
    };
    print(&(text + "\n" + &next(&command)))
}

fn load(a: &ReplayArgs, given: &Given) -> Result<Capture> {
    let path = a.input.display();
    let read = given.sleep()?;
    let mut captures: Vec<Capture> =
        read.captures.iter().filter(|c| !c.cycles.is_empty()).map(|c| (**c).clone()).collect();
    if captures.len() > 1 {
        return Err(Usage(format!(
            "{path} holds recordings of {} machines; replay takes one",
            captures.len()
        ))
        .into());
    }
    let Some(mut capture) = captures.pop() else {
        return Err(nothing_in(given, []));
    };
    if a.cycle != "median" {
        let n: usize =
            a.cycle.parse().ok().filter(|n| (1..=capture.cycles.len()).contains(n)).ok_or_else(
                || Usage(format!("--cycle is median or a number up to {}", capture.cycles.len())),
            )?;
        capture.cycles = vec![capture.cycles.swap_remove(n - 1)];
    }
    Ok(capture)
}

/// The kernel that was recorded; empty if none is named.
fn recorded_on(original: &Capture) -> &str {
    let mut all = original.cycles.iter().map(|c| original.names.get(c.kernel));
    all.find(|k| !k.is_empty()).unwrap_or("")
}

/// The table as JSON; nanoseconds.
fn json(original: &Capture, replayed: &Capture, release: &str) -> Value {
    let side = |x: Option<(Ns, usize)>| x.map(|(t, n)| json!({ "time_ns": t.0, "callbacks": n }));
    let phases: Vec<Value> = rows(original, replayed)
        .into_iter()
        .map(|r| {
            json!({
                "phase": r.phase.name(),
                "direction": r.phase.direction().name(),
                "recorded": side(r.recorded),
                "replayed": side(r.replayed),
            })
        })
        .collect();
    json!({
        "recorded_on": recorded_on(original),
        "replayed_on": release,
        "phases": phases,
    })
}

fn beside(original: &Capture, replayed: &Capture, release: &str) -> String {
    lab::replayed(&lab::Replayed {
        was: recorded_on(original),
        is: release,
        cycles: [original.cycles.len(), replayed.cycles.len()],
        rows: &rows(original, replayed),
    })
}
