//! Brings a kernel and its headers into the cache, without installing them.

use super::apt::Apt;
use super::kernel::{Kernel, RECORD, cached, directory};
use super::release::Release;
use crate::arch::Arch;
use crate::{Error, Result};
use dormouse_base::say::tail;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Oldest series that is listed.
const OLDEST: (u32, u32) = (6, 1);

/// A series in the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Such as `6.12`.
    pub series: String,
    /// Newest release with headers, else newest release.
    pub release: String,
    /// Whether a module can be built for it.
    pub headers: bool,
    /// Release in the cache, if the series was fetched.
    pub cached: Option<String>,
}

/// The series that the archive has now, oldest first.
pub fn offers(arch: Arch) -> Result<Vec<Offer>> {
    let apt = Apt::open(arch)?;
    let mut offers = Vec::new();
    for (series, found) in by_series(&apt, arch)? {
        let (release, headers) = best(&found);
        let series = format!("{}.{}", series.0, series.1);
        offers.push(Offer {
            cached: cached(arch, &series)?.map(|k| k.release),
            series,
            release: release.text.clone(),
            headers,
        });
    }
    Ok(offers)
}

/// Images of a series with whether they have headers.
type Found = BTreeMap<Release, (String, bool)>;

/// From 6.19 on the kernel itself is in `linux-binary-*`, before in
/// `linux-image-*`.
fn by_series(apt: &Apt, arch: Arch) -> Result<BTreeMap<(u32, u32), Found>> {
    let headers: std::collections::BTreeSet<String> = apt
        .names("linux-headers-")?
        .into_iter()
        .filter_map(|n| n.strip_prefix("linux-headers-").map(str::to_owned))
        .collect();
    let mut out: BTreeMap<(u32, u32), Found> = BTreeMap::new();
    for prefix in ["linux-image-", "linux-binary-"] {
        for name in apt.names(prefix)? {
            let Some(r) = name.strip_prefix(prefix).and_then(|t| Release::parse(t, arch.name()))
            else {
                continue;
            };
            if r.series_numbers() < OLDEST {
                continue;
            }
            let has = headers.contains(&r.text);
            // `linux-binary-*` comes second and wins.
            out.entry(r.series_numbers()).or_default().insert(r, (name, has));
        }
    }
    Ok(out)
}

fn best(found: &Found) -> (&Release, bool) {
    let with = found.iter().rev().find(|(_, (_, h))| *h);
    let (release, (_, headers)) =
        with.or_else(|| found.iter().next_back()).expect("a series has a release");
    (release, *headers)
}

/// Fetches the newest release of `series` that has headers, or the newest
/// image if none has. `7` means the newest series 7.x with headers.
pub fn fetch(arch: Arch, series: &str) -> Result<Kernel> {
    let apt = Apt::open(arch)?;
    let all = by_series(&apt, arch)?;
    let mut found = Found::new();
    for f in all.values() {
        found
            .extend(f.iter().filter(|(r, _)| r.is_of(series)).map(|(r, n)| (r.clone(), n.clone())));
    }
    if found.is_empty() {
        let known: Vec<String> = all.keys().map(|(a, b)| format!("{a}.{b}")).collect();
        return Err(Error::NoKernel(format!(
            "no kernel is called {series}: the archive for {} has {}, and `dormouse lab build` makes \
             others",
            arch.name(),
            known.join(", ")
        )));
    }
    let (release, has_headers) = best(&found);
    let mut names = vec![found[release].0.clone()];
    if has_headers {
        names.extend(header_packages(&apt, release)?);
    }
    let mut packages = Vec::new();
    for name in &names {
        let version = apt.show(name)?.map(|(v, _)| v).unwrap_or_default();
        packages.push(format!("{name} {version}"));
    }

    // Nothing newer: what is there stays, also for guests that run from it now.
    if let Some(k) = cached(arch, series)?.filter(|k| k.packages == packages) {
        return Ok(k);
    }

    let dir = directory(arch, series)?;
    let fresh = directory(arch, &format!("{series}-new-{}", std::process::id()))?;
    let _ = fs::remove_dir_all(&fresh);
    // Programs that build modules must run here, whatever the guest is.
    let (host, guest): (Vec<String>, Vec<String>) =
        names.into_iter().partition(|n| n.starts_with("linux-kbuild-") && arch != Arch::Amd64);
    let mut debs = apt.download(&guest, &fresh.join("debs"))?;
    if !host.is_empty() {
        debs.extend(Apt::open(Arch::Amd64)?.download(&host, &fresh.join("debs/host"))?);
    }
    for deb in &debs {
        unpack(deb, &fresh)?;
    }
    let _ = fs::remove_dir_all(fresh.join("debs"));
    // Out of the way first: removing takes a while, in which there is no kernel.
    let old = directory(arch, &format!("{series}-old-{}", std::process::id()))?;
    let _ = fs::rename(&dir, &old);
    fs::rename(&fresh, &dir).map_err(Error::file(&dir))?;
    let _ = fs::remove_dir_all(&old);

    let kernel = Kernel {
        series: release.series(),
        release: release.text.clone(),
        arch,
        image: find_image(&dir, &release.text)?,
        headers: has_headers
            .then(|| dir.join("usr/src").join(format!("linux-headers-{}", release.text))),
        packages,
    };
    if let Some(h) = &kernel.headers {
        relocate(h, &dir)?;
    }
    let json = serde_json::to_string_pretty(&kernel).map_err(|e| Error::other(e.to_string()))?;
    let record = dir.join(RECORD);
    fs::write(&record, json + "\n").map_err(Error::file(&record))?;
    Ok(kernel)
}

