//! Reads a file several times and prints the best speed: MB/s from the mapped
//! file to the finished capture, on one core, and the memory this took.
//!
//! `throughput FILE [REPEATS]`

use dormouse_read::{Input, Options, read};
use std::time::Instant;

fn main() {
    let mut args = std::env::args().skip(1);
    let path = args.next().expect("throughput FILE [REPEATS]");
    let repeats: u32 = args.next().and_then(|n| n.parse().ok()).unwrap_or(5);
    let bytes = std::fs::metadata(&path).expect("the file exists").len();
    let mut best = f64::MAX;
    let mut summary = (0, 0);
    for _ in 0..repeats {
        let begin = Instant::now();
        let reading =
            read(&[Input::from_arg(&path)], &Options::default()).expect("the file can be read");
        best = best.min(begin.elapsed().as_secs_f64());
        let cycles = reading.captures.iter().map(|c| c.cycles.len()).sum();
        let callbacks =
            reading.captures.iter().flat_map(|c| &c.cycles).map(|c| c.callbacks.len()).sum();
        summary = (cycles, callbacks);
    }
    println!(
        "{bytes} bytes, {} cycles, {} callbacks: {:.1} ms, {:.0} MB/s",
        summary.0,
        summary.1,
        best * 1e3,
        bytes as f64 / 1e6 / best
    );
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    for key in ["VmHWM", "RssAnon"] {
        if let Some(line) = status.lines().find(|l| l.starts_with(key)) {
            println!("{line}");
        }
    }
}
