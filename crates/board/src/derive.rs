//! A board from a capture: what the recorded machine would do again.

use super::assumed::Assumed;
use super::inside;
use super::parents;
use super::printing::lines;
use super::switched::Switched;
use super::threads::main_threads;
use super::walk::{observed_order, order_is_known, prepared_order};
use super::{Board, BoardDevice, Work};
use dormouse_base::capture::Capture;
use dormouse_base::cycle::{Cycle, Outcome};
use dormouse_base::device::{DeviceGraph, DeviceId};
use dormouse_base::image::ImageStep;
use dormouse_base::phase::Phase;
use dormouse_base::stats::describe::middle;
use dormouse_base::time::Ns;
use dormouse_base::trip;

/// Times of the eight callbacks of every device in one cycle.
pub type Times = Vec<[Option<Ns>; 8]>;

/// A board and where its figures come from.
#[derive(Clone, Debug, Default)]
pub struct Derived {
    /// The board, with median times.
    pub board: Board,
    /// For every device of the capture its number on the board; empty for a
    /// board that was not derived.
    pub place: Vec<u32>,
    /// The times of each cycle used, parallel to `board.devices`.
    pub cycles: Vec<Times>,
    /// Median of each device phase as observed, by
    /// [`Phase::device_index`]; `None` if never seen.
    pub observed: [Option<Ns>; 8],
    /// What was done with the image of a hibernation, in the first cycle that
    /// says so: beside the callbacks, and no schedule shortens it.
    pub image: Vec<ImageStep>,
    /// What the lines of a kernel log cost each callback of each cycle, by
    /// [`Phase::device_index`]: part of the times of `board` and `cycles`. Zero
    /// for traces and recordings.
    pub printing: Vec<[Ns; 8]>,
    /// What the capture does not say and is assumed, as sentences.
    pub assumptions: Vec<Assumed>,
}

impl Derived {
    /// The board with the times that `choose` takes from the cycles: it is
    /// asked for a cycle number for every device.
    pub fn with_cycles(&self, mut choose: impl FnMut() -> usize) -> Board {
        let mut board = self.board.clone();
        for (d, device) in board.devices.iter_mut().enumerate() {
            let times = self.cycles.get(choose()).map(|c| c[d]);
            for (index, work) in device.work.iter_mut().enumerate() {
                let seen = times.and_then(|t| t[index]);
                if let (Some(w), Some(t)) = (work.as_mut(), seen) {
                    w.sleep = t;
                }
            }
        }
        board
    }

    /// The board as it was in one cycle: every callback takes the time it took
    /// there, and one that was not called then is not there.
    pub fn as_recorded(&self, cycle: usize) -> Board {
        let mut board = self.board.clone();
        let Some(times) = self.cycles.get(cycle) else { return board };
        for (device, times) in board.devices.iter_mut().zip(times) {
            for (work, time) in device.work.iter_mut().zip(times).take(7).skip(1) {
                *work = time.map(|sleep| Work { sleep, ..work.unwrap_or_default() });
            }
        }
        board
    }

    /// What the lines of a kernel log cost in one phase of a cycle: callbacks
    /// in it times the cost of one. Where callbacks ran side by side this is
    /// more than the phase would be shorter.
    pub fn printed(&self, cycle: usize, index: usize) -> Ns {
        let (Some(times), Some(line)) = (self.cycles.get(cycle), self.printing.get(cycle)) else {
            return Ns::ZERO;
        };
        let n = times.iter().filter(|t| t[index].is_some()).count();
        Ns(line[index].0.saturating_mul(i64::try_from(n).unwrap_or(i64::MAX)))
    }

    /// The same machine without the lines: no callback printed anything.
    pub fn without_printing(&self) -> Derived {
        let mut quiet = self.clone();
        for (times, line) in quiet.cycles.iter_mut().zip(&self.printing) {
            for t in times {
                for (t, line) in t.iter_mut().zip(line) {
                    *t = t.map(|t| (t - *line).max(Ns::ZERO));
                }
            }
        }
        for index in 0..8 {
            let mut all: Vec<Ns> = self.printing.iter().map(|p| p[index]).collect();
            let line = median(&mut all).unwrap_or_default();
            for device in &mut quiet.board.devices {
                if let Some(w) = &mut device.work[index] {
                    w.sleep = (w.sleep - line).max(Ns::ZERO);
                }
            }
        }
        quiet.printing.clear();
        quiet
    }
}

/// Shorter calls of prepare and complete are the frame every device has, not
/// work of its own.
const FRAME: Ns = Ns(20_000);

/// For a device that is never called in between: an interrupt can make a frame
/// this long, and to take it for a callback would make the device one that
/// others wait for (it could no longer be direct-complete).
const LONG_FRAME: Ns = Ns(1_000_000);

