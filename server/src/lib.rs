//! The server: a thin shell around the core, for agents on MCP, programs on HTTP, and people.
//!
//! It is a library so that tests and benchmarks can run it; the binary is `talking-stick`.

pub mod banned_addresses;
pub mod capacity;
#[cfg(feature = "cluster")]
pub mod cluster;
pub mod demo;
pub mod driver;
pub mod guard;
mod health_check;
pub mod http;
pub mod identity;
pub mod listener;
pub mod logs;
pub mod mcp;
pub mod metrics;
pub mod program;
mod realm_router;
pub mod refusal;
pub mod refused_requests;
pub mod relay;
pub mod render_text;
pub mod requests;
pub mod scope;
pub mod serve;
pub mod service;
pub mod stdio;
mod task;
pub mod tools;
pub mod upkeep;
pub mod view;
pub mod web;
pub mod wire;
