//! JSON of fio: what a load measured by itself.

use crate::fio::documents;
use dormouse_base::loss::{Losses, Severity};
use dormouse_storage::load::{Job, share};
use serde_json::Value;

/// What each document of fio has.
const MARK: &[u8] = b"\"fio version\"";

/// Options by which a job lets time pass between its requests (HOWTO of fio 3.39).
pub(super) const PACES: [&str; 4] = ["thinktime", "thinkcycles", "rate", "rate_iops"];

/// Whether bytes hold fio's JSON, perhaps with messages before it.
pub(crate) fn is_fio(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(1 << 20)];
    memchr::memmem::find(head, MARK).is_some()
}

/// Reads the jobs of a text.
pub(super) fn read(name: &str, bytes: &[u8], jobs: &mut Vec<Job>, losses: &mut Losses) {
    let short = name.rsplit('/').next().unwrap_or(name);
    let mut all = Vec::new();
    // Messages of fio may stand ahead of the first brace in its line.
    let begin = memchr::memchr(b'{', bytes).unwrap_or(0);
    let ahead = memchr::memchr_iter(b'\n', &bytes[..begin]).count();
    documents(&bytes[begin..], |value, line| all.push((value, ahead + line)));
    let several = all.len() > 1;
    for (document, line) in &all {
        let of = if several { format!("{short}, line {line}") } else { short.to_string() };
        one(document, &of, jobs);
    }
    // A brace of other words is none of them.
    let damaged = memchr::memmem::find_iter(bytes, MARK).count().saturating_sub(all.len()) as u64;
    let advice = "fio's JSON is cut or damaged: run fio again with --output-format=json";
    losses.add("damaged_input", damaged, Severity::Error, advice, None);
}

/// The jobs of one document, which stands in `of`.
fn one(all: &Value, of: &str, jobs: &mut Vec<Job>) {
    // With clients on other machines each has its jobs, and a sum of all stands last.
    let lists = ["jobs", "client_stats"].map(|key| all[key].as_array());
    let sum = |job: &&Value| job["jobname"] != "All clients";
    let first = jobs.len();
    for (run, job) in lists.into_iter().flatten().flatten().filter(sum).enumerate() {
        for direction in ["read", "write", "trim"] {
            let d = &job[direction];
            let requests = d["total_ios"].as_u64().unwrap_or(0);
            if requests == 0 {
                continue;
            }
            // Until 2.99 in us, under names without the unit.
            let (clat, lat, slat, unit) = match &d["clat_ns"] {
                Value::Null => (&d["clat"], &d["lat"], &d["slat"], 1_000),
                ns => (ns, &d["lat_ns"], &d["slat_ns"], 1),
            };
            // Without times to completion (`disable_clat`) the whole is all there is.
            let none = clat["mean"].as_f64().unwrap_or(0.0) <= 0.0;
            let completion = if none { lat } else { clat };
            let figure = |v: &Value| v.as_f64().unwrap_or(0.0) * unit as f64;
            let option = |key: &str| {
                let own = job["job options"][key].as_str().or(all["global options"][key].as_str());
                own.and_then(|n| n.parse().ok())
            };
            let rate = d["iops"].as_f64().filter(|r| *r > 0.0).map(|r| (r * 1_000.0) as u64);
            // Groups are summed up; without that each thread is a job of its own.
            let summed = [&job["job options"], &all["global options"]]
                .iter()
                .any(|o| o["group_reporting"].is_string());
            let threads = if summed { option("numjobs").or(Some(1)) } else { Some(1) };
            let quantile =
                |key: &str| completion["percentile"][key].as_u64().map(|n| n.saturating_mul(unit));
            let mean = |v: &Value| {
                let mean = v["mean"].as_f64().filter(|m| *m > 0.0)?;
                Some((mean * unit as f64).round() as u64)
            };
            let paced = PACES.iter().any(|key| {
                [&job["job options"], &all["global options"]]
                    .iter()
                    .any(|o| o[*key].as_str().is_some_and(|v| v != "0"))
            });
            let sync = &job["sync"]["lat_ns"];
            let sync_99 = sync["percentile"]["99.000000"].as_u64();
            jobs.push(Job {
                run,
                submission: mean(slat).filter(|_| !none),
                sync: mean(sync).filter(|_| direction == "write").map(|mean| (mean, sync_99)),
                name: format!("{} ({of})", job["jobname"].as_str().unwrap_or("job")),
                direction: direction.into(),
                requests,
                bandwidth: d["bw_bytes"]
                    .as_u64()
                    .or_else(|| d["bw"].as_u64().map(|k| k.saturating_mul(1024)))
                    .unwrap_or(0),
                rate,
                depth: option("iodepth"),
                paced,
                threads,
                mean: figure(&completion["mean"]).round() as u64,
                least: figure(&completion["min"]) as u64,
                most: figure(&completion["max"]) as u64,
                quantiles: ["50.000000", "99.000000", "99.900000"].map(quantile),
                ..Job::default()
            });
        }
    }
    share(&mut jobs[first..]);
}

