//! One input on its way to every subject that is wanted: its content, what it is, and,
//! of a capture file, its members.

use crate::container::Source;
use crate::detect::{Format, detect};
use crate::grams::Asked;
use dormouse_base::loss::Losses;
use dormouse_capture::schema::CaptureFile;
use dormouse_capture::{self as capture_file, Error};

/// A capture file taken apart, with what was lost on the way; or why it cannot be.
pub(crate) type Taken = Result<(CaptureFile, Losses), Error>;

/// An input, recognised.
pub(crate) struct Part<'a> {
    pub source: Source<'a>,
    /// Its bytes, to be asked for words.
    pub asked: Asked<'a>,
    pub format: Format,
    /// Of a capture file.
    pub taken: Option<Taken>,
}

impl<'a> Part<'a> {
    /// Recognises `source`, and takes it apart if it is a capture file.
    pub(crate) fn of(source: Source<'a>) -> Part<'a> {
        let format = detect(source.bytes);
        let taken = (format == Format::CaptureFile).then(|| capture_file::read(source.bytes));
        Part { asked: Asked::of(source.bytes), source, format, taken }
    }

    /// The same input with other bytes.
    pub(crate) fn with<'b>(&self, bytes: &'b [u8]) -> Part<'b>
    where
        'a: 'b,
    {
        let Source { name, group, damage, .. } = &self.source;
        let source = Source { name, group, bytes, damage: damage.clone() };
        Part { source, asked: Asked::of(bytes), format: self.format, taken: None }
    }

    /// The members of a capture file that can be read.
    pub(crate) fn file(&self) -> Option<&CaptureFile> {
        self.taken.as_ref()?.as_ref().ok().map(|t| &t.0)
    }
}
