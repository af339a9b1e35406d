//! Logs without lines of the core, and what a header says of the machine.

use crate::synthetic::{self, Generation, stamped};
use dormouse_base::capture::Capture;
use dormouse_base::cycle::{Cycle, Mode};
use dormouse_base::time::Ns;
use dormouse_read::{Options, read_bytes};

fn capture(log: &str) -> Capture {
    let mut captures = read_bytes("test", log.as_bytes(), &Options::default()).unwrap().captures;
    assert_eq!(captures.len(), 1);
    captures.remove(0)
}

/// `grep ACPI`: no line of the core is left.
#[test]
fn the_lines_of_firmware_alone_are_attempts() {
    let sleep = |at: u32| {
        format!(
            "[{at:5}.100000] ACPI: PM: Preparing to enter system sleep state S3\n\
             [{at:5}.108000] ACPI: EC: event blocked\n\
             [{at:5}.117000] ACPI: PM: Low-level resume complete\n\
             [{at:5}.131000] ACPI: PM: Waking up from system sleep state S3\n\
             [{at:5}.150000] ACPI: EC: event unblocked\n"
        )
    };
    let off = "[  999.000000] ACPI: PM: Preparing to enter system sleep state S5\n";
    let text = sleep(310) + &sleep(740) + off;
    let found = capture(&text).cycles;
    let lines = |c: &Cycle| (c.mode, c.lines.first, c.lines.begun);
    let found: Vec<_> = found.iter().map(lines).collect();
    assert_eq!(found, [(Mode::Deep, 1, false), (Mode::Deep, 6, false)]);
    // It begins behind the firmware; an older kernel counts the time asleep.
    let text = "[  310.117000] ACPI: Low-level resume complete\n\
                [  310.120000] PM: Restoring platform NVS memory\n\
                [  310.120100] Suspended for 2.688 seconds\n\
                [  310.121000] Enabling non-boot CPUs ...\n";
    let found = capture(text).cycles;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].asleep_elsewhere, Some(Ns::from_us(2_688_000)));
    let same = capture(&text.replace("ACPI: ", "ACPI: PM: ").replace("Susp", "PM: Susp")).cycles;
    assert_eq!(same.len(), 1);
    // Nobody slept.
    let reading = read_bytes("log", off.as_bytes(), &Options::default());
    assert!(reading.is_ok_and(|r| r.captures.iter().all(|c| c.cycles.is_empty())));
}

#[test]
fn no_machine_has_more_cpus_than_a_kernel_is_built_for() {
    let log = synthetic::log(Generation::Bare, stamped);
    for (said, known) in [("8", Some(8)), ("4294967295", None), ("0", None)] {
        let head = format!("# sysinfo | man:A | plat:B | numcpu:{said} | memsz:5\n");
        let head = format!("# suspend-092119-145032 box mem 5.3.0\n{head}# command | x\n");
        assert_eq!(capture(&format!("{head}{log}")).machine.cpus, known, "{said}");
    }
}

#[test]
fn prose_has_nothing_to_analyse() {
    let text = "Dear all,\nI am calling this a bug. It returned after a while.\nRegards\n";
    let reading = read_bytes("mail", text.as_bytes(), &Options::default()).unwrap();
    assert!(reading.is_empty());
}
