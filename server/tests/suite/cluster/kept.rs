//! What a member keeps in a folder of its own: the journal of the log, and the history.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::binary::program::ran_as;
use crate::cluster::lost::verify;
use crate::cluster::members::{Kept, Members};
use crate::cluster::talkers::{Habit, Talkers};
use crate::cluster::{done, talkers};
use crate::durable::client::{inspect, texts_of};
use crate::process::{Connection, LISTEN, PATIENCE, binary, wait_until};

/// The core keeps two messages of a room: all others are read from the history.
pub(crate) const SHORT: &str = "stick=optional,history_limit=2,\
                                rate_limit={per_second: 100000, burst: 100000}";

pub(crate) fn say(connection: &mut Connection, handle: &str, texts: &[String]) {
    for text in texts {
        done(connection, "/send", handle, &json!({ "message": text }));
    }
}

pub(crate) fn words(numbers: std::ops::Range<u32>) -> Vec<String> {
    numbers.map(|number| format!("word {number}")).collect()
}

/// Two members with journals, at both of which a participant, whose handle is returned, has said five
/// words.
pub(crate) fn two_with_five_words() -> (Members, String) {
    let kept = Kept::with_limits(SHORT);
    let members = Members::start_keeping(1, 2, Some(kept));
    let mut door = members.connect(0);
    let ada = door.register("Ada", "lobby");
    say(&mut door, &ada, &words(0..5));
    assert_eq!(talkers::texts(&mut members.connect(1), &ada), words(0..5));
    (members, ada)
}

/// The texts that a search finds, the oldest first.
pub(crate) fn found(connection: &mut Connection, handle: &str, query: &str) -> Vec<String> {
    let query = json!({ "query": query });
    let page = done(connection, "/tools/search", handle, &query);
    let mut texts = texts_of(&page);
    texts.reverse();
    texts
}

/// Waits until the journal of this member has what the member has applied: the history follows the
/// journal, and a search waits for the history.
fn wait_for_journal(door: &mut Connection, handle: &str) {
    let search = json!({ "query": "word" });
    wait_until("the journal lacks entries", || {
        let answer = door.post("/tools/search", handle, &search);
        answer.expect("an answer").0 == 200
    });
}

/// What `inspect` says of a folder, which has no problem.
pub(crate) fn inspected(folder: &Path) -> Value {
    let (code, report) = inspect(folder);
    assert_eq!(code, Some(0), "{report}");
    report
}

/// Stops all members, the owner last, and checks that each journal is whole and ends at the same
/// position.
pub(crate) fn stopped(members: &mut Members) -> Vec<Value> {
    let owner = members.owner();
    for number in (0..members.count()).filter(|number| *number != owner) {
        members.stop(number);
    }
    members.stop(owner);
    let numbers = 0..members.count();
    numbers.map(|one| inspected(&members.data(one))).collect()
}

#[test]
#[ignore = "needs nats-server: `cargo xtask test --only cluster`"]
fn every_member_keeps_the_journal_and_answers_from_its_history() {
    let kept = Kept::with_limits(SHORT);
    let mut members = Members::start_keeping(1, 2, Some(kept));
    let mut doors = [members.connect(0), members.connect(1)];
    let ada = doors[0].register("Ada", "lobby");
    say(&mut doors[0], &ada, &words(0..6));
    say(&mut doors[1], &ada, &words(6..9));
    for door in &mut doors {
        assert_eq!(talkers::texts(door, &ada), words(0..9));
        assert_eq!(found(door, &ada, "word 7"), words(7..8));
    }
    members.agreed();
    let reports = stopped(&mut members);
    for report in &reports {
        assert_eq!(report["first"], 1, "{report}");
        assert_eq!(report["history_messages"], 9, "{report}");
    }
    for number in 0..2 {
        members.start_again(number);
    }
    let mut doors = [members.connect(0), members.connect(1)];
    say(&mut doors[1], &ada, &words(9..12));
    for door in &mut doors {
        assert_eq!(talkers::texts(door, &ada), words(0..12));
    }
    // A member that is killed has what it lacks from the log.
    members.kill(0);
    say(&mut doors[1], &ada, &words(12..15));
    members.start_again(0);
    let mut door = members.connect(0);
    assert_eq!(talkers::texts(&mut door, &ada), words(0..15));
    assert_eq!(found(&mut door, &ada, "13"), words(13..14));
    members.agreed();
    let reports = stopped(&mut members);
    assert_eq!(reports[0]["first"], 1, "no gap: {reports:?}");
}

#[test]
#[ignore = "needs nats-server: `cargo xtask test --only cluster`"]
fn a_journal_begins_anew_where_the_log_is_purged() {
    let (mut members, ada) = two_with_five_words();
    members.stop(1);
    // Each owner that stops stores a snapshot, and the log is purged below the last two.
    for from in [5, 10] {
        say(&mut members.connect(0), &ada, &words(from..from + 5));
        members.stop(0);
        members.start_again(0);
    }
    members.start_again(1);
    let mut door = members.connect(1);
    say(&mut door, &ada, &words(15..17));
    // The snapshot had the last two messages of what was purged.
    let rest = [words(0..5), words(13..17)].concat();
    assert_eq!(talkers::texts(&mut door, &ada), rest);
    let mut whole = members.connect(0);
    assert_eq!(talkers::texts(&mut whole, &ada), words(0..17));
    members.agreed();
    let reports = stopped(&mut members);
    assert_eq!(reports[0]["first"], 1, "{reports:?}");
    assert!(reports[1]["first"].as_u64() > Some(10), "{reports:?}");
    assert_eq!(reports[0]["last"], reports[1]["last"], "{reports:?}");
    // It goes on from there, without another gap.
    members.start_again(1);
    let mut door = members.connect(1);
    say(&mut door, &ada, &words(17..19));
    assert_eq!(
        talkers::texts(&mut door, &ada),
        [rest, words(17..19)].concat()
    );
}

