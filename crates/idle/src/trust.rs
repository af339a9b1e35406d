//! Whether a prediction may be trusted: the model is held against the recording that it
//! starts from, and no change is claimed that is smaller than what it misses there.

use crate::predict::Account;
use serde::Serialize;

/// A model that misses the recording by more than this part of idle time in some state,
/// in thousandths, predicts nothing: a tenth of the time in another state than was
/// recorded is more than most settings change (docs/validation/idle.md). Chosen, not
/// measured.
pub(crate) const TRUSTED: u64 = 100;

/// What a recording says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// 99th percentile of wake-up delays, ns, where it tells when events came.
    pub p99: Option<i64>,
    /// Energy of its sleeps, as [`Account::energy`].
    pub energy: i128,
    /// Time of it, ns, of all CPUs; 0 where replays cover all of it.
    pub span: i64,
}

/// What becomes of a prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It is told.
    Trusted,
    /// The model does not reproduce the recording.
    #[serde(rename = "misses_the_recording")]
    Misses,
    /// It does, and misses by more than what the change would do.
    #[serde(rename = "change_below_misses")]
    Within,
}

/// A model of the present and what it is held against.
#[derive(Clone, Copy, Debug)]
pub struct Trust<'a> {
    /// State and thousandths of idle time by which the model misses most.
    pub error: Option<(usize, u64)>,
    /// What the recording says of itself.
    pub measured: Option<Measured>,
    /// The model of the present.
    pub now: &'a Account,
}

/// Energy of a time as long as `span`: replays may end sooner than the recording.
pub fn energy_over(energy: i128, of: &Account, span: i64) -> i128 {
    if of.span > 0 && span > 0 { energy * i128::from(span) / i128::from(of.span) } else { energy }
}

/// Whether a model with this error reproduces its recording.
pub fn reproduces(error: Option<(usize, u64)>) -> bool {
    error.is_some_and(|e| e.1 <= TRUSTED)
}

fn p99(a: &Account) -> i64 {
    a.delay(990).unwrap_or(0)
}

impl Trust<'_> {
    /// Whether energy changes by more than what the model misses of it.
    pub fn tells_energy(&self, then: &Account) -> bool {
        let change = (energy_over(then.energy, then, self.now.span) - self.now.energy).abs();
        let Some(m) = self.measured else { return true };
        let off = (energy_over(self.now.energy, self.now, m.span) - m.energy).abs();
        // As parts of what each is compared with.
        change * m.energy.abs().max(1) > off * self.now.energy.abs()
    }

    /// Whether the 99th percentile of delays changes by more than what the model misses
    /// of it; where that is not known, any change is told.
    pub fn tells_delay(&self, then: &Account) -> bool {
        let off = self.measured.and_then(|m| m.p99).map_or(-1, |m| (p99(self.now) - m).abs());
        (p99(then) - p99(self.now)).abs() > off
    }

    /// Whether anything changes by more than what the model misses.
    fn tells(&self, then: &Account) -> bool {
        let delay = p99(then) != p99(self.now) && self.tells_delay(then);
        self.tells_energy(then) || delay
    }

    /// What becomes of a prediction of `then`; nothing was changed without it.
    pub fn verdict(&self, then: Option<&Account>) -> Verdict {
        match then {
            _ if !reproduces(self.error) => Verdict::Misses,
            Some(then) if !self.tells(then) => Verdict::Within,
            _ => Verdict::Trusted,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn account(energy: i128, delay: i64) -> Account {
        Account { energy, delays: BTreeMap::from([(delay, 10)]), span: 1_000, ..Account::default() }
    }

    #[test]
    fn a_change_below_what_the_model_misses_is_not_trusted() {
        let now = account(200, 50_000);
        let trust = |error, energy, p99| Trust {
            error: Some((0, error)),
            measured: Some(Measured { p99, energy, span: 1_000 }),
            now: &now,
        };
        let then = account(150, 20_000);
        assert_eq!(trust(TRUSTED, 210, Some(51_000)).verdict(Some(&then)), Verdict::Trusted);
        assert_eq!(trust(TRUSTED + 1, 200, Some(50_000)).verdict(Some(&then)), Verdict::Misses);
        // 200 instead of 300 is a third off, and the change a quarter.
        assert!(!trust(0, 300, None).tells_energy(&then));
        assert_eq!(trust(0, 300, Some(90_000)).verdict(Some(&then)), Verdict::Within);
        assert_eq!(trust(0, 300, Some(60_000)).verdict(Some(&then)), Verdict::Trusted);
        assert_eq!(trust(0, 300, Some(90_000)).verdict(None), Verdict::Trusted);
        // A replay that ends at half the time has half the energy.
        let half = Account { span: 500, ..account(100, 50_000) };
        assert!(!trust(0, 200, Some(50_000)).tells_energy(&half));
        // Where delays were not measured, only one that changes is told of.
        assert_eq!(trust(0, 300, None).verdict(Some(&then)), Verdict::Trusted);
        assert_eq!(trust(0, 300, None).verdict(Some(&account(150, 50_000))), Verdict::Within);
    }
}
