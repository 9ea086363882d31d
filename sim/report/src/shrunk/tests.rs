use std::time::Duration;

use unicode_width::UnicodeWidthStr as _;

use super::*;
use crate::tests::samples::unsafe_run;
use crate::{Detail, Paint, View};
use sim_model::outcome::Notes;

/// A failure of two users, shrunk.
fn shrunk_run() -> ShrunkRun {
    let plan = sim_scenario::parse(
        "stick_exclusion-1337.yaml",
        "seed: 1337\n\
         users: [a, b]\n\
         steps:\n\
         - { at: 0s, user: a, do: { login: { room: lobby } } }\n\
         - { at: 10ms, user: a, do: talking_stick, net: { reply: lost, retries: [{ request: lost }] } }\n\
         - { at: 15ms, user: a, do: { append: { text: x } }, net: { push: { b: 400ms } } }\n\
         - { at: 10.1s, user: b, do: push }\n\
         faults: [{ at: 30ms, partition: { users: [a], for: 10s } }]\n",
    )
    .unwrap();
    ShrunkRun {
        shrunk: Shrunk {
            notes: Notes {
                head: Vec::new(),
                steps: [
                    "is user_1 in room_1",
                    "",
                    "draft of 1",
                    "accepted ← stick_exclusion",
                ]
                .map(str::to_owned)
                .to_vec(),
            },
            plan,
            violation: unsafe_run().summary.result.violations[0].clone(),
            trace_hash: Some(7),
            before: Size {
                users: 40,
                steps: 58_201,
                faults: 3,
            },
            after: Size {
                users: 2,
                steps: 4,
                faults: 1,
            },
            runs: 210,
            cut_short: true,
        },
        file: "target/sim/stick_exclusion-1337.yaml".to_owned(),
        took: Duration::from_millis(812),
        is_same_again: true,
    }
}

#[test]
fn a_shrunk_run_is_shown_step_by_step() {
    let run = shrunk_run();
    let view = View {
        detail: Detail::Normal,
        paint: Paint::Plain,
        version: "0.1.0",
    };
    let page = page(&run, &unsafe_run().plan, &view);
    assert!(page.lines().all(|line| line.width() <= 80), "{page}");
    insta::assert_snapshot!(page, @r#"
    stick_exclusion · stick_contention · seed 1337
    user_7's push was accepted after user_9 was granted the lobby's stick.

    SHRUNK  40 agents, 58,201 steps, 3 faults → 2 agents, 4 steps, 1 fault (812ms)
      1     0s  a  login lobby                         # is user_1 in room_1
      2   10ms  a  talking_stick · reply lost · again: request lost
      3   15ms  a  append "x" · push to b takes 400ms  # draft of 1
      4   30ms  -  partition a for 10s
      5  10.1s  b  push                                # accepted ← stick_exclusion
    run again: same violation, same hash
    the time was up: --for 5m may shrink it further
    repeat    cargo run --release -p sim -- target/sim/stick_exclusion-1337.yaml
    "#);
}
