//! Tests shrinking: failing runs become scenarios of a few steps that fail in the same way.
//!
//! The core has no bug to find here, so the outcome is changed: a violation is added to a run if
//! its clients observed something that needs several steps.

mod flows;

use chat_types::config::RateLimit;
use chat_types::{RoomSeq, Span};
use sim_judge::SeedOutcome;
use sim_model::history::{ClientEvent, NetworkRecord, Observer, Record, Retry, RunEvent};
use sim_model::outcome::{PANIC, Progress, START, Shrunk, Violation};
use sim_model::plan::{Plan, Step, Workload};
use sim_model::protocol::{Body, Reply, Response};
use sim_scenario::{annotated, load, parse};
use sim_search::runner::RunSeed;
use sim_search::seed::run_seed;
use sim_search::shrink::{FailedRun, ShrinkContext, ShrinkError, shrink};

use crate::shipped_file;

/// What a client must have observed, or the network.
#[derive(Clone, Copy)]
enum Rule {
    Seen(fn(&Record<'_>) -> bool),
    Packet(fn(RunEvent<'_>) -> bool),
}

use Rule::{Packet, Seen};

/// Finds one kind of record or of packet in a run, and forwards everything.
struct PlantedViolation<'o> {
    finds: Rule,
    found: Option<Span>,
    also: Option<&'o mut dyn Observer>,
}

impl Observer for PlantedViolation<'_> {
    fn observe(&mut self, event: RunEvent<'_>) {
        let found = match (self.finds, event) {
            (Seen(finds), RunEvent::Client(record)) => {
                finds(record).then(|| record.at.since(START))
            }
            (Packet(finds), event) => finds(event).then_some(Span::ZERO),
            _ => None,
        };
        self.found = self.found.or(found);
        self.also.observe(event);
    }
}

/// Runs a world, and adds a violation if something was observed.
fn run_by_rule(
    finds: Rule,
    plan: &Plan,
    seed: u64,
    progress: &Progress,
    also: Option<&mut (dyn Observer + '_)>,
) -> SeedOutcome {
    let mut planted = PlantedViolation {
        finds,
        found: None,
        also: also.map(|observer| observer as &mut dyn Observer),
    };
    let mut outcome = run_seed(plan, seed, progress, Some(&mut planted));
    if let Some(at) = planted.found {
        outcome.violations.push(Violation {
            property: "planted".to_owned(),
            at,
            detail: "It was seen.".to_owned(),
            seed,
            ..Violation::default()
        });
    }
    outcome
}

/// Runs worlds by this rule.
fn by_rule(
    rule: Rule,
) -> impl Fn(&Plan, u64, &Progress, Option<&mut (dyn Observer + '_)>) -> SeedOutcome {
    move |plan, seed, progress, also| run_by_rule(rule, plan, seed, progress, also)
}

/// The lease of a stick ended.
fn expiry(record: &Record<'_>) -> bool {
    matches!(record.what, ClientEvent::Received { event, .. }
        if matches!(event.body(), Some(Body::StickExpired { epoch, .. }) if epoch.0 >= 2))
}

/// The second message of a pair room.
fn second_message(record: &Record<'_>) -> bool {
    matches!(&record.what, ClientEvent::Answered { op, outcome: Ok(Response::Done(Reply::Sent { room_seq: RoomSeq(5..), .. })), .. }
        if op.verb() == "send")
}

fn scenario(name: &str) -> Plan {
    load(&shipped_file(name)).expect("a shipped scenario")
}

fn yaml(shrunk: &Shrunk) -> String {
    annotated(&shrunk.plan, &shrunk.notes)
}

fn shrunk(plan: &Plan, property: &str, run: RunSeed<'_>) -> Result<Shrunk, ShrinkError> {
    shrunk_while(plan, property, run, &|| true)
}

fn shrunk_while(
    plan: &Plan,
    property: &str,
    run: RunSeed<'_>,
    time_left: &dyn Fn() -> bool,
) -> Result<Shrunk, ShrinkError> {
    let failure = FailedRun {
        plan,
        seed: plan.seed,
        property,
    };
    let means = ShrinkContext {
        run,
        time_left,
        tell: &mut |_, _| {},
    };
    shrink(&failure, means)
}

/// Shrinks a run that fails by this rule, and writes the result as a scenario.
fn planted(plan: &Plan, rule: Rule) -> (Shrunk, String) {
    planted_by(plan, &by_rule(rule))
}

/// Shrinks a run with a planted violation, and writes the result as a scenario.
fn planted_by(plan: &Plan, run: RunSeed<'_>) -> (Shrunk, String) {
    let shrunk = shrunk(plan, "planted", run).expect("it fails as steps or flows");
    let yaml = yaml(&shrunk);
    (shrunk, yaml)
}

/// Runs the written scenario, which must be the same run.
fn again(shrunk: &Shrunk, run: RunSeed<'_>) -> SeedOutcome {
    let yaml = yaml(shrunk);
    let again = parse("shrunk.yaml", &yaml).expect("as it was written");
    let outcome = run(&again, again.seed, &Progress::default(), None);
    assert_eq!(Some(outcome.ran.trace_hash), shrunk.trace_hash, "{yaml}");
    outcome
}

fn count(plan: &Plan, verb: &str) -> usize {
    let verbs = verbs(plan);
    verbs.iter().filter(|one| **one == verb).count()
}

fn verbs(plan: &Plan) -> Vec<&'static str> {
    let Workload::Steps { steps, .. } = &plan.workload else {
        panic!("no steps");
    };
    let verb = |step: &Step| {
        if let Step::Call(verb) = step {
            return verb.kind().verb();
        }
        "other"
    };
    steps.iter().map(|step| verb(&step.what)).collect()
}

#[test]
fn a_whole_crowd_becomes_two_claims_and_what_they_need() {
    let plan = scenario("stick_contention");
    let run = by_rule(Seen(expiry));
    let (shrunk, yaml) = planted_by(&plan, &run);
    assert!(shrunk.before.users >= 30 && shrunk.before.steps > 1_000);
    // The second grant follows a first one, and each needs its own claim.
    assert!(verbs(&shrunk.plan).len() <= 5, "{yaml}");
    assert_eq!(count(&shrunk.plan, "talking_stick"), 2, "{yaml}");
    assert!(shrunk.after.users <= 2 && shrunk.after.faults == 0);
    // The file runs to the same violation.
    let outcome = again(&shrunk, &run);
    let violation = outcome.violations.iter().find(|v| v.property == "planted");
    assert_eq!(violation.map(|v| v.at), Some(shrunk.violation.at));
    assert!(yaml.starts_with("# planted: It was seen.\n"), "{yaml}");
    assert!(yaml.contains("# holds the stick, epoch 1"), "{yaml}");
}

#[test]
fn the_same_failure_always_becomes_the_same_file() {
    let plan = scenario("partition");
    let [(first, yaml), second] = [(); 2].map(|()| planted(&plan, Seen(second_message)));
    assert_eq!((first.runs, &yaml), (second.0.runs, &second.1));
    assert_eq!(count(&first.plan, "enter_queue"), 2);
    assert!(verbs(&first.plan).len() <= 6, "{yaml}");
}

/// A message that was accepted at the third attempt.
fn third_time(record: &Record<'_>) -> bool {
    let ClientEvent::Answered {
        op,
        called_at,
        outcome: Ok(_),
        ..
    } = &record.what
    else {
        return false;
    };
    // Two attempts of the scenario's clients time out within this time.
    op.verb() == "send" && record.at.since(*called_at) > chat_types::Span::millis(450)
}

#[test]
fn what_the_network_did_is_kept_where_it_matters() {
    let plan = scenario("retry_storm");
    let (shrunk, yaml) = planted(&plan, Seen(third_time));
    assert!(yaml.contains("net: { "), "{yaml}");
    assert!(shrunk.after.steps <= 4, "{yaml}");
}

/// A stream that begins at the end of its inbox.
fn bare_stream(event: RunEvent<'_>) -> bool {
    matches!(event, RunEvent::Network(_, _, NetworkRecord::Opening { opening, .. }) if opening.bare)
}

const TWO_RECONNECTIONS: &str = "
name: two_reconnections
about: Ben's third stream begins at the end of his inbox.
duration: 60s
users: [ann, { name: ben, opens: [{}, {}, { bare: true }] }]
steps:
  - { at: 0s, user: ann, do: enter_queue }
  - { at: 1s, user: ben, do: enter_queue }
  - { at: 3s, user: ben, do: { disconnect: { for: 1s } } }
  - { at: 20s, user: ben, do: { disconnect: { for: 1s } } }
  - { at: 20100ms, user: ann, do: { send: { text: hello } } }
";

#[test]
fn disconnections_go_with_the_openings_that_follow_them() {
    let plan = parse("two_reconnections.yaml", TWO_RECONNECTIONS).unwrap();
    let (shrunk, yaml) = planted(&plan, Packet(bare_stream));
    assert_eq!(shrunk.after.steps, 1, "{yaml}");
    assert!(yaml.contains("opens: [{ bare: true }]"), "{yaml}");
}

/// The highest alert level, in an answer to a user that registered by a break and makes no other
/// call.
fn full_alarm(record: &Record<'_>) -> bool {
    matches!(&record.what, ClientEvent::Answered { op, outcome: Ok(Response::Done(Reply::OnBreak { boss_alert: 5, .. })), .. }
        if op.verb() == "break")
}

#[test]
fn breaks_of_a_user_registered_by_one_are_written_as_steps() {
    let mut plan = scenario("breaks");
    plan.duration = chat_types::Span::secs(6 * 3_600);
    let (shrunk, yaml) = planted(&plan, Seen(full_alarm));
    assert_eq!((shrunk.after.users, shrunk.after.steps), (1, 5), "{yaml}");
    assert!(yaml.contains("boss_alertness: 100"), "{yaml}");
}

/// A break with one certain resulting stress level, which one break in a hundred has.
fn one_in_a_hundred(record: &Record<'_>) -> bool {
    matches!(&record.what, ClientEvent::Answered { op, outcome: Ok(Response::Done(Reply::OnBreak { stress: 37, .. })), .. }
        if op.verb() == "break")
}

#[test]
fn what_hangs_on_dice_is_shrunk_under_a_seed_by_which_they_fall_so_at_once() {
    let plan = scenario("breaks");
    let run = by_rule(Seen(one_in_a_hundred));
    let (shrunk, yaml) = planted_by(&plan, &run);
    let (before, after) = (shrunk.before.steps, shrunk.after.steps);
    assert!(before > 1_000 && after <= 4, "{yaml}");
    assert_ne!(shrunk.plan.seed, plan.seed);
    again(&shrunk, &run);
}

/// A call that was refused because of too many calls.
fn too_many(record: &Record<'_>) -> bool {
    let put_off = Retry::PutOff;
    matches!(record.what, ClientEvent::Retried { why, .. } if why == put_off)
}

#[test]
fn a_rate_is_lowered_until_few_calls_are_too_many() {
    let mut plan = scenario("brief");
    plan.server.rate_limit = RateLimit::rate(1, 8);
    let (shrunk, yaml) = planted(&plan, Seen(too_many));
    assert!(shrunk.after.steps <= 2, "{yaml}");
}

#[test]
fn a_run_that_breaks_off_is_shrunk_too() {
    sim_search::panics::silence_caught_panics();
    let plan = scenario("burst");
    let panics_at_second: RunSeed<'_> = &|plan, seed, progress, also| {
        let outcome = run_by_rule(Seen(second_message), plan, seed, progress, also);
        let planted = outcome.violations.iter().any(|v| v.property == "planted");
        assert!(!planted, "broken after {} steps", outcome.ran.steps);
        outcome
    };
    let shrunk = shrunk(&plan, PANIC, panics_at_second).unwrap();
    assert_eq!(shrunk.violation.property, PANIC);
    assert_eq!(shrunk.trace_hash, None);
    assert!(shrunk.after.steps <= 6, "{}", yaml(&shrunk));
}

#[test]
fn what_holds_is_not_shrunk() {
    let plan = scenario("burst");
    let refused = shrunk(&plan, "no_lost_messages", &run_seed);
    assert_eq!(refused.unwrap_err(), ShrinkError::NotViolated);
}

#[test]
fn without_time_the_run_is_written_down_as_it_was() {
    let plan = scenario("stick_contention");
    let run = by_rule(Seen(expiry));
    let shrunk = shrunk_while(&plan, "planted", &run, &|| false).unwrap();
    assert!(shrunk.cut_short);
    assert!(shrunk.after.steps > 100);
    // The file can be parsed without shrinking.
    parse("whole.yaml", &yaml(&shrunk)).unwrap();
}

/// A mute of a user that has received several events before.
fn muted_late(record: &Record<'_>) -> bool {
    matches!(record.what, ClientEvent::Received { seq, .. } if seq >= 6) && muted(record)
}

/// A mute.
fn muted(record: &Record<'_>) -> bool {
    matches!(
        record.what,
        ClientEvent::Received { event, .. } if matches!(event.body(), Some(Body::Muted { .. }))
    )
}

/// Three users that speak in turn, and an operator that mutes one at the fourth grant.
fn muted_at_the_fourth_turn() -> Plan {
    let turn = "talking_stick, { append: { text: hello } }, push";
    let turns = format!("loop: {{ count: 5, steps: [{turn}, {{ think: 50ms }}, check] }}");
    let text = format!(
        "phases: [{{ duration: 1ms, arrival_count: 3 }}]\n\
         scenarios: [{{ name: talker, flow: [login, {{ {turns} }}] }}]\n\
         duration: 10s\n\
         server: {{ stick: optional }}\n\
         faults: [{{ at_milestone: {{ stick: released_by_push, count: 4 }}, operator: mute }}]\n"
    );
    parse("turns.yaml", &text).expect("a scenario")
}

fn waits_of(shrunk: &Shrunk) -> Vec<u32> {
    let waits = shrunk.plan.faults.iter().filter_map(|one| one.milestone);
    waits.map(|milestone| milestone.count).collect()
}

#[test]
fn a_fault_waits_for_the_first_time_where_that_is_enough() {
    let plan = muted_at_the_fourth_turn();
    let (any, yaml) = planted(&plan, Seen(muted));
    assert_eq!(waits_of(&any), [1], "{yaml}");
    assert!(any.after.steps <= 5, "{yaml}");
}

#[test]
fn what_a_milestone_counts_before_it_matters_need_not_be_counted() {
    let plan = muted_at_the_fourth_turn();
    let (late, yaml) = planted(&plan, Seen(muted_late));
    assert_eq!(waits_of(&late), [1], "{yaml}");
    let read = parse("late.yaml", &yaml).expect("as it was written");
    let times = |plan: &Plan| -> Vec<Span> { plan.faults.iter().map(|fault| fault.at).collect() };
    assert_eq!(times(&read), times(&late.plan));
}

#[test]
fn what_went_wrong_behind_a_turn_is_written_as_a_fault() {
    let text = "phases: [{ duration: 1ms, arrival_count: 3 }]\n\
                scenarios: [{ name: guest, flow: [login, { loop: { count: 40, steps: [check, { think: 50ms }] } }] }]\n\
                duration: 3s\n";
    let mut plan = parse("guests.yaml", text).expect("a scenario");
    let run = by_rule(Seen(muted));
    let mutes = (1..40).find(|branch| {
        plan.recipe = format!("s60:{branch}").parse().expect("a recipe");
        let outcome = run(&plan, plan.seed, &Progress::default(), None);
        !outcome.violations.is_empty()
    });
    assert!(mutes.is_some(), "a branch in which somebody is muted");
    let (shrunk, yaml) = planted_by(&plan, &run);
    assert!(shrunk.plan.recipe.is_plain());
    assert_eq!(shrunk.plan.faults.len(), 1, "{yaml}");
    assert!(yaml.contains("mute"), "{yaml}");
}

#[test]
fn of_a_fault_that_repeats_the_needed_times_are_kept() {
    let text = "phases: [{ duration: 1ms, arrival_count: 3 }]\n\
                scenarios: [{ name: guest, flow: [login, { loop: { count: 40, steps: [check, { think: 100ms }] } }] }]\n\
                duration: 5s\n\
                faults: [{ every: { mean: 500ms }, operator: mute }, { every: 1s, clock_jump: 1ms }]\n";
    let plan = parse("guests.yaml", text).expect("a scenario");
    let hash = |plan: &Plan| run_seed(plan, 1, &Progress::default(), None).ran.trace_hash;
    let of_one = hash(&plan.of_seed(1));
    assert_eq!(hash(&plan), of_one, "one seed has one history");
    assert_ne!(hash(&plan), hash(&plan.of_seed(2)));
    let (shrunk, yaml) = planted(&plan, Seen(muted));
    let all = plan.faults_of(plan.seed);
    assert!(all.len() > 8, "{all:?}");
    assert_eq!(shrunk.before.faults, all.len() as u64);
    assert_eq!(shrunk.plan.faults.len(), 1, "{yaml}");
    assert!(shrunk.plan.faults[0].repeats.is_none());
    assert!(yaml.contains("mute"), "{yaml}");
}
