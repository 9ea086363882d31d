//! One client takes all it can get of the real server over real sockets: the server's memory stays
//! bounded, and other clients are served.
#![cfg(target_os = "linux")]

mod memory;
#[path = "../shared/process.rs"]
mod process;
mod server;
mod shares;
