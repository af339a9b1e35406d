//! A machine at run time, before it sleeps: which devices are suspended, and which power
//! domains are off and how deep.
//!
//! The board says which devices nobody uses. Whether they may be suspended then, and
//! their domains off, is what resume latency QoS ([`BoardDevice::qos`]) and governors
//! decide: the arithmetic is that of [`dormouse_power::governor`]. A kernel counts the
//! longest latencies that it has measured, which no board says: so a tolerance that is
//! hardly met here may be missed there.
//!
//! | rule | function | file | version |
//! |---|---|---|---|
//! | a tolerance of nothing forbids suspending | `rpm_check_suspend_allowed()` | drivers/base/power/runtime.c | 6.1 to 7.3 |
//! | a device that is awake keeps its parent awake, and suppliers of links with `pm_runtime` | `rpm_check_suspend_allowed()`, `rpm_get_suppliers()` | runtime.c | 6.1 to 7.3 |
//! | a governor is asked for a device, then for its domain | `genpd_runtime_suspend()`, `genpd_power_off()` | drivers/pmdomain/core.c | 6.12, 7.3 |
//! | a child that is off in a shallow state keeps its parents on | `genpd_power_off()` | core.c | 6.12, 7.3 |

use super::domain::{Domain, Governor};
use super::{Board, BoardDevice};
use dormouse_base::time::Ns;
use dormouse_power::governor::{self, Child, NEVER, NO_CONSTRAINT};

/// How a domain begins a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Start {
    /// It is on.
    pub on: bool,
    /// The state that it is off in, or goes to.
    pub state: u32,
}

/// What a board is like before it sleeps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rest {
    /// For each device: it is suspended.
    pub suspended: Vec<bool>,
    /// For each device: it would be suspended, but a tolerance forbids it; its own, or
    /// that of what needs it.
    pub held: Vec<bool>,
    /// Each domain.
    pub domains: Vec<Start>,
}

/// What `board` is like before it sleeps. A domain whose line says how it starts is as
/// it says. Linear in devices, links and domains.
pub fn rest(board: &Board) -> Rest {
    let (timing, held) = devices(board);
    let suspended: Vec<bool> =
        board.devices.iter().zip(&held).map(|(b, held)| b.runtime_suspended && !held).collect();
    let domains = domains(board, &suspended, &timing);
    Rest { suspended, held, domains }
}

/// Whether somebody is asked before a device of `domain` is suspended.
fn asks(domain: &Domain) -> bool {
    domain.governor != Governor::None
}

/// In nanoseconds; a kernel counts in microseconds.
fn constraint(device: &BoardDevice) -> i64 {
    let us = |q: Ns| (q.0.max(0) / 1_000 * 1_000).min(NO_CONSTRAINT);
    device.qos.map_or(NO_CONSTRAINT, us)
}

/// What governors know of each device, which is nothing where no device has a tolerance,
/// and whether a tolerance keeps it awake. What needs a device comes before it; devices
/// that need each other in a circle are left as they are.
fn devices(board: &Board) -> (Vec<governor::Device>, Vec<bool>) {
    let n = board.devices.len();
    let mut held = vec![false; n];
    // Searches ask for thousands of boards, and few have any.
    if board.devices.iter().all(|d| d.qos.is_none()) {
        return (Vec::new(), held);
    }
    let mut timing = vec![governor::Device::default(); n];
    let parent = |i: usize| board.graph.devices[i].parent.map(|p| p.index()).filter(|&p| p < n);
    let mut suppliers: Vec<Vec<u32>> = vec![Vec::new(); n];
    // Children and consumers that are still to come.
    let mut users = vec![0u32; n];
    for link in board.graph.links.iter().filter(|l| l.pm_runtime) {
        let (consumer, supplier) = (link.consumer.index(), link.supplier.index());
        if consumer < n && supplier < n {
            suppliers[consumer].push(supplier as u32);
            users[supplier] += 1;
        }
    }
    for p in (0..n).filter_map(parent) {
        users[p] += 1;
    }
    // The least that a child leaves to its parent.
    let mut inside = vec![NO_CONSTRAINT; n];
    let mut ready: Vec<usize> = (0..n).filter(|&i| users[i] == 0).collect();
    while let Some(i) = ready.pop() {
        let b = &board.devices[i];
        let own = constraint(b);
        let domain = b.domain.and_then(|d| board.domains.get(d as usize));
        if b.runtime_suspended && !b.rpm_disabled && !held[i] {
            let [down, up] = b.runtime.work.map(|w| w.map_or(0, |w| w.sleep.0 + w.compute.0));
            (timing[i].suspend_latency, timing[i].resume_latency) = (down, up);
            held[i] = own == 0
                || domain.is_some_and(asks) && !timing[i].suspend_ok(own, [inside[i]]).ok();
        }
        let left = if domain.is_some() { timing[i].effective } else { own };
        let above = parent(i);
        if let Some(p) = above {
            inside[p] = inside[p].min(left);
        }
        for s in suppliers[i].iter().map(|&s| s as usize).chain(above) {
            held[s] |= held[i] && board.devices[s].runtime_suspended;
            users[s] -= 1;
            if users[s] == 0 {
                ready.push(s);
            }
        }
    }
    (timing, held)
}

/// What is known of the domains inside one.
#[derive(Clone, Default)]
struct Inside {
    /// Some are on.
    on: bool,
    /// Some are off, but not deep.
    shallow: bool,
    /// How long each may be off.
    children: Vec<Child>,
}

