//! One client that takes all it can get of the real server, over real sockets: its memory stays
//! bounded, and others are served.
#![cfg(target_os = "linux")]

mod memory;
mod server;
mod shares;
