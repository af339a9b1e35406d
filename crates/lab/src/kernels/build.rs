//! Builds kernels of one's own: a source, patches, a configuration, and a name to
//! run them under.

use super::apt::Apt;
use super::cache::cache;
use super::chroot::Chroot;
use super::kernel::{Kernel, OWN, RECORD, cached, directory, own};
use crate::arch::Arch;
use crate::{Error, Result};
use dormouse_base::say::tail;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// What a kernel is configured for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Config {
    /// What a guest needs, and nothing else.
    Small,
    /// The same with the kernel's checks of itself: KASAN, lockdep, debug objects,
    /// fault injection. Times of it say nothing about others.
    Debug,
}

impl Config {
    /// All of them.
    pub const ALL: [Config; 2] = [Config::Small, Config::Debug];

    /// As the command line has it.
    pub fn name(self) -> &'static str {
        match self {
            Config::Small => "small",
            Config::Debug => "debug",
        }
    }

    fn text(self) -> String {
        const SMALL: &str = include_str!("config/small.config");
        const DEBUG: &str = include_str!("config/debug.config");
        match self {
            Config::Small => SMALL.into(),
            Config::Debug => format!("{SMALL}{DEBUG}"),
        }
    }
}

/// A kernel to be built.
#[derive(Clone, Debug)]
pub struct Order<'a> {
    /// What `--kernel` calls it; the end of its release, too.
    pub name: &'a str,
    /// A series such as `6.12`, of which Debian's newest source is taken, or a folder
    /// with a kernel's source, which is copied.
    pub source: &'a str,
    /// What it is for.
    pub config: Config,
    /// Lines such as `CONFIG_HZ_1000=y` that come after [`Config`].
    pub options: &'a [String],
    /// Applied in this order.
    pub patches: &'a [PathBuf],
    /// Compilers at the same time.
    pub jobs: u32,
}

/// A kernel that was built, now or before.
#[derive(Clone, Debug)]
pub struct Built {
    /// Where it lies.
    pub kernel: Kernel,
    /// It was there already.
    pub before: bool,
    /// Warnings of the compiler, each with its file and line.
    pub warnings: Vec<String>,
}

/// The file in a kernel's directory that says what it was made of.
const KEY: &str = "made-of";
/// All that building said.
const LOG: &str = "build.log";

/// Builds `order`, unless the same was built before. `say` hears each step.
///
/// # Errors
/// If the source cannot be had, a patch does not apply, an option is not taken, or
/// the build fails.
pub fn build(order: &Order<'_>, mut say: impl FnMut(&str)) -> Result<Built> {
    check_name(order.name)?;
    let job = Job::of(order, &mut say)?;
    let all = job.patches.len();
    if let Some(built) = job.before(order.name, all)? {
        return Ok(built);
    }
    let site = Site::open(order.name, &job.source, &mut say)?;
    for patch in &job.patches {
        site.patch(patch, &mut say)?;
    }
    job.make(&site, order.name, all, &mut say)
}

/// Builds the source as it is and again after each patch, in one tree, so that a step
/// costs what it changes. The kernels are called `NAME-0` (no patch), `NAME-1` and so
/// on; each has the warnings of what was compiled for it.
///
/// # Errors
/// As [`build`].
pub fn build_each(order: &Order<'_>, mut say: impl FnMut(&str)) -> Result<Vec<Built>> {
    let names: Vec<String> =
        (0..=order.patches.len()).map(|k| format!("{}-{k}", order.name)).collect();
    for name in &names {
        check_name(name)?;
    }
    let job = Job::of(order, &mut say)?;
    let before: Option<Vec<Built>> =
        names.iter().enumerate().map(|(k, n)| job.before(n, k)).collect::<Result<_>>()?;
    if let Some(before) = before {
        return Ok(before);
    }
    let site = Site::open(order.name, &job.source, &mut say)?;
    let mut out = Vec::new();
    for (k, name) in names.iter().enumerate() {
        if k > 0 {
            site.patch(&job.patches[k - 1], &mut say)?;
        }
        out.push(job.make(&site, name, k, &mut say)?);
    }
    Ok(out)
}

/// Where the source of `asked` ([`Order::source`]) is: a package, which is fetched if it
/// is not there, or the folder itself. `say` hears of a download.
///
/// # Errors
/// If the archive has none, or the folder holds none.
pub fn source(asked: &str, mut say: impl FnMut(&str)) -> Result<PathBuf> {
    Ok(match Source::find(asked, &mut say)? {
        Source::Package { file, .. } => file,
        Source::Tree(path) => path,
    })
}

