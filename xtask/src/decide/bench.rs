//! A kernel of the laboratory: how boards are simulated on it, and what it does
//! with them.

use crate::accuracy::recorded;
use anyhow::{Context, Result, anyhow};
use dormouse_base::device::DeviceId;
use dormouse_base::phase::Direction;
use dormouse_base::time::Ns;
use dormouse_board::{self, Board};
use dormouse_lab::capture::{Wish, captures};
use dormouse_lab::kernels::{self, Kernel};
use dormouse_lab::plan::Sleep;
use dormouse_lab::qemu::{Accel, Arch, Machine};
use dormouse_lab::run::program_checksum;
use dormouse_machine::file::encode;
use dormouse_machine::recording::Recording;
use dormouse_read::{Reading, read_bytes};
use dormouse_sleep::analyse::explain;
use dormouse_sleep::compare::{Subject, compare};
use dormouse_sleep::plan::candidate::{Candidate, Kind, candidates, goes_with};
use dormouse_sleep::plan::essential::{Wishes, essential};
use dormouse_sleep::plan::{Goal, plan, shortlist};
use dormouse_sleep::simulate::kernel::Kernel as Release;
use dormouse_sleep::simulate::planned::{self, Plan};
use dormouse_sleep::simulate::predict::{Outlook, Scheduler, draws, outlook};
use dormouse_sleep::simulate::{Cpus, Profile, Settings, profile};
use dormouse_sleep::tune::{Options, Tuned, tune};
use dormouse_sleep::validate::{Held, hold};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::time::Duration;

/// Cycles that are thrown away, and those that count, of each board in a boot.
const WARM_UP: u32 = 2;
const CYCLES: u32 = 3;

/// The plan is to take this share of the time of resume, in percent.
const BUDGET: i64 = 85;

/// Long, because a busy machine may run a guest ten times slower.
const LIMIT: Duration = Duration::from_secs(900);

/// Costs that were fitted on guests of a kernel: `SERIES:CPUS=FILE`.
pub(crate) struct ProfileFile {
    series: String,
    cpus: u32,
    path: PathBuf,
}

impl ProfileFile {
    /// Reads the argument.
    ///
    /// # Errors
    /// If it is none.
    pub(crate) fn parse(text: &str) -> Result<ProfileFile> {
        let parts = text.split_once('=').and_then(|(k, f)| Some((k.split_once(':')?, f)));
        let ((series, cpus), path) = parts.context("--profile SERIES:CPUS=FILE")?;
        Ok(ProfileFile { series: series.into(), cpus: cpus.parse()?, path: path.into() })
    }
}

/// How boards are measured.
pub(crate) struct Measuring {
    /// Boots of each side, each with the next seed; guests with one CPU, which
    /// repeat themselves from boot to boot within 0.03 ms a phase, get one.
    pub boots: u32,
    /// Folder in which recordings are kept: the same boot of the same boards
    /// gives the same bytes, so it is not made again.
    pub kept: Option<PathBuf>,
}

/// A kernel of the laboratory, and how it is simulated.
pub(crate) struct Bench<'a> {
    /// The kernel.
    pub kernel: Kernel,
    by: Scheduler,
    /// Costs by number of CPUs of the guest they were fitted on.
    profiles: Vec<(u32, Profile)>,
    measuring: &'a Measuring,
}

