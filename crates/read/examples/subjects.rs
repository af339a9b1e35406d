//! How fast each subject is read: MB/s of the CPU from the mapped file to the answer.
//!
//! `subjects make FOLDER MB` writes an input of about that size for each subject, by the
//! generators of the readers' tests. `subjects run FOLDER [NAME [REPEATS]]` answers of it
//! and prints the median and the best of so many runs.

#[allow(dead_code)]
#[path = "../../read/tests/support/events.rs"]
mod events;
#[allow(dead_code)]
#[path = "../../read/tests/support/synthetic.rs"]
mod synthetic;
#[allow(dead_code)]
#[path = "../../read/tests/support/tracedat.rs"]
mod tracedat;

use dormouse_app::{domains, explain, idle, storage};
use dormouse_read::Given;
use events::{Ev, cycle, trace_text};
use std::fmt::Write as _;
use std::path::Path;
use synthetic::{Generation, log, stamped};

type Question = fn(&Given);

/// The inputs, with what is asked of each.
const SUBJECTS: [(&str, Question); 7] = [
    ("sleep.dat", sleep),
    ("sleep.txt", sleep),
    ("kernel.log", sleep),
    ("idle.txt", |g| drop(idle::show(g, false).expect("sleeps of CPUs"))),
    ("storage.txt", |g| drop(storage::show(g).expect("requests"))),
    ("runtime.txt", |g| drop(storage::rpm(g, None).expect("calls"))),
    ("all.txt", |g| {
        g.read_all();
        sleep(g);
        idle::show(g, false).expect("sleeps of CPUs");
        storage::show(g).expect("requests");
        storage::rpm(g, None).expect("calls");
        let _ = domains::show(g);
    }),
];

fn sleep(given: &Given) {
    let all = explain::inputs(given).expect("cycles");
    assert!(all.iter().any(|e| !e.views.is_empty()));
}

/// Cycles of `devices` devices, one after another.
fn cycles(devices: usize, count: usize) -> Vec<Ev> {
    let one = cycle(devices);
    let length = one.iter().map(|e| e.time).max().unwrap_or(0);
    let later =
        |n: usize| one.iter().map(move |e| Ev { time: e.time + n as u64 * length, ..e.clone() });
    (0..count).flat_map(later).collect()
}

/// Lines of a text trace.
struct Trace {
    out: String,
    us: u64,
}

impl Trace {
    fn line(&mut self, task: &str, cpu: u64, flags: &str, event: &str) {
        self.us += 3;
        let (s, us) = (self.us / 1_000_000, self.us % 1_000_000);
        let _ = writeln!(self.out, "{task:>22} [{cpu:03}] {flags} {s:>5}.{us:06}: {event}");
    }

    fn idle(&mut self, i: u64) {
        let (cpu, state) = (i % 4, i / 5 % 3);
        self.line("<idle>-0", cpu, "d..1.", &format!("cpu_idle: state={state} cpu_id={cpu}"));
        self.us += 40;
        self.line("<idle>-0", cpu, "d..1.", &format!("cpu_idle: state=4294967295 cpu_id={cpu}"));
        self.line("<idle>-0", cpu, "d.h1.", "irq_handler_entry: irq=9 name=eth0");
        self.line("<idle>-0", cpu, "d.h1.", "irq_handler_exit: irq=9 ret=handled");
    }

    fn request(&mut self, i: u64) {
        let (cpu, s) = (i % 4, 800 + 8 * i);
        self.line("fio-412", cpu, ".....", &format!("block_bio_queue: 8,0 R {s} + 8 [fio]"));
        self.line("fio-412", cpu, ".....", &format!("block_getrq: 8,0 R {s} + 8 [fio]"));
        let issue = format!("block_rq_issue: 8,0 R 4096 () {s} + 8 [fio]");
        self.line("fio-412", cpu, ".....", &issue);
        self.us += 80;
        let complete = format!("block_rq_complete: 8,0 R () {s} + 8 [0]");
        self.line("<idle>-0", cpu, "d.h1.", &complete);
    }

    fn runtime(&mut self, i: u64) {
        let (cpu, device) = (i % 4, format!("{:x}.serial", 0x4880_0000 + 4_096 * (i % 7)));
        for (call, usage, flags) in [("resume", 1, 4), ("suspend", 0, 10)] {
            let text = format!(
                "rpm_{call}: {device} flags-{flags} cnt-{usage}  dep-0  auto-1 p-0 irq-0 child-0"
            );
            self.line("kworker/0:2-77", cpu, ".....", &text);
            self.us += 200;
            let text = format!("rpm_return_int: rpm_{call}+0x124/0x6d8:{device} ret=0");
            self.line("kworker/0:2-77", cpu, ".....", &text);
            self.us += 9_000;
        }
    }
}

