//! What to record, and how.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A group of events beyond those of suspend itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Detail {
    /// Context switches, wake-ups and new tasks.
    Sched,
    /// Work items.
    Workqueue,
    /// Runtime power management.
    Rpm,
    /// CPU idle states, and what wakes CPUs.
    #[serde(alias = "cpu_idle")]
    Idle,
    /// Requests, from submission to completion, and what can make one wait:
    /// clocks, frequency scaling, runtime PM, UFS gating.
    #[serde(alias = "block")]
    Storage,
    /// Power domains that are switched, by function probes.
    Domains,
    /// What tasks do while they are frozen.
    Freeze,
    /// What a sync waits for.
    Sync,
}

impl Detail {
    /// Every group.
    pub const ALL: [Detail; 8] = [
        Detail::Sched,
        Detail::Workqueue,
        Detail::Rpm,
        Detail::Idle,
        Detail::Storage,
        Detail::Domains,
        Detail::Freeze,
        Detail::Sync,
    ];

    /// The word on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Detail::Sched => "sched",
            Detail::Workqueue => "workqueue",
            Detail::Rpm => "rpm",
            Detail::Idle => "idle",
            Detail::Storage => "storage",
            Detail::Domains => "domains",
            Detail::Freeze => "freeze",
            Detail::Sync => "sync",
        }
    }

    /// The group called `name`.
    pub fn find(name: &str) -> Option<Detail> {
        Detail::ALL.into_iter().find(|d| d.name() == name)
    }

    /// Its events, as folders below `events` of tracefs. A kernel that lacks
    /// some records the others.
    pub fn events(self) -> &'static [&'static str] {
        match self {
            Detail::Sched => &[
                "sched/sched_switch",
                "sched/sched_waking",
                "sched/sched_wakeup",
                "sched/sched_process_fork",
            ],
            Detail::Workqueue => &[
                "workqueue/workqueue_queue_work",
                "workqueue/workqueue_activate_work",
                "workqueue/workqueue_execute_start",
                "workqueue/workqueue_execute_end",
            ],
            Detail::Rpm => &[
                "rpm/rpm_suspend",
                "rpm/rpm_resume",
                "rpm/rpm_idle",
                "rpm/rpm_return_int",
                // Links of PCI Express that are trained again; from 7.x on.
                "pci/pcie_link_event",
            ],
            Detail::Idle => &[
                "power/cpu_idle",
                "power/cpu_idle_miss",
                // What a CPU of Arm asks the firmware for; from 7.x on.
                "power/psci_domain_idle_enter",
                "power/psci_domain_idle_exit",
                "power/pm_qos_update_target",
                "irq/irq_handler_entry",
                "irq/irq_handler_exit",
                "irq/softirq_raise",
                "ipi/ipi_entry",
                "ipi/ipi_send_cpu",
                "timer/timer_start",
                "timer/timer_expire_entry",
                "timer/hrtimer_start",
                "timer/hrtimer_cancel",
                "timer/hrtimer_expire_entry",
                "timer/tick_stop",
                // Who arms a timer or asks a disk, and how long it works.
                "sched/sched_waking",
                "sched/sched_switch",
                "block/block_rq_issue",
                "block/block_rq_complete",
            ],
            Detail::Storage => &[
                "block/block_bio_queue",
                "block/block_bio_backmerge",
                "block/block_bio_frontmerge",
                "block/block_split",
                "block/block_getrq",
                "block/block_rq_insert",
                "block/block_rq_issue",
                "block/block_rq_requeue",
                "block/block_rq_complete",
                "devfreq/devfreq_monitor",
                "devfreq/devfreq_frequency",
                "ufs/ufshcd_clk_gating",
                "ufs/ufshcd_clk_scaling",
                "ufs/ufshcd_profile_clk_scaling",
                "ufs/ufshcd_runtime_resume",
                "ufs/ufshcd_wl_runtime_resume",
                "ufs/ufshcd_command",
                "scsi/scsi_dispatch_cmd_start",
                "scsi/scsi_dispatch_cmd_done",
                "nvme/nvme_setup_cmd",
                "nvme/nvme_complete_rq",
                "clk/clk_enable",
                "clk/clk_disable",
                "clk/clk_set_rate",
                "rpm/rpm_suspend",
                "rpm/rpm_resume",
                "rpm/rpm_idle",
                "rpm/rpm_return_int",
                // UFS gates and ungates its clock in work items.
                "workqueue/workqueue_queue_work",
                "workqueue/workqueue_execute_start",
                "workqueue/workqueue_execute_end",
                "power/cpu_idle",
                // A queue is closed with a grace period; kernels with CONFIG_RCU_TRACE.
                "rcu/rcu_grace_period",
            ],
            // No kernel traces it.
            Detail::Domains => &[],
            Detail::Freeze => &[
                "sched/sched_switch",
                "sched/sched_waking",
                "signal/signal_generate",
                "signal/signal_deliver",
            ],
            Detail::Sync => &[
                "writeback/writeback_start",
                "writeback/writeback_written",
                "writeback/writeback_wait",
                "block/block_rq_issue",
                "block/block_rq_complete",
            ],
        }
    }
}

/// What of callbacks is recorded besides their begin and end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Inside {
    /// Nothing.
    #[default]
    Nothing,
    /// What they wait for, as far as the walk over the devices is no longer for it.
    Waits,
    /// That, and completions that are waited for without a limit, as the walk itself does.
    All,
}

