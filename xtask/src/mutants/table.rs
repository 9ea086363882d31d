//! The judge's figures in the open: the table of `docs/CONTRIBUTING.md`, from an exploration of the healthy
//! server and from the results of the last hunts of curated mutants.

use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::io::Write;

use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::json;
use xshell::Shell;

use super::MutantsWords;
use super::hunt::{Detection, explored};
use super::mutant;
use super::verdict::{Fate, RESULTS, Row, median_and_most, results};
use crate::bench::thousands;
use crate::workspace_copy::WorkspaceCopy;

/// The document, and the marks around its table.
const DOCUMENT: &str = "docs/CONTRIBUTING.md";
const BEGIN: &str = "<!-- `cargo xtask mutants --table` writes this table -->\n";
const END: &str = "<!-- end of the table -->\n";

/// What was explored so far, so that another call goes on.
const EXPLORED: &str = "target/explored.json";

/// The number of seeds of one exploration, of several if more are wanted.
const CHUNK: u64 = 5_000;

/// Milliseconds in a day.
const DAY: f64 = 86_400_000.0;

/// What explorations of the healthy server found, from seed 1 on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Explored {
    /// That of the simulator, which must not change meanwhile.
    digest: u64,
    seeds: u64,
    virtual_ms: f64,
    failures: usize,
}

impl Explored {
    /// What is kept of this simulator, if it is part of so many seeds; nothing else.
    fn so_far(kept: &str, digest: u64, seeds: u64) -> Self {
        let kept = serde_json::from_str(kept).ok();
        let of_these = |kept: &Self| kept.digest == digest && kept.seeds <= seeds;
        kept.filter(of_these).unwrap_or(Self {
            digest,
            ..Self::default()
        })
    }
}

/// Explores, and writes the table. Returns whether no seed failed.
///
/// # Errors
/// Why the run could not be done.
pub(crate) fn run(sh: &Shell, words: &MutantsWords, out: &mut impl Write) -> Result<bool> {
    let names = mutant::read_all(sh)?.into_iter().map(|mutant| mutant.name);
    let names: Vec<_> = names.collect();
    let copy = WorkspaceCopy::refresh(sh)?;
    copy.build(&[])?;
    let program = sh.read_binary_file(copy.program("sim"))?;
    let digest = BuildHasherDefault::<DefaultHasher>::default().hash_one(program);
    let kept = sh.read_file(EXPLORED).unwrap_or_default();
    let mut all = Explored::so_far(&kept, digest, words.seeds);
    while all.seeds < words.seeds {
        let count = CHUNK.min(words.seeds - all.seeds);
        let first = (all.seeds + 1).to_string();
        let seeds = count.to_string();
        let words = ["--keep-going", "--seed", &first, "--seeds", &seeds];
        let found = explored(&copy, &[], &words)?;
        let tried = found["seeds"].as_u64().unwrap_or(0);
        let virtual_ms = found["virtual_ms"].as_f64();
        all.virtual_ms += virtual_ms.context("the exploration has no virtual time")?;
        all.failures += found["failures"].as_array().map_or(0, Vec::len);
        all.seeds += tried;
        ensure!(
            tried == count,
            "only {tried} of {count} seeds were explored"
        );
        sh.write_file(EXPLORED, json!(all).to_string())?;
    }
    let table = table(all, &results(sh, RESULTS)?, &names);
    write!(out, "{table}")?;
    sh.write_file(DOCUMENT, replaced(&sh.read_file(DOCUMENT)?, &table)?)?;
    Ok(all.failures == 0)
}

/// The document with this table in place of its own.
fn replaced(document: &str, table: &str) -> Result<String> {
    let found = document.split_once(BEGIN);
    let found = found.and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let (before, after) =
        found.with_context(|| format!("{DOCUMENT} has no place for the table"))?;
    Ok([before, BEGIN, "\n", table, "\n", END, after].concat())
}

