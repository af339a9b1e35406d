//! The command, called as a function; as a process only where it must be one: with a
//! standard input, a signal, an environment or a start of itself.

use dormouse::Kept;
use std::ffi::OsString;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output, Stdio};
use std::sync::Once;

/// The root of the tree, where commands are typed.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What the command prints and its exit code.
pub(crate) fn output<A: Into<OsString>>(args: impl IntoIterator<Item = A>) -> Output {
    static AT_ROOT: Once = Once::new();
    AT_ROOT.call_once(|| std::env::set_current_dir(root()).expect("the tree"));
    let (out, err) = (Kept::default(), Kept::default());
    let code = dormouse::run(args, out.clone(), err.clone());
    let status = ExitStatus::from_raw(i32::from(code) << 8);
    Output { status, stdout: out.taken(), stderr: err.taken() }
}

/// The same of a process that reads `input`.
pub(crate) fn piped(args: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_dormouse"))
        .args(args)
        .current_dir(root())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    // Whoever refuses its arguments does not read.
    let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
    child.wait_with_output().expect("it ends")
}

/// The exit code, what it prints, and what it complains of.
pub(crate) fn ended(args: &[&str]) -> (i32, String, String) {
    let out = output(args);
    let text = |b: Vec<u8>| String::from_utf8(b).expect("text");
    (out.status.code().expect("a code"), text(out.stdout), text(out.stderr))
}
