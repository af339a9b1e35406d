//! The command as a user runs it. One binary, because linking is most of the cost of a small
//! test; each file is a module of it.

mod agreement;
mod apart;
mod back;
mod bad_input;
mod beside;
mod board;
mod boot;
mod budgets;
mod check;
mod claims;
mod cut_tables;
mod decide;
mod decide_json;
mod digits;
mod doctor;
mod domains;
mod dressed;
mod drives;
mod gates;
mod given;
mod handover;
mod handover_idle;
mod hibernate;
mod idle_words;
mod kinds;
mod kinds_lost;
mod kinds_posted;
mod kinds_told;
mod late;
mod logs;
mod machine;
mod manual;
mod mended;
mod modes;
mod paths;
mod posted;
mod proven;
mod quoted;
mod ran;
mod readme;
mod reality;
mod record;
mod redact;
mod replay;
mod requests;
mod screens;
mod search;
mod show;
mod show_real;
mod stamped;
mod sums;
mod told_asleep;
mod waits;
mod watch;
mod words;

/// Shared with the tests of the writer.
#[path = "../../words/tests/rows.rs"]
mod rows;
