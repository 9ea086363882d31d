//! The curated mutants, one after another, and their fates: a line for each, and the medians.

use std::io::{self, IsTerminal as _, Write};
use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use xshell::Shell;

use super::hunt::{self, Detection};
use super::mutant::{self, Mutant};
use super::{MutantsWords, coverage, survivors};
use crate::outcome::none_of;
use crate::workspace_copy::WorkspaceCopy;

/// The largest number of steps of shrunk failures: of the median, and of any.
const STEPS_MEDIAN: u64 = 8;
const STEPS_MOST: u64 = 25;

/// The fate of one mutant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "fate", content = "why")]
pub(crate) enum Fate {
    /// A property that it names caught it.
    Caught,
    /// Only a property that it does not name caught it.
    Misread,
    /// Not caught.
    Missed,
    /// It could not be planted, built or hunted.
    Broken(String),
}

/// One line of the table, and the record of a hunt in the file of results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) mutant: String,
    pub(crate) wanted: Vec<String>,
    #[serde(flatten)]
    pub(crate) fate: Fate,
    /// What caught it, if anything did.
    #[serde(flatten)]
    pub(crate) find: Option<Detection>,
    pub(crate) seconds: f64,
}

impl Row {
    /// The row of a mutant that was hunted with these findings, in order.
    pub(crate) fn new(mutant: &Mutant, hunted: Result<Vec<Detection>>, seconds: f64) -> Self {
        let (fate, find) = match hunted {
            Err(why) => (Fate::Broken(format!("{why:#}")), None),
            Ok(finds) => {
                let caught = finds.iter().find(|find| mutant.names(&find.property));
                match (caught, finds.first()) {
                    (Some(find), _) => (Fate::Caught, Some(find.clone())),
                    (None, Some(find)) => (Fate::Misread, Some(find.clone())),
                    (None, None) => (Fate::Missed, None),
                }
            }
        };
        Self {
            mutant: mutant.name.clone(),
            wanted: mutant.caught_by.clone(),
            fate,
            find,
            seconds,
        }
    }

    /// Whether the mutant was caught as required.
    pub(crate) fn is_good(&self) -> bool {
        self.fate == Fate::Caught
    }
}

/// Writes the head of the table.
///
/// # Errors
/// When `out` cannot be written.
pub(crate) fn write_head(out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "{:<34} {:<21} {:>6} {:>6} {:>8}",
        "mutant", "caught by", "seeds", "steps", "seconds"
    )
}

/// Writes one row, and the reason below it if the mutant was not caught.
///
/// # Errors
/// When `out` cannot be written.
pub(crate) fn write_row(row: &Row, out: &mut impl Write) -> io::Result<()> {
    let wanted = match &row.wanted[..] {
        [] => "a property".to_owned(),
        wanted => wanted.join(" or "),
    };
    let property = row.find.as_ref().map_or("", |find| &find.property);
    let (by, note) = match &row.fate {
        Fate::Caught => (property, String::new()),
        Fate::Misread => (
            "MISREAD",
            format!("seen only by {property}, not by {wanted}"),
        ),
        Fate::Missed => ("MISSED", format!("not seen; {wanted} should have")),
        Fate::Broken(why) => ("BROKEN", why.clone()),
    };
    let figure = |figure: Option<u64>| figure.map_or_else(|| "-".to_owned(), |n| n.to_string());
    let seeds = figure(row.find.as_ref().map(|find| find.seeds));
    let steps = figure(row.find.as_ref().and_then(|find| find.steps));
    let (mutant, seconds) = (&row.mutant, row.seconds);
    writeln!(
        out,
        "{mutant:<34} {by:<21} {seeds:>6} {steps:>6} {seconds:>8.1}"
    )?;
    for line in note.lines() {
        writeln!(out, "    {line}")?;
    }
    Ok(())
}

