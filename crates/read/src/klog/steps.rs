//! Lines of the steps of a cycle, from 3.15 to 7.3.

use super::firmware;
use super::freeze::{self, elapsed};
use super::grain::{PAUSE, PRINTING, TICK};
use super::halves;
use super::held::begins_restore;
use super::marks::{self, entry, hibernates, is_exit, message, said};
use super::number::{msecs, seconds};
use super::phase;
use super::prefix::Record;
use super::release::release;
use super::state::Log;
use crate::event::Stamp;
use crate::text;
use crate::track::DeviceKey;
use dormouse_base::complete::LostKind;
use dormouse_base::cycle::Mode;
use dormouse_base::loss::Severity;
use dormouse_base::phase::{Direction, Phase, PmEvent};
use dormouse_base::tick::tick;
use dormouse_base::time::Ns;
use dormouse_doctor::{Words, refusal};

/// What names wakeup sources that were active.
const SOURCES: [&[u8]; 2] = [b"active wakeup source: ", b"last active wakeup source: "];

/// What an elapsed time that is cut to milliseconds may lack.
pub(super) const CUT_OFF: Ns = Ns::from_ms(1);

/// Handles `r`; whether it is a step.
pub(super) fn line(log: &mut Log<'_>, r: &Record<'_>, at: u64) -> bool {
    let text = r.text.strip_prefix(b"PM: ").unwrap_or(r.text);
    let stamp = log.stamp(r, at);
    if text.starts_with(b"Linux version ") {
        log.boot_of(text.split(|&b| b == b' ').nth(2).unwrap_or(b""));
        return true;
    }
    if begins_restore(message(r.text)) && said(r) {
        if !log.reads_its_image(b"") {
            log.open(&stamp, false);
            log.t.set_mode(Mode::Disk);
            log.reads_image = true;
            if let Some(c) = log.t.current() {
                c.cycle.reads_image = true;
            }
        }
        return true;
    }
    if !r.fresh {
        log.place.words(r);
    }
    if !said(r) && (entry(text).is_some() || hibernates(r.text)) {
        return false;
    }
    if log.t.current().is_none() && log.place.is_of_a_module() && is_of_tasks(text) {
        return true;
    }
    if log.t.open_serial() == 0 {
        comes_back(log, text, &stamp);
        if r.has(b"/sys/power") || r.has(b"wakeup from ") {
            log.asked = firmware::asked(r.text).or(log.asked);
        }
    }
    if r.text == b"PM: suspend-to-idle" {
        log.idles(&stamp);
    }
    if begin(log, text, &stamp) || tasks(log, r, text, &stamp) || devices(log, r, text, &stamp) {
        only_main(log, text, &stamp);
        return true;
    }
    let begun = firmware::begins(log, text, &stamp, said(r));
    machine(log, text, &stamp)
        || log.image(text, &stamp, said(r))
        || other(log, r, text, at)
        || begun
}

/// Whether a line is of the freezer.
fn is_of_tasks(text: &[u8]) -> bool {
    const WORDS: [&[u8]; 3] = [b"Freezing ", b"Restarting tasks", b"OOM killer "];
    WORDS.iter().any(|w| text.starts_with(w))
}

/// A text that begins on the way up, or has no more of a sleep than its last lines: they open
/// an attempt without a beginning. The kernel that reads an image thaws tasks too.
fn comes_back(log: &mut Log<'_>, text: &[u8], stamp: &Stamp<'_>) {
    const BACK: [&[u8]; 5] = [
        b"resume devices took ",
        b"Enabling non",
        b"OOM killer enabled.",
        b"Restarting tasks ...",
        b"Restarting tasks: ",
    ];
    if BACK.iter().any(|w| text.starts_with(w)) && !log.reads_image {
        log.open(stamp, false);
        log.sync();
    }
}