/// A patch: its file, and what it holds.
struct Patch {
    path: String,
    bytes: Vec<u8>,
}

impl Patch {
    fn read(path: &PathBuf) -> Result<Patch> {
        let bytes = fs::read(path).map_err(Error::file(path))?;
        Ok(Patch { path: path.display().to_string(), bytes })
    }

    /// What it does, without what it says of that: words make no other kernel.
    fn change(&self) -> &[u8] {
        let mut at = 0;
        for line in self.bytes.split_inclusive(|b| *b == b'\n') {
            if line.starts_with(b"diff --git ") || line.starts_with(b"--- a/") {
                return &self.bytes[at..];
            }
            at += line.len();
        }
        &self.bytes
    }
}

/// An order with all that it names.
struct Job<'a> {
    order: &'a Order<'a>,
    source: Source,
    patches: Vec<Patch>,
}

impl Job<'_> {
    fn of<'a>(order: &'a Order<'a>, say: &mut impl FnMut(&str)) -> Result<Job<'a>> {
        // What is on this machine comes before what is fetched for minutes.
        let patches = order.patches.iter().map(Patch::read).collect::<Result<_>>()?;
        let source = Source::find(order.source, say)?;
        Ok(Job { order, source, patches })
    }

    /// What tells the kernel with the first `patches` from others; none if its source
    /// may change without a word.
    fn key(&self, name: &str, patches: usize) -> Option<String> {
        let version = self.source.version()?;
        let changes: Vec<&[u8]> = self.patches[..patches].iter().map(Patch::change).collect();
        let mut hash = DefaultHasher::new();
        (version, &configuration(self.order, name), changes).hash(&mut hash);
        Some(format!("{:016x}\n", hash.finish()))
    }

    /// The same kernel, if it is there.
    fn before(&self, name: &str, patches: usize) -> Result<Option<Built>> {
        let Some(kernel) = cached(Arch::Amd64, name)? else { return Ok(None) };
        let dir = directory(Arch::Amd64, name)?;
        let Ok(made_of) = fs::read_to_string(dir.join(KEY)) else {
            let clash = format!("{name} is a kernel that was fetched: choose another --name");
            return Err(Error::other(clash));
        };
        if self.key(name, patches) != Some(made_of) {
            return Ok(None);
        }
        let log = fs::read_to_string(dir.join(LOG)).unwrap_or_default();
        Ok(Some(Built { kernel, before: true, warnings: warnings(&log) }))
    }

    /// Configures and compiles what lies in `site`, and keeps it as `name`.
    fn make(
        &self,
        site: &Site,
        name: &str,
        patches: usize,
        say: &mut impl FnMut(&str),
    ) -> Result<Built> {
        say(&format!("{name}: configuring"));
        let shop = site.shop();
        shop.configure(&configuration(self.order, name), self.order.options)?;
        say(&format!("{name}: compiling, which takes minutes"));
        let jobs = format!("-j{}", self.order.jobs);
        let log = shop.make(&[&jobs, "bzImage", "modules"], "building the kernel")?;

        let new = site.work.join("new");
        let tree = new.join("tree");
        fs::create_dir_all(&tree).map_err(Error::file(&tree))?;
        copy_what_modules_want(&site.tree, &tree)?;
        let image = site.tree.join("arch/x86/boot/bzImage");
        fs::copy(&image, new.join("vmlinuz")).map_err(Error::file(&image))?;
        fs::write(new.join(LOG), &log).map_err(Error::file(new.join(LOG)))?;
        let key = self.key(name, patches).unwrap_or_default();
        fs::write(new.join(KEY), key).map_err(Error::file(&new))?;
        let dir = directory(Arch::Amd64, name)?;
        let old = site.work.join("old");
        let _ = fs::rename(&dir, &old);
        fs::rename(&new, &dir).map_err(Error::file(&dir))?;
        let _ = fs::remove_dir_all(&old);

        let mut kernel = own(Arch::Amd64, &dir.join("vmlinuz"), Some(&dir.join("tree")))?;
        kernel.series = name.into();
        kernel.packages =
            vec![self.source.name(), format!("configuration {}", self.order.config.name())];
        kernel.packages.extend(self.order.options.iter().cloned());
        kernel.packages.extend(self.patches[..patches].iter().map(|patch| {
            let name = Path::new(&patch.path).file_name().unwrap_or_default().to_string_lossy();
            let mut hash = DefaultHasher::new();
            patch.bytes.hash(&mut hash);
            format!("patch {name} {:016x}", hash.finish())
        }));
        let json =
            serde_json::to_string_pretty(&kernel).map_err(|e| Error::other(e.to_string()))?;
        let record = dir.join(RECORD);
        fs::write(&record, json + "\n").map_err(Error::file(&record))?;
        Ok(Built { kernel, before: false, warnings: warnings(&log) })
    }
}

