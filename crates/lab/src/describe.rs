//! From a board to the text that the board module reads (kernel/README.md).

use crate::{Error, Result};
use dormouse_base::device::{DeviceId, LinkKind};
use dormouse_base::phase::Phase;
use dormouse_board::Board;
use dormouse_board::domain::{Domain, Governor};
use dormouse_board::rest::rest;
use std::fmt::Write;

/// A description and what it could not say.
#[derive(Clone, Debug, Default)]
pub struct Description {
    /// The text for the module.
    pub text: String,
    /// The device of the board behind each guest name, by number: `d00000` is
    /// `devices[0]`.
    pub devices: Vec<DeviceId>,
    /// What the guest does differently from the board, one sentence each.
    pub differences: Vec<String>,
}

/// The name in the guest of the device made as number `n`. sysfs refuses two
/// devices of one bus with the same name, and a real machine has many.
pub fn guest_name(n: usize) -> String {
    format!("d{n:05}")
}

/// The number behind a guest name, if it is one.
pub fn guest_number(name: &str) -> Option<usize> {
    let digits = name.strip_prefix('d')?;
    (digits.len() == 5 && digits.bytes().all(|b| b.is_ascii_digit()))
        .then(|| digits.parse().ok())
        .flatten()
}

/// Words of the module's format for the callbacks.
const CALLBACKS: [&str; 8] =
    ["prepare", "suspend", "late", "noirq", "resume_noirq", "early", "resume", "complete"];

/// Describes `board` to the module, with orders that it does not declare
/// (waiter, awaited).
pub fn describe(board: &Board, waits: &[(DeviceId, DeviceId)]) -> Result<Description> {
    let order = superiors_first(board)?;
    let mut d = Description::default();
    let moved = order.iter().zip(board.graph.ids()).filter(|(a, b)| **a != *b).count();
    // The guest brings devices of its own: those that were recorded in another
    // guest are not made again.
    let mut place: Vec<Option<usize>> = vec![None; order.len()];
    for id in order {
        if !board.graph.get(id).facts.guest {
            place[id.index()] = Some(d.devices.len());
            d.devices.push(id);
        }
    }
    if moved > 0 {
        d.differences.push(format!(
            "{moved} devices stand elsewhere in the list: a child stood before its parent"
        ));
    }
    let bound = bound_devices(board);
    let untied =
        d.devices.iter().filter(|id| bound[id.index()] && board.graph.get(**id).facts.class);
    let untied = untied.count();
    // Links by the number of devices that must exist before.
    let mut links: Vec<Vec<String>> = vec![Vec::new(); d.devices.len()];
    let (mut dormant, mut sync_only, mut late) = (0, 0, 0);
    for link in &board.graph.links {
        let (Some(c), Some(s)) = (place[link.consumer.index()], place[link.supplier.index()])
        else {
            continue;
        };
        let kind = match link.kind {
            LinkKind::Stateless => "stateless",
            LinkKind::Active => "active",
            LinkKind::Dormant if bound[link.supplier.index()] => {
                dormant += 1;
                continue;
            }
            LinkKind::Dormant => "dormant",
            kind if kind.is_sync_state_only() && bound[link.consumer.index()] => {
                sync_only += 1;
                continue;
            }
            LinkKind::SyncStateOnly | LinkKind::Cycle | LinkKind::Proxy => "sync_state_only",
        };
        late += usize::from(s > c);
        // The kernel takes this flag with every kind but the last.
        let runtime =
            if link.pm_runtime && !link.kind.is_sync_state_only() { " pm_runtime" } else { "" };
        links[c.max(s)].push(format!("link {c} {s} {kind}{runtime}"));
    }
    for (n, what) in [
        (dormant, "dormant links left out: their supplier is bound because of another link"),
        (
            sync_only,
            "sync_state_only links left out: their consumer is bound because of another link",
        ),
        (untied, "devices of a class stand on a bus, because a managed link wants them bound"),
        (
            board.domains.iter().filter(|d| d.governor == Governor::Cpu).count(),
            "domains have no governor: that of CPUs wants CPUs in them",
        ),
        (
            board.devices.iter().filter(|d| d.qos.is_some() && d.domain.is_none()).count(),
            "devices have no latency QoS: it is given to devices in a power domain",
        ),
        (late, "links move their consumer to the end of the list: it stood before its supplier"),
    ] {
        if n > 0 {
            d.differences.push(format!("{n} {what}"));
        }
    }
    d.text.push_str("dormouse-board 1\n");
    domains(&mut d.text, board);
    for (i, id) in d.devices.iter().enumerate() {
        device_line(&mut d.text, board, *id, i, &place, bound[id.index()]);
        for (_, awaited) in waits.iter().filter(|(waiter, _)| waiter == id) {
            if let Some(n) = place[awaited.index()] {
                d.text.truncate(d.text.len() - 1);
                let _ = writeln!(d.text, " waits={n}");
            }
        }
        for link in &links[i] {
            d.text.push_str(link);
            d.text.push('\n');
        }
    }
    d.text.push_str("end\n");
    Ok(d)
}

