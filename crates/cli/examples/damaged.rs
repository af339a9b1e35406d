//! Gives the command damaged texts: whatever stands in a file, a command answers in its
//! time, without a panic, with words, and the same words for the same bytes.
//!
//!     damaged [-n NUMBER] [--seconds S] [--seed FIRST] [--one SEED] [FOLDER]...
//!
//! Every text file of the folders is taken, with logs that are made up; each text is
//! damaged by its seed (`crates/dress`). Exit code 1 if a command failed. `--one` writes
//! the texts of a seed into the current folder and prints its command.

#![allow(unsafe_code, reason = "an allocator that counts")]

use dormouse::Kept;
use dormouse_base::stats::random::Random;
use dormouse_dress::{Kernel, damaged, drawn, story, torn};
use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::BTreeMap;
use std::fs;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Of a longer file this much is taken,
const LONGEST: usize = 48 << 10;
/// and mostly no more than this: most of what breaks a reader is a few lines long.
const USUAL: usize = 6 << 10;

/// A command that computes longer has failed. Builds with checks are some five times as
/// slow as a release.
const LIMIT: Duration = Duration::from_secs(20);

/// The commands that take a text, and how often each is tried.
const COMMANDS: [(u64, &[&str]); 14] = [
    (24, &["show"]),
    (14, &["show", "--json"]),
    (22, &["check"]),
    (6, &["check", "--json"]),
    (8, &["predict"]),
    (6, &["compare"]),
    (4, &["compare", "--json"]),
    (3, &["show", "--only", "idle"]),
    (3, &["show", "--only", "storage"]),
    (3, &["show", "--only", "domains"]),
    (3, &["show", "--only", "modes"]),
    (2, &["export", "--to", "csv"]),
    (1, &["tune"]),
    (1, &["report", "-o", "-"]),
];

/// A command that holds more memory at once has failed: the longest texts have some
/// 100 KiB.
const MEMORY: usize = 256 << 20;
/// With more the machine is in danger: the run ends.
const DANGER: usize = 4 << 30;
/// More than this at once is refused. A damaged xz file names its blocks by the trillion,
/// and its reader asks whether there is room for them before it reads one.
const AT_ONCE: usize = 1 << 30;

/// The system's allocator, which says how much was held at most.
struct Counted;

#[global_allocator]
static COUNTED: Counted = Counted;
static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);
/// What is being tried.
static SEED: AtomicU64 = AtomicU64::new(0);

impl Counted {
    fn add(size: usize) {
        let held = HELD.fetch_add(size, Relaxed) + size;
        if MOST.fetch_max(held, Relaxed) < DANGER && held >= DANGER {
            println!("seed {}: holds more than {} GiB", SEED.load(Relaxed), DANGER >> 30);
            std::process::exit(1);
        }
    }

    /// Who cannot go on without it ends the run, and this is the last line.
    fn refused() -> *mut u8 {
        eprintln!("seed {}: asks for more than {} GiB", SEED.load(Relaxed), AT_ONCE >> 30);
        std::ptr::null_mut()
    }
}

// SAFETY: the system's allocator does it all.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() > AT_ONCE {
            return Counted::refused();
        }
        Counted::add(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if size > AT_ONCE {
            return Counted::refused();
        }
        Counted::add(size);
        HELD.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.realloc(at, layout, size) }
    }
}

/// A command that is still at one text after this does not come back, and the run ends.
const FOREVER: Duration = Duration::from_secs(120);

/// Ends the run where a seed is not done within [`FOREVER`].
fn watch() {
    loop {
        let seed = SEED.load(Relaxed);
        std::thread::sleep(FOREVER);
        if seed == SEED.load(Relaxed) {
            println!("seed {seed}: does not come back");
            std::process::exit(1);
        }
    }
}

/// Where the last panic was.
static PANIC: Mutex<String> = Mutex::new(String::new());

struct Tries {
    texts: Vec<(PathBuf, Vec<u8>)>,
    folder: PathBuf,
}

/// What came of a try.
struct Tried {
    verb: String,
    code: u8,
    failure: Option<String>,
    took: Duration,
    /// Bytes that it held at most.
    held: usize,
}

