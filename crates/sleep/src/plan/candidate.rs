//! Changes that a plan may offer, and what they do to a board.

use super::essential::{Stays, Wishes, essential};
use super::spent::{WORTH_LOOKING, spent};
use crate::simulate::change::{dependents, remove};
use crate::tune::evidence::evidence;
use dormouse_base::device::DeviceId;
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::time::Ns;
use dormouse_board::Board;

/// Kind of change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// The device is not there (driver or node disabled), nor what needs it.
    Remove,
    /// Nobody uses the power domain of the device any more: every device in it is removed,
    /// with what needs them, so no sleep switches it.
    Domain,
    /// `power/async` is set.
    Async,
    /// Its way up happens after the resume (a work item, first use).
    Defer,
    /// Its callbacks take half as long: work on the driver.
    SpeedUp,
}

impl Kind {
    /// Every kind, in the order of the command line.
    pub const ALL: [Kind; 5] =
        [Kind::Remove, Kind::Domain, Kind::Async, Kind::Defer, Kind::SpeedUp];

    /// Those that `board` can have: without power domains none of theirs.
    pub fn of(board: &Board) -> impl Iterator<Item = Kind> {
        let domains = !board.domains.is_empty();
        Kind::ALL.into_iter().filter(move |k| domains || *k != Kind::Domain)
    }

    /// The word of `--change`.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Remove => "remove",
            Kind::Domain => "domain",
            Kind::Async => "async",
            Kind::Defer => "defer",
            Kind::SpeedUp => "speedup",
        }
    }
}

/// One change of one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Candidate {
    /// Whose.
    pub device: DeviceId,
    /// What.
    pub kind: Kind,
}

impl Candidate {
    /// The removal of `device`.
    pub fn removal(device: DeviceId) -> Candidate {
        Candidate { device, kind: Kind::Remove }
    }

    /// What it removes itself, as places on the `board`; not what goes along.
    pub fn removes(self, board: &Board) -> Vec<usize> {
        match self.kind {
            Kind::Remove => std::vec![self.device.index()],
            Kind::Domain => match board.devices[self.device.index()].domain {
                None => Vec::new(),
                of => (0..board.devices.len()).filter(|&i| board.devices[i].domain == of).collect(),
            },
            Kind::Async | Kind::Defer | Kind::SpeedUp => Vec::new(),
        }
    }
}

/// What a sleep takes to switch power domain `n` in `directions`.
fn switching(board: &Board, n: usize, directions: &[Direction]) -> Ns {
    let Some(domain) = board.domains.get(n).filter(|d| !d.always_on) else { return Ns::ZERO };
    let deep = domain.deepest();
    let time = |way: &Direction| if *way == Direction::Resume { deep.on } else { deep.off };
    directions.iter().map(time).sum()
}

/// The devices in each power domain, as places on the board.
fn users(board: &Board) -> Vec<Vec<usize>> {
    let mut out = std::vec![Vec::new(); board.domains.len()];
    for (i, d) in board.devices.iter().enumerate() {
        if let Some(users) = d.domain.and_then(|n| out.get_mut(n as usize)) {
            users.push(i);
        }
    }
    out
}

/// Every device that goes with `change`: what it removes, the children of that and the
/// consumers of live links, in list order.
pub fn goes_with(board: &Board, change: Candidate) -> Vec<DeviceId> {
    let gone = dependents(board, &change.removes(board));
    board.graph.ids().filter(|d| gone[d.index()]).collect()
}

/// Power domains that nobody may need, of whose devices `users` tells: the first of them,
/// and what a sleep takes for them in `directions`. One with a single device is that
/// device's own.
fn domains(
    board: &Board,
    users: &[Vec<usize>],
    stay: &[Option<Stays>],
    directions: &[Direction],
) -> Vec<(Ns, Candidate)> {
    let mut out = Vec::new();
    for n in (0..board.domains.len()).filter(|&n| !board.domains[n].always_on) {
        let users = &users[n];
        let guest = |&i: &usize| board.graph.devices[i].facts.guest;
        if users.len() < 2 || users.iter().any(|&i| stay[i].is_some()) || users.iter().any(guest) {
            continue;
        }
        let own = |i: &usize| spent(board, DeviceId(*i as u32), directions);
        let time = users.iter().map(own).sum::<Ns>() + switching(board, n, directions);
        if time >= WORTH_LOOKING {
            let device = DeviceId(users[0] as u32);
            out.push((time, Candidate { device, kind: Kind::Domain }));
        }
    }
    out
}

