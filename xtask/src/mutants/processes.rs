//! Bugs on real processes: builds the server with each mutant that names faults of the nemesis, lets
//! the nemesis make these faults, and requires that its judge accuses one of the mutant's rules. Without a
//! bug, the same faults must pass.

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use xshell::Shell;

use super::mutant::{self, Mutant};
use crate::cluster::{self, ClusterWords};
use crate::workspace_copy::WorkspaceCopy;

/// The feature of the server that the nemesis needs.
const FEATURE: &str = "cluster";

/// The number of faults for each mutant, at most.
const ROUNDS: u64 = 12;

/// The seeds that draw them: the next one if a run fails elsewhere, as when a bug ends a member.
const SEEDS: [u64; 3] = [1, 2, 3];

/// The line before the rules that the judge of the nemesis finds broken.
const JUDGED: &str = "the judge accuses:";

/// The end of a run of the nemesis.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Verdict {
    Passed,
    /// The rules that the judge finds broken.
    Accused(Vec<String>),
    /// It failed elsewhere, with these words.
    Failed(String),
}

/// Plants each of these mutants, and plays the faults that it names. Returns whether all were
/// caught by their rules, and the server without them passed.
///
/// # Errors
/// Why the run could not be done.
pub(crate) fn run(sh: &Shell, out: &mut impl Write) -> Result<bool> {
    let all = mutant::read_all(sh)?;
    let chosen: Vec<_> = all
        .iter()
        .filter(|mutant| !mutant.nemesis.is_empty())
        .collect();
    let copy = WorkspaceCopy::refresh(sh)?;
    let program = copy.program("talking-stick");
    let mut is_good = true;
    for mutant in &chosen {
        let began = Instant::now();
        let played = mutant
            .plant(&copy)
            .and_then(|()| copy.build_alone("server", FEATURE))
            .and_then(|()| play(sh, &program, &mutant.nemesis, &SEEDS));
        mutant.heal(&copy)?;
        let (verdict, seconds) = (played?, began.elapsed().as_secs());
        is_good &= is_caught(mutant, &verdict);
        writeln!(out, "{}", line(mutant, &verdict, seconds))?;
    }
    copy.build_alone("server", FEATURE)?;
    let faults: Vec<_> = chosen
        .iter()
        .flat_map(|mutant| &mutant.nemesis)
        .cloned()
        .collect();
    let began = Instant::now();
    let verdict = play(sh, &program, &faults, &SEEDS[..1])?;
    let seconds = began.elapsed().as_secs();
    match verdict {
        Verdict::Passed => writeln!(out, "PASS: {ROUNDS} faults without a bug, in {seconds} s")?,
        Verdict::Accused(_) | Verdict::Failed(_) => {
            writeln!(out, "FAIL: without a bug: {verdict:?}, in {seconds} s")?;
        }
    }
    Ok(is_good && verdict == Verdict::Passed)
}

fn is_caught(mutant: &Mutant, verdict: &Verdict) -> bool {
    let Verdict::Accused(rules) = verdict else {
        return false;
    };
    rules.iter().any(|rule| mutant.caught_by.contains(rule))
}

fn line(mutant: &Mutant, verdict: &Verdict, seconds: u64) -> String {
    let name = &mutant.name;
    match verdict {
        Verdict::Accused(rules) if is_caught(mutant, verdict) => {
            format!(
                "PASS: {name} is caught by {}, in {seconds} s",
                rules.join(", ")
            )
        }
        Verdict::Accused(_) | Verdict::Passed | Verdict::Failed(_) => {
            let wanted = mutant.caught_by.join(" or ");
            format!("FAIL: {name}: {verdict:?}, not {wanted}, in {seconds} s")
        }
    }
}

/// Lets the nemesis make these faults of members that are this program, with each seed until one says
/// something of the rules.
fn play(sh: &Shell, program: &Path, faults: &[String], seeds: &[u64]) -> Result<Verdict> {
    let mut verdict = Verdict::Passed;
    for seed in seeds {
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
        verdict = verdict_of(has_passed, &said);
        if !matches!(verdict, Verdict::Failed(_)) {
            break;
        }
    }
    Ok(verdict)
}

fn verdict_of(has_passed: bool, said: &str) -> Verdict {
    let lines = said.lines().skip_while(|line| *line != JUDGED).skip(1);
    let rules = lines
        .map_while(|line| line.split_once(": "))
        .map(|(rule, _)| rule);
    let mut rules: Vec<_> = rules
        .take_while(|rule| rule.starts_with("cluster_"))
        .map(str::to_owned)
        .collect();
    rules.dedup();
    match (has_passed, rules.is_empty()) {
        (true, _) => Verdict::Passed,
        (false, false) => Verdict::Accused(rules),
        (false, true) => Verdict::Failed(panic_of(said)),
    }
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
    use super::{Verdict, verdict_of};

    #[test]
    fn only_the_judge_of_a_failed_run_accuses() {
        let judged = "thread panicked at x.rs:1:\nthe judge accuses:\n\
                      cluster_refused: write 1 was refused\ncluster_refused: write 2 was refused\n\
                      cluster_agreement: members differ\nthe logs are kept in /tmp/x\n";
        let rules = ["cluster_refused", "cluster_agreement"].map(str::to_owned);
        assert_eq!(verdict_of(false, judged), Verdict::Accused(rules.to_vec()));
        let elsewhere = "thread panicked at x.rs:1:\nno owner: cluster_one_owner: []\n";
        let words = "no owner: cluster_one_owner: []".to_owned();
        assert_eq!(verdict_of(false, elsewhere), Verdict::Failed(words));
        assert_eq!(verdict_of(true, elsewhere), Verdict::Passed);
    }
}
