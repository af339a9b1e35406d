//! Broken, cut, hostile and huge inputs: a counted loss or an error, never a
//! panic, never work or memory out of proportion.

use crate::invariants;
use crate::support;
use crate::synthetic;

use crate::synthetic::{Generation, Random, stamped};
use dormouse_read::{Limits, Options, ReadError, Reading, read_bytes};
use std::io::Write as _;
use std::process::Command;

fn reading(bytes: &[u8], what: &str) -> Reading {
    let reading = read_bytes("test", bytes, &Options::default()).expect("plain input is no error");
    for c in &reading.captures {
        invariants::check(c, what);
    }
    reading
}

fn samples() -> Vec<(String, Vec<u8>)> {
    let mut samples = vec![("trace".to_string(), synthetic::trace(6).into_bytes())];
    for g in Generation::ALL {
        samples.push((format!("{g:?}"), synthetic::log(g, stamped).into_bytes()));
    }
    samples
}

#[test]
fn every_prefix_of_every_sample_is_read() {
    for (name, bytes) in samples() {
        assert!(bytes.len() < 20_000, "{name} is a small file");
        for cut in support::every(5, bytes.len()) {
            reading(&bytes[..cut], &format!("{name} cut at {cut}"));
        }
    }
}

#[test]
fn pieces_may_be_missing_anywhere() {
    let bytes = synthetic::trace(40).into_bytes();
    let mut random = Random(7);
    for n in 0..1_000 {
        let from = random.below(bytes.len());
        let to = (from + random.below(4_000)).min(bytes.len());
        let cut = [&bytes[..from], &bytes[to..]].concat();
        reading(&cut, &format!("cut {n}: {from}..{to}"));
    }
}

#[test]
fn bytes_may_be_wrong_anywhere() {
    let mut random = Random(11);
    for (name, bytes) in samples() {
        for n in 0..300 {
            let mut wrong = bytes.clone();
            for _ in 0..1 + random.below(20) {
                let at = random.below(wrong.len());
                wrong[at] = match random.below(4) {
                    0 => 0,
                    1 => b'\n',
                    2 => b' ',
                    _ => random.below(256) as u8,
                };
            }
            reading(&wrong, &format!("{name} with noise {n}"));
        }
    }
}

#[test]
fn lines_may_come_in_any_order_and_twice() {
    let trace = synthetic::trace(20);
    let mut lines: Vec<&str> = trace.lines().collect();
    let mut random = Random(3);
    for n in 0..200 {
        let (a, b) = (random.below(lines.len()), random.below(lines.len()));
        if n % 2 == 0 {
            lines.swap(a, b)
        } else {
            lines.insert(a, lines[b])
        }
        reading(lines.join("\n").as_bytes(), &format!("shuffle {n}"));
    }
}

#[test]
fn pure_noise_has_nothing_to_analyse() {
    let mut random = Random(5);
    for n in 0..50 {
        let noise: Vec<u8> = (0..20_000).map(|_| random.below(256) as u8).collect();
        assert!(reading(&noise, &format!("noise {n}")).is_empty());
    }
    assert!(reading(&[0; 100_000], "zeros").is_empty());
    assert!(reading(b"", "empty").is_empty());
}

#[test]
fn a_line_may_be_a_megabyte_long() {
    let long = "x".repeat(1 << 20);
    let blanks = " ".repeat(1 << 20);
    for text in [
        format!(
            "rtcwake-5 [001] .... 1.000001: device_pm_callback_start: {long} {long}, parent: {long}, [suspend]\n"
        ),
        format!(
            "rtcwake-5 [001] .... 1.000001: device_pm_callback_start: d{blanks}d, parent: p, [suspend]\n"
        ),
        format!("rtcwake-5 [001] .... 1.000001: suspend_resume: {long}[1] begin\n"),
        format!("{blanks}rtcwake-5 [001] .... 1.000001: suspend_resume: dpm_suspend[2] begin\n"),
        format!("[ 1.000001] {long} {long}: calling {long}+0x0/0x1 @ 1, parent: {long}\n"),
        format!("[ 1.000001] calling  {blanks}+ @ 1, parent: x\n[ 1.0] {long}"),
        format!("{}[ 1.000001] PM: suspend entry (deep)\n", "> ".repeat(1 << 19)),
    ] {
        reading(text.as_bytes(), "a long line");
        let around = format!("{}{text}{}", synthetic::trace(3), synthetic::trace_at(3, 200.0));
        reading(around.as_bytes(), "a long line inside a trace");
    }
}

#[test]
fn hostile_names_are_only_names() {
    for name in [
        "\"><script>",
        "a\u{202e}b",
        "x, parent: y, [suspend]",
        "[001] 1.0: e:",
        "%s%n",
        "e=0, err=-5",
    ] {
        let text = synthetic::trace(4).replace("dev3", name);
        let reading = reading(text.as_bytes(), name);
        let capture = &reading.captures[0];
        assert_eq!(capture.cycles.len(), 1, "{name}");
        assert_eq!(capture.cycles[0].callbacks.iter().filter(|c| c.complete).count(), 18, "{name}");
        let last = name.rsplit(' ').next().unwrap();
        let known = capture.graph.devices.iter().any(|d| capture.names.get(d.name).ends_with(last));
        assert!(known, "{name} is a device");
    }
    let broken = synthetic::trace(4).replace("dev3", "a\nb");
    assert!(reading(broken.as_bytes(), "newline").captures[0].losses.count("damaged_line") > 0);
}

