//! Boards on a kernel: everything from the board to what the kernel did.

use crate::answer::Answer;
use crate::describe::{Description, describe};
use crate::initramfs::Initramfs;
use crate::kernels::{self, Kernel};
use crate::qemu::{Accel, Arch, Attend, Machine, Output, boot};
use crate::{Error, Result, disks, kmod};
use dormouse_base::device::DeviceId;
use dormouse_base::say::tail;
use dormouse_board::Board;
use dormouse_guest::plan::{
    DEEP_MODULE, DIRECTORY, DISK_MODULES, GOVERNOR_MODULE, IDLE_MODULE, MODULE, PLAN, Plan, Record,
    Sleep, Step, Task,
};
use dormouse_machine::options::Detail;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A board and what is to be done with it.
#[derive(Clone, Debug)]
pub struct Job<'a> {
    /// Name of the result, without blanks.
    pub name: String,
    /// The board; none for the guest's own devices.
    pub board: Option<&'a Board>,
    /// Who waits for whom inside the callbacks of the way up (waiter, awaited),
    /// which no graph shows.
    pub waits: &'a [(DeviceId, DeviceId)],
    /// How deep.
    pub sleep: Sleep,
    /// `/sys/power/pm_async`.
    pub pm_async: bool,
    /// How many cycles.
    pub cycles: u32,
    /// Events beyond those of suspend, if it is recorded in full.
    pub detail: Vec<Detail>,
    /// What the outcome is.
    pub record: Record,
    /// The bare trace has only the begin and end of phases, and comes beside a
    /// recording too.
    pub phases: bool,
}

/// What a job gave.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Name of the job.
    pub name: String,
    /// What the board module was told, and the map of names.
    pub description: Description,
    /// The bare trace as text, if the job was not to be recorded in full, or if
    /// phases were to be timed.
    pub trace: String,
    /// The capture file as the guest wrote it, if it was.
    pub capture: Vec<u8>,
}

/// What a boot gave.
#[derive(Clone, Debug)]
pub struct Boot {
    /// Outcomes in the order of the jobs.
    pub outcomes: Vec<Outcome>,
    /// The guest's kernel log, as records of `/dev/kmsg`.
    pub log: String,
    /// Nothing kept QEMU's threads in step though it counted instructions.
    pub out_of_step: bool,
    /// Wall time.
    pub took: Duration,
}

/// Seconds that a guest idles before it does anything. Kernels finish their boot
/// in the background (deferred probes give up after ten seconds, ports are
/// looked for again), and what still computes makes the callbacks of the first
/// cycles late. Where instructions are counted idling is skipped, so that it
/// costs no real time; elsewhere nothing would be gained beside the host's noise.
const SETTLE: u64 = 12;

/// Does the jobs in one boot of `kernel`.
///
/// # Errors
/// When anything is missing, the guest does not come to its end within
/// `limit`, refuses a board, or loses events.
pub fn run(kernel: &Kernel, machine: &Machine, jobs: &[Job], limit: Duration) -> Result<Boot> {
    let mut archive = base(machine.arch)?;
    let mut descriptions: Vec<Description> = Vec::new();
    let mut steps: Vec<Step> = Vec::new();
    for (i, job) in jobs.iter().enumerate() {
        let description =
            job.board.map(|b| describe(b, job.waits)).transpose()?.unwrap_or_default();
        // The same board again needs no second building.
        let same = descriptions.iter().position(|d| d.text == description.text);
        let file = match (job.board, same) {
            (None, _) => None,
            (Some(_), Some(n)) => steps[n].description.clone(),
            (Some(_), None) => {
                let file = format!("board{i}");
                archive.file(&format!("{DIRECTORY}/{file}"), 0o644, description.text.as_bytes());
                Some(file)
            }
        };
        steps.push(Step {
            name: job.name.clone(),
            buffer_kb: buffer_kb(description.devices.len(), job),
            description: file,
            sleep: job.sleep,
            pm_async: job.pm_async,
            cycles: job.cycles,
            detail: job.detail.clone(),
            record: job.record,
            phases: job.phases,
        });
        descriptions.push(description);
    }
    let any = |is: fn(&Job) -> bool| jobs.iter().any(is);
    let mut tasks = Vec::new();
    // The board module also ends suspend-to-idle and undoes a hibernation.
    if any(|j| j.board.is_some() || matches!(j.sleep, Sleep::S2idle | Sleep::Rollback)) {
        tasks.push(Task::Module);
    }
    if any(|j| j.sleep == Sleep::Deep) {
        tasks.push(Task::Deep);
    }
    if any(|j| j.sleep.disk().is_some()) {
        tasks.push(Task::Swap);
    }
    if machine.accel == Accel::Icount {
        tasks.push(Task::Rest(SETTLE));
    }
    tasks.extend(steps.iter().cloned().map(Task::Step));
    let (answer, output) = play(kernel, machine, archive, tasks, limit)?;
    let outcomes = steps
        .iter()
        .zip(descriptions)
        .map(|(step, description)| outcome(&answer, step, description))
        .collect::<Result<_>>()?;
    let Output { took, out_of_step, .. } = output;
    Ok(Boot { outcomes, log: answer.text("log"), out_of_step, took })
}

