//! The hooks that keep each sleep: for which init, where they lie, what they say, and how they
//! come and go.

use crate::folder::Folder;
use crate::{FOLDER, Traces, traces};
use dormouse_machine::process::is_root;
use dormouse_machine::root::Root;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
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
         # What a battery holds back that does not answer is left alone, and nobody waits for it.\n\
         KillMode=process\n\
         # Not StateDirectory: where that is a link the hook would not run at all.\n\
         ReadWritePaths=-/var/lib/dormouse\n\
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
         # All of it, in two mounts: ProtectKernelTunables makes many, and a sleep waits for them.\n\
         ReadOnlyPaths=/proc /sys\n\
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
    if let Some(place) = exposed(program, 0).filter(|_| is_real(root)) {
        return refused(format!(
            "others than root can change {}, and root runs what a hook calls: sudo install -o root \
             -g root -m 755 {} /usr/local/bin/dormouse, and install it from there",
            place.display(),
            program.display()
        ));
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

/// The program, or the folder above it, that others than root and `owner` can change.
fn exposed(program: &Path, owner: u32) -> Option<PathBuf> {
    let program = fs::canonicalize(program).unwrap_or_else(|_| program.into());
    let can_change = |p: &&Path| {
        let Ok(m) = fs::symlink_metadata(p) else { return true };
        // In a folder such as /tmp nobody replaces what belongs to others.
        let is_sticky = m.is_dir() && m.mode() & 0o1000 != 0;
        let group = m.mode() & 0o020 != 0 && m.gid() >= PEOPLE;
        let all = m.mode() & 0o002 != 0 && !is_sticky;
        ![0, owner].contains(&m.uid()) || group || all
    };
    program.ancestors().find(can_change).map(Path::to_path_buf)
}

/// Groups of people have numbers from here on (GID_MIN of login.defs(5)); those below are the
/// system's own.
const PEOPLE: u32 = 1_000;

/// What lies where a hook is to lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum There {
    Nothing,
    Ours,
    /// A link to nothing: systemd is told to know no such unit.
    Masked,
    Others,
}

fn there(place: &Path) -> There {
    let Ok(m) = fs::symlink_metadata(place) else { return There::Nothing };
    match fs::read_link(place) {
        Ok(to) if to == Path::new("/dev/null") => There::Masked,
        _ if m.is_file() && fs::read_to_string(place).is_ok_and(|t| t.contains(OURS)) => {
            There::Ours
        }
        _ => There::Others,
    }
}

/// Whether the link that wants the unit is there; others' is not.
fn wanted(link: &Path) -> There {
    match fs::read_link(link) {
        Ok(to) if to.file_name() == Path::new(UNIT).file_name() => There::Ours,
        _ if fs::symlink_metadata(link).is_err() => There::Nothing,
        _ => There::Others,
    }
}

/// Gives a place this text, all or nothing. Nothing is followed: a link that lies there is
/// replaced.
fn write(place: &Path, text: &str, mode: u32) -> io::Result<()> {
    let new = place.with_extension("new");
    match fs::remove_file(&new) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    // O_EXCL follows no link either (open(2)).
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
    file.write_all(text.as_bytes())?;
    file.set_permissions(fs::Permissions::from_mode(mode))?;
    file.sync_all()?;
    fs::rename(&new, place)
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
        let link = root.resolve(WANTED);
        let is_unit = h.path == UNIT;
        let others = |path| refused(format!("{path} is there, and none of ours: it is left alone"));
        match there(&place) {
            There::Nothing | There::Ours => {}
            There::Masked => {
                return refused(format!(
                    "{} is masked: systemctl unmask dormouse-history.service, and install again",
                    h.path
                ));
            }
            There::Others => return others(h.path),
        }
        if is_unit && wanted(&link) == There::Others {
            return others(WANTED);
        }
        // The hook may write in the folder, and not beside it.
        done.push((FOLDER.into(), "make the folder"));
        if yes {
            Folder::open(&root.resolve(FOLDER), true)
                .map_err(|e| Error::Failed(format!("make {FOLDER}"), e))?;
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
        write(&place, &h.text, if h.runs { 0o755 } else { 0o644 }).map_err(failed())?;
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

/// Says what the end of it removes, hooks and all that is kept, and removes it if `yes`. What
/// others put there stays.
///
/// # Errors
/// If something of ours cannot be removed; the rest is.
pub fn uninstall(root: &Root, yes: bool) -> Result<Done, Error> {
    // What it points to may be gone.
    let linked = wanted(&root.resolve(WANTED)) == There::Ours;
    let mut paths: Vec<String> = linked.then(|| WANTED.to_string()).into_iter().collect();
    let is_ours = |path: &&str| there(&root.resolve(path)) == There::Ours;
    paths.extend(hooks("").iter().map(|h| h.path).filter(is_ours).map(String::from));
    let Traces { ours, shared } = traces(root);
    paths.extend(ours);
    let mut worst = Ok(());
    if yes {
        may(root)?;
        for path in &paths {
            let place = root.resolve(path);
            let gone = match place.is_dir() && !place.is_symlink() {
                true => fs::remove_dir(&place),
                false => fs::remove_file(&place),
            };
            worst = worst.and(gone.map_err(failed("remove", &place)));
        }
        let wants = root.resolve(WANTED);
        // Not empty, if others want something of a sleep too.
        if let Some(above) = wants.parent().filter(|_| linked) {
            let _ = fs::remove_dir(above);
            reload(root);
        }
    }
    worst?;
    let left = shared.into_iter().map(|p| (p, "leave, for the files of others in it,"));
    Ok(paths.into_iter().map(|p| (p, "remove")).chain(left).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_others_can_change_is_none_for_root() {
        let dir = tempfile::tempdir().unwrap();
        let owner = fs::metadata(dir.path()).unwrap().uid();
        let folder = dir.path().join("bin");
        fs::create_dir(&folder).unwrap();
        let program = folder.join("dormouse");
        fs::write(&program, "").unwrap();
        let mode =
            |p: &Path, mode| fs::set_permissions(p, fs::Permissions::from_mode(mode)).unwrap();
        let places = [&program, &folder];
        places.iter().for_each(|p| mode(p, 0o755));
        assert_eq!(exposed(&program, owner), None);
        for place in places {
            mode(place, 0o777);
            assert_eq!(exposed(&program, owner).as_ref(), Some(place));
            mode(place, 0o755);
        }
        mode(&folder, 0o1777);
        assert_eq!(exposed(&program, owner), None, "as /tmp");
        mode(&folder, 0o755);
        if owner == 0 && std::os::unix::fs::chown(&program, Some(12_345), None).is_ok() {
            assert_eq!(exposed(&program, 0).as_ref(), Some(&program));
        } else {
            println!("SKIPPED: only root can give a file away: no other owner was tried");
        }
    }
}
