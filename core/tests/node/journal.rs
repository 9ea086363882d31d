//! Batches and the journal: what leaves the node, and when.

use std::sync::Arc;

use chat_core::{
    Call, Caller, Command, Config, Continuity, Entry, Hub, Implied, Node, Output, Position, Reply,
    RequestKey, Response, Span, Time,
};

use crate::shell::{Shell, check, handle, secret, send};

#[test]
fn nothing_leaves_before_its_cause_is_committed() {
    let mut shell = Shell::with_pair(Config::default());
    let said = shell.call(send("ann", "hi"));
    assert!(shell.node.poll_batch(shell.now).is_some());
    shell.drain();
    assert_eq!(shell.outcome(said), None);
    let first = shell.node.hub().position().next();
    shell.node.committed(first, shell.now, shell.now);
    shell.drain();
    assert!(matches!(
        shell.outcome(said),
        Some(Ok(Response::Done(Reply::Sent { .. })))
    ));
}

#[test]
fn a_failed_append_refuses_its_calls_applies_nothing_and_heals() {
    let mut shell = Shell::with_pair(Config::default());
    let digest = shell.node.hub().digest();
    let lost = shell.call(send("ann", "hi"));
    assert!(shell.node.poll_batch(shell.now).is_some());
    shell.node.append_failed(shell.now);
    shell.drain();
    assert_eq!(shell.code(lost), Some("storage_unavailable"));
    assert_eq!(shell.node.hub().digest(), digest);
    // During the pause after a failed append, calls are refused.
    let refused = shell.call(send("ann", "hi"));
    assert_eq!(shell.code(refused), Some("storage_unavailable"));
    shell.pass(Span::millis(100));
    let said = shell.call(send("ann", "hi"));
    shell.commit();
    assert!(matches!(shell.outcome(said), Some(Ok(_))));
}

#[test]
fn what_nobody_can_be_refused_survives_a_failed_append() {
    let mut shell = Shell::with_pair(Config::default());
    let stream = shell.call(Call::OpenStream {
        reader: handle("ben"),
        after: None,
    });
    shell.commit();
    shell.node.close_stream(stream);
    assert!(shell.node.poll_batch(shell.now).is_some());
    shell.node.append_failed(shell.now);
    shell.drain();
    assert!(shell.node.poll_batch(shell.now).is_none(), "the disk rests");
    shell.pass(Span::millis(100));
    let last = shell.journal.last().map(|(_, entry)| entry);
    assert!(matches!(
        last,
        Some(Entry::Implied {
            implied: Implied::CloseStream,
            ..
        })
    ));
}

#[test]
fn what_reads_imply_does_not_grow_while_appends_fail() {
    let mut shell = Shell::with_pair(Config {
        idle_timeout: Span::secs(120),
        ..Config::default()
    });
    shell.pass(Span::secs(40));
    let mut lengths = Vec::new();
    for _ in 0..30 {
        shell.now += Span::secs(1);
        for name in ["ann", "ben"] {
            let read = shell.call(check(name, None, Span::ZERO));
            assert!(shell.read(read).is_some());
        }
        if let Some(batch) = shell.node.poll_batch(shell.now) {
            lengths.push(batch.len());
            shell.node.append_failed(shell.now);
            shell.drain();
        }
    }
    assert!(lengths.len() > 10, "{lengths:?}");
    assert!(lengths.iter().all(|length| *length <= 4), "{lengths:?}");
    // The reads are in the journal after all.
    shell.pass(Span::secs(1));
    let seen = shell.journal.iter().rev().take(4).filter(|(_, entry)| {
        matches!(
            entry,
            Entry::Implied {
                implied: Implied::Seen { .. },
                ..
            }
        )
    });
    assert_eq!(seen.count(), 2);
}

#[test]
fn what_a_waiting_check_implies_does_not_grow_while_appends_fail() {
    let mut shell = Shell::with_pair(Config {
        idle_timeout: Span::secs(2),
        ..Config::default()
    });
    shell.call(check("ann", Some(1), Span::secs(50)));
    let mut lengths = Vec::new();
    for _ in 0..40 {
        shell.now += Span::secs(1);
        if let Some(batch) = shell.node.poll_batch(shell.now) {
            lengths.push(batch.len());
            // The disk is slow, too.
            shell.now += Span::secs(1);
            shell.node.handle_timeout(shell.now);
            shell.node.append_failed(shell.now);
        }
        shell.node.handle_timeout(shell.now);
        shell.drain();
    }
    assert!(lengths.len() > 10, "{lengths:?}");
    assert!(lengths.iter().all(|length| *length <= 4), "{lengths:?}");
}

