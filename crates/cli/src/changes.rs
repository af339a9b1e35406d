//! Changes of a machine as options of a verb.

use crate::exit::Usage;
use crate::machine;
use anyhow::Result;
use clap::Args;
use dormouse_model::capture::Capture;
use dormouse_sleep::analyse::explain;
use dormouse_sleep::simulate::change::{Change, Wishes};
use dormouse_sleep::simulate::infer;
use dormouse_sleep::simulate::predict::{Question, predict};
use dormouse_write::Explained;

/// What may be asked to change; several changes combine.
#[derive(Args)]
pub struct ChangeArgs {
    /// Kernel release such as 6.12 or 7.3, or a policy such as G1 or DC.
    #[arg(long, value_name = "V|POLICY")]
    pub kernel: Option<String>,
    /// /sys/power/pm_async.
    #[arg(long, value_name = "0|1", value_parser = clap::value_parser!(u8).range(0..=1))]
    pm_async: Option<u8>,
    /// Make matching devices asynchronous (name or DRIVER/NAME, * and ?).
    #[arg(long = "async", value_name = "PATTERN")]
    asynchronous: Vec<String>,
    /// Make matching devices synchronous.
    #[arg(long, value_name = "PATTERN")]
    sync: Vec<String>,
    /// Take matching devices away, with what depends on them.
    #[arg(long, value_name = "PATTERN")]
    without: Vec<String>,
    /// Multiply the times of matching devices, such as 'usb*=0.5'.
    #[arg(long, value_name = "PATTERN=F")]
    scale: Vec<String>,
    /// Number of CPUs.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub cpus: Option<u32>,
}

impl ChangeArgs {
    /// Nothing was asked to change.
    pub fn is_empty(&self) -> bool {
        self.kernel.is_none() && self.pm_async.is_none() && self.cpus.is_none() && {
            let lists = [&self.asynchronous, &self.sync, &self.without, &self.scale];
            lists.iter().all(|l| l.is_empty())
        }
    }

    /// The changes in the order in which they are applied.
    ///
    /// # Errors
    /// If a factor is none.
    pub fn list(&self) -> Result<Vec<Change>> {
        let wishes = Wishes {
            without: &self.without,
            pm_async: self.pm_async.map(|on| on == 1),
            asynchronous: &self.asynchronous,
            sync: &self.sync,
            scale: &self.scale,
            cpus: self.cpus,
        };
        Ok(wishes.list().map_err(|e| Usage(format!("--scale {e}")))?)
    }

    /// The cycle that is predicted for the machine of `capture`, explained like
    /// an observed one.
    ///
    /// # Errors
    /// As `predict`.
    pub fn predicted(&self, capture: &Capture) -> Result<Explained> {
        let (derived, release) = infer::machine(capture).map_err(Usage)?;
        let settings = machine::settings("x86", self.cpus)?;
        let (now, _) = machine::kernel_now(None, &release)?;
        let then = self.kernel.as_deref().map_or(Ok(now), machine::scheduler)?;
        let changes = self.list()?;
        let question = Question {
            derived: &derived,
            now,
            then,
            changes: &changes,
            settings: &settings,
            seed: 1,
            samples: 0,
        };
        let p = predict(&question).map_err(Usage)?;
        let capture = Capture {
            names: p.changed.board.names,
            graph: p.changed.board.graph,
            cycles: vec![p.after.run.cycle],
            ..Capture::default()
        };
        Ok(Explained { views: explain(&capture), capture })
    }
}
