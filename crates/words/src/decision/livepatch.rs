//! What `dormouse tune` advises of the livepatch that starts devices when they are ready.

use crate::text::page::{Ink, Page};
use crate::wording::livepatch::{Advice, advice};
use dormouse_sleep::evidence::Fidelity;
use dormouse_sleep::tune::Cost;
use dormouse_sleep::tune::worth::{error, livepatch};
use serde_json::{Value, json};

/// The machine as it is, and with the two forms of the livepatch: what is worth it, for
/// a terminal; nothing where neither is.
pub fn text(now: Cost, ready: Cost, conserve: Cost, f: &Fidelity) -> String {
    let [gain, more] = livepatch(now, ready, conserve, f);
    let advice = advice(&Advice {
        suspend: (now.suspend, ready.suspend),
        resume: (now.resume, ready.resume),
        gain,
        more,
        error: (!f.checks.is_empty()).then(|| error(f)),
    });
    let Some(advice) = advice else { return String::new() };
    let mut page = Page::new(false);
    page.wrapped(Ink::Plain, 0, 2, &advice);
    format!("\n{}", page.finish())
}

/// The same as JSON; `advised` is `ready`, `conserve` or null.
pub fn json(now: Cost, ready: Cost, conserve: Cost, f: &Fidelity) -> Value {
    let [first, second] = livepatch(now, ready, conserve, f);
    json!({
        "ready": ready,
        "conserve": conserve,
        "error_ns": error(f).0,
        "advised": second.map(|_| "conserve").or(first.map(|_| "ready")),
    })
}
