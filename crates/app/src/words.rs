//! Sentences for whoever shows an answer without `write`: the page.

pub use dormouse_write::prediction::text::half;
pub use dormouse_write::wording::assumed::sentences as assumed;
pub use dormouse_write::wording::doubt::doubt as open;
pub use dormouse_write::wording::note::sentences as notes;
