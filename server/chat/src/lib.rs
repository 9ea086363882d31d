//! The chat behind every transport: a tool with arguments in, a result, events and texts out. Nothing
//! here knows HTTP, MCP or a socket.

pub mod banned_addresses;
mod break_words;
pub mod capacity;
pub mod driver;
pub mod identity;
pub mod lossy_output;
pub mod metrics;
pub mod refusal;
pub mod refused_requests;
pub mod render_text;
pub mod scope;
pub mod service;
pub mod task;
pub mod tools;
pub mod user;
pub mod view;
pub mod wire;
