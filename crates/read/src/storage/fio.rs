//! JSON of fio: what a load measured by itself.

use dormouse_model::loss::{Losses, Severity};
use dormouse_storage::load::Job;
use serde_json::Value;

/// Whether bytes hold fio's JSON, perhaps with messages before it.
pub fn is_fio(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(1 << 20)];
    memchr::memmem::find(head, b"\"fio version\"").is_some()
}

/// Reads the jobs of a text.
pub fn read(name: &str, bytes: &[u8], jobs: &mut Vec<Job>, losses: &mut Losses) {
    let short = name.rsplit('/').next().unwrap_or(name);
    let begin = memchr::memchr(b'{', bytes).unwrap_or(0);
    let mut stream = serde_json::Deserializer::from_slice(&bytes[begin..]).into_iter::<Value>();
    let Some(Ok(all)) = stream.next() else {
        let advice = "fio's JSON is cut or damaged: run fio again with --output-format=json";
        losses.add("damaged_input", 1, Severity::Error, advice, None);
        return;
    };
    for job in all["jobs"].as_array().into_iter().flatten() {
        for direction in ["read", "write", "trim"] {
            let d = &job[direction];
            let requests = d["total_ios"].as_u64().unwrap_or(0);
            if requests == 0 {
                continue;
            }
            // Until 2.99 in us, under names without the unit.
            let (completion, unit) = match &d["clat_ns"] {
                Value::Null => (&d["clat"], 1_000),
                ns => (ns, 1),
            };
            let figure = |v: &Value| v.as_f64().unwrap_or(0.0) * unit as f64;
            let quantile =
                |key: &str| completion["percentile"][key].as_u64().map(|n| n.saturating_mul(unit));
            jobs.push(Job {
                name: format!("{} ({short})", job["jobname"].as_str().unwrap_or("job")),
                direction: direction.into(),
                requests,
                bandwidth: d["bw_bytes"]
                    .as_u64()
                    .or_else(|| d["bw"].as_u64().map(|k| k.saturating_mul(1024)))
                    .unwrap_or(0),
                mean: figure(&completion["mean"]).round() as u64,
                least: figure(&completion["min"]) as u64,
                most: figure(&completion["max"]) as u64,
                quantiles: ["50.000000", "99.000000", "99.900000"].map(quantile),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        read("f.json", &old[..40], &mut jobs, &mut losses);
        assert_eq!(losses.count("damaged_input"), 1);
    }
}
