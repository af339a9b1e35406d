//! Why a half is shorter or longer after a change: what left its critical path,
//! what entered it, and who no longer waits for whom.

use super::note::Note;
use super::piece::Piece;
use crate::analyse::path::Reason;
use dormouse_base::device::DeviceId;
use dormouse_base::phase::Direction;
use dormouse_base::time::Ns;
use dormouse_board::Board;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Parts of a path that differ by less, or by less than a twentieth of what the
/// half changes by, are not worth a word.
const WORTH_SAYING: Ns = Ns(10_000);

/// A device that starts at least this much elsewhere, because it waits for
/// another one than before, is named.
const MOVED: Ns = Ns(50_000);

/// At most two facts about one half. `was` and `is` are the critical paths
/// before and after; `origin` says for each device of the changed board which it
/// was on `board`. Linear in the paths, but for sorting their devices.
pub(super) fn of(
    direction: Direction,
    board: &Board,
    was: &[Piece],
    is: &[Piece],
    origin: &[DeviceId],
) -> Vec<Note> {
    let half = |p: &&Piece| p.phase.direction() == direction;
    let was: Vec<Piece> = was.iter().filter(half).cloned().collect();
    let old = |d: Option<DeviceId>| d.and_then(|d| origin.get(d.index()).copied());
    let is: Vec<Piece> = is
        .iter()
        .filter(half)
        .map(|p| Piece { device: old(p.device), waited_for: old(p.waited_for), ..p.clone() })
        .collect();
    let mut out: Vec<Note> = shares(direction, board, &was, &is).into_iter().collect();
    let left = |d: DeviceId| origin.contains(&d);
    out.extend(wait(direction, board, &was, &is, &left));
    out
}

fn name(board: &Board, d: DeviceId) -> &str {
    board.graph.devices.get(d.index()).map_or("", |d| board.names.get(d.name))
}

/// Whose part of the path changed, the largest parts first.
fn shares(direction: Direction, board: &Board, was: &[Piece], is: &[Piece]) -> Option<Note> {
    let mut times: BTreeMap<Option<DeviceId>, [Ns; 2]> = BTreeMap::new();
    for (list, after) in [(was, 0), (is, 1)] {
        for p in list {
            times.entry(p.device).or_default()[after] += p.time;
        }
    }
    let mut parts: Vec<_> = times.into_iter().map(|(d, [old, new])| (d, old, new)).collect();
    let sum = |list: &[Piece]| list.iter().map(|p| p.time).sum::<Ns>();
    let least = WORTH_SAYING.0.max((sum(is) - sum(was)).0.abs() / 20);
    parts.retain(|(_, old, new)| (*new - *old).0.abs() >= least);
    parts.sort_by_key(|(d, old, new)| (Reverse((*new - *old).0.abs()), *d));
    let shown: Vec<_> = parts
        .iter()
        .take(3)
        .map(|&(d, old, new)| (d.map(|d| name(board, d).into()), old, new))
        .collect();
    (!shown.is_empty()).then_some(Note::Path(direction, shown))
}

/// The device on both paths that starts at another time because it waits for
/// another one, or for none.
fn wait(
    direction: Direction,
    board: &Board,
    was: &[Piece],
    is: &[Piece],
    left: &dyn Fn(DeviceId) -> bool,
) -> Option<Note> {
    let mut best: Option<(Ns, Note)> = None;
    let whole: Ns = is.iter().map(|p| p.time).sum();
    for new in is.iter().filter(|p| p.device.is_some() && p.time.is_share_of(1, whole)) {
        let same = |p: &&Piece| p.device == new.device && p.phase == new.phase;
        let Some(old) = was.iter().find(same) else { continue };
        let by = new.start - old.start;
        let (Some(d), Some(w)) = (new.device, old.waited_for) else { continue };
        // That a removed device is not waited for goes without saying.
        if new.waited_for == Some(w) || by.0.abs() < MOVED.0 || !left(w) {
            continue;
        }
        if best.as_ref().is_some_and(|(most, _)| most.0.abs() >= by.0.abs()) {
            continue;
        }
        let note = Note::NoLonger {
            half: direction,
            device: name(board, d).into(),
            awaited: name(board, w).into(),
            turn: matches!(old.reason, Reason::MainThread | Reason::Queue),
            by,
        };
        best = Some((by, note));
    }
    best.map(|(_, note)| note)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_base::phase::Phase;

    fn piece(device: u32, start: i64, time: i64, waited_for: Option<u32>) -> Piece {
        Piece {
            phase: Phase::Resume,
            device: Some(DeviceId(device)),
            time: Ns::from_ms(time),
            reason: Reason::MainThread,
            start: Ns::from_ms(start),
            waited_for: waited_for.map(DeviceId),
        }
    }

    #[test]
    fn what_left_the_path_and_who_waits_no_longer() {
        let text = "board 1\ndevice a resume=5ms\ndevice b resume=7ms\n";
        let board = dormouse_board::parse(text).expect("a board");
        let was = [piece(0, 0, 5, None), piece(1, 5, 7, Some(0))];
        // On the changed board they have changed places.
        let is = [piece(0, 0, 7, None)];
        let both = [DeviceId(1), DeviceId(0)];
        let say = of(Direction::Resume, &board, &was, &is, &both);
        let five = Ns::from_ms(5);
        let [
            Note::Path(Direction::Resume, parts),
            Note::NoLonger { device, awaited, turn, by, .. },
        ] = &say[..]
        else {
            panic!("{say:?}")
        };
        assert_eq!(parts[..], [(Some("a".into()), five, Ns::ZERO)]);
        assert_eq!((&device[..], &awaited[..], *turn, *by), ("b", "a", true, Ns(-five.0)));
        assert!(of(Direction::Suspend, &board, &was, &is, &both).is_empty());
        let removed = of(Direction::Resume, &board, &was, &is, &both[..1]);
        assert_eq!(removed.len(), 1, "nobody waits for what is not there");
    }
}
