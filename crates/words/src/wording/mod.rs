//! All wording lives here, as functions of facts: what each screen says of
//! numbers ([`number`]), devices ([`device`]), waits ([`reason`]), savings
//! ([`bottleneck`], and [`common`] for many cycles), certainty ([`trust`]), damage ([`losses`]), and what to do
//! next ([`next`]); what is assumed of a machine
//! ([`assumed`]) and what changing it does ([`note`]); the attempts that the doctor tells of ([`sleeps`]), and what keeps domains on ([`domains`]). The rules: line 1 answers, line 2 says how far to trust it,
//! the last line names the next command; the recording is told in the past, the
//! model with "would"; the kernel's own words; one word for one act.

pub mod assumed;
pub mod bottleneck;
pub mod common;
pub mod comparison;
pub mod costs;
pub mod device;
pub mod domains;
pub mod doubt;
pub mod inside;
pub mod losses;
pub mod modes;
pub mod next;
pub mod note;
pub mod number;
pub mod offer;
pub mod phase;
pub mod printing;
pub mod realtime;
pub mod reason;
pub mod sleeps;
pub mod storage;
pub mod switches;
pub mod trust;
pub mod unchecked;
pub mod waits;
pub mod whole;

pub use device::{device, driver, meaning, name};
pub use inside::wait;
pub use number::{percent, plural, share};
pub use phase::{capitalised, gap, phase, row};
pub use reason::{reason, silence};
