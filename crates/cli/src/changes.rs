//! Changes of a machine as options of a verb.

use crate::number::number;
use clap::Args;
use dormouse_app::changes::Changes;

/// What may be asked to change; several changes combine.
#[derive(Args)]
pub(crate) struct ChangeArgs {
    /// Kernel release such as 6.12.100, or a series such as 6.12, which stands for
    /// its newest release. Or a way of scheduling by its name: G0 (pm_async off),
    /// G1 (up to 6.15), G1w (6.8 and its backports), G2 (6.16), G3 (6.17), G4 (from
    /// 6.17.8), GS and DC (never merged).
    #[arg(long, value_name = "V|POLICY")]
    kernel: Option<String>,
    /// Value of /sys/power/pm_async.
    #[arg(long, value_name = "0|1", value_parser = number::<u8>(0, 1))]
    pm_async: Option<u8>,
    /// Make matching devices asynchronous (name or DRIVER/NAME, * and ?).
    #[arg(long = "async", value_name = "PATTERN")]
    asynchronous: Vec<String>,
    /// Make matching devices synchronous.
    #[arg(long, value_name = "PATTERN")]
    sync: Vec<String>,
    /// Remove matching devices and what depends on them; 'domain:gpu' are the
    /// devices in a power domain.
    #[arg(long, value_name = "PATTERN")]
    without: Vec<String>,
    /// Multiply the times of matching devices, such as 'usb*=0.5'; 'usb*@msleep=0.5' only
    /// what their callbacks wait for there, or at that caller (record --inside).
    #[arg(long, value_name = "PATTERN=F")]
    scale: Vec<String>,
    /// Let callbacks of matching devices run in another phase, such as
    /// 'i2c*=noirq:late': two of suspend, late and noirq move both halves, with early
    /// or resume only the way up.
    #[arg(long = "move", value_name = "PATTERN=FROM:TO")]
    moves: Vec<String>,
    /// Change a power domain of the board: words of its line, such as
    /// 'gpu=always_on', 'gpu=on=2ms' or 'gpu=governor=simple_qos'.
    #[arg(long = "domain", value_name = "DOMAIN=WORDS")]
    domains: Vec<String>,
    /// Let matching devices take so long to wake, such as 'gpu*=20ms' (0: never suspend
    /// them; none: any time). Governors of power domains decide by it how deep their
    /// domain goes at run time, and so what a sleep must switch.
    #[arg(long = "resume-latency", value_name = "PATTERN=TIME")]
    qos: Vec<String>,
    /// Leave matching devices suspended, as they are at run time: direct-complete, as
    /// far as what depends on them allows it.
    #[arg(long, value_name = "PATTERN")]
    leave_suspended: Vec<String>,
    /// Number of CPUs.
    #[arg(long, value_name = "N", value_parser = number::<u32>(1, 65_536))]
    cpus: Option<u32>,
}

impl ChangeArgs {
    /// What is asked to change.
    pub(crate) fn changes(&self) -> Changes {
        Changes {
            kernel: self.kernel.clone(),
            pm_async: self.pm_async.map(|on| on == 1),
            asynchronous: self.asynchronous.clone(),
            sync: self.sync.clone(),
            without: self.without.clone(),
            scale: self.scale.clone(),
            moves: self.moves.clone(),
            domains: self.domains.clone(),
            qos: self.qos.clone(),
            leave_suspended: self.leave_suspended.clone(),
            cpus: self.cpus,
        }
    }
}
