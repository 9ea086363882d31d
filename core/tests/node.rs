//! The Node behind a journal that the test plays: what leaves, when, and what never does.

use std::sync::Arc;

use chat_core::config::{Bucket, RateLimit};
use chat_core::{
    Address, Answer, Call, Caller, Command, Config, Entry, Hub, Implied, Node, Operate, Output,
    Position, Read, Reader, Reject, Reply, RequestKey, Response, SecretHash, Seq, Span, Ticket,
    Time,
};

/// A shell with a clock of its own and a journal that commits when told.
struct Shell {
    node: Node,
    now: Time,
    tickets: u64,
    outputs: Vec<Output>,
    journal: Vec<(Time, Entry)>,
}

fn secret(name: &str, kind: u8) -> SecretHash {
    let mut bytes = [kind; 16];
    for (byte, letter) in bytes[1..].iter_mut().zip(name.bytes()) {
        *byte = letter;
    }
    SecretHash(bytes)
}

fn handle(name: &str) -> Reader {
    Reader::Handle(secret(name, 0))
}

fn command(name: &str, command: Command) -> Call {
    Call::Command {
        caller: Caller::Handle(secret(name, 0)),
        key: None,
        command,
    }
}

fn send(name: &str, text: &str) -> Call {
    command(
        name,
        Command::SendMessage {
            room: None,
            text: text.into(),
            epoch: None,
        },
    )
}

fn check(name: &str, after: Option<u64>, wait: Span) -> Call {
    let read = Read::Check {
        after: after.map(Seq),
        wait,
        max: 100,
    };
    Call::Read {
        reader: handle(name),
        read,
    }
}

impl Shell {
    fn new(config: Config) -> Self {
        let node = Node::start(config, 7);
        let (tickets, outputs, journal) = (0, Vec::new(), Vec::new());
        let mut shell = Self {
            node,
            now: Time(0),
            tickets,
            outputs,
            journal,
        };
        shell.commit();
        shell
    }

    /// Ann and Ben, in a pair room of their own.
    fn with_pair(config: Config) -> Self {
        let mut shell = Self::new(config);
        for name in ["ann", "ben"] {
            shell.call(Call::Command {
                caller: Caller::New {
                    handle: secret(name, 0),
                    reader: secret(name, 1),
                },
                key: None,
                command: Command::EnterQueue(chat_core::EnterQueue {
                    display_name: Some(name.into()),
                    ..chat_core::EnterQueue::default()
                }),
            });
        }
        shell.commit();
        shell.outputs.clear();
        shell
    }

    fn call(&mut self, call: Call) -> Ticket {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        self.node.submit(self.now, ticket, Address(1), call);
        self.drain();
        ticket
    }

    fn drain(&mut self) {
        while let Some(output) = self.node.poll_output() {
            self.outputs.push(output);
        }
    }

    /// Appends and commits until there is nothing to append.
    fn commit(&mut self) {
        while let Some(batch) = self.node.poll_batch(self.now) {
            self.journal
                .extend(batch.iter().map(|entry| (self.now, entry.clone())));
            let first = self.node.hub().position().next();
            self.node.committed(first, self.now);
            self.drain();
        }
    }

    fn pass(&mut self, span: Span) {
        self.now += span;
        self.node.handle_timeout(self.now);
        self.drain();
        self.commit();
    }

    fn outcome(&self, wanted: Ticket) -> Option<&Result<Response, Reject>> {
        self.outputs.iter().find_map(|output| {
            let Output::Reply { ticket, outcome } = output else {
                return None;
            };
            (*ticket == wanted).then_some(outcome)
        })
    }

    /// The answer to a check: the kinds of its events and its cursor. None while it waits.
    fn read(&self, ticket: Ticket) -> Option<(Vec<&'static str>, u64)> {
        match self.outcome(ticket)? {
            Ok(Response::Read(Answer::Page { page, .. })) => Some((
                page.events.iter().map(|e| e.kind()).collect(),
                page.cursor.0,
            )),
            other => panic!("a check was answered {other:?}"),
        }
    }

    fn code(&self, ticket: Ticket) -> Option<&'static str> {
        self.outcome(ticket)?.as_ref().err().map(Reject::code)
    }
}

#[test]
fn nothing_leaves_before_its_cause_is_committed() {
    let mut shell = Shell::with_pair(Config::default());
    let said = shell.call(send("ann", "hi"));
    assert!(shell.node.poll_batch(shell.now).is_some());
    shell.drain();
    assert_eq!(shell.outcome(said), None);
    let first = shell.node.hub().position().next();
    shell.node.committed(first, shell.now);
    shell.drain();
    assert!(matches!(
        shell.outcome(said),
        Some(Ok(Response::Done(Reply::Sent { .. })))
    ));
}

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
    // At once, though what the first one implies is not committed yet.
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
    let mut shell = Shell::with_pair(Config::default());
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
    // The first use of a handle is news, too.
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
fn streams_are_read_from_their_own_cursor_and_signalled_once() {
    let mut shell = Shell::with_pair(Config::default());
    let stream = shell.call(Call::OpenStream {
        reader: handle("ben"),
        after: Some(Seq(0)),
    });
    shell.commit();
    assert!(shell.outputs.contains(&Output::StreamReady(stream)));
    shell.call(send("ann", "one"));
    shell.call(send("ann", "two"));
    shell.commit();
    let ready = shell
        .outputs
        .iter()
        .filter(|o| **o == Output::StreamReady(stream))
        .count();
    assert_eq!(ready, 1, "the shell knows already");
    let page = shell.node.read_stream(stream, 2).unwrap();
    assert_eq!((page.events.len(), page.unread), (2, 1));
    let page = shell.node.read_stream(stream, 2).unwrap();
    assert_eq!((page.first, page.events.len(), page.unread), (Seq(3), 1, 0));
    shell.call(send("ann", "three"));
    shell.commit();
    let ready = shell
        .outputs
        .iter()
        .filter(|o| **o == Output::StreamReady(stream))
        .count();
    assert_eq!(ready, 2, "there is something new");
}

