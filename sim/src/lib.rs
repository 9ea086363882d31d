//! Seeded virtual users that drive the chat core in virtual time, and judge what they saw.

pub mod calibration;
pub mod caught;
pub mod charts;
pub mod cli;
pub mod commands;
pub mod compare;
pub mod coverage;
pub mod diagram;
mod disk;
pub mod engine;
pub mod exhaust;
pub mod explore;
pub mod live;
pub mod metrics;
pub mod output;
pub mod report;
pub mod result;
pub mod runner;
pub mod scenario;
pub mod shrink;
pub mod sometimes;
mod stuck;
pub mod trace;
mod translate;
pub mod user;
pub mod world;

pub use sim_model::{draw, history, names, plan, protocol, recipe};
