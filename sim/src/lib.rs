//! Seeded virtual users that drive the chat core in virtual time, and judge what they saw.

pub mod draw;
pub mod history;
pub mod metrics;
pub mod names;
pub mod plan;
pub mod properties;
pub mod protocol;
pub mod result;
pub mod sometimes;
