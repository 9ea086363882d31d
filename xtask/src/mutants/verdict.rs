//! The curated mutants, one after another, and their fates: a line for each, and the medians.

use std::io::{self, Write};
use std::time::Instant;

use anyhow::{Context as _, Result};
use serde::Serialize;
use serde_json::{Value, json};
use xshell::Shell;

use super::hunt::{self, Detection};
use super::mutant::{self, Mutant};
use super::{MutantsWords, coverage};
use crate::outcome::none_of;
use crate::workspace_copy::WorkspaceCopy;

/// The largest number of steps of shrunk failures: of the median, and of any.
const STEPS_MEDIAN: u64 = 8;
const STEPS_MOST: u64 = 25;

/// One line of the table, and the record of a hunt in the file of results.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    mutant: String,
    wanted: Vec<String>,
    /// Whether a property that it names caught it, or `misread`: only another one did. It is `broken` if it
    /// could not be planted, built or hunted.
    fate: &'static str,
    /// Why it was not caught, if it was not.
    why: Option<String>,
    /// What caught it, if anything did.
    #[serde(flatten)]
    find: Option<Detection>,
    seconds: f64,
}

impl Row {
    /// The row of a mutant that was hunted with these findings, in order.
    fn new(mutant: &Mutant, hunted: Result<Vec<Detection>>, seconds: f64) -> Self {
        let wanted = mutant.caught_by.join(" or ");
        let is_wanted = |find: &Detection| mutant.names(&find.property);
        let (fate, why, find) = match hunted {
            Err(why) => ("broken", Some(format!("{why:#}")), None),
            Ok(finds) => match (finds.iter().find(|find| is_wanted(find)), finds.first()) {
                (Some(find), _) => ("caught", None, Some(find.clone())),
                (None, Some(find)) => {
                    let why = format!("seen only by {}, not by {wanted}", find.property);
                    ("misread", Some(why), Some(find.clone()))
                }
                (None, None) => (
                    "missed",
                    Some(format!("not seen; {wanted} should have")),
                    None,
                ),
            },
        };
        Self {
            mutant: mutant.name.clone(),
            wanted: mutant.caught_by.clone(),
            fate,
            why,
            find,
            seconds,
        }
    }

    /// Whether the mutant was caught as required.
    pub(crate) fn is_good(&self) -> bool {
        self.fate == "caught"
    }
}

/// Writes one row, and the reason below it if the mutant was not caught.
///
/// # Errors
/// When `out` cannot be written.
fn write_row(row: &Row, out: &mut impl Write) -> io::Result<()> {
    let by = match &row.find {
        Some(find) if row.is_good() => find.property.clone(),
        _ => row.fate.to_uppercase(),
    };
    let figure = |figure: Option<u64>| figure.map_or_else(|| "-".to_owned(), |n| n.to_string());
    let seeds = figure(row.find.as_ref().map(|find| find.seeds));
    let steps = figure(row.find.as_ref().and_then(|find| find.steps));
    let (mutant, seconds) = (&row.mutant, row.seconds);
    writeln!(
        out,
        "{mutant:<34} {by:<21} {seeds:>6} {steps:>6} {seconds:>8.1}"
    )?;
    for line in row.why.iter().flat_map(|why| why.lines()) {
        writeln!(out, "    {line}")?;
    }
    Ok(())
}

