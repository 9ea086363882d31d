//! Tests guided exploring: the number of threads changes nothing, a failing branch is a recipe that
//! fails again, a corpus is resumed, and drawn flows are possible.

use std::collections::BTreeSet;
use std::fs;

use sim::commands::{Console, execute};
use sim_judge::SeedOutcome;
use sim_model::outcome::{Interrupt, Point, Progress, Subject, Violation};
use sim_model::plan::{Fault, FaultKind, Plan, Step, Verb, Workload};
use sim_model::protocol::OpKind;
use sim_model::recipe::Recipe;
use sim_scenario::{annotated, load, parse, to_yaml};
use sim_search::explore::{Corpus, Exploration, ExploreOptions, OnFailure, blank, vary};
use sim_search::seed::run_seed;
use sim_search::shrink::{FailedRun, ShrinkContext, shrink};

use super::explore::{explored, whole};
use crate::{console, shipped_file};

fn guided(plans: &[Plan], count: u64, jobs: usize, corpus: Corpus) -> ExploreOptions<'_> {
    ExploreOptions {
        guided: Some(corpus),
        ..explored(plans, count, jobs)
    }
}

fn begun_with(plans: &[Plan], count: u64, corpus: Corpus) -> Exploration {
    whole(&guided(plans, count, 2, corpus), &run_seed)
}

fn recipes(found: &Exploration) -> Vec<sim_search::explore::Entry> {
    let corpus = found.guided.as_ref().expect("it was guided");
    corpus.entries().cloned().collect()
}

/// A scenario with few users, whose runs are short.
fn small() -> Plan {
    let brief = fs::read_to_string(shipped_file("brief")).expect("it is shipped");
    let text = brief.replace("arrival_count: 60", "arrival_count: 6");
    parse("small.yaml", &text).expect("a scenario")
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let plans = [small()];
    let [one, many] = [1, 3].map(|jobs| {
        let what = guided(&plans, 34, jobs, Corpus::default());
        whole(&what, &run_seed)
    });
    assert_eq!((one.result.tried, one.result.runs), (34, many.result.runs));
    assert_eq!(
        (one.result.steps, &one.tally),
        (many.result.steps, &many.tally)
    );
    let mut branches = recipes(&one);
    assert_eq!(branches, recipes(&many));
    let runs = one.result.runs;
    assert!(runs > 3 * one.result.tried, "runs split: {runs}");
    branches.retain(|one| !one.recipe.is_empty());
    assert!(branches.len() > 10, "{branches:?} entered what was new");
}

#[test]
fn a_corpus_goes_on_where_it_ended() {
    let plans = [small()];
    let folder = tempfile::tempdir().expect("a folder");
    let whole = begun_with(&plans, 64, Corpus::default());
    let half = begun_with(&plans, 32, Corpus::default());
    let saved = half.guided.as_ref().expect("guided").save(folder.path());
    saved.expect("a corpus is written");
    let read = Corpus::load(folder.path()).expect("what was written");
    let rest = begun_with(&plans, 32, read);
    assert_eq!(recipes(&rest), recipes(&whole));
    let corpora = [&rest, &whole].map(|found| found.guided.as_ref().expect("guided"));
    let said = corpora.map(|corpus| (corpus.covered().facets, corpus.covered().families));
    assert_eq!(said[0], said[1]);
    let steps = [&half, &rest, &whole].map(|found| found.result.steps);
    assert_eq!(steps[0] + steps[1], steps[2]);
    fs::write(folder.path().join("coverage.txt"), "abstraction 0\n").expect("a file");
    let of_another = Corpus::load(folder.path());
    assert!(of_another.is_err(), "of another abstraction");
}

fn fail(outcome: &mut SeedOutcome, detail: String, cause: &str) {
    outcome.violations.push(Violation {
        property: "room_lifecycle".to_owned(),
        detail,
        seed: outcome.ran.seed,
        subject: Subject {
            cause: cause.to_owned(),
            ..Subject::default()
        },
        ..Violation::default()
    });
}

