//! One file a form of a command. It reads its arguments, calls a use case and prints. The page
//! that reads has none that records, boots guests or keeps history.

pub(crate) mod board;
pub(crate) mod boot;
pub(crate) mod budget;
pub(crate) mod calibrate;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod doctor;
pub(crate) mod domains;
pub(crate) mod evaluate;
pub(crate) mod export;
pub(crate) mod idle;
#[cfg(unix)]
pub(crate) mod lab;
pub(crate) mod man;
#[cfg(feature = "mcp")]
pub(crate) mod mcp;
pub(crate) mod plan;
pub(crate) mod predict;
#[cfg(unix)]
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod rpm;
#[cfg(unix)]
pub(crate) mod search;
pub(crate) mod show;
pub(crate) mod storage;
pub(crate) mod tune;
#[cfg(unix)]
pub(crate) mod watch;

pub(crate) use dormouse_record::verbs::restore;
#[cfg(unix)]
pub(crate) use dormouse_record::verbs::{mark, record, sync};
