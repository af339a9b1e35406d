//! A campaign: many cycles in a folder that outlives whatever ends the machine or this process.
//! Each cycle is a capture file of its own, complete and on disk before the next begins.
//! `campaign.jsonl` has a line before each thing that may never end, on disk before that begins;
//! so the next start knows which cycle was cut, and where.

use crate::cut::{self, Begun, Cut, LastWords, Place};
use crate::devices::devices;
use crate::guard::{Observer, Step};
use crate::list::List;
use crate::machine::boot_id;
use crate::recorder::{self, Outcome, Progress, Watch};
use crate::recording::Recording;
use crate::root::Root;
use crate::{machine, options::Options};
use dormouse_capture::schema::{CaptureFile, CycleMembers};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The list of what happened.
const LIST: &str = "campaign.jsonl";
/// The folder of the capture files.
const CYCLES: &str = "cycles";

/// A line of the list.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
enum Line {
    /// A recorder began to work on the campaign.
    Start {
        boot_id: String,
        pm_trace: bool,
        /// Devices with their drivers.
        #[serde(default)]
        devices: Drivers,
    },
    /// A cycle begins, at so many seconds of the epoch.
    Begin { cycle: u32, at: u64 },
    /// The next write makes the machine sleep.
    Asleep { cycle: u32 },
    /// It came back.
    Awake { cycle: u32 },
    /// The cycle came to its end so, and is written next.
    Saved { cycle: u32, result: i32, device: Option<String> },
    /// It is on disk.
    End { cycle: u32 },
    /// Devices that were there before the cycle and not after it.
    Lost { cycle: u32, devices: Vec<String> },
    /// A cycle that never ended.
    Cut(Cut),
}

/// How a cycle ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// 0 or the negative errno of the attempt.
    pub result: i32,
    /// The device that refused, if the kernel names one.
    pub device: Option<String>,
}

/// A folder of cycles, open and locked.
#[derive(Debug)]
pub struct Campaign {
    root: Root,
    folder: PathBuf,
    list: List,
    /// Cycles that ended, by number.
    pub ended: BTreeMap<u32, Ended>,
    /// Cycles that never ended.
    pub cuts: Vec<Cut>,
    /// Devices that were lost, by the cycle after which they were not there.
    pub lost: BTreeMap<u32, Vec<String>>,
    /// Lines of the list that cannot be read.
    pub unreadable: u32,
    /// The cut that this start found.
    pub found: Option<Cut>,
    /// Devices with drivers when the last cycle began.
    there: Option<Drivers>,
}

/// When a start ends, besides its cycles.
#[derive(Default)]
pub struct Limits {
    /// After so long.
    pub within: Option<Duration>,
    /// After so many failures of the campaign.
    pub stop_after: Option<u32>,
    /// How long to wait before each further cycle.
    pub pause: Option<Box<dyn FnMut() -> Duration>>,
}

impl Campaign {
    /// Opens the campaign in `folder`, which is made if it is not there, and settles what the
    /// last start left. `last_words` reads the logs that a kernel kept over a restart.
    ///
    /// # Errors
    /// If the folder cannot be used, or another recorder works on it.
    pub fn open(root: &Root, folder: &Path, last_words: LastWords) -> io::Result<Campaign> {
        fs::create_dir_all(folder.join(CYCLES))?;
        let busy = "another recorder works on this campaign";
        let (list, bytes) = List::open(folder, LIST, busy)?;
        let mut campaign = Campaign {
            root: root.clone(),
            folder: folder.into(),
            list,
            ended: BTreeMap::new(),
            cuts: Vec::new(),
            lost: BTreeMap::new(),
            unreadable: 0,
            found: None,
            there: None,
        };
        let open = campaign.remember(&bytes);
        campaign.settle(open, last_words)?;
        let (boot_id, devices) = (boot_id(root), drivers(root));
        let pm_trace = root.read("/sys/power/pm_trace").is_some_and(|v| v == "1");
        campaign.say(&Line::Start { boot_id, pm_trace, devices })?;
        Ok(campaign)
    }