/// Of one command, all its texts.
#[derive(Default)]
struct Row {
    texts: u64,
    failed: u64,
    longest: Duration,
    most: usize,
}

impl Tries {
    /// A text as it stands in a file or is made up, and damaged.
    fn text(&self, random: &mut Random) -> Vec<u8> {
        let one =
            |random: &mut Random| &self.texts[random.below(self.texts.len() as u64) as usize].1;
        let mut bytes = if self.texts.is_empty() || random.below(4) == 0 {
            let kernel = Kernel::ALL[random.below(3) as usize];
            let sleeps = 1 + random.below(4) as usize;
            let story = story(kernel, sleeps, random);
            drawn(&story.lines, random).bytes.into_bytes()
        } else {
            let whole = one(random);
            let most = if random.below(8) == 0 { LONGEST } else { USUAL };
            let from = random.below((whole.len().saturating_sub(most)) as u64 + 1) as usize;
            whole[from..(from + most).min(whole.len())].to_vec()
        };
        if random.below(3) > 0 {
            bytes = damaged(&String::from_utf8_lossy(&bytes), random).into_bytes();
        }
        for _ in 0..random.below(4) {
            let other: &[u8] = if self.texts.is_empty() { b"" } else { one(random) };
            torn(&mut bytes, &other[..other.len().min(USUAL)], random);
        }
        bytes
    }

    /// The command of a seed, with its inputs written.
    fn command(&self, seed: u64) -> Vec<String> {
        let mut random = Random::new(seed);
        let sum = COMMANDS.iter().map(|c| c.0).sum();
        let mut draw = random.below(sum);
        let verb = COMMANDS.iter().find(|c| {
            let here = draw < c.0;
            draw = draw.wrapping_sub(if here { 0 } else { c.0 });
            here
        });
        let verb = verb.map_or(&["show"][..], |c| c.1);
        let mut command: Vec<String> = verb.iter().map(|w| (*w).to_string()).collect();
        for name in ["a", "b"].iter().take(if verb[0] == "compare" { 2 } else { 1 }) {
            let path = self.folder.join(format!("{name}.txt"));
            fs::write(&path, self.text(&mut random)).expect("a text can be written");
            command.push(path.display().to_string());
        }
        command
    }

    fn tried(&self, seed: u64) -> Tried {
        let command = self.command(seed);
        let verb = command[..command.len() - if command[0] == "compare" { 2 } else { 1 }].join(" ");
        SEED.store(seed, Relaxed);
        let (before, base) = (computed(), HELD.load(Relaxed));
        MOST.store(base, Relaxed);
        let first = ran(&command);
        let took = computed().saturating_sub(before);
        let held = MOST.load(Relaxed) - base;
        let (code, failure) = match &first {
            Err(place) => (101, Some(format!("panicked at {place}"))),
            Ok((code, _)) if *code > 6 => (*code, Some(format!("exit code {code}"))),
            Ok((code, said)) if said.is_empty() => (*code, Some("said nothing".into())),
            Ok((code, _)) if held > MEMORY => (*code, Some(format!("holds {} MiB", held >> 20))),
            Ok((code, _)) if took > LIMIT => (*code, Some(format!("computed for {took:?}"))),
            Ok((code, said)) => {
                let again = seed.is_multiple_of(64);
                let other = || ran(&command).ok().is_none_or(|(c, s)| c != *code || s != *said);
                (*code, (again && other()).then(|| "says something else each time".into()))
            }
        };
        Tried { verb, code, failure, took, held }
    }
}

/// Runs a command: its exit code, and all that it prints; where it panicked.
fn ran(command: &[String]) -> Result<(u8, Vec<u8>), String> {
    let (out, err) = (Kept::default(), Kept::default());
    let (o, e) = (out.clone(), err.clone());
    match panic::catch_unwind(AssertUnwindSafe(|| dormouse::run(command, o, e))) {
        Ok(code) => Ok((code, [out.taken(), err.taken()].concat())),
        Err(_) => Err(std::mem::take(&mut *PANIC.lock().expect("one thread"))),
    }
}

/// How long this thread computed (Documentation/scheduler/sched-stats.rst).
fn computed() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(text.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0))
}

