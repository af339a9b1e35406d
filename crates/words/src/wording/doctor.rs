//! What the doctor found, as sentences, and what to do about it.

use super::errno::told;
use super::number::{ms, names, plural};
use dormouse_base::time::Ns;
use dormouse_doctor::depth::Depth;
use dormouse_doctor::fact::{Device, Fact, Named, RpmFault, User, Wait};

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// In words.
    pub text: String,
    /// How to take it back; empty if it changes nothing.
    pub undo: &'static str,
    /// What it may cost; empty if nothing.
    pub risk: &'static str,
}

/// Advice that changes nothing.
pub(super) fn look(text: impl Into<String>) -> Advice {
    Advice { text: text.into(), undo: "", risk: "" }
}

/// `20.0 s`, rounded half up.
fn s(t: Ns) -> String {
    let tenths = t.0.saturating_add(50_000_000) / 100_000_000;
    format!("{}.{} s", tenths / 10, tenths % 10)
}

/// `1.19 %` of thousandths of a per cent.
fn percent(thousandths: u64) -> String {
    let hundredths = thousandths.saturating_add(5) / 10;
    format!("{}.{:02} %", hundredths / 100, hundredths % 100)
}

/// `0000:00:14.0 (xhci_hcd)`.
pub(super) fn device(d: &Device) -> String {
    if d.driver.is_empty() || d.driver.contains(' ') {
        d.name.clone()
    } else {
        format!("{} ({})", d.name, d.driver)
    }
}

fn task(t: &Named) -> String {
    if t.pid == 0 { t.name.clone() } else { format!("{} (pid {})", t.name, t.pid) }
}

/// ` 3 times`; empty for once.
fn times(n: usize) -> String {
    if n == 1 { String::new() } else { format!(" {n} times") }
}

/// `, 3 times`; empty for once.
fn and_times(n: usize) -> String {
    if n == 1 { String::new() } else { format!(", {n} times") }
}

fn once(n: usize) -> String {
    if n == 1 { "once".into() } else { format!("{n} times") }
}

/// Ends the sentence "NAME …".
fn waited(w: Wait) -> &'static str {
    match w {
        Wait::Fuse => {
            "waited for the server of a FUSE file system; if that server was frozen first, nobody answers"
        }
        Wait::NetworkFiles => "waited for the server of a network file system",
        Wait::Trim => "was trimming a file system (fstrim), which did not look at the freezer",
        Wait::FastCommit => "waited for a fast commit of ext4 that never ended",
        Wait::Automount => "waited for an automatic mount",
        Wait::PageFault => "was in a page fault and waited for a page of a file",
        Wait::ModuleLoad => {
            "loaded a module and waited for a device to be found (async_synchronize), which did not end"
        }
        Wait::Probe => "loaded a driver whose probe waited for a device",
        Wait::DeviceLock => {
            "read an attribute of a device and waited for its lock, which a probe holds"
        }
        Wait::Writeback => "waited until dirty data was written",
        Wait::FrozenFiles => "waited for a frozen file system",
        Wait::Disk => "waited for a disk that did not answer in time",
        Wait::KernelLoop => {
            "is a thread of the kernel that never asks to be frozen: a fault of its driver"
        }
        Wait::Uninterruptible => {
            "waited where it cannot be frozen (state D); the text does not show for what"
        }
        Wait::Running => "ran and did not leave the kernel in time",
        Wait::KernelThread => "is a thread of the kernel that did not reach the freezer",
        Wait::Unknown => "did not reach the freezer",
    }
}