/// Where the log names who printed a line (CONFIG_PRINTK_CALLER, vendors): the
/// thread that wrote `/sys/power/state` prints these itself, in
/// kernel/power/suspend.c, kernel/power/process.c and `dpm_show_time` of
/// drivers/base/power/main.c.
fn only_main(log: &mut Log<'_>, text: &[u8], stamp: &Stamp<'_>) {
    const BEGINS: [&[u8]; 5] = [
        b"suspend entry (",
        b"Freezing user space",
        b"Freezing remaining",
        b"OOM killer ",
        b"Restarting tasks",
    ];
    if stamp.pid != 0
        && (BEGINS.iter().any(|b| text.starts_with(b))
            || text::find(text, b" of devices complete after ").is_some())
    {
        log.t.note_main(stamp);
    }
}

/// The entry of a cycle and its file-system sync.
fn begin(log: &mut Log<'_>, text: &[u8], stamp: &Stamp<'_>) -> bool {
    let hibernates = hibernates(text);
    let entry = entry(text);
    if entry.is_some() || hibernates {
        log.reads_image = false;
    }
    let dated = entry.is_some_and(<[u8]>::is_empty);
    if dated && log.is_entered() {
        // Kernels of Android say both, one behind the other.
        return true;
    }
    if entry.is_some() && log.is_just_entered() {
        log.refused = true;
        log.refusals.push((stamp.at, stamp.at));
        return true;
    }
    if let Some(rest) = entry {
        log.settle_loose();
        log.open(stamp, true);
        log.t.note_main(stamp);
        let word = rest.split(|&b| b == b')').next().unwrap_or(rest);
        log.t.set_mode(mode(word));
        log.sync();
        log.c.dated = dated;
    } else if hibernates {
        log.settle_loose();
        log.open(stamp, true);
        log.t.note_main(stamp);
        log.t.set_mode(Mode::Disk);
    } else if text.starts_with(b"Syncing filesystems") {
        // Before 4.12 nothing else announces a suspend; no data is written once an image is made.
        if log.t.open_serial() == 0 || log.c.phase.is_some() || log.c.image_made.is_some() {
            log.open(stamp, true);
            log.t.note_main(stamp);
        }
        log.sync();
        lasting(log, Phase::Sync, stamp);
        log.c.sync_done = text.ends_with(b"done.").then_some(log.now);
    } else if let Some(rest) = text.strip_prefix(b"Filesystems sync: ") {
        let took = seconds(rest).unwrap_or(Ns::ZERO);
        if log.t.open_serial() == 0 {
            // Somebody left out the line before it, which begins the attempt.
            log.open(&Stamp { time: log.now - took, ..*stamp }, false);
            log.t.current().iter_mut().for_each(|c| c.cycle.lines.begun = true);
            log.sync();
        }
        advance(log, took);
        log.t.touch(&log_stamp(log, stamp));
        // A sync that began long before this attempt is that of one which was given up: the
        // work went on, and this attempt waited for it (kernel/power/main.c:
        // pm_sleep_fs_sync, 7.3). Stamps of some logs are whole seconds.
        let entered = log.t.entered().unwrap_or(log.now - took);
        let earlier = log.unsynced.is_some() && entered.since(log.now - took) > PAUSE;
        if !earlier {
            log.make_room(entered, took, PRINTING);
        }
        let start = if earlier { entered } else { log.now - took };
        log.plain(Phase::Sync, start, log.now, 0);
    } else if let Some(rest) = text.strip_prefix(b"Preparing system for ") {
        under_way(log, stamp);
        let word = rest.strip_prefix(b"sleep (").unwrap_or(rest);
        log.t.set_mode(mode(word.split(|&b| matches!(b, b' ' | b')')).next().unwrap_or(word)));
    } else if text.starts_with(b"Finishing wakeup") {
        settle(log, stamp);
        log.t.touch(&log_stamp(log, stamp));
        log.c.finishing = log.t.open_serial() != 0;
    } else if text.starts_with(b"Suspending system (")
        || (text.starts_with(b"Entering ") && text.ends_with(b" sleep"))
    {
        let mut words = text.split(|b| matches!(b, b' ' | b'(' | b')'));
        let word = words.find(|w| mode(w) != Mode::Unknown).unwrap_or_default();
        // An entry with the date names none.
        if under_way(log, stamp) || std::mem::take(&mut log.c.dated) {
            log.t.set_mode(mode(word));
        }
    } else {
        return false;
    }
    true
}

