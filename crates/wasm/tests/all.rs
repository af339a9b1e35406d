//! The module for the page. One binary, because linking is most of the cost of a small
//! test; each file is a module of it.

mod bits;
mod machine;
