//! What a text proves of one way back: whose its rows are, and which stretches changes could
//! take out of it.
//!
//! | change | takes | sure |
//! |---|---|---|
//! | hooks and units need not block | from the return to the unit's end | of the unit itself; of the network if its service was told of the wake-up behind that end |
//! | the carrier is kept | from the return, or from the word to the network's service, to the link | of the link itself; of the address with that word |
//! | the lease is kept | from the first line of DHCP behind the link to the address | of the address, with such a line |
//! | the device is waited for no longer | from the return to the kernel's first line of the interface | never |

use super::ready::verdict_of;
use super::{Firmware, Mark, SECOND, WholeWay, ms};
use crate::way::{Kind, Step, interface};
use dormouse_base::gate::Verdict;
use dormouse_base::time::Ns;
use serde::Serialize;

/// Who could mend a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Owner {
    /// The kernel, its drivers, and what is at the other end of a cable.
    Kernel,
    /// Services, hooks and programs.
    UserSpace,
}

impl Owner {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Owner::Kernel => "kernel, device",
            Owner::UserSpace => "user space",
        }
    }
}

/// What could be done to a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Hooks and units of the sleep run beside the rest.
    Hooks,
    /// The address of before is used again at once.
    Lease,
    /// The link stays up over the sleep.
    Carrier,
    /// The network's device is ready as the kernel comes back.
    Device,
}

impl Change {
    /// All of them, in the order in which sets of equal worth are preferred.
    pub const ALL: [Change; 4] = [Change::Hooks, Change::Lease, Change::Carrier, Change::Device];

    /// The rows that it is meant for.
    pub(super) fn rows(self) -> &'static [Mark] {
        match self {
            Change::Hooks => &[Mark::Session, Mark::Unit],
            Change::Lease => &[Mark::Address],
            Change::Carrier | Change::Device => &[Mark::Link],
        }
    }

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Change::Hooks => "hooks and units that do not block the unit of the sleep",
            Change::Lease => "a lease that is kept in place of DHCP",
            Change::Carrier => "a carrier that is kept (Wake-on-LAN, WoWLAN)",
            Change::Device => "a device of the network that is ready at the return",
        }
    }

    /// How it is done, or what to ask first.
    pub fn how(self) -> &'static str {
        match self {
            Change::Hooks => {
                "Whether they may run later, the text does not tell: a hook can start a unit with systemctl --no-block."
            }
            Change::Lease => {
                "A client that keeps its lease asks for the old address first; a fixed address needs no lease."
            }
            Change::Carrier => {
                "ethtool -s DEVICE wol g (iw phy PHY wowlan enable) and a service that leaves the device alone keep it; it costs power asleep."
            }
            Change::Device => {
                "The text does not tell why it came late: record --inside shows what its driver waits for."
            }
        }
    }
}

/// A row on the way to a mark.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Part {
    /// What ends it.
    pub until: Mark,
    /// How long.
    pub took_ns: Ns,
    /// Who could mend it.
    pub owner: Owner,
    /// Line that ends it, from 1.
    pub line: u64,
}

/// What a change takes out of one sleep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Piece {
    /// Which.
    pub change: Change,
    /// Begins so long after the kernel's return.
    pub from_ns: Ns,
    /// Ends so long after it.
    pub until_ns: Ns,
    /// Something else may have run at the same time: it takes that or less.
    pub at_most: bool,
    /// The line that shows that the change applies, from 1.
    pub line: u64,
    /// What that says.
    pub text: String,
}

/// A sleep that tells of a limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sleep {
    /// The input, as the user named it.
    pub input: String,
    /// Line of its begin, from 1.
    pub line: u64,
    /// From the kernel's return to the mark.
    pub took_ns: Ns,
    /// Rows that add up to it.
    pub rows: Vec<Part>,
    /// What could be taken out of it.
    pub pieces: Vec<Piece>,
    /// Stamps are so coarse.
    pub grain_ns: Ns,
    /// What the firmware took before that: nobody here can mend it.
    pub firmware: Option<Firmware>,
}

/// What is left of a sleep, by what may still be waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Left {
    /// If every change takes all that it can.
    pub least: (Ns, i64),
    /// If those that are sure alone take anything.
    pub most: (Ns, i64),
}

