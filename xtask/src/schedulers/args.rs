//! What is asked for on the command line.

use super::boards::{Named, drawn, extremes};
use crate::decide::read_board;
use anyhow::{Context, Result, bail};
use std::path::Path;

/// Cycles of each way, unless asked otherwise: cold and warm.
const CYCLES: u32 = 2;

pub(super) struct Args {
    pub(super) kernels: Vec<String>,
    pub(super) drawn: usize,
    pub(super) seed: u64,
    pub(super) cycles: u32,
    pub(super) variants: bool,
    pub(super) only: Vec<String>,
    pub(super) boards: Vec<Named>,
}

pub(super) fn parse(args: &[String]) -> Result<Args> {
    let mut a = Args {
        kernels: vec!["6.12".into(), "7.3".into()],
        drawn: 0,
        seed: 1,
        cycles: CYCLES,
        variants: false,
        only: Vec::new(),
        boards: Vec::new(),
    };
    let mut args = args.iter();
    while let Some(word) = args.next() {
        let mut value = || args.next().with_context(|| format!("{word} needs a value"));
        match word.as_str() {
            "--kernels" => a.kernels = value()?.split(',').map(str::to_owned).collect(),
            "--drawn" => a.drawn = value()?.parse().context("--drawn takes a number")?,
            "--seed" => a.seed = value()?.parse().context("--seed takes a number")?,
            "--cycles" => {
                a.cycles = value()?.parse().context("--cycles takes a number")?;
                if a.cycles < CYCLES {
                    bail!(
                        "--cycles {}: {CYCLES} are the least, a cold one and a warm one",
                        a.cycles
                    );
                }
            }
            "--only" => a.only = value()?.split(',').map(str::to_owned).collect(),
            "--variants" => a.variants = true,
            _ if word.starts_with('-') => {
                bail!(
                    "{word}: write --kernels, --drawn, --seed, --cycles, --only, --variants or a board"
                )
            }
            _ => a.boards.push(read_board(Path::new(word))?),
        }
    }
    a.boards.extend((0..a.drawn as u64).map(|n| drawn(a.seed, n)));
    if a.boards.is_empty() {
        a.boards = extremes()?;
        for name in ["am335x", "phone", "laptop", "server"] {
            a.boards.push(read_board(Path::new(&format!("boards/{name}.board")))?);
        }
    }
    if !a.only.is_empty() {
        a.boards.retain(|(name, _)| a.only.iter().any(|o| name.starts_with(o.as_str())));
        if a.boards.is_empty() {
            bail!("--only {}: no board is called so", a.only.join(","));
        }
        a.drawn = a.boards.iter().filter(|(name, _)| name.starts_with("drawn")).count();
    }
    Ok(a)
}
