//! The sentences of findings.

mod calls;
mod listing;

use chat_types::{Address, BreakKind, Epoch, Report, RoomSeq, Seq, Span, Time};
use std::fmt::Write as _;
use std::sync::Arc;

use sim_model::history::DeliveryPath;
use sim_model::protocol::{
    Addressees, Answer, Attendance, Code, Command, Earlier, EndReason, EnterQueue, LostRange,
    Member, Membership, Notice, NoticeKind, Op, Outcome, Page, ReadBy, Refusal, Reply, Response,
    Room, StickLoss, User, WasWaiting, Who,
};
use sim_model::server::{
    Call, Caller, Entry, Gap, Implied, JournalState, Operate, Reader, RequestKey, SecretHash,
};

use super::Sentence;
use crate::difference::{
    BatchItem, CallSummary, Decision, Difference, Due, EventPosition, Fact, Unsolicited,
};
use crate::model::{Body, Deadline, Event, GivenAgain, Numbered};

const ANN: User = User(1);
const BEN: User = User(2);
const LOBBY: Room = Room(7);
const HANDLE: SecretHash = SecretHash([1; 16]);

fn ben() -> Arc<Who> {
    Arc::new(Who {
        id: BEN,
        chosen_id: None,
        name: "ben".into(),
    })
}

fn secs(n: u64) -> Time {
    Time(Span::secs(n).0)
}

/// An outcome, or a decision.
fn refused<T>(code: &'static str) -> Result<T, Refusal> {
    Err(Refusal::named(code))
}

fn call(op: Op) -> CallSummary {
    let ask = match op {
        Op::Command(command) => Call::Command {
            caller: Caller::Handle(HANDLE),
            key: None,
            command,
        },
        Op::Read { read, .. } => Call::Read {
            reader: Reader::Handle(HANDLE),
            read,
        },
    };
    CallSummary {
        ask: Arc::new(ask),
        caller: Some(ANN),
    }
}

fn push() -> Op {
    Op::Command(Command::Push {
        room: Some(LOBBY),
        epoch: Some(Epoch(2)),
        to: Addressees::ALL,
    })
}

/// A message that Ben sent.
fn said(room_seq: u64, at: u64, epoch: Option<Epoch>) -> Arc<Event> {
    Arc::new(Event {
        at: secs(at),
        ..event(room_seq, spoken(ben(), "hello", epoch))
    })
}

fn spoken(sender: Arc<Who>, text: &str, epoch: Option<Epoch>) -> Body {
    let text = text.into();
    Body::Message {
        sender,
        text,
        epoch,
        to: [].into(),
    }
}

fn event(room_seq: u64, body: Body) -> Event {
    Event {
        room: LOBBY,
        room_seq: RoomSeq(room_seq),
        at: Time(12_345_678),
        body,
    }
}

fn message(text: &str) -> Event {
    event(5, spoken(ben(), text, None))
}

fn notice(kind: NoticeKind) -> (Room, Notice) {
    let (user, at) = (ben(), secs(3));
    (LOBBY, Notice { user, kind, at })
}

fn place(owed: Option<Event>, seen: Option<Event>) -> Difference {
    let owed = owed.map(Arc::new);
    Difference::Event(EventPosition::alone(ANN, 9, owed, seen))
}

fn answer(op: Op, owed: Outcome, said: Outcome) -> Difference {
    let call = call(op);
    Difference::Answer { call, owed, said }
}

/// The sentences, one per line.
fn told(differences: &[Difference]) -> String {
    let mut lines = String::new();
    for difference in differences {
        writeln!(lines, "{}", Sentence::of(difference)).expect("a string takes all");
    }
    lines
}

#[test]
fn a_sentence_shows_the_expected_and_the_received_event() {
    let (epoch, lease) = (Epoch(2), Span::secs(120));
    let whats = [
        Body::Found([Who::unnamed(ANN), ben()]),
        spoken(ben(), "hello", Some(epoch)),
        Body::PartnerDisconnected(EndReason::Timeout),
        Body::PartnerAway(ben()),
        Body::PartnerReconnected(ben()),
        Body::Joined(ben()),
        Body::Left(ben()),
        Body::Away(ben()),
        Body::Back(ben()),
        Body::StickClaimed {
            user: ben(),
            place: 1,
        },
        Body::StickGranted {
            user: ben(),
            epoch,
            lease,
        },
        Body::StickReleased { user: ben(), epoch },
        Body::StickExpired { user: ben(), epoch },
        Body::Kicked {
            user: ben(),
            reason: "spam".into(),
        },
        Body::Closed {
            reason: "late".into(),
        },
    ];
    let mut differences: Vec<_> = whats
        .into_iter()
        .map(|what| place(Some(event(4, what)), None))
        .collect();
    let benjamin = Who {
        id: BEN,
        chosen_id: Some("ben_1".into()),
        name: "benjamin".into(),
    };
    let renamed = event(5, spoken(benjamin.into(), "hello", None));
    differences.push(place(Some(message("hello")), Some(renamed)));
    differences.push(place(None, Some(message("hello"))));
    insta::assert_snapshot!(told(&differences));
}

