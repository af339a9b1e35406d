//! Guests in which the recorder itself is tried: `guest apply`, `guest idle`, `guest inside`,
//! `guest restore`, `guest sync`; and `guest doctor`, where the doctor is.
//! Their process 1 is an example of `crates/machine`, which says what it found.
//! Their time is counted in instructions, so the load of the host decides
//! nothing.

use crate::archive::{self, read};
use crate::disks;
use anyhow::{Context, Result, bail, ensure};
use dormouse_lab::initramfs::Initramfs;
use dormouse_lab::kernels::{self, Kernel};
use dormouse_lab::kmod;
use dormouse_lab::programs;
use dormouse_lab::qemu::{Accel, Arch, Attend, Machine, Output, boot};
use std::path::PathBuf;
use std::time::Duration;

/// Wall time after which a guest is given up; a busy host may take ten times
/// as long as an idle one.
const LIMIT: Duration = Duration::from_secs(3_000);

/// `guest apply|doctor|hooks|idle|inside|restore|search|sync PROGRAMS SERIES [TEST,…]`: PROGRAMS is the folder with the static
/// `dormouse` and the examples. False if a guest found something wrong.
pub(crate) fn run(args: &[String]) -> Result<bool> {
    let (args, only) = args.split_at(args.len().min(3));
    let [what, programs, series] = args else {
        bail!(
            "use: guest apply|doctor|hooks|idle|inside|restore|search|sync PROGRAMS SERIES [TEST,…]"
        )
    };
    let guests = Guests { kernel: kernels::get(Arch::Amd64, series)?, programs: programs.into() };
    match what.as_str() {
        "apply" => guests.passes("apply_guest", &[("/board.ko", &guests.module()?)]),
        "idle" => guests.passes("idle_guest", &[("/idle.ko", &guests.idle_states()?)]),
        "inside" => guests.passes(
            "inside_guest",
            &[
                ("/trouble.ko", &read(&kmod::trouble(&guests.kernel)?)?),
                ("/board.ko", &guests.module()?),
            ],
        ),
        "doctor" => guests.doctor(&only.join(",")),
        "search" => {
            let module = read(&kmod::trouble(&guests.kernel)?)?;
            guests.passes("search_guest", &[("/trouble.ko", &module)])
        }
        "sync" => Ok(guests.syncs()? && guests.hooks()?),
        "hooks" => guests.hooks(),
        "restore" => Ok(guests.power_fails()? && guests.passes("restore_guest", &[])?),
        other => bail!("there is no guest {other:?}"),
    }
}

struct Guests {
    kernel: Kernel,
    programs: PathBuf,
}

impl Guests {
    fn module(&self) -> Result<Vec<u8>> {
        read(&kmod::module(&self.kernel)?)
    }

    fn idle_states(&self) -> Result<Vec<u8>> {
        read(&kmod::idle(&self.kernel)?)
    }

    /// Boots with `init` as process 1 and `files` beside it, and prints what it
    /// said. One CPU: with more, not every kernel comes back from suspend-to-RAM.
    fn boot(&self, init: &str, files: &[(&str, &[u8])], cut: Option<&str>) -> Result<Output> {
        let mut archive = archive::of(&self.programs, "dormouse", init)?;
        archive.directory("/kept");
        for (path, content) in files {
            archive.file(path, 0o644, content);
        }
        self.boot_with(archive, init, cut)
    }

    fn boot_with(&self, archive: Initramfs, init: &str, cut: Option<&str>) -> Result<Output> {
        // A guest has no chance to hash addresses with, so all timers of a trace would
        // look alike (`ptr_to_hashval`, lib/vsprintf.c).
        // A kernel that goes on behind a crash of its own would keep the guest until the limit.
        let words = "no_hash_pointers oops=panic".into();
        let machine =
            Machine { words, ..Machine::new(Arch::Amd64, Accel::Icount, 1, &self.kernel.release) };
        let cut = cut.map(|word| (word, Duration::ZERO));
        let attend = Attend { wake: true, cut, disk_mb: None, drives: &[], limit: LIMIT };
        let output = boot(&machine, &self.kernel.image, &archive.finish(), attend)?;
        let said: Vec<&str> = output.console.lines().filter(|l| !l.trim().is_empty()).collect();
        println!("{}", said.join("\n"));
        println!("{init} on {}: {:.0} s", self.kernel.release, output.took.as_secs_f64());
        Ok(output)
    }

    /// systemd runs the files of `dormouse sync --hook`.
    fn hooks(&self) -> Result<bool> {
        let mut archive = archive::of(&self.programs, "dormouse", "hook_guest")?;
        programs::pack_systemd(&mut archive)?;
        let (modules, blocks) = self.slow_disk()?;
        for (path, content) in modules.iter().chain([&("/fs.blocks".to_string(), blocks)]) {
            archive.file(path, 0o644, content);
        }
        let output = self.boot_with(archive, "hook_guest", None)?;
        Ok(output.console.lines().any(|l| l.trim() == "PASSED"))
    }

    /// Modules and content of a disk of 96 MiB, as the guests make it; a journal would be
    /// written as well.
    fn slow_disk(&self) -> Result<(disks::Files, Vec<u8>)> {
        let modules = disks::modules(&self.kernel, &["null_blk", "ext4"])?;
        let image = disks::Image::make(96, &["-O", "^has_journal", "-N", "64"])?;
        Ok((modules, image.blocks()?))
    }

    /// `dormouse sync` on a disk that is slow by the guest's own clock.
    fn syncs(&self) -> Result<bool> {
        let (mut files, blocks) = self.slow_disk()?;
        files.push(("/fs.blocks".into(), blocks));
        let files: Vec<(&str, &Vec<u8>)> = files.iter().map(|(p, c)| (p.as_str(), c)).collect();
        self.passes("sync_guest", &files)
    }

    /// Machines that are wrong in one way, and what the doctor says; `only` names tests.
    fn doctor(&self, only: &str) -> Result<bool> {
        let (mut files, blocks) = self.slow_disk()?;
        files.push(("/fs.blocks".into(), blocks));
        files.push(("/board.ko".into(), self.module()?));
        files.push(("/idle.ko".into(), self.idle_states()?));
        files.push(("/only".into(), only.into()));
        let files: Vec<(&str, &Vec<u8>)> = files.iter().map(|(p, c)| (p.as_str(), c)).collect();
        self.passes("doctor_guest", &files)
    }

    fn passes(&self, init: &str, files: &[(&str, &Vec<u8>)]) -> Result<bool> {
        let files: Vec<(&str, &[u8])> = files.iter().map(|(p, c)| (*p, c.as_slice())).collect();
        let output = self.boot(init, &files, None)?;
        Ok(output.console.lines().any(|l| l.trim() == "PASSED"))
    }

    /// The power fails while the recorder is at work: QEMU is killed. The next
    /// guest finds the journal where it lay, and every knob must be as after any
    /// boot.
    fn power_fails(&self) -> Result<bool> {
        let first = self.boot("power_guest", &[], Some("CUT"))?;
        let text = String::from_utf8(first.results).context("what the guest sent")?;
        let text = text.replace('\r', "");
        let (journal, rest) = text.split_once("\n\n").context("the guest sent no journal")?;
        let knobs = rest.split_once("END\n").context("the guest did not send every knob")?.0;
        ensure!(!journal.is_empty() && !knobs.is_empty(), "the guest sent nothing");
        let journal = format!("{journal}\n").into_bytes();
        let kept = [("/kept/journal", &journal), ("/kept/knobs", &knobs.as_bytes().to_vec())];
        self.passes("power_guest", &kept)
    }
}
