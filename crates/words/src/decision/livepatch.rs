//! What `dormouse tune` advises of the livepatch that starts devices when they are ready.

use crate::text::page::{Ink, Page};
use crate::wording::livepatch::{Advice, advice};
use dormouse_sleep::evidence::Fidelity;
use dormouse_sleep::tune::Cost;
use dormouse_sleep::tune::worth::{error, is_news};
use serde_json::{Value, json};

/// The machine as it is, and with the two forms of the livepatch: what is worth it, for
/// a terminal; nothing where neither is.
pub fn text(now: Cost, ready: Cost, conserve: Cost, f: &Fidelity) -> String {
    let worth = |less, from: Cost| less > error(f) && is_news(less, from.total());
    let gain = now.total() - ready.total();
    let more = ready.total() - conserve.total();
    let advice = advice(&Advice {
        suspend: (now.suspend, ready.suspend),
        resume: (now.resume, ready.resume),
        gain: Some(gain).filter(|g| worth(*g, now)),
        more: Some(more).filter(|m| worth(*m, ready)),
        error: (!f.checks.is_empty()).then(|| error(f)),
    });
    let Some(advice) = advice else { return String::new() };
    let mut page = Page::new(false);
    page.wrapped(Ink::Plain, 0, 2, &advice);
    format!("\n{}", page.finish())
}

/// The same as JSON; `advised` is `ready`, `conserve` or null.
pub fn json(now: Cost, ready: Cost, conserve: Cost, f: &Fidelity) -> Value {
    let cost = |c: Cost| json!({"suspend_ns": c.suspend.0, "resume_ns": c.resume.0});
    let worth = |less, from: Cost| less > error(f) && is_news(less, from.total());
    let first = worth(now.total() - ready.total(), now);
    let second = worth(ready.total() - conserve.total(), ready);
    json!({
        "ready": cost(ready),
        "conserve": cost(conserve),
        "error_ns": error(f).0,
        "advised": if second { Some("conserve") } else if first { Some("ready") } else { None },
    })
}