/// Writes the medians and the last line, `N caught, N missed`. Returns whether all were caught.
///
/// # Errors
/// When `out` cannot be written.
pub(crate) fn write_sum(rows: &[Row], out: &mut impl Write) -> io::Result<bool> {
    let caught = rows.iter().filter(|row| row.is_good());
    let finds: Vec<&Detection> = caught.filter_map(|row| row.find.as_ref()).collect();
    writeln!(out)?;
    if let Some((median, most)) = median_and_most(finds.iter().map(|find| find.seeds)) {
        writeln!(out, "seeds to find: median {median}, most {most}")?;
    }
    let mut good = true;
    if let Some((median, most)) = median_and_most(finds.iter().filter_map(|find| find.steps)) {
        writeln!(out, "shrunk to steps: median {median}, most {most}")?;
        if median > STEPS_MEDIAN || most > STEPS_MOST {
            good = false;
            writeln!(
                out,
                "FAIL: a shrunk failure has {STEPS_MEDIAN} steps on the median at most, and \
                 never more than {STEPS_MOST}"
            )?;
        }
    }
    let bad = rows.iter().filter(|row| !row.is_good());
    let bad: Vec<&str> = bad.map(|row| row.mutant.as_str()).collect();
    if !bad.is_empty() {
        good = false;
        writeln!(out, "again: cargo xtask mutants --only {}", bad.join(","))?;
    }
    let (caught, missed) = (rows.len() - bad.len(), bad.len());
    writeln!(out, "{caught} caught, {missed} missed")?;
    Ok(good)
}

/// The median, which is the larger of two middle values, and the largest; none of no figures.
pub(crate) fn median_and_most(figures: impl Iterator<Item = u64>) -> Option<(u64, u64)> {
    let mut figures: Vec<_> = figures.collect();
    figures.sort_unstable();
    Some((*figures.get(figures.len() / 2)?, *figures.last()?))
}

/// The mutants of the canary check: quick to find, and in different parts.
const CANARIES: [&str; 2] = ["hub_retry_applied_twice", "speech_stale_push_accepted"];

/// The number of seeds for each of them.
const CANARY_SEEDS: u64 = 60;

/// The file of the results: of each mutant, that of its last hunt.
pub(super) const RESULTS: &str = "target/mutants/curated.json";

/// Lists the curated mutants, a line each.
///
/// # Errors
/// Invalid rows.
pub(crate) fn list(sh: &Shell, out: &mut impl Write) -> Result<()> {
    for mutant in mutant::read_all(sh)? {
        let (name, about, by) = (mutant.name, mutant.about, mutant.caught_by.join(", "));
        writeln!(out, "{name}\n    {about}\n    caught by: {by}")?;
    }
    Ok(())
}

/// Plants and hunts each mutant. Returns whether all were caught.
///
/// # Errors
/// Why the run could not be done.
pub(crate) fn run(sh: &Shell, words: &MutantsWords, out: &mut impl Write) -> Result<bool> {
    let all = mutant::read_all(sh)?;
    let chosen = choose(&all, &words.only)?;
    if words.only.is_empty() {
        none_of(&coverage::check(sh, &all)?)?;
    }
    let copy = WorkspaceCopy::refresh(sh)?;
    let hunt = |mutant: &Mutant| hunt::hunt(&copy, mutant, words.seeds);
    let rows = hunt_all(&copy, &chosen, hunt, out, |row| keep(sh, RESULTS, row))?;
    Ok(write_sum(&rows, out)?)
}

/// The results of the last hunts in this file; none if there is no file yet.
pub(super) fn results(sh: &Shell, file: impl AsRef<Path>) -> Result<Vec<Row>> {
    let file = file.as_ref();
    if !sh.path_exists(file) {
        return Ok(Vec::new());
    }
    let read = serde_json::from_str(&sh.read_file(file)?);
    read.with_context(|| format!("{} is of another version: remove it", file.display()))
}

