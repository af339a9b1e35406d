//! Two tables beside each other: of two files, and of one mail.

use crate::ran::output;
use serde_json::Value;
use std::path::{Path, PathBuf};

fn file(name: &str, text: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("beside");
    std::fs::create_dir_all(&dir).expect("a folder");
    let path = dir.join(name);
    std::fs::write(&path, text).expect("written");
    path
}

fn ran(words: &[&str], paths: &[&Path]) -> (Option<i32>, String) {
    let all = words.iter().map(Into::into).chain(paths.iter().map(|p| p.as_os_str().to_owned()));
    let out = output(all);
    (out.status.code(), String::from_utf8(out.stdout).expect("text"))
}

/// A table, the same with something changed, and the name of what changed most.
fn pairs() -> Vec<(&'static str, String, String, &'static str)> {
    let domains = "domain                          status          children        performance\n    \
        /device                         runtime status                  managed by\n\
        ------------------------------------------------------------------------------\n\
        isp                             on                                      0\n    \
        /devices/platform/soc/32e4.isp  active                 0           SW\n\
        hdmi                            off-0                                   0\n    \
        /devices/platform/soc/32fd.hdmi suspended              0           SW\n";
    let clock = "     From  :   To\n           : 150000000 600000000   time(ms)\n\
        * 150000000:         0         7   6000\n  600000000:         6         0   2000\n\
        Total transition : 13\n";
    let load = "seq: (groupid=0, jobs=1): err= 0: pid=77: Fri Jan 10 08:00:00 2025\n  \
        write: IOPS=900, BW=112MiB/s (118MB/s)(3.3GiB/30001msec)\n    \
        clat (usec): min=300, max=9000, avg=1100.00, stdev=90.00\n    \
        clat percentiles (usec):\n     |  1.00th=[  400], 50.00th=[ 1050], 99.00th=[ 2000]\n";
    let files = "/sys/devices/platform/fd58.uart/power/control:on\n\
        /sys/devices/platform/fd58.uart/power/runtime_status:active\n";
    let busy = "Core\tCPU\tAvg_MHz\tBusy%\tBzy_MHz\tCPU%c7\tPk%pc10\tSYS%LPI\n\
        -\t-\t12\t1.10\t1090\t96.00\t70.00\t3.00\n0\t0\t12\t1.10\t1090\t96.00\t70.00\t3.00\n";
    let two = |text: &str, from: &str, to: &str| (text.to_owned(), text.replace(from, to));
    let row = |name, (a, b): (String, String), what| (name, a, b, what);
    vec![
        row(
            "domains",
            two(
                domains,
                "isp                             on ",
                "isp                             off",
            ),
            "isp",
        ),
        row("clock", two(clock, "2000\n", "18000\n"), "150.0 MHz"),
        row("load", two(load, "avg=1100.00", "avg=4400.00"), "write, mean latency"),
        row(
            "files",
            two(files, "control:on", "control:auto"),
            "/sys/devices/platform/fd58.uart/power/control",
        ),
        row("busy", two(busy, "3.00", "81.00"), "SYS%LPI"),
    ]
}

#[test]
fn tables_of_two_files_and_of_one_mail_are_compared() {
    for (name, before, after, what) in pairs() {
        let (a, b) =
            (file(&format!("{name}-a.txt"), &before), file(&format!("{name}-b.txt"), &after));
        let first = format!("What changed most is {what}:");
        let flat = |s: &str| s.split_whitespace().collect::<Vec<_>>().join(" ");
        let (code, screen) = ran(&["compare"], &[&a, &b]);
        assert_eq!(code, Some(0), "{name}: {screen}");
        assert!(flat(&screen).starts_with(&first), "{name}: {screen}");
        let mail =
            format!("Hello,\n\nbefore the change:\n\n{before}\nand after it:\n\n{after}\nThanks\n");
        let mail = file(&format!("{name}-mail.txt"), &mail);
        let (code, screen) = ran(&["compare"], &[&mail]);
        assert_eq!(code, Some(0), "{name}: {screen}");
        assert!(flat(&screen).starts_with(&first), "{name}: {screen}");
        let (code, json) = ran(&["compare", "--json"], &[&a, &b]);
        let doc: Value = serde_json::from_str(&json).expect("JSON");
        assert_eq!(
            (code, &doc["beside"]["moved"][0]["name"]),
            (Some(0), &Value::from(what)),
            "{name}"
        );
        // One table alone has nothing beside it.
        assert_eq!(ran(&["compare"], &[&a]).0, Some(2), "{name}");
    }
}

