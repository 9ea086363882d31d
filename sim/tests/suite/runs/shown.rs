//! The run that a page of the documentation shows is the one that comes out.

use std::path::Path;
use std::process::Command;

/// A line without what depends on the machine and the build: the time and the speed of the verdict, and
/// the commit.
fn same_everywhere(line: &str) -> String {
    let is_verdict = line.starts_with("PASS");
    let parts = line.trim_end().split(" · ").map(|part| {
        let timed = part.split_once(" in ").or(part.split_once(" steps, "));
        match timed {
            Some((kept, _)) if is_verdict => kept,
            _ if part.starts_with("sim ") => "sim",
            _ => part,
        }
    });
    parts.collect::<Vec<_>>().join(" · ")
}

#[test]
fn the_shown_run_comes_out() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut sim = Command::new(env!("CARGO_BIN_EXE_sim"));
    let ran = sim.arg("scenarios/burst.yaml").current_dir(&root).output();
    let ran = String::from_utf8(ran.expect("it starts").stdout).expect("text");
    let page = include_str!("../../../../docs/running.md");
    let (_, shown) = page.split_once("```text\nburst").expect("a sample");
    let (shown, _) = shown.split_once("\n```").expect("its end");
    let mut lines = ran.lines().map(same_everywhere);
    // Lines between are left out, and the sample says where.
    let shown = format!("burst{shown}");
    let wanted = shown.lines().filter(|line| !["", "…"].contains(line));
    for line in wanted.map(same_everywhere) {
        assert!(lines.any(|came| came == line), "{line}\nis not in\n{ran}");
    }
}