/// A line of the way down ends the step before it; where a text begins with it, an attempt.
/// Whether it did.
fn under_way(log: &mut Log<'_>, stamp: &Stamp<'_>) -> bool {
    // What was all but over is over where another goes down.
    if log.c.finishing && log.t.open_serial() != 0 {
        log.close();
    }
    log.settle_frozen(stamp);
    let none = log.t.open_serial() == 0;
    if none {
        log.t.cycle_at(stamp);
        log.sync();
    }
    none
}

fn mode(word: &[u8]) -> Mode {
    match word {
        b"deep" | b"mem" => Mode::Deep,
        b"s2idle" | b"freeze" => Mode::S2idle,
        b"shallow" | b"standby" => Mode::Standby,
        b"disk" => Mode::Disk,
        _ => Mode::Unknown,
    }
}

/// Freezing and thawing.
fn tasks(log: &mut Log<'_>, r: &Record<'_>, text: &[u8], stamp: &Stamp<'_>) -> bool {
    let user = text.strip_prefix(b"Freezing user space processes");
    let kernel = text.strip_prefix(b"Freezing remaining freezable tasks");
    if log.reads_image && (user.is_some() || kernel.is_some()) {
        return true;
    }
    if let Some(rest) = user.or(kernel) {
        let phase = if user.is_some() { Phase::FreezeUser } else { Phase::FreezeKernel };
        let rest = rest.trim_ascii();
        const FORMS: [&[u8]; 5] =
            [b"...", b"(elapsed", b"completed", b"failed after", b"aborted after"];
        if !rest.is_empty() && !FORMS.iter().any(|f| rest.starts_with(f)) {
            // A sentence.
            return false;
        }
        if rest.starts_with(b"completed") {
            if user.is_some() && log.c.freezing.is_none() {
                // Somebody left the line out that begins it.
                log.freezing_begins();
            }
            if let Some(took) = elapsed(rest) {
                advance(log, took);
                if log.c.lasting == Some(phase) {
                    log.close_up(log.c.lasting_from, took);
                }
            }
            end(log, phase, stamp);
        } else if log.freezing_failed(phase, rest, stamp) {
            end(log, phase, stamp);
        } else {
            log.settle_frozen(stamp);
            let again = user.is_some() && log.t.open_serial() != 0 && log.is_beyond_freezing();
            if log.t.open_serial() == 0 || again {
                log.open(stamp, false);
                if let Some(c) = log.t.current() {
                    c.cycle.lines.begun = user.is_some();
                }
            }
            lasting(log, phase, stamp);
            if user.is_some() {
                log.freezing_begins();
            }
            if let Some(took) = elapsed(rest) {
                // Printed in whole milliseconds, cut off.
                log.c.at_most = log.now + took + CUT_OFF;
                advance(log, took);
            }
        }
        return true;
    }
    if text.starts_with(b"(elapsed ") && log.freezing().is_some() && log.c.at_most == Ns::MAX {
        // The rest of a line that was printed in two pieces.
        if let Some(took) = elapsed(text) {
            log.c.at_most = log.c.lasting_from + took + CUT_OFF;
            advance(log, took);
        }
        return true;
    }
    if let Some(rest) = text.strip_prefix(b"Freezing of tasks ") {
        // Work that is still busy is looked for with kernel threads alone
        // (kernel/power/process.c:try_to_freeze_tasks).
        let busy = text::find(rest, b"wq_busy=1").is_some();
        let phase = if busy { Phase::FreezeKernel } else { Phase::Freeze };
        return log.freezing_failed(phase, rest, stamp);
    }
    if log.c.listing
        && let Some(name) = freeze::task(text)
    {
        let sym = log.t.names().add(&name);
        if let Some(c) = log.t.current()
            && c.cycle.freeze_delays.len() < 64
            && !c.cycle.freeze_delays.contains(&sym)
        {
            c.cycle.freeze_delays.push(sym);
        }
        return true;
    }
    // `pm_trace_notify`, drivers/base/power/trace.c: `generate_pm_trace` set the clock
    // at every device, also at silent ones, and all ran on the main thread.
    if r.has(b"incorrect RTC due to pm_trace") {
        log.t.losses().add(
            "pm_trace",
            1,
            Severity::Warning,
            "pm_trace was on, so the kernel set the clock at every device, which takes most of the time between callbacks: write 0 to /sys/power/pm_trace and record again",
            None,
        );
        log.warn("pm_trace");
        return true;
    }
    if text.starts_with(b"OOM killer disabled") {
        log.settle_frozen(stamp);
    } else if text.starts_with(b"OOM killer enabled") {
        settle(log, stamp);
        log.c.listing = false;
        if log.t.open_serial() != 0 {
            log.caught_up();
            log.up();
            quiet_sleep(log);
            lasting(log, Phase::Thaw, stamp);
        }
    } else if text.starts_with(b"Restarting tasks") {
        log.c.listing = false;
        if log.t.open_serial() != 0 {
            if log.c.lasting != Some(Phase::Thaw) {
                settle(log, stamp);
                log.caught_up();
                log.up();
                quiet_sleep(log);
                lasting(log, Phase::Thaw, stamp);
            }
            if text.ends_with(b"done.") || text.ends_with(b"Done") {
                settle(log, stamp);
            }
        }
    } else if (text == b"done." && log.c.lasting == Some(Phase::Thaw)) || is_exit(text) {
        if text == b"suspend exit" && std::mem::take(&mut log.refused) {
            if let Some(r) = log.refusals.last_mut() {
                r.1 = stamp.at;
            }
            return true;
        }
        settle(log, stamp);
        if message(text) == b"hibernation exit" {
            log.is_of(Mode::Disk);
            log.finds_no_memory();
        }
        log.caught_up();
        log.up();
        log.bound_by_controller();
        let exit = (is_exit(text) && log.timed).then_some(log.now + log.c.late);
        if let Some(c) = log.t.current() {
            c.over = true;
            let first = c.cycle.exit.is_none() && c.cycle.lines.first != 0;
            c.cycle.lines.last = if first { stamp.at } else { c.cycle.lines.last };
            c.cycle.exit = exit.or(c.cycle.exit);
        }
    } else {
        return false;
    }
    true
}

