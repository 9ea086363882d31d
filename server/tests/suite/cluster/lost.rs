//! A log that the NATS servers have lost, and one that continues the journal of a single server.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::binary::program::ran_as;
use crate::cluster::kept::{SHORT, found, inspected, say, stopped, two_with_five_words, words};
use crate::cluster::members::{Kept, Members};
use crate::cluster::talkers;
use crate::durable::client::{records, recovered};
use crate::process::{Server, binary};

/// Runs a command; returns its exit code, and all that it printed.
fn run(command: &mut Command) -> (Option<i32>, String) {
    let (code, out, why) = ran_as(command);
    (code, out + &why)
}

fn repair(members: &Members, from: &Path, words: &[&str]) -> (Option<i32>, String) {
    let mut command = binary();
    command.args(["cluster", "repair", "--from"]).arg(from);
    run(command.args(words).args(members.flags()))
}

pub(crate) fn verify(members: &Members, data: Option<&Path>) -> (Option<i32>, String) {
    let mut command = binary();
    command.args(["cluster", "verify"]).args(members.flags());
    if let Some(data) = data {
        command.arg("--data").arg(data);
    }
    run(&mut command)
}

/// The position and the digest of the state that follows from the records of this folder.
pub(crate) fn replayed(folder: &Path) -> (u64, u64) {
    let (state, _) = recovered(&records(folder));
    (state.hub.position().0, state.hub.digest())
}

