//! Texts of any kind, a mail or a log or a table of debugfs, and what was read of
//! each: what the readers of [`crate::doctor`] and [`crate::domains`] share.

use crate::container::{self, Source};
use crate::{Input, Options, ReadError};
use dormouse_model::loss::{Losses, Severity};

/// One text.
#[derive(Clone, Debug, Default)]
pub struct Text<C> {
    /// As the user named it.
    pub name: String,
    /// What it says.
    pub case: C,
    /// What could not be read.
    pub losses: Losses,
}

/// A message keeps this much of its text.
pub(crate) const LONGEST: usize = 400;

/// Reads `inputs`, a text each, with `bytes`.
pub(crate) fn each<C>(
    inputs: &[Input],
    options: &Options,
    bytes: fn(&str, &[u8]) -> Text<C>,
) -> Result<Vec<Text<C>>, ReadError> {
    let mut out = Vec::new();
    for_each(inputs, options, bytes, &mut |text, _| out.push(text))?;
    Ok(out)
}

/// Hands on every text behind `inputs`, read with `bytes`, with what it was read of.
pub(crate) fn for_each<C>(
    inputs: &[Input],
    options: &Options,
    bytes: fn(&str, &[u8]) -> Text<C>,
    each: &mut dyn FnMut(Text<C>, Source<'_>),
) -> Result<(), ReadError> {
    for input in inputs {
        container::for_each(input, &options.limits, &mut |source| {
            let mut text = bytes(source.name, source.bytes);
            if let Some(why) = &source.damage {
                text.losses.add(
                    "damaged_input",
                    1,
                    Severity::Warning,
                    format!("{}: {why}; copy it again", source.name),
                    None,
                );
            }
            each(text, source);
        })?;
    }
    Ok(())
}

/// The text without a word, if `bytes` are none: a zero byte stands near the begin.
pub(crate) fn none<C: Default>(name: &str, bytes: &[u8]) -> Option<Text<C>> {
    if !bytes[..bytes.len().min(4096)].contains(&0) {
        return None;
    }
    let mut text = Text { name: name.into(), ..Text::default() };
    text.losses.add(
        "not_text",
        1,
        Severity::Warning,
        format!("{name} is no text (recordings are for dormouse show)"),
        None,
    );
    Some(text)
}
