//! Published figures of storage beside ours: the series of 2025 that raises a disk's
//! clock, and that of 2024 which keeps CPUs out of deep idle states.
//!
//! What is fitted is fitted on the cells without the mechanism alone. What the series
//! measured beside the clock, such as CPUs that wake up, is one wait that is added as it
//! is: its smallest is 0 by definition, its mean and largest are fitted.

use anyhow::{Context, Result};
use dormouse_storage::simulate::disk::simulate;
use dormouse_storage::simulate::load::{Load, Loop, Next};
use dormouse_storage::simulate::ondemand::Thresholds;
use dormouse_storage::simulate::settings::{
    Devfreq, Drive, Governor, IdleStop, Law, Nap, Qos, Settings,
};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// The published cells: least, mean and most latency of reads every 6.24 ms, us, and
/// bandwidth of reads back to back, MB/s.
struct Cells {
    least: f64,
    mean: f64,
    most: f64,
    bandwidth: f64,
}

const OFF: Cells = Cells { least: 210.0, mean: 635.0, most: 899.0, bandwidth: 378.2 };
const ON: Cells = Cells { least: 141.0, mean: 550.0, most: 872.0, bandwidth: 388.6 };

const US: f64 = 1_000.0;
const MS: i64 = 1_000_000;
const BYTES: u64 = 65_536;
/// 10 s of reads every 6.24 ms, as published; and reads back to back for as long.
const RARE: u32 = 1_603;
const STREAM: i64 = 10_000 * MS;

/// What the model needs, us where nothing else is said.
#[derive(Clone, Copy)]
struct Guess {
    /// Fitted: latency at the slow clock without another wait.
    slow: f64,
    /// Fitted: bandwidth of reads back to back, MB/s.
    stream: f64,
    /// Fitted: the other waits, mean and largest.
    wait: f64,
    longest: f64,
    /// Assumed: what the kernel needs for a request.
    software: f64,
    /// Assumed: how much faster the fast clock is.
    ratio: f64,
    /// Assumed: a change of the clock.
    change: f64,
    /// Of Qualcomm's driver (drivers/ufs/host/ufs-qcom.c, 6.12), ms.
    poll: f64,
    /// As published, ms.
    timeout: f64,
    /// Whether looks at an idle host stop.
    stop: IdleStop,
}

const FITTED: Guess = Guess {
    slow: OFF.least,
    stream: OFF.bandwidth,
    wait: OFF.mean - OFF.least,
    longest: OFF.most - OFF.least,
    software: 20.0,
    ratio: 4.0,
    change: 500.0,
    poll: 60.0,
    timeout: 30.0,
    stop: IdleStop::Never,
};

/// Where the request is made.
#[derive(Clone, Copy, PartialEq)]
enum Site {
    Off,
    Disk,
    Host,
}

impl Guess {
    fn drive(&self, transfer: f64) -> Drive {
        // At the slow clock the transfer takes `ratio` times as long.
        let base = self.slow - self.software - self.ratio * transfer;
        let ns = |us: f64| (us * US) as i64;
        Drive {
            law: Law { base: ns(base), transfer: ns(transfer), software: ns(self.software) },
            levels: vec![100_000_000, (self.ratio * 1e8) as u64],
            start: 0,
            change: ns(self.change),
            waits: true,
            gate: Nap::default(),
            suspend: Nap::default(),
        }
    }

    fn settings(&self, site: Site) -> Settings {
        let timeout = (self.timeout * MS as f64) as i64;
        let devfreq = Devfreq {
            governor: Governor::SimpleOndemand(Thresholds { up: 70, down: 5 }),
            poll: (self.poll * MS as f64) as i64,
            tick: 4 * MS,
            deferrable: false,
            idle_stop: self.stop,
            least: 0,
            most: u64::MAX,
        };
        let qos = match site {
            Site::Off => Qos::Off,
            Site::Disk => Qos::Disk { timeout },
            Site::Host => Qos::Host { timeout },
        };
        Settings { devfreq, qos, gate: None, autosuspend: None, slack: 0 }
    }

