//! Damaged and hostile binary traces: counted or refused, never a panic, never
//! unbounded work.

use crate::support;

use crate::support::perfetto::{Layout, shared};
use crate::support::tracedat::{Shape, cycle, write};
use crate::support::{Lines, Random};
use dormouse_base::loss::Losses;
use dormouse_read::perfetto::{self, PerfettoTrace};
use dormouse_read::tracedat::{TraceDat, TraceDatError};
use std::collections::HashSet;
use std::io::Write;
use std::time::Duration;

/// Events and losses of a trace.dat; `None` if it was refused.
fn dat(data: &[u8]) -> Option<(Vec<String>, Losses)> {
    let (mut lines, mut losses) = (Lines::default(), Losses::default());
    TraceDat::open(data, &mut losses).ok()?.events(&mut lines, &mut losses);
    Some((lines.0, losses))
}

fn pftrace(data: &[u8]) -> (Vec<String>, Losses) {
    let (mut lines, mut losses) = (Lines::default(), Losses::default());
    PerfettoTrace::open(data, &mut losses).events(&mut lines, &mut losses);
    (lines.0, losses)
}

fn small_shapes() -> Vec<Shape> {
    let small = Shape { page: 512, ..Shape::default() };
    vec![
        small,
        Shape { big: true, long: 4, instance: true, discard: 3, ..small },
        Shape { version: 7, ..small },
        Shape { version: 7, codec: "zlib", ..small },
        Shape { version: 7, codec: "zstd", big: true, long: 4, ..small },
    ]
}

/// What was read of a part is a part of what was read of the whole, and the
/// rest is not lost in silence.
fn is_part(part: &[String], losses: &Losses, whole: &HashSet<String>, what: &str) {
    assert!(part.len() <= whole.len(), "{what}");
    if part.len() < whole.len() {
        assert!(
            !losses.list.is_empty(),
            "{what}: {} events lost in silence",
            whole.len() - part.len()
        );
    }
    for l in part {
        assert!(whole.contains(l), "{what}: an event that is not in the whole file: {l}");
    }
}

#[test]
fn trace_dat_cut_at_every_byte() {
    let events = cycle(2);
    for shape in small_shapes() {
        let data = write(&events, &shape);
        assert!(data.len() <= 20 << 10, "{}", data.len());
        let (whole, losses) = dat(&data).unwrap();
        assert!(whole.len() > 40);
        assert_eq!(losses.list, []);
        let whole = HashSet::from_iter(whole);
        let mut refused = 0;
        for cut in support::every(5, data.len()) {
            match dat(&data[..cut]) {
                Some((part, losses)) => {
                    is_part(&part, &losses, &whole, &format!("{shape:?} {cut}"))
                }
                None => refused += 1,
            }
        }
        // Version 6 has its tables first: whatever follows them is read.
        assert!(refused < data.len());
    }
}

#[test]
fn large_trace_dat_cut_and_damaged_at_random() {
    let events = cycle(150);
    let mut random = Random(2026);
    for shape in [
        Shape::default(),
        Shape { version: 7, codec: "zstd", ..Shape::default() },
        Shape { big: true, long: 4, absolute: true, ..Shape::default() },
    ] {
        let data = write(&events, &shape);
        let whole = HashSet::from_iter(dat(&data).unwrap().0);
        for _ in support::every(5, 350) {
            let cut = random.below(data.len());
            if let Some((part, losses)) = dat(&data[..cut]) {
                is_part(&part, &losses, &whole, &format!("{shape:?} cut {cut}"));
            }
        }
        for _ in support::every(5, 350) {
            let mut bad = data.clone();
            for _ in 0..1 + random.below(8) {
                let at = random.below(bad.len());
                bad[at] = random.below(256) as u8;
            }
            dat(&bad);
        }
    }
}

#[test]
fn perfetto_cut_at_every_byte_and_damaged() {
    let events = shared(&cycle(3));
    let mut random = Random(7);
    for layout in [Layout::default(), Layout { compress: true, ..Layout::default() }] {
        let data = support::perfetto::write(&events, &layout);
        assert!(data.len() <= 20 << 10);
        let (whole, losses) = pftrace(&data);
        assert_eq!(whole.len(), events.len());
        assert_eq!(losses.list, []);
        for cut in 1..data.len() {
            let (part, losses) = pftrace(&data[..cut]);
            // Thread names and the other events depend on all of the trace.
            assert!(part.len() <= whole.len());
            let ends_a_packet = losses.count("perfetto_cut") == 0;
            assert!(!ends_a_packet || cut < data.len(), "{cut}");
        }
        for _ in 0..1000 {
            let mut bad = data.clone();
            for _ in 0..1 + random.below(8) {
                let at = random.below(bad.len());
                bad[at] = random.below(256) as u8;
            }
            pftrace(&bad);
            perfetto::is_perfetto(&bad);
        }
    }
}

