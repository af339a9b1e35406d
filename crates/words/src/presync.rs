//! What `sync` says when it is done, and the files that run it before each sleep: as
//! functions of facts.

use crate::text::page::{Ink, Page};
use crate::text::{fit, safe};
use crate::wording::next::{next, run, word};
use crate::wording::number::{names, plural};
use dormouse_base::time::Ns;

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End<'a> {
    /// Everything is written.
    Short,
    /// A wakeup came, by these sources.
    Wakeup(&'a [String]),
    /// A signal came.
    Signal,
    /// The time is spent.
    Spent,
    /// A disk gets no emptier; bytes written and dirtied in 3 s.
    Stuck(&'a str, u64, u64),
    /// No data was to be written.
    Nothing,
    /// Only asked what it would do.
    Asked,
}

/// A disk with something to write.
#[derive(Clone, Copy, Debug)]
pub struct Disk<'a> {
    /// Its name; empty for all together.
    pub name: &'a str,
    /// Bytes to write at the start.
    pub before: u64,
    /// Bytes written.
    pub written: u64,
    /// Bytes to write at the end.
    pub left: u64,
    /// How long it had something to write.
    pub busy: Ns,
    /// How long the rest takes.
    pub rest: Ns,
    /// File systems on it.
    pub mounts: &'a [String],
}

/// What became of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flushed<'a> {
    /// It is synced.
    Written(Ns),
    /// It was not, for this reason.
    Failed(&'a str),
    /// It is still at work.
    Running,
    /// Nothing yet.
    Asked,
}

/// Why a file system is left to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// A server does its writing.
    Server,
    /// The way to it leads through a server.
    Below,
    /// It could not be opened.
    NotOpened,
}

/// What was done.
#[derive(Clone, Copy, Debug)]
pub struct Presynced<'a> {
    /// How it ended.
    pub end: End<'a>,
    /// Disks that had something to write.
    pub disks: &'a [Disk<'a>],
    /// File systems.
    pub flushed: &'a [(&'a str, Flushed<'a>)],
    /// Place, type, and why each of the others is left alone.
    pub skipped: &'a [(&'a str, &'a str, Left)],
    /// How long it took.
    pub took: Ns,
    /// The time that was given.
    pub budget: Ns,
    /// The disks could be told apart.
    pub apart: bool,
    /// Wakeups are counted here.
    pub counted: bool,
    /// Sleep is armed.
    pub armed: bool,
}

impl Presynced<'_> {
    fn sum(&self, of: impl Fn(&Disk<'_>) -> u64) -> u64 {
        self.disks.iter().map(of).fold(0, u64::saturating_add)
    }

    fn failed(&self) -> bool {
        self.flushed.iter().any(|f| matches!(f.1, Flushed::Failed(_)))
    }

    fn answer(&self) -> String {
        let took = self.took;
        match self.end {
            _ if self.failed() => {
                "Data cannot be written: it is at risk, whatever sleep does.".into()
            }
            End::Short if self.disks.is_empty() => {
                format!("Ready to sleep: nothing had to be written ({took}).")
            }
            End::Short => format!(
                "Ready to sleep: {} were written in {took}.",
                megabytes(self.sum(|d| d.written))
            ),
            End::Wakeup([]) => format!("Not now: a wakeup came within {took}."),
            End::Wakeup(who) => format!("Not now: a wakeup came within {took}, of {}.", names(who)),
            End::Signal => format!("Ended by a signal after {took}."),
            End::Spent => {
                let slowest = self.disks.iter().max_by_key(|d| d.rest);
                let rest = slowest.map(|d| {
                    let on = if d.name.is_empty() { "the disks" } else { d.name };
                    format!("; {on} would need about {} more", d.rest)
                });
                format!("Not ready: {took} are spent{}.", rest.unwrap_or_default())
            }
            End::Stuck(disk, ..) => {
                let disk = if disk.is_empty() { "a disk" } else { disk };
                format!("Not ready: {disk} gets no emptier ({took}).")
            }
            End::Nothing if self.armed => "Armed.".into(),
            End::Nothing => "Nothing was asked for: no time to write, and no --arm.".into(),
            End::Asked => {
                format!("A sleep now would sync {}.", megabytes(self.sum(|d| d.left)))
            }
        }
    }

    fn trust(&self) -> String {
        match self.end {
            End::Asked => "Bytes are the kernel's counts; nothing was written.".into(),
            End::Stuck(_, written, dirtied) => format!(
                "In 3 s {} were written and {} dirtied: {}. The kernel's own sync would wait \
                 for it too.",
                megabytes(written),
                megabytes(dirtied),
                match dirtied > written / 2 {
                    true => "a program writes there all the time",
                    false => "the disk does not write",
                }
            ),
            End::Short => "What was dirty at the start is on the disks, as each file system says; \
                           the kernel's own sync stays on and writes what came since."
                .into(),
            _ => "What is not written stays dirty, and the kernel's own sync, which stays on, \
                  writes it: nothing has to be undone."
                .into(),
        }
    }
}

