//! What the documentation is made of: pages with headings, links and examples, and the commands that
//! examples show. `cargo xtask test --only book` follows the links, and the tests of this package
//! try the examples.

pub mod page;
pub mod pages;
pub mod shell;