/// Reports a branch with a second match and a block as a failure.
fn plant(outcome: &mut SeedOutcome) {
    if outcome.ran.tally.count(Point::Match) > 1 && outcome.ran.tally.count(Point::Blocked) > 0 {
        fail(outcome, "a second match, and a block".to_owned(), "");
    }
}

#[test]
fn a_failing_branch_is_a_recipe_that_fails_again_and_shrinks() {
    let plans = [blank()];
    let planted = |recipe: &Recipe, outcome: &mut SeedOutcome| {
        if !recipe.is_plain() {
            plant(outcome);
        }
    };
    let what = ExploreOptions {
        also_judge: &planted,
        on_failure: OnFailure::Stop,
        ..guided(&plans, 400, 2, Corpus::default())
    };
    let found = whole(&what, &run_seed).result;
    let failure = found.failures.first().expect("a planted failure");
    let effort = found.first_failure.expect("what it cost");
    assert_eq!((effort.seeds, effort.steps), (found.tried, found.steps));
    assert!(!failure.trial.recipe.is_plain());
    let mut plan = what.varied(&failure.trial).plan;
    plan.seed = failure.trial.seed;
    let again = run_seed(&plan, plan.seed, &Progress::default(), None);
    assert_eq!(Some(again.ran.trace_hash), failure.trace_hash);
    let read = parse("drawn.yaml", &to_yaml(&plan)).expect("as it was drawn");
    assert_eq!(read.recipe, failure.trial.recipe);
    let reread = run_seed(&read, read.seed, &Progress::default(), None);
    assert_eq!(Some(reread.ran.trace_hash), failure.trace_hash);
    let failing = FailedRun {
        plan: &plan,
        seed: plan.seed,
        property: "room_lifecycle",
    };
    let means = ShrinkContext {
        run: &|plan, seed, progress, also| {
            let mut outcome = run_seed(plan, seed, progress, also);
            plant(&mut outcome);
            outcome
        },
        time_left: &|| true,
        tell: &mut |_, _| {},
    };
    let shrunk = shrink(&failing, means).expect("steps that fail in the same way");
    let is_small = shrunk.plan.recipe.is_plain() && shrunk.after.steps <= 9;
    assert!(is_small, "{}", annotated(&shrunk.plan, &shrunk.notes));
}

/// Reports some branches as failures of one kind, and others of another.
fn two_ways(recipe: &Recipe, outcome: &mut SeedOutcome) {
    if let Some(turn) = recipe.turns().last() {
        let way = if turn.branch % 2 == 0 {
            "one"
        } else {
            "another"
        };
        fail(outcome, format!("wrong in {way} way"), way);
    }
}

#[test]
fn two_failing_branches_of_one_seed_are_kept_in_files_of_their_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let line = "sim explore --flows --guided --seeds 1 --seed 7 --keep-going";
    let invocation = sim::cli::parse(line.split(' ').map(Into::into)).expect("a command line");
    let (mut out, mut err, interrupt) = (Vec::new(), Vec::new(), Interrupt::default());
    let mut console = Console {
        also_judge: &two_ways,
        ..console(&run_seed, (&mut out, &mut err), &interrupt, folder.path())
    };
    assert_eq!(execute(&invocation, &mut console), 1);
    let drawn = |name: &str| load(&folder.path().join(name)).expect("as it was drawn");
    let first = drawn("room_lifecycle-7-drawn.yaml");
    let second = drawn("room_lifecycle-7-2-drawn.yaml");
    assert_eq!((first.seed, second.seed), (7, 7));
    assert_ne!(first.recipe, second.recipe);
    let page = String::from_utf8(out).expect("text");
    assert!(page.contains("room_lifecycle-7-2-drawn.yaml"), "{page}");
}

/// A user's state while its flow proceeds.
#[derive(Default)]
struct FlowState {
    verbs: BTreeSet<&'static str>,
    in_room: bool,
    spoke_outside: u32,
}