/// A line of a log of fio: `TIME, VALUE, DIRECTION, BYTES`, then perhaps a place and a
/// priority. The value and the direction.
fn entry(line: &[u8]) -> Option<(u64, usize)> {
    let text = std::str::from_utf8(line).ok()?;
    let mut words = text.split(',').map(str::trim);
    let mut number = || words.next()?.parse::<u64>().ok();
    let (_, value, direction, _) = (number()?, number()?, number()?, number()?);
    let rest =
        words.all(|w| w.strip_prefix("0x").unwrap_or(w).bytes().all(|b| b.is_ascii_hexdigit()));
    (rest && direction < 3).then_some((value, direction as usize))
}

/// Whether bytes are a log of latencies that fio wrote (`write_lat_log`).
pub(crate) fn is_log(name: &str, bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(4_096)];
    let whole = if head.len() == bytes.len() { head } else { cut_last(head) };
    let lines: Vec<&[u8]> = whole.split(|b| *b == b'\n').filter(|l| !l.is_empty()).collect();
    let other = ["_bw.", "_iops."].iter().any(|w| name.contains(w));
    !other && !lines.is_empty() && lines.iter().all(|l| entry(l).is_some())
}

fn cut_last(head: &[u8]) -> &[u8] {
    &head[..head.iter().rposition(|b| *b == b'\n').unwrap_or(head.len())]
}

