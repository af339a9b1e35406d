//! Disks and loads for `tools/storage-loads`: drawn by a seed, and each mechanism
//! alone.

use anyhow::{Context, Result};
use dormouse_base::stats::random::Random;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// A disk that changes nothing, and rare requests: the kernel's own part is fitted
/// from it.
const SOFTWARE: &str = "clocks 100MHz 400MHz\nbase 60us\nper-kib 1.5us\nmax-freq 100MHz\npoll 60ms\n\
     load every 6250us count 200\n";

/// The disk of the mechanisms.
const PLAIN: &str = "clocks 100MHz 400MHz\nbase 60us\nper-kib 1.5us\nchange 500us\nup 70\n";

/// Each mechanism alone: its name, its settings and its load. A limit on the LUN is seen at
/// a look or not at all. Bursts every 200 ms would meet looks every 60 ms in ten places
/// only, so that the share of those seen would hang on where the first look lies; 203 ms
/// have no such pattern.
const ALONE: [(&str, &str, &str); 11] = [
    ("clock", "poll 60ms", "load burst 300 after 230ms"),
    ("clock-waits", "poll 60ms\nchange-waits yes", "load burst 300 after 230ms"),
    ("clock-deferrable", "poll 60ms\ntimer deferrable", "load burst 300 after 230ms"),
    ("clock-stops", "poll 60ms\nidle-stop unless-raised", "load burst 300 after 230ms"),
    ("clock-always-stops", "poll 60ms\nidle-stop always", "load burst 300 after 230ms"),
    ("gate", "poll 0ms\nmax-freq 100MHz\ngate-delay 5ms\ngate-wake 1ms", "load burst 4 every 20ms"),
    (
        "suspend",
        "poll 0ms\nmax-freq 100MHz\nautosuspend 20ms\nsuspend-enter 1ms\nresume 3ms\nslack 25",
        "load burst 4 every 60ms",
    ),
    ("parent", "poll 60ms\nqos parent\ntimeout 30ms", "load burst 8 every 200ms"),
    ("lun", "poll 60ms\nqos lun\ntimeout 30ms", "load burst 8 every 203ms"),
    ("parent-often", "poll 60ms\nqos parent\ntimeout 4ms", "load every 6250us"),
    ("queue", "poll 60ms", "load burst 500 after 170ms depth 8"),
];

/// `xtask storage SEED COUNT REQUESTS FOLDER`: writes `software.disk`, a disk for each
/// mechanism alone, and COUNT drawn ones.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let [seed, count, requests, folder] = args else {
        anyhow::bail!("give SEED COUNT REQUESTS FOLDER");
    };
    let (seed, count): (u64, u64) = (seed.parse()?, count.parse()?);
    let requests: u64 = requests.parse()?;
    let folder = Path::new(folder);
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let write = |name: &str, text: &str| {
        let path = folder.join(format!("{name}.disk"));
        fs::write(&path, format!("dormouse-disk 1\ntick 4ms\n{text}"))
            .with_context(|| format!("cannot write {}", path.display()))
    };
    write("software", SOFTWARE)?;
    for (name, settings, load) in ALONE {
        write(name, &format!("{PLAIN}{settings}\n{load} count {requests}\n"))?;
    }
    for i in 0..count {
        let mut random = Random::new(seed * 1_000 + i);
        let text = disk(&mut random) + &load(&mut random, i, requests);
        write(&format!("drawn-{i:02}"), &text)?;
    }
    Ok(())
}

/// A disk with some of the mechanisms.
fn disk(r: &mut Random) -> String {
    let mut out = String::new();
    let levels = r.between(2, 4);
    let mut hz = 50 * r.between(1, 4);
    let mut list = String::new();
    for _ in 0..levels {
        let _ = write!(list, " {hz}MHz");
        hz = hz * r.between(15, 30) / 10;
    }
    let _ = writeln!(out, "clocks{list}");
    let _ = writeln!(out, "base {}us", r.between(20, 150));
    let _ = writeln!(out, "per-kib {}ns", r.between(300, 3_000));
    let _ = writeln!(out, "change {}us", r.between(100, 2_000));
    let yes = |r: &mut Random| r.below(2) == 1;
    let _ = writeln!(out, "change-waits {}", if yes(r) { "yes" } else { "no" });
    let _ = writeln!(out, "poll {}ms", r.between(20, 100));
    let _ = writeln!(out, "up {}\ndown {}", r.between(50, 90), r.between(5, 20));
    let stops = ["never", "unless-raised", "always"];
    let _ = writeln!(out, "idle-stop {}", stops[r.below(3) as usize]);
    match r.below(3) {
        0 => {}
        1 => {
            let _ = writeln!(out, "qos parent\ntimeout {}ms", r.between(2, 40));
        }
        _ => {
            let _ = writeln!(out, "qos lun\ntimeout {}ms", r.between(2, 40));
        }
    }
    if yes(r) {
        let (delay, wake) = (r.between(1, 100), r.between(50, 1_500));
        let _ = writeln!(out, "gate-delay {delay}ms\ngate-wake {wake}us");
    }
    if yes(r) {
        let delay = r.between(20, 500);
        let (enter, wake) = (r.between(500, 3_000), r.between(1_000, 20_000));
        let _ = writeln!(
            out,
            "autosuspend {delay}ms\nslack 25\nsuspend-enter {enter}us\nresume {wake}us"
        );
    }
    out
}

/// One of ten kinds of load.
fn load(r: &mut Random, i: u64, requests: u64) -> String {
    let bytes = 4_096 << r.below(7);
    let burst = r.between(2, 64);
    let ms = r.between(5, 300);
    let line = match i % 10 {
        0 => format!("load every {}us", r.between(2_000, 20_000)),
        1 => format!("load burst {burst} every {ms}ms"),
        2 => format!("load burst {burst} after {ms}ms"),
        3 => "load depth 1".into(),
        4 => format!("load depth {}", r.between(2, 16)),
        5 => format!("load depth {} think {}us", r.between(1, 4), r.between(100, 3_000)),
        6 => format!("load burst {} after {ms}ms depth {}", 8 * burst, r.between(2, 8)),
        7 => return arrivals(r, requests, bytes, 1),
        8 => return arrivals(r, requests, bytes, burst),
        _ => format!("load burst {burst} every {ms}ms think {}us", r.between(100, 2_000)),
    };
    format!("{line} bytes {bytes} count {requests}\n")
}

/// Requests that come at random, `burst` of them close together.
fn arrivals(r: &mut Random, requests: u64, bytes: u64, burst: u64) -> String {
    let rest = r.between(2_000, 20_000) * burst;
    let mut out = String::new();
    let mut at = 0;
    for i in 0..requests {
        // From 0 to twice the mean.
        at += if i % burst == 0 { r.below(2 * rest) } else { r.below(2_000) };
        let _ = writeln!(out, "at {at}us {bytes}");
    }
    out
}
