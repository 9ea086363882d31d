//! Checks the examples in the documentation: commands are accepted by their programs, scenarios and
//! settings are valid. The documentation also names everything that the programs know.

mod commands;
mod complete;
mod data;
mod defaults;
mod metrics;
mod release;

use book::page::Fence;
use book::pages::{self, Named};

/// Every page of the book.
fn pages() -> Vec<Named> {
    pages::read(&pages::root()).expect("every page of the contents is there")
}

/// Every fenced block of these languages, with its place.
fn fences(languages: &[&str]) -> Vec<(String, Fence)> {
    let mut found = Vec::new();
    for Named { path, page } in pages() {
        for fence in page.fences {
            if languages.contains(&&*fence.language) {
                found.push((format!("{path}:{}", fence.line), fence));
            }
        }
    }
    found
}

/// Panics with all findings, if there are any.
fn none_of(findings: &[String]) {
    assert!(findings.is_empty(), "\n{}\n", findings.join("\n"));
}
