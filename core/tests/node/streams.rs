//! Event streams: opened, read from their own cursor, and closed.

use chat_core::{
    Command, Config, Entry, Implied, Output, Response, Seq, Span, Ticket, Time, UserId,
};

use crate::shell::{Shell, TYPING, command, handle, reader, send, stream};

const NIGHT: Span = Span::secs(8 * 3_600);

impl Shell {
    /// Reads a stream: the kinds of its events, and how many follow.
    fn page(&mut self, stream: Ticket, max: usize) -> (Vec<&'static str>, u64) {
        let page = self.node.read_stream(stream, max).expect("an open stream");
        let kinds = page.events.iter().map(|(_, event)| event.kind());
        (kinds.collect(), page.unread)
    }

    fn cursor(&self, stream: Ticket) -> Option<Seq> {
        self.node.stream_cursor(stream)
    }

    /// The kinds of the entries behind the first `known`.
    fn kinds(&self, known: usize) -> Vec<&'static str> {
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
        self.journal[known..].iter().map(kind).collect()
    }
}

#[test]
fn streams_have_a_cursor_and_are_signalled_once() {
    let mut shell = Shell::pair();
    let stream = shell.open("ben", Some(0));
    assert_eq!(shell.signals(stream), 1);
    shell.call(send("ann", "one"));
    shell.done(send("ann", "two"));
    assert_eq!(shell.signals(stream), 1, "the shell knows already");
    assert_eq!(
        shell.page(stream, 2),
        (vec!["chatroom.found", "message.received"], 1)
    );
    shell.done(send("ann", "three"));
    assert_eq!(shell.signals(stream), 1, "the shell reads on anyway");
    let page = shell.node.read_stream(stream, 9).unwrap();
    assert_eq!(
        (page.first(), page.events.len(), page.unread),
        (Seq(3), 2, 0)
    );
    shell.done(send("ann", "four"));
    assert_eq!(shell.signals(stream), 2, "there is something new");
}

#[test]
fn a_stream_whose_opener_is_gone_is_closed_again() {
    let mut shell = Shell::pair();
    let known = shell.journal.len();
    let stream = shell.call(stream(handle("ben"), None));
    shell.node.cancel(stream);
    shell.commit();
    assert_eq!(shell.node.stream_user(stream), None);
    assert_eq!(shell.kinds(known), ["opened", "closed"]);
}

#[test]
fn a_stream_may_open_where_the_inbox_ends_and_no_further() {
    let mut shell = Shell::pair();
    let at_the_end = shell.open("ben", Some(1));
    let beyond = shell.open("ben", Some(2));
    assert_eq!(shell.outcome(at_the_end), Some(&Ok(Response::Streaming)));
    assert_eq!(shell.code(beyond), Some("invalid_cursor"));
    assert_eq!(shell.signals(at_the_end), 0, "there is nothing to read");
}

#[test]
fn a_stream_shows_what_its_own_opening_causes() {
    let mut shell = Shell::new(Config::default());
    shell.enter("ann");
    shell.enter("ben");
    shell.commit();
    shell.done(command("ann", TYPING));
    // The first use of Ben's handle, which pairs him with Ann.
    let stream = shell.open("ben", None);
    assert_eq!(shell.cursor(stream), Some(Seq(0)));
    assert_eq!(shell.signals(stream), 1);
    assert_eq!(shell.page(stream, 9), (vec!["chatroom.found"], 0));
    let second = shell.open("ben", None);
    assert_eq!(shell.cursor(second), Some(Seq(1)));
}

#[test]
fn a_stream_has_an_owner_and_a_place_behind_what_it_sent() {
    let mut shell = Shell::pair();
    let stream = shell.open("ben", Some(0));
    assert_eq!(shell.node.stream_user(stream), Some(UserId(2)));
    assert_eq!(shell.cursor(stream), Some(Seq(0)));
    shell.page(stream, 9);
    assert_eq!(shell.cursor(stream), Some(Seq(1)));
    shell.node.close_stream(stream);
    assert_eq!(shell.node.stream_user(stream), None);
    assert_eq!(shell.cursor(stream), None);
}

