//! The fates of the curated mutants: a line for each, the medians, and JSON.

use std::io::{self, Write};
use std::time::Duration;

use serde_json::{Value, json};

use super::hunt::Detection;

/// The largest number of steps of shrunk failures: of the median, and of any.
const STEPS_MEDIAN: u64 = 8;
const STEPS_MOST: u64 = 25;

/// The fate of one mutant.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Fate {
    /// A property that it names caught it.
    Caught(Detection),
    /// Only a property that it does not name caught it.
    Misread(Detection),
    /// Not caught.
    Missed,
    /// It could not be planted, built or hunted.
    Broken(String),
}

impl Fate {
    /// The fate that follows from the findings, in order, and the wanted properties.
    pub(crate) fn of(finds: Vec<Detection>, wanted: &[String]) -> Self {
        let caught = finds.iter().find(|find| wanted.contains(&find.property));
        match (caught, finds.first()) {
            (Some(find), _) => Self::Caught(find.clone()),
            (None, Some(find)) => Self::Misread(find.clone()),
            (None, None) => Self::Missed,
        }
    }

    /// Whether the mutant was caught as required.
    pub(crate) const fn is_good(&self) -> bool {
        matches!(self, Self::Caught(_))
    }
}

/// One line of the table.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) mutant: String,
    pub(crate) wanted: Vec<String>,
    pub(crate) fate: Fate,
    pub(crate) took: Duration,
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
    let (by, find, note) = match &row.fate {
        Fate::Caught(find) => (find.property.as_str(), Some(find), None),
        Fate::Misread(find) => {
            let wanted = row.wanted.join(" or ");
            let note = format!("seen only by {}, not by {wanted}", find.property);
            ("MISREAD", Some(find), Some(note))
        }
        Fate::Missed => {
            let note = format!("not seen; {} should have", row.wanted.join(" or "));
            ("MISSED", None, Some(note))
        }
        Fate::Broken(why) => ("BROKEN", None, Some(why.clone())),
    };
    let figure = |figure: Option<u64>| figure.map_or_else(|| "-".to_owned(), |n| n.to_string());
    writeln!(
        out,
        "{:<34} {by:<21} {:>6} {:>6} {:>8.1}",
        row.mutant,
        figure(find.map(|find| find.seeds)),
        figure(find.and_then(|find| find.steps)),
        row.took.as_secs_f64()
    )?;
    for line in note.iter().flat_map(|note| note.lines()) {
        writeln!(out, "    {line}")?;
    }
    Ok(())
}

