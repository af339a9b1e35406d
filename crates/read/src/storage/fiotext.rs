//! What fio prints when it is not asked for JSON (`show_thread_status_normal`, stat.c,
//! 3.36, and the forms of 2.x).

use super::fio::PACES;
use crate::setting::Settings;
use dormouse_storage::load::{Job, share};

/// Whether a text holds a job of fio.
pub(crate) fn is_fio_text(bytes: &[u8]) -> bool {
    let has = |word: &[u8]| memchr::memmem::find(bytes, word).is_some();
    (has(b"clat (") || has(b" lat (")) && (has(b"IOPS=") || has(b"iops="))
}

/// The job whose lines are being read.
#[derive(Default)]
struct Group {
    name: String,
    threads: Option<u64>,
    depth: Option<u64>,
    /// It goes in two directions.
    mixed: bool,
    first: usize,
}

/// Percentiles that follow, with their unit in ns, while they follow.
#[derive(Clone, Copy, PartialEq)]
enum Percentiles {
    None,
    Completion(u64),
    /// Of the whole latency, where none of completion is shown.
    Whole(u64),
    Sync(u64),
}

/// Reads the jobs of a text.
pub(crate) fn read(name: &str, bytes: &[u8], jobs: &mut Vec<Job>) {
    let text = String::from_utf8_lossy(bytes);
    let short = name.rsplit('/').next().unwrap_or(name);
    // Depths of the heads that stand above all results, by name, and whether a job goes in two
    // directions.
    let mut depths: Vec<(String, Option<u64>, bool)> = Vec::new();
    let mut group = Group::default();
    let mut percentiles = Percentiles::None;
    // What somebody wrote above the next result.
    let mut above: Option<String> = None;
    // What was set by then, and whether the command lets time pass between requests.
    let (mut settings, mut paced) = (Settings::default(), false);
    // What stood above each result of this text.
    let (first, mut captions) = (jobs.len(), Vec::new());
    let heads = heads(&text);
    for line in text.lines() {
        let own = heads.iter().find_map(|h| line.strip_prefix(h)).unwrap_or(line);
        let line = own.trim_start_matches(['>', ' ', '\t']).trim_end();
        if settings.line(line) {
            above = settings.words();
        } else if let Some(options) = command(line) {
            paced = options.split_whitespace().any(is_pace);
        } else if let Some(words) = caption(line) {
            above = Some(words.to_owned());
            group = Group { first: jobs.len(), ..Group::default() };
        } else if let Some((job, rest)) = line.split_once(": (g=") {
            depths.push((job.trim().into(), value(rest, "iodepth="), goes_two_ways(rest)));
        } else if let Some((job, rest)) = line.split_once(": (groupid=") {
            group = Group {
                name: job.trim().into(),
                threads: value(rest, "jobs="),
                depth: depths.iter().find(|d| d.0 == job.trim()).and_then(|d| d.1),
                mixed: depths.iter().any(|d| d.0 == job.trim() && d.2),
                first: jobs.len(),
            };
            percentiles = Percentiles::None;
        } else if let Some((direction, rest)) = direction(line) {
            captions.push(above.clone());
            jobs.push(Job {
                name: group.name.clone(),
                direction: direction.into(),
                bandwidth: bandwidth(rest).unwrap_or(0),
                rate: rate(rest),
                run: group.first,
                depth: group.depth,
                threads: group.threads,
                halved: group.mixed,
                paced,
                ..Job::default()
            });
            percentiles = Percentiles::None;
        } else {
            let own = &mut jobs[group.first..];
            if let Some(counts) = issued(line) {
                for j in own {
                    let place = ["read", "write", "trim"].iter().position(|d| *d == j.direction);
                    j.requests = place.and_then(|n| counts[n]).unwrap_or(j.requests);
                }
                percentiles = Percentiles::None;
            } else if let Some(depth) = depth(line) {
                for j in own {
                    j.depth = j.depth.or(Some(depth));
                }
            } else if let Some(j) = own.last_mut() {
                latency(line, j, &mut percentiles);
            }
        }
    }
    // Words above a job name it if it has no name, or if another run of it has other words.
    let plain: Vec<String> = jobs[first..].iter().map(|j| j.name.clone()).collect();
    for (i, j) in jobs[first..].iter_mut().enumerate() {
        let mut others = plain.iter().zip(&captions);
        let twice = others.any(|(name, c)| *name == plain[i] && *c != captions[i]);
        j.name = match (plain[i].as_str(), &captions[i]) {
            ("", None) => short.to_string(),
            ("", Some(above)) => format!("{above} ({short})"),
            (job, Some(above)) if twice => format!("{job}, {above} ({short})"),
            (job, _) => format!("{job} ({short})"),
        };
    }
    // What was cut before its latency says nothing.
    jobs.retain(|j| j.requests > 0 || j.most > 0 || j.mean > 0);
    // The other direction of a job may be cut off, and its requests are in the queue too.
    for run in jobs[first..].chunk_by_mut(|a, b| a.run == b.run && a.name == b.name) {
        let alone = run.len() == 1;
        run.iter_mut().for_each(|j| j.halved &= alone);
    }
    share(&mut jobs[first..]);
}

