//! `dormouse idle predict`: sleeps under another governor, limit or table.

use crate::terminal;
use anyhow::Result;
use clap::Args;
use dormouse_app::idle::{self, Asked};
use dormouse_idle::governors::{Kind, Version};
use dormouse_write::idle::{Outlook, predict};
use std::path::PathBuf;

/// Predict sleeps under another governor, latency limit or set of states.
///
/// Replays the wake-ups of a trace: which state the governor would choose, how
/// late each wake-up would be served, what that saves. Needs a trace with
/// cpu_idle and a dump of the machine's idle states.
///
/// Examples: dormouse idle predict trace.txt states.txt --governor menu
/// dormouse idle predict trace.txt states.txt --latency-limit 50us
#[derive(Args)]
pub struct PredictArgs {
    /// A trace with cpu_idle, and a dump of the machine.
    #[arg(required = true)]
    input: Vec<PathBuf>,
    /// Governor then: menu, teo, ladder or haltpoll.
    #[arg(long, value_parser = kind)]
    governor: Option<Kind>,
    /// Kernel whose governors decide then: 6.12 or 7.2 (7.3 is the same).
    #[arg(long, value_name = "V", value_parser = version)]
    kernel: Option<Version>,
    /// Largest exit latency then, such as 50us; 0 leaves state 0 only.
    #[arg(long, value_name = "TIME", value_parser = time)]
    latency_limit: Option<i64>,
    /// State that is disabled then, by name; may be repeated.
    #[arg(long, value_name = "STATE")]
    disable: Vec<String>,
    /// Governor of the recording, if the dump does not name it.
    #[arg(long, value_name = "GOVERNOR", value_parser = kind)]
    from_governor: Option<Kind>,
    /// Kernel of the recording: 6.12 or 7.2.
    #[arg(long, value_name = "V", value_parser = version, default_value = "6.12")]
    from_kernel: Version,
    /// Ticks a second (CONFIG_HZ).
    #[arg(long, default_value_t = 250, value_parser = clap::value_parser!(u32).range(24..=10_000))]
    hz: u32,
}

fn kind(text: &str) -> Result<Kind, String> {
    Kind::named(text).ok_or_else(|| "the governors are menu, teo, ladder, haltpoll".into())
}

fn version(text: &str) -> Result<Version, String> {
    let known = if text.starts_with("7.3") { Some(Version::V7_2) } else { Version::named(text) };
    known.ok_or_else(|| "the governors of these kernels are known: 6.12, 7.2".into())
}

/// `50us`, `1ms`, `300ns`, `0`: in ns.
fn time(text: &str) -> Result<i64, String> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let unit: i64 = match (&text[end..], &text[..end]) {
        ("ns", _) | ("", "0") => 1,
        ("us", _) => 1_000,
        ("ms", _) => 1_000_000,
        _ => return Err("a time with its unit, such as 50us".into()),
    };
    let n: i64 = text[..end].parse().map_err(|_| "a time with its unit, such as 50us")?;
    n.checked_mul(unit).ok_or_else(|| "that is too long".into())
}

/// Runs the verb.
pub fn run(args: &PredictArgs) -> Result<()> {
    let p = idle::predict(
        &args.input,
        &Asked {
            from_governor: args.from_governor,
            from_version: args.from_kernel,
            governor: args.governor,
            version: args.kernel,
            limit: args.latency_limit,
            disable: args.disable.clone(),
            hz: args.hz,
        },
    )?;
    terminal::print(&predict(&Outlook {
        states: &p.states,
        recorded: &p.recorded,
        governors: p.governors,
        accounts: &p.accounts,
        bounds: &p.bounds,
        wakes: (p.wakes, p.timers),
        cpus: p.cpus,
        error: p.error(),
        changed: p.changed,
    }))
}
