//! Guests with systemd, whose delays are drawn by seed: what the journal of each is read to say,
//! beside what was planted. The start of programs costs time too, more so where several start at
//! once: one guest has nothing but a program that is ready at once, another one delay of each kind
//! that takes none, and what their rows take is no delay's.

use anyhow::{Context, Result, bail, ensure};
use dormouse_base::phase::Direction;
use dormouse_doctor::Report;
use dormouse_doctor::finding::{Finding, Level};
use dormouse_doctor::judge;
use dormouse_doctor::whole::{Mark, WholeWay};
use dormouse_lab::kernels;
use dormouse_lab::qemu::{Accel, Arch, Machine};
use dormouse_lab::userland::delay::{Delay, Kind, drawn};
use dormouse_lab::userland::{Wish, run as slept};
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Duration;

const USAGE: &str = "write: userland [-n GUESTS] [--seed SEED] [--kernel SERIES] [--cycles N]";
const LIMIT: Duration = Duration::from_secs(1_200);
/// From here on a delay is a finding, and its owner is named.
const NAMED: Duration = Duration::from_secs(1);
/// A figure may be off by so many ms, or by this share.
const OFF_MS: f64 = 10.0;
const OFF: f64 = 0.02;
/// sd-event lets a timer ring so much later, in ms: src/libsystemd/sd-event/sd-event.c,
/// DEFAULT_ACCURACY_USEC. logind asks for no better (src/login/logind-dbus.c).
const TIMER_MS: f64 = 250.0;

/// The rows that delays are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Row {
    Down,
    Back,
    App,
}

impl Row {
    const ALL: [Row; 3] = [Row::Down, Row::Back, Row::App];

    fn name(self) -> &'static str {
        match self {
            Row::Down => "from the request to the kernel",
            Row::Back => "from the kernel's return to the session",
            Row::App => "from the end of the unit to the program's mark",
        }
    }

    fn of(kind: Kind) -> Option<Row> {
        match kind {
            Kind::Lock | Kind::UnitBefore | Kind::HookBefore => Some(Row::Down),
            Kind::HookAfter => Some(Row::Back),
            Kind::App => Some(Row::App),
            // Nothing that a person asks for waits for it.
            Kind::UnitAfter => None,
        }
    }

    /// How long it is in a sleep, in ms.
    fn read(self, way: &WholeWay) -> Option<f64> {
        let until = |mark: fn(&Mark) -> bool| way.rows.iter().position(|r| mark(&r.until));
        let kernel = until(|m| *m == Mark::Kernel)?;
        let back = until(|m| *m == Mark::Back)?;
        let unit = until(|m| *m == Mark::Unit)?;
        let app = until(|m| matches!(m, Mark::App(_)));
        let rows = match self {
            Row::Down => way.rows.get(..=kernel)?,
            Row::Back => way.rows.get(back + 1..=unit)?,
            Row::App => way.rows.get(unit + 1..=app?)?,
        };
        Some(rows.iter().map(|r| r.took_ns.0 as f64 / 1e6).sum())
    }
}

/// The least and the most that a row takes without a delay, in ms.
type Starts = BTreeMap<Row, (f64, f64)>;

/// Counts for one line of the table.
#[derive(Default)]
struct Count {
    asked: usize,
    right: usize,
    worst: f64,
}

impl Count {
    fn add(&mut self, right: bool, off: f64) {
        self.asked += 1;
        self.right += usize::from(right);
        self.worst = self.worst.max(off.abs());
    }
}

#[derive(Default)]
struct Table {
    rows: BTreeMap<Row, Count>,
    named: BTreeMap<Kind, Count>,
    sleeps: Count,
    false_ones: Vec<String>,
    missed: Vec<String>,
}