fn trace(bytes: usize, one: impl Fn(&mut Trace, u64)) -> String {
    let mut t = Trace { out: "# tracer: nop\n#\n".into(), us: 90_000_000 };
    let mut i = 0;
    while t.out.len() < bytes {
        one(&mut t, i);
        i += 1;
    }
    t.out
}

/// Sleeps of the system, with sleeps of CPUs, requests and calls between them.
fn all(bytes: usize) -> String {
    let mut out = String::from("# tracer: nop\n#\n");
    let mut us = 5_000_000;
    while out.len() < bytes {
        let sleeps = synthetic::trace_at(2_000, us as f64 / 1e6);
        us += 60_000_000;
        out += sleeps.trim_start_matches("# tracer: nop\n#\n");
        let mut t = Trace { out: String::new(), us };
        for i in 0..3_000 {
            t.idle(i);
            t.request(i);
            t.runtime(i);
        }
        us = t.us + 1_000_000;
        out += &t.out;
    }
    out
}

/// A log that is mostly about other things, as logs are.
fn kernel_log(bytes: usize) -> String {
    let mut out = String::new();
    let mut us = 0;
    while out.len() < bytes {
        for i in 0..400 {
            us += 1_300;
            let text = match i % 4 {
                0 => {
                    format!("usb 1-{}: new high-speed USB device number {i} using xhci_hcd", i % 9)
                }
                1 => "wlan0: associated".to_string(),
                2 => format!("audit: type=1400 audit(1700000{i}.332:{i}): apparmor=\"STATUS\""),
                _ => format!("EXT4-fs (sda{}): re-mounted. Quota mode: none.", i % 7),
            };
            out += &(stamped(us, &text) + "\n");
        }
        let at = us;
        out += &log(Generation::Function, |t, text| stamped(at + t, text));
        us += 60_000_000;
    }
    out
}

fn make(folder: &Path, bytes: usize) {
    std::fs::create_dir_all(folder).expect("a folder");
    // A line of text is about 110 bytes, and an event of the binary form a third of it.
    let events = cycles(1_000, (bytes / 1_400_000).max(2));
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.join(name), bytes).expect(name);
    write("sleep.dat", &tracedat::write(&events, &tracedat::Shape::default()));
    write("sleep.txt", trace_text(&events).as_bytes());
    write("kernel.log", kernel_log(bytes).as_bytes());
    write("idle.txt", trace(bytes, Trace::idle).as_bytes());
    write("storage.txt", trace(bytes, Trace::request).as_bytes());
    write("runtime.txt", trace(bytes, Trace::runtime).as_bytes());
    write("all.txt", all(bytes).as_bytes());
}

/// Seconds on the CPU of this thread.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let ns = stat.split(' ').next().and_then(|n| n.parse::<f64>().ok());
    ns.expect("/proc/thread-self/schedstat tells the time on the CPU") / 1e9
}

fn main() {
    // One thread does all the work, so that its clock counts it.
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread();
    one.build_global().expect("the first");
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match &args[..] {
        ["make", folder, mb] => make(folder.as_ref(), mb.parse::<usize>().expect("MB") << 20),
        ["run", folder, rest @ ..] => {
            let repeats = rest.get(1).map_or(7, |n| n.parse().expect("a number"));
            for (name, answer) in SUBJECTS.iter().filter(|s| rest.first().is_none_or(|n| *n == s.0))
            {
                let path = Path::new(folder).join(name);
                let size = std::fs::metadata(&path).expect("made before").len() as f64 / 1e6;
                let mut times: Vec<f64> = (0..repeats)
                    .map(|_| {
                        let begin = cpu_seconds();
                        answer(&Given::new(std::slice::from_ref(&path)));
                        cpu_seconds() - begin
                    })
                    .collect();
                times.sort_by(f64::total_cmp);
                let (median, best) = (size / times[repeats / 2], size / times[0]);
                println!("{name}: {median:.0} MB/s, at best {best:.0} ({size:.0} MB)");
            }
        }
        _ => panic!("make FOLDER MB, or run FOLDER [NAME [REPEATS]]"),
    }
}