    fn bandwidth(&self, transfer: f64, site: Site) -> f64 {
        let drive = self.drive(transfer);
        // As many reads as the slower clock can do.
        let count = (STREAM as f64 / (self.slow * US)) as u32;
        let load =
            Loop { count, bytes: BYTES, depth: 1, think: 0, burst: count, next: Next::After(0) };
        simulate(&drive, &self.settings(site), &Load::Loop(load)).bandwidth() as f64 / 1e6
    }

    /// The transfer at the fast clock that gives the published bandwidth.
    fn transfer(&self) -> f64 {
        let (mut low, mut high) = (0.0, (self.slow - self.software) / self.ratio);
        for _ in 0..40 {
            let middle = (low + high) / 2.0;
            // What the slow clock takes is given: the longer a transfer, the more the fast
            // clock gains.
            if self.bandwidth(middle, Site::Off) < self.stream {
                low = middle;
            } else {
                high = middle;
            }
        }
        high
    }

    fn cells(&self, transfer: f64, site: Site) -> Cells {
        let drive = self.drive(transfer);
        let o = simulate(&drive, &self.settings(site), &Load::paced(RARE, 1, 6_240_000));
        let of = |v: Option<&i64>| v.map_or(0.0, |&ns| ns as f64 / US);
        let sum: i64 = o.latencies.iter().sum();
        Cells {
            least: of(o.latencies.iter().min()),
            mean: sum as f64 / f64::from(RARE) / US + self.wait,
            most: of(o.latencies.iter().max()) + self.longest,
            bandwidth: self.bandwidth(transfer, site),
        }
    }

    /// Mean latency of 8 reads every 200 ms, other waits left out.
    fn burst(&self, transfer: f64, site: Site) -> f64 {
        let load = Load::paced(800, 8, 200 * MS);
        simulate(&self.drive(transfer), &self.settings(site), &load).latency().mean as f64 / US
    }
}

impl Cells {
    fn list(&self) -> [f64; 4] {
        [self.least, self.mean, self.most, self.bandwidth]
    }
}

const NAMES: [&str; 4] = [
    "every 6.24 ms: least us",
    "every 6.24 ms: mean us",
    "every 6.24 ms: most us",
    "back to back: MB/s",
];

fn change(on: f64, off: f64) -> f64 {
    100.0 * (on / off - 1.0)
}

/// `xtask published-storage disks FOLDER` writes the fitted disk for guests;
/// `xtask published-storage print [MEASURED]...` prints the tables, with what guests
/// measured in these folders of `dormouse lab storage`.
pub(crate) fn run(args: &[String]) -> Result<()> {
    match args {
        [task, folder] if task == "disks" => disks(Path::new(folder)),
        [task, folders @ ..] if task == "print" => {
            print!("{}", clock(folders)?);
            print!("{}", latency()?);
            Ok(())
        }
        _ => anyhow::bail!("give disks FOLDER, or print [MEASURED]..."),
    }
}

const SITES: [(&str, Site); 3] = [("off", Site::Off), ("lun", Site::Disk), ("parent", Site::Host)];

fn disks(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let g = FITTED;
    let transfer = g.transfer();
    let d = g.drive(transfer);
    for (name, _) in SITES {
        let (rare, burst) = ("load every 6240us count 1603", "load burst 8 every 200ms count 800");
        for (kind, load) in [("rare", rare), ("stream", "load count 12000"), ("burst", burst)] {
            let text = format!(
                "dormouse-disk 1\ntick 4ms\nclocks {}Hz {}Hz\nbase {}ns\nper-kib {}ns\n\
                 change {}ns\nchange-waits yes\nup 70\npoll {}ms\nqos {name}\n\
                 timeout {}ms\n{load}\n",
                d.levels[0],
                d.levels[1],
                d.law.base,
                d.law.transfer / 64,
                d.change,
                g.poll,
                g.timeout
            );
            let path = folder.join(format!("{kind}.{name}.disk"));
            fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        }
    }
    Ok(())
}

