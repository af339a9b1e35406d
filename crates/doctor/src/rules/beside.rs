//! Messages that are said of several things, such as devices and interrupts, and where those of
//! each stand beside the sleeps of a text.

use super::silent::{Place, first_near};
use crate::case::Case;
use crate::finding::{Confidence, Level};
use crate::message::Message;
use crate::stage::Stages;
use std::collections::BTreeMap;

/// So many things are told; of more, the first.
const MOST: usize = 8;

/// What is said of one thing.
pub(super) struct Beside<'a> {
    /// The message that is told, and its place in the text.
    pub shown: &'a Message,
    pub at: usize,
    pub place: Place,
    /// The text has one before that sleep.
    pub before: bool,
    /// All of them.
    pub all: Vec<(usize, &'a Message)>,
}

impl Beside<'_> {
    /// How grave and how sure it is: what came before the sleep too is not of it.
    pub(super) fn weight(&self) -> (Level, Confidence) {
        match self.place {
            _ if self.before => (Level::Note, Confidence::Certain),
            Place::Inside(_) | Place::Entered(_) => (Level::Risk, Confidence::Certain),
            _ => (Level::Risk, Confidence::Likely),
        }
    }

    /// What a sentence says of earlier ones.
    pub(super) fn earlier(&self) -> &'static str {
        if self.before { " It did so before that sleep, too." } else { "" }
    }
}

/// Things of which messages stand near a sleep, in the order in which they are first said.
pub(super) fn near_sleeps<'a, K: Ord>(
    case: &'a Case,
    said: Vec<(usize, &'a Message, K)>,
) -> Vec<(K, Beside<'a>)> {
    if said.is_empty() {
        return Vec::new();
    }
    let stages = Stages::new(&case.messages);
    let mut of: BTreeMap<K, Vec<(usize, &Message)>> = BTreeMap::new();
    for (at, m, key) in said {
        of.entry(key).or_default().push((at, m));
    }
    let mut all: Vec<(K, Vec<(usize, &Message)>)> = of.into_iter().collect();
    all.sort_by_key(|(_, list)| list[0].0);
    let told = all.into_iter().filter_map(|(key, all)| {
        let (shown, place, before) = first_near(case, &stages, &all)?;
        let at = all.iter().find(|a| a.1.line == shown.line)?.0;
        place.is_near().then_some((key, Beside { shown, at, place, before, all }))
    });
    told.take(MOST).collect()
}

/// The level and the sentence of each finding of `judge` in a log with `before` a sleep of two
/// seconds, which begins at 100 s, and `behind` it.
#[cfg(test)]
pub(super) fn told(
    judge: impl Fn(&Case, &mut Vec<crate::finding::Finding>),
    before: &[&str],
    behind: &[(i64, &str)],
) -> Vec<(Level, String)> {
    use crate::attempt::Attempt;
    use dormouse_base::time::Ns;
    let before: Vec<(i64, &str)> = before.iter().map(|l| (10, *l)).collect();
    let sleep = [(100_000, "PM: suspend entry (deep)"), (102_000, "PM: suspend exit")];
    let log = [&before[..], &sleep, behind].concat();
    let first = before.len();
    let exit = Some(Ns::from_ms(102_000));
    let attempt = Attempt { first, end: first + 2, closed: true, exit, ..Attempt::default() };
    let case = Case { attempts: vec![attempt], ..Case::of_log(&log) };
    let mut out = Vec::new();
    judge(&case, &mut out);
    out.into_iter().map(|f| (f.level, f.sentence)).collect()
}