/// Makes a board of the cycles of `capture` that went down and came back; of
/// all others if there is none.
///
/// # Errors
/// A sentence, if no cycle has a device callback.
pub fn derive(capture: &Capture) -> Result<Derived, String> {
    let cycles = chosen_cycles(capture);
    if cycles.is_empty() {
        return Err("no cycle with device callbacks in the input; record one with \
                    pm_print_times or the power trace events on (dormouse record without --phases)"
            .into());
    }
    let mut derived = Derived::default();
    let mut graph = capture.graph.clone();
    if !graph.links_known {
        parents::settle(&mut graph, &cycles);
    }
    take_absent(&mut graph, capture, &cycles);
    let (graph, place) = ordered(&graph, &cycles);
    let n = graph.devices.len();
    derived.board.names = capture.names.clone();
    derived.board.graph = graph;
    let with_image = cycles.iter().find(|c| !c.image.is_empty());
    derived.image = with_image.map(|c| c.image.clone()).unwrap_or_default();
    derived.board.trip = cycles.first().map(|c| trip::first(c)).unwrap_or_default();
    derived.board.devices = vec![BoardDevice::default(); n];
    derived.board.inside = inside::waited(&cycles, &place);

    let mut in_worker = vec![false; n];
    let mut on_main = vec![false; n];
    let switched = Switched::of(capture, &cycles);
    for cycle in &cycles {
        let lines = lines(cycle);
        let mut times = times(cycle, &place, n, switched.as_ref(), &mut in_worker, &mut on_main);
        for t in &mut times {
            for (t, line) in t.iter_mut().zip(lines) {
                *t = t.map(|t| t + line);
            }
        }
        derived.cycles.push(times);
        derived.printing.push(lines);
    }
    fill_work(&mut derived);
    for (index, phase) in Phase::DEVICE.into_iter().enumerate() {
        let mut seen: Vec<Ns> =
            cycles.iter().filter_map(|c| c.phase(phase)).map(|p| p.duration()).collect();
        derived.observed[index] = median(&mut seen);
    }
    fill_facts(&mut derived, capture, &in_worker, &on_main);
    let users = capture.domains.iter().filter(|d| !d.users.is_empty()).count();
    match switched {
        Some(s) => s.put(&mut derived.board, &place),
        None if users > 0 => derived.assumptions.push(Assumed::DomainsUnknown(users)),
        None => {}
    }
    take_vanished(&mut derived, &cycles, &place);
    say_rest(&mut derived, capture, &cycles);
    derived.place = place;
    Ok(derived)
}

/// The cycles that [`derive`] uses, in order.
pub fn chosen_cycles(capture: &Capture) -> Vec<&Cycle> {
    let has_devices = |c: &&Cycle| c.callbacks.iter().any(|c| c.phase.may_be_async());
    let usable: Vec<&Cycle> = capture.cycles.iter().filter(has_devices).collect();
    let whole: Vec<&Cycle> = usable
        .iter()
        .copied()
        .filter(|c| matches!(c.outcome, Outcome::Slept | Outcome::Partial))
        .collect();
    let usable = if whole.is_empty() { usable } else { whole };
    // A hibernation says nothing of a suspend's callbacks.
    let trip = usable.first().map(|c| trip::first(c)).unwrap_or_default();
    let usable: Vec<&Cycle> = usable.into_iter().filter(|c| trip::first(c) == trip).collect();
    // The first cycle after boot has cold pools and late work of its own.
    if usable.iter().any(|c| !c.first_after_boot) {
        usable.into_iter().filter(|c| !c.first_after_boot).collect()
    } else {
        usable
    }
}

/// Devices that no used cycle prepared were not there then: a cycle that is left
/// out had them, as a mouse that was plugged in again has a new input device.
/// They are in no list, so nobody waits for them.
fn take_absent(graph: &mut DeviceGraph, capture: &Capture, cycles: &[&Cycle]) {
    if graph.links_known || cycles.len() == capture.cycles.len() {
        return;
    }
    let lists = |c: &&Cycle| c.callbacks.iter().any(|b| b.phase == Phase::Prepare);
    if !order_is_known(graph, cycles) || !cycles.iter().all(lists) {
        return;
    }
    let mut there = vec![false; graph.devices.len()];
    for c in cycles.iter().flat_map(|c| &c.callbacks) {
        if let Some(t) = there.get_mut(c.device.index()) {
            *t = true;
        }
    }
    for (device, _) in graph.devices.iter_mut().zip(there).filter(|(_, there)| !there) {
        device.facts.no_pm = true;
    }
}

