//! Checks: answered at once, when events arrive, or when their time is over.

use chat_core::{
    Answer, Call, Config, Entry, Implied, Output, Read, Response, Seq, Span, Time, UserId,
};

use crate::shell::{Shell, check, handle, reader, send};

#[test]
fn a_message_that_nobody_waits_for_is_kept() {
    let mut shell = Shell::with_pair(Config::default());
    shell.call(send("ann", "hi"));
    shell.commit();
    let read = shell.call(check("ben", Some(1), Span::ZERO));
    assert_eq!(shell.read(read), Some((vec!["message.received"], 2)));
}

#[test]
fn a_waiting_check_is_answered_by_what_comes() {
    let mut shell = Shell::with_pair(Config::default());
    let read = shell.call(check("ben", Some(1), Span::secs(20)));
    assert_eq!(shell.read(read), None);
    shell.call(send("ann", "hi"));
    shell.commit();
    assert_eq!(shell.read(read), Some((vec!["message.received"], 2)));
}

#[test]
fn a_waiting_check_ends_empty_when_its_time_is_up_and_not_before() {
    let mut shell = Shell::with_pair(Config::default());
    let read = shell.call(check("ben", Some(1), Span::secs(3)));
    shell.pass(Span(2_999_999));
    assert_eq!(shell.read(read), None);
    assert_eq!(shell.node.poll_timeout(), Some(Time(3_000_000)));
    shell.pass(Span(1));
    assert_eq!(shell.read(read), Some((vec![], 1)));
}

#[test]
fn a_wait_beyond_the_cap_is_the_cap() {
    let mut shell = Shell::with_pair(Config::default());
    let read = shell.call(check("ben", Some(1), Span::secs(3_600)));
    for _ in 0..49 {
        shell.pass(Span::secs(1));
    }
    assert_eq!(shell.read(read), None);
    shell.pass(Span::secs(1));
    assert!(shell.read(read).is_some());
}

#[test]
fn a_second_check_ends_the_first_one_empty() {
    let mut shell = Shell::with_pair(Config::default());
    let first = shell.call(check("ben", Some(1), Span::secs(20)));
    let second = shell.call(check("ben", Some(1), Span::secs(20)));
    assert_eq!(shell.read(first), Some((vec![], 1)));
    assert_eq!(shell.read(second), None);
}

#[test]
fn a_bare_check_goes_on_where_the_last_answer_ended() {
    let mut shell = Shell::with_pair(Config::default());
    let first = shell.call(check("ben", None, Span::ZERO));
    // At once, although the consequences of the first one are not committed yet.
    let second = shell.call(check("ben", None, Span::ZERO));
    shell.pass(Span::secs(1));
    let third = shell.call(check("ben", None, Span::ZERO));
    let again = shell.call(check("ben", Some(0), Span::ZERO));
    assert_eq!(shell.read(first), Some((vec!["chatroom.found"], 1)));
    assert_eq!(shell.read(second), Some((vec![], 1)));
    assert_eq!(shell.read(third), Some((vec![], 1)));
    assert_eq!(
        shell.read(again),
        Some((vec!["chatroom.found"], 1)),
        "not acknowledged yet"
    );
}

#[test]
fn a_caller_who_is_gone_is_answered_nothing_and_loses_nothing() {
    let mut shell = Shell::with_pair(Config::default());
    let gone = shell.call(check("ben", None, Span::ZERO));
    assert!(shell.read(gone).is_some());
    let gone = shell.call(check("ben", None, Span::secs(20)));
    shell.node.cancel(gone);
    shell.call(send("ann", "hi"));
    shell.commit();
    assert_eq!(shell.read(gone), None);
    let read = shell.call(check("ben", None, Span::ZERO));
    assert_eq!(shell.read(read), Some((vec!["message.received"], 2)));
}

#[test]
fn what_reads_imply_rides_along_or_comes_alone_after_a_while() {
    let idle = Config::default().idle_timeout;
    let mut shell = Shell::with_pair(Config {
        queue_timeout: idle,
        ..Config::default()
    });
    shell.pass(Span(idle.0 / 2));
    let before = shell.journal.len();
    shell.call(check("ben", Some(1), Span::ZERO));
    assert!(shell.node.poll_batch(shell.now).is_none(), "not at once");
    shell.pass(Span::millis(250));
    let implied: Vec<_> = shell.journal[before..]
        .iter()
        .map(|(_, entry)| {
            let Entry::Implied { implied, .. } = entry else {
                panic!("{entry:?}")
            };
            *implied
        })
        .collect();
    // Presence is renewed, too, once more than a quarter of it is over.
    let read = Implied::Read {
        acknowledged: Seq(1),
        delivered: Seq(1),
    };
    assert_eq!(implied, [Implied::Seen { waiting: None }, read]);
}

