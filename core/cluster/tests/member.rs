//! Members over a log that the test moves by hand: what each report makes of an append.

#[path = "shared/bench.rs"]
mod bench;

use chat_cluster::{
    Alarm, CALL_PATIENCE, HEARTBEAT, LEASE, Outcome, Output, PUBLISH_TIMEOUT, RETRY, Role,
};
use chat_core::{Call, Earlier, Read, Reader, RequestKey, SecretHash, Span};

use bench::{Bench, owner, successor};

#[test]
fn a_silent_log_is_claimed_and_its_owner_serves() {
    let (mut bench, _) = owner();
    bench.register(1, None);
    assert!(!bench.answered(1), "the call waits for the log");
    bench.acknowledge();
    assert!(bench.answered(1));
}

#[test]
fn a_follower_applies_what_the_owner_appends_and_agrees() {
    let (mut owner, mut log) = owner();
    owner.register(1, None);
    log.push(owner.acknowledge());
    owner.pass(HEARTBEAT);
    log.push(owner.acknowledge());
    let mut follower = Bench::new(2);
    follower.follow(&log);
    assert_eq!(follower.member.sequence(), 4);
    assert_eq!(follower.member.hub().digest(), owner.member.hub().digest());
    assert_eq!(follower.alarms(), Vec::<&Alarm>::new());
}

#[test]
fn an_unknown_append_is_published_again_with_the_same_bytes() {
    let (mut bench, _) = owner();
    bench.register(1, None);
    bench.pass(PUBLISH_TIMEOUT);
    assert_eq!(bench.member.role(), Role::Settling);
    let [.., first, second] = &bench.published[..] else {
        panic!("two attempts");
    };
    assert_eq!((first.id, &first.bytes), (second.id, &second.bytes));
    assert_eq!(first.expected, second.expected);
    // A refusal of the second attempt says nothing about the first one.
    let id = second.id;
    bench.report(id, Outcome::Busy);
    assert_eq!(bench.member.role(), Role::Settling);
    // The first one is in the log, so the second one has the wrong last sequence.
    bench.report(id, Outcome::WrongLast);
    let bytes = bench.published.last().expect("it is there").bytes.clone();
    bench.found(None);
    assert!(!bench.answered(1), "that nothing was found proves nothing");
    bench.pass(PUBLISH_TIMEOUT);
    bench.found(Some(&bytes));
    assert!(bench.answered(1));
}

/// The log's leader refuses what does not follow its last proposal, which may never reach the
/// replicas: then the next leader's log ends where it ended before.
#[test]
fn an_append_behind_a_record_that_never_comes_is_published_again() {
    let (mut bench, _) = owner();
    bench.register(1, None);
    let last = bench.published.last().expect("the call is in flight");
    let (id, expected, bytes) = (last.id, last.expected, last.bytes.clone());
    let attempts = bench.published.len();
    bench.report(id, Outcome::WrongLast);
    for _ in 0..20 {
        bench.found(None);
        bench.pass(PUBLISH_TIMEOUT);
    }
    assert!(bench.published.len() > attempts, "it is published again");
    let last = bench.published.last().expect("it is published again");
    assert_eq!((last.expected, &last.bytes), (expected, &bytes));
    // The first attempt may have reached the log, and a refusal of a later one does not prove more.
    let id = last.id;
    bench.report(id, Outcome::Busy);
    assert_eq!(bench.member.role(), Role::Settling);
    bench.report(id, Outcome::Acknowledged(expected + 1));
    assert!(bench.answered(1));
}

#[test]
fn an_owner_that_was_superseded_refuses_its_calls_and_follows() {
    let (mut old, log) = owner();
    let (mut new, claim) = successor(&log);
    old.register(1, None);
    old.register(2, Some(RequestKey(3)));
    old.record(3, &claim);
    assert_eq!(old.member.role(), Role::Follower);
    assert_eq!(old.moved(), [(1, Earlier::Unasked), (2, Earlier::Unknown)]);
    let lost = Output::LostOwnership { epoch: 1 };
    assert_eq!(old.others.last(), Some(&lost));
    // The old owner follows the new one from here on.
    old.record(4, &new.acknowledge());
    assert_eq!(old.member.hub().digest(), new.member.hub().digest());
}

