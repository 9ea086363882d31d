//! The examples of the documentation are true: commands are ones that the programs understand,
//! scenarios are valid, settings can be served. And what the programs know, the documentation names.

mod commands;
mod complete;
mod data;

use book::page::Fence;
use book::pages::{self, Named};

/// Every page of the book.
fn pages() -> Vec<Named> {
    pages::read(&pages::root()).expect("every page of the contents is there")
}

/// Every fenced block of these languages, with where it is.
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

/// Panics with all that was found, if anything was.
fn none_of(findings: &[String]) {
    assert!(findings.is_empty(), "\n{}\n", findings.join("\n"));
}
