//! The Node behind a journal that the test simulates: what leaves, and when.

mod checks;
mod admission;
mod delayed_replies;
mod journal;
mod retries;
mod shell;
mod streams;
