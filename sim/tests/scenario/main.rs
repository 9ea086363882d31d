//! Scenario files as people write them: what is read, what is refused, and what is written back.

mod errors;
mod mutations;
mod plans;
mod schema;
mod write;
