//! Boards. One binary, because linking is most of the cost of a small
//! test; each file is a module of it.

mod board_derive;
mod board_format;
mod board_generate;