/// Whether the head of a job says that it reads and writes, or trims and writes (`rw=randrw`;
/// options.c, the option `readwrite`, 3.36).
fn goes_two_ways(head: &str) -> bool {
    let both = ["rw", "readwrite", "randrw", "trimwrite", "randtrimwrite"];
    word(head, "rw=").is_some_and(|w| both.contains(&w))
}

/// The options of a command line that runs fio.
fn command(line: &str) -> Option<&str> {
    let at =
        line.find("fio ").filter(|at| *at == 0 || !line[..*at].ends_with(char::is_alphanumeric))?;
    Some(&line[at + 4..]).filter(|rest| rest.trim_start().starts_with('-') || rest.contains(" --"))
}

/// `--thinktime=50ms`: whether an option lets time pass between requests.
fn is_pace(option: &str) -> bool {
    let Some((key, value)) = option.trim_start_matches('-').split_once('=') else { return false };
    PACES.contains(&key) && value.contains(|c: char| ('1'..='9').contains(&c))
}

/// What programs that run fio write before each of its lines: `[job 3] | `.
fn heads(text: &str) -> Vec<&str> {
    let mut heads = Vec::new();
    for line in text.lines() {
        let at = [" read", " write", " trim"].iter().filter_map(|w| line.find(w)).min();
        let Some((head, rest)) = at.map(|at| line.split_at(at)) else { continue };
        let marked = !head.trim_start_matches(['>', ' ', '\t']).is_empty();
        if marked && direction(rest.trim_start()).is_some() {
            let head = head.trim_end();
            if !heads.contains(&head) && heads.len() < MOST_HEADS {
                heads.push(head);
            }
        }
    }
    heads
}

/// So many programs at most write into one text.
const MOST_HEADS: usize = 16;

/// `read: IOPS=7012, BW=27.4MiB/s …`, `write: io=1.2GB, bw=…`: of older versions there
/// is a blank before the colon.
fn direction(line: &str) -> Option<(&'static str, &str)> {
    let (word, rest) = line.split_once(':')?;
    let direction = ["read", "write", "trim"].into_iter().find(|d| *d == word.trim_end())?;
    let has = ["IOPS=", "iops=", "BW=", "bw="].iter().any(|w| rest.contains(w));
    has.then_some((direction, rest))
}

/// What somebody wrote above a result: `with the old firmware:`. Not what fio ends so itself.
fn caption(line: &str) -> Option<&str> {
    let words = line.strip_suffix(':')?.trim_matches(['*', '=', '#', ' ']);
    let own = ["percentiles (", "Run status group", "Disk stats", "fsync/fdatasync"];
    let ours = words.starts_with(|c: char| c.is_alphanumeric())
        && words.len() <= 100
        && !words.contains(": ")
        && !own.iter().any(|o| words.contains(o));
    ours.then_some(words)
}

/// The queue depth of `latency   : target=0, window=0, percentile=100.00%, depth=16`, or of
/// `IO depths    : 1=100.0%, …` where all requests were alone.
fn depth(line: &str) -> Option<u64> {
    if line.starts_with("latency") && line.contains("target=") {
        return value(line, "depth=");
    }
    (line.starts_with("IO depths") && word(line, ": 1=")? == "100.0%").then_some(1)
}

/// `7012`, `70.1k`, `1.2M` in thousandths.
fn scaled(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (whole, part) = text[..end].split_once('.').unwrap_or((&text[..end], ""));
    let part: String = format!("{part:0<3}").chars().take(3).collect();
    let n = whole.parse::<u64>().ok()?.checked_mul(1_000)?.checked_add(part.parse().ok()?)?;
    let unit = match text[end..].chars().next() {
        Some('k' | 'K') => 1_000,
        Some('M' | 'm') => 1_000_000,
        Some('G' | 'g') => 1_000_000_000,
        _ => 1,
    };
    n.checked_mul(unit)
}

