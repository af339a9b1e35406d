//! Disks that a program puts to sleep, and what the text shows of them behind that: hd-idle
//! (github.com/adelolmo/hd-idle), smartd (smartmontools, smartd.cpp), hdparm.

use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Device, Finding, Level};
use crate::message::Message;
use dormouse_base::say;
use dormouse_base::time::Ns;

/// A disk needs so long to spin up at most, in s: who asked it before did not wake it.
const SOON: i64 = 20;

/// The time of day in front of the name of a program, in s.
fn second(text: &str) -> Option<i64> {
    let word = text.split([' ', 'T']).find(|w| w.len() >= 8 && w.as_bytes()[2] == b':')?;
    let mut parts = word.get(..8)?.split(':').map(|n| n.parse::<i64>().ok());
    Some(parts.next()?? * 3_600 + parts.next()?? * 60 + parts.next()??)
}

/// What a program of this name says in a line of a journal.
fn of_program<'a>(m: &'a Message, name: &str) -> Option<&'a str> {
    let (head, said) = m.text.split_once("]: ")?;
    let (_, rest) = head.rsplit_once(name)?;
    let pid = rest.strip_prefix('[')?;
    pid.bytes().all(|b| b.is_ascii_digit()).then_some(said.trim())
}

/// A disk that spins up right behind a look of smartd.
fn woken(case: &Case, out: &mut Vec<Finding>) {
    let up = |m: &Message| {
        let disk = of_program(m, "hd-idle")?.strip_prefix("spinup: ")?.split(' ').next()?;
        Some(disk.trim_start_matches("/dev/").to_string())
    };
    let asked = |m: &Message, disk: &str| {
        let said = of_program(m, "smartd")?.strip_prefix("Device: /dev/")?;
        (said.split([' ', ',']).next()? == disk).then_some(())
    };
    let mut found: Vec<(&Message, &Message, String, i64)> = Vec::new();
    let mut count = 0;
    for (at, m) in case.messages.having("spinup: ") {
        let Some(disk) = up(m) else { continue };
        count += 1;
        let Some(when) = second(&m.text) else { continue };
        let before = case.messages[..at].iter().rev().take(8);
        let mut near = before.filter_map(|b| Some((b, when - second(&b.text)?)));
        let near = near.find(|(b, t)| (0..=SOON).contains(t) && asked(b, &disk).is_some());
        found.extend(near.map(|(b, t)| (b, m, disk, t)));
    }
    let Some((asks, spins, disk, t)) = found.first() else { return };
    let often = match (found.len(), count) {
        (1, 1) => String::new(),
        (n, all) => format!(" That is so {n} of {all} times."),
    };
    out.push(
        Finding::new(("disk-woken", Area::Storage, Level::Risk), Confidence::Likely)
            .says(format!(
                "smartd looks at {disk} {} before it spins up: its look wakes the disk.{often}",
                say::span(Ns(t.saturating_mul(1_000_000_000)))
            ))
            .change(
                "Give smartd -n standby,q for that disk in smartd.conf: it leaves a disk alone that stands.",
                "Take it away again.",
                "What a disk says of itself is read only while it spins.",
            )
            .of_devices([Device { name: disk.clone(), driver: String::new() }])
            .times(found.len())
            .shown_by(lines([*asks, *spins])),
    );
}

/// A disk that hd-idle takes for asleep, and that hdparm finds awake: it stops it once, and waits
/// for an access that it sees before it does so again.
fn lost(case: &Case, out: &mut Vec<Finding>) {
    let believed = |m: &Message| {
        let disk = m.after("disk=")?.split(' ').next()?;
        (m.has("hd-idle") && m.has("spunDown=true")).then(|| disk.to_string())
    };
    for (at, m) in case.messages.having("drive state is:") {
        let state = m.after("drive state is:").unwrap_or("").trim();
        let above = case.messages[at.saturating_sub(3)..at].iter().rev();
        let mut named =
            above.filter_map(|m| m.text.trim().strip_prefix("/dev/")?.strip_suffix(':'));
        let Some(disk) = named.next().filter(|_| state.starts_with("active")) else { continue };
        let said =
            case.messages[..at].iter().rev().find(|m| believed(m).is_some_and(|d| d == disk));
        let Some(said) = said else { continue };
        out.push(
            Finding::new(("disk-awake", Area::Storage, Level::Note), Confidence::Likely)
                .says(format!(
                    "hd-idle takes {disk} for spun down (spunDown=true), and hdparm finds it {state}: something woke it that hd-idle does not see."
                ))
                .look("SMART reads, hdparm and other commands that read no data wake a disk and count as no access: see what asks the disk (smartd, udisks, a sensor), and use a newer hd-idle or hdparm -S instead.")
                .of_devices([Device { name: disk.into(), driver: String::new() }])
                .shown_by(lines([said, m])),
        );
        return;
    }
}

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    woken(case, out);
    lost(case, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(rows: &[&str]) -> Vec<(&'static str, String)> {
        let mut out = Vec::new();
        judge(&Case::shown(rows), &mut out);
        out.into_iter().map(|f| (f.id, f.sentence)).collect()
    }

    #[test]
    fn who_looks_at_a_disk_right_before_it_spins_up_is_named() {
        let at = |clock: &str, said: &str| format!("Feb 03 {clock} elm {said}");
        let look = at(
            "11:20:07",
            "smartd[77]: Device: /dev/sdq [SAT], SMART Usage Attribute: 194 changed",
        );
        let up = at("11:20:10", "hd-idle[7]: spinup: sdq");
        let [(id, said)] = &told(&[&look, &up])[..] else { panic!("one") };
        assert_eq!(*id, "disk-woken");
        assert!(said.starts_with("smartd looks at sdq 3.0 s before it spins up"), "{said}");
        let late = at("11:30:10", "hd-idle[7]: spinup: sdq");
        assert!(told(&[&look, &late]).is_empty());
        let other = at("11:20:10", "hd-idle[7]: spinup: sdr");
        assert!(told(&[&look, &other]).is_empty() && told(&[&up, &look]).is_empty());
    }

    #[test]
    fn a_disk_that_is_awake_though_a_program_takes_it_for_asleep_is_told() {
        let idle =
            "Feb 03 18:15:52 elm hd-idle[7]: disk=sdq command=ata spunDown=true reads=7 writes=7";
        let rows = |state: &'static str| [idle, "/dev/sdq:", state];
        let said = told(&rows(" drive state is:  active/idle"));
        assert!(said[0].1.starts_with("hd-idle takes sdq for spun down"), "{said:?}");
        assert!(told(&rows(" drive state is:  standby")).is_empty());
        let spins = idle.replace("true", "false");
        assert!(told(&[&spins, "/dev/sdq:", " drive state is:  active/idle"]).is_empty());
    }
}
