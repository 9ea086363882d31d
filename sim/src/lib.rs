//! Seeded virtual users that drive the chat core in virtual time, and judge what they saw.

pub mod history;
pub mod protocol;
pub mod result;
