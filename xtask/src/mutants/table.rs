//! The judge's figures in the open: the table of `docs/judge.md`, from an exploration of the healthy
//! server and from the results of the last hunts of curated mutants.

use std::fs;
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::io::Write;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::curated::{HuntRequest, results};
use super::hunt::{self, Effort, sim_json};
use super::mutant;
use super::verdict::median;
use crate::cargo::Cargo;
use crate::workspace_copy::WorkspaceCopy;

/// The document, and the marks around its table.
const DOCUMENT: &str = "docs/judge.md";
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
pub(crate) fn run(
    cargo: &Cargo,
    request: &HuntRequest,
    out: &mut impl Write,
) -> Result<bool, String> {
    let names = mutant::read_all(cargo.root())?;
    let names: Vec<_> = names.into_iter().map(|mutant| mutant.name).collect();
    let copy = WorkspaceCopy::refresh(cargo)?;
    copy.build()?;
    let effort = Effort {
        seeds: CHUNK,
        jobs: request.jobs,
    };
    let program = fs::read(copy.program("sim"));
    let program = program.map_err(|error| format!("cannot read the simulator: {error}"))?;
    let digest = BuildHasherDefault::<DefaultHasher>::default().hash_one(program);
    let kept_at = cargo.root().join(EXPLORED);
    let kept = fs::read_to_string(&kept_at).unwrap_or_default();
    let mut all = Explored::so_far(&kept, digest, request.seeds);
    while all.seeds < request.seeds {
        let count = CHUNK.min(request.seeds - all.seeds);
        let mut words = vec!["explore".to_owned()];
        words.extend(hunt::shipped(copy.root())?);
        let first = (all.seeds + 1).to_string();
        let numbers = ["--seed", &first, "--seeds", &count.to_string()];
        words.extend(["--flows", "--keep-going"].map(str::to_owned));
        words.extend(numbers.map(str::to_owned));
        let found = sim_json(&copy, &words, effort)?;
        let tried = found["seeds"].as_u64().unwrap_or(0);
        let virtual_ms = found["virtual_ms"].as_f64();
        all.virtual_ms += virtual_ms.ok_or("the exploration has no virtual time")?;
        all.failures += found["failures"].as_array().map_or(0, Vec::len);
        all.seeds += tried;
        if tried < count {
            return Err(format!("only {tried} of {count} seeds were explored"));
        }
        // The copy of the workspace has made the folder `target`.
        fs::write(&kept_at, json!(all).to_string())
            .map_err(|error| format!("cannot write {EXPLORED}: {error}"))?;
    }
    let table = table(all, &results(cargo.root()), &names);
    write!(out, "{table}").map_err(|error| error.to_string())?;
    let file = cargo.root().join(DOCUMENT);
    let text = fs::read_to_string(&file).map_err(|error| format!("{DOCUMENT}: {error}"))?;
    fs::write(&file, replaced(&text, &table)?).map_err(|error| format!("{DOCUMENT}: {error}"))?;
    Ok(all.failures == 0)
}

/// The document with this table in place of its own.
fn replaced(document: &str, table: &str) -> Result<String, String> {
    let found = document.split_once(BEGIN);
    let found = found.and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let (before, after) = found.ok_or(format!("{DOCUMENT} has no place for the table"))?;
    Ok([before, BEGIN, "\n", table, "\n", END, after].concat())
}

fn table(explored: Explored, results: &[Value], names: &[String]) -> String {
    let is_there = |row: &&Value| names.iter().any(|name| row["mutant"] == **name);
    let hunted: Vec<_> = results.iter().filter(is_there).collect();
    let caught: Vec<_> = hunted
        .iter()
        .filter(|row| row["fate"] == "caught")
        .collect();
    let spread = |figure: &str| {
        let figures = caught.iter().filter_map(|row| row[figure].as_u64());
        let mut figures: Vec<_> = figures.collect();
        figures.sort_unstable();
        let most = figures.last().copied();
        median(&figures).zip(most).map_or_else(
            || "–".to_owned(),
            |(median, most)| format!("{}, at most {}", thousands(median), thousands(most)),
        )
    };
    let rows = [
        (
            "seeds explored on the healthy server",
            thousands(explored.seeds),
        ),
        (
            "virtual time in them",
            format!("{:.0} days", explored.virtual_ms / DAY),
        ),
        (
            "false accusations in them",
            thousands(explored.failures as u64),
        ),
        (
            "bugs planted by those who know the core",
            format!("{}, of which {} were hunted", names.len(), hunted.len()),
        ),
        (
            "caught by a property that the bug breaks",
            format!("{} of {}", caught.len(), hunted.len()),
        ),
        ("seeds until a bug is caught, median", spread("seeds")),
        ("steps of its shrunk failure, median", spread("steps")),
    ];
    let rows = rows.map(|(figure, value)| format!("| {figure} | {value} |\n"));
    format!("| figure | value |\n|---|---|\n{}", rows.concat())
}

/// A number with a comma after each three digits.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let parts = digits.as_bytes().rchunks(3).rev();
    let parts: Vec<_> = parts.map(String::from_utf8_lossy).collect();
    parts.join(",")
}

#[cfg(test)]
mod tests {
    use super::{BEGIN, END, Explored, json, replaced, table, thousands};

    #[test]
    fn the_table_counts_the_mutants_that_are_still_there() {
        let row = |name: &str, fate: &str, seeds: u64| json!({ "mutant": name, "fate": fate, "seeds": seeds, "steps": 2 });
        let results = [
            row("a", "caught", 4),
            row("b", "caught", 1_200),
            row("c", "missed", 9),
            row("gone", "caught", 1),
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
            let begun = Explored {
                digest,
                ..Explored::default()
            };
            assert_eq!(Explored::so_far(text, digest, seeds), begun);
        }
    }

    #[test]
    fn a_table_takes_the_place_of_the_last_one() {
        let document = format!("before\n{BEGIN}old\n{END}after\n");
        let new = replaced(&document, "new\n").expect("it has a place");
        assert_eq!(new, format!("before\n{BEGIN}\nnew\n\n{END}after\n"));
        assert!(replaced("no place", "new").is_err());
    }

    #[test]
    fn numbers_are_cut_into_threes() {
        assert_eq!(
            [7, 1_000, 12_345_678].map(thousands),
            ["7", "1,000", "12,345,678"]
        );
    }
}