impl FlowState {
    fn steps(&mut self, steps: &[Step]) {
        for step in steps {
            match step {
                Step::Call(verb) => self.verb(verb),
                Step::Await { event, .. } => self.in_room |= *event == "chatroom.found",
                Step::Choose(choices) => {
                    let was = self.in_room;
                    for choice in choices.iter() {
                        self.in_room = was;
                        self.steps(&choice.steps);
                    }
                    self.in_room = false;
                }
                Step::Loop { steps, .. } => self.steps(steps),
                Step::Disconnect(_) => {
                    self.verbs.insert("disconnect");
                }
                Step::Think(_) => {}
            }
        }
    }

    fn verb(&mut self, verb: &Verb) {
        let kind = verb.kind();
        self.in_room |= kind == OpKind::Login;
        use OpKind::{Append, Push, Send, Speak, TalkingStick};
        let speaks = matches!(kind, Send | Speak | Append | Push | TalkingStick);
        self.spoke_outside += u32::from(speaks && !self.in_room);
        self.verbs.insert(kind.verb());
    }
}

#[test]
fn drawn_flows_can_work_and_use_every_everyday_verb() {
    let mut walk = FlowState::default();
    let (mut faultless, mut with_stream) = (0, 0);
    for seed in 0..400 {
        let varied = vary(&blank(), seed);
        let plan = varied.plan;
        let checked = plan.server.check();
        checked.expect("a server that can be configured");
        faultless += u32::from(plan.faults.is_empty());
        // Reading takes longer than all else, so a part is read.
        if seed % 8 == 0 {
            let read = parse("drawn.yaml", &to_yaml(&plan)).expect("a scenario");
            assert_eq!(format!("{read:#?}"), format!("{plan:#?}"));
        }
        let Workload::Phases { personas, .. } = &plan.workload else {
            panic!("no personas");
        };
        // A rambler has no order of actions.
        for persona in personas.iter().filter(|one| one.name != "rambler") {
            walk.in_room = false;
            with_stream += u32::from(persona.stream);
            walk.steps(&persona.flow);
        }
    }
    assert_eq!(walk.spoke_outside, 0);
    let all = "append block break check check_stress_status disconnect enter_queue history \
               leave_chat leave_queue list_users login push report reset send speak talking_stick \
               typing unblock undo unregister";
    assert_eq!(walk.verbs, all.split(' ').collect());
    assert!((80..350).contains(&faultless), "{faultless}");
    assert!((100..700).contains(&with_stream), "{with_stream}");
}

fn is_down(fault: &Fault) -> bool {
    matches!(fault.kind, FaultKind::Down { .. })
}

#[test]
fn faults_at_milestones_are_drawn_and_strike() {
    let plans: Vec<Plan> = (0..1_000).map(|seed| vary(&blank(), seed).plan).collect();
    let waiting = |plan: &&Plan| plan.faults.iter().any(|fault| fault.milestone.is_some());
    let waits: Vec<&Plan> = plans.iter().filter(waiting).collect();
    assert!(waits.len() > 12, "{}", waits.len());
    // A single server that goes down at milestones only.
    let crash = |plan: &&&Plan| {
        let mut downs = plan.faults.iter().filter(|one| is_down(one)).peekable();
        plan.servers == 1 && downs.peek().is_some() && downs.all(|down| down.milestone.is_some())
    };
    let crashes: Vec<_> = waits.iter().filter(crash).collect();
    let crashed = crashes.iter().filter(|plan| {
        let outcome = run_seed(plan, 1, &Progress::default(), None);
        outcome.ran.tally.count(Point::Crash) > 0
    });
    assert!(crashed.count() > 0, "of {}", crashes.len());
}

#[test]
fn most_recoveries_of_drawn_flows_begin_from_a_snapshot() {
    let (mut crashed, mut from_snapshot) = (0, 0);
    for seed in 0..200 {
        let plan = vary(&blank(), seed).plan;
        if plan.faults.iter().any(is_down) {
            let tally = run_seed(&plan, seed, &Progress::default(), None).ran.tally;
            crashed += u32::from(tally.count(Point::Crash) > 0);
            from_snapshot += u32::from(tally.count(Point::FromSnapshot) > 0);
        }
    }
    assert!(crashed > 10, "{crashed}");
    assert!(from_snapshot * 2 > crashed, "{from_snapshot} of {crashed}");
}
