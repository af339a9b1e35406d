//! Keeps QEMU's threads in step (`lockstep.c` says why), where a C compiler is
//! at hand; the board module needs one as well.

use crate::kernels::cache::cache;
use crate::{Error, Result};
use dormouse_base::say::tail;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::process::Command;

const SOURCE: &str = include_str!("lockstep.c");

/// The library to load into QEMU; compiled once.
///
/// # Errors
/// When there is no compiler, or it fails.
pub(crate) fn library() -> Result<PathBuf> {
    let mut hash = DefaultHasher::new();
    SOURCE.hash(&mut hash);
    let dir = cache()?.join("lockstep");
    let library = dir.join(format!("{:016x}.so", hash.finish()));
    if library.exists() {
        return Ok(library);
    }
    fs::create_dir_all(&dir).map_err(Error::file(&dir))?;
    // Names of its own until it is complete: two may build at once.
    let source = dir.join(format!("{}.c", std::process::id()));
    let built = dir.join(format!("{}.so", std::process::id()));
    fs::write(&source, SOURCE).map_err(Error::file(&source))?;
    let out = Command::new("cc")
        .args(["-O2", "-Wall", "-Werror", "-shared", "-fPIC", "-o"])
        .args([&built, &source])
        .output()
        .map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => Error::Missing {
                program: "cc",
                advice: "install a C compiler (tools/setup lab does)".into(),
            },
            _ => Error::file("cc")(e),
        })?;
    let _ = fs::remove_file(&source);
    if !out.status.success() {
        return Err(Error::Program {
            what: "compiling lockstep.c".into(),
            output: tail(&String::from_utf8_lossy(&out.stderr), 20),
        });
    }
    fs::rename(&built, &library).map_err(Error::file(&library))?;
    Ok(library)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;
    use std::time::Duration;

    #[test]
    fn who_is_started_with_the_library_ends_when_its_starter_is_killed() {
        let library = match library() {
            Ok(l) => l,
            Err(e) => return println!("SKIPPED: {e}"),
        };
        let mut starter = Command::new("sh")
            .args(["-c", "LD_PRELOAD=$0 sleep 600 & echo $!; wait"])
            .arg(&library)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(starter.stdout.take().unwrap()).read_line(&mut line).unwrap();
        // Not only begun, but the program itself.
        let stat = PathBuf::from(format!("/proc/{}/stat", line.trim()));
        let is = |what: &str| fs::read_to_string(&stat).is_ok_and(|s| s.contains(what));
        let within = |done: &dyn Fn() -> bool| {
            (0..500).any(|_| {
                done() || {
                    std::thread::sleep(Duration::from_millis(10));
                    false
                }
            })
        };
        assert!(within(&|| is("(sleep)")));
        std::thread::sleep(Duration::from_millis(100));
        starter.kill().unwrap();
        starter.wait().unwrap();
        // A zombie that nobody has waited for yet has ended as well.
        assert!(within(&|| !is("(sleep)") || is("(sleep) Z")), "{line} lives on");
    }
}
