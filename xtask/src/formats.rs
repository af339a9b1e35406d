//! How many of the kernel's messages around sleep are understood: each format of the table
//! is drawn, put into a log, read and told.

use anyhow::{Result, bail};
use dormouse_base::stats::random::Random;
use dormouse_doctor::formats::draw::{Drawn, drawn, is_understood};
use dormouse_doctor::formats::{Format, Formats, How, all};
use dormouse_read::doctor::read_bytes;
use std::fmt::Write;

/// A format counts if the messages of so many seeds are understood.
const SEEDS: u64 = 20;

/// Prints the page, or writes it where `-o` says.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let page = page()?;
    match args {
        [] => print!("{page}"),
        [option, file] if option == "-o" => std::fs::write(file, page)?,
        _ => bail!("usage: xtask formats [-o FILE]"),
    }
    Ok(())
}

/// Whether each format of the table is understood.
fn understood(formats: &'static Formats) -> Vec<bool> {
    let mut out = vec![true; formats.list.len()];
    for seed in 1..=SEEDS {
        let mut random = Random::new(seed);
        let made: Vec<Drawn> = formats.list.iter().map(|f| drawn(f, &mut random)).collect();
        let mut log = String::new();
        for (i, d) in made.iter().enumerate() {
            let _ = writeln!(log, "[{:5}.{:06}] {}", 40 + i / 50, i % 50 * 20_000, d.text);
        }
        let text = read_bytes("drawn", log.as_bytes());
        let mut told = vec![None; made.len() + 1];
        for m in &text.case.messages {
            if let Some(place) = usize::try_from(m.line).ok().and_then(|l| told.get_mut(l)) {
                *place = formats.recognise(&m.text);
            }
        }
        for (i, (format, d)) in formats.list.iter().zip(&made).enumerate() {
            out[i] &= is_understood(format, d, told[i + 1].as_ref());
        }
    }
    out
}

fn page() -> Result<String> {
    let formats = all();
    let right = understood(formats);
    let count = |wanted: &dyn Fn(&Format) -> bool| {
        let those = || formats.list.iter().zip(&right).filter(|(f, _)| f.is_message() && wanted(f));
        let (n, m) = (those().filter(|(_, right)| **right).count(), those().count());
        if m == 0 { "–".to_string() } else { format!("{n} of {m}") }
    };
    let mut out = String::new();
    writeln!(out, "# Messages that are understood\n")?;
    writeln!(
        out,
        "`make prove SUBJECT=formats` prints this page. Each format of \
         `crates/doctor/src/formats/table.txt`, which `tools/formats.py` makes of the sources of Debian's kernels, is drawn \
         {SEEDS} times with other values, put into a log and read. It is understood if every one of them is told: of the core \
         with its meaning and all that was put in, of the rest with subject and severity, both with driver and device. Core are \
         kernel/power, drivers/base, and the files of CPUs, freezer, reboot, async, time, interrupts, idle, ACPI's sleep and \
         the platform's power controllers.\n"
    )?;
    writeln!(out, "| formats | {} |", formats.kernels.join(" | "))?;
    writeln!(out, "|---|{}", "---|".repeat(formats.kernels.len()))?;
    for (name, core) in [("core", Some(true)), ("rest", Some(false)), ("all", None)] {
        let cells: Vec<String> = (0..formats.kernels.len())
            .map(|k| count(&|f| core.is_none_or(|c| f.core == c) && f.is_of(k)))
            .collect();
        writeln!(out, "| {name} | {} |", cells.join(" | "))?;
    }
    writeln!(out, "\n| subject | {} |", formats.kernels.join(" | "))?;
    writeln!(out, "|---|{}", "---|".repeat(formats.kernels.len()))?;
    let mut subjects: Vec<&str> = formats.list.iter().map(|f| f.subject).collect();
    subjects.dedup();
    for subject in subjects {
        let cells: Vec<String> = (0..formats.kernels.len())
            .map(|k| count(&|f| f.subject == subject && f.is_of(k)))
            .collect();
        writeln!(out, "| {subject} | {} |", cells.join(" | "))?;
    }
    let of = |how| formats.list.iter().filter(|f| f.how == how).count();
    writeln!(
        out,
        "\nNot counted: {} formats of lines in files of sysfs and debugfs, which are read with their tables, and {} that end \
         a line which something else began. Of the core these are not understood, because nearly all they print was put in, so \
         that any driver's message may look the same:\n",
        of(How::File),
        of(How::Rest)
    )?;
    for (f, right) in formats.list.iter().zip(&right) {
        if f.core && f.is_message() && !right {
            writeln!(out, "- {}: `{}`", f.file, f.text.replace('\t', "\\t"))?;
        }
    }
    Ok(out)
}