impl Bench<'_> {
    /// The kernel of `series` with costs from files.
    ///
    /// # Errors
    /// If one of them cannot be had.
    pub(crate) fn open<'a>(
        series: &str,
        files: &[ProfileFile],
        measuring: &'a Measuring,
    ) -> Result<Bench<'a>> {
        let kernel = kernels::get(Arch::Amd64, series)?;
        let release =
            Release::parse(&kernel.release).with_context(|| format!("{}?", kernel.release))?;
        let by = Scheduler { policy: release.policy(), kernel: Some(release) };
        let mut profiles = Vec::new();
        for f in files.iter().filter(|f| f.series == series) {
            let text = fs::read_to_string(&f.path).with_context(|| f.path.display().to_string())?;
            profiles.push((f.cpus, profile::parse(&text)?));
        }
        if profiles.is_empty() {
            profiles.push((0, Profile::x86()));
        }
        Ok(Bench { kernel, by, profiles, measuring })
    }

    /// Names of the costs.
    pub(crate) fn costs(&self) -> String {
        self.profiles.iter().map(|(_, p)| p.name.as_str()).collect::<Vec<_>>().join("; ")
    }

    /// CPUs of the guest for `board`.
    pub(crate) fn cpus(board: &Board) -> u32 {
        board.cpus.clamp(1, 4)
    }

    /// How often `board` is booted on each side.
    pub(crate) fn boots(&self, board: &Board) -> u32 {
        if Self::cpus(board) == 1 { 1 } else { self.measuring.boots }
    }

    /// How `board` is simulated: as the guest runs it.
    pub(crate) fn settings(&self, board: &Board) -> Settings {
        let cpus = Self::cpus(board);
        let fits = self.profiles.iter().find(|(n, _)| *n == cpus);
        let mut profile = fits.unwrap_or(&self.profiles[0]).1.clone();
        profile.cpus = profile.cpus.or_else(|| Some(Cpus::equal(Self::cpus(board))));
        // No CPU goes down at this level of sleep.
        profile.keep_cpus();
        let mut settings = Settings { profile, pm_async: None, wakeup_at: None };
        settings.complete(board.cpus, self.by.kernel.as_ref());
        settings
    }

    /// Simulates `board`.
    ///
    /// # Errors
    /// If the kernel would hang.
    pub(crate) fn outlook(&self, board: &Board) -> Result<Outlook> {
        outlook(board, self.by, &self.settings(board)).map_err(|e| anyhow!("{e}"))
    }

    /// Careful flags for `board`.
    ///
    /// # Errors
    /// If it cannot be simulated.
    pub(crate) fn tune(&self, board: &Board, options: &Options) -> Result<Tuned> {
        tune(board, self.by.policy, &self.settings(board), options).map_err(|e| anyhow!("{e}"))
    }

    /// The smallest set of changes after which `board` resumes in [`BUDGET`]
    /// percent of the time.
    ///
    /// # Errors
    /// If it cannot be simulated.
    pub(crate) fn plan(&self, board: &Board) -> Result<Vec<Candidate>> {
        let settings = self.settings(board);
        let now = self.outlook(board)?.half(Direction::Resume);
        let goal = Goal { resume: Some(Ns(now.0 * BUDGET / 100)), ..Goal::default() };
        // Nobody takes a whole bus with most of the machine away.
        let n = board.devices.len();
        let keep = board
            .graph
            .ids()
            .map(|d| goes_with(board, Candidate::removal(d)).len() * 4 > n)
            .collect();
        let stay = essential(board, &Wishes { keep, ..Wishes::default() });
        let kinds = [Kind::Remove, Kind::Async];
        let long = candidates(board, &kinds, &stay, &goal.directions(), 40);
        let policy = self.by.policy;
        let offered =
            shortlist(board, policy, &settings, &goal, &long, 8).map_err(|e| anyhow!("{e}"))?;
        let found =
            plan(board, policy, &settings, &goal, &offered, 2_000).map_err(|e| anyhow!("{e}"))?;
        Ok(found.steps.iter().map(|s| s.candidate).collect())
    }

    /// Records `boards`, one after the other in one boot; in each of them who
    /// waits for whom without being told to ([`Wish::waits`]).
    ///
    /// # Errors
    /// If the guest fails.
    pub(crate) fn record(
        &self,
        boards: &[&Board],
        waits: &[(DeviceId, DeviceId)],
    ) -> Result<Vec<Reading>> {
        self.boot(boards, waits, 1)?.iter().map(reading).collect()
    }

    /// As [`Bench::record`], with the cycles of all boards in one recording:
    /// they are the same machine under other settings.
    ///
    /// # Errors
    /// If the guest fails.
    pub(crate) fn record_as_one(
        &self,
        boards: &[&Board],
        waits: &[(DeviceId, DeviceId)],
    ) -> Result<Reading> {
        let mut all = self.boot(boards, waits, 1)?.into_iter();
        let mut one = all.next().context("no board")?;
        all.for_each(|r| one.append(r));
        reading(&one)
    }

    /// As [`Bench::record`] in the boot with number `boot`, from 1. What is
    /// kept of an earlier run is taken.
    ///
    /// # Errors
    /// If the guest fails, or a recording cannot be read or written.
    pub(crate) fn record_boot(&self, boards: &[&Board], boot: u32) -> Result<Vec<Reading>> {
        let seed = u64::from(boot);
        let Some(folder) = &self.measuring.kept else {
            return self.boot(boards, &[], seed)?.iter().map(reading).collect();
        };
        let name = self.name(boards, seed)?;
        let paths: Vec<PathBuf> =
            (1..=boards.len()).map(|i| folder.join(format!("{name}-{i}.tar.gz"))).collect();
        if !paths.iter().all(|p| p.is_file()) {
            fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
            for (r, path) in self.boot(boards, &[], seed)?.iter().zip(&paths) {
                r.save(path).with_context(|| path.display().to_string())?;
            }
        }
        paths
            .iter()
            .map(|p| {
                let bytes = fs::read(p).with_context(|| p.display().to_string())?;
                Ok(read_bytes("lab", &bytes, &dormouse_read::Options::default())?)
            })
            .collect()
    }

    /// Names a boot by everything that its recordings depend on.
    fn name(&self, boards: &[&Board], seed: u64) -> Result<String> {
        let mut hash = DefaultHasher::new();
        for b in boards {
            dormouse_board::print(b, "").hash(&mut hash);
        }
        (WARM_UP, CYCLES, program_checksum(Arch::Amd64)?).hash(&mut hash);
        let cpus = boards.first().map_or(1, |b| Self::cpus(b));
        Ok(format!("{}-{cpus}-{:016x}-{seed}", self.kernel.release, hash.finish()))
    }

    fn boot(
        &self,
        boards: &[&Board],
        waits: &[(DeviceId, DeviceId)],
        seed: u64,
    ) -> Result<Vec<Recording>> {
        let wishes: Vec<Wish<'_>> = boards
            .iter()
            .map(|b| Wish {
                board: Some(b),
                waits,
                sleep: Sleep::Platform,
                pm_async: b.pm_async,
                cycles: CYCLES,
                detail: Vec::new(),
                samples: 1,
                limit: LIMIT,
            })
            .collect();
        let cpus = boards.first().map_or(1, |b| Self::cpus(b));
        let mut machine = Machine::new(Arch::Amd64, Accel::Icount, cpus, &self.kernel.release);
        machine.seed = seed;
        Ok(captures(&self.kernel, &machine, &wishes, WARM_UP)?.recordings)
    }

    /// Predicts `before` and `after` and holds that against recordings of both,
    /// one a boot. What runs is not the board alone but a guest with devices of
    /// its own, so both are predicted: the machine, and the board alone.
    ///
    /// # Errors
    /// If a recording has no cycle to compare.
    pub(crate) fn hold(&self, boards: [&Board; 2], recorded: [&[&Reading]; 2]) -> Result<Holds> {
        // After the change, the guest's own devices do what they did before.
        let before: Vec<_> = recorded[0].iter().flat_map(|r| &r.captures).cloned().collect();
        let now = machine(recorded[0], boards[0], &planned::alone(&before))?;
        let known = planned::guest(&now, &planned::plan(boards[0]));
        let then = machine(recorded[1], boards[1], &known)?;
        let machines = [&now, &then];
        let mut settings = boards.map(|b| self.settings(b));
        let draws = |of: [&Board; 2], settings: &[Settings; 2]| -> Result<[Vec<Outlook>; 2]> {
            let one = |i: usize| draws(of[i], self.by, &settings[i]).map_err(|e| anyhow!("{e}"));
            Ok([one(0)?, one(1)?])
        };
        let alone = draws(boards, &settings)?;
        // Cycles that were thrown away have made workers, of which all are
        // still there.
        let made = draws(machines, &settings)?;
        let made = made.iter().flatten().map(|o| o.run.tally.workers_created).max();
        for s in &mut settings {
            s.profile.idle_workers += made.unwrap_or(0) as u32;
        }
        let whole = draws(machines, &settings)?;
        let captures = recorded.map(|r| r.iter().flat_map(|r| &r.captures).collect::<Vec<_>>());
        let views = captures.each_ref().map(|c| c.iter().map(|c| explain(c)).collect::<Vec<_>>());
        let subjects: Vec<Subject<'_>> = ["before", "after"]
            .into_iter()
            .zip(&captures)
            .zip(&views)
            .map(|((label, captures), v)| Subject {
                label: label.into(),
                captures: captures.iter().zip(v).map(|(c, v)| (*c, v.as_slice())).collect(),
            })
            .collect();
        let c = compare(&subjects, false).map_err(|e| anyhow!("nothing to compare: {e:?}"))?;
        Ok(Holds { machine: hold(&whole[0], &whole[1], &c), alone: hold(&alone[0], &alone[1], &c) })
    }
}

/// A change predicted for two things, beside what one of them did.
pub(crate) struct Holds {
    /// The machine that ran: the board in its guest.
    pub machine: Held,
    /// The board alone, of which tune and plan speak.
    pub alone: Held,
}

/// The machine that was recorded: `board` and the guest's own devices, which do
/// what is `known` of them.
fn machine(recorded: &[&Reading], board: &Board, known: &Plan) -> Result<Board> {
    let capture = recorded.iter().flat_map(|r| &r.captures).next().context("an empty recording")?;
    let cycle = capture.cycles.first().context("no cycle")?;
    let planned = planned::plan(board);
    // Only the devices are wanted; costs come from elsewhere.
    Ok(recorded::machine(capture, cycle, &planned, known, &Profile::zero(), 0)?.derived.board)
}

fn reading(r: &Recording) -> Result<Reading> {
    let bytes = encode(r, Vec::new())?;
    Ok(read_bytes("lab", &bytes, &dormouse_read::Options::default())?)
}
