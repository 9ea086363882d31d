//! The Node behind a journal that the test simulates: what leaves, and when.

mod admission;
mod checks;
mod delayed_replies;
mod journal;
mod retries;
mod shell;
mod streams;
