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

/// The machine slept: the hub was not asked, and the wall clock went on.
#[test]
fn a_step_of_the_clock_moves_deadlines_and_keeps_streams_open() {
    let mut shell = Shell::with_pair(Config::default());
    let open = |name| Call::OpenStream {
        reader: handle(name),
        after: Some(Seq(0)),
    };
    let (kept, closing) = (shell.call(open("ann")), shell.call(open("ben")));
    shell.commit();
    let before = shell.node.hub().deadlines();
    let began = shell.now;
    // This one closes with the step.
    shell.node.close_stream(closing);
    shell.now += Span::secs(8 * 3_600);
    shell.node.clock_stepped();
    shell.call(send("ann", "good morning"));
    shell.commit();
    let entries = shell.journal.iter().filter(|(at, _)| *at > began);
    let kinds: Vec<_> = entries
        .map(|(_, entry)| match entry {
            Entry::Resumed { .. } => "resumed",
            Entry::Implied {
                implied: Implied::OpenStream,
                ..
            } => "opened",
            Entry::Call { .. } => "call",
            Entry::Implied { .. } | Entry::Operate { .. } | Entry::Tick | Entry::Started { .. } => {
                "another"
            }
        })
        .collect();
    assert_eq!(kinds, ["resumed", "opened", "call"]);
    assert!(shell.node.read_stream(kept, 9).is_some());
    let events = shell
        .node
        .hub()
        .read_inbox(UserId(2), Seq(0), 9)
        .unwrap()
        .events;
    let kinds: Vec<_> = events.iter().map(|(_, event)| event.kind()).collect();
    assert!(
        kinds.contains(&"message.received"),
        "the pair is still one: {kinds:?}"
    );
    let due: Vec<_> = shell.node.hub().deadlines();
    assert!(
        due.iter().all(|(at, ..)| *at > shell.now),
        "{before:?} {due:?}"
    );
    // A second step before the first is in the journal adds nothing.
    shell.node.clock_stepped();
    shell.node.clock_stepped();
    shell.commit();
    let resumed = |(_, entry): &&(Time, Entry)| matches!(entry, Entry::Resumed { .. });
    assert_eq!(shell.journal.iter().filter(resumed).count(), 2);
}
