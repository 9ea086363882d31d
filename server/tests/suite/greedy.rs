//! One client takes all it can get of the real server over real sockets: the server's memory stays
//! bounded, and other clients are served.

mod memory;
mod server;
mod shares;
