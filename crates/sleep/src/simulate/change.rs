//! Changes to a board: what `predict` asks "what if" about.

use super::note::Note;
pub use super::ratio::Ratio;
pub use super::way::Way;
use dormouse_base::device::{DeviceId, LinkKind};
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;
use dormouse_board::domain::{Domain, Governor};
use dormouse_board::rest::rest;
use dormouse_board::{Board, BoardDevice, parse_duration, print_duration};

/// What is asked to change, as a person writes it. Command line and page fill
/// it in, so that the same words mean the same machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wishes<'a> {
    /// Patterns of devices to remove.
    pub without: &'a [String],
    /// `/sys/power/pm_async`.
    pub pm_async: Option<bool>,
    /// Patterns of devices to make asynchronous.
    pub asynchronous: &'a [String],
    /// Patterns of devices to make synchronous.
    pub sync: &'a [String],
    /// `PATTERN=FACTOR`, or `PATTERN@FUNCTION=FACTOR` for what callbacks wait for.
    pub scale: &'a [String],
    /// `PATTERN=FROM:TO`.
    pub moves: &'a [String],
    /// `DOMAIN=WORDS`: words of the line of a power domain.
    pub domains: &'a [String],
    /// `PATTERN=TIME` or `PATTERN=none`: how long devices may take to wake.
    pub qos: &'a [String],
    /// Patterns of devices that stay suspended as they are.
    pub leave_suspended: &'a [String],
    /// Number of CPUs.
    pub cpus: Option<u32>,
}

impl Wishes<'_> {
    /// The changes in the order in which they are applied.
    ///
    /// # Errors
    /// A sentence about the factor that is none.
    pub fn list(&self) -> Result<Vec<Change>, String> {
        let mut list = Vec::new();
        list.extend(self.without.iter().cloned().map(Change::Without));
        list.extend(self.pm_async.map(Change::PmAsync));
        list.extend(self.asynchronous.iter().cloned().map(Change::Async));
        list.extend(self.sync.iter().cloned().map(Change::Sync));
        for s in self.scale {
            let (pattern, factor) = s
                .rsplit_once('=')
                .ok_or_else(|| format!("{s}: write PATTERN=FACTOR, such as 'usb*=0.5'"))?;
            let ratio = Ratio::parse(factor).map_err(|e| format!("{s}: {e}"))?;
            list.push(Change::Scale(pattern.into(), ratio));
        }
        for m in self.moves {
            let (pattern, way) = m
                .rsplit_once('=')
                .ok_or_else(|| format!("{m}: write PATTERN=FROM:TO, such as 'usb*=noirq:late'"))?;
            let way = Way::parse(way).map_err(|e| format!("{m}: {e}"))?;
            list.push(Change::Move(pattern.into(), way));
        }
        for d in self.domains {
            let (pattern, words) = d
                .split_once('=')
                .ok_or_else(|| format!("{d}: write DOMAIN=WORDS, such as 'gpu=always_on'"))?;
            list.push(Change::Domain(pattern.into(), words.into()));
        }
        for q in self.qos {
            let bad = || format!("{q}: write PATTERN=TIME, such as 'gpu*=20ms', or PATTERN=none");
            let (pattern, time) = q.rsplit_once('=').ok_or_else(bad)?;
            let time = match time {
                "none" => None,
                time => Some(parse_duration(time).map_err(|e| format!("{q}: {e}"))?),
            };
            list.push(Change::Qos(pattern.into(), time));
        }
        list.extend(self.leave_suspended.iter().cloned().map(Change::LeaveSuspended));
        list.extend(self.cpus.map(Change::Cpus));
        Ok(list)
    }
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// `/sys/power/pm_async`.
    PmAsync(bool),
    /// Devices become asynchronous.
    Async(String),
    /// Devices become synchronous.
    Sync(String),
    /// Devices are removed, with what depends on them.
    Without(String),
    /// Callback times are multiplied.
    Scale(String, Ratio),
    /// Callbacks run in another phase.
    Move(String, Way),
    /// Power domains are as these words of their line say.
    Domain(String, String),
    /// Devices may take so long to wake, or any time.
    Qos(String, Option<Ns>),
    /// Devices are suspended at run time when the sleep begins, and are left so.
    LeaveSuspended(String),
    /// Number of CPUs.
    Cpus(u32),
}

