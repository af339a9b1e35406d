//! See ARCHITECTURE.md for what this room holds.
