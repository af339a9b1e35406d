//! Whether what a command says is made for others: then nothing in it tells whose machine it
//! is of. The screen and every document pass here as they are printed; what is no text, or goes
//! to a file, its verb brings here.

use crate::terminal;
use anyhow::Result;
use clap::{Arg, ArgAction};
use dormouse_app::redact::Redactor;
use dormouse_base::capture::Capture;
use dormouse_machine::root::Root;
use dormouse_read::Given;
use std::cell::RefCell;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

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
        .value_name("yes|no")
        .action(ArgAction::Set)
        .num_args(0..=1)
        .require_equals(true)
        .default_missing_value("yes")
        .value_parser(["yes", "no"])
        .help(
            "Say host-1, user-1, serial-1, mac-1, ssid-1, ip-1, uuid-1, mail-1 for what identifies \
             a machine or its owner (--redact alone is yes)",
        )
}

/// Words without the option, and what it says.
pub(crate) fn taken(words: Vec<OsString>, command: &str) -> (Vec<OsString>, bool) {
    let mut wanted = by_itself(command);
    if !is_for(command) {
        return (words, wanted);
    }
    let end = words.iter().position(|w| w == "--").unwrap_or(words.len());
    let mut at = 0;
    let rest = words.into_iter().filter(|w| {
        at += 1;
        let value = match w.to_str() {
            _ if at > end => return true,
            Some("--redact" | "--redact=yes") => true,
            Some("--redact=no") => false,
            _ => return true,
        };
        wanted = value;
        false
    });
    (rest.collect(), wanted)
}

/// Lets a command answer; `redact` says whether for others. Without inputs it speaks of the
/// machine below `root`.
pub(crate) fn answered(
    redact: bool,
    given: &Given,
    root: Option<&OsString>,
    run: impl FnOnce() -> Result<()>,
) -> Result<()> {
    if !redact {
        return run();
    }
    let mut redactor = Redactor::default();
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
        assert_eq!(of("report", &["a"]), (1, true));
        assert_eq!(of("report", &["a", "--redact=no"]), (1, false));
        assert_eq!(of("show", &["a"]), (1, false));
        assert_eq!(of("show", &["--redact", "a"]), (1, true));
        assert_eq!(of("show", &["--", "--redact"]), (2, false));
        assert_eq!(of("predict", &["--redact", "a"]), (2, false));
    }
}
