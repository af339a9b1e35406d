//! Who starts devices: the kernel's own walk beside the livepatch of
//! `kernel/scheduler`, on the same boards and kernels, and beside what the simulator
//! foretells of both.
//!
//! `schedulers [--kernels LIST] [--drawn N] [--seed S] [--cycles N] [--only NAMES]
//! [--variants] [BOARD…]`: each board on each kernel, in one boot with others: the
//! kernel alone, the livepatch, and the livepatch that takes the next ready synchronous
//! device (`conserve`). The first of `--cycles` (2) cycles of each is cold, the others
//! are warm: of those medians are compared, and an order that not all of them have is
//! none. Every cycle's order is checked by `order`, which knows nothing of schedulers. A
//! phase that was longer with the livepatch is measured again (`again`). `--only` leaves
//! those of the boards named and drawn whose name begins so.
//! With `--variants` it compares the policies of `kernel/scheduler/variants.c` instead.
//! `schedulers roots RECORDING…` says why a test for roots helps little there.

mod again;
mod args;
mod boards;
mod boots;
mod checked;
mod costs;
mod foretell;
mod guest;
mod judge;
pub(crate) mod order;
mod roots;
mod variants;

use crate::missed::MISSED;
use anyhow::Result;
use args::parse;
use dormouse_lab::kernels::{self, Kernel};
use dormouse_lab::qemu::Arch;
use std::process::ExitCode;

/// Prints the tables; [`MISSED`] if anything asked for is missed.
pub(crate) fn run(args: &[String]) -> Result<ExitCode> {
    if let Some(("roots", files)) = args.split_first().map(|(f, rest)| (f.as_str(), rest)) {
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        roots::explain(&files)?;
        return Ok(ExitCode::SUCCESS);
    }
    let a = parse(args)?;
    let kernels: Vec<(&str, Kernel)> = a
        .kernels
        .iter()
        .map(|series| Ok((series.as_str(), kernels::get(Arch::Amd64, series)?)))
        .collect::<Result<_>>()?;
    let met =
        if a.variants { variants::compare(&a, &kernels)? } else { judge::compare(&a, &kernels)? };
    println!("{}", if met { "PASS" } else { "MISSED" });
    Ok(if met { ExitCode::SUCCESS } else { ExitCode::from(MISSED) })
}
