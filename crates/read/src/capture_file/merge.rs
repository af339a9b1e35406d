//! Joins what the recorder read from sysfs with what the trace showed.
//!
//! The trace gives names, parents and the order of `dpm_list`; the tables give
//! everything else. A device is matched by name and parent, then by the word
//! the trace prints for its driver (driver, else bus, else class), because
//! names alone repeat on different buses.

use super::schema::{CaptureFile, CycleStats, DeviceRow, LinkRow};
use dormouse_core::capture::Capture;
use dormouse_core::cycle::{Cycle, Mode, Outcome, PmTestLevel};
use dormouse_core::device::{Device, DeviceGraph, DeviceId, Facts, Link, LinkKind};
use dormouse_core::loss::{Losses, Severity};
use dormouse_core::names::{Names, Sym};
use std::collections::{HashMap, HashSet};

/// Adds the tables and the document of `file` to `capture`, whose cycles were
/// read from the traces of the same file.
pub fn merge(file: &CaptureFile, capture: &mut Capture) {
    machine(file, capture);
    let rows = match_rows(file, capture);
    let place = join(file, capture, &rows);
    links(file, capture, &place);
    rename(file, capture);
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
    m.pm_async = file.cycles.iter().find_map(|c| c.stats.pm_async);
}

/// For each device of the trace the row of `devices.tsv` that is the same
/// device.
fn match_rows(file: &CaptureFile, capture: &Capture) -> Vec<Option<usize>> {
    let by_path: HashMap<&str, usize> =
        file.devices.iter().enumerate().map(|(i, r)| (r.devpath.as_str(), i)).collect();
    let parent_name = |r: &DeviceRow| -> String {
        by_path.get(r.parent.as_str()).map_or_else(String::new, |&i| file.devices[i].name.clone())
    };
    let mut by_key: HashMap<(String, String), Vec<usize>> = HashMap::new();
    // The last resort is the name alone: devices move to other parents.
    let mut by_name: HashMap<&str, Vec<usize>> = HashMap::new();
    for (i, r) in file.devices.iter().enumerate() {
        by_key.entry((r.name.clone(), parent_name(r))).or_default().push(i);
        by_name.entry(&r.name).or_default().push(i);
    }
    let mut used = HashSet::new();
    let none = Vec::new();
    capture
        .graph
        .devices
        .iter()
        .map(|d| {
            let name = capture.names.get(d.name);
            let parent = match capture.names.get(d.parent_name) {
                "none" => "",
                p => p,
            };
            let driver = capture.names.get(d.driver);
            let exact = by_key.get(&(name.to_string(), parent.to_string())).unwrap_or(&none);
            let loose = by_name.get(name).unwrap_or(&none);
            let word = |r: &DeviceRow| {
                if r.driver.is_empty() { r.subsystem.clone() } else { r.driver.clone() }
            };
            let free = |i: &usize| !used.contains(i);
            let found = exact
                .iter()
                .copied()
                .find(|i| free(i) && word(&file.devices[*i]) == driver)
                .or_else(|| exact.iter().copied().find(free))
                .or_else(|| loose.iter().copied().find(free).filter(|_| loose.len() == 1));
            used.extend(found);
            found
        })
        .collect()
}

