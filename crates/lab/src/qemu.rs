//! One virtual machine: its command line, its time limit, its wake-up.
//!
//! What makes a run repeat itself bit for bit: one TCG thread, virtual time
//! that advances by instructions and jumps over idle (`-icount`), a clock that
//! starts at a fixed date and follows virtual time, a fixed seed for every
//! random number QEMU hands out, a kernel that takes no entropy from elsewhere
//! and puts itself at its usual address, and threads of QEMU that keep in step
//! ([`crate::lockstep`]).

pub use crate::arch::Arch;
use crate::kernels::Kernel;
use crate::system::{Socket, connect};
use crate::{Error, Result};
use dormouse_base::say::tail;
use dormouse_board::Board;
use dormouse_guest::plan::{GUEST_SPEAKS, MARKER};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

impl Arch {
    /// Name of the emulator.
    pub fn qemu(self) -> &'static str {
        match self {
            Arch::Amd64 => "qemu-system-x86_64",
            Arch::Arm64 => "qemu-system-aarch64",
        }
    }
}

/// How the guest's processor is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Accel {
    /// Emulated, time counted in instructions: repeatable.
    #[default]
    Icount,
    /// Emulated, one thread per processor, the host's time.
    Tcg,
    /// The host's processor.
    Kvm,
}

impl Accel {
    /// The word of the command line.
    pub fn name(self) -> &'static str {
        match self {
            Accel::Icount => "icount",
            Accel::Tcg => "tcg",
            Accel::Kvm => "kvm",
        }
    }

    /// The accelerator called `name`.
    pub fn find(name: &str) -> Option<Accel> {
        [Accel::Icount, Accel::Tcg, Accel::Kvm].into_iter().find(|a| a.name() == name)
    }
}

/// How a test disturbs QEMU under instruction counting (`lockstep.c`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Disturbance {
    /// Not at all.
    #[default]
    None,
    /// Its main loop wakes at random moments, thousands of times a second.
    Jitter,
    /// The same, and nothing keeps its threads in step.
    JitterAlone,
}

/// Everything that makes a virtual machine what it is; a capture keeps it, so
/// that the run can be done again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Architecture.
    pub arch: Arch,
    /// How it runs.
    pub accel: Accel,
    /// Processors.
    pub cpus: u32,
    /// QEMU's name of the processor.
    pub cpu: String,
    /// Seed of QEMU's random numbers.
    pub seed: u64,
    /// Memory in MiB.
    pub memory_mb: u32,
    /// More words for the kernel command line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub words: String,
    /// More words for QEMU, such as a device that a script uses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hardware: Vec<String>,
    /// Chance from the host, which must make no difference.
    #[serde(skip)]
    pub disturbance: Disturbance,
    /// A device tree in the place of the machine's own, as a blob; empty for its own.
    #[serde(skip)]
    pub tree: Vec<u8>,
}

impl Machine {
    /// The usual machine for kernel release `release`.
    pub fn new(arch: Arch, accel: Accel, cpus: u32, release: &str) -> Machine {
        let cpu = match (arch, accel) {
            (Arch::Arm64, _) => "cortex-a72",
            // A host that is itself a guest may not take this register.
            (_, Accel::Kvm) => "host,arch-capabilities=off",
            // 6.1 does not come up under instruction counting with `max`.
            _ if release.starts_with("6.1.") => "qemu64",
            _ => "max",
        };
        Machine {
            arch,
            accel,
            cpus,
            cpu: cpu.into(),
            seed: 1,
            memory_mb: 1024,
            words: String::new(),
            hardware: Vec::new(),
            disturbance: Disturbance::None,
            tree: Vec::new(),
        }
    }

    /// The kernel command line.
    pub fn command_line(&self) -> String {
        let console = match self.arch {
            Arch::Amd64 => "ttyS0",
            Arch::Arm64 => "ttyAMA0",
        };
        let own = format!(
            "console={console} quiet panic=-1 nokaslr norandmaps random.trust_cpu=off \
             random.trust_bootloader=off no_console_suspend {MARKER}"
        );
        if self.words.is_empty() { own } else { format!("{own} {}", self.words) }
    }

