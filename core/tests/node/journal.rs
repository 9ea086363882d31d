//! Batches and the journal: what leaves the node, and when.

use chat_core::{
    Attendance, Config, Continuity, Entry, Hub, Implied, Node, Output, Position, Span, Time,
};

use crate::shell::{Shell, TYPING, check, handle, keyed, secret, send, stream, text};

#[test]
fn a_failed_append_applies_nothing_and_heals() {
    let mut shell = Shell::pair();
    let digest = shell.node.hub().digest();
    let lost = shell.call(send("ann", "hi"));
    shell.append();
    shell.fail();
    assert_eq!(shell.code(lost), Some("storage_unavailable"));
    assert_eq!(shell.node.hub().digest(), digest);
    // During the pause after a failed append, calls are refused.
    let refused = shell.call(send("ann", "hi"));
    assert_eq!(shell.code(refused), Some("storage_unavailable"));
    shell.pass(Span::millis(100));
    let said = shell.done(send("ann", "hi"));
    assert!(shell.is_sent(said));
}

#[test]
fn what_nobody_can_be_refused_survives_a_failed_append() {
    let mut shell = Shell::pair();
    let stream = shell.open("ben", None);
    shell.node.close_stream(stream);
    shell.append();
    shell.fail();
    assert!(shell.node.poll_batch(shell.now).is_none(), "the disk rests");
    shell.pass(Span::millis(100));
    let (_, last) = shell.journal.last().unwrap();
    assert_eq!(last.implied().unwrap().1, Implied::CloseStream);
}

#[test]
fn what_reads_imply_does_not_grow_while_appends_fail() {
    let mut shell = Shell::pair_with(|config| {
        (config.idle_timeout, config.queue_timeout) = (Span::secs(120), Span::secs(120));
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
            shell.fail();
        }
    }
    assert!(lengths.len() > 10, "{lengths:?}");
    assert!(lengths.iter().all(|length| *length <= 4), "{lengths:?}");
    // The reads are in the journal after all.
    shell.pass(Span::secs(1));
    let last = shell.journal.iter().rev().take(4);
    let implied = last.filter_map(|(_, entry)| entry.implied());
    let seen = implied.filter(|(_, implied)| matches!(implied, Implied::Seen { .. }));
    assert_eq!(seen.count(), 2);
}

