//! `tune --apply`: tries flags on this machine and keeps them if they help.

use crate::number::{any, number};
use crate::recording::{Print, SleepArgs, Terminal, observer, restore_on_panic, what_it_does};
use crate::terminal;
use crate::verbs::restore;
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use dormouse_app::compare::refused;
use dormouse_app::failure::Usage;
use dormouse_board::Board;
use dormouse_model::capture::Capture;
use dormouse_model::cycle::Outcome;
use dormouse_model::device::Device;
use dormouse_model::phase::Direction;
use dormouse_model::time::Ns;
use dormouse_read::{Options as Reader, read_bytes};
use dormouse_record::apply::{self, Flags, Measured};
use dormouse_record::guard::Restored;
use dormouse_record::options::Options;
use dormouse_record::recording::Recording;
use dormouse_record::root::Root;
use dormouse_sleep::acceptance::{Judgement, LEAST_PAIRS, Pair, Slept, judge, order};
use dormouse_sleep::analyse::explain;
use dormouse_sleep::compare::{Subject, compare};
use dormouse_sleep::tune::Tuned;
use dormouse_write::comparison::{json as compared, text as written};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// How to try the flags.
#[derive(Args)]
#[command(next_help_heading = "With --apply")]
pub struct ApplyArgs {
    /// Set the flags on this machine, let it sleep with and without them, and
    /// keep them only if it is faster (p < 0.01); otherwise every flag is put
    /// back. Needs root and --yes, and a recording of this machine as input.
    #[arg(long)]
    apply: bool,
    /// Cycles without the flags, and as many with them. They come in pairs, and
    /// a coin says for each which is first, so that a machine that gets
    /// slower or faster meanwhile favours neither.
    #[arg(long, value_name = "N", default_value_t = 10, requires = "apply",
          value_parser = number(LEAST_PAIRS as u32, 1_000))]
    cycles: u32,
    /// Number that the coin is made of; the same number gives the same order
    /// [default: another one each time, and printed].
    #[arg(long, value_name = "N", requires = "apply", value_parser = any)]
    order_seed: Option<u64>,
    #[command(flatten)]
    sleep: SleepArgs,
}

/// What came of it.
pub struct Applied {
    /// The flags stay.
    pub kept: bool,
    /// For a terminal.
    pub text: String,
    /// For JSON.
    pub json: Value,
}

impl ApplyArgs {
    /// Whether the flags shall be tried. Called before anything is computed.
    ///
    /// # Errors
    /// If they shall, but that is not possible here.
    pub fn is_asked(&self, json: bool) -> Result<bool> {
        let sleep = &self.sleep;
        if !self.apply {
            if sleep.yes || sleep.dry_run {
                let advice = "--yes and --dry-run are for --apply: add it to try the flags here";
                return Err(Usage(advice.into()).into());
            }
            return Ok(false);
        }
        if json && (sleep.dry_run || !sleep.yes) {
            return Err(Usage("a dry run prints commands: leave out --json".into()).into());
        }
        if sleep.yes && !sleep.dry_run && !sleep.may_write() {
            let advice = "--apply writes to /sys: run it as root (sudo dormouse tune …)";
            return Err(Usage(advice.into()).into());
        }
        Ok(true)
    }

    /// Whether the flags of `board` could be set on a machine: it says where its
    /// devices are in sysfs.
    ///
    /// # Errors
    /// If it does not.
    pub fn can_be_of_a_machine(board: &Board, input: &Path) -> Result<()> {
        let known = |d: &Device| !board.names.get(d.facts.devpath).is_empty();
        if board.graph.devices.iter().any(known) {
            return Ok(());
        }
        Err(Usage(format!(
            "--apply needs a recording of this machine (dormouse record); {} does not say where \
             its devices are in sysfs: it is a board, a log, or from the laboratory",
            input.display()
        ))
        .into())
    }

