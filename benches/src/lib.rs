//! The measured operations, shared by all programs: the core with many participants, the node over
//! a journal in memory, and the virtual world.
//!
//! `benches/counts.rs` counts instructions, and `benches/times.rs` measures times. Everything is
//! derived from fixed seeds, so one build does the same work every time.

pub mod commands;
pub mod journalled;
pub mod mixed;
pub mod population;
#[cfg(feature = "load")]
pub mod server;
#[cfg(feature = "load")]
pub mod wire;
pub mod worlds;

/// An error ends the program with its message.
pub type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// The median, or the mean of the two in the middle; not a number if there is none.
pub fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    let at = |place: usize| figures.get(place).copied().unwrap_or(f64::NAN);
    let count = figures.len();
    f64::midpoint(at(count.saturating_sub(1) / 2), at(count / 2))
}
