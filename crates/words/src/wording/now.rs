//! What the files of a machine say of its next sleep, as sentences.

use super::doctor::{Advice, look};
use super::number::{names, plural};
use dormouse_doctor::now::{Knob, Now, Shallow};

/// `CPU 3`, `CPUs 0, 1 and 2`, `all 8 CPUs`.
pub fn which_cpus(list: &[u32], of: usize) -> String {
    let all: Vec<String> = list.iter().map(u32::to_string).collect();
    match list.len() {
        1 => format!("CPU {}", all[0]),
        n if n == of => format!("all {of} CPUs"),
        _ => format!("CPUs {}", names(&all)),
    }
}

/// `262 MB`.
fn megabytes(bytes: u64) -> String {
    format!("{} MB", bytes.saturating_add(500_000) / 1_000_000)
}

/// What is so.
pub fn sentence(n: &Now) -> String {
    match n {
        Now::NoState => "This machine cannot sleep: /sys/power/state is empty.".into(),
        Now::Knob(k) => knob(k),
        Now::NoS2idleState { cpus: list, of, why } => {
            let why = match why {
                Shallow::Disabled(state) => format!("its state {state} is switched off"),
                Shallow::Driver(d) if d.is_empty() => "the driver has none".into(),
                Shallow::Driver(d) => format!("the driver {d} has none"),
            };
            format!(
                "s2idle will be shallow: {} no idle state for it ({why}). The CPUs idle as usual and \
                 their clocks run on.",
                match list.len() {
                    1 => format!("{} has", which_cpus(list, *of)),
                    _ => format!("{} have", which_cpus(list, *of)),
                }
            )
        }
        Now::AttemptsFailed { failed, slept, device, error, step } => {
            let of = failed.saturating_add(*slept);
            let last = match (step.is_empty(), device.is_empty()) {
                (true, _) => String::new(),
                (false, true) => format!(" The last one failed in step {step}, error {error}."),
                (false, false) => {
                    format!(" The last one failed in step {step}, at {device}, error {error}.")
                }
            };
            format!("{failed} of {} to sleep failed since boot.{last}", plural(of as usize, "attempt"))
        }
        Now::SourcesActive { names: all } => {
            let (verb, noun) = if all.len() == 1 { ("is", "source") } else { ("are", "sources") };
            format!(
                "Wakeup {noun} {} {verb} active now: an attempt to sleep that is armed would end at once.",
                names(all)
            )
        }
        Now::NoAlarm { clocks } => format!(
            "No alarm can end a sleep: {} may not wake the machine (power/wakeup is disabled).",
            names(clocks)
        ),
        Now::AlarmSoon { holders } => format!(
            "An alarm of {} is due within 2 s: a sleep now would fail, and no driver would be at fault.",
            names(holders)
        ),
        Now::NoResumeDevice => {
            "Hibernation may not come back: the kernel knows no device to resume from (resume is 0:0)."
                .into()
        }
        Now::SwapSmall { free: 0, .. } => "Hibernation has nowhere to write: there is no free swap.".into(),
        Now::SwapSmall { free, image } => format!(
            "Hibernation may not fit: {} of swap are free, and the image may be {} before it is compressed.",
            megabytes(*free),
            megabytes(*image)
        ),
        Now::TaskWaits(w) => format!(
            "{} (pid {}) waits where it cannot be frozen (state D, {} of {} looks{}): a sleep now would \
             wait for it.",
            w.name,
            w.pid,
            w.looks.0,
            w.looks.1,
            w.function.as_ref().map_or(String::new(), |f| format!(", in {f}"))
        ),
        Now::Spins(w) => format!(
            "{} (pid {}) runs without a pause under a real-time policy: a task that has to run on that CPU \
             to be frozen may not get there.",
            w.name, w.pid
        ),
        Now::FuseServers { servers } => {
            let all: Vec<String> = servers.iter().map(|(n, pid)| format!("{n} (pid {pid})")).collect();
            format!(
                "FUSE {} {} in the user's session. systemd 256 and later freezes that first; a task outside \
                 of it that waits for one cannot be frozen then.",
                if all.len() == 1 { "server" } else { "servers" },
                format_args!("{} {}", names(&all), if all.len() == 1 { "is" } else { "are" })
            )
        }
        Now::Dirty { bytes } => format!(
            "{} wait to be written: a sleep now would write them first.",
            megabytes(*bytes)
        ),
        Now::FuseBlock { mounts } => format!(
            "The sync before sleep asks the server of {}. If that server is frozen with the user's \
             session first, it never answers.",
            names(mounts)
        ),
        Now::SlowDisk(w) => format!(
            "{} has nearly all of what a sync before sleep would wait for: {}{}.",
            w.name,
            megabytes(w.left),
            w.rate.map_or(
                ", and nobody saw yet how fast it writes; it can be taken out".into(),
                |r| format!(" at {}.{} MB/s", r / 1_000_000, r / 100_000 % 10)
            )
        ),
        Now::DirtyLimit { limit, disk } => format!(
            "Up to {} may wait to be written, and {} writes {}.{} MB/s: a sync before sleep may take {} s.",
            megabytes(*limit),
            disk.name,
            disk.rate.unwrap_or(0) / 1_000_000,
            disk.rate.unwrap_or(0) / 100_000 % 10,
            limit / disk.rate.unwrap_or(1).max(1)
        ),
        Now::NobodyArms { kernel } => format!(
            "{kernel} gives up its sync when a wakeup comes, if sleep is armed (wakeup_count), and nothing here arms it: systemd does not, and no hook does."
        ),
        Now::WakeNotCounted { device, irq } => format!(
            "IRQ {irq} of {device} woke the machine, and {device} never reported an event. Only the line wakes, which is watched from noirq on: what comes between the suspend of {device} and noirq is lost."
        ),
        Now::ManyForbidden { devices, .. } => format!(
            "{} are awake and may not suspend at run time (control is on): {}.",
            plural(devices.len(), "device"),
            names(devices)
        ),
    }
}

