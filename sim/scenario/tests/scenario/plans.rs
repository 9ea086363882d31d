//! The plans of good scenarios.

use std::path::Path;
use std::sync::Arc;

use chat_types::Span;
use sim_model::draw::{Ratio, Shape};
use sim_model::plan::{
    ArrivalMode, Arrivals, ClientHarm, Compare, Delivery, FaultKind, Figure, Frequency, Milestone,
    OperatorAct, OperatorVerb, Outage, Persona, Phase, Plan, Reached, ScriptStep, ScriptUser, Step,
    Text, Verb, Victims, Workload,
};
use sim_scenario::{load, parse};

fn good(name: &str) -> Plan {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/good_scenarios");
    load(&folder.join(name)).expect("a good scenario")
}

fn phases(plan: Plan) -> (Vec<Phase>, Vec<Arc<Persona>>) {
    match plan.workload {
        Workload::Phases { phases, personas } => (phases, personas),
        Workload::Steps { .. } => panic!("phases"),
    }
}

fn steps(plan: Plan) -> (Vec<ScriptUser>, Vec<ScriptStep>) {
    match plan.workload {
        Workload::Steps { users, steps } => (users, steps),
        Workload::Phases { .. } => panic!("steps"),
    }
}

#[test]
fn the_smallest_scenario_has_all_defaults() {
    let plan = good("least.yaml");
    assert_eq!(plan.name, "least");
    assert_eq!((plan.about.as_str(), plan.seed), ("", 1));
    assert_eq!(plan.duration, Span::secs(30));
    assert_eq!(plan.liveness, Span::secs(60));
    assert_eq!(plan.server, chat_types::Config::default());
    assert_eq!(plan.network.latency.shape(), Shape::Fixed(1_000));
    assert_eq!(plan.network.loss, Ratio::NEVER);
    assert_eq!(plan.client.timeout, Span::millis(500));
    assert_eq!(plan.client.attempts, 8);
    assert_eq!(plan.capacity.queue, 4_096);
    assert_eq!(plan.capacity.snapshot_every, 20_000);
    assert_eq!(plan.properties, sim_model::names::properties_of(1, false));
    assert!(plan.faults.is_empty() && plan.expect_sometimes.is_empty());
    assert_eq!(plan.allow_stuck, Ratio::NEVER);
    let (phases, personas) = phases(plan);
    assert_eq!(phases[0].name, "phase 1");
    assert!(personas[0].frequency == Frequency::Weight(1) && personas[0].stream);
}

#[test]
fn phases_and_personas_are_parsed() {
    let plan = good("every_key.yaml");
    assert_eq!(plan.capacity.snapshot_every, 50);
    let (phases, personas) = phases(plan);
    let counted = |users, mode| Arrivals::Count { users, mode };
    let arrivals: Vec<Arrivals> = phases.iter().map(|phase| phase.arrivals).collect();
    let rate = |from_milli, to_milli, mode| Arrivals::Rate {
        from_milli,
        to_milli,
        mode,
    };
    assert_eq!(
        arrivals,
        [
            rate(500, 500, ArrivalMode::Uniform),
            rate(0, 2_125, ArrivalMode::Poisson),
            rate(1_000, 1_000, ArrivalMode::Uniform),
            counted(50, ArrivalMode::Uniform),
            Arrivals::Pause,
            counted(5, ArrivalMode::Poisson),
            Arrivals::Pause,
            counted(5, ArrivalMode::Poisson),
            Arrivals::Pause,
            counted(7, ArrivalMode::Uniform),
            counted(7, ArrivalMode::Uniform),
        ]
    );
    assert_eq!(phases[4].duration, Span::secs(300));
    assert_eq!(phases[3].max_users, Some(40));
    let names: Vec<&str> = phases.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(names[5..9], ["rush", "phase 7", "rush", "phase 7"]);
    assert_eq!(names[9..], ["phase 8"; 2]);
    assert_eq!(personas[5].frequency, Frequency::Count(3));
    let everybody = &personas[0];
    assert!(everybody.frequency == Frequency::Weight(1_000) && !everybody.stream);
    assert_eq!(everybody.habits.abandon, Ratio::new(1, 3).unwrap());
    assert_eq!(everybody.habits.forget_handle, Ratio::new(1, 1).unwrap());
    assert!(!everybody.habits.parallel.is_possible());
    insta::assert_snapshot!(flow_in_words(&everybody.flow));
}

