//! One file per verb. A verb reads its arguments, calls the rooms and prints.

/// Prints a line. A terminal that has gone or a pipe that was closed must not
/// end a recording, so nobody is told if it fails.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stdout(), $($text)*);
    }};
}

pub mod board;
pub mod calibrate;
pub mod compare;
pub mod export;
pub mod lab;
pub mod plan;
pub mod predict;
pub mod record;
pub mod replay;
pub mod report;
pub mod restore;
pub mod show;
pub mod tune;