/// What to do about a task that did this.
fn against(w: Wait) -> &'static str {
    match w {
        Wait::Fuse => {
            "Stop the server or its user before sleep, or run the server as a system service outside user.slice."
        }
        Wait::NetworkFiles => {
            "Unmount the share before sleep, or see that the network goes down after the freezing."
        }
        Wait::Trim => {
            "Take a kernel in which trimming can be interrupted (ext4: 6.7 on), or do not sleep while fstrim runs."
        }
        Wait::FastCommit => "Switch the feature off: tune2fs -O ^fast_commit DEVICE.",
        Wait::Automount => "Mount the file system before sleep, or not automatically.",
        Wait::PageFault => {
            "Find the file's server or disk: an AppImage, a FUSE mount or a network share whose server is frozen never answers."
        }
        Wait::ModuleLoad => {
            "Look for the device that does not answer in the lines before (resets, timeouts); unplug it before sleep."
        }
        Wait::Probe => {
            "Look for the device that does not answer in the lines before; unplug it before sleep."
        }
        Wait::DeviceLock => "Look for the device whose probe does not end.",
        Wait::Writeback => "Write it before sleep: dormouse sync --hook DIR makes the unit.",
        Wait::FrozenFiles => "Thaw the file system before sleep (fsfreeze -u).",
        Wait::Disk => "Look for errors, resets or timeouts of the disk in the lines before.",
        Wait::KernelLoop => {
            "The driver must call try_to_freeze in its loop, or not be freezable; unload it before sleep."
        }
        Wait::Uninterruptible => {
            "Give the whole log: the functions under the task's name say what it waits for."
        }
        Wait::Running => {
            "See what it does: perf record -g -p PID, or echo l > /proc/sysrq-trigger."
        }
        Wait::KernelThread => "Find the driver that owns the thread; unload it before sleep.",
        Wait::Unknown => "Stop it before sleep.",
    }
}

/// `in name only`, `only a part of the time`.
fn how_deep(partly: bool) -> &'static str {
    if partly { "only a part of the time" } else { "in name only" }
}