    /// Arguments for QEMU; files go to `dir`.
    fn arguments(&self, image: &Path, initrd: &Path, dir: &Path) -> Vec<OsString> {
        let mut a: Vec<OsString> = Vec::new();
        let mut add = |words: &[&str]| a.extend(words.iter().map(OsString::from));
        match self.accel {
            Accel::Icount => {
                add(&["-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off"]);
                add(&["-rtc", "base=2026-01-01,clock=vm"]);
                // By their names the threads are told apart.
                add(&["-name", "dormouse,debug-threads=on"]);
            }
            Accel::Tcg => add(&["-accel", "tcg,thread=multi"]),
            Accel::Kvm => add(&["-accel", "kvm"]),
        }
        add(&["-seed", &self.seed.to_string()]);
        if self.arch == Arch::Arm64 {
            add(&["-machine", "virt"]);
        }
        add(&["-cpu", &self.cpu, "-smp", &self.cpus.to_string()]);
        add(&["-m", &self.memory_mb.to_string()]);
        add(&["-nodefaults", "-display", "none", "-no-reboot"]);
        // One serial line for the console, one for the results.
        add(&["-serial", &format!("file:{}", dir.join("console").display())]);
        let results = dir.join("results");
        match self.arch {
            Arch::Amd64 => add(&["-serial", &format!("file:{}", results.display())]),
            Arch::Arm64 => add(&[
                "-chardev",
                &format!("file,id=results,path={}", results.display()),
                "-device",
                "pci-serial,chardev=results",
            ]),
        }
        if !self.tree.is_empty() {
            add(&["-dtb", &dir.join(TREE).display().to_string()]);
        }
        add(&["-append", &self.command_line()]);
        a.extend(self.hardware.iter().map(OsString::from));
        a.push("-kernel".into());
        a.push(image.into());
        a.push("-initrd".into());
        a.push(initrd.into());
        a
    }
}

/// CPUs of a guest where nobody asked for a number.
pub fn usual_cpus(accel: Accel, kernel: &Kernel, board: Option<&Board>) -> u32 {
    // 6.1 comes up under instruction counting with one CPU only.
    let one = accel == Accel::Icount && kernel.release.starts_with("6.1.");
    if one { 1 } else { board.map_or(1, |b| b.cpus.clamp(1, 4)) }
}

/// Whether the emulator of `arch` can be started.
///
/// # Errors
/// If it is not in `PATH`, with what to install.
pub fn installed(arch: Arch) -> Result<()> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if std::env::split_paths(&path).any(|dir| dir.join(arch.qemu()).is_file()) {
        return Ok(());
    }
    Err(missing(arch))
}

fn missing(arch: Arch) -> Error {
    Error::Missing {
        program: arch.qemu(),
        advice: "install QEMU (tools/setup lab does, or the package qemu-system)".into(),
    }
}

/// How long a guest under KVM may take until its program speaks; it takes two
/// or three seconds. Some hosts have `/dev/kvm` and yet run no guest: it hangs
/// in its first instructions, or QEMU gives up.
const KVM_COMES_UP: Duration = Duration::from_secs(30);

/// What to say of a guest that KVM does not run; none while there is hope.
fn hopeless(
    machine: &Machine,
    running: Duration,
    console: impl FnOnce() -> String,
) -> Option<String> {
    (machine.accel == Accel::Kvm && running > KVM_COMES_UP && !console().contains(GUEST_SPEAKS))
        .then(|| {
            format!(
                "did not come up within {} s: /dev/kvm is there, but this host does not run guests with it; take --accel tcg for the host's time without KVM, or icount, the default",
                KVM_COMES_UP.as_secs()
            )
        })
}

/// How often a machine is looked at.
const LOOKS: Duration = Duration::from_millis(20);

/// What a finished machine leaves.
#[derive(Clone, Debug)]
pub struct Output {
    /// Text of the console.
    pub console: String,
    /// It was to count instructions, but nothing kept its threads in step
    /// ([`crate::lockstep`]).
    pub out_of_step: bool,
    /// Bytes of the results line.
    pub results: Vec<u8>,
    /// Wall time of the whole run.
    pub took: Duration,
}

/// How a machine is attended while it runs.
#[derive(Clone, Copy, Debug)]
pub struct Attend<'a> {
    /// It is woken whenever it has suspended to RAM.
    pub wake: bool,
    /// Its power fails when this word stands on the console, so much later.
    pub cut: Option<(&'a str, Duration)>,
    /// Size of an empty virtio disk in MiB, if it has one.
    pub disk_mb: Option<u32>,
    /// More virtio disks, in QEMU's words for a drive.
    pub drives: &'a [String],
    /// Wall time after which it is given up.
    pub limit: Duration,
}

