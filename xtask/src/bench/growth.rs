//! Growing costs: the cost of a command, a participant, a room, a stream and a journalled call with
//! a thousand participants, and with ten times as many each, up to a million.
//!
//! The program `growth` of the package benches measures. It runs here for each size, once by itself
//! and once inside valgrind. Its results are compared with O(log n).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;

use anyhow::Result;
use xshell::{Shell, cmd};

use super::{chart, verdict};
use crate::cargo;

/// From a thousand participants to a million.
pub(crate) const SIZES: [u64; 4] = [1_000, 10_000, 100_000, 1_000_000];

/// The unit of a measurement.
#[derive(Debug, PartialEq)]
pub(crate) struct Unit {
    /// Its key in the program's output.
    key: &'static str,
    /// Its name in tables.
    pub(crate) name: &'static str,
    /// The largest factor for ten times as many participants that still counts as O(log n). A
    /// logarithm doubles from a thousand to a million, over three factors of ten. Time also
    /// includes cache misses, and may grow sixfold. A tenth is added for rounding.
    limit: f64,
}

/// All units, in the order of the table.
pub(crate) const UNITS: [Unit; 4] = [
    unit("instructions", "instructions", 1.26 * 1.1),
    unit("ns", "ns", 1.82 * 1.1),
    unit("bytes", "bytes that stay", 1.26 * 1.1),
    unit("allocations", "allocations", 1.26 * 1.1),
];

const fn unit(key: &'static str, name: &'static str, limit: f64) -> Unit {
    Unit { key, name, limit }
}

/// The cost of one operation at each size.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Series {
    pub(crate) what: String,
    pub(crate) unit: &'static Unit,
    pub(crate) costs: [f64; SIZES.len()],
}

impl Series {
    /// The factor for ten times as many participants: the slope of the line through the logarithms,
    /// by least squares.
    pub(crate) fn per_tenfold(&self) -> f64 {
        let points = (SIZES.iter().zip(self.costs))
            .filter(|(_, cost)| *cost > 0.0)
            .map(|(size, cost)| ((*size as f64).log10(), cost.log10()));
        let points: Vec<(f64, f64)> = points.collect();
        if points.len() < 2 {
            return 1.0;
        }
        let n = points.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
        let (x, y) = (mean(|point| point.0), mean(|point| point.1));
        let both: f64 = points.iter().map(|(a, b)| (a - x) * (b - y)).sum();
        let square: f64 = points.iter().map(|(a, _)| (a - x).powi(2)).sum();
        10f64.powf(both / square)
    }

    /// Whether the cost grows faster than a logarithm.
    pub(crate) fn is_too_fast(&self) -> bool {
        self.per_tenfold() > self.unit.limit
    }
}

/// Measures, and writes the page, the table, and the costs that grow too fast. Returns whether none does.
///
/// # Errors
/// Why measuring failed.
pub(crate) fn measure(sh: &Shell, out: &mut impl Write) -> Result<bool> {
    verdict::ready(sh)?;
    let selected =
        "--package benches --no-default-features --features growth --bin growth".split(' ');
    cmd!(sh, "cargo build --profile dist {selected...}").run()?;
    let program = cargo::target(sh).join("dist/growth");
    let mut all: BTreeMap<_, [f64; SIZES.len()]> = BTreeMap::new();
    for (column, size) in SIZES.into_iter().enumerate() {
        let mut costs = timed(sh, &program, size)?;
        costs.insert("instructions".into(), counted(sh, &program, size)?);
        for (place, unit) in UNITS.iter().enumerate() {
            for (what, cost) in costs.remove(unit.key).unwrap_or_default() {
                all.entry((place, what)).or_default()[column] = cost;
            }
        }
    }
    let series = all.into_iter().map(|((place, what), costs)| Series {
        what,
        unit: &UNITS[place],
        costs,
    });
    let series: Vec<_> = series.collect();
    let page = cargo::scratch(sh, "")?.join("growth.html");
    sh.write_file(&page, chart::page(&series))?;
    let too_fast = series.iter().filter(|series| series.is_too_fast());
    let mut found: Vec<String> = too_fast.map(told_too_fast).collect();
    found.extend(missed(&series));
    let (table, shown) = (table(&series), page.display());
    writeln!(out, "{table}plotted in {shown}\n{}", found.join("\n"))?;
    Ok(found.is_empty())
}

fn told_too_fast(series: &Series) -> String {
    let (what, unit, ratio) = (&series.what, series.unit.name, series.per_tenfold());
    format!(
        "{what}: {unit} grow {ratio:.2}-fold with each tenfold of participants, faster than a logarithm"
    )
}

