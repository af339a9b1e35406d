//! `dormouse predict`: what other settings would have given.

use crate::asked::again;
use crate::terminal;
use anyhow::Result;
use clap::{Args, ValueEnum};
use dormouse_app::failure::Usage;
use dormouse_app::storage::{Asked, Basis, Change, Predicted, Site, clocked, described, predict};
use dormouse_read::Given;
use dormouse_read::storage::described::{clock, time};
use dormouse_storage::request::Disk;
use dormouse_storage::simulate::again::Again;
use dormouse_storage::simulate::disk::Outcome;
use dormouse_storage::simulate::ondemand::Thresholds;
use dormouse_storage::simulate::settings::{Governor, Settings};
use dormouse_storage::summary::Latency;
use dormouse_words::document::{PREDICT, document};
use dormouse_words::storage::model;
use dormouse_words::storage::predict::{Answer, Side, predict as page};
use std::path::PathBuf;

/// Predict requests if storage slept later or ran at another clock.
///
/// Takes a recording in which requests waited for the storage to wake, and lets it
/// fall asleep at other times. Arrivals and service stay as recorded. It refuses
/// (exit code 5) if one delay does not explain the recording itself, or if the
/// recording does not show what a clock costs. With --disk FILE it takes a disk and
/// a load that somebody described (docs/storage.md).
#[derive(Args)]
#[command(
    override_usage = "dormouse predict [OPTIONS] <INPUT>...\n       dormouse predict [OPTIONS] --disk <FILE> [--load <FILE>]",
    after_help = "Examples:\n  dormouse predict trace.dat --gate-delay 200ms\n  dormouse predict trace.txt --autosuspend never\n  dormouse predict --disk ufs.disk --qos parent --timeout 30ms"
)]
pub(crate) struct PredictArgs {
    /// Traces, or folders of them; `-` is standard input.
    input: Vec<PathBuf>,
    /// Delay before UFS gates its clock (clkgate_delay_ms), or `never`.
    #[arg(long, value_name = "TIME", value_parser = delay)]
    gate_delay: Option<Delay>,
    /// Delay before runtime suspend (autosuspend_delay_ms), or `never`.
    #[arg(long, value_name = "TIME", value_parser = delay)]
    autosuspend: Option<Delay>,
    /// Who chooses the clock.
    #[arg(long, value_name = "GOVERNOR")]
    governor: Option<Choice>,
    /// Time between two looks of the governor (polling_interval).
    #[arg(long, value_name = "TIME", value_parser = time)]
    poll: Option<i64>,
    /// Lower limit of the clock, such as 200MHz.
    #[arg(long, value_name = "CLOCK", value_parser = clock)]
    min_freq: Option<u64>,
    /// Upper limit of the clock.
    #[arg(long, value_name = "CLOCK", value_parser = clock)]
    max_freq: Option<u64>,
    /// Where requests raise the clock: where devfreq listens, on the disk, nowhere.
    #[arg(long, value_name = "SITE")]
    qos: Option<Place>,
    /// When that is dropped after the last request.
    #[arg(long, value_name = "TIME", value_parser = time)]
    timeout: Option<i64>,
    /// The disk: such as 8,0 of a recording, or a file that describes one.
    #[arg(long, value_name = "DISK")]
    disk: Option<String>,
    /// A file with the load of a described disk.
    #[arg(long, value_name = "FILE", requires = "disk")]
    load: Option<PathBuf>,
    /// Everything, for programs (docs/storage-json.md).
    #[arg(long)]
    json: bool,
}

/// Who chooses the clock.
#[derive(Clone, Copy, Debug, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Choice {
    SimpleOndemand,
    Performance,
    Powersave,
}

/// Where quality of service is asked for.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Place {
    Parent,
    Lun,
    Off,
}

/// ns, or never.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delay(pub Option<i64>);

pub(crate) fn delay(text: &str) -> Result<Delay, String> {
    if text == "never" {
        return Ok(Delay(None));
    }
    let time = dormouse_board::parse_duration(text).map_err(|e| format!("{e}, or never"))?;
    Ok(Delay(Some(time.0)))
}

pub(crate) fn disk(text: &str) -> Result<Disk, String> {
    let odd = || "a disk by its numbers, such as 8,0".to_string();
    let (major, minor) = text.split_once(',').ok_or_else(odd)?;
    let number = |s: &str| s.parse().map_err(|_| odd());
    Ok(Disk { major: number(major)?, minor: number(minor)? })
}

