//! Where in a sleep a message stands: the half and the phase, by the nearest line of the
//! core before it (kernel/power/suspend.c, kernel/power/hibernate.c,
//! drivers/base/power/main.c:dpm_show_time, 3.0 to 7.3).

use crate::message::{Message, seconds, thousandths};
use crate::refusal;
use crate::stack::Frame;
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::time::Ns;

/// Half and phase; the phase may be unknown where the lines of a kernel do not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stage {
    /// Going down or coming back.
    pub direction: Direction,
    /// The phase, if the lines tell.
    pub phase: Option<Phase>,
    /// What else runs there, which is no phase.
    pub work: Option<Work>,
}

/// What a sleep does besides its phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// Those that are told of a sleep ahead of it and behind it (kernel/power/main.c:
    /// pm_notifier_call_chain), while no task is frozen.
    Notifiers,
    /// The image of a hibernation is written, after devices came back for that
    /// (kernel/power/swap.c:save_image, save_compressed_image).
    ImageWritten,
    /// Any part of it: no more is known.
    Any,
    /// The same, as far as lines tell: those that part its phases are not in the text.
    Unproven,
    /// It is read, by a kernel that runs as always (load_image, load_compressed_image).
    ImageRead,
}

impl Stage {
    pub(crate) fn new(direction: Direction, phase: Option<Phase>) -> Stage {
        Stage { direction, phase, work: None }
    }

    fn of_work(direction: Direction, work: Work) -> Stage {
        Stage { direction, phase: None, work: Some(work) }
    }

    /// `while devices suspended`, `while devices came back (noirq)`, `before tasks were frozen`.
    pub(crate) fn words(self) -> String {
        let down = self.direction == Direction::Suspend;
        match self.work {
            Some(Work::Notifiers) => return "in a PM notifier, with no task frozen".into(),
            Some(Work::Unproven) if !down => return "on the way back from a sleep".into(),
            Some(Work::Any | Work::Unproven) => return "inside a sleep".into(),
            Some(Work::ImageWritten) => return "while the image was written".into(),
            Some(Work::ImageRead) => return "while the image was read".into(),
            None => {}
        }
        match self.phase {
            Some(Phase::Sync) => "while data was written before the sleep".into(),
            Some(Phase::Freeze | Phase::FreezeUser | Phase::FreezeKernel) => {
                "while tasks were being frozen".into()
            }
            Some(Phase::CpuOff) => "while CPUs were switched off".into(),
            Some(Phase::CpuOn) => "while CPUs came back".into(),
            Some(Phase::Thaw | Phase::Console) => "while tasks were started again".into(),
            Some(p @ (Phase::Late | Phase::Noirq)) => {
                format!("while devices suspended ({})", p.name())
            }
            Some(p @ (Phase::ResumeNoirq | Phase::ResumeEarly)) => {
                format!("while devices resumed ({})", p.name())
            }
            _ if down => "while devices suspended".into(),
            _ => "while devices resumed".into(),
        }
    }
}