/// The changes worth looking at, at most `most`, of the kinds allowed: those of
/// the devices with the longest callbacks in the `directions` that have a
/// budget. What must `stay` is not removed nor deferred. Async is offered only
/// where the careful mode of `tune` would.
pub fn candidates(
    board: &Board,
    allow: &[Kind],
    stay: &[Option<Stays>],
    directions: &[Direction],
    most: usize,
) -> Vec<Candidate> {
    let support = evidence(board);
    let mut list: Vec<(Ns, Candidate)> = Vec::new();
    let users = users(board);
    if allow.contains(&Kind::Domain) {
        list = domains(board, &users, stay, directions);
    }
    for device in board.graph.ids() {
        let i = device.index();
        let time = spent(board, device, directions);
        // Without it nobody uses its domain.
        let alone = |&n: &usize| users.get(n).is_some_and(|all| all.len() == 1);
        let domain = board.devices[i].domain.map(|n| n as usize).filter(alone);
        let domain = domain.map_or(Ns::ZERO, |n| switching(board, n, directions));
        // What belongs to the guest of a recording is not the machine's.
        if time + domain < WORTH_LOOKING || board.graph.get(device).facts.guest {
            continue;
        }
        let on_resume = directions.contains(&Direction::Resume);
        let up = if on_resume { spent(board, device, &[Direction::Resume]) } else { Ns::ZERO };
        for &kind in allow {
            let worth = match kind {
                Kind::Remove if stay[i].is_none() => time + domain,
                _ if time < WORTH_LOOKING => continue,
                Kind::Async
                    if board.graph.get(device).async_flag != Some(true)
                        && support[i].is_some_and(|e| e.is_careful()) =>
                {
                    time
                }
                Kind::Defer if stay[i].is_none() && up > WORTH_LOOKING => up,
                Kind::SpeedUp => Ns(time.0 / 2),
                _ => continue,
            };
            list.push((worth, Candidate { device, kind }));
        }
    }
    list.sort_by_key(|&(worth, c)| (-worth.0, c));
    list.truncate(most);
    list.into_iter().map(|(_, c)| c).collect()
}

/// The board with `changes` made, and where each old device is in it.
pub fn apply(board: &Board, changes: &[Candidate]) -> (Board, Vec<Option<DeviceId>>) {
    let mut out = board.clone();
    let removed: Vec<usize> = changes.iter().flat_map(|c| c.removes(board)).collect();
    for c in changes {
        let i = c.device.index();
        match c.kind {
            Kind::Remove | Kind::Domain => {}
            Kind::Async => out.graph.devices[i].async_flag = Some(true),
            Kind::Defer => {
                for p in [Phase::ResumeNoirq, Phase::ResumeEarly, Phase::Resume] {
                    if let Some(w) = p.device_index().and_then(|k| out.devices[i].work[k].as_mut())
                    {
                        (w.sleep, w.compute) = (Ns::ZERO, Ns::ZERO);
                    }
                }
            }
            Kind::SpeedUp => {
                for w in out.devices[i].work.iter_mut().flatten() {
                    (w.sleep, w.compute) = (Ns(w.sleep.0 / 2), Ns(w.compute.0 / 2));
                }
            }
        }
    }
    let place = remove(&mut out, &dependents(board, &removed));
    (out, place)
}

/// Where each of the `count` devices of a changed board was before, from the
/// places that [`apply`] gives.
pub(super) fn origins(place: &[Option<DeviceId>], count: usize) -> Vec<DeviceId> {
    let mut origin = std::vec![DeviceId(0); count];
    for (old, new) in place.iter().enumerate() {
        if let Some(new) = new {
            origin[new.index()] = DeviceId(old as u32);
        }
    }
    origin
}

/// What a plan that may remove `device` must be allowed to remove: those that
/// go with it and that stay unless they are offered.
pub fn to_offer(board: &Board, device: DeviceId) -> Vec<DeviceId> {
    let stay = essential(board, &Wishes::default());
    let asks = |d: &DeviceId| matches!(stay[d.index()], Some(Stays::Essential | Stays::WakeSource));
    goes_with(board, Candidate::removal(device)).into_iter().filter(asks).collect()
}

#[cfg(test)]
mod tests {
    use super::super::essential::{Wishes, essential, withheld};
    use super::*;
    use dormouse_board::parse;

