//! Makes an input of about a size for each subject, by the generators of the tests:
//! what `tools/bench-subjects` asks a command about.
//!
//! `subjects FOLDER MB`

#[allow(dead_code)]
#[path = "../tests/support/events.rs"]
mod events;
#[allow(dead_code)]
#[path = "../tests/support/synthetic.rs"]
mod synthetic;
#[allow(dead_code)]
#[path = "../tests/support/tracedat.rs"]
mod tracedat;

use events::{Ev, cycle, trace_text};
use std::fmt::Write as _;
use std::path::Path;
use synthetic::{Generation, log, stamped};

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

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [folder, mb] = &args[..] else { panic!("FOLDER MB") };
    let (folder, bytes) = (Path::new(folder), mb.parse::<usize>().expect("MB") << 20);
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
    for devices in [40_000, 400_000] {
        write(&format!("{devices}.txt"), synthetic::trace(devices).as_bytes());
    }
}