/// The headers, the part they share with other flavours, and the programs
/// that build modules; the names of the latter two are in the dependencies.
fn header_packages(apt: &Apt, release: &Release) -> Result<Vec<String>> {
    let main = format!("linux-headers-{}", release.text);
    let (_, depends) = apt
        .show(&main)?
        .ok_or_else(|| Error::other(format!("{main} is listed but cannot be had")))?;
    let mut names = vec![main];
    names.extend(
        depends
            .split([',', '|'])
            .filter_map(|d| d.split_whitespace().next())
            .map(|n| n.split(':').next().unwrap_or(n))
            .filter(|n| {
                n.starts_with("linux-kbuild-")
                    || (n.starts_with("linux-headers-") && n.ends_with("-common"))
            })
            .map(str::to_owned),
    );
    Ok(names)
}

/// Unpacks a package without running anything of it. Modules of the kernel
/// (hundreds of megabytes) stay behind: the guest needs none.
fn unpack(deb: &Path, dir: &Path) -> Result<()> {
    let failed = |e: std::io::Error| match e.kind() {
        std::io::ErrorKind::NotFound => {
            Error::Missing { program: "dpkg-deb", advice: "install dpkg".into() }
        }
        _ => Error::file(deb)(e),
    };
    let mut tar = Command::new("dpkg-deb")
        .arg("--fsys-tarfile")
        .arg(deb)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let stdin = tar.stdout.take().expect("stdout is piped");
    let out = Command::new("tar")
        .args(["-x", "--exclude=*/kernel/*", "--exclude=./usr/share/*", "-C"])
        .arg(dir)
        .stdin(stdin)
        .output()
        .map_err(failed)?;
    let status = tar.wait().map_err(failed)?;
    if status.success() && out.status.success() {
        return Ok(());
    }
    Err(Error::Program {
        what: format!("unpacking {}", deb.display()),
        output: tail(&String::from_utf8_lossy(&out.stderr), 5),
    })
}

fn find_image(dir: &Path, release: &str) -> Result<PathBuf> {
    let places = [
        dir.join("boot").join(format!("vmlinuz-{release}")),
        dir.join("usr/lib/modules").join(release).join("vmlinuz"),
        dir.join("lib/modules").join(release).join("vmlinuz"),
    ];
    places.iter().find(|p| p.exists()).cloned().ok_or_else(|| {
        Error::other(format!("the packages of {release} hold no kernel image in a known place"))
    })
}

/// The headers' Makefile names its parts by their place after installation;
/// here they lie in the cache.
fn relocate(headers: &Path, root: &Path) -> Result<()> {
    let path = headers.join("Makefile");
    let text = fs::read_to_string(&path).map_err(Error::file(&path))?;
    let text = text.replace("/usr/src/", &format!("{}/", root.join("usr/src").display()));
    fs::write(&path, text).map_err(Error::file(&path))
}
