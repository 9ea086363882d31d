//! The binary from an operator's view: shutdown, log and exit codes.

mod command_line;
mod full_pipes;
mod paused;
pub(crate) mod program;
mod realms;
mod stopping;
mod tokens;
mod wake;