#[test]
fn a_stream_whose_opener_is_gone_is_closed_again() {
    let mut shell = Shell::with_pair(Config::default());
    let stream = shell.call(Call::OpenStream {
        reader: handle("ben"),
        after: None,
    });
    shell.node.cancel(stream);
    shell.commit();
    assert_eq!(shell.node.stream_user(stream), None);
    let closed = Implied::CloseStream;
    let is_closed =
        |e: &(Time, Entry)| matches!(e.1, Entry::Implied { implied, .. } if implied == closed);
    assert!(shell.journal.iter().any(is_closed));
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
    // While the disk rests, calls are refused at the door.
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
    shell.node.committed(first, shell.now);
    shell.drain();
    assert!(matches!(shell.outcome(said), Some(Ok(_))));
}

#[test]
fn beyond_the_pending_limit_calls_are_refused_as_overloaded() {
    let mut shell = Shell::with_pair(Config {
        max_pending: 2,
        ..Config::default()
    });
    let calls: Vec<_> = (0..3).map(|_| shell.call(send("ann", "hi"))).collect();
    assert_eq!(calls.map_codes(&shell), [None, None, Some("overloaded")]);
    shell.commit();
    let more = shell.call(send("ann", "hi"));
    assert_eq!(shell.code(more), None);
}

trait Codes {
    fn map_codes(&self, shell: &Shell) -> Vec<Option<&'static str>>;
}

impl Codes for Vec<Ticket> {
    fn map_codes(&self, shell: &Shell) -> Vec<Option<&'static str>> {
        self.iter().map(|ticket| shell.code(*ticket)).collect()
    }
}

#[test]
fn floods_cost_no_journal() {
    let bucket = RateLimit::Bucket(Bucket {
        per_second: 1,
        burst: 2,
    });
    let mut shell = Shell::with_pair(Config {
        rate_limit: bucket,
        ..Config::default()
    });
    shell.now += Span::secs(10);
    let before = shell.journal.len();
    let calls: Vec<_> = (0..100).map(|_| shell.call(send("ann", "hi"))).collect();
    shell.commit();
    let limited = calls
        .map_codes(&shell)
        .iter()
        .filter(|c| **c == Some("rate_limited"))
        .count();
    assert_eq!((limited, shell.journal.len() - before), (98, 2));
    let other = shell.call(send("ben", "hi"));
    shell.commit();
    assert_eq!(shell.code(other), None, "others are not disturbed");
}

#[test]
fn unknown_handles_and_banned_addresses_stop_at_the_door() {
    let mut shell = Shell::with_pair(Config::default());
    let before = shell.journal.len();
    let stranger = shell.call(send("eve", "hi"));
    assert_eq!(shell.code(stranger), Some("unknown_handle"));
    assert!(shell.node.poll_batch(shell.now).is_none());
    assert_eq!(shell.journal.len(), before);
    let act = Operate::BanAddress {
        address: Address(1),
        reason: "spam".into(),
    };
    shell.call(Call::Operate {
        operator: "op".into(),
        act,
    });
    shell.commit();
    let banned = shell.call(send("ann", "hi"));
    assert_eq!(shell.code(banned), Some("blocked"));
    let act = Operate::UnbanAddress {
        address: Address(1),
    };
    shell.call(Call::Operate {
        operator: "op".into(),
        act,
    });
    shell.commit();
    let said = shell.call(send("ann", "hi"));
    shell.commit();
    assert_eq!(
        shell.code(said),
        None,
        "operators pass a ban of their own address"
    );
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
    assert_eq!(shell.node.hub().figures().recalled(), 1);
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

    // After an hour off, nobody was evicted for it.
    let mut node = Node::resume(replayed, Config::default());
    let back = shell.now + Span::secs(3_600);
    assert!(matches!(
        node.poll_batch(back),
        Some([Entry::Resumed { .. }])
    ));
    let first = node.hub().position().next();
    node.committed(first, back);
    let ben = node.hub().user_by_handle(&secret("ben", 0)).unwrap();
    assert_eq!(
        node.hub().presence_of(ben),
        Some(chat_core::PresenceView::Reconnecting),
        "the stream is as just closed"
    );
}

#[test]
fn the_collections_of_a_node_keep_to_their_limits() {
    let mut shell = Shell::with_pair(Config::default());
    shell.call(check("ben", Some(1), Span::secs(20)));
    shell.call(send("ann", "hi"));
    for size in shell.node.sizes() {
        assert!(size.size <= size.limit, "{size:?}");
    }
    let parked = shell
        .node
        .sizes()
        .into_iter()
        .find(|s| s.name == "parked")
        .unwrap();
    assert_eq!(parked.size, 1);
}