impl Sleep {
    /// With these changes; beside each time in how many pieces it is, of which each may be
    /// wrong by the grain of the stamps.
    pub(super) fn left(&self, set: &[Change]) -> Left {
        let mine = |p: &&Piece| set.contains(&p.change);
        let all = self.pieces.iter().filter(mine);
        Left { least: self.without(all.clone()), most: self.without(all.filter(|p| !p.at_most)) }
    }

    fn without<'a>(&self, pieces: impl Iterator<Item = &'a Piece>) -> (Ns, i64) {
        let mut gone: Vec<(i64, i64)> = pieces.map(|p| (p.from_ns.0, p.until_ns.0)).collect();
        gone.sort_unstable();
        let (mut left, mut runs, mut at) = (0, 0, 0);
        for (from, until) in gone.into_iter().chain([(self.took_ns.0, self.took_ns.0)]) {
            if from > at {
                (left, runs) = (left + (from - at), runs + 1);
            }
            at = at.max(until);
        }
        (Ns(left), runs)
    }

    /// Whether a limit is kept with these changes.
    pub(super) fn verdict(&self, set: &[Change], within: Ns) -> Verdict {
        let Left { least, most } = self.left(set);
        let grain = if self.grain_ns >= SECOND { self.grain_ns.0 } else { 0 };
        // Ends of stretches are stamps too: even nothing that is left may be something.
        let of = |(t, runs): (Ns, i64)| verdict_of(t, grain.saturating_mul(runs.max(1)), within);
        match (of(least), of(most)) {
            (_, Verdict::Met) => Verdict::Met,
            (Verdict::Missed, _) => Verdict::Missed,
            _ => Verdict::Unknown,
        }
    }
}

/// One sleep, as far as a mark.
pub(super) fn sleep(input: &str, way: &WholeWay, steps: &[Step], mark: Mark) -> Option<Sleep> {
    let took = way.ready(mark)?;
    let begin = way.rows.iter().position(|r| r.until == Mark::Back).map_or(0, |at| at + 1);
    let end = way.rows.iter().position(|r| r.until == mark)?;
    let back = if begin == 0 { way.line } else { way.rows[begin - 1].line };
    let first = steps.partition_point(|s| s.line < back);
    let is_back = |s: &Step| s.line == back && Mark::of(s) == Some(Mark::Back);
    let first = first + steps[first..].iter().position(is_back)?;
    let last = way.rows[end].line;
    let near = |s: &&Step| s.run == steps[first].run && s.line <= last;
    let seen: Vec<&Step> = steps[first..].iter().take_while(near).collect();
    let mut at = Ns::ZERO;
    let mut marks: Vec<(Mark, Ns, u64)> = Vec::new();
    let mut rows = Vec::new();
    for r in &way.rows[begin..=end] {
        let from = at;
        at = Ns(at.0.saturating_add(r.took_ns.0));
        marks.push((r.until, at, r.line));
        let since = |s: &&&Step| (from..=at).contains(&ms(s.ms - steps[first].ms));
        let owner = owner(r.until, seen.iter().filter(since).copied());
        rows.push(Part { until: r.until, took_ns: r.took_ns, owner, line: r.line });
    }
    let pieces = Night { mark, took, marks: &marks, seen: &seen, grain: way.grain_ns }.pieces();
    let (line, grain_ns) = (way.line, way.grain_ns);
    let firmware = way.rows[..begin].last().and_then(|r| r.firmware.clone());
    let input = input.into();
    Some(Sleep { input, line, took_ns: took, rows, pieces, grain_ns, firmware })
}

/// Whose a row is: a link that a service itself took down is not the kernel's.
fn owner<'a>(until: Mark, mut steps: impl Iterator<Item = &'a Step>) -> Owner {
    let down = |s: &Step| matches!(s.kind, Kind::NoLink | Kind::NoAddress);
    match until {
        Mark::Link if !steps.any(down) => Owner::Kernel,
        _ => Owner::UserSpace,
    }
}

/// What is known of one way back.
struct Night<'a> {
    mark: Mark,
    took: Ns,
    marks: &'a [(Mark, Ns, u64)],
    seen: &'a [&'a Step],
    grain: Ns,
}

