//! Disks that have data to write, looked at twice (mm/backing-dev.c:bdi_debug_stats_show,
//! 6.12). Root alone may read the counts.

use crate::presync::disk::{Sample, is_disk};
use crate::root::Root;
use std::time::Instant;

/// A disk that has data to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Writer {
    /// Its name, such as `sdb`.
    pub name: String,
    /// Its number, such as `8:16`.
    pub number: String,
    /// Bytes that a sync would wait for.
    pub left: u64,
    /// Bytes a second; `None` unless it wrote from the first look to the last.
    pub rate: Option<u64>,
    /// It can be taken out, or is on USB.
    pub removable: bool,
}

/// The first look.
pub(crate) struct Writers {
    at: Instant,
    samples: Vec<(String, Sample)>,
}

const FOLDER: &str = "/sys/kernel/debug/bdi";

fn samples(root: &Root) -> Vec<(String, Sample)> {
    let disks = root.list(FOLDER).into_iter().filter(|n| is_disk(n));
    let sample = |number: String| {
        let text = root.read(&format!("{FOLDER}/{number}/stats"))?;
        Some((number, Sample::parse(&text)?))
    };
    disks.filter_map(sample).collect()
}

impl Writers {
    /// Looks for the first time.
    pub(crate) fn begin(root: &Root) -> Writers {
        Writers { at: Instant::now(), samples: samples(root) }
    }

    /// Looks again, and says which disks have data to write.
    pub(crate) fn end(self, root: &Root) -> Vec<Writer> {
        let ms = u64::try_from(self.at.elapsed().as_millis()).unwrap_or(u64::MAX).max(1);
        let mut out = Vec::new();
        for (number, now) in samples(root) {
            let then = self.samples.iter().find(|s| s.0 == number).map(|s| s.1);
            let written = |t: Sample| now.written.saturating_sub(t.written);
            // One that had pauses says nothing of its rate.
            let busy = then.filter(|t| t.writeback > 0 && now.writeback > 0 && written(*t) > 0);
            if now.left() == 0 {
                continue;
            }
            let place = root.usual(&root.resolve(&format!("/sys/dev/block/{number}")));
            let place = place.unwrap_or_default();
            let flag = root.read(&format!("{place}/removable"));
            out.push(Writer {
                name: place.rsplit('/').next().filter(|n| !n.is_empty()).unwrap_or(&number).into(),
                left: now.left(),
                rate: busy.map(|t| written(t).saturating_mul(1_000) / ms),
                removable: flag.as_deref() == Some("1") || place.contains("/usb"),
                number,
            });
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_disk_that_writes_all_the_time_shows_its_rate() {
        let dir = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let place = dir.path().join(path);
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            fs::write(place, text).unwrap();
        };
        let stats = |number: &str, left: u64, busy: u64, written: u64| {
            let text = format!(
                "BdiWriteback: {busy} kB\nBdiReclaimable: {left} kB\nBdiDirtied: 9 kB\nBdiWritten: {written} kB\n"
            );
            put(&format!("sys/kernel/debug/bdi/{number}/stats"), &text);
        };
        put("sys/devices/usb1/1-1/block/sdb/removable", "0\n");
        fs::create_dir_all(dir.path().join("sys/dev/block")).unwrap();
        std::os::unix::fs::symlink(
            "../../devices/usb1/1-1/block/sdb",
            dir.path().join("sys/dev/block/8:16"),
        )
        .unwrap();
        stats("8:16", 40_000, 64, 100);
        stats("8:0", 10, 0, 100);
        stats("0:45", 90_000, 64, 100);
        let root = Root::below(dir.path());
        let first = Writers::begin(&root);
        std::thread::sleep(std::time::Duration::from_millis(20));
        stats("8:16", 20_000, 64, 20_100);
        let found = first.end(&root);
        let [stick, disk] = &found[..] else { panic!("{found:?}") };
        let (disk, stick) = if stick.number == "8:0" { (stick, disk) } else { (disk, stick) };
        assert_eq!((stick.name.as_str(), stick.removable), ("sdb", true));
        assert_eq!(stick.left, 20_064 << 10);
        assert!(stick.rate.is_some_and(|r| r > 0 && r <= (20_000 << 10) * 50), "{stick:?}");
        assert_eq!((disk.rate, disk.left, disk.removable), (None, 10 << 10, false));
    }
}