/// Devices in the order of the list, but every parent before its children: a
/// parent that stands later is pulled forward.
fn superiors_first(board: &Board) -> Result<Vec<DeviceId>> {
    let n = board.graph.devices.len();
    let mut out = Vec::with_capacity(n);
    let mut placed = vec![false; n];
    let mut chain = Vec::new();
    for id in board.graph.ids() {
        let mut next = Some(id);
        while let Some(d) = next.filter(|d| !placed[d.index()]) {
            if chain.len() > n {
                return Err(Error::other(format!(
                    "device {} is its own ancestor",
                    board.names.get(board.graph.get(id).name)
                )));
            }
            chain.push(d);
            next = board.graph.get(d).parent;
        }
        while let Some(d) = chain.pop() {
            placed[d.index()] = true;
            out.push(d);
        }
    }
    Ok(out)
}

/// Which devices need a driver, so that managed links get their status: both
/// ends of an active one, the supplier of a `sync_state_only` one.
fn bound_devices(board: &Board) -> Vec<bool> {
    // A device in a domain is bound to a driver: that is what attaches it.
    let mut bound: Vec<bool> = board.devices.iter().map(|d| d.domain.is_some()).collect();
    for link in &board.graph.links {
        match link.kind {
            LinkKind::Active => {
                bound[link.consumer.index()] = true;
                bound[link.supplier.index()] = true;
            }
            LinkKind::SyncStateOnly | LinkKind::Cycle | LinkKind::Proxy => {
                bound[link.supplier.index()] = true;
            }
            LinkKind::Stateless | LinkKind::Dormant => {}
        }
    }
    bound
}

/// Whether the kernel's governor of `d` decides how it begins the sleep; not where the
/// board says it.
fn is_asked(d: &Domain) -> bool {
    d.governor == Governor::SimpleQos && d.start.is_none()
}

/// Domains that start on because the kernel itself is to decide how they begin the
/// sleep: those with a governor and devices that may be suspended, and those around them.
fn decided(board: &Board) -> Vec<bool> {
    let mut out = vec![false; board.domains.len()];
    for b in board.devices.iter().filter(|b| b.runtime_suspended && !b.rpm_disabled) {
        let domain = b.domain.map(|n| n as usize);
        let Some((n, domain)) = domain.and_then(|n| Some((n, board.domains.get(n)?))) else {
            continue;
        };
        out[n] |= is_asked(domain) || b.qos.is_some();
    }
    for (n, d) in board.domains.iter().enumerate().rev() {
        if out[n] {
            d.parents.iter().for_each(|&p| out[p as usize] = true);
        }
    }
    out
}

/// The name in the guest of the power domain with number `n`: its own, if the module
/// takes it.
fn guest_domain(n: usize, name: &str) -> String {
    let taken = |b: u8| b.is_ascii_graphic() && b != b'/' && b != b'!';
    match !name.is_empty() && name.len() < 64 && name != "." && name != ".." {
        true if name.bytes().all(taken) => name.into(),
        _ => format!("p{n:05}"),
    }
}

/// Power domains, parents first.
fn domains(text: &mut String, board: &Board) {
    let decided = decided(board);
    for (n, (domain, start)) in board.domains.iter().zip(rest(board).domains).enumerate() {
        let _ = write!(text, "domain {}", guest_domain(n, board.names.get(domain.name)));
        for p in &domain.parents {
            let _ = write!(text, " parent={p}");
        }
        for s in &domain.states {
            let _ = write!(text, " state={},{}", s.off.0.max(0), s.on.0.max(0));
        }
        let decides = decided[n] && domain.start.is_none();
        if !start.on && !decides {
            let _ = write!(text, " off={}", start.state);
        }
        let flags = [
            (domain.always_on, "always_on"),
            (domain.rpm_always_on || domain.governor == Governor::AlwaysOn, "rpm_always_on"),
            (domain.active_wakeup, "active_wakeup"),
            (is_asked(domain), "simple_qos"),
        ];
        for (_, word) in flags.iter().filter(|f| f.0) {
            let _ = write!(text, " {word}");
        }
        text.push('\n');
    }
}