#[test]
fn a_waiting_check_implies_no_more_while_appends_fail() {
    let mut shell = Shell::pair_with(|config| config.idle_timeout = Span::secs(2));
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
fn an_append_of_unknown_fate_stops_the_node() {
    let mut shell = Shell::pair();
    let said = shell.call(send("ann", "hi"));
    shell.append();
    shell.node.append_unknown();
    let refused = shell.call(send("ann", "more"));
    assert_eq!(shell.code(refused), Some("storage_unavailable"));
    assert!(shell.node.poll_batch(shell.now).is_none());
    assert_eq!(shell.outcome(said), None);
    shell.land();
    assert!(shell.is_sent(said));
}

#[test]
fn a_stop_finishes_what_was_taken_and_answers_who_waits() {
    let mut shell = Shell::pair();
    assert!(!shell.node.finish(shell.now), "nobody asked it to stop");
    let stream = shell.open("ann", None);
    let waiting = shell.call(check("ben", Some(1), Span::secs(20)));
    let said = shell.call(send("ann", "last words"));
    shell.node.shut_down();
    let late = shell.call(send("ann", "too late"));
    assert_eq!(shell.code(late), Some("shutting_down"));
    assert!(!shell.node.finish(shell.now), "something is to be appended");
    shell.append();
    assert!(!shell.node.finish(shell.now), "the batch is in flight");
    shell.land();
    assert!(shell.node.finish(shell.now));
    shell.drain();
    assert!(shell.is_sent(said));
    assert_eq!(shell.read(waiting), Some((vec!["message.received"], 2)));
    assert!(shell.outputs.contains(&Output::StreamClosed(stream)));
}

#[test]
fn a_journal_replayed_is_the_state_it_came_from() {
    let mut shell = Shell::pair();
    shell.call(stream(handle("ben"), None));
    shell.done(send("ann", "hi"));
    shell.pass(Span::secs(90));
    let mut replayed = Hub::new(Config::default(), 7);
    for (at, entry) in &shell.journal {
        let _ = replayed.handle(*at, entry);
    }
    assert_eq!(replayed.digest(), shell.node.hub().digest());
    assert_eq!(replayed.position(), Position(shell.journal.len() as u64));

    // After an hour of downtime, no participant was evicted.
    shell.node = Node::resume(replayed, Config::default(), Continuity::Whole);
    shell.now += Span::secs(3_600);
    let batch = shell.node.poll_batch(shell.now);
    assert!(matches!(batch, Some([Entry::Resumed { .. }])));
    shell.land();
    let hub = shell.node.hub();
    let ben = hub.user_by_handle(&secret("ben", 0)).unwrap();
    let closed = Some(Attendance::Reconnecting);
    assert_eq!(hub.presence_of(ben), closed, "the stream is as just closed");
}

#[test]
fn the_next_batch_and_all_answers_wait_for_the_one_in_flight() {
    let mut shell = Shell::pair();
    let batch = |shell: &mut Shell| shell.node.poll_batch(shell.now).map(<[Entry]>::len);
    let said = shell.call(send("ann", "one"));
    assert_eq!(batch(&mut shell), Some(1));
    shell.call(send("ann", "two"));
    assert_eq!(batch(&mut shell), None);
    assert_eq!(shell.outcome(said), None);
    assert_eq!(shell.node.load().pending, 2);
    shell.land();
    assert!(shell.is_sent(said));
    assert_eq!(batch(&mut shell), Some(1));
}

#[test]
fn a_hub_swapped_for_its_snapshot_goes_on_as_it_was() {
    let mut shell = Shell::pair();
    let before = (shell.node.hub().digest(), shell.node.hub().snapshot());
    assert_eq!(shell.node.swap_for_restored(), before.1.len());
    assert_eq!(shell.node.hub().digest(), before.0);
}

#[test]
fn answers_from_memory_are_counted_and_nothing_else_is() {
    let mut shell = Shell::pair();
    for recalled in 0..4 {
        shell.done(keyed("ann", 1, TYPING));
        assert_eq!(shell.node.hub().counters().recalled, recalled);
    }
    shell.node.swap_for_restored();
    assert_eq!(shell.node.hub().counters().recalled, 3);
    // So is one whose repetition was in flight with it.
    let [first, second] = [(); 2].map(|()| shell.call(keyed("ann", 9, text("hi"))));
    shell.commit();
    assert!(shell.is_sent(first));
    assert_eq!(shell.outcome(first), shell.outcome(second));
    assert_eq!(shell.node.hub().counters().recalled, 4);
}

#[test]
fn in_flight_only_waiting_checks_have_a_deadline() {
    let mut shell = Shell::pair();
    shell.call(send("ann", "one"));
    assert_eq!(shell.node.poll_timeout(), Some(Time(0)), "to be appended");
    shell.append();
    assert_eq!(shell.node.poll_timeout(), None, "the commit is awaited");
    shell.call(check("ben", Some(1), Span::secs(5)));
    assert_eq!(shell.node.poll_timeout(), Some(Time(5_000_000)));
}

#[test]
fn a_failed_append_ends_a_halt_and_no_stop() {
    let mut shell = Shell::pair();
    shell.call(send("ann", "one"));
    shell.append();
    shell.node.append_unknown();
    shell.fail();
    shell.now += Span::secs(1);
    let again = shell.done(send("ann", "one"));
    assert!(shell.is_sent(again));
    for is_unknown in [false, true] {
        let mut shell = Shell::pair();
        shell.call(send("ann", "two"));
        shell.append();
        shell.node.shut_down();
        if is_unknown {
            shell.node.append_unknown();
        }
        shell.fail();
        let late = shell.call(send("ann", "late"));
        assert_eq!(shell.code(late), Some("shutting_down"));
        assert!(shell.node.finish(shell.now));
    }
}

#[test]
fn an_append_of_unknown_fate_ends_no_stop() {
    for stopped_first in [true, false] {
        let mut shell = Shell::pair();
        let said = shell.call(send("ann", "one"));
        shell.append();
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
        shell.land();
        assert!(shell.is_sent(said));
        let late = shell.call(send("ann", "three"));
        assert_eq!(shell.code(late), Some("shutting_down"));
        assert!(shell.node.finish(shell.now));
    }
}
