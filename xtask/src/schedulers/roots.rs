//! Why a test for roots before the wait for superiors helps little, from a recording.

use anyhow::{Context, Result};
use dormouse_sleep::evidence;
use dormouse_sleep::simulate::policy::{G4, ROOT_TEST};
use dormouse_sleep::simulate::predict::{Scheduler, outlook};
use dormouse_sleep::simulate::{Profile, Settings};
use std::path::Path;

/// Prints how often the way up comes to that wait, how often a root does, and what
/// roots do instead.
pub(crate) fn explain(files: &[&str]) -> Result<()> {
    for file in files {
        let capture = crate::accuracy::recorded::capture(file)?;
        let machine = evidence::machine(&capture, None).map_err(anyhow::Error::msg)?;
        let settings = Settings { profile: Profile::x86(), pm_async: None, wakeup_at: None };
        let run = |policy| {
            let by = Scheduler { policy, kernel: machine.scheduler.kernel };
            outlook(&machine.derived.board, by, &settings).context("no schedule")
        };
        let (without, with) = (run(&G4)?, run(&ROOT_TEST)?);
        let graph = &machine.derived.board.graph;
        let listed = graph.ids().filter(|id| !graph.get(*id).facts.no_pm);
        let (mut devices, mut roots) = (0, 0);
        for id in listed {
            devices += 1;
            let supplied = graph.links.iter().any(|l| l.consumer == id);
            roots += usize::from(graph.get(id).parent.is_none() && !supplied);
        }
        let r = without.run.tally.roots;
        let up = |o: &dormouse_sleep::simulate::predict::Outlook| {
            o.half(dormouse_base::phase::Direction::Resume)
        };
        let name = Path::new(file).file_name().unwrap_or_default().to_string_lossy();
        println!(
            "{name}: {roots} of {devices} devices are roots. The three phases of the way up come \
             to the wait for superiors {} times, {} of them with a root. In the other {} visits a \
             root returns before the wait: {} left alone as they slept (direct-complete), {} not \
             suspended in that phase, {} syscore. So the test saves {} looks at the list mutex, \
             and the way up takes {} with it and {} without.",
            r.waits,
            r.of_roots,
            r.early.total(),
            r.early.direct_complete,
            r.early.not_suspended,
            r.early.syscore,
            r.of_roots,
            up(&with),
            up(&without),
        );
    }
    Ok(())
}
