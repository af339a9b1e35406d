//! Power cuts: guests that write files, protect them in one of several ways or not at
//! all, and are killed at random moments; another guest counts what is lost.
//!
//! What a killed guest loses is what its kernel had not yet given to the disk. A disk
//! that loses its own cache is not part of this.

use crate::archive;
use crate::disks::{self, Image};
use anyhow::{Context, Result, bail, ensure};
use dormouse_lab::kernels::{self, Kernel};
use dormouse_lab::qemu::{Accel, Arch, Attend, Machine, Output, boot};
use std::path::PathBuf;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(600);

/// One way to lose power.
struct Way {
    /// What the guest is told.
    mode: &'static str,
    /// What the table says.
    what: &'static str,
    /// The word on the console.
    word: &'static str,
    /// The power fails at most so many ms later.
    within: u64,
    /// How often, of the number asked for.
    part: usize,
    /// Whether files may be lost, and must.
    may_lose: bool,
    must_lose: bool,
}

const WAYS: [Way; 4] = [
    Way {
        mode: "presync",
        what: "after `dormouse sync` returned 0",
        word: "CUT",
        within: 1_500,
        part: 1,
        may_lose: false,
        must_lose: false,
    },
    Way {
        mode: "kernel",
        what: "after the kernel's own sync",
        word: "Filesystems sync: ",
        within: 1_500,
        part: 1,
        may_lose: false,
        must_lose: false,
    },
    Way {
        mode: "during",
        what: "during `dormouse sync`",
        word: "CUT",
        within: 3_000,
        part: 1,
        may_lose: true,
        must_lose: false,
    },
    Way {
        mode: "unprotected",
        what: "no sync at all (sync_on_suspend=0)",
        word: "CUT",
        within: 1_500,
        part: 4,
        may_lose: true,
        must_lose: true,
    },
];

/// What was found on a disk.
struct Judged {
    mounted: bool,
    clean: bool,
    old: usize,
    new: usize,
}

/// `cuts PROGRAMS SERIES CUTS`: false if something was lost that must not be, or nothing
/// where something must.
pub(crate) fn run(args: &[String]) -> Result<bool> {
    let [programs, series, cuts] = args else { bail!("use: cuts PROGRAMS SERIES CUTS") };
    let cuts: usize = cuts.parse().context("CUTS is a number")?;
    ensure!((4..=24).contains(&cuts), "CUTS is a number from 4 to 24");
    let kernel = kernels::get(Arch::Amd64, series)?;
    let bench = Bench {
        modules: disks::modules(&kernel, &["virtio_blk", "ext4"])?,
        programs: programs.into(),
        image: Image::make(64, &["-N", "2048"])?,
        kernel,
    };
    println!(
        "{}: 1,000 files of 20 KiB, closed and dirty; 200 older ones on the disk",
        bench.kernel.release
    );
    println!(
        "| power fails | cuts | moments, ms later | mounted | clean | older files lost | of 1,000 files lost, each time |"
    );
    println!("|---|---|---|---|---|---|---|");
    let mut good = true;
    for way in &WAYS {
        good &= bench.cut(way, cuts / way.part)?;
    }
    println!("{}", if good { "PASSED" } else { "FAILED" });
    Ok(good)
}

struct Bench {
    kernel: Kernel,
    modules: Vec<(String, Vec<u8>)>,
    programs: PathBuf,
    /// An empty file system.
    image: Image,
}

impl Bench {
    /// Cuts the power so often, and prints what became of the files.
    fn cut(&self, way: &Way, cuts: usize) -> Result<bool> {
        let dir = tempfile::tempdir().context("a folder for disks")?;
        let mut moments = Vec::new();
        let mut places = Vec::new();
        // Numbers in a row that look random and are the same each time.
        let mut state = 0x2545_f491_4f6c_dd1d_u64 ^ way.within;
        for i in 0..cuts {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let later = state % way.within;
            let place = dir.path().join(format!("disk{i}"));
            disks::copy(&self.image, &place)?;
            // What the guest flushes need not reach this machine's disk.
            let drive = format!(
                "file={},format=raw,cache=unsafe,throttling.bps-write=8000000",
                place.display()
            );
            let cut = Some((way.word, Duration::from_millis(later)));
            let output = self.boot(way.mode, &[drive], cut)?;
            ensure!(
                output.console.contains(way.word) && !output.console.contains("FAILED"),
                "{}: {}",
                way.mode,
                output.console
            );
            moments.push(later);
            places.push(place);
        }
        let found = self.judge(&places)?;
        moments.sort_unstable();
        let lost: Vec<usize> = found.iter().map(|j| j.new).collect();
        let list: Vec<String> = lost.iter().map(ToString::to_string).collect();
        println!(
            "| {} | {cuts} | {} to {} | {} | {} | {} | {} |",
            way.what,
            moments.first().unwrap_or(&0),
            moments.last().unwrap_or(&0),
            found.iter().filter(|j| j.mounted).count(),
            found.iter().filter(|j| j.clean).count(),
            found.iter().map(|j| j.old).sum::<usize>(),
            list.join(" ")
        );
        let whole = found.iter().all(|j| j.mounted && j.clean && j.old == 0);
        let any = lost.iter().any(|&n| n > 0);
        Ok(whole && (way.may_lose || !any) && (!way.must_lose || any))
    }

    /// A guest that looks at all disks, and a check of each file system after it.
    fn judge(&self, places: &[PathBuf]) -> Result<Vec<Judged>> {
        let drive = |p: &PathBuf| format!("file={},format=raw,cache=unsafe", p.display());
        let drives: Vec<String> = places.iter().map(drive).collect();
        let output = self.boot("judge", &drives, None)?;
        let mut found = Vec::new();
        for line in output.console.lines().filter_map(|l| l.trim().strip_prefix("JUDGED ")) {
            let words: Vec<&str> = line.split(' ').collect();
            let [mounted, old, new] = words[..] else { bail!("the guest said {line:?}") };
            let place = &places[found.len().min(places.len() - 1)];
            found.push(Judged {
                mounted: mounted == "mounted",
                clean: disks::is_clean(place)?,
                old: old.parse().context("a number")?,
                new: new.parse().context("a number")?,
            });
        }
        ensure!(
            found.len() == places.len(),
            "the guest judged {}: {}",
            found.len(),
            output.console
        );
        Ok(found)
    }

    fn boot(&self, mode: &str, drives: &[String], cut: Option<(&str, Duration)>) -> Result<Output> {
        let mut archive = archive::of(&self.programs, "dormouse", "cut_guest")?;
        archive.file("/mode", 0o644, mode.as_bytes());
        for (path, content) in &self.modules {
            archive.file(path, 0o644, content);
        }
        // The disk is slow by this machine's clock, so the guest lives by it too.
        // On a busy host its timer may not tick while the kernel looks whether it does
        // (arch/x86/kernel/apic/io_apic.c:check_timer, 6.12), which is no power cut.
        let words = "no_timer_check".into();
        let machine =
            Machine { words, ..Machine::new(Arch::Amd64, Accel::Tcg, 1, &self.kernel.release) };
        let attend = Attend { wake: false, cut, disk_mb: None, drives, limit: LIMIT };
        Ok(boot(&machine, &self.kernel.image, &archive.finish(), attend)?)
    }
}
