//! Tests exploring: variations are valid and repeatable, each failure is reported once, and the
//! number of threads changes nothing.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;

use chat_types::Span;
use sim_judge::SeedOutcome;
use sim_model::draw::Shape;
use sim_model::history::Observer;
use sim_model::outcome::{Interrupt, Progress, Seek, Subject, Trial, Violation};
use sim_model::plan::{Plan, Step, Verb, Workload};
use sim_model::recipe::Recipe;
use sim_scenario::load;
use sim_search::explore::{DrawnPlan, Exploration, ExploreOptions, OnFailure, explore, vary};
use sim_search::runner::RunSeed;
use sim_search::seed::run_seed;

use crate::{shipped_file, shipped_files};

fn plan(name: &str) -> Plan {
    load(&shipped_file(name)).expect("a shipped scenario")
}

/// Continues until this number of trials.
fn stop_after(count: u64) -> impl FnMut(&Trial, &Exploration) -> ControlFlow<()> {
    move |_, so_far| match so_far.result.tried < count {
        true => ControlFlow::Continue(()),
        false => ControlFlow::Break(()),
    }
}

pub(super) fn explored(plans: &[Plan], count: u64, jobs: usize) -> ExploreOptions<'_> {
    ExploreOptions {
        plans,
        first: 1,
        count,
        interrupt: Interrupt::default(),
        jobs: NonZeroUsize::new(jobs).expect("some"),
        on_failure: OnFailure::Continue,
        seek: None,
        recipe: Recipe::default(),
        guided: None,
        also_judge: &|_, _| {},
    }
}

/// The result of an exploration to its end.
pub(super) fn whole(what: &ExploreOptions<'_>, run: RunSeed<'_>) -> Exploration {
    explore(what, run, &mut stop_after(u64::MAX))
}

/// Checks the rules of scenario files, as far as variations touch them.
fn check(plan: &Plan) {
    plan.server
        .check()
        .expect("a server that can be configured");
    assert!(plan.thresholds.is_empty() && plan.expect_sometimes.is_empty());
    let Workload::Phases { phases, personas } = &plan.workload else {
        return;
    };
    let arrivals = phases.iter().map(|phase| phase.duration.0).sum::<u64>();
    assert!(arrivals <= plan.duration.0);
    for fault in &plan.faults {
        use sim_model::plan::FaultKind::*;
        let shortest = Span::millis(1);
        if let ClockJump { by: length }
        | DamageDisk {
            restore_after: length,
            ..
        } = fault.kind
        {
            assert!(length >= shortest && fault.at < plan.duration, "{fault:?}");
        } else if let Some(length) = fault.kind.clone().length_mut() {
            assert!(*length >= shortest, "{fault:?}");
            assert!(fault.at + *length <= plan.duration, "{fault:?}");
        }
    }
    assert!(plan.faults.is_sorted_by_key(|fault| fault.at));
    assert!(!personas.is_empty());
    let names: BTreeSet<&str> = personas.iter().map(|persona| &*persona.name).collect();
    assert_eq!(names.len(), personas.len());
    for persona in personas {
        assert!(!persona.flow.is_empty() && persona.frequency.weight() > 0);
        check_steps(&persona.flow, plan);
    }
}

fn check_steps(steps: &[Step], plan: &Plan) {
    for step in steps {
        match step {
            Step::Call(Verb::Check { wait, .. }) => assert!(*wait <= plan.server.max_wait),
            Step::Loop { count, steps } => {
                assert!(*count > 0);
                check_steps(steps, plan);
            }
            Step::Choose(choices) => {
                assert!(!choices.is_empty());
                for choice in choices.iter() {
                    check_steps(&choice.steps, plan);
                }
            }
            Step::Call(_) | Step::Await { .. } | Step::Think(_) | Step::Disconnect(_) => {}
        }
    }
}

