//! What is wrong with the settings of a drive, as a table of them proves it.

use crate::held::{Held, Why};
use crate::knobs::{Conflict, Knobs, Power};
use crate::levels::{ByItself, Drive};
use crate::recording::Trace;
use crate::request::{Disk, Request};
use dormouse_base::finding::{Area, Confidence, Evidence, Finding, Level};
use dormouse_base::say;
use dormouse_base::time::Ns;
use std::collections::BTreeMap;

/// What tables of drives prove.
pub fn faults(drives: &[Drive]) -> Vec<Finding> {
    drives.iter().filter_map(|d| empty_table(d).or_else(|| off(d))).collect()
}

/// So many devices are named.
const NAMED: usize = 6;

/// What the first of them is: those that a setting holds stand before others.
fn awake(first: &Held) -> &'static str {
    match first.why {
        Why::Forbidden | Why::Never { .. } => "Awake by their settings",
        _ => "Held awake at run time",
    }
}

/// Devices that their settings hold awake: a choice, so it is a note.
pub fn kept_awake(held: &[Held]) -> Option<Finding> {
    let why = |h: &Held| {
        let why = match &h.why {
            Why::Forbidden => "power/control is on".into(),
            Why::Never { latency: true } => "pm_qos_resume_latency_us is n/a".into(),
            Why::Never { latency: false } => "autosuspend_delay_ms is below zero".into(),
            Why::Used { count, .. } => format!("{count} in use"),
            Why::Children { count, .. } => format!("{count} below it awake"),
            Why::Unexplained { .. } => "active".into(),
        };
        format!("{} ({why})", h.name)
    };
    // What slept before, and was awake when it was looked at, is not held.
    let held: Vec<&Held> = held
        .iter()
        .filter(|h| !matches!(h.why, Why::Unexplained { slept_ms: Some(1..), .. }))
        .collect();
    let first = *held.first()?;
    let all: Vec<String> = held.iter().take(NAMED).map(|h| why(h)).collect();
    let more = match held.len().saturating_sub(NAMED) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    let row = Evidence { text: why(first), ..Evidence::default() };
    Some(
        Finding::new(("rpm-held", Area::Storage, Level::Note), Confidence::Certain)
            .says(format!("{}: {}{more}.", awake(first), all.join(", ")))
            .look(match first.why {
                Why::Forbidden => "echo auto > …/power/control lets one sleep; dormouse show --only runtime lists each with its reason.",
                Why::Used { .. } => "What uses it lets it sleep when it lets go: a program that has its file open (fuser -v /dev/…), a service, or its driver. dormouse show --only runtime lists each with its reason.",
                _ => "dormouse show --only runtime lists each with its reason.",
            })
            .times(held.len())
            .shown_by([row]),
    )
}

/// Settings that contradict each other: what somebody asked for does not happen.
pub fn contradicted(knobs: &Knobs) -> Option<Finding> {
    let all = knobs.conflicts();
    let said: Vec<String> = all.iter().take(NAMED).map(Conflict::says).collect();
    let row = Evidence { text: said.first()?.clone(), ..Evidence::default() };
    let more = match all.len().saturating_sub(NAMED) {
        0 => String::new(),
        n => format!(" And {n} more."),
    };
    Some(
        Finding::new(("setting-contradicts", Area::Storage, Level::Risk), Confidence::Certain)
            .says(format!("A setting does not do what it says: {}{more}", said.join(" ")))
            .look("Change one of the two settings. dormouse show --only storage lists all of them.")
            .times(all.len())
            .shown_by([row]),
    )
}

/// The rule of disks that do not spin down by themselves.
pub const SPINS: &str = "disk-no-spin-down";

/// Disks whose level of power management permits no spin-down: a choice, and the answer to
/// somebody who waits for it.
pub fn spins_on(knobs: &Knobs) -> Option<Finding> {
    let told = |disk: &str| knobs.standby.contains_key(disk);
    let all: Vec<(&str, u8)> = knobs.spins_on().filter(|d| !told(d.0)).collect();
    let (first, level) = *all.first()?;
    let names: Vec<String> = all.iter().take(NAMED).map(|d| d.0.to_string()).collect();
    let (do_not, their) = match all.len() {
        1 => ("does not spin down by itself: its", format!("is {level}")),
        _ => {
            ("do not spin down by themselves: their", format!("is 128 or more ({first}: {level})"))
        }
    };
    let row = Evidence { text: format!("{first}: APM level {level}"), ..Evidence::default() };
    Some(
        Finding::new((SPINS, Area::Storage, Level::Note), Confidence::Certain)
            .says(format!(
                "{} {do_not} APM level {their}, and levels from 128 on permit no spin-down.",
                say::names(&names)
            ))
            .change(
                format!("hdparm -B 127 /dev/{first} permits it; hdparm -S sets after how long."),
                format!("hdparm -B {level} /dev/{first}"),
                "A disk that stops and starts often wears, and the next access waits for it.",
            )
            .times(all.len())
            .shown_by([row]),
    )
}

