//! The data of the page of a run that goes on.

use serde_json::json;

use super::fault_marks::fault_marks;
use crate::numbers::{count, milliseconds};
use sim_model::outcome::ProgressNow;
use sim_model::outcome::Series;
use sim_model::plan::Plan;

/// A run that goes on.
#[derive(Clone, Debug)]
pub struct RunningView {
    /// The scenario file as the command line names it.
    pub file: String,
    /// The scenario.
    pub plan: Plan,
    /// The number of seeds.
    pub seeds: u64,
    /// How far the run is.
    pub progress: ProgressNow,
}

/// The data of the page, with the figures of the first seed until now.
///
/// # Errors
/// Only if serialisation fails, which no run causes.
pub fn running_data(
    view: &RunningView,
    series: &Series,
    version: &str,
) -> serde_json::Result<String> {
    let plan = &view.plan;
    let duration = plan.duration.0 as f64 / 1_000.0;
    let (faults, users) = (plan.faults_of(series.seed), plan.workload.users());
    let timeline = json!({
        "bucket_ms": series.bucket_ms,
        "arrivals": series.arrived,
        "faults": fault_marks(&faults, users, &[], Some(series)),
        "violations_ms": [],
        "healed_ms": (series.ended_ms >= duration).then_some(duration),
        "quiet_ms": null,
        "ended_ms": series.ended_ms,
    });
    let running = json!({
        "name": plan.name,
        "about": plan.about,
        "facts": facts(view, series),
        "several_seeds": view.seeds > 1,
        "series": series,
        "timeline": timeline,
    });
    serde_json::to_string(&json!({ "version": version, "running": running }))
}

/// How far it is, as names and values.
fn facts(view: &RunningView, series: &Series) -> Vec<(&'static str, String)> {
    let now = &view.progress;
    let mut facts = vec![
        ("Scenario", view.file.clone()),
        ("Time of the run", milliseconds(series.ended_ms)),
        ("Users", count(now.users)),
    ];
    if view.seeds > 1 {
        let done = format!("{} of {}", count(now.seeds_done), count(view.seeds));
        facts.push(("Seeds done", done));
    }
    match now.live {
        None => facts.push(("Steps", count(now.steps))),
        Some(live) => facts.extend([
            ("Calls offered", format!("{}/s", count(live.offered))),
            ("Calls answered", format!("{}/s", count(live.answered))),
            ("p99 of all calls", milliseconds(live.p99_us / 1_000.0)),
            ("Failed requests", count(live.failed)),
        ]),
    }
    facts
}
