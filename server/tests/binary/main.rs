//! The binary as operators run it: how it stops, what its log says, and what its exit codes say.

mod command_line;
mod program;
mod stopping;
mod tokens;