    /// Tries what `tuned` proposes for `board`, and saves the recordings in the
    /// folder `keep`. `None` after a dry run.
    ///
    /// # Errors
    /// If the flags are not those of this machine, or recording fails. Every
    /// flag is as it was then.
    pub fn run(
        &self,
        board: &Board,
        tuned: &Tuned,
        keep: Option<&Path>,
    ) -> Result<Option<Applied>> {
        let root = self.sleep.root();
        let options = self.sleep.options(self.cycles);
        let flags = flags(board, tuned)?;
        let pending = flags.pending(&root).map_err(|e| Usage(e.to_string()))?;
        if pending.is_empty() {
            let why = "this machine has every flag like that already, nothing to try".to_string();
            return Ok(Some(Applied {
                kept: false,
                json: json!({ "kept": false, "why": why, "pairs": null, "comparison": null }),
                text: format!("\nNot tried: {why}.\n"),
            }));
        }
        if self.sleep.dry_run || !self.sleep.yes {
            return self.rehearse(&root, &options, &flags).map(|()| None);
        }
        if let Some(folder) = keep {
            fs::create_dir_all(folder)
                .with_context(|| format!("cannot make {}", folder.display()))?;
        }
        restore_on_panic(&root, &options.journal);
        let mut observer = observer()?;
        let seed = self.order_seed.unwrap_or_else(any_seed);
        let with_first = order(self.cycles as usize, seed);
        let mut watch = Terminal::new(self.all_sleeps())?;
        let measured =
            apply::measure(&root, &options, &flags, &with_first, &mut *observer, &mut watch)?;
        watch.bar.finish_and_clear();
        let saved = keep.map_or(Ok(String::new()), |folder| save(folder, &measured))?;
        whole(&measured)?;
        let judgement = judge(&pairs(&measured)?);
        let (text, comparison) = compared_sides(&measured)?;
        let mut kept = 0;
        if judgement.keep() {
            kept = apply::keep(&root, &options.journal, &flags, &mut *observer)
                .context("it is faster, but the flags could not be kept; they were put back")?;
        }
        Ok(Some(Applied {
            kept: judgement.keep(),
            text: format!(
                "\n{text}\n{saved}{}{}",
                in_pairs(&judgement, &with_first, seed),
                verdict(&judgement, kept)
            ),
            json: json!({
                "kept": judgement.keep(),
                "why": judgement.why(),
                "order_seed": seed,
                "with_first": with_first,
                "pairs": pairs_json(&judgement),
                "comparison": comparison,
            }),
        }))
    }

    /// All the machine sleeps, with the warm-up.
    fn all_sleeps(&self) -> u32 {
        apply::sleeps(self.cycles as usize) as u32
    }

    fn rehearse(&self, root: &Root, options: &Options, flags: &Flags) -> Result<()> {
        let mut print = Print::default();
        apply::rehearse(root, options, flags, &mut print)?;
        say!(
            "# {} writes: a cycle without the flags, one with them (every change is put back after \
             each\n# cycle), and the flags to stay, if it is faster. Nothing was done.",
            print.writes
        );
        if self.sleep.dry_run {
            return Ok(());
        }
        let what = what_it_does(options, self.all_sleeps());
        Err(Usage(format!("the above would {what}: add --yes to do it")).into())
    }
}

/// The flags as paths of this machine.
fn flags(board: &Board, tuned: &Tuned) -> Result<Flags> {
    let mut flags = Flags { pm_async: tuned.pm_async, devices: Vec::new() };
    for f in &tuned.flips {
        let d = board.graph.get(f.device);
        let path = board.names.get(d.facts.devpath);
        if path.is_empty() {
            return Err(Usage(format!(
                "--apply: the input does not say where {} is in sysfs: record this machine with \
                 `dormouse record` and tune that",
                board.names.get(d.name)
            ))
            .into());
        }
        let path = if path.starts_with("/sys/") { path.into() } else { format!("/sys{path}") };
        flags.devices.push((path, f.to_async));
    }
    Ok(flags)
}

/// An error unless every cycle was recorded and every knob put back.
fn whole(measured: &Measured) -> Result<()> {
    restore::complain(&Restored { failed: measured.failed.clone(), ..Restored::default() })?;
    if let Some(e) = &measured.error {
        bail!("{e}; the flags were not kept, and every setting was put back");
    }
    ensure!(!measured.stopped, "stopped: the flags were not kept, and every setting was put back");
    Ok(())
}

/// A number that nobody has chosen, short, so that it can be typed again.
fn any_seed() -> u64 {
    let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    u64::from(time.unwrap_or_default().subsec_micros())
}

/// Saves what was recorded; says to which files.
fn save(folder: &Path, measured: &Measured) -> Result<String> {
    let mut text = String::new();
    for (label, with_flags) in SIDES {
        let side = measured.side(with_flags);
        if !side.is_empty() {
            let path = folder.join(format!("{label}.tar.gz"));
            side.save(&path).with_context(|| format!("cannot write {}", path.display()))?;
            text.push_str(&format!("Wrote {}.\n", path.display()));
        }
    }
    Ok(text)
}