/// The graph with superiors before subordinates, and where every device went.
fn ordered(graph: &DeviceGraph, cycles: &[&Cycle]) -> (DeviceGraph, Vec<u32>) {
    let n = graph.devices.len();
    let known = order_is_known(graph, cycles);
    let seen = match known {
        // A recording that lists all devices lists them in order.
        true if graph.links_known => (0..n as u32).collect(),
        true => prepared_order(graph, cycles),
        false => observed_order(graph, cycles),
    };
    let walked = |d: &&u32| !graph.devices[**d as usize].facts.no_pm;
    let expected = seen.clone();
    let parent_of =
        |d: usize| graph.devices[d].parent.map(DeviceId::index).filter(|&p| p < n && p != d);
    // Depth first over parents; a circle of parents is cut where it closes.
    let mut order: Vec<u32> = Vec::with_capacity(n);
    let mut state = vec![0u8; n];
    let mut stack = Vec::new();
    for d in seen {
        let mut at = d as usize;
        loop {
            if state[at] != 0 {
                break;
            }
            state[at] = 1;
            stack.push(at);
            match parent_of(at) {
                Some(p) => at = p,
                None => break,
            }
        }
        while let Some(d) = stack.pop() {
            order.push(d as u32);
        }
    }
    let reordered = order.iter().filter(walked).ne(expected.iter().filter(walked));
    let mut place = vec![0u32; n];
    for (i, &d) in order.iter().enumerate() {
        place[d as usize] = i as u32;
    }
    let moved = |d: DeviceId| DeviceId(place.get(d.index()).copied().unwrap_or(d.0));
    let mut new = DeviceGraph {
        devices: Vec::with_capacity(n),
        links: graph.links.clone(),
        order_known: known && !reordered,
        needs: graph.needs.iter().map(|n| (moved(n.0), moved(n.1))).collect(),
        links_known: graph.links_known,
    };
    for (i, &d) in order.iter().enumerate() {
        let mut device = graph.devices[d as usize].clone();
        device.parent =
            device.parent.filter(|p| p.index() < n).map(moved).filter(|p| p.index() < i);
        new.devices.push(device);
    }
    new.links.retain(|l| l.consumer.index() < n && l.supplier.index() < n);
    for l in &mut new.links {
        l.consumer = moved(l.consumer);
        l.supplier = moved(l.supplier);
    }
    new.links.retain(|l| l.consumer != l.supplier);
    (new, place)
}

fn times(
    cycle: &Cycle,
    place: &[u32],
    n: usize,
    switched: Option<&Switched>,
    in_worker: &mut [bool],
    on_main: &mut [bool],
) -> Times {
    let mut times = vec![[None; 8]; n];
    // Of a hibernation that goes down twice only the first time counts (`trips`).
    let (trip, one) = (trip::first(cycle), trip::count(cycle) == 1);
    let mains = main_threads(cycle);
    let threads = mains.contains(&true);
    let switched = switched.map(|s| (s, s.times(cycle)));
    for c in &cycle.callbacks {
        let Some(index) = c.phase.device_index() else { continue };
        let Some(&d) = place.get(c.device.index()) else { continue };
        if !c.complete || !(one || c.event == trip.event(c.phase.direction())) {
            continue;
        }
        let d = d as usize;
        let slot: &mut Option<Ns> = &mut times[d][index];
        let others = switched.as_ref().map_or(Ns::ZERO, |(s, times)| s.part(c, times));
        *slot = Some(slot.unwrap_or(Ns::ZERO) + (c.duration() - others));
        if c.phase.may_be_async() {
            match mains.get(usize::from(c.thread.0)) {
                Some(true) => on_main[d] = true,
                Some(false) if threads => in_worker[d] = true,
                _ => {}
            }
        }
    }
    times
}

fn fill_work(derived: &mut Derived) {
    let n = derived.board.devices.len();
    let mut seen: Vec<Ns> = Vec::with_capacity(derived.cycles.len());
    for d in 0..n {
        for index in 0..8 {
            seen.clear();
            seen.extend(derived.cycles.iter().filter_map(|c| c[d][index]));
            // A callback that most cycles skipped is not expected again. One that
            // half of them skipped counts there as no time: the medians of its phase,
            // which the simulation is held against, have those cycles in them too.
            let skipped = derived.cycles.len() - seen.len();
            if skipped > seen.len() {
                continue;
            }
            if skipped == seen.len() {
                seen.resize(derived.cycles.len(), Ns::ZERO);
            }
            let Some(time) = median(&mut seen) else { continue };
            let called = derived.cycles.iter().any(|c| c[d][1..7].iter().any(Option::is_some));
            if matches!(index, 0 | 7) && time < if called { FRAME } else { LONG_FRAME } {
                continue;
            }
            derived.board.devices[d].work[index] = Some(Work { sleep: time, ..Work::default() });
        }
    }
}