/// The number behind a key, up to what ends it.
fn word<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let rest = line[line.find(key)? + key.len()..].trim_start();
    let end = rest.find([',', ' ', ')', ']', ';']).unwrap_or(rest.len());
    Some(&rest[..end])
}

fn value(line: &str, key: &str) -> Option<u64> {
    word(line, key)?.parse().ok()
}

/// Requests in a thousand seconds.
fn rate(line: &str) -> Option<u64> {
    scaled(word(line, "IOPS=").or_else(|| word(line, "iops="))?)
}

/// Bytes a second. What stands in brackets is in powers of ten, as it is printed here too: the
/// other figure is rounded already (stat.c:show_ddir_status, 3.36).
fn bandwidth(line: &str) -> Option<u64> {
    // From 3.0 on kB and MB are powers of ten (lib/num2str.c).
    let ten = line.contains("BW=");
    let text = word(line, "BW=").or_else(|| word(line, "bw="))?;
    let (_, rest) = line.split_once(text)?;
    let in_brackets = rest.trim_start().strip_prefix('(').and_then(|r| r.split_once("B/s)"));
    let decimal = in_brackets.map(|(n, _)| n).filter(|n| ten && !n.contains([' ', 'i', ')']));
    let text = decimal.map_or_else(|| text.to_owned(), |n| format!("{n}B/s"));
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let unit: u128 = match &text[end..] {
        u if ten && (u.starts_with("kB") || u.starts_with("KB")) => 1_000,
        u if ten && u.starts_with("MB") => 1_000_000,
        u if ten && u.starts_with("GB") => 1_000_000_000,
        u if u.starts_with("KiB") || u.starts_with("KB") => 1 << 10,
        u if u.starts_with("MiB") || u.starts_with("MB") => 1 << 20,
        u if u.starts_with("GiB") || u.starts_with("GB") => 1 << 30,
        _ => 1,
    };
    u64::try_from(u128::from(scaled(&text[..end])?) * unit / 1_000).ok()
}

/// `issued rwts: total=420720,180310,0,0 short=…`; `issued : total=r=10/w=0/d=0, …`.
fn issued(line: &str) -> Option<[Option<u64>; 3]> {
    let rest = line.strip_prefix("issued")?;
    let total = &rest[rest.find("total=")? + 6..];
    let end = total.find(' ').unwrap_or(total.len());
    let mut numbers = total[..end].split([',', '/']).map(|n| {
        let digits = n.trim_start_matches(|c: char| !c.is_ascii_digit());
        digits.parse::<u64>().ok()
    });
    Some([numbers.next().flatten(), numbers.next().flatten(), numbers.next().flatten()])
}

/// ns of the unit in `clat (usec): …`.
fn unit(line: &str) -> Option<u64> {
    let inside = line.split_once('(')?.1.split_once(')')?.0;
    Some(match inside {
        "nsec" => 1,
        "usec" => 1_000,
        "msec" => 1_000_000,
        "sec" => 1_000_000_000,
        _ => return None,
    })
}

/// Lines of times: of `lat` only where those to completion are not shown.
fn latency(line: &str, job: &mut Job, percentiles: &mut Percentiles) {
    if let Some((kind, _)) = line.split_once("lat percentiles (") {
        *percentiles = match (kind, unit(line)) {
            ("c", Some(unit)) => Percentiles::Completion(unit),
            ("", Some(unit)) => Percentiles::Whole(unit),
            _ => Percentiles::None,
        };
        return;
    }
    if line.starts_with("sync percentiles (") {
        *percentiles = unit(line).map_or(Percentiles::None, Percentiles::Sync);
        return;
    }
    if line.starts_with('|') {
        return quantiles(line, job, *percentiles);
    }
    *percentiles = Percentiles::None;
    let (Some(unit), true) = (unit(line), line.contains("avg=")) else { return };
    // Thousandths of the unit.
    let figure = |key: &str| {
        let n = u128::from(scaled(word(line, key)?)?) * u128::from(unit);
        u64::try_from((n + 500) / 1_000).ok()
    };
    if line.starts_with("clat (") || line.starts_with("lat (") && job.most == 0 {
        job.least = figure("min=").unwrap_or(0);
        job.most = figure("max=").unwrap_or(0);
        job.mean = figure("avg=").unwrap_or(0);
        if line.starts_with("lat (") {
            // The whole has it already.
            job.submission = None;
        }
    } else if line.starts_with("slat (") {
        job.submission = figure("avg=");
    } else if line.starts_with("sync (") {
        job.sync = figure("avg=").map(|mean| (mean, None));
    }
}

