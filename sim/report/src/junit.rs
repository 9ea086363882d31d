//! The result as JUnit XML, which CI systems show. Each scenario file is a test suite. Its test cases
//! are the thresholds, the expected points, and the properties that no threshold breaks; one more is
//! about stuck users, one about a run that judged nothing, and one about a run that ended early.

use std::collections::BTreeSet;

use super::FinishedRun;
use super::checks::{Standing, in_order, standing};
use super::failure::{STUCK, crossing, early_end, rest};
use super::numbers::told;
use super::run_counts::{held_by, left_out_words, waits};
use sim_model::outcome::{Class, RunResult, Violation, is_judged};

/// The most violations, and the most stuck users, in the text of a failure.
const MOST: usize = 20;

enum Outcome {
    Passed,
    Skipped(&'static str),
    Failed { message: String, body: String },
}

/// A test case: its name and its outcome.
type Case = (String, Outcome);

/// The whole document.
#[must_use]
pub fn junit(runs: &[FinishedRun]) -> String {
    let suites: String = runs.iter().map(suite).collect();
    let head = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"sim\">\n";
    format!("{head}{suites}</testsuites>\n")
}

fn suite(run: &FinishedRun) -> String {
    let result = run.result();
    let cases = cases(run);
    let of = |wanted: fn(&Outcome) -> bool| cases.iter().filter(|case| wanted(&case.1)).count();
    let failures = of(|outcome| matches!(outcome, Outcome::Failed { .. }));
    let skipped = of(|outcome| matches!(outcome, Outcome::Skipped(_)));
    let (name, file, tests) = (escape(&result.scenario), escape(&run.file), cases.len());
    let (facts, time) = (facts(result), result.wall_ms / 1_000.0);
    let cases: String = cases.iter().map(|case| testcase(&name, case)).collect();
    format!(
        "  <testsuite name=\"{name}\" file=\"{file}\" tests=\"{tests}\" failures=\"{failures}\" \
         errors=\"0\" skipped=\"{skipped}\" time=\"{time:.3}\">\n    <properties>\n{facts}    \
         </properties>\n{cases}  </testsuite>\n"
    )
}

fn facts(result: &RunResult) -> String {
    let facts = [
        ("seed", result.seed.to_string()),
        ("seeds", result.seeds.to_string()),
        ("trace_hash", result.trace_hash.clone()),
        ("exit_code", result.exit_code.to_string()),
        ("calls", result.calls.to_string()),
        ("refused", result.refusals.values().sum::<u64>().to_string()),
        ("unanswered", result.unanswered.to_string()),
        ("left_out", result.left_out.users.to_string()),
        ("stuck", result.rest.stuck.to_string()),
    ];
    let fact = |(name, value): (&str, String)| {
        let value = escape(&value);
        format!("      <property name=\"{name}\" value=\"{value}\"/>\n")
    };
    facts.into_iter().map(fact).collect()
}

fn cases(run: &FinishedRun) -> Vec<Case> {
    let result = run.result();
    // `fairness` and `latency` are broken by thresholds, which are cases of their own.
    let all = in_order(result).into_iter();
    let all = all.filter(|(name, _)| Class::of(name) != Class::Threshold);
    let violations = result.violations.iter();
    let mut violated: BTreeSet<&str> = violations.map(|one| one.property.as_str()).collect();
    let mut cases: Vec<Case> = Vec::new();
    for (name, property) in all {
        let outcome = match standing(property) {
            _ if violated.remove(name) => broken(run, name),
            Standing::Held => Outcome::Passed,
            Standing::Broken => broken(run, name),
            idle @ (Standing::NotExercised | Standing::Unjudged) => Outcome::Skipped(idle.name()),
        };
        cases.push((name.to_owned(), outcome));
    }
    // A violation that belongs to no property (a panic) is a separate case.
    cases.extend(
        violated
            .into_iter()
            .map(|name| (name.to_owned(), broken(run, name))),
    );
    cases.extend(figures(run));
    cases
}

fn broken(run: &FinishedRun, name: &str) -> Outcome {
    let result = run.result();
    let all = result.violations.iter();
    let all: Vec<_> = all.filter(|one| one.property == name).collect();
    let first = all.first().map(|violation| violation.detail.clone());
    let message = first.unwrap_or_else(|| format!("{name} did not hold"));
    let line = |violation: &&Violation| {
        let at = violation.at.0 as f64 / 1e6;
        let (seed, detail) = (violation.seed, &violation.detail);
        format!("seed {seed}, {at:.3}s: {detail}\n")
    };
    let mut body: String = all.iter().take(MOST).map(line).collect();
    if all.len() > MOST {
        body += &format!("… and {} more\n", all.len() - MOST);
    }
    body += &told("", result.repro.as_ref().map(|repro| &repro.command), "\n");
    Outcome::Failed { message, body }
}

/// The cases that are no properties.
fn figures(run: &FinishedRun) -> Vec<Case> {
    let result = run.result();
    let repro = result.repro.as_ref();
    let again = repro.map_or("", |repro| repro.command.as_str());
    let case = |name: String, failure: Option<String>| {
        let body = again.to_owned();
        let failed = |message| Outcome::Failed { message, body };
        (name, failure.map_or(Outcome::Passed, failed))
    };
    let thresholds = result.thresholds.iter().map(|threshold| {
        let failure = match threshold.met {
            Some(true) => None,
            Some(false) => Some(crossing(threshold)),
            None => Some("nothing was measured".to_owned()),
        };
        case(threshold.whole(), failure)
    });
    let never = run.unreached();
    let points = run.plan.expect_sometimes.iter().map(|point| {
        let missed = never.contains(point);
        let failure = missed.then(|| format!("{point} was never reached"));
        case(format!("sometimes {point}"), failure)
    });
    let mut stuck = case(STUCK.to_owned(), (!result.rest.held).then(|| rest(result)));
    if let Outcome::Failed { body, .. } = &mut stuck.1 {
        body.insert_str(0, &who_is_stuck(result));
    }
    let left_out = (!result.left_out.held).then(|| left_out_words(result));
    let left_out = case("left out".to_owned(), left_out);
    let judged = (!is_judged(&result.properties)).then(|| {
        let failure = "no property was exercised by a single check".to_owned();
        case("judged".to_owned(), Some(failure))
    });
    let early = early_end(result);
    let early = early.map(|(_, name, sentence)| case(name.to_owned(), Some(sentence)));
    let rest = [stuck, left_out].into_iter().chain(judged).chain(early);
    thresholds.chain(points).chain(rest).collect()
}

fn who_is_stuck(result: &RunResult) -> String {
    let lines = result.stuck.iter().take(MOST).map(|stuck| {
        let holder = told("  ", held_by(stuck), "\n");
        format!(
            "seed {}: {} {}\n{holder}",
            stuck.seed,
            stuck.who,
            waits(stuck)
        )
    });
    lines.collect()
}

/// A test case of this class, which is escaped.
fn testcase(class: &str, (name, outcome): &Case) -> String {
    let name = escape(name);
    let head = format!("    <testcase classname=\"{class}\" name=\"{name}\"");
    let within = match outcome {
        Outcome::Passed => return format!("{head}/>\n"),
        Outcome::Skipped(why) => format!("<skipped message=\"{why}\"/>"),
        Outcome::Failed { message, body } => {
            let (message, body) = (escape(message), escape(body.trim_end()));
            format!("<failure message=\"{message}\">{body}</failure>")
        }
    };
    format!("{head}>\n      {within}\n    </testcase>\n")
}

/// For attribute values and text alike. Line breaks survive in attributes only as references; what
/// XML 1.0 cannot hold at all becomes U+FFFD.
pub(super) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&apos;"),
            '\n' => safe.push_str("&#10;"),
            '\r' => safe.push_str("&#13;"),
            '\t' => safe.push_str("&#9;"),
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_in_junit() {
        assert_eq!(
            escape("a<b> & \"c\" 'd'\n\t\r\u{0}\u{1b}[31m\u{ffff}ü漢"),
            "a&lt;b&gt; &amp; &quot;c&quot; &apos;d&apos;&#10;&#9;&#13;\u{fffd}\u{fffd}[31m\u{fffd}ü漢"
        );
    }
}