const SIDES: [(&str, bool); 2] = [("without", false), ("with", true)];

fn captures(label: &str, recording: &Recording) -> Result<Vec<Capture>> {
    let bytes = dormouse_record::file::encode(recording, Vec::new())?;
    Ok(read_bytes(label, &bytes, &Reader::default())?.captures)
}

/// The pairs as they slept.
fn pairs(measured: &Measured) -> Result<Vec<Pair>> {
    let mut pairs: Vec<Pair> = Vec::new();
    for t in &measured.tries {
        let Some(n) = t.pair else { continue };
        pairs.resize(pairs.len().max(n + 1), Pair::default());
        let slept = slept(&captures("try", &t.recording)?);
        if t.with_flags {
            pairs[n].with = slept;
        } else {
            pairs[n].without = slept;
        }
    }
    Ok(pairs)
}

/// The one cycle of a recording, if it is whole.
fn slept(captures: &[Capture]) -> Option<Slept> {
    let [capture] = captures else { return None };
    let views = explain(capture);
    let (Some(cycle), Some(view)) = (capture.cycles.first(), views.first()) else { return None };
    let total = |d| Ns(view.rows.counted(d).0);
    (capture.cycles.len() == 1 && cycle.outcome == Outcome::Slept)
        .then(|| Slept { suspend: total(Direction::Suspend), resume: total(Direction::Resume) })
}

/// The two sides beside each other, as text and JSON.
fn compared_sides(measured: &Measured) -> Result<(String, Value)> {
    let mut sides = Vec::new();
    for (label, with_flags) in SIDES {
        sides.push(captures(label, &measured.side(with_flags))?);
    }
    let views: Vec<Vec<_>> = sides.iter().map(|s| s.iter().map(explain).collect()).collect();
    let subjects: Vec<Subject<'_>> = SIDES
        .into_iter()
        .zip(sides.iter().zip(&views))
        .map(|((label, _), (captures, views))| Subject {
            label: label.into(),
            captures: captures.iter().zip(views).map(|(c, v)| (c, v.as_slice())).collect(),
        })
        .collect();
    let comparison = compare(&subjects, false).map_err(refused)?;
    Ok((written::text(&comparison, &[]), compared::json(&comparison)))
}

/// What the pairs say, and in which order they slept.
fn in_pairs(j: &Judgement, with_first: &[bool], seed: u64) -> String {
    let order: String = with_first.iter().map(|first| if *first { 'w' } else { 'o' }).collect();
    let mut text = format!(
        "In {} pairs of sleeps, ordered by a coin (--order-seed {seed}: {order}, w = with the \
         flags first, o = without them first)",
        j.pairs
    );
    let time = |ns: f64| Ns(ns.abs() as i64);
    let sign = |ns: f64| if ns < 0.0 { "-" } else { "+" };
    let e = &j.effect;
    if j.pairs > 0 {
        let (name, p) = match e.test.estimate {
            d if d < 0.0 => ("faster", e.test.p_below),
            _ => ("slower", e.test.p_above),
        };
        text.push_str(&format!(
            ", suspend plus resume took {} without and {} with the flags: {} {name}",
            time(e.without),
            time(e.with),
            time(e.test.estimate)
        ));
        if let Some((low, high)) = e.interval {
            text.push_str(&format!(
                " ({}{} to {}{} at 99 %)",
                sign(low),
                time(low),
                sign(high),
                time(high)
            ));
        }
        text.push_str(&format!(", p = {:.4} by the coin alone", (2.0 * p).min(1.0)));
    }
    terminal::wrapped(&(text + ".")) + "\n"
}

fn pairs_json(j: &Judgement) -> Value {
    let e = &j.effect;
    let number = |x: f64| if x.is_nan() { Value::Null } else { json!(x) };
    json!({
        "count": j.pairs,
        "without": number(e.without),
        "with": number(e.with),
        "difference": number(e.test.estimate),
        "interval_99": e.interval.map(|(low, high)| [low, high]),
        "p_faster": e.test.p_below,
        "p_slower": e.test.p_above,
    })
}

fn verdict(judgement: &Judgement, kept: usize) -> String {
    let why = judgement.why();
    if !judgement.keep() {
        return terminal::wrapped(&format!("Put back: {why}. Every flag is as it was."));
    }
    let flags = if kept == 1 { "One flag is".to_string() } else { format!("{kept} flags are") };
    terminal::wrapped(&format!(
        "Kept: {why}. {flags} set until the next start; `dormouse restore --kept` puts them back \
         before that."
    ))
}