#[test]
fn an_append_of_unknown_fate_stops_the_node_until_the_journal_says() {
    let mut shell = Shell::with_pair(Config::default());
    let said = shell.call(send("ann", "hi"));
    assert!(shell.node.poll_batch(shell.now).is_some());
    shell.node.append_unknown();
    let refused = shell.call(send("ann", "more"));
    assert_eq!(shell.code(refused), Some("storage_unavailable"));
    assert!(shell.node.poll_batch(shell.now).is_none());
    assert_eq!(shell.outcome(said), None);
    let first = shell.node.hub().position().next();
    shell.node.committed(first, shell.now, shell.now);
    shell.drain();
    assert!(matches!(shell.outcome(said), Some(Ok(_))));
}

#[test]
fn a_repeated_key_is_answered_from_memory_also_after_a_refusal() {
    let mut shell = Shell::with_pair(Config::default());
    let keyed = |text: &str| Call::Command {
        caller: Caller::Handle(secret("ann", 0)),
        key: Some(RequestKey(9)),
        command: Command::SendMessage {
            room: None,
            text: Arc::from(text),
            epoch: None,
        },
    };
    let (first, second) = (shell.call(keyed("hi")), shell.call(keyed("hi")));
    shell.commit();
    assert_eq!(shell.outcome(first), shell.outcome(second));
    assert_eq!(shell.node.hub().counters().recalled, 1);
    let other = shell.call(keyed("other"));
    shell.commit();
    assert_eq!(shell.code(other), Some("request_key_reused"));
}

#[test]
fn a_stop_finishes_what_was_taken_and_answers_who_waits() {
    let mut shell = Shell::with_pair(Config::default());
    let stream = shell.call(Call::OpenStream {
        reader: handle("ann"),
        after: None,
    });
    shell.commit();
    let waiting = shell.call(check("ben", Some(1), Span::secs(20)));
    let said = shell.call(send("ann", "last words"));
    shell.node.shut_down();
    let late = shell.call(send("ann", "too late"));
    assert_eq!(shell.code(late), Some("shutting_down"));
    assert!(!shell.node.finish(shell.now), "something is in flight");
    shell.commit();
    assert!(shell.node.finish(shell.now));
    shell.drain();
    assert!(matches!(shell.outcome(said), Some(Ok(_))));
    assert_eq!(shell.read(waiting), Some((vec!["message.received"], 2)));
    assert!(shell.outputs.contains(&Output::StreamClosed(stream)));
}

#[test]
fn a_journal_replayed_is_the_state_it_came_from() {
    let mut shell = Shell::with_pair(Config::default());
    shell.call(Call::OpenStream {
        reader: handle("ben"),
        after: None,
    });
    shell.call(send("ann", "hi"));
    shell.commit();
    shell.pass(Span::secs(90));
    let mut replayed = Hub::new(Config::default(), 7);
    for (at, entry) in &shell.journal {
        let _ = replayed.handle(*at, entry);
    }
    assert_eq!(replayed.digest(), shell.node.hub().digest());
    assert_eq!(replayed.position(), Position(shell.journal.len() as u64));

    // After an hour of downtime, no participant was evicted.
    let mut node = Node::resume(replayed, Config::default(), Continuity::Whole);
    let back = shell.now + Span::secs(3_600);
    assert!(matches!(
        node.poll_batch(back),
        Some([Entry::Resumed { .. }])
    ));
    let first = node.hub().position().next();
    node.committed(first, back, back);
    let ben = node.hub().user_by_handle(&secret("ben", 0)).unwrap();
    assert_eq!(
        node.hub().presence_of(ben),
        Some(chat_core::Attendance::Reconnecting),
        "the stream is as just closed"
    );
}

#[test]
fn the_next_batch_waits_for_the_one_in_flight() {
    let mut shell = Shell::with_pair(Config::default());
    shell.call(send("ann", "one"));
    assert_eq!(
        shell.node.poll_batch(shell.now).map(<[Entry]>::len),
        Some(1)
    );
    shell.call(send("ann", "two"));
    assert_eq!(shell.node.poll_batch(shell.now), None);
    let first = shell.node.hub().position().next();
    shell.node.committed(first, shell.now, shell.now);
    assert_eq!(
        shell.node.poll_batch(shell.now).map(<[Entry]>::len),
        Some(1)
    );
}