impl Change {
    /// In the words of the command line.
    pub fn text(&self) -> String {
        match self {
            Change::PmAsync(on) => format!("--pm-async {}", i32::from(*on)),
            Change::Async(p) => format!("--async {p}"),
            Change::Sync(p) => format!("--sync {p}"),
            Change::Without(p) => format!("--without {p}"),
            Change::Scale(p, r) => format!("--scale {p}={}", r.text()),
            Change::Move(p, w) => format!("--move {p}={}", w.text()),
            Change::Domain(p, w) => format!("--domain {p}={w}"),
            Change::Qos(p, None) => format!("--resume-latency {p}=none"),
            Change::Qos(p, Some(t)) => {
                let mut text = format!("--resume-latency {p}=");
                print_duration(*t, &mut text);
                text
            }
            Change::LeaveSuspended(p) => format!("--leave-suspended {p}"),
            Change::Cpus(n) => format!("--cpus {n}"),
        }
    }
}

/// A changed board.
#[derive(Clone, Debug, Default)]
pub struct Changed {
    /// The board.
    pub board: Board,
    /// For every device of the new board its number in the old one.
    pub origin: Vec<DeviceId>,
    /// What was done.
    pub notes: Vec<Note>,
}

/// Applies `changes` in order.
///
/// # Errors
/// A sentence, if a pattern matches no device.
pub fn apply(board: &Board, changes: &[Change]) -> Result<Changed, String> {
    let mut c =
        Changed { board: board.clone(), origin: board.graph.ids().collect(), notes: Vec::new() };
    for change in changes {
        match change {
            Change::PmAsync(on) => {
                c.board.pm_async = *on;
                c.notes.push(Note::PmAsync(*on));
            }
            Change::Cpus(n) => {
                c.board.cpus = (*n).max(1);
                c.notes.push(Note::Cpus(c.board.cpus));
            }
            Change::Async(p) => set_async(&mut c, p, true)?,
            Change::Sync(p) => set_async(&mut c, p, false)?,
            Change::Scale(p, r) => scale(&mut c, p, *r)?,
            Change::Move(p, w) => move_to(&mut c, p, *w)?,
            Change::Qos(p, t) => set_qos(&mut c, p, *t)?,
            Change::LeaveSuspended(p) => leave_suspended(&mut c, p)?,
            Change::Without(p) => without(&mut c, p)?,
            Change::Domain(p, w) => set_domain(&mut c, p, w)?,
        }
    }
    Ok(c)
}

/// Devices whose name, or `DRIVER/NAME`, matches `pattern`; with `domain:` in front
/// those in the power domains that match.
fn matching(board: &Board, pattern: &str) -> Result<Vec<usize>, String> {
    if let Some(domains) = pattern.strip_prefix("domain:") {
        let domains = matching_domains(board, domains)?;
        let inside = |d: &BoardDevice| d.domain.is_some_and(|n| domains.contains(&(n as usize)));
        let found: Vec<usize> =
            (0..board.devices.len()).filter(|&i| inside(&board.devices[i])).collect();
        if found.is_empty() {
            return Err(format!("no device is in a power domain of `{pattern}`"));
        }
        return Ok(found);
    }
    let with_driver = pattern.contains('/');
    let mut found = Vec::new();
    for (i, d) in board.graph.devices.iter().enumerate() {
        let name = board.names.get(d.name);
        if glob(pattern, name)
            || with_driver && glob(pattern, &format!("{}/{name}", board.names.get(d.driver)))
        {
            found.push(i);
        }
    }
    if found.is_empty() {
        return Err(format!(
            "no device matches `{pattern}`; patterns match the name, or DRIVER/NAME, with * and ?"
        ));
    }
    Ok(found)
}

