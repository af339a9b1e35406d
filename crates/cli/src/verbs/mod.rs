//! One file per verb. A verb reads its arguments, calls the rooms and prints.

pub mod board;
pub mod compare;
pub mod record;
pub mod restore;
pub mod predict;
pub mod export;
pub mod report;
pub mod show;
