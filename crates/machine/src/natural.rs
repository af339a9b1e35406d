//! A sleep that nobody records: what is cheap to read before it and after it.

use crate::kmsg::Kmsg;
use crate::machine;
use crate::measure::{S2idle, clocks};
use crate::root::Root;
use crate::wakers;
use dormouse_capture::schema::Clocks;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;

/// What is read before a sleep, and again after it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reading {
    /// `/proc/sys/kernel/random/boot_id`.
    pub boot: String,
    /// `CLOCK_MONOTONIC`, ns.
    pub monotonic: i64,
    /// `CLOCK_BOOTTIME`, ns.
    pub boottime: i64,
    /// `CLOCK_REALTIME`, ns.
    pub realtime: i64,
    /// What `mem` means: the chosen word of `/sys/power/mem_sleep`.
    pub mem_sleep: String,
    /// `/sys/power/suspend_stats`.
    pub stats: BTreeMap<String, String>,
    /// `active_count` of wakeup sources, by folder and name.
    pub sources: BTreeMap<String, (String, u64)>,
    /// Time of each CPU in idle states of s2idle.
    pub s2idle: S2idle,
    /// Batteries of the machine itself.
    pub batteries: Vec<Charge>,
    /// A charger gives power; `None` if there is none to ask.
    pub mains: Option<bool>,
    /// So long the machine slept while this was read, ns.
    pub stood: i64,
}

impl Reading {
    /// The machine slept while this was read: all but the clocks may be of before or after.
    pub fn torn(&self) -> bool {
        self.stood > TORN
    }

    /// Looks again whether the machine has slept since this began to be read.
    pub fn look_again(&mut self, at: Option<Clocks>) {
        let now = at.unwrap_or_else(clocks);
        self.stood = now.boottime_before - now.monotonic_before - self.boottime + self.monotonic;
    }
}

/// A battery.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Charge {
    /// `BAT0`.
    pub name: String,
    /// `energy` (uWh), `charge` (uAh) or `capacity` (per cent).
    pub gauge: String,
    /// What is left.
    pub now: i64,
    /// When full.
    pub full: Option<i64>,
}

/// What is read after a sleep alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct After {
    /// The line that woke the machine, and its owners.
    pub wake_line: Option<(String, Option<String>)>,
    /// Versions by name.
    pub versions: BTreeMap<String, String>,
    /// The kernel's messages, if they may be read.
    pub log: Option<Vec<u8>>,
}

/// Reads the machine around the time of `first`; the clocks at the end are those of `at`, if it
/// gives them.
pub fn reading(root: &Root, first: Clocks, at: Option<Clocks>) -> Reading {
    let mem_sleep = root.read("/sys/power/mem_sleep").unwrap_or_default();
    let (batteries, mains) = supplies(root);
    let sources = machine::wakeup_counts(root, "active_count").into_iter();
    let mut out = Reading {
        boot: machine::boot_id(root),
        monotonic: first.monotonic_before,
        boottime: first.boottime_before,
        realtime: first.realtime_before,
        mem_sleep: crate::knob::in_force(&mem_sleep).to_string(),
        stats: machine::suspend_stats(root),
        sources: sources.map(|((folder, name), n)| (folder, (name, n))).collect(),
        s2idle: S2idle::begin(root),
        batteries,
        mains,
        stood: 0,
    };
    out.look_again(at);
    out
}

/// Two readings of two clocks differ by less, ns, if nothing slept between them.
pub const TORN: i64 = 1_000_000;

/// Batteries and chargers (Documentation/ABI/testing/sysfs-class-power, 6.12). Mice and pens
/// have batteries too: their scope is a device.
fn supplies(root: &Root) -> (Vec<Charge>, Option<bool>) {
    const FOLDER: &str = "/sys/class/power_supply";
    let (mut batteries, mut mains) = (Vec::new(), None);
    for name in root.list(FOLDER) {
        let number = |file: &str| root.read_number::<i64>(&format!("{FOLDER}/{name}/{file}"));
        let text = |file: &str| root.read(&format!("{FOLDER}/{name}/{file}")).unwrap_or_default();
        if text("scope") == "Device" {
            continue;
        }
        if text("type") != "Battery" {
            mains = mains.max(number("online").map(|n| n > 0));
            continue;
        }
        let read = |gauge: &str| {
            let now = number(&format!("{gauge}_now"))?;
            Some((gauge.to_string(), now, number(&format!("{gauge}_full"))))
        };
        let found = read("energy").or_else(|| read("charge"));
        let found = found.or_else(|| Some(("capacity".into(), number("capacity")?, Some(100))));
        if let Some((gauge, now, full)) = found {
            batteries.push(Charge { name, gauge, now, full });
        }
    }
    (batteries, mains)
}

/// Reads what tells of a sleep after it.
pub fn after(root: &Root) -> After {
    After { wake_line: wakers::owned(root), versions: versions(root), log: Kmsg::whole(root) }
}

