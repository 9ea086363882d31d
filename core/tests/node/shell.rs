//! A test shell: a Node behind a journal that commits on command.

use chat_core::{
    Address, Answer, Call, Caller, Command, Config, Entry, Node, Output, Read, Reader, Reject,
    Response, SecretHash, Seq, Span, Ticket, Time,
};

/// A shell with its own clock and a journal that commits on command.
pub(crate) struct Shell {
    pub(crate) node: Node,
    pub(crate) now: Time,
    pub(crate) tickets: u64,
    pub(crate) outputs: Vec<Output>,
    pub(crate) journal: Vec<(Time, Entry)>,
}

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

pub(crate) fn command(name: &str, command: Command) -> Call {
    Call::Command {
        caller: Caller::Handle(secret(name, 0)),
        key: None,
        command,
    }
}

pub(crate) fn send(name: &str, text: &str) -> Call {
    command(
        name,
        Command::SendMessage {
            room: None,
            text: text.into(),
            epoch: None,
        },
    )
}

pub(crate) fn check(name: &str, after: Option<u64>, wait: Span) -> Call {
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
    pub(crate) fn with_pair(config: Config) -> Self {
        let mut shell = Self::new(config);
        for name in ["ann", "ben"] {
            shell.enter(name);
        }
        shell.commit();
        // Only participants whose handles were used are matched; this call is refused otherwise.
        for name in ["ann", "ben"] {
            shell.call(Call::Command {
                caller: Caller::Handle(secret(name, 0)),
                key: None,
                command: Command::Typing { room: None },
            });
            shell.commit();
        }
        shell.outputs.clear();
        shell
    }

    /// Registers a participant, which enters the queue.
    pub(crate) fn enter(&mut self, name: &str) {
        self.call(Call::Command {
            caller: Caller::New {
                handle: secret(name, 0),
                reader: secret(name, 1),
                from: Address(0),
            },
            key: None,
            command: Command::EnterQueue(chat_core::EnterQueue {
                display_name: Some(name.into()),
                ..chat_core::EnterQueue::default()
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

    pub(crate) fn drain(&mut self) {
        while let Some(output) = self.node.poll_output() {
            self.outputs.push(output);
        }
    }

    /// Appends and commits until there is nothing to append.
    pub(crate) fn commit(&mut self) {
        while let Some(batch) = self.node.poll_batch(self.now) {
            self.journal
                .extend(batch.iter().map(|entry| (self.now, entry.clone())));
            let first = self.node.hub().position().next();
            self.node.committed(first, self.now, self.now);
            self.drain();
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
}
