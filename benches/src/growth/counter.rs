//! Counts instructions inside valgrind, which its control program switches on and off.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::Meter;

/// Counts instructions.
#[derive(Debug, Default)]
pub(super) struct Counter {
    times: BTreeMap<&'static str, u64>,
}

impl Meter for Counter {
    fn rounds(&self) -> usize {
        1
    }

    fn measure(&mut self, what: &'static str, times: u64, work: &mut dyn FnMut()) {
        control("--instr=on");
        work();
        control(&format!("--dump={what}"));
        control("--instr=off");
        *self.times.entry(what).or_default() += times;
    }

    fn stay(&mut self, _: &'static str, _: u64, _: usize) {}

    fn found(&self) -> Value {
        json!(self.times)
    }
}

/// Sends a command to valgrind for this process.
///
/// # Panics
/// If valgrind does not react: nothing would be counted.
fn control(word: &str) {
    let told = Command::new("callgrind_control")
        .args([word, &std::process::id().to_string()])
        .stdin(Stdio::null())
        .output();
    let told = told.expect("valgrind brings its control program along");
    let said = String::from_utf8_lossy(&told.stdout);
    assert!(
        told.status.success() && said.contains("OK"),
        "{word}: {said}"
    );
}