/// Keeps the result of a hunt in place of the mutant's last one.
pub(super) fn keep(sh: &Shell, file: impl AsRef<Path>, row: &Row) -> Result<()> {
    let mut all = results(sh, &file)?;
    all.retain(|kept| kept.mutant != row.mutant);
    all.push(row.clone());
    Ok(sh.write_file(file, serde_json::to_string_pretty(&all)? + "\n")?)
}

/// The mutants with these names; all if there are none.
pub(super) fn choose<'a>(all: &'a [Mutant], only: &[String]) -> Result<Vec<&'a Mutant>> {
    if only.is_empty() {
        return Ok(all.iter().collect());
    }
    let named = |name: &String| {
        let found = all.iter().find(|mutant| mutant.name == *name);
        found.with_context(|| {
            format!("no curated mutant is called `{name}`: `cargo xtask mutants --list` names them")
        })
    };
    only.iter().map(named).collect()
}

/// Plants and hunts these mutants, one after another, and writes the table of their fates.
///
/// # Errors
/// The copy cannot be restored, or `out` or a result not written.
pub(super) fn hunt_all(
    copy: &WorkspaceCopy,
    mutants: &[&Mutant],
    hunt: impl Fn(&Mutant) -> Result<Vec<Detection>>,
    out: &mut impl Write,
    keep: impl Fn(&Row) -> Result<()>,
) -> Result<Vec<Row>> {
    write_head(out)?;
    let mut rows = Vec::with_capacity(mutants.len());
    for (index, mutant) in mutants.iter().enumerate() {
        let started = Instant::now();
        let (number, all, name) = (index + 1, mutants.len(), &mutant.name);
        show(&format!("[{number}/{all}] {name}"));
        let hunted = mutant.plant(copy).and_then(|()| hunt(mutant));
        copy.heal()?;
        show("");
        let row = Row::new(mutant, hunted, started.elapsed().as_secs_f64());
        keep(&row)?;
        write_row(&row, out)?;
        out.flush()?;
        rows.push(row);
    }
    Ok(rows)
}

/// Shows the progress in place of what was shown before, on a terminal only.
#[expect(clippy::print_stderr, reason = "a line for people, erased again")]
fn show(progress: &str) {
    if io::stderr().is_terminal() {
        eprint!("\r\x1b[K{progress}");
    }
}

/// The canary check: every edit applies, coverage is complete, the survivors' list is valid, and
/// the simulator catches some mutants that are quick to find.
pub(crate) fn canary(sh: &Shell) -> Result<()> {
    let all = mutant::read_all(sh)?;
    let mut findings = coverage::check(sh, &all)?;
    findings.extend(survivors::load(sh).err().map(|why| why.to_string()));
    for mutant in &all {
        let wrong = mutant.changed(sh).err();
        findings.extend(wrong.map(|why| format!("{}: {why:#}", mutant.name)));
    }
    let chosen = choose(&all, &CANARIES.map(str::to_owned))?;
    let copy = WorkspaceCopy::refresh(sh)?;
    let hunt = |mutant: &Mutant| hunt::hunt(&copy, mutant, CANARY_SEEDS);
    for row in hunt_all(&copy, &chosen, hunt, &mut io::stdout(), |_| Ok(()))? {
        if !row.is_good() {
            let (name, fate) = (row.mutant, row.fate);
            findings.push(format!(
                "the harness does not see {name} within {CANARY_SEEDS} seeds: {fate:?}"
            ));
        }
    }
    none_of(&findings)
}

#[cfg(test)]
mod tests {
    use anyhow::{Result, anyhow};
    use serde_json::json;

    use super::super::mutant::tests::mutant;
    use super::{Detection, Fate, Row, median_and_most, write_row, write_sum};

    fn find(property: &str, seeds: u64, steps: Option<u64>) -> Detection {
        Detection {
            property: property.into(),
            detail: "what happened".into(),
            scenario: "scenarios/churn.yaml".into(),
            seed: 7,
            seeds,
            steps,
        }
    }

    fn row(name: &str, hunted: Result<Vec<Detection>>) -> Row {
        let mutant = mutant(name, "core/src/queue.rs", "bounded, panic");
        Row::new(&mutant, hunted, 1.5)
    }

