//! A compiler that fits: that of the machine where it does, else one in a
//! small chroot of the suite the kernel was built in.

use super::apt::sources;
use super::cache::cache;
use super::kernel::Kernel;
use super::mirror::mirrors;
use crate::arch::Arch;
use crate::{Error, Result};
use dormouse_base::say::tail;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A chroot with make and a compiler.
pub(crate) struct Chroot {
    root: PathBuf,
}

/// What builds modules for a kernel.
pub(crate) struct Toolchain {
    /// Where it lies; None if the machine itself can build.
    pub chroot: Option<Chroot>,
    /// The compiler to name to a build tree, which names none itself.
    pub compiler: Option<String>,
}

/// The toolchain that fits `headers`: that of the machine if its C library runs the
/// headers' programs and it has the compiler that they name.
///
/// # Errors
/// If a chroot is needed and cannot be made, or nothing here has that compiler.
pub(crate) fn toolchain(kernel: &Kernel, headers: &Path) -> Result<Toolchain> {
    if !headers.join(PACKAGED).exists() {
        return of_tree(headers);
    }
    let gcc = compiler(headers)?;
    let cross = format!("{}-linux-gnu-{gcc}", kernel.arch.machine());
    if runs(&cross, &["--version"]) && programs_run(headers) {
        return Ok(Toolchain { chroot: None, compiler: None });
    }
    let suite = if kernel.release.contains("+deb13") { "trixie" } else { "bookworm" };
    // Debian's time_t transition renamed the library in trixie.
    let elf = if suite == "bookworm" { "libelf1" } else { "libelf1t64" };
    // Debian names a cross compiler's package by its target.
    let package = match kernel.arch {
        Arch::Amd64 => gcc,
        Arch::Arm64 => format!("{gcc}-aarch64-linux-gnu"),
    };
    let chroot = Chroot::open(suite, &package, &[&package, "make", elf])?;
    Ok(Toolchain { chroot: Some(chroot), compiler: None })
}

/// The same for a tree that a kernel was built in. It says of itself what built it
/// (`CONFIG_CC_VERSION_TEXT`, init/Kconfig, since 5.8), and another compiler may not
/// know the options that it chose.
fn of_tree(tree: &Path) -> Result<Toolchain> {
    let path = tree.join("include/config/auto.conf");
    let text = fs::read_to_string(&path).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => Error::other(format!(
            "{} is neither a folder of headers nor a tree that a kernel was built in",
            tree.display()
        )),
        _ => Error::file(&path)(e),
    })?;
    let version = text.lines().find_map(|l| l.strip_prefix("CONFIG_CC_VERSION_TEXT="));
    let version = version.unwrap_or_default().trim_matches('"');
    let compiler = version.split(' ').next().unwrap_or_default().to_owned();
    if said(Command::new(&compiler)) == version && programs_run(tree) {
        return Ok(Toolchain { chroot: None, compiler: Some(compiler) });
    }
    let chroot = Chroot::for_kernels()?;
    let inside = said(chroot.run(&[], "exec \"$@\"", &[&compiler])?);
    if inside == version {
        return Ok(Toolchain { chroot: Some(chroot), compiler: Some(compiler) });
    }
    Err(Error::other(format!(
        "{} was built by {version:?}, which is not on this machine: its modules need that compiler",
        tree.display()
    )))
}

/// First line of what a compiler says of its version.
fn said(mut compiler: Command) -> String {
    let out = compiler.arg("--version").stdin(Stdio::null()).stderr(Stdio::null()).output();
    let text = out.map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_default();
    text.lines().next().unwrap_or_default().to_owned()
}

/// A file that only packaged headers have.
const PACKAGED: &str = ".kernelvariables";

