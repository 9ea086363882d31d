//! Clients: each has one call at a time, and repeats it elsewhere until it knows the outcome.

use std::sync::Arc;

use chat_cluster::{Member, Now, Output, Reads};
use chat_core::{
    Address, Answer, Body, Call, Caller, Command, Earlier, Event, Read, Reader, Reject, RequestKey,
    Response, SecretHash, Ticket,
};
use chat_types::{Span, Time};
use sim_judge::cluster::{ClusterFact, text_of, write_of};
use sim_model::draw::{Actor, Draw};

use crate::site::MEMBERS;

/// The number of clients.
pub(crate) const CLIENTS: usize = 4;

/// What a client wants to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Intent {
    Register,
    Write { write: u64, keyed: bool },
    Read { read: u64 },
}

/// One client.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    number: u64,
    /// A strict read goes to any member, also to one that was the owner.
    reads: Reads,
    draw: Draw,
    intent: Option<Intent>,
    /// The call that it waits for.
    ticket: Option<Ticket>,
    registered: bool,
    /// Whether an attempt of the intent may still be on its way.
    doubtful: bool,
    /// The member that it believes to be the owner.
    at: usize,
    /// When its last write was accepted.
    pub(crate) served: Time,
}

/// The answer to a call, as its client receives it.
#[derive(Clone, Debug)]
pub(crate) enum Received {
    Node(Result<Response, Reject>),
    Moved {
        owner: Option<usize>,
        earlier: Earlier,
    },
}

/// What a client does next.
#[derive(Clone, Debug)]
pub(crate) struct Next {
    /// It acts again after this span.
    pub(crate) after: Span,
    /// The facts that it establishes.
    pub(crate) facts: Vec<ClusterFact>,
}

/// Numbers for calls, writes and reads.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Numbers {
    next: u64,
}

impl Numbers {
    fn next(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}

impl Client {
    pub(crate) fn new(seed: u64, number: u32, reads: Reads) -> Self {
        let mut draw = Draw::new(seed, Actor::User(number));
        let at = usize::try_from(draw.below(MEMBERS as u64)).unwrap_or_default();
        Self {
            number: u64::from(number) + 1,
            reads,
            draw,
            intent: None,
            ticket: None,
            registered: false,
            doubtful: false,
            at,
            served: Time(0),
        }
    }

    fn handle(&self) -> SecretHash {
        SecretHash([u8::try_from(self.number).unwrap_or_default(); 16])
    }

    /// Whether the client still waits for this call.
    pub(crate) fn waits_for(&self, ticket: Ticket) -> bool {
        self.ticket == Some(ticket)
    }

    /// Makes a call: the member, its ticket, the call, and how long the client waits for it.
    pub(crate) fn act(
        &mut self,
        numbers: &mut Numbers,
    ) -> (usize, Ticket, Call, Span, Option<ClusterFact>) {
        let intent = match self.intent {
            Some(intent) => intent,
            None if !self.registered => Intent::Register,
            None => match self.draw.below(8) {
                0 | 1 => Intent::Read {
                    read: numbers.next(),
                },
                2 => Intent::Write {
                    write: numbers.next(),
                    keyed: false,
                },
                _ => Intent::Write {
                    write: numbers.next(),
                    keyed: true,
                },
            },
        };
        if self.intent.replace(intent).is_none() {
            self.doubtful = false;
        }
        if self.reads == Reads::Strict && matches!(intent, Intent::Read { .. }) {
            self.at = usize::try_from(self.draw.below(MEMBERS as u64)).unwrap_or_default();
        }
        let ticket = Ticket(numbers.next());
        self.ticket = Some(ticket);
        let patience = Span::millis(1_000 + self.draw.below(3_000));
        let began = match intent {
            Intent::Read { read } => Some(ClusterFact::ReadBegan(read)),
            Intent::Register | Intent::Write { .. } => None,
        };
        (self.at, ticket, self.call(intent), patience, began)
    }

    fn call(&self, intent: Intent) -> Call {
        let caller = Caller::Handle(self.handle());
        match intent {
            Intent::Register => Call::Command {
                caller: Caller::New {
                    handle: self.handle(),
                    reader: SecretHash([u8::try_from(100 + self.number).unwrap_or_default(); 16]),
                    from: Address(1),
                },
                key: Some(RequestKey(u128::from(self.number))),
                command: Command::Login {
                    username: format!("Client {}", self.number).into(),
                    room: "hall".into(),
                },
            },
            Intent::Write { write, keyed } => Call::Command {
                caller,
                key: keyed.then_some(RequestKey((1 << 40) + u128::from(write))),
                command: Command::SendMessage {
                    room: None,
                    text: text_of(write).into(),
                    epoch: None,
                },
            },
            Intent::Read { .. } => Call::Read {
                reader: Reader::Handle(self.handle()),
                read: Read::History {
                    room: None,
                    before: None,
                    limit: 100_000,
                },
            },
        }
    }

