//! What the tests of the binary readers share.

pub(crate) mod events;
pub(crate) mod klog;
pub(crate) mod perfetto;
pub(crate) mod tracedat;

use dormouse_read::event::{EventSink, Stamp, TraceEvent};
use std::path::PathBuf;

/// All numbers below `end` where `PROPTEST_CASES` asks for 512 cases, and every `few`-th
/// in the quick tests.
pub(crate) fn every(few: usize, end: usize) -> impl Iterator<Item = usize> {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok());
    (0..end).step_by(if cases.unwrap_or(0) < 512 { few } else { 1 })
}

/// Keeps every event as one line of text.
#[derive(Default)]
pub(crate) struct Lines(pub Vec<String>);

fn s(b: &[u8]) -> String {
    String::from_utf8_lossy(b).into_owned()
}

/// `trace`'s text of an event: name and rest.
pub(crate) fn text_of(event: TraceEvent<'_>) -> (String, String) {
    match event {
        TraceEvent::SuspendResume { action, value, begin } => (
            "suspend_resume".into(),
            format!("{}[{}] {}", s(action), value as u32, if begin { "begin" } else { "end" }),
        ),
        TraceEvent::CallbackStart { driver, device, parent, ops, event } => (
            "device_pm_callback_start".into(),
            format!(
                "{} {}, parent: {}, {}[{}]",
                s(driver),
                s(device),
                s(parent),
                s(ops),
                event.name()
            ),
        ),
        TraceEvent::CallbackEnd { driver, device, error } => {
            ("device_pm_callback_end".into(), format!("{} {}, err={error}", s(driver), s(device)))
        }
        TraceEvent::Other { name, text } => (s(name), s(text)),
        TraceEvent::Lost { count } => ("LOST".into(), format!("{count:?}")),
    }
}

impl EventSink for Lines {
    fn event(&mut self, stamp: Stamp<'_>, event: TraceEvent<'_>) {
        let (name, text) = text_of(event);
        self.0.push(format!(
            "{}-{} [{:03}] {}.{:09}: {name}: {text}",
            s(stamp.comm),
            stamp.pid,
            stamp.cpu,
            stamp.time.0 / 1_000_000_000,
            stamp.time.0 % 1_000_000_000,
        ));
    }
}

/// The folder of real logs, or `None` with a loud word.
pub(crate) fn real_data() -> Option<PathBuf> {
    let dir = std::env::var_os("DORMOUSE_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    if dir.is_dir() {
        return Some(dir);
    }
    println!("SKIPPED: no real logs at {} (set DORMOUSE_DATA)", dir.display());
    None
}

/// A pseudo-random sequence (xorshift64*), the same on every machine.
pub(crate) struct Random(pub u64);

impl Random {
    /// The next number below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % n.max(1)
    }
}

/// Bytes from hexadecimal digits.
pub(crate) fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits.bytes().filter(u8::is_ascii_hexdigit).collect();
    let pair = |p: &[u8]| u8::from_str_radix(std::str::from_utf8(p).unwrap(), 16).unwrap();
    digits.chunks(2).map(pair).collect()
}

/// All files under `dir`, in order of path.
pub(crate) fn files_under(dir: &std::path::Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut open = vec![dir.to_path_buf()];
    while let Some(d) = open.pop() {
        for e in std::fs::read_dir(d).unwrap() {
            let path = e.unwrap().path();
            if path.is_dir() { open.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    files
}