/// Where a kernel is built; gone with it.
struct Site {
    work: PathBuf,
    tree: PathBuf,
    chroot: Chroot,
}

impl Site {
    fn open(name: &str, source: &Source, say: &mut impl FnMut(&str)) -> Result<Site> {
        let work = directory(Arch::Amd64, &format!("{name}-new-{}", std::process::id()))?;
        let _ = fs::remove_dir_all(&work);
        clear_what_was_killed(work.parent().unwrap_or(&work));
        let tree = work.join("tree");
        fs::create_dir_all(&tree).map_err(Error::file(&tree))?;
        say("looking for compilers; the first time a chroot with them is made");
        let site = Site { work, tree, chroot: Chroot::for_kernels()? };
        say("unpacking the source");
        source.put(&site.tree)?;
        Ok(site)
    }

    fn shop(&self) -> Workshop<'_> {
        Workshop { chroot: &self.chroot, tree: &self.tree }
    }

    fn patch(&self, patch: &Patch, say: &mut impl FnMut(&str)) -> Result<()> {
        say(&format!("applying {}", patch.path));
        self.shop().patch(&patch.path, &patch.bytes)
    }
}

/// Removes what builds left that were killed: a kernel's tree takes gigabytes.
fn clear_what_was_killed(kernels: &Path) {
    for entry in fs::read_dir(kernels).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let builder = name.to_str().and_then(|n| n.rsplit_once("-new-")).map(|n| n.1);
        let Some(builder) = builder.filter(|p| p.parse::<u32>().is_ok()) else { continue };
        if !Path::new("/proc").join(builder).exists() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.work);
    }
}

/// A name must not look like a series, and becomes part of a release and a path.
fn check_name(name: &str) -> Result<()> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic());
    if begins && name.len() <= 32 && name.chars().all(plain) && name != OWN {
        return Ok(());
    }
    Err(Error::other(format!(
        "{name:?} is no name for a kernel: a letter, then at most 31 letters, digits, '-', '_' or '.'"
    )))
}

fn configuration(order: &Order<'_>, name: &str) -> String {
    let mut text = order.config.text();
    text.push_str(&format!("CONFIG_LOCALVERSION=\"-{name}\"\n"));
    for option in order.options {
        text.push_str(option);
        text.push('\n');
    }
    text
}

/// Lines of the compiler's warnings.
fn warnings(log: &str) -> Vec<String> {
    log.lines().filter(|l| l.contains(": warning: ")).map(String::from).collect()
}

/// Where the source comes from.
enum Source {
    /// A package of Debian, and its version.
    Package { file: PathBuf, name: String },
    /// A folder.
    Tree(PathBuf),
}

