//! The hooks that keep each sleep: for which init, where they lie, what they say, and how they
//! come and go.

use crate::traces;
use dormouse_machine::process::is_root;
use dormouse_machine::root::Root;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Why nothing was done, or not all.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is not to be done so.
    #[error("{0}")]
    Refused(String),
    /// It cannot be done.
    #[error("cannot {0}: {1}")]
    Failed(String, io::Error),
}

/// What an installation writes: for which init, the place, the text, and whether it is run.
pub struct Hook {
    /// `systemd`.
    pub of: &'static str,
    /// Where it lies.
    pub path: &'static str,
    /// Its text.
    pub text: String,
    /// It is a program.
    pub runs: bool,
}

/// The hooks that keep each sleep, of the program that a shell knows as `word`.
pub fn hooks(word: &str) -> Vec<Hook> {
    // systemd reads quotes as a shell does, and gives % and $ a meaning (systemd.service(5)).
    let unit_word = word.replace('%', "%%").replace('$', "$$");
    let unit = format!(
        "# Made by dormouse watch --install; undone by dormouse watch --uninstall.\n\
         [Unit]\n\
         Description=Keep what this sleep cost\n\
         Before=sleep.target\n\
         StopWhenUnneeded=yes\n\n\
         [Service]\n\
         Type=oneshot\n\
         RemainAfterExit=yes\n\
         ExecStart=-{unit_word} watch --before\n\
         ExecStop=-{unit_word} watch --after\n\
         TimeoutSec=10\n\
         # What a slow disk holds back cannot be killed, so nobody waits for it.\n\
         KillMode=process\n\
         StateDirectory=dormouse\n\
         StateDirectoryMode=0700\n\
         RuntimeDirectory=dormouse-history\n\
         RuntimeDirectoryMode=0700\n\
         RuntimeDirectoryPreserve=yes\n\
         # It reads files of root below /sys and the kernel's log, and writes to its own folders.\n\
         UMask=0077\n\
         CapabilityBoundingSet=CAP_SYSLOG\n\
         DevicePolicy=closed\n\
         DeviceAllow=/dev/kmsg r\n\
         NoNewPrivileges=yes\n\
         ProtectSystem=strict\n\
         ProtectHome=yes\n\
         PrivateTmp=yes\n\
         PrivateMounts=yes\n\
         PrivateNetwork=yes\n\
         IPAddressDeny=any\n\
         ProtectKernelTunables=yes\n\
         ProtectKernelModules=yes\n\
         ProtectControlGroups=yes\n\
         ProtectClock=yes\n\
         ProtectHostname=yes\n\
         ProtectProc=invisible\n\
         RestrictAddressFamilies=none\n\
         RestrictNamespaces=yes\n\
         RestrictRealtime=yes\n\
         RestrictSUIDSGID=yes\n\
         LockPersonality=yes\n\
         MemoryDenyWriteExecute=yes\n\
         SystemCallArchitectures=native\n\
         SystemCallFilter=@system-service\n\
         SystemCallFilter=~@privileged @resources\n\
         # SQLite gives new files the owner that they have, and does without if it may not.\n\
         SystemCallErrorNumber=EPERM\n\
         MemoryMax=128M\n\
         TasksMax=16\n\n\
         [Install]\n\
         WantedBy=sleep.target\n"
    );
    let shell = |of: &str| {
        format!(
            "#!/bin/sh\n\
             # Made by dormouse watch --install for {of}; undone by dormouse watch --uninstall.\n\
             case \"$1\" in\n\
             pre) exec {word} watch --before ;;\n\
             post) {word} watch --after </dev/null >/dev/null 2>&1 & ;;\n\
             esac\n"
        )
    };
    vec![
        Hook { of: "systemd", path: UNIT, text: unit, runs: false },
        Hook {
            of: "elogind",
            path: "/etc/elogind/system-sleep/dormouse-history",
            text: shell("elogind"),
            runs: true,
        },
        Hook {
            of: "pm-utils",
            path: "/etc/pm/sleep.d/01dormouse-history",
            text: shell("pm-utils")
                .replace("pre)", "suspend|hibernate|suspend_hybrid)")
                .replace("post)", "resume|thaw)"),
            runs: true,
        },
    ]
}

/// The unit of systemd.
pub const UNIT: &str = "/etc/systemd/system/dormouse-history.service";

/// The link that `systemctl enable` makes of its last section.
pub const WANTED: &str = "/etc/systemd/system/sleep.target.wants/dormouse-history.service";

/// Whether hooks of ours are there.
#[must_use]
pub fn is_hooked(root: &Root) -> bool {
    hooks("").iter().any(|h| root.exists(h.path))
}

fn is_real(root: &Root) -> bool {
    root.resolve("/") == Path::new("/")
}

fn may(root: &Root) -> Result<(), Error> {
    match !is_real(root) || is_root() {
        true => Ok(()),
        false => refused("only root may change the hooks: sudo dormouse watch …"),
    }
}

fn refused<T>(why: impl Into<String>) -> Result<T, Error> {
    Err(Error::Refused(why.into()))
}

