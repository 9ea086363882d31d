//! The documentation's parts: pages with headings, links and examples, and the commands in
//! examples. `cargo xtask test --only book` checks the links, and the tests of this package check
//! the examples.

pub mod page;
pub mod pages;
pub mod shell;
