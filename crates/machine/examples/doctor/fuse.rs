//! A server of a FUSE file system on a block device that is stopped, as systemd's freezing
//! of user.slice does.

use crate::disk::{insert, mount_at, suspend};
use crate::freezer::{start, stop};
use crate::slow::Source;
use crate::told::{doctor, of, row};
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::time::{Duration, Instant};

const AT: &str = "/served";
const READY: &str = "/tmp/served";

fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four"))
}

/// Mounts, says so, and answers: INIT with the kernel's own version, SYNCFS with success,
/// and to everything else that it knows nothing of it.
pub(crate) fn serve() {
    const INIT: u32 = 26;
    const SYNCFS: u32 = 50;
    let silent = [2, 36, 42]; // FORGET, INTERRUPT, BATCH_FORGET
    let mut fuse = File::options().read(true).write(true).open("/dev/fuse").unwrap();
    let data = format!("fd={},rootmode=40000,user_id=0,group_id=0", fuse.as_raw_fd());
    mount_at("fuseblk", "/dev/ground", AT, Some(&data)).unwrap();
    let mut request = vec![0; 1 << 20];
    while let Ok(n) = fuse.read(&mut request) {
        if n < 40 {
            break;
        }
        let code = number(&request, 4);
        if silent.contains(&code) {
            continue;
        }
        let mut body = Vec::new();
        let mut error = 0i32;
        match code {
            INIT => {
                // fuse_init_out: version, read-ahead, flags, …; 64 bytes.
                for value in [7, number(&request, 44).min(31), 0, 0, 0, 131_072] {
                    body.extend_from_slice(&value.to_le_bytes());
                }
                body.resize(64, 0);
                fs::write(READY, "").unwrap();
            }
            SYNCFS => {}
            _ => error = -38,
        }
        let mut answer = ((16 + body.len()) as u32).to_le_bytes().to_vec();
        answer.extend_from_slice(&error.to_le_bytes());
        answer.extend_from_slice(&request[8..16]);
        answer.extend_from_slice(&body);
        if fuse.write_all(&answer).is_err() {
            break;
        }
    }
}

fn series() -> (u32, u32) {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut parts = release.split('.').map(|p| p.parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
}

pub(crate) fn frozen_server() -> usize {
    let id = "sync-fuse-deadlock";
    let healthy = doctor(&[]);
    let twin: Vec<String> = of(&healthy, id).iter().map(|f| f.id.clone()).collect();
    let _ = insert("null_blk", c"nr_devices=0");
    let _ = mount_at("configfs", "configfs", "/sys/kernel/config", None);
    let at = "/sys/kernel/config/nullb/ground";
    let made = fs::create_dir(at).and_then(|()| {
        fs::write(format!("{at}/size"), "64").and_then(|()| fs::write(format!("{at}/power"), "1"))
    });
    fs::create_dir_all(AT).unwrap();
    let server = start(&["serve"]);
    let begin = Instant::now();
    while fs::metadata(READY).is_err() && begin.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(20));
    }
    if made.is_err() || fs::metadata(READY).is_err() {
        println!("NOT: a FUSE file system on a disk can be mounted: {made:?}");
        stop(server);
        return 1;
    }
    let asks = series() >= (6, 18);
    let said = doctor(&[]);
    let named = of(&said, id);
    let pid = rustix::process::Pid::from_raw(server.id() as i32).expect("a process");
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    fs::write("/sys/power/pm_test", "freezer").unwrap();
    // Armed, so that a wakeup ends the wait; nothing else does.
    let count = fs::read_to_string("/sys/power/wakeup_count").unwrap_or_default();
    let armed = fs::write("/sys/power/wakeup_count", count.trim()).is_ok();
    let source = Source::new();
    let begin = Instant::now();
    let slept = std::thread::spawn(suspend);
    std::thread::sleep(Duration::from_millis(1_500));
    let hangs = !slept.is_finished();
    if asks {
        source.ring();
    }
    let ended = slept.join().expect("no panic");
    let took = begin.elapsed();
    source.fetch();
    rustix::process::kill_process(pid, rustix::process::Signal::CONT).unwrap();
    let _ = rustix::mount::unmount(AT, rustix::mount::UnmountFlags::DETACH);
    stop(server);
    let _ = fs::write("/sys/power/pm_test", "none");
    let busy = ended.as_ref().is_err_and(|e| e.raw_os_error() == Some(16));
    let told = format!(
        "{}; the sleep {} after {} ms",
        named.first().map_or("nothing".into(), |f| format!("{}: {}", f.id, f.sentence)),
        if ended.is_ok() { "came" } else { "ended with EBUSY" },
        took.as_millis()
    );
    if asks {
        let right =
            !named.is_empty() && armed && hangs && busy && took < Duration::from_millis(1_700);
        row(
            "G-fuse",
            "fuseblk, its server stopped; armed, a wakeup at 1.5 s",
            "sync-fuse-deadlock before; EBUSY at 1.5 s",
            &told,
            right,
            &twin,
        )
    } else {
        let right = named.is_empty() && !hangs && ended.is_ok();
        row(
            "G-fuse",
            "fuseblk, its server stopped",
            "nothing: this kernel does not ask the server",
            &told,
            right,
            &twin,
        )
    }
}
