//! The server from outside: its routes, its sessions, its program and its files. All tests are one
//! program, which is linked once, and share the clients and servers that they need.

mod binary;
#[cfg(feature = "cluster")]
mod cluster;
#[cfg(target_os = "linux")]
mod disk;
mod driver;
mod durable;
#[cfg(target_os = "linux")]
mod greedy;
mod http;
mod mcp;
mod process;
mod service;
mod stage;
mod stdio;