/// Requests of traces that ended with an error, a disk each. What a disk cannot do, and what was
/// only asked too early, is no fault (include/uapi/asm-generic/errno-base.h, errno.h).
pub fn failed(traces: &[Trace]) -> Vec<Finding> {
    const EAGAIN: i32 = -11;
    const EOPNOTSUPP: i32 = -95;
    let mut all: BTreeMap<Disk, (usize, Vec<&Request>)> = BTreeMap::new();
    for r in traces.iter().flat_map(|t| &t.requests).filter(|r| r.completed.is_some()) {
        let (count, failed) = all.entry(r.disk).or_default();
        *count += 1;
        if !matches!(r.error, 0 | EAGAIN | EOPNOTSUPP) {
            failed.push(r);
        }
    }
    let took = |r: &Request| Some(Ns(r.completed?.saturating_sub(r.issued?)));
    let of = |(disk, (count, failed)): (Disk, (usize, Vec<&Request>))| {
        let first = *failed.first()?;
        let of = if count == 1 { String::new() } else { format!("{} of ", failed.len()) };
        let longest = failed.iter().filter_map(|r| took(r)).max();
        let after = longest.map_or(String::new(), |t| match failed.len() {
            1 => format!(", {} after it was issued", say::span(t)),
            _ => format!("; the longest of them took {}", say::span(t)),
        });
        let (name, error) = (first.operation.name(), first.error);
        let which = if failed.len() == 1 { "" } else { "the first: " };
        let row = Evidence {
            time: first.completed.map(Ns),
            text: format!("{disk}: a request to {name} ended with error {error}"),
            ..Evidence::default()
        };
        Some(
            Finding::new(("request-failed", Area::Storage, Level::Risk), Confidence::Certain)
                .says(format!(
                    "{of}{} to {disk} ended with an error ({which}{name}, {error}){after}.",
                    say::plural(count, "request")
                ))
                .look(
                    "The kernel's log of that time says what the disk or its link answered: dmesg.",
                )
                .times(failed.len())
                .shown_by([row]),
        )
    };
    all.into_iter().filter_map(of).collect()
}

/// A device that the core has suspended, and that PCI left at full power.
pub fn in_name_only(knobs: &Knobs) -> Option<Finding> {
    let all: Vec<&Power> = knobs.in_name_only().collect();
    let first = all.first()?;
    let names: Vec<String> = all.iter().take(NAMED).map(|p| p.name().to_string()).collect();
    let (is, it) = if all.len() == 1 { ("is", "its") } else { ("are", "their") };
    let row = Evidence {
        text: format!("{}: runtime_status suspended, power_state D0", first.name()),
        ..Evidence::default()
    };
    let rule = ("rpm-full-power", Area::Storage, Level::Risk);
    Some(
        Finding::new(rule, Confidence::Likely)
            .says(format!(
                "{} {is} suspended by runtime_status, and {it} power_state is D0: the kernel left \
                 the full power of PCI on.",
                say::names(&names)
            ))
            .look(
                "Read both again a second later. If it stays so, the driver suspends without the \
                 bus, or the device has no state below D0 (lspci -vv, Power Management).",
            )
            .times(all.len())
            .shown_by([row]),
    )
}

/// Autonomous transitions that are on and lead nowhere
/// (drivers/nvme/host/core.c:nvme_configure_apst, 6.12).
fn empty_table(d: &Drive) -> Option<Finding> {
    if d.by_itself() != Some(ByItself::EmptyTable) {
        return None;
    }
    let row =
        format!("{}: APST on, {} entries of its table, all 0 ms into state 0", d.name, d.entries);
    Some(
        Finding::new(("apst-empty", Area::Storage, Level::Risk), Confidence::Certain)
            .says(format!(
                "{} never saves power by itself: its autonomous transitions are on, and every entry \
                 of their table is empty.",
                d.name
            ))
            .look(
                "The kernel fills that table with states that can be left within its limit: compare \
                 the exit latencies of nvme id-ctrl with \
                 /sys/module/nvme_core/parameters/default_ps_max_latency_us.",
            )
            .shown_by([Evidence { text: row, ..Evidence::default() }]),
    )
}

