//! Disks that a sync before the next sleep would wait for. It waits for one file system
//! after another, and all disks write meanwhile, so the slowest counts
//! (fs/sync.c:ksys_sync, 6.12).

use crate::case::Case;
use crate::finding::{Area, Confidence, Evidence, Finding, Level, OLD};
use crate::now::Writer;
use dormouse_base::say;
use dormouse_base::time::Ns;

/// A disk has nearly all of the time if it has so many per cent of it.
const SHARE: u64 = 80;
/// A disk below this is slow, bytes a second.
const SLOW: u64 = 30_000_000;
/// A sync that takes less than so many ms is no matter.
const LONG: u64 = 500;
/// The same of a disk whose rate nobody saw, bytes.
const MUCH: u64 = 16 << 20;
/// What may be dirty should be written in so many seconds.
const LIMIT: u64 = 5;
/// Size of a page in `nr_dirty_threshold`, bytes. Larger ones make the limit larger.
const PAGE: u64 = 4_096;

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    slow(case, out);
    limit(case, out);
}

/// What is seen of a disk, as evidence.
fn seen(w: &Writer) -> Evidence {
    let rate = w.rate.map_or("".into(), |r| format!(", {} kB/s while it was looked at", r / 1_000));
    let text =
        format!("/sys/kernel/debug/bdi/{}/stats: {} kB to write{rate}", w.number, w.left / 1_000);
    Evidence { line: 0, time: None, text, doubtful: false }
}

/// One disk has nearly all of what a sync would wait for, and is slow or a stick.
fn slow(case: &Case, out: &mut Vec<Finding>) {
    // Where one rate is not known, bytes are compared.
    let known = case.disks.iter().all(|d| d.rate.is_some() || d.left == 0);
    let ms = |d: &Writer| d.left.saturating_mul(1_000) / d.rate.unwrap_or(1_000).max(1);
    let cost = |d: &Writer| if known { ms(d) } else { d.left };
    let all = case.disks.iter().map(cost).fold(0, u64::saturating_add);
    let Some(d) = case.disks.iter().max_by_key(|d| cost(d)) else { return };
    let most = cost(d) >= all / 100 * SHARE;
    let long = match d.rate {
        Some(_) => ms(d) >= LONG,
        None => d.left >= MUCH,
    };
    if !(most && long && (d.removable || d.rate.is_some_and(|r| r < SLOW))) {
        return;
    }
    let rate =
        d.rate.map_or(", and nobody saw yet how fast it writes; it can be taken out".into(), |r| {
            format!(" at {}", per_second(r))
        });
    let mut f = Finding::new(("sync-slow-device", Area::Sync, Level::Slow), Confidence::Likely)
        .says(format!(
            "{} has nearly all of what a sync before sleep would wait for: {}{rate}.",
            d.name,
            say::megabytes(d.left)
        ))
        .look(if d.removable {
            "Unmount it before sleep, or mount it with the option sync, so that little is left to write."
        } else {
            "Write it before: dormouse sync --hook DIR makes the unit."
        })
        .change(
            format!(
                "Let less wait for it (from 6.2 on): echo {} > /sys/class/bdi/{}/max_bytes",
                d.rate.unwrap_or(8_000_000),
                d.number
            ),
            OLD,
            "Programs that write to it wait sooner.",
        )
        .shown_by([seen(d)]);
    f.costs = d.rate.map(|_| Ns(ms(d).min(1 << 40) as i64 * 1_000_000));
    out.push(f);
}

/// More may be dirty than the slowest disk writes in a few seconds
/// (mm/page-writeback.c:global_dirty_limits, 6.12).
fn limit(case: &Case, out: &mut Vec<Finding>) {
    let Some(v) = case.values.iter().find(|v| v.path == "/proc/vmstat/nr_dirty_threshold") else {
        return;
    };
    let Some(limit) = v.value.parse::<u64>().ok().and_then(|n| n.checked_mul(PAGE)) else { return };
    let slowest = case.disks.iter().filter_map(|d| Some((d.rate?, d))).min_by_key(|d| d.0);
    let Some((rate, d)) = slowest.filter(|d| limit > d.0.saturating_mul(LIMIT)) else { return };
    let f = Finding::new(("sync-dirty-limit", Area::Sync, Level::Slow), Confidence::Likely)
        .says(format!(
            "Up to {} may wait to be written, and {} writes {}: a sync before sleep may take {} s.",
            say::megabytes(limit),
            d.name,
            per_second(rate),
            limit / rate.max(1)
        ))
        .change(
            format!("Let no more wait than it writes in a second: sysctl vm.dirty_bytes={rate}"),
            "Write the old value of vm.dirty_bytes back, or of vm.dirty_ratio if it was 0.",
            "Programs that write wait sooner, those that write to fast disks too.",
        )
        .shown_by([crate::evidence::value(v), seen(d)]);
    out.push(f);
}

/// `8.2 MB/s`.
fn per_second(rate: u64) -> String {
    format!("{}.{} MB/s", rate / 1_000_000, rate / 100_000 % 10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Value;

    fn disk(name: &str, left: u64, rate: Option<u64>, removable: bool) -> Writer {
        Writer { name: name.into(), number: "8:16".into(), left, rate, removable }
    }

    fn ids(disks: Vec<Writer>, threshold: u64) -> Vec<&'static str> {
        let value = Value {
            line: 0,
            path: "/proc/vmstat/nr_dirty_threshold".into(),
            value: format!("{threshold}"),
        };
        let case = Case { disks, values: vec![value], ..Case::default() };
        let mut out = Vec::new();
        judge(&case, &mut out);
        out.iter().map(|f| f.id).collect()
    }

    #[test]
    fn a_slow_disk_that_has_nearly_all_is_named() {
        let stick = || disk("sdb", 40_000_000, Some(8_000_000), true);
        let ssd = |left| disk("nvme0n1", left, Some(400_000_000), false);
        assert_eq!(ids(vec![ssd(40_000_000), stick()], 1), ["sync-slow-device"]);
        // A stick that is asked nothing, a fast disk, a share of less than 80 %.
        let resting = disk("sdb", 0, None, true);
        assert!(ids(vec![ssd(900_000_000), resting], 1).is_empty());
        assert!(ids(vec![ssd(1_000_000_000), stick()], 1).is_empty());
        // Nobody saw it write: bytes are compared, and few are no matter.
        assert_eq!(ids(vec![disk("sdb", 20 << 20, None, true)], 1), ["sync-slow-device"]);
        assert!(ids(vec![disk("sdb", 4 << 20, None, true)], 1).is_empty());
        assert!(ids(vec![disk("sda", 90 << 20, None, false)], 1).is_empty());
    }

    #[test]
    fn a_limit_that_the_slowest_disk_writes_for_long_is_told() {
        let slow = |rate| vec![disk("sdb", 1_000, Some(rate), false)];
        // 400 MB at 8 MB/s and at 100 MB/s.
        assert_eq!(ids(slow(8_000_000), 100_000), ["sync-dirty-limit"]);
        assert!(ids(slow(100_000_000), 100_000).is_empty());
        assert!(ids(vec![disk("sdb", 1_000, None, false)], 100_000).is_empty());
        assert!(ids(slow(8_000_000), u64::MAX).is_empty(), "no number of pages");
    }
}
