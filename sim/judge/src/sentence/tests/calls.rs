//! Calls, with the expected and the observed outcome.

use super::*;

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
    let done = || Ok(Answer::Done);
    let sent = Ok(Answer::Sent {
        room: LOBBY,
        room_seq: 5,
        at: Time(12_345_678),
        turns_left: Some(3),
    });
    let decision = |entry, caller, repeated, owed, said| {
        Difference::Decision(Decision {
            position: 45,
            entry,
            caller,
            repeated,
            owed,
            said,
        })
    };
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
    insta::assert_snapshot!(told(&[
        decision(
            entry(push()),
            Some(ANN),
            false,
            refused("stick_required"),
            sent.clone()
        ),
        decision(entry(push()), Some(ANN), true, sent, refused("draft_empty")),
        decision(
            entry(login),
            None,
            false,
            refused("name_taken"),
            Ok(Answer::LoggedIn {
                user: ANN,
                room: LOBBY,
            })
        ),
        decision(
            operated(act.clone()),
            None,
            false,
            refused("not_in_room"),
            done()
        ),
        answer(push(), overloaded, refused("overloaded")),
    ]));
}

#[test]
fn a_sentence_shows_calls_at_the_border() {
    let done = || Ok(Answer::Done);
    let act = Operate::Close {
        room: LOBBY,
        reason: "late".into(),
    };
    let opening = CallSummary {
        ask: Arc::new(ServerCall::OpenStream {
            handle: HANDLE,
            after: Some(4),
            by: ReadBy::Handle,
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
            owed: refused("rate_limited").unwrap_err(),
        },
        Difference::Entry {
            call: call(Op::Mood),
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
            due: Due::Commit(Some(opening)),
            since: secs(3),
        },
    ]));
}

#[test]
fn answers_to_commands_show_all_that_they_say() {
    let answers = [
        Answer::Waiting {
            user: ANN,
            position: 2,
            estimated_wait: Some(Span::secs(5)),
        },
        Answer::Matched {
            user: ANN,
            room: LOBBY,
            partner: ben(),
        },
        Answer::LeftQueue { left: true },
        Answer::LeftQueue { left: false },
        Answer::LeftChat,
        Answer::Stick {
            room: LOBBY,
            place: 0,
            epoch: 2,
            holder: Some(ANN),
            lease_until: secs(120),
        },
        Answer::Stick {
            room: LOBBY,
            place: 1,
            epoch: 2,
            holder: Some(BEN),
            lease_until: secs(120),
        },
        Answer::Draft {
            length: 10,
            truncated: 3,
            suffix: Some("the end".into()),
        },
        Answer::OnBreak {
            user: ANN,
            stress: 12,
            boss_alert: 3,
            flavour: 7,
        },
        Answer::Mood {
            stress: 12,
            boss_alert: 3,
        },
        Answer::Done,
    ];
    let unknown = refused("unknown_handle");
    let told_of = |said| answer(Op::Mood, unknown.clone(), Ok(said));
    insta::assert_snapshot!(told(&answers.map(told_of)));
}

#[test]
fn answers_to_reads_show_all_that_they_say() {
    let answers = [
        Answer::Read {
            cursor: 4,
            more: true,
            unread: 2,
            notices: Box::new([notice(NoticeKind::Typing)]),
        },
        Answer::History {
            room: LOBBY,
            messages: Arc::new([said(5, 3, None)]),
            more: true,
        },
        Answer::Members {
            room: LOBBY,
            members: Arc::new([Member {
                who: ben(),
                since: secs(3),
                presence: Attendance::Away,
            }]),
        },
    ];
    let unknown = refused("unknown_handle");
    let told_of = |said| answer(Op::Mood, unknown.clone(), Ok(said));
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
        }),
        Op::Command(Command::ReportUser {
            user: BEN,
            reason: text(),
        }),
        Op::Command(Command::TakeBreak {
            kind: BreakKind::ALL[0],
            excuse: Some(text()),
        }),
        Op::Check {
            after: Some(4),
            wait: Span::ZERO,
            by: ReadBy::Handle,
        },
        Op::ListUsers { room: Some(LOBBY) },
    ];
    let told_of = |op| answer(op, Ok(Answer::Done), refused("muted"));
    insta::assert_snapshot!(told(&calls.map(told_of)));
}