/// A file with other bytes at `at`.
fn with(mut data: Vec<u8>, at: usize, bytes: &[u8]) -> Vec<u8> {
    data[at..at + bytes.len()].copy_from_slice(bytes);
    data
}

fn find(data: &[u8], needle: &[u8]) -> usize {
    data.windows(needle.len()).position(|w| w == needle).expect("a known part of the file")
}

fn error(data: &[u8]) -> TraceDatError {
    match TraceDat::open(data, &mut Losses::default()) {
        Ok(_) => panic!("a hostile file was accepted"),
        Err(e) => e,
    }
}

#[test]
fn sizes_no_file_has_are_refused_by_name() {
    let v6 = write(&cycle(2), &Shape::default());
    // Magic and version are 12 bytes, then byte order, word size, page size.
    let page = error(&with(v6.clone(), 14, &u32::MAX.to_le_bytes()));
    assert!(page.to_string().contains("page size is 4294967295"), "{page}");
    assert!(error(&with(v6.clone(), 12, &[7])).to_string().contains("byte order is 7"));
    assert!(error(&with(v6.clone(), 13, &[5])).to_string().contains("word size is 5"));
    assert_eq!(error(&with(v6.clone(), 10, b"9")), TraceDatError::Version(9));
    assert_eq!(error(b"nothing"), TraceDatError::NotTraceDat);
    // A header block of 2^64 bytes, and event formats without end.
    let at = find(&v6, b"header_page\0") + 12;
    assert!(matches!(error(&with(v6.clone(), at, &[255; 8])), TraceDatError::Truncated { .. }));
    // A table of 4 billion CPUs.
    let at = find(&v6, b"options  \0") - 4;
    assert!(matches!(error(&with(v6.clone(), at, &[255; 4])), TraceDatError::Truncated { .. }));

    let v7 = write(&cycle(2), &Shape { version: 7, ..Shape::default() });
    let name = find(&v7, b"none\0");
    let packed = error(&with(v7.clone(), name, b"lzma"));
    assert!(packed.to_string().contains("trace-cmd convert"), "{packed}");
}

#[test]
fn options_that_refer_to_themselves_end() {
    let v7 = write(&cycle(2), &Shape { version: 7, ..Shape::default() });
    // "none\0" "\0", then the offset of the first options section.
    let at = find(&v7, b"none\0") + 6;
    let first = u64::from_le_bytes(v7[at..at + 8].try_into().unwrap());
    // Its last option is the offset of the next section.
    let size_at = first as usize + 8;
    let size = u64::from_le_bytes(v7[size_at..size_at + 8].try_into().unwrap());
    let last = first as usize + 16 + size as usize - 8;
    let looped = with(v7, last, &first.to_le_bytes());
    assert_eq!(error(&looped), TraceDatError::OptionLoop { at: first });
}

/// Replaces the formats of a version 6 file by one of `text`.
fn with_format(text: &str) -> Vec<u8> {
    let data = write(&cycle(2), &Shape::default());
    let start = find(&data, b"power\0") - 4;
    // Sixteen digits, a blank, the type and a blank; before them the size.
    let end = find(&data, b"_stext") - 19 - 4;
    let mut out = data[..start].to_vec();
    out.extend_from_slice(&1u32.to_le_bytes());
    out.extend_from_slice(b"power\0");
    out.extend_from_slice(&1u32.to_le_bytes());
    out.extend_from_slice(&(text.len() as u64).to_le_bytes());
    out.extend_from_slice(text.as_bytes());
    out.extend_from_slice(&data[end..]);
    out
}

fn within<T>(limit: Duration, what: &str, f: impl FnOnce() -> T) -> T {
    let begin = super::processor();
    let t = f();
    let took = super::processor() - begin;
    assert!(took < limit, "{what} took {took:?}");
    t
}

#[test]
fn a_million_fields_and_endless_expressions_are_bounded() {
    let head = "name: cpu_idle\nID: 155\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n";
    let mut fields = String::from(head);
    for i in 0..1_000_000 {
        fields += &format!("\tfield:int f{i};\toffset:8;\tsize:4;\tsigned:1;\n");
    }
    let many = with_format(&(fields + "\nprint fmt: \"%d\", REC->f0\n"));
    let limit = Duration::from_secs(20);
    let (_, losses) = within(limit, "fields", || dat(&many)).unwrap();
    assert!(losses.count("tracedat_fields") > 999_000);

    for expression in [
        "(".repeat(1_000_000),
        "!".repeat(15_000) + "1",
        "1+".repeat(7_000) + "1",
        "1?".repeat(3_000),
        "REC->f[".repeat(2_000),
        format!("\"%s\", {}", "(((((long)".repeat(1_000)),
    ] {
        let text = format!("{head}\nprint fmt: \"%d\", {expression}\n");
        let file = with_format(&text);
        within(limit, "expression", || dat(&file)).unwrap();
    }
}