/// Asks the board module to build each of `descriptions` and gives what it
/// said, and the kernel log.
pub fn probe(
    kernel: &Kernel,
    machine: &Machine,
    descriptions: &[&str],
    limit: Duration,
) -> Result<(Vec<String>, String)> {
    let mut archive = base(machine.arch)?;
    let mut files = Vec::new();
    for (i, text) in descriptions.iter().enumerate() {
        let file = format!("probe{i}");
        archive.file(&format!("{DIRECTORY}/{file}"), 0o644, text.as_bytes());
        files.push(file);
    }
    let build = files.iter().cloned().map(Task::Build);
    let tasks = std::iter::once(Task::Module).chain(build).collect();
    let (answer, _) = play(kernel, machine, archive, tasks, limit)?;
    let said = files.iter().map(|f| answer.text(&format!("probe {f}"))).collect();
    Ok((said, answer.text("log")))
}

/// The file system that every guest begins with.
pub(crate) fn base(arch: Arch) -> Result<Initramfs> {
    let mut archive = Initramfs::default();
    for dir in [DIRECTORY, "/proc", "/sys", "/dev", "/run", "/tmp"] {
        archive.directory(dir);
    }
    // The kernel opens it before the guest mounts anything.
    archive.device("/dev/console", 5, 1);
    let path = init_program(arch)?;
    let init = fs::read(&path).map_err(Error::file(&path))?;
    archive.file("/init", 0o755, &init);
    Ok(archive)
}

/// Adds the plan and the modules that its tasks need, boots, and unpacks the answer.
pub(crate) fn play(
    kernel: &Kernel,
    machine: &Machine,
    mut archive: Initramfs,
    tasks: Vec<Task>,
    limit: Duration,
) -> Result<(Answer, Output)> {
    let any = |is: fn(&Task) -> bool| tasks.iter().any(is);
    if any(|t| matches!(t, Task::Module)) {
        pack(&mut archive, &kmod::module(kernel)?, MODULE)?;
    }
    if any(needs_idle) {
        pack(&mut archive, &kmod::idle(kernel)?, IDLE_MODULE)?;
    }
    let disk = any(has_disk);
    if disk {
        for (i, driver) in kernels::modules::disk(kernel)?.iter().enumerate() {
            archive.file(&format!("{DIRECTORY}/{DISK_MODULES}{i}.ko"), 0o644, driver);
        }
    }
    if any(|t| matches!(t, Task::Storage(_))) {
        disks::pack(kernel, &mut archive)?;
    }
    if any(|t| matches!(t, Task::Governor(_))) {
        pack(&mut archive, &kmod::governor(kernel)?, GOVERNOR_MODULE)?;
    }
    let deep = any(|t| matches!(t, Task::Deep));
    // That of QEMU's arm64 machine has no suspend to memory, and wakes nobody.
    let firmware = deep && machine.arch != Arch::Arm64;
    if deep && !firmware {
        pack(&mut archive, &kmod::deep(kernel)?, DEEP_MODULE)?;
    }
    let plan = Plan { results: machine.arch.results().into(), tasks };
    let json = serde_json::to_vec(&plan).map_err(|e| Error::other(e.to_string()))?;
    archive.file(&format!("{DIRECTORY}/{PLAN}"), 0o644, &json);
    // Twice the memory: no image is larger, and the disk is a sparse file.
    let disk_mb = disk.then_some(2 * machine.memory_mb);
    let attend = Attend { wake: firmware, cut: None, disk_mb, drives: &[], limit };
    let output = boot(machine, &kernel.image, &archive.finish(), attend)?;
    Ok((understand(&output)?, output))
}

