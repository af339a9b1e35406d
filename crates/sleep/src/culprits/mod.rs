//! Which of many settings bring a trouble that comes once in some sleeps: found by sleeping with
//! some of them on and the others off, and looking whether the trouble came.
//!
//! Nothing is known beforehand but that at most two of them are to blame. Every guess (one of
//! them; two, each by itself; two, only together; none of them) has a weight, by Bayes' rule of
//! all sleeps so far, for each of four rates from "always" to "once in so many sleeps". The
//! next sleep is the one that is expected to tell most (group testing with noise). A guess is
//! believed at [`SURE`], and said only when sleeps without its settings have stayed without
//! trouble for so long that the same luck is rarer than [`LUCK`].
//!
//! All of it follows from the list of sleeps alone, so a search that was killed goes on from
//! that list.

use dormouse_base::stats::random::Random;

#[cfg(test)]
mod tests;

/// Weight at which a guess is put to the proof.
pub const SURE: f64 = 0.995;
/// How likely the sleeps of the proof may be without trouble if the guess is wrong.
pub const LUCK: f64 = 0.01;
/// Fewest sleeps of a proof: what always comes could miss one for a reason of its own.
const LEAST_PROOF: u32 = 5;
/// How often a trouble comes for another reason than the search is about, such as a hand on
/// the keyboard.
const STRAY: f64 = 0.001;
/// Settings that can be searched at once: the guesses grow with their square.
pub const MOST: usize = 256;
/// Rates between always and the rarest.
const RATES: usize = 4;
/// Sleeps drawn at random among which the most telling is looked for.
const DRAWN: usize = 12;

/// How culprits work together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// There is one.
    Alone,
    /// Each of two brings the trouble without the other.
    Each,
    /// Two bring it only together, so it is enough to turn one of them off.
    Together,
}

/// One sleep of the search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// Which settings were on.
    pub on: Vec<bool>,
    /// The trouble came.
    pub troubled: bool,
}

/// What the search found.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// These bring it.
    Found(Culprits),
    /// It comes with all of them off.
    Elsewhere {
        /// Sleeps with all off in which it came.
        troubled: u32,
        /// Sleeps with all off.
        sleeps: u32,
    },
    /// It never came, so it is rarer than what was looked for.
    Quiet {
        /// Sleeps with all settings on.
        sleeps: u32,
    },
}

/// Settings that bring the trouble.
#[derive(Clone, Debug, PartialEq)]
pub struct Culprits {
    /// Which; two at most, in the order of the list.
    pub settings: Vec<usize>,
    /// How they work together.
    pub way: Way,
    /// Weight of this guess among all.
    pub sure: f64,
    /// Sleeps with a culprit on (with both, where it takes both) in which the trouble came.
    pub troubled: u32,
    /// Sleeps with a culprit on (with both, where it takes both).
    pub sleeps: u32,
    /// Sleeps of the proof: all others on, and no trouble.
    pub clean: u32,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Sleep with these on.
    Sleep(Vec<bool>),
    /// There is nothing more to learn.
    Done(Verdict),
}

/// A guess without its rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Guess {
    Quiet,
    Elsewhere,
    One(usize),
    Each(usize, usize),
    Together(usize, usize),
}

/// A search, as far as it has come.
#[derive(Clone, Debug)]
pub struct Search {
    settings: usize,
    /// From always down to the rarest.
    rates: [f64; RATES],
    guesses: Vec<Guess>,
    /// Where the weights of a guess begin; one more than there are guesses.
    starts: Vec<usize>,
    /// Of each guess at each of its rates; they add up to 1.
    weights: Vec<f64>,
    trials: Vec<Trial>,
}