fn zlib(data: &[u8]) -> Vec<u8> {
    let mut e = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    e.write_all(data).unwrap();
    e.finish().unwrap()
}

#[test]
fn compressed_bombs_are_counted_and_left() {
    // 200 MB of zeros in one section, in place of the header's.
    let v7 = write(&cycle(2), &Shape { version: 7, codec: "zlib", ..Shape::default() });
    let bomb = zlib(&vec![0; 200 << 20]);
    let body = find(&v7, b"zlib\0") + 7 + 8;
    let mut file = v7[..body].to_vec();
    // The section header stays, its size grows; offsets behind it are wrong,
    // so append a copy of the rest where they point.
    file.extend_from_slice(&v7[body..]);
    let at = file.len() as u64;
    file.extend_from_slice(&[16, 0, 1, 0, 0, 0, 0, 0]);
    file.extend_from_slice(&(bomb.len() as u64 + 8).to_le_bytes());
    file.extend_from_slice(&(bomb.len() as u32).to_le_bytes());
    file.extend_from_slice(&(200u32 << 20).to_le_bytes());
    file.extend_from_slice(&bomb);
    // Option 16 names the section of the page header.
    let option = find(&file, &[16, 0, 8, 0, 0, 0]) + 6;
    let file = with(file, option, &at.to_le_bytes());
    let mut losses = Losses::default();
    let result = within(Duration::from_secs(20), "section", || {
        TraceDat::open(&file, &mut losses).map(|_| ())
    });
    assert!(result.is_err());
    assert_eq!(losses.count("tracedat_too_large"), 1);

    // A Perfetto packet of 200 MB.
    let mut trace = vec![0x0a];
    let mut packet = vec![0x92, 0x03];
    varint(&mut packet, bomb.len() as u64);
    packet.extend_from_slice(&bomb);
    varint(&mut trace, packet.len() as u64);
    trace.extend_from_slice(&packet);
    let (lines, losses) = within(Duration::from_secs(20), "packet", || pftrace(&trace));
    assert!(lines.is_empty());
    assert_eq!(losses.count("perfetto_too_large"), 1);
}

#[test]
fn an_event_larger_than_any_real_one_is_a_loss() {
    let field = |number: u64, bytes: &[u8]| {
        let mut out = Vec::new();
        varint(&mut out, number << 3 | 2);
        varint(&mut out, bytes.len() as u64);
        out.extend_from_slice(bytes);
        out
    };
    // `suspend_resume` with actions of so many letters.
    let events = [40_000, 70_000].map(|letters| {
        let time = vec![0x08, 7];
        let action = field(1, &vec![b'a'; letters]);
        field(2, &[time, field(113, &action)].concat())
    });
    let (lines, losses) = pftrace(&field(1, &field(1, &events.concat())));
    assert_eq!((lines.len(), losses.count("perfetto_event_too_large")), (1, 1));
}

fn varint(out: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

#[test]
fn cpus_that_share_bytes_are_not_read_many_times() {
    // 1,000 CPUs that all claim the whole file.
    let v6 = write(&cycle(40), &Shape::default());
    let cpus_at = find(&v6, b"options  \0") - 4;
    let table = find(&v6, b"flyrecord\0") + 10;
    let mut file = with(v6, cpus_at, &1000u32.to_le_bytes());
    let len = file.len() as u64;
    let mut rows = Vec::new();
    for _ in 0..1000 {
        rows.extend_from_slice(&4096u64.to_le_bytes());
        rows.extend_from_slice(&(len - 4096).to_le_bytes());
    }
    file.splice(table..table, rows);
    let (_, losses) = within(Duration::from_secs(20), "CPUs", || dat(&file)).unwrap();
    assert!(losses.count("tracedat_overlapping_cpus") >= 998);
}

#[test]
fn gigabytes_of_other_packets_are_passed_by_length() {
    let events = shared(&cycle(3));
    let mut trace = support::perfetto::write(&events, &Layout::default());
    let (before, _) = pftrace(&trace);
    // 256 MB of packets of 64 KB each, as camera or memory profiles have.
    let filler = vec![0x55; 64 << 10];
    for _ in 0..4096 {
        let mut packet = vec![0xfa, 0x7f]; // a field no version knows
        varint(&mut packet, filler.len() as u64);
        packet.extend_from_slice(&filler);
        trace.push(0x0a);
        varint(&mut trace, packet.len() as u64);
        trace.extend_from_slice(&packet);
    }
    let begin = super::processor();
    let (after, losses) = pftrace(&trace);
    let took = super::processor() - begin;
    assert_eq!(before, after);
    assert_eq!(losses.list, []);
    println!("{} MB of other packets passed in {took:?}", trace.len() >> 20);
    // Reading them would take about 100 ms even in memory; this is a debug build.
    assert!(took < Duration::from_secs(1), "{took:?}");
}