/// A line of percentiles.
fn quantiles(line: &str, job: &mut Job, of: Percentiles) {
    let figure = |key: &str, unit: u64| {
        word(line, key).and_then(|n| n.parse::<u64>().ok()).map(|n| n.saturating_mul(unit))
    };
    for (key, place) in [("50.00th=[", 0), ("99.00th=[", 1), ("99.90th=[", 2)] {
        match of {
            Percentiles::Completion(unit) => {
                job.quantiles[place] = figure(key, unit).or(job.quantiles[place]);
            }
            Percentiles::Whole(unit) => {
                job.quantiles[place] = job.quantiles[place].or(figure(key, unit));
            }
            Percentiles::Sync(unit) if place == 1 => {
                if let Some(sync) = &mut job.sync {
                    sync.1 = figure(key, unit).or(sync.1);
                }
            }
            Percentiles::Sync(_) | Percentiles::None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mixed_job_with_one_direction_says_nothing_of_its_queue() {
        let head =
            |rw: &str| format!("elm: (g=0): rw={rw}, bs=4K-4K, ioengine=libaio, iodepth=128\n");
        let result = "elm: (groupid=0, jobs=1): err= 0: pid=3: now\n  read: IOPS=20.0k, BW=78MiB/s (82MB/s)(9MiB/1msec)\n    clat (usec): min=9, max=9000, avg=3000.00\n";
        let write = "  write: IOPS=20.0k, BW=78MiB/s (82MB/s)(9MiB/1msec)\n    clat (usec): min=9, max=9000, avg=3000.00\n";
        let of = |text: &str| {
            let mut jobs = Vec::new();
            read("x", text.as_bytes(), &mut jobs);
            jobs.iter().map(|j| j.queue().is_some()).collect::<Vec<_>>()
        };
        for mixed in ["rw", "randrw", "trimwrite"] {
            assert_eq!(of(&(head(mixed) + result)), [false], "{mixed}");
            assert_eq!(of(&(head(mixed) + result + write)), [true, true], "{mixed}");
        }
        assert_eq!(of(&(head("randread") + result)), [true]);
    }

    #[test]
    fn words_above_a_result_name_it() {
        let result = |rate: &str| {
            format!(
                "> read: IOPS={rate}, BW=9000kB/s (9000kB/s)(90MB/10000msec)\n>   clat (usec): min=90, max=900, avg=700.00\n> IO depths    : 1=100.0%, 2=0.0%\n"
            )
        };
        let names = |text: &str| {
            let mut jobs = Vec::new();
            read("m.txt", text.as_bytes(), &mut jobs);
            jobs.iter()
                .map(|j| format!("{} {:?} {}", j.name, j.depth, j.bandwidth))
                .collect::<Vec<_>>()
        };
        let both = format!("> on battery:\n{}\n> plugged in:\n{}", result("900"), result("1400"));
        assert_eq!(
            names(&both),
            ["on battery (m.txt) Some(1) 9000000", "plugged in (m.txt) Some(1) 9000000"]
        );
        let head = "seq: (groupid=0, jobs=1): err= 0\n";
        let job = format!("{head}{}", result("900"));
        assert!(names(&format!("Here it is:\n{job}"))[0].starts_with("seq (m.txt)"));
        let twice = names(&format!("old kernel:\n{job}new kernel:\n{job}"));
        assert!(twice[0].starts_with("seq, old kernel (m.txt)"), "{twice:?}");
        assert!(twice[1].starts_with("seq, new kernel (m.txt)"), "{twice:?}");
        let below = |head: &str| {
            job.replace("> ", "").lines().map(|l| format!("{head}{l}\n")).collect::<String>()
        };
        assert_eq!(names(&below("[bench 2] | ")), names(&job));
        assert_eq!(names(&below("> fio-1  | ")), names(&job));
    }

    #[test]
    fn submission_sync_and_the_whole() {
        let text = "\
w: (groupid=0, jobs=1): err= 0: pid=5
  write: IOPS=2000, BW=8000KiB/s (8192kB/s)(80MiB/10000msec); 0 zone resets
    slat (usec): min=3, max=900, avg=11.50, stdev=4.00
    clat (nsec): min=300, max=8000, avg=700.00, stdev=40.00
     lat (usec): min=4, max=901, avg=12.20, stdev=4.10
    clat percentiles (nsec):
     |  1.00th=[  402], 50.00th=[  612], 99.00th=[ 1512], 99.90th=[ 4448]
  fsync/fdatasync/sync_file_range:
    sync (usec): min=200, max=9000, avg=450.00, stdev=20.00
    sync percentiles (usec):
     |  1.00th=[  290], 50.00th=[  469], 99.00th=[  889], 99.90th=[ 2008]
v: (groupid=1, jobs=1): err= 0: pid=6
  read: IOPS=900, BW=3600KiB/s (3686kB/s)(36MiB/10000msec)
    lat (usec): min=90, max=5000, avg=1100.00, stdev=40.00
    lat percentiles (usec):
     | 50.00th=[ 1000], 99.00th=[ 3000], 99.90th=[ 4900]
  lat (usec)   : 100=0.10%, 250=0.20%
";
        assert!(is_fio_text(text.as_bytes()));
        let mut jobs = Vec::new();
        read("s.txt", text.as_bytes(), &mut jobs);
        let [w, r] = &jobs[..] else { panic!("{jobs:?}") };
        assert_eq!((w.mean, w.submission, w.submitting()), (700, Some(11_500), Some(942)));
        assert_eq!(w.sync, Some((450_000, Some(889_000))));
        assert_eq!(w.quantiles, [Some(612), Some(1_512), Some(4_448)]);
        assert_eq!((r.mean, r.most, r.submission), (1_100_000, 5_000_000, None));
        assert_eq!(r.quantiles, [Some(1_000_000), Some(3_000_000), Some(4_900_000)]);
        assert_ne!(w.run, r.run);
    }

    #[test]
    fn texts_of_two_versions() {
        let new = "\
j: (g=0): rw=randrw, bs=(R) 8192B-8192B, ioengine=io_uring, iodepth=8
j: (groupid=0, jobs=2): err= 0: pid=77: Mon Jun  2 08:00:00 2025
>   read: IOPS=10.5k, BW=82.0MiB/s (86.0MB/s)(820MiB/10001msec)
>     slat (nsec): min=900, max=8000, avg=1500.10, stdev=1.00
>     clat (usec): min=40, max=9.2k, avg=1520.25, stdev=60.22
>      lat (usec): min=41, max=9300, avg=1521.00, stdev=60.30
>     clat percentiles (usec):
>      |  1.00th=[   73], 50.00th=[ 1450], 99.00th=[ 3200],
>      | 99.90th=[ 8800]
>     lat percentiles (usec):
>      | 50.00th=[ 9999]
  write: IOPS=12, BW=96.0KiB/s (98.3kB/s)(960KiB/10001msec); 0 zone resets
    clat (msec): min=1, max=3, avg= 2.00, stdev= 0.10
     issued rwts: total=105000,120,0,0 short=0,0,0,0 dropped=0,0,0,0
";
        let mut jobs = Vec::new();
        assert!(is_fio_text(new.as_bytes()));
        read("a/f.txt", new.as_bytes(), &mut jobs);
        let [r, w] = &jobs[..] else { panic!("{jobs:?}") };
        assert_eq!(
            (r.name.as_str(), r.direction.as_str(), r.requests),
            ("j (f.txt)", "read", 105_000)
        );
        assert_eq!((r.least, r.most, r.mean), (40_000, 9_200_000, 1_520_250));
        assert_eq!(r.quantiles, [Some(1_450_000), Some(3_200_000), Some(8_800_000)]);
        assert_eq!((r.rate, r.depth, r.threads), (Some(10_500_000), Some(8), Some(2)));
        assert_eq!(r.bandwidth, 86_000_000, "as fio prints it in powers of ten");
        assert!(r.queue().unwrap().full);
        assert_eq!((w.requests, w.mean, w.most), (120, 2_000_000, 3_000_000));
        let old = "t: (groupid=0, jobs=1): err= 0: pid=5\n\
            read : io=512000KB, bw=25600KB/s, iops=6400, runt= 20000msec\n\
            clat (usec): min=90, max=4000, avg=150.50, stdev=9.00\n\
            issued    : total=r=128000/w=0/d=0, short=r=0/w=0/d=0\n";
        let mut jobs = Vec::new();
        read("o.txt", old.as_bytes(), &mut jobs);
        let [j] = &jobs[..] else { panic!("{jobs:?}") };
        assert_eq!((j.requests, j.mean, j.rate), (128_000, 150_500, Some(6_400_000)));
        assert_eq!(j.bandwidth, 25_600 << 10);
    }
}