/// Completes the graph: facts of the devices that were seen, and the devices
/// that the trace did not show. Those which are superior to a seen device go
/// in front of it, the rest to the tail, so that superiors stay before
/// subordinates. Returns where each row's device is.
fn join(file: &CaptureFile, capture: &mut Capture, rows: &[Option<usize>]) -> Vec<DeviceId> {
    let n = file.devices.len();
    let by_path: HashMap<&str, usize> =
        file.devices.iter().enumerate().map(|(i, r)| (r.devpath.as_str(), i)).collect();
    // A damaged table may name a device as its own ancestor: a parent must come
    // from a shorter path, which excludes loops.
    let parent_row = |i: usize| {
        let r = &file.devices[i];
        by_path.get(r.parent.as_str()).copied().filter(|_| r.parent.len() < r.devpath.len())
    };
    let seen: HashSet<usize> = rows.iter().flatten().copied().collect();
    let old = std::mem::take(&mut capture.graph.devices);
    let mut graph = DeviceGraph {
        order_known: capture.graph.order_known,
        links: std::mem::take(&mut capture.graph.links),
        links_known: capture.graph.links_known,
        ..DeviceGraph::default()
    };
    let mut place: Vec<Option<DeviceId>> = vec![None; n];
    let mut moved: Vec<DeviceId> = Vec::with_capacity(old.len());
    let names = &mut capture.names;
    let unseen_device = |row: usize, names: &mut Names| device_of(&file.devices[row], names);

    for (device, row) in old.into_iter().zip(rows) {
        if let Some(row) = *row {
            let mut above = Vec::new();
            let mut up = parent_row(row);
            while let Some(p) = up {
                if place[p].is_some() || seen.contains(&p) {
                    break;
                }
                above.push(p);
                up = parent_row(p);
            }
            for p in above.into_iter().rev() {
                let d = unseen_device(p, names);
                place[p] = Some(graph.push(d));
            }
        }
        let id = graph.push(device);
        moved.push(id);
        if let Some(row) = *row {
            place[row] = Some(id);
        }
    }
    for row in 0..n {
        if place[row].is_none() {
            let d = unseen_device(row, names);
            place[row] = Some(graph.push(d));
        }
    }
    let place: Vec<DeviceId> = place.into_iter().flatten().collect();

    // Ids of the trace's devices changed: everything that refers to them.
    for d in &mut graph.devices {
        d.parent = d.parent.and_then(|p| moved.get(p.index()).copied());
    }
    for (row, &id) in place.iter().enumerate() {
        let r = &file.devices[row];
        let d = &mut graph.devices[id.index()];
        d.subsystem = names.add(&r.subsystem);
        d.async_flag = r.async_flag.or(d.async_flag);
        d.facts = facts(r, names);
        if let Some(p) = parent_row(row) {
            d.parent = Some(place[p]);
            d.parent_name = names.add(&file.devices[p].name);
        }
    }
    for c in &mut capture.cycles {
        for cb in &mut c.callbacks {
            cb.device = moved[cb.device.index()];
        }
        if let Outcome::AbortedByDevice { device: Some(d), .. } = &mut c.outcome {
            *d = moved[d.index()];
        }
    }
    for l in &mut graph.links {
        l.consumer = moved[l.consumer.index()];
        l.supplier = moved[l.supplier.index()];
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
    let by_path: HashMap<&str, DeviceId> = file
        .devices
        .iter()
        .zip(place)
        .map(|(r, id)| (r.devpath.as_str(), *id))
        .collect();
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
    capture.graph.links_known = !file.devices.is_empty();
}

/// Gives the devices of a replay the names of the machine they stand for. All
/// others are devices of the guest itself.
fn rename(file: &CaptureFile, capture: &mut Capture) {
    if file.names.is_empty() {
        return;
    }
    let names = &mut capture.names;
    let map: HashMap<Sym, usize> =
        file.names.iter().enumerate().map(|(i, r)| (names.add(&r.guest), i)).collect();
    for d in &mut capture.graph.devices {
        if let Some(&i) = map.get(&d.parent_name) {
            d.parent_name = names.add(&file.names[i].name);
        }
        match map.get(&d.name) {
            None => d.facts.guest = true,
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
            "the kernel's trace buffer was too small: record again with a larger --buffer or fewer --detail events",
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
pub fn apply_stats(stats: &CycleStats, kernel: Sym, cycle: &mut Cycle) {
    cycle.kernel = kernel;
    cycle.mode = mode(stats);
    cycle.first_after_boot = stats.suspends_before == Some(0);
    let counts = &mut cycle.counts;
    counts.dirty_bytes = stats.dirty_bytes;
    counts.writeback_bytes = stats.writeback_bytes;
    counts.workers_created = counts.workers_created.or(stats.counts.workers_created);
    const EBUSY: i32 = -16;
    match (cycle.outcome, stats.result) {
        (Outcome::Slept | Outcome::Partial, EBUSY) => cycle.outcome = Outcome::AbortedByWakeup,
        (Outcome::Slept | Outcome::Partial, e) if e < 0 => {
            cycle.outcome = Outcome::AbortedByDevice { device: None, errno: e };
        }
        (Outcome::Partial, 0) if !cycle.phases.is_empty() => cycle.outcome = Outcome::Slept,
        _ => {}
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
