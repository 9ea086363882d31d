//! Strict reads: each waits for an append that began after it arrived.

#[path = "shared/bench.rs"]
mod bench;

use chat_cluster::{HEARTBEAT, LEASE, Outcome, PUBLISH_TIMEOUT, RETRY, Role};
use chat_core::{Earlier, OwnerReads, RequestKey, Ticket};

use bench::{Bench, owner, owner_with, successor};

/// A strict owner with a participant.
fn strict() -> Bench {
    let (mut bench, _) = owner_with(OwnerReads::Strict);
    bench.register(1, None);
    bench.acknowledge();
    bench
}

#[test]
fn a_read_within_the_lease_is_answered_at_once() {
    let (mut bench, _) = owner();
    bench.register(1, None);
    bench.acknowledge();
    let appends = bench.published.len();
    bench.read(2);
    assert!(bench.answered(2));
    assert_eq!(bench.published.len(), appends);
}

#[test]
fn a_strict_read_is_answered_when_the_log_has_a_later_record() {
    let mut bench = strict();
    let appends = bench.published.len();
    bench.read(2);
    assert!(!bench.answered(2));
    // The append in flight began before these reads.
    bench.read(3);
    bench.read(4);
    bench.acknowledge();
    assert!(bench.answered(2));
    assert!(!bench.answered(3) && !bench.answered(4));
    bench.acknowledge();
    assert!(bench.answered(3) && bench.answered(4));
    assert_eq!(bench.published.len(), appends + 2, "one serves both");
}

#[test]
fn a_batch_and_a_heartbeat_serve_strict_reads() {
    let mut bench = strict();
    bench.pass(HEARTBEAT);
    bench.read(2);
    bench.register(3, None);
    bench.acknowledge();
    let appends = bench.published.len();
    assert!(!bench.answered(2), "the heartbeat began before it");
    bench.acknowledge();
    assert!(bench.answered(2) && bench.answered(3));
    assert_eq!(bench.published.len(), appends);
}

#[test]
fn a_strict_read_of_an_owner_that_was_superseded_is_given_to_the_next_one() {
    let (mut old, log) = owner_with(OwnerReads::Strict);
    let (_, claim) = successor(&log);
    // By its clock the old owner has its lease.
    old.read(1);
    old.read(2);
    old.record(3, &claim);
    assert_eq!(old.moved(), [(1, Earlier::Unasked), (2, Earlier::Unasked)]);
    assert_eq!(old.member.role(), Role::Follower);
}

#[test]
fn a_strict_read_waits_while_the_log_refuses() {
    let mut bench = strict();
    bench.read(2);
    let id = bench.published.last().expect("a record for it").id;
    let appends = bench.published.len();
    bench.report(id, Outcome::Busy);
    assert_eq!(bench.published.len(), appends, "the next attempt waits");
    bench.pass(RETRY);
    bench.acknowledge();
    assert!(bench.answered(2));
}

#[test]
fn a_strict_read_behind_the_lease_is_not_taken_and_one_that_waits_then_is_given_to_the_next_owner()
{
    let mut bench = strict();
    bench.read(2);
    bench.pass(LEASE);
    bench.read(3);
    assert_eq!(bench.moved(), [2, 3].map(|read| (read, Earlier::Unasked)));
    assert!(!bench.answered(2));
}

/// The state may be old by a clock that stood still: then a refusal by it is wrong.
#[test]
fn a_refusal_of_a_command_waits_for_a_record_too() {
    let mut bench = strict();
    bench.register(2, None);
    bench.acknowledge();
    assert!(bench.answered(2));
    bench.send_as_nobody(3);
    assert_eq!(bench.refused(3), None);
    bench.acknowledge();
    assert!(bench.refused(3).is_some());
}

#[test]
fn an_owner_that_resigns_gives_waiting_reads_to_the_next_one_and_takes_no_more_calls() {
    let mut bench = strict();
    bench.register(3, None);
    bench.read(2);
    bench.member.resign(bench.now);
    bench.read(4);
    bench.send_as_nobody(5);
    // Its state may be old, if its clock stood still.
    let wanted = [2, 4, 5].map(|call| (call, Earlier::Unasked));
    assert_eq!(bench.moved(), wanted);
}

#[test]
fn a_stream_by_reader_id_opens_when_the_log_has_a_later_record() {
    let mut bench = strict();
    bench.open_stream(2);
    assert!(!bench.answered(2));
    let stream = bench
        .member
        .owned_node()
        .and_then(|node| node.stream_user(Ticket(2)));
    assert_eq!(
        stream, None,
        "it would have to carry events before it is there"
    );
    bench.acknowledge();
    assert!(bench.answered(2));
}

#[test]
fn a_cancelled_read_needs_no_append() {
    let mut bench = strict();
    bench.read(2);
    bench.read(3);
    bench.member.cancel(Ticket(2));
    bench.member.cancel(Ticket(3));
    bench.acknowledge();
    let appends = bench.published.len();
    bench.pass(RETRY);
    assert_eq!(bench.published.len(), appends);
    assert!(!bench.answered(2) && !bench.answered(3));
}

/// The earlier attempt may have been taken by an owner that was superseded since then.
#[test]
fn a_repeated_call_that_has_no_answer_yet_waits_for_a_later_record() {
    let (mut bench, _) = owner_with(OwnerReads::Strict);
    bench.register(1, Some(RequestKey(3)));
    bench.pass(PUBLISH_TIMEOUT);
    bench.register(2, Some(RequestKey(3)));
    bench.acknowledge();
    assert!(bench.answered(1));
    assert!(!bench.answered(2), "the batch began before it");
    bench.acknowledge();
    assert!(bench.answered(2));
}
