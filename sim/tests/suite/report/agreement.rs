//! Tests that all outputs of a run show the same figures: terminal, JSON, JUnit and HTML, for each
//! shipped scenario.

use sim_search::seed::run_seed;
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde_json::Value;
use sim_model::outcome::Progress;
use sim_model::plan::{Arrivals, Plan, Workload};
use sim_report::{Detail, FinishedRun, Origin, Paint, View, html, json, junit, terminal};
use sim_search::runner::of_one_seed;

use super::data;
use crate::{list as items, shipped_files};

/// Higher arrival rates, in thousandths per second, are reduced: the comparison of outputs does not
/// need ten thousand users.
const TOO_MANY: u64 = 250_000;
const FEWER: u64 = 50_000;

fn smaller(mut plan: Plan) -> Plan {
    if let Workload::Phases { phases, .. } = &mut plan.workload {
        for phase in phases {
            if let Arrivals::Rate {
                from_milli,
                to_milli,
                ..
            } = &mut phase.arrivals
                && (*from_milli).max(*to_milli) > TOO_MANY
            {
                (*from_milli, *to_milli) = (FEWER, FEWER);
            }
        }
    }
    plan
}

pub(super) fn finished(file: &Path) -> FinishedRun {
    let plan = smaller(sim_scenario::load(file).expect("a shipped scenario"));
    let outcome = run_seed(&plan, plan.seed, &Progress::default(), None);
    let summary = of_one_seed(plan.seed, Ok(outcome)).finish(&plan, Duration::ZERO);
    FinishedRun::new(file.display().to_string(), plan, summary)
}

/// The four outputs of one run.
struct Shown {
    /// Words separated by single spaces.
    terminal: String,
    json: Value,
    junit: String,
    page: Value,
}

impl Shown {
    fn of(run: &FinishedRun) -> Self {
        let view = View {
            detail: Detail::Verbose,
            paint: Paint::Plain,
            version: "0.1.0",
        };
        let page = html(std::slice::from_ref(run), "0.1.0");
        let json = json(
            &[run.result()],
            0,
            &Origin::new("0.1.0", None, NonZeroUsize::MIN, SystemTime::UNIX_EPOCH),
        )
        .expect("JSON");
        Self {
            terminal: words(&terminal(run, &view)),
            json: serde_json::from_str(&json).expect("JSON"),
            junit: junit(std::slice::from_ref(run)),
            page: data(&page)["runs"][0].clone(),
        }
    }

    fn terminal_shows(&self, what: &str) {
        assert!(self.terminal.contains(what), "{what}\n{}", self.terminal);
    }

    /// Whether JUnit contains this case, and it passed.
    fn passed(&self, case: &str) -> bool {
        let escaped = case.replace('<', "&lt;").replace('>', "&gt;");
        // Properties of the suite, which may have the same name, come first.
        let (_, cases) = self.junit.split_once("<testcase").expect("a case");
        let (_, rest) = cases
            .split_once(&format!(" name=\"{escaped}\""))
            .unwrap_or_else(|| panic!("no case {case}\n{}", self.junit));
        rest.starts_with("/>")
    }