impl PredictArgs {
    fn change(&self) -> Change {
        Change {
            gate: self.gate_delay.map(|d| d.0),
            autosuspend: self.autosuspend.map(|d| d.0),
            governor: self.governor.map(|g| match g {
                Choice::SimpleOndemand => Governor::SimpleOndemand(Thresholds::default()),
                Choice::Performance => Governor::Performance,
                Choice::Powersave => Governor::Powersave,
            }),
            poll: self.poll,
            least: self.min_freq,
            most: self.max_freq,
            site: self.qos.map(|q| match q {
                Place::Parent => Site::Parent,
                Place::Lun => Site::Lun,
                Place::Off => Site::Off,
            }),
            timeout: self.timeout,
        }
    }
}

/// Runs the verb.
pub(crate) fn run(args: &PredictArgs, given: &Given) -> Result<()> {
    let change = args.change();
    let number = args.disk.as_deref().and_then(|d| disk(d).ok());
    if let (Some(file), None) = (&args.disk, number) {
        if !args.input.is_empty() {
            let why = format!("--disk {file} is no disk of a recording; such as 8,0");
            return Err(Usage(why).into());
        }
        return of_file(args, file, &change);
    }
    if args.input.is_empty() {
        return Err(
            Usage("give a recording, or a disk: --disk FILE (docs/storage.md)".into()).into()
        );
    }
    if args.load.is_some() {
        return Err(Usage("a recording has its own load; --load needs --disk FILE".into()).into());
    }
    if change.of_clock() {
        return of_clocks(args, given, &change, number);
    }
    let (asked, Delay(delay)) = match (args.gate_delay, args.autosuspend) {
        (Some(_), Some(_)) => {
            let why =
                "of a recording one delay is changed at a time: --gate-delay or --autosuspend";
            return Err(Usage(why.into()).into());
        }
        (Some(d), None) => (Asked::Gate, d),
        (None, Some(d)) => (Asked::Autosuspend, d),
        (None, None) => {
            return Err(Usage("say what would change, such as --autosuspend 500ms".into()).into());
        }
    };
    let p = predict(given, asked, delay, number)?;
    let answer = answer(&p);
    if args.json {
        return terminal::print(&document(PREDICT, "storage", answer));
    }
    terminal::print(&page(&answer, terminal::wants_colour()))
}

/// Of a disk that somebody described.
fn of_file(args: &PredictArgs, file: &str, change: &Change) -> Result<()> {
    let f = described(file.as_ref(), args.load.as_deref(), change)?;
    let again = again().join(" ");
    let answer = model::Answer {
        source: file,
        again: &again,
        recorded: None,
        drive: &f.described.drive,
        powers: &f.described.powers,
        even: &f.even,
        basis: basis(f.basis),
        before: side(&f.described.settings, &f.before),
        after: f.after.as_ref().map(|(s, o)| side(s, o)),
        oracle: model::Side { settings: None, outcome: &f.oracle },
        rule: side(&f.rule.0, &f.rule.1),
    };
    shown(args, &answer)
}

/// What break-even times are of, as the end of a sentence.
pub(crate) fn basis(b: Basis) -> &'static str {
    match b {
        Basis::Powers => " of these powers",
        Basis::Given => " as given",
        Basis::Times => ", without powers the time of going there and back",
    }
}

fn side<'a>(settings: &'a Settings, outcome: &'a Outcome) -> model::Side<'a> {
    model::Side { settings: Some(settings), outcome }
}

fn shown(args: &PredictArgs, answer: &model::Answer<'_>) -> Result<()> {
    if args.json {
        return terminal::print(&document(PREDICT, "disk", model::json(answer)));
    }
    terminal::print(&model::model(answer, terminal::wants_colour()))
}

/// Another clock, of a recording that shows what clocks cost.
fn of_clocks(
    args: &PredictArgs,
    given: &Given,
    change: &Change,
    number: Option<Disk>,
) -> Result<()> {
    let c = clocked(given, change, number)?;
    let again = again().join(" ");
    let o = &c.observed;
    let answer = model::Answer {
        source: &o.source,
        again: &again,
        recorded: Some(o.recorded),
        drive: &o.drive,
        powers: &c.powers,
        even: &c.even,
        basis: ", without powers the time of going there and back",
        before: side(&o.settings, &o.before),
        after: Some(side(&c.after.0, &c.after.1)),
        oracle: model::Side { settings: None, outcome: &c.oracle },
        rule: side(&c.rule.0, &c.rule.1),
    };
    shown(args, &answer)
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
        present_above: s.present.0,
        present_at_most: s.present.1,
        taken: s.taken,
        taken_known: s.known,
        wake: s.wake,
        unasked: s.unasked,
        recorded: Side { latency: s.recorded, wakes: s.wakes, asleep: None },
        model: Side { asleep: s.known.then_some(s.model.1.asleep), ..side(&s.model) },
        changed: side(&p.changed),
        oracle: side(&p.oracle),
        rule: side(&p.rule),
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
