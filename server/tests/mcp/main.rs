//! MCP over real connections, on a runtime with several threads: what agents do, and what is
//! known to go wrong.
#![expect(clippy::unwrap_used, reason = "in a test the panic is the report")]

mod calls;
mod closing;
mod eras;
mod hostile;
mod http;
mod listing;
mod pushes;
mod readers;
mod resume;
mod sessions;
mod world;