/// What a guest measured: the same four, other waits added.
fn measured(folder: &Path, site: &str) -> Result<Cells> {
    let read = |kind: &str| -> Result<(Vec<f64>, f64)> {
        let path = folder.join(format!("{kind}.{site}.measured"));
        let text = fs::read_to_string(&path);
        let text = text.with_context(|| format!("cannot read {}", path.display()))?;
        let (mut list, mut span) = (Vec::new(), 0.0);
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                ["r", _, took] => list.push(took.parse::<f64>()? / US),
                ["span", ns] => span = ns.parse()?,
                _ => {}
            }
        }
        Ok((list, span))
    };
    let (rare, _) = read("rare")?;
    let (stream, span) = read("stream")?;
    Ok(Cells {
        least: rare.iter().copied().fold(f64::INFINITY, f64::min),
        mean: rare.iter().sum::<f64>() / rare.len() as f64 + FITTED.wait,
        most: rare.iter().copied().fold(0.0, f64::max) + FITTED.longest,
        bandwidth: stream.len() as f64 * BYTES as f64 / span * 1e3,
    })
}

fn clock(folders: &[String]) -> Result<String> {
    let g = FITTED;
    let transfer = g.transfer();
    let fast = g.slow - (g.ratio - 1.0) * transfer;
    let mut out = String::new();
    let _ = writeln!(
        out,
        "## The clock of a disk: series of September 2025, Snapdragon with UFS 4.1\n\n\
         64 KiB reads, one at a time, for 10 s. Fitted on the cells \"off\" alone: {:.0} us at the\n\
         slow clock, {:.1} us at the fast one (transfer {:.1} us of it), other waits of {:.0} us\n\
         on average and {:.0} us at most. Assumed: clocks 1 to {:.0}, {:.0} us of the kernel in a\n\
         request, a change of {:.0} us. Of the driver: poll {:.0} ms, thresholds 70 and 5.\n",
        g.slow, fast, transfer, g.wait, g.longest, g.ratio, g.software, g.change, g.poll
    );
    let mut head = String::from("| cell | published off | on | change | ours off | lun | parent |");
    let mut rule = String::from("|---|---|---|---|---|---|---|");
    let kernels: Vec<(String, Vec<Cells>)> = folders
        .iter()
        .map(|f| {
            let name =
                PathBuf::from(f).file_name().unwrap_or_default().to_string_lossy().into_owned();
            let cells = SITES.iter().map(|s| measured(Path::new(f), s.0)).collect::<Result<_>>()?;
            Ok((name, cells))
        })
        .collect::<Result<_>>()?;
    for (name, _) in &kernels {
        let _ = write!(head, " kernel {name} off | lun | parent |");
        rule.push_str("---|---|---|");
    }
    let _ = writeln!(out, "{head}\n{rule}");
    let ours: Vec<[f64; 4]> = SITES.iter().map(|s| g.cells(transfer, s.1).list()).collect();
    for (i, name) in NAMES.iter().enumerate() {
        let (off, on) = (OFF.list()[i], ON.list()[i]);
        let _ = write!(out, "| {name} | {off:.1} | {on:.1} | {:+.1} % |", change(on, off));
        let of = |out: &mut String, all: [f64; 3]| {
            let _ = write!(out, " {:.1} |", all[0]);
            for on in &all[1..] {
                let _ = write!(out, " {on:.1} ({:+.1} %) |", change(*on, all[0]));
            }
        };
        of(&mut out, [ours[0][i], ours[1][i], ours[2][i]]);
        for (_, cells) in &kernels {
            of(&mut out, [0, 1, 2].map(|s: usize| cells[s].list()[i]));
        }
        out.push('\n');
    }
    why(&mut out, &g, transfer, fast);
    sensitivity(&mut out);
    Ok(out)
}