/// What cannot be done with a place.
fn failed<'a>(what: &'a str, place: &'a Path) -> impl Fn(io::Error) -> Error + 'a {
    move |e| Error::Failed(format!("{what} {}", place.display()), e)
}

/// The hooks for what runs this machine.
fn fitting(root: &Root, program: &Path, word: &str) -> Result<Vec<Hook>, Error> {
    let private = ["/home", "/root", "/tmp", "/var/tmp", "/run"];
    let is_private = is_real(root) && private.iter().any(|p| program.starts_with(p));
    let why = format!(
        "a hook cannot rely on {}: copy dormouse to /usr/local/bin, and install it from there",
        program.display()
    );
    if is_private {
        return refused(why);
    }
    let folders = |of: &str| match of {
        "systemd" => vec!["/run/systemd/system"],
        "elogind" => {
            vec!["/etc/elogind", "/usr/lib/elogind", "/lib/elogind", "/usr/libexec/elogind"]
        }
        _ => vec!["/etc/pm/sleep.d"],
    };
    let mut all = hooks(word);
    all.retain(|h| folders(h.of).iter().any(|f| root.exists(f)));
    // One is enough: elogind takes the place of systemd, and pm-utils is older than both.
    all.truncate(1);
    let why = "neither systemd, elogind nor pm-utils runs this machine; let whatever sends it to \
               sleep call dormouse watch --before, and --after when it is back";
    match all.is_empty() {
        true => refused(why),
        false => Ok(all),
    }
}

/// The first line of a hook of ours.
const OURS: &str = "Made by dormouse watch --install";

/// Places, and what is done with each.
pub type Done = Vec<(String, &'static str)>;

/// Says what an installation does, and does it if `yes`. The hooks call `program`, which a
/// shell knows as `word`.
///
/// # Errors
/// If it is not to be done so, or fails.
pub fn install(root: &Root, program: &Path, word: &str, yes: bool) -> Result<Done, Error> {
    let mut done = Done::new();
    let hooks = fitting(root, program, word)?;
    if yes {
        may(root)?;
    }
    for h in hooks {
        let place = root.resolve(h.path);
        let there = fs::read_to_string(&place).unwrap_or_default();
        if !there.is_empty() && !there.contains(OURS) {
            return refused(format!("{} is there, and none of ours: it is left alone", h.path));
        }
        done.push((
            h.path.to_string(),
            if h.runs { "write the program" } else { "write the unit" },
        ));
        if !yes {
            for line in h.text.lines() {
                done.push((format!("| {line}"), ""));
            }
        }
        let link = root.resolve(WANTED);
        let is_unit = h.path == UNIT;
        if is_unit {
            done.push((WANTED.into(), "link it from"));
        }
        if !yes {
            continue;
        }
        let failed = || failed("write", &place);
        if let Some(above) = place.parent() {
            fs::create_dir_all(above).map_err(failed())?;
        }
        fs::write(&place, &h.text).map_err(failed())?;
        let mode = fs::Permissions::from_mode(if h.runs { 0o755 } else { 0o644 });
        fs::set_permissions(&place, mode).map_err(failed())?;
        if is_unit {
            if let Some(above) = link.parent() {
                fs::create_dir_all(above).map_err(failed())?;
            }
            let _ = fs::remove_file(&link);
            std::os::unix::fs::symlink("../dormouse-history.service", &link).map_err(failed())?;
            reload(root);
        }
    }
    Ok(done)
}

/// Lets systemd see the unit, of the machine itself.
fn reload(root: &Root) {
    if is_real(root) {
        let _ = Command::new("systemctl").arg("daemon-reload").stdin(Stdio::null()).status();
    }
}

/// Says what the end of it removes, hooks and all that is kept, and removes it if `yes`.
///
/// # Errors
/// If it fails.
pub fn uninstall(root: &Root, yes: bool) -> Result<Done, Error> {
    let ours = |path: &&str| fs::read_to_string(root.resolve(path)).is_ok_and(|t| t.contains(OURS));
    let hooks = hooks("");
    let files: Vec<&str> = hooks.iter().map(|h| h.path).filter(ours).collect();
    // What it points to may be gone.
    let linked = root.resolve(WANTED).is_symlink();
    let mut paths: Vec<String> = linked.then(|| WANTED.to_string()).into_iter().collect();
    paths.extend(files.into_iter().map(String::from));
    paths.extend(traces(root));
    if yes {
        may(root)?;
        for path in &paths {
            let place = root.resolve(path);
            let gone = match place.is_dir() && !place.is_symlink() {
                true => fs::remove_dir(&place),
                false => fs::remove_file(&place),
            };
            gone.map_err(failed("remove", &place))?;
        }
        let wants = root.resolve(WANTED);
        // Not empty, if others want something of a sleep too.
        if let Some(above) = wants.parent().filter(|_| linked) {
            let _ = fs::remove_dir(above);
            reload(root);
        }
    }
    Ok(paths.into_iter().map(|p| (p, "remove")).collect())
}
