//! Seeded virtual users that drive the chat core in virtual time, and judge what they saw.

pub mod calibration;
pub mod caught;
pub mod cli;
pub mod commands;
pub mod compare;
pub mod diagram;
mod disk;
pub mod exhaust;
pub mod explore;
pub mod live;
pub mod output;
pub mod report;
pub mod runner;
pub mod scenario;
pub mod seed;
pub mod shrink;
pub mod trace;
mod translate;
pub mod user;
pub mod world;