/// `41.9 MB`.
fn megabytes(bytes: u64) -> String {
    let tenths = bytes.saturating_add(50_000) / 100_000;
    format!("{}.{} MB", tenths / 10, tenths % 10)
}

/// The page.
pub fn presynced(p: &Presynced<'_>) -> String {
    let mut page = Page::new(false);
    page.wrapped(Ink::Strong, 0, 2, &safe(&p.answer()));
    page.wrapped(Ink::Plain, 0, 2, &p.trust());
    if p.armed {
        let text = "Armed: a wakeup since the start ends the next sleep; from Linux 6.19 on its \
                    sync too.";
        page.wrapped(Ink::Plain, 0, 2, text);
    }
    if !p.apart {
        let text = "The disks cannot be told apart: /sys/kernel/debug is not mounted.";
        page.wrapped(Ink::Plain, 0, 2, text);
    }
    if !p.counted {
        page.wrapped(Ink::Plain, 0, 2, "This kernel counts no wakeups: none could end this.");
    }
    if !p.disks.is_empty() {
        page.blank();
        let line = "Disk         before    written       left     time   rate MB/s  file systems";
        page.line(&[(Ink::Strong, line)]);
    }
    for d in p.disks {
        let rate = match d.busy.0 {
            ns if ns > 0 && d.written > 0 => {
                let tenths = u128::from(d.written) * 10_000 / ns.unsigned_abs() as u128;
                format!("{}.{}", tenths / 10, tenths % 10)
            }
            _ => "-".into(),
        };
        let name = fit(&safe(if d.name.is_empty() { "all" } else { d.name }), 9);
        let front = format!(
            "{name:<9} {:>9}  {:>9}  {:>9}  {:>7}  {rate:>10}  ",
            megabytes(d.before),
            megabytes(d.written),
            megabytes(d.left),
            seconds(d.busy),
        );
        let mounts =
            if d.mounts.is_empty() { "-".into() } else { safe(&d.mounts.join(" ")).into_owned() };
        page.entry(&front, &mounts);
    }
    files(&mut page, p);
    let mut out = page.finish() + "\n";
    out += &match p.end {
        _ if p.failed() => run("dmesg --level=err,warn"),
        End::Spent => next(&format!("sync --budget {}s", (2 * p.budget.0 / 1_000_000_000).max(1))),
        End::Asked => next("sync"),
        End::Nothing if !p.armed => next("sync --arm"),
        _ => next("check"),
    };
    out
}

fn seconds(t: Ns) -> String {
    format!("{}.{:02} s", t.0 / 1_000_000_000, t.0 / 10_000_000 % 100)
}

/// The file systems: synced, not synced, and left alone.
fn files(page: &mut Page, p: &Presynced<'_>) {
    let mut lines: Vec<String> = Vec::new();
    let written: Vec<String> = p
        .flushed
        .iter()
        .filter_map(|(at, f)| match f {
            Flushed::Written(t) => Some(format!("{at} ({t})")),
            _ => None,
        })
        .collect();
    if !written.is_empty() {
        lines.push(format!("Synced: {}.", written.join(", ")));
    }
    let places = |wanted: Flushed<'_>| -> Vec<&str> {
        p.flushed.iter().filter(|f| f.1 == wanted).map(|f| f.0).collect()
    };
    let asked = places(Flushed::Asked);
    if !asked.is_empty() {
        lines.push(format!("It would sync: {}.", asked.join(", ")));
    }
    let running = places(Flushed::Running);
    if !running.is_empty() {
        lines.push(format!(
            "Still at work: {}. What syncs a file system cannot be stopped; it ends when the disk \
             has written.",
            running.join(", ")
        ));
    }
    for (at, f) in p.flushed {
        if let Flushed::Failed(why) = f {
            lines.push(format!("{at} cannot be written: {why}."));
        }
    }
    for (kind, why) in [
        (Left::Server, "a server does their writing, which may be frozen or away"),
        (Left::Below, "the way there leads through a server"),
        (Left::NotOpened, "could not be opened in time, or something is mounted above"),
    ] {
        let list: Vec<String> = p
            .skipped
            .iter()
            .filter(|s| s.2 == kind)
            .map(|s| format!("{} ({})", s.0, s.1))
            .collect();
        if !list.is_empty() {
            lines.push(format!(
                "Left to the kernel, {}: {}: {why}.",
                plural(list.len(), "file system"),
                list.join(", ")
            ));
        }
    }
    if !lines.is_empty() {
        page.blank();
    }
    for line in lines {
        page.wrapped(Ink::Plain, 0, 2, &safe(&line));
    }
}

