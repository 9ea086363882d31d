//! MCP over real connections, on a multi-threaded runtime: the calls of agents, and known failure
//! modes.
#![expect(clippy::unwrap_used, reason = "in a test the panic is the report")]

mod calls;
mod closing;
mod costs;
mod eras;
mod hostile;
mod http;
mod listing;
mod pushes;
mod readers;
mod relay;
mod resume;
mod sessions;
mod world;
