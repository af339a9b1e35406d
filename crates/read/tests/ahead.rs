//! Several threads read what one reads.

use crate::synthetic;
use dormouse_read::{Input, Options, read};
use std::io::Write as _;
use std::path::Path;

fn read_with(threads: usize, inputs: &[Input]) -> String {
    let options = Options { threads, ..Options::default() };
    match read(inputs, &options) {
        Ok(reading) => format!("{:?}", reading.captures),
        Err(e) => format!("error: {e}"),
    }
}

fn fill(dir: &Path) {
    let pack = |text: &str| {
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(text.as_bytes()).unwrap();
        gz.finish().unwrap()
    };
    for i in 0..24u32 {
        let folder = dir.join(format!("machine{}", i % 3));
        std::fs::create_dir_all(&folder).unwrap();
        // Short ones and long ones, so that threads overtake each other.
        let devices = if i % 4 == 0 { 2_000 } else { 3 + i as usize };
        let trace = synthetic::trace_at(devices, 100.0 + f64::from(i));
        let file = folder.join(format!("run{i:02}"));
        match i % 6 {
            0 | 1 => std::fs::write(file, &trace).unwrap(),
            2 => std::fs::write(file, pack(&trace)).unwrap(),
            // Cut off, in gzip and in text.
            3 => std::fs::write(file, &pack(&trace)[..60]).unwrap(),
            4 => std::fs::write(file, &trace[..trace.len() * 2 / 3]).unwrap(),
            _ => std::fs::write(file, "[    1.0] PM: suspend entry (deep)\n").unwrap(),
        }
    }
    std::fs::write(dir.join("empty"), "").unwrap();
    std::fs::write(dir.join("not-gzip"), [0x1f, 0x8b, 8, 0, 1, 2, 3]).unwrap();
}

#[test]
fn any_number_of_threads_gives_the_same_captures_and_losses() {
    let dir = tempfile::tempdir().unwrap();
    fill(dir.path());
    let inputs = [Input::from_arg(dir.path())];
    let one = read_with(1, &inputs);
    assert!(one.contains("damaged_input") && one.contains("cut_line"), "the test shows little");
    for threads in [0, 2, 3, 8, 100] {
        assert_eq!(read_with(threads, &inputs), one, "{threads} threads");
    }
}

#[test]
fn the_first_file_that_cannot_be_read_is_the_error() {
    let dir = tempfile::tempdir().unwrap();
    fill(dir.path());
    let good = dir.path().join("machine0/run00");
    let bad = dir.path().join("not-gzip");
    let inputs: Vec<Input> = [&good, &bad, &good, &bad].map(Input::from_arg).into();
    let one = read_with(1, &inputs);
    assert!(one.starts_with("error: ") && one.contains("not-gzip"), "{one}");
    assert_eq!(read_with(3, &inputs), one);
}
