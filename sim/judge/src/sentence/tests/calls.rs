//! Calls, with the expected and the observed outcome.

use super::*;
use sim_model::protocol::Read;

fn entry(op: Op) -> Entry {
    let Op::Command(command) = op else {
        unreachable!("reads have no entries");
    };
    Entry::Call {
        caller: Caller::New {
            handle: HANDLE,
            reader: HANDLE,
            from: Address(0),
        },
        key: Some(RequestKey(1)),
        command,
    }
}

fn operated(act: Operate) -> Entry {
    Entry::Operate {
        operator: Arc::default(),
        act,
    }
}

#[test]
fn a_sentence_shows_both_decisions_of_a_call() {
    let done = || Ok(Reply::Done);
    let sent = Ok(Reply::Sent {
        room: LOBBY,
        room_seq: RoomSeq(5),
        at: Time(12_345_678),
        turns_left: Some(3),
    });
    let decision = |entry, caller, owed, said| Decision {
        position: 45,
        entry,
        caller,
        repeated: false,
        owed,
        said,
    };
    let of_push = |owed, said| decision(entry(push()), Some(ANN), owed, said);
    let login = Op::Command(Command::Login {
        username: "ann".into(),
        room: "the lobby".into(),
    });
    let (user, reason) = (BEN, Arc::from("spam"));
    let act = Operate::Kick {
        user,
        room: LOBBY,
        reason,
    };
    let overloaded = Err(Refusal {
        code: "overloaded",
        retry_after: Some(Span::millis(250)),
        number: None,
        earlier: Earlier::Unknown,
    });
    let repeated = Decision {
        repeated: true,
        ..of_push(sent.clone(), refused("draft_empty"))
    };
    let (user, room) = (ANN, LOBBY);
    let joined = Ok(Reply::LoggedIn { user, room });
    insta::assert_snapshot!(told(&[
        Difference::Decision(of_push(refused("stick_required"), sent)),
        Difference::Decision(repeated),
        Difference::Decision(decision(entry(login), None, refused("name_taken"), joined)),
        Difference::Decision(decision(
            operated(act),
            None,
            refused("not_in_room"),
            done()
        )),
        answer(push(), overloaded, refused("overloaded")),
    ]));
}

#[test]
fn a_sentence_shows_calls_at_the_border() {
    let done = || Ok(Response::Done(Reply::Done));
    let act = Operate::Close {
        room: LOBBY,
        reason: "late".into(),
    };
    let opening = CallSummary {
        ask: Arc::new(Call::OpenStream {
            reader: Reader::Handle(HANDLE),
            after: Some(Seq(4)),
        }),
        caller: None,
    };
    insta::assert_snapshot!(told(&[
        Difference::Uncommitted {
            call: call(push()),
            said: done()
        },
        Difference::Early {
            call: opening.clone(),
            said: done()
        },
        Difference::Taken {
            call: call(push()),
            owed: Refusal::named("rate_limited"),
        },
        Difference::Entry {
            call: call(Op::by_handle(Read::Mood)),
            entry: entry(push()),
        },
        Difference::Batch {
            owed: Some(BatchItem::Call(Some(call(push())))),
            seen: Some(BatchItem::Own(Entry::Implied {
                user: BEN,
                implied: Implied::Read {
                    acknowledged: Seq(3),
                    delivered: Seq(4),
                },
            })),
        },
        Difference::Batch {
            owed: Some(BatchItem::Own(operated(act))),
            seen: None,
        },
        Difference::Unsolicited(Unsolicited::Answer(done())),
        Difference::Unsolicited(Unsolicited::Opening),
        Difference::Unsolicited(Unsolicited::Page),
        Difference::Unsolicited(Unsolicited::End(ANN)),
        Difference::Late {
            due: Due::Entry(BatchItem::Call(Some(opening))),
            since: secs(3),
        },
    ]));
}

/// This answer in place of a refusal.
fn told_of(said: Response) -> Difference {
    answer(
        Op::by_handle(Read::Mood),
        refused("unknown_handle"),
        Ok(said),
    )
}

#[test]
fn answers_to_commands_show_all_that_they_say() {
    let left = |left| Response::Done(Reply::LeftQueue { left });
    let placed = |place, holder| {
        Response::Done(Reply::Stick {
            room: LOBBY,
            place,
            epoch: Epoch(2),
            holder,
            lease_until: secs(120),
        })
    };
    let answers = [
        Response::Done(Reply::Waiting {
            user: ANN,
            position: 2,
            estimated_wait: Some(Span::secs(5)),
        }),
        Response::Done(Reply::Matched {
            user: ANN,
            room: LOBBY,
            partner: ben(),
        }),
        left(WasWaiting::Yes),
        left(WasWaiting::No),
        Response::Done(Reply::LeftChat),
        placed(0, ANN),
        placed(1, BEN),
        Response::Done(Reply::Draft {
            length: 10,
            cut: 3,
            suffix: Some("the end".into()),
        }),
        Response::Done(Reply::OnBreak {
            user: ANN,
            stress: 12,
            boss_alert: 3,
            flavour: 7,
            kind: BreakKind::ALL[0],
            answer_at: secs(3),
        }),
        Response::Read(Answer::Mood {
            stress: 12,
            boss_alert: 3,
        }),
        Response::Done(Reply::Done),
    ];
    insta::assert_snapshot!(told(&answers.map(told_of)));
}

#[test]
fn answers_to_reads_show_all_that_they_say() {
    let answers = [
        Response::Read(Answer::Page {
            page: Page {
                cursor: Seq(4),
                unread: 2,
                ..Page::default()
            },
            notices: vec![notice(NoticeKind::Typing)],
        }),
        Response::Read(Answer::History {
            room: LOBBY,
            messages: vec![said(5, 3, None)],
            more: true,
        }),
        Response::Read(Answer::Members {
            room: LOBBY,
            members: vec![Member {
                who: ben(),
                since: secs(3),
                presence: Attendance::Away,
                read_to: RoomSeq(4),
            }],
        }),
    ];
    insta::assert_snapshot!(told(&answers.map(told_of)));
}

#[test]
fn every_call_shows_what_it_asks_for() {
    let text = || Arc::from("hello");
    let calls = [
        Op::Command(Command::EnterQueue(EnterQueue {
            user_id: Some("ann_1".into()),
            display_name: Some("ann".into()),
            interests: Arc::new(["art".into(), "tea".into()]),
        })),
        Op::Command(Command::SendMessage {
            room: Some(LOBBY),
            text: Arc::from("a".repeat(50)),
            epoch: Some(Epoch(2)),
            to: Addressees::ALL,
        }),
        Op::Command(Command::ReportUser {
            user: BEN,
            reason: text(),
        }),
        Op::Command(Command::TakeBreak {
            kind: BreakKind::ALL[0],
            excuse: Some(text()),
        }),
        Op::check(Some(4), Span::ZERO, ReadBy::Handle),
        Op::by_handle(Read::Members { room: Some(LOBBY) }),
    ];
    let told_of = |op| answer(op, Ok(Response::Done(Reply::Done)), refused("muted"));
    insta::assert_snapshot!(told(&calls.map(told_of)));
}