#[test]
#[ignore = "needs nats-server: `cargo xtask test --only cluster`"]
fn a_member_does_not_start_with_entries_that_the_log_lacks() {
    let kept = Kept::with_limits(SHORT);
    let mut members = Members::start_keeping(1, 1, Some(kept));
    let mut door = members.connect(0);
    let ada = door.register("Ada", "lobby");
    say(&mut door, &ada, &words(0..3));
    members.stop(0);
    let kept = members.kept.take().expect("they keep journals");
    let others = Members::start_on(1, 1);
    let empty = Members::start_on(1, 0);
    for (flags, why) in [
        (others.flags(), "the journal of another realm"),
        (empty.flags(), "the log of the cluster lacks entries"),
    ] {
        let mut command = binary();
        command.args(LISTEN).arg("--data").arg(kept.data(0));
        let (code, _, said) = ran_as(command.args(flags));
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains(why), "{said}");
    }
    assert_eq!(inspected(&kept.data(0))["starts"], true);
}

#[test]
#[ignore = "needs nats-server: `cargo xtask test --only cluster`"]
fn a_member_whose_journal_cannot_be_written_goes_on_and_reads_the_rest_from_the_log() {
    let kept = Kept::with_limits(SHORT);
    let mut members = Members::start_keeping(1, 1, Some(kept));
    let mut door = members.connect(0);
    let ada = door.register("Ada", "lobby");
    say(&mut door, &ada, &words(0..3));
    let folder = members.data(0);
    let other = rusqlite::Connection::open(folder.join("journal.db")).expect("a database");
    other.execute_batch("BEGIN IMMEDIATE").expect("the lock");
    say(&mut door, &ada, &words(3..6));
    // The messages are in the log, and the history waits for the journal: four times, in which the
    // writer gives up once and opens the database again.
    for _ in 0..4 {
        let answer = door.post("/tools/search", &ada, &json!({ "query": "word" }));
        let (status, refused) = answer.expect("an answer");
        assert_eq!(
            (status, &refused["error"]["code"]),
            (503, &json!("overloaded"))
        );
    }
    say(&mut door, &ada, &words(6..9));
    other.execute_batch("COMMIT").expect("unlocked");
    drop(other);
    wait_for_journal(&mut door, &ada);
    assert_eq!(talkers::texts(&mut members.connect(0), &ada), words(0..9));
    let reports = stopped(&mut members);
    assert_eq!(reports[0]["first"], 1, "{reports:?}");
    assert_eq!(reports[0]["history_messages"], 9, "{reports:?}");
}

/// The log was purged meanwhile, so that it continues from a snapshot while it runs.
#[test]
#[ignore = "needs nats-server: `cargo xtask test --only cluster`"]
fn the_journal_of_a_member_that_was_paused_for_long_begins_anew() {
    let (mut members, ada) = two_with_five_words();
    members.signal(1, "STOP");
    // The connection of the paused member ends with the NATS server: it holds no record that is
    // purged later.
    members.stop(0);
    members.servers.kill(0);
    members.servers.start_again(0);
    members.start_again(0);
    for from in [5, 10, 15] {
        say(&mut members.connect(0), &ada, &words(from..from + 5));
        members.stop(0);
        members.start_again(0);
    }
    members.signal(1, "CONT");
    say(&mut members.connect(0), &ada, &words(20..21));
    members.agreed();
    wait_for_journal(&mut members.connect(1), &ada);
    let reports = stopped(&mut members);
    let first = reports[1]["first"].as_u64();
    assert!(first > Some(10), "{reports:?}");
    assert_eq!(reports[0]["last"], reports[1]["last"], "{reports:?}");
    assert_eq!(reports[0]["first"], 1, "{reports:?}");
}

#[test]
#[ignore = "needs nats-server: `cargo xtask test --only cluster`"]
fn journals_are_whole_and_of_the_log_whatever_is_killed_under_load() {
    let kept = Kept::with_limits(SHORT);
    let mut members = Members::start_keeping(3, 3, Some(kept));
    let doors = (0..3).map(|number| members.address(number)).collect();
    let talkers = Talkers::register(&[(Habit::Insists, Duration::ZERO); 3], doors);
    talkers.talk_while(|| {
        let owner = members.owner();
        let served = || {
            let healed = talkers.heal(Instant::now(), PATIENCE);
            assert!(healed.is_some(), "nobody is served");
        };
        for number in [owner, (owner + 1) % 3, (owner + 2) % 3] {
            members.kill(number);
            members.start_again(number);
            served();
        }
        for number in 0..3 {
            members.kill(number);
            members.servers.kill(number);
        }
        for number in 0..3 {
            members.servers.start_again(number);
        }
        for number in 0..3 {
            members.start_again(number);
        }
        served();
    });
    members.agreed();
    for number in 0..3 {
        talkers.check(&talkers.history(number));
    }
    for number in 0..3 {
        let (code, said) = verify(&members, Some(&members.data(number)));
        assert_eq!(code, Some(0), "{said}");
    }
    for report in stopped(&mut members) {
        assert_eq!(report["first"], 1, "no gap: {report}");
    }
}
