//! `dormouse boot`: what becomes of devices at boot.

use crate::terminal;
use crate::verbs::board::TreeArgs;
use crate::verbs::domains;
use anyhow::Result;
use clap::Args;
use dormouse_app::boot::{Question, against, check, is_tree, modules};
use dormouse_app::failure::{NotMet, Usage};
use dormouse_read::Given;
use dormouse_words::boot::{json, text};
use dormouse_words::document::{CHECK, document};
use std::path::PathBuf;

/// Check which devices will not probe, or late, and why.
///
/// From a device tree: by the rules of a kernel. From a kernel log, devices_deferred or
/// links: what they say, as "dormouse show --only domains".
#[derive(Args)]
#[command(
    after_help = "Examples:\n  dormouse check board.dtb --kernel 6.12 --without gpu\n  dormouse check dmesg.txt"
)]
pub(crate) struct CheckArgs {
    /// A device tree blob, or a text that quotes a kernel.
    input: PathBuf,
    #[command(flatten)]
    tree: TreeArgs,
    /// A kernel's folder of modules (/lib/modules/RELEASE): only drivers that it has, or
    /// that the image of --early-of has built in.
    #[arg(long, value_name = "DIR")]
    modules: Option<PathBuf>,
    /// A device, a compatible or a module without a driver; may be repeated.
    #[arg(long, value_name = "NAME")]
    without: Vec<String>,
    /// The kernel is told deferred_probe_timeout=0: it waits for ever.
    #[arg(long)]
    no_timeout: bool,
    /// Also say what another kernel (6.12) or another mode (off) changes.
    #[arg(long, value_name = "V|MODE")]
    against: Option<String>,
    /// At most N entries per list.
    #[arg(long, value_name = "N", default_value_t = 8, conflicts_with = "json")]
    top: usize,
    /// Everything, for programs (docs/check-json.md).
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub(crate) fn run(a: &CheckArgs, given: &Given) -> Result<()> {
    let blob = (!a.input.is_dir()).then(|| given.raw(&a.input)).transpose()?;
    let Some(blob) = blob.filter(|b| is_tree(b)) else {
        return domains::verdict(given, a.top, a.json);
    };
    let mut wish = a.tree.wish()?;
    wish.timed_out = !a.no_timeout;
    let other = match &a.against {
        None => None,
        Some(word) => Some(against(&wish, word).ok_or_else(|| {
            Usage(format!(
                "--against {word}: write a release such as 6.12, or rpm, on, permissive, off"
            ))
        })?),
    };
    let question = Question {
        against: other,
        modules: a
            .modules
            .as_deref()
            .map(|m| modules(m, a.tree.early_of.as_deref()))
            .transpose()?,
        without: a.without.clone(),
        wish,
    };
    let name = a.input.display().to_string();
    let (said, never) = check(&blob, &question, |b| {
        let said = match a.json {
            true => document(CHECK, "boot", json(b)),
            false => text(b, &name, a.top),
        };
        (said, b.verdict.never.len())
    })?;
    terminal::print(&said)?;
    match never {
        0 => Ok(()),
        1 => Err(NotMet("1 device never probes".into()).into()),
        n => Err(NotMet(format!("{n} devices never probe")).into()),
    }
}
