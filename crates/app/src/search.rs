//! Which settings of this machine bring a trouble: sleeps with some of them off, until the
//! culprits are known or the sleeps are used up.

use anyhow::Result;
use dormouse_machine::guard::{NotRestored, Observer};
use dormouse_machine::options::Options;
use dormouse_machine::recorder::{Progress, Watch, pause};
use dormouse_machine::root::Root;
use dormouse_machine::trials::{Setting, Trials};
use dormouse_sleep::culprits::{Search, Step, Trial, Verdict};
use dormouse_sleep::simulate::change::glob;

/// What a search has come to.
#[derive(Debug)]
pub struct Searched {
    /// What was found; `None` if the sleeps were used up before, or it was stopped.
    pub verdict: Option<Verdict>,
    /// Settings with the weight that each is a culprit, the most suspected first.
    pub suspects: Vec<(usize, f64)>,
    /// Settings that could not be put back.
    pub failed: Vec<NotRestored>,
    /// Why it ended early, if it did.
    pub error: Option<anyhow::Error>,
}

/// The search that these sleeps make.
fn so_far(trials: &Trials) -> Search {
    let mut search = Search::new(trials.asked.settings.len(), trials.asked.rarest);
    for t in &trials.done {
        search.saw(Trial { on: t.on.clone(), troubled: t.trouble.is_some() });
    }
    search
}

/// Sleeps until the culprits are known, but not more than `most` times in all.
///
/// # Errors
/// If not a single step could be done.
pub fn search(
    root: &Root,
    options: &Options,
    trials: &mut Trials,
    most: usize,
    observer: &mut dyn Observer,
    watch: &mut dyn Watch,
) -> Result<Searched> {
    let mut search = so_far(trials);
    let mut out = Searched { verdict: None, suspects: Vec::new(), failed: Vec::new(), error: None };
    let mut first = true;
    loop {
        let on = match search.next() {
            Step::Done(verdict) => {
                out.verdict = Some(verdict);
                break;
            }
            Step::Sleep(on) => on,
        };
        if trials.done.len() >= most || (!first && !pause(options.interval, watch)) {
            break;
        }
        let sleep = trials.done.len() as u32 + 1;
        watch.progress(Progress::Begin(sleep));
        let slept = trials.sleep(root, options, on, observer, &mut Quiet(&*watch));
        let slept = match slept {
            Ok(slept) => slept,
            Err(e) if first => return Err(e.into()),
            Err(e) => {
                out.error = Some(e.into());
                break;
            }
        };
        first = false;
        out.failed = slept.restored.failed;
        out.error = slept.error.map(Into::into);
        let Some(last) = trials.done.get(sleep as usize - 1) else { break };
        watch.progress(Progress::End { cycle: sleep, result: 0, lost: 0 });
        if !out.failed.is_empty() || out.error.is_some() {
            break;
        }
        search.saw(Trial { on: last.on.clone(), troubled: last.trouble.is_some() });
    }
    out.suspects = search.suspects();
    Ok(out)
}

/// Each sleep is a recording of one cycle; progress is that of the search.
struct Quiet<'a>(&'a dyn Watch);

impl Watch for Quiet<'_> {
    fn stop(&self) -> bool {
        self.0.stop()
    }
}

/// Settings of `all` whose device is meant by one of `patterns` (name, `*` and `?`); all of
/// them without a pattern.
#[must_use]
pub fn among(all: Vec<Setting>, patterns: &[String]) -> Vec<Setting> {
    let meant = |s: &Setting| {
        patterns.is_empty()
            || patterns.iter().any(|p| {
                let p = p.strip_prefix("/sys").unwrap_or(p);
                glob(p, &s.name) || p == s.devpath
            })
    };
    all.into_iter().filter(|s| meant(s)).collect()
}
