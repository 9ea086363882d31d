//! What is measured, whatever measures it: the core with many participants, the node over a
//! journal in memory, the virtual world.
//!
//! `benches/counts.rs` counts instructions, `benches/times.rs` takes the time, and the program
//! `growth` does both from a thousand participants to a million. Everything follows from fixed
//! seeds, so that one build does the same work every time.

pub mod commands;
pub mod crowd;
pub mod journalled;
pub mod mixed;
pub mod worlds;
