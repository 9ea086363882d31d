//! The Node behind a journal that the test simulates: what leaves, and when.

mod checks;
mod door;
mod held;
mod journal;
mod retries;
mod shell;
mod streams;
