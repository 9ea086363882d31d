//! The binary from an operator's view: shutdown, log and exit codes.

mod command_line;
mod program;
mod stopping;
mod tokens;
