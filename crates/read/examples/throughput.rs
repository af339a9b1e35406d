//! Reads a file several times and prints the best speed: MB/s from the mapped
//! files to the explained cycles (critical paths, gains, ranks), on one core,
//! and the memory this took.
//!
//! `throughput [-n REPEATS] FILE…`

use dormouse_read::{Input, Options, read};
use dormouse_sleep::analyse::explain;

/// Time on the CPU, so that other programs do not matter much.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let ns = stat.split(' ').next().and_then(|n| n.parse::<f64>().ok());
    ns.expect("/proc/self/schedstat tells the time on the CPU") / 1e9
}

fn main() {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let mut repeats = 5;
    if args.first().is_some_and(|a| a == "-n") && args.len() > 2 {
        repeats = args[1].parse().expect("-n takes a number");
        args.drain(..2);
    }
    let size = |path: &String| std::fs::metadata(path).expect("the file exists").len();
    let bytes: u64 = args.iter().map(size).sum();
    let inputs: Vec<Input> = args.iter().map(Input::from_arg).collect();
    let mut best = f64::MAX;
    let mut summary = (0, 0, 0);
    for _ in 0..repeats {
        let begin = cpu_seconds();
        let reading = read(&inputs, &Options::default()).expect("the files can be read");
        let views: usize = reading.captures.iter().map(|c| explain(c).len()).sum();
        best = best.min(cpu_seconds() - begin);
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