#[test]
fn a_sentence_shows_pages_gaps_and_notices() {
    let range = LostRange {
        room: LOBBY,
        from: RoomSeq(3),
        to: RoomSeq(8),
        messages: 2,
        you: Some(Membership::Kicked),
        members_changed: true,
        stick: Some(StickLoss::Granted(Epoch(4))),
        stick_changed: true,
        ended: Some(EndReason::Closed),
    };
    let gap = |rooms: &[LostRange], rooms_omitted| Gap {
        from: Seq(1),
        to: Seq(6),
        rooms: rooms.to_vec(),
        rooms_omitted,
    };
    let gaps = |owed, seen| Difference::Gap {
        reader: ANN,
        owed,
        seen,
    };
    let reach = |path| Difference::Reach {
        reader: ANN,
        path,
        owed: (3, 9, false),
        seen: (2, 9, true),
    };
    insta::assert_snapshot!(told(&[
        gaps(Some(gap(&[range, range], true)), None),
        gaps(Some(gap(&[], false)), Some(gap(&[], true))),
        reach(DeliveryPath::Check),
        reach(DeliveryPath::Stream),
        Difference::Notice {
            reader: ANN,
            owed: Some(notice(NoticeKind::Typing)),
            seen: Some(notice(NoticeKind::Waiting(Span::secs(30)))),
        },
    ]));
}

#[test]
fn a_sentence_shows_late_and_mismatched_facts() {
    let (user, after) = (ANN, 4);
    let own = |implied| Due::Entry(BatchItem::Own(Entry::Implied { user, implied }));
    let read = Implied::Read {
        acknowledged: Seq(3),
        delivered: Seq(4),
    };
    let dues = [
        Due::Answer(call(push())),
        Due::Check { user, after },
        Due::Push { user, after },
        Due::Notice(ANN),
        Due::Entry(BatchItem::Call(Some(call(push())))),
        Due::Deadline(Deadline::Presence(ANN)),
        Due::Deadline(Deadline::Lease(LOBBY)),
        Due::Deadline(Deadline::Patience(ANN)),
        own(Implied::CloseStream),
        own(Implied::Seen { waiting: None }),
        own(read),
        Due::Entry(BatchItem::Own(Entry::Stepped)),
        Due::StreamEnd(ANN),
    ];
    let mut differences: Vec<_> = dues
        .into_iter()
        .map(|due| Difference::Late {
            due,
            since: Time(12_345_678),
        })
        .collect();
    differences.extend([
        Difference::Size {
            what: "inbox",
            size: 11,
            limit: 10,
        },
        Difference::Kept {
            what: "blocks",
            owed: 3,
            size: 2,
        },
        Difference::Position { owed: 5, seen: 7 },
        Difference::Redecided {
            position: 6,
            before: refused("muted"),
            after: Err(Refusal::with(Code::RoomAmbiguous, 2)),
        },
        Difference::Damaged {
            damage: "record 7 lost".into(),
            owed: 8,
            seen: 9,
        },
        Difference::AcceptedLoss {
            damage: "record 7 torn".into(),
            owed: JournalState {
                position: 6,
                digest: 8,
            },
            seen: None,
        },
        Difference::GivenAgain(GivenAgain {
            what: Numbered::Inbox(ANN),
            given: 51,
            next: 21,
        }),
    ]);
    insta::assert_snapshot!(told(&differences));
}

#[test]
fn a_sentence_shows_facts_of_clients() {
    let rule = || Fact::Rule("stress is at most 100, the boss's alert at most 5");
    let facts = [
        [rule(), Fact::Answered(ANN, "send", refused("muted"))],
        [Fact::Accepted(ANN, LOBBY, 5), Fact::Absent(BEN, LOBBY, 5)],
        [
            Fact::Received(ANN, 9, message("hello")),
            Fact::Vacant(ANN, 8),
        ],
    ];
    let differences = facts.map(|facts| Difference::Witnessed(Box::new(facts)));
    insta::assert_snapshot!(told(&differences));
}

#[test]
fn a_sentence_returns_its_subjects() {
    let subject = Sentence::of(&place(Some(message("hello")), None)).subject(&[ANN]);
    assert_eq!(
        subject.cause,
        "place N of user_N's inbox should hold message N of room_N from user_N, \"…\" (at N); \
         user_N received nothing"
    );
    assert_eq!((subject.others, subject.rooms), (vec![BEN], vec![LOBBY]));
    assert_eq!(subject.place, Some((LOBBY, 5)));
}