fn knob(k: &Knob) -> String {
    match k {
        Knob::Test(level) => format!(
            "A sleep now is only a test: pm_test is {level}, so the machine comes back by itself and \
             never sleeps."
        ),
        Knob::Trace => "pm_trace is on: each sleep overwrites the clock of the machine and suspends \
                        one device after the other."
            .into(),
        Knob::Synchronous => {
            "Devices suspend and resume one after the other: pm_async is 0.".into()
        }
        Knob::FreezeTimeout(ms) => {
            format!("Tasks have {ms} ms to freeze (pm_freeze_timeout); the usual time is 20,000 ms.")
        }
        Knob::PrintTimes => {
            "Every callback is printed (pm_print_times), which costs time where the console is slow."
                .into()
        }
        Knob::SyncOff => "Dirty data is not written before sleep: sync_on_suspend is 0. It is lost if \
                          power fails or the machine does not resume."
            .into(),
        Knob::FreezeFiles => "File systems are frozen before each sleep (freeze_filesystems). That \
                              writes dirty data in a step that no wakeup can end."
            .into(),
        Knob::Autosleep(state) => format!(
            "The machine goes to sleep by itself as {state} whenever no wakeup source is active \
             (autosleep)."
        ),
    }
}

/// A value to write, and how to take it back.
fn write(value: &str, file: &str, undo: &'static str, risk: &'static str) -> Vec<Advice> {
    vec![Advice { text: format!("echo {value} > {file}"), undo, risk }]
}

/// How to undo what was written to a file.
pub(super) const OLD: &str = "Write the old value back.";