#[test]
#[ignore = "needs nats-server: `cargo xtask test --only cluster`"]
fn a_lost_log_is_made_again_from_a_member_s_journal() {
    let kept = Kept::with_limits(SHORT);
    let mut members = Members::start_keeping(3, 3, Some(kept));
    let mut doors: Vec<_> = (0..3).map(|number| members.connect(number)).collect();
    let ada = doors[0].register("Ada", "lobby");
    let bo = doors[1].register("Bo", "lobby");
    for (number, door) in (0..).zip(&mut doors) {
        say(door, &ada, &words(number * 10..number * 10 + 10));
    }
    let states = members.agreed();
    let folders: Vec<_> = (0..3).map(|number| members.data(number)).collect();
    let (code, said) = verify(&members, Some(&folders[2]));
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = repair(&members, &folders[0], &[]);
    assert!(code == Some(1) && said.contains("is in use by"), "{said}");
    let reports = stopped(&mut members);
    for (report, folder) in reports.iter().zip(&folders) {
        assert_eq!(report["last"], states[0]["position"], "{report}");
        let (_, digest) = replayed(folder);
        assert_eq!(states[0]["digest"], format!("{digest:016x}"));
    }
    let (code, said) = repair(&members, &folders[0], &[]);
    assert!(
        code == Some(1) && said.contains("has records up to"),
        "{said}"
    );

    members.servers.lose_all();
    let before = reports[1]["last"].as_u64().expect("a position");
    let (code, said) = repair(&members, &folders[1], &["--dry-run"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains(&format!("ends       at position {before}, digest ")),
        "{said}"
    );
    assert!(said.contains("0 entries are beyond that"), "{said}");
    let (code, said) = repair(&members, &folders[1], &["--cluster-trust-servers"]);
    assert!(code == Some(0) && said.contains("is made"), "{said}");
    for number in 0..3 {
        members.start_again(number);
    }
    for (number, next) in (0..3).zip(30..) {
        let mut door = members.connect(number);
        say(&mut door, &ada, &words(next..next + 1));
        assert_eq!(talkers::texts(&mut door, &bo), words(0..next + 1));
        assert_eq!(found(&mut door, &bo, "word 17"), words(17..18));
    }
    members.agreed();
    for folder in &folders {
        let (code, said) = verify(&members, Some(folder));
        assert_eq!(code, Some(0), "{said}");
    }
    for report in stopped(&mut members) {
        assert_eq!(report["first"], 1, "no gap: {report}");
    }
}

#[test]
#[ignore = "needs nats-server: `cargo xtask test --only cluster`"]
fn a_journal_that_is_ahead_of_a_log_made_of_another_is_told_and_not_served() {
    let (mut members, ada) = two_with_five_words();
    members.stop(1);
    say(&mut members.connect(0), &ada, &words(5..9));
    members.stop(0);
    let [longer, shorter] = [members.data(0), members.data(1)];
    members.servers.lose_all();
    let (code, said) = repair(&members, &shorter, &["--cluster-trust-servers"]);
    assert_eq!(code, Some(0), "{said}");
    members.start_again(1);
    let mut door = members.connect(1);
    assert_eq!(talkers::texts(&mut door, &ada), words(0..5));
    let (code, said) = verify(&members, Some(&longer));
    assert!(code == Some(1) && said.contains("differs"), "{said}");
    let (code, said) = verify(&members, Some(&shorter));
    assert_eq!(code, Some(0), "{said}");
    let mut command = binary();
    command
        .args(["--listen", "127.0.0.1:0", "--data"])
        .arg(&longer);
    let (code, said) = run(command.args(members.flags()));
    assert!(code == Some(1) && said.contains("lacks entries"), "{said}");
    // The operator gives up what the log lacks.
    command.arg("--accept-loss");
    let server = Server::start_as(&mut command);
    assert_eq!(talkers::texts(&mut server.connect(), &ada), words(0..5));
    server.kill();
}

#[test]
#[ignore = "needs nats-server: `cargo xtask test --only cluster`"]
fn the_journal_of_a_single_server_becomes_a_cluster() {
    let kept = Kept::with_limits(SHORT);
    let mut members = Members::start_keeping(1, 0, Some(kept));
    let folder = members.data(0);
    let mut command = binary();
    command
        .args(["--listen", "127.0.0.1:0", "--limit", SHORT, "--data"])
        .arg(&folder);
    let server = Server::start_as(&mut command);
    let mut door = server.connect();
    let ada = door.register("Ada", "lobby");
    say(&mut door, &ada, &words(0..7));
    server.kill();
    let (position, _) = replayed(&folder);
    let (code, said) = repair(&members, &folder, &["--cluster-trust-servers"]);
    assert!(
        code == Some(0) && said.contains(&position.to_string()),
        "{said}"
    );
    members.add(2);
    let mut doors = [members.connect(0), members.connect(1)];
    say(&mut doors[1], &ada, &words(7..9));
    assert_eq!(talkers::texts(&mut doors[0], &ada), words(0..9));
    // A member with an empty folder has what the snapshot held, and all since.
    assert_eq!(talkers::texts(&mut doors[1], &ada), words(5..9));
    let (code, said) = verify(&members, Some(&folder));
    assert_eq!(code, Some(0), "{said}");
    let states: Vec<Value> = members.agreed();
    let reports = stopped(&mut members);
    assert_eq!(reports[0]["first"], 1, "{reports:?}");
    assert_eq!(inspected(&folder)["last"], states[0]["position"]);
    // And back: the folder of a member is that of a single server, and the other way round.
    let server = Server::start_as(&mut command);
    let mut door = server.connect();
    say(&mut door, &ada, &words(9..10));
    assert_eq!(talkers::texts(&mut door, &ada), words(0..10));
    server.kill();
    let realm = ["--cluster-trust-servers", "--cluster-realm", "again"];
    let (code, said) = repair(&members, &folder, &realm);
    assert_eq!(code, Some(0), "{said}");
}

/// A flipped bit on the disk of the only NATS server, which starts without a word.
#[test]
#[ignore = "needs nats-server: `cargo xtask test --only cluster`"]
fn a_record_that_the_servers_have_lost_is_found() {
    let kept = Kept::with_limits(SHORT);
    let mut members = Members::start_keeping(1, 1, Some(kept));
    let mut door = members.connect(0);
    let ada = door.register("Ada", "lobby");
    say(&mut door, &ada, &words(0..40));
    let (code, said) = verify(&members, None);
    assert_eq!(code, Some(0), "{said}");
    members.stop(0);
    members.servers.kill(0);
    let store = members.servers.store(0);
    let block = store.join("jetstream/$G/streams/TS_main/msgs/1.blk");
    let mut bytes = std::fs::read(&block).expect("the records");
    let text = b"word 20";
    let at = bytes.windows(text.len()).position(|seen| seen == text);
    bytes[at.expect("a message")] ^= 1;
    std::fs::write(&block, bytes).expect("the records");
    members.servers.start_again(0);
    let data = members.data(0);
    let (code, said) = verify(&members, Some(&data));
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("records are lost"), "{said}");
    assert!(said.contains("the journal ends at position"), "{said}");
    let mut command = binary();
    command.args(["--listen", "127.0.0.1:0"]);
    let (code, said) = run(command.args(members.flags()));
    assert!(
        code == Some(1) && said.contains("have lost records"),
        "{said}"
    );
}
