//! One file a form of a command. It reads its arguments, calls a use case and prints.

pub mod board;
pub mod boot;
pub mod budget;
pub mod calibrate;
pub mod compare;
pub mod completions;
pub mod doctor;
pub mod domains;
pub mod evaluate;
pub mod export;
pub mod idle;
pub mod lab;
pub mod man;
pub mod plan;
pub mod predict;
pub mod replay;
pub mod report;
pub mod rpm;
pub mod show;
pub mod storage;
pub mod tune;

pub(crate) use dormouse_record::verbs::{record, restore, sync};