fn why(out: &mut String, g: &Guess, transfer: f64, fast: f64) {
    let b = SITES.map(|s| g.burst(transfer, s.1));
    let gain = OFF.mean - ON.mean;
    let clock = g.slow - fast;
    let _ = writeln!(
        out,
        "\nWhy they differ.\n\
         - lun and parent are nearly the same here: reads come every 6.24 ms, the time-out is\n\
         \x20 {:.0} ms, so the request is made once and the first look ({:.0} ms) sees it. In bursts\n\
         \x20 of 8 reads every 200 ms they are not: mean {:.0} us off, {:.0} lun ({:+.1} %), {:.0} parent\n\
         \x20 ({:+.1} %), other waits left out.\n\
         - The clock explains {clock:.0} us of the {gain:.0} us that the mean gained, and of the {:.0} us that the\n\
         \x20 least gained. The bandwidth without the mechanism says that a read back to back takes\n\
         \x20 {:.0} us, so no clock makes the least {:.0} us, unless these reads were not all at the fast\n\
         \x20 clock: see software below.\n\
         - The driver forbids CPUs to idle deeply while its clock is high (ufshcd_pm_qos_update,\n\
         \x20 drivers/ufs/core/ufshcd.c, 6.12). If the {:.0} us that the clock does not explain are that, they are {:.0} % of the other waits. The rest, {:.0} us, is in states\n\
         \x20 that the mechanism does not touch.",
        g.timeout,
        g.poll,
        b[0],
        b[1],
        change(b[1], b[0]),
        b[2],
        change(b[2], b[0]),
        OFF.least - ON.least,
        BYTES as f64 / OFF.bandwidth,
        ON.least,
        gain - clock,
        100.0 * (gain - clock) / g.wait,
        g.wait - (gain - clock),
    );
}

/// Each parameter alone, a fifth less and more; the fit of the others is made again.
fn sensitivity(out: &mut String) {
    let scaled = |f: fn(&mut Guess, f64)| {
        move |by: f64| {
            let mut g = FITTED;
            f(&mut g, by);
            g
        }
    };
    type Make = Box<dyn Fn(f64) -> Guess>;
    let list: Vec<(&str, Make)> = vec![
        ("slow latency (fitted)", Box::new(scaled(|g, by| g.slow *= by))),
        ("bandwidth (fitted)", Box::new(scaled(|g, by| g.stream *= by))),
        ("mean of other waits (fitted)", Box::new(scaled(|g, by| g.wait *= by))),
        ("longest other wait (fitted)", Box::new(scaled(|g, by| g.longest *= by))),
        ("software (assumed)", Box::new(scaled(|g, by| g.software *= by))),
        ("ratio of clocks (assumed)", Box::new(scaled(|g, by| g.ratio *= by))),
        ("change of the clock (assumed)", Box::new(scaled(|g, by| g.change *= by))),
        ("poll", Box::new(scaled(|g, by| g.poll *= by))),
        ("time-out", Box::new(scaled(|g, by| g.timeout *= by))),
    ];
    out.push_str(
        "\nSensitivity: change by the request on parent, in percent, where one parameter is a\n\
         fifth less, and a fifth more; the transfer is fitted again each time.\n\n\
         | parameter | least | mean | most | bandwidth | bursts |\n|---|---|---|---|---|---|\n",
    );
    let row = |out: &mut String, name: &str, all: &[Guess]| {
        let _ = write!(out, "| {name} |");
        let columns: Vec<[f64; 5]> = all
            .iter()
            .map(|g| {
                let t = g.transfer();
                let (off, on) = (g.cells(t, Site::Off).list(), g.cells(t, Site::Host).list());
                let c = |i: usize| change(on[i], off[i]);
                let b = change(g.burst(t, Site::Host), g.burst(t, Site::Off));
                [c(0), c(1), c(2), c(3), b]
            })
            .collect();
        for i in 0..5 {
            let cells: Vec<String> = columns.iter().map(|c| format!("{:+.1}", c[i])).collect();
            let _ = write!(out, " {} |", cells.join(", "));
        }
        out.push('\n');
    };
    row(out, "as fitted", &[FITTED]);
    for (name, make) in &list {
        row(out, name, &[make(0.8), make(1.2)]);
    }
    for software in [40.0, 55.0, 61.0, 62.0] {
        let g = Guess { software, ..FITTED };
        row(out, &format!("software {software:.0} us"), &[g]);
    }
    for (name, stop) in [("unless raised", IdleStop::UnlessRaised), ("always", IdleStop::Always)] {
        row(out, &format!("looks at an idle host stop: {name}"), &[Guess { stop, ..FITTED }]);
    }
    let _ = writeln!(
        out,
        "| published | {} |",
        [0, 1, 2, 3].map(|i| format!("{:+.1}", change(ON.list()[i], OFF.list()[i]))).join(" | ")
            + " | -"
    );
    out.push_str(
        "\nsoftware decides how busy the host looks. Above 60 us the share of a read back to back at\n\
         the fast clock falls below 65 %: the governor lowers the clock, sees 70 %, and raises it\n\
         again. Then the bandwidth \"off\" is a mixture, the fast clock is faster than it says, and\n\
         the request gains in all cells. The cells \"off\" alone cannot tell how much.\n\
         Looks that stop when the host is idle, as Qualcomm's driver of 6.12 has it, begin with one\n\
         that sees no window, and simple_ondemand then takes the fastest clock: without the\n\
         mechanism these reads would all be fast. Published is a gain, so that kernel did not.\n",
    );
}

