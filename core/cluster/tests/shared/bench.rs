//! A member over a log that the test moves by hand.
#![allow(dead_code, reason = "no test program uses all of it")]

use std::sync::Arc;

use chat_cluster::{
    Alarm, AppendId, Member, MemberId, Now, Outcome, Output, Reads, Role, SILENCE, Settings,
};
use chat_core::{
    Address, Call, Caller, Command, Config, Earlier, Read, Reader, RequestKey, SecretHash, Ticket,
    Time,
};
use chat_journal::Identity;

/// An append that a member asked for.
pub(crate) struct Published {
    pub(crate) id: AppendId,
    pub(crate) expected: u64,
    pub(crate) bytes: Arc<[u8]>,
}

/// One member, its clock, and all that it asked for.
pub(crate) struct Bench {
    pub(crate) member: Member,
    pub(crate) now: Now,
    pub(crate) published: Vec<Published>,
    pub(crate) others: Vec<Output>,
}

impl Bench {
    pub(crate) fn new(number: u64) -> Self {
        Self::with(number, Reads::Leased)
    }

    pub(crate) fn with(number: u64, reads: Reads) -> Self {
        let identity = Identity {
            realm: 7,
            seed: 5,
            secret: [1; 32],
        };
        let settings = Settings {
            id: MemberId {
                number,
                incarnation: 100 + number,
            },
            address: format!("member {number}").into(),
            origin: identity.origin(),
            config: Config::default(),
            snapshot_every: 1_000,
            reads,
        };
        let now = Now {
            wall: Time(1_000_000),
            boot: Time(0),
        };
        Self {
            member: Member::new(settings, now).expect("the defaults fit"),
            now,
            published: Vec::new(),
            others: Vec::new(),
        }
    }

    pub(crate) fn pass(&mut self, span: chat_core::Span) {
        self.now.wall += span;
        self.now.boot += span;
        self.member.handle_timeout(self.now);
        self.drain();
    }

    pub(crate) fn drain(&mut self) {
        while let Some(output) = self.member.poll_output() {
            if let Output::Publish {
                id,
                expected,
                bytes,
            } = output
            {
                self.published.push(Published {
                    id,
                    expected,
                    bytes,
                });
            } else {
                self.others.push(output);
            }
        }
    }

    pub(crate) fn report(&mut self, id: AppendId, outcome: Outcome) {
        self.member.published(self.now, id, outcome);
        self.drain();
    }

    pub(crate) fn record(&mut self, sequence: u64, bytes: &[u8]) {
        self.member.record(self.now, sequence, bytes);
        self.drain();
    }

    /// The bytes of the last append, which the log acknowledges.
    pub(crate) fn acknowledge(&mut self) -> Arc<[u8]> {
        let last = self.published.last().expect("an append is in flight");
        let (id, sequence, bytes) = (last.id, last.expected + 1, last.bytes.clone());
        self.report(id, Outcome::Acknowledged(sequence));
        bytes
    }

    pub(crate) fn register(&mut self, ticket: u64, key: Option<RequestKey>) {
        let call = Call::Command {
            caller: Caller::New {
                handle: SecretHash([9; 16]),
                reader: SecretHash([8; 16]),
                from: Address(1),
            },
            key,
            command: Command::Login {
                username: "Ada".into(),
                room: "hall".into(),
            },
        };
        self.member
            .submit(self.now, Ticket(ticket), Address(1), call);
        self.drain();
    }

    /// Sends with a handle that nobody has.
    pub(crate) fn send_as_nobody(&mut self, ticket: u64) {
        let call = Call::Command {
            caller: Caller::Handle(SecretHash([1; 16])),
            key: None,
            command: Command::SendMessage {
                room: None,
                text: "hello".into(),
                epoch: None,
            },
        };
        self.member
            .submit(self.now, Ticket(ticket), Address(1), call);
        self.drain();
    }

    /// Reads the members of the hall.
    pub(crate) fn read(&mut self, ticket: u64) {
        let call = Call::Read {
            reader: Reader::Handle(SecretHash([9; 16])),
            read: Read::Members { room: None },
        };
        self.member
            .submit(self.now, Ticket(ticket), Address(1), call);
        self.drain();
    }

    /// Opens a stream by reader id.
    pub(crate) fn open_stream(&mut self, ticket: u64) {
        let call = Call::OpenStream {
            reader: Reader::ReaderId(SecretHash([8; 16])),
            after: None,
        };
        self.member
            .submit(self.now, Ticket(ticket), Address(1), call);
        self.drain();
    }

    /// The refusals so far, by ticket.
    pub(crate) fn moved(&self) -> Vec<(u64, Earlier)> {
        let mut found = Vec::new();
        for output in &self.others {
            if let Output::Moved(refusal) = output {
                found.push((refusal.ticket.0, refusal.earlier));
            }
        }
        found
    }

    pub(crate) fn answered(&self, ticket: u64) -> bool {
        let is_answer = |output: &Output| matches!(output, Output::Node(chat_core::Output::Reply { ticket: of, outcome: Ok(_) }) if of.0 == ticket);
        self.others.iter().any(is_answer)
    }

    /// What the node's refusal of this call says of earlier attempts.
    pub(crate) fn refused(&self, ticket: u64) -> Option<Earlier> {
        self.others.iter().find_map(|output| {
            if let Output::Node(chat_core::Output::Reply {
                ticket: of,
                outcome,
            }) = output
                && of.0 == ticket
            {
                return outcome.as_ref().err().map(chat_core::Reject::earlier);
            }
            None
        })
    }

    pub(crate) fn reads(&self) -> Vec<chat_cluster::ReadId> {
        let mut found = Vec::new();
        for output in &self.others {
            if let Output::Read { id, .. } = output {
                found.push(*id);
            }
        }
        found
    }

    pub(crate) fn alarms(&self) -> Vec<&Alarm> {
        let mut found = Vec::new();
        for output in &self.others {
            if let Output::Alarm(alarm) = output {
                found.push(alarm);
            }
        }
        found
    }
}

/// A member that is the owner, its first batch in the log; and the records of the log.
pub(crate) fn owner() -> (Bench, Vec<Arc<[u8]>>) {
    owner_with(Reads::Leased)
}

pub(crate) fn owner_with(reads: Reads) -> (Bench, Vec<Arc<[u8]>>) {
    let mut bench = Bench::with(1, reads);
    bench.pass(SILENCE.times(2));
    let claim = bench.acknowledge();
    let started = bench.acknowledge();
    assert_eq!(bench.member.role(), Role::Owner);
    (bench, vec![claim, started])
}
