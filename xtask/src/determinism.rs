//! Checks determinism: a scenario's trace hash is the same at every run, with any number of jobs,
//! and with and without optimisation.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use xshell::{Shell, cmd};

use crate::{cargo, sim};

const SCENARIO: &str = "scenarios/burst.yaml";

/// Enough seeds that two jobs finish them out of order.
const SEEDS: &str = "8";

/// A seed that must give another hash. A constant hash would pass all other comparisons.
const OTHER_SEED: &str = "1000003";

/// The result file of the latest run.
const RESULT: &str = "target/xtask/determinism.json";

/// The name of a variant, with its trace hash.
type Hashed = (&'static str, String);

/// Runs the scenario in every variant and compares the hashes. The verdicts of the runs belong to the
/// step `scenarios`.
pub(crate) fn check(sh: &Shell) -> Result<()> {
    let (_copy, optimised) = sim::optimised(sh)?;
    let debug = cargo::program(sh, "sim")?;
    let hashed = |name, sim: &Path, more: &[&str]| -> Result<Hashed> {
        sh.remove_path(RESULT)?;
        let words = [SCENARIO, "--seeds", SEEDS, "--quiet", "--json", RESULT];
        let status = Command::from(cmd!(sh, "{sim} {words...} {more...}")).status()?;
        let json = sh.read_file(RESULT);
        let json = json.with_context(|| format!("sim: {status}"))?;
        let hash = trace_hash(&json);
        let hash = hash.with_context(|| format!("{name}: the result has no trace_hash"))?;
        Ok((name, hash))
    };
    let same = [
        hashed("optimised, 1 job", &optimised, &["--jobs", "1"])?,
        hashed("optimised, 1 job, again", &optimised, &["--jobs", "1"])?,
        hashed("optimised, 2 jobs", &optimised, &["--jobs", "2"])?,
        hashed("debug, 2 jobs", &debug, &["--jobs", "2"])?,
    ];
    let other = ["--jobs", "1", "--seed", OTHER_SEED];
    judge(&same, &hashed("another seed", &optimised, &other)?)
}

/// Checks that these hashes agree, and that the one of another seed differs.
fn judge(same: &[Hashed], (_, other): &Hashed) -> Result<()> {
    let (_, first) = &same[0];
    let is_same = same.iter().all(|(_, hash)| hash == first);
    ensure!(is_same, "{SCENARIO}: the trace hashes differ: {same:?}");
    let is_constant = other == first;
    ensure!(
        !is_constant,
        "{SCENARIO}: the trace hash of another seed is {first}, too"
    );
    Ok(())
}

/// The trace hash of a result: 16 hexadecimal digits.
fn trace_hash(json: &str) -> Option<String> {
    let result: Value = serde_json::from_str(json).ok()?;
    let hash = result["trace_hash"].as_str()?;
    let is_hash = hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then(|| hash.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{judge, trace_hash};

    const A: &str = "8d1f4c02a97be350";
    const B: &str = "51c07be2d90a6f18";

    fn agree(same: &[&str], other: &str) -> bool {
        let same = same.iter().map(|hash| ("a variant", (*hash).to_owned()));
        let same: Vec<_> = same.collect();
        judge(&same, &("another seed", other.to_owned())).is_ok()
    }

    #[test]
    fn hashes_must_agree_and_another_seed_must_differ() {
        assert!(agree(&[A, A, A], B));
        assert!(!agree(&[A, A, B], B));
        assert!(!agree(&[A, A, A], A));
    }

    #[test]
    fn the_hash_is_read_from_the_result_unless_it_is_malformed() {
        let json = format!("{{\"seed\":1,\"trace_hash\":\"{A}\"}}");
        assert_eq!(trace_hash(&json).as_deref(), Some(A));
        for json in [
            "{}",
            "{\"trace_hash\":null}",
            "{\"trace_hash\":\"\"}",
            "{\"trace_hash\":\"8d1f4c02a97be35\"}",
            "{\"trace_hash\":\"not hexadecimal!\"}",
            "{\"trace_hash\":\"8d1f4c02a97be350",
        ] {
            assert_eq!(trace_hash(json), None, "{json}");
        }
    }
}
