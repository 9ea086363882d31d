//! Tests what becomes of flows: steps, also of users with two streams, or smaller flows.

use chat_types::Span;
use sim_judge::SeedOutcome;
use sim_model::history::{ClientEvent, FaultRecord, NetworkRecord, Observer, RequestKey, RunEvent};
use sim_model::outcome::{Point, Progress, START, Violation};
use sim_model::plan::{Delivery, Plan, Race, Schedule, Workload};
use sim_model::protocol::{Code, Command, Op, OpKind, ReadBy, User};
use sim_scenario::parse;
use sim_search::seed::run_seed;

use super::{
    Packet, Rule, Seen, again, by_rule, planted, planted_by, run_by_rule, scenario, second_message,
    shrunk_while, yaml,
};

/// Runs that fail by this rule, but never with steps.
fn in_flows(
    rule: Rule,
) -> impl Fn(&Plan, u64, &Progress, Option<&mut (dyn Observer + '_)>) -> SeedOutcome {
    move |plan, seed, progress, also| match plan.workload {
        Workload::Phases { .. } => run_by_rule(rule, plan, seed, progress, also),
        Workload::Steps { .. } => run_seed(plan, seed, progress, also),
    }
}

#[test]
fn a_run_that_does_not_fail_as_steps_is_shrunk_as_flows() {
    let plan = scenario("brief");
    let (shrunk, yaml) = planted_by(&plan, &in_flows(Seen(second_message)));
    let Workload::Phases { personas, .. } = &shrunk.plan.workload else {
        panic!("{yaml}");
    };
    let steps: usize = personas.iter().map(|persona| persona.flow.len()).sum();
    assert!(steps <= 3, "{yaml}");
    let (before, after) = (shrunk.before, shrunk.after);
    assert!(after.users < before.users, "{after:?}");
    assert!(shrunk.plan.faults.is_empty());
    parse("flows.yaml", &yaml).unwrap();
}

/// Fails if a client holds two streams.
fn two_streams(
    plan: &Plan,
    seed: u64,
    progress: &Progress,
    also: Option<&mut (dyn Observer + '_)>,
) -> SeedOutcome {
    let mut outcome = run_seed(plan, seed, progress, also);
    if outcome.ran.tally.count(Point::TwoStreams) > 0 {
        outcome.violations.push(Violation {
            property: "planted".to_owned(),
            detail: "two streams".to_owned(),
            seed,
            ..Violation::default()
        });
    }
    outcome
}

#[test]
fn a_second_stream_is_written_as_one_of_its_user() {
    let text = "phases: [{ duration: 1s, arrival_count: 5 }]\n\
                scenarios: [{ name: pen, habits: { second_stream: 1/2 }, stream: reader, \
                flow: [{ login: { room: lobby } }, { think: 2s }, { send: hello }] }]\n";
    let plan = parse("two.yaml", text).unwrap();
    let as_it_was = shrunk_while(&plan, "planted", &two_streams, &|| false).unwrap();
    let Workload::Steps { users, .. } = &as_it_was.plan.workload else {
        panic!("{}", yaml(&as_it_was));
    };
    let by = Some(ReadBy::ReaderId);
    assert!(users.iter().all(|user| user.stream == by));
    let (shrunk, yaml) = planted_by(&plan, &two_streams);
    assert_eq!((shrunk.after.users, shrunk.after.steps), (1, 1), "{yaml}");
    assert!(yaml.contains("{ name: a, opens: [{}, { beside: "), "{yaml}");
    again(&shrunk, &two_streams);
}

/// A stream is opened by the reader id without a cursor.
fn bare_reader(event: RunEvent<'_>) -> bool {
    let by = Some(ReadBy::ReaderId);
    matches!(event, RunEvent::Network(_, _, NetworkRecord::Opening { opening, .. })
        if opening.bare && opening.by == by)
}

#[test]
fn an_opening_is_written_with_its_secret_and_without_its_cursor() {
    let text = "phases: [{ duration: 1s, arrival_count: 20 }]\n\
                scenarios: [{ name: pen, habits: { second_stream: 1/1 }, \
                flow: [{ login: { room: lobby } }, { think: 2s }, { send: hello }] }]\n";
    let plan = parse("bare.yaml", text).unwrap();
    let run = by_rule(Packet(bare_reader));
    let (shrunk, yaml) = planted_by(&plan, &run);
    assert_eq!((shrunk.after.users, shrunk.after.steps), (1, 1), "{yaml}");
    let opens = "opens: [{}, { stream: reader, bare: true, beside: 1s }]";
    assert!(yaml.contains(opens), "{yaml}");
    again(&shrunk, &run);
}

/// Shrinks a stray persona's run while a record of this kind is in it, to one user.
fn shrunk_stray(rule: Rule) -> String {
    let text = "phases: [{ duration: 1s, arrival_count: 5 }]\n\
                scenarios: [{ name: pen, habits: { stray: 1/1 }, flow: [{ login: { room: lobby } }, \
                { loop: { count: 9, steps: [typing] } }, unregister, { login: { room: lobby } }] }]\n";
    let plan = parse("stray.yaml", text).expect("a scenario");
    let run = by_rule(rule);
    let (shrunk, yaml) = planted_by(&plan, &run);
    assert_eq!(shrunk.after.users, 1, "{yaml}");
    again(&shrunk, &run);
    yaml
}

#[test]
fn a_call_that_names_a_participant_whom_its_user_never_met_is_written_with_it() {
    let rule = Seen(|record| {
        let six = User(6);
        let of_six = |op: &Op| matches!(op, Op::Command(Command::ReportUser { user, .. } | Command::BlockUser { user } | Command::UnblockUser { user }) if *user == six);
        matches!(record.what, ClientEvent::Called { op, .. } if of_six(op))
    });
    let yaml = shrunk_stray(rule);
    assert!(yaml.contains("whom: 6"), "{yaml}");
}

#[test]
fn a_user_that_registers_again_under_its_old_handle_is_written_as_such() {
    let rule = Seen(|record| matches!(record.what, ClientEvent::Forgot { returns: true }));
    let yaml = shrunk_stray(rule);
    let user = "users: [{ name: a, keeps_handle: true";
    assert!(yaml.contains(user) && yaml.contains("unregister"), "{yaml}");
}

#[test]
fn a_call_under_the_key_of_the_previous_one_is_written_as_such() {
    let rule = Seen(|record| {
        let previous = RequestKey::Previous;
        matches!(record.what, ClientEvent::Called { key, .. } if key == previous)
    });
    let yaml = shrunk_stray(rule);
    assert!(yaml.contains("fresh_key"), "{yaml}");
}

#[test]
fn the_answer_to_a_duplicate_has_a_fate_of_its_own() {
    let plan = parse(
        "twice.yaml",
        "name: twice\nduration: 4s\nnetwork: { duplicate: 1/2, loss: 1/8 }\n\
         phases: [{ duration: 10ms, arrival_count: 2 }]\n\
         scenarios: [{ name: guest, flow: [login, { loop: { count: 20, steps: [talking_stick, push] } }] }]\n",
    );
    let lost = Packet(|event| {
        matches!(event, RunEvent::Network(_, _, NetworkRecord::Replied { copy: true, fate, .. })
            if *fate == Delivery::Lost)
    });
    let (shrunk, yaml) = planted(&plan.expect("a scenario"), lost);
    assert!(yaml.contains("duplicate_reply: lost"), "{yaml}");
    assert_eq!(shrunk.after.steps, 2, "{yaml}");
}

#[test]
fn a_room_that_an_operator_names_by_mistake_is_written_with_the_act() {
    let plan = parse(
        "stray.yaml",
        "name: stray\nduration: 4s\nphases: [{ duration: 10ms, arrival_count: 2 }]\n\
         scenarios: [{ name: guest, flow: [{ loop: { count: 40, steps: [login, { think: 50ms }] } }] }]\n\
         faults: [{ every: 100ms, operator: kick }]\n",
    );
    let named = Packet(
        |event| matches!(event, RunEvent::Fault(_, FaultRecord::RoomNamed { room, .. }) if room.0 >= 4),
    );
    let (shrunk, yaml) = planted(&plan.expect("a scenario"), named);
    let kick = "operator: { kick: { user: a, room: ";
    assert!(yaml.contains(kick), "{yaml}");
    assert_eq!((shrunk.after.users, shrunk.after.steps), (1, 1), "{yaml}");
}

#[test]
fn a_property_that_steps_violate_sooner_takes_the_place_of_the_first() {
    let plan = scenario("brief");
    // Fails with a second message; as steps with another property, a second sooner or later.
    let shrunk = |sooner| {
        planted_by(&plan, &|plan, seed, progress, also| {
            let mut outcome = run_by_rule(Seen(second_message), plan, seed, progress, also);
            if let Workload::Steps { .. } = plan.workload {
                for violation in &mut outcome.violations {
                    violation.property = "sizes".to_owned();
                    violation.at = match sooner {
                        true => violation.at - Span::secs(1),
                        false => violation.at + Span::secs(1),
                    };
                }
            }
            outcome
        })
    };
    let (sooner, _) = shrunk(true);
    assert_eq!(sooner.violation.property, "sizes");
    assert!(matches!(sooner.plan.workload, Workload::Steps { .. }));
    let (later, _) = shrunk(false);
    assert_eq!(later.violation.property, "planted");
    assert!(matches!(later.plan.workload, Workload::Phases { .. }));
}

#[test]
fn steps_in_a_perturbed_order_are_shrunk_in_the_order_that_was_recorded() {
    let refused = Seen(|record| {
        let taken = Code::UserIdTaken;
        matches!(record.what, ClientEvent::Answered { outcome: Err(why), .. } if why.is(taken))
    });
    let mut plan = scenario("barred");
    plan.schedule = Schedule::Race(Race::default());
    let (shrunk, yaml) = planted(&plan, refused);
    assert_eq!(shrunk.plan.schedule, Schedule::Plain, "{yaml}");
    assert!(shrunk.after.steps <= 3, "{yaml}");
}

/// Fails if one user reads what it has before two seconds have passed, and one types after four.
fn read_early_and_typed_late(
    plan: &Plan,
    seed: u64,
    progress: &Progress,
    also: Option<&mut (dyn Observer + '_)>,
) -> SeedOutcome {
    let early = Seen(|record| {
        let is_early = record.at < START + Span::secs(2);
        let reads = |op: &Op| op.kind() == OpKind::Check && op.hold() == Span::ZERO;
        matches!(record.what, ClientEvent::Called { op, .. } if is_early && reads(op))
    });
    let late = Seen(|record| {
        let is_late = record.at > START + Span::secs(4);
        let types = |op: &Op| op.kind() == OpKind::Typing;
        matches!(record.what, ClientEvent::Called { op, .. } if is_late && types(op))
    });
    let mut outcome = run_by_rule(early, plan, seed, progress, also);
    let late = run_by_rule(late, plan, seed, progress, None);
    if late.violations.is_empty() {
        outcome.violations.clear();
    }
    outcome
}

/// Its flow ends at once, and it drains its inbox when the faults end, while another user goes on.
#[test]
fn what_a_user_reads_at_its_end_is_written_as_a_check() {
    let plan = parse(
        "early.yaml",
        "name: early\nduration: 1s\nphases: [{ duration: 10ms, arrival_count: 2 }]\n\
         scenarios: [{ name: brief, count: 1, flow: [login] }, { name: long, count: 1, \
         flow: [login, { loop: { count: 4, steps: [{ check: { wait: 5s } }, typing] } }] }]\n",
    );
    let plan = plan.expect("a scenario");
    let (shrunk, yaml) = planted_by(&plan, &read_early_and_typed_late);
    let steps = matches!(shrunk.plan.workload, Workload::Steps { .. });
    assert!(steps, "{yaml}");
}

/// Users of the steps form have short names, unless the bug depends on the ones they had.
#[test]
fn a_name_that_the_bug_depends_on_is_written_with_its_call() {
    let plan = parse(
        "named.yaml",
        "name: named\nduration: 2s\nphases: [{ duration: 10ms, arrival_count: 3 }]\n\
         scenarios: [{ name: guest, flow: [login, { loop: { count: 9, steps: [send: { text: hi }] } }] }]\n",
    );
    let second = Seen(|record| {
        matches!(&record.what, ClientEvent::Answered { op: Op::Command(Command::Login { username, .. }), .. }
            if username.ends_with("#1"))
    });
    let (shrunk, yaml) = planted(&plan.expect("a scenario"), second);
    assert!(yaml.contains("guest#1"), "{yaml}");
    assert_eq!((shrunk.after.users, shrunk.after.steps), (1, 1), "{yaml}");
}

#[test]
fn the_size_of_a_smallest_flow_is_that_of_its_file() {
    let plan = parse(
        "loops.yaml",
        "name: loops\nduration: 2s\nphases: [{ duration: 10ms, arrival_count: 3 }]\n\
         scenarios: [{ name: guest, flow: [login, { loop: { count: 9, steps: [send: { text: hi }, typing] } }] }]\n",
    );
    let rule = Seen(|record| matches!(record.what, ClientEvent::Answered { .. }));
    let (shrunk, _) = planted_by(&plan.expect("a scenario"), &in_flows(rule));
    assert_eq!((shrunk.after.users, shrunk.after.steps), (1, 1));
    assert!(shrunk.before.steps > 9);
}