/// What was found, in one or two sentences.
pub fn sentence(f: &Fact) -> String {
    match f {
        Fact::FreezeBlocker { .. } | Fact::FreezePolling { .. } => super::freezing::sentence(f),
        Fact::WokenToSuspend { .. }
        | Fact::WokenWithChild { .. }
        | Fact::DirectMissed { .. }
        | Fact::SuspendedAfter { .. }
        | Fact::LateUse { .. } => super::runtime::sentence(f),
        Fact::CallbackHung { device } => format!(
            "A callback of {device} never returned, so the watchdog of device sleep stopped the kernel."
        ),
        Fact::CpuStayedOn { cpu } => {
            let cpu = if cpu.is_empty() { "a CPU" } else { cpu };
            format!("{cpu} could not be switched off, so the machine did not sleep.")
        }
        Fact::DeviceFailed { device: d, error, times: n, awake: Some(below), .. } => format!(
            "{} ended the sleep{}: {}. Just before, a hub said that {below} below it was not suspended yet.",
            device(d),
            times(*n),
            told(*error)
        ),
        Fact::DeviceFailed { device: d, error, times: n, usb, .. } => failed(d, *error, *n, *usb),
        Fact::DevicesNotResumed { devices, error } => {
            let all: Vec<String> = devices.iter().map(device).collect();
            format!("{} failed to resume: {}.", names(&all), told(*error))
        }
        Fact::NotPowered { devices, from } => {
            let all: Vec<String> = devices.iter().map(device).collect();
            format!("{} could not be brought back from {from}: it did not answer.", names(&all))
        }
        Fact::WakeupPending { sources, in_callback } => wakeup(sources, *in_callback),
        Fact::NoWayBack { line } => format!(
            "The sleep of line {line} has no end in the text: devices came back, and no line says that tasks were started again. The machine hung there, or the text was cut."
        ),
        Fact::WriteRefused { error, times } => format!(
            "A program could not put the machine to sleep{}: {}. The text has no line of the kernel that says why.",
            and_times(*times),
            told(*error)
        ),
        Fact::EndedUnknown { sleeps } => {
            let which = match sleeps {
                1 => "A sleep was".to_string(),
                n => format!("{n} sleeps were"),
            };
            format!("{which} ended by a device or a wakeup; the text does not say which.")
        }
        Fact::OtherMode { failed, gap, instead, slept } => format!(
            "The sleep as {failed} failed, and {} the machine was put to sleep as {instead} instead{}.",
            if *gap > Ns::ZERO { format!("{} ms later", ms(*gap)) } else { "at once".into() },
            if *slept { "" } else { ", which failed too" }
        ),
        Fact::TwoWriters => {
            "A second sleep was asked for while one was under way: two programs write to /sys/power/state."
                .into()
        }
        Fact::AlarmDue => {
            "An alarm was due within 2 s, so the alarm timer refused the sleep (EBUSY). No driver is at fault."
                .into()
        }
        Fact::AlarmRefused { too_far } => format!(
            "The alarm timer refused the sleep: the RTC took no alarm for the time asked (EINVAL).{}",
            if *too_far {
                " The RTC says that the alarm lies too far ahead for it."
            } else {
                " Why it takes none is not in the text."
            }
        ),
        Fact::TasksRefused { tasks, after, times, wait, behind, unnamed } => {
            let all: Vec<String> = tasks.iter().map(task).collect();
            let each = if all.len() == 1 { ": it" } else { "; each" };
            let (after, times) = (s(*after), and_times(*times));
            let behind: Vec<String> = behind.iter().map(task).collect();
            let behind = match behind.len() {
                0 => String::new(),
                _ => format!(
                    " {} waited for the lock of a device, most likely the one that is being probed.",
                    names(&behind)
                ),
            };
            let unnamed = match unnamed {
                0 => String::new(),
                1 => " 1 more task refused, which the text does not show.".into(),
                n => format!(" {n} more tasks refused, which the text does not show."),
            };
            format!(
                "{} did not freeze in {after}{times}{each} {}.{behind}{unnamed}",
                names(&all),
                waited(*wait)
            )
        }
        Fact::TasksUnnamed { tasks, after, times } => {
            let (what, which) = if *tasks == 1 { ("task", "which") } else { ("tasks", "which ones") };
            let (after, times) = (s(*after), and_times(*times));
            format!(
                "{tasks} {what} did not freeze in {after}{times}; the text does not show {which}."
            )
        }
        Fact::WorkqueueBusy { name, after, timed_out } => {
            let which = name.as_ref().map_or("A workqueue".into(), |n| format!("Workqueue {n}"));
            let meanwhile = timed_out.as_ref();
            let meanwhile = meanwhile.map_or(String::new(), |d| format!("; meanwhile {d} timed out"));
            format!(
                "{which} was still busy after {}, so its work could not be frozen{meanwhile}.",
                s(*after)
            )
        }
        Fact::SessionNotFrozen => {
            "systemd could not freeze the user's session before sleep.".into()
        }
        Fact::FreezingSlow { worst, slow, of } => format!(
            "Freezing took up to {} ({slow} of {of} sleeps over 1 s); the text does not say which task was last.",
            s(*worst)
        ),
        Fact::ImageShort { pages } => format!(
            "Hibernation failed: memory could not hold the image, {} pages were missing.",
            if pages.is_empty() { "some" } else { pages }
        ),
        Fact::NoSwap { program: true, .. } => {
            "Hibernation was refused before the kernel tried it: no swap that systemd looked at was large enough, or `resume=` names another."
                .into()
        }
        Fact::NoSwap { none: true, .. } => {
            "Hibernation failed: the kernel found no swap to write the image to.".into()
        }
        Fact::NoSwap { none: false, .. } => {
            "Hibernation failed: swap had no room for the image.".into()
        }
        Fact::ImageOfOther { memory: true } => {
            "The memory map that the firmware gave is another than when the image was made, so the image was not read."
                .into()
        }
        Fact::ImageOfOther { memory: false } => {
            "The image was made by another kernel or on another machine, so it was not read.".into()
        }
        Fact::ImageRefused { device: d, error } => format!(
            "The image was read whole, and then {} would not stop for it: {}. So the machine booted afresh.",
            device(d),
            told(*error)
        ),
        Fact::ImageUnread => {
            "The image was found and could not be read back, so the machine booted afresh.".into()
        }
        Fact::LockedDown => {
            "The kernel is locked down, as Secure Boot asks, and lets nobody hibernate.".into()
        }
        Fact::ImageDisk { disk, write } => format!(
            "The disk {disk} failed while the image of the memory was {}.",
            if *write { "written to it" } else { "read from it" }
        ),
        Fact::SuspendTimeout { place } => format!(
            "A sleep did not get on until the kernel's timer ended it{}.",
            place.as_ref().map_or(String::new(), |f| format!(": its thread stood in {f}"))
        ),
        Fact::HibernationCrash => {
            "The kernel crashed on the way back from hibernation, after the image was made.".into()
        }
        Fact::SleepCrash { function, back } => {
            let way = if *back { "resumed" } else { "suspended" };
            match function {
                Some(f) => format!("The kernel crashed while devices {way}, in {f}."),
                None => format!("The kernel crashed while devices {way}."),
            }
        }
        Fact::NotDeepest { times, processor } => {
            let who = if *processor {
                "the processor never reached its deepest state, so the platform could not"
            } else {
                "its power management unit never reached the deepest state"
            };
            format!(
                "The machine slept in name only{}: {who}. The text does not say what kept it.",
                and_times(*times)
            )
        }
        Fact::DeepShare { deep_s, of_s, percent: percent @ 90.. } => {
            format!("The hardware slept: {deep_s} s of {of_s} s ({percent} %).")
        }
        Fact::DeepShare { deep_s, of_s, percent } => format!(
            "The hardware slept {}: {deep_s} s of {of_s} s ({percent} %).",
            how_deep(*percent >= 5)
        ),
        Fact::NotPrepared { firmware: true } => {
            "The firmware is not set up for s2idle, says the GPU's driver: such a sleep is one in name only."
                .into()
        }
        Fact::NotPrepared { firmware: false } => {
            "The kernel has no driver for the power management unit (CONFIG_AMD_PMC), says the GPU's driver: s2idle is a sleep in name only."
                .into()
        }
        Fact::PlatformAwake => {
            "The machine sleeps in name only: the processor reaches its deepest package state, and the platform never counted any sleep."
                .into()
        }
        Fact::NothingCounted => {
            "The platform counted no sleep in hardware. Either it slept in name only, or this counter does not work here: the text has no sleep that it counted."
                .into()
        }
        Fact::SelfTest { s0ix, package, slept } => {
            let words = match package {
                Some(0) if !slept => " The processor's package never reached C10, so the cause is on the processor's side or a device that asks for low latency.".to_string(),
                Some(n) => format!(" The processor's package was in C10 for {}.", percent(*n)),
                None => String::new(),
            };
            if *slept {
                let s0ix = percent(*s0ix);
                return format!("The machine reached S0ix, for {s0ix} of the test.{words}");
            }
            let how = how_deep(*s0ix >= 5_000);
            format!("The machine slept {how}: S0ix for {} of the test.{words}", percent(*s0ix))
        }
        Fact::WokenBy { irqs, acpi, gpes } => woken(irqs, *acpi, gpes),
        Fact::Turns { interruptions } => format!(
            "Something interrupted one sleep {interruptions} times without waking the machine."
        ),
        Fact::BusUsed { bus, user, awake } => {
            let who = match user {
                User::Work(name) => {
                    format!("work item {name} used it, not a callback of power management")
                }
                User::Firmware => "ACPI code used it (an operation region of the firmware)".into(),
                User::Function(f) => format!("{f} used it"),
                User::Unknown => "the text does not say who used it".into(),
            };
            if *awake {
                format!(
                    "Bus {bus} was used while it was marked as suspended, outside any sleep: {who}."
                )
            } else {
                format!("Bus {bus} was used while it was suspended: {who}.")
            }
        }
        Fact::BusTimedOut { device, times } => format!(
            "{device} timed out {} in noirq, or while CPUs were switched off or on. Interrupts of devices are off there, so whoever used it then could not be served; the text does not name the user.",
            once(*times)
        ),
        Fact::TraceWasOn => {
            "pm_trace was on: the kernel set the clock of the machine at every device, so the sleep took longer and the clock is wrong after it.".into()
        }
        Fact::DiskNotBack { gap, disk } => format!(
            "The next sleep began {} ms after the last one ended, while {disk} was still coming back. Disks resume in the background after `suspend exit`.",
            gap.0 / 1_000_000
        ),
        Fact::DeviceLost { after_s, reported } => {
            let near = reported.as_ref().map_or(String::new(), |d| {
                format!(" Just before, this was reported: {}.", d.trim_end_matches('.'))
            });
            let when = match after_s {
                ..0 => "before its end".into(),
                n => format!("{n} s after it"),
            };
            format!(
                "A device did not survive the sleep: {when} the kernel reports trouble that it had not before.{near}"
            )
        }
        Fact::RpmFault { device, fault: RpmFault::Failed { resume, error, again } } => format!(
            "{device} failed to {} at run time, with error {error}{}.",
            if *resume { "resume" } else { "suspend" },
            match again {
                true => "; later it did",
                false => "; until somebody clears that, the core answers -22 (EINVAL) to every other \
                          call",
            }
        ),
        Fact::RpmFault { device, fault } => format!("{device} {}.", complaint(*fault)),
        Fact::RpmForbidden { device, awake_percent, .. } => format!(
            "Device {device} may not suspend at run time: its control is on. It was awake {awake_percent} % of its time."
        ),
        Fact::RpmHeld { device, usage } => {
            let why = match usage {
                Some(n) => format!("its usage count is {n}: somebody holds it"),
                None => "nobody holds it (usage 0, no active children), so its driver or a quirk keeps it awake".into(),
            };
            format!(
                "Device {device} does not suspend at run time though it may: {why}. That is not by itself a leak."
            )
        }
        Fact::Now(n) => super::now::sentence(n),
        Fact::SyncHung { fuse } => format!(
            "Writing dirty data before the sleep did not end in time.{}",
            if *fuse {
                " It waits for the server of a FUSE file system; a server that is frozen never answers."
            } else {
                ""
            }
        ),
        Fact::SyncLong { median, of: 1, .. } => format!(
            "Writing dirty data took {} before the sleep; the text does not say which disk.",
            s(*median)
        ),
        Fact::SyncLong { median, of, worst } => format!(
            "Writing dirty data took {} before a sleep in the median of {of} (at most {}); the text does not say which disk.",
            s(*median),
            s(*worst)
        ),
        Fact::WaitsInNoirq { devices, worst } => {
            let all: Vec<String> = devices.iter().map(device).collect();
            let runs = if all.len() == 1 { "runs" } else { "run" };
            format!(
                "{} {runs} up to {} ms in noirq, where interrupts of devices are off.",
                names(&all),
                ms(*worst)
            )
        }
        Fact::Misplaced(m) => super::phases::sentence(m),
        Fact::DomainSwitched { .. } => super::switches::sentence(f),
        Fact::SleptAs { depth, times, of } => slept_as(*depth, *times, *of),
        Fact::ClockStepped { times, of } => format!(
            "In {times} of {of} cycles the clock of the recording took in the time asleep inside a \
             resume phase: that phase is no slower for it."
        ),
    }
}

