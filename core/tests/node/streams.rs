//! Event streams: opened, read from their own cursor, and closed.

use chat_core::{Call, Command, Config, Entry, Implied, Output, Response, Seq, Span, Time, UserId};

use crate::shell::{Shell, command, handle, reader, send};

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
    assert_eq!(
        (page.first(), page.events.len(), page.unread),
        (Seq(3), 1, 0)
    );
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
fn a_stream_may_open_where_the_inbox_ends_and_no_further() {
    let mut shell = Shell::with_pair(Config::default());
    let open = |after| Call::OpenStream {
        reader: handle("ben"),
        after: Some(Seq(after)),
    };
    let at_the_end = shell.call(open(1));
    let beyond = shell.call(open(2));
    shell.commit();
    assert_eq!(shell.outcome(at_the_end), Some(&Ok(Response::Streaming)));
    assert_eq!(shell.code(beyond), Some("invalid_cursor"));
    let ready = Output::StreamReady(at_the_end);
    assert!(!shell.outputs.contains(&ready), "there is nothing to read");
}

#[test]
fn a_stream_without_a_cursor_shows_what_its_own_opening_causes() {
    let mut shell = Shell::new(Config::default());
    shell.enter("ann");
    shell.enter("ben");
    shell.commit();
    shell.call(command("ann", Command::Typing { room: None }));
    shell.commit();
    // The first use of Ben's handle, which pairs him with Ann.
    let stream = shell.call(Call::OpenStream {
        reader: handle("ben"),
        after: None,
    });
    shell.commit();
    assert_eq!(shell.node.stream_cursor(stream), Some(Seq(0)));
    assert!(shell.outputs.contains(&Output::StreamReady(stream)));
    let page = shell.node.read_stream(stream, 9).unwrap();
    let kinds: Vec<_> = page.events.iter().map(|(_, event)| event.kind()).collect();
    assert_eq!(kinds, ["chatroom.found"]);
    let second = shell.call(Call::OpenStream {
        reader: handle("ben"),
        after: None,
    });
    shell.commit();
    assert_eq!(shell.node.stream_cursor(second), Some(Seq(1)));
}

#[test]
fn a_stream_that_is_not_read_to_its_end_is_not_signalled_again() {
    let mut shell = Shell::with_pair(Config::default());
    let stream = shell.call(Call::OpenStream {
        reader: handle("ben"),
        after: Some(Seq(0)),
    });
    shell.commit();
    shell.call(send("ann", "one"));
    shell.commit();
    let left = |page: Option<chat_core::Page>| page.map(|page| page.unread);
    assert_eq!(left(shell.node.read_stream(stream, 1)), Some(1));
    shell.outputs.clear();
    shell.call(send("ann", "two"));
    shell.commit();
    let ready = Output::StreamReady(stream);
    assert!(!shell.outputs.contains(&ready), "the shell reads on anyway");
    assert_eq!(left(shell.node.read_stream(stream, 9)), Some(0));
    shell.call(send("ann", "three"));
    shell.commit();
    assert!(shell.outputs.contains(&ready));
}

#[test]
fn a_stream_has_an_owner_and_a_place_behind_what_it_sent() {
    let mut shell = Shell::with_pair(Config::default());
    let stream = shell.call(Call::OpenStream {
        reader: handle("ben"),
        after: Some(Seq(0)),
    });
    shell.commit();
    assert_eq!(shell.node.stream_user(stream), Some(UserId(2)));
    assert_eq!(shell.node.stream_cursor(stream), Some(Seq(0)));
    assert!(shell.node.read_stream(stream, 9).is_some());
    assert_eq!(shell.node.stream_cursor(stream), Some(Seq(1)));
    shell.node.close_stream(stream);
    assert_eq!(shell.node.stream_user(stream), None);
    assert_eq!(shell.node.stream_cursor(stream), None);
}

#[test]
fn what_is_said_in_passing_goes_to_the_streams_of_the_others() {
    let mut shell = Shell::with_pair(Config::default());
    let open = |name| Call::OpenStream {
        reader: handle(name),
        after: None,
    };
    let [_own, bens, bens_second] = ["ann", "ben", "ben"].map(|name| shell.call(open(name)));
    shell.commit();
    shell.call(command("ann", Command::Typing { room: None }));
    shell.commit();
    let told = shell.outputs.iter().filter_map(|output| match output {
        Output::Notice { stream, .. } => Some(*stream),
        Output::Reply { .. } | Output::StreamReady(_) | Output::StreamClosed(_) => None,
    });
    assert_eq!(told.collect::<Vec<_>>(), [bens, bens_second]);
}

#[test]
fn streams_are_counted_and_one_that_closes_leaves_the_others() {
    let mut shell = Shell::with_pair(Config::default());
    let open = || Call::OpenStream {
        reader: handle("ben"),
        after: None,
    };
    assert_eq!(shell.node.load().streams, 0);
    let [first, second] = [(); 2].map(|()| shell.call(open()));
    shell.commit();
    assert_eq!(shell.node.load().streams, 2);
    shell.node.close_stream(first);
    shell.call(send("ann", "one"));
    shell.commit();
    assert_eq!(shell.node.load().streams, 1);
    assert!(shell.outputs.contains(&Output::StreamReady(second)));
    let closed = shell.journal.len();
    shell.node.close_stream(first);
    shell.commit();
    assert_eq!(shell.journal.len(), closed, "it was closed already");
}