/// A flow, and whether it is accepted: each step must work on at least one path to it.
#[test]
fn a_step_that_works_on_one_path_is_accepted() {
    let read = |flow: &str| {
        let text = format!(
            "phases: [{{ duration: 1s, arrival_count: 2 }}]\n\
             scenarios: [{{ name: a, flow: {flow} }}]\n"
        );
        parse("flow.yaml", &text)
    };
    for flow in [
        "[login, { login: { room: den } }, push, leave_chat, { send: { length: 5 } }]",
        "[enter_queue, { send: { length: 5 } }]",
        "[enter_queue, leave_queue, leave_chat, leave_queue]",
        "[break, check, { break: { kind: check_stress_status } }]",
        "[break, { choose: [{ steps: [] }, { steps: [login] }] }, typing]",
        "[break, { loop: { count: 2, steps: [typing, login] } }, push]",
        "[login, talking_stick, leave_chat, { await: stick.granted }, login, undo]",
    ] {
        let refused = read(flow);
        assert!(refused.is_ok(), "{flow}: {:?}", refused.err());
    }
    for (flow, step) in [
        ("[login, leave_queue]", "leave_queue"),
        ("[login, leave_chat, { send: { length: 5 } }]", "send"),
        (
            "[break, { loop: { count: 1, steps: [typing, login] } }]",
            "typing",
        ),
        (
            "[break, { choose: [{ steps: [login] }, { steps: [push] }] }]",
            "push",
        ),
        ("[check]", "check"),
        ("[{ break: { kind: check_stress_status } }, break]", "break"),
    ] {
        let error = read(flow).expect_err(flow);
        let line = format!("scenarios: [{{ name: a, flow: {flow} }}]");
        let column = line.find(step).map(|at| at + 1);
        let place = column.map(|column| (2, column));
        assert_eq!(error.mistakes[0].at, place, "{flow}");
    }
}

fn flow_in_words(steps: &[Step]) -> String {
    steps.iter().map(|step| in_words(step) + "\n").collect()
}

fn in_words(step: &Step) -> String {
    match step {
        Step::Call(Verb::Send(text)) => format!("send {}", text_in_words(text)),
        Step::Call(Verb::Append(text)) => format!("append {}", text_in_words(text)),
        Step::Call(verb) => format!("{verb:?}"),
        Step::Await { event, within } => format!("await {event} {within}"),
        Step::Think(time) => format!("think {:?}", time.shape()),
        Step::Loop { count, steps } => format!("loop {count}: [{}]", inner(steps)),
        Step::Choose(choices) => choices
            .iter()
            .map(|choice| format!("choose {}: [{}]", choice.weight, inner(&choice.steps)))
            .collect::<Vec<_>>()
            .join(" or "),
        Step::Disconnect(time) => format!("disconnect {time:?}"),
    }
}

fn inner(steps: &[Step]) -> String {
    steps.iter().map(in_words).collect::<Vec<_>>().join(", ")
}

fn text_in_words(text: &Text) -> String {
    match text {
        Text::Words(words) => format!("{words:?}"),
        Text::Length(length) => format!("{:?}", length.shape()),
        Text::Letters(alphabet, length) => format!("{alphabet:?} {:?}", length.shape()),
    }
}

#[test]
fn steps_are_sorted_and_carry_network_decisions() {
    let plan = good("every_step.yaml");
    assert_eq!(plan.duration, Span::secs(35));
    let (users, steps) = steps(plan);
    let users: Vec<_> = users.iter().map(|u| (u.name.as_str(), u.stream)).collect();
    use sim_model::protocol::ReadBy::{Handle, ReaderId};
    let (by_handle, by_reader) = (Some(Handle), Some(ReaderId));
    let all = [
        ("ann", by_handle),
        ("bob", None),
        ("1", by_handle),
        ("eve", by_reader),
    ];
    assert_eq!(users, all);
    let order = steps.iter().map(|step| (step.at.as_secs(), step.user));
    let by_ann = (7..12).map(|second| (second, 0));
    let first = [(0, 0), (0, 1), (1, 1), (2, 0), (3, 0)];
    let last = [(12, 3), (13, 3), (14, 0), (15, 0), (16, 0), (35, 1)];
    assert!(order.eq(first.into_iter().chain(by_ann).chain(last)));
    let net = &steps[2].net;
    assert_eq!(net.request, Some(Delivery::After(Span::millis(20))));
    assert_eq!(net.reply, Some(Delivery::Lost));
    assert_eq!(
        net.push,
        [(0, Delivery::After(Span::millis(400))), (2, Delivery::Lost)]
    );
    assert!(matches!(steps[3].what, Step::Disconnect(Some(s)) if s == Span::secs(1)));
    use sim_model::plan::Argument::{After, Epoch, FreshKey, Key, Patience, Retries, Room};
    let all = [Room, Epoch, Key, FreshKey, After, Retries, Patience];
    assert_eq!(steps[4].leave_out, all);
    let net = &steps[4].net;
    let millis = |n| Some(Delivery::After(Span::millis(n)));
    assert_eq!((net.duplicate, net.retries.len()), (millis(35), 2));
    assert_eq!(net.retries[0].request, Some(Delivery::Lost));
    let last = &net.retries[1];
    assert_eq!(
        (last.request, last.duplicate, last.reply),
        (millis(1), millis(2), millis(3))
    );
    assert!(matches!(steps[15].what, Step::Disconnect(None)));
}