/// In how many sleeps, as the begin of a sentence.
fn in_sleeps(times: usize, of: usize) -> String {
    if of == 1 {
        "In the one s2idle sleep".into()
    } else {
        format!("In {times} of {of} s2idle sleeps")
    }
}

fn slept_as(d: Depth, times: usize, of: usize) -> String {
    let sleeps = in_sleeps(times, of);
    match d {
        Depth::Hardware => format!("{sleeps} the hardware slept, by its own counter."),
        Depth::Partial(share) => {
            format!("{sleeps} the hardware slept only a part of the time ({share} %).")
        }
        Depth::NameOnly => format!(
            "{sleeps} the machine slept in name only: the counter of the hardware, which works, \
             counted nothing."
        ),
        Depth::CpusOnly => format!(
            "{sleeps} all CPUs slept; no counter tells whether the rest of the hardware did."
        ),
        Depth::NotEvenCpus => format!(
            "{sleeps} not even the CPUs slept: CLOCK_MONOTONIC ran on, so a CPU idled as usual. Its \
             timers fire and end idle states, and time-outs run while the machine seems asleep."
        ),
        Depth::NotKnown => format!("{sleeps} no counter tells how deep it was."),
    }
}

fn failed(d: &Device, n: i32, count: usize, usb: bool) -> String {
    let (device, times) = (device(d), times(count));
    if n > 0 {
        format!(
            "{device} ended the sleep{times}: its callback returned {n}. Only 0 is success, so the kernel takes a positive value as an error."
        )
    } else if n == -16 && usb {
        format!(
            "{device} ended the sleep{times}: error {n} (EBUSY). The usual cause is a wakeup pending at a USB port below it; the text does not say which."
        )
    } else {
        format!("{device} ended the sleep{times}: {}.", told(n))
    }
}

