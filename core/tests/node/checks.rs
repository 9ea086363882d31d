//! Checks: answered at once, when events arrive, or when their time is over.

use chat_core::{
    Address, Answer, Call, Config, Implied, NoticeKind, Read, Response, Seq, Span, Ticket, Time,
    UserId,
};

use crate::shell::{Shell, check, login, newcomer, read, reader, send, stream};

const LONG: Span = Span::secs(20);

/// The events that a check of Ben brings.
const MATCHED: &[&str] = &["chatroom.found"];
const SAID: &[&str] = &["message.received"];
const NOTHING: &[&str] = &[];

impl Shell {
    /// Ben's check, answered at once: its events and its cursor.
    fn checked(&mut self, after: Option<u64>) -> (Vec<&'static str>, u64) {
        let ticket = self.call(check("ben", after, Span::ZERO));
        self.read(ticket).expect("it does not wait")
    }

    fn is_read(&self, check: Ticket, events: &[&str], cursor: u64) -> bool {
        let answer = self.read(check);
        answer.is_some_and(|(kinds, end)| kinds == events && end == cursor)
    }

    /// What reads implied, of the entries behind the first `known`.
    fn implied(&self, known: usize) -> Vec<(Time, Implied)> {
        let entries = self.journal[known..].iter();
        let implied = entries.filter_map(|(at, entry)| Some((*at, entry.implied()?.1)));
        implied.collect()
    }
}

#[test]
fn a_check_that_need_not_wait_is_answered_at_once() {
    let mut shell = Shell::pair();
    let finds = shell.call(check("ben", Some(0), LONG));
    assert!(shell.is_read(finds, MATCHED, 1));
    assert_eq!(shell.checked(Some(1)), (vec![], 1));
    // A message that nobody waits for is kept.
    shell.done(send("ann", "hi"));
    assert_eq!(shell.checked(Some(1)), (SAID.to_vec(), 2));
}

#[test]
fn a_waiting_check_is_answered_by_what_comes() {
    let mut shell = Shell::pair();
    let read = shell.call(check("ben", Some(1), LONG));
    assert_eq!(shell.read(read), None);
    shell.done(send("ann", "hi"));
    assert!(shell.is_read(read, SAID, 2));
}

#[test]
fn a_waiting_check_ends_empty_when_its_time_is_up() {
    let mut shell = Shell::pair();
    let read = shell.call(check("ben", Some(1), Span::secs(3)));
    shell.pass(Span(2_999_999));
    assert_eq!(shell.read(read), None);
    assert_eq!(shell.node.poll_timeout(), Some(Time(3_000_000)));
    shell.pass(Span(1));
    assert!(shell.is_read(read, NOTHING, 1));
}

#[test]
fn a_wait_beyond_the_cap_is_the_cap() {
    let mut shell = Shell::pair();
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
    let mut shell = Shell::pair();
    let [first, second] = [(); 2].map(|()| shell.call(check("ben", Some(1), LONG)));
    assert!(shell.is_read(first, NOTHING, 1));
    assert_eq!(shell.read(second), None);
}

#[test]
fn a_bare_check_goes_on_where_the_last_answer_ended() {
    let mut shell = Shell::pair();
    shell.done(send("ann", "one"));
    let ben = UserId(2);
    assert_eq!(shell.node.unread(ben), Some((Seq(0), 2)));
    assert_eq!(shell.checked(None), (vec![MATCHED[0], SAID[0]], 2));
    // At once, although the consequences of the first one are not committed yet.
    assert_eq!(shell.node.unread(ben), Some((Seq(2), 0)));
    assert_eq!(shell.checked(None), (vec![], 2));
    shell.pass(Span::secs(1));
    assert_eq!(shell.checked(None), (vec![], 2));
    let again = shell.checked(Some(0));
    assert_eq!(
        again,
        (vec![MATCHED[0], SAID[0]], 2),
        "not acknowledged yet"
    );
    assert_eq!(shell.node.unread(UserId(3)), None);
}

#[test]
fn a_caller_who_is_gone_loses_nothing() {
    let mut shell = Shell::pair();
    shell.checked(None);
    let gone = shell.call(check("ben", None, LONG));
    shell.node.cancel(gone);
    shell.done(send("ann", "hi"));
    assert_eq!(shell.read(gone), None);
    assert_eq!(shell.checked(None), (SAID.to_vec(), 2));
}

#[test]
fn what_reads_imply_comes_alone_after_a_while() {
    let mut shell = Shell::pair_with(|config| config.queue_timeout = config.idle_timeout);
    let idle = shell.node.hub().config().idle_timeout;
    shell.pass(Span(idle.0 / 2));
    let known = shell.journal.len();
    shell.checked(Some(1));
    assert!(shell.node.poll_batch(shell.now).is_none(), "not at once");
    shell.pass(Span::millis(250));
    // Presence is renewed, too, once more than a quarter of it is over.
    let seen = Implied::Seen { waiting: None };
    let implied = [seen, read_to(1, 1)].map(|implied| (shell.now, implied));
    assert_eq!(shell.implied(known), implied);
    assert_eq!(shell.journal.len(), known + 2);
}

const fn read_to(acknowledged: u64, delivered: u64) -> Implied {
    Implied::Read {
        acknowledged: Seq(acknowledged),
        delivered: Seq(delivered),
    }
}

