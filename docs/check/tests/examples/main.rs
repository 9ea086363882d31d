//! Checks the examples in the documentation: commands are accepted by their programs, scenarios and
//! settings are valid. The documentation also names everything that the programs know.

mod commands;
mod complete;
mod data;
mod defaults;
mod metrics;
mod release;

use std::fs;
use std::io::Write as _;

use book::page::{Fence, Page};
use book::pages::{self, root};
use server_settings::cli::ServeArgs;
use server_settings::{Settings, Unnamed};

/// A file of the workspace.
fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).expect(path)
}

/// The settings of a server that reads this file.
fn settings(text: &str) -> Result<Settings, String> {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(text.as_bytes()).expect("room on the disk");
    let args = ServeArgs {
        config: Some(file.path().into()),
        data: Some("data".into()),
        ..ServeArgs::default()
    };
    Settings::gather(&args, Unnamed::InMemory).map_err(|error| error.to_string())
}

/// Every page of the book.
fn pages() -> Vec<Page> {
    pages::read(&root()).expect("every page of the contents is there")
}

/// Every fenced block of these languages, with its place.
fn fences(languages: &[&str]) -> Vec<(String, Fence)> {
    let mut found = Vec::new();
    for Page { path, fences, .. } in pages() {
        for fence in fences {
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
