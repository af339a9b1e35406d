//! What a part of the task says.

/// What one part says: its lines, and what of it is not as it should be.
#[derive(Default)]
pub(super) struct Told {
    pub(super) text: String,
    pub(super) wrong: Vec<String>,
}

impl Told {
    pub(super) fn check(&mut self, right: bool, what: impl FnOnce() -> String) {
        if !right {
            self.wrong.push(what());
        }
    }
}