/// The stage that begins with a message; nothing if it tells of none.
pub(crate) fn begins(m: &Message) -> Option<Stage> {
    use Direction::{Resume, Suspend};
    let says = |word: &str| m.says(word);
    let devices = |word: &str| {
        m.text.contains(word)
            && ["suspend", "freeze", "quiesce", "poweroff", "hibernation"]
                .iter()
                .any(|w| m.text.contains(w))
    };
    let back = |word: &str| {
        m.text.contains(word)
            && ["resume", "thaw", "restore", "recover"].iter().any(|w| m.text.contains(w))
    };
    let complete = m.has(" of devices complete");
    if let Some(up) = refused(m) {
        return Some(up);
    }
    Some(if says("suspend entry") || says("hibernation entry") || says("Syncing filesystems") {
        Stage::new(Suspend, Some(Phase::Sync))
    } else if says("Filesystems sync") || says("Freezing user space") {
        Stage::new(Suspend, Some(Phase::FreezeUser))
    } else if says("Freezing remaining") {
        let over = m.has("completed") || m.has("done.");
        let phase = if over { Phase::Suspend } else { Phase::FreezeKernel };
        Stage::new(Suspend, Some(phase))
    } else if says("Compressing and saving image data")
        || says("Saving image data pages")
        || says("Image saving progress:")
    {
        Stage::of_work(Suspend, Work::ImageWritten)
    } else if says("Loading and decompressing image data")
        || says("Loading image data pages")
        || says("Image loading progress:")
    {
        Stage::of_work(Resume, Work::ImageRead)
    } else if m.has("Suspending console(s)") || says("Entering ") && m.has(" sleep") {
        Stage::new(Suspend, Some(Phase::Suspend))
    } else if complete && (back("early ") || m.has("PM: early ")) {
        // Whatever it is called: only the way up has it.
        Stage::new(Resume, Some(Phase::Resume))
    } else if complete && back("noirq ") {
        Stage::new(Resume, Some(Phase::ResumeEarly))
    } else if complete && back("") {
        Stage::new(Resume, Some(Phase::Complete))
    } else if complete && devices("noirq ") {
        Stage::new(Suspend, None)
    } else if complete && devices("late ") {
        Stage::new(Suspend, Some(Phase::Noirq))
    } else if complete && devices("") || says("suspend devices took") {
        Stage::new(Suspend, Some(Phase::Late))
    } else if m.has("EC: interrupt blocked") {
        // drivers/acpi/ec.c:acpi_ec_block_transactions and acpi_ec_suspend_noirq.
        Stage::new(Suspend, Some(Phase::Noirq))
    } else if m.has("EC: interrupt unblocked") {
        Stage::new(Resume, Some(Phase::ResumeNoirq))
    } else if is_of_platform(m, "Preparing to enter system sleep state S")
        || m.has("Saving platform NVS memory")
    {
        // drivers/acpi/sleep.c:acpi_pm_prepare, the last step before CPUs go off.
        Stage::new(Suspend, None)
    } else if m.has("ACPI: PM: Low-level resume complete")
        || m.has("ACPI: Low-level resume complete")
        || m.has("Restoring platform NVS memory")
    {
        // drivers/acpi/sleep.c:acpi_suspend_enter: the first words of one CPU alone.
        Stage::new(Resume, Some(Phase::CpuOn))
    } else if m.has("Disabling non-boot CPUs") || m.has("Disabling nonboot CPUs") {
        Stage::new(Suspend, Some(Phase::CpuOff))
    } else if m.has("Enabling non-boot CPUs") || m.has("Enabling nonboot CPUs") {
        Stage::new(Resume, Some(Phase::CpuOn))
    } else if says("resume from suspend-to-idle")
        || m.has("Waking up from system sleep")
        || says("Timekeeping suspended for")
        || says("Suspended for ")
    {
        Stage::new(Resume, Some(Phase::ResumeNoirq))
    } else if says("resume devices took") {
        Stage::new(Resume, Some(Phase::Complete))
    } else if waits_for_a_test(m) {
        // kernel/power/suspend.c:suspend_test turns round there.
        Stage::new(Resume, None)
    } else if says("Some devices failed to suspend") {
        // Those that went down come back.
        Stage::new(Resume, Some(Phase::Resume))
    } else if says("OOM killer enabled") || m.has("Restarting tasks") {
        Stage::new(Resume, Some(Phase::Thaw))
    } else {
        return None;
    })
}

/// The way up that begins where a device or the core gives the way down up, or that is under way
/// where a device fails on it. Other devices of
/// the same step may be on their way down for a moment, if it runs them side by side.
fn refused(m: &Message) -> Option<Stage> {
    let up = |phase| match phase {
        Phase::Noirq => Phase::ResumeNoirq,
        Phase::Late => Phase::ResumeEarly,
        _ => Phase::Resume,
    };
    if m.has("failed to ") || m.has("power transition: ") {
        let r = refusal::of_device(&m.text)?;
        // One that does not resume tells that all are on their way up.
        let phase = if r.is_up() { r.phase } else { up(r.phase) };
        return Some(Stage::new(Direction::Resume, Some(phase)));
    }
    let step = m.text.split_once(" of devices ")?;
    // The core has turned round where it says `failed` (kernel/power/suspend.c:suspend_enter).
    let (aborted, failed) = (step.1.starts_with("aborted"), step.1.starts_with("failed"));
    let has = |w: &str| step.0.ends_with(w);
    let phase = match () {
        () if !aborted && !failed || !has("suspend") && !has("freeze") && !has("poweroff") => {
            return None;
        }
        () if step.0.contains("noirq ") && failed => Phase::ResumeEarly,
        () if step.0.contains("noirq ") => Phase::ResumeNoirq,
        () if step.0.contains("late ") && aborted => Phase::ResumeEarly,
        () => Phase::Resume,
    };
    Some(Stage::new(Direction::Resume, Some(phase)))
}

