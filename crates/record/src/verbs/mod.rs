//! One file per verb that touches this machine.

mod campaign;
pub mod hold;
pub mod mark;
pub mod record;
pub mod restore;
pub mod sync;
