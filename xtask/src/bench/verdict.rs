//! Compares counts with the baseline: the table, and the violations.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::baseline::Baseline;

/// The tolerated change of a count, in thousandths.
const TOLERATED: u64 = 20;

/// How to accept a change.
const ACCEPT: &str = "`cargo xtask bench --accept`, and commit benches/baseline.json with the \
                      change that it comes from";

/// One count, with its baseline.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    name: String,
    before: Option<u64>,
    now: Option<u64>,
}

/// The change of a count against its baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// Within the tolerance.
    Same,
    /// Above the tolerance.
    More,
    /// Below the tolerance.
    Fewer,
    /// It has no baseline.
    New,
    /// It is in the baseline and was not counted.
    Gone,
}

/// Whether two sets of counts are comparable.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Comparability {
    Alike,
    /// The compiler and the target are alike, but the environment is another.
    OtherEnvironment(String),
    /// Not comparable.
    NotComparable(String),
}

/// All counts with their baseline.
#[derive(Clone, Debug)]
pub(crate) struct CountVerdict {
    lines: Vec<Line>,
    made: Comparability,
    accepted: bool,
}

impl Line {
    fn change(&self) -> Change {
        match (self.before, self.now) {
            (Some(before), Some(now)) => {
                let (before, now) = (u128::from(before) * 1_000, u128::from(now) * 1_000);
                let tolerated = before / 1_000 * u128::from(TOLERATED);
                if now > before + tolerated {
                    Change::More
                } else if now + tolerated < before {
                    Change::Fewer
                } else {
                    Change::Same
                }
            }
            (None, _) => Change::New,
            (Some(_), None) => Change::Gone,
        }
    }

    /// The change in percent, if it is worth showing.
    fn percent(&self) -> Option<f64> {
        let (before, now) = (self.before?, self.now?);
        Some((now as f64 / before as f64 - 1.0) * 100.0)
    }

    fn told(&self) -> String {
        let number = |count: Option<u64>| count.map_or("–".to_owned(), grouped);
        let ratio = match (self.before, self.now) {
            (Some(before), Some(now)) => format!("{:.4}", now as f64 / before as f64),
            _ => "–".to_owned(),
        };
        let mark = match self.change() {
            Change::Same => "",
            Change::More => "  more",
            Change::Fewer => "  fewer",
            Change::New => "  new",
            Change::Gone => "  gone",
        };
        format!(
            "{:<34} {:>14} {:>14} {ratio:>8}{mark}",
            self.name,
            number(self.before),
            number(self.now)
        )
    }
}

impl CountVerdict {
    /// Compares two baselines.
    pub(crate) fn new(before: &Baseline, now: &Baseline) -> Self {
        let names: BTreeSet<&String> = before.counts.keys().chain(now.counts.keys()).collect();
        let line = |name: &String| Line {
            name: name.clone(),
            before: before.counts.get(name).copied(),
            now: now.counts.get(name).copied(),
        };
        Self {
            lines: names.into_iter().map(line).collect(),
            made: made(before, now),
            accepted: false,
        }
    }

    /// Compares two baselines, of which the new one was accepted.
    pub(crate) fn accepted(before: &Baseline, now: &Baseline) -> Self {
        let accepted = true;
        let compared = Self::new(before, now);
        Self {
            accepted,
            ..compared
        }
    }

    fn of(&self, change: Change) -> impl Iterator<Item = &Line> {
        self.lines
            .iter()
            .filter(move |line| line.change() == change)
    }

    /// The table, a line for each count.
    pub(crate) fn table(&self) -> String {
        let mut text = format!(
            "{:<34} {:>14} {:>14} {:>8}\n",
            "instructions", "baseline", "now", "ratio"
        );
        for line in &self.lines {
            let _ = writeln!(text, "{}", line.told());
        }
        text + &self.summary()
    }

    /// Remarks that are no violations.
    pub(crate) fn summary(&self) -> String {
        let mut text = String::new();
        if let Comparability::OtherEnvironment(why) = &self.made {
            let _ = writeln!(text, "note: the baseline was made elsewhere: {why}");
        }
        let largest = (self.lines.iter())
            .filter_map(|line| Some((line.percent()?, &line.name)))
            .max_by(|a, b| a.0.abs().total_cmp(&b.0.abs()));
        if let Some((percent, name)) = largest {
            let _ = writeln!(
                text,
                "{} counted; the largest change is {percent:+.2} % ({name})",
                self.lines.len()
            );
        }
        let fewer: Vec<&str> = self.of(Change::Fewer).map(|line| &*line.name).collect();
        if !fewer.is_empty() && !self.accepted {
            let fewer = fewer.join(", ");
            let _ = writeln!(text, "fewer instructions: {fewer}; keep it so: {ACCEPT}");
        }
        text
    }

