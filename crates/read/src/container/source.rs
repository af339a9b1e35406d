//! One file or member, unpacked.

use std::borrow::Cow;

/// One input, unpacked.
#[derive(Clone, Debug)]
pub struct Source<'a> {
    /// As shown to the user.
    pub name: &'a str,
    /// The folder or archive in which it was found; empty if the caller named it.
    pub group: &'a str,
    /// Content.
    pub bytes: &'a [u8],
    /// Why `bytes` may be incomplete, if they may.
    pub damage: Option<Cow<'static, str>>,
}