/// Device phases, and why they were given up.
fn devices(log: &mut Log<'_>, r: &Record<'_>, text: &[u8], stamp: &Stamp<'_>) -> bool {
    if let Some(at) = text::find_known(text, &r.pairs, b" of devices ") {
        let (words, rest) = (&text[..at], &text[at + b" of devices ".len()..]);
        let Some((phase, event)) = phase::named(words) else { return false };
        let aborted = rest.starts_with(b"aborted");
        let took = text::find(rest, b" after ").and_then(|a| msecs(&rest[a + 7..]));
        let failed = rest.starts_with(b"failed");
        if took.is_none() && !failed {
            return false;
        }
        if failed && log.c.given_up {
            // Once an attempt: after it only the way back follows (kernel/power/suspend.c:
            // suspend_enter, 6.1 to 7.3).
            log.is_piece(stamp);
        }
        if aborted || failed {
            log.blame();
        }
        if let Some(took) = took {
            settle_ahead_of(log, phase, took, stamp);
            over(log, phase, event, took, aborted, stamp);
        }
        if (aborted || failed)
            && let Some(c) = log.t.current()
        {
            c.told.aborted = true;
        }
        if failed {
            log.step_failed(phase);
            log.c.given_up = true;
        }
        return true;
    }
    if let Some((phase, took)) = halves::took(text) {
        settle(log, stamp);
        if let Some(event) = half(log, phase, took) {
            over(log, phase, event, took, false, stamp);
        }
    } else if text.starts_with(b"Suspending console(s)")
        || text.starts_with(b"printk: Suspending console(s)")
    {
        under_way(log, stamp);
        log.c.phase = Some(Phase::Suspend);
        log.c.base = log.now;
        log.c.covered = log.now;
    } else if SOURCES.iter().any(|w| text.starts_with(w)) {
        // Some kernels print that alone of all that pm_wakeup_pending has.
        let down = log.c.phase.is_some_and(|p| p.direction() == Direction::Suspend);
        if let Some(c) = log.t.current().filter(|c| down && !c.over) {
            c.told.wakeup = true;
            log.interrupt();
        }
    } else if marks::is_of_a_wakeup(message(text)) {
        log.is_piece(stamp);
        if let Some(c) = log.t.current() {
            c.told.wakeup = true;
        }
        log.interrupt();
    } else if text::find_known(text, &r.pairs, b"**** DPM device timeout ****").is_some() {
        // Until now the callback ran; the kernel stops here.
        log.refuse(log.c.phase.unwrap_or(Phase::Suspend));
    } else if let Some(wait) = marks::test_waits(message(text)) {
        if let Some(c) = log.t.current() {
            c.told.pm_test = true;
            c.told.pm_test_wait = wait;
        }
        // Devices went down, of which no line tells.
        if log.c.phase == Some(Phase::Suspend) && !log.went_down() {
            log.refuse(Phase::Suspend);
        }
    } else {
        return given_up(log, text, stamp) || failure(log, r, stamp);
    }
    true
}