    const BOARD: &str = "board 1\ncpus 4\ndevice soc\n\
        device bus parent=soc suspend=2ms resume=2ms\n\
        device disk parent=bus essential=root suspend=5ms resume=50ms\n\
        device wlan parent=bus suspend=5ms resume=80ms\n\
        device antenna parent=soc resume=1ms\n\
        link antenna wlan stateless\n";

    fn find(board: &Board, name: &str) -> DeviceId {
        board.graph.ids().find(|d| board.names.get(board.graph.get(*d).name) == name).unwrap()
    }

    #[test]
    fn a_removal_takes_children_and_consumers_along() {
        let board = parse(BOARD).unwrap();
        let wlan = find(&board, "wlan");
        assert_eq!(goes_with(&board, Candidate::removal(wlan)), [wlan, find(&board, "antenna")]);
        let (less, place) = apply(&board, &[Candidate::removal(wlan)]);
        assert_eq!(less.devices.len(), 3);
        assert!(less.graph.links.is_empty());
        assert_eq!(place[wlan.index()], None);
    }

    #[test]
    fn the_path_of_the_root_file_system_is_not_offered() {
        let board = parse(BOARD).unwrap();
        let stay = essential(&board, &Wishes::default());
        let list = candidates(&board, &[Kind::Remove], &stay, &[Direction::Resume], 20);
        let names: Vec<&str> =
            list.iter().map(|c| board.names.get(board.graph.get(c.device).name)).collect();
        assert_eq!(names, ["wlan", "antenna"]);
        let disk = find(&board, "disk");
        assert_eq!(stay[disk.index()], Some(Stays::Essential));
        assert_eq!(stay[find(&board, "bus").index()], Some(Stays::NeededBy(disk)));
        let longest = withheld(&board, &stay, &[Direction::Resume], 1);
        assert_eq!(longest, [(disk, Stays::Essential, Ns::from_ms(50))]);

        let mut wishes = Wishes { keep: Vec::new(), offer: std::vec![false; 5] };
        wishes.offer[disk.index()] = true;
        let stay = essential(&board, &wishes);
        let list = candidates(&board, &[Kind::Remove], &stay, &[Direction::Resume], 20);
        assert_eq!(list.len(), 4, "the user may offer it all the same");
    }

    #[test]
    fn a_domain_goes_as_a_whole_or_not_at_all() {
        let text = "board 1\ncpus 4\ndomain gpu on=8ms off=3ms\ndomain io on=1ms\n\
            device soc\ndevice a parent=soc domain=gpu\ndevice b parent=soc domain=gpu\n\
            device c parent=soc resume=1us\ndevice d parent=soc domain=io\nlink c b stateless\n";
        let offered = |text: &str, way: Direction| {
            let board = parse(text).unwrap();
            let stay = essential(&board, &Wishes::default());
            candidates(&board, &[Kind::Domain], &stay, &[way], 9)
        };
        let gpu = Candidate { device: DeviceId(1), kind: Kind::Domain };
        assert_eq!(offered(text, Direction::Resume), [gpu], "io has one device alone");
        let board = parse(text).unwrap();
        assert_eq!(goes_with(&board, gpu), [DeviceId(1), DeviceId(2), DeviceId(3)]);
        assert_eq!(apply(&board, &[gpu]).0.devices.len(), 2);
        // Somebody needs one of them; it is never switched; it takes nothing that way.
        let needed = text.replace("resume=1us", "essential=root");
        for text in [needed, text.replace("off=3ms", "off=3ms always_on")] {
            assert_eq!(offered(&text, Direction::Resume), []);
        }
        assert_eq!(offered(&text.replace("off=3ms", ""), Direction::Suspend), []);
        // One device alone pays for its domain, though it does nothing itself.
        let stay = essential(&board, &Wishes::default());
        let list = candidates(&board, &[Kind::Remove], &stay, &[Direction::Resume], 9);
        assert_eq!(list, [Candidate::removal(DeviceId(4))]);
    }

    #[test]
    fn deferring_leaves_the_way_down_alone() {
        let board = parse(BOARD).unwrap();
        let wlan = find(&board, "wlan");
        let (b, _) = apply(&board, &[Candidate { device: wlan, kind: Kind::Defer }]);
        let work = b.devices[wlan.index()];
        assert_eq!(work.in_phase(Phase::Suspend).unwrap().sleep, Ns::from_ms(5));
        assert_eq!(work.in_phase(Phase::Resume).unwrap().sleep, Ns::ZERO);
    }
}