#[test]
fn what_is_drawn_is_a_valid_scenario_and_always_the_same() {
    for file in shipped_files("") {
        let plan = load(&file).expect("a shipped scenario");
        for seed in 0..150 {
            let varied = vary(&plan, seed);
            check(&varied.plan);
            assert!(!varied.drew.is_empty());
            let again = vary(&plan, seed);
            assert_eq!(format!("{:?}", again.plan), format!("{:?}", varied.plan));
            assert_eq!(again.drew(), varied.drew());
        }
    }
}

/// Words for kinds of what is drawn.
const KINDS: &str = "
    own form, answers get lost, at match, at released_by, plain, race depth, no faults,
    server down (crash), unsynced entries lost, server down (stop), another configuration,
    mutes the address of, bans the address of, partition, suspend, slow readers, × slower,
    disk fails, fate unknown, clock jumps, kicks one user, mutes one user, bans one user,
    closes the room of, turn_limit, inbox_limit, max_queue, max_rooms, rate_limit, max_pending,
    random matching, interests, stick optional, lease, grace, idle, forget after, loss,
    duplicate, stream break, latency, timeout, no_key, impatient, parallel, bare_check,
    forget_handle, abandon, no check, all say hello, few words, think, rambler, to a room name,
    more after, without stream";

#[test]
fn every_kind_of_thing_is_drawn_now_and_then() {
    let plan = plan("forgetful");
    let all: Vec<_> = (0..600).map(|seed| vary(&plan, seed)).collect();
    let drew = |what: &str| {
        let said = |varied: &&DrawnPlan| varied.drew.iter().any(|one| one.contains(what));
        all.iter().filter(said).count()
    };
    for what in KINDS.split(',').map(str::trim) {
        let times = drew(what);
        assert!(times >= 4, "{what}: {times}");
        assert!(times < 600 || what == "latency", "{what} always");
    }
    let fixed =
        |varied: &&DrawnPlan| matches!(varied.plan.network.latency.shape(), Shape::Fixed(_));
    assert!(all.iter().filter(fixed).count() > 10);
}

#[test]
fn the_steps_form_keeps_its_steps() {
    let plan = plan("regressions/push_after_expiry");
    for seed in 0..20 {
        let varied = vary(&plan, seed).plan;
        let words = |plan: &Plan| format!("{:?} {:?}", plan.workload, plan.server);
        assert_eq!(words(&varied), words(&plan));
    }
}

#[test]
fn the_core_as_it_is_holds_and_the_number_of_threads_changes_nothing() {
    let plans = "churn stick_contention partition lookups alphabets".split(' ');
    let plans: Vec<Plan> = plans.map(plan).collect();
    let [one, many] = [1, 5].map(|jobs| whole(&explored(&plans, 150, jobs), &run_seed));
    assert_eq!(one.tally, many.tally);
    let (one, many) = (one.result, many.result);
    let failures: Vec<_> = one.failures.iter().map(|one| &one.detail).collect();
    assert!(failures.is_empty(), "{failures:#?}");
    assert_eq!((one.tried, one.exit_code, one.steps), (150, 0, many.steps));
    assert!(one.steps > 50_000, "{}", one.steps);
    let unreached = one.unreached;
    // None of these plans has users that sleep, whom four points are about.
    assert!(
        !unreached.contains(&"match") && unreached.len() < 16,
        "{unreached:?}"
    );
}

