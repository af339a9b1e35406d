//! What a boot of SoC-9000 showed: its events, phases of sleep and attempts to probe.

use anyhow::{Context, Result, ensure};
use dormouse_lab::soc9000;
use std::collections::BTreeMap;

/// Devices that people use.
pub(crate) const CONSUMERS: [&str; 7] = ["gpu", "usb", "phy", "mmc", "spi", "uart", "i2c"];

/// From the first driver to the last device that is bound.
#[derive(Debug, Default)]
pub(crate) struct Boot {
    pub attempts: usize,
    /// By the kernel: it does not ask the driver.
    pub blocked: usize,
    pub put_off: usize,
    /// Time of attempts that came to nothing.
    pub lost_us: u64,
    /// Of the power switch, on and off.
    pub switches: usize,
    /// Clocks, supplies and resets, on and off.
    pub parts: usize,
    pub ms: f64,
    /// In order.
    pub bound: Vec<String>,
}

/// One sleep; times in ms.
#[derive(Debug, Default)]
pub(crate) struct Sleep {
    pub suspend: f64,
    pub suspend_noirq: f64,
    pub resume_noirq: f64,
    pub resume: f64,
    /// Other phases of devices.
    pub others: f64,
    pub entered: bool,
    /// Of the power switch, on, in all phases.
    pub switches: usize,
    /// Devices whose domain was switched on, or which were started, in resume_noirq.
    pub device_switches: Vec<String>,
}

impl Sleep {
    /// All phases of devices.
    pub(crate) fn total(&self) -> f64 {
        self.suspend + self.suspend_noirq + self.resume_noirq + self.resume + self.others
    }
}

/// A boot.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub boot: Boot,
    pub sleeps: Vec<Sleep>,
    /// Devices that waited for something at the end, by node.
    pub waits: String,
    /// Parts that a sleep left otherwise than it found them.
    pub unlike: Vec<String>,
    /// Devices that were bound before their reset was taken away.
    pub late: Vec<String>,
}

/// A line of the trace.
enum Event<'a> {
    Part { kind: &'a str, name: &'a str, state: i32, begin: bool },
    Phase { name: &'a str, begin: bool },
}

/// Reads the trace and the log.
///
/// # Errors
/// When the trace lost events, or has none.
pub(crate) fn read(said: &soc9000::Seen) -> Result<Seen> {
    let mut out = Seen { waits: waits(&said.waits), ..Seen::default() };
    let mut states: BTreeMap<(String, String), i32> = BTreeMap::new();
    let (mut first, mut since) = (None, BTreeMap::new());
    let mut before = None;
    for line in said.trace.lines() {
        ensure!(!line.contains("LOST"), "the trace lost events: {line}");
        let Some((ns, event)) = event(line) else { continue };
        match event {
            Event::Phase { name: "suspend_enter", begin: true } => {
                out.sleeps.push(Sleep::default());
                // Domains that nobody uses go off some time after a sleep.
                let was = before.replace(states.clone()).unwrap_or_default();
                out.unlike.extend(differences(&was, &states));
            }
            Event::Phase { name, begin: true } => {
                since.insert(name.to_owned(), ns);
            }
            Event::Phase { name, begin: false } => {
                let Some(begun) = since.remove(name) else { continue };
                let Some(sleep) = out.sleeps.last_mut() else { continue };
                sleep.phase(name, (ns - begun) as f64 / 1e6);
            }
            Event::Part { kind: "soc", begin: true, .. } => first = Some(ns),
            Event::Part { kind: "soc", .. } => {}
            Event::Part { kind: "bound", name, .. } => {
                let begun = first.context("a device is bound before any driver is there")?;
                out.boot.ms = (ns - begun) as f64 / 1e6;
                out.boot.bound.push(name.to_owned());
                // Lines of the reset controller have the numbers of the tree.
                let line = CONSUMERS.iter().position(|c| *c == name).map(|n| n + 1);
                let away = |n: usize| states.contains_key(&("reset".into(), n.to_string()));
                if line.is_some_and(|n| !away(n)) {
                    out.late.push(name.to_owned());
                }
            }
            Event::Part { kind: "sleep", name, .. } => {
                let sleep = out.sleeps.last_mut();
                if let (Some(sleep), "enter") = (sleep, name) {
                    sleep.entered = true;
                }
            }
            Event::Part { begin: true, .. } => {}
            Event::Part { kind, name, state, .. } => {
                states.insert((kind.into(), name.into()), state);
                match out.sleeps.last_mut() {
                    None => out.boot.part(kind),
                    Some(sleep) => {
                        let noirq = since.contains_key("dpm_resume_noirq");
                        sleep.part(kind, name, state, noirq);
                    }
                }
            }
        }
    }
    out.unlike.extend(differences(&before.unwrap_or_default(), &states));
    ensure!(first.is_some(), "the trace has no events of the drivers");
    attempts(&said.log, &mut out.boot);
    Ok(out)
}

impl Boot {
    fn part(&mut self, kind: &str) {
        match kind {
            "switch" => self.switches += 1,
            "clock" | "supply" | "reset" => self.parts += 1,
            _ => {}
        }
    }
}

impl Sleep {
    fn phase(&mut self, name: &str, ms: f64) {
        *match name {
            "dpm_suspend" => &mut self.suspend,
            "dpm_suspend_noirq" => &mut self.suspend_noirq,
            "dpm_resume_noirq" => &mut self.resume_noirq,
            "dpm_resume" => &mut self.resume,
            n if n.starts_with("dpm_") => &mut self.others,
            _ => return,
        } += ms;
    }