#[test]
fn calls_and_their_secrets_are_parsed() {
    use sim_model::protocol::ReadBy;
    let (_, steps) = steps(good("every_step.yaml"));
    let whats = steps[5..15].iter().map(|step| format!("{:?}", step.what));
    assert!(whats.eq([
        "Call(Break { kind: None, excuse: None })",
        "Call(Mood)",
        "Call(Break { kind: Some(Chimaek), excuse: Some(\"so hungry\") })",
        "Call(History { before: Some(3), limit: 50 })",
        "Call(Plain(ListUsers))",
        "Call(Check { wait: Span(1000000), by: ReaderId })",
        "Call(Plain(Unregister))",
        "Call(TalkingStick(Latest))",
        "Call(Undo(Latest))",
        "Call(Reset(Unnamed))",
    ]));
    let (_, personas) = phases(good("every_key.yaml"));
    let stranger = &personas[2];
    assert_eq!(stranger.profile.stream_by, ReadBy::ReaderId);
    assert_eq!(stranger.profile.reads, sim_model::plan::Reads::ByStream);
    let Step::Call(Verb::EnterQueue { name, user_id, .. }) = &stranger.flow[0] else {
        panic!("enter_queue");
    };
    let named = (name.as_deref(), user_id.as_deref());
    assert_eq!(named, (Some("Zoë 🦀"), Some("zoe")));
}

#[test]
fn faults_are_sorted_by_time() {
    let plan = good("every_step.yaml");
    let at: Vec<u64> = plan.faults.iter().map(|fault| fault.at.as_secs()).collect();
    assert_eq!(at, [3, 4, 5, 6, 7]);
    assert!(matches!(
        &plan.faults[2].kind,
        FaultKind::Clients { what: ClientHarm::Partition, victims: Victims::Users(users), .. }
            if users == &[1, 2]
    ));
    assert!(matches!(
        plan.faults[3].kind,
        FaultKind::Operator(OperatorAct {
            verb: OperatorVerb::Mute,
            user: Some(1),
            room: None,
            reason: None,
        })
    ));
    let plan = good("every_key.yaml");
    let how = Outage::Crash;
    assert!(matches!(plan.faults[0].kind, FaultKind::Down { how: found, .. } if found == how));
    // A fault with a milestone and no time may start at once.
    let milestone = |reached, count| Some(Milestone { reached, count });
    let waits: Vec<_> = plan.faults.iter().map(|fault| fault.milestone).collect();
    let of_match = milestone(Reached::Sometimes("match"), 3);
    let of_push = milestone(Reached::Stick("released_by_push"), 1);
    let first = [None, of_match, of_push, None, None, None, None];
    assert_eq!(waits[..7], first);
    assert_eq!(waits[7], milestone(Reached::Timer("lease"), 2));
    assert!(matches!(plan.faults[2].kind, FaultKind::LoseReplies));
    assert!(matches!(
        plan.faults[6].kind,
        FaultKind::ClockJump { by } if by == Span::secs(7_200)
    ));
}

/// The starts of the faults of a seed, in milliseconds.
fn starts(plan: &Plan, seed: u64) -> Vec<u64> {
    let faults = plan.faults_of(seed);
    assert!(faults.is_sorted_by_key(|fault| fault.at));
    assert!(faults.iter().all(|fault| fault.repeats.is_none()));
    faults.iter().map(|fault| fault.at.as_millis()).collect()
}

