//! Size and speed of `show --json`: bytes of the input (unpacked), bytes of the
//! output, and the best of several times on the CPU that writing takes once
//! everything is explained.
//!
//! `show_json [-n REPEATS] FILE…`

use dormouse_app::explain;
use dormouse_read::{Given, Input, container};
use dormouse_words::{Selection, json};
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

/// Time on the CPU.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let ns = stat.split(' ').next().and_then(|n| n.parse::<f64>().ok());
    ns.expect("/proc/thread-self/schedstat tells the time on the CPU") / 1e9
}

/// Counts what goes through.
struct Counted<W>(W, u64);

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.0.write(bytes)?;
        self.1 += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

fn main() {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let mut repeats = 5;
    if args.first().is_some_and(|a| a == "-n") {
        repeats = args[1].parse().expect("a number");
        args.drain(..2);
    }
    let paths: Vec<PathBuf> = args.into_iter().map(PathBuf::from).collect();
    let mut input = 0;
    for path in &paths {
        let count = &mut |source: container::Source<'_>| input += source.bytes.len() as u64;
        container::Door::default().for_each(&Input::from_arg(path), count).expect("it opens");
    }
    let all = explain::inputs(&Given::new(&paths)).expect("there are cycles");
    let write = || {
        let mut out = Counted(File::create("/dev/null").expect("/dev/null"), 0);
        json::show(&all, &Selection::default(), &mut out).expect("it is written");
        out.1
    };
    let output = write();
    // The kernel counts the time on the CPU in ticks, so a turn takes many.
    let turns = (64 << 20) / output + 1;
    let mut best = f64::MAX;
    for _ in 0..repeats {
        let begin = cpu_seconds();
        (0..turns).for_each(|_| assert_eq!(write(), output, "the same every time"));
        best = best.min((cpu_seconds() - begin) / turns as f64);
    }
    println!(
        "{output} bytes of {input}: {:.0} %, written in {:.2} ms: {:.0} MB/s",
        output as f64 / input as f64 * 100.0,
        best * 1e3,
        output as f64 / 1e6 / best
    );
}
