//! What each disk still has to write: the counts of its `backing_dev_info`
//! (mm/backing-dev.c:bdi_debug_stats_show, 6.12), its rate, and how long the rest
//! will take. Times are ms since the start.

use std::collections::VecDeque;

/// Bytes of a disk, as the kernel counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Dirty, not yet given to the disk.
    pub dirty: u64,
    /// Given to the disk, not yet written.
    pub writeback: u64,
    /// Dirtied since it was found.
    pub dirtied: u64,
    /// Written since it was found.
    pub written: u64,
}

impl Sample {
    /// The `stats` of a disk in debugfs.
    pub fn parse(text: &str) -> Option<Sample> {
        Some(Sample {
            dirty: kib(text, "BdiReclaimable")?,
            writeback: kib(text, "BdiWriteback")?,
            dirtied: kib(text, "BdiDirtied")?,
            written: kib(text, "BdiWritten")?,
        })
    }

    /// The sum of all disks, of `/proc/meminfo` and `/proc/vmstat`, where debugfs is
    /// not to be had.
    pub(crate) fn parse_whole(meminfo: &str, vmstat: &str, page: u64) -> Option<Sample> {
        let pages = |name: &str| {
            let line = vmstat.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(' '))?;
            line.trim().parse::<u64>().ok()?.checked_mul(page)
        };
        Some(Sample {
            dirty: kib(meminfo, "Dirty")?,
            writeback: kib(meminfo, "Writeback")?,
            dirtied: pages("nr_dirtied")?,
            written: pages("nr_written")?,
        })
    }

    /// What a sync would wait for.
    pub fn left(&self) -> u64 {
        self.dirty.saturating_add(self.writeback)
    }
}

/// A line such as `BdiWritten:   12 kB`, in bytes.
fn kib(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(':'))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1_024)
}

/// Bytes a second of a disk that has not shown its rate: that of a slow stick, so
/// that nothing is called short that may be long.
const ASSUMED: u64 = 1 << 20;
/// The rate is that of the last so many ms,
const WINDOW: u64 = 1_000;
/// and not known from fewer.
const LEAST: u64 = 200;
/// A disk is stuck when in so many ms
const PATIENCE: u64 = 3_000;
/// less than this part of its bytes has gone: one in a hundred.
const PART: u64 = 100;

/// One disk over the time of the work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disk {
    /// Its name, such as `sda`.
    pub name: String,
    /// The first sample.
    pub first: Sample,
    /// The last sample.
    pub last: Sample,
    /// When it last had something to write.
    pub busy_until: u64,
    history: VecDeque<(u64, Sample)>,
}

impl Disk {
    /// A disk at its first sample.
    pub fn new(name: String, at: u64, sample: Sample) -> Disk {
        let history = VecDeque::from([(at, sample)]);
        Disk { name, first: sample, last: sample, busy_until: at, history }
    }

    /// Takes the next sample.
    pub fn take(&mut self, at: u64, sample: Sample) {
        if self.last.left() > 0 {
            self.busy_until = at;
        }
        self.last = sample;
        self.history.push_back((at, sample));
        // The oldest that is kept is at least so old as the longest look back.
        while self.history.get(1).is_some_and(|(t, _)| t + PATIENCE <= at) {
            self.history.pop_front();
        }
    }

    /// The oldest sample that is at most `ms` old, and its age.
    fn ago(&self, ms: u64) -> (u64, Sample) {
        let now = self.history.back().map_or(0, |s| s.0);
        let found = self.history.iter().find(|(t, _)| t + ms >= now);
        found.map_or((0, self.last), |(t, s)| (now - t, *s))
    }

    /// Bytes a second lately, if it has written for long enough to tell.
    pub fn rate(&self) -> Option<u64> {
        let (age, then) = self.ago(WINDOW);
        let written = self.last.written.saturating_sub(then.written);
        (age >= LEAST && written > 0).then(|| written.saturating_mul(1_000) / age)
    }

    /// How long what is left will take, in ms.
    pub fn ms_left(&self) -> u64 {
        let rate = self.rate().unwrap_or(ASSUMED).max(1);
        self.last.left().saturating_mul(1_000).div_ceil(rate)
    }

    /// Written since the first sample.
    pub fn written(&self) -> u64 {
        self.last.written.saturating_sub(self.first.written)
    }

    /// If it gets no emptier: what was written and dirtied while it did not.
    pub fn stuck(&self) -> Option<(u64, u64)> {
        let (age, then) = self.history.front().map(|(t, s)| (*t, *s))?;
        let age = self.history.back()?.0.saturating_sub(age);
        let (was, is) = (then.left(), self.last.left());
        let fell = was.saturating_sub(is);
        (age >= PATIENCE && is > 0 && fell < was.div_ceil(PART)).then(|| {
            (
                self.last.written.saturating_sub(then.written),
                self.last.dirtied.saturating_sub(then.dirtied),
            )
        })
    }
}