/// What is written to `/sys/power/state`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// `mem`: whatever `mem_sleep` says.
    #[default]
    Mem,
    /// `freeze`: suspend-to-idle.
    Freeze,
    /// `standby`.
    Standby,
    /// `disk`: hibernation, as `/sys/power/disk` says.
    Disk,
}

impl State {
    /// The word the kernel takes.
    pub fn name(self) -> &'static str {
        match self {
            State::Mem => "mem",
            State::Freeze => "freeze",
            State::Standby => "standby",
            State::Disk => "disk",
        }
    }
}

/// What wakes the machine. Only a `pm_test` comes back without.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wake {
    /// Alarm of the first clock that has one, so many seconds ahead.
    Rtc {
        /// Seconds from arming to the alarm.
        seconds: u32,
    },
    /// Something outside: at least one device must be enabled to wake the
    /// system. `enable` lists usual paths of devices that are enabled for it.
    External {
        /// Such as `/sys/devices/platform/i8042/serio0`.
        enable: Vec<String>,
    },
    /// A driver that wakes the system by itself after `value` was written to
    /// `path`, which must then read back as `armed` (the laboratory's board
    /// module).
    Timer {
        /// Usual path.
        path: String,
        /// Written before each cycle.
        value: String,
        /// Text that the file must show afterwards.
        armed: String,
    },
}

impl Wake {
    /// As the capture file says it.
    pub fn name(&self) -> String {
        match self {
            Wake::Rtc { seconds } => format!("rtc:{seconds}"),
            Wake::External { enable } if enable.is_empty() => "external".into(),
            Wake::External { enable } => format!("external:{}", enable.join(",")),
            Wake::Timer { path, .. } => format!("timer:{path}"),
        }
    }
}

/// Everything that can be asked of the recorder. The default is one suspend
/// with `mem`, woken by the RTC after 15 seconds.
#[derive(Clone, Debug)]
pub struct Options {
    /// Cycles to record.
    pub cycles: u32,
    /// The number of the first of them.
    pub first: u32,
    /// Sleep state.
    pub state: State,
    /// `deep`, `s2idle` or `shallow`; `None` leaves it alone.
    pub mem_sleep: Option<String>,
    /// `/sys/power/disk`, what a hibernation does once its image is written:
    /// `platform`, `shutdown`, `test_resume` and others; `None` leaves it alone.
    pub disk: Option<String>,
    /// Level of `pm_test`; `None` for a real sleep.
    pub pm_test: Option<String>,
    /// What wakes the machine; not needed with `pm_test`.
    pub wake: Wake,
    /// Pause between cycles.
    pub interval: Duration,
    /// Additional events.
    pub detail: Vec<Detail>,
    /// Only when each phase begins and ends, no callbacks.
    pub phases_only: bool,
    /// Also what callbacks wait for, by function probes.
    pub inside: Inside,
    /// `/sys/power/pm_async`; `None` leaves it alone.
    pub pm_async: Option<bool>,
    /// Other files of the kernel, by usual path, and what they are set to.
    pub set: Vec<(String, String)>,
    /// Devices that are taken from their drivers: the driver's folder, and the device as its
    /// bus names it.
    pub unbind: Vec<(String, String)>,
    /// `/sys/power/sync_on_suspend`; `None` leaves it alone.
    pub sync: Option<bool>,
    /// `/sys/module/printk/parameters/console_suspend`; `None` leaves it alone.
    pub console_suspend: Option<bool>,
    /// Highest console log level while recording: a slow console costs
    /// milliseconds a line. `None` leaves it alone.
    pub console_level: Option<u8>,
    /// Leave it to the machine whether the kernel logs each callback (`pm_print_times`): two lines
    /// a callback cost more than many callbacks, and show the one that never returned.
    pub callback_lines: bool,
    /// Have the kernel log the time of each phase (`pm_debug_messages`).
    pub debug_messages: bool,
    /// Size of the trace buffer of each CPU in KiB; `None` computes it from
    /// the number of devices.
    pub buffer_kib: Option<u64>,
    /// Folder of the journal.
    pub journal: String,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            cycles: 1,
            first: 1,
            state: State::Mem,
            mem_sleep: None,
            disk: None,
            pm_test: None,
            wake: Wake::Rtc { seconds: 15 },
            interval: Duration::from_secs(5),
            detail: Vec::new(),
            phases_only: false,
            inside: Inside::Nothing,
            pm_async: None,
            set: Vec::new(),
            unbind: Vec::new(),
            sync: None,
            console_suspend: None,
            console_level: Some(3),
            callback_lines: false,
            debug_messages: true,
            buffer_kib: None,
            journal: crate::journal::FOLDER.into(),
        }
    }
}

impl Options {
    /// Whether the machine really sleeps.
    pub fn really_sleeps(&self) -> bool {
        self.pm_test.as_deref().is_none_or(|l| l == "none")
    }

    /// Whether it sleeps so that something has to wake it: neither a test nor a
    /// hibernation that restores its own image (`test_resume` in
    /// kernel/power/hibernate.c).
    pub(crate) fn must_be_woken(&self) -> bool {
        let restores_itself = self.disk.as_deref() == Some("test_resume");
        self.really_sleeps() && !(self.state == State::Disk && restores_itself)
    }
}
