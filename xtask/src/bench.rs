//! Counts instructions and compares them with the committed baseline, `benches/baseline.json`.
//!
//! One build gives the same counts on a busy machine as on an idle one. `benches/benches/counts.rs`
//! defines what is counted, and how.

mod baseline;
mod chart;
mod counting;
mod flame;
mod growth;
mod verdict;

use std::io::Write;

use crate::bench::baseline::Baseline;
use crate::bench::counting::Machine;
use crate::bench::verdict::CountVerdict;
use crate::cargo::Cargo;
use crate::outcome::Outcome;

/// What to do with the counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BenchRequest {
    /// Compare them with the baseline.
    Compare,
    /// Write them as the baseline.
    Accept,
    /// Measure the costs with growing numbers of participants.
    Growth,
    /// Draw flame graphs.
    Flame,
}

/// The step `bench`: fails if a count exceeds the baseline by more than the tolerance.
pub(crate) fn check(cargo: &Cargo) -> Outcome {
    if let Err(why) = counting::ready(cargo) {
        return Outcome::Skipped(why);
    }
    match judged(cargo) {
        Ok(verdict) => {
            say(&verdict.summary());
            Outcome::of_findings(&verdict.findings())
        }
        Err(why) => Outcome::Failed(why),
    }
}

/// Counts, and prints the table or writes the baseline. Returns whether the verdict is good.
///
/// # Errors
/// Why it could not be done.
pub(crate) fn run(
    cargo: &Cargo,
    request: BenchRequest,
    out: &mut impl Write,
) -> Result<bool, String> {
    let shown = |verdict: CountVerdict| (verdict.table(), verdict.findings());
    let done = counting::ready(cargo).and_then(|()| match request {
        BenchRequest::Compare => judged(cargo).map(shown),
        BenchRequest::Accept => accept(cargo).map(shown),
        BenchRequest::Growth => growth::measure(cargo).map(|(page, table, findings)| {
            let page = page.display();
            (format!("{table}plotted in {page}\n"), findings)
        }),
        BenchRequest::Flame => flame::draw(cargo).map(|table| (table, Vec::new())),
    });
    let (table, findings) = done?;
    let lines = findings.iter().map(|finding| format!("{finding}\n"));
    let lines = lines.collect::<String>();
    write!(out, "{table}{lines}").map_err(|error| error.to_string())?;
    Ok(findings.is_empty())
}

/// Counts, and compares with the baseline.
fn judged(cargo: &Cargo) -> Result<CountVerdict, String> {
    let before = Baseline::read(cargo.root())?;
    let machine = Machine::look()?;
    let counts = counting::count(cargo)?;
    let now = Baseline { machine, counts };
    Ok(CountVerdict::new(&before, &now))
}

/// Counts, and writes the counts as the baseline. Compares them with the previous one for the
/// table.
fn accept(cargo: &Cargo) -> Result<CountVerdict, String> {
    let machine = Machine::look()?;
    let counts = counting::count(cargo)?;
    let now = Baseline { machine, counts };
    // The first baseline has no previous one.
    let before = Baseline::read(cargo.root()).unwrap_or_else(|_| now.clone());
    now.write(cargo.root())?;
    Ok(CountVerdict::accepted(&before, &now))
}

#[expect(clippy::print_stderr, reason = "this is where the program speaks")]
fn say(text: &str) {
    eprint!("{text}");
}
