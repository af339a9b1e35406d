//! The cheapest setting of every CPU under one budget for all: an exact search.

/// What one setting of one CPU leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// What it costs.
    pub cost: i128,
    /// How far it is over the budget; negative where it leaves room for others.
    pub over: i64,
}

/// More partial solutions than this are not kept: the search then ends without
/// an answer, rather than with one that is not proven.
pub const MOST: usize = 200_000;

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoAnswer {
    /// No combination keeps the sum of `over` at 0 or below.
    NotPossible,
    /// More than [`MOST`] partial solutions, none of them better than another.
    TooMany,
}

/// For each group one of its choices, such that `over` sums to 0 or less and
/// `cost` to the least possible; of equals the one with the earlier choices.
///
/// Partial solutions that cost more and use up more than another are dropped,
/// which loses nothing; so are those that no later choice can bring back under
/// the budget.
pub fn cheapest(groups: &[Vec<Choice>]) -> Result<Vec<usize>, NoAnswer> {
    // What the groups from here on save at best.
    let mut relief = std::vec![0i64; groups.len() + 1];
    for (i, g) in groups.iter().enumerate().rev() {
        let best = g.iter().map(|c| c.over).min().ok_or(NoAnswer::NotPossible)?;
        relief[i] = relief[i + 1].saturating_add(best);
    }
    // Partial solutions with the step that led to each.
    let mut steps: Vec<(usize, usize)> = Vec::new();
    let mut front: Vec<(i128, i64, usize)> = Vec::from([(0, 0, usize::MAX)]);
    for (i, g) in groups.iter().enumerate() {
        let mut next: Vec<(i128, i64, usize, usize)> = Vec::new();
        for &(cost, over, step) in &front {
            for (at, c) in g.iter().enumerate() {
                let over = over.saturating_add(c.over);
                if over.saturating_add(relief[i + 1]) <= 0 {
                    next.push((cost + c.cost, over, at, step));
                }
            }
        }
        next.sort_unstable();
        front.clear();
        let mut least = i64::MAX;
        for (cost, over, at, step) in next {
            if over < least {
                least = over;
                steps.push((step, at));
                front.push((cost, over, steps.len() - 1));
            }
        }
        if front.is_empty() {
            return Err(NoAnswer::NotPossible);
        }
        if front.len() > MOST {
            return Err(NoAnswer::TooMany);
        }
    }
    let (_, _, mut step) = front[0];
    let mut out = Vec::new();
    while let Some(&(before, at)) = steps.get(step) {
        out.push(at);
        step = before;
    }
    out.reverse();
    Ok(out)
}