/// Autonomous transitions that are off: a choice of somebody, so it is a note.
fn off(d: &Drive) -> Option<Finding> {
    if d.by_itself() != Some(ByItself::Off) {
        return None;
    }
    let name = &d.name;
    let limit = match d.limit {
        Some(0) => " The kernel's limit, default_ps_max_latency_us, is 0, which switches them off.",
        _ => "",
    };
    let row = format!("{name}: APST off");
    Some(
        Finding::new(("apst-off", Area::Storage, Level::Note), Confidence::Certain)
            .says(format!(
                "{name} never saves power by itself: its autonomous transitions are off.{limit}"
            ))
            .look(
                "dormouse show --only storage says what another limit would do with each of its \
                 states.",
            )
            .shown_by([Evidence { text: row, ..Evidence::default() }]),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Operation;

    #[test]
    fn devices_that_settings_keep_awake_are_named_with_the_reason() {
        let held = |name: &str, why| Held { name: name.into(), why };
        let none =
            Why::Unexplained { never: true, slept_ms: Some(0), active_ms: Some(7), unused: false };
        let found = kept_awake(&[held("3-2", Why::Forbidden), held("3-4", none)]).expect("a note");
        assert_eq!(
            found.sentence,
            "Awake by their settings: 3-2 (power/control is on), 3-4 (active)."
        );
        assert_eq!(kept_awake(&[]), None);
        let slept =
            Why::Unexplained { never: false, slept_ms: Some(9), active_ms: Some(7), unused: false };
        assert_eq!(kept_awake(&[held("3-5", slept)]), None);
    }

    #[test]
    fn requests_that_failed_are_told_by_disk() {
        let disk = Disk { major: 8, minor: 0 };
        let request = |error, completed: i64| Request {
            completed: Some(completed),
            issued: Some(100),
            error,
            ..Request::command(disk, Operation::Write, None, 8, 100)
        };
        let trace = |list: &[(i32, i64)]| Trace {
            requests: list.iter().map(|(e, t)| request(*e, *t)).collect(),
            ..Trace::default()
        };
        let one = failed(&[trace(&[(-5, 30_000_000_100)])]);
        assert_eq!(
            one[0].sentence,
            "1 request to 8,0 ended with an error (write, -5), 30.0 s after it was issued."
        );
        let two = failed(&[trace(&[(0, 200), (-5, 300), (-5, 400)])]);
        assert_eq!(
            two[0].sentence,
            "2 of 3 requests to 8,0 ended with an error (the first: write, -5); the longest of \
             them took < 1 ms."
        );
        assert!(failed(&[trace(&[(0, 200), (-95, 300), (-11, 400)])]).is_empty());
    }

    #[test]
    fn what_contradicts_and_what_permits_no_spin_down_is_told() {
        let apm = |list: &[(&str, &str)]| Knobs {
            apm: list.iter().map(|(d, l)| ((*d).into(), (*l).into())).collect(),
            ..Knobs::default()
        };
        let one = spins_on(&apm(&[("sdq", "254")])).expect("told");
        assert!(one.sentence.starts_with("sdq does not spin down by itself: its APM level is 254"));
        let two = spins_on(&apm(&[("sdq", "128"), ("sdr", "254")])).expect("told");
        assert!(two.sentence.starts_with("sdq and sdr do not spin"), "{two:?}");
        for other in ["127", "255", "off", "not supported", "0"] {
            assert_eq!(spins_on(&apm(&[("sdq", other)])), None, "{other}");
        }
        let mut both = apm(&[("sdq", "254")]);
        assert_eq!(contradicted(&both), None);
        both.standby.insert("sdq".into(), "120 (10 minutes)".into());
        let told = contradicted(&both).expect("told");
        assert_eq!((told.level, spins_on(&both)), (Level::Risk, None));
        assert!(told.sentence.contains("standby timer of 120 (10 minutes)"), "{told:?}");
    }

    #[test]
    fn a_device_that_sleeps_for_the_core_alone_is_told() {
        let of = |state: &str, status: &str| {
            let mut k = Knobs::default();
            let device = "/sys/bus/pci/devices/0000:0a:00.0";
            k.take(&format!("{device}/power_state"), state);
            k.take(&format!("{device}/power/runtime_status"), status);
            in_name_only(&k).map(|f| f.sentence)
        };
        let told = of("D0", "suspended").expect("it is at full power");
        assert!(told.starts_with("0000:0a:00.0 is suspended by runtime_status"), "{told}");
        assert_eq!((of("D3hot", "suspended"), of("D0", "active")), (None, None));
    }

    #[test]
    fn an_empty_table_is_a_fault_and_one_that_is_off_is_a_choice() {
        let drive =
            |apst, entries| Drive { name: "nvme3".into(), apst, entries, ..Drive::default() };
        let found = faults(&[drive(Some(true), 4)]);
        assert_eq!((found[0].id, found[0].level), ("apst-empty", Level::Risk));
        assert!(found[0].sentence.starts_with("nvme3 never saves power"), "{found:?}");
        assert!(faults(&[drive(Some(true), 0), drive(None, 4)]).is_empty());
        let off = Drive { limit: Some(0), ..drive(Some(false), 4) };
        let note = &faults(&[off])[0];
        assert_eq!((note.id, note.level), ("apst-off", Level::Note));
        assert!(note.sentence.ends_with("is 0, which switches them off."), "{note:?}");
    }
}