    /// Takes in the list, and gives the cycle that it leaves open.
    fn remember(&mut self, list: &[u8]) -> Option<Open> {
        let (mut boot, mut traced, mut there) = (String::new(), false, Drivers::new());
        let mut open: Option<Open> = None;
        for line in list.split(|b| *b == b'\n').filter(|l| !l.is_empty()) {
            match serde_json::from_slice(line) {
                Ok(Line::Start { boot_id, pm_trace, devices }) => {
                    (boot, traced, there) = (boot_id, pm_trace, devices);
                }
                Ok(Line::Begin { cycle, at }) => {
                    let begun = Begun { at, until: None, boot_id: boot.clone(), pm_trace: traced };
                    open = Some(Open { cycle, place: Place::Before, begun, saved: None });
                }
                Ok(Line::Asleep { .. }) => open.iter_mut().for_each(|o| o.place = Place::Asleep),
                Ok(Line::Awake { .. }) => open.iter_mut().for_each(|o| o.place = Place::After),
                Ok(Line::Saved { result, device, .. }) => {
                    open.iter_mut()
                        .for_each(|o| o.saved = Some(Ended { result, device: device.clone() }));
                }
                Ok(Line::End { cycle }) => {
                    let unknown = Cut { cycle, place: Place::After, ..Cut::default() };
                    match open.take().and_then(|o| o.saved) {
                        Some(ended) => _ = self.ended.insert(cycle, ended),
                        // The line that told its result is damaged: nothing is claimed.
                        None => self.cuts.push(unknown),
                    }
                }
                Ok(Line::Lost { cycle, devices }) => {
                    there.retain(|path, driver| !devices.contains(&shown(path, driver)));
                    self.lost.insert(cycle, devices);
                }
                Ok(Line::Cut(cut)) => {
                    self.cuts.push(cut);
                    open = None;
                }
                Err(_) => self.unreadable += 1,
            }
        }
        self.there = Some(there);
        open
    }

    /// Says how the cycle ended that was left open, and which devices a restart lost.
    fn settle(&mut self, open: Option<Open>, last_words: LastWords) -> io::Result<()> {
        for entry in fs::read_dir(self.folder.join(CYCLES))?.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.starts_with('.') && name.ends_with(".part") {
                fs::remove_file(entry.path())?;
            }
        }
        let Some(open) = open else { return Ok(()) };
        let there = self.there.take();
        if let Some(ended) = open.saved.filter(|_| self.path(open.cycle).is_file()) {
            // It was killed between the file and the line that says so.
            return self.end(open.cycle, ended);
        }
        let restarted = open.begun.boot_id != boot_id(&self.root);
        let cut = Cut { cycle: open.cycle, place: open.place, restarted, ..Cut::default() };
        let cut = match restarted {
            true => cut::told(&self.root, cut, &open.begun, last_words),
            false => cut,
        };
        self.say(&Line::Cut(cut.clone()))?;
        self.cuts.push(cut.clone());
        self.found = Some(cut);
        match there.filter(|_| restarted) {
            Some(before) => self.compare(open.cycle, &before),
            None => Ok(()),
        }
    }

    fn say(&mut self, line: &Line) -> io::Result<()> {
        self.list.add(line)
    }

    fn path(&self, cycle: u32) -> PathBuf {
        self.folder.join(CYCLES).join(format!("cycle-{cycle:06}.tar.gz"))
    }

    fn end(&mut self, cycle: u32, ended: Ended) -> io::Result<()> {
        self.say(&Line::End { cycle })?;
        self.ended.insert(cycle, ended);
        Ok(())
    }

    /// Notes which devices are gone, without those below them.
    fn compare(&mut self, cycle: u32, before: &Drivers) -> io::Result<()> {
        let now = drivers(&self.root);
        let gone: Vec<&String> = before.keys().filter(|d| !now.contains_key(*d)).collect();
        let is_below = |d: &str| {
            gone.iter().any(|g| d.strip_prefix(g.as_str()).is_some_and(|r| r.starts_with('/')))
        };
        let top = gone.iter().filter(|d| !is_below(d));
        let devices: Vec<String> = top.map(|d| shown(d, &before[*d])).collect();
        if devices.is_empty() {
            return Ok(());
        }
        self.say(&Line::Lost { cycle, devices: devices.clone() })?;
        self.lost.insert(cycle, devices);
        Ok(())
    }

    /// Where its capture files are.
    #[must_use]
    pub fn cycles(&self) -> PathBuf {
        self.folder.join(CYCLES)
    }

    /// The number of the next cycle.
    #[must_use]
    pub fn next(&self) -> u32 {
        let cut = self.cuts.iter().map(|c| c.cycle).max();
        self.ended.keys().last().copied().max(cut).map_or(1, |n| n.saturating_add(1))
    }

    /// Cycles that failed: refused, or ended by a restart of the machine.
    #[must_use]
    pub fn failed(&self) -> u32 {
        let refused = self.ended.values().filter(|e| e.result != 0).count();
        let cut = self.cuts.iter().filter(|c| c.restarted).count();
        u32::try_from(refused + cut).unwrap_or(u32::MAX)
    }

    /// Cycles that say whether the machine sleeps: a recorder that was killed does not.
    #[must_use]
    pub fn judged(&self) -> u32 {
        let cut = self.cuts.iter().filter(|c| c.restarted).count();
        u32::try_from(self.ended.len() + cut).unwrap_or(u32::MAX)
    }

    /// A cycle begins: what is there now is what the one before left.
    fn begin(&mut self, cycle: u32) -> io::Result<()> {
        if let Some(before) = self.there.take() {
            self.compare(cycle - 1, &before)?;
        }
        self.there = Some(drivers(&self.root));
        let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        self.say(&Line::Begin { cycle, at })
    }

    /// Writes a cycle to disk.
    fn keep(&mut self, file: &CaptureFile, cycle: CycleMembers) -> io::Result<()> {
        let stats = &cycle.stats;
        let (number, result) = (stats.number, stats.result);
        let device = stats.suspend_stats_changed.get("last_failed_dev").filter(|_| result != 0);
        let ended = Ended { result, device: device.cloned() };
        let mut file = CaptureFile { cycles: vec![cycle], ..file.clone() };
        file.document.suspend_stats_after = machine::suspend_stats(&self.root);
        let device = ended.device.clone();
        self.say(&Line::Saved { cycle: number, result, device })?;
        Recording::new(file)?.save(&self.path(number))?;
        self.end(number, ended)
    }
}

