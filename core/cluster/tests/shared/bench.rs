//! A member over a log that the test moves by hand.
#![allow(dead_code, reason = "no test program uses all of it")]

use std::sync::Arc;

use chat_cluster::{
    Alarm, AppendId, Member, MemberId, Now, Outcome, Output, Role, SILENCE, Settings,
};
use chat_core::{
    Address, Addressees, Call, Caller, Command, Config, Earlier, Output as NodeOutput, OwnerReads,
    Read, Reader, Reject, RequestKey, Response, SecretHash, Ticket, Time,
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
        Self::with(number, OwnerReads::Lease)
    }

    pub(crate) fn with(number: u64, reads: OwnerReads) -> Self {
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

    pub(crate) fn submit(&mut self, ticket: u64, call: Call) {
        self.member
            .submit(self.now, Ticket(ticket), Address(1), call);
        self.drain();
    }

    /// Takes all records of a log.
    pub(crate) fn follow(&mut self, log: &[Arc<[u8]>]) {
        for (index, bytes) in log.iter().enumerate() {
            self.record(index as u64 + 1, bytes);
        }
    }

    /// Answers the last read of a record.
    pub(crate) fn found(&mut self, bytes: Option<&[u8]>) {
        let is_read = |output: &Output| {
            let Output::Read { id, .. } = output else {
                return None;
            };
            Some(*id)
        };
        let read = self.others.iter().rev().find_map(is_read);
        let read = read.expect("the record is read");
        self.member.found(self.now, read, bytes);
        self.drain();
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
        self.submit(ticket, call);
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
                to: Addressees::ALL,
            },
        };
        self.submit(ticket, call);
    }

    /// Reads the members of the hall.
    pub(crate) fn read(&mut self, ticket: u64) {
        let call = Call::Read {
            reader: Reader::Handle(SecretHash([9; 16])),
            read: Read::Members { room: None },
        };
        self.submit(ticket, call);
    }

    /// Opens a stream by reader id.
    pub(crate) fn open_stream(&mut self, ticket: u64) {
        let call = Call::OpenStream {
            reader: Reader::ReaderId(SecretHash([8; 16])),
            after: None,
        };
        self.submit(ticket, call);
    }

    /// The refusals so far, by ticket.
    pub(crate) fn moved(&self) -> Vec<(u64, Earlier)> {
        let refusal = |output: &Output| {
            let Output::Moved { ticket, earlier } = output else {
                return None;
            };
            Some((ticket.0, *earlier))
        };
        self.others.iter().filter_map(refusal).collect()
    }

    pub(crate) fn answered(&self, ticket: u64) -> bool {
        self.outcome(ticket).is_some_and(Result::is_ok)
    }

    /// What the node's refusal of this call says of earlier attempts.
    pub(crate) fn refused(&self, ticket: u64) -> Option<Earlier> {
        let refused = self.outcome(ticket)?.as_ref().err();
        refused.map(Reject::earlier)
    }

    fn outcome(&self, ticket: u64) -> Option<&Result<Response, Reject>> {
        self.others.iter().find_map(|output| {
            if let Output::Node(NodeOutput::Reply {
                ticket: of,
                outcome,
            }) = output
                && of.0 == ticket
            {
                return Some(outcome);
            }
            None
        })
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
    owner_with(OwnerReads::Lease)
}

pub(crate) fn owner_with(reads: OwnerReads) -> (Bench, Vec<Arc<[u8]>>) {
    let mut bench = Bench::with(1, reads);
    bench.pass(SILENCE.times(2));
    let claim = bench.acknowledge();
    let started = bench.acknowledge();
    assert_eq!(bench.member.role(), Role::Owner);
    (bench, vec![claim, started])
}

/// A second member that follows this log, and claims it. Returns its claim, too.
pub(crate) fn successor(log: &[Arc<[u8]>]) -> (Bench, Arc<[u8]>) {
    let mut new = Bench::new(2);
    new.follow(log);
    new.pass(SILENCE.times(2));
    let claim = new.acknowledge();
    (new, claim)
}
