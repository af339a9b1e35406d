//! The laboratory; what boots a guest is ignored by default. One binary, because linking is most of the cost of a small
//! test; each file is a module of it.

mod cases;
mod module;
mod overhead;
mod repeat;
mod soak;
