//! Growing costs: the cost of a command, a participant, a room, a stream and a journalled call with
//! a thousand participants, and with ten times as many each, up to a million.
//!
//! The program `growth` of the package benches measures. It runs here for each size, once by itself
//! and once inside valgrind. Its results are compared with O(log n).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::chart;
use crate::cargo::Cargo;
use crate::outcome::Outcome;

/// From a thousand participants to a million.
pub(crate) const SIZES: [u64; 4] = [1_000, 10_000, 100_000, 1_000_000];

/// The unit of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Unit {
    Instructions,
    Nanoseconds,
    Bytes,
    Allocations,
}

impl Unit {
    /// All units, in the order of the table.
    pub(crate) const ALL: [Self; 4] = [
        Self::Instructions,
        Self::Nanoseconds,
        Self::Bytes,
        Self::Allocations,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Instructions => "instructions",
            Self::Nanoseconds => "ns",
            Self::Bytes => "bytes that stay",
            Self::Allocations => "allocations",
        }
    }

    /// The largest factor for ten times as many participants that still counts as O(log n). A
    /// logarithm doubles from a thousand to a million, over three factors of ten. Time also
    /// includes cache misses, and may grow sixfold. A tenth is added for rounding.
    const fn limit(self) -> f64 {
        match self {
            Self::Instructions | Self::Bytes | Self::Allocations => 1.26 * 1.1,
            Self::Nanoseconds => 1.82 * 1.1,
        }
    }
}

/// The cost of one operation at each size.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Series {
    pub(crate) what: String,
    pub(crate) unit: Unit,
    /// The size, and the cost there.
    pub(crate) points: Vec<(u64, f64)>,
}

impl Series {
    /// The factor for ten times as many participants: the slope of the line through the logarithms,
    /// by least squares.
    pub(crate) fn per_tenfold(&self) -> Option<f64> {
        let points = (self.points.iter())
            .filter(|(_, cost)| *cost > 0.0)
            .map(|(size, cost)| ((*size as f64).log10(), cost.log10()));
        let points: Vec<(f64, f64)> = points.collect();
        if points.len() < 2 {
            return None;
        }
        let n = points.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
        let (x, y) = (mean(|point| point.0), mean(|point| point.1));
        let both: f64 = points.iter().map(|(a, b)| (a - x) * (b - y)).sum();
        let square: f64 = points.iter().map(|(a, _)| (a - x).powi(2)).sum();
        Some(10f64.powf(both / square))
    }

    /// Whether the cost grows faster than a logarithm.
    pub(crate) fn is_too_fast(&self) -> bool {
        self.per_tenfold()
            .is_some_and(|ratio| ratio > self.unit.limit())
    }

    fn at(&self, size: u64) -> Option<f64> {
        let point = self.points.iter().find(|(at, _)| *at == size);
        point.map(|(_, cost)| *cost)
    }
}

/// Measures, and returns the page, the table, and the costs that grow too fast.
///
/// # Errors
/// Why measuring failed.
pub(crate) fn measure(cargo: &Cargo) -> Result<(PathBuf, String, Vec<String>), String> {
    let build = [
        "build",
        "--profile",
        "dist",
        "--package",
        "benches",
        "--no-default-features",
        "--features",
        "growth",
        "--bin",
        "growth",
    ];
    match cargo.run(&build) {
        Outcome::Passed => {}
        Outcome::Failed(why) | Outcome::Skipped(why) => return Err(why),
    }
    let program = cargo.root().join("target/dist/growth");
    let folder = cargo.scratch()?.join("growth");
    let mut all: BTreeMap<(Unit, String), Vec<(u64, f64)>> = BTreeMap::new();
    for size in SIZES {
        for (unit, what, cost) in timed(&program, size)? {
            all.entry((unit, what)).or_default().push((size, cost));
        }
        for (what, cost) in counted(&program, size, &folder)? {
            let key = (Unit::Instructions, what);
            all.entry(key).or_default().push((size, cost));
        }
    }
    let series = all
        .into_iter()
        .map(|((unit, what), points)| Series { what, unit, points });
    let series: Vec<Series> = series.collect();
    let page = cargo.scratch()?.join("growth.html");
    fs::write(&page, chart::page(&series)).map_err(|error| error.to_string())?;
    let too_fast = series.iter().filter(|series| series.is_too_fast());
    let mut found: Vec<String> = too_fast.map(told_too_fast).collect();
    found.extend(missed(&series));
    Ok((page, table(&series), found))
}

fn told_too_fast(series: &Series) -> String {
    format!(
        "{}: {} grow {:.2}-fold with each tenfold of participants, faster than a logarithm",
        series.what,
        series.unit.name(),
        series.per_tenfold().unwrap_or_default()
    )
}

/// The promised limits that are not met.
fn missed(series: &[Series]) -> Vec<String> {
    let find = |what: &str, unit| {
        let found = series.iter().find(|s| s.what == what && s.unit == unit);
        found.and_then(|series| Some((series.at(SIZES[0])?, series.at(SIZES[3])?)))
    };
    let mut missed = Vec::new();
    if let Some((_, bytes)) = find("participant", Unit::Bytes)
        && bytes > 1_024.0
    {
        missed.push(format!(
            "an idle participant takes {bytes:.0} bytes, over 1024"
        ));
    }
    if let Some((ns, _)) = find("mixed", Unit::Nanoseconds)
        && ns > 500.0
    {
        missed.push(format!("a mixed command takes {ns:.0} ns, over 500"));
    }
    for (unit, most) in [(Unit::Instructions, 2.5), (Unit::Nanoseconds, 6.0)] {
        if let Some((small, large)) = find("mixed", unit)
            && large > small * most
        {
            let (ratio, unit) = (large / small, unit.name());
            missed.push(format!(
                "a mixed command takes {ratio:.2} times the {unit} at a million"
            ));
        }
    }
    missed
}