fn domains(board: &Board, suspended: &[bool], timing: &[governor::Device]) -> Vec<Start> {
    let mut unused = vec![true; board.domains.len()];
    let mut users: Vec<Vec<governor::Device>> = vec![Vec::new(); board.domains.len()];
    for (i, (b, d)) in board.devices.iter().zip(&board.graph.devices).enumerate() {
        let Some(n) = b.domain.map(|n| n as usize).filter(|_| !d.facts.no_pm) else { continue };
        let (Some(unused), Some(users)) = (unused.get_mut(n), users.get_mut(n)) else { continue };
        *unused &= suspended[i] && !b.rpm_disabled;
        users.extend(timing.get(i));
    }
    let mut out = vec![Start::default(); board.domains.len()];
    let mut inside = vec![Inside::default(); board.domains.len()];
    for (n, d) in board.domains.iter().enumerate().rev() {
        let Inside { on: on_inside, shallow, children } = std::mem::take(&mut inside[n]);
        let deepest = d.states.len().saturating_sub(1) as u32;
        let kept = d.always_on || d.rpm_always_on || d.governor == Governor::AlwaysOn;
        let asked = matches!(d.governor, Governor::SimpleQos | Governor::Cpu);
        // Nobody to ask: the shallowest.
        let mut state = if asked { deepest } else { 0 };
        let mut max_off = -1;
        let mut on = kept || on_inside || shallow || !unused[n];
        if asked && !on {
            let mut domain = governor::Domain::new(d.states.iter().map(as_read).collect());
            let decided = domain.power_down_ok(&children, &users[n], 0);
            (on, state, max_off) = (!decided.ok, decided.state as u32, domain.max_off);
        }
        match d.start {
            Some(None) => (on, max_off) = (true, -1),
            Some(Some(own)) => (on, state, max_off) = (on_inside, own, -1),
            None => {}
        }
        out[n] = Start { on, state };
        for &p in d.parents.iter().filter(|p| (**p as usize) < n) {
            let above = &mut inside[p as usize];
            above.on |= on;
            above.shallow |= !on && state < deepest;
            above.children.push(Child { max_off, next_wakeup: NEVER });
        }
    }
    out
}

fn as_read(s: &super::domain::State) -> governor::State {
    governor::State { off: s.off.0, on: s.on.0, residency: s.residency.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    /// The settings of a recorded guest: `gpu` in `top`, both with a governor.
    fn soc(qos: &str) -> Rest {
        let board: Board = parse(&format!(
            "board 1\ndomain top on=4ms off=2ms governor=simple_qos\n\
             domain gpu parent=top state=1ms/2ms state=5ms/8ms governor=simple_qos\n\
             device soc\ndevice dev2 parent=soc domain=gpu runtime_suspended {qos}\n\
             device dev3 parent=soc domain=gpu runtime_suspended\n"
        ))
        .unwrap();
        rest(&board)
    }

    /// `gpu` and `top`: `on`, or the state that it is off in.
    fn said(rest: &Rest) -> [String; 2] {
        [1, 0].map(|n: usize| match rest.domains[n] {
            Start { on: true, .. } => "on".into(),
            Start { state, .. } => format!("off-{state}"),
        })
    }

    #[test]
    fn what_is_tolerated_decides_how_deep_a_domain_goes_and_whether_its_parent_follows() {
        assert_eq!(said(&soc("")), ["off-1", "off-0"]);
        assert_eq!(said(&soc("qos=20ms")), ["off-1", "off-0"]);
        // Deep, but 5.5 ms are left, and top takes 6.
        assert_eq!(said(&soc("qos=13.5ms")), ["off-1", "on"]);
        // In a shallow state, which keeps top on.
        assert_eq!(said(&soc("qos=13ms")), ["off-0", "on"]);
        assert_eq!(said(&soc("qos=3ms")), ["on", "on"]);
        // So much and no less is tolerated; the device itself may be suspended.
        assert!(!soc("qos=3ms").held[1]);
        let none = soc("qos=0");
        assert_eq!((said(&none), none.held[1]), (["on".into(), "on".into()], true));
        assert_eq!(none.suspended, [false, false, true]);
    }

    #[test]
    fn who_is_held_awake_holds_what_it_needs() {
        let held = |text: &str| rest(&parse(text).unwrap()).held;
        let text = "board 1\ndevice bus runtime_suspended\ndevice clk runtime_suspended\n\
            device pad runtime_suspended\ndevice a parent=bus runtime_suspended qos=0\n\
            link a clk stateless pm_runtime\nlink a pad stateless\n";
        assert_eq!(held(text), [true, true, false, true]);
        // Who is in use anyway is not held.
        assert_eq!(
            held(&text.replace("a parent=bus runtime_suspended", "a parent=bus")),
            [false, false, false, false]
        );
    }

    #[test]
    fn a_child_leaves_its_parent_what_it_does_not_need_itself() {
        let board = |qos| {
            parse(&format!(
                "board 1\ndomain d on=4ms off=2ms governor=simple_qos\n\
                 device bus domain=d runtime_suspended rpm_suspend=1ms rpm_resume=1ms\n\
                 device a parent=bus runtime_suspended qos={qos}\n"
            ))
            .unwrap()
        };
        assert!(!rest(&board("8.001ms")).domains[0].on, "2 ms of bus and 6 of d");
        assert!(rest(&board("8ms")).domains[0].on);
        let slow = rest(&board("2ms"));
        assert_eq!((slow.held, slow.domains[0].on), (std::vec![true, false], true));
    }
}