/// Latencies of each direction, ns: fio writes ns since 3.0.
pub(crate) fn read_log(name: &str, bytes: &[u8], jobs: &mut Vec<Job>, losses: &mut Losses) {
    let short = name.rsplit('/').next().unwrap_or(name);
    let mut lists: [Vec<u64>; 3] = Default::default();
    let mut damaged = 0;
    for line in bytes.split(|b| *b == b'\n').filter(|l| !l.trim_ascii().is_empty()) {
        match entry(line) {
            Some((value, direction)) => lists[direction].push(value),
            None => damaged += 1,
        }
    }
    let advice = "lines of fio's log that cannot be understood: compare them with the original";
    losses.add("damaged_line", damaged, Severity::Warning, advice, None);
    for (mut list, direction) in lists.into_iter().zip(["read", "write", "trim"]) {
        list.sort_unstable();
        let (Some(&least), Some(&most)) = (list.first(), list.last()) else { continue };
        let sum: u128 = list.iter().map(|n| u128::from(*n)).sum();
        let n = list.len();
        // The smallest that so many of ten thousand do not exceed.
        let at = |share: usize| Some(list[(n * share).div_ceil(10_000).max(1) - 1]);
        jobs.push(Job {
            name: short.into(),
            direction: direction.into(),
            requests: n as u64,
            bandwidth: 0,
            mean: u64::try_from(sum / n as u128).unwrap_or(u64::MAX),
            least,
            most,
            quantiles: [at(5_000), at(9_900), at(9_990)],
            ..Job::default()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_document_of_a_text_is_read_and_a_job_that_waits_says_so() {
        let one = |ios: u32| {
            format!(
                r#"{{"fio version":"fio-3.36","jobs":[{{"jobname":"a","job options":{{"iodepth":"1","thinktime":"50000"}},"read":{{"total_ios":{ios},"iops":20,"clat_ns":{{"mean":9000}}}}}}]}}"#
            )
        };
        let text = format!("before:\n{}\nafter:\n{}\n", one(3), one(4));
        let (mut jobs, mut losses) = (Vec::new(), Losses::default());
        read("d/mail.txt", text.as_bytes(), &mut jobs, &mut losses);
        let seen: Vec<_> = jobs.iter().map(|j| (j.name.as_str(), j.requests)).collect();
        assert_eq!(seen, [("a (mail.txt, line 2)", 3), ("a (mail.txt, line 4)", 4)]);
        assert!(jobs.iter().all(|j| j.paced) && losses.list.is_empty());
        assert_eq!(jobs[0].queue().unwrap().fits, dormouse_storage::load::Fits::Paced);
        read("y", b"f()\n{\n:\n}\n{\"fio version\": \"fio-3\"}\n", &mut jobs, &mut losses);
        assert!(losses.list.is_empty(), "a brace of a program is no document");
        read("x", b"{\"fio version\": \"fio-3\", \"jobs\": [", &mut jobs, &mut losses);
        assert_eq!((jobs.len(), losses.count("damaged_input")), (2, 1));
    }

    #[test]
    fn logs_of_latencies() {
        let text = b"0, 60250, 0, 4096, 0\n1, 70750, 0, 4096, 8192, 0x4004\n2, 9000, 1, 512\n";
        assert!(is_log("a_clat.1.log", text) && !is_log("a_bw.1.log", text));
        assert!(!is_log("a.csv", b"1, 2, x, 4\n") && !is_log("a.log", b""));
        let (mut jobs, mut losses) = (Vec::new(), Losses::default());
        read_log("d/a_clat.1.log", &[&text[..], b"3, 4\n"].concat(), &mut jobs, &mut losses);
        let seen: Vec<_> =
            jobs.iter().map(|j| (j.direction.as_str(), j.requests, j.mean, j.most)).collect();
        assert_eq!(seen, [("read", 2, 65_500, 70_750), ("write", 1, 9_000, 9_000)]);
        assert_eq!((jobs[0].quantiles[0], losses.count("damaged_line")), (Some(60_250), 1));
    }

    #[test]
    fn both_units() {
        let text = br#"fio: a message
{"fio version":"fio-3.33","jobs":[{"jobname":"a","read":{"total_ios":2,"bw_bytes":4096,
"clat_ns":{"min":100,"max":300,"mean":200.5,"percentile":{"50.000000":150,"99.000000":290}}},
"write":{"total_ios":0}}]}"#;
        let (mut jobs, mut losses) = (Vec::new(), Losses::default());
        assert!(is_fio(text));
        read("f.json", text, &mut jobs, &mut losses);
        let [j] = &jobs[..] else { panic!("{jobs:?}") };
        assert_eq!((j.direction.as_str(), j.requests, j.least, j.most), ("read", 2, 100, 300));
        assert_eq!(j.quantiles, [Some(150), Some(290), None]);
        let old =
            br#"{"fio version":"fio-2.2.10","jobs":[{"jobname":"a","write":{"total_ios":1,"bw":2,
"clat":{"min":1,"max":3,"mean":2.0,"percentile":{"50.000000":2}}}}]}"#;
        read("f.json", old, &mut jobs, &mut losses);
        assert_eq!(
            (jobs[1].bandwidth, jobs[1].most, jobs[1].quantiles[0]),
            (2048, 3_000, Some(2_000))
        );
        let clients = br#"{"fio version":"fio-3.35","client_stats":[
{"jobname":"a","read":{"total_ios":1}},{"jobname":"All clients","read":{"total_ios":1}}]}"#;
        read("f.json", clients, &mut jobs, &mut losses);
        assert_eq!(jobs.len(), 3);
        read("f.json", &old[..40], &mut jobs, &mut losses);
        assert_eq!(losses.count("damaged_input"), 1);
    }
}
