//! Seeded virtual users that drive the chat core in virtual time, and judge what they saw.

pub mod cli;
pub mod commands;
pub mod compare;
pub mod coverage;
mod disk;
pub mod draw;
pub mod engine;
pub mod exhaust;
pub mod history;
pub mod metrics;
pub mod names;
pub mod output;
pub mod plan;
pub mod properties;
pub mod protocol;
pub mod report;
pub mod result;
pub mod runner;
pub mod scenario;
pub mod sometimes;
pub mod trace;
mod translate;
pub mod user;
pub mod world;