    fn entry<'a>(&'a self, list: &str, name: &str) -> &'a Value {
        let found = items(&self.page[list])
            .iter()
            .find(|entry| entry["name"] == name);
        found.unwrap_or_else(|| panic!("the page has no {name}"))
    }
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Formats 12345 as `12,345`.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn number(value: &Value) -> u64 {
    value
        .as_u64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

fn the_verdict_agrees(shown: &Shown) {
    let exit = number(&shown.json["exit_code"]);
    assert_eq!(shown.page["exit_code"], exit);
    assert_eq!(shown.page["verdict"], shown.json["verdict"]);
    shown.terminal_shows(&format!("exit {exit}"));
    let hash = shown.json["trace_hash"].as_str().expect("a hash");
    assert_eq!(shown.page["trace_hash"], hash);
    shown.terminal_shows(&format!("trace hash {hash}"));
    for (name, value) in [("exit_code", exit.to_string()), ("trace_hash", hash.into())] {
        let fact = format!("<property name=\"{name}\" value=\"{value}\"/>");
        assert!(shown.junit.contains(&fact), "{fact}");
    }
    assert_eq!(shown.page["users"], grouped(number(&shown.json["users"])));
    for sentence in items(&shown.page["sentences"]) {
        shown.terminal_shows(sentence.as_str().expect("a sentence"));
    }
}

fn the_properties_agree(shown: &Shown) {
    let (mut held, mut checks) = (0, 0);
    for (name, property) in shown.json["properties"].as_object().expect("properties") {
        let n = number(&property["checks"]);
        let entry = shown.entry("properties", name);
        assert_eq!(entry["checks"], grouped(n), "{name}");
        let standing = match (n, &property["held"]) {
            (_, Value::Bool(false)) => "violated",
            (0, _) => "not exercised",
            (_, Value::Bool(true)) => "held",
            (_, other) => panic!("{name} is {other}"),
        };
        assert_eq!(entry["standing"], standing, "{name}");
        // In JUnit thresholds are cases of their own, and nothing else breaks these properties.
        if entry["class"] != "threshold" {
            assert_eq!(shown.passed(name), standing == "held", "{name}");
        }
        match standing {
            "held" => shown.terminal_shows(&format!("✓ {name} {}", grouped(n))),
            "violated" => shown.terminal_shows(&format!("✗ {name} {}", grouped(n))),
            _ => shown.terminal_shows(&format!("– {name} not exercised")),
        }
        if standing == "held" && entry["class"] != "threshold" {
            (held, checks) = (held + 1, checks + n);
        }
    }
    if shown.json["verdict"] == "pass" {
        let claim = format!("{held} properties held in {} checks", grouped(checks));
        shown.terminal_shows(&claim);
        let first = shown.page["sentences"][0].as_str().expect("a sentence");
        assert!(first.starts_with(&claim), "{first}");
    }
}

/// The figures of personas, of phases and of rooms add up to those of the run.
fn the_groups_add_up(shown: &Shown) {
    let refused = shown.json["refusals"].as_object().expect("refusals");
    let refused: u64 = refused.values().map(number).sum();
    for (kind, list) in shown.json["groups"].as_object().expect("groups") {
        let list = items(list);
        if list.is_empty() {
            continue;
        }
        let most = if kind == "rooms" { 11 } else { 51 };
        assert!(list.len() <= most, "{kind}");
        let sum: u64 = list.iter().map(|group| number(&group["refused"])).sum();
        assert_eq!(sum, refused, "refused by {kind}");
        for name in ["message_latency", "queue_wait", "stick_wait"] {
            let whole = &shown.json["metrics"][name];
            let parts = list.iter().filter_map(|group| group["metrics"].get(name));
            let parts: Vec<&Value> = parts.collect();
            if kind == "rooms" && name == "queue_wait" {
                assert!(parts.is_empty(), "a wait in the queue belongs to no room");
                continue;
            }
            let count: u64 = parts.iter().map(|part| number(&part["count"])).sum();
            assert_eq!(count, number(&whole["count"]), "{name} by {kind}");
            if count == 0 {
                assert!(whole["mean"].is_null(), "{name} by {kind}");
                continue;
            }
            let of = |part: &Value, figure: &str| part[figure].as_f64().expect("a number");
            let sum = |part: &Value| of(part, "mean") * of(part, "count");
            let total: f64 = parts.iter().map(|part| sum(part)).sum();
            assert!(
                (total - sum(whole)).abs() <= 1e-6 * sum(whole),
                "{name} by {kind}"
            );
            let max = parts.iter().map(|part| of(part, "max")).fold(0.0, f64::max);
            assert!((max - of(whole, "max")).abs() < 1e-9, "{name} by {kind}");
        }
    }
}

fn the_figures_agree(shown: &Shown) {
    for (name, metric) in shown.json["metrics"].as_object().expect("metrics") {
        let entry = shown.entry("metrics", name);
        let count = grouped(number(&metric["count"]));
        assert_eq!(entry["count"], count, "{name}");
        assert_eq!(entry["unfinished"], metric["unfinished"], "{name}");
        let figures = items(&entry["figures"]).iter();
        let figures = figures.map(|figure| figure.as_str().expect("a text"));
        let figures: Vec<&str> = figures.collect();
        let title = entry["title"].as_str().expect("a title");
        shown.terminal_shows(&format!("{title} {count} {}", figures.join(" ")));
        let unfinished = number(&metric["unfinished"]);
        if unfinished > 0 {
            shown.terminal_shows(&format!("{} without an end", grouped(unfinished)));
        }
    }
    let thresholds = items(&shown.json["thresholds"]);
    let shown_there = items(&shown.page["thresholds"]);
    assert_eq!(thresholds.len(), shown_there.len());
    for (threshold, there) in thresholds.iter().zip(shown_there) {
        let [metric, expression] = ["metric", "expression"].map(|key| threshold[key].as_str());
        let expression = expression.expect("an expression");
        let name = format!("{} {expression}", metric.expect("a metric"));
        assert_eq!(there["met"], threshold["met"], "{name}");
        assert_eq!(shown.passed(&name), threshold["met"] == true, "{name}");
        let mark = match threshold["met"].as_bool() {
            Some(true) => "✓",
            Some(false) => "✗",
            None => "–",
        };
        shown.terminal_shows(&format!("{expression} {mark}"));
    }
}

fn the_counts_agree(shown: &Shown) {
    let counts = shown.json["counts"].as_object().expect("counts");
    for (name, count) in counts {
        let mut rows = items(&shown.page["counts"]).iter();
        let row = rows.find(|row| row[0] == name.as_str());
        let row = row.unwrap_or_else(|| panic!("the page does not count {name}"));
        assert_eq!(row[1], grouped(number(count)), "{name}");
    }
    let of = |name: &str| grouped(number(&counts[name]));
    shown.terminal_shows(&format!(
        "messages {} tried = {} accepted + {} refused",
        of("attempted"),
        of("accepted"),
        of("refused")
    ));
    shown.terminal_shows(&format!("· {} lost", of("lost")));
    let refusals = shown.json["refusals"].as_object().expect("refusals");
    let there = items(&shown.page["refusals"]);
    assert_eq!(refusals.len(), there.len());
    for (code, n) in refusals {
        let row = there.iter().find(|row| row[0] == code.as_str());
        let row = row.expect("the same codes");
        assert_eq!(row[1], grouped(number(n)), "{code}");
        shown.terminal_shows(code);
    }
}

fn what_was_reached_agrees(shown: &Shown, expected: &[&str]) {
    for (name, times) in shown.json["sometimes"].as_object().expect("points") {
        assert_eq!(shown.entry("reached", name)["times"], *times, "{name}");
        if number(times) > 0 {
            shown.terminal_shows(&format!("{name} {}", grouped(number(times))));
        }
    }
    for point in expected {
        let reached = number(&shown.json["sometimes"][point]) > 0;
        let passed = shown.passed(&format!("sometimes {point}"));
        assert_eq!(passed, reached, "{point}");
    }
}

fn the_stuck_agree(shown: &Shown) {
    let rest = &shown.json["rest"];
    let listed = items(&shown.json["stuck"]).len() as u64;
    let stuck = listed + number(&shown.json["stuck_left_out"]);
    assert_eq!(rest["stuck"], stuck);
    assert_eq!(shown.page["stuck_in_all"], stuck);
    assert_eq!(shown.passed("stuck"), rest["held"] == true);
    if stuck > 0 {
        let users = if stuck == 1 { "user" } else { "users" };
        shown.terminal_shows(&format!("stuck {} {users}", grouped(stuck)));
    }
}

#[test]
fn every_output_of_every_shipped_scenario_shows_the_same_figures() {
    let files = shipped_files("");
    assert!(files.len() > 15, "{files:?}");
    for file in files {
        let run = finished(&file);
        let shown = Shown::of(&run);
        the_verdict_agrees(&shown);
        the_properties_agree(&shown);
        the_figures_agree(&shown);
        the_groups_add_up(&shown);
        the_counts_agree(&shown);
        what_was_reached_agrees(&shown, &run.plan.expect_sometimes);
        the_stuck_agree(&shown);
        let words = format!("{}: {}", file.display(), shown.page["sentences"]);
        assert_eq!(run.result().exit_code, 0, "{words}");
    }
}
