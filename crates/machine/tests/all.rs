//! The recorder on a made-up tree. One binary, because linking is most of the cost of a small
//! test; each file is a module of it.

mod apply;
mod campaign;
#[allow(dead_code, reason = "each module uses its own part")]
mod fake;
mod guard;
mod hold;
mod mark;
mod presync;
mod record;
mod trials;
