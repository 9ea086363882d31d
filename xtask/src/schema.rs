//! Checks that the committed JSON Schema of scenarios equals the output of `sim schema`.

use std::fs;

use crate::cargo::Cargo;
use crate::outcome::Outcome;
use crate::sim::Sim;

const SCHEMA: &str = "scenarios/schema.json";

/// Compares the schemas byte for byte.
pub(crate) fn check(cargo: &Cargo) -> Outcome {
    let sim = match Sim::optimised(cargo) {
        Ok(sim) => sim,
        Err(outcome) => return outcome,
    };
    match sim.prints(&["schema"]) {
        Ok(printed) => compare(
            fs::read(cargo.root().join(SCHEMA)).ok().as_deref(),
            &printed,
        ),
        Err(why) => Outcome::Failed(why),
    }
}

fn compare(committed: Option<&[u8]>, printed: &[u8]) -> Outcome {
    let write = format!("write it: cargo run --release -p sim -- schema > {SCHEMA}");
    match committed {
        Some(committed) if committed == printed => Outcome::Passed,
        Some(_) => Outcome::Failed(format!("{SCHEMA} is not what `sim schema` prints; {write}")),
        None => Outcome::Failed(format!("{SCHEMA} is missing; {write}")),
    }
}

#[cfg(test)]
mod tests {
    use super::compare;
    use crate::outcome::Outcome;

    #[test]
    fn the_same_bytes_pass() {
        assert_eq!(compare(Some(b"{}\n"), b"{}\n"), Outcome::Passed);
    }

    #[test]
    fn other_bytes_or_no_file_fail_and_say_how_to_write_it() {
        for committed in [Some(&b"{}"[..]), Some(&b""[..]), None] {
            let outcome = compare(committed, b"{}\n");
            assert!(
                matches!(&outcome, Outcome::Failed(why) if why.contains("-- schema > scenarios/")),
                "{outcome:?}"
            );
        }
    }
}