/// Runs the task.
pub(crate) fn run(args: &[String]) -> Result<ExitCode> {
    let (mut guests, mut first, mut series, mut cycles) = (60, 1, "6.12".to_owned(), 2);
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let value = args.next().context(USAGE)?;
        match arg.as_str() {
            "-n" => guests = value.parse()?,
            "--seed" => first = value.parse()?,
            "--kernel" => series.clone_from(value),
            "--cycles" => cycles = value.parse()?,
            _ => bail!(USAGE),
        }
    }
    let kernel = kernels::get(Arch::Amd64, &series)?;
    let boot = |seed: u64, delays: &[Delay]| -> Result<Report> {
        let mut machine = Machine::new(Arch::Amd64, Accel::Icount, 1, &kernel.release);
        machine.seed = seed;
        let delays = delays.to_vec();
        let (deep, script, programs) = (false, None, Vec::new());
        let wish = Wish { cycles, deep, delays, script, programs, limit: LIMIT };
        let told = slept(&kernel, &machine, &wish)?;
        Ok(judge(&dormouse_read::doctor::read_bytes("journal", &told.journal).case))
    };
    let nothing =
        |kind: Kind| Delay { kind, owner: format!("no-{}", kind.name()), took: Duration::ZERO };
    let every: Vec<Delay> = Kind::ALL.into_iter().map(nothing).collect();
    let mut start = Starts::new();
    for delays in [&every, &vec![nothing(Kind::App)]] {
        let report = boot(first, delays)?;
        for row in Row::ALL {
            let all: Vec<f64> = report.ways.iter().filter_map(|w| row.read(w)).collect();
            ensure!(!all.is_empty(), "the guest without delays has no row {}", row.name());
            for ms in all {
                let (least, most) = start.entry(row).or_insert((ms, ms));
                (*least, *most) = (least.min(ms), most.max(ms));
            }
        }
    }
    let mut table = Table::default();
    for seed in first..first + guests {
        let delays = drawn(seed);
        let report = boot(seed, &delays).with_context(|| format!("seed {seed}"))?;
        table.guest(seed, cycles, &delays, &report, &start);
    }
    print!("{}", table.page(&kernel.release, guests, first, cycles, &start));
    Ok(if table.is_right() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn ms(d: Duration) -> f64 {
    d.as_secs_f64() * 1e3
}

/// Whether a finding tells of a delay, and how long it says that it is.
fn tells(f: &Finding, d: &Delay) -> bool {
    let has = |words: &str| f.sentence.contains(words);
    match d.kind {
        Kind::Lock => f.id == "way-delay-lock" && has("systemd-inhibit"),
        Kind::UnitBefore | Kind::UnitAfter => {
            matches!(f.id, "way-unit-work" | "way-wait") && has(&d.owner)
        }
        Kind::HookBefore | Kind::HookAfter => {
            let way =
                if d.kind == Kind::HookBefore { Direction::Suspend } else { Direction::Resume };
            has("system-sleep") && f.about.direction == Some(way)
        }
        Kind::App => false,
    }
}

impl Table {
    fn guest(&mut self, seed: u64, cycles: u32, delays: &[Delay], report: &Report, start: &Starts) {
        let ways = &report.ways;
        let all = ways.len() == cycles as usize;
        self.sleeps.add(all, 0.0);
        if !all {
            self.missed.push(format!("seed {seed}: {} sleeps of {cycles}", ways.len()));
        }
        for way in ways {
            for row in Row::ALL {
                let inside = || delays.iter().filter(|d| Row::of(d.kind) == Some(row));
                if inside().next().is_none() {
                    continue;
                }
                let planted: f64 = inside().map(|d| ms(d.took)).sum();
                let lock = inside().any(|d| d.kind == Kind::Lock);
                let (least, most) = start[&row];
                let most = most + if lock { TIMER_MS } else { 0.0 };
                // What no start of a program explains.
                let of_delay = |said: f64| said - planted - (said - planted).clamp(least, most);
                let said = row.read(way).map(of_delay);
                let may = (OFF * planted).max(OFF_MS);
                let right = said.is_some_and(|off| off.abs() <= may);
                self.rows.entry(row).or_default().add(right, said.unwrap_or(f64::INFINITY));
                if !right {
                    let off = said.map_or("no row".into(), |off| format!("off by {off:.0} ms"));
                    self.missed
                        .push(format!("seed {seed}, {}: {off} of {planted:.0} ms", row.name()));
                }
            }
        }
        for d in delays.iter().filter(|d| d.took >= NAMED && d.kind != Kind::App) {
            let right = report.findings.iter().any(|f| tells(f, d));
            self.named.entry(d.kind).or_default().add(right, 0.0);
            if !right {
                self.missed.push(format!("seed {seed}: {d} is not named"));
            }
        }
        let slow = report.findings.iter().filter(|f| f.level != Level::Note);
        for f in slow.filter(|f| !delays.iter().any(|d| tells(f, d))) {
            // A wait that a lock ends is of the lock, whatever it is called.
            let of_lock = f.sentence.contains("Delay lock is active");
            if !(of_lock && delays.iter().any(|d| d.kind == Kind::Lock)) {
                self.false_ones.push(format!("seed {seed}, {}: {}", f.id, f.sentence));
            }
        }
    }

    fn is_right(&self) -> bool {
        self.missed.is_empty() && self.false_ones.is_empty()
    }

    fn page(&self, release: &str, guests: u64, first: u64, cycles: u32, start: &Starts) -> String {
        let mut out = format!(
            "# Guests with systemd\n\n{guests} guests of {release} with Debian's systemd, seeds from {first}, {cycles} sleeps \
             each: {} of {guests} have their sleeps, {} false findings.\n\n\
             | row | without delays, ms | with delays | right | worst, ms |\n\
             | --- | ---: | ---: | ---: | ---: |\n",
            self.sleeps.right,
            self.false_ones.len()
        );
        for row in Row::ALL {
            let none = Count::default();
            let c = self.rows.get(&row).unwrap_or(&none);
            out += &format!(
                "| {} | {:.0} to {:.0} | {} | {} | {:.0} |\n",
                row.name(),
                start[&row].0,
                start[&row].1,
                c.asked,
                c.right,
                c.worst
            );
        }
        out += "\n| delays of 1 s and more | planted | named |\n| --- | ---: | ---: |\n";
        for (kind, c) in &self.named {
            out += &format!("| {} | {} | {} |\n", kind.name(), c.asked, c.right);
        }
        for (what, list) in [("Missed", &self.missed), ("False", &self.false_ones)] {
            for line in list {
                out += &format!("\n- {what}: {line}");
            }
        }
        out + "\n"
    }
}
