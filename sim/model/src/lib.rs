//! The words of the simulator: what users and servers say to each other, what happened, what a
//! scenario plans, and what judges find. It knows neither the core nor any world.

pub mod draw;
pub mod history;
pub mod names;
pub mod outcome;
pub mod plan;
pub mod protocol;
pub mod recipe;
pub mod server;
pub mod sightings;
pub mod words;
