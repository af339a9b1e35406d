//! apt with sources, lists and status of its own: nothing of the machine's is
//! read or changed, and signatures are checked by apt as always.

use super::cache::cache;
use super::mirror::{Mirrors, mirrors};
use crate::arch::Arch;
use crate::{Error, Result};
use dormouse_base::say::tail;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

/// Debian's keys on a Debian machine.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Package lists older than this are fetched again.
const FRESH: Duration = Duration::from_secs(6 * 3600);

/// Suites that hold kernels, or compilers for them: (suite, from security).
const SUITES: [(&str, bool); 5] = [
    ("bookworm", false),
    ("bookworm-security", true),
    ("bookworm-backports", false),
    ("trixie", false),
    ("trixie-backports", false),
];

/// apt for one architecture.
pub(crate) struct Apt {
    dir: PathBuf,
    arch: Arch,
}

/// Lines of a one-line sources file for `suites` of `mirrors`.
pub fn sources(mirrors: &Mirrors, suites: &[(&str, bool)]) -> String {
    let mut text = String::new();
    for (suite, security) in suites {
        let address = if *security { mirrors.security.as_ref() } else { Some(&mirrors.main) };
        if let Some(address) = address {
            text.push_str(&format!("deb [signed-by={KEYRING}] {address} {suite} main\n"));
        }
    }
    text
}

impl Apt {
    /// Prepares the directory and brings the lists up to date.
    pub(crate) fn open(arch: Arch) -> Result<Apt> {
        if !Path::new(KEYRING).exists() {
            return Err(Error::Missing {
                program: "debian-archive-keyring",
                advice: format!("install the package, {KEYRING} signs the kernels"),
            });
        }
        let dir = cache()?.join("apt").join(arch.name());
        for sub in ["lists/partial", "archives/partial"] {
            let d = dir.join(sub);
            fs::create_dir_all(&d).map_err(Error::file(&d))?;
        }
        // apt-get gives up at once where another holds its lists: wait for that one.
        let lock = dir.join("one-at-a-time");
        let lock =
            File::create(&lock).and_then(|f| f.lock().map(|()| f)).map_err(Error::file(&lock));
        let _held = lock?;
        let list = dir.join("sources.list");
        let wanted = sources(&mirrors()?, &SUITES);
        let changed = fs::read_to_string(&list).ok().as_deref() != Some(&wanted);
        fs::write(&list, wanted).map_err(Error::file(&list))?;
        let status = dir.join("status");
        fs::write(&status, "").map_err(Error::file(&status))?;
        let apt = Apt { dir, arch };
        if changed || !apt.is_fresh() {
            apt.update()?;
        }
        Ok(apt)
    }

    fn stamp(&self) -> PathBuf {
        self.dir.join("updated")
    }

    fn is_fresh(&self) -> bool {
        fs::metadata(self.stamp())
            .and_then(|m| m.modified())
            .is_ok_and(|t| SystemTime::now().duration_since(t).is_ok_and(|age| age < FRESH))
    }

    fn command(&self, program: &str) -> Command {
        let mut c = Command::new(program);
        let p = |sub: &str| self.dir.join(sub).display().to_string();
        for option in [
            format!("Dir::Etc::sourcelist={}", p("sources.list")),
            "Dir::Etc::sourceparts=/dev/null".into(),
            format!("Dir::State::Lists={}", p("lists")),
            format!("Dir::State::status={}", p("status")),
            format!("Dir::Cache={}", self.dir.display()),
            format!("APT::Architecture={}", self.arch.name()),
            format!("APT::Architectures={}", self.arch.name()),
            "APT::Sandbox::User=root".into(),
            // Descriptions and software catalogues are of no use here.
            "Acquire::Languages=none".into(),
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false".into(),
        ] {
            c.arg("-o").arg(option);
        }
        c
    }

    fn output(&self, mut command: Command, what: &str) -> Result<String> {
        let out = command.output().map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => Error::Missing {
                program: "apt",
                advice:
                    "kernels come from Debian's packages; without it give --image and --headers"
                        .into(),
            },
            _ => Error::file("apt")(e),
        })?;
        if out.status.success() {
            return Ok(String::from_utf8_lossy(&out.stdout).into_owned());
        }
        Err(Error::Program {
            what: what.into(),
            output: tail(&String::from_utf8_lossy(&out.stderr), 10),
        })
    }

    /// Fetches the package lists.
    pub(crate) fn update(&self) -> Result<()> {
        let mut c = self.command("apt-get");
        // An unsigned or unreachable suite is an error, not a warning.
        c.args(["-o", "APT::Update::Error-Mode=any", "-q", "update"]);
        self.output(c, "apt-get update")?;
        fs::write(self.stamp(), "").map_err(Error::file(self.stamp()))
    }

    /// Names of packages that begin with `prefix`.
    pub(crate) fn names(&self, prefix: &str) -> Result<Vec<String>> {
        let mut c = self.command("apt-cache");
        c.args(["pkgnames", prefix]);
        let mut names: Vec<String> =
            self.output(c, "apt-cache pkgnames")?.lines().map(str::to_owned).collect();
        names.sort();
        Ok(names)
    }

    /// Newest version of a package and its `Depends`; None if it is only
    /// mentioned by others.
    pub(crate) fn show(&self, name: &str) -> Result<Option<(String, String)>> {
        let mut c = self.command("apt-cache");
        c.args(["show", "--no-all-versions", name]);
        let Ok(text) = self.output(c, "apt-cache show") else { return Ok(None) };
        let field = |key: &str| {
            text.lines().find_map(|l| l.strip_prefix(key)).unwrap_or_default().trim().to_owned()
        };
        Ok(Some((field("Version:"), field("Depends:"))))
    }

    /// Downloads packages into `dir` and returns the files.
    pub(crate) fn download(&self, names: &[String], dir: &Path) -> Result<Vec<PathBuf>> {
        fs::create_dir_all(dir).map_err(Error::file(dir))?;
        let mut c = self.command("apt-get");
        c.args(["-q", "download"]).args(names).current_dir(dir);
        self.output(c, "apt-get download")?;
        let mut files: Vec<PathBuf> = fs::read_dir(dir)
            .map_err(Error::file(dir))?
            .flatten()
            .map(|e| e.path())
            .filter(|p| p.extension().is_some_and(|x| x == "deb"))
            .collect();
        files.sort();
        Ok(files)
    }
}
