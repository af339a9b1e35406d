//! A phase that was longer with the livepatch in one cycle: whether it is in most. One
//! cycle of a guest may have an interrupt or a timer in it that another has not.

use super::boards::Named;
use super::boots::{KERNEL, READY, at_once, folder};
use super::checked::{Checked, most, ms};
use super::foretell::median;
use super::guest::{Done, Played, Way, play};
use anyhow::{Context, Result};
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;
use dormouse_lab::kernels::Kernel;

/// In turns, so that what the guest does over time meets both.
const TURNS: [Way; 8] = [KERNEL, READY, KERNEL, READY, KERNEL, READY, KERNEL, READY];
/// Cycles of each turn; the first is cold.
const CYCLES: u32 = 3;

/// Phases that were longer with the livepatch.
pub(crate) struct Longer<'a> {
    /// Which of the kernels.
    pub kernel: usize,
    pub board: &'a Named,
    /// Each, and whether in the cold cycle.
    pub phases: Vec<(Phase, bool)>,
}

/// Boots each board of `longer` alone, prints the medians of its phases and adds its
/// cycles to `checked`. Gives how many phases are still longer.
pub(crate) fn again(
    kernels: &[(&str, Kernel)],
    longer: &[Longer],
    checked: &mut Checked,
) -> Result<usize> {
    let phases: usize = longer.iter().map(|l| l.phases.len()).sum();
    if phases == 0 {
        return Ok(0);
    }
    let turns = TURNS.len() / 2;
    println!(
        "Measured again, in boots of their own: the {phases} phases that were longer with the \
         livepatch. Medians, least and most of {turns} cold or {} warm cycles, ms:",
        turns * (CYCLES as usize - 1)
    );
    let mut still = 0;
    for (one, done) in longer.iter().zip(&booted(kernels, longer)?) {
        let series = kernels[one.kernel].0;
        let title = format!("{} {series}", one.board.0);
        checked.faults(series, done);
        for played in &done.boards {
            checked.check(&title, one.board, played, &TURNS);
            for &(phase, cold) in &one.phases {
                let [kernel, ready] = [0, 1].map(|way| times(played, way, phase, cold));
                let [is, asked] = [&ready, &kernel].map(|all| median(all.clone()));
                let more = is > most(asked);
                still += usize::from(more);
                println!(
                    "{title:20} {} {:13} kernel {}, livepatch {}{}",
                    if cold { "cold" } else { "warm" },
                    phase.title(),
                    told(&kernel),
                    told(&ready),
                    if more { ": longer" } else { "" },
                );
            }
        }
    }
    println!("Longer in the median: {still} of {phases}.\n");
    Ok(still)
}

/// A boot for each of `longer`, in their order.
fn booted(kernels: &[(&str, Kernel)], longer: &[Longer]) -> Result<Vec<Done>> {
    let boots = at_once(kernels, |k| {
        let (series, kernel) = &kernels[k];
        let of_kernel = longer.iter().enumerate().filter(|(_, l)| l.kernel == k);
        of_kernel
            .map(|(n, l)| {
                let board = std::slice::from_ref(l.board);
                let done = play(kernel, board, &TURNS, CYCLES, &folder().join(series));
                let done = done.with_context(|| format!("{series}: {} again", l.board.0))?;
                eprintln!("schedulers: {series}: {} again in {} s", l.board.0, done.took.as_secs());
                Ok((n, done))
            })
            .collect::<Result<Vec<_>>>()
    })?;
    let mut all: Vec<(usize, Done)> = boots.into_iter().flatten().collect();
    all.sort_by_key(|(n, _)| *n);
    Ok(all.into_iter().map(|(_, done)| done).collect())
}

/// Of the cold or the warm cycles of all turns of a way.
fn times(played: &Played, way: usize, phase: Phase, cold: bool) -> Vec<Ns> {
    let turns = played.ways.iter().skip(way).step_by(2);
    let cycles = turns.flat_map(|seen| if cold { &seen.cycles[..1] } else { &seen.cycles[1..] });
    cycles.map(|c| c.phases.get(&phase).copied().unwrap_or_default()).collect()
}

/// `15.09 (15.05..15.16)`.
fn told(times: &[Ns]) -> String {
    let least = times.iter().min().copied().unwrap_or_default();
    let most = times.iter().max().copied().unwrap_or_default();
    format!("{} ({}..{})", ms(median(times.to_vec())), ms(least), ms(most))
}