/// Whether a line of ACPI names a state of sleep: a machine that is switched off goes to S5.
fn is_of_platform(m: &Message, words: &str) -> bool {
    m.after(words).is_some_and(|s| s.starts_with(['1', '2', '3', '4']))
}

/// Whether the message is the last that the core says of a sleep.
pub(crate) fn ends_sleep(m: &Message) -> bool {
    m.says("suspend exit") || m.says("hibernation exit") || m.says("Finishing wakeup")
}

/// Whether the message ends a sleep, or what is known of one.
pub(crate) fn ends(m: &Message) -> bool {
    ends_sleep(m)
        || m.text.starts_with("Linux version ")
        // The attempt ends here, whatever the text has of its end.
        || m.says("Freezing ") && (m.has("failed after") || m.has("aborted"))
}

/// The stages of a text: what begins and ends them, found once.
pub(crate) struct Stages<'a> {
    messages: &'a [Message],
    /// Places where something begins (or ends, if nothing), in order. A weak one tells only
    /// where in a sleep a message stands, not that there is one.
    marks: Vec<(usize, Option<Stage>, bool)>,
    /// The kernel says of each phase of devices when it is complete. Kernels from 4.15 on do so
    /// with pm_debug_messages alone (drivers/base/power/main.c:dpm_show_time).
    parts: bool,
}