#[test]
fn one_who_waits_longer_than_the_idle_timeout_stays_present_and_the_room_hears_of_it() {
    let config = Config {
        idle_timeout: Span::secs(20),
        unused_timeout: Span::secs(20),
        ..Config::default()
    };
    let mut shell = Shell::with_pair(config);
    let read = shell.call(check("ben", Some(1), Span::secs(50)));
    let mut waited = Vec::new();
    for _ in 0..9 {
        shell.pass(Span::secs(5));
        shell.call(check("ann", None, Span::ZERO));
        let notices = shell.outputs.iter().filter_map(|output| {
            let Output::Reply {
                outcome: Ok(Response::Read(answer)),
                ..
            } = output
            else {
                return None;
            };
            let Answer::Page { notices, .. } = answer else {
                return None;
            };
            notices.first().map(|(_, notice)| notice.kind)
        });
        waited = notices.collect();
    }
    assert_eq!(shell.read(read), None, "present, and waiting still");
    let long = chat_core::NoticeKind::Waiting(Span::secs(40));
    assert!(waited.contains(&long), "{waited:?}");
}

#[test]
fn one_who_waits_is_said_to_be_there_four_times_in_each_idle_timeout() {
    let config = Config {
        idle_timeout: Span::secs(8),
        unused_timeout: Span::secs(8),
        ..Config::default()
    };
    let mut shell = Shell::with_pair(config);
    shell.call(check("ben", Some(1), Span::secs(50)));
    shell.commit();
    assert_eq!(
        shell.node.poll_timeout(),
        Some(shell.now + Span::millis(250))
    );
    shell.pass(Span::millis(250));
    assert_eq!(shell.node.poll_timeout(), Some(Time(2_000_000)));
}

#[test]
fn the_rooms_of_one_who_waits_hear_of_it_every_ten_seconds_at_most() {
    let config = Config {
        idle_timeout: Span::secs(12),
        unused_timeout: Span::secs(60),
        ..Config::default()
    };
    let mut shell = Shell::with_pair(config);
    shell.call(Call::OpenStream {
        reader: handle("ann"),
        after: None,
    });
    shell.commit();
    shell.call(check("ben", Some(1), Span::secs(50)));
    for _ in 0..49 {
        shell.pass(Span::secs(1));
    }
    let told: Vec<(Time, Span)> = shell
        .journal
        .iter()
        .filter_map(|(at, entry)| match entry {
            Entry::Implied {
                implied: Implied::Seen { waiting },
                ..
            } => Some((*at, (*waiting)?)),
            Entry::Implied { .. }
            | Entry::Call { .. }
            | Entry::Operate { .. }
            | Entry::Tick
            | Entry::Started { .. }
            | Entry::Resumed { .. }
            | Entry::Stepped => None,
        })
        .collect();
    // The node checks it every three seconds.
    let times = [12, 24, 36, 48].map(|second| (Time(second * 1_000_000), Span::secs(second)));
    assert_eq!(told, times);
}

#[test]
fn a_check_that_finds_something_or_may_not_wait_is_answered_at_once() {
    let mut shell = Shell::with_pair(Config::default());
    let finds = shell.call(check("ben", Some(0), Span::secs(20)));
    assert_eq!(shell.read(finds), Some((vec!["chatroom.found"], 1)));
    let hurries = shell.call(check("ben", Some(1), Span::ZERO));
    assert_eq!(shell.read(hurries), Some((vec![], 1)));
}

#[test]
fn a_check_that_acknowledges_nothing_new_costs_the_journal_nothing() {
    let mut shell = Shell::with_pair(Config::default());
    shell.call(check("ben", Some(1), Span::ZERO));
    shell.pass(Span::secs(1));
    let before = shell.journal.len();
    shell.call(check("ben", Some(1), Span::ZERO));
    shell.pass(Span::secs(1));
    assert_eq!(shell.journal.len(), before);
}