/// Power domains whose name matches `pattern`.
fn matching_domains(board: &Board, pattern: &str) -> Result<Vec<usize>, String> {
    let named = |(_, d): &(usize, &Domain)| glob(pattern, board.names.get(d.name));
    let found: Vec<usize> =
        board.domains.iter().enumerate().filter(named).map(|(n, _)| n).collect();
    if found.is_empty() {
        return Err(format!("no power domain matches `{pattern}`"));
    }
    Ok(found)
}

fn set_domain(c: &mut Changed, pattern: &str, words: &str) -> Result<(), String> {
    let found = matching_domains(&c.board, pattern)?;
    for &n in &found {
        c.board.domains[n].set(words)?;
    }
    let name = |&n: &usize| c.board.names.get(c.board.domains[n].name).to_string();
    c.notes.push(Note::Domains { domains: found.iter().map(name).collect(), words: words.into() });
    Ok(())
}

/// `*` is any text, `?` any one character. Linear in pattern times text.
pub fn glob(pattern: &str, text: &str) -> bool {
    let p: Vec<char> = pattern.chars().collect();
    let t: Vec<char> = text.chars().collect();
    let (mut i, mut j) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while j < t.len() {
        if i < p.len() && (p[i] == '?' || p[i] == t[j]) && p[i] != '*' {
            i += 1;
            j += 1;
        } else if i < p.len() && p[i] == '*' {
            star = Some((i, j));
            i += 1;
        } else if let Some((si, sj)) = star {
            i = si + 1;
            j = sj + 1;
            star = Some((si, sj + 1));
        } else {
            return false;
        }
    }
    p[i..].iter().all(|&c| c == '*')
}

fn set_async(c: &mut Changed, pattern: &str, on: bool) -> Result<(), String> {
    let found = matching(&c.board, pattern)?;
    let mut changed = Vec::new();
    for &i in &found {
        let d = &mut c.board.graph.devices[i];
        if d.async_flag.unwrap_or(false) != on {
            changed.push(i);
        }
        d.async_flag = Some(on);
    }
    let changed = names(&c.board, &changed);
    c.notes.push(Note::Flags { changed, on, pattern: pattern.into() });
    if on && !c.board.pm_async {
        c.notes.push(Note::NothingRunsAsync);
    }
    Ok(())
}

fn scale(c: &mut Changed, pattern: &str, ratio: Ratio) -> Result<(), String> {
    if let Some((devices, function)) = pattern.rsplit_once('@')
        && matching(&c.board, pattern).is_err()
    {
        return scale_inside(c, devices, function, ratio);
    }
    let found = matching(&c.board, pattern)?;
    for &i in &found {
        for w in c.board.devices[i].work.iter_mut().flatten() {
            w.sleep.0 = ratio.of(w.sleep.0);
            w.compute.0 = ratio.of(w.compute.0);
        }
    }
    c.notes.push(Note::Scaled { devices: names(&c.board, &found), by: ratio });
    Ok(())
}