/// Boots `image` with `initrd` and waits until it powers off, or its power
/// fails as asked.
///
/// # Errors
/// When QEMU is not there, does not start, or is still running after the limit.
pub fn boot(machine: &Machine, image: &Path, initrd: &[u8], attend: Attend<'_>) -> Result<Output> {
    let Attend { wake, cut, disk_mb, drives, limit } = attend;
    if machine.accel == Accel::Kvm {
        usable(Path::new("/dev/kvm"))?;
    }
    let dir = tempfile::tempdir().map_err(Error::file(std::env::temp_dir()))?;
    let initrd_path = dir.path().join("initrd");
    fs::write(&initrd_path, initrd).map_err(Error::file(&initrd_path))?;
    if !machine.tree.is_empty() {
        let path = dir.path().join(TREE);
        fs::write(&path, &machine.tree).map_err(Error::file(&path))?;
    }
    let disk = disk_mb.map(|mb| empty_disk(dir.path(), mb)).transpose()?;
    let errors_path = dir.path().join("errors");
    let errors = fs::File::create(&errors_path).map_err(Error::file(&errors_path))?;
    let qmp = format!("unix:{},server=on,wait=off", dir.path().join("qmp").display());
    let mut waker = wake.then(|| Waker::new(dir.path().join("qmp")));
    let lockstep = (machine.accel == Accel::Icount).then(crate::lockstep::library).transpose()?;
    let sign = dir.path().join("in_step");
    let start = Instant::now();
    let child = Command::new(machine.arch.qemu())
        .envs(lockstep.map(|library| ("LD_PRELOAD", library)))
        .env("DORMOUSE_LOCKSTEP_SIGN", &sign)
        .env(
            "DORMOUSE_LOCKSTEP",
            match machine.disturbance {
                Disturbance::None => "",
                Disturbance::Jitter => "jitter",
                Disturbance::JitterAlone => "jitter-alone",
            },
        )
        .args(machine.arguments(image, &initrd_path, dir.path()))
        .args(wake.then_some(["-qmp", &qmp]).into_iter().flatten())
        .args(disk.into_iter().flatten())
        .args(drives.iter().flat_map(|d| ["-drive".into(), format!("{d},if=virtio")]))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(errors)
        .spawn()
        .map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => missing(machine.arch),
            _ => Error::file(machine.arch.qemu())(e),
        })?;
    let mut child = Running(child);
    let console_path = dir.path().join("console");
    let console =
        || String::from_utf8_lossy(&fs::read(&console_path).unwrap_or_default()).into_owned();
    let mut fails: Option<Instant> = None;
    loop {
        match child.0.try_wait().map_err(Error::file(machine.arch.qemu()))? {
            Some(status) if status.success() => break,
            Some(status) => {
                let mut output = tail(&fs::read_to_string(&errors_path).unwrap_or_default(), 10);
                if machine.accel == Accel::Kvm {
                    output.push_str("\nwithout KVM take --accel tcg, or icount, the default");
                }
                return Err(Error::Program {
                    what: format!("{} ({status})", machine.arch.qemu()),
                    output,
                });
            }
            None => {}
        }
        if let Some((_, later)) =
            cut.filter(|(word, _)| fails.is_none() && console().contains(word))
        {
            fails = Some(Instant::now() + later);
        }
        // Until then it is attended: one that sleeps is woken.
        let left = fails.map(|at| at.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            break;
        }
        if let Some(what) = hopeless(machine, start.elapsed(), console) {
            let console = Some(tail(&console(), 30)).filter(|c| !c.is_empty());
            return Err(Error::Guest { what, console: console.unwrap_or("(nothing)".into()) });
        }
        if start.elapsed() > limit {
            let several = match wake && machine.cpus > 1 {
                true => {
                    "; under instruction counting a guest with several CPUs may not come back from deep: try --cpus 1"
                }
                false => "",
            };
            return Err(Error::Guest {
                what: format!("did not finish within {} s{several}", limit.as_secs()),
                console: tail(&console(), 30),
            });
        }
        match &mut waker {
            Some(w) => w.poll(),
            None => std::thread::sleep(left.unwrap_or(LOOKS).min(LOOKS)),
        }
    }
    drop(child);
    let results_path = dir.path().join("results");
    Ok(Output {
        console: console(),
        out_of_step: machine.accel == Accel::Icount && !sign.exists(),
        results: fs::read(&results_path).map_err(Error::file(&results_path))?,
        took: start.elapsed(),
    })
}

/// File of the device tree.
const TREE: &str = "tree.dtb";