#[test]
fn a_long_wait_keeps_one_present_and_is_told() {
    let mut shell = Shell::pair_with(|config| {
        (config.idle_timeout, config.unused_timeout) = (Span::secs(20), Span::secs(20));
    });
    let read = shell.call(check("ben", Some(1), Span::secs(50)));
    let long = NoticeKind::Waiting(Span::secs(40));
    let mut is_told = false;
    for _ in 0..9 {
        shell.pass(Span::secs(5));
        let ticket = shell.call(check("ann", None, Span::ZERO));
        let Some(Ok(Response::Read(Answer::Page { notices, .. }))) = shell.outcome(ticket) else {
            panic!("{:?}", shell.outcome(ticket));
        };
        is_told |= notices.iter().any(|(_, notice)| notice.kind == long);
    }
    assert_eq!(shell.read(read), None, "present, and waiting still");
    assert!(is_told);
}

#[test]
fn a_waiter_is_seen_four_times_in_each_idle_timeout() {
    let mut shell = Shell::pair_with(|config| {
        (config.idle_timeout, config.unused_timeout) = (Span::secs(8), Span::secs(8));
    });
    shell.done(check("ben", Some(1), Span::secs(50)));
    let soon = shell.now + Span::millis(250);
    assert_eq!(shell.node.poll_timeout(), Some(soon));
    shell.pass(Span::millis(250));
    assert_eq!(shell.node.poll_timeout(), Some(Time(2_000_000)));
}

#[test]
fn rooms_hear_of_a_waiter_every_ten_seconds_at_most() {
    let mut shell = Shell::pair_with(|config| {
        (config.idle_timeout, config.unused_timeout) = (Span::secs(12), Span::secs(60));
    });
    shell.open("ann", None);
    shell.call(check("ben", Some(1), Span::secs(50)));
    for _ in 0..49 {
        shell.pass(Span::secs(1));
    }
    let told = shell.implied(0).into_iter().filter_map(|(at, implied)| {
        let Implied::Seen { waiting } = implied else {
            return None;
        };
        Some((at, waiting?))
    });
    // The node checks it every three seconds.
    let times = [12, 24, 36, 48].map(|second| (Time(second * 1_000_000), Span::secs(second)));
    assert_eq!(told.collect::<Vec<_>>(), times);
}

#[test]
fn a_stop_answers_a_waiting_check_empty() {
    let mut shell = Shell::pair();
    assert_eq!(shell.node.load().parked, 0);
    let waiting = shell.call(check("ben", Some(1), LONG));
    assert_eq!(shell.node.load().parked, 1);
    shell.node.shut_down();
    assert!(shell.node.finish(shell.now));
    shell.drain();
    assert!(shell.is_read(waiting, NOTHING, 1));
    assert_eq!(shell.node.load().parked, 0);
}

#[test]
fn a_check_behind_the_end_of_the_inbox_is_refused() {
    let mut shell = Shell::pair();
    let at_the_end = shell.call(check("ben", Some(1), Span::ZERO));
    assert_eq!(shell.code(at_the_end), None);
    for wait in [Span::ZERO, LONG] {
        let beyond = shell.call(check("ben", Some(2), wait));
        assert_eq!(shell.code(beyond), Some("invalid_cursor"));
    }
}

#[test]
fn how_far_a_check_came_is_journalled_once() {
    let mut shell = Shell::pair();
    for (after, implied) in [(None, read_to(0, 1)), (Some(1), read_to(1, 1))] {
        let known = shell.journal.len();
        shell.checked(after);
        shell.pass(Span::millis(250));
        let told = shell.implied(known);
        assert!(told.contains(&(shell.now, implied)), "{told:?}");
    }
    // The same place again changes nothing, so nothing is proposed.
    let (known, due) = (shell.journal.len(), shell.node.hub().clone().poll_timeout());
    shell.checked(Some(1));
    assert_eq!(shell.node.poll_timeout(), due);
    shell.pass(Span::secs(1));
    assert_eq!(shell.journal.len(), known);
}

#[test]
fn a_check_by_the_reader_id_leaves_no_trace() {
    let mut shell = Shell::pair();
    let peek = |after| read(reader("ben"), after, LONG);
    let waits = shell.call(check("ben", Some(1), LONG));
    let empty = shell.call(peek(None));
    assert!(shell.is_read(empty, NOTHING, 1));
    assert_eq!(shell.read(waits), None, "the owner's check goes on");
    shell.done(send("ann", "hi"));
    assert!(shell.is_read(waits, SAID, 2));
    shell.call(send("ann", "again"));
    shell.pass(Span::secs(1));
    let entries = shell.journal.len();
    let [all, last] = [Some(3), None].map(|after| shell.call(peek(after)));
    shell.pass(Span::secs(1));
    assert!(shell.is_read(all, NOTHING, 3));
    assert!(shell.is_read(last, SAID, 3));
    assert_eq!(shell.journal.len(), entries, "nothing follows from it");
    assert_eq!(shell.checked(None), (SAID.to_vec(), 3));
    let beyond = shell.call(peek(Some(4)));
    assert_eq!(shell.code(beyond), Some("invalid_cursor"));
    let (reader, read) = (reader("ben"), Read::Mood);
    let mood = shell.call(Call::Read { reader, read });
    assert_eq!(shell.code(mood), Some("unknown_handle"));
}

#[test]
fn the_first_read_by_the_reader_id_is_the_first_use_of_the_handle() {
    for kind in [read(reader("ann"), None, LONG), stream(reader("ann"), None)] {
        let mut shell = Shell::new(Config::default());
        let login = Call::Command {
            caller: newcomer("ann", Address(1)),
            key: None,
            command: login("ann"),
        };
        shell.done(login);
        let known = shell.journal.len();
        shell.call(kind.clone());
        shell.call(kind);
        shell.pass(Span::secs(1));
        let told = shell.implied(known);
        assert!(
            matches!(told[..], [(_, Implied::Seen { waiting: None })]),
            "{told:?}"
        );
        shell.pass(Span::secs(600));
        assert!(shell.node.hub().user_by_name("ann").is_some());
    }
}