/// Counters of idle states only grow: the second dump of one boot holds the first, and what came
/// between them is what is beside it.
#[test]
fn of_two_dumps_of_one_boot_the_time_between_them_is_compared() {
    let dump = |shallow: u32, deep: u32| {
        format!(
            "$ cpupower idle-info\nCPUidle driver: psci_idle\nanalyzing CPU 0:\nNumber of idle states: 2\n\
             WFI:\nFlags/Description: WFI\nLatency: 1\nUsage: {shallow}\nDuration: {shallow}000\n\
             cpu-sleep:\nFlags/Description: cpu-sleep\nLatency: 300\nUsage: {deep}\nDuration: {deep}000\n"
        )
    };
    let mail =
        format!("Before:\n{}\nand after the fix:\n{}", dump(9_000, 1_000), dump(9_100, 1_900));
    let (code, screen) = ran(&["compare"], &[&file("cpupower-grown.txt", &mail)]);
    assert_eq!(code, Some(0), "{screen}");
    assert!(screen.contains("10.00 %     90.00 %   +80.00 points"), "{screen}");
    // Counters of another boot are another measurement.
    let mail = format!("Before:\n{}\nand after the fix:\n{}", dump(9_000, 1_000), dump(100, 900));
    let (_, screen) = ran(&["compare"], &[&file("cpupower-boot.txt", &mail)]);
    assert!(screen.contains("10.00 %     90.00 %   +80.00 points"), "{screen}");
    assert!(!screen.contains("between the two dumps"), "{screen}");
}

/// Counters of a file that a mail reads again and again are what each step added.
#[test]
fn counters_of_one_file_are_steps() {
    let read = |deep: u64, shallow: u64| {
        format!(
            "me@box:~$ sudo cat /sys/kernel/debug/pmc_core/package_cstate_show\n\
             [sudo] password for me:\nPackage C2 : {shallow}\nPackage C10 : {deep}\nme@box:~$\n"
        )
    };
    let text = [read(0, 100), read(0, 9_100), read(77_000, 9_200)].concat();
    let (code, said) = ran(&["compare"], &[&file("steps.txt", &text)]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.starts_with("package_cstate_show was read 3 times"), "{said}");
    let row = |name: &str| said.lines().find(|l| l.starts_with(name)).expect(name).to_owned();
    let cells = |name: &str| row(name).split_whitespace().map(String::from).collect::<Vec<_>>();
    assert_eq!(cells("Package C2"), ["Package", "C2", "+9,000", "+100"], "{said}");
    assert_eq!(cells("Package C10"), ["Package", "C10", "+0", "+77,000"], "{said}");
    assert!(!said.contains("password"), "{said}");
}

/// `check` judges tables as `show` does, and says what it found.
#[test]
fn tables_are_checked_too() {
    let checked = |name: &str, text: &str| ran(&["check"], &[&file(name, text)]);
    let info = |off: &str| {
        format!(
            "CPUidle driver: acpi_idle\nCPUidle governor: menu\nanalyzing CPU 1:\n\n\
             Number of idle states: 2\nAvailable idle states: C1 C2\n\
             C1:\nFlags/Description: ACPI FFH MWAIT 0x0\nLatency: 1\nUsage: 70\nDuration: 90000\n\
             C2{off}:\nFlags/Description: ACPI FFH MWAIT 0x31\nLatency: 90\nUsage: 0\nDuration: 0\n"
        )
    };
    let (code, said) = checked("off.txt", &info(" (DISABLED) "));
    assert_eq!(code, Some(0), "{said}");
    assert!(said.starts_with("Risk: C2, the deepest idle state, is disabled on CPU 1"), "{said}");
    let (code, said) = checked("on.txt", &info(""));
    assert_eq!(code, Some(0), "{said}");
    assert!(said.starts_with("No rule found a fault"), "{said}");
    let path = "/sys/devices/system/cpu/cpu0/cpuidle/state1";
    let refused =
        format!("{path}/name:deep\n{path}/usage:3\n{path}/time:90\n{path}/rejected:700\n");
    let (code, said) = checked("refused.txt", &refused);
    assert_eq!(code, Some(4), "{said}");
    assert!(said.starts_with("Broken: deep was refused 700 times and entered 3 times"), "{said}");
}
