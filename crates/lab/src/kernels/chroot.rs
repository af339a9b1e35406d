//! A compiler that fits: that of the machine where it does, else one in a
//! small chroot of the suite the kernel was built in.

use super::apt::sources;
use super::mirror::mirrors;
use super::{Kernel, cache};
use crate::error::tail;
use crate::{Error, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A chroot with make and a compiler.
pub struct Chroot {
    root: PathBuf,
}

/// None if the machine itself can build with `headers`: its C library runs
/// the headers' programs, and it has the compiler they name.
pub fn needed(kernel: &Kernel, headers: &Path) -> Result<Option<Chroot>> {
    let gcc = compiler(headers)?;
    let cross = format!("{}-linux-gnu-{gcc}", kernel.arch.machine());
    if runs(&cross, &["--version"]) && programs_run(headers) {
        return Ok(None);
    }
    let suite = if kernel.release.contains("+deb13") { "trixie" } else { "bookworm" };
    Ok(Some(Chroot::open(suite, &gcc)?))
}

/// The compiler that the headers ask for, such as `gcc-12`.
fn compiler(headers: &Path) -> Result<String> {
    let path = headers.join(".kernelvariables");
    let text = fs::read_to_string(&path).map_err(Error::file(&path))?;
    // `CC = $(…) $(CROSS_COMPILE)gcc-12`
    let cc = text.lines().find(|l| l.starts_with("CC ")).unwrap_or_default();
    Ok(cc.rsplit(')').next().unwrap_or_default().trim().to_owned())
}

fn runs(program: &str, arguments: &[&str]) -> bool {
    Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|s| s.success())
}

/// modpost without files does nothing, successfully, or does not start.
fn programs_run(headers: &Path) -> bool {
    let modpost = headers.join("scripts/mod/modpost");
    runs(&modpost.display().to_string(), &["-o", "/dev/null"])
}

impl Chroot {
    fn open(suite: &str, gcc: &str) -> Result<Chroot> {
        let root = cache()?.join("chroot").join(format!("{suite}-{gcc}"));
        if !root.join("usr/bin/make").exists() {
            let parent = root.parent().unwrap_or(&root);
            fs::create_dir_all(parent).map_err(Error::file(parent))?;
            let new = parent.join(format!("{suite}-new-{}", std::process::id()));
            // Debian's time_t transition renamed the library in trixie.
            let elf = if suite == "bookworm" { "libelf1" } else { "libelf1t64" };
            let out = Command::new("mmdebstrap")
                .args(["--variant=essential", &format!("--include={gcc},make,{elf}")])
                .arg(suite)
                .arg(&new)
                .arg(sources(&mirrors()?, &[(suite, false)]).trim_end())
                .stdin(Stdio::null())
                .output()
                .map_err(|e| match e.kind() {
                    std::io::ErrorKind::NotFound => Error::Missing {
                        program: "mmdebstrap",
                        advice: format!(
                            "it makes a chroot with {gcc}, which this kernel's headers want; tools/setup lab installs it"
                        ),
                    },
                    _ => Error::file(&new)(e),
                })?;
            if !out.status.success() {
                return Err(Error::Program {
                    what: format!("making a {suite} chroot with {gcc}"),
                    output: tail(&String::from_utf8_lossy(&out.stderr), 10),
                });
            }
            if fs::rename(&new, &root).is_err() && !root.join("usr/bin/make").exists() {
                return Err(Error::other(format!("cannot put a chroot at {}", root.display())));
            }
        }
        Ok(Chroot { root })
    }

    /// A command that builds `work` with `headers` in the chroot, in mount
    /// namespaces of its own: nothing stays mounted, and root is not needed
    /// where users may make namespaces. Both directories are seen at the
    /// places they have outside, because the headers name themselves by
    /// absolute paths; objtool wants /proc.
    pub fn make(&self, headers: &Path, work: &Path) -> Result<Command> {
        let kernel = headers.ancestors().nth(3).ok_or_else(|| {
            Error::other(format!("{} is no place for headers", headers.display()))
        })?;
        for dir in [kernel, work] {
            let inside = self.root.join(dir.strip_prefix("/").unwrap_or(dir));
            fs::create_dir_all(&inside).map_err(Error::file(&inside))?;
        }
        let script = r#"set -e
mount -t proc proc "$1/proc"
mount --rbind "$2" "$1$2"
mount --rbind "$3" "$1$3"
exec chroot "$1" make -C "$3" KDIR="$4" CONFIG_PAHOLE_VERSION=0"#;
        let mut c = Command::new("unshare");
        if !rustix::process::geteuid().is_root() {
            c.arg("--map-root-user");
        }
        c.args(["--mount", "--pid", "--fork", "sh", "-c", script, "sh"])
            .arg(&self.root)
            .arg(kernel)
            .arg(work)
            .arg(headers);
        Ok(c)
    }
}