/// Writes the medians and the last line, `N caught, N missed`. Returns whether all were caught.
///
/// # Errors
/// When `out` cannot be written.
fn write_sum(rows: &[Row], out: &mut impl Write) -> io::Result<bool> {
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
fn median_and_most(figures: impl Iterator<Item = u64>) -> Option<(u64, u64)> {
    let mut figures: Vec<_> = figures.collect();
    figures.sort_unstable();
    Some((*figures.get(figures.len() / 2)?, *figures.last()?))
}

/// The mutants of the canary check: quick to find, and in different parts.
const CANARIES: [&str; 2] = ["hub_retry_applied_twice", "speech_stale_push_accepted"];

/// The number of seeds for each of them.
const CANARY_SEEDS: u64 = 60;

/// The file of the results: of each mutant, that of its last hunt.
const RESULTS: &str = "target/mutants/curated.json";

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
    let mut copy = WorkspaceCopy::refresh(sh)?;
    // A hunt spends more time compiling than simulating. So it optimises less, in small units and not across them:
    // only changed ones are compiled again, in 3 s of a processor where optimised ones take 12.
    copy.sh.set_var("CARGO_PROFILE_RELEASE_LTO", "off");
    copy.sh.set_var("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1");
    copy.sh.set_var("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "64");
    copy.more = &[
        "--config",
        "profile.release.package.chat-core.codegen-units=64",
    ];
    let hunt = |mutant: &Mutant| hunt::hunt(&copy, mutant, words.seeds);
    let rows = hunt_all(&copy, &chosen, hunt, out, |row| keep(sh, row))?;
    Ok(write_sum(&rows, out)?)
}

/// Keeps the result of a hunt in place of the mutant's last one.
fn keep(sh: &Shell, row: &Row) -> Result<()> {
    let mut all: Vec<Value> = match sh.path_exists(RESULTS) {
        true => serde_json::from_str(&sh.read_file(RESULTS)?)
            .with_context(|| format!("{RESULTS} is no list of results: remove it"))?,
        false => Vec::new(),
    };
    all.retain(|kept| kept["mutant"] != row.mutant);
    all.push(json!(row));
    Ok(sh.write_file(RESULTS, serde_json::to_string_pretty(&all)? + "\n")?)
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
    writeln!(
        out,
        "{:<34} {:<21} {:>6} {:>6} {:>8}",
        "mutant", "caught by", "seeds", "steps", "seconds"
    )?;
    let mut rows = Vec::with_capacity(mutants.len());
    for mutant in mutants {
        let started = Instant::now();
        let hunted = mutant.plant(copy).and_then(|()| hunt(mutant));
        copy.heal()?;
        let row = Row::new(mutant, hunted, started.elapsed().as_secs_f64());
        keep(&row)?;
        write_row(&row, out)?;
        out.flush()?;
        rows.push(row);
    }
    Ok(rows)
}

/// The canary check: every edit applies, coverage is complete, and the simulator catches some mutants that are
/// quick to find.
pub(crate) fn canary(sh: &Shell) -> Result<()> {
    let all = mutant::read_all(sh)?;
    let mut findings = coverage::check(sh, &all)?;
    for mutant in &all {
        let wrong = mutant.changed(sh).err();
        findings.extend(wrong.map(|why| format!("{}: {why:#}", mutant.name)));
    }
    let chosen = choose(&all, &CANARIES.map(str::to_owned))?;
    let copy = WorkspaceCopy::refresh(sh)?;
    let hunt = |mutant: &Mutant| hunt::hunt(&copy, mutant, CANARY_SEEDS);
    for row in hunt_all(&copy, &chosen, hunt, &mut io::stdout(), |_| Ok(()))? {
        if !row.is_good() {
            let (name, why) = (row.mutant, row.why.unwrap_or_default());
            findings.push(format!(
                "the harness does not see {name} within {CANARY_SEEDS} seeds: {why}"
            ));
        }
    }
    none_of(&findings)
}

#[cfg(test)]
mod tests {
    use anyhow::{Result, anyhow};
    use serde_json::{Value, json};

    use super::super::mutant::tests::mutant;
    use super::{Detection, RESULTS, Row, keep, median_and_most, write_row, write_sum};

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
        assert_eq!(fate(&[&other, &this]), ("caught", Some(this)));
        assert_eq!(fate(&[&other]), ("misread", Some(other.clone())));
        assert_eq!(fate(&[]), ("missed", None));
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
    fn a_row_is_kept_as_json_in_place_of_the_last_one() {
        let sh = xshell::Shell::new().expect("a folder");
        let folder = sh.create_temp_dir().expect("a folder");
        sh.change_dir(folder.path());
        let missed = row("one", Ok(vec![]));
        let caught = row("one", Ok(vec![find("bounded", 2, Some(6))]));
        let broken = row("two", Err(anyhow!("it does not build")));
        for row in [missed, broken, caught] {
            keep(&sh, &row).expect("it is written");
        }
        let kept = sh.read_file(RESULTS).expect("it is there");
        let kept: Value = serde_json::from_str(&kept).expect("it is JSON");
        let of = |row: usize, keys: [&str; 4]| json!(keys.map(|key| kept[row][key].clone()));
        assert_eq!(kept.as_array().map(Vec::len), Some(2));
        let broken = of(0, ["mutant", "fate", "why", "steps"]);
        assert_eq!(broken, json!(["two", "broken", "it does not build", null]));
        let caught = of(1, ["mutant", "fate", "steps", "seconds"]);
        assert_eq!(caught, json!(["one", "caught", 6, 1.5]));
    }
}