/// Makes glibc use huge pages, as the server's allocator does by itself. With a million
/// participants, page misses dominate the time; and this program counts on the system's allocator.
const HUGE_PAGES: (&str, &str) = ("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1");

/// Runs the program by itself.
fn timed(program: &Path, size: u64) -> Result<Vec<(Unit, String, f64)>, String> {
    let (tunables, huge_pages) = HUGE_PAGES;
    let found = told(
        Command::new(program)
            .args(["time", &size.to_string()])
            .env(tunables, huge_pages),
    )?;
    let mut all = Vec::new();
    for (unit, key) in [
        (Unit::Nanoseconds, "ns"),
        (Unit::Bytes, "bytes"),
        (Unit::Allocations, "allocations"),
    ] {
        for (what, cost) in found[key].as_object().into_iter().flatten() {
            all.push((unit, what.clone(), cost.as_f64().unwrap_or_default()));
        }
    }
    Ok(all)
}

/// Runs the program inside valgrind.
fn counted(program: &Path, size: u64, folder: &Path) -> Result<Vec<(String, f64)>, String> {
    // Removes the profiles of earlier runs.
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    let out = folder.join("profile");
    let found = told(
        Command::new("valgrind")
            .args(["--quiet", "--tool=callgrind", "--instr-atstart=no"])
            .args([
                "--toggle-collect=benches::population::handle_all",
                "--toggle-collect=benches::journalled::Journalled::make",
            ])
            .arg(format!("--callgrind-out-file={}", out.display()))
            .arg(program)
            .args(["count", &size.to_string()]),
    )?;
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for entry in fs::read_dir(folder).map_err(|error| error.to_string())? {
        let path = entry.map_err(|error| error.to_string())?.path();
        let text = fs::read_to_string(&path).map_err(|error| error.to_string())?;
        if let Some((what, count)) = profile(&text) {
            *sums.entry(what).or_default() += count;
        }
    }
    let each = |(what, count): (String, u64)| {
        let times = found["times"][&what].as_f64().unwrap_or(f64::NAN);
        let cost = count as f64 / times;
        (what, cost)
    };
    Ok(sums.into_iter().map(each).collect())
}

/// The name and the instructions of a profile.
fn profile(text: &str) -> Option<(String, u64)> {
    let line = |key: &str| text.lines().find_map(|line| line.strip_prefix(key));
    let what = line("desc: Trigger: dump ")?.trim().to_owned();
    Some((what, line("totals: ")?.trim().parse().ok()?))
}

/// The program's output, parsed as JSON.
fn told(command: &mut Command) -> Result<Value, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("`{name}` did not start: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).map_err(|error| format!("`{name}`: {error}: {text}"))
}

/// One line for each series.
fn table(series: &[Series]) -> String {
    let mut text = String::new();
    for unit in Unit::ALL {
        let _ = write!(text, "{:<26}", unit.name());
        for size in SIZES {
            let _ = write!(text, "{size:>12}");
        }
        text += "   tenfold\n";
        for series in series.iter().filter(|series| series.unit == unit) {
            let _ = write!(text, "  {:<24}", series.what);
            for size in SIZES {
                let cost = series.at(size).unwrap_or_default();
                let _ = write!(text, "{cost:>12.1}");
            }
            let ratio = series.per_tenfold().unwrap_or(1.0);
            let mark = if series.is_too_fast() {
                "  too fast"
            } else {
                ""
            };
            let _ = writeln!(text, "   × {ratio:.2}{mark}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{SIZES, Series, Unit, profile};

    fn series(cost: impl Fn(f64) -> f64) -> Series {
        let points = SIZES.iter().map(|size| (*size, cost(*size as f64)));
        Series {
            what: "append".into(),
            unit: Unit::Instructions,
            points: points.collect(),
        }
    }

    #[test]
    fn logarithmic_growth_passes_and_a_square_root_does_not() {
        assert!(!series(|_| 300.0).is_too_fast());
        assert!(!series(f64::log2).is_too_fast());
        assert!(!series(|n| 500.0 + 40.0 * n.log2()).is_too_fast());
        assert!(series(f64::sqrt).is_too_fast());
        assert!(series(|n| 100.0 + n).is_too_fast());
    }

    #[test]
    fn the_slope_is_that_of_the_line_through_all_points() {
        let ratio = series(|n| n * 7.0).per_tenfold().expect("four points");
        assert!((ratio - 10.0).abs() < 1e-9, "{ratio}");
        let ratio = series(|_| 7.0).per_tenfold().expect("four points");
        assert!((ratio - 1.0).abs() < 1e-9, "{ratio}");
    }

    #[test]
    fn a_profile_has_the_name_of_its_operation() {
        let text = "version: 1\ndesc: Trigger: dump append\nevents: Ir\ntotals: 225994\n";
        assert_eq!(profile(text), Some(("append".into(), 225_994)));
        assert_eq!(
            profile("desc: Trigger: Program termination\ntotals: 3\n"),
            None
        );
    }
}
