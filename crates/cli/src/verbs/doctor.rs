//! `dormouse doctor`: what is wrong with the sleep of a machine.

use crate::terminal;
use anyhow::Result;
use clap::Args;
use dormouse_app::doctor::{doctor, live};
use dormouse_record::root::Root;
use dormouse_write::doctor::{Subject, json, next, text};
use std::path::PathBuf;

/// Say what is wrong with the sleep of this machine, or of a log.
///
/// Without LOG it looks at this machine for two seconds: its settings, its
/// failures since boot, what a sleep now would wait for, and its kernel's log. It
/// changes nothing and needs no rights; what root would add is listed. With LOG
/// it reads kernel logs, mails or tickets that quote them, and recordings, which it
/// judges by their phases and callbacks. Finds sleeps that
/// failed or were ended, tasks that would not freeze, sleep in name only,
/// buses used while suspended, slow sync, failed hibernations. What is not
/// proven is called a guess; what could not be checked is listed.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  dormouse doctor\n  dormouse doctor dmesg.txt\n  dormouse doctor --json mail.txt"
)]
pub struct DoctorArgs {
    /// Texts or recordings, or folders of them; `-` is standard input. Without one: this machine.
    #[arg(value_name = "LOG")]
    inputs: Vec<PathBuf>,
    /// Print JSON (docs/doctor-json.md).
    #[arg(long)]
    json: bool,
    /// Look for /sys, /proc and /dev below DIR (for tests).
    #[arg(long, value_name = "DIR", hide = true, default_value = "/", conflicts_with = "inputs")]
    root: PathBuf,
}

/// Runs the verb.
pub fn run(args: &DoctorArgs) -> Result<()> {
    let here = args.inputs.is_empty();
    let judged = if here { vec![live(&Root::below(&args.root))] } else { doctor(&args.inputs)? };
    let subjects = judged.iter().map(|j| Subject {
        name: &j.name,
        report: &j.report,
        losses: &j.losses,
        live: here,
    });
    if args.json {
        let texts: Vec<_> = subjects.map(|s| json(&s)).collect();
        let value = serde_json::json!({ "schema": "dormouse-doctor/1", "texts": texts });
        return terminal::print(&format!("{value:#}\n"));
    }
    let several = judged.len() > 1;
    let pages: Vec<String> =
        subjects.map(|s| text(&s, several, terminal::wants_colour())).collect();
    let mut out = pages.join("\n");
    let slept = !several && judged.iter().any(|j| !j.report.sleeps.is_empty());
    let one = args.inputs.first().filter(|_| slept && args.inputs.len() == 1);
    let reports: Vec<_> = judged.iter().map(|j| &j.report).collect();
    out += &next(one.map(|p| p.display().to_string()).as_deref(), &reports);
    terminal::print(&out)
}
