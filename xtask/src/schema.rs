//! Checks that the committed JSON Schema of scenarios equals the output of `sim schema`.

use anyhow::{Result, bail};
use xshell::Shell;

use crate::sim::Sim;

const SCHEMA: &str = "scenarios/schema.json";

/// Compares the schemas byte for byte.
pub(crate) fn check(sh: &Shell) -> Result<()> {
    let printed = Sim::optimised(sh)?.run(&["schema"]).read()?;
    compare(&sh.read_file(SCHEMA)?, &printed)
}

/// Compares a file with what was printed, without the last newline.
fn compare(committed: &str, printed: &str) -> Result<()> {
    if committed.strip_suffix('\n') != Some(printed) {
        bail!(
            "{SCHEMA} is not what `sim schema` prints; write it: cargo run --release -p sim -- schema > {SCHEMA}"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::compare;

    #[test]
    fn the_same_bytes_pass_and_others_fail_and_say_how_to_write_them() {
        assert!(compare("{}\n", "{}").is_ok());
        for committed in ["{}", "", "{} \n"] {
            let why = compare(committed, "{}").expect_err(committed).to_string();
            assert!(why.contains("-- schema > scenarios/"), "{why}");
        }
    }
}
