//! What differs between kernels, and what a user can set.

/// Which rules a kernel has. Those of 6.1, 6.12 and 7.3 were read; a kernel between
/// them has the rules of the older one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rules {
    /// 6.1.
    K6_1,
    /// 6.12.
    K6_12,
    /// 7.3.
    K7_3,
}

impl Rules {
    /// All of them, oldest first.
    pub const ALL: [Rules; 3] = [Rules::K6_1, Rules::K6_12, Rules::K7_3];

    /// Of a release such as `6.12.117+deb13-arm64` or a series such as `7`.
    pub fn of(release: &str) -> Option<Rules> {
        let mut numbers = release.split(|c: char| !c.is_ascii_digit());
        let major: u32 = numbers.next()?.parse().ok()?;
        let minor: u32 = match release[digits(release)..].strip_prefix('.') {
            Some(rest) => rest[..digits(rest)].parse().ok()?,
            // Without a minor number the newest is meant.
            None => u32::MAX,
        };
        Some(match (major, minor) {
            (7.., 3..) | (8.., _) => Rules::K7_3,
            (6, 12..) | (7, _) => Rules::K6_12,
            _ => Rules::K6_1,
        })
    }

    /// The kernel they were read in.
    pub fn name(self) -> &'static str {
        match self {
            Rules::K6_1 => "6.1",
            Rules::K6_12 => "6.12",
            Rules::K7_3 => "7.3",
        }
    }

    /// What `fw_devlink=` is where nobody sets it (drivers/base/core.c).
    pub fn usual_mode(self) -> Mode {
        match self {
            Rules::K6_1 => Mode::On,
            _ => Mode::Rpm,
        }
    }
}

/// Length of the number that a text begins with.
fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

/// `fw_devlink=` (drivers/base/core.c:fw_devlink_setup).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// No links.
    Off,
    /// Links for sync_state alone; nobody waits.
    Permissive,
    /// Links order probing and system sleep.
    On,
    /// The same, and runtime power management follows them.
    Rpm,
}

impl Mode {
    /// All of them.
    pub const ALL: [Mode; 4] = [Mode::Rpm, Mode::On, Mode::Permissive, Mode::Off];

    /// The word of the command line.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Off => "off",
            Mode::Permissive => "permissive",
            Mode::On => "on",
            Mode::Rpm => "rpm",
        }
    }

    /// The mode called `name`.
    pub fn find(name: &str) -> Option<Mode> {
        Mode::ALL.into_iter().find(|m| m.name() == name)
    }

    /// Whether a device waits for a supplier.
    pub fn waits(self) -> bool {
        matches!(self, Mode::On | Mode::Rpm)
    }
}