fn wakeup(sources: &[String], in_callback: bool) -> String {
    let which = match sources {
        [] => "the text does not name its source (switch pm_debug_messages on).".to_string(),
        [one] => format!("wakeup source {one}."),
        many => format!("wakeup sources {}.", many.join(", ")),
    };
    let whose = if in_callback {
        " The functions listed show that it was set off inside a driver's suspend callback."
    } else {
        ""
    };
    format!(
        "A wakeup ended the sleep on its way (wakeup_count was armed, or the event was one that ends any sleep): {which}{whose}"
    )
}

fn woken(irqs: &[(String, usize)], acpi: bool, gpes: &[String]) -> String {
    let times = |n: usize| if n == 1 { String::new() } else { format!(" ({n} times)") };
    let all: Vec<String> = irqs.iter().map(|(irq, n)| format!("IRQ {irq}{}", times(*n))).collect();
    let acpi = if acpi { "; an ACPI event that is not the embedded controller's" } else { "" };
    let gpes = match gpes {
        [] => String::new(),
        some => format!(" (GPE {})", some.join(", ")),
    };
    format!("Woken by {}{acpi}{gpes}. Which device raised it is not in the text.", all.join(", "))
}

/// Ends the sentence "DEVICE …".
fn complaint(f: RpmFault) -> &'static str {
    match f {
        RpmFault::Underflow => {
            "was put more often than it was got: its driver calls pm_runtime_put once too often"
        }
        RpmFault::ParentOff => {
            "was called active while its parent was suspended, so its state is not what the core thinks"
        }
        RpmFault::Crash => "crashed the kernel as a callback of runtime power management",
        RpmFault::Unbalanced => "had runtime power management enabled twice",
        RpmFault::Failed { .. } => "failed at run time",
        RpmFault::Error => {
            "has runtime_status error: a callback failed, and the core calls none until that is cleared"
        }
        RpmFault::Stuck { resuming: true } => {
            "was resuming at run time each time it was looked at: its resume does not end"
        }
        RpmFault::Stuck { resuming: false } => {
            "was suspending at run time each time it was looked at: its suspend does not end"
        }
    }
}

