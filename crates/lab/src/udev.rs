//! Debian's udev, unpacked below the cache: to check rules with it, and to let
//! it run in a guest.

use crate::describe::describe;
use crate::error::tail;
use crate::initramfs::Initramfs;
use crate::kernels::apt::sources;
use crate::kernels::mirror::mirrors;
use crate::kernels::{Kernel, cache};
use crate::plan::{DIRECTORY, Plan, Trial};
use crate::qemu::Machine;
use crate::run::{base, play};
use crate::{Error, Result};
use dormouse_core::board::Board;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// The suite it is from: the first whose `udevadm` can verify rules.
const SUITE: &str = "trixie";

/// A directory with udev and the libraries it needs, made now if it is not in
/// the cache. Nothing of it is installed or configured.
///
/// # Errors
/// If mmdebstrap is missing, or the packages cannot be had.
pub fn root() -> Result<PathBuf> {
    let root = cache()?.join("chroot").join(format!("{SUITE}-udev"));
    if root.join("usr/bin/udevadm").exists() {
        return Ok(root);
    }
    let parent = root.parent().unwrap_or(&root);
    fs::create_dir_all(parent).map_err(Error::file(parent))?;
    let new = parent.join(format!("{SUITE}-udev-new-{}", std::process::id()));
    let out = Command::new("mmdebstrap")
        .args(["--variant=extract", "--include=udev", "--architectures=amd64", SUITE])
        .arg(&new)
        .arg(sources(&mirrors()?, &[(SUITE, false)]).trim_end())
        .stdin(Stdio::null())
        .output()
        .map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => Error::Missing {
                program: "mmdebstrap",
                advice: "it unpacks udev; tools/setup lab installs it".into(),
            },
            _ => Error::file(&new)(e),
        })?;
    if !out.status.success() {
        return Err(Error::Program {
            what: format!("unpacking udev of {SUITE}"),
            output: tail(&String::from_utf8_lossy(&out.stderr), 10),
        });
    }
    // Made by a package's script, which was not run.
    for name in ["lib", "lib64", "bin", "sbin"] {
        let link = new.join(name);
        if !link.exists() {
            std::os::unix::fs::symlink(format!("usr/{name}"), &link).map_err(Error::file(&link))?;
        }
    }
    for name in ["tmp", "proc"] {
        let dir = new.join(name);
        fs::create_dir_all(&dir).map_err(Error::file(&dir))?;
    }
    if fs::rename(&new, &root).is_err() && !root.join("usr/bin/udevadm").exists() {
        return Err(Error::other(format!("cannot put udev at {}", root.display())));
    }
    Ok(root)
}

/// What `power/async` of every device of a guest was, by path below `/sys`.
pub type Flags = BTreeMap<String, String>;

/// What one set of rules did.
#[derive(Clone, Debug)]
pub struct Tried {
    /// After the board's devices had appeared while udev was running: what a
    /// start of the machine gives.
    pub appeared: Flags,
    /// After `udevadm trigger` too, which also reaches devices that were there
    /// before udev.
    pub triggered: Flags,
    /// What udev printed.
    pub said: String,
}

/// Builds `board` in one guest again and again, each time with one of `rules`
/// in `/etc/udev/rules.d` and the daemon running. The guest's own devices keep
/// what rules before have set.
///
/// # Errors
/// As [`crate::run::run`], and if udev cannot be had or does not run there.
pub fn try_rules(
    kernel: &Kernel,
    machine: &Machine,
    board: &Board,
    rules: &[&str],
    limit: Duration,
) -> Result<Vec<Tried>> {
    let mut archive = base(machine.arch)?;
    pack(&mut archive)?;
    let mut plan = Plan { module: true, results: machine.arch.results().into(), ..Plan::default() };
    let description = describe(board, &[])?.text;
    archive.file(&format!("{DIRECTORY}/board"), 0o644, description.as_bytes());
    for (i, text) in rules.iter().enumerate() {
        let file = format!("rules{i}");
        archive.file(&format!("{DIRECTORY}/{file}"), 0o644, text.as_bytes());
        plan.trials.push(Trial {
            name: format!("trial{i}"),
            description: "board".into(),
            rules: file,
        });
    }
    let (answer, _) = play(kernel, machine, archive, &plan, limit)?;
    let flags = |what: &str, name: &str| -> Flags {
        let text = answer.text(&format!("{what} {name}"));
        let pairs = text.lines().filter_map(|l| l.rsplit_once(' '));
        pairs.map(|(path, flag)| (path.to_owned(), flag.to_owned())).collect()
    };
    let tried = plan.trials.iter().map(|t| Tried {
        appeared: flags("appeared", &t.name),
        triggered: flags("triggered", &t.name),
        said: answer.text(&format!("udev {}", t.name)),
    });
    Ok(tried.collect())
}

/// Puts the daemon, `udevadm` and what they are linked with into the archive;
/// none of Debian's own rules, which load drivers and make names.
fn pack(archive: &mut Initramfs) -> Result<()> {
    let root = root()?;
    let read = |path: &Path| fs::read(path).map_err(Error::file(path));
    let program = root.join("usr/bin/udevadm");
    let bytes = read(&program)?;
    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    // One program that does as it is called.
    files.insert("/usr/lib/systemd/systemd-udevd".into(), bytes.clone());
    files.insert("/usr/bin/udevadm".into(), bytes);
    let loader = "usr/lib64/ld-linux-x86-64.so.2";
    files.insert("/lib64/ld-linux-x86-64.so.2".into(), read(&root.join(loader))?);
    for path in libraries(&root, &program, loader)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        files.insert(format!("/lib/x86_64-linux-gnu/{name}"), read(&path)?);
    }
    files.insert("/etc/passwd".into(), b"root:x:0:0::/:/bin/false\n".to_vec());
    files.insert("/etc/group".into(), b"root:x:0:\n".to_vec());
    let mut made: BTreeSet<PathBuf> = BTreeSet::new();
    let rules = Path::new("/etc/udev/rules.d/");
    for dir in files.keys().filter_map(|f| Path::new(f).parent()).chain([rules]) {
        let above: Vec<&Path> = dir.ancestors().filter(|d| d.parent().is_some()).collect();
        for d in above.into_iter().rev() {
            if made.insert(d.to_owned()) {
                archive.directory(&d.to_string_lossy());
            }
        }
    }
    for (path, content) in files {
        archive.file(&path, 0o755, &content);
    }
    Ok(())
}

/// The libraries that `program` needs, as its own loader finds them in `root`.
fn libraries(root: &Path, program: &Path, loader: &str) -> Result<Vec<PathBuf>> {
    let dir = root.join("usr/lib/x86_64-linux-gnu");
    let search = format!("{0}:{0}/systemd", dir.display());
    let out = Command::new(root.join(loader))
        .args(["--library-path", &search, "--list"])
        .arg(program)
        .output()
        .map_err(Error::file(program))?;
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    if !out.status.success() {
        return Err(Error::Program {
            what: "listing the libraries of udev".into(),
            output: tail(&String::from_utf8_lossy(&out.stderr), 10),
        });
    }
    // `libc.so.6 => /path/libc.so.6 (0x…)`; the kernel's own has no path.
    let path = |line: &str| Some(PathBuf::from(line.split_once("=> ")?.1.rsplit_once(" (")?.0));
    Ok(text.lines().filter_map(path).filter(|p| p.starts_with(&dir)).collect())
}
