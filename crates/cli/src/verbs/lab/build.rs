//! `dormouse lab build`: a kernel of your own, under a name.

use crate::number::number;
use crate::terminal::print;
use anyhow::Result;
use clap::Args;
use dormouse_lab::kernels::build::{Built, Config, Order, build, build_each};
use dormouse_words::lab as written;
use std::path::PathBuf;

/// A kernel, and what becomes of it.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  dormouse lab build 6.12 --name plain\n  dormouse lab build 6.12 --name mine --patch 0001-*.patch\n  dormouse lab build 7 --name steps --patch *.patch --each\n  dormouse compare plain mine --board boards/laptop.board"
)]
pub(crate) struct BuildArgs {
    /// Series whose newest source Debian's archive has, such as 7.3, or a folder
    /// with a kernel's source, which is copied.
    source: String,
    /// What `lab run --kernel` calls it.
    #[arg(long, value_name = "NAME")]
    name: String,
    /// small: what a guest needs, built in minutes. debug: the same with KASAN,
    /// lockdep, debug objects and fault injection; its times mean nothing.
    #[arg(long, value_name = "small|debug", value_parser = config, default_value = "small")]
    config: Config,
    /// Patches, in the order in which they are applied.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    patch: Vec<PathBuf>,
    /// Build the source as it is and again after each patch, in one tree: NAME-0,
    /// NAME-1 and so on.
    #[arg(long, requires = "patch")]
    each: bool,
    /// One more line of the configuration, such as CONFIG_HZ_1000=y; may be
    /// repeated.
    #[arg(long, value_name = "CONFIG_X=VALUE", value_parser = option)]
    option: Vec<String>,
    /// Compilers at the same time.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = number::<u32>(1, 256))]
    jobs: u32,
}

fn config(text: &str) -> Result<Config, String> {
    let found = Config::ALL.into_iter().find(|c| c.name() == text);
    found.ok_or_else(|| "write small or debug".into())
}

fn option(text: &str) -> Result<String, String> {
    let name = text.split_once('=').map(|(name, _)| name).and_then(|n| n.strip_prefix("CONFIG_"));
    let plain = |n: &str| !n.is_empty() && n.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    match name {
        Some(n) if plain(n) && !text.contains('\n') => Ok(text.into()),
        _ => Err("write CONFIG_NAME=VALUE".into()),
    }
}

/// Runs the verb.
pub(crate) fn run(a: &BuildArgs) -> Result<()> {
    let order = Order {
        name: &a.name,
        source: &a.source,
        config: a.config,
        options: &a.option,
        patches: &a.patch,
        jobs: a.jobs,
    };
    let say = |step: &str| remark!("dormouse: {}: {step}", a.name);
    let all = if a.each { build_each(&order, say)? } else { vec![build(&order, say)?] };
    let facts: Vec<written::Built<'_>> = all.iter().map(fact).collect();
    print(&written::built(&facts))
}

fn fact(built: &Built) -> written::Built<'_> {
    written::Built {
        name: &built.kernel.series,
        release: &built.kernel.release,
        made_of: &built.kernel.packages,
        before: built.before,
        warnings: &built.warnings,
    }
}
