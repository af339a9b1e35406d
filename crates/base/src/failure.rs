//! Why something ends without an answer, where every room must be able to say it.

use std::fmt;

/// An option is well-formed but cannot be followed.
#[derive(Debug)]
pub struct Usage(pub String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}
