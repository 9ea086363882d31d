//! A test shell: a Node behind a journal that commits on command.

use chat_core::config::RateLimit;
use chat_core::{
    Address, Addressees, Answer, Call, Caller, Command, Config, EnterQueue, Entry, Node, Output,
    Read, Reader, Reject, Reply, RequestKey, Response, SecretHash, Seq, Span, Ticket, Time,
};

/// A shell with its own clock and a journal that commits on command.
pub(crate) struct Shell {
    pub(crate) node: Node,
    pub(crate) now: Time,
    pub(crate) tickets: u64,
    pub(crate) outputs: Vec<Output>,
    pub(crate) journal: Vec<(Time, Entry)>,
}

pub(crate) const TYPING: Command = Command::Typing { room: None };

pub(crate) fn secret(name: &str, kind: u8) -> SecretHash {
    let mut bytes = [kind; 16];
    for (byte, letter) in bytes[1..].iter_mut().zip(name.bytes()) {
        *byte = letter;
    }
    SecretHash(bytes)
}

pub(crate) fn handle(name: &str) -> Reader {
    Reader::Handle(secret(name, 0))
}

pub(crate) fn reader(name: &str) -> Reader {
    Reader::ReaderId(secret(name, 1))
}

/// One who registers from this address.
pub(crate) fn newcomer(name: &str, from: Address) -> Caller {
    Caller::New {
        handle: secret(name, 0),
        reader: secret(name, 1),
        from,
    }
}

pub(crate) fn login(name: &str) -> Command {
    Command::Login {
        username: name.into(),
        room: "lobby".into(),
    }
}

pub(crate) fn text(text: &str) -> Command {
    Command::SendMessage {
        room: None,
        text: text.into(),
        epoch: None,
        to: Addressees::ALL,
    }
}

pub(crate) fn command(name: &str, command: Command) -> Call {
    Call::Command {
        caller: Caller::Handle(secret(name, 0)),
        key: None,
        command,
    }
}

pub(crate) fn keyed(name: &str, key: u128, command: Command) -> Call {
    Call::Command {
        caller: Caller::Handle(secret(name, 0)),
        key: Some(RequestKey(key)),
        command,
    }
}

pub(crate) fn send(name: &str, words: &str) -> Call {
    command(name, text(words))
}

pub(crate) fn check(name: &str, after: Option<u64>, wait: Span) -> Call {
    read(handle(name), after, wait)
}

pub(crate) fn read(reader: Reader, after: Option<u64>, wait: Span) -> Call {
    let read = Read::Check {
        after: after.map(Seq),
        wait,
        max: 100,
    };
    Call::Read { reader, read }
}

pub(crate) fn stream(reader: Reader, after: Option<u64>) -> Call {
    let after = after.map(Seq);
    Call::OpenStream { reader, after }
}

pub(crate) const fn rate(per_second: u32, burst: u32) -> RateLimit {
    RateLimit::rate(per_second, burst)
}

/// The default configuration with this change.
pub(crate) fn config(change: impl FnOnce(&mut Config)) -> Config {
    let mut config = Config::default();
    change(&mut config);
    config
}

impl Shell {
    pub(crate) fn new(config: Config) -> Self {
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
    pub(crate) fn pair() -> Self {
        Self::pair_with(|_| ())
    }

    /// The pair, under the default configuration with this change.
    pub(crate) fn pair_with(change: impl FnOnce(&mut Config)) -> Self {
        let mut shell = Self::new(config(change));
        for name in ["ann", "ben"] {
            shell.enter(name);
        }
        shell.commit();
        // Only participants whose handles were used are matched; this call is refused otherwise.
        for name in ["ann", "ben"] {
            shell.done(command(name, TYPING));
        }
        shell.outputs.clear();
        shell
    }

    /// Registers a participant, which enters the queue.
    pub(crate) fn enter(&mut self, name: &str) {
        self.call(Call::Command {
            caller: newcomer(name, Address(0)),
            key: None,
            command: Command::EnterQueue(EnterQueue {
                display_name: Some(name.into()),
                ..EnterQueue::default()
            }),
        });
    }

    pub(crate) fn call(&mut self, call: Call) -> Ticket {
        self.call_from(Address(1), call)
    }

    pub(crate) fn call_from(&mut self, from: Address, call: Call) -> Ticket {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        self.node.submit(self.now, ticket, from, call);
        self.drain();
        ticket
    }

    /// Makes a call, and commits it.
    pub(crate) fn done(&mut self, call: Call) -> Ticket {
        let ticket = self.call(call);
        self.commit();
        ticket
    }

    /// Opens a stream.
    pub(crate) fn open(&mut self, name: &str, after: Option<u64>) -> Ticket {
        self.done(stream(handle(name), after))
    }

    pub(crate) fn drain(&mut self) {
        while let Some(output) = self.node.poll_output() {
            self.outputs.push(output);
        }
    }

    /// Begins to append a batch.
    pub(crate) fn append(&mut self) {
        assert!(self.node.poll_batch(self.now).is_some());
    }

    /// The batch in flight is in the journal.
    pub(crate) fn land(&mut self) {
        let first = self.node.hub().position().next();
        self.node.committed(first, self.now, self.now);
        self.drain();
    }

    /// The batch in flight is not in the journal.
    pub(crate) fn fail(&mut self) {
        self.node.append_failed(self.now);
        self.drain();
    }

    /// Appends and commits until there is nothing to append.
    pub(crate) fn commit(&mut self) {
        while let Some(batch) = self.node.poll_batch(self.now) {
            self.journal
                .extend(batch.iter().map(|entry| (self.now, entry.clone())));
            self.land();
        }
    }

    pub(crate) fn pass(&mut self, span: Span) {
        self.now += span;
        self.node.handle_timeout(self.now);
        self.drain();
        self.commit();
    }

    pub(crate) fn outcome(&self, wanted: Ticket) -> Option<&Result<Response, Reject>> {
        self.outputs.iter().find_map(|output| {
            let Output::Reply { ticket, outcome } = output else {
                return None;
            };
            (*ticket == wanted).then_some(outcome)
        })
    }

    /// The answer to a check: the kinds of its events and its cursor. None while it waits.
    pub(crate) fn read(&self, ticket: Ticket) -> Option<(Vec<&'static str>, u64)> {
        match self.outcome(ticket)? {
            Ok(Response::Read(Answer::Page { page, .. })) => Some((
                page.events.iter().map(|(_, e)| e.kind()).collect(),
                page.cursor.0,
            )),
            other => panic!("a check was answered {other:?}"),
        }
    }

    pub(crate) fn code(&self, ticket: Ticket) -> Option<&'static str> {
        self.outcome(ticket)?.as_ref().err().map(Reject::code)
    }

    pub(crate) fn is_sent(&self, ticket: Ticket) -> bool {
        let outcome = self.outcome(ticket);
        matches!(outcome, Some(Ok(Response::Done(Reply::Sent { .. }))))
    }

    /// How often the shell was told that this stream has something to read.
    pub(crate) fn signals(&self, stream: Ticket) -> usize {
        let ready = Output::StreamReady(stream);
        self.outputs
            .iter()
            .filter(|output| **output == ready)
            .count()
    }

    /// The number of entries in one of the collections, and its limit.
    pub(crate) fn size(&self, name: &str) -> (u64, u64) {
        let mut sizes = self.node.sizes().into_iter();
        let size = sizes.find(|size| size.name == name).expect("a collection");
        (size.size, size.limit)
    }
}
