//! What `dormouse tune` says of the patches of kernel/upstream.

use crate::text::page::{Ink, Page};
use crate::wording::assumed::sentences;
use dormouse_board::assumed::Assumed;
use dormouse_sleep::evidence::Fidelity;
use dormouse_sleep::tune::Cost;
use dormouse_sleep::tune::worth::{error, saves};
use serde_json::{Value, json};

/// The machine as it is, and with them: for a terminal; nothing where they are not worth it.
pub fn text(now: Cost, then: Cost, assumed: &[Assumed], f: &Fidelity) -> String {
    let Some(gain) = saves(now, then, f) else { return String::new() };
    let mut rests = vec![match f.checks.is_empty() {
        true => "These are figures of the model for a board file.".into(),
        false => format!("These are figures of the model, which is {} off here.", error(f)),
    }];
    rests.extend(sentences(assumed));
    let mut page = Page::new(false);
    page.wrapped(
        Ink::Plain,
        0,
        2,
        &format!(
            "A kernel with the patches of kernel/upstream would save {gain} with the flags as they \
             are: suspend {} -> {}, resume {} -> {}. {}",
            now.suspend,
            then.suspend,
            now.resume,
            then.resume,
            rests.join(" ")
        ),
    );
    format!("\n{}", page.finish())
}

/// The same as JSON.
pub fn json(now: Cost, then: Cost, assumed: &[Assumed], f: &Fidelity) -> Value {
    json!({
        "suspend_ns": then.suspend.0,
        "resume_ns": then.resume.0,
        "error_ns": error(f).0,
        "advised": saves(now, then, f).is_some(),
        "assumptions": sentences(assumed),
    })
}