/// Whether the kernel's name of a `backing_dev_info` is that of a disk, or of a file
/// system that writes to disks by itself. The others ask a server, as `0:45` of NFS
/// and FUSE and `8:1-fuseblk` do (super_setup_bdi_name, fs/super.c, 6.12).
pub(crate) fn is_disk(bdi: &str) -> bool {
    let number = |t: &str| !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit());
    match bdi.split_once(':') {
        Some((major, minor)) => number(major) && major != "0" && number(minor),
        None => ["btrfs-", "ubifs_", "bcachefs-", "zfs-"].iter().any(|k| bdi.starts_with(k)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATS: &str = "BdiWriteback:              128 kB\nBdiReclaimable:          40832 kB\n\
        BdiDirtyThresh:         180000 kB\nBdiDirtied:              40960 kB\n\
        BdiWritten:                  0 kB\nBdiWriteBandwidth:      102400 kBps\nb_dirty: 1\n";

    fn sample(left: u64, written: u64) -> Sample {
        Sample { dirty: left, written, ..Sample::default() }
    }

    #[test]
    fn the_counts_of_a_disk_and_of_all() {
        let s = Sample::parse(STATS).unwrap();
        assert_eq!((s.dirty, s.writeback), (40_832 << 10, 128 << 10));
        assert_eq!((s.dirtied, s.written, s.left()), (40 << 20, 0, 40 << 20));
        assert_eq!(Sample::parse("BdiWriteback: 1 kB\n"), None);
        assert_eq!(Sample::parse(""), None);
        let whole = Sample::parse_whole(
            "Dirty:   8 kB\nWriteback:  4 kB\nWritebackTmp: 0 kB\n",
            "nr_dirtied 7\nnr_written 3\n",
            4_096,
        );
        let want = Sample { dirty: 8_192, writeback: 4_096, dirtied: 28_672, written: 12_288 };
        assert_eq!(whole, Some(want));
        assert_eq!(Sample::parse_whole("Dirty: 8 kB\n", "", 4_096), None);
    }

    #[test]
    fn the_rate_is_that_of_the_last_second() {
        let mut d = Disk::new("sda".into(), 0, sample(40_000_000, 0));
        // Not known: the slow rate is taken.
        assert_eq!(d.rate(), None);
        assert_eq!(d.ms_left(), 40_000_000u64 * 1_000 / (1 << 20) + 1);
        // A second at 1 MB/s, then two at 8 MB/s.
        for i in 1..=10 {
            d.take(i * 100, sample(40_000_000 - i * 100_000, i * 100_000));
        }
        assert_eq!(d.rate(), Some(1_000_000));
        for i in 1..=20 {
            d.take(1_000 + i * 100, sample(39_000_000 - i * 800_000, 1_000_000 + i * 800_000));
        }
        assert_eq!(d.rate(), Some(8_000_000));
        assert_eq!(d.ms_left(), 2_875);
        assert_eq!(d.written(), 17_000_000);
        assert_eq!(d.stuck(), None);
        d.take(3_100, sample(0, 40_000_000));
        assert_eq!((d.ms_left(), d.busy_until), (0, 3_100));
        d.take(9_000, sample(0, 40_000_000));
        assert_eq!(d.busy_until, 3_100);
    }

    #[test]
    fn a_disk_that_gets_no_emptier_is_stuck_after_three_seconds() {
        let mut d = Disk::new("sdb".into(), 0, sample(1_000_000, 0));
        for i in 1..30 {
            d.take(i * 100, sample(1_000_000, i * 1_000));
            assert_eq!(d.stuck(), None, "{i}");
        }
        d.take(3_000, sample(1_000_000, 30_000));
        assert_eq!(d.stuck(), Some((30_000, 0)));
        // One in a hundred of its bytes went: it is slow, not stuck.
        d.take(3_100, sample(980_000, 50_000));
        assert_eq!(d.stuck(), None);
        // Nothing to write is no fault.
        let mut d = Disk::new("sdc".into(), 0, sample(0, 0));
        d.take(5_000, sample(0, 0));
        assert_eq!(d.stuck(), None);
    }

    #[test]
    fn samples_in_any_order_break_nothing() {
        let mut d = Disk::new("x".into(), 9_000, sample(u64::MAX, 0));
        d.take(9_100, sample(u64::MAX, u64::MAX));
        d.take(9_400, sample(u64::MAX, 5));
        assert!(d.ms_left() > 0);
        assert_eq!(d.written(), 5);
    }

    #[test]
    fn names_of_disks_and_of_servers() {
        for disk in ["8:0", "253:1", "259:12", "btrfs-1", "ubifs_0_0"] {
            assert!(is_disk(disk), "{disk}");
        }
        for other in ["0:45", "8:1-fuseblk", "cifs-1", "ceph-2", "9p-1", "", ":", "8:", "nfs"] {
            assert!(!is_disk(other), "{other}");
        }
    }
}
