//! What a command is given is opened once, and is the same in every dress: a file, a pipe,
//! standard input, a folder, an archive.

use crate::ran::{output, root};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const LOG: &str = "\
[   71.000000] PM: suspend entry (deep)
[   71.010000] Freezing user space processes ... (elapsed 0.002 seconds) done.
[   71.020000] calling  usb3+ @ 812, parent: pci0000:00
[   71.050000] call usb3+ returned 0 after 29000 usecs
[   71.060000] ACPI: PM: Preparing to enter system sleep state S3
[   71.070000] ACPI: PM: Waking up from system sleep state S3
[   71.080000] calling  usb3+ @ 812, parent: pci0000:00
[   71.160000] call usb3+ returned 0 after 79000 usecs
[   71.170000] OOM killer enabled.
[   71.171000] Restarting tasks ... done.
[   71.180000] PM: suspend exit
";

const DOMAINS: &str = "\
domain                          status          children        performance
    /device                         runtime status
----------------------------------------------------------------------------
isp                             on                              0
    /devices/platform/soc/3a0000.camera                 active                     0
";

/// Requests of a disk, and sleeps of a CPU that they end.
fn trace() -> String {
    let mut out = String::from("# tracer: nop\n");
    for i in 0..40 {
        let t = |us: u32| format!("{}.{:06}", 60 + i / 20, i % 20 * 9_000 + us);
        let s = 4_096 + 64 * i;
        out +=
            &format!("          <idle>-0     [001] d..1. {}: cpu_idle: state=2 cpu_id=1\n", t(0));
        out += &format!(
            "             dd-91     [000] ..... {}: block_rq_issue: 8,0 R 4096 () {s} + 8 [dd]\n",
            t(300)
        );
        out += &format!(
            "          <idle>-0     [001] d..1. {}: cpu_idle: state=4294967295 cpu_id=1\n",
            t(800)
        );
        out += &format!(
            "          <idle>-0     [001] d.h1. {}: block_rq_complete: 8,0 R () {s} + 8 [0]\n",
            t(804)
        );
    }
    out
}

fn capture() -> Vec<u8> {
    std::fs::read(root().join("captures/am335x-6.12.tar.gz")).expect("a capture")
}

/// Inputs with verbs that have an answer to them.
fn questions() -> Vec<(&'static str, Vec<u8>, Vec<&'static str>)> {
    vec![
        (
            "log.txt",
            LOG.into(),
            vec!["show", "show --json", "check", "check --json", "export --to csv"],
        ),
        (
            "log.txt",
            LOG.into(),
            vec![
                "check --resume 1s",
                "predict --without usb3",
                "board from",
                "show --only modes",
                "calibrate",
            ],
        ),
        (
            "trace.txt",
            trace().into(),
            vec!["show", "show --json", "check", "predict", "export --to json"],
        ),
        (
            "trace.txt",
            trace().into(),
            vec!["show --only idle", "show --only storage", "show --only runtime", "tune"],
        ),
        (
            "genpd.txt",
            DOMAINS.into(),
            vec!["show", "show --json", "check", "predict", "compare --only model"],
        ),
        (
            "c.tar.gz",
            capture(),
            vec!["show", "show --json", "check", "predict --without usb1", "compare --only model"],
        ),
        (
            "c.tar.gz",
            capture(),
            vec![
                "show --only clocks",
                "show --only findings",
                "export --to markdown",
                "tune --resume 100ms",
            ],
        ),
        (
            "nothing.bin",
            vec![0, 1, 2, 3, 4, 5],
            vec!["show", "check", "predict", "export --to csv", "tune"],
        ),
        (
            "prose.txt",
            b"Nothing of this is a log.\n".to_vec(),
            vec!["show", "check", "predict", "export --to csv"],
        ),
    ]
}

fn words(verb: &str, input: &Path) -> Vec<String> {
    verb.split(' ').map(String::from).chain([input.display().to_string()]).collect()
}

#[test]
fn each_verb_opens_its_input_once() {
    let dir = tempfile::tempdir().expect("a folder");
    for (n, (name, bytes, verbs)) in questions().into_iter().enumerate() {
        for (m, verb) in verbs.iter().enumerate() {
            let folder = dir.path().join(format!("{n}-{m}"));
            std::fs::create_dir(&folder).expect("made");
            let path = folder.join(name);
            std::fs::write(&path, &bytes).expect("written");
            output(words(verb, &path));
            assert_eq!(dormouse_read::container::times_opened(&path), 1, "{verb} {name}");
        }
    }
    let [a, b] = ["a", "b"].map(|n| dir.path().join(n));
    for p in [&a, &b] {
        std::fs::write(p, capture()).expect("written");
    }
    output(["compare".into(), a.display().to_string(), b.display().to_string()]);
    for p in [&a, &b] {
        assert_eq!(dormouse_read::container::times_opened(p), 1, "compare");
    }
}

/// Runs the command where `input` lies. Who opens a pipe again waits for ever.
fn run_in(folder: &Path, verb: &str, input: &str, stdin: Stdio) -> (Option<i32>, String, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_dormouse"))
        .args(words(verb, Path::new(input)))
        .current_dir(folder)
        .stdin(stdin)
        .stdout(std::fs::File::create(folder.join("out")).expect("made"))
        .stderr(std::fs::File::create(folder.join("err")).expect("made"))
        .spawn()
        .expect("it runs");
    let begin = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child") {
            break status;
        }
        if begin.elapsed() > Duration::from_secs(120) {
            child.kill().expect("killed");
            panic!("{verb} {input}: does not end; it opened a pipe again");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let text = |f: &str| std::fs::read_to_string(folder.join(f)).expect("text");
    (status.code(), text("out"), text("err"))
}