impl Night<'_> {
    fn place(&self, mark: Mark) -> Option<(Ns, u64)> {
        self.marks.iter().find(|m| m.0 == mark).map(|m| (m.1, m.2))
    }

    fn at(&self, s: &Step) -> Ns {
        ms(s.ms - self.seen[0].ms)
    }

    /// The line of a mark, as it stands.
    fn line(&self, line: u64, mark: Mark) -> Option<&Step> {
        self.seen.iter().copied().find(|s| s.line == line && Mark::of(s) == Some(mark))
    }

    /// The word to the network's service that the machine is awake (NetworkManager,
    /// src/core/nm-manager.c:do_sleep_wake, which logind calls as the unit is over).
    fn told(&self) -> Option<&Step> {
        let end = self.place(Mark::Link).or(self.place(Mark::Address))?.0;
        let is = |s: &&&Step| s.kind == Kind::Back && s.text.contains("wake requested");
        self.seen.iter().find(is).copied().filter(|s| self.at(s) <= end)
    }

    fn pieces(&self) -> Vec<Piece> {
        let all = [self.hooks(), self.lease(), self.carrier(), self.device()];
        // What is shorter than stamps tell is nothing.
        let counts =
            |p: &Piece| p.until_ns.0 - p.from_ns.0 >= self.grain.0 && p.until_ns > p.from_ns;
        all.into_iter().flatten().filter(counts).collect()
    }

    fn piece(&self, change: Change, from: Ns, until: Ns, at_most: bool, by: &Step) -> Piece {
        let until = until.min(self.took);
        let (line, text) = (by.line, by.text.clone());
        Piece { change, from_ns: from.min(until), until_ns: until, at_most, line, text }
    }

    fn is_of_network(&self) -> bool {
        matches!(self.mark, Mark::Link | Mark::Address)
    }

    fn hooks(&self) -> Option<Piece> {
        if self.mark == Mark::Session {
            // A session runs again behind the hooks (systemd, src/sleep/sleep.c:run, 256).
            let hook = self.seen.iter().find(|s| s.text.contains("system-sleep/"))?;
            return Some(self.piece(Change::Hooks, Ns::ZERO, self.took, true, hook));
        }
        let (end, line) = self.place(Mark::Unit)?;
        let unit = self.line(line, Mark::Unit)?;
        let told = self.told().map(|s| self.at(s)).filter(|_| self.is_of_network());
        let (until, at_most) = match told {
            // The network went on before the unit was over.
            Some(told) if told < end => (told, true),
            Some(_) => (end, false),
            None => (end, self.mark != Mark::Unit),
        };
        Some(self.piece(Change::Hooks, Ns::ZERO, until, at_most, unit))
    }

    fn carrier(&self) -> Option<Piece> {
        let (end, line) = self.place(Mark::Link)?;
        let link = self.line(line, Mark::Link)?;
        if self.mark == Mark::Link {
            return Some(self.piece(Change::Carrier, Ns::ZERO, end, false, link));
        }
        let told = self.told().map(|s| self.at(s));
        let at_most = told.is_none() || !self.is_of_network();
        Some(self.piece(Change::Carrier, told.unwrap_or(Ns::ZERO), end, at_most, link))
    }

    fn lease(&self) -> Option<Piece> {
        let (end, line) = self.place(Mark::Address)?;
        let address = self.line(line, Mark::Address)?;
        let link = self.place(Mark::Link).map(|l| l.0);
        let of_dhcp = |s: &Step| {
            let text = s.text.to_ascii_lowercase();
            ["dhcp", " lease", "bound to ", "-> bound"].iter().any(|w| text.contains(w))
        };
        let behind = |s: &Step| s.line < line && self.at(s) >= link.unwrap_or(Ns::ZERO);
        let began = self.seen[1..].iter().copied().find(|s| of_dhcp(s) && behind(s));
        if began.is_none() && !of_dhcp(address) {
            return None;
        }
        // Without a line of its begin it may have begun later than the row.
        let before = self.marks.iter().rev().find(|m| m.1 <= end && m.0 != Mark::Address);
        let row = link.or(before.map(|m| m.1)).unwrap_or(Ns::ZERO);
        let from = began.map_or(row, |s| self.at(s));
        let at_most = began.is_none() || self.mark != Mark::Address;
        Some(self.piece(Change::Lease, from, end, at_most, began.unwrap_or(address)))
    }

    /// The kernel's first line of the interface whose link came later.
    fn device(&self) -> Option<Piece> {
        let (end, line) = self.place(Mark::Link)?;
        let name = interface(&self.line(line, Mark::Link)?.text)?;
        let is =
            |s: &&Step| s.kind == Kind::Kernel && s.line < line && interface(&s.text) == Some(name);
        let first = self.seen[1..].iter().copied().find(is)?;
        let at = self.at(first);
        (at <= end).then(|| self.piece(Change::Device, Ns::ZERO, at, true, first))
    }
}
