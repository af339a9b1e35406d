//! A guest with a user space: Debian's systemd, logind and udev as they are, which is asked to
//! sleep by `systemctl suspend`, and whose journal is kept. What delays it is planted ([`delay`]),
//! so that a reader of the journal can be judged by it.

pub mod delay;
mod root;

use crate::initramfs::Initramfs;
use crate::kernels::Kernel;
use crate::qemu::{Accel, Arch, Attend, Machine, boot};
use crate::run::understand;
use crate::{Error, Result, kmod};
use delay::Delay;
use dormouse_guest::plan::MODULE;
use std::fs;
use std::time::Duration;

/// What is wished.
#[derive(Clone, Debug)]
pub struct Wish {
    /// How often it sleeps.
    pub cycles: u32,
    /// Suspend to memory; else to idle.
    pub deep: bool,
    /// What delays it.
    pub delays: Vec<Delay>,
    /// A script of the shell that runs behind the cycles, as root.
    pub script: Option<Vec<u8>>,
    /// Programs below /usr/bin, by name.
    pub programs: Vec<(String, Vec<u8>)>,
    /// Wall time after which the guest is given up.
    pub limit: Duration,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Told {
    /// `journalctl -o export`.
    pub journal: Vec<u8>,
    /// What the script printed.
    pub said: String,
}

/// What the guest is called.
const HOST: &str = "guest";
/// So long it sleeps, of its own time.
const ASLEEP: Duration = Duration::from_secs(20);
/// So long from one request to the next, of its own time: no delay that is drawn takes so much.
const APART: u64 = 120;
/// The folder with what is ours.
const LAB: &str = "/lab";

/// Boots `kernel` with systemd, lets it sleep, and gives its journal.
///
/// # Errors
/// When anything is missing, or the guest does not come to its end.
pub fn run(kernel: &Kernel, machine: &Machine, wish: &Wish) -> Result<Told> {
    if machine.arch != Arch::Amd64 {
        return Err(Error::other("a guest with systemd is of amd64: leave --arch away"));
    }
    let mut archive = Initramfs::default();
    root::pack(&mut archive)?;
    archive.file("/etc/hostname", 0o644, format!("{HOST}\n").as_bytes());
    archive.file("/etc/machine-id", 0o444, b"0123456789abcdef0123456789abcdef\n");
    archive.directory(LAB);
    let module = kmod::module(kernel)?;
    let bytes = fs::read(&module).map_err(Error::file(&module))?;
    archive.file(&format!("{LAB}/{MODULE}"), 0o644, &bytes);
    archive.file(&format!("{LAB}/run"), 0o755, script(machine, wish).as_bytes());
    if let Some(text) = &wish.script {
        archive.file(&format!("{LAB}/script"), 0o755, text);
    }
    for (name, bytes) in &wish.programs {
        archive.file(&format!("/usr/bin/{name}"), 0o755, bytes);
    }
    for wants in ["sleep.target", "suspend.target"] {
        archive.directory(&format!("{}/{wants}.wants", root::UNITS));
    }
    for dir in ["/etc/systemd/logind.conf.d", delay::HOOKS] {
        archive.directory(dir);
    }
    archive.file(&format!("{}/lab.service", root::UNITS), 0o644, SERVICE.as_bytes());
    let wanted = format!("{}/multi-user.target.wants/lab.service", root::UNITS);
    archive.link(&wanted, "../lab.service");
    for delay in &wish.delays {
        delay::plant(&mut archive, delay);
    }
    let mut machine = machine.clone();
    let mode = if wish.deep { "deep" } else { "s2idle" };
    machine.words = format!("mem_sleep_default={mode} {}", machine.words).trim().to_owned();
    let attend =
        Attend { wake: wish.deep, cut: None, disk_mb: None, drives: &[], limit: wish.limit };
    let output = boot(&machine, &kernel.image, &archive.finish(), attend)?;
    let answer = understand(&output)?;
    let journal = answer.get("journal").unwrap_or_default().to_vec();
    Ok(Told { journal, said: answer.text("said") })
}

/// It begins when everything of the boot has begun, as a person would.
const SERVICE: &str = "[Unit]\nDescription=What the laboratory asks for\n\
    After=multi-user.target dbus.service systemd-logind.service\n\
    [Service]\nType=exec\nExecStart=/bin/sh /lab/run\n";

/// What asks for the sleeps and sends what came of them. An error ends it, and is sent.
fn script(machine: &Machine, wish: &Wish) -> String {
    let results = machine.arch.results();
    let wake = if wish.deep { 0 } else { ASLEEP.as_nanos() };
    let cycles = wish.cycles;
    // Where the host's time counts, so does what is idled away.
    let settle = if machine.accel == Accel::Icount { 30 } else { 5 };
    let then = match wish.script {
        Some(_) => {
            format!("bash {LAB}/script >/run/said 2>&1 || fail script\nsend said /run/said\n")
        }
        None => String::new(),
    };
    format!(
        r#"stty -F {results} raw
send() {{
    gzip -n <"$2" >/run/packed
    {{
        echo "dormouse $(stat -c %s /run/packed) $1"
        cat /run/packed
        echo
    }} >{results}
}}
fail() {{
    {{
        echo "$1 failed"
        tail -n 20 /run/said
    }} >/run/error
    send error /run/error
    poweroff -f
}}
: >/run/said
sleep {settle}
insmod {LAB}/{MODULE} || fail insmod
echo {wake} >/sys/kernel/debug/dormouse/wake_ns || fail wake_ns
n=0
while [ $n -lt {cycles} ]; do
    n=$((n + 1))
    systemctl suspend >>/run/said 2>&1 || fail "systemctl suspend"
    sleep {APART}
done
: >/run/said
{then}journalctl --sync
journalctl -o export >/run/journal || fail journalctl
send journal /run/journal
send end /dev/null
poweroff -f
"#
    )
}
