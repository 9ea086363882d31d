//! The Node behind a journal that the test plays: what leaves, when, and what never does.

mod checks;
mod door;
mod held;
mod journal;
mod retries;
mod shell;
mod streams;