impl Search {
    /// A search among so many settings for a trouble that comes at least once in `rarest`
    /// sleeps with the culprits on. More than [`MOST`] settings are cut off.
    #[must_use]
    pub fn new(settings: usize, rarest: u32) -> Search {
        let n = settings.min(MOST);
        let least = 1.0 / f64::from(rarest.max(2));
        let rate = |k: usize| least.powf(k as f64 / (RATES - 1) as f64).min(1.0 - STRAY);
        let rates = std::array::from_fn(rate);
        let mut guesses = vec![Guess::Quiet, Guess::Elsewhere];
        guesses.extend((0..n).map(Guess::One));
        let pairs = || (0..n).flat_map(move |i| (i + 1..n).map(move |j| (i, j)));
        guesses.extend(pairs().map(|(i, j)| Guess::Each(i, j)));
        guesses.extend(pairs().map(|(i, j)| Guess::Together(i, j)));
        let several = (n * n.saturating_sub(1) / 2).max(1) as f64;
        let (mut starts, mut weights) = (vec![0], Vec::new());
        for guess in &guesses {
            // One culprit is more likely than two; where there is none, nobody would search.
            let (share, count) = match guess {
                Guess::Quiet => (0.05, 1),
                Guess::Elsewhere => (0.15, RATES),
                Guess::One(_) => (0.5 / n as f64, RATES),
                Guess::Each(..) => (0.15 / several, RATES * RATES),
                Guess::Together(..) => (0.15 / several, RATES),
            };
            weights.extend(std::iter::repeat_n(share / count as f64, count));
            starts.push(weights.len());
        }
        let mut search =
            Search { settings: n, rates, guesses, starts, weights, trials: Vec::new() };
        search.normalise();
        search
    }

    /// Takes in a sleep.
    pub fn saw(&mut self, trial: Trial) {
        for n in 0..self.guesses.len() {
            for rate in 0..self.starts[n + 1] - self.starts[n] {
                let p = self.chance(self.guesses[n], rate, &trial.on);
                let likely = if trial.troubled { p } else { 1.0 - p };
                self.weights[self.starts[n] + rate] *= likely;
            }
        }
        self.normalise();
        self.trials.push(trial);
    }

    /// The sleeps so far.
    #[must_use]
    pub fn trials(&self) -> &[Trial] {
        &self.trials
    }

    /// What to do next.
    #[must_use]
    pub fn next(&self) -> Step {
        let shares = self.shares();
        let best = (0..shares.len()).max_by(|a, b| shares[*a].total_cmp(&shares[*b])).unwrap_or(0);
        if shares[best] < SURE {
            return Step::Sleep(self.most_telling());
        }
        let (guess, sure) = (self.guesses[best], shares[best]);
        let on = without(self.settings, &remedy(guess));
        match guess {
            Guess::Quiet => Step::Done(Verdict::Quiet { sleeps: self.count(|t| t.on == on).1 }),
            Guess::Elsewhere => {
                let off = vec![false; self.settings];
                match self.count(|t| t.on == off) {
                    (troubled, sleeps) if troubled >= 2 => {
                        Step::Done(Verdict::Elsewhere { troubled, sleeps })
                    }
                    _ => Step::Sleep(off),
                }
            }
            _ => {
                let clean = self.trials.iter().rev().filter(|t| t.on == on);
                let clean = clean.take_while(|t| !t.troubled).count() as u32;
                if clean < self.proof(best) {
                    return Step::Sleep(on);
                }
                let settings = members(guess);
                let way = match guess {
                    Guess::Each(..) => Way::Each,
                    Guess::Together(..) => Way::Together,
                    _ => Way::Alone,
                };
                let is_on = |t: &Trial| match way {
                    Way::Together => settings.iter().all(|i| t.on[*i]),
                    _ => settings.iter().any(|i| t.on[*i]),
                };
                let (troubled, sleeps) = self.count(is_on);
                let found = Culprits { settings, way, sure, troubled, sleeps, clean };
                Step::Done(Verdict::Found(found))
            }
        }
    }

    /// Settings with the weight that each is a culprit, the most suspected first.
    #[must_use]
    pub fn suspects(&self) -> Vec<(usize, f64)> {
        let mut suspects = vec![0.0; self.settings];
        for (guess, share) in self.guesses.iter().zip(self.shares()) {
            members(*guess).into_iter().for_each(|i| suspects[i] += share);
        }
        let mut suspects: Vec<(usize, f64)> = suspects.into_iter().enumerate().collect();
        suspects.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        suspects
    }

    /// How likely the trouble comes with these on, if `guess` is right at its rate of this
    /// number.
    fn chance(&self, guess: Guess, rate: usize, on: &[bool]) -> f64 {
        let by = |setting: usize, rate: usize| if on[setting] { self.rates[rate] } else { 0.0 };
        let p = match guess {
            Guess::Quiet => 0.0,
            Guess::Elsewhere => self.rates[rate],
            Guess::One(i) => by(i, rate),
            Guess::Each(i, j) => 1.0 - (1.0 - by(i, rate / RATES)) * (1.0 - by(j, rate % RATES)),
            Guess::Together(i, j) => by(i, rate).min(by(j, rate)),
        };
        p.clamp(STRAY, 1.0 - STRAY)
    }

