//! Plain HTTP from outside: a whole server on a port of its own, and a client that writes and reads
//! bytes, so that it can send malformed requests.

mod admin;
mod calls;
pub(crate) mod client;
mod guard;
mod hostile;
mod older;
mod openapi;
mod secrets;
// Other systems have only one loopback address.
#[cfg(target_os = "linux")]
mod shares;
mod stalled;
mod stream;
#[cfg(target_os = "linux")]
mod takeover;
pub(crate) mod tokens;
mod world;
