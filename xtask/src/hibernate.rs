//! Hibernations of the laboratory beside what is predicted of them from their
//! board files: how long each phase of each trip takes, and in which order the
//! callbacks start.
//!
//! `hibernate --profile FILE --guest CAPTURE BOARD=CAPTURE…`: the guest's own
//! devices do what they did in a suspend, recorded in CAPTURE. The clock jumps in
//! the callback of the guest's RTC when it was off.

use crate::accuracy::order::{Start, out_of_order};
use crate::accuracy::recorded;
use crate::decide::read_board;
use crate::missed::MISSED;
use anyhow::{Context, Result, bail, ensure};
use dormouse_base::capture::Capture;
use dormouse_base::cycle::{Cycle, PhaseSpan};
use dormouse_base::device::DeviceId;
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;
use dormouse_base::trip::split;
use dormouse_board::derive::derive;
use dormouse_sleep::simulate::planned::{Plan, guest, plan};
use dormouse_sleep::simulate::predict::outlook;
use dormouse_sleep::simulate::{Profile, profile};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

/// Asked of a phase: so many percent, or less than this.
const PERCENT: i64 = 5;
const FLOOR: Ns = Ns(100_000);
/// Asked of the order: one start in so many.
const STARTS: usize = 1_000;

#[derive(Default)]
struct Score {
    phases: usize,
    within: usize,
    starts: usize,
    wrong: usize,
    /// Which trips were seen how often.
    trips: BTreeMap<String, usize>,
}

/// Prints the table; [`MISSED`] if less than asked was met.
pub(crate) fn run(args: &[String]) -> Result<ExitCode> {
    let mut costs = Profile::x86();
    let mut own = Plan::new();
    let mut score = Score::default();
    println!(
        "{:22} {:22} {:13} {:>9} {:>9} {:>8}  starts wrong",
        "board and kernel", "callbacks", "phase", "recorded", "predicted", "apart"
    );
    let mut args = args.iter();
    while let Some(word) = args.next() {
        if word == "--profile" {
            let file = args.next().context("--profile needs a file")?;
            let text = fs::read_to_string(file).with_context(|| format!("cannot read {file}"))?;
            costs = profile::parse(&text).with_context(|| file.clone())?;
            continue;
        }
        if word == "--guest" {
            let file = args.next().context("--guest needs a recording")?;
            let derived = derive(&recorded::capture(file)?).map_err(anyhow::Error::msg)?;
            own = guest(&derived.board, &Plan::new());
            continue;
        }
        let Some((board, file)) = word.split_once('=') else {
            bail!("{word}: write BOARD=CAPTURE")
        };
        let (name, board) = read_board(Path::new(board))?;
        let capture = recorded::capture(file)?;
        let planned = plan(&board);
        ensure!(!capture.cycles.is_empty(), "{file} holds no cycle");
        for cycle in &capture.cycles {
            let mut idle = 2;
            for (trip, part) in split(cycle) {
                ensure!(trip.hibernates(), "{file} holds a suspend");
                *score.trips.entry(trip.name()).or_default() += 1;
                let release = capture.names.get(cycle.kernel);
                let release = release.split(['+', '-']).next().unwrap_or_default();
                let title = format!("{name} {release}");
                idle = judge(
                    &title,
                    &trip.name(),
                    &capture,
                    &part,
                    [&planned, &own],
                    &costs,
                    idle,
                    &mut score,
                )
                .with_context(|| file.to_string())?;
            }
        }
    }
    let trips: Vec<String> = score.trips.iter().map(|(t, n)| format!("{n} x {t}")).collect();
    println!("\nTrips: {}.", trips.join(", "));
    println!(
        "Phases within {PERCENT} % or {:.1} ms: {} of {}. Starts in another order: {} of {}.",
        FLOOR.0 as f64 / 1e6,
        score.within,
        score.phases,
        score.wrong,
        score.starts
    );
    let met =
        score.phases > 0 && score.within == score.phases && score.wrong * STARTS <= score.starts;
    println!("{}", if met { "PASS" } else { "MISSED" });
    Ok(if met { ExitCode::SUCCESS } else { ExitCode::from(MISSED) })
}

/// One trip; gives how many workers it leaves.
#[expect(clippy::too_many_arguments, reason = "one caller")]
fn judge(
    title: &str,
    trip: &str,
    capture: &Capture,
    part: &Cycle,
    plans: [&Plan; 2],
    costs: &Profile,
    idle: u32,
    score: &mut Score,
) -> Result<u32> {
    let recorded::Machine { derived, by, settings } =
        recorded::machine(capture, part, plans[0], plans[1], costs, idle)?;
    let o = outlook(&derived.board, by, &settings)?;
    for phase in Phase::DEVICE {
        let Some(span) = part.phase(phase).filter(|s| s.complete) else { continue };
        let (seen, predicted) = (observed(span), o.phase(phase));
        let apart = predicted - seen;
        let within = apart.0.abs() <= (seen.0 * PERCENT / 100).max(FLOOR.0);
        score.phases += 1;
        score.within += usize::from(within);
        let mut order = String::new();
        if phase.may_be_async() {
            let place = |d: DeviceId| derived.place.get(d.index()).copied();
            let seen = starts(part, phase, place);
            let graph = &derived.board.graph;
            let pairs: Vec<Start> = starts(&o.run.cycle, phase, |d| Some(d.0))
                .into_iter()
                .filter(|(d, _)| !graph.get(DeviceId(*d)).facts.guest)
                .filter_map(|(device, predicted)| {
                    Some(Start { device, seen: vec![*seen.get(&device)?], predicted })
                })
                .collect();
            let wrong = out_of_order(&pairs).len();
            score.starts += pairs.len();
            score.wrong += wrong;
            order = format!("{:6} {wrong:5}", pairs.len());
        }
        let ms = |t: Ns| t.0 as f64 / 1e6;
        println!(
            "{title:22} {trip:22} {:13} {:9.2} {:9.2} {:+8.2}  {order:12}{}",
            phase.title(),
            ms(seen),
            ms(predicted),
            ms(apart),
            if within { "" } else { "  MISSED" }
        );
    }
    Ok(idle.max(2 + o.run.tally.workers_created as u32))
}

/// How long a phase took; by the kernel's own figure ("complete after") where the
/// trace's clock was put forward or back inside it.
fn observed(span: &PhaseSpan) -> Ns {
    const PUT: i64 = 2_000_000;
    span.printed.filter(|p| (span.duration() - *p).0.abs() > PUT).unwrap_or(span.duration())
}

/// When each device's callback starts, relative to the phase.
fn starts(
    cycle: &Cycle,
    phase: Phase,
    place: impl Fn(DeviceId) -> Option<u32>,
) -> BTreeMap<u32, Ns> {
    let Some(span) = cycle.phase(phase) else { return BTreeMap::new() };
    cycle
        .callbacks
        .iter()
        .filter(|c| c.phase == phase)
        .filter_map(|c| Some((place(c.device)?, c.start - span.start)))
        .collect()
}
