//! Joins what the recorder read from sysfs with what the trace showed.
//!
//! The trace gives names, parents and the order of `dpm_list`; the tables give
//! everything else. The tracker matches a device by its name, its parent and
//! the word that a trace prints for its driver (driver, else bus, else class),
//! because names alone repeat on different buses.

use super::domains;
use crate::dtb::named::suppliers;
use crate::track::Tracker;
use dormouse_base::capture::Capture;
use dormouse_base::cycle::{Cycle, Mode, Outcome, PmTestLevel, SideEvent, Waiting};
use dormouse_base::device::{Device, DeviceGraph, DeviceId, Facts, Link, LinkKind};
use dormouse_base::loss::{Losses, Severity};
use dormouse_base::names::{Names, Sym};
use dormouse_base::time::Ns;
use dormouse_capture::schema::{CaptureFile, CycleStats, DeviceRow, LinkRow, link_of_board};
use std::collections::{HashMap, HashSet};

/// Adds the tables and the document of `file` to `capture`, whose cycles were
/// read from the traces of the same file by a tracker that had
/// [`add_devices`].
pub fn merge(file: &CaptureFile, capture: &mut Capture) {
    machine(file, capture);
    let place = join(file, capture);
    links(file, capture, &place);
    // By the names that the kernel has.
    domains::add(file, capture);
    rename(file, capture);
    // Each cycle has the kernel's own answer, so nothing is left to guess.
    capture.losses.list.retain(|l| l.kind != "abort_cause_unproven");
    losses(file, &mut capture.losses);
}

fn machine(file: &CaptureFile, capture: &mut Capture) {
    let d = &file.document;
    let (names, m) = (&mut capture.names, &mut capture.machine);
    m.host = names.add(&d.machine.host);
    let model = format!("{} {}", d.machine.vendor, d.machine.model);
    m.model = names.add(model.trim());
    m.command_line = names.add(&d.kernel.command_line);
    m.cpus = u32::try_from(d.machine.topology.len()).ok().filter(|&n| n > 0);
    m.tick = d.kernel.tick_ns.map(Ns).filter(|t| *t > Ns::ZERO);
    m.pm_async = file.cycles.iter().find_map(|c| c.stats.pm_async);
}

/// Gives the tracker every device of the list, so that events find the right
/// one. Each is known again by its `devpath`, which is unique.
pub(crate) fn add_devices(file: &CaptureFile, tracker: &mut Tracker) {
    let by_path: HashMap<&str, usize> =
        file.devices.iter().enumerate().map(|(i, r)| (r.devpath.as_str(), i)).collect();
    for r in file.devices.iter().filter(|r| !r.no_pm) {
        let parent = by_path.get(r.parent.as_str()).map_or("", |&i| &file.devices[i].name);
        let mut device = device_of(r, tracker.names());
        device.parent_name = tracker.names().add(parent);
        device.facts.devpath = tracker.names().add(&r.devpath);
        tracker.add_device(device);
    }
}

/// For each device of the capture the row that it is, if an event met it; the
/// listed devices that no event met are marked `false`.
fn match_rows(file: &CaptureFile, capture: &Capture) -> (Vec<Option<usize>>, Vec<bool>) {
    let by_path: HashMap<&str, usize> =
        file.devices.iter().enumerate().map(|(i, r)| (r.devpath.as_str(), i)).collect();
    let graph = &capture.graph;
    let mut met = vec![false; graph.devices.len()];
    for c in &capture.cycles {
        for cb in &c.callbacks {
            met[cb.device.index()] = true;
        }
        if let Outcome::AbortedByDevice { device: Some(d), .. } = c.outcome {
            met[d.index()] = true;
        }
    }
    let row_of = |d: &Device| by_path.get(capture.names.get(d.facts.devpath)).copied();
    let mut rows: Vec<Option<usize>> =
        graph.devices.iter().zip(&met).map(|(d, m)| row_of(d).filter(|_| *m)).collect();
    // The trace names a device with another driver than sysfs did (it was
    // bound in between) or another parent: its name alone tells, if unique.
    let mut unmet: HashMap<Sym, Option<usize>> = HashMap::new();
    for (d, _) in graph.devices.iter().zip(&met).filter(|(_, m)| !**m) {
        let row = row_of(d);
        unmet.entry(d.name).and_modify(|r| *r = None).or_insert(row);
    }
    for ((row, d), met) in rows.iter_mut().zip(&graph.devices).zip(&met) {
        if row.is_none() && *met {
            *row = unmet.get_mut(&d.name).and_then(Option::take);
        }
    }
    // A device that is in no table stays, met or not.
    let keep = graph.devices.iter().zip(&met).map(|(d, m)| *m || row_of(d).is_none()).collect();
    (rows, keep)
}

