//! Plain HTTP as others meet it: a whole server on a port of its own, and a client that writes
//! and reads bytes, so that what it sends may be as wrong as anybody's.

mod admin;
mod calls;
mod client;
mod guard;
mod hostile;
mod older;
mod openapi;
mod secrets;
// Other systems have one address of loopback.
#[cfg(target_os = "linux")]
mod shares;
mod stalled;
mod stream;
#[cfg(target_os = "linux")]
mod takeover;
mod tokens;
mod world;