fn device_line(
    text: &mut String,
    board: &Board,
    id: DeviceId,
    number: usize,
    place: &[Option<usize>],
    bound: bool,
) {
    let device = board.graph.get(id);
    let more = &board.devices[id.index()];
    text.push_str("device ");
    text.push_str(&guest_name(number));
    if let Some(parent) = device.parent.and_then(|p| place[p.index()]) {
        let _ = write!(text, " parent={parent}");
    }
    if device.facts.no_pm {
        // The PM core never calls it; the module takes no callbacks for it.
        text.push_str(" no_pm\n");
        return;
    }
    if let Some(domain) = more.domain {
        let _ = write!(text, " domain={domain}");
        if more.runtime_suspended && !more.rpm_disabled {
            text.push_str(" runtime");
        }
        if let Some(qos) = more.qos.filter(|_| board.domains[domain as usize].start.is_none()) {
            let _ = write!(text, " qos={}", qos.0.max(0) / 1_000);
        }
    }
    // `runtime active` matters where prepare asks for direct-complete, and to runtime PM.
    let runtime = more.runtime;
    let asks = more.in_phase(Phase::Prepare).is_some_and(|w| w.ret > 0) || runtime.enabled();
    for (set, word) in [
        (bound && more.domain.is_none(), "bound"),
        (device.facts.class && !bound, "class"),
        (device.async_flag == Some(true), "async"),
        (more.wakeup, "wakeup"),
        (asks && !more.runtime_suspended, "active"),
        (device.facts.syscore, "syscore"),
        (more.no_direct_complete, "no_direct_complete"),
        (runtime.first, "rpm_first"),
    ] {
        if set {
            text.push(' ');
            text.push_str(word);
        }
    }
    for (word, work) in CALLBACKS.into_iter().zip(more.work) {
        if let Some(w) = work {
            let ret = if word == "complete" { 0 } else { w.ret };
            let _ = write!(
                text,
                " {word}={},{},{ret},{}",
                w.sleep.0.max(0),
                w.compute.0.max(0),
                w.lock
            );
        }
    }
    for (word, work) in ["rpm_suspend", "rpm_resume"].into_iter().zip(runtime.work) {
        if let Some(w) = work {
            let _ = write!(text, " {word}={},{}", w.sleep.0.max(0), w.compute.0.max(0));
        }
    }
    if runtime.usage > 0 {
        let _ = write!(text, " usage={}", runtime.usage);
    }
    if let Some(ms) = runtime.autosuspend_ms {
        let _ = write!(text, " autosuspend={ms}");
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_governor_decides_domains_start_on() {
        let text = "board 1\ndomain top on=4ms off=2ms\n\
            domain d parent=top on=2ms governor=simple_qos\n\
            domain e on=1ms start=off-0 governor=simple_qos\n\
            device a domain=d runtime_suspended qos=8ms\ndevice b domain=e qos=1ms\n";
        let d = describe(&dormouse_board::parse(text).unwrap(), &[]).unwrap();
        let lines: Vec<&str> = d.text.lines().collect();
        assert_eq!(
            lines[1..6],
            [
                "domain top state=2000000,4000000",
                "domain d parent=0 state=0,2000000 simple_qos",
                "domain e state=0,1000000 off=0",
                "device d00000 domain=1 runtime qos=8000",
                "device d00001 domain=2"
            ]
        );
    }

    #[test]
    fn a_class_device_stays_one_unless_a_managed_link_wants_it_bound() {
        let text = "board 1\ndevice a\ndevice b class parent=a\ndevice c class\nlink c a active\n";
        let d = describe(&dormouse_board::parse(text).unwrap(), &[]).unwrap();
        let lines: Vec<&str> = d.text.lines().collect();
        assert_eq!(lines[1], "device d00000 bound");
        assert_eq!(lines[2], "device d00001 parent=0 class");
        assert_eq!(lines[3], "device d00002 bound");
        assert!(d.differences.iter().any(|t| t.starts_with("1 devices of a class")), "{d:?}");
    }
}
