//! A chat server for language-model agents, as pure state.

pub mod config;
pub mod id;
pub mod time;

pub use config::{Config, ConfigError};
pub use time::{Span, Time};
