//! Replays the fuzz corpora, and what fuzzing once found, on stable Rust.

use crate::readers;
use crate::support;

use crate::support::perfetto::{self, Layout, shared};
use crate::support::tracedat::{Shape, cycle, trace_text, write};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

/// Every corpus file goes to every reader, not only to its own.
#[test]
fn every_reader_survives_every_corpus_file() {
    let mut files = 0;
    for (name, _) in readers::ALL {
        let Ok(dir) = fs::read_dir(fuzz().join("corpus").join(name)) else {
            panic!("no corpus of {name}");
        };
        let mut paths: Vec<_> = dir.map(|e| e.unwrap().path()).collect();
        paths.sort();
        assert!(!paths.is_empty(), "the corpus of {name} is empty");
        for path in paths {
            let data = fs::read(&path).unwrap();
            for (reader, read) in readers::ALL {
                let result = std::panic::catch_unwind(|| read(&data));
                assert!(result.is_ok(), "{reader} panicked at {}", path.display());
            }
            files += 1;
        }
    }
    println!("{files} corpus files, {} readers", readers::ALL.len());
}

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut e = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    e.write_all(data).unwrap();
    e.finish().unwrap()
}

/// The first inputs of every target, made from the project's own generators.
fn seeds() -> Vec<(&'static str, String, Vec<u8>)> {
    let mut all: Vec<(&'static str, String, Vec<u8>)> = Vec::new();
    let events = cycle(2);
    let text = trace_text(&events);
    let small = Shape { page: 512, ..Shape::default() };
    for (i, shape) in [
        small,
        Shape { big: true, long: 4, absolute: true, ..small },
        Shape { instance: true, lost: Some(Some(7)), discard: 3, ..small },
        Shape { version: 7, lost: Some(None), relative: true, ..small },
        Shape { version: 7, codec: "zlib", tsc: Some((3, 2, 9)), clock: "x86-tsc", ..small },
        Shape { version: 7, codec: "zstd", big: true, offset: Some("-5"), ..small },
    ]
    .iter()
    .enumerate()
    {
        all.push(("tracedat", format!("shape-{i}"), write(&events, shape)));
    }
    let few = shared(&events);
    for (name, layout) in [
        ("plain", Layout { bundle: 10, filler: 20, ..Layout::default() }),
        ("packed", Layout { compress: true, ..Layout::default() }),
        ("lost", Layout { lost_after: 1, ..Layout::default() }),
    ] {
        all.push(("perfetto", name.into(), perfetto::write(&few, &layout)));
    }
    all.push(("perfetto", "compact".into(), perfetto::compact()));
    all.push(("ftrace", "trace".into(), text.clone().into_bytes()));
    let report = text.replace(" .... ", " ");
    all.push((
        "ftrace",
        "report".into(),
        format!("cpus=4\nCPU:1 [LOST 3 EVENTS]\n{report}").into(),
    ));
    let host = "# suspend-092119-145032 box mem 5.3.0\n# sysinfo | man:A | plat:B | cpu:C | \
                numcpu:4 | memsz:5 | memfr:6\n# command | sleepgraph -m mem\n";
    // The device table is zlib in base64: NAME,DESCRIPTION,ASYNC;
    let table = "# platform-devinfo: cmd | eJxLKi3WM9BJVEjSMbQ2AAIrIDJM0zPSScxIztQxAACBXgf4\n";
    all.push(("pmgraph", "trace".into(), format!("{host}{text}{table}").into()));
    for (name, log) in support::klog::logs() {
        all.push(("klog", name.into(), log.clone().into_bytes()));
        all.push(("pmgraph", format!("log-{name}"), format!("{host}{log}").into()));
        all.push(("any", format!("log-{name}"), log.into_bytes()));
    }
    all.push(("any", "trace-gz".into(), gzip(text.as_bytes())));
    all.push(("any", "trace".into(), text.into_bytes()));
    all.push(("any", "dat".into(), write(&events, &small)));
    all.push(("any", "pftrace".into(), perfetto::write(&few, &Layout::default())));
    all.push(("container", "gz".into(), gzip(b"hello hello hello")));
    let zstd = ruzstd::encoding::CompressionLevel::Fastest;
    let packed = ruzstd::encoding::compress_to_vec(&b"hello hello hello"[..], zstd);
    all.push(("container", "zst".into(), packed));
    // xz -0 (a dictionary of 256 KB: quick) of "hello hello hello\n".
    all.push((
        "container",
        "xz".into(),
        support::hex(
            "fd377a585a000004e6d6b446020021010c0000008f98419ce00011000d5d00341949db855c67722b\
         157d0000000000001f01d9c887c143c800012912885b79971fb6f37d010000000004595a",
        ),
    ));
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    for e in fs::read_dir(fixtures).unwrap() {
        let path = e.unwrap().path();
        // Reports of sleeps lie in a folder of their own.
        if path.is_dir() {
            continue;
        }
        let data = fs::read(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let mut tar = Vec::new();
        std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&data[..]), &mut tar).unwrap();
        all.push(("container", name.clone(), data.clone()));
        all.push(("any", name.clone(), data));
        all.push(("capture_file", name.trim_end_matches(".gz").into(), tar));
    }
    all.push((
        "udev",
        "two".into(),
        b"P: /devices/pci0000:00/0000:00:1f.2\nM: 0000:00:1f.2\n\
E: DEVPATH=/devices/pci0000:00/0000:00:1f.2\nE: DRIVER=ahci\nE: SUBSYSTEM=pci\n\n\
P: /devices/pci0000:00/0000:00:1f.2/ata1\nE: DEVPATH=/devices/pci0000:00/0000:00:1f.2/ata1\n\
E: SUBSYSTEM=ata_port\n\n"
            .to_vec(),
    ));
    let cpu = "/sys/devices/system/cpu";
    let dump = format!(
        "{cpu}/cpuidle/current_governor:menu\n{cpu}/cpu0/cpuidle/state0/name:POLL\n\
         {cpu}/cpu0/cpuidle/state0/latency:0\n{cpu}/cpu0/cpuidle/state1/latency:133\n\
         {cpu}/cpu0/cpuidle/state1/residency:400\n{cpu}/cpu0/cpuidle/state1/usage:7\n\
         {cpu}/cpu0/power/pm_qos_resume_latency_us:n/a\n/proc/cmdline:isolcpus=domain,0\n\
         /proc/irq/9/smp_affinity_list:0-3:1/2\n"
    );
    all.push(("idle", "dump".into(), dump.into_bytes()));
    let lines = "analyzing CPU 0:\nC6 (DISABLED) :\nFlags/Description: x\nLatency: 85\nUsage: 9\n";
    all.push(("idle", "cpupower".into(), lines.into()));
    let lines = "CPU\tBusy%\tC1\tC1%\tCPU%c6\tPkgWatt\n-\t1.5\t2\t3.25\t90\t6.08\n0\t1.5\n";
    all.push(("idle", "turbostat".into(), lines.into()));
    let lines = "  <idle>-0  [000] d..1.  1.000100: cpu_idle: state=1 cpu_id=0\n  \
                 <idle>-0  [000] d..1.  1.000900: cpu_idle: state=4294967295 cpu_id=0\n  \
                 <idle>-0  [000] d.h1.  1.000910: irq_handler_entry: irq=9 name=eth0\n  \
                 <idle>-0  [000] d..1.  1.000920: cpu_idle_miss: cpu_id=0 state=1 type=above\n";
    all.push(("idle", "trace".into(), lines.into()));
    let boards = fuzz().join("../boards/cases");
    let mut paths: Vec<_> = fs::read_dir(boards).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    for path in paths.iter().take(6) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        all.push(("board", name, fs::read(path).unwrap()));
    }
    all
}

/// Writes the seeds: `cargo test -p dormouse-read corpus:: -- --ignored`.
#[test]
#[ignore = "writes into fuzz/corpus; run when a format or a generator changes"]
fn write_seeds() {
    // A fuzzer learns little from an input that it cannot change as a whole.
    for (target, name, data) in seeds().into_iter().filter(|s| s.2.len() <= 24 << 10) {
        let dir = fuzz().join("corpus").join(target);
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join(format!("seed-{name}")), data).unwrap();
    }
}

/// A seed that its reader rejects at once teaches a fuzzer nothing.
#[test]
fn seeds_hold_cycles() {
    for (target, name, data) in seeds() {
        if matches!(target, "tracedat" | "perfetto" | "ftrace" | "klog" | "any") {
            let reading = dormouse_read::read_bytes(&name, &data, &Default::default()).unwrap();
            assert!(!reading.is_empty(), "{target} {name} has no cycle");
        }
    }
}
