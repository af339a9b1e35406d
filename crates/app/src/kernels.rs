//! Which scheduling rules a request means.

use dormouse_sleep::simulate::kernel::choose;
use dormouse_sleep::simulate::policy;
use dormouse_sleep::simulate::predict::Scheduler;

/// The scheduling rules of a kernel release or of a policy by name, as asked for.
///
/// # Errors
/// A sentence, if there is no such kernel or policy, or nobody knows its rules.
pub fn scheduler(text: &str) -> Result<Scheduler, String> {
    let by = of(text)?;
    if by.kernel.is_some_and(|k| k.is_beyond_knowledge()) {
        return Err(format!(
            "nothing is known of kernel {text}: the newest whose source was read is 7.3. Ask for \
             7.3 to see what it would take if it still scheduled so"
        ));
    }
    if by.kernel.is_some_and(|k| k.series && !k.takes_series()) {
        return Err(format!(
            "{text}: the patches of kernel/upstream are written for 7.3. Ask for 7.3:series"
        ));
    }
    Ok(by)
}

fn of(text: &str) -> Result<Scheduler, String> {
    let (policy, kernel) = choose(text).map_err(|e| e.to_string())?;
    Ok(Scheduler { policy, kernel })
}

/// The rules of the kernel that a machine runs now.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    /// The rules.
    pub by: Scheduler,
    /// Neither the request nor the recording names a kernel; the newest rules
    /// are taken.
    pub guessed: bool,
}

impl Now {
    /// As asked, else as recorded, else a guess.
    ///
    /// # Errors
    /// As [`scheduler`], for the kernel that was asked for.
    pub fn of(asked: Option<&str>, release: &str) -> Result<Now, String> {
        if let Some(k) = asked {
            return Ok(Now { by: scheduler(k)?, guessed: false });
        }
        // A recording may be of a kernel that is newer than the rules.
        Ok(match of(release) {
            Ok(by) => Now { by, guessed: false },
            Err(_) => Now { by: Scheduler { policy: &policy::G4, kernel: None }, guessed: true },
        })
    }

    /// The same, but instead of a guess what the times of the recording support.
    pub fn or(self, shown: Option<Scheduler>) -> Now {
        match shown {
            Some(by) if self.guessed => Now { by, guessed: false },
            _ => self,
        }
    }
}
