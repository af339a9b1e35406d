//! `dormouse storage predict`: what another delay would have given.

use crate::terminal;
use anyhow::Result;
use clap::{ArgGroup, Args};
use dormouse_app::storage::{Asked, Predicted, predict};
use dormouse_storage::request::Disk;
use dormouse_storage::simulate::again::Again;
use dormouse_storage::summary::Latency;
use dormouse_write::storage::predict::{Answer, Side, json, predict as page};
use std::path::PathBuf;

/// Predict requests if storage fell asleep after another delay.
///
/// Takes a recording in which requests waited for the storage to wake, and lets it
/// fall asleep at other times. Arrivals and service stay as recorded. It refuses
/// (exit code 5) if one delay does not explain the recording itself.
#[derive(Args)]
#[command(
    override_usage = "dormouse storage predict [OPTIONS] <INPUT>...",
    after_help = "Examples:\n  dormouse storage predict trace.dat --gate-delay 200ms\n  dormouse storage predict trace.txt --autosuspend never",
    group = ArgGroup::new("change").required(true).args(["gate_delay", "autosuspend"])
)]
pub struct PredictArgs {
    /// Traces, or folders of them; `-` is standard input.
    #[arg(required = true)]
    input: Vec<PathBuf>,
    /// Delay before UFS gates its clock (clkgate_delay_ms), or `never`.
    #[arg(long, value_name = "TIME", value_parser = delay)]
    gate_delay: Option<Delay>,
    /// Delay before runtime suspend (autosuspend_delay_ms), or `never`.
    #[arg(long, value_name = "TIME", value_parser = delay)]
    autosuspend: Option<Delay>,
    /// The disk, such as 8,0; without it the one that waited most.
    #[arg(long, value_name = "MAJOR,MINOR", value_parser = disk)]
    disk: Option<Disk>,
    /// Everything, for programs (docs/storage-json.md).
    #[arg(long)]
    json: bool,
}

/// ns, or never.
#[derive(Clone, Copy, Debug)]
pub struct Delay(pub Option<i64>);

pub fn delay(text: &str) -> Result<Delay, String> {
    if text == "never" {
        return Ok(Delay(None));
    }
    let time = dormouse_board::parse_duration(text).map_err(|e| format!("{e}, or never"))?;
    Ok(Delay(Some(time.0)))
}

pub fn disk(text: &str) -> Result<Disk, String> {
    let odd = || "a disk by its numbers, such as 8,0".to_string();
    let (major, minor) = text.split_once(',').ok_or_else(odd)?;
    let number = |s: &str| s.parse().map_err(|_| odd());
    Ok(Disk { major: number(major)?, minor: number(minor)? })
}

/// Runs the verb.
pub fn run(args: &PredictArgs) -> Result<()> {
    let (asked, Delay(delay)) = match (args.gate_delay, args.autosuspend) {
        (Some(d), _) => (Asked::Gate, d),
        (None, d) => (Asked::Autosuspend, d.unwrap_or(Delay(None))),
    };
    let p = predict(&args.input, asked, delay, args.disk)?;
    let answer = answer(&p);
    if args.json {
        return terminal::print(&(serde_json::to_string_pretty(&json(&answer))? + "\n"));
    }
    terminal::print(&page(&answer, terminal::wants_colour()))
}

fn answer(p: &Predicted) -> Answer<'_> {
    let side = |(latency, a): &(Latency, Again)| Side {
        latency: *latency,
        wakes: a.wakes,
        asleep: Some(a.asleep),
    };
    let s = &p.sleeper;
    Answer {
        source: &s.source,
        setting: s.asked.setting(),
        delay: p.delay,
        present: s.present,
        taken: s.taken,
        wake: s.wake,
        unasked: s.unasked,
        recorded: Side { latency: s.recorded, wakes: s.wakes, asleep: None },
        model: side(&s.model),
        changed: side(&p.changed),
        span: s.span,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_and_disks() {
        assert_eq!(delay("200ms").map(|d| d.0), Ok(Some(200_000_000)));
        assert_eq!(delay("never").map(|d| d.0), Ok(None));
        for bad in ["200", "ms", "1h", "", "99999999999999999999s", "9999999999999s"] {
            assert!(delay(bad).is_err(), "{bad}");
        }
        assert_eq!(disk("8,16"), Ok(Disk { major: 8, minor: 16 }));
        assert!(disk("sda").is_err());
    }
}
