//! Histories that exploring came upon and that judges once took for broken, each beside a history
//! that is.

use crate::story::*;
use chat_core::config::StickRule;
use sim::plan::Plan;
use sim::protocol::{Answer, EndReason, LostRange, Moderated, Op, Presence, Room, Saw, Shown};

/// A lobby in which anyone may speak at any time.
fn open_lobby() -> Story {
    Story::two_in_lobby_with(anyone_speaks)
}

fn anyone_speaks(plan: &mut Plan) {
    plan.server.stick = StickRule::Optional;
}

/// Found by exploring `partition`, seed 512: the answer to a login came seconds late, when the
/// room had been closed and the others had seen it.
#[test]
fn an_answer_to_a_login_may_come_after_the_end_of_the_stay() {
    let mut story = Story::with(anyone_speaks);
    story.joins(ANN, 1, &[ANN]);
    let login = Op::Login {
        username: "bob".into(),
        room: "lobby".into(),
    };
    let call = story.calls(BOB, login);
    story.sees(ANN, member(2, BOB, Presence::Joined));
    story.says(ANN, LOBBY, 3, "hello");
    story.sees(ANN, moderation(4, None, Moderated::Closed));
    story.answers(
        call,
        Answer::LoggedIn {
            user: user(BOB),
            room: LOBBY,
        },
    );
    let seen = |story: &mut Story| {
        story.sees(BOB, member(2, BOB, Presence::Joined));
        story.sees(BOB, message(LOBBY, 3, ANN, "hello"));
        story.sees(BOB, moderation(4, None, Moderated::Closed));
    };
    seen(&mut story);
    story.drains(&[ANN, BOB]);
    let judgement = story.ends();
    assert!(judgement.violations.is_empty(), "{judgement:?}");
}

/// Found by exploring `crash_restart`, seed 542: who left, came back and then overflowed is told
/// of both stays by one range.
#[test]
fn a_gap_may_span_two_stays() {
    let gap_from = |from| {
        let mut story = open_lobby();
        story.says(ANN, LOBBY, 3, "one");
        let leave = story.calls(BOB, leave_chat(LOBBY));
        story.answers(leave, Answer::LeftChat);
        story.sees(ANN, member(4, BOB, Presence::Left));
        story.joins(BOB, 5, &[ANN]);
        story.says(ANN, LOBBY, 6, "two");
        let range = LostRange {
            room: LOBBY,
            from,
            to: 6,
        };
        let gap = Saw::Gap {
            from: 2,
            to: 5,
            lost: 4,
            rooms: &[range],
        };
        let now = story.now();
        story.sees_as(BOB, 5, now, gap, true);
        story.drains(&[ANN, BOB]);
        story.ends()
    };
    let judgement = gap_from(3);
    assert!(judgement.violations.is_empty(), "{judgement:?}");
    assert!(broken(&gap_from(4)).contains(&"no_lost_messages"));
}

/// Found by exploring `reconnect_storm`, seed 997: others have seen somebody leave and come
/// back, when its first join reaches itself.
#[test]
fn ones_own_join_may_show_after_the_next_one() {
    let mut story = Story::new();
    let login = || Op::Login {
        username: "ann".into(),
        room: "lobby".into(),
    };
    let there = Answer::LoggedIn {
        user: user(ANN),
        room: LOBBY,
    };
    let call = story.calls(ANN, login());
    story.answers(call, there.clone());
    story.joins(BOB, 2, &[BOB]);
    let leave = story.calls(ANN, leave_chat(LOBBY));
    story.answers(leave, Answer::LeftChat);
    story.sees(BOB, member(3, ANN, Presence::Left));
    let call = story.calls(ANN, login());
    story.answers(call, there);
    story.sees(BOB, member(4, ANN, Presence::Joined));
    story.sees(ANN, member(1, ANN, Presence::Joined));
    story.sees(ANN, member(2, BOB, Presence::Joined));
    story.sees(ANN, member(4, ANN, Presence::Joined));
    story.drains(&[ANN, BOB]);
    let judgement = story.ends();
    assert!(judgement.violations.is_empty(), "{judgement:?}");
}

/// Found by exploring `slow_readers`, seed 1802: alone in the room, without a key, and the first
/// attempt's answer lost.
#[test]
fn who_repeats_itself_without_a_key_may_have_said_what_nobody_heard() {
    let alone = |attempts: u32| {
        let mut story = Story::with(anyone_speaks);
        story.joins(ANN, 1, &[ANN]);
        let call = story.calls_without_key(ANN, send(LOBBY, "hello"));
        for _ in 1..attempts {
            story.retries(call);
        }
        story.answers(call, sent(LOBBY, 3));
        story.joins(BOB, 4, &[ANN, BOB]);
        story.drains(&[ANN, BOB]);
        story.ends()
    };
    assert_eq!(broken(&alone(2)), Vec::<&str>::new());
    assert_eq!(broken(&alone(1)), ["no_lost_messages"]);
}

