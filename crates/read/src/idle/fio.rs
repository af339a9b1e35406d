//! `fio --output-format=json`: reads by size.

use crate::fio::documents;
use dormouse_base::loss::{Losses, Severity};
use dormouse_idle::reads::Cell;
use serde_json::Value;

/// Largest read, and the longest time of one, ns: beyond these nothing was measured.
const LARGEST: (u64, u128) = (1 << 30, 10_000_000_000);

/// Reads of each job that reads one block at a time, sorted by size; other jobs
/// are counted as lost.
pub fn cells(name: &str, bytes: &[u8], losses: &mut Losses) -> Vec<Cell> {
    let mut out: Vec<Cell> = Vec::new();
    let mut count = 0u32;
    documents(bytes, |value, _| {
        count += 1;
        let global = &value["global options"];
        for job in value["jobs"].as_array().into_iter().flatten() {
            match cell(job, global) {
                Ok(cell) => out.push(cell),
                Err(why) => losses.add(
                    "fio_job",
                    1,
                    Severity::Warning,
                    format!("{name}: a job of fio is left out: {why}"),
                    None,
                ),
            }
        }
    });
    if count == 0 {
        let advice = format!("{name} holds no output of fio --output-format=json");
        losses.add("no_fio_data", 1, Severity::Warning, advice, None);
    }
    out.sort_by_key(|c| c.block);
    out
}

fn cell(job: &Value, global: &Value) -> Result<Cell, &'static str> {
    let own = &job["job options"];
    let option = |key: &str| own[key].as_str().or_else(|| global[key].as_str());
    for key in ["iodepth", "numjobs"] {
        if option(key).is_some_and(|n| n != "1") {
            return Err("it reads several blocks at once");
        }
    }
    let read = &job["read"];
    let count = |key: &str| read[key].as_u64().filter(|&n| n > 0);
    let (Some(reads), Some(bytes), Some(ms)) =
        (count("total_ios"), count("io_bytes"), count("runtime"))
    else {
        return Err("it read nothing");
    };
    if job["write"]["total_ios"].as_u64().is_some_and(|n| n > 0) {
        return Err("it also writes");
    }
    let percent = |key: &str| job[key].as_f64().filter(|p| (0.0..=100.0).contains(p));
    let (Some(user), Some(system)) = (percent("usr_cpu"), percent("sys_cpu")) else {
        return Err("it does not say how long the CPU worked");
    };
    let (block, read) = (bytes / reads, u128::from(ms) * 1_000_000 / u128::from(reads));
    if block > LARGEST.0 || read > LARGEST.1 {
        return Err("its reads are larger than 1 GiB, or take longer than 10 s");
    }
    // Thousandths of a percent are more than fio knows.
    let share = ((user + system) * 1_000.0) as u128;
    let ns = |v: u128| i64::try_from(v).unwrap_or(i64::MAX);
    Ok(Cell { block, read: ns(read), work: ns(read * share.min(100_000) / 100_000) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOB: &str = r#"{"job options":{"bs":"32k"},"usr_cpu":10.5,"sys_cpu":4.5,
        "read":{"io_bytes":3276800,"total_ios":100,"runtime":10},"write":{"total_ios":0}}"#;

    fn of(jobs: &str, global: &str) -> (Vec<Cell>, u64) {
        let text =
            format!("fio: starting\n{{\"global options\":{global},\"jobs\":[{jobs}]}}\ndone\n");
        let mut losses = Losses::default();
        let cells = cells("x", text.as_bytes(), &mut losses);
        (cells, losses.list.iter().map(|l| l.count).sum())
    }

    #[test]
    fn a_job_is_a_cell() {
        let want = Cell { block: 32_768, read: 100_000, work: 15_000 };
        assert_eq!(of(JOB, "{}"), (vec![want], 0));
        assert_eq!(of(&format!("{JOB},{JOB}"), "{}"), (vec![want, want], 0));
    }

    #[test]
    fn what_is_no_reader_of_one_block_is_lost() {
        assert_eq!(of(JOB, r#"{"iodepth":"32"}"#), (vec![], 1));
        assert_eq!(of(&JOB.replace("\"total_ios\":100", "\"total_ios\":0"), "{}"), (vec![], 1));
        assert_eq!(
            of(&JOB.replace("\"runtime\":10", "\"runtime\":99999999999"), "{}"),
            (vec![], 1)
        );
        assert_eq!(of(&JOB.replace("usr_cpu", "x"), "{}"), (vec![], 1));
        let mut losses = Losses::default();
        assert_eq!(cells("x", b"{ no json\n{\n", &mut losses), vec![]);
        assert_eq!(losses.count("no_fio_data"), 1);
    }
}