#[test]
fn the_streams_of_one_who_unregisters_end() {
    let mut shell = Shell::with_pair(Config::default());
    let stream = shell.call(Call::OpenStream {
        reader: handle("ben"),
        after: None,
    });
    shell.commit();
    shell.call(command("ben", Command::Unregister));
    shell.commit();
    assert!(shell.outputs.contains(&Output::StreamClosed(stream)));
    assert_eq!(shell.node.load().streams, 0);
}

#[test]
fn streams_by_the_reader_id_have_places_of_their_own_and_leave_no_trace() {
    let mut shell = Shell::with_pair(Config {
        max_streams: 2,
        ..Config::default()
    });
    let open = |reader| Call::OpenStream {
        reader,
        after: Some(Seq(1)),
    };
    let entries = shell.journal.len();
    let readers = [
        shell.call(open(reader("ben"))),
        shell.call(open(reader("ben"))),
    ];
    let third = shell.call(open(reader("ben")));
    assert_eq!(shell.code(third), Some("rate_limited"));
    shell.pass(chat_core::Span::secs(1));
    assert_eq!(
        shell.journal.len(),
        entries,
        "nobody is there because of them"
    );
    let owners = [
        shell.call(open(handle("ben"))),
        shell.call(open(handle("ben"))),
    ];
    shell.commit();
    for stream in owners.iter().chain(&readers) {
        assert_eq!(shell.outcome(*stream), Some(&Ok(Response::Streaming)));
        assert_eq!(shell.node.stream_user(*stream), Some(UserId(2)));
    }
    shell.call(send("ann", "hi"));
    shell.commit();
    let page = shell.node.read_stream(readers[0], 9).unwrap();
    assert_eq!((page.events.len(), page.cursor), (1, Seq(2)));
    let closes = |shell: &Shell| {
        let closed = Implied::CloseStream;
        let is_closed =
            |e: &&(Time, Entry)| matches!(e.1, Entry::Implied { implied, .. } if implied == closed);
        shell.journal.iter().filter(is_closed).count()
    };
    shell.node.close_stream(readers[0]);
    shell.commit();
    assert_eq!(closes(&shell), 0);
    shell.node.close_stream(owners[0]);
    shell.commit();
    assert_eq!(closes(&shell), 1);
    let again = shell.call(open(reader("ben")));
    assert_eq!(shell.outcome(again), Some(&Ok(Response::Streaming)));
}

/// The kinds of the entries behind the first `known`.
fn kinds(shell: &Shell, known: usize) -> Vec<&'static str> {
    let kind = |(_, entry): &(Time, Entry)| match entry {
        Entry::Stepped => "stepped",
        Entry::Implied { implied, .. } => match implied {
            Implied::OpenStream => "opened",
            Implied::CloseStream => "closed",
            Implied::Seen { .. } | Implied::Read { .. } => "read",
        },
        Entry::Call { .. } => "call",
        Entry::Operate { .. } | Entry::Tick => "another",
        Entry::Started { .. } | Entry::Resumed { .. } => "begun",
    };
    shell.journal[known..].iter().map(kind).collect()
}

/// The machine slept: the hub was not asked, and the wall clock went on.
#[test]
fn a_step_of_the_clock_moves_deadlines_and_keeps_streams_open() {
    const NIGHT: Span = Span::secs(8 * 3_600);
    let mut shell = Shell::with_pair(Config::default());
    let open = |name| Call::OpenStream {
        reader: handle(name),
        after: Some(Seq(0)),
    };
    let closing = shell.call(open("ben"));
    shell.commit();
    // A stream that is being opened, and one that closes, as the clock steps.
    let opening = shell.call(open("ann"));
    let known = shell.journal.len();
    let batch = shell.node.poll_batch(shell.now).unwrap().to_vec();
    let began = shell.now;
    shell
        .journal
        .extend(batch.into_iter().map(|entry| (began, entry)));
    shell.node.close_stream(closing);
    shell.now += NIGHT;
    shell.node.clock_stepped();
    // A second step before the first is in the journal adds nothing.
    shell.node.clock_stepped();
    let first = shell.node.hub().position().next();
    shell.node.committed(first, began, shell.now);
    shell.drain();
    shell.call(send("ben", "good morning"));
    shell.commit();
    assert_eq!(
        kinds(&shell, known),
        ["opened", "stepped", "closed", "call"]
    );
    assert_eq!(shell.outcome(opening), Some(&Ok(Response::Streaming)));
    let page = shell.node.read_stream(opening, 9).unwrap();
    let events: Vec<_> = page.events.iter().map(|(_, event)| event.kind()).collect();
    assert!(
        events.ends_with(&["partner.away", "partner.reconnected", "message.received"]),
        "the pair is still one: {events:?}"
    );
    let hub = shell.node.hub();
    assert!(hub.deadlines().iter().all(|(at, ..)| *at > shell.now));
    let of = |user| hub.participant_view(user).unwrap().streams;
    assert_eq!([of(UserId(1)), of(UserId(2))], [1, 0]);
}

#[test]
fn a_step_of_the_clock_precedes_what_a_failed_batch_leaves() {
    let mut shell = Shell::with_pair(Config::default());
    let stream = shell.call(Call::OpenStream {
        reader: handle("ben"),
        after: None,
    });
    shell.commit();
    let known = shell.journal.len();
    shell.node.close_stream(stream);
    assert!(shell.node.poll_batch(shell.now).is_some());
    shell.now += Span::secs(8 * 3_600);
    shell.node.clock_stepped();
    shell.node.append_failed(shell.now);
    shell.drain();
    shell.pass(Span::millis(100));
    assert_eq!(kinds(&shell, known), ["stepped", "closed"]);
}
