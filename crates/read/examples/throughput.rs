//! Reads a file several times and prints the best speed: MB/s from the mapped
//! files to the explained cycles (critical paths, gains, ranks), and the memory
//! this took. On one core it is the time of the CPU, so that other programs do
//! not matter much; with more threads it is the time that passes.
//!
//! `throughput [-n REPEATS] [-j THREADS] FILE…`

use dormouse_base::capture::Capture;
use dormouse_read::{Input, Options, read};
use dormouse_sleep::analyse::Explainer;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Time on the CPU.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let ns = stat.split(' ').next().and_then(|n| n.parse::<f64>().ok());
    ns.expect("/proc/self/schedstat tells the time on the CPU") / 1e9
}

/// Bytes of a file, or of all files in a folder.
fn size(path: &Path) -> u64 {
    let meta = std::fs::metadata(path).expect("the file exists");
    if !meta.is_dir() {
        return meta.len();
    }
    let entries = std::fs::read_dir(path).expect("the folder can be read");
    entries.map(|e| size(&e.expect("an entry").path())).sum()
}

/// How many cycles were explained.
fn explain(capture: &Capture, threads: usize) -> usize {
    let explainer = Explainer::new(capture);
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        while let Some(cycle) = capture.cycles.get(next.fetch_add(1, Ordering::Relaxed)) {
            let views = explainer.explain(std::slice::from_ref(cycle));
            done.fetch_add(views.len(), Ordering::Relaxed);
        }
    };
    if threads == 1 {
        return explainer.explain(&capture.cycles).len();
    }
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    done.into_inner()
}

fn main() {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let mut repeats = 5;
    let mut threads = 1;
    while args.len() > 2 && args[0].starts_with('-') {
        let n = args[1].parse().expect("a number");
        match &*args[0] {
            "-n" => repeats = n,
            "-j" => threads = n,
            other => panic!("unknown option {other}"),
        }
        args.drain(..2);
    }
    let bytes: u64 = args.iter().map(|path| size(path.as_ref())).sum();
    let options = Options { threads, ..Options::default() };
    let inputs: Vec<Input> = args.iter().map(Input::from_arg).collect();
    let mut best = f64::MAX;
    let mut summary = (0, 0, 0);
    for _ in 0..repeats {
        let (begin, clock) = (cpu_seconds(), Instant::now());
        let reading = read(&inputs, &options).expect("the files can be read");
        let views: usize = reading.captures.iter().map(|c| explain(c, threads)).sum();
        let cpu = cpu_seconds() - begin;
        best = best.min(if threads == 1 { cpu } else { clock.elapsed().as_secs_f64() });
        let cycles = reading.captures.iter().map(|c| c.cycles.len()).sum();
        let callbacks =
            reading.captures.iter().flat_map(|c| &c.cycles).map(|c| c.callbacks.len()).sum();
        summary = (cycles, callbacks, views);
    }
    assert_eq!(summary.0, summary.2, "every cycle is explained");
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