fn table(explored: Explored, results: &[Row], names: &[String]) -> String {
    let is_there = |row: &&Row| names.contains(&row.mutant);
    let hunted: Vec<_> = results.iter().filter(is_there).collect();
    let caught = hunted.iter().filter(|row| row.fate == Fate::Caught);
    let caught: Vec<_> = caught.filter_map(|row| row.find.as_ref()).collect();
    let spread = |figure: fn(&Detection) -> Option<u64>| {
        let figures = caught.iter().filter_map(|find| figure(find));
        median_and_most(figures).map_or_else(
            || "–".to_owned(),
            |(median, most)| format!("{}, at most {}", thousands(median), thousands(most)),
        )
    };
    let (there, hunted, caught) = (names.len(), hunted.len(), caught.len());
    let days = explored.virtual_ms / DAY;
    let (seeds, failures) = (
        thousands(explored.seeds),
        thousands(explored.failures as u64),
    );
    let (tried, steps) = (spread(|find| Some(find.seeds)), spread(|find| find.steps));
    format!(
        "| figure | value |\n|---|---|\n\
         | seeds explored on the healthy server | {seeds} |\n\
         | virtual time in them | {days:.0} days |\n\
         | false accusations in them | {failures} |\n\
         | bugs planted by those who know the core | {there}, of which {hunted} were hunted |\n\
         | caught by a property that the bug breaks | {caught} of {hunted} |\n\
         | seeds until a bug is caught, median | {tried} |\n\
         | steps of its shrunk failure, median | {steps} |\n"
    )
}

#[cfg(test)]
mod tests {
    use super::{BEGIN, Detection, END, Explored, Fate, Row, json, replaced, table};

    #[test]
    fn the_table_counts_the_mutants_that_are_still_there() {
        let row = |name: &str, fate: Fate, seeds: u64| {
            let usual = Detection::default();
            let steps = Some(2);
            Row {
                mutant: name.into(),
                wanted: Vec::new(),
                fate,
                find: Some(Detection {
                    seeds,
                    steps,
                    ..usual
                }),
                seconds: 1.0,
            }
        };
        let results = [
            row("a", Fate::Caught, 4),
            row("b", Fate::Caught, 1_200),
            row("c", Fate::Misread, 9),
            row("gone", Fate::Caught, 1),
        ];
        let explored = Explored {
            digest: 0,
            seeds: 200_000,
            virtual_ms: 2.4 * super::DAY,
            failures: 1,
        };
        let names = ["a", "b", "c", "new"].map(str::to_owned);
        let table = table(explored, &results, &names);
        for line in [
            "| seeds explored on the healthy server | 200,000 |",
            "| virtual time in them | 2 days |",
            "| false accusations in them | 1 |",
            "| bugs planted by those who know the core | 4, of which 3 were hunted |",
            "| caught by a property that the bug breaks | 2 of 3 |",
            "| seeds until a bug is caught, median | 1,200, at most 1,200 |",
            "| steps of its shrunk failure, median | 2, at most 2 |",
        ] {
            assert!(table.contains(line), "{line}\n{table}");
        }
    }

    #[test]
    fn an_exploration_goes_on_for_the_same_simulator_alone() {
        let explored = Explored {
            digest: u64::MAX,
            seeds: 5_000,
            virtual_ms: 0.5,
            failures: 2,
        };
        let kept = json!(explored).to_string();
        assert_eq!(Explored::so_far(&kept, u64::MAX, 5_000), explored);
        for (text, digest, seeds) in [
            (&*kept, 7, 5_000),
            (&kept, u64::MAX, 4_999),
            ("{", u64::MAX, 9_000),
        ] {
            let begun = Explored::so_far(text, digest, seeds);
            assert_eq!((begun.digest, begun.seeds, begun.failures), (digest, 0, 0));
        }
    }

    #[test]
    fn a_table_takes_the_place_of_the_last_one() {
        let document = format!("before\n{BEGIN}old\n{END}after\n");
        let new = replaced(&document, "new\n").expect("it has a place");
        assert_eq!(new, format!("before\n{BEGIN}\nnew\n\n{END}after\n"));
        assert!(replaced("no place", "new").is_err());
    }
}
