//! `dormouse record --campaign`: cycles that outlive hangs and power cuts.

use super::restore;
use crate::exit::{Ended, NOT_MET};
use crate::recording::{Terminal, observer, restore_on_panic};
use crate::terminal::print;
use anyhow::{Context, Result};
use dormouse_base::stats::binomial;
use dormouse_machine::campaign::{self, Campaign, Limits};
use dormouse_machine::cut::{Cut, Place};
use dormouse_machine::options::Options;
use dormouse_machine::root::Root;
use dormouse_read::klog::last_words;
use dormouse_words::recorded::{self as written, Endured, Failed, Hung, When};
use std::cell::RefCell;
use std::io;
use std::path::Path;

/// The share of failures that laboratories want to be below: 1 of so many cycles.
const ONE_IN: u64 = 500;
/// How sure that is to be.
const LEVEL: f64 = 0.95;

/// Records the cycles that the campaign in `folder` lacks of those of `options`.
pub(super) fn record(root: &Root, options: &Options, limits: Limits, folder: &Path) -> Result<()> {
    let shown = folder.display().to_string();
    let campaign = Campaign::open(root, folder, last_words)
        .with_context(|| format!("the campaign in {shown} cannot be used"))?;
    if let Some(cut) = &campaign.found {
        remark!("{}", written::hung(&hung(cut)).trim_end());
    }
    let stop_after = limits.stop_after;
    let cycles = options.cycles.saturating_sub(campaign.next() - 1);
    let campaign = RefCell::new(campaign);
    let (mut error, mut complaint) = (None, Ok(()));
    if cycles > 0 {
        restore_on_panic(root, &options.journal);
        let mut watch = Terminal::new(cycles)?;
        let options = Options { cycles, ..options.clone() };
        let outcome = campaign::record(&campaign, &options, limits, &mut *observer()?, &mut watch)?;
        watch.bar.finish_and_clear();
        complaint = restore::complain(&outcome.restored);
        error = outcome.error;
    }
    let campaign = campaign.into_inner();
    print(&said(&campaign))?;
    complaint?;
    if let Some(e) = error {
        return Err(e).context("the campaign ended early; every setting was put back");
    }
    match stop_after.is_some_and(|n| campaign.failed() >= n) {
        true => Err(Ended(NOT_MET).into()),
        false => Ok(()),
    }
}

/// What the whole campaign shows.
fn said(campaign: &Campaign) -> String {
    let (failed, judged) = (u64::from(campaign.failed()), u64::from(campaign.judged()));
    let refused: Vec<(u32, String, Option<&str>)> = campaign
        .ended
        .iter()
        .filter(|(_, e)| e.result != 0)
        .map(|(n, e)| {
            (*n, io::Error::from_raw_os_error(-e.result).to_string(), e.device.as_deref())
        })
        .collect();
    let refused: Vec<Failed<'_>> = refused
        .iter()
        .map(|(cycle, why, device)| Failed { cycle: *cycle, why, device: *device })
        .collect();
    let cuts: Vec<Hung<'_>> = campaign.cuts.iter().map(hung).collect();
    let lost: Vec<(u32, &[String])> =
        campaign.lost.iter().map(|(n, devices)| (*n, &devices[..])).collect();
    written::endured(&Endured {
        cycles: &campaign.cycles().display().to_string(),
        failed,
        judged,
        interval: binomial::interval(failed, judged, LEVEL),
        one_in: ONE_IN,
        more: binomial::trials_to_show(failed, 1.0 / ONE_IN as f64, LEVEL).saturating_sub(judged),
        refused: &refused,
        cuts: &cuts,
        lost: &lost,
        unreadable: campaign.unreadable,
    })
}

fn hung(cut: &Cut) -> Hung<'_> {
    Hung {
        cycle: cut.cycle,
        when: match cut.place {
            Place::Before => When::Before,
            Place::Asleep => When::Asleep,
            Place::After => When::After,
        },
        restarted: cut.restarted,
        phase: cut.phase.as_deref(),
        device: cut.device.as_deref(),
        told_by: cut.told_by.as_deref(),
    }
}
