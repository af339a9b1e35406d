//! Whether what a command says is made for others: then nothing in it tells whose machine it
//! is of. The screen and every document pass here as they are printed; what is no text, or goes
//! to a file, its verb brings here.

use crate::terminal;
use anyhow::Result;
use clap::{Arg, ArgAction, value_parser};
use dormouse_app::failure::Usage;
use dormouse_app::redact::Redactor;
use dormouse_base::capture::Capture;
#[cfg(feature = "parquet")]
use dormouse_base::names::Sym;
use dormouse_machine::root::Root;
use dormouse_read::Given;
use sha2::{Digest, Sha256};
use std::cell::RefCell;
use std::ffi::{OsStr, OsString};
use std::fs;
#[cfg(unix)]
use std::os::unix::ffi::OsStrExt;
#[cfg(target_os = "wasi")]
use std::os::wasi::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Whether a command speaks to others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Redact {
    No,
    Yes,
    /// With the file of the key that hosts are named by.
    Keyed(PathBuf),
}

/// The name of the option.
pub(crate) const NAME: &str = "redact";

thread_local! {
    static NOW: RefCell<Option<Now>> = const { RefCell::new(None) };
}

/// What a command for others has.
struct Now {
    redactor: Redactor,
    /// Whether the verb itself brought all here that it prints.
    done: bool,
}

/// Whether a command has the option: those whose output people pass on.
pub(crate) fn is_for(words: &str) -> bool {
    matches!(words, "show" | "check" | "compare" | "export" | "report")
}

/// Whether a command is for others if nothing is said.
pub(crate) fn by_itself(words: &str) -> bool {
    words == "report"
}

/// The option.
pub(crate) fn option(command: &str) -> Arg {
    Arg::new(NAME)
        .hide(by_itself(command))
        .long(NAME)
        .value_name("yes|no|KEY")
        .action(ArgAction::Set)
        .num_args(0..=1)
        .require_equals(true)
        .default_missing_value("yes")
        .value_parser(value_parser!(OsString))
        .help(
            "Say host-1, user-1, serial-1, mac-1, ssid-1, ip-1, uuid-1, mail-1 for what identifies \
             a machine or its owner (--redact alone is yes; by a file of 32 bytes in base 16, a host \
             has the same word in every output)",
        )
}

/// Words without the option, and what it says.
pub(crate) fn taken(words: Vec<OsString>, command: &str) -> (Vec<OsString>, Redact) {
    let mut wanted = if by_itself(command) { Redact::Yes } else { Redact::No };
    if !is_for(command) {
        return (words, wanted);
    }
    let end = words.iter().position(|w| w == "--").unwrap_or(words.len());
    let mut at = 0;
    let rest = words.into_iter().filter(|w| {
        at += 1;
        let value = match w.to_str() {
            _ if at > end => return true,
            Some("--redact" | "--redact=yes") => Redact::Yes,
            Some("--redact=no") => Redact::No,
            _ => match w.as_bytes().strip_prefix(b"--redact=") {
                Some(file) => Redact::Keyed(OsStr::from_bytes(file).into()),
                None => return true,
            },
        };
        wanted = value;
        false
    });
    (rest.collect(), wanted)
}

/// The key that a file holds.
fn key(file: &Path) -> Result<[u8; 32]> {
    let text = fs::read_to_string(file);
    let text = text.map_err(|e| Usage(format!("--redact={}: {e}", file.display())))?;
    let digits = text.trim().as_bytes();
    let pair = |d: &[u8]| u8::from_str_radix(std::str::from_utf8(d).ok()?, 16).ok();
    let is_key = digits.len() == 64 && digits.iter().all(u8::is_ascii_hexdigit);
    let bytes: Option<Vec<u8>> = is_key.then(|| digits.chunks(2).map(pair).collect()).flatten();
    let whole = bytes.and_then(|b| b.try_into().ok());
    let why = || Usage(format!("--redact={}: it is no key, 64 digits of base 16", file.display()));
    Ok(whole.ok_or_else(why)?)
}

/// What a host is called by a key: 128 bits of HMAC-SHA-256 (RFC 2104).
fn word_of(key: &[u8; 32], host: &str) -> String {
    let pad = |with: u8| {
        let mut block = [with; 64];
        block.iter_mut().zip(key).for_each(|(b, k)| *b ^= k);
        Sha256::new().chain_update(block)
    };
    let inner = pad(0x36).chain_update(host).finalize();
    let outer = pad(0x5c).chain_update(inner).finalize();
    outer[..16].iter().map(|b| format!("{b:02x}")).collect()
}