    fn part(&mut self, kind: &str, name: &str, state: i32, in_resume_noirq: bool) {
        if state != 1 {
            return;
        }
        match kind {
            "switch" => self.switches += 1,
            "domain" | "start" if in_resume_noirq => self.device_switches.push(name.into()),
            _ => {}
        }
    }
}

/// Parts of `was` that are otherwise now.
fn differences<'a>(
    was: &'a BTreeMap<(String, String), i32>,
    now: &'a BTreeMap<(String, String), i32>,
) -> impl Iterator<Item = String> + 'a {
    was.iter()
        .filter(|(part, state)| now.get(part) != Some(state))
        .map(|((kind, name), state)| format!("{kind} {name} was {state}"))
}

/// Nanoseconds and event of a line of the trace; none of a comment or another event.
fn event(line: &str) -> Option<(u64, Event<'_>)> {
    let (head, rest) = line
        .split_once(": soc9000_transition: ")
        .or_else(|| line.split_once(": suspend_resume: "))?;
    let seconds = head.rsplit(' ').next()?;
    let (whole, part) = seconds.split_once('.')?;
    let ns = whole.parse::<u64>().ok()? * 1_000_000_000 + part.parse::<u64>().ok()? * 1_000;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let event = match words[..] {
        [kind, name, state, end] => {
            Event::Part { kind, name, state: state.parse().ok()?, begin: end == "begin" }
        }
        [name, end] => Event::Phase { name: name.split('[').next()?, begin: end == "begin" },
        _ => return None,
    };
    Some((ns, event))
}

/// `probe of DEV returned R after N usecs`, of the chip's devices; 7.3 names the driver
/// behind the device (drivers/base/dd.c:really_probe_debug).
fn attempts(log: &str, boot: &mut Boot) {
    for message in log.lines().filter_map(|l| l.split_once(';')).map(|(_, m)| m) {
        let Some((name, rest)) =
            message.strip_prefix("probe of ").and_then(|m| m.split_once(" returned "))
        else {
            continue;
        };
        let mut numbers = rest.split(' ').filter_map(|w| w.parse::<i64>().ok());
        let (Some(returned), Some(us)) = (numbers.next(), numbers.next()) else { continue };
        if !name.starts_with("b000") && !name.starts_with("soc@") {
            continue;
        }
        boot.attempts += 1;
        boot.blocked += usize::from(returned == -517);
        boot.put_off += usize::from(returned == 517);
        if returned != 0 {
            boot.lost_us += us.unsigned_abs();
        }
    }
}

/// Names of `devices_deferred`.
fn waits(text: &str) -> String {
    let names = text.lines().filter_map(|l| l.split_whitespace().next());
    names.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(trace: &str, log: &str) -> soc9000::Seen {
        soc9000::Seen { trace: trace.into(), log: log.into(), ..soc9000::Seen::default() }
    }

    const BEGIN: &str = "\
 a-1 [000] .. 1.000000: soc9000_transition: soc drivers 1 begin
 a-1 [000] .. 1.000100: soc9000_transition: reset 1 1 begin
 a-1 [000] .. 1.000110: soc9000_transition: reset 1 1 end
 a-1 [000] .. 1.002500: soc9000_transition: bound gpu 1 end
";

    #[test]
    fn a_boot_is_counted() {
        let log = "7,1,2;probe of b0000000.gpu returned -517 after 2 usecs\n\
                   7,2,3;probe of b0000000.gpu with driver soc9000-gpu returned 517 after 40 usecs\n\
                   7,3,4;probe of b0000000.gpu returned 0 after 400 usecs\n\
                   7,4,5;probe of other returned 517 after 9 usecs\n";
        let seen = read(&said(BEGIN, log)).unwrap();
        let b = &seen.boot;
        assert_eq!((b.attempts, b.blocked, b.put_off, b.lost_us), (3, 1, 1, 42));
        assert_eq!((b.parts, b.ms), (1, 2.5));
        assert!(seen.late.is_empty());
    }

    #[test]
    fn a_sleep_that_leaves_a_part_otherwise_is_seen() {
        let sleep = " a-1 [000] .. 2.000000: suspend_resume: suspend_enter[3] begin
 a-1 [000] .. 2.001000: suspend_resume: dpm_resume_noirq[16] begin
 a-1 [000] .. 2.001100: soc9000_transition: domain gpu 1 end
 a-1 [000] .. 2.004000: suspend_resume: dpm_resume_noirq[16] end
";
        let seen = read(&said(&format!("{BEGIN}{sleep}"), "")).unwrap();
        assert_eq!((seen.sleeps[0].resume_noirq, seen.sleeps[0].device_switches.len()), (3.0, 1));
        assert!(seen.unlike.is_empty());
        let off = " a-1 [000] .. 2.002000: soc9000_transition: reset 1 0 end\n";
        let seen = read(&said(&format!("{BEGIN}{sleep}{off}"), "")).unwrap();
        assert_eq!(seen.unlike, ["reset 1 was 1"]);
    }

    #[test]
    fn a_device_that_probes_in_reset_is_seen() {
        let trace = BEGIN.replace("reset 1 1", "reset 2 1");
        assert_eq!(read(&said(&trace, "")).unwrap().late, ["gpu"]);
    }
}