/// What of a machine is renewed, and may change its nights.
fn versions(root: &Root) -> BTreeMap<String, String> {
    let files = [
        ("kernel", "/proc/sys/kernel/osrelease"),
        ("kernel build", "/proc/sys/kernel/version"),
        ("firmware", "/sys/class/dmi/id/bios_version"),
        ("firmware of the EC", "/sys/class/dmi/id/ec_firmware_release"),
        ("microcode", "/sys/devices/system/cpu/cpu0/microcode/version"),
        ("nvidia", "/sys/module/nvidia/version"),
    ];
    let read = |(name, path): &(&str, &str)| {
        Some((name.to_string(), root.read(path).filter(|t| !t.is_empty())?))
    };
    let mut out: BTreeMap<String, String> = files.iter().filter_map(read).collect();
    dpkg(root, &mut out);
    pacman(root, &mut out);
    out
}

/// Packages that have a hand in sleep, as Debian, Arch and their kin name them.
const PACKAGES: [&str; 16] = [
    "amd64-microcode",
    "elogind",
    "firmware-amd-graphics",
    "firmware-iwlwifi",
    "firmware-misc-nonfree",
    "fwupd",
    "intel-microcode",
    "libgl1-mesa-dri",
    "linux-firmware",
    "mesa",
    "power-profiles-daemon",
    "systemd",
    "thermald",
    "tlp",
    "tuned",
    "upower",
];

/// Debian's list: paragraphs of `Package:`, `Status:` and `Version:`.
fn dpkg(root: &Root, out: &mut BTreeMap<String, String>) {
    let Ok(list) = fs::read(root.resolve("/var/lib/dpkg/status")) else { return };
    let (mut package, mut there) = (None, false);
    for line in list.split(|b| *b == b'\n') {
        if let Some(name) = line.strip_prefix(b"Package: ") {
            package = PACKAGES.iter().find(|p| p.as_bytes() == name);
            there = false;
        } else if let Some(name) = package {
            there |= line == b"Status: install ok installed";
            if let Some(version) = line.strip_prefix(b"Version: ").filter(|_| there) {
                out.insert(name.to_string(), String::from_utf8_lossy(version).into_owned());
            }
        }
    }
}

/// Arch's list: a folder a package, `systemd-257.2-2`.
fn pacman(root: &Root, out: &mut BTreeMap<String, String>) {
    for folder in root.list("/var/lib/pacman/local") {
        let mut cut = folder.rsplitn(3, '-');
        let (Some(release), Some(version), Some(name)) = (cut.next(), cut.next(), cut.next())
        else {
            continue;
        };
        if PACKAGES.contains(&name) {
            out.insert(name.to_string(), format!("{version}-{release}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(root: &std::path::Path, path: &str, text: &str) {
        let place = root.join(path.trim_start_matches('/'));
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, text).unwrap();
    }

    #[test]
    fn a_reading_has_batteries_of_the_machine_and_none_of_its_mice() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path();
        for (path, text) in [
            ("BAT1/type", "Battery\n"),
            ("BAT1/charge_now", "2500000\n"),
            ("BAT1/charge_full", "4100000\n"),
            ("BAT1/capacity", "61\n"),
            ("hid-a/type", "Battery\n"),
            ("hid-a/scope", "Device\n"),
            ("hid-a/capacity", "50\n"),
            ("AC/type", "Mains\n"),
            ("AC/online", "0\n"),
            ("usbc/type", "USB\n"),
            ("usbc/online", "1\n"),
        ] {
            put(at, &format!("/sys/class/power_supply/{path}"), text);
        }
        put(at, "/sys/power/mem_sleep", "[s2idle] deep\n");
        let seen = reading(&Root::below(at), clocks(), None);
        let charge = Charge {
            name: "BAT1".into(),
            gauge: "charge".into(),
            now: 2_500_000,
            full: Some(4_100_000),
        };
        assert_eq!((seen.mem_sleep.as_str(), seen.torn()), ("s2idle", false));
        assert_eq!((seen.batteries, seen.mains), (vec![charge], Some(true)));
        let bare = reading(&Root::below(&at.join("dev")), clocks(), None);
        assert_eq!((bare.batteries, bare.mains), (vec![], None));
    }

    #[test]
    fn versions_are_those_of_installed_packages() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path();
        put(at, "/proc/sys/kernel/osrelease", "6.15.2\n");
        put(
            at,
            "/var/lib/dpkg/status",
            "Package: tlp\nStatus: deinstall ok config-files\nVersion: 1.5\n\n\
             Package: upower\nStatus: install ok installed\nVersion: 1.90-2\n\n\
             Package: bash\nStatus: install ok installed\nVersion: 5.2\n",
        );
        put(at, "/var/lib/pacman/local/linux-firmware-20310101.abc-1/desc", "");
        let v = versions(&Root::below(at));
        let all: Vec<_> = v.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!(
            all,
            [("kernel", "6.15.2"), ("linux-firmware", "20310101.abc-1"), ("upower", "1.90-2")]
        );
    }
}