impl Source {
    fn find(asked: &str, say: &mut impl FnMut(&str)) -> Result<Source> {
        let path = Path::new(asked);
        if path.is_dir() {
            if path.join("Kbuild").exists() && path.join("drivers/base/power/main.c").exists() {
                return Ok(Source::Tree(std::path::absolute(path).map_err(Error::file(path))?));
            }
            return Err(Error::other(format!("{asked} is no source of Linux")));
        }
        let apt = Apt::open(Arch::Amd64)?;
        let mut series: Vec<(Vec<u32>, String)> = Vec::new();
        for package in apt.names("linux-source-")? {
            let text = package.strip_prefix("linux-source-").unwrap_or_default();
            let numbers: Option<Vec<u32>> = text.split('.').map(|n| n.parse().ok()).collect();
            if let Some(n) = numbers {
                series.push((n, text.to_owned()));
            }
        }
        series.sort();
        let fits = |s: &&(Vec<u32>, String)| s.1 == asked || s.0[0].to_string() == asked;
        let Some((_, found)) = series.iter().rev().find(fits) else {
            let known: Vec<&str> = series.iter().map(|s| s.1.as_str()).collect();
            return Err(Error::NoKernel(format!(
                "{asked} is no folder, and the archive has no source of such a series; it has {}",
                known.join(", ")
            )));
        };
        let package = format!("linux-source-{found}");
        let version = apt.show(&package)?.map(|(v, _)| v).unwrap_or_default();
        let name = format!("{package} {version}");
        let dir = cache()?.join("sources").join(format!("{package}_{version}"));
        let deb = |dir: &Path| {
            let files = fs::read_dir(dir).ok()?.flatten().map(|e| e.path());
            files.into_iter().find(|p| p.extension().is_some_and(|x| x == "deb"))
        };
        if let Some(file) = deb(&dir) {
            return Ok(Source::Package { file, name });
        }
        say(&format!("fetching {package}"));
        let new = cache()?.join("sources").join(format!("new-{}", std::process::id()));
        apt.download(&[package], &new)?;
        let _ = fs::remove_dir_all(&dir);
        fs::rename(&new, &dir).map_err(Error::file(&dir))?;
        let file = deb(&dir).ok_or_else(|| Error::other(format!("{name} was not downloaded")))?;
        Ok(Source::Package { file, name })
    }

    /// What tells it from another; a folder may change without a word.
    fn version(&self) -> Option<&str> {
        match self {
            Source::Package { name, .. } => Some(name),
            Source::Tree(_) => None,
        }
    }

    fn name(&self) -> String {
        match self {
            Source::Package { name, .. } => name.clone(),
            Source::Tree(path) => format!("source in {}", path.display()),
        }
    }

    /// Puts the source into `tree`.
    fn put(&self, tree: &Path) -> Result<()> {
        let mut c = Command::new("sh");
        match self {
            // The package holds one archive; its first folder is left away.
            Source::Package { file, .. } => c
                .args(["-c", "set -e; dpkg-deb --fsys-tarfile \"$1\" | tar -xO --wildcards '*.tar.xz' | tar -xJ --strip-components=1 -C \"$2\"", "sh"])
                .arg(file),
            Source::Tree(from) => c
                .args(["-c", "set -e; cd \"$1\"; tar -c --exclude-vcs . | tar -x -C \"$2\"; rm -f \"$2/.config\"", "sh"])
                .arg(from),
        };
        finish(c.arg(tree), "unpacking the source").map(drop)
    }
}

/// A tree and what builds it.
struct Workshop<'a> {
    chroot: &'a Chroot,
    tree: &'a Path,
}

impl Workshop<'_> {
    fn patch(&self, path: &str, bytes: &[u8]) -> Result<()> {
        let file = self.tree.join("dormouse.patch");
        fs::write(&file, bytes).map_err(Error::file(&file))?;
        let script =
            "cd \"$1\"; exec patch -p1 --batch --forward --no-backup-if-mismatch -i dormouse.patch";
        let tree = self.tree.display().to_string();
        let mut c = self.chroot.run(&[self.tree], script, &[&tree])?;
        finish(&mut c, &format!("applying {path}"))?;
        fs::remove_file(&file).map_err(Error::file(&file))
    }

    fn configure(&self, config: &str, asked: &[String]) -> Result<()> {
        let file = self.tree.join("dormouse.config");
        fs::write(&file, config).map_err(Error::file(&file))?;
        self.make(&["KCONFIG_ALLCONFIG=dormouse.config", "allnoconfig"], "configuring the kernel")?;
        let path = self.tree.join(".config");
        let got = fs::read_to_string(&path).map_err(Error::file(&path))?;
        match asked.iter().find(|o| !has(&got, o)) {
            None => Ok(()),
            Some(o) => Err(Error::other(format!(
                "the kernel's configuration does not take {o}: it may depend on options that are off, or not be of this version"
            ))),
        }
    }

    fn make(&self, words: &[&str], what: &str) -> Result<String> {
        let tree = self.tree.display().to_string();
        let gcc = Chroot::COMPILER;
        let (cc, host) = (format!("CC={gcc}"), format!("HOSTCC={gcc}"));
        // The same source makes the same kernel.
        let fixed = ["KBUILD_BUILD_TIMESTAMP=@0", "KBUILD_BUILD_USER=lab", "KBUILD_BUILD_HOST=lab"];
        let mut all = vec!["make", "-s", "-C", &tree, &cc, &host];
        all.extend(fixed);
        all.extend(words);
        finish(&mut self.chroot.run(&[self.tree], "exec \"$@\"", &all)?, what)
    }
}