    fn summed(rows: &[Row]) -> (bool, String) {
        let mut out = Vec::new();
        let good = write_sum(rows, &mut out).expect("a vector takes all");
        (good, String::from_utf8(out).expect("text"))
    }

    #[test]
    fn the_first_wanted_detection_counts() {
        let (other, this) = (find("latency", 1, None), find("bounded", 9, None));
        let fate = |finds: &[&Detection]| {
            let row = row("m", Ok(finds.iter().copied().cloned().collect()));
            (row.fate, row.find)
        };
        assert_eq!(fate(&[&other, &this]), (Fate::Caught, Some(this)));
        assert_eq!(fate(&[&other]), (Fate::Misread, Some(other.clone())));
        assert_eq!(fate(&[]), (Fate::Missed, None));
    }

    #[test]
    fn a_run_with_all_mutants_caught_passes_with_medians() {
        let rows = [4, 1, 30].map(|n| row("m", Ok(vec![find("bounded", n, Some(n.min(9)))])));
        let (good, text) = summed(&rows);
        let sum = "seeds to find: median 4, most 30\nshrunk to steps: median 4, most 9\n3 caught, 0 missed\n";
        assert!(good && text.ends_with(sum), "{text}");
    }

    #[test]
    fn a_run_with_a_mutant_not_caught_fails() {
        for (hunted, told) in [
            (Ok(vec![]), "not seen; bounded or panic should have"),
            (
                Ok(vec![find("latency", 3, None)]),
                "seen only by latency, not by bounded or panic",
            ),
            (Err(anyhow!("it does not build")), "it does not build"),
        ] {
            let rows = [row("one", hunted)];
            let (good, text) = summed(&rows);
            let sum = "--only one\n0 caught, 1 missed\n";
            assert!(!good && text.ends_with(sum), "{text}");
            let mut line = Vec::new();
            write_row(&rows[0], &mut line).expect("a vector takes all");
            let line = String::from_utf8(line).expect("text");
            assert!(line.contains(told), "{line}");
        }
    }

    #[test]
    fn too_many_steps_fail_a_run_with_all_mutants_caught() {
        for steps in [[9, 9, 9], [1, 1, 26]] {
            let rows = steps.map(|n| row("m", Ok(vec![find("bounded", 1, Some(n))])));
            let (good, text) = summed(&rows);
            assert!(!good && text.contains("FAIL: a shrunk failure"), "{text}");
        }
    }

    #[test]
    fn medians_are_of_the_middle() {
        let of = |figures: &[u64]| median_and_most(figures.iter().copied());
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[9, 1, 5]), Some((5, 9)));
        assert_eq!(of(&[1, 5]), Some((5, 5)));
    }

    #[test]
    fn a_row_is_kept_as_json_with_its_finding_and_read_back() {
        let caught = row("one", Ok(vec![find("bounded", 2, Some(6))]));
        let json = serde_json::to_value(&caught).expect("it is JSON");
        let found = ["fate", "steps", "mutant", "seconds"].map(|key| json[key].clone());
        assert_eq!(json!(found), json!(["caught", 6, "one", 1.5]));
        let missed = row("two", Ok(vec![]));
        let broken = row("three", Err(anyhow!("it does not build")));
        for row in [caught, missed, broken] {
            let json = serde_json::to_string(&row).expect("it is JSON");
            assert_eq!(serde_json::from_str::<Row>(&json).expect("a row"), row);
        }
        let nulls = r#"{ "mutant": "a", "wanted": [], "fate": "missed", "why": null, "property": null,
                         "detail": null, "scenario": null, "seed": null, "seeds": null, "steps": null,
                         "seconds": 2.0 }"#;
        let read: Row = serde_json::from_str(nulls).expect("a row that an earlier build wrote");
        assert_eq!((read.fate, read.find), (Fate::Missed, None));
    }
}
