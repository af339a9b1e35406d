//! Why a half is shorter or longer after a change: what left its critical path,
//! what entered it, and who no longer waits for whom.

use super::predict::Piece;
use crate::analyse::path::Reason;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Reverse;
use dormouse_board::Board;
use dormouse_model::device::DeviceId;
use dormouse_model::phase::Direction;
use dormouse_model::time::Ns;

/// Parts of a path that differ by less, or by less than a twentieth of what the
/// half changes by, are not worth a word.
const WORTH_SAYING: Ns = Ns(10_000);

/// A device that starts at least this much elsewhere, because it waits for
/// another one than before, is named.
const MOVED: Ns = Ns(50_000);

/// At most two sentences about one half. `was` and `is` are the critical paths
/// before and after; `origin` says for each device of the changed board which it
/// was on `board`. Linear in the paths, but for the sorting.
pub fn of(
    direction: Direction,
    board: &Board,
    was: &[Piece],
    is: &[Piece],
    origin: &[DeviceId],
) -> Vec<String> {
    let half = |p: &&Piece| p.phase.direction() == direction;
    let was: Vec<Piece> = was.iter().filter(half).cloned().collect();
    let old = |d: Option<DeviceId>| d.and_then(|d| origin.get(d.index()).copied());
    let is: Vec<Piece> = is
        .iter()
        .filter(half)
        .map(|p| Piece { device: old(p.device), waited_for: old(p.waited_for), ..p.clone() })
        .collect();
    let mut out: Vec<String> = shares(direction, board, &was, &is).into_iter().collect();
    let left = |d: DeviceId| origin.contains(&d);
    out.extend(wait(direction, board, &was, &is, &left));
    out
}

fn name(board: &Board, d: DeviceId) -> &str {
    board.graph.devices.get(d.index()).map_or("", |d| board.names.get(d.name))
}

/// Whose part of the path changed, the largest parts first.
fn shares(direction: Direction, board: &Board, was: &[Piece], is: &[Piece]) -> Option<String> {
    let mut parts: Vec<(Option<DeviceId>, Ns, Ns)> = Vec::new();
    for (list, after) in [(was, false), (is, true)] {
        for p in list {
            let at = match parts.iter().position(|(d, ..)| *d == p.device) {
                Some(at) => at,
                None => {
                    parts.push((p.device, Ns::ZERO, Ns::ZERO));
                    parts.len() - 1
                }
            };
            let slot = if after { &mut parts[at].2 } else { &mut parts[at].1 };
            *slot += p.time;
        }
    }
    let sum = |list: &[Piece]| list.iter().map(|p| p.time).sum::<Ns>();
    let least = WORTH_SAYING.0.max((sum(is) - sum(was)).0.abs() / 20);
    parts.retain(|(_, old, new)| (*new - *old).0.abs() >= least);
    parts.sort_by_key(|(d, old, new)| (Reverse((*new - *old).0.abs()), *d));
    let shown: Vec<String> = parts
        .iter()
        .take(3)
        .map(|(d, old, new)| {
            let who = d.map_or("time between callbacks", |d| name(board, d));
            match (*old, *new) {
                (t, Ns::ZERO) => format!("{who} leaves it ({t})"),
                (Ns::ZERO, t) => format!("{who} enters it ({t})"),
                (old, new) => format!("{who} {old} -> {new}"),
            }
        })
        .collect();
    (!shown.is_empty()).then(|| {
        format!("The critical path of {} changes: {}.", direction.name(), shown.join(", "))
    })
}

/// The device on both paths that starts at another time because it waits for
/// another one, or for none.
fn wait(
    direction: Direction,
    board: &Board,
    was: &[Piece],
    is: &[Piece],
    left: &dyn Fn(DeviceId) -> bool,
) -> Option<String> {
    let mut best: Option<(Ns, String)> = None;
    let whole: Ns = is.iter().map(|p| p.time).sum();
    for new in is.iter().filter(|p| p.device.is_some() && p.time.0 * 100 >= whole.0) {
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
        let word = if by < Ns::ZERO { "earlier" } else { "later" };
        let wait = match old.reason {
            Reason::MainThread | Reason::Queue => "waits its turn behind",
            _ => "waits for",
        };
        best = Some((
            by,
            format!(
                "In {}, {} no longer {wait} {} and starts {} {word}.",
                direction.name(),
                name(board, d),
                name(board, w),
                Ns(by.0.abs())
            ),
        ));
    }
    best.map(|(_, text)| text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_model::phase::Phase;

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
        assert_eq!(
            say,
            [
                "The critical path of resume changes: a leaves it (5.00 ms).",
                "In resume, b no longer waits its turn behind a and starts 5.00 ms earlier."
            ]
        );
        assert!(of(Direction::Suspend, &board, &was, &is, &both).is_empty());
        let removed = of(Direction::Resume, &board, &was, &is, &both[..1]);
        assert_eq!(removed.len(), 1, "nobody waits for what is not there");
    }
}
