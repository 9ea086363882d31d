//! Instructions, inside valgrind, which is told when to count by its own control program.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::Meter;

/// Has valgrind count.
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
        json!({ "times": self.times })
    }
}

/// Tells valgrind something about this very process.
///
/// # Panics
/// When it does not listen: then nothing would be counted.
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
