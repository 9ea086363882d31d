//! A plan written as a scenario parses to the same plan.

use sim_model::outcome::Notes;
use sim_model::plan::{Step, Text, Verb, Workload};
use sim_scenario::annotated;
use sim_scenario::{load, parse, to_yaml};

use crate::{shipped, yaml_files};

#[test]
fn every_plan_reads_back_as_written() {
    let mut files = shipped();
    files.extend(yaml_files("tests/good_scenarios"));
    assert!(files.len() > 15, "{files:?}");
    for file in files {
        let plan = load(&file).unwrap();
        let written = to_yaml(&plan);
        let again = parse("again.yaml", &written)
            .unwrap_or_else(|error| panic!("{}: {error}\n{written}", file.display()));
        let (again, plan) = (format!("{again:#?}"), format!("{plan:#?}"));
        let differs = again.lines().zip(plan.lines()).find(|(a, b)| a != b);
        assert_eq!(differs, None, "{}\n{written}", file.display());
        assert_eq!(again.len(), plan.len());
    }
}

#[test]
fn defaults_are_omitted_and_notes_are_written() {
    let plan = parse(
        "two.yaml",
        "users: [a, { name: b, stream: none }, { name: c, opens: [{ request: lost }, { stream: reader, bare: true, beside: 2s, reply: 90ms }], keeps_handle: true }]\n\
         steps:\n\
         - { at: 0s, user: a, do: { login: { room: lobby } } }\n\
         - { at: 10ms, user: a, do: { append: { text: \"say \\\"x\\\": #1\" } } }\n\
         - { at: 1.5s, user: b, do: push, leave_out: [epoch], net: { request: lost } }\n\
         faults: [{ at: 2s, partition: { users: [b], for: 3s } }]\n",
    )
    .unwrap();
    let notes = Notes {
        head: vec!["A sentence that says what goes wrong.".into()],
        steps: vec![String::new(), "draft 11".into()],
    };
    let written = annotated(&plan, &notes);
    insta::assert_snapshot!(written, @r#"
    # A sentence that says what goes wrong.
    name: two
    duration: 30s
    users: [a, { name: b, stream: none }, { name: c, opens: [{ request: lost }, { stream: reader, bare: true, beside: 2s, reply: 90ms }], keeps_handle: true }]
    steps:
      - { at: 0s, user: a, do: login }
      - { at: 10ms, user: a, do: { append: { text: "say \"x\": #1" } } }             # draft 11
      - { at: 1.5s, user: b, do: push, leave_out: [epoch], net: { request: lost } }
    faults:
      - { at: 2s, partition: { users: [b], for: 3s } }
    "#);
    assert_eq!(
        format!("{:?}", parse("two.yaml", &written).unwrap()),
        format!("{plan:?}")
    );
}

#[test]
fn any_character_reads_back_as_written() {
    let mut plan = parse(
        "odd.yaml",
        "users: [a]\nsteps: [{ at: 0s, user: a, do: { send: { text: x } } }]\n",
    )
    .unwrap();
    let odd = "Zoë 漢字 🦀 e\u{301} \u{202e}\u{200b}\u{feff}\u{7f}\u{1}\u{ffff}\u{10ffff} \t\n\"\\ \u{85}\u{2028}";
    let Workload::Steps { steps, .. } = &mut plan.workload else {
        panic!("steps");
    };
    let text: std::sync::Arc<str> = odd.into();
    steps[0].what = Step::Call(Verb::Send(Text::Words(text.clone())));
    let name = Some(text.clone());
    let mut login = steps[0].clone();
    login.what = Step::Call(Verb::Login {
        room: text,
        rooms: 1,
        name,
    });
    steps.push(login);
    let written = to_yaml(&plan);
    let again = parse("odd.yaml", &written).unwrap_or_else(|error| panic!("{error}\n{written}"));
    assert_eq!(format!("{again:?}"), format!("{plan:?}"));
}