#[test]
fn a_fault_repeats_until_the_end_of_the_duration() {
    let plan = |faults: &str| {
        let text = format!(
            "duration: 1m\nphases: [{{ duration: 1s, arrival_count: 2 }}]\n\
             scenarios: [{{ name: a, flow: [login] }}]\nfaults: [{faults}]\n"
        );
        parse("faults.yaml", &text).unwrap()
    };
    let often = plan("{ every: 20s, clock_jump: 1s }");
    assert_eq!(starts(&often, 1), [20_000, 40_000, 60_000]);
    let from = plan("{ at: 5s, every: 20s, suspend: { share: 1/2, for: 16s } }");
    assert_eq!(
        starts(&from, 1),
        [5_000, 25_000],
        "the third would end too late"
    );
    let at_once = |plan: &Plan| plan.faults[0].repeats.as_ref().unwrap().starts_at_once;
    assert!(at_once(&from) && !at_once(&often));
    let jittered = plan("{ at: 0s, every: { min: 9s, max: 11s }, clock_jump: 1s }");
    let gaps =
        |starts: &[u64]| -> Vec<u64> { starts.windows(2).map(|two| two[1] - two[0]).collect() };
    for seed in 0..50 {
        let starts = starts(&jittered, seed);
        let is_near = |gap: &u64| (9_000..=11_000).contains(gap);
        let are_near = gaps(&starts).iter().all(is_near);
        let are_all = (6..=7).contains(&starts.len()) && starts[0] == 0;
        assert!(are_near && are_all, "{starts:?}");
    }
    let random = plan("{ every: { mean: 10s }, clock_jump: 1s }, { at: 30s, operator: mute }");
    let all: Vec<Vec<u64>> = (0..200).map(|seed| starts(&random, seed)).collect();
    assert_eq!(all[7], starts(&random, 7), "one seed has one history");
    let times: usize = all.iter().map(|starts| starts.len() - 1).sum();
    assert!((1_050..1_350).contains(&times), "six a run: {times}");
    assert!(all.iter().any(|starts| starts.len() < 4) && all.iter().any(|starts| starts.len() > 9));
}

#[test]
fn properties_and_thresholds_are_parsed() {
    let plan = good("every_key.yaml");
    assert_eq!(plan.properties, ["no_lost_messages", "latency"]);
    let thresholds = plan.thresholds.iter();
    let found = thresholds.map(|t| (t.metric.name(), t.figure, t.compare, t.bound));
    let found: Vec<_> = found.collect();
    use Compare::{Above, AtLeast, AtMost, Below, Equal};
    let percentile = Figure::Percentile;
    for wanted in [
        ("message_latency", percentile(99.9), Below, 2_000.0),
        ("message_latency", Figure::Max, AtMost, 60_000.0),
        ("message_latency", Figure::Mean, Above, 0.001),
        ("queue_wait", Figure::Overtaken, Equal, 0.0),
        ("request_latency", percentile(50.0), AtLeast, 1.0),
        ("stick_turns", Figure::Jain, Above, 0.8),
        ("bytes_per_message", percentile(95.0), Below, 2_000.5),
        ("lost", Figure::Rate, Below, 0.01),
        ("refused", Figure::Rate, AtMost, 1.0),
    ] {
        assert!(found.contains(&wanted), "{wanted:?} is not in {found:#?}");
    }
}

#[test]
fn a_byte_order_mark_and_windows_line_ends_are_accepted() {
    let text =
        "\u{feff}phases: [{ pause: 1s }]\r\nscenarios:\r\n  - name: a\r\n    flow: [login]\r\n";
    let plan = parse("folder/plain.yaml", text).unwrap();
    assert_eq!(plan.name, "plain");
}

#[test]
fn the_deepest_flow_is_read() {
    let mut flow = "login".to_owned();
    for _ in 0..16 {
        flow = format!("choose: [{{ steps: [{flow}] }}]");
        flow = format!("{{ {flow} }}");
    }
    let text = format!("phases: [{{ pause: 1s }}]\nscenarios: [{{ name: a, flow: [{flow}] }}]\n");
    assert!(parse("deep.yaml", &text).is_ok());
}

#[test]
fn a_text_alone_is_sent_and_a_percentage_is_a_probability() {
    let read = |send: &str, loss: &str| {
        let scenario = format!(
            "name: short\nduration: 10s\nphases: [{{ duration: 1s, arrival_count: 2 }}]\n\
             scenarios: [{{ name: a, flow: [login, {send}] }}]\nnetwork: {{ loss: {loss} }}\n"
        );
        parse("short.yaml", &scenario)
    };
    let with = |send, loss| read(send, loss).expect("a good scenario");
    let long = with("send: { text: hello }", "1/200");
    for loss in ["0.5%", "0.50 %", "1/200"] {
        let short = with("send: hello", loss);
        assert_eq!(format!("{short:?}"), format!("{long:?}"), "{loss}");
    }
    let always = with("send: hello", "100%").network.loss;
    assert_eq!(always, Ratio::new(1, 1).unwrap());
    for wrong in ["101%", "%", ".5%", "1.%", "0.00001%", "-1%", "99999999999%"] {
        let loss = format!("{wrong:?}");
        assert!(read("send: hello", &loss).is_err(), "{wrong}");
    }
}