    /// The violations, a line each.
    pub(crate) fn findings(&self) -> Vec<String> {
        if self.accepted {
            return Vec::new();
        }
        if let Comparability::NotComparable(why) = &self.made {
            return vec![format!("the baseline says nothing here: {why}; {ACCEPT}")];
        }
        let more = self.of(Change::More).map(|line| {
            let percent = line.percent().unwrap_or_default();
            format!(
                "{}: {percent:.1} % more instructions ({} → {})",
                line.name,
                line.before.map_or(String::new(), grouped),
                line.now.map_or(String::new(), grouped),
            )
        });
        let new = self.of(Change::New);
        let new = new.map(|line| format!("{}: it has no baseline", line.name));
        let gone = self.of(Change::Gone);
        let gone = gone.map(|line| format!("{}: it is not counted any more", line.name));
        let mut findings: Vec<String> = more.chain(new).chain(gone).collect();
        if let (false, Comparability::OtherEnvironment(why)) = (findings.is_empty(), &self.made) {
            findings.push(format!("it may come from the machine: {why}"));
        }
        if !findings.is_empty() {
            findings.push(format!("mend it, or accept it: {ACCEPT}"));
        }
        findings
    }
}

/// Whether two baselines are comparable.
fn made(before: &Baseline, now: &Baseline) -> Comparability {
    let differs = |what: &str, before: &String, now: &String| {
        (before != now).then(|| format!("{what} {before} there, {now} here"))
    };
    let (before, now) = (&before.machine, &now.machine);
    let otherwise = differs("target", &before.target, &now.target)
        .or_else(|| differs("rustc", &before.rustc, &now.rustc));
    if let Some(why) = otherwise {
        return Comparability::NotComparable(why);
    }
    let elsewhere: Vec<String> = [
        differs("valgrind", &before.valgrind, &now.valgrind),
        differs("libc", &before.libc, &now.libc),
        differs("cpu", &before.cpu, &now.cpu),
    ]
    .into_iter()
    .flatten()
    .collect();
    if elsewhere.is_empty() {
        return Comparability::Alike;
    }
    Comparability::OtherEnvironment(elsewhere.join("; "))
}

/// Formats 1234567 as 1,234,567.
fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::baseline::Baseline;
    use super::super::counting::Machine;
    use super::{CountVerdict, grouped};

    fn counted(counts: &[(&str, u64)]) -> Baseline {
        let of = |text: &str| text.to_owned();
        Baseline {
            machine: Machine {
                rustc: of("1.95.0"),
                target: of("x86_64-unknown-linux-gnu"),
                valgrind: of("3.19.0"),
                libc: of("glibc 2.36"),
                cpu: of("avx2"),
            },
            counts: (counts.iter())
                .map(|(name, count)| (of(name), *count))
                .collect(),
        }
    }

    fn findings(before: u64, now: u64) -> Vec<String> {
        CountVerdict::new(&counted(&[("world", before)]), &counted(&[("world", now)])).findings()
    }

    #[test]
    fn a_growth_of_up_to_two_percent_is_tolerated() {
        assert_eq!(findings(1_000_000, 1_000_000), [""; 0]);
        assert_eq!(findings(1_000_000, 1_020_000), [""; 0]);
        let found = findings(1_000_000, 1_050_000);
        assert_eq!(
            found[0],
            "world: 5.0 % more instructions (1,000,000 → 1,050,000)"
        );
        assert!(found[1].contains("cargo xtask bench --accept"), "{found:?}");
    }

    #[test]
    fn a_lower_count_is_reported_and_passes() {
        let (before, now) = (
            counted(&[("world", 100_000)]),
            counted(&[("world", 97_000)]),
        );
        let verdict = CountVerdict::new(&before, &now);
        assert_eq!(verdict.findings(), [""; 0]);
        assert!(verdict.summary().contains("fewer instructions: world;"));
    }

    #[test]
    fn a_new_or_missing_benchmark_must_be_accepted() {
        let (before, now) = (
            counted(&[("a", 1), ("c", 1)]),
            counted(&[("b", 1), ("c", 1)]),
        );
        let found = CountVerdict::new(&before, &now).findings();
        assert_eq!(found[0], "b: it has no baseline");
        assert_eq!(found[1], "a: it is not counted any more");
        assert_eq!(CountVerdict::accepted(&before, &now).findings(), [""; 0]);
    }

    #[test]
    fn another_compiler_needs_another_baseline() {
        let (before, mut now) = (counted(&[("a", 1)]), counted(&[("a", 1)]));
        now.machine.rustc = "1.96.0".into();
        let found = CountVerdict::new(&before, &now).findings();
        assert!(
            found[0].contains("rustc 1.95.0 there, 1.96.0 here"),
            "{found:?}"
        );
    }

    #[test]
    fn another_libc_is_reported_beside_a_change() {
        let (before, mut now) = (counted(&[("a", 100)]), counted(&[("a", 100)]));
        now.machine.libc = "glibc 2.40".into();
        let verdict = CountVerdict::new(&before, &now);
        assert_eq!(verdict.findings(), [""; 0]);
        assert!(verdict.summary().contains("libc glibc 2.36 there"));
        now.counts.insert("a".into(), 110);
        let found = CountVerdict::new(&before, &now).findings();
        assert!(
            found[1].contains("it may come from the machine"),
            "{found:?}"
        );
    }

    #[test]
    fn numbers_are_grouped_by_thousands() {
        let told = [1, 999, 1_000, 1_234_567].map(grouped);
        assert_eq!(told, ["1", "999", "1,000", "1,234,567"]);
    }
}