/// The core gives a sleep up, and names no device ([`refusal::of_core`]). Whether it does.
fn given_up(log: &mut Log<'_>, text: &[u8], stamp: &Stamp<'_>) -> bool {
    let text = message(text);
    if !matches!(text.first(), Some(b'S' | b'E' | b'N' | b'A')) {
        return false;
    }
    let said = String::from_utf8_lossy(text);
    let phase = refusal::of_core(&said).filter(|_| !log.sums_up());
    let Some(phase) = phase else { return false };
    log.is_piece(stamp);
    log.blame();
    // The last that the core says of it: others name the CPU or the callback before.
    log.c.given_up |= said.starts_with("Some ") || said.starts_with("Non-boot ");
    log.refuse(phase);
    if let Some(c) = log.t.current() {
        c.told.aborted = true;
        c.told.error = refusal::cpu(&said).map(|c| c.1).or(c.told.error);
    }
    true
}

/// Such a line counts where the phase has no line of its own: what is over then.
fn half(log: &mut Log<'_>, phase: Phase, took: Ns) -> Option<PmEvent> {
    let phases = log.t.current().map(|c| &c.cycle.phases);
    if phases.is_none_or(|list| list.iter().any(|p| p.phase == phase)) {
        // Its own line ended the phase; what came since is dpm_complete
        // (drivers/base/power/main.c:dpm_resume_end, 6.12).
        if phase == Phase::Resume && log.timed && log.c.phase == Some(Phase::Complete) {
            log.plain(Phase::Complete, log.c.covered, log.now, 0);
            log.c.covered = log.now;
        }
        return None;
    }
    if phase == Phase::Resume {
        log.turn();
    }
    if log.timed {
        let from = log.done_until();
        log.make_room(from, took, TICK);
    }
    Some(if phase == Phase::Suspend { PmEvent::Suspend } else { PmEvent::Resume })
}

