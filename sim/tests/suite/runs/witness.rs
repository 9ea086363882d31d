//! Compares the witness with the auditor. The witness sees only the clients' histories of virtual
//! runs. It must never report a violation in a run in which the auditor, which sees everything,
//! finds none.

use sim_search::seed::run_seed;
use std::collections::BTreeMap;

use sim_judge::{Judge, Judgement};
use sim_model::draw::Ratio;
use sim_model::history::{Observer, RunEvent};
use sim_model::outcome::Progress;
use sim_model::plan::Plan;
use sim_search::explore::vary;

use crate::shipped_files;

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
    let mut histories = Histories(Judge::live(plan, None));
    let outcome = run_seed(plan, seed, &Progress::default(), Some(&mut histories));
    let judged = histories.0.finish(outcome.ran.ended_at);
    outcome.violations.is_empty().then_some(judged)
}

/// The shipped scenarios without the two with many thousand users.
pub(super) fn shipped() -> Vec<Plan> {
    let files = ["regressions", ""].into_iter().flat_map(shipped_files);
    let files = files.filter(|path| !path.ends_with("scale.yaml") && !path.ends_with("soak.yaml"));
    let plans = files.map(|path| sim_scenario::load(&path).expect("a scenario"));
    plans.collect()
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
    let judged = "no_lost_messages no_duplicates room_order no_phantoms single_match \
                  stick_exclusion stick_order room_lifecycle breaks_rules";
    for property in judged.split(' ') {
        let (checks, unjudged) = checks[property];
        assert!(
            checks > unjudged,
            "{property}: {checks}, {unjudged} not judged"
        );
    }
    for property in ["fifo_matching", "outcomes", "presence", "queue_progress"] {
        let (checks, unjudged) = checks[property];
        let is_not_judged = checks == 0 && unjudged > 0;
        assert!(is_not_judged, "{property}: {checks}, {unjudged} not judged");
    }
}

/// Checks this many variations of each scenario.
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
