//! Checks that the documentation, the alerts and the dashboard name the metrics that the server has.

use std::collections::BTreeSet;
use std::time::Duration;

use chat_core::Time;
use serde_json::Value;
use server_chat::capacity::Capacity;
use server_chat::metrics::{Exposition, Metrics, Row};
use server_chat::refused_requests::Kind;
use server_chat::tools::Tool;

use crate::complete::missing;
use crate::{none_of, text};

/// The metrics of a member of a cluster, which has all, after one of each was counted.
fn figures() -> String {
    let metrics = Metrics::default().with_member("main");
    metrics.called(Tool::Login, Duration::ZERO);
    metrics.count(Row::Refusals, "muted");
    metrics.count(Row::TurnedAway, Kind::ALL[0].name());
    metrics.count(Row::ConnectionsRefused, "full");
    metrics.count(Row::HttpResponses, "/send 200");
    metrics.took(Row::HttpRequestSeconds, "/send", Duration::ZERO);
    metrics.set(Row::DiskBytes, "journal", 0);
    metrics.see(Time(0), None, 0);
    let of_process = metrics.of_process(&Capacity::default());
    Exposition::Text.of([of_process].into_iter().chain(metrics.of_realm()))
}

/// The names of metrics in the queries of the page, as the server writes them.
#[derive(Default)]
struct Known {
    samples: BTreeSet<String>,
    labels: BTreeSet<String>,
}

impl Known {
    fn read() -> Self {
        let mut known = Self::default();
        // Prometheus adds these.
        known.samples.insert("up".into());
        known.labels.extend(["job", "instance"].map(str::to_owned));
        for line in figures().lines().filter(|line| !line.starts_with('#')) {
            let (sample, _) = line.rsplit_once(' ').expect("a sample has a value");
            let (name, labels) = sample.split_once('{').unwrap_or((sample, ""));
            known.samples.insert(name.into());
            let labels = labels.split("\",").filter_map(|one| one.split_once('='));
            known
                .labels
                .extend(labels.map(|(label, _)| label.to_owned()));
        }
        known
    }

    /// What a query names that the server does not write.
    fn unknown_in(&self, query: &str) -> Vec<String> {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let words = query.split(|c| !is_word(c));
        let own = |word: &&str| word.starts_with("talking_stick_") || word.starts_with("process_");
        let names = words
            .filter(own)
            .filter(|word| !self.samples.contains(*word));
        let mut unknown: Vec<_> = names.map(str::to_owned).collect();
        for (at, _) in query.match_indices(['=', '!']) {
            let before = query[..at].trim_end();
            let label = before.rsplit(|c| !is_word(c)).next().unwrap_or_default();
            let is_matcher = query[at..]
                .trim_start_matches(['=', '!', '~', ' '])
                .starts_with('"');
            if is_matcher && !label.is_empty() && !self.labels.contains(label) {
                unknown.push(label.into());
            }
        }
        for list in query.split("by (").skip(1) {
            let list = list.split(')').next().unwrap_or_default();
            let labels = list.split(',').map(str::trim);
            let others = labels.filter(|one| !self.labels.contains(*one));
            unknown.extend(others.map(str::to_owned));
        }
        unknown
    }
}

#[test]
fn every_metric_is_named() {
    let figures = figures();
    let names: Vec<&str> = figures
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next())
        .map(|name| name.strip_prefix("talking_stick_").unwrap_or(name))
        .map(|name| name.strip_suffix("_total").unwrap_or(name))
        .collect();
    assert!(names.len() > 35, "only {names:?} were found");
    none_of(&missing("docs/operators.md", names));
}

#[test]
fn the_dashboard_shows_what_the_server_has() {
    let known = Known::read();
    let dashboard = text("deploy/grafana/talking-stick.json");
    let dashboard: Value = serde_json::from_str(&dashboard).expect("it is JSON");
    let panels = dashboard["panels"].as_array().expect("a list");
    let targets = panels
        .iter()
        .filter_map(|panel| panel["targets"].as_array());
    let queries = targets
        .flatten()
        .filter_map(|target| target["expr"].as_str());
    let queries: Vec<_> = queries.collect();
    assert!(queries.len() > 20, "only {queries:?} were found");
    for query in queries {
        let unknown = known.unknown_in(query);
        assert!(unknown.is_empty(), "{query} names {unknown:?}");
    }
    let ids: BTreeSet<_> = panels.iter().map(|panel| panel["id"].as_u64()).collect();
    assert_eq!(ids.len(), panels.len(), "each panel has an id of its own");
}

/// The alerts of all groups.
fn rules() -> Vec<Value> {
    let alerts = text("deploy/prometheus/alerts.yml");
    let alerts: Value = serde_saphyr::from_str(&alerts).expect("they are YAML");
    let groups = alerts["groups"].as_array().expect("a list");
    let rules = groups.iter().filter_map(|group| group["rules"].as_array());
    rules.flatten().cloned().collect()
}

#[test]
fn every_alert_about_a_cluster_is_in_the_runbook_and_is_tested() {
    let chapter = text("docs/cluster.md");
    let (_, runbook) = chapter.split_once("\n## Alerts\n").expect("a runbook");
    let tests = text("deploy/prometheus/alerts.test.yml");
    let mut sections: Vec<_> = runbook.split("\n### ").skip(1).collect();
    for rule in rules() {
        let alert = rule["alert"].as_str().expect("a name");
        if !alert.starts_with("TalkingStickCluster") {
            continue;
        }
        let description = rule["annotations"]["description"].as_str();
        let named = description.and_then(|text| text.split_once("Runbook, \""));
        let (_, named) = named.unwrap_or_else(|| panic!("{alert} names no section"));
        let heading = named.trim_end_matches("\".");
        let is_its = |section: &&str| {
            let (first, text) = section.split_once('\n').unwrap_or_default();
            first == heading && text.trim_start().starts_with(&format!("`{alert}`"))
        };
        let place = sections.iter().position(is_its);
        sections.remove(place.unwrap_or_else(|| panic!("{alert}: no section {heading:?}")));
        let is_tested = tests.contains(&format!("\"{alert}\""));
        assert!(is_tested, "{alert} is not tested");
    }
    assert_eq!(sections, [""; 0], "sections without an alert");
}

#[test]
fn alerts_ask_for_what_the_server_has() {
    let known = Known::read();
    let rules = rules();
    assert!(rules.len() > 20, "only {} rules were found", rules.len());
    for rule in &rules {
        let query = rule["expr"].as_str().expect("a query");
        let unknown = known.unknown_in(query);
        assert!(unknown.is_empty(), "{query} names {unknown:?}");
    }
    assert_eq!(
        known.unknown_in("talking_stick_rooms{job=\"a\"} > 1"),
        [""; 0]
    );
    let wrong = known.unknown_in("sum by (tol) (talking_stick_cals{color=~\"a\"})");
    assert_eq!(wrong, ["talking_stick_cals", "color", "tol"]);
}
