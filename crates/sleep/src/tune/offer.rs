//! What a sleep would be without switching a power domain: nobody uses it, or it stays
//! on. Beside the flags that `tune` chooses.

use super::Cost;
use crate::simulate::Settings;
use crate::simulate::change::{Change, apply, dependents};
use crate::simulate::predict::{Scheduler, outlook};
use dormouse_base::device::DeviceId;
use dormouse_base::phase::Direction;
use dormouse_base::time::Ns;
use dormouse_board::Board;

/// Domains that are tried: those that take longest.
const MOST: usize = 32;

/// A smaller saving is not offered.
const LEAST: Ns = Ns(100_000);

/// One change of one domain.
#[derive(Clone, Debug)]
pub struct Offer {
    /// The domain.
    pub domain: String,
    /// Its devices, by their place on the board.
    pub devices: Vec<DeviceId>,
    /// No device is bound to a driver any more; else the domain stays on.
    pub unbind: bool,
    /// The sleep then.
    pub after: Cost,
    /// Less than before.
    pub saves: Ns,
}

/// Offers for `board`, the best first, and the sleep as it is. Each stands alone. Devices
/// that are in use are not unbound, nor those that others in use need.
pub fn offers(board: &Board, by: Scheduler, settings: &Settings) -> (Cost, Vec<Offer>) {
    let cost = |board: &Board| {
        let o = outlook(board, by, settings).ok()?;
        let [suspend, resume] = [Direction::Suspend, Direction::Resume].map(|d| o.half(d));
        Some(Cost { suspend, resume })
    };
    let Some(now) = cost(board).filter(|_| !board.domains.is_empty()) else {
        return (Cost::default(), Vec::new());
    };
    let mut domains: Vec<usize> = (0..board.domains.len()).collect();
    let time = |n: usize| {
        let deep = board.domains[n].deepest();
        deep.on + deep.off
    };
    domains.retain(|&n| time(n) >= LEAST && !board.domains[n].always_on);
    domains.sort_by_key(|&n| std::cmp::Reverse(time(n)));
    let mut out = Vec::new();
    for n in domains.into_iter().take(MOST) {
        let users: Vec<usize> = (0..board.devices.len())
            .filter(|&i| board.devices[i].domain == Some(n as u32))
            .collect();
        let gone = dependents(board, &users);
        let idle = |i: usize| {
            let d = &board.devices[i];
            d.runtime_suspended && !d.rpm_disabled
        };
        let unused = !users.is_empty() && (0..gone.len()).all(|i| !gone[i] || idle(i));
        for unbind in [true, false] {
            if unbind && !unused {
                continue;
            }
            let mut changed = board.clone();
            if unbind {
                let without = Change::Without(format!("domain:{}", name(board, n)));
                let Ok(c) = apply(board, &[without]) else { continue };
                changed = c.board;
            } else {
                let domain = &mut changed.domains[n];
                (domain.always_on, domain.start) = (true, None);
            }
            let Some(after) = cost(&changed) else { continue };
            let saves = now.total() - after.total();
            if saves >= LEAST {
                out.push(Offer {
                    domain: name(board, n).into(),
                    devices: users.iter().map(|&i| DeviceId(i as u32)).collect(),
                    unbind,
                    after,
                    saves,
                });
            }
        }
    }
    out.sort_by_key(|o| std::cmp::Reverse(o.saves));
    (now, out)
}

fn name(board: &Board, n: usize) -> &str {
    board.names.get(board.domains[n].name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Policy;
    use dormouse_board::parse;

    /// Nobody uses `gpu`; `io` is in use.
    const BOARD: &str = "board 1\ncpus 4\npm_async 0\n\
        domain top on=4ms off=2ms\n\
        domain io parent=top on=2ms off=1ms\n\
        domain gpu parent=top on=8ms off=3ms\n\
        device dev0 domain=io noirq=0.2ms resume_noirq=0.2ms\n\
        device dev2 domain=gpu runtime_suspended noirq=0.2ms resume_noirq=0.2ms\n\
        device dev3 domain=gpu runtime_suspended noirq=0.2ms resume_noirq=0.2ms\n";

    fn found(text: &str) -> Vec<(String, bool, i64)> {
        let board = parse(text).unwrap();
        let by = Scheduler { policy: Policy::find("G2").unwrap(), kernel: None };
        let (_, list) = offers(&board, by, &Settings::zero_cost());
        list.into_iter().map(|o| (o.domain, o.unbind, o.saves.0 / 100_000)).collect()
    }

    #[test]
    fn a_domain_that_nobody_uses_is_unbound_and_others_may_stay_on() {
        let list = found(BOARD);
        // Two devices and 8 ms; off it was before.
        assert!(list.contains(&("gpu".into(), true, 88)), "{list:?}");
        assert!(list.iter().all(|(d, unbind, _)| !unbind || d == "gpu"), "{list:?}");
        // io on keeps top on: neither goes off nor comes on.
        assert!(list.contains(&("io".into(), false, 90)), "{list:?}");
    }

    #[test]
    fn what_others_in_use_need_is_not_unbound() {
        let list = found(&(BOARD.to_string() + "device eth parent=dev2 resume=1ms\n"));
        assert!(list.iter().all(|(_, unbind, _)| !unbind), "{list:?}");
        assert!(found("board 1\ndevice a resume=1ms\n").is_empty());
    }
}
