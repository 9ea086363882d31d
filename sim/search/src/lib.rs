//! Judged runs of the virtual world: one seed or many, explored, shrunk, and every interleaving of
//! a tiny world.

pub mod exhaust;
pub mod explore;
pub mod panics;
pub mod replay;
pub mod runner;
pub mod seed;
pub mod shrink;
mod workload;