/// Only what callbacks wait for in functions that match, or whose caller does.
fn scale_inside(
    c: &mut Changed,
    pattern: &str,
    function: &str,
    ratio: Ratio,
) -> Result<(), String> {
    let found = matching(&c.board, pattern)?;
    let board = &mut c.board;
    let (mut was, mut is, mut scaled) = (Ns::ZERO, Ns::ZERO, Vec::new());
    for w in &mut board.inside {
        let names = [w.function, w.caller].map(|s| board.names.get(s));
        let device = w.device.index();
        if found.binary_search(&device).is_err() || !names.iter().any(|n| glob(function, n)) {
            continue;
        }
        let Some(work) = board.devices.get_mut(device).and_then(|d| d.work[w.index].as_mut())
        else {
            continue;
        };
        let now = Ns(ratio.of(w.time.0));
        // The middle of a wait may be longer than that of its callback.
        work.sleep = (work.sleep - w.time + now).max(Ns::ZERO);
        (was, is) = (was + w.time, is + now);
        w.time = now;
        if scaled.last() != Some(&device) {
            scaled.push(device);
        }
    }
    if scaled.is_empty() {
        return Err(format!(
            "nothing is known to wait in `{function}` inside callbacks of `{pattern}`; record it with \
             dormouse record --inside, and write a function or its caller as show names it"
        ));
    }
    let devices = names(&c.board, &scaled);
    c.notes.push(Note::ScaledInside { devices, function: function.into(), by: ratio, was, is });
    Ok(())
}

/// Callbacks take their time along. Where the device has one there already, the two
/// run one after the other, as two halves of one function would.
fn move_to(c: &mut Changed, pattern: &str, way: Way) -> Result<(), String> {
    let mut moved = matching(&c.board, pattern)?;
    let ways = [Some(way), way.mirrored()].map(|w| {
        let place = |p: Phase| p.device_index();
        w.and_then(|w| Some((place(w.from)?, place(w.to)?)))
    });
    moved.retain(|&i| {
        let work = &mut c.board.devices[i].work;
        let mut any = false;
        for (from, to) in ways.into_iter().flatten() {
            let Some(w) = work[from].take() else { continue };
            let there = work[to].get_or_insert_default();
            there.sleep += w.sleep;
            there.compute += w.compute;
            any = true;
        }
        any
    });
    if moved.is_empty() {
        return Err(format!("no device that matches `{pattern}` has a callback in {}", way.from));
    }
    c.notes.push(Note::Moved { devices: names(&c.board, &moved), way });
    Ok(())
}

/// What governors then decide is in the note, as it is seldom what one expects.
fn set_qos(c: &mut Changed, pattern: &str, tolerance: Option<Ns>) -> Result<(), String> {
    let found = matching(&c.board, pattern)?;
    let before = rest(&c.board);
    for &i in &found {
        c.board.devices[i].qos = tolerance;
    }
    let after = rest(&c.board);
    let held: Vec<usize> =
        (0..after.held.len()).filter(|&i| after.held[i] && !before.held[i]).collect();
    let domains = (0..after.domains.len())
        .filter(|&n| before.domains[n] != after.domains[n])
        .map(|n| {
            let name = c.board.names.get(c.board.domains[n].name).to_string();
            (name, before.domains[n], after.domains[n])
        })
        .collect();
    c.notes.push(Note::Qos {
        devices: names(&c.board, &found),
        tolerance,
        held: names(&c.board, &held),
        domains,
        governed: found.iter().any(|&i| governed(&c.board, c.board.devices[i].domain)),
    });
    Ok(())
}

/// Whether domain `n` has a governor.
fn governed(board: &Board, n: Option<u32>) -> bool {
    n.and_then(|n| board.domains.get(n as usize)).is_some_and(|d| d.governor != Governor::None)
}

/// As if `->prepare` asked for direct-complete. Whether a device is really left alone
/// is up to its subordinates, as in the kernel.
fn leave_suspended(c: &mut Changed, pattern: &str) -> Result<(), String> {
    let found = matching(&c.board, pattern)?;
    for &i in &found {
        let d = &mut c.board.devices[i];
        d.work[0].get_or_insert_default().ret = 1;
        d.runtime_suspended = true;
        d.no_direct_complete = false;
    }
    c.notes.push(Note::LeftSuspended { devices: names(&c.board, &found) });
    Ok(())
}