/// Devices that have a driver, by their path.
type Drivers = BTreeMap<String, String>;

fn drivers(root: &Root) -> Drivers {
    let rows = devices(root).0.into_iter().filter(|d| !d.driver.is_empty());
    rows.map(|d| (d.devpath, d.driver)).collect()
}

/// A device as it is named.
fn shown(path: &str, driver: &str) -> String {
    format!("{} ({driver})", path.rsplit('/').next().unwrap_or(path))
}

/// A cycle that the list leaves open.
struct Open {
    cycle: u32,
    place: Place,
    begun: Begun,
    /// How it ended, if it was being written.
    saved: Option<Ended>,
}

/// Records `options.cycles` further cycles into `campaign`.
///
/// # Errors
/// As [`recorder::record`]; what could not be kept is the error of the outcome.
pub fn record(
    campaign: &RefCell<Campaign>,
    options: &Options,
    limits: Limits,
    observer: &mut dyn Observer,
    watch: &mut dyn Watch,
) -> Result<Outcome, recorder::Error> {
    let (root, first) = (campaign.borrow().root.clone(), campaign.borrow().next());
    let options = Options { first, ..options.clone() };
    let began = Instant::now();
    let mut keeper = Keeper { campaign, limits, began, watch };
    let mut marks = Marks { campaign, observer };
    let outcome = recorder::record(&root, &options, &mut marks, &mut keeper)?;
    let mut campaign = campaign.borrow_mut();
    if let (Some(before), Some(last)) = (campaign.there.take(), campaign.next().checked_sub(1)) {
        campaign.compare(last, &before).map_err(recorder::Error::Kept)?;
    }
    Ok(outcome)
}

/// Keeps each cycle.
struct Keeper<'a> {
    campaign: &'a RefCell<Campaign>,
    limits: Limits,
    began: Instant,
    watch: &'a mut dyn Watch,
}

impl Watch for Keeper<'_> {
    fn progress(&mut self, progress: Progress) {
        self.watch.progress(progress);
    }

    fn begin(&mut self, cycle: u32) -> io::Result<()> {
        self.campaign.borrow_mut().begin(cycle)
    }

    fn keep(
        &mut self,
        file: &CaptureFile,
        cycle: CycleMembers,
    ) -> io::Result<Option<CycleMembers>> {
        self.campaign.borrow_mut().keep(file, cycle).map(|()| None)
    }

    fn pause(&mut self, usual: Duration) -> Duration {
        self.limits.pause.as_mut().map_or(usual, |pause| pause())
    }

    fn stop(&self) -> bool {
        let failed = self.campaign.borrow().failed();
        self.watch.stop()
            || self.limits.within.is_some_and(|d| self.began.elapsed() >= d)
            || self.limits.stop_after.is_some_and(|n| failed >= n)
    }
}

/// Marks the write that sleeps, before and after.
struct Marks<'a> {
    campaign: &'a RefCell<Campaign>,
    observer: &'a mut dyn Observer,
}

/// Whether a step makes the machine sleep.
fn sleeps(step: &Step) -> bool {
    matches!(step, Step::Write { path, .. } if path == "/sys/power/state")
}

impl Observer for Marks<'_> {
    fn before(&mut self, step: &Step) -> io::Result<()> {
        if sleeps(step) {
            let mut campaign = self.campaign.borrow_mut();
            let cycle = campaign.next();
            campaign.say(&Line::Asleep { cycle })?;
        }
        self.observer.before(step)
    }

    fn after(&mut self, step: &Step) {
        self.observer.after(step);
        if sleeps(step) {
            let mut campaign = self.campaign.borrow_mut();
            let cycle = campaign.next();
            // What cannot be written now cannot be at the end of the cycle either, which says so.
            let _ = campaign.say(&Line::Awake { cycle });
        }
    }
}
