//! Compares the witness with the auditor. The witness sees only the clients' histories of virtual
//! runs. It must never report a violation in a run in which the auditor, which sees everything,
//! finds none.

use sim_search::seed::run_seed;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use chat_types::Time;
use sim_judge::{Judge, Judgement};
use sim_model::draw::Ratio;
use sim_model::history::{Observer, RunEvent};
use sim_model::outcome::Progress;
use sim_model::plan::Plan;
use sim_search::explore::vary;

/// Forwards clients' records, and nothing of the server.
struct Histories(Judge);

impl Observer for Histories {
    fn observe(&mut self, event: RunEvent<'_>) {
        if let RunEvent::Client(_) = event {
            self.0.observe(event);
        }
    }
}

/// The witness's judgement of a run; none if the auditor does not pass the run.
fn witnessed(plan: &Plan, seed: u64) -> Option<Judgement> {
    let mut histories = Histories(Judge::live(plan));
    let outcome = run_seed(plan, seed, &Progress::default(), Some(&mut histories));
    let judged = histories.0.finish(Time(outcome.virtual_span.0));
    outcome.violations.is_empty().then_some(judged)
}

/// The shipped scenarios without the two with many thousand users.
pub(super) fn shipped() -> Vec<Plan> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios");
    let mut plans = Vec::new();
    for folder in [folder.join("regressions"), folder] {
        let entries = fs::read_dir(folder)
            .expect("the scenarios are there")
            .map(|entry| entry.expect("they can be listed").path());
        let mut paths: Vec<_> = entries.collect();
        paths.sort();
        paths.retain(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.ends_with(".yaml") && !["scale.yaml", "soak.yaml"].contains(&&*name)
        });
        for path in paths {
            let text = fs::read_to_string(&path).expect("a file");
            plans.push(sim_scenario::parse(&path.to_string_lossy(), &text).expect("a scenario"));
        }
    }
    plans
}

#[test]
fn it_accuses_no_shipped_scenario() {
    for plan in shipped() {
        let judged = witnessed(&plan, plan.seed).expect("shipped scenarios pass");
        assert_eq!(judged.violations, [], "{}", plan.name);
    }
}

/// A live run has no requests that the network copies, and no faults that restart a server. With both
/// a client may be another participant than it knows, and is not judged.
#[test]
fn it_judges_much_of_each_property_of_shipped_scenarios_without_copies_and_faults() {
    let mut checks: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for mut plan in shipped() {
        plan.network.duplicate = Ratio::NEVER;
        plan.faults.clear();
        let judged = witnessed(&plan, plan.seed).expect("a healthy core passes");
        assert_eq!(judged.violations, [], "{}", plan.name);
        for (property, result) in judged.properties {
            let all = checks.entry(property).or_default();
            *all = (all.0 + result.checks, all.1 + result.unjudged);
        }
    }
    for property in [
        "no_lost_messages",
        "no_duplicates",
        "room_order",
        "no_phantoms",
        "single_match",
        "stick_exclusion",
        "stick_order",
        "room_lifecycle",
        "breaks_rules",
    ] {
        let (checks, unjudged) = checks[property];
        assert!(
            checks > unjudged,
            "{property}: {checks}, {unjudged} not judged"
        );
    }
    for property in ["fifo_matching", "outcomes", "presence", "queue_progress"] {
        let (checks, unjudged) = checks[property];
        assert!(
            checks == 0 && unjudged > 0,
            "{property}: {checks}, {unjudged} not judged"
        );
    }
}

/// Accuses no variation of a shipped scenario that the auditor passes, of this number for each.
pub(super) fn accuses_no_variation(seeds: u64, judged: impl Fn(&Plan, u64) -> Option<Judgement>) {
    let mut passed = 0;
    for plan in shipped() {
        for seed in 0..seeds {
            let varied = vary(&plan, seed);
            if let Some(judged) = judged(&varied.plan, seed) {
                let drew = varied.drew();
                assert_eq!(judged.violations, [], "{} {seed}: {drew}", plan.name);
                passed += 1;
            }
        }
    }
    assert!(passed > 0, "no run passed");
}

#[test]
fn it_accuses_no_scenario_whose_configuration_and_flows_are_drawn() {
    accuses_no_variation(20, witnessed);
}
