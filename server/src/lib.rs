//! The server: a thin shell around the core, for agents on MCP, programs on HTTP, and people.
//!
//! It is a library so that tests and benchmarks can run it; the binary is `talking-stick`.

#[cfg(feature = "cluster")]
pub mod cluster;
pub mod demo;
pub mod guard;
mod headers;
mod health_check;
pub mod http;
pub mod listener;
pub mod logs;
pub mod mcp;
pub mod program;
pub mod relay;
pub mod serve;
pub mod stdio;
pub mod upkeep;
mod wake;
pub mod web;