/// Found by exploring `matching_interests`, seed 4262: of two copies of a first call one found
/// the line full, when nobody was there yet to remember it for.
#[test]
fn a_refused_mint_is_remembered_for_nobody() {
    let twice = |minting: bool| {
        let mut story = Story::new();
        let call = if minting {
            story.calls_as_stranger(BOB, enter_queue(&[]))
        } else {
            story.calls(BOB, enter_queue(&[]))
        };
        story.answers(call, waiting(BOB));
        story.answers_again(call, Err(refusal("queue_full")));
        story.ends()
    };
    assert_eq!(broken(&twice(true)), Vec::<&str>::new());
    assert_eq!(broken(&twice(false)), ["idempotent_requests"]);
}

/// Found by exploring `retry_storm`, seed 3902: an append overtook the push before it.
#[test]
fn an_append_may_overtake_a_push_under_way() {
    let pushed = |overlapped: bool| {
        let mut story = Story::two_in_lobby();
        story.takes_stick(ANN, 3, 1, &[ANN, BOB]);
        let call = story.calls(ANN, append("one"));
        story.answers(call, draft(3));
        let call = story.calls(ANN, push());
        if overlapped {
            let later = story.calls(ANN, append("two"));
            story.answers(later, draft(6));
        }
        story.answers(call, sent(LOBBY, 4));
        story.sees(BOB, speech(4, ANN, "onetwo", 1));
        story.sees(BOB, released(5, ANN, 1));
        story.drains(&[BOB]);
        story.ends()
    };
    assert_eq!(broken(&pushed(true)), Vec::<&str>::new());
    assert_eq!(broken(&pushed(false)), ["no_phantoms"]);
}

/// Found by exploring `churn`, seed 3148: a call that named no room left while its sender was
/// in another one, and the server took it for the new one.
#[test]
fn what_was_known_of_another_room_says_nothing_of_this_one() {
    let mut story = Story::new();
    story.matches(ANN, BOB, PAIR);
    for seq in 2..=5 {
        story.says(BOB, PAIR, seq, "well");
    }
    let early = Op::Send {
        room: None,
        text: "hello".into(),
        epoch: None,
    };
    let call = story.calls(ANN, early);
    story.all_see(&[ANN, BOB], ended(PAIR, 6, EndReason::Left));
    let next = Room(9);
    story.waits_in_line(CAT);
    let enter = story.calls(ANN, enter_queue(&[]));
    story.answers(
        enter,
        Answer::Matched {
            shown: Shown::default(),
            user: user(ANN),
            room: next,
            partner: user(CAT),
        },
    );
    story.find_each_other(ANN, CAT, next);
    story.sees(CAT, message(next, 2, ANN, "hello"));
    story.answers(call, sent(next, 2));
    let judgement = story.ends();
    assert!(!broken(&judgement).contains(&"room_order"), "{judgement:?}");
}

/// Found by exploring `churn`, seed 101: one in line spoke, named no room, and was matched
/// meanwhile. The answer was the first that anyone heard of the room.
#[test]
fn an_answer_may_be_the_first_that_anyone_hears_of_a_room() {
    let pair = Room(7);
    let mut story = Story::new();
    story.waits_in_line(ANN);
    let early = Op::Send {
        room: None,
        text: "one moment".into(),
        epoch: None,
    };
    let call = story.calls(ANN, early);
    story.answers(call, sent(pair, 2));
    story.waits_in_line(BOB);
    story.sees(BOB, found(pair, ANN));
    story.sees(BOB, message(pair, 2, ANN, "one moment"));
    story.sees(ANN, found(pair, BOB));
    story.drains(&[ANN, BOB]);
    let judgement = story.ends();
    assert!(judgement.violations.is_empty(), "{judgement:?}");
}

#[test]
fn what_nobody_said_is_a_phantom_in_a_room_first_heard_of_by_an_answer() {
    let pair = Room(7);
    let mut story = Story::new();
    story.waits_in_line(ANN);
    let early = Op::Send {
        room: None,
        text: "one moment".into(),
        epoch: None,
    };
    let call = story.calls(ANN, early);
    story.answers(call, sent(pair, 2));
    story.waits_in_line(BOB);
    story.sees(BOB, found(pair, ANN));
    story.sees(BOB, message(pair, 2, ANN, "another word"));
    story.sees(ANN, found(pair, BOB));
    story.drains(&[ANN, BOB]);
    story.breaks(&["no_phantoms"]);
}