#[test]
fn notices_go_to_the_streams_of_the_others() {
    let mut shell = Shell::pair();
    let [_own, bens, bens_second] = ["ann", "ben", "ben"].map(|name| shell.open(name, None));
    shell.done(command("ann", TYPING));
    let told = shell.outputs.iter().filter_map(|output| match output {
        Output::Notice { stream, .. } => Some(*stream),
        Output::Reply { .. } | Output::StreamReady(_) | Output::StreamClosed(_) => None,
    });
    assert_eq!(told.collect::<Vec<_>>(), [bens, bens_second]);
}

#[test]
fn streams_are_counted_and_close_one_by_one() {
    let mut shell = Shell::pair();
    assert_eq!(shell.node.load().streams, 0);
    let [first, second] = [(); 2].map(|()| shell.open("ben", None));
    assert_eq!(shell.node.load().streams, 2);
    shell.done(send("ann", "one"));
    shell.page(second, 9);
    shell.done(send("ann", "two"));
    let signals = [first, second].map(|stream| shell.signals(stream));
    assert_eq!(signals, [1, 2], "one that is not read hides nothing");
    shell.page(second, 9);
    shell.node.close_stream(first);
    shell.done(send("ann", "three"));
    assert_eq!(shell.node.load().streams, 1);
    assert_eq!(shell.signals(second), 3);
    let closed = shell.journal.len();
    shell.node.close_stream(first);
    shell.commit();
    assert_eq!(shell.journal.len(), closed, "it was closed already");
    // Those of one who unregisters end.
    shell.done(command("ben", Command::Unregister));
    assert!(shell.outputs.contains(&Output::StreamClosed(second)));
    assert_eq!(shell.node.load().streams, 0);
}

#[test]
fn streams_by_the_reader_id_leave_no_trace() {
    let mut shell = Shell::pair_with(|config| config.max_streams = 2);
    let known = shell.journal.len();
    let readers = [(); 2].map(|()| shell.call(stream(reader("ben"), Some(1))));
    let third = shell.call(stream(reader("ben"), Some(1)));
    assert_eq!(shell.code(third), Some("rate_limited"));
    shell.pass(Span::secs(1));
    assert_eq!(
        shell.journal.len(),
        known,
        "nobody is there because of them"
    );
    let owners = [(); 2].map(|()| shell.open("ben", Some(1)));
    for stream in owners.iter().chain(&readers) {
        assert_eq!(shell.outcome(*stream), Some(&Ok(Response::Streaming)));
        assert_eq!(shell.node.stream_user(*stream), Some(UserId(2)));
    }
    shell.done(send("ann", "hi"));
    assert_eq!(shell.page(readers[0], 9), (vec!["message.received"], 0));
    assert_eq!(shell.cursor(readers[0]), Some(Seq(2)));
    shell.node.close_stream(readers[0]);
    shell.commit();
    assert!(!shell.kinds(known).contains(&"closed"));
    shell.node.close_stream(owners[0]);
    shell.commit();
    assert_eq!(shell.kinds(known).last(), Some(&"closed"));
    let again = shell.call(stream(reader("ben"), Some(1)));
    assert_eq!(shell.outcome(again), Some(&Ok(Response::Streaming)));
}

/// The machine slept: the hub was not asked, and the wall clock went on.
#[test]
fn a_step_of_the_clock_keeps_streams_open() {
    let mut shell = Shell::pair();
    let closing = shell.open("ben", Some(0));
    // A stream that is being opened, and one that closes, as the clock steps.
    let opening = shell.call(stream(handle("ann"), Some(0)));
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
    shell.done(send("ben", "good morning"));
    assert_eq!(shell.kinds(known), ["opened", "stepped", "closed", "call"]);
    assert_eq!(shell.outcome(opening), Some(&Ok(Response::Streaming)));
    let (events, _) = shell.page(opening, 9);
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
    let mut shell = Shell::pair();
    let stream = shell.open("ben", None);
    let known = shell.journal.len();
    shell.node.close_stream(stream);
    shell.append();
    shell.now += NIGHT;
    shell.node.clock_stepped();
    shell.fail();
    shell.pass(Span::millis(100));
    assert_eq!(shell.kinds(known), ["stepped", "closed"]);
}
