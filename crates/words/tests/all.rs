//! Writers. One binary, because linking is most of the cost of a small
//! test; each file is a module of it.

#[allow(dead_code, reason = "each module uses its own part")]
mod example;
mod json;
mod perfetto;
mod rows;
mod text;
