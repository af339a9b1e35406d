//! The core as WebAssembly.
