//! A verdict is over everyone: users that were starved, refused or not answered are in it.

use serde_json::Value;

use crate::Folder;

/// What a run printed and wrote.
struct Seen {
    code: i32,
    page: String,
    quiet: String,
    junit: String,
    json: Value,
}

/// Runs a scenario by the program.
fn run(scenario: &str) -> Seen {
    let folder = Folder::with(scenario);
    let ran = folder.sim("a.yaml --json a.json --junit a.xml");
    Seen {
        code: ran.code.expect("it ends by itself"),
        page: ran.out,
        quiet: folder.sim("a.yaml --quiet").out,
        junit: folder.read("a.xml"),
        json: folder.json("a.json"),
    }
}

impl Seen {
    #[track_caller]
    fn says(&self, words: &str) {
        // Lines are broken where the page ends.
        let page = self.page.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(page.contains(words), "{words}: {}", self.page);
    }
}

/// One of eight is always late with its claim, and the others have six times as many turns.
#[test]
fn fewer_turns_of_one_user_are_in_the_index() {
    let seen = run("
name: one_of_eight
duration: 5m
server: { stick_lease: 20s }
phases: [{ duration: 2s, arrival_count: 8 }]
scenarios:
  - name: slow
    count: 1
    flow:
      - login
      - loop: { count: 50, steps: [talking_stick, await: { event: stick.granted, within: 5m }, append: hm, think: 60s, push] }
  - name: quick
    count: 7
    flow:
      - login
      - loop: { count: 50, steps: [talking_stick, await: { event: stick.granted, within: 5m }, append: hm, think: 1s, push] }
thresholds:
  stick_turns: [\"jain>0.999\"]
");
    assert_eq!(seen.code, 99, "{}", seen.page);
    let turns = &seen.json["fairness"]["stick_turns"];
    assert_eq!(turns["users"], 8);
    assert!(turns["jain"].as_f64().expect("an index") < 0.95, "{turns}");
    let least = turns["least"]["name"].as_str().expect("a name");
    assert!(least.starts_with("slow#"), "{least}");
    seen.says(") had 5 of a fair");
}

/// Each had all the turns that it asked for: that is fair, and the range is shown.
#[test]
fn turns_by_demand_are_fair_and_their_range_is_shown() {
    let persona = |(index, times)| {
        format!(
            "  - {{ name: p{index}, count: 1, flow: [login, loop: {{ count: {times}, steps: [talking_stick, \
             await: {{ event: stick.granted, within: 5m }}, append: hm, push] }}] }}\n"
        )
    };
    let personas = [1, 1, 10, 20, 30, 40].into_iter().enumerate().map(persona);
    let seen = run(&format!(
        "name: by_demand\nduration: 5m\nphases: [{{ duration: 1s, arrival_count: 6 }}]\nscenarios:\n{}\
         thresholds: {{ stick_turns: [\"jain>0.99\"] }}\n",
        personas.collect::<String>()
    ));
    assert_eq!(seen.code, 0, "{}", seen.page);
    seen.says("jain 1 · 1 to 40 · mean 17");
}

const AT_THE_DOOR: &str = "
name: at_the_door
duration: 20s
server: { max_per_address: 4 }
network: { addresses: 1 }
phases: [{ duration: 10s, arrival_count: 100 }]
scenarios:
  - name: penpal
    flow: [enter_queue, await: { event: chatroom.found, within: 10s }, send: a, think: 15s, send: b, leave_chat]
";

#[test]
fn users_that_never_got_in_are_no_pass() {
    let seen = run(AT_THE_DOOR);
    assert_eq!(seen.code, 4, "{}", seen.page);
    seen.says("96 of 100 users never got in (address_full 96)");
    assert!(seen.quiet.contains("96/100 left out"), "{}", seen.quiet);
    let failure = "<failure message=\"96 of 100 users never got in";
    assert!(seen.junit.contains(failure), "{}", seen.junit);
    assert_eq!(seen.json["left_out"]["why"]["address_full"], 96);
}

#[test]
fn a_scenario_may_be_about_refusals_at_the_door() {
    let seen = run(&format!("{AT_THE_DOOR}expect_sometimes: [turned_away]\n"));
    assert_eq!(seen.code, 0, "{}", seen.page);
    seen.says("96 of 100 users never got in");
    assert!(seen.quiet.contains("96/100 left out"), "{}", seen.quiet);
    let limit = "expect_sometimes: [turned_away]\nthresholds: { left_out: rate<0.5 }\n";
    let limited = run(&format!("{AT_THE_DOOR}{limit}"));
    assert_eq!(limited.code, 99);
}

#[test]
fn calls_without_an_answer_are_in_the_latency() {
    let scenario = "
name: unanswered
duration: 30s
client: { attempts: 1 }
network: { latency: 5ms, loss: 1/3 }
phases: [{ duration: 5s, arrival_count: 40 }]
scenarios:
  - name: p
    flow: [{ login: { room: lobby } }, { loop: { count: 10, steps: [{ send: hi }, { think: 500ms }] } }, leave_chat]
server: { stick: optional }
";
    let thresholds = "thresholds: { request_latency: [\"p(99)<100ms\", max<1s] }\n";
    let seen = run(&format!("{scenario}allow_stuck: 1/1\n{thresholds}"));
    assert_eq!(seen.code, 99, "{}", seen.page);
    let unanswered = seen.json["unanswered"].as_u64().expect("a number");
    assert!(unanswered > 70, "{unanswered}");
    let unfinished = &seen.json["metrics"]["request_latency"]["unfinished"];
    assert!(unfinished.as_u64().expect("a number") > 50, "{unfinished}");
    assert!(seen.quiet.contains("26/40 left out"), "{}", seen.quiet);
    let rate = "allow_stuck: 1/1\nthresholds: { unanswered: rate<0.1 }\n";
    let rate = run(&format!("{scenario}{rate}"));
    assert_eq!(rate.code, 99, "{}", rate.page);
}
