//! The core as WebAssembly: what-if in a page.
//!
//! Three functions, JSON in and out, no generated glue: `alloc` makes room for a
//! request, `call` answers it, `free` gives both back. A page loads a
//! machine once ([`machine`]), then asks as often as it likes ([`answer`]). The
//! same code answers `dormouse predict`, so the figures are the same to the bit.

#[cfg(all(target_arch = "wasm32", target_os = "unknown"))]
mod abi;
pub mod answer;
pub mod columns;
pub mod evidence;
pub mod idle;
pub mod machine;
pub mod names;
mod replay;
