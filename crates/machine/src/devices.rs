//! The device list and the device links, from sysfs.
//!
//! A folder below `/sys/devices` is a device if it has a file `uevent`; with a
//! folder `power` the PM core visits it, without it the device is `no_pm`
//! (true on 6.1 to 7.3). The parent is the nearest folder above that is a
//! device: folders such as `net` or `wakeup` in between only group.
//!
//! sysfs numbers its nodes in the order in which they are made, so sorting by
//! inode gives the order of registration, which is the order of `dpm_list`
//! before links and deferred probes moved anything.

use crate::root::Root;
use crate::system::number_of;
use dormouse_capture::schema::{DeviceRow, LinkRow};
use std::collections::BTreeMap;
use std::fs;

/// Deepest folder that is looked into; real trees end at about 25.
const DEPTH_LIMIT: usize = 64;

/// Every device, in order of registration. The second value counts folders
/// that could not be read.
pub fn devices(root: &Root) -> (Vec<DeviceRow>, u64) {
    let mut found = Vec::new();
    let mut unreadable = 0;
    // Folder, nearest device above, depth.
    let mut todo = vec![("/devices".to_string(), String::new(), 0)];
    while let Some((folder, above, depth)) = todo.pop() {
        let place = root.resolve(&format!("/sys{folder}"));
        let Ok(entries) = fs::read_dir(&place) else {
            // A device that went away while we were walking.
            unreadable += 1;
            continue;
        };
        let mut folders = Vec::new();
        let (mut uevent, mut power) = (false, false);
        for e in entries.flatten() {
            let Ok(name) = e.file_name().into_string() else { continue };
            match e.file_type() {
                Ok(t) if t.is_dir() && name == "power" => power = true,
                Ok(t) if t.is_dir() => folders.push(name),
                Ok(t) if t.is_file() && name == "uevent" => uevent = true,
                _ => {}
            }
        }
        let nearest = if uevent {
            let order = fs::metadata(&place).map_or(0, |m| number_of(&m));
            found.push((order, device(root, &folder, &above, !power)));
            folder.clone()
        } else {
            above
        };
        if depth < DEPTH_LIMIT {
            todo.extend(
                folders.into_iter().map(|f| (format!("{folder}/{f}"), nearest.clone(), depth + 1)),
            );
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| a.1.devpath.cmp(&b.1.devpath)));
    (found.into_iter().map(|f| f.1).collect(), unreadable)
}

/// The name of a module, unless it is part of the kernel: sysfs has folders for
/// both, but only what was loaded has a state.
fn loadable(root: &Root, module: String) -> String {
    let state = format!("/sys/module/{module}/initstate");
    if module.is_empty() || root.read(&state).is_none() { String::new() } else { module }
}

fn device(root: &Root, devpath: &str, parent: &str, no_pm: bool) -> DeviceRow {
    let at = |file: &str| format!("/sys{devpath}/{file}");
    let text = |file: &str| root.read(&at(file)).unwrap_or_default();
    let link = |file: &str| root.link_name(&at(file)).unwrap_or_default();
    let uevent = text("uevent");
    let variable = |name: &str| {
        uevent
            .lines()
            .find_map(|l| l.strip_prefix(name)?.strip_prefix('='))
            .unwrap_or_default()
            .to_string()
    };
    let mut row = DeviceRow {
        devpath: devpath.into(),
        name: devpath.rsplit('/').next().unwrap_or_default().into(),
        parent: parent.into(),
        subsystem: link("subsystem"),
        driver: link("driver"),
        module: loadable(root, link("driver/module")),
        no_pm,
        of_fullname: variable("OF_FULLNAME"),
        firmware_node: root
            .read(&at("firmware_node/path"))
            .filter(|p| !p.is_empty())
            .unwrap_or_else(|| link("firmware_node")),
        modalias: variable("MODALIAS"),
        class: root.is_class(&at("subsystem")),
        ..DeviceRow::default()
    };
    if !no_pm {
        row.async_flag = match text("power/async").as_str() {
            "enabled" => Some(true),
            "disabled" => Some(false),
            _ => None,
        };
        row.wakeup = match text("power/wakeup").as_str() {
            "enabled" => Some(true),
            "disabled" => Some(false),
            _ => None,
        };
        row.control = text("power/control");
        row.runtime_status = text("power/runtime_status");
        row.runtime_enabled = text("power/runtime_enabled");
        row.runtime_usage = text("power/runtime_usage");
        row.runtime_active_kids = text("power/runtime_active_kids");
        row.autosuspend_delay_ms = text("power/autosuspend_delay_ms");
    }
    row
}