/// A heartbeat can be in flight for seconds, while the log elects a leader.
#[test]
fn a_check_ends_in_time_while_a_heartbeat_is_in_flight() {
    let (mut bench, _) = owner();
    bench.register(1, None);
    bench.acknowledge();
    let wait = HEARTBEAT.times(4);
    let check = |wait| Call::Read {
        reader: Reader::Handle(SecretHash([9; 16])),
        read: Read::Check {
            after: None,
            wait,
            max: 10,
        },
    };
    for (ticket, wait) in [(2, Span::ZERO), (3, wait)] {
        bench.submit(ticket, check(wait));
    }
    assert!(!bench.answered(3), "nothing is there to read");
    let over = bench.now.wall + wait;
    // What the first check acknowledges is a batch of its own.
    bench.pass(HEARTBEAT);
    bench.acknowledge();
    bench.pass(HEARTBEAT);
    assert!(bench.member.is_log_busy(), "the heartbeat is in flight");
    let due = bench.member.poll_timeout().wall;
    assert!(due.is_some_and(|due| due <= over), "{due:?}");
    while bench.now.wall < over {
        bench.pass(PUBLISH_TIMEOUT);
    }
    assert!(bench.answered(3));
}

#[test]
fn a_resignation_follows_the_last_call_at_once() {
    let (mut bench, _) = owner();
    bench.register(1, None);
    bench.member.resign(bench.now);
    bench.drain();
    bench.acknowledge();
    assert!(bench.answered(1));
    bench.acknowledge();
    let lost = Output::LostOwnership { epoch: 1 };
    assert_eq!(bench.others.last(), Some(&lost));
}

#[test]
fn calls_are_taken_within_the_lease_only() {
    let (mut bench, _) = owner();
    bench.now.boot += LEASE;
    bench.register(1, None);
    assert_eq!(bench.moved(), [(1, Earlier::Unasked)]);
}

#[test]
fn a_refusal_outside_of_the_lease_does_not_exclude_an_earlier_attempt() {
    for (late, earlier) in [(Span::ZERO, Earlier::None), (LEASE, Earlier::Unknown)] {
        let (mut bench, _) = owner();
        bench.register(1, Some(RequestKey(3)));
        bench.now.boot += late;
        let id = bench.published.last().expect("the call is in flight").id;
        bench.report(id, Outcome::Rejected);
        assert_eq!(bench.refused(1), Some(earlier), "{late} late");
    }
}

#[test]
fn a_call_waits_while_the_log_elects_a_leader() {
    let (mut bench, _) = owner();
    bench.register(1, Some(RequestKey(3)));
    let first = bench.published.len() - 1;
    for _ in 0..3 {
        let id = bench.published.last().expect("the call is in flight").id;
        bench.report(id, Outcome::Busy);
        assert_eq!(bench.refused(1), None);
        assert_eq!(bench.member.role(), Role::Owner);
        bench.pass(RETRY);
    }
    let [before, .., last] = &bench.published[first..] else {
        panic!("several attempts");
    };
    assert_eq!(
        (before.id, before.expected, &before.bytes),
        (last.id, last.expected, &last.bytes)
    );
    bench.acknowledge();
    assert!(bench.answered(1));
}

/// Most of the log's servers are gone.
#[test]
fn a_call_is_refused_when_the_log_had_no_leader_for_as_long_as_calls_are_tried() {
    let (mut bench, _) = owner();
    bench.register(1, Some(RequestKey(3)));
    bench.now.boot += CALL_PATIENCE;
    let id = bench.published.last().expect("the call is in flight").id;
    bench.report(id, Outcome::Busy);
    assert_eq!(bench.refused(1), Some(Earlier::Unknown));
}

#[test]
fn a_hole_and_a_changed_record_are_requested_elsewhere() {
    let (mut owner, mut log) = owner();
    owner.pass(HEARTBEAT);
    log.push(owner.acknowledge());
    let mut follower = Bench::new(2);
    follower.record(1, &log[0]);
    follower.record(3, &log[2]);
    assert_eq!(follower.alarms(), [&Alarm::Hole { sequence: 2 }]);
    let mut flipped = log[1].to_vec();
    flipped[30] ^= 4;
    follower.record(2, &flipped);
    assert_eq!(follower.member.sequence(), 1);
    follower.record(2, &log[1]);
    follower.record(3, &log[2]);
    assert_eq!(follower.member.sequence(), 3);
}

/// The next record is purged, so that the former owner never receives it.
#[test]
fn an_owner_that_is_behind_a_later_record_departs() {
    let (mut old, mut log) = owner();
    old.register(1, None);
    let (mut new, claim) = successor(&log);
    log.push(claim);
    new.pass(HEARTBEAT);
    log.push(new.acknowledge());
    let later = log.len() as u64;
    old.record(later, &log[log.len() - 1]);
    assert_eq!(old.member.role(), Role::Follower);
    assert_eq!(old.moved(), [(1, Earlier::Unknown)]);
    let appends = old.published.len();
    old.pass(HEARTBEAT);
    assert_eq!(old.published.len(), appends, "its append is over");
}