fn over(
    log: &mut Log<'_>,
    phase: Phase,
    event: PmEvent,
    took: Ns,
    aborted: bool,
    stamp: &Stamp<'_>,
) {
    if log.is_of_the_next(event, took) {
        log.open(stamp, false);
    }
    log.t.cycle_at(stamp);
    log.sync();
    if phase == Phase::Prepare {
        let suspend = log.t.current().and_then(|c| {
            c.cycle.phases.iter().rev().find(|p| p.phase == Phase::Suspend).map(|p| p.start)
        });
        log.prepare_over(event, took, suspend);
    } else {
        log.phase_over(phase, event, took, aborted, stamp.at);
    }
}

/// A device that refuses ([`refusal::of_device`]).
fn failure(log: &mut Log<'_>, r: &Record<'_>, stamp: &Stamp<'_>) -> bool {
    const WORDS: [&[u8]; 2] = [b"failed to ", b" for power transition: "];
    if WORDS.iter().all(|w| text::find_known(r.text, &r.pairs, w).is_none()) {
        if r.pairs.may_have(b" returns -") {
            log.returns(r.text);
        }
        return false;
    }
    let said = Words::known(String::from_utf8_lossy(r.text).into_owned(), r.pairs);
    let Some(refusal) = refusal::of_device(&said) else { return false };
    if refusal.is_up() {
        // What a callback returned just before is of the same way.
        log.c.returned = None;
        return log.is_of_another(r, refusal.phase, stamp);
    }
    log.is_piece(stamp);
    // The core's words for what a hibernation does (drivers/base/power/main.c:pm_verb).
    if ["freeze", "poweroff"].iter().any(|w| said.contains(&format!("failed to {w}"))) {
        log.is_of(Mode::Disk);
    }
    refused(log, &refusal);
    true
}

/// The device of `refusal` ended the way down.
fn refused(log: &mut Log<'_>, refusal: &refusal::Refusal<'_>) {
    let (driver, device) = (refusal.driver.as_bytes(), refusal.device.as_bytes());
    let at = log.now;
    // Where the text ends inside of the number, a callback may have returned it just before.
    let said = log.c.returned.as_ref().filter(|r| super::calls::split(&r.0).1 == device);
    let errno = match (refusal.error, said) {
        (0, Some((_, errno))) => *errno,
        (errno, _) => errno,
    };
    // Somebody cut the name off, which the line before has too.
    let nameless = device.is_empty();
    let before = log.c.returned.take().filter(|r| nameless && r.1 == errno);
    let (driver, device) =
        before.as_ref().map_or((driver, device), |(owner, _)| super::calls::split(owner));
    if !nameless || before.is_some() {
        let key = DeviceKey { driver, device, parent: b"", driver_known: false };
        log.t.note_failure(&key, errno, at);
    }
    log.refuse(refusal.phase);
}

/// The device that stands before `: PM: `.
pub(super) fn key_of(owner: &[u8]) -> DeviceKey<'_> {
    let (driver, device) = super::calls::split(owner);
    DeviceKey { driver, device, parent: b"", driver_known: false }
}