/// What to do, best first.
pub fn advice(n: &Now) -> Vec<Advice> {
    match n {
        Now::NoState => vec![look(
            "A kernel offers sleep if it was built for it (CONFIG_SUSPEND) and the platform has a \
             way to do it; virtual machines and containers often have none.",
        )],
        Now::Knob(Knob::Test(_)) => write("none", "/sys/power/pm_test", OLD, ""),
        Now::Knob(Knob::Trace) => write("0", "/sys/power/pm_trace", OLD, ""),
        Now::Knob(Knob::Synchronous) => write(
            "1",
            "/sys/power/pm_async",
            OLD,
            "Somebody may have switched it off for a driver that needs an order nobody declared.",
        ),
        Now::Knob(Knob::FreezeTimeout(_)) => {
            write("20000", "/sys/power/pm_freeze_timeout", OLD, "")
        }
        Now::Knob(Knob::PrintTimes) => write("0", "/sys/power/pm_print_times", OLD, ""),
        Now::Knob(Knob::SyncOff) => write(
            "1",
            "/sys/power/sync_on_suspend",
            OLD,
            "With a block device that is suspended below its file system (luksSuspend) sync never ends.",
        ),
        Now::Knob(Knob::FreezeFiles) => write("0", "/sys/power/freeze_filesystems", OLD, ""),
        Now::Knob(Knob::Autosleep(_)) => write("off", "/sys/power/autosleep", OLD, ""),
        Now::NoS2idleState { why: Shallow::Disabled(_), .. } => vec![Advice {
            text: "echo 0 > the state's file disable, for s2idle obeys it too.".into(),
            undo: OLD,
            risk: "Whoever switched it off for its latency gets that latency back.",
        }],
        Now::NoS2idleState { .. } => vec![look(
            "See which driver could serve these CPUs (intel_idle, acpi_idle, psci_idle), and whether \
             idle=, max_cstate= or the firmware forbids its states. Where there is no such state, \
             choose deep.",
        )],
        Now::AttemptsFailed { .. } => vec![look(
            "Give the log of a failed attempt: journalctl -k > log.txt; dormouse doctor log.txt",
        )],
        Now::SourcesActive { .. } => {
            vec![look("If it stays active: look at its device, or switch its power/wakeup off.")]
        }
        Now::NoAlarm { clocks } => write(
            "enabled",
            &format!("/sys/class/rtc/{}/device/power/wakeup", clocks.first().map_or("rtc0", |c| c)),
            "echo disabled to the same file",
            "",
        ),
        Now::AlarmSoon { .. } => vec![look("Sleep after it, or stop that program.")],
        Now::NoResumeDevice => vec![look(
            "Put resume= (and resume_offset= of a swap file) on the kernel command line, unless \
             systemd keeps the place in an EFI variable.",
        )],
        Now::SwapSmall { .. } => {
            vec![look("Add swap as large as the memory in use, or ask for a smaller image_size.")]
        }
        Now::TaskWaits(_) => vec![look(
            "See what it waits for: cat /proc/PID/stack as root; a disk, a network share or a FUSE \
             server that does not answer.",
        )],
        Now::Spins(_) => vec![look("Stop it before a sleep, or give it pauses.")],
        Now::FuseServers { .. } => vec![look(
            "If freezing ever fails at such a task: run the server as a system service outside \
             user.slice, or unmount before sleep.",
        )],
        Now::Dirty { .. } => vec![look("Write it before: dormouse sync.")],
        Now::FuseBlock { .. } => vec![look(
            "Unmount it before sleep, or run its server as a system service outside user.slice.",
        )],
        Now::SlowDisk(w) => vec![
            look(if w.removable {
                "Unmount it before sleep, or mount it with the option sync, so that little is left to write."
            } else {
                "Write it before: dormouse sync --hook DIR makes the unit."
            }),
            Advice {
                text: format!(
                    "Let less wait for it (from 6.2 on): echo {} > /sys/class/bdi/{}/max_bytes",
                    w.rate.unwrap_or(8_000_000),
                    w.number
                ),
                undo: OLD,
                risk: "Programs that write to it wait sooner.",
            },
        ],
        Now::DirtyLimit { disk, .. } => vec![Advice {
            text: format!(
                "Let no more wait than it writes in a second: sysctl vm.dirty_bytes={}",
                disk.rate.unwrap_or(0)
            ),
            undo: "Write the old value of vm.dirty_bytes back, or of vm.dirty_ratio if it was 0.",
            risk: "Programs that write wait sooner, those that write to fast disks too.",
        }],
        Now::NobodyArms { .. } => vec![Advice {
            text: "dormouse sync --hook DIR writes a hook that arms sleep at the last moment, and the setting that it needs.".into(),
            undo: "Remove the files; each says how.",
            risk: "With several states in SuspendState= systemd answers each wakeup with a second sleep, not armed.",
        }],
        Now::WakeNotCounted { .. } => vec![look(
            "Its handler, or the callback that reads why it woke, must call pm_wakeup_event(). If the line is not armed in suspend: enable_irq_wake() there, or dev_pm_set_wake_irq() at probe.",
        )],
        Now::ManyForbidden { .. } => vec![Advice {
            text:
                "Allow it where a device is idle: echo auto > its power/control, best by a rule of \
                   udev."
                    .into(),
            undo: "echo on to the same file",
            risk: "A device whose driver is not ready for it may stop working.",
        }],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_count_right() {
        let n = |cpus: &[u32]| {
            sentence(&Now::NoS2idleState {
                cpus: cpus.to_vec(),
                of: 4,
                why: Shallow::Driver("none".into()),
            })
        };
        assert!(
            n(&[0, 1, 2, 3]).starts_with("s2idle will be shallow: all 4 CPUs have no idle state")
        );
        assert!(n(&[3]).contains("CPU 3 has no idle state for it (the driver none has none)"));
        assert!(n(&[1, 3]).contains("CPUs 1 and 3 have"));
        let failed = Now::AttemptsFailed {
            failed: 1,
            slept: 0,
            device: String::new(),
            error: -16,
            step: "freeze".into(),
        };
        assert_eq!(
            sentence(&failed),
            "1 of 1 attempt to sleep failed since boot. The last one failed in step freeze, error -16."
        );
    }
}