#[test]
fn a_hub_swapped_for_its_restored_snapshot_goes_on_as_it_was() {
    let mut shell = Shell::with_pair(Config::default());
    let before = (shell.node.hub().digest(), shell.node.hub().snapshot());
    assert_eq!(shell.node.swap_for_restored(), before.1.len());
    assert_eq!(shell.node.hub().digest(), before.0);
}

#[test]
fn answers_from_memory_are_counted_and_nothing_else_is() {
    let mut shell = Shell::with_pair(Config::default());
    let keyed = Call::Command {
        caller: Caller::Handle(secret("ann", 0)),
        key: Some(RequestKey(1)),
        command: Command::Typing { room: None },
    };
    for recalled in 0..4 {
        shell.call(keyed.clone());
        shell.commit();
        assert_eq!(shell.node.hub().counters().recalled, recalled);
    }
    shell.node.swap_for_restored();
    assert_eq!(shell.node.hub().counters().recalled, 3);
}

#[test]
fn nothing_is_finished_before_a_stop_or_while_a_batch_is_in_flight() {
    let mut shell = Shell::with_pair(Config::default());
    assert!(!shell.node.finish(shell.now), "nobody asked it to stop");
    shell.call(send("ann", "one"));
    assert!(shell.node.poll_batch(shell.now).is_some());
    shell.node.shut_down();
    assert!(!shell.node.finish(shell.now), "the batch is in flight");
    let first = shell.node.hub().position().next();
    shell.node.committed(first, shell.now, shell.now);
    assert!(shell.node.finish(shell.now));
}

#[test]
fn while_a_batch_is_in_flight_only_waiting_checks_have_a_deadline() {
    let mut shell = Shell::with_pair(Config::default());
    shell.call(send("ann", "one"));
    assert_eq!(shell.node.poll_timeout(), Some(Time(0)), "to be appended");
    assert!(shell.node.poll_batch(shell.now).is_some());
    assert_eq!(shell.node.poll_timeout(), None, "the commit is awaited");
    shell.call(check("ben", Some(1), Span::secs(5)));
    assert_eq!(shell.node.poll_timeout(), Some(Time(5_000_000)));
}

#[test]
fn a_failed_append_ends_a_halt_and_no_stop() {
    let mut shell = Shell::with_pair(Config::default());
    shell.call(send("ann", "one"));
    assert!(shell.node.poll_batch(shell.now).is_some());
    shell.node.append_unknown();
    shell.node.append_failed(shell.now);
    shell.now += Span::secs(1);
    let again = shell.call(send("ann", "one"));
    shell.commit();
    assert!(matches!(shell.outcome(again), Some(Ok(_))));
    shell.call(send("ann", "two"));
    assert!(shell.node.poll_batch(shell.now).is_some());
    shell.node.shut_down();
    shell.node.append_failed(shell.now);
    let late = shell.call(send("ann", "late"));
    assert_eq!(shell.code(late), Some("shutting_down"));
}

#[test]
fn an_append_of_unknown_fate_ends_no_stop() {
    for stopped_first in [true, false] {
        let mut shell = Shell::with_pair(Config::default());
        let said = shell.call(send("ann", "one"));
        assert!(shell.node.poll_batch(shell.now).is_some());
        if stopped_first {
            shell.node.shut_down();
            shell.node.append_unknown();
        } else {
            shell.node.append_unknown();
            shell.node.shut_down();
        }
        let late = shell.call(send("ann", "two"));
        assert_eq!(shell.code(late), Some("shutting_down"));
        assert!(!shell.node.finish(shell.now), "the fate is unknown");
        let first = shell.node.hub().position().next();
        shell.node.committed(first, shell.now, shell.now);
        shell.drain();
        assert!(matches!(shell.outcome(said), Some(Ok(_))));
        let late = shell.call(send("ann", "three"));
        assert_eq!(shell.code(late), Some("shutting_down"));
        assert!(shell.node.finish(shell.now));
    }
}

#[test]
fn a_failed_append_of_unknown_fate_ends_no_stop() {
    let mut shell = Shell::with_pair(Config::default());
    shell.call(send("ann", "one"));
    assert!(shell.node.poll_batch(shell.now).is_some());
    shell.node.shut_down();
    shell.node.append_unknown();
    shell.node.append_failed(shell.now);
    let late = shell.call(send("ann", "two"));
    assert_eq!(shell.code(late), Some("shutting_down"));
    assert!(shell.node.finish(shell.now));
}
