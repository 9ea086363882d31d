//! The result as an HTML page: one file that loads nothing from the network.
//!
//! The page is a template that contains its style and its programs. The result of the run is JSON
//! in a separate element. The programs show it only as text nodes, so that no name of a scenario
//! and no text of a virtual user is ever parsed as HTML.

mod view;

use super::FinishedRun;
use super::failure::what_failed;
use super::junit::escape;
use super::line::{Style, visible};
use super::verdict_lines::badge;
use sim_model::outcome::Verdict;

const PAGE: &str = include_str!("html/page.html");
const STYLE: &str = include_str!("html/page.css");
/// The order matters: each program uses the earlier ones.
const PROGRAMS: [&str; 7] = [
    include_str!("html/dom.js"),
    include_str!("html/charts.js"),
    include_str!("html/fact_marks.js"),
    include_str!("html/diagram.js"),
    include_str!("html/series.js"),
    include_str!("html/users.js"),
    include_str!("html/page.js"),
];

/// The page of these runs. `version` is the program's version on the page.
#[must_use]
pub fn html(runs: &[FinishedRun], version: &str) -> String {
    let data = view::page(runs, version).to_string();
    let (title, programs) = (escape(&visible(&title(runs))), PROGRAMS.concat());
    let mut page = String::with_capacity(PAGE.len() + STYLE.len() + programs.len() + data.len());
    let mut rest = PAGE;
    for (mark, text) in [
        ("{{title}}", title.as_str()),
        ("{{style}}", STYLE),
        ("{{verdict}}", title.as_str()),
        ("{{data}}", &within_script(&data)),
        ("{{programs}}", &programs),
    ] {
        // Each placeholder is searched for after the previous one, so that inserted text is never
        // searched.
        let (before, after) = rest.split_once(mark).unwrap_or((rest, ""));
        page.push_str(before);
        page.push_str(text);
        rest = after;
    }
    page.push_str(rest);
    page
}

/// `FAIL stick_exclusion · stick_contention`
fn title(runs: &[FinishedRun]) -> String {
    let one = |run: &FinishedRun| {
        let what = match badge(run.result().exit_code) {
            (Style::Bad, word) => format!("{word} {}", what_failed(run)),
            (_, word) => word.to_owned(),
        };
        format!("{what} · {}", run.plan.name)
    };
    let mut all = runs.iter();
    match (runs, all.find(|run| run.result().verdict != Verdict::Pass)) {
        ([run], _) | (_, Some(run)) => one(run),
        (_, None) => format!("PASS · {} scenarios", runs.len()),
    }
}

/// JSON that is safe in a `script` element. These characters occur only in strings, where an escape
/// means the same: no `</script` or `<!--` is left for a browser to find.
fn within_script(json: &str) -> String {
    json.replace('<', "\\u003c")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::samples;

    fn data(page: &str) -> serde_json::Value {
        let (_, rest) = page.split_once("id=\"data\">").unwrap();
        serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
    }

    #[test]
    fn every_kind_of_run_has_a_page_that_loads_nothing() {
        for run in [
            samples::passed(),
            samples::many_passed(),
            samples::unsafe_run(),
            samples::stalled_run(),
            samples::unjudged(),
            samples::crossed(),
            samples::overlong(samples::unsafe_run()),
        ] {
            let name = run.plan.name.clone();
            let page = html(&[run], "0.1.0");
            assert_eq!(data(&page)["runs"][0]["name"], name.as_str());
            assert!(page.contains("default-src 'none'"));
            assert!(!page.contains("{{"), "a mark was left");
            for word in "https:// //cdn fetch( XMLHttpRequest import( innerHTML".split(' ') {
                assert!(!page.contains(word), "{word}");
            }
            // The only URL is SVG's namespace, which is never loaded.
            assert_eq!(page.matches("http://").count(), 1);
        }
    }

    #[test]
    fn names_are_escaped_in_the_page() {
        let mut run = samples::unsafe_run();
        run.plan.name = "</title><script>alert(1)</script>{{data}}<!--\u{2028}".to_owned();
        run.summary.result.violations[0].detail = "</script><!-- {{programs}}".to_owned();
        let page = html(&[run], "0.1.0");
        assert_eq!(page.matches("</script>").count(), 2);
        assert_eq!(page.matches("<script>").count(), 1);
        assert_eq!(page.matches("</title>").count(), 1);
        assert!(!page.contains("<!--"));
        let run = &data(&page)["runs"][0];
        assert_eq!(run["sentences"][0], "</script><!-- {{programs}}");
        let name = run["name"].as_str().unwrap();
        assert!(name.ends_with("{{data}}<!--\u{2028}"), "{name}");
    }

    #[test]
    fn the_title_shows_the_worst_verdict() {
        assert_eq!(title(&[samples::passed()]), "PASS · burst");
        let failed = "FAIL stick_exclusion · stick_contention";
        assert_eq!(title(&[samples::passed(), samples::unsafe_run()]), failed);
        assert_eq!(
            title(&[samples::passed(), samples::passed()]),
            "PASS · 2 scenarios"
        );
    }

    #[test]
    fn pages_differ_only_in_the_machine_s_figures() {
        let slow = |wall_ms| {
            let mut run = samples::unsafe_run();
            run.summary.result.wall_ms = wall_ms;
            let mut page = data(&html(&[run], "0.1.0"));
            assert!(page["runs"][0]["wall"].take().is_string());
            page
        };
        assert_eq!(slow(50.0), slow(7_000.0));
    }
}