/// Lets `answer` speak for others, with hosts called by `key`. It learns names of captures and
/// brings here itself what it says.
#[cfg(feature = "parquet")]
pub(crate) fn keyed<T>(key: [u8; 32], given: &Given, answer: impl FnOnce() -> T) -> T {
    let mut redactor = Redactor::default().naming_hosts(move |host| word_of(&key, host));
    given.each_untold(&mut |text| redactor.learn(text));
    NOW.set(Some(Now { redactor, done: true }));
    let said = answer();
    NOW.set(None);
    said
}

/// Learns the names of a capture.
#[cfg(feature = "parquet")]
pub(crate) fn learn(capture: &Capture) {
    let names = &capture.names;
    let all = (0..names.len()).map(|n| names.get(Sym(n as u32)));
    let all = all.collect::<Vec<_>>().join("\n");
    NOW.with_borrow_mut(|n| n.iter_mut().for_each(|n| n.redactor.learn(all.as_bytes())));
}

/// Lets a command answer; `redact` says whether for others. Without inputs it speaks of the
/// machine below `root`.
pub(crate) fn answered(
    redact: Redact,
    given: &Given,
    root: Option<&OsString>,
    run: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let mut redactor = match redact {
        Redact::No => return run(),
        Redact::Yes => Redactor::default(),
        Redact::Keyed(file) => {
            let key = key(&file)?;
            Redactor::default().naming_hosts(move |host| word_of(&key, host))
        }
    };
    given.each_content(&mut |text| redactor.learn(text));
    if given.paths().is_empty() {
        let root = Root::below(root.map_or(Path::new("/"), Path::new));
        redactor.learn_host(&root.read("/proc/sys/kernel/hostname").unwrap_or_default());
    }
    NOW.set(Some(Now { redactor, done: false }));
    let (said, result) = terminal::captured(run);
    let said =
        if NOW.with_borrow(|n| n.as_ref().is_some_and(|n| n.done)) { said } else { text(said) };
    NOW.set(None);
    terminal::print_with(|out| out.write_all(&said))?;
    result
}

/// A text as it may be said.
pub(crate) fn text(text: Vec<u8>) -> Vec<u8> {
    NOW.with_borrow_mut(|n| match n {
        Some(now) => now.redactor.redacted(&text),
        None => text,
    })
}

/// The same of a name.
pub(crate) fn name(name: &str) -> String {
    String::from_utf8_lossy(&text(name.into())).into_owned()
}

/// The same of the name of a host, which nothing beside it tells.
#[cfg(feature = "parquet")]
pub(crate) fn host(host: &str) -> String {
    let said = name(&format!("hostname={host}"));
    said.strip_prefix("hostname=").unwrap_or(&said).into()
}

/// A capture with names that may be said, for forms that are no text.
pub(crate) fn capture(capture: &mut Arc<Capture>) {
    NOW.with_borrow_mut(|n| {
        if let Some(now) = n {
            now.redactor.rename(&mut Arc::make_mut(capture).names);
        }
    });
}

/// Says that all that is printed passed here already.
pub(crate) fn is_done() {
    NOW.with_borrow_mut(|n| n.iter_mut().for_each(|n| n.done = true));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_for_others_unless_it_is_said() {
        let of = |command: &str, words: &[&str]| {
            let (rest, wanted) = taken(words.iter().map(OsString::from).collect(), command);
            (rest.len(), wanted)
        };
        let keyed = Redact::Keyed("key".into());
        assert_eq!(of("report", &["a"]), (1, Redact::Yes));
        assert_eq!(of("report", &["a", "--redact=no"]), (1, Redact::No));
        assert_eq!(of("show", &["a"]), (1, Redact::No));
        assert_eq!(of("show", &["--redact", "a"]), (1, Redact::Yes));
        assert_eq!(of("show", &["--redact=key", "a"]), (1, keyed));
        assert_eq!(of("show", &["--", "--redact"]), (2, Redact::No));
        assert_eq!(of("predict", &["--redact", "a"]), (2, Redact::No));
    }

    /// The second test vector of RFC 4231, its key filled with zeros as HMAC itself fills it.
    #[test]
    fn a_key_names_a_host_by_hmac() {
        let mut key = [0; 32];
        key[..4].copy_from_slice(b"Jefe");
        assert_eq!(
            word_of(&key, "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c7"
        );
    }
}