impl<'a> Stages<'a> {
    /// Goes over `messages` once.
    pub(crate) fn new(messages: &'a [Message]) -> Stages<'a> {
        let mut marks = Vec::new();
        let mut last = None;
        let mut parts = false;
        for (at, m) in messages.iter().enumerate().filter(|(_, m)| m.trust.is_of_a_kernel()) {
            if crate::logs::is_another(last, m) {
                marks.push((at, None, false));
            }
            last = m.time.or(last);
            parts |= m.has(" of devices complete");
            if ends(m) {
                marks.push((at, None, false));
            } else if let Some(s) = begins(m) {
                // Boots print it too.
                marks.push((at, Some(s), m.has("EC: interrupt ")));
            }
        }
        Stages { messages, marks, parts }
    }

    /// Where the message `at` stands; nothing if no sleep is under way there. Frames of a dump
    /// tell more than lines: the core's own functions say whose callback runs.
    pub(crate) fn at(&self, at: usize, frames: &[Frame]) -> Option<Stage> {
        let lines = self.of_lines(at).map(|s| self.softened(at, s));
        let Some(by) = of_frames(frames) else { return lines };
        // Any function of the core tells more than a line that phases may have begun behind.
        let lines = lines.filter(|l| {
            l.work != Some(Work::Unproven) || matches!(by.work, Some(Work::Notifiers | Work::Any))
        });
        // A walk without a phase in its name is told by the lines.
        Some(match lines {
            Some(l) if by.work == Some(Work::Notifiers) => {
                // The same functions tell of a sleep ahead and behind.
                Stage { direction: l.direction, ..by }
            }
            Some(l) if by.work == Some(Work::Any) => l,
            Some(l) if by.phase.is_none() && by.work.is_none() && l.direction == by.direction => l,
            _ => by,
        })
    }

    /// The stage in which all the time between two messages lies, as far as lines of the core
    /// prove it: on the way up one stands at or before the first, on the way down one at or
    /// behind the last, because a sleep may lie between any two others.
    pub(crate) fn between(&self, from: usize, to: usize) -> Option<Stage> {
        // In so long a time a sleep lies, whatever stands behind it.
        let gap = passed(self.messages.get(from)?, self.messages.get(to)?);
        let stage = self.of_lines(from + 1).filter(|_| gap.is_none_or(|g| g <= LONGEST))?;
        if stage.direction == Direction::Resume {
            return Some(stage);
        }
        let next = self.marks.get(self.marks.partition_point(|m| m.0 < to))?;
        next.1.filter(|s| s.direction == Direction::Suspend).map(|_| stage)
    }

    /// The stage `s` of message `at`, and no phase where another one may have begun unseen: a
    /// line of the core before a message proves the phase only where the one that stands next
    /// ends it, or kernels print that line at all times.
    fn softened(&self, at: usize, s: Stage) -> Stage {
        let Some(phase) = s.phase.filter(|_| s.work.is_none()) else { return s };
        let behind = self.marks[self.marks.partition_point(|m| m.0 < at)..].iter();
        let next = behind.filter(|m| !m.2).map(|m| (&self.messages[m.0], m.1)).next();
        let direction = s.direction;
        let to = next.and_then(|(_, s)| s).filter(|s| s.direction == direction).map(|s| s.phase);
        let of_devices = !matches!(
            phase,
            Phase::Sync | Phase::Freeze | Phase::FreezeUser | Phase::FreezeKernel | Phase::Thaw
        );
        let ends = match (phase, to) {
            (Phase::Sync, Some(to)) => to == Some(Phase::FreezeUser),
            (Phase::Noirq, Some(to)) => matches!(to, None | Some(Phase::CpuOff)),
            (Phase::Suspend, Some(to)) => to == Some(Phase::Late),
            (Phase::Late, Some(to)) => to == Some(Phase::Noirq),
            (Phase::CpuOn, Some(to)) => matches!(to, Some(Phase::CpuOn | Phase::ResumeNoirq)),
            (Phase::ResumeNoirq, Some(to)) => {
                matches!(to, Some(Phase::ResumeNoirq | Phase::ResumeEarly))
            }
            (Phase::ResumeEarly, Some(to)) => to == Some(Phase::Resume),
            // The end of the thaw is that of the sleep.
            (Phase::Thaw | Phase::CpuOff, _) | (_, Some(_)) => true,
            // Nothing is left out where the freezer says itself that it ended so.
            (_, None) => match next {
                Some((m, None)) if !of_devices => !ends_sleep(m),
                Some((_, Some(_))) if !of_devices => true,
                Some(_) => false,
                None => !of_devices || self.parts,
            },
        };
        if ends || self.parts && of_devices {
            return s;
        }
        // Both borders of all phases of devices are there; where the log breaks off, the thaw, of
        // which kernels tell at all times, has not begun.
        let breaks_off = next.is_none_or(|(m, s)| s.is_none() && !ends_sleep(m));
        let devices = match direction {
            Direction::Suspend => phase == Phase::Suspend || to.is_some() || breaks_off,
            Direction::Resume => to.is_some() || breaks_off,
        };
        match devices {
            true => Stage::new(direction, None),
            false => Stage::of_work(direction, Work::Unproven),
        }
    }

    fn of_lines(&self, at: usize) -> Option<Stage> {
        let before = &self.marks[..self.marks.partition_point(|m| m.0 < at)];
        let mut near = None;
        // What comes next of it is on the way up: between the two a sleep may lie.
        let next = self.marks.get(before.len());
        let back = next.is_some_and(|m| m.1.is_none_or(|s| s.direction == Direction::Resume));
        for &(mark, stage, weak) in before.iter().rev().take(NEAR) {
            let s = stage?;
            let gap = self.messages.get(at).and_then(|m| passed(&self.messages[mark], m));
            // No phase takes so long; but a sleep may lie behind the last line of the way down.
            let s = match (gap, s.direction, s.phase) {
                (Some(gap), Direction::Suspend, None | Some(Phase::Noirq)) if gap > LONGEST => {
                    Stage::new(Direction::Resume, Some(Phase::ResumeNoirq))
                }
                (Some(gap), Direction::Suspend, _) if gap > LONGEST && back => {
                    Stage::new(Direction::Resume, None)
                }
                (Some(gap), ..) if gap > LONGEST || gap < -LONGEST => return None,
                _ => s,
            };
            near = near.or(Some(s));
            if !weak {
                return near;
            }
        }
        None
    }
}

/// Between a line of the core and a report in the same phase no more time passes: tasks are
/// reported as stuck every 120 s, and the watchdog of device sleep panics after that.
const LONGEST: Ns = Ns(900_000_000_000);

/// So many weak marks stand one behind the other at most.
const NEAR: usize = 64;

/// What passed between two messages, by their clock or by whole seconds.
pub(crate) fn passed(from: &Message, to: &Message) -> Option<Ns> {
    match (from.time, to.time) {
        (Some(a), Some(b)) if !crate::logs::is_another(Some(a.max(b)), to) => Some(Ns(b.0 - a.0)),
        (Some(_), Some(_)) => None,
        _ => Some(Ns(to.second?.checked_sub(from.second?)?.checked_mul(1_000_000_000)?)),
    }
}

/// Whether a message is the end of a sleep, or one of the lines before it that tell that tasks
/// run again, and devices had gone down in that sleep: no freezing failed in it.
pub(crate) fn is_over(messages: &[Message], at: usize) -> bool {
    let over =
        |m: &Message| ends_sleep(m) || m.says("OOM killer enabled") || m.has("Restarting tasks");
    if !over(&messages[at]) || !messages[at].trust.is_of_a_kernel() {
        return false;
    }
    let before = messages[..at].iter().rev().take(FAR);
    for m in before.filter(|m| m.trust.is_of_a_kernel()) {
        if m.says("Freezing ") && (m.has("failed after") || m.has("aborted")) {
            return false;
        }
        if m.says("suspend entry")
            || m.says("hibernation entry")
            || m.text.starts_with("Linux version ")
        {
            break;
        }
        if m.says("suspend exit") || m.says("hibernation exit") || m.has("of devices complete") {
            break;
        }
    }
    true
}

/// An attempt whose freezing failed has no more lines between that and its end.
const FAR: usize = 2_000;

/// What the functions of the core tell (drivers/base/power/main.c, 3.0 to 7.3).
fn of_frames(frames: &[Frame]) -> Option<Stage> {
    use Direction::{Resume, Suspend};
    let known: [(&str, Direction, Option<Phase>); 30] = [
        ("ksys_sync_helper", Suspend, Some(Phase::Sync)),
        ("pm_sleep_fs_sync", Suspend, Some(Phase::Sync)),
        ("freeze_processes", Suspend, Some(Phase::FreezeUser)),
        ("device_suspend_noirq", Suspend, Some(Phase::Noirq)),
        ("dpm_suspend_noirq", Suspend, Some(Phase::Noirq)),
        ("dpm_noirq_suspend_devices", Suspend, Some(Phase::Noirq)),
        ("device_suspend_late", Suspend, Some(Phase::Late)),
        ("dpm_suspend_late", Suspend, Some(Phase::Late)),
        ("device_suspend", Suspend, Some(Phase::Suspend)),
        ("dpm_suspend", Suspend, Some(Phase::Suspend)),
        ("dpm_suspend_start", Suspend, Some(Phase::Suspend)),
        ("device_prepare", Suspend, Some(Phase::Prepare)),
        ("dpm_prepare", Suspend, Some(Phase::Prepare)),
        ("device_resume_noirq", Resume, Some(Phase::ResumeNoirq)),
        ("dpm_resume_noirq", Resume, Some(Phase::ResumeNoirq)),
        ("dpm_noirq_resume_devices", Resume, Some(Phase::ResumeNoirq)),
        ("device_resume_early", Resume, Some(Phase::ResumeEarly)),
        ("dpm_resume_early", Resume, Some(Phase::ResumeEarly)),
        ("device_resume", Resume, Some(Phase::Resume)),
        ("dpm_resume", Resume, Some(Phase::Resume)),
        ("dpm_resume_end", Resume, Some(Phase::Resume)),
        ("device_complete", Resume, Some(Phase::Complete)),
        ("dpm_complete", Resume, Some(Phase::Complete)),
        // Two phases each: of Xen and of hibernation.
        ("dpm_suspend_end", Suspend, None),
        ("dpm_resume_start", Resume, None),
        ("freeze_secondary_cpus", Suspend, Some(Phase::CpuOff)),
        ("thaw_secondary_cpus", Resume, Some(Phase::CpuOn)),
        // One CPU runs then (drivers/base/syscore.c).
        ("syscore_suspend", Suspend, Some(Phase::CpuOff)),
        ("syscore_resume", Resume, Some(Phase::CpuOn)),
        ("async_resume", Resume, None),
    ];
    let has = |name: &str| frames.iter().any(|f| f.function == name);
    let by_name = frames.iter().find_map(|f| {
        // The compiler puts words behind a name, the core marks before it: what runs a device
        // is `__device_resume_early` in some releases, and `async_resume_early` beside it.
        let name = bare(f).trim_start_matches("__");
        let of_device = name.strip_prefix("async_").map(|n| format!("device_{n}"));
        let k = known
            .iter()
            .find(|k| k.0 == name)
            .or_else(|| known.iter().find(|k| of_device.as_deref() == Some(k.0)))?;
        Some(Stage::new(k.1, k.2))
    });
    // Frames of inlined functions are missing; what a sleep does with CPUs is told apart from
    // other hotplug by its caller.
    let cpus = || match (has("suspend_devices_and_enter"), has("_cpu_down"), has("_cpu_up")) {
        (true, true, _) => Some(Stage::new(Suspend, Some(Phase::CpuOff))),
        (true, _, true) => Some(Stage::new(Resume, Some(Phase::CpuOn))),
        _ => None,
    };
    let notified = || {
        let of_a_sleep = |f: &&Frame| f.function.contains("pm_notifier_call_chain");
        frames.iter().find(of_a_sleep).map(|_| Stage::of_work(Suspend, Work::Notifiers))
    };
    // The thread that asked for the sleep (kernel/power/suspend.c, kernel/power/hibernate.c).
    let any = || {
        let asked = ["suspend_devices_and_enter", "enter_state", "pm_suspend", "hibernate"];
        let asked = asked.iter().any(|f| has(f));
        asked.then(|| Stage::of_work(Suspend, Work::Any))
    };
    by_name
        .or_else(notified)
        .or_else(cpus)
        .or_else(|| frames.iter().find_map(of_a_bus))
        .or_else(any)
}

/// Callbacks of a sleep alone run in `dpm_run_callback` (drivers/base/power/main.c, 3.0 to 7.3):
/// which way it goes, the name of what it called tells. Where the text shows a sleep its lines tell
/// more.
pub(crate) fn of_the_called(frames: &[Frame]) -> Option<Stage> {
    let core = frames.iter().position(|f| bare(f) == "dpm_run_callback")?;
    let way = frames[..core].iter().rev().find_map(|f| way_of(bare(f)));
    Some(match way {
        Some((way, _)) => Stage::new(way, None),
        None => Stage::of_work(Direction::Suspend, Work::Any),
    })
}

/// The callback of a driver that `dpm_run_callback` reached, behind those of its bus.
pub(crate) fn called(frames: &[Frame]) -> Option<&Frame> {
    let core = frames.iter().position(|f| bare(f) == "dpm_run_callback")?;
    let is = |f: &&Frame| way_of(bare(f)).is_some() && !is_of_bus(&f.function);
    frames[..core].iter().rev().find(is)
}

/// Whether a callback is that of a bus or of the core, which call the driver's.
pub(crate) fn is_of_bus(function: &str) -> bool {
    const BUSES: [&str; 14] = [
        "pci_pm_",
        "pci_legacy_",
        "platform_pm_",
        "platform_legacy_",
        "acpi_subsys_",
        "usb_dev_",
        "genpd_",
        "scsi_bus_",
        "pm_generic_",
        "i2c_device_pm_",
        "mmc_bus_",
        "amba_pm_",
        "virtio_device_",
        "ata_port_",
    ];
    BUSES.iter().any(|b| function.starts_with(b))
}

/// A function without what the compiler puts behind its name.
fn bare(f: &Frame) -> &str {
    f.function.split('.').next().unwrap_or_default()
}

/// The way that the name of a callback tells, and what stands before it: `foo_pci` of
/// `foo_pci_resume_noirq`.
fn way_of(function: &str) -> Option<(Direction, &str)> {
    const ENDS: [(&str, Direction); 6] = [
        ("_suspend", Direction::Suspend),
        ("_freeze", Direction::Suspend),
        ("_poweroff", Direction::Suspend),
        ("_resume", Direction::Resume),
        ("_restore", Direction::Resume),
        ("_thaw", Direction::Resume),
    ];
    let phase = ["_noirq", "_late", "_early"].iter().find_map(|p| function.strip_suffix(p));
    let plain = phase.unwrap_or(function);
    ENDS.iter().find_map(|(end, way)| Some((*way, plain.strip_suffix(end)?)))
}

/// The stage that a callback of a driver tells by its name alone, as drivers call what they hand
/// to their bus: `foo_pci_resume`, `bar_pm_suspend_late`. A frame of runtime power management
/// above it may have called it as well.
pub(crate) fn by_name(frames: &[Frame]) -> Option<Stage> {
    const BUSES: [&str; 8] = ["_pci", "_pcie", "_pm", "_drv", "_platform", "_usb", "_i2c", "_spi"];
    if frames.iter().any(|f| is_runtime(&f.function) || f.function.contains("rpm_")) {
        return None;
    }
    let of_a_driver = |f: &Frame| {
        let (way, front) = way_of(bare(f))?;
        BUSES.iter().any(|b| front.ends_with(b)).then(|| Stage::new(way, None))
    };
    frames.iter().find_map(of_a_driver)
}

/// Which way a callback of this name goes.
pub(crate) fn goes(function: &str) -> Option<Direction> {
    way_of(function).map(|w| w.0)
}

/// The way that the name of any callback tells, in a sleep of which the text has no more: what
/// runs at run time has names of its own, and so has who asks for a sleep.
pub(crate) fn by_callback(f: &Frame) -> Option<Stage> {
    let (way, front) = way_of(bare(f)).filter(|_| !is_runtime(&f.function))?;
    (!matches!(front, "pm" | "rpm" | "")).then(|| Stage::new(way, None))
}

/// The stage that the functions of a dump tell, by the core's names or those of drivers.
pub(crate) fn of_dump(frames: &[Frame]) -> Option<Stage> {
    of_frames(frames).or_else(|| of_the_called(frames)).or_else(|| by_name(frames))
}

/// Whether a function is a callback of runtime power management by its name:
/// `pci_pm_runtime_resume`.
pub(crate) fn is_runtime(function: &str) -> bool {
    function.contains("runtime_resume") || function.contains("runtime_suspend")
}

/// The stage of what a bus does for a device in a sleep: `platform_pm_suspend`,
/// `pci_pm_resume_noirq`. What it does at run time has other names.
fn of_a_bus(f: &Frame) -> Option<Stage> {
    use Direction::{Resume, Suspend};
    const BUSES: [&str; 4] = ["platform_pm_", "pci_pm_", "usb_dev_", "acpi_subsys_"];
    let step = BUSES.iter().find_map(|b| bare(f).strip_prefix(b))?;
    Some(match step {
        "suspend" => Stage::new(Suspend, Some(Phase::Suspend)),
        "suspend_late" => Stage::new(Suspend, Some(Phase::Late)),
        "suspend_noirq" => Stage::new(Suspend, Some(Phase::Noirq)),
        "resume" => Stage::new(Resume, Some(Phase::Resume)),
        "resume_early" => Stage::new(Resume, Some(Phase::ResumeEarly)),
        "resume_noirq" => Stage::new(Resume, Some(Phase::ResumeNoirq)),
        _ => return None,
    })
}

/// `PM: resume of devices complete after 48120.000 msecs`
/// (drivers/base/power/main.c:dpm_show_time), `PM: resume devices took 48.120 seconds`
/// (kernel/power/suspend_test.c:suspend_test_finish).
pub(crate) fn phase_took(m: &Message) -> Option<(Direction, String, Ns)> {
    let way = |front: &str| {
        let up = ["resume", "thaw", "restore", "recover"].iter().any(|w| front.contains(w));
        let down = ["suspend", "freeze", "poweroff", "quiesce"].iter().any(|w| front.contains(w));
        (up || down).then_some(if up { Direction::Resume } else { Direction::Suspend })
    };
    if let Some((front, rest)) = m.text.split_once(" of devices complete after ") {
        let front = front.rsplit(": ").next().unwrap_or(front);
        let ns = i64::try_from(thousandths(rest)?).ok()?.checked_mul(1_000)?;
        return Some((way(front)?, front.to_string(), Ns(ns)));
    }
    // The same as the words of its warning, in milliseconds (since 4.10).
    let component =
        m.text.strip_prefix("Component: ").and_then(|c| c.split_once(" devices, time: "));
    if let Some((front, ms)) = component {
        let ns = ms.trim().parse::<i64>().ok()?.checked_mul(1_000_000)?;
        return Some((way(front)?, front.to_string(), Ns(ns)));
    }
    let (front, rest) = m.text.split_once(" devices took ")?;
    let front = front.rsplit(": ").next().unwrap_or(front);
    Some((way(front)?, front.to_string(), seconds(rest)?))
}

/// Whether a test of `pm_test` waits where it turns round (kernel/power/suspend.c:suspend_test;
/// kernel/power/hibernate.c:hibernation_debug_sleep, with the core's mark before `debug` from 5.6
/// on).
pub(crate) fn waits_for_a_test(m: &Message) -> bool {
    ["suspend debug: Waiting for ", "hibernation debug: Waiting for ", "debug: Waiting for "]
        .iter()
        .any(|w| m.says(w))
}