#[test]
fn clocks_may_run_backwards_and_ends_may_be_alone() {
    let trace = synthetic::trace(10);
    let mut lines: Vec<&str> = trace.lines().collect();
    lines.reverse();
    let reversed = reading(lines.join("\n").as_bytes(), "reversed");
    assert!(reversed.captures[0].losses.count("time_backwards") > 0);
    let ends: Vec<&str> =
        trace.lines().filter(|l| !l.contains("_start:") && !l.ends_with("begin")).collect();
    let ends = reading(ends.join("\n").as_bytes(), "ends only");
    assert_eq!(ends.captures[0].losses.count("end_without_start"), 42);
    assert!(ends.captures[0].losses.count("end_without_begin") > 10);
}

#[test]
fn compressed_bombs_are_bounded_and_damage_is_told() {
    let pack = |bytes: &[u8]| {
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        gz.write_all(bytes).unwrap();
        gz.finish().unwrap()
    };
    let small =
        Options { limits: Limits { unpacked: 1 << 20, ..Limits::default() }, ..Options::default() };
    let bomb = pack(&vec![b'\n'; 8 << 20]);
    assert!(bomb.len() < 20_000);
    let error = read_bytes("bomb.gz", &bomb, &small).unwrap_err();
    assert!(matches!(error, ReadError::TooLarge { limit, .. } if limit == 1 << 20), "{error}");
    let twice = pack(&bomb);
    assert!(matches!(read_bytes("twice.gz", &twice, &small), Err(ReadError::TooLarge { .. })));
    let ratio =
        Options { limits: Limits { ratio: 100, ..Limits::default() }, ..Options::default() };
    let large = pack(&vec![b'\n'; 80 << 20]);
    assert!(matches!(read_bytes("ratio.gz", &large, &ratio), Err(ReadError::TooLarge { .. })));

    let whole = pack(synthetic::trace(30).as_bytes());
    let all = read_bytes("x", &whole, &Options::default()).unwrap();
    assert_eq!(all.captures[0].cycles[0].callbacks.len(), 122);
    let cut = read_bytes("x", &whole[..whole.len() * 2 / 3], &Options::default()).unwrap();
    assert_eq!(cut.captures[0].losses.count("damaged_input"), 1);
    for at in 0..whole.len() {
        // Cut anywhere: what came out is read, or an error says why not.
        let _ = read_bytes("x", &whole[..at], &Options::default());
    }
}

#[test]
fn xz_and_zstd_are_unpacked_too() {
    let text = synthetic::trace(5);
    let dir = tempfile::tempdir().unwrap();
    let plain = dir.path().join("t");
    std::fs::write(&plain, &text).unwrap();
    let expect = format!("{:?}", reading(text.as_bytes(), "plain").captures[0].cycles);
    for tool in ["xz", "zstd", "gzip"] {
        match Command::new(tool).arg("-ckq").arg(&plain).output() {
            Ok(out) if out.status.success() => {
                let got = reading(&out.stdout, tool);
                assert_eq!(format!("{:?}", got.captures[0].cycles), expect, "{tool}");
            }
            _ => eprintln!("SKIPPED: {tool} is not installed"),
        }
    }
}

#[test]
fn the_same_input_gives_the_same_capture() {
    let text = synthetic::trace(50);
    let once = format!("{:?}", reading(text.as_bytes(), "once").captures);
    let again = format!("{:?}", reading(text.as_bytes(), "again").captures);
    assert_eq!(once, again);
}

/// Instructions that reading `text` takes, counted by callgrind, so that the
/// noise of the machine does not matter.
fn instructions(text: &str) -> Option<u64> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("input");
    std::fs::write(&path, text).unwrap();
    let program = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../target/debug/examples/summary");
    if !program.exists() {
        eprintln!("SKIPPED: {} is not built", program.display());
        return None;
    }
    let out = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .arg(&path)
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&out.stderr).into_owned();
    let line = text.lines().find(|l| l.contains("Collected"))?;
    line.rsplit(' ').next()?.parse().ok()
}

#[test]
fn twenty_times_the_devices_take_at_most_21_times_the_instructions() {
    let (Some(small), Some(large)) =
        (instructions(&synthetic::trace(150)), instructions(&synthetic::trace(3_000)))
    else {
        eprintln!("SKIPPED: valgrind is not installed");
        return;
    };
    let ratio = large as f64 / small as f64;
    println!("{small} and {large} instructions: {ratio:.2} times");
    assert!(ratio <= 21.0, "20 times the devices took {ratio:.2} times the instructions");
}
