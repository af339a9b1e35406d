//! Sentences for whoever shows an answer without `write`: the page.

pub use dormouse_words::prediction::text::half;
pub use dormouse_words::wording::assumed::sentences as assumed;
pub use dormouse_words::wording::doubt::doubt as open;
pub use dormouse_words::wording::note::sentences as notes;