/// The compiler that packaged headers ask for, such as `gcc-12`.
fn compiler(headers: &Path) -> Result<String> {
    let path = headers.join(PACKAGED);
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

/// What builds whole kernels.
const KERNELS: (&str, &str) = ("trixie", "gcc-14");
const TOOLS: [&str; 11] = [
    KERNELS.1,
    "make",
    "flex",
    "bison",
    "bc",
    "libelf-dev",
    "libc6-dev",
    "pahole",
    "perl-base",
    "python3-minimal",
    "patch",
];

impl Chroot {
    /// A chroot with all that building a kernel takes.
    ///
    /// # Errors
    /// If it is not there and cannot be made.
    pub(crate) fn for_kernels() -> Result<Chroot> {
        Chroot::open(KERNELS.0, "kernel", &TOOLS)
    }

    /// The compiler of [`Chroot::for_kernels`].
    pub(crate) const COMPILER: &'static str = KERNELS.1;

    fn open(suite: &str, name: &str, packages: &[&str]) -> Result<Chroot> {
        let root = cache()?.join("chroot").join(format!("{suite}-{name}"));
        if !root.join("usr/bin/make").exists() {
            let parent = root.parent().unwrap_or(&root);
            fs::create_dir_all(parent).map_err(Error::file(parent))?;
            let new = parent.join(format!("{suite}-new-{}", std::process::id()));
            let packages = packages.join(",");
            let out = Command::new("mmdebstrap")
                .args(["--variant=essential", &format!("--include={packages}")])
                .arg(suite)
                .arg(&new)
                .arg(sources(&mirrors()?, &[(suite, false)]).trim_end())
                .stdin(Stdio::null())
                .output()
                .map_err(|e| match e.kind() {
                    std::io::ErrorKind::NotFound => Error::Missing {
                        program: "mmdebstrap",
                        advice: format!(
                            "it makes a chroot with {packages}, which this kernel wants; tools/setup lab installs it"
                        ),
                    },
                    _ => Error::file(&new)(e),
                })?;
            if !out.status.success() {
                return Err(Error::Program {
                    what: format!("making a {suite} chroot with {packages}"),
                    output: tail(&String::from_utf8_lossy(&out.stderr), 10),
                });
            }
            if fs::rename(&new, &root).is_err() && !root.join("usr/bin/make").exists() {
                return Err(Error::other(format!("cannot put a chroot at {}", root.display())));
            }
        }
        Ok(Chroot { root })
    }

    /// A command that builds the module in `work` with `headers` in the chroot.
    /// The headers name themselves by absolute paths.
    ///
    /// # Errors
    /// If a directory cannot be made in the chroot.
    pub(crate) fn make(
        &self,
        headers: &Path,
        work: &Path,
        compiler: Option<&str>,
    ) -> Result<Command> {
        let kernel = headers.ancestors().nth(3).ok_or_else(|| {
            Error::other(format!("{} is no place for headers", headers.display()))
        })?;
        let cc = compiler.map(|c| format!("CC={c}"));
        let arguments = ["make", "-C", &work.display().to_string()].map(String::from);
        let more = [format!("KDIR={}", headers.display()), "CONFIG_PAHOLE_VERSION=0".into()];
        let all: Vec<String> = arguments.into_iter().chain(more).chain(cc).collect();
        let words: Vec<&str> = all.iter().map(String::as_str).collect();
        self.run(&[kernel, work], "exec \"$@\"", &words)
    }

    /// A command that runs the shell's `script` with `words` in the chroot, in mount
    /// namespaces of its own: nothing stays mounted, and root is not needed where
    /// users may make namespaces. `directories` are seen at the places they have
    /// outside; objtool wants /proc, and make a /tmp of its own: it names a pipe there
    /// by its process, which is number 1 of every namespace.
    ///
    /// # Errors
    /// If a directory cannot be made in the chroot.
    pub(crate) fn run(
        &self,
        directories: &[&Path],
        script: &str,
        words: &[&str],
    ) -> Result<Command> {
        for dir in directories {
            let inside = self.root.join(dir.strip_prefix("/").unwrap_or(dir));
            fs::create_dir_all(&inside).map_err(Error::file(&inside))?;
        }
        const ENTER: &str = r#"set -e
root=$1 script=$2 count=$3
shift 3
mount -t proc proc "$root/proc"
mount -t tmpfs tmp "$root/tmp"
while [ "$count" -gt 0 ]; do
    mkdir -p "$root$1"
    mount --rbind "$1" "$root$1"
    count=$((count - 1))
    shift
done
exec chroot "$root" sh -c "$script" sh "$@""#;
        // A build that is killed takes its compilers with it.
        let mut c = Command::new("setpriv");
        c.args(["--pdeathsig", "KILL", "unshare", "--kill-child=KILL"]);
        if !dormouse_machine::process::is_root() {
            c.arg("--map-root-user");
        }
        c.args(["--mount", "--pid", "--fork", "sh", "-c", ENTER, "sh"])
            .arg(&self.root)
            .arg(script)
            .arg(directories.len().to_string())
            .args(directories)
            .args(words);
        Ok(c)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_nothing_was_built_in_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let said = of_tree(folder.path()).err().expect("an error").to_string();
        assert!(said.contains("neither a folder of headers nor a tree"), "{said}");
    }

    #[test]
    fn packaged_headers_name_their_compiler() {
        let folder = tempfile::tempdir().expect("a folder");
        let text = "CC = $(if $(DEBIAN_KERNEL_USE_CCACHE),ccache) $(CROSS_COMPILE)gcc-12\n";
        fs::write(folder.path().join(PACKAGED), text).expect("written");
        assert_eq!(compiler(folder.path()).expect("a compiler"), "gcc-12");
    }
}