#[test]
fn a_stop_answers_a_waiting_check_empty() {
    let mut shell = Shell::with_pair(Config::default());
    assert_eq!(shell.node.load().parked, 0);
    let waiting = shell.call(check("ben", Some(1), Span::secs(20)));
    assert_eq!(shell.node.load().parked, 1);
    shell.node.shut_down();
    assert!(shell.node.finish(shell.now));
    shell.drain();
    assert_eq!(shell.read(waiting), Some((vec![], 1)));
    assert_eq!(shell.node.load().parked, 0);
}

#[test]
fn a_check_behind_the_end_of_the_inbox_is_refused() {
    let mut shell = Shell::with_pair(Config::default());
    let at_the_end = shell.call(check("ben", Some(1), Span::ZERO));
    assert_eq!(shell.code(at_the_end), None);
    for wait in [Span::ZERO, Span::secs(20)] {
        let beyond = shell.call(check("ben", Some(2), wait));
        assert_eq!(shell.code(beyond), Some("invalid_cursor"));
    }
}

#[test]
fn unread_is_what_a_bare_check_would_bring() {
    let mut shell = Shell::with_pair(Config::default());
    let ben = UserId(2);
    shell.call(send("ann", "one"));
    shell.commit();
    assert_eq!(shell.node.unread(ben), Some((Seq(0), 2)));
    shell.call(check("ben", None, Span::ZERO));
    assert_eq!(shell.node.unread(ben), Some((Seq(2), 0)));
    assert_eq!(shell.node.unread(UserId(3)), None);
}

#[test]
fn how_far_a_bare_check_came_is_journalled() {
    let mut shell = Shell::with_pair(Config::default());
    shell.call(check("ben", None, Span::ZERO));
    shell.pass(Span::millis(250));
    let read = Implied::Read {
        acknowledged: Seq(0),
        delivered: Seq(1),
    };
    let is_read =
        |entry: &Entry| matches!(entry, Entry::Implied { implied, .. } if *implied == read);
    assert!(shell.journal.iter().any(|(_, entry)| is_read(entry)));
    // The same place again changes nothing, so nothing is proposed.
    shell.call(check("ben", Some(1), Span::ZERO));
    shell.pass(Span::millis(250));
    let (told, due) = (shell.journal.len(), shell.node.hub().clone().poll_timeout());
    shell.call(check("ben", Some(1), Span::ZERO));
    assert_eq!(shell.node.poll_timeout(), due);
    shell.pass(Span::millis(250));
    assert_eq!(shell.journal.len(), told);
}

/// A check by reader id.
fn peek(name: &str, after: Option<u64>) -> Call {
    Call::Read {
        reader: reader(name),
        read: Read::Check {
            after: after.map(Seq),
            wait: Span::secs(20),
            max: 100,
        },
    }
}

#[test]
fn a_check_by_the_reader_id_is_answered_at_once_and_as_if_nobody_had_asked() {
    let mut shell = Shell::with_pair(Config::default());
    let waits = shell.call(check("ben", Some(1), Span::secs(20)));
    let empty = shell.call(peek("ben", None));
    assert_eq!(shell.read(empty), Some((vec![], 1)));
    assert_eq!(shell.read(waits), None, "the owner's check goes on");
    shell.call(send("ann", "hi"));
    shell.commit();
    assert_eq!(shell.read(waits), Some((vec!["message.received"], 2)));
    shell.call(send("ann", "again"));
    shell.pass(Span::secs(1));
    let entries = shell.journal.len();
    let (all, last) = (
        shell.call(peek("ben", Some(3))),
        shell.call(peek("ben", None)),
    );
    shell.pass(Span::secs(1));
    assert_eq!(shell.read(all), Some((vec![], 3)));
    assert_eq!(shell.read(last), Some((vec!["message.received"], 3)));
    assert_eq!(shell.journal.len(), entries, "nothing follows from it");
    let owner = shell.call(check("ben", None, Span::ZERO));
    assert_eq!(shell.read(owner), Some((vec!["message.received"], 3)));
    let beyond = shell.call(peek("ben", Some(4)));
    assert_eq!(shell.code(beyond), Some("invalid_cursor"));
    let history = shell.call(Call::Read {
        reader: reader("ben"),
        read: Read::Mood,
    });
    assert_eq!(shell.code(history), Some("unknown_handle"));
}