/// Completes the graph: facts of the devices that were met, and those that were
/// not. Of these, the ones superior to a met device go in front of it and the
/// rest to the tail, so that superiors stay before subordinates. Returns where
/// each row's device is.
fn join(file: &CaptureFile, capture: &mut Capture) -> Vec<DeviceId> {
    let n = file.devices.len();
    let by_path: HashMap<&str, usize> =
        file.devices.iter().enumerate().map(|(i, r)| (r.devpath.as_str(), i)).collect();
    // A damaged table may name a device as its own ancestor: a parent must have
    // a shorter path, which excludes loops.
    let parent_row = |i: usize| {
        let r = &file.devices[i];
        by_path.get(r.parent.as_str()).copied().filter(|_| r.parent.len() < r.devpath.len())
    };
    let (rows, keep) = match_rows(file, capture);
    let met: HashSet<usize> = rows.iter().flatten().copied().collect();
    let old = std::mem::take(&mut capture.graph);
    let mut graph = DeviceGraph {
        order_known: old.order_known,
        links_known: old.links_known,
        ..DeviceGraph::default()
    };
    let mut place: Vec<Option<DeviceId>> = vec![None; n];
    let mut moved: Vec<Option<DeviceId>> = Vec::with_capacity(old.devices.len());
    let names = &mut capture.names;

    for ((device, row), keep) in old.devices.into_iter().zip(&rows).zip(keep) {
        if !keep {
            moved.push(None);
            continue;
        }
        let mut above = Vec::new();
        let mut up = row.and_then(parent_row);
        while let Some(p) = up.filter(|p| place[*p].is_none() && !met.contains(p)) {
            above.push(p);
            up = parent_row(p);
        }
        for p in above.into_iter().rev() {
            place[p] = Some(graph.push(device_of(&file.devices[p], names)));
        }
        let id = graph.push(device);
        moved.push(Some(id));
        if let Some(row) = *row {
            place[row] = Some(id);
        }
    }
    for (row, place) in place.iter_mut().enumerate() {
        if place.is_none() {
            *place = Some(graph.push(device_of(&file.devices[row], names)));
        }
    }
    let place: Vec<DeviceId> = place.into_iter().flatten().collect();

    let new_id = |old: DeviceId| moved.get(old.index()).copied().flatten();
    for d in &mut graph.devices {
        d.parent = d.parent.and_then(new_id);
    }
    for (row, &id) in place.iter().enumerate() {
        let r = &file.devices[row];
        let d = &mut graph.devices[id.index()];
        d.subsystem = names.add(&r.subsystem);
        d.async_flag = r.async_flag.or(d.async_flag);
        d.facts = facts(r, names);
        d.parent = parent_row(row).map(|p| place[p]);
        d.parent_name = parent_row(row).map_or(Sym::EMPTY, |p| names.add(&file.devices[p].name));
    }
    for c in &mut capture.cycles {
        c.renumber(new_id);
    }
    capture.graph = graph;
    place
}

fn device_of(r: &DeviceRow, names: &mut Names) -> Device {
    let driver = if r.driver.is_empty() { &r.subsystem } else { &r.driver };
    Device { name: names.add(&r.name), driver: names.add(driver), ..Device::default() }
}

