//! Debian's udev (and modprobe, [`crate::modprobe`]), unpacked below the cache:
//! to check rules with it, and to let it run in a guest.

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
use dormouse_board::Board;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// The suite it is from: the first whose `udevadm` can verify rules.
const SUITE: &str = "trixie";

/// A directory with udev, kmod, a shell and the libraries they need, made now if it is not in
/// the cache. Nothing of it is installed or configured.
///
/// # Errors
/// If mmdebstrap is missing, or the packages cannot be had.
pub fn root() -> Result<PathBuf> {
    let root = cache()?.join("chroot").join(format!("{SUITE}-udev-kmod"));
    if root.join("usr/bin/udevadm").exists() {
        return Ok(root);
    }
    let parent = root.parent().unwrap_or(&root);
    fs::create_dir_all(parent).map_err(Error::file(parent))?;
    let new = parent.join(format!("{SUITE}-udev-kmod-new-{}", std::process::id()));
    let out = Command::new("mmdebstrap")
        .args([
            "--variant=extract",
            "--include=udev,kmod,dash,coreutils",
            "--architectures=amd64",
            SUITE,
        ])
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

/// The driver of each device, by path below `/sys`.
pub type Drivers = BTreeMap<String, String>;

/// Lines of a path, a tab and words: drivers have names with blanks.
pub(crate) fn by_path(text: &str) -> BTreeMap<String, String> {
    let pairs = text.lines().filter_map(|l| l.rsplit_once('\t'));
    pairs.map(|(path, word)| (path.to_owned(), word.to_owned())).collect()
}

/// What one set of rules did.
#[derive(Clone, Debug)]
pub struct Tried {
    /// After the board's devices had appeared while udev was running: what a
    /// start of the machine gives.
    pub appeared: Flags,
    /// After `udevadm trigger` too, which also reaches devices that were there
    /// before udev.
    pub triggered: Flags,
    /// The driver of every device that has one then, by path below `/sys`.
    pub drivers: Drivers,
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
    // One program that does as it is called.
    pack(
        &mut archive,
        "usr/bin/udevadm",
        &["/usr/lib/systemd/systemd-udevd", "/usr/bin/udevadm"],
        "/etc/udev/rules.d",
    )?;
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
    let of = |what: &str, name: &str| by_path(&answer.text(&format!("{what} {name}")));
    let tried = plan.trials.iter().map(|t| Tried {
        appeared: of("appeared", &t.name),
        triggered: of("triggered", &t.name),
        drivers: of("drivers", &t.name),
        said: answer.text(&format!("udev {}", t.name)),
    });
    Ok(tried.collect())
}

/// Puts a program of Debian's under each of `names`, what it is linked with, and
/// the folder of its configuration into the archive; none of Debian's own
/// configuration, which loads drivers and makes names.
pub(crate) fn pack(
    archive: &mut Initramfs,
    program: &str,
    names: &[&str],
    configuration: &str,
) -> Result<()> {
    let root = root()?;
    let read = |path: &Path| fs::read(path).map_err(Error::file(path));
    let program = root.join(program);
    let bytes = read(&program)?;
    let mut files: BTreeMap<String, Vec<u8>> =
        names.iter().map(|n| ((*n).to_owned(), bytes.clone())).collect();
    let loader = "usr/lib64/ld-linux-x86-64.so.2";
    files.insert("/lib64/ld-linux-x86-64.so.2".into(), read(&root.join(loader))?);
    for path in libraries(&root, &program, loader)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        files.insert(format!("/lib/x86_64-linux-gnu/{name}"), read(&path)?);
    }
    files.insert("/etc/passwd".into(), b"root:x:0:0::/:/bin/false\n".to_vec());
    files.insert("/etc/group".into(), b"root:x:0:\n".to_vec());
    let mut made: BTreeSet<PathBuf> = BTreeSet::new();
    let folders = files.keys().filter_map(|f| Path::new(f).parent());
    for dir in folders.chain([Path::new(configuration)]) {
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
            what: format!("listing the libraries of {}", program.display()),
            output: tail(&String::from_utf8_lossy(&out.stderr), 10),
        });
    }
    // `libc.so.6 => /path/libc.so.6 (0x…)`; the kernel's own has no path.
    let path = |line: &str| Some(PathBuf::from(line.split_once("=> ")?.1.rsplit_once(" (")?.0));
    Ok(text.lines().filter_map(path).filter(|p| p.starts_with(&dir)).collect())
}