/// Every device link, in order of creation.
pub fn links(root: &Root) -> Vec<LinkRow> {
    const FOLDER: &str = "/sys/class/devlink";
    let mut found = Vec::new();
    for name in root.list(FOLDER) {
        let at = |file: &str| format!("{FOLDER}/{name}/{file}");
        let text = |file: &str| root.read(&at(file)).unwrap_or_default();
        let end = |file: &str| {
            let usual = root.usual(&root.resolve(&at(file)))?;
            Some(usual.strip_prefix("/sys")?.to_string())
        };
        let (Some(supplier), Some(consumer)) = (end("supplier"), end("consumer")) else {
            continue;
        };
        let flag = |file: &str| match text(file).as_str() {
            "1" => Some(true),
            "0" => Some(false),
            _ => None,
        };
        let order =
            fs::metadata(root.resolve(&format!("{FOLDER}/{name}"))).map_or(0, |m| number_of(&m));
        found.push((
            order,
            name.clone(),
            LinkRow {
                supplier,
                consumer,
                status: text("status"),
                sync_state_only: flag("sync_state_only"),
                runtime_pm: flag("runtime_pm"),
                auto_remove_on: text("auto_remove_on"),
            },
        ));
    }
    found.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
    found.into_iter().map(|f| f.2).collect()
}

/// Marks in `devices` what the running system stands on: the devices that
/// carry the root file system, swap and the consoles, with all above them.
pub(crate) fn mark_essential(root: &Root, devices: &mut [DeviceRow]) {
    let index: BTreeMap<String, usize> =
        devices.iter().enumerate().map(|(i, d)| (d.devpath.clone(), i)).collect();
    let mut reasons: Vec<(String, &str)> = Vec::new();
    for path in root_file_system(root) {
        reasons.push((path, "root"));
    }
    for path in swap(root) {
        reasons.push((path, "swap"));
    }
    for name in root.read("/sys/class/tty/console/active").unwrap_or_default().split_whitespace() {
        if let Some(path) = device_of(root, &format!("/sys/class/tty/{name}")) {
            reasons.push((path, "console"));
        }
    }
    for (path, reason) in reasons {
        let mut at = index.get(&path).copied();
        while let Some(i) = at {
            let marks = &mut devices[i].essential;
            if !marks.split(',').any(|m| m == reason) {
                if !marks.is_empty() {
                    marks.push(',');
                }
                marks.push_str(reason);
            }
            at = index.get(&devices[i].parent).copied().filter(|&p| p != i);
        }
    }
}

pub(crate) fn device_of(root: &Root, link: &str) -> Option<String> {
    Some(root.usual(&root.resolve(link))?.strip_prefix("/sys")?.to_string())
}

/// Block devices below the root file system, through device mapper and RAID.
fn root_file_system(root: &Root) -> Vec<String> {
    let Some(mounts) = root.read("/proc/self/mountinfo") else { return Vec::new() };
    let mut found = Vec::new();
    for line in mounts.lines() {
        let mut fields = line.split(' ');
        let number = fields.nth(2).unwrap_or_default();
        if fields.nth(1) != Some("/") {
            continue;
        }
        // btrfs and others have no block device number; their source names it.
        let source = line.split_once(" - ").and_then(|(_, s)| s.split(' ').nth(1));
        let name = source.and_then(|s| s.strip_prefix("/dev/")).unwrap_or("?");
        let first = device_of(root, &format!("/sys/dev/block/{number}"))
            .or_else(|| device_of(root, &format!("/sys/class/block/{name}")));
        found.extend(first.into_iter().flat_map(|f| with_slaves(root, f)));
    }
    found
}

fn swap(root: &Root) -> Vec<String> {
    let Some(swaps) = root.read("/proc/swaps") else { return Vec::new() };
    swaps
        .lines()
        .skip(1)
        .filter_map(|l| l.split_whitespace().next()?.strip_prefix("/dev/").map(str::to_string))
        .filter_map(|name| device_of(root, &format!("/sys/class/block/{name}")))
        .flat_map(|d| with_slaves(root, d))
        .collect()
}

/// A block device and those it is made of.
fn with_slaves(root: &Root, devpath: String) -> Vec<String> {
    let mut all = vec![devpath];
    let mut next = 0;
    while next < all.len() && all.len() < 1_000 {
        let folder = format!("/sys{}/slaves", all[next]);
        for name in root.list(&folder) {
            if let Some(d) = device_of(root, &format!("{folder}/{name}"))
                && !all.contains(&d)
            {
                all.push(d);
            }
        }
        next += 1;
    }
    all
}
