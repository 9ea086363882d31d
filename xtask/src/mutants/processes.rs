//! Bugs on real processes: builds the server with each mutant that names faults of the nemesis, lets
//! the nemesis make these faults, and requires that its judge accuses one of the mutant's rules. Without a
//! bug, the same faults must pass.

use std::io::Write;
use std::path::Path;

use anyhow::{Result, ensure};
use xshell::Shell;

use super::hunt::Detection;
use super::mutant::{self, Mutant};
use super::verdict::{Row, hunt_all};
use crate::cluster::{self, ClusterWords};
use crate::workspace_copy::{PROFILE, WorkspaceCopy};

/// The number of faults for each mutant, at most.
const ROUNDS: u64 = 12;

/// The seeds that draw them: the next one if a run fails elsewhere, as when a bug ends a member.
const SEEDS: [u64; 3] = [1, 2, 3];

/// The line before the rules that the judge of the nemesis finds broken.
const JUDGED: &str = "the judge accuses:";

/// Plants each of these mutants, and plays the faults that it names. Returns whether all were
/// caught by their rules, and the server without them passed.
///
/// # Errors
/// Why the run could not be done.
pub(crate) fn run(sh: &Shell, out: &mut impl Write) -> Result<bool> {
    cluster::install(sh)?;
    let all = mutant::read_all(sh)?;
    let chosen: Vec<_> = all
        .iter()
        .filter(|mutant| !mutant.nemesis.is_empty())
        .collect();
    let copy = WorkspaceCopy::refresh(sh)?;
    let hunt = |faults: &[String], seeds: &[u64]| {
        // The server alone, with the feature that the nemesis needs.
        let server = ["--package", "server", "--features", "cluster"];
        copy.compile(&[&["--profile", PROFILE][..], &server].concat())?;
        play(sh, &copy.program("talking-stick"), faults, seeds)
    };
    let hunt_mutant = |mutant: &Mutant| hunt(&mutant.nemesis, &SEEDS);
    let rows = hunt_all(&copy, &chosen, hunt_mutant, out, |_| Ok(()))?;
    let faults = chosen.iter().flat_map(|mutant| mutant.nemesis.clone());
    let accused = hunt(&faults.collect::<Vec<_>>(), &SEEDS[..1]);
    match &accused {
        Ok(rules) if rules.is_empty() => writeln!(out, "PASS: {ROUNDS} faults without a bug")?,
        accused => writeln!(out, "FAIL: without a bug: {accused:?}")?,
    }
    let is_sound = accused.is_ok_and(|rules| rules.is_empty());
    Ok(is_sound && rows.iter().all(Row::is_good))
}

/// Lets the nemesis make these faults of members that are this program, with each seed until one says
/// something of the rules. Returns the rules that its judge finds broken; none if all passed.
///
/// # Errors
/// The last run failed elsewhere.
fn play(sh: &Shell, program: &Path, faults: &[String], seeds: &[u64]) -> Result<Vec<Detection>> {
    let mut played = Ok(Vec::new());
    for (seed, tried) in seeds.iter().zip(1..) {
        let words = ClusterWords {
            rounds: ROUNDS,
            seed: *seed,
            faults: Some(faults.join(",")),
            from: None,
        };
        // The logs of a run that fails, as it should, are kept until the next one.
        let folder = crate::cargo::target(sh).join("mutants/processes");
        sh.remove_path(&folder)?;
        sh.create_dir(&folder)?;
        let (has_passed, said) = cluster::play(sh, &words, (program, &folder))?;
        played = accused(has_passed, &said, *seed, tried);
        if played.is_ok() {
            break;
        }
    }
    played
}

/// The rules that the judge of a failed run finds broken, each once.
fn accused(has_passed: bool, said: &str, seed: u64, seeds: u64) -> Result<Vec<Detection>> {
    if has_passed {
        return Ok(Vec::new());
    }
    let lines = said.lines().skip_while(|line| *line != JUDGED).skip(1);
    let rules = lines.map_while(|line| line.split_once(": "));
    let rules = rules.take_while(|(rule, _)| rule.starts_with("cluster_"));
    let rules = rules.map(|(rule, detail)| Detection {
        property: rule.to_owned(),
        detail: detail.to_owned(),
        seed,
        seeds,
        ..Detection::default()
    });
    let mut rules: Vec<_> = rules.collect();
    rules.dedup_by(|later, first| later.property == first.property);
    ensure!(!rules.is_empty(), "{}", panic_of(said));
    Ok(rules)
}

/// What the first panic said.
fn panic_of(said: &str) -> String {
    let mut lines = said
        .lines()
        .skip_while(|line| !line.contains("panicked at"));
    lines.nth(1).unwrap_or("no panic").to_owned()
}

#[cfg(test)]
mod tests {
    use super::accused;

    #[test]
    fn only_the_judge_of_a_failed_run_accuses() {
        let judged = "thread panicked at x.rs:1:\nthe judge accuses:\n\
                      cluster_refused: write 1 was refused\ncluster_refused: write 2 was refused\n\
                      cluster_agreement: members differ\nthe logs are kept in /tmp/x\n";
        let found = accused(false, judged, 2, 1).expect("the judge's word");
        let told = |n: usize| (&*found[n].property, &*found[n].detail, found[n].seed);
        assert_eq!(found.len(), 2);
        assert_eq!(told(0), ("cluster_refused", "write 1 was refused", 2));
        assert_eq!(told(1), ("cluster_agreement", "members differ", 2));
        let elsewhere = "thread panicked at x.rs:1:\nno owner: cluster_one_owner: []\n";
        let why = accused(false, elsewhere, 1, 1).expect_err("no rule is broken");
        assert_eq!(why.to_string(), "no owner: cluster_one_owner: []");
        assert_eq!(accused(true, elsewhere, 1, 1).expect("it passed"), []);
    }
}
