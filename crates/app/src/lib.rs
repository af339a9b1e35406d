//! The use cases of dormouse, one function each.
//!
//! The command line and the page parse a request, call one function here and
//! print what it returns; nothing here prints. The modules without the feature
//! `host` are pure and run in the page too; the others read files, record, or
//! boot guests of the laboratory.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod changes;
pub mod kernels;
pub mod predict;
pub mod words;

#[cfg(feature = "host")]
pub mod apply;
#[cfg(feature = "host")]
pub mod boot;
#[cfg(feature = "host")]
pub mod calibrate;
#[cfg(feature = "host")]
pub mod check;
#[cfg(feature = "host")]
pub mod clocks;
#[cfg(feature = "host")]
pub mod compare;
#[cfg(feature = "host")]
mod confirm;
#[cfg(feature = "host")]
pub mod doctor;
#[cfg(feature = "host")]
pub mod domains;
#[cfg(feature = "host")]
pub mod evaluate;
#[cfg(feature = "host")]
pub mod explain;
#[cfg(feature = "host")]
pub mod failure;
#[cfg(feature = "host")]
pub mod faults;
#[cfg(feature = "host")]
pub mod idle;
#[cfg(feature = "host")]
pub mod links;
#[cfg(feature = "host")]
pub mod machine;
#[cfg(feature = "host")]
pub mod modes;
#[cfg(feature = "host")]
pub mod nothing;
#[cfg(feature = "host")]
pub mod plan;
#[cfg(feature = "host")]
pub mod ready;
#[cfg(feature = "host")]
pub mod redact;
#[cfg(feature = "host")]
pub mod replay;
#[cfg(feature = "host")]
pub mod search;
#[cfg(feature = "host")]
pub mod settings;
#[cfg(feature = "host")]
pub mod storage;
#[cfg(feature = "host")]
pub mod subject;
#[cfg(feature = "host")]
pub mod tables;
#[cfg(feature = "host")]
pub mod tune;
#[cfg(feature = "host")]
pub mod verify;
#[cfg(feature = "host")]
pub mod ways;