fn facts(r: &DeviceRow, names: &mut Names) -> Facts {
    Facts {
        devpath: names.add(&r.devpath),
        of_fullname: names.add(&r.of_fullname),
        firmware_node: names.add(&r.firmware_node),
        modalias: names.add(&r.modalias),
        module: names.add(&r.module),
        wakeup: r.wakeup,
        runtime_status: names.add(&r.runtime_status),
        runtime_control: names.add(&r.control),
        essential: names.add(&r.essential),
        class: r.class == Some(true),
        no_pm: r.no_pm,
        syscore: false,
        guest: r.guest,
    }
}

/// What a link's status and flags mean for scheduling.
fn link_kind(r: &LinkRow) -> LinkKind {
    match r.status.as_str() {
        "dormant" => LinkKind::Dormant,
        _ if r.sync_state_only == Some(true) => LinkKind::SyncStateOnly,
        "not tracked" => LinkKind::Stateless,
        _ => LinkKind::Active,
    }
}

fn links(file: &CaptureFile, capture: &mut Capture, place: &[DeviceId]) {
    let by_path: HashMap<&str, DeviceId> =
        file.devices.iter().zip(place).map(|(r, id)| (r.devpath.as_str(), *id)).collect();
    for r in &file.links {
        match (by_path.get(r.consumer.as_str()), by_path.get(r.supplier.as_str())) {
            (Some(&consumer), Some(&supplier)) => capture.graph.links.push(Link {
                consumer,
                supplier,
                kind: link_kind(r),
                pm_runtime: r.runtime_pm == Some(true),
            }),
            _ => capture.losses.add(
                "capture_link_unknown_device",
                1,
                Severity::Warning,
                "a device link names a device that is not in the list, so it was left out",
                None,
            ),
        }
    }
    capture.graph.needs = needs(file, place);
    capture.graph.links_known = !file.devices.is_empty();
}