    /// The client has no answer in time, or its connection ended.
    pub(crate) fn give_up(&mut self) -> Next {
        self.ticket = None;
        self.doubtful = true;
        self.elsewhere();
        if !matches!(
            self.intent,
            Some(Intent::Write { keyed: true, .. } | Intent::Register)
        ) {
            // Without a key the outcome remains unknown; a read begins anew.
            self.intent = None;
        }
        self.next(Vec::new())
    }

    fn elsewhere(&mut self) {
        self.at = (self.at + 1 + usize::from(self.draw.below(4) == 0)) % MEMBERS;
    }

    fn next(&mut self, facts: Vec<ClusterFact>) -> Next {
        let after = Span::millis(50 + self.draw.below(900));
        Next { after, facts }
    }

    /// Receives the answer to the call that it waits for.
    pub(crate) fn receive(&mut self, now: Time, received: &Received) -> Next {
        self.ticket = None;
        let Some(intent) = self.intent else {
            return self.next(Vec::new());
        };
        let member = self.at as u64;
        let facts = match received {
            Received::Moved { owner, earlier } => {
                match owner {
                    Some(owner) => self.at = *owner,
                    None => self.elsewhere(),
                }
                self.refused(intent, *earlier)
            }
            Received::Node(Ok(response)) => self.accepted(now, intent, response),
            Received::Node(Err(reject)) if reject.is_retryable() => {
                if self.draw.below(3) == 0 {
                    self.elsewhere();
                }
                self.refused(intent, reject.earlier())
            }
            Received::Node(Err(reject)) => {
                self.intent = None;
                vec![ClusterFact::Odd {
                    member,
                    code: reject.code(),
                }]
            }
        };
        self.next(facts)
    }

    /// A refusal that says what is known of the request.
    fn refused(&mut self, intent: Intent, earlier: Earlier) -> Vec<ClusterFact> {
        let Intent::Write { write, keyed } = intent else {
            if matches!(intent, Intent::Read { .. }) {
                self.intent = None;
            }
            return Vec::new();
        };
        let gives_up = !keyed || (!self.doubtful && self.draw.below(2) == 0);
        match earlier {
            Earlier::Unknown if keyed => Vec::new(),
            Earlier::Unknown => {
                self.intent = None;
                Vec::new()
            }
            // A client that repeats nothing after such a refusal relies on it.
            Earlier::None | Earlier::Unasked if gives_up => {
                self.intent = None;
                vec![ClusterFact::NotDone(write)]
            }
            Earlier::None | Earlier::Unasked => vec![ClusterFact::NotYet(write)],
        }
    }

    fn accepted(&mut self, now: Time, intent: Intent, response: &Response) -> Vec<ClusterFact> {
        self.intent = None;
        match (intent, response) {
            (Intent::Register, _) => {
                self.registered = true;
                Vec::new()
            }
            (Intent::Write { write, .. }, _) => {
                self.served = now;
                vec![ClusterFact::Accepted(write)]
            }
            (Intent::Read { read }, Response::Read(Answer::History { messages, more, .. })) => {
                vec![ClusterFact::Read {
                    read,
                    member: self.at as u64,
                    shown: writes_of(messages),
                    more: *more,
                }]
            }
            (Intent::Read { .. }, _) => Vec::new(),
        }
    }
}

/// The registration of a client by itself.
pub(crate) fn registration() -> (Ticket, Call) {
    let client = Client::new(1, 0, Reads::Leased);
    (Ticket(1_000), client.call(Intent::Register))
}

/// A write of that client, without a request key. Its ticket is its number.
pub(crate) fn write(write: u64) -> (Ticket, Call) {
    let client = Client::new(1, 0, Reads::Leased);
    let keyed = false;
    (Ticket(write), client.call(Intent::Write { write, keyed }))
}

/// A read of that client.
pub(crate) fn history_read() -> Call {
    Client::new(1, 0, Reads::Leased).call(Intent::Read { read: 0 })
}

/// What a member shows to this read: the writes, and whether there are older ones. None if it
/// refuses the read.
pub(crate) fn history_of(member: &mut Member, now: Now, read: Call) -> Option<(Vec<u64>, bool)> {
    let ticket = Ticket(2_000);
    member.submit(now, ticket, Address(1), read);
    while let Some(output) = member.poll_output() {
        if let Output::Node(chat_core::Output::Reply {
            ticket: of,
            outcome: Ok(Response::Read(Answer::History { messages, more, .. })),
        }) = output
            && of == ticket
        {
            return Some((writes_of(&messages), more));
        }
    }
    None
}

fn writes_of(messages: &[Arc<Event>]) -> Vec<u64> {
    let texts = messages.iter().filter_map(|event| {
        let Body::Message { text, .. } = &event.body else {
            return None;
        };
        write_of(text)
    });
    texts.collect()
}