/// A world that violates a property on some seeds, and panics on others.
fn broken(
    plan: &Plan,
    seed: u64,
    progress: &Progress,
    observer: Option<&mut (dyn Observer + '_)>,
) -> SeedOutcome {
    let mut outcome = run_seed(plan, seed, progress, observer);
    assert!(seed != 23, "index 7 is out of bounds");
    let mut violated = |property: &str, detail: String, cause: &str| {
        outcome.violations.push(Violation {
            property: property.to_owned(),
            detail,
            seed,
            subject: Subject {
                cause: cause.to_owned(),
                ..Subject::default()
            },
            ..Violation::default()
        });
    };
    if seed % 10 == 9 {
        let detail = format!("user_{seed} heard \"{seed}\" at {seed}ms");
        violated("room_order", detail, "a message that nobody said");
    }
    if seed == 30 {
        violated("queue_progress", "nobody came".to_owned(), "");
    }
    outcome
}

#[test]
fn failures_are_told_once_for_each_property_and_cause() {
    let plans = [plan("churn"), plan("partition")];
    let found = whole(&explored(&plans, 40, 3), &broken).result;
    let told = found.failures.iter().map(|one| {
        let Trial { seed, scenario, .. } = one.trial;
        format!("{} {seed} {} {scenario}", one.property, one.trials)
    });
    let told: Vec<String> = told.collect();
    assert_eq!(
        told,
        ["room_order 9 4 0", "panic 23 1 0", "queue_progress 30 1 1"]
    );
    assert_eq!(found.exit_code, 1);
    assert_eq!(found.failures[0].cause, "a message that nobody said");
}

#[test]
fn the_first_failure_is_the_one_of_the_lowest_seed() {
    let plans = [plan("churn"), plan("partition")];
    for jobs in [1, 4] {
        let what = ExploreOptions {
            on_failure: OnFailure::Stop,
            ..explored(&plans, 40, jobs)
        };
        let found = whole(&what, &broken).result;
        assert_eq!((found.tried, found.failures.len()), (9, 1));
    }
    let what = ExploreOptions {
        first: 30,
        ..explored(&plans[..1], 1, 1)
    };
    let found = whole(&what, &broken).result;
    assert_eq!(found.exit_code, 3);
}

#[test]
fn when_time_is_up_what_was_taken_is_what_any_machine_would_have_taken() {
    let plans = [plan("churn")];
    let until = |jobs| {
        let what = explored(&plans, 1_000, jobs);
        explore(&what, &run_seed, &mut stop_after(37)).result
    };
    let (one, many) = (until(1), until(4));
    assert_eq!((one.tried, one.steps), (37, many.steps));
}

#[test]
fn a_failing_seed_fails_again_alone() {
    let plans = [plan("stick_contention"), plan("burst")];
    let what = explored(&plans, 30, 2);
    let mut hashes = Vec::new();
    for index in 0..30_u64 {
        let trial = Trial {
            index,
            scenario: usize::try_from(index % 2).expect("small"),
            seed: 1 + index,
            recipe: Recipe::default(),
        };
        let drawn = what.varied(&trial).plan;
        let alone = vary(&plans[trial.scenario], trial.seed).plan;
        let hash = |plan: &Plan| {
            run_seed(plan, trial.seed, &Progress::default(), None)
                .ran
                .trace_hash
        };
        assert_eq!(hash(&drawn), hash(&alone));
        hashes.push(hash(&drawn));
    }
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), 30, "each seed is a run of its own");
}

#[test]
fn a_search_finds_the_same_worst_with_any_number_of_threads() {
    let plans = [plan("stick_contention")];
    let hunt = |jobs| {
        let what = ExploreOptions {
            seek: Some(Seek::StickWait),
            ..explored(&plans, 80, jobs)
        };
        let found = whole(&what, &run_seed).result;
        found.hunt.expect("a search was asked for").worst
    };
    let worst = hunt(1);
    assert_eq!(worst, hunt(4));
    assert!(worst.is_sorted_by(|one, other| one.worst.figure >= other.worst.figure));
    let (trial, longest) = (worst[0].trial.clone(), worst[0].worst);
    assert!(
        longest.figure > 1_000_000 && longest.user.is_some(),
        "{longest:?}"
    );
    let drawn = explored(&plans, 1, 1).varied(&trial).plan;
    let again = run_seed(&drawn, trial.seed, &Progress::default(), None);
    let again = again.metrics.worst(Seek::StickWait);
    assert_eq!(again, longest, "the worst can be seen again");
}