/// States of a machine of pepc's tables: name, exit latency and residency, us.
fn states(machine: &str) -> Result<Vec<(String, f64, f64)>> {
    let data = std::env::var_os("DORMOUSE_DATA").map_or("../shared/data".into(), PathBuf::from);
    let path = data.join("idle/pepc-cpuidle-tables.csv");
    let Ok(text) = fs::read_to_string(&path) else { return Ok(Vec::new()) };
    let mut list = Vec::new();
    for line in text.lines() {
        let w: Vec<&str> = line.split(',').collect();
        if w.len() > 7 && w[0] == machine && w[4] != "0" {
            list.push((w[5].to_owned(), w[6].parse()?, w[7].parse()?));
        }
    }
    Ok(list)
}

/// The machine of the series, an Ice Lake Xeon.
const MACHINE: &str = "icx2s0";

fn latency() -> Result<String> {
    let list = states(MACHINE)?;
    let mut out =
        String::from("\n## CPUs that sleep: series of October 2024, Ice Lake Xeon with NVMe\n\n");
    let Some((deep, exit, residency)) = list.last().cloned() else {
        out.push_str("SKIPPED: idle/pepc-cpuidle-tables.csv is absent (set DORMOUSE_DATA)\n");
        return Ok(out);
    };
    // Mean of a read without deep states, us, as published.
    let read = 22.4;
    let fits = list.iter().rfind(|s| s.2 <= read).map_or("none", |s| s.0.as_str());
    let _ = writeln!(
        out,
        "States of {MACHINE} (pepc's table): {}. A read takes {read} us, so the deepest state that\n\
         pays while one waits is {fits}; {deep} pays from {residency:.0} us on.\n",
        list.iter()
            .map(|s| format!("{} {:.0}/{:.0} us", s.0, s.1, s.2))
            .collect::<Vec<_>>()
            .join(", ")
    );
    out.push_str("| figure | published | model | explained |\n|---|---|---|---|\n");
    let row = |out: &mut String, a: &str, b: &str, c: String, d: &str| {
        let _ = writeln!(out, "| {a} | {b} | {c} | {d} |");
    };
    let least = (247.0 - 135.0, 281.0 - 101.0);
    row(
        &mut out,
        "longest latency, off above on",
        &format!("{:.0} to {:.0} us", least.0, least.1),
        format!("{exit:.0} us: one exit from {deep}"),
        if least.0 <= exit && exit <= least.1 { "yes" } else { "no" },
    );
    let share = |us: f64| 100.0 * us / exit;
    row(
        &mut out,
        "mean latency, off above on",
        "1.3 us (23.8, 23.5 against 22.5, 22.2)",
        format!(
            "0 us if the governor foresees each wait; {:.1} % of reads found {deep}",
            share(1.3)
        ),
        "as a share of wrong decisions, which no table foretells",
    );
    row(
        &mut out,
        "mean latency, mechanism against no deep state",
        "22.5, 22.2 against 22.2, 22.6 us",
        "equal: neither lets a CPU reach it".into(),
        "yes",
    );
    row(
        &mut out,
        "bandwidth",
        "1,361 to 1,370 off, 1,367 to 1,380 on MB/s",
        format!("equal: no wait of a stream reaches {residency:.0} us"),
        "yes",
    );
    row(
        &mut out,
        &format!("time in {deep}"),
        "80 % off, 1 % on",
        "below a limit of 10 us no CPU enters it: 0 % on; off it is what the other CPUs idle"
            .into(),
        "on yes; off depends on the load between the reads",
    );
    Ok(out)
}
