//! Members and NATS servers in several regions.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::cluster::members::Members;
use crate::cluster::nemesis::{HEALED, setting};
use crate::process::Connection;

/// How late each byte arrives, in milliseconds: as the documentation says that a cluster works.
const ONE_WAY: u64 = 150;

/// The pause before a call that was refused is made again.
const PAUSE: Duration = Duration::from_millis(100);

/// Registers a participant, and repeats the call until it is accepted.
fn register(door: &mut Connection, name: &str) -> Value {
    let until = Instant::now() + HEALED;
    let body = json!({
        "username": name, "room": "lobby", "request_key": format!("{name} 0123456789abcdefghij"),
    });
    loop {
        let (status, answer) = door.post("/register", "", &body).expect("an answer");
        if status == 200 {
            return answer;
        }
        assert!(Instant::now() < until, "{name} is not served: {answer}");
        thread::park_timeout(PAUSE);
    }
}

/// The epochs that the members know, and the owner.
fn epochs(members: &Members) -> (usize, Vec<Value>) {
    let owner = members.owner();
    let states = members.agreed();
    (
        owner,
        states.iter().map(|state| state["epoch"].clone()).collect(),
    )
}

#[test]
#[ignore = "needs nats-server: `cargo xtask test --only cluster`"]
fn members_in_several_regions_serve_and_one_of_them_takes_over() {
    let mut members = Members::start();
    let before = epochs(&members);
    members
        .network
        .delay(Duration::from_millis(setting("CLUSTER_DELAY", ONE_WAY)));
    for round in 0..2 {
        for number in 0..members.count() {
            register(
                &mut members.connect(number),
                &format!("user {round} {number}"),
            );
        }
    }
    assert_eq!(epochs(&members), before, "the owner stays");
    let (owner, _) = before;
    members.kill(owner);
    let other = (owner + 1) % members.count();
    register(&mut members.connect(other), "later");
}
