//! `tune --apply`: tries flags on this machine and keeps them if they help.

use crate::asked::{again, without_option};
use crate::number::{any, number};
use crate::recording::{Print, SleepArgs, Terminal, observer, restore_on_panic, what_it_does};
use crate::verbs::restore;
use anyhow::Result;
use clap::Args;
use dormouse_app::apply::{Host, Judged, attempt, flags};
use dormouse_app::failure::Usage;
use dormouse_board::Board;
use dormouse_machine::apply::{self, Flags};
use dormouse_machine::guard::Restored;
use dormouse_machine::options::Options;
use dormouse_machine::root::Root;
use dormouse_sleep::acceptance::{Judgement, LEAST_PAIRS, order};
use dormouse_sleep::compare::Comparison;
use dormouse_sleep::tune::Tuned;
use dormouse_words::comparison::{json as compared, text as written};
use dormouse_words::decision::apply as applied;
use dormouse_words::wording::next::next;
use serde_json::{Value, json};
use std::path::Path;

/// How to try the flags.
#[derive(Args)]
#[command(next_help_heading = "With --apply")]
pub(crate) struct ApplyArgs {
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
pub(crate) struct Applied {
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
    pub(crate) fn is_asked(&self, json: bool) -> Result<bool> {
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

    /// Tries what `tuned` proposes for `board`, and saves the recordings in the
    /// folder `keep`. `None` after a dry run.
    ///
    /// # Errors
    /// If the flags are not those of this machine, or recording fails. Every
    /// flag is as it was then.
    pub(crate) fn run(
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
        restore_on_panic(&root, &options.journal);
        let mut observer = observer()?;
        let seed = self.order_seed.unwrap_or_else(any_seed);
        let with_first = order(self.cycles as usize, seed);
        let mut watch = Terminal::new(self.all_sleeps())?;
        let host =
            Host { root: &root, options: &options, observer: &mut *observer, watch: &mut watch };
        let both = |c: &Comparison<'_>| (written::text(c, &[]), compared::json(c));
        let attempt = attempt(host, &flags, &with_first, keep, both)?;
        watch.bar.finish_and_clear();
        restore::complain(&Restored { failed: attempt.failed, ..Restored::default() })?;
        let Judged { judgement, comparison: (text, comparison), kept } = attempt.judged?;
        let saved: String =
            attempt.saved.iter().map(|path| format!("Wrote {}.\n", path.display())).collect();
        Ok(Some(Applied {
            kept: judgement.keep(),
            text: format!(
                "\n{}{}\n{text}\n{saved}",
                applied::verdict(&judgement, kept),
                applied::in_pairs(&judgement, &with_first, seed)
            ),
            json: json!({
                "kept": judgement.keep(),
                "why": applied::why(&judgement),
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

    /// The same with twice as many pairs of sleeps, which show smaller differences.
    pub(crate) fn more_pairs(&self) -> String {
        let again = without_option(&again(), "--cycles");
        next(&format!("{again} --cycles {}", self.cycles.saturating_mul(2).min(1_000)))
    }

    fn rehearse(&self, root: &Root, options: &Options, flags: &Flags) -> Result<()> {
        let mut print = Print::default();
        apply::rehearse(root, options, flags, &mut print)?;
        let what = what_it_does(options, self.all_sleeps());
        say!("");
        print.show(&format!(
            "This would {what}. {} writes: a cycle without the flags, one with them (every change \
             is put back after each cycle), and the flags to stay, if it is faster. Nothing was \
             done.",
            print.writes
        ));
        if self.sleep.dry_run {
            return Ok(());
        }
        Err(Usage(format!("add --yes to {what}")).into())
    }
}

/// A number that nobody has chosen, short, so that it can be typed again.
pub(crate) fn any_seed() -> u64 {
    let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    u64::from(time.unwrap_or_default().subsec_micros())
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