/// The device tree that QEMU makes for a machine, as a blob.
///
/// # Errors
/// When QEMU is not there or makes none.
pub(crate) fn own_tree(machine: &Machine) -> Result<Vec<u8>> {
    let dir = tempfile::tempdir().map_err(Error::file(std::env::temp_dir()))?;
    let path = dir.path().join(TREE);
    let mut arguments = machine.arguments(Path::new(""), Path::new(""), dir.path());
    // Nothing is booted: without kernel, command line and file system.
    arguments.truncate(arguments.len() - 6);
    let out = Command::new(machine.arch.qemu())
        .args(arguments)
        .args(["-machine".into(), format!("virt,dumpdtb={}", path.display())])
        .output()
        .map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => missing(machine.arch),
            _ => Error::file(machine.arch.qemu())(e),
        })?;
    fs::read(&path).map_err(|_| Error::Program {
        what: format!("{} -machine dumpdtb", machine.arch.qemu()),
        output: tail(&String::from_utf8_lossy(&out.stderr), 5),
    })
}

/// Makes the file of an empty disk and gives QEMU's arguments for it.
fn empty_disk(dir: &Path, mb: u32) -> Result<[String; 4]> {
    let path = dir.join("disk");
    let file = fs::File::create(&path).map_err(Error::file(&path))?;
    file.set_len(u64::from(mb) << 20).map_err(Error::file(&path))?;
    // Nothing on it outlives the guest: no flush has to reach the host's disk.
    let drive = format!("file={},if=none,id=disk,format=raw,cache=unsafe", path.display());
    Ok(["-drive".into(), drive, "-device".into(), "virtio-blk-pci,drive=disk".into()])
}

/// Whether this machine lets us use its own virtualisation.
fn usable(kvm: &Path) -> Result<()> {
    fs::File::options().read(true).write(true).open(kvm).map(drop).map_err(|e| {
        Error::other(format!(
            "{} cannot be used ({e}): take --accel tcg for the host's time without KVM, or icount, the default",
            kvm.display()
        ))
    })
}

/// A QEMU that never outlives the caller (killed by a signal: `lockstep.c`).
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Answers QEMU's event SUSPEND with `system_wakeup`: the machine is stopped
/// in suspend-to-RAM, and virtual time with it, so no alarm of its own rings
/// under instruction counting, and when the answer comes makes no difference.
struct Waker {
    socket: PathBuf,
    stream: Option<BufReader<Socket>>,
}

impl Waker {
    fn new(socket: PathBuf) -> Waker {
        Waker { socket, stream: None }
    }

    /// Waits some milliseconds for an event and answers it. Errors leave the
    /// guest asleep, and the time limit tells.
    fn poll(&mut self) {
        if self.stream.is_none() {
            self.stream = self.connect().ok();
        }
        let Some(stream) = &mut self.stream else {
            std::thread::sleep(Duration::from_millis(20));
            return;
        };
        let mut line = String::new();
        let read = stream.read_line(&mut line);
        if line.contains("\"SUSPEND\"") {
            let _ = stream.get_mut().write_all(b"{\"execute\":\"system_wakeup\"}\n");
        }
        if matches!(read, Ok(0)) {
            // QEMU has closed the socket: it is about to end.
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn connect(&self) -> std::io::Result<BufReader<Socket>> {
        let mut s = connect(&self.socket, Duration::from_millis(20))?;
        s.write_all(b"{\"execute\":\"qmp_capabilities\"}\n")?;
        Ok(BufReader::new(s))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_that_kvm_does_not_run_is_given_up_with_advice() {
        let kvm = Machine::new(Arch::Amd64, Accel::Kvm, 1, "6.12");
        let late = KVM_COMES_UP + Duration::from_secs(1);
        let said = hopeless(&kvm, late, || "early console\n".into()).unwrap();
        assert!(said.contains("does not run guests") && said.contains("--accel tcg"), "{said}");
        assert_eq!(hopeless(&kvm, late, || "dormouse guest: board0\n".into()), None);
        assert_eq!(hopeless(&kvm, Duration::from_secs(5), String::new), None);
        let icount = Machine { accel: Accel::Icount, ..kvm };
        assert_eq!(hopeless(&icount, late, String::new), None);
    }

    #[test]
    fn missing_kvm_is_one_sentence_that_says_what_to_do() {
        let said = usable(Path::new("/nowhere/kvm")).unwrap_err().to_string();
        assert!(said.starts_with("/nowhere/kvm cannot be used (") && said.contains("--accel tcg"));
        assert!(!said.contains('\n'), "{said}");
    }
}
