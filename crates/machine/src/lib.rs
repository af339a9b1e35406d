//! The recorder: what happened in a sleep cycle, from tracefs, sysfs and the
//! kernel log, and the guard that puts every knob back.
//!
//! [`recorder::record`] is the whole of it: it describes the machine
//! ([`devices`], [`machine`]), sets knobs through the [`guard`], which announces
//! each change in the [`journal`], makes an instance in tracefs ([`tracing`]),
//! arms and checks a way to wake up ([`mod@wake`]), runs the cycles, and gives a
//! [`recording::Recording`] that saves itself as a capture file ([`file`]).
//! [`mod@watch`] records a machine that stays awake, with the same guard.
//! [`natural`] reads what is cheap around a sleep that nobody records.
//! [`mod@look`] reads what a running machine says of its sleep, and writes nothing.
//! [`mod@presync`] writes what sleep would sync, and can be ended.
//! [`mark`] writes one line for a program that is ready.
//! [`apply`] tries flags with it and keeps those that help.
//! Every file of the kernel is named below a [`root::Root`], so all of it runs
//! on a made-up tree as well.
pub mod apply;
pub mod campaign;
pub mod cut;
pub mod devices;
pub mod domains;
pub mod file;
pub mod guard;
pub mod hold;
pub mod idle;
mod inside;
pub mod journal;
pub mod kmsg;
pub mod knob;
mod list;
pub mod look;
pub mod machine;
pub mod mark;
pub mod measure;
pub mod natural;
pub mod options;
pub mod presync;
pub mod process;
pub mod recorder;
pub mod recording;
pub mod root;
pub mod storage;
pub mod suppliers;
mod system;
pub mod tracing;
pub mod trials;
pub mod wake;
mod wakers;
pub mod watch;
pub mod writers;