/// CPUs, system core, sleep.
fn machine(log: &mut Log<'_>, text: &[u8], stamp: &Stamp<'_>) -> bool {
    let now = log.now;
    let cpus_off = text.starts_with(b"Disabling non-boot CPUs");
    if log.t.open_serial() == 0 {
        // Only a sleep switches all of them off: a text may begin there.
        if !cpus_off || log.reads_image {
            return false;
        }
        log.open(stamp, false);
        log.sync();
    }
    if cpus_off {
        log.c.down = Some(now);
        (log.c.cpu_from, log.c.sleep_from) = (Some(now), Some(now));
        // s2idle keeps them.
        if let Some(mode) = log.asked.take_if(|m| *m == Mode::Deep) {
            log.is_of(mode);
        }
    } else if text.starts_with(b"Enabling non-boot CPUs") {
        log.wake(now);
        if let Some(woke) = log.c.woke
            && log.c.syscore.take().is_some()
        {
            log.plain(Phase::SyscoreResume, woke, now, 0);
        }
        log.c.cpu_from = Some(now);
    } else if let Some(cpu) = marks::offline(text) {
        if let Some(from) = log.c.cpu_from {
            // arm64 says of one CPU that it stops, and that firmware has it
            // (arch/arm64/kernel/smp.c:cpu_die, drivers/firmware/psci/psci.c).
            let last = log.t.current().and_then(|c| c.cycle.phases.last_mut());
            match last.filter(|p| p.phase == Phase::CpuOff && p.cpu == cpu) {
                Some(same) => same.end = now,
                None => log.plain(Phase::CpuOff, from, now, cpu),
            }
            log.c.cpu_from = Some(now);
            log.c.sleep_from = Some(now);
        }
    } else if let Some(cpu) = marks::brought_up(text) {
        if let Some(from) = log.c.cpu_from {
            log.plain(Phase::CpuOn, from, now, cpu);
            log.c.cpu_from = Some(now);
        }
    } else if text.starts_with(b"Calling ") && text::find(text, b"+0x").is_some() {
        if text::find(text, b"resume").is_some() {
            log.wake(now);
        }
        log.c.syscore = Some((log.c.syscore.map_or(now, |s| s.0), now));
        if log.c.woke.is_none() && log.c.sleep_from.is_some() {
            log.c.sleep_from = Some(now);
        }
    } else if text.ends_with(b"Saving platform NVS memory") {
        log.saves_nvs();
    } else if text == b"suspend-to-idle" {
        log.c.down = Some(now);
        log.c.idle_from = Some(now);
        // `mem` means this where `mem_sleep` says so, and old kernels print `mem`.
        log.t.set_mode(Mode::S2idle);
    } else if text == b"resume from suspend-to-idle" {
        if let Some(from) = log.c.idle_from.take() {
            log.plain(Phase::Asleep, from, now, 0);
            log.c.woke = Some(now);
        }
    } else if let Some(rest) =
        text.strip_prefix(b"Timekeeping suspended for ").or(text.strip_prefix(b"Suspended for "))
    {
        let took = seconds(rest).unwrap_or(Ns::ZERO);
        if let Some(c) = log.t.current() {
            c.cycle.asleep_elsewhere = Some(c.cycle.asleep_elsewhere.unwrap_or_default() + took);
        }
        log.wake(now);
    } else if text.starts_with(b"ACPI: Low-level resume complete")
        || text.starts_with(b"ACPI: PM: Low-level resume complete")
        || text.starts_with(b"ACPI: Waking up from system sleep")
        || text.starts_with(b"ACPI: PM: Waking up from system sleep")
    {
        log.wake(now);
    } else if text.ends_with(b"EC: interrupt blocked") {
        log.c.quiet.0 = Some(now);
        log.c.down = Some(now);
    } else if text.ends_with(b"EC: interrupt unblocked") {
        log.c.quiet.1 = Some(now);
    } else {
        return false;
    }
    true
}

/// Without messages of the PM core about sleep, the embedded controller's tell
/// roughly: it is silenced and woken inside the two noirq phases.
pub(super) fn quiet_sleep(log: &mut Log<'_>) {
    // What was given up between them did not sleep.
    let given_up = log.c.refusal.is_some();
    if log.c.proven || given_up || log.c.woke.is_some() || !log.c.timed() || log.c.missed {
        return;
    }
    if let (Some(from), Some(to)) = log.c.quiet
        && from < to
    {
        log.plain(Phase::Asleep, from, to, 0);
        log.c.woke = Some(to);
        log.t.losses().add(
            "sleep_inferred",
            1,
            Severity::Warning,
            "begin and end of sleep are guessed from messages of the embedded controller: write 1 to /sys/power/pm_debug_messages",
            None,
        );
        log.warn("sleep_inferred");
    }
}