fn fill_facts(derived: &mut Derived, capture: &Capture, in_worker: &[bool], on_main: &[bool]) {
    let board = &mut derived.board;
    let any_worker = in_worker.iter().any(|&w| w);
    let (mut seen, mut unknown) = (0u32, 0u32);
    for (d, device) in board.graph.devices.iter_mut().enumerate() {
        let b = &mut board.devices[d];
        b.wakeup = device.facts.wakeup == Some(true);
        b.runtime_suspended = capture.names.get(device.facts.runtime_status) == "suspended";
        // A list of flags by name can be wrong for devices that share a name;
        // the thread a callback ran in cannot.
        let contradicted = match device.async_flag {
            Some(true) => any_worker && on_main[d] && !in_worker[d],
            Some(false) => in_worker[d],
            None => true,
        };
        if contradicted && !device.facts.no_pm {
            if in_worker[d] {
                seen += 1;
                device.async_flag = Some(true);
            } else if on_main[d] && any_worker {
                seen += 1;
                device.async_flag = Some(false);
            } else {
                unknown += 1;
            }
        }
    }
    // A log that switches CPUs off or on names all but the first.
    let switched = capture.cycles.iter().flat_map(|c| &c.phases);
    let switched = switched.filter(|p| matches!(p.phase, Phase::CpuOff | Phase::CpuOn));
    let named = switched.map(|p| p.cpu).max().map(|last| last.saturating_add(1));
    let known = capture.machine.cpus.filter(|&c| c > 0).or(named);
    board.cpus = known.unwrap_or(4);
    // Asynchronous devices that ran on the main thread, and nothing in a worker:
    // the switch was off in these cycles, whatever another one shows.
    let off = !any_worker
        && on_main.iter().zip(&board.graph.devices).any(|(&m, d)| m && d.async_flag == Some(true));
    board.pm_async = !off && capture.machine.pm_async.unwrap_or(any_worker);
    let say = &mut derived.assumptions;
    if known.is_none() {
        say.push(Assumed::Cpus(board.cpus));
    }
    if capture.machine.pm_async.is_none() {
        say.push(Assumed::PmAsync(any_worker));
    }
    if seen > 0 {
        say.push(Assumed::FlagsOfThreads(seen));
    }
    if unknown > 0 {
        say.push(Assumed::FlagsUnknown(unknown));
    }
}

/// Devices that were prepared and never completed were unregistered on the way
/// (a USB driver that is unbound in suspend takes its class devices with it).
/// Nobody waits for them on the way up. The board has no word for that; a
/// syscore device behaves so, and what is lost is their own short suspend.
fn take_vanished(derived: &mut Derived, cycles: &[&Cycle], place: &[u32]) {
    const SHORT: Ns = Ns(1_000_000);
    let n = derived.board.devices.len();
    let mut count = vec![(0u32, 0u32); n];
    for cycle in cycles {
        let whole = |p: Phase| cycle.phase(p).is_some_and(|s| s.complete);
        if !whole(Phase::Prepare) || !whole(Phase::Complete) {
            continue;
        }
        for c in &cycle.callbacks {
            let Some(&d) = place.get(c.device.index()) else { continue };
            match c.phase {
                Phase::Prepare => count[d as usize].0 += 1,
                Phase::Complete => count[d as usize].1 += 1,
                _ => {}
            }
        }
    }
    let mut vanished = 0;
    for (d, &(prepared, completed)) in count.iter().enumerate() {
        let device = &mut derived.board.devices[d];
        let own: Ns = device.work.iter().flatten().map(|w| w.sleep).sum();
        if prepared > 0 && completed * 2 < prepared && own < SHORT {
            device.work = [None; 8];
            derived.board.graph.devices[d].facts.syscore = true;
            vanished += 1;
        }
    }
    if vanished > 0 {
        derived.assumptions.push(Assumed::Vanished(vanished));
    }
}

fn say_rest(derived: &mut Derived, capture: &Capture, cycles: &[&Cycle]) {
    let graph = &derived.board.graph;
    let say = &mut derived.assumptions;
    if !graph.order_known {
        say.push(Assumed::Order);
    }
    if !graph.links_known {
        say.push(Assumed::Links);
    }
    let orphans = graph
        .devices
        .iter()
        .filter(|d| d.parent.is_none() && !d.parent_name.is_empty())
        .filter(|d| capture.names.get(d.parent_name) != "none")
        .count();
    if orphans > 0 {
        say.push(Assumed::Orphans(orphans));
    }
    say.push(Assumed::CallbacksSleep);
    if cycles.len() == 1 {
        say.push(Assumed::OneCycle);
    }
    let ended = |o: Outcome| !matches!(o, Outcome::Slept | Outcome::Partial);
    let failed = capture.cycles.iter().filter(|c| ended(c.outcome)).count();
    if failed > 0 && cycles.iter().all(|c| !ended(c.outcome)) {
        say.push(Assumed::LeftOut { failed, of: capture.cycles.len() });
    }
}

fn median(values: &mut [Ns]) -> Option<Ns> {
    middle(values, Ns::mean)
}