    fn normalise(&mut self) {
        let sum: f64 = self.weights.iter().sum();
        self.weights.iter_mut().for_each(|w| *w /= sum);
    }

    /// The weight of each guess at all its rates.
    fn shares(&self) -> Vec<f64> {
        self.starts.windows(2).map(|w| self.weights[w[0]..w[1]].iter().sum()).collect()
    }

    /// Sleeps of a kind: with trouble, and all.
    fn count(&self, is: impl Fn(&Trial) -> bool) -> (u32, u32) {
        let of_kind = || self.trials.iter().filter(|t| is(t));
        (of_kind().filter(|t| t.troubled).count() as u32, of_kind().count() as u32)
    }

    /// Sleeps without trouble that prove this guess: at the lowest rate that is not yet out of
    /// the question, more would be luck.
    fn proof(&self, guess: usize) -> u32 {
        let weights = &self.weights[self.starts[guess]..self.starts[guess + 1]];
        let all: f64 = weights.iter().sum();
        let possible = weights.iter().enumerate().filter(|(_, w)| **w > 0.05 * all);
        // Where each of two brings it, the rarer of the two is the one to prove.
        let rarest = possible.map(|(n, _)| (n / RATES).max(n % RATES)).max().unwrap_or(0);
        let p = self.rates[rarest.min(RATES - 1)];
        ((LUCK.ln() / (1.0 - p).ln()).ceil() as u32).max(LEAST_PROOF)
    }

    /// The sleep that is expected to tell most.
    fn most_telling(&self) -> Vec<bool> {
        let n = self.settings;
        let suspects: Vec<usize> = self.suspects().into_iter().map(|s| s.0).collect();
        let mut designs = vec![vec![true; n], vec![false; n]];
        let mut top = 1;
        while top < n {
            designs.push(without(n, &suspects[top..]));
            designs.push(without(n, &suspects[..top]));
            top = (top + 1).max(top * 3 / 2);
        }
        let mut random = Random::new(self.trials.len() as u64);
        for drawn in 0..DRAWN {
            // From a quarter of them to all but a quarter.
            let part = 1 + (drawn % 3) as u64;
            designs.push((0..n).map(|_| random.chance(part, 4)).collect());
        }
        let mut best = (f64::NEG_INFINITY, 0);
        for (k, design) in designs.iter().enumerate() {
            let told = self.told(design);
            // Of two that tell the same the first is taken, whatever the rounding.
            if told > best.0 + 1e-9 {
                best = (told, k);
            }
        }
        designs.swap_remove(best.1)
    }

    /// Information that a sleep with these on is expected to give, in nats: between the guess
    /// and whether the trouble comes.
    fn told(&self, on: &[bool]) -> f64 {
        let (mut p, mut known) = (0.0, 0.0);
        for n in 0..self.guesses.len() {
            for rate in 0..self.starts[n + 1] - self.starts[n] {
                let weight = self.weights[self.starts[n] + rate];
                if weight > 1e-12 {
                    let chance = self.chance(self.guesses[n], rate, on);
                    p += weight * chance;
                    known += weight * entropy(chance);
                }
            }
        }
        entropy(p) - known
    }
}

/// Of an event with this chance, in nats.
fn entropy(p: f64) -> f64 {
    let part = |p: f64| if p > 0.0 { -p * p.ln() } else { 0.0 };
    part(p) + part(1.0 - p)
}

/// All on but these.
fn without(settings: usize, off: &[usize]) -> Vec<bool> {
    let mut on = vec![true; settings];
    off.iter().for_each(|i| on[*i] = false);
    on
}

fn members(guess: Guess) -> Vec<usize> {
    match guess {
        Guess::Quiet | Guess::Elsewhere => Vec::new(),
        Guess::One(i) => vec![i],
        Guess::Each(i, j) | Guess::Together(i, j) => vec![i, j],
    }
}

/// What is to be off so that the trouble goes.
fn remedy(guess: Guess) -> Vec<usize> {
    match guess {
        Guess::Together(_, j) => vec![j],
        guess => members(guess),
    }
}

impl Culprits {
    /// The settings that are to be off so that the trouble goes.
    #[must_use]
    pub fn remedy(&self) -> &[usize] {
        match self.way {
            Way::Together => &self.settings[1..],
            _ => &self.settings,
        }
    }
}
