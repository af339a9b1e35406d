//! Process 1 of a guest that records a campaign on a disk until its power fails, and of the next
//! one with the same disk, which goes on. Run by `tools/check-campaign`; does nothing outside
//! such a guest.
//!
//! `/mode` is the mode of sleep, and `killed` or `last`. First one more cycle is recorded, whole:
//! so the start says what was cut, and settings can be compared. What was said and the new
//! lines of the list go out over the second serial line. Then a guest that is killed says
//! `CAMPAIGN` and records on. What it says on the console goes through the kernel's log, so that
//! it stands in its place among the kernel's own words, and is printed before this goes on.

#[allow(dead_code, reason = "shared with other guests")]
mod common;
#[allow(dead_code, reason = "shared with other guests")]
#[path = "common/disk.rs"]
mod disk;

use common::{Ran, dormouse, knobs};
use disk::mount_at;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::process::{Command, Stdio};
use std::time::Duration;

const MNT: &str = "/mnt";
const FOLDER: &str = "/mnt/night";
const LIST: &str = "/mnt/night/campaign.jsonl";
const TROUBLE: &str = "/sys/kernel/debug/dormouse_trouble";
/// Callbacks that compute, so that the power can fail in them: a guest that waits takes none of
/// the host's time.
const PLAN: &str = "\
    quux-phy suspend stall 4;vexnet suspend stall 2;zorb_codec late stall 3;\
    wibble-hub noirq stall 3;wibble-hub resume_noirq stall 2;elm-gpio early stall 2;\
    firdsp resume stall 3;oak-bridge resume stall 2;yew_mmc prepare stall 1;yew_mmc complete stall 1";

fn main() {
    common::run(check);
}

fn check() -> usize {
    match campaign() {
        Ok(bad) => bad,
        Err(e) => {
            let _ = say(&format!("NOT: {e}"));
            1
        }
    }
}

/// Writes a line into the kernel's log; it is on the console when this returns.
fn say(text: &str) -> io::Result<()> {
    // A record of the kernel's log holds less than 1 KiB.
    let end = text.floor_char_boundary(900);
    File::options().write(true).open("/dev/kmsg")?.write_all(&text.as_bytes()[..end])
}

fn put(path: &str, value: &str) -> io::Result<()> {
    let named = |e| io::Error::other(format!("{path} does not take {value:?}: {e}"));
    File::options()
        .write(true)
        .open(path)
        .and_then(|mut f| f.write_all(value.as_bytes()))
        .map_err(named)
}

fn campaign() -> io::Result<usize> {
    let mode = fs::read_to_string("/mode")?;
    let (sleep, rest) = mode.trim().split_once(' ').unwrap_or((mode.trim(), ""));
    fs::create_dir_all(MNT)?;
    mount_at("ext4", "/dev/vda", MNT, None)?;
    mount_at("pstore", "pstore", "/sys/fs/pstore", None)?;
    rustix::system::finit_module(&File::open("/trouble.ko")?, c"", 0)?;
    put(&format!("{TROUBLE}/plan"), PLAN)?;
    // So long suspend-to-idle lasts; the emulator ends the other mode.
    put(&format!("{TROUBLE}/idle_ms"), "30")?;
    // As `initcall_debug` sets it.
    put("/sys/power/pm_print_times", "1")?;

    let mut line = File::options().write(true).open("/dev/ttyS1")?;
    let before = knobs();
    let found = fs::read_to_string(LIST).unwrap_or_default();
    let kept = fs::read_dir("/sys/fs/pstore")?.flatten().map(|e| e.file_name());
    let kept: Vec<String> = kept.map(|n| n.to_string_lossy().into_owned()).collect();
    let ran = record(sleep, highest(&found) + 1);
    let list = fs::read_to_string(LIST)?;
    let whole = found.rfind('\n').map_or(0, |n| n + 1);
    let changed = common::differences(&before);
    let sent = format!(
        "PSTORE {}\nKNOBS {changed}\nSAID\n{}\nLINES\n{}END\n",
        kept.join(" "),
        ran.text,
        list.get(whole..).unwrap_or_default()
    );
    line.write_all(sent.as_bytes())?;
    rustix::termios::tcdrain(&line)?;
    let mut bad = common::compare("after a start", &before);
    if !ran.success {
        say(&format!("NOT: dormouse record ends with {:?}: {}", ran.code, ran.text))?;
        bad += 1;
    }
    if rest == "last" || bad > 0 {
        rustix::mount::unmount(MNT, rustix::mount::UnmountFlags::empty())?;
        return Ok(bad);
    }
    until_killed(sleep, list.len() as u64)
}

/// The highest number of a cycle in the list.
fn highest(list: &str) -> u32 {
    let number = |rest: &str| {
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        rest[..end].parse().ok()
    };
    list.split("\"cycle\":").skip(1).filter_map(number).max().unwrap_or(0)
}

/// The words of a campaign of so many cycles.
fn words(sleep: &str, cycles: u32) -> Vec<String> {
    let cycles = cycles.to_string();
    let words = ["record", "--yes", "--campaign", FOLDER, "--cycles", &cycles, "--interval", "0"];
    let how = ["--mem-sleep", sleep, "--wake", "rtc:9", "--verbose-console"];
    words.into_iter().chain(how).map(String::from).collect()
}

fn record(sleep: &str, cycles: u32) -> Ran {
    let words = words(sleep, cycles);
    dormouse(&words.iter().map(String::as_str).collect::<Vec<_>>(), None)
}

/// Records on, and says each further line of the list as it comes. `at` is how long the list is.
fn until_killed(sleep: &str, at: u64) -> io::Result<usize> {
    let mut list = File::open(LIST)?;
    list.seek(SeekFrom::Start(at))?;
    say("CAMPAIGN")?;
    let mut child = Command::new("/dormouse")
        .args(words(sleep, 90_000))
        .stdout(Stdio::null())
        .stderr(File::create("/tmp/said")?)
        .spawn()?;
    let mut text = Vec::new();
    loop {
        list.read_to_end(&mut text)?;
        while let Some(end) = text.iter().position(|b| *b == b'\n') {
            let line: Vec<u8> = text.drain(..=end).collect();
            say(&format!("LIST {}", String::from_utf8_lossy(&line).trim_end()))?;
        }
        if let Some(status) = child.try_wait()? {
            let said = fs::read_to_string("/tmp/said").unwrap_or_default();
            say(&format!("NOT: the campaign ended ({status}): {said}"))?;
            return Ok(1);
        }
        // Whoever writes a line waits for the disk, which takes longer.
        std::thread::sleep(Duration::from_micros(500));
    }
}