/// Name, text, and whether it is to be executable, of each file that runs `program`
/// before each sleep.
pub fn hooks(program: &str) -> [(&'static str, String, bool); 3] {
    // systemd reads quotes as a shell does, and gives % a meaning (systemd.service(5)).
    let word = word(program);
    let (program, unit_program) = (&word, word.replace('%', "%%"));
    let unit = format!(
        "# dormouse: data is written before each sleep, while every program still runs.\n\
         # Install: copy to /etc/systemd/system/, then: systemctl enable dormouse-sync\n\
         # Undo: systemctl disable dormouse-sync\n\
         # A wakeup ends it with code 6 and the sleep goes on. To call the sleep off\n\
         # then, write RequiredBy for WantedBy; the other codes never do that.\n\
         [Unit]\nDescription=Write data before sleep\nBefore=sleep.target\n\n\
         [Service]\nType=oneshot\n\
         ExecStart={unit_program} sync --budget 30s --until 200ms\n\
         SuccessExitStatus=7 8 9\n\
         # What still syncs a slow disk cannot be killed, so nobody waits for it.\n\
         KillMode=process\n\n\
         [Install]\nWantedBy=sleep.target\n"
    );
    let arm = format!(
        "#!/bin/sh\n\
         # dormouse: at the last moment before sleep, lets wakeups end it from here on.\n\
         # Install: copy to /usr/lib/systemd/system-sleep/ (elogind:\n\
         # /usr/lib/elogind/system-sleep/) and make it executable: chmod 755\n\
         # Undo: remove it.\n\
         # Install dormouse-sleep.conf too: without it, systemd answers a sleep that a\n\
         # wakeup ended with a second one, in another state and not armed.\n\
         [ \"$1\" = pre ] || exit 0\n\
         exec {program} sync --arm --budget 0\n"
    );
    let conf = "# dormouse: one state to sleep in, so that a wakeup that ends a sleep ends it for good.\n\
                # Install: copy to /etc/systemd/sleep.conf.d/\n\
                # Undo: remove it.\n\
                [Sleep]\nSuspendState=mem\n";
    [
        ("dormouse-sync.service", unit, false),
        ("dormouse-arm", arm, true),
        ("dormouse-sleep.conf", conf.into(), false),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk<'a>(mounts: &'a [String]) -> Disk<'a> {
        Disk {
            name: "sda",
            before: 41_943_040,
            written: 41_943_040,
            left: 0,
            busy: Ns::from_ms(5_000),
            rest: Ns::ZERO,
            mounts,
        }
    }

    fn page(end: End<'_>, disks: &[Disk<'_>]) -> String {
        let text = presynced(&Presynced {
            end,
            disks,
            flushed: &[("/", Flushed::Written(Ns::from_ms(40))), ("/usb", Flushed::Running)],
            skipped: &[("/net", "nfs4", Left::Server)],
            took: Ns::from_ms(5_230),
            budget: Ns::from_ms(30_000),
            apart: true,
            counted: true,
            armed: false,
        });
        assert!(text.lines().all(|l| crate::text::width(l) <= 80), "{text}");
        text
    }

    #[test]
    fn each_end_answers_first_and_names_the_next_command_last() {
        let mounts = ["/".to_string()];
        let disks = [disk(&mounts)];
        let short = page(End::Short, &disks);
        assert!(short.starts_with("Ready to sleep: 41.9 MB were written in 5"), "{short}");
        assert!(short.contains("   8.3  /\n"), "{short}");
        assert!(short.contains("Synced: / ("), "{short}");
        assert!(short.contains("Still at work: /usb."), "{short}");
        assert!(short.contains("/net (nfs4)"), "{short}");
        assert!(short.ends_with("Next: dormouse check\n"), "{short}");
        let who = ["lid".to_string()];
        let woken = page(End::Wakeup(&who), &disks);
        assert!(woken.starts_with("Not now: a wakeup came within 5"), "{woken}");
        assert!(woken.lines().next().is_some_and(|l| l.ends_with(", of lid.")), "{woken}");
        let slow = [Disk { left: 90_000_000, rest: Ns::from_ms(9_000), ..disks[0] }];
        let spent = page(End::Spent, &slow);
        assert!(spent.lines().next().is_some_and(|l| l.contains("sda would need")), "{spent}");
        assert!(spent.ends_with("Next: dormouse sync --budget 60s\n"), "{spent}");
        let stuck = page(End::Stuck("sda", 1_000_000, 9_000_000), &slow);
        assert!(stuck.contains("a program writes there all"), "{stuck}");
        assert!(page(End::Stuck("sda", 0, 0), &slow).contains("the disk does not write"));
        assert!(page(End::Asked, &slow).starts_with("A sleep now would sync 90.0 MB.\n"));
    }

    #[test]
    fn what_cannot_be_written_is_the_answer() {
        let text = presynced(&Presynced {
            end: End::Short,
            disks: &[],
            flushed: &[("/mnt", Flushed::Failed("No space left on device"))],
            skipped: &[],
            took: Ns::from_ms(10),
            budget: Ns::from_ms(30_000),
            apart: true,
            counted: true,
            armed: false,
        });
        assert!(text.starts_with("Data cannot be written"), "{text}");
        assert!(text.contains("/mnt cannot be written: No space left on device."), "{text}");
        assert!(text.ends_with("Next: dmesg --level=err,warn\n"), "{text}");
    }

    #[test]
    fn hooks_say_how_to_install_and_undo_them() {
        for (name, text, _) in hooks("/usr/bin/dormouse") {
            assert!(text.contains("# Install: ") && text.contains("# Undo: "), "{name}: {text}");
            assert!(text.ends_with('\n') && text.lines().all(|l| l.len() <= 100), "{name}");
        }
    }
}