fn without(c: &mut Changed, pattern: &str) -> Result<(), String> {
    let found = matching(&c.board, pattern)?;
    let gone = dependents(&c.board, &found);
    let also: Vec<usize> =
        (0..gone.len()).filter(|i| gone[*i] && found.binary_search(i).is_err()).collect();
    let (devices, also) = (names(&c.board, &found), names(&c.board, &also));
    c.notes.push(Note::Removed { devices, also });
    remove(&mut c.board, &gone);
    let mut gone = gone.into_iter();
    c.origin.retain(|_| gone.next() != Some(true));
    Ok(())
}

/// Whether a device needs the supplier of a link of this kind to be there.
pub(crate) fn is_needed(kind: LinkKind) -> bool {
    matches!(kind, LinkKind::Stateless | LinkKind::Active)
}

/// Marks `devices` (positions in the list) and all that cannot be without them:
/// children and consumers of live links, and theirs. Linear in devices and
/// links.
pub fn dependents(board: &Board, devices: &[usize]) -> Vec<bool> {
    let n = board.graph.devices.len();
    let mut below: Vec<Vec<u32>> = vec![Vec::new(); n];
    for (i, d) in board.graph.devices.iter().enumerate() {
        if let Some(p) = d.parent.filter(|p| p.index() < n) {
            below[p.index()].push(i as u32);
        }
    }
    for l in &board.graph.links {
        if is_needed(l.kind) && l.supplier.index() < n && l.consumer.index() < n {
            below[l.supplier.index()].push(l.consumer.0);
        }
    }
    let mut marked = vec![false; n];
    let mut stack = devices.to_vec();
    while let Some(i) = stack.pop() {
        if !std::mem::replace(&mut marked[i], true) {
            stack.extend(below[i].iter().map(|&x| x as usize));
        }
    }
    marked
}

/// Takes the marked devices out of `board` and says where each old device is
/// now. Their links go; a device whose parent went has none.
pub fn remove(board: &mut Board, gone: &[bool]) -> Vec<Option<DeviceId>> {
    let mut next = 0;
    let place: Vec<Option<DeviceId>> = gone
        .iter()
        .map(|g| {
            (!g).then(|| {
                next += 1;
                DeviceId(next - 1)
            })
        })
        .collect();
    let moved = |d: DeviceId| place.get(d.index()).copied().flatten();
    // A domain whose last user goes is off at run time, however it was found.
    let users = |n: usize, all: bool| {
        let mut devices = board.devices.iter().zip(gone);
        devices.any(|(d, gone)| d.domain == Some(n as u32) && (all || !gone))
    };
    let emptied: Vec<usize> =
        (0..board.domains.len()).filter(|&n| users(n, true) && !users(n, false)).collect();
    for n in emptied {
        board.domains[n].start = None;
    }
    let mut at = gone.iter();
    board.devices.retain(|_| at.next() != Some(&true));
    let mut at = gone.iter();
    board.graph.devices.retain_mut(|d| {
        d.parent = d.parent.and_then(moved);
        at.next() != Some(&true)
    });
    board.inside.retain_mut(|w| match moved(w.device) {
        Some(device) => {
            w.device = device;
            true
        }
        None => false,
    });
    board.graph.links.retain_mut(|l| match (moved(l.consumer), moved(l.supplier)) {
        (Some(consumer), Some(supplier)) => {
            (l.consumer, l.supplier) = (consumer, supplier);
            true
        }
        _ => false,
    });
    place
}