/// Lost messages, and the kernel version of an oops.
fn other(log: &mut Log<'_>, r: &Record<'_>, text: &[u8], at: u64) -> bool {
    if let Some(count) = super::missed::missed(r, text) {
        log.lose(LostKind::Messages, count);
        log.t.losses().add(
            "dropped_messages",
            count,
            Severity::Warning,
            "the log buffer was too small: boot with a larger log_buf_len, or log less",
            Some(at),
        );
        return true;
    }
    log.asker_lacks_memory(r);
    if let Some(tick) = tick(text) {
        log.t.machine().tick = Some(tick);
        return true;
    }
    // kernel/power/main.c:pm_async_setup, 7.3: only "off" is a word of it.
    if r.has(b"ommand line: ") && text.split(|&b| b == b' ').any(|w| w == b"pm_async=off") {
        log.t.machine().pm_async = Some(false);
    }
    if let Some(release) = release(r, text) {
        log.set_version(release);
        log.t.set_kernel_of_boot(release);
        return true;
    }
    false
}

/// A step without its own end begins.
pub(super) fn lasting(log: &mut Log<'_>, phase: Phase, stamp: &Stamp<'_>) {
    let event = if phase == Phase::Thaw { PmEvent::Resume } else { PmEvent::Suspend };
    log.t.begin_phase(&log_stamp(log, stamp), phase, event, 0);
    log.sync();
    log.c.lasting_from = log.now;
    log.c.lasting = Some(phase);
    log.c.at_most = Ns::MAX;
}

/// Such a step ends, because another one is announced.
pub(super) fn settle(log: &mut Log<'_>, stamp: &Stamp<'_>) {
    if let Some(phase) = log.c.lasting {
        end(log, phase, stamp);
    }
}

/// The same, because a phase of devices ended that took so long: the step was over before that
/// began. Where lines between both are missing, it is no more than the last that is known.
fn settle_ahead_of(log: &mut Log<'_>, next: Phase, took: Ns, stamp: &Stamp<'_>) {
    let down = log.timed && next.direction() == Direction::Suspend;
    let Some(lasting) = log.c.lasting.filter(|l| down && *l != Phase::Thaw) else {
        return settle(log, stamp);
    };
    let time = (log.now - took).max(log.c.lasting_from);
    let cut = log.c.at_most == Ns::MAX && lasting != Phase::FreezeKernel;
    end_lasting(log, lasting, &Stamp { time, ..*stamp });
    let span = log.t.current().and_then(|c| c.cycle.phases.last_mut());
    if let Some(span) = span.filter(|s| cut && s.phase == lasting) {
        span.complete = false;
    }
}

fn end(log: &mut Log<'_>, phase: Phase, stamp: &Stamp<'_>) {
    if log.c.lasting == Some(phase) {
        end_lasting(log, phase, &log_stamp(log, stamp));
    }
}

/// The step that lasts ended at the time of `stamp`, or earlier if its line says so.
pub(super) fn end_lasting(log: &mut Log<'_>, phase: Phase, stamp: &Stamp<'_>) {
    let event = if phase == Phase::Thaw { PmEvent::Resume } else { PmEvent::Suspend };
    log.c.lasting = None;
    // A next line within that tells the rest of a millisecond; a later one does not.
    let time = match log.c.at_most {
        most if stamp.time <= most => stamp.time,
        most => most - CUT_OFF,
    };
    log.t.end_phase(&Stamp { time, ..*stamp }, phase, event, 0);
    // Of a sync without a time of its own nobody knows how long it took.
    if phase == Phase::Sync
        && !log.timed
        && let Some(c) = log.t.current()
    {
        c.cycle.phases.retain(|p| p.phase != Phase::Sync || p.start < p.end);
    }
}

/// Without time stamps, durations move the clock.
pub(super) fn advance(log: &mut Log<'_>, took: Ns) {
    if !log.timed {
        log.now += took;
    }
}

pub(super) fn log_stamp<'a>(log: &Log<'_>, stamp: &Stamp<'a>) -> Stamp<'a> {
    Stamp { time: log.now, ..*stamp }
}