/// What the nodes of the device tree name, as devices. A node without a device is a part
/// of the nearest one above that has one, as a regulator is of its chip.
fn needs(file: &CaptureFile, place: &[DeviceId]) -> Vec<(DeviceId, DeviceId)> {
    let release = &file.document.kernel.release;
    let pairs = suppliers(&file.tree, release).unwrap_or_default();
    let mut by_node: HashMap<&str, DeviceId> = HashMap::new();
    for (r, &id) in file.devices.iter().zip(place).filter(|(r, _)| !r.of_fullname.is_empty()) {
        // Of several devices of one node the first is the node's own.
        by_node.entry(&r.of_fullname).or_insert(id);
    }
    let owner = |node: &str| {
        let mut at = node;
        loop {
            if let Some(&id) = by_node.get(at) {
                return Some(id);
            }
            at = at.rsplit_once('/')?.0;
        }
    };
    let mut found: Vec<(DeviceId, DeviceId)> = pairs
        .iter()
        .filter_map(|(consumer, supplier)| Some((owner(consumer)?, owner(supplier)?)))
        .filter(|(consumer, supplier)| consumer != supplier)
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Gives the devices of a replay the names of the machine they stand for. All
/// others are devices of the guest itself.
fn rename(file: &CaptureFile, capture: &mut Capture) {
    if file.names.is_empty() {
        return;
    }
    let of_board = file.of_board();
    let names = &mut capture.names;
    let map: HashMap<Sym, usize> =
        file.names.iter().enumerate().map(|(i, r)| (names.add(&r.guest), i)).collect();
    for e in capture.cycles.iter_mut().flat_map(|c| &mut c.events) {
        if names.get(e.name).starts_with("rpm_") {
            rename_event(file, names, &map, e);
        }
    }
    for d in &mut capture.graph.devices {
        if let Some(&i) = map.get(&d.parent_name) {
            d.parent_name = names.add(&file.names[i].name);
        }
        match map.get(&d.name) {
            None => {
                d.facts.guest = true;
                // A device link is a device of its own, called by both ends.
                let renamed = link_of_board(names.get(d.name), &of_board);
                if let Some(name) = renamed {
                    d.name = names.add(&name);
                }
            }
            Some(&i) => {
                let r = &file.names[i];
                d.name = names.add(&r.name);
                d.driver = names.add(&r.driver);
                d.subsystem = names.add(&r.subsystem);
                d.facts.devpath = names.add(&r.devpath);
                d.facts.guest = false;
            }
        }
    }
}

/// `NAME flags-…` or `FUNCTION:NAME ret=…`.
fn rename_event(
    file: &CaptureFile,
    names: &mut Names,
    map: &HashMap<Sym, usize>,
    e: &mut SideEvent,
) {
    let text = names.get(e.text);
    let (front, name, back) = match (text.split_once(" flags-"), text.split_once(':')) {
        (Some((name, _)), _) => ("", name, &text[name.len()..]),
        (None, Some((call, rest))) => {
            let name = rest.split(' ').next().unwrap_or(rest);
            (&text[..=call.len()], name, &rest[name.len()..])
        }
        _ => return,
    };
    let Some(&i) = names.find(name).and_then(|sym| map.get(&sym)) else { return };
    let renamed = format!("{front}{}{back}", file.names[i].name);
    e.text = names.add(&renamed);
}

fn losses(file: &CaptureFile, losses: &mut Losses) {
    for l in &file.document.losses {
        let kind = match l.kind.as_str() {
            "devices_unreadable" => "devices_unreadable",
            "trace_unavailable" => "trace_unavailable",
            "log_unavailable" => "log_unavailable",
            _ => "recorder_loss",
        };
        losses.add(kind, l.count, Severity::Warning, l.advice.clone(), None);
    }
    for c in &file.cycles {
        losses.add(
            "recorder_lost_events",
            c.stats.lost_events.values().sum(),
            Severity::Error,
            "the kernel's trace buffer was too small: record again with a larger --buffer or fewer events (--with)",
            None,
        );
        losses.add(
            "recorder_lost_log_records",
            c.stats.log_records_lost,
            Severity::Warning,
            "the kernel log overflowed during a cycle: boot with a larger log_buf_len",
            None,
        );
    }
}

/// Adds to a cycle what only `stats.json` knows.
pub(crate) fn apply_stats(stats: &CycleStats, kernel: Sym, names: &mut Names, cycle: &mut Cycle) {
    cycle.kernel = kernel;
    cycle.mode = mode(stats);
    cycle.first_after_boot = stats.suspends_before == Some(0);
    cycle.wakers = Some(stats.wakeup_sources.iter().map(|w| names.add(w)).collect());
    let counts = &mut cycle.counts;
    counts.dirty_bytes = stats.dirty_bytes;
    counts.writeback_bytes = stats.writeback_bytes;
    counts.workers_created = counts.workers_created.or(stats.counts.workers_created);
    for w in &stats.waiting {
        let (name, function) = (names.add(&w.name), names.add(&w.function));
        cycle.waiting.push(Waiting { pid: w.pid, name, function });
    }
    // The kernel's answer to the write proves what a trace alone leaves open.
    const EBUSY: i32 = -16;
    let guessed =
        matches!(cycle.outcome, Outcome::Slept | Outcome::Partial | Outcome::AbortedByWakeup);
    if guessed && !cycle.phases.is_empty() {
        cycle.outcome = match stats.result {
            0 => Outcome::Slept,
            EBUSY => Outcome::AbortedByWakeup,
            errno => Outcome::AbortedByDevice { device: None, errno },
        };
    }
}

fn mode(stats: &CycleStats) -> Mode {
    if let Some(level) = PmTestLevel::find(&stats.pm_test) {
        return Mode::PmTest(level);
    }
    match (stats.state.as_str(), stats.mem_sleep.as_str()) {
        ("mem", "deep") => Mode::Deep,
        ("mem", "s2idle") | ("freeze", _) => Mode::S2idle,
        ("mem", "shallow") | ("standby", _) => Mode::Standby,
        ("disk", _) => Mode::Disk,
        _ => Mode::Unknown,
    }
}
