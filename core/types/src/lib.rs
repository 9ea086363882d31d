//! What the chat server and its judges may share: instants, spans, the configuration with every
//! limit, and the names of breaks. None of it decides anything.

mod break_kind;
mod listed;
mod time;

pub mod config;

pub use break_kind::BreakKind;
pub use config::{Config, ConfigError};
pub use time::{Span, Time};
