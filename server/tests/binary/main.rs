//! The binary from an operator's view: shutdown, log and exit codes.

mod command_line;
mod full_pipes;
mod paused;
#[path = "../shared/process.rs"]
mod process;
mod program;
mod realms;
mod stopping;
mod tokens;
