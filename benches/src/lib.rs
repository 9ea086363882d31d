//! The measured operations: the core with many participants, the node over a journal in memory, and
//! the virtual world.
//!
//! `benches/counts.rs` counts instructions, and `benches/times.rs` measures times. Everything is
//! derived from fixed seeds, so one build does the same work every time.

pub mod commands;
pub mod journalled;
pub mod listing;
pub mod mixed;
pub mod population;
pub mod worlds;