/// Writes the medians and the last line, `N caught, N missed`. Returns whether all were caught.
///
/// # Errors
/// When `out` cannot be written.
pub(crate) fn write_sum(rows: &[Row], out: &mut impl Write) -> io::Result<bool> {
    let (seeds, steps) = (
        figures(rows, |find| Some(find.seeds)),
        figures(rows, |f| f.steps),
    );
    writeln!(out)?;
    if let Some(median) = median(&seeds) {
        let most = seeds.last().copied().unwrap_or(median);
        writeln!(out, "seeds to find: median {median}, most {most}")?;
    }
    let mut good = true;
    if let Some(median) = median(&steps) {
        let most = steps.last().copied().unwrap_or(median);
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
    let bad: Vec<&str> = rows
        .iter()
        .filter(|row| !row.fate.is_good())
        .map(|row| row.mutant.as_str())
        .collect();
    if !bad.is_empty() {
        good = false;
        writeln!(out, "again: cargo xtask mutants --only {}", bad.join(","))?;
    }
    writeln!(
        out,
        "{} caught, {} missed",
        rows.len() - bad.len(),
        bad.len()
    )?;
    Ok(good)
}

/// A number of each caught mutant, sorted.
fn figures(rows: &[Row], figure: impl Fn(&Detection) -> Option<u64>) -> Vec<u64> {
    let mut all: Vec<u64> = rows
        .iter()
        .filter_map(|row| match &row.fate {
            Fate::Caught(find) => figure(find),
            Fate::Misread(_) | Fate::Missed | Fate::Broken(_) => None,
        })
        .collect();
    all.sort_unstable();
    all
}

/// The median; the larger of two middle values.
pub(crate) fn median(ordered: &[u64]) -> Option<u64> {
    ordered.get(ordered.len() / 2).copied()
}

/// A row as JSON.
pub(crate) fn to_json(row: &Row) -> Value {
    let (fate, find, why) = match &row.fate {
        Fate::Caught(find) => ("caught", Some(find), None),
        Fate::Misread(find) => ("misread", Some(find), None),
        Fate::Missed => ("missed", None, None),
        Fate::Broken(why) => ("broken", None, Some(why)),
    };
    json!({
        "mutant": row.mutant,
        "wanted": row.wanted,
        "fate": fate,
        "why": why,
        "property": find.map(|find| &find.property),
        "detail": find.map(|find| &find.detail),
        "scenario": find.map(|find| &find.scenario),
        "seed": find.map(|find| find.seed),
        "seeds": find.map(|find| find.seeds),
        "steps": find.and_then(|find| find.steps),
        "seconds": row.took.as_secs_f64(),
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Detection, Fate, Row, median, to_json, write_row, write_sum};

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

    fn row(mutant: &str, fate: Fate) -> Row {
        Row {
            mutant: mutant.into(),
            wanted: vec!["bounded".into(), "panic".into()],
            fate,
            took: Duration::from_millis(1_500),
        }
    }

    fn summed(rows: &[Row]) -> (bool, String) {
        let mut out = Vec::new();
        let good = write_sum(rows, &mut out).expect("a vector takes all");
        (good, String::from_utf8(out).expect("text"))
    }

    #[test]
    fn the_first_wanted_detection_counts() {
        let wanted = ["bounded".to_owned()];
        let (other, this) = (find("latency", 1, None), find("bounded", 9, None));
        assert_eq!(
            Fate::of(vec![other.clone(), this.clone()], &wanted),
            Fate::Caught(this)
        );
        assert_eq!(Fate::of(vec![other.clone()], &wanted), Fate::Misread(other));
        assert_eq!(Fate::of(Vec::new(), &wanted), Fate::Missed);
    }

    #[test]
    fn a_run_with_all_mutants_caught_passes_with_medians() {
        let rows = [4, 1, 30].map(|n| row("m", Fate::Caught(find("bounded", n, Some(n.min(9))))));
        let (good, text) = summed(&rows);
        assert!(good, "{text}");
        assert!(
            text.contains("seeds to find: median 4, most 30\n"),
            "{text}"
        );
        assert!(
            text.contains("shrunk to steps: median 4, most 9\n"),
            "{text}"
        );
        assert!(text.ends_with("3 caught, 0 missed\n"), "{text}");
    }

    #[test]
    fn a_run_with_a_mutant_not_caught_fails() {
        for (fate, told) in [
            (Fate::Missed, "not seen; bounded or panic should have"),
            (
                Fate::Misread(find("latency", 3, None)),
                "seen only by latency, not by bounded or panic",
            ),
            (
                Fate::Broken("it does not build".into()),
                "it does not build",
            ),
        ] {
            let rows = [row("one", fate)];
            let (good, text) = summed(&rows);
            assert!(
                !good && text.contains("--only one\n0 caught, 1 missed\n"),
                "{text}"
            );
            let mut line = Vec::new();
            write_row(&rows[0], &mut line).expect("a vector takes all");
            let line = String::from_utf8(line).expect("text");
            assert!(line.contains(told), "{line}");
        }
    }

    #[test]
    fn too_many_steps_fail_a_run_with_all_mutants_caught() {
        for steps in [[9, 9, 9], [1, 1, 26]] {
            let rows = steps.map(|n| row("m", Fate::Caught(find("bounded", 1, Some(n)))));
            let (good, text) = summed(&rows);
            assert!(!good && text.contains("FAIL: a shrunk failure"), "{text}");
        }
    }

    #[test]
    fn medians_are_of_the_middle() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[1, 5, 9]), Some(5));
        assert_eq!(median(&[1, 5]), Some(5));
    }

    #[test]
    fn the_json_equals_the_table() {
        let one = to_json(&row("one", Fate::Caught(find("bounded", 2, Some(6)))));
        assert_eq!((&one["fate"], &one["steps"]), (&"caught".into(), &6.into()));
        assert_eq!(one["seconds"], 1.5);
    }
}
