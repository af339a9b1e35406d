//! The kernel laboratory: real kernels suspend real device graphs in QEMU.
//!
//! The flow: [`kernels`] brings a kernel and its headers into the cache,
//! [`kmod`] builds the board module for it, [`describe`] turns a board into what
//! the module reads, [`initramfs`] packs the guest, [`qemu`] runs it,
//! `dormouse_guest` is what runs inside (as process 1), and [`answer`] unpacks what it sent.
//! [`run`] is all of that in one call, and [`capture`] makes the result a
//! capture file like any other.

pub mod answer;
mod arch;
pub mod capture;
pub mod cases;
pub mod describe;
mod disks;
pub mod error;
pub mod governor;
pub mod graft;
pub mod idle;
pub mod initramfs;
pub mod kernels;
pub mod kmod;
mod lockstep;
pub mod modprobe;
pub mod probes;
pub mod programs;
pub mod qemu;
pub mod repeat;
pub mod run;
pub mod script;
pub mod soak;
pub mod soc9000;
pub mod storage;
mod system;
pub mod trace;
pub mod udev;
pub mod userland;

pub use dormouse_guest::plan;
pub use error::{Error, Result};
