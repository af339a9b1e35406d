//! Settings that somebody would change.

use crate::failure::Usage;
use dormouse_storage::simulate::ondemand::Thresholds;
use dormouse_storage::simulate::settings::{Drive, Governor, Qos, Settings};

/// Where quality of service would be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Site {
    /// Nowhere.
    Off,
    /// On the device that devfreq listens to.
    Parent,
    /// On the disk.
    Lun,
}

/// What would be changed; `None` stays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Delay before the clock is gated, ns; inside, `None` for never.
    pub gate: Option<Option<i64>>,
    /// Delay before runtime suspend, ns.
    pub autosuspend: Option<Option<i64>>,
    /// Who chooses the clock; thresholds stay.
    pub governor: Option<Governor>,
    /// Time between two looks, ns.
    pub poll: Option<i64>,
    /// Lower limit, Hz.
    pub least: Option<u64>,
    /// Upper limit, Hz.
    pub most: Option<u64>,
    /// Quality of service.
    pub site: Option<Site>,
    /// When it is dropped, ns.
    pub timeout: Option<i64>,
}

impl Change {
    /// Whether it changes nothing.
    pub fn is_none(&self) -> bool {
        *self == Change::default()
    }

    /// Whether the clock is in question, not only a sleep.
    pub fn of_clock(&self) -> bool {
        *self != Change { gate: self.gate, autosuspend: self.autosuspend, ..Change::default() }
    }

    /// The settings after it.
    ///
    /// # Errors
    /// [`Usage`] if an option lacks another.
    pub fn apply(&self, drive: &Drive, s: &Settings) -> Result<Settings, Usage> {
        let mut s = *s;
        let d = &mut s.devfreq;
        if let Some(g) = self.governor {
            let own = match d.governor {
                Governor::SimpleOndemand(t) => t,
                _ => Thresholds::default(),
            };
            d.governor = match g {
                Governor::SimpleOndemand(_) => Governor::SimpleOndemand(own),
                g => g,
            };
        }
        d.poll = self.poll.unwrap_or(d.poll);
        d.least = self.least.unwrap_or(d.least);
        d.most = self.most.unwrap_or(d.most);
        if d.poll <= 0
            && drive.levels.len() > 1
            && matches!(d.governor, Governor::SimpleOndemand(_))
        {
            return Err(Usage("simple_ondemand needs --poll".into()));
        }
        let timeout = self.timeout.or(s.qos.timeout());
        let asked = self.site.unwrap_or(match s.qos {
            Qos::Off => Site::Off,
            Qos::Host { .. } => Site::Parent,
            Qos::Disk { .. } => Site::Lun,
        });
        s.qos = match (asked, timeout) {
            (Site::Off, _) => Qos::Off,
            (_, None) => return Err(Usage("--qos needs --timeout, such as 30ms".into())),
            (Site::Parent, Some(timeout)) => Qos::Host { timeout },
            (Site::Lun, Some(timeout)) => Qos::Disk { timeout },
        };
        s.gate = self.gate.unwrap_or(s.gate);
        s.autosuspend = self.autosuspend.unwrap_or(s.autosuspend);
        Ok(s)
    }
}
