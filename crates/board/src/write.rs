//! Writes a board file (docs/board-format.md).

use super::domain::{Domain, FLAGS, Governor};
use super::read::{CALLBACKS, RUNTIME, VERSION};
use super::words::{print_duration, quote};
use super::{Board, Times, Work};
use dormouse_base::device::DeviceId;
use dormouse_base::names::Sym;
use dormouse_base::time::Ns;

/// Writes `board` so that [`super::parse`] gives the same board. `comment`
/// stands at the top, a `#` before each of its lines.
pub fn print(board: &Board, comment: &str) -> String {
    let mut out = String::new();
    for line in comment.lines() {
        out.push_str(if line.is_empty() { "#" } else { "# " });
        out.push_str(line);
        out.push('\n');
    }
    let word = |known| if known { "known" } else { "guessed" };
    out.push_str(&format!("board {VERSION}\ncpus {}\n", board.cpus.max(1)));
    out.push_str(&format!("pm_async {}\n", u8::from(board.pm_async)));
    out.push_str(&format!("order {}\n", word(board.graph.order_known)));
    out.push_str(&format!("links {}\n", word(board.graph.links_known)));
    match board.times {
        Times::Measured => {}
        Times::Assumed => out.push_str("times assumed\n"),
        Times::Invented => out.push_str("times invented\n"),
    }
    for d in &board.domains {
        domain(board, d, &mut out);
    }
    let ordinals = ordinals(board);
    for id in board.graph.ids() {
        device(board, id, &ordinals, &mut out);
    }
    for link in &board.graph.links {
        out.push_str("link ");
        refer(board, link.consumer, &ordinals, &mut out);
        out.push(' ');
        refer(board, link.supplier, &ordinals, &mut out);
        out.push(' ');
        out.push_str(link.kind.name());
        out.push_str(if link.pm_runtime { " pm_runtime\n" } else { "\n" });
    }
    out
}

fn device(board: &Board, id: DeviceId, ordinals: &[u32], out: &mut String) {
    let d = board.graph.get(id);
    let b = board.devices.get(id.index()).copied().unwrap_or_default();
    let f = &d.facts;
    out.push_str("device ");
    quote(board.names.get(d.name), out);
    if let Some(p) = d.parent {
        out.push_str(" parent=");
        refer(board, p, ordinals, out);
    }
    let pair = |key: &str, value: Sym, out: &mut String| {
        out.push_str(key);
        quote(board.names.get(value), out);
    };
    if d.parent_name != d.parent.map_or(Sym::EMPTY, |p| board.graph.get(p).name) {
        pair(" parent_name=", d.parent_name, out);
    }
    let symbols = [
        (" subsystem=", d.subsystem),
        (" driver=", d.driver),
        (" devpath=", f.devpath),
        (" of=", f.of_fullname),
        (" fwnode=", f.firmware_node),
        (" modalias=", f.modalias),
        (" module=", f.module),
        (" runtime_status=", f.runtime_status),
        (" runtime_control=", f.runtime_control),
        (" essential=", f.essential),
    ];
    for (key, value) in symbols {
        if !value.is_empty() {
            pair(key, value, out);
        }
    }
    if let Some(domain) = b.domain.and_then(|n| board.domains.get(n as usize)) {
        pair(" domain=", domain.name, out);
    }
    let flags = [
        (" async", d.async_flag == Some(true)),
        (" sync", d.async_flag == Some(false)),
        (" wakeup", b.wakeup),
        (" power_wakeup=enabled", f.wakeup == Some(true)),
        (" power_wakeup=disabled", f.wakeup == Some(false)),
        (" syscore", f.syscore),
        (" no_pm", f.no_pm),
        (" no_direct_complete", b.no_direct_complete),
        (" runtime_suspended", b.runtime_suspended),
        (" rpm_disabled", b.rpm_disabled),
        (" rpm_first", b.runtime.first),
        (" class", f.class),
        (" guest", f.guest),
    ];
    for (flag, set) in flags {
        if set {
            out.push_str(flag);
        }
    }
    for (key, n) in [
        (" usage=", Some(b.runtime.usage).filter(|n| *n > 0)),
        (" autosuspend_ms=", b.runtime.autosuspend_ms),
    ] {
        if let Some(n) = n {
            out.push_str(&format!("{key}{n}"));
        }
    }
    if let Some(qos) = b.qos {
        out.push_str(" qos=");
        print_duration(qos, out);
    }
    let all = CALLBACKS.iter().zip(&b.work).chain(RUNTIME.iter().zip(&b.runtime.work));
    for (key, work) in all {
        if let Some(w) = work {
            out.push(' ');
            out.push_str(key);
            out.push('=');
            print_work(w, out);
        }
    }
    out.push('\n');
}

fn print_work(w: &Work, out: &mut String) {
    if w.sleep > Ns::ZERO || w.compute <= Ns::ZERO {
        print_duration(w.sleep, out);
    }
    if w.compute > Ns::ZERO {
        if w.sleep > Ns::ZERO {
            out.push('+');
        }
        print_duration(w.compute, out);
        out.push_str(".cpu");
    }
    if w.ret != 0 {
        out.push_str(&format!(",ret={}", w.ret));
    }
    if w.lock != 0 {
        out.push_str(&format!(",lock={}", w.lock));
    }
}

/// Writes a reference to a device; `ordinals` is 0 where the name is unique.
fn refer(board: &Board, id: DeviceId, ordinals: &[u32], out: &mut String) {
    quote(board.names.get(board.graph.get(id).name), out);
    if ordinals[id.index()] > 0 {
        out.push_str(&format!("#{}", ordinals[id.index()]));
    }
}

/// For each device: 0 if its name is unique, else its number among its
/// namesakes in file order, from 1.
fn ordinals(board: &Board) -> Vec<u32> {
    let mut count = vec![0u32; board.names.len()];
    let mut out: Vec<u32> = Vec::with_capacity(board.graph.devices.len());
    for d in &board.graph.devices {
        let c = &mut count[d.name.0 as usize];
        *c += 1;
        out.push(*c);
    }
    for (n, d) in out.iter_mut().zip(&board.graph.devices) {
        if count[d.name.0 as usize] == 1 {
            *n = 0;
        }
    }
    out
}

/// Writes the line of domain `d` of `board`.
fn domain(board: &Board, d: &Domain, out: &mut String) {
    out.push_str("domain ");
    quote(board.names.get(d.name), out);
    for &p in &d.parents {
        out.push_str(" parent=");
        if let Some(p) = board.domains.get(p as usize) {
            quote(board.names.get(p.name), out);
        }
    }
    match &d.states[..] {
        [s] if s.residency == Ns::ZERO => {
            for (word, time) in [(" on=", s.on), (" off=", s.off)] {
                if time > Ns::ZERO {
                    out.push_str(word);
                    print_duration(time, out);
                }
            }
        }
        states => {
            for s in states {
                out.push_str(" state=");
                print_duration(s.off, out);
                out.push('/');
                print_duration(s.on, out);
                if s.residency > Ns::ZERO {
                    out.push('/');
                    print_duration(s.residency, out);
                }
            }
        }
    }
    if d.governor != Governor::None {
        out.push_str(" governor=");
        out.push_str(d.governor.name());
    }
    match d.start {
        None => {}
        Some(None) => out.push_str(" start=on"),
        Some(Some(n)) => out.push_str(&format!(" start=off-{n}")),
    }
    for (flag, set) in FLAGS.iter().zip([d.always_on, d.rpm_always_on, d.active_wakeup]) {
        if set {
            out.push(' ');
            out.push_str(flag);
        }
    }
    out.push('\n');
}