/// What to do, best first.
pub fn advice(f: &Fact) -> Vec<Advice> {
    let one = match f {
        Fact::Now(n) => return super::now::advice(n),
        Fact::FreezeBlocker { .. } | Fact::FreezePolling { .. } => {
            return super::freezing::advice(f);
        }
        Fact::WokenToSuspend { .. }
        | Fact::WokenWithChild { .. }
        | Fact::DirectMissed { .. }
        | Fact::SuspendedAfter { .. }
        | Fact::LateUse { .. } => return super::runtime::advice(f),
        Fact::CallbackHung { .. } => "The functions after that line show where the callback waits.",
        Fact::CpuStayedOn { .. } => {
            "Try it awake: echo 0 > /sys/devices/system/cpu/cpuN/online. Pinned real-time or deadline tasks and faulty CPU hotplug drivers do this."
        }
        Fact::DeviceFailed { awake: Some(below), .. } => {
            return vec![look(format!(
                "Unplug {below}, or unbind its driver, and try again: a driver that does not suspend it, or a wakeup of it, keeps the controller awake."
            ))];
        }
        Fact::DeviceFailed { device, error, usb, .. } => return after(&device.name, *error, *usb),
        Fact::DevicesNotResumed { .. } => {
            "Look at the messages of their drivers before those lines; a device that was found anew afterwards works again."
        }
        Fact::NotPowered { .. } => {
            "Look what cuts its power: the port above it, a regulator, a reset line. As a test keep that port in D0: write 0 to its d3cold_allowed, or boot with pcie_port_pm=off."
        }
        Fact::WakeupPending { .. } => {
            "If nobody touched the machine: look at that source's driver, or switch its power/wakeup off."
        }
        Fact::NoWayBack { .. } => {
            "If it hung: boot with no_console_suspend and a serial or net console, repeat it, and send SysRq-W: it lists the tasks that wait and where."
        }
        Fact::WriteRefused { .. } => {
            "Take the kernel's own log of that moment: journalctl -k -o short-monotonic. A pending wakeup gives EBUSY too."
        }
        Fact::EndedUnknown { .. } => {
            "Switch on what names it: echo 1 > /sys/power/pm_debug_messages."
        }
        // systemd's list of states is for suspend alone.
        Fact::OtherMode { failed, .. } if failed == "hibernation" => {
            "See who asked for the second sleep: the lines before it, and the journal of systemd and the desktop."
        }
        Fact::OtherMode { .. } => {
            return vec![Advice {
                text: "If it shall only sleep as deep: SuspendState=mem in sleep.conf of systemd."
                    .into(),
                undo: "Remove the line again.",
                risk: "A failed attempt then leaves the machine awake.",
            }];
        }
        Fact::TwoWriters => "Let one program decide: logind, or the script, not both.",
        Fact::AlarmDue => {
            "Find who holds it (clockid 8 or 9 in /proc/*/fdinfo), or try again after it."
        }
        Fact::AlarmRefused { .. } => {
            "Look for a far alarm (timerfd with an ALARM clock), and whether the RTC has an alarm at all: /sys/class/rtc/rtc0/wakealarm."
        }
        Fact::TasksRefused { wait, .. } => against(*wait),
        Fact::TasksUnnamed { .. } => {
            "Give the whole log: the tasks and what they wait for follow that line."
        }
        Fact::WorkqueueBusy { .. } => {
            "Look at the device whose work it is: unplug it, or fix its timeout."
        }
        Fact::SessionNotFrozen => {
            "After such a sleep look whether the session is still frozen: systemctl thaw user.slice."
        }
        Fact::FreezingSlow { .. } => {
            "Record sched:sched_switch during one freezing: the last task to switch out is the one."
        }
        Fact::ImageShort { .. } => {
            return vec![
                look(
                    "Free memory first: close programs, empty tmpfs (shared memory cannot be dropped), check that swap has room for it.",
                ),
                Advice {
                    text: "Or ask for a smaller image: echo 0 > /sys/power/image_size.".into(),
                    undo: "Write the old value back.",
                    risk: "More is written to swap before, and read back after.",
                },
            ];
        }
        Fact::NoSwap { .. } => {
            "See swapon --show, and that resume= (and resume_offset= of a swap file) name that swap."
        }
        Fact::ImageRefused { .. } => {
            "The kernel that reads the image stops its own devices first: keep that driver out of the initrd, or set up what it asks for (nvidia: its suspend services, or its parameter for video memory)."
        }
        Fact::ImageOfOther { memory: true } => {
            "The firmware must give the same map at each boot: update it, take away what changes it (docks, settings), and compare the e820 lines of the two boots."
        }
        Fact::ImageOfOther { memory: false } => {
            "Boot the kernel that hibernated; after an update of the kernel, reboot before hibernating."
        }
        Fact::ImageUnread => {
            "Look at the error before that line: -84 is damaged data, -1 a check that failed. Whatever lies between swap and disk must pass the image on unchanged."
        }
        Fact::LockedDown => {
            "Sleep in another mode; hibernation needs a kernel that is not locked down (cat /sys/kernel/security/lockdown)."
        }
        Fact::ImageDisk { .. } => {
            "Look at that disk before the next hibernation: dmesg --level=err,warn, smartctl -a, and what lies there: lsblk -o NAME,MAJ:MIN."
        }
        Fact::SuspendTimeout { .. } => {
            "Look at what that function waits for; of a lock, who holds it: echo w > /proc/sysrq-trigger shows all that wait."
        }
        Fact::HibernationCrash => {
            "Check that both kernels see the same memory map (the e820 lines of the two boots)."
        }
        Fact::SleepCrash { .. } => {
            "Report it to the maintainer of the driver that the function belongs to, with the whole crash; until then keep that driver unloaded across a sleep."
        }
        Fact::SelfTest { slept: true, .. } | Fact::DeepShare { percent: 90.., .. } => {
            return Vec::new();
        }
        Fact::NotDeepest { .. } | Fact::SelfTest { .. } => {
            "Look for a CPU state that is switched off, a device that is not in D3, and events inside the sleep; pm_debug_messages lists the constraints that were not met."
        }
        Fact::DeepShare { .. } => {
            "Each further `Timekeeping suspended` line is a wake-up inside the sleep: find what interrupts it (the lines between name IRQs and GPEs)."
        }
        Fact::NotPrepared { firmware: true } => {
            "Change the mode of sleep in the firmware's setup (Windows/S0ix or Linux/S3), or use deep."
        }
        Fact::NotPrepared { firmware: false } => {
            "Build amd_pmc, or load it: /sys/bus/platform/drivers/amd_pmc has a device then."
        }
        Fact::PlatformAwake => {
            "The fault is outside the processor: firmware, or a device that keeps its part on (pmc_core: ltr_show, slp_s0_debug_status)."
        }
        Fact::NothingCounted => {
            "See whether the counter ever moves (other sleeps, other kernels), and whether package state C10 is reached."
        }
        Fact::WokenBy { .. } => {
            "If nobody touched the machine: /proc/acpi/wakeup and the _PRW of the ACPI tables name the device of a GPE; switch its wakeup off to try."
        }
        Fact::Turns { .. } => "Each turn costs energy: compare /proc/interrupts before and after.",
        Fact::BusUsed { awake: true, .. } => {
            "Something marked the bus as suspended and did not take it back (a shutdown callback, or a failed resume)."
        }
        Fact::BusUsed { user: User::Work(_), .. } => {
            "Put that work on a freezable workqueue (system_freezable_wq), or cancel it in the driver's suspend."
        }
        Fact::BusUsed { .. } => {
            "Suspend the bus later (noirq) or its user earlier, and add the device link from the user to the bus."
        }
        Fact::BusTimedOut { .. } => {
            "Look for what uses that bus there: a noirq callback of a device behind it, or what sets voltages or clocks when a CPU comes up (cpufreq, regulators)."
        }
        Fact::TraceWasOn => {
            return vec![Advice {
                text: "echo 0 > /sys/power/pm_trace".into(),
                undo: "Write the old value back.",
                risk: "",
            }];
        }
        Fact::DiskNotBack { .. } => {
            "Wait for the disks between two sleeps (a test loop: 5 s), or look at the order of disk resume in this kernel."
        }
        Fact::DeviceLost { .. } => {
            "Look whether its driver has suspend and resume callbacks; unload it before sleep to try."
        }
        Fact::RpmFault { fault, .. } => match fault {
            RpmFault::Underflow => "Look for an error path of the driver that puts without a get.",
            RpmFault::ParentOff => {
                "The driver must resume the parent first (pm_runtime_get_sync), then set the device active."
            }
            RpmFault::Crash => {
                "Look whether its device was being removed: remove must end runtime power management (pm_runtime_disable, a get without a put) before it takes away what the callback uses."
            }
            RpmFault::Unbalanced => "Look for a probe or resume that enables it a second time.",
            RpmFault::Failed { .. } | RpmFault::Error => {
                "Look at what its driver's callback says just before; unbind and bind the driver to clear the error."
            }
            RpmFault::Stuck { .. } => {
                "Look where its thread waits: echo w > /proc/sysrq-trigger, then dmesg."
            }
        },
        Fact::RpmForbidden { folder, .. } => {
            return vec![Advice {
                text: format!("echo auto > {folder}/control"),
                undo: "echo on to the same file",
                risk: "A device whose driver is not ready for it may stop working.",
            }];
        }
        Fact::RpmHeld { .. } => {
            "Look at the device's quirks file and its driver: USB devices with the RESET_RESUME quirk that must wake the machine never suspend."
        }
        Fact::SyncHung { fuse: true } => {
            "Unmount it before sleep, or run its server as a system service outside user.slice."
        }
        Fact::SyncHung { fuse: false } => {
            "Look for the disk or server that does not take the data (errors and resets in the lines around)."
        }
        Fact::WaitsInNoirq { devices, .. } => {
            let name = devices.first().map_or("DEVICE", |d| d.name.as_str());
            let text = format!(
                "If it needs no more than its own registers there, it may wait earlier: dormouse \
                 predict RECORDING --move '{name}=noirq:late' says what that gains."
            );
            return vec![look(text)];
        }
        Fact::SleptAs { depth: Depth::Hardware | Depth::CpusOnly | Depth::NotKnown, .. } => {
            return Vec::new();
        }
        Fact::SleptAs { depth: Depth::NotEvenCpus, .. } => {
            "See which CPU has no idle state for s2idle: dormouse doctor on that machine; a state that somebody switched off (disable) counts as none."
        }
        Fact::Misplaced(m) => return super::phases::advice(m),
        Fact::DomainSwitched { .. } => return super::switches::advice(f),
        Fact::SleptAs { .. } => {
            "Look for a CPU state that is switched off, a device that is not in D3, and events inside the sleep; pm_debug_messages lists the constraints that were not met."
        }
        Fact::ClockStepped { .. } => {
            "Compare medians, and do not blame the clock's device (rtc) for that time."
        }
        Fact::SyncLong { .. } => {
            "Write it before: dormouse sync --hook DIR makes the unit. The kernel's own sync stays on and is short then."
        }
    };
    vec![look(one)]
}

/// After a device's callback failed.
fn after(device: &str, error: i32, usb: bool) -> Vec<Advice> {
    let mut out = vec![look(if error > 0 {
        "The driver must return 0; pm_runtime_resume() as a callback of system sleep returns 1."
            .into()
    } else if error == -16 && usb {
        format!(
            "Find the device that wakes: switch its power/wakeup off, one device at a time, beginning with {device}."
        )
    } else {
        format!("Look at the messages of {device}'s driver before that line.")
    })];
    // Only the error is proven; that its bus went first is one reading.
    if matches!(error, -6 | -108 | -121) {
        out.push(look(
            "One reading: what it is behind was suspended before it. Check the order (device link, parent).",
        ));
    }
    out
}

/// How many findings stand below the first.
pub fn below(rest: usize) -> String {
    format!("{} below.", plural(rest, "further finding"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_rounded_up() {
        assert_eq!(s(Ns(10_950_000_000)), "11.0 s");
        assert_eq!(s(Ns(10_949_999_999)), "10.9 s");
        assert_eq!(percent(74_825), "74.83 %");
    }
}
