//! What is measured, whatever measures it: the core with many participants, the node over a
//! journal in memory, the virtual world.
//!
//! `benches/counts.rs` counts instructions, and `benches/times.rs` takes the time. Everything follows
//! from fixed seeds, so that one build does the same work every time.

pub mod commands;
pub mod crowd;
pub mod journalled;
pub mod mixed;
#[cfg(feature = "load")]
pub mod server;
#[cfg(feature = "load")]
pub mod wire;
pub mod worlds;

/// What goes wrong ends the program with its sentence.
pub type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;
