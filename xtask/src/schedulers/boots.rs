//! All boards on all kernels, boot by boot.

use super::boards::Named;
use super::costs::{self, Known};
use super::guest::{Done, Way, play};
use anyhow::{Context, Result};
use dormouse_lab::kernels::Kernel;
use std::path::PathBuf;

pub(super) const KERNEL: Way = Way { name: "kernel", parameters: None };

pub(super) const READY: Way = Way { name: "ready", parameters: Some("") };

/// The kernel, the livepatch, and the same without list order.
pub(super) const WAYS: [Way; 3] =
    [KERNEL, READY, Way { name: "conserve", parameters: Some("conserve=1") }];

/// Boards of one boot, and their devices, each in so many cycles: the guest's memory holds
/// the results.
const PER_BOOT: usize = 16;

const DEVICE_CYCLES_PER_BOOT: usize = 12_000;

/// Where recordings and costs are kept.
const FOLDER: &str = "target/schedulers";

/// Boards that fit in one boot each.
fn boots(boards: &[Named], cycles: u32) -> Vec<&[Named]> {
    let most = DEVICE_CYCLES_PER_BOOT / cycles as usize;
    let mut out = Vec::new();
    let mut rest = boards;
    while !rest.is_empty() {
        let mut devices = 0;
        let fits = |b: &&Named| {
            devices += b.1.devices.len();
            devices <= most
        };
        let n = rest.iter().take(PER_BOOT).take_while(fits).count().max(1);
        out.push(&rest[..n]);
        rest = &rest[n..];
    }
    out
}

/// What `boards` did on one kernel, boot by boot.
pub(super) type Boots<'a> = Vec<(&'a [Named], Done)>;

/// Does `work` for each of `kernels`, by number, for all at the same time.
pub(super) fn at_once<T: Send>(
    kernels: &[(&str, Kernel)],
    work: impl Fn(usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    std::thread::scope(|s| {
        let work = &work;
        let threads: Vec<_> = (0..kernels.len()).map(|k| s.spawn(move || work(k))).collect();
        let ended = |t: std::thread::ScopedJoinHandle<'_, Result<T>>| {
            t.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().map(ended).collect()
    })
}

/// Boots all `boards` on each of `kernels`, for `cycles` in each of the ways that it has.
/// The modules that the guests load are built before: [`costs_of`] does that.
pub(super) fn booted<'a>(
    kernels: &[(&str, Kernel)],
    boards: &'a [Named],
    cycles: u32,
    ways: impl Fn(&Kernel) -> &'static [Way] + Sync,
) -> Result<Vec<Boots<'a>>> {
    at_once(kernels, |k| {
        let (series, kernel) = &kernels[k];
        let folder = folder().join(series);
        boots(boards, cycles)
            .into_iter()
            .map(|some| {
                let done = play(kernel, some, ways(kernel), cycles, &folder)
                    .with_context(|| (*series).to_owned())?;
                let took = done.took.as_secs();
                eprintln!("schedulers: {series}: {} boards in {took} s", some.len());
                Ok((some, done))
            })
            .collect()
    })
}

/// The folder of recordings and costs.
pub(super) fn folder() -> PathBuf {
    PathBuf::from(FOLDER)
}

/// What the guest's machinery costs on `kernel`.
pub(super) fn costs_of(kernel: &Kernel, seed: u64) -> Result<Known> {
    costs::known(kernel, seed, &folder()).context("costs of the guest")
}
