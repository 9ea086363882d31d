//! The fates of mutants: a line for each, and the medians.

use std::io::{self, Write};

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::hunt::Detection;
use super::mutant::Mutant;

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
