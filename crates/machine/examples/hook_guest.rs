//! A guest in which systemd itself runs the files of `dormouse sync --hook` before a
//! sleep. Run by `tools/check-sync`; does nothing outside such a guest.
//!
//! Process 1 prepares a disk of 8 MB/s and then becomes systemd, whose only service is
//! this program again. It prints a line a question, and `PASSED` or `FAILED`.

#[allow(dead_code, reason = "shared with other guests")]
mod common;
#[allow(dead_code, reason = "shared with other guests")]
#[path = "common/disk.rs"]
mod disk;
#[allow(dead_code, reason = "shared with other guests")]
#[path = "common/slow.rs"]
mod slow;

use slow::{MIB, Source, dirty, kernel_sync, left, settle};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

const HOOKS: &str = "/tmp/hooks";
const UNIT: &str = "/etc/systemd/system/dormouse-sync.service";

fn main() {
    // Twice in this guest and nowhere else.
    let served = fs::read_to_string("/proc/cmdline").is_ok_and(|l| l.contains("dormouse.lab=1"))
        && std::env::args().nth(1).is_some_and(|a| a == "served");
    if served {
        let bad = check();
        println!("{}", if bad == 0 { "PASSED" } else { "FAILED" });
        common::power_off();
    }
    common::only_process_1();
    common::mount_all();
    if let Err(e) = slow::prepare().and_then(|()| install()) {
        println!("the guest cannot be prepared: {e}");
        common::power_off();
    }
    let e = Command::new("/usr/lib/systemd/systemd").exec();
    println!("systemd: {e}");
    common::power_off();
}

/// What systemd is to do, and the files as their heads say.
fn install() -> std::io::Result<()> {
    let service = "[Service]\nType=oneshot\nExecStart=/init served\n\
        StandardOutput=file:/dev/console\nStandardError=file:/dev/console\n";
    fs::write("/etc/systemd/system/check.service", service)?;
    let target = "[Unit]\nWants=check.service user.slice\nAfter=user.slice\n";
    fs::write("/etc/systemd/system/default.target", target)?;
    fs::create_dir_all(HOOKS)?;
    let ran = common::dormouse(&["sync", "--hook", HOOKS], None);
    if !ran.success {
        return Err(std::io::Error::other(ran.text));
    }
    let arm = "/usr/lib/systemd/system-sleep/dormouse-arm";
    for (name, to) in [
        ("dormouse-sync.service", UNIT),
        ("dormouse-arm", arm),
        ("dormouse-sleep.conf", "/etc/systemd/sleep.conf.d/dormouse-sleep.conf"),
    ] {
        fs::copy(format!("{HOOKS}/{name}"), to)?;
    }
    fs::set_permissions(arm, fs::Permissions::from_mode(0o755))
}

fn systemctl(args: &[&str]) -> (bool, String) {
    match Command::new("systemctl").args(args).env("PATH", "/usr/bin:/bin").output() {
        Ok(out) => {
            let text = [out.stdout, out.stderr].concat();
            (out.status.success(), String::from_utf8_lossy(&text).trim().to_string())
        }
        Err(e) => (false, e.to_string()),
    }
}

fn sleeps() -> u64 {
    let text = fs::read_to_string("/sys/power/suspend_stats/success").unwrap_or_default();
    text.trim().parse().unwrap_or(0)
}

/// The exit code of the unit's last run.
fn code() -> String {
    systemctl(&["show", "--value", "-p", "ExecMainStatus", "dormouse-sync"]).1
}

fn expect(what: &str, right: bool) -> usize {
    if !right {
        println!("NOT: {what}");
    }
    usize::from(!right)
}

/// One sleep, as logind asks for it; a wakeup comes after so long.
fn sleep(wakeup: Option<Duration>) -> (bool, String) {
    settle();
    dirty(40 * MIB);
    let source = Source::new();
    std::thread::scope(|scope| {
        if let Some(after) = wakeup {
            let source = &source;
            scope.spawn(move || {
                std::thread::sleep(after);
                source.ring();
                source.fetch();
            });
        }
        systemctl(&["start", "systemd-suspend.service"])
    })
}

fn check() -> usize {
    // systemd has just said something to the terminal that is no line.
    println!();
    let (enabled, said) = systemctl(&["enable", "dormouse-sync"]);
    let mut bad = expect("the unit can be enabled", enabled);
    bad += expect("systemd has no complaint", !said.to_lowercase().contains("warning"));
    let was = sleeps();
    let (slept, said) = sleep(None);
    println!(
        "a sleep: the unit ends with {}, the kernel's own sync takes {:?} s, {} kB left",
        code(),
        kernel_sync().unwrap_or(f64::NAN),
        left() >> 10
    );
    bad += expect(&format!("systemd lets it sleep: {said}"), slept && sleeps() == was + 1);
    bad += expect("the data was written before", code() == "0");
    bad += expect("the kernel's own sync is short", kernel_sync().is_some_and(|s| s < 0.3));

    let (slept, _) = sleep(Some(Duration::from_secs(2)));
    println!(
        "a wakeup during the unit: it ends with {}, {}",
        code(),
        if slept { "the sleep goes on" } else { "no sleep" }
    );
    bad += expect("the unit ends with 6", code() == "6");
    bad += expect("WantedBy lets the sleep go on", slept && sleeps() == was + 2);

    let text = fs::read_to_string(UNIT).unwrap_or_default().replace("WantedBy=", "RequiredBy=");
    bad += expect("the unit can be changed", fs::write(UNIT, text).is_ok());
    bad += expect("it is enabled again", systemctl(&["reenable", "dormouse-sync"]).0);
    let _ = systemctl(&["daemon-reload"]);
    let (slept, said) = sleep(Some(Duration::from_secs(2)));
    println!(
        "the same with RequiredBy: it ends with {}, {}",
        code(),
        if slept { "the sleep goes on" } else { "no sleep" }
    );
    bad += expect(&format!("RequiredBy calls it off: {said}"), !slept && sleeps() == was + 2);
    let (slept, said) = sleep(None);
    println!(
        "the next sleep: the unit ends with {}, the kernel's own sync takes {:?} s",
        code(),
        kernel_sync()
    );
    bad + expect(&format!("without a wakeup it sleeps: {said}"), slept && sleeps() == was + 3)
}