#[test]
fn a_pipe_and_standard_input_answer_as_the_file_does() {
    let dir = tempfile::tempdir().expect("a folder");
    for (n, (name, bytes, verbs)) in questions().into_iter().enumerate() {
        for (m, verb) in verbs.iter().enumerate() {
            let folder = |kind: &str| {
                let folder = dir.path().join(format!("{kind}-{n}-{m}"));
                std::fs::create_dir(&folder).expect("made");
                folder
            };
            let (plain, pipe) = (folder("plain"), folder("pipe"));
            std::fs::write(plain.join(name), &bytes).expect("written");
            let file = run_in(&plain, verb, name, Stdio::null());
            let fifo = pipe.join(name);
            let made = Command::new("mkfifo").arg(&fifo).status().expect("mkfifo runs");
            assert!(made.success());
            let (to, all) = (fifo.clone(), bytes.clone());
            let writer = std::thread::spawn(move || {
                let mut out = std::fs::OpenOptions::new().write(true).open(to).expect("a pipe");
                let _ = out.write_all(&all);
            });
            let piped = run_in(&pipe, verb, name, Stdio::null());
            writer.join().expect("written");
            assert_eq!(piped, file, "{verb} {name}");
            let from = std::fs::File::open(plain.join(name)).expect("a file");
            let stdin = run_in(&plain, verb, "-", from.into());
            assert_eq!(stdin.0, file.0, "{verb} - of {name}: {} {}", stdin.1, stdin.2);
        }
    }
}

/// A header of a tar (POSIX ustar), and the content in blocks.
fn tar(name: &str, bytes: &[u8]) -> Vec<u8> {
    let mut head = vec![0u8; 512];
    head[..name.len()].copy_from_slice(name.as_bytes());
    head[100..107].copy_from_slice(b"0000644");
    head[124..135].copy_from_slice(format!("{:011o}", bytes.len()).as_bytes());
    head[136..147].copy_from_slice(b"00000000000");
    head[148..156].fill(b' ');
    head[156] = b'0';
    head[257..265].copy_from_slice(b"ustar\x0000");
    let sum: u32 = head.iter().map(|&b| u32::from(b)).sum();
    head[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    head.extend_from_slice(bytes);
    head.resize(head.len().next_multiple_of(512) + 1_024, 0);
    head
}

/// A zip with one member that is not packed.
fn zip(name: &str, bytes: &[u8]) -> Vec<u8> {
    let size = u32::try_from(bytes.len()).expect("small").to_le_bytes();
    let length = u16::try_from(name.len()).expect("short").to_le_bytes();
    // Version, flags, method, time, date, sum; sizes; lengths.
    let common = [&[20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0][..], &size, &size, &length, &[0, 0]];
    let common = common.concat();
    let mut out = [b"PK\x03\x04", &common[..], name.as_bytes(), bytes].concat();
    let at = u32::try_from(out.len()).expect("small").to_le_bytes();
    let list = [b"PK\x01\x02\x14\x00", &common[..], &[0; 14], name.as_bytes()].concat();
    let long = u32::try_from(list.len()).expect("small").to_le_bytes();
    out.extend(list);
    out.extend([b"PK\x05\x06\0\0\0\0\x01\0\x01\0", &long[..], &at, &[0, 0]].concat());
    out
}

/// The answer without the name of the input, and what a name changes: where lines break.
fn nameless(text: &str, names: &[String]) -> String {
    let mut out = text.to_string();
    for n in names {
        out = out.replace(n.as_str(), "INPUT");
    }
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn folders_and_archives_answer_as_the_file_does() {
    let dir = tempfile::tempdir().expect("a folder");
    let at = |n: &str| dir.path().join(n);
    std::fs::create_dir(at("one-folder")).expect("made");
    for (name, bytes, verbs) in questions() {
        let dresses: Vec<(PathBuf, String)> = vec![
            (at(name), at(name).display().to_string()),
            (at("one-folder"), at("one-folder").join(name).display().to_string()),
            (at("a.tar"), format!("{}:{name}", at("a.tar").display())),
            (at("a.zip"), format!("{}:{name}", at("a.zip").display())),
        ];
        std::fs::write(at(name), &bytes).expect("written");
        std::fs::write(at("one-folder").join(name), &bytes).expect("written");
        std::fs::write(at("a.tar"), tar(name, &bytes)).expect("written");
        std::fs::write(at("a.zip"), zip(name, &bytes)).expect("written");
        // A board is text that somebody wrote; what is no input is told by kind.
        for verb in verbs.iter().filter(|v| !v.starts_with("board") && name != "nothing.bin") {
            let answers: Vec<_> = dresses
                .iter()
                .map(|(path, shown)| {
                    let o = output(words(verb, path));
                    let mut names = vec![shown.clone(), path.display().to_string()];
                    names.extend(path.file_name().map(|f| f.to_string_lossy().into_owned()));
                    names.push(name.to_string());
                    let text = |b: &[u8]| nameless(&String::from_utf8_lossy(b), &names);
                    (o.status.code(), text(&o.stdout).replace("INPUT:INPUT", "INPUT"))
                })
                .collect();
            for (answer, (path, _)) in answers.iter().zip(&dresses) {
                assert!(
                    answer == &answers[0],
                    "{verb} {}\n{answer:?}\n{:?}",
                    path.display(),
                    answers[0]
                );
            }
        }
        std::fs::remove_file(at("one-folder").join(name)).expect("removed");
    }
}
