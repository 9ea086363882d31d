//! Instructions counted, and compared with the baseline that is committed: `benches/baseline.json`.
//!
//! The counts of one build are the same on a busy machine as on an idle one, so that a percent is
//! a percent. What is counted, and how, is in `benches/benches/counts.rs`.

mod baseline;
mod chart;
mod counting;
mod flame;
mod growth;
mod verdict;

use std::io::{self, Write};

use crate::bench::baseline::Baseline;
use crate::bench::counting::Machine;
use crate::bench::verdict::Verdict;
use crate::cargo::Cargo;
use crate::outcome::Outcome;

/// What is to be done with the counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// Show them beside the baseline.
    Compare,
    /// Make them the baseline.
    Accept,
    /// Measure what everything costs in ever larger crowds.
    Growth,
    /// Draw where the time goes.
    Flame,
}

/// The step: fails on whatever takes more instructions than the baseline allows.
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

/// Counts, and shows the table or writes the baseline.
///
/// # Errors
/// Why it cannot be counted, or what the verdict is if it is a bad one.
pub(crate) fn run(cargo: &Cargo, request: Request, out: &mut impl Write) -> io::Result<bool> {
    let shown = |verdict: Verdict| (verdict.table(), verdict.findings());
    let done = counting::ready(cargo).and_then(|()| match request {
        Request::Compare => judged(cargo).map(shown),
        Request::Accept => accept(cargo).map(shown),
        Request::Growth => growth::measure(cargo).map(|(page, table, findings)| {
            let page = page.display();
            (format!("{table}plotted in {page}\n"), findings)
        }),
        Request::Flame => flame::draw(cargo).map(|table| (table, Vec::new())),
    });
    match done {
        Ok((table, findings)) => {
            write!(out, "{table}")?;
            for finding in &findings {
                writeln!(out, "{finding}")?;
            }
            Ok(findings.is_empty())
        }
        Err(why) => {
            writeln!(out, "error: {why}")?;
            Ok(false)
        }
    }
}

/// The counts beside the baseline.
fn judged(cargo: &Cargo) -> Result<Verdict, String> {
    let before = Baseline::read(cargo.root())?;
    let machine = Machine::look()?;
    let counts = counting::count(cargo)?;
    let now = Baseline { machine, counts };
    Ok(Verdict::new(&before, &now))
}

/// Writes the counts as the baseline, and compares them with themselves so that there is a table.
fn accept(cargo: &Cargo) -> Result<Verdict, String> {
    let machine = Machine::look()?;
    let counts = counting::count(cargo)?;
    let now = Baseline { machine, counts };
    // A first baseline has none before it.
    let before = Baseline::read(cargo.root()).unwrap_or_else(|_| now.clone());
    now.write(cargo.root())?;
    Ok(Verdict::accepted(&before, &now))
}

#[expect(clippy::print_stderr, reason = "this is where the program speaks")]
fn say(text: &str) {
    eprint!("{text}");
}