/// Whether a configuration has the line `option`; "is not set" is as good as `=n`.
fn has(config: &str, option: &str) -> bool {
    let off = option.strip_suffix("=n").map(|name| format!("{name}="));
    match off {
        Some(name) => !config.lines().any(|l| l.starts_with(&name)),
        None => config.lines().any(|l| l == option),
    }
}

/// Runs a command and gives what it said.
fn finish(c: &mut Command, what: &str) -> Result<String> {
    let Output { status, stdout, stderr } =
        c.stdin(Stdio::null()).output().map_err(Error::file(c.get_program()))?;
    let said = format!("{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    if status.success() {
        return Ok(said);
    }
    Err(Error::Program { what: what.into(), output: tail(&said, 30) })
}

/// Copies what modules are built with; the rest is two gigabytes.
fn copy_what_modules_want(tree: &Path, to: &Path) -> Result<()> {
    const SCRIPT: &str = r#"set -e
cd "$1"
mkdir "$2/arch"
cp -a arch/x86 arch/Kconfig "$2/arch"
for d in include scripts tools certs; do
    [ ! -d $d ] || cp -a $d "$2"
done
find . -maxdepth 1 -type f ! -name 'vmlinux*' -exec cp -a {} "$2" \;"#;
    let mut c = Command::new("sh");
    finish(c.args(["-c", SCRIPT, "sh"]).arg(tree).arg(to), "keeping what modules want").map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_no_series_and_no_paths() {
        for good in ["mine", "ready-1", "v7.3_x"] {
            assert!(check_name(good).is_ok(), "{good}");
        }
        for bad in ["", "6.12", "7", "own", "../x", "a b", "a/b", &"x".repeat(33)] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_a_killed_build_left_goes_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let me = std::process::id();
        // Linux gives no process this number (PID_MAX_LIMIT is 2^22).
        let names = ["mine-new-4194305".into(), format!("mine-new-{me}"), "mine-new-x".into()];
        for name in &names {
            fs::create_dir_all(folder.path().join(name).join("tree")).expect("made");
        }
        clear_what_was_killed(folder.path());
        let there: Vec<bool> = names.iter().map(|n| folder.path().join(n).exists()).collect();
        assert_eq!(there, [false, true, true]);
    }

    #[test]
    fn words_before_a_patch_are_no_part_of_it() {
        let change = b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";
        let said =
            [b"From: me\nSubject: x\n\nA table\n---\n x | 2 +-\n\n".as_slice(), change].concat();
        for bytes in [change.to_vec(), said] {
            assert_eq!(Patch { path: String::new(), bytes }.change(), change);
        }
        let plain = Patch { path: String::new(), bytes: b"Index: x\n--- a/x\n+++ b/x\n".to_vec() };
        assert_eq!(plain.change(), b"--- a/x\n+++ b/x\n");
    }

    #[test]
    fn an_option_is_taken_or_not() {
        let config = "CONFIG_SMP=y\n# CONFIG_KASAN is not set\nCONFIG_HZ=250\n";
        for yes in ["CONFIG_SMP=y", "CONFIG_HZ=250", "CONFIG_KASAN=n", "CONFIG_NO_SUCH=n"] {
            assert!(has(config, yes), "{yes}");
        }
        for no in ["CONFIG_SMP=n", "CONFIG_HZ=25", "CONFIG_KASAN=y"] {
            assert!(!has(config, no), "{no}");
        }
    }

    #[test]
    fn the_debug_configuration_is_the_small_one_and_more() {
        let (small, debug) = (Config::Small.text(), Config::Debug.text());
        assert!(debug.starts_with(&small) && debug.contains("\nCONFIG_KASAN=y\n"));
        let mut names: Vec<&str> =
            debug.lines().filter_map(|l| l.split_once('=')).map(|l| l.0).collect();
        let all = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all, "an option stands twice");
    }

    #[test]
    fn a_folder_without_a_kernel_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let e = Source::find(&folder.path().display().to_string(), &mut |_| ()).err();
        assert!(e.expect("an error").to_string().contains("is no source of Linux"));
    }
}