/// The files of a folder that may be texts, in their order.
fn texts(folder: &Path, into: &mut Vec<(PathBuf, Vec<u8>)>) {
    let mut paths: Vec<PathBuf> = match fs::read_dir(folder) {
        Ok(list) => list.flatten().map(|e| e.path()).collect(),
        Err(_) => {
            eprintln!("SKIPPED: no {}", folder.display());
            return;
        }
    };
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            let other = ["target", "node_modules", ".git"].contains(&&*name);
            if !other {
                texts(&path, into);
            }
        } else if !["gz", "tgz", "png", "ko", "rs", "ts"]
            .iter()
            .any(|e| name.ends_with(&format!(".{e}")))
            && let Ok(bytes) = fs::read(&path)
            && !bytes.is_empty()
        {
            into.push((path, bytes));
        }
    }
}

fn main() {
    let (mut number, mut seconds, mut seed, mut one) = (10_000, u64::MAX, 1, None);
    let mut found = Vec::new();
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().and_then(|v| v.parse::<u64>().ok()).expect("a number");
        match &*arg {
            "-n" => number = value(),
            "--seconds" => seconds = value(),
            "--seed" => seed = value(),
            "--one" => one = Some(value()),
            folder => texts(Path::new(folder), &mut found),
        }
    }
    let shm = Path::new("/dev/shm");
    let base = if shm.is_dir() { shm.to_path_buf() } else { std::env::temp_dir() };
    let folder = base.join(format!("damaged-{}", std::process::id()));
    if let Some(seed) = one {
        let tries = Tries { texts: found, folder: ".".into() };
        println!("dormouse {}", tries.command(seed).join(" "));
        return;
    }
    fs::create_dir_all(&folder).expect("a folder for the texts");
    panic::set_hook(Box::new(|info| {
        let place = info.location().map_or("?".into(), |l| format!("{}:{}", l.file(), l.line()));
        let what = info.payload().downcast_ref::<&str>().map(|s| (*s).to_string());
        let what = what.or_else(|| info.payload().downcast_ref::<String>().cloned());
        // The first is the cause: a thread that waits for another panics with it.
        let mut kept = PANIC.lock().expect("nobody panics with it");
        if kept.is_empty() {
            *kept = format!("{place}: {}", what.unwrap_or_default());
        }
    }));
    let tries = Tries { texts: found, folder };
    println!(
        "# Damaged texts\n\n{} files, and logs that are made up; seeds from {seed}",
        tries.texts.len()
    );
    std::thread::spawn(watch);
    let begun = Instant::now();
    let mut table: BTreeMap<String, Row> = BTreeMap::new();
    let mut codes = [0u64; 7];
    let mut done = 0;
    for seed in seed..seed.saturating_add(number) {
        if begun.elapsed().as_secs() >= seconds {
            break;
        }
        let tried = tries.tried(seed);
        let row = table.entry(tried.verb).or_default();
        row.texts += 1;
        row.longest = row.longest.max(tried.took);
        row.most = row.most.max(tried.held);
        if let Some(c) = codes.get_mut(usize::from(tried.code)) {
            *c += 1;
        }
        if let Some(failure) = tried.failure {
            row.failed += 1;
            println!("seed {seed}: {failure}");
        }
        done += 1;
        if done % 10_000 == 0 {
            eprintln!("{done} after {:?}", begun.elapsed());
        }
    }
    let _ = fs::remove_dir_all(&tries.folder);
    println!("\n| command | texts | failed | longest | most memory |\n|---|---|---|---|---|");
    for (verb, Row { texts, failed, longest, most }) in &table {
        let (longest, most) = (longest.as_secs_f64(), most >> 20);
        println!("| {verb} | {texts} | {failed} | {longest:.1} s | {most} MiB |");
    }
    let failed: u64 = table.values().map(|r| r.failed).sum();
    println!("\n{done} texts in {} s; {failed} failed", begun.elapsed().as_secs());
    let each = codes.iter().enumerate().map(|(c, n)| format!("{c}: {n}"));
    println!("exit codes: {}", each.collect::<Vec<_>>().join(", "));
    std::process::exit(i32::from(failed > 0));
}