/// Puts a module where the guest looks for it.
pub(crate) fn pack(archive: &mut Initramfs, ko: &Path, name: &str) -> Result<()> {
    let bytes = fs::read(ko).map_err(Error::file(ko))?;
    archive.file(&format!("{DIRECTORY}/{name}"), 0o644, &bytes);
    Ok(())
}

/// Whether a task wants idle states.
fn needs_idle(task: &Task) -> bool {
    match task {
        Task::Idle(_) | Task::Loops(_) => true,
        Task::Script(script) => script.idle.is_some(),
        _ => false,
    }
}

/// Whether a task swaps to a disk or reads one.
fn has_disk(task: &Task) -> bool {
    match task {
        Task::Swap | Task::Idle(_) => true,
        Task::Loops(wish) => wish.reads_disk(),
        _ => false,
    }
}

pub(crate) fn understand(output: &Output) -> Result<Answer> {
    let answer = Answer::parse(&output.results);
    let failed = |what: String| Error::Guest { what, console: tail(&output.console, 30) };
    match answer {
        Ok(a) if a.get("error").is_some() => Err(failed(format!("said: {}", a.text("error")))),
        Ok(a) if a.complete() => Ok(a),
        Ok(_) => Err(failed("stopped before it had sent everything".into())),
        Err(e) => Err(failed(format!("stopped: {e}"))),
    }
}

fn outcome(answer: &Answer, step: &Step, description: Description) -> Result<Outcome> {
    if step.record == Record::No {
        let facts = answer.text(&format!("facts {}", step.name));
        let lost = facts.lines().find_map(|l| l.strip_prefix("lost ")).unwrap_or("?");
        if lost != "0" {
            return Err(Error::other(format!(
                "{}: the guest's trace buffer lost {lost} events",
                step.name
            )));
        }
    }
    Ok(Outcome {
        name: step.name.clone(),
        description,
        trace: answer.text(&format!("trace {}", step.name)),
        capture: answer.get(&format!("capture {}", step.name)).unwrap_or_default().to_vec(),
    })
}

/// Room for every event of `cycles`: the guest has at most 300 devices of its
/// own, a device has at most 16 events, and an event takes at most 128 bytes
/// in the buffer of the one CPU that may have to hold all of them. Each group of
/// detail adds about as much.
fn buffer_kb(devices: usize, job: &Job<'_>) -> u32 {
    let groups = 1 + job.detail.len() as u64;
    let bytes = (devices as u64 + 300) * 16 * 128 * u64::from(job.cycles) * groups;
    u32::try_from(bytes / 1024 + 64).unwrap_or(u32::MAX)
}

/// Checksum of the guest's program.
pub fn program_checksum(arch: Arch) -> Result<String> {
    let path = init_program(arch)?;
    let mut crc = flate2::Crc::new();
    crc.update(&fs::read(&path).map_err(Error::file(&path))?);
    Ok(format!("{:08x}", crc.sum()))
}

/// A static binary that can be the guest's process 1: `DORMOUSE_INIT`, this
/// program if it is static and of the right architecture, or a
/// `dormouse-guest` beside it.
fn init_program(arch: Arch) -> Result<PathBuf> {
    if let Some(p) = std::env::var_os("DORMOUSE_INIT").filter(|v| !v.is_empty()) {
        return Ok(p.into());
    }
    let me = std::env::current_exe().map_err(Error::file("/proc/self/exe"))?;
    if cfg!(target_env = "musl") && std::env::consts::ARCH == arch.machine() {
        return Ok(me);
    }
    // `target/debug/dormouse`, `target/debug/deps/test`: look for what
    // `tools/guest` built.
    let target = format!("{}-unknown-linux-musl", arch.machine());
    me.ancestors()
        .flat_map(|dir| {
            [
                dir.join(format!("dormouse-guest-{}", arch.machine())),
                dir.join(&target).join("guest/dormouse-guest"),
            ]
        })
        .find(|p| p.is_file())
        .ok_or_else(|| {
            Error::other(format!(
                "no static dormouse-guest-{0} is beside {1}: unpack it from the archive that dormouse came in, build it with \"tools/guest {0}\", or name one in DORMOUSE_INIT",
                arch.machine(),
                me.display()
            ))
        })
}
