//! An upgrade from an earlier build, one member at a time, and back. `cargo xtask cluster --from REV`
//! builds that one.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::cluster::log_judge::{LogJudge, Seen};
use crate::cluster::members::Members;
use crate::cluster::nemesis::HEALED;
use crate::cluster::talkers::{Habit, THINKING, Talkers};
use crate::cluster::upgrade::roll;

const TALKERS: [(Habit, Duration); 4] = [
    (Habit::Insists, Duration::ZERO),
    (Habit::Insists, THINKING),
    (Habit::Believes, THINKING),
    (Habit::SaysOnce, THINKING),
];

/// The version of this build.
const OURS: &str = env!("CARGO_PKG_VERSION");

fn versions(states: &[Value]) -> BTreeSet<String> {
    let text = |state: &Value| state["version"].as_str().expect("a text").to_owned();
    states.iter().map(text).collect()
}

/// What `cluster status` shows.
#[expect(clippy::print_stdout, reason = "the test says what it does")]
fn show(members: &Members) {
    let output = members.command("status");
    println!("{}", String::from_utf8_lossy(&output.stdout));
}

/// Replaces all members in turn by this program, and checks that they agree.
#[expect(clippy::print_stdout, reason = "the test says what it does")]
fn replace_all(members: &mut Members, round: usize, program: Option<PathBuf>, version: &str) {
    members.program = program;
    let said = roll(members, round, |members, number| {
        members.stop(number);
        members.start_again(number);
        show(members);
    });
    println!("to {version}: {said}");
    assert_eq!(versions(&members.agreed()), [version.to_owned()].into());
}

#[test]
#[ignore = "needs an earlier build: `cargo xtask cluster --from REV`"]
fn members_go_from_an_earlier_build_to_this_one_and_back() {
    let earlier = std::env::var_os("CLUSTER_FROM").map(PathBuf::from);
    let earlier = earlier.expect("CLUSTER_FROM names the program of the earlier build");
    let mut members = Members::start_for_talkers_by(earlier.clone());
    let theirs = versions(&members.agreed());
    let theirs = theirs.first().expect("there are members").clone();
    assert_ne!(theirs, OURS, "the builds have different versions");
    let judge = LogJudge::start(&members.servers);
    let doors = (0..members.count()).map(|number| members.address(number));
    let talkers = Talkers::register(&TALKERS, doors.collect());
    talkers.talk_while(|| {
        let programs = [(None, OURS), (Some(earlier), &*theirs)];
        for (round, (program, version)) in programs.into_iter().enumerate() {
            replace_all(&mut members, round, program, version);
            let healed = talkers.heal(Instant::now(), HEALED);
            assert!(healed.is_some(), "not served again");
        }
    });
    let states = members.agreed();
    judge.compare(&states);
    let doors = 0..members.count();
    let shown: Vec<_> = doors.map(|door| talkers.history(door)).collect();
    shown.iter().for_each(|shown| talkers.check(shown));
    let sequences = states.iter().filter_map(|state| state["sequence"].as_u64());
    let last = sequences.max().expect("members");
    let judged = judge.finish(&talkers, &[], Some(&Seen { last, shown }));
    println!("{}", judged.unwrap_or_else(|broken| panic!("{broken}")));
}