fn names(board: &Board, devices: &[usize]) -> Vec<String> {
    devices.iter().map(|&i| board.names.get(board.graph.devices[i].name).into()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_board::inside::Waited;
    use dormouse_board::parse;

    #[test]
    fn globs_match_whole_names() {
        assert!(glob("0000:00:*", "0000:00:1f.2"));
        assert!(glob("*", ""));
        assert!(glob("a*b?d", "axxbcd"));
        assert!(!glob("a*b", "abc"));
        assert!(!glob("", "a"));
        assert!(!glob(&"*a".repeat(40), &"a".repeat(39)));
    }

    #[test]
    fn ratios_are_exact() {
        assert_eq!(Ratio::parse("0.1").map(|r| r.of(1_000_000_007)), Ok(100_000_000));
        assert_eq!(Ratio::parse("1/3").map(|r| r.of(10)), Ok(3));
        assert_eq!(Ratio::parse("50%").map(|r| r.of(9)), Ok(4));
        assert_eq!(Ratio::parse("0").map(|r| r.of(9)), Ok(0));
        let words = ["0.5", "2", "0", "50%", "0.75"].map(|t| Ratio::parse(t).map(Ratio::text));
        assert_eq!(words, ["1/2", "2", "0", "1/2", "3/4"].map(|t| Ok(t.into())));
        for bad in ["", "x", "1/0", "-1", "1e3", "99999999999999999999", "0.0000000001"] {
            assert!(Ratio::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn callbacks_move_with_their_times_down_and_up() {
        let board = parse(
            "board 1\ndevice r\ndevice a parent=r late=1ms noirq=2ms resume_noirq=3ms\n\
             device b parent=r suspend=1ms\n",
        )
        .expect("a board");
        let change = |m: &str| {
            let moves = [m.to_string()];
            apply(&board, &Wishes { moves: &moves, ..Wishes::default() }.list()?)
        };
        let times = |m: &str| -> Vec<i64> {
            let work = change(m).expect("a move").board.devices[1].work;
            work.map(|w| w.map_or(-1, |w| w.sleep.0 / 1_000_000)).into()
        };
        //                          prepare, suspend, late, noirq, noirq, early, resume, complete
        assert_eq!(times("a=noirq:late"), [-1, -1, 3, -1, -1, 3, -1, -1]);
        assert_eq!(times("*=noirq:suspend"), [-1, 2, 1, -1, -1, -1, 3, -1]);
        assert_eq!(times("a=noirq:resume"), [-1, -1, 1, 2, -1, -1, 3, -1]);
        let none = change("b=noirq:late").expect_err("b has no noirq callback");
        assert!(none.contains("no device that matches `b` has a callback in noirq"), "{none}");
        for bad in ["a=noirq", "a=late:late", "a=late:early", "a=prepare:suspend", "noirq:late"] {
            assert!(change(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_device_that_stays_suspended_costs_nothing_and_is_not_resumed_first() {
        use crate::simulate::topology::Topology;
        let board = parse(
            "board 1\ndevice bus runtime_suspended rpm_resume=3ms\n\
             device a parent=bus runtime_suspended rpm_first rpm_resume=20ms suspend=5ms\n\
             device b parent=bus runtime_suspended rpm_first rpm_resume=20ms suspend=5ms\n\
             device c parent=bus rpm_first rpm_resume=20ms suspend=5ms usage=1\n",
        )
        .expect("a board");
        let ms = |b: &Board| -> Vec<i64> {
            let t = Topology::new(b).expect("a machine");
            t.work[1].iter().map(|w| w.sleep.0 / 1_000_000).collect()
        };
        // The first child to suspend, the last of the list, resumes the bus with it.
        assert_eq!(ms(&board), [0, 25, 28, 5]);
        let c = apply(&board, &[Change::LeaveSuspended("b".into())]).expect("matches");
        let b = c.board.devices[2];
        assert!(b.work[0].is_some_and(|w| w.ret == 1) && !b.no_direct_complete);
    }

    #[test]
    fn a_tolerance_says_what_governors_make_of_it() {
        let board = parse(
            "board 1\ndomain top on=4ms off=2ms governor=simple_qos\n\
             domain gpu parent=top state=1ms/2ms state=5ms/8ms governor=simple_qos\n\
             device soc runtime_suspended\n\
             device dev2 parent=soc domain=gpu runtime_suspended\n\
             device pad runtime_suspended\n",
        )
        .expect("a board");
        let change = |q: &str| {
            let qos = [q.to_string()];
            let list = Wishes { qos: &qos, ..Wishes::default() }.list()?;
            assert_eq!(list[0].text(), format!("--resume-latency {q}"));
            apply(&board, &list)
        };
        let note = |q: &str| {
            let c = change(q).expect("a tolerance");
            match c.notes.into_iter().next() {
                Some(Note::Qos { held, domains, governed, .. }) => {
                    let now = |(d, _, is): (String, _, dormouse_board::rest::Start)| {
                        format!("{d} {}", if is.on { "on".into() } else { is.state.to_string() })
                    };
                    (held, domains.into_iter().map(now).collect::<Vec<_>>(), governed)
                }
                other => panic!("{other:?}"),
            }
        };
        let words = |list: &[&str]| list.iter().map(|w| w.to_string()).collect::<Vec<_>>();
        assert_eq!(note("dev2=8ms"), (vec![], words(&["top on", "gpu 0"]), true));
        let forbidden = (words(&["soc", "dev2"]), words(&["top on", "gpu on"]), true);
        assert_eq!(note("dev2=0"), forbidden);
        assert_eq!(note("dev2=none"), (vec![], vec![], true));
        assert_eq!(note("pad=1ms"), (vec![], vec![], false));
        for bad in ["dev2", "dev2=", "dev2=soon", "nobody=1ms"] {
            assert!(change(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_a_callback_waits_for_is_scaled_alone() {
        let mut board = parse("board 1\ndevice r\ndevice hub parent=r suspend=9ms resume=560ms\n")
            .expect("a board");
        let [msleep, debounce, bus] =
            ["msleep", "hub_port_debounce", "i2c_transfer"].map(|n| board.names.add(n));
        let hub = DeviceId(1);
        let entry = |index, function, ms| Waited {
            device: hub,
            index,
            function,
            caller: debounce,
            time: Ns::from_ms(ms),
        };
        let resume = Phase::Resume.device_index().expect("a phase of devices");
        board.inside = vec![entry(1, bus, 4), entry(resume, msleep, 500)];
        let sleeps = |text: &str| {
            let ratio = Ratio { part: 1, whole: 2 };
            let c = apply(&board, &[Change::Scale(text.into(), ratio)])?;
            let ms = |i: usize| c.board.devices[1].work[i].expect("work").sleep.0 / 1_000_000;
            Ok::<_, String>((ms(1), ms(resume)))
        };
        assert_eq!(sleeps("h*@msleep"), Ok((9, 310)));
        assert_eq!(sleeps("hub@hub_port_*"), Ok((7, 310)));
        assert_eq!(sleeps("hub"), Ok((4, 280)));
        let nothing = sleeps("hub@udelay").expect_err("nothing waits there");
        assert!(nothing.contains("--inside"), "{nothing}");
        // What was removed waits no longer.
        let both = [
            Change::Without("hub".into()),
            Change::Scale("r@msleep".into(), Ratio { part: 1, whole: 2 }),
        ];
        assert!(apply(&board, &both).is_err());
    }

    #[test]
    fn without_takes_children_and_consumers_along() {
        let board = parse(
            "board 1\ndevice r\ndevice p parent=r suspend=1ms\ndevice c parent=p\n\
             device k parent=r suspend=2ms\ndevice z parent=r suspend=3ms\nlink k p active\n",
        )
        .expect("a board");
        let c = apply(&board, &[Change::Without("p".into())]).expect("matches");
        let left: Vec<&str> =
            c.board.graph.devices.iter().map(|d| c.board.names.get(d.name)).collect();
        assert_eq!(left, ["r", "z"]);
        let removed = |n: &Note| matches!(n, Note::Removed { also, .. } if also[..] == ["c", "k"]);
        assert!(c.notes.iter().any(removed), "{:?}", c.notes);
        assert_eq!(c.origin, [DeviceId(0), DeviceId(4)]);
        assert!(apply(&board, &[Change::Sync("q*".into())]).is_err());
    }
}
