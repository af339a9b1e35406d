//! Words about the livepatch of kernel/scheduler.

use dormouse_base::time::Ns;

/// What the model says of it.
#[derive(Clone, Copy, Debug)]
pub struct Advice {
    /// Before and with it.
    pub suspend: (Ns, Ns),
    /// Before and with it.
    pub resume: (Ns, Ns),
    /// What it saves, if that is worth it.
    pub gain: Option<Ns>,
    /// What `conserve` saves on top, if that is worth it.
    pub more: Option<Ns>,
    /// What the model is off on this machine; `None` of a board file.
    pub error: Option<Ns>,
}

/// A paragraph, or nothing if neither form is worth it.
pub fn advice(a: &Advice) -> Option<String> {
    let first = a.gain.map(|gain| {
        format!(
            "The experimental livepatch of kernel/scheduler would save {gain} with the flags as they are: \
             suspend {} -> {}, resume {} -> {}.",
            a.suspend.0, a.suspend.1, a.resume.0, a.resume.1
        )
    });
    let second = a.more.map(|more| {
        format!(
            "Its conserve=1 would save {more}{}: it leaves the order of the list, on which \
             drivers may rely without saying so; nothing here proves that they do not.",
            if a.gain.is_some() { " more" } else { "" }
        )
    });
    let all: Vec<String> = first.into_iter().chain(second).collect();
    if all.is_empty() {
        return None;
    }
    let rests = match a.error {
        Some(error) => format!("These are figures of the model, which is {error} off here."),
        None => "These are figures of the model for a board file.".into(),
    };
    Some(format!("{} {rests}", all.join(" ")))
}