/// The promised limits that are not met.
fn missed(series: &[Series]) -> Vec<String> {
    let find = |what: &str, key: &str| {
        let mut series = series.iter();
        let found = series.find(|series| series.what == what && series.unit.key == key);
        found.map(|series| (series.costs[0], series.costs[3]))
    };
    let mut missed = Vec::new();
    if let Some((_, bytes)) = find("participant", "bytes")
        && bytes > 1_024.0
    {
        missed.push(format!(
            "an idle participant takes {bytes:.0} bytes, over 1024"
        ));
    }
    if let Some((ns, _)) = find("mixed", "ns")
        && ns > 500.0
    {
        missed.push(format!("a mixed command takes {ns:.0} ns, over 500"));
    }
    for (unit, most) in [("instructions", 2.5), ("ns", 6.0)] {
        if let Some((small, large)) = find("mixed", unit)
            && large > small * most
        {
            let ratio = large / small;
            missed.push(format!(
                "a mixed command takes {ratio:.2} times the {unit} at a million"
            ));
        }
    }
    missed
}

/// The costs of each operation.
type Costs = BTreeMap<String, f64>;

/// What the program measures: costs by the key of their unit, and how often it performed each operation.
type Measured = BTreeMap<String, Costs>;

/// Runs the program by itself.
fn timed(sh: &Shell, program: &Path, size: u64) -> Result<Measured> {
    let size = size.to_string();
    // Makes glibc use huge pages, as the server's allocator does by itself. With a million
    // participants, page misses dominate the time; and this program counts on the system's allocator.
    let huge_pages = ("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1");
    let told = cmd!(sh, "{program} time {size}")
        .env(huge_pages.0, huge_pages.1)
        .read()?;
    Ok(serde_json::from_str(&told)?)
}

/// Runs the program inside valgrind, and returns the instructions of each operation.
fn counted(sh: &Shell, program: &Path, size: u64) -> Result<Costs> {
    let folder = cargo::empty_scratch(sh, "growth")?;
    let (size, profile) = (size.to_string(), folder.join("profile"));
    let counting = [
        "--toggle-collect=benches::population::handle_all",
        "--toggle-collect=benches::journalled::Journalled::make",
    ];
    let valgrind = cmd!(
        sh,
        "valgrind --quiet --tool=callgrind --instr-atstart=no {counting...}"
    );
    let told = valgrind
        .arg(format!("--callgrind-out-file={}", profile.display()))
        .arg(program)
        .args(["count", &size])
        .read()?;
    let times = serde_json::from_str::<Measured>(&told)?.remove("times");
    let times = times.unwrap_or_default();
    let mut costs = Costs::new();
    for path in sh.read_dir(folder)? {
        if let Some((what, count)) = read_profile(&sh.read_file(path)?) {
            let times = times.get(&what).copied().unwrap_or(f64::NAN);
            *costs.entry(what).or_default() += count as f64 / times;
        }
    }
    Ok(costs)
}

/// The name and the instructions of a profile.
fn read_profile(text: &str) -> Option<(String, u64)> {
    let line = |key: &str| text.lines().find_map(|line| line.strip_prefix(key));
    let what = line("desc: Trigger: dump ")?.trim().to_owned();
    Some((what, line("totals: ")?.trim().parse().ok()?))
}

/// One line for each series.
fn table(series: &[Series]) -> String {
    let mut text = String::new();
    for unit in &UNITS {
        let _ = write!(text, "{:<26}", unit.name);
        text.extend(SIZES.map(|size| format!("{size:>12}")));
        text += "   tenfold\n";
        for series in series.iter().filter(|series| series.unit == unit) {
            let _ = write!(text, "  {:<24}", series.what);
            text.extend(series.costs.map(|cost| format!("{cost:>12.1}")));
            let ratio = series.per_tenfold();
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
    use super::{SIZES, Series, UNITS, read_profile};

    fn series(cost: impl Fn(f64) -> f64) -> Series {
        Series {
            what: "append".into(),
            unit: &UNITS[0],
            costs: SIZES.map(|size| cost(size as f64)),
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
        let ratio = series(|n| n * 7.0).per_tenfold();
        assert!((ratio - 10.0).abs() < 1e-9, "{ratio}");
        let ratio = series(|_| 7.0).per_tenfold();
        assert!((ratio - 1.0).abs() < 1e-9, "{ratio}");
    }

    #[test]
    fn a_profile_has_the_name_of_its_operation() {
        let text = "version: 1\ndesc: Trigger: dump append\nevents: Ir\ntotals: 225994\n";
        assert_eq!(read_profile(text), Some(("append".into(), 225_994)));
        assert_eq!(
            read_profile("desc: Trigger: Program termination\ntotals: 3\n"),
            None
        );
    }
}
