//! Histories in which something came between a call and its answer, or between two copies of one
//! call, and which judges once took for broken. Each was found by exploring, and stands beside a
//! history that is broken.

use crate::story::*;
use chat_core::Span;
use chat_core::config::StickRule;
use sim::draw::Ratio;
use sim::history::{What, WorldRecord};
use sim::protocol::{Agent, Answer, EndReason, Op, ReadBy, Room, Shown, User};

const SECOND: Room = Room(2);

fn matched(agent: Agent, room: Room, partner: Agent) -> Answer {
    Answer::Matched {
        shown: Shown::default(),
        user: user(agent),
        room,
        partner: user(partner),
    }
}

/// A call on whatever chat its caller is in.
fn append_unnamed(text: &str) -> Op {
    Op::Append {
        room: None,
        text: text.into(),
        epoch: None,
    }
}

fn reset() -> Op {
    Op::Reset { room: Some(LOBBY) }
}

/// Ann is told to wait, this having come before the answer; then Bob is, and Cat is matched with
/// him.
fn waits_and_is_passed_over(before: fn(&mut Story)) -> Vec<&'static str> {
    let mut story = Story::new();
    let call = story.calls_as_stranger(ANN, enter_queue(&[]));
    before(&mut story);
    story.answers(call, waiting(ANN));
    story.matches(BOB, CAT, PAIR);
    story.drains(&[ANN, BOB, CAT]);
    broken(&story.ends())
}

/// `rematch`, seed 26632; `soak`, seed 38929; `steady`, seed 2127.
#[test]
fn a_place_in_line_may_be_lost_before_its_answer_comes() {
    assert_eq!(waits_and_is_passed_over(|_| {}), ["fifo_matching"]);
    let stream_closes = |story: &mut Story| story.does(ANN, What::StreamClosed);
    assert!(waits_and_is_passed_over(stream_closes).is_empty());
    let clock_jumps = |story: &mut Story| {
        let by = Span::secs(3_600);
        story.world(|at| WorldRecord::ClockJumped { at, by });
    };
    assert!(waits_and_is_passed_over(clock_jumps).is_empty());
}

/// `churn`, seed 913531: the server noticed only once Ann waited that her stream had broken before,
/// and took her for gone when the grace was over.
#[test]
fn a_stream_that_broke_may_be_noticed_while_its_owner_waits() {
    let waits = |reopened: bool| {
        let mut story = Story::new();
        let call = story.calls(ANN, Op::Typing { room: None });
        story.refuses(call, "room_ambiguous");
        story.does(ANN, What::StreamOpened);
        story.does(ANN, What::StreamClosed);
        if reopened {
            story.does(ANN, What::StreamOpened);
        }
        story.waits_in_line(ANN);
        story.matches(BOB, CAT, PAIR);
        story.drains(&[ANN, BOB, CAT]);
        broken(&story.ends())
    };
    assert_eq!(waits(false), Vec::<&str>::new());
    assert_eq!(waits(true), ["fifo_matching"]);
}

/// `churn`, seeds 211289 and 292761: a call to leave the line left after the one to enter it, and
/// was answered first.
#[test]
fn a_place_in_line_may_be_left_before_its_answer_comes() {
    let leaves = |story: &mut Story| {
        let call = story.calls(ANN, Op::LeaveQueue);
        story.answers(call, Answer::LeftQueue { left: true });
    };
    assert!(waits_and_is_passed_over(leaves).is_empty());
    let looks = |story: &mut Story| {
        let call = story.calls(ANN, Op::Typing { room: None });
        story.refuses(call, "not_in_room");
    };
    assert_eq!(waits_and_is_passed_over(looks), ["fifo_matching"]);
}

/// `rematch`, seed 289388: the answer that told Bob of his match with Ann was lost, and the one
/// that told of its end came before anyone knew of the match.
#[test]
fn a_match_may_be_over_before_anyone_knows_of_it() {
    let rematches = |it_ended: bool| {
        let mut story = Story::new();
        story.waits_in_line(BOB);
        let first = story.calls(ANN, enter_queue(&[]));
        if it_ended {
            story.finds(BOB, 2, story.now(), ended(PAIR, 2, EndReason::Timeout));
        }
        story.finds(BOB, 1, story.now(), found(PAIR, ANN));
        story.answers(first, matched(ANN, PAIR, BOB));
        story.waits_in_line(CAT);
        let second = story.calls(ANN, enter_queue(&[]));
        story.answers(second, matched(ANN, SECOND, CAT));
        story.sees(ANN, found(PAIR, BOB));
        if it_ended {
            story.sees(ANN, ended(PAIR, 2, EndReason::Timeout));
        }
        story.sees(ANN, found(SECOND, CAT));
        story.drains(&[ANN]);
        broken(&story.ends())
    };
    assert_eq!(rematches(true), Vec::<&str>::new());
    assert_eq!(rematches(false), ["single_match"]);
}

/// `matching_interests`, seed 341862: Ann said it twice, without a key, and was told of the second
/// time alone; the first may have come before Bob blocked her.
#[test]
fn what_was_said_before_a_block_may_be_told_of_after_it() {
    let said = |attempts: u32| {
        let anyone_speaks = |plan: &mut sim::plan::Plan| plan.server.stick = StickRule::Optional;
        let mut story = Story::two_in_lobby_with(anyone_speaks);
        let call = story.calls_without_key(ANN, send(LOBBY, "x"));
        for _ in 1..attempts {
            story.retries(call);
        }
        story.answers(call, sent(LOBBY, 4));
        let call = story.calls(BOB, block(ANN));
        story.answers(call, Answer::Done);
        let later = story.calls_without_key(ANN, send(LOBBY, "x"));
        story.sees(BOB, message(LOBBY, 3, ANN, "x"));
        story.refuses(later, "not_in_room");
        broken(&story.ends())
    };
    assert_eq!(said(2), Vec::<&str>::new());
    assert_eq!(said(1), ["no_phantoms"]);
}

/// `crash_restart`, seed 11386: both calls were repeated without a key and said something twice.
/// The one that names no room fits either, the older one only its own.
#[test]
fn a_call_that_names_its_room_explains_what_was_said_there() {
    let heard_in_second = |last: u64| {
        let mut story = Story::new();
        story.matches(ANN, BOB, PAIR);
        let call = story.calls_without_key(ANN, send(PAIR, "x"));
        story.retries(call);
        story.answers(call, sent(PAIR, 2));
        let call = story.calls(ANN, leave_chat(PAIR));
        story.answers(call, Answer::LeftChat);
        story.matches(CAT, ANN, SECOND);
        for _ in 0..16 {
            let call = story.calls(ANN, Op::Typing { room: Some(SECOND) });
            story.answers(call, Answer::Done);
        }
        let op = Op::Send {
            room: None,
            text: "x".into(),
            epoch: None,
        };
        let call = story.calls_without_key(ANN, op);
        story.retries(call);
        story.answers(call, sent(SECOND, 2));
        for room_seq in [2, 3] {
            story.sees(BOB, message(PAIR, room_seq, ANN, "x"));
        }
        for room_seq in 2..=last {
            story.sees(CAT, message(SECOND, room_seq, ANN, "x"));
        }
        broken(&story.ends())
    };
    assert_eq!(heard_in_second(3), Vec::<&str>::new());
    assert_eq!(heard_in_second(4), ["idempotent_requests", "no_duplicates"]);
}

/// `retry_storm`, seed 980041: Ann made more calls at once than the server remembers keys, and left
/// before what she had said came a second time.
#[test]
fn a_key_is_forgotten_when_as_many_have_followed_as_are_remembered() {
    let says_again = |calls_between: u32| {
        let mut story = Story::with(|plan| plan.server.remembered_keys = 3);
        story.matches(ANN, BOB, PAIR);
        let said = story.calls(ANN, send(PAIR, "x"));
        story.sees(BOB, message(PAIR, 2, ANN, "x"));
        for _ in 1..calls_between {
            let call = story.calls(ANN, Op::Typing { room: Some(PAIR) });
            story.answers(call, Answer::Done);
        }
        let call = story.calls(ANN, leave_chat(PAIR));
        story.answers(call, Answer::LeftChat);
        story.sees(BOB, ended(PAIR, 3, EndReason::Left));
        story.retries(said);
        story.refuses(said, "chat_ended");
        broken(&story.ends())
    };
    assert_eq!(says_again(3), Vec::<&str>::new());
    assert_eq!(says_again(2), ["no_phantoms"]);
}

/// `brief`, seed 34962: the append left after the push and was answered before it.
#[test]
fn an_answer_to_a_push_says_nothing_of_an_append_that_overlapped() {
    let then_says = |overlapped: bool, text| {
        let anyone_speaks = |plan: &mut sim::plan::Plan| plan.server.stick = StickRule::Optional;
        let mut story = Story::two_in_lobby_with(anyone_speaks);
        let call = story.calls(ANN, append("one"));
        story.answers(call, draft(3));
        let first = story.calls(ANN, push());
        if !overlapped {
            story.answers(first, sent(LOBBY, 3));
        }
        let call = story.calls(ANN, append("two"));
        story.answers(call, draft(3));
        if overlapped {
            story.answers(first, sent(LOBBY, 3));
        }
        let second = story.calls(ANN, push());
        story.answers(second, sent(LOBBY, 4));
        story.sees(BOB, message(LOBBY, 3, ANN, "one"));
        story.sees(BOB, message(LOBBY, 4, ANN, text));
        broken(&story.ends())
    };
    assert_eq!(then_says(true, "two"), Vec::<&str>::new());
    assert_eq!(then_says(false, "two"), Vec::<&str>::new());
    assert_eq!(then_says(false, "three"), ["no_phantoms"]);
}

/// `churn`, seed 52919: Ann was never told that one chat ended and another began.
#[test]
fn a_draft_without_a_room_may_be_of_the_next_chat() {
    let appends = |enters: bool| {
        let mut story = Story::new();
        story.waits_in_line(ANN);
        let call = story.calls(BOB, enter_queue(&[]));
        story.answers(call, matched(BOB, PAIR, ANN));
        let call = story.calls(ANN, append_unnamed("x"));
        story.answers(call, draft(1));
        story.crashes();
        if enters {
            story.waits_in_line(ANN);
        }
        let call = story.calls(ANN, append_unnamed("x"));
        story.answers(call, draft(1));
        broken(&story.ends())
    };
    assert_eq!(appends(true), Vec::<&str>::new());
    assert_eq!(appends(false), ["durability"]);
}

/// Ann resets, claims the stick that Bob holds, and Cat, who claims it after her, is granted it. A
/// reset that is still open is answered once both have claimed.
fn is_passed_by(
    mut story: Story,
    resets: impl FnOnce(&mut Story) -> Option<Call>,
) -> Vec<&'static str> {
    let all = [ANN, BOB, CAT];
    story.joins(CAT, 3, &all);
    story.takes_stick(BOB, 4, 1, &all);
    let open = resets(&mut story);
    for (room_seq, agent) in [(5, ANN), (6, CAT)] {
        let claim = story.calls(agent, talking_stick());
        story.answers(claim, stick(1, 1));
        story.all_see(&all, claimed(room_seq, agent, 1));
    }
    if let Some(call) = open {
        story.answers(call, draft(0));
    }
    story.all_see(&all, released(7, BOB, 1));
    story.all_see(&all, granted(8, CAT, 2));
    broken(&story.ends())
}

/// `stick_contention`, seed 64049; `churn`, seed 28257: the second of two resets took effect after
/// the claim, though the first one's answer came before it.
#[test]
fn of_two_withdrawals_one_may_be_under_way_still() {
    let resets = |again: bool| {
        is_passed_by(Story::two_in_lobby(), |story| {
            let first = story.calls(ANN, reset());
            let second = again.then(|| story.calls(ANN, reset()));
            story.answers(first, draft(0));
            second
        })
    };
    assert_eq!(resets(true), Vec::<&str>::new());
    assert_eq!(resets(false), ["stick_order"]);
}

/// `stick_contention`, seed 768836: the network doubled the reset, and the second copy came after
/// the claim.
#[test]
fn a_second_copy_of_a_reset_may_withdraw_what_was_claimed_after_it() {
    let doubled = Ratio::new(1, 10).unwrap();
    let resets = |keyed: bool| {
        let story = Story::two_in_lobby_with(|plan| plan.network.duplicate = doubled);
        is_passed_by(story, |story| {
            let call = if keyed {
                story.calls(ANN, reset())
            } else {
                story.calls_without_key(ANN, reset())
            };
            story.answers(call, draft(0));
            None
        })
    };
    assert_eq!(resets(false), Vec::<&str>::new());
    assert_eq!(resets(true), ["stick_order"]);
}

/// `rematch`, seed 6036: the network doubled a leave that names no room, and the second copy came
/// when its sender was in another chat.
#[test]
fn a_second_copy_of_a_leave_may_leave_what_came_next() {
    let leaves = |keyed: bool| {
        let doubled = Ratio::new(1, 10).unwrap();
        let mut story = Story::with(|plan| plan.network.duplicate = doubled);
        let leave = Op::LeaveChat { room: None };
        let call = if keyed {
            story.calls(ANN, leave)
        } else {
            story.calls_without_key(ANN, leave)
        };
        story.answers(call, Answer::LeftChat);
        story.matches(BOB, ANN, PAIR);
        story.sees(BOB, ended(PAIR, 2, EndReason::Left));
        story.drains(&[BOB]);
        broken(&story.ends())
    };
    assert_eq!(leaves(false), Vec::<&str>::new());
    assert_eq!(leaves(true), ["room_lifecycle"]);
}

/// `matching_interests`, seed 99797: the answer that told of the match came after the ban.
#[test]
fn who_is_banned_leaves_what_it_was_not_told_of_yet() {
    let banned = |who: User| {
        let mut story = Story::new();
        story.waits_in_line(BOB);
        let call = story.calls(ANN, enter_queue(&[]));
        story.world(|at| WorldRecord::Operated {
            at,
            verb: "ban",
            user: Some(who),
            room: None,
        });
        story.answers(call, matched(ANN, PAIR, BOB));
        story.sees(BOB, found(PAIR, ANN));
        story.sees(BOB, ended(PAIR, 2, EndReason::Left));
        story.drains(&[BOB]);
        broken(&story.ends())
    };
    assert_eq!(banned(user(ANN)), Vec::<&str>::new());
    assert_eq!(banned(user(CAT)), ["room_lifecycle"]);
}

/// `slow_readers`, seed 58897: of a second answer to a check that its client has long forgotten
/// nothing is recorded but what was in it.
#[test]
fn what_came_in_a_forgotten_answer_is_not_counted_to_the_next() {
    let check = |after| Op::Check {
        by: ReadBy::Handle,
        after: Some(after),
        wait: Span::ZERO,
    };
    let finds_with_the_answer = |events: u64| {
        let mut story = Story::with(|plan| plan.server.max_answer = 1);
        story.matches(ANN, BOB, PAIR);
        for room_seq in 2..=4 {
            story.says(ANN, PAIR, room_seq, "x");
        }
        for seq in [2, 3] {
            story.finds(BOB, seq, story.now(), message(PAIR, seq, ANN, "x"));
        }
        if events == 1 {
            story.later(Span::secs(1));
        }
        let call = story.calls(BOB, check(3));
        if events > 1 {
            for seq in [2, 3] {
                story.finds(BOB, seq, story.now(), message(PAIR, seq, ANN, "x"));
            }
        }
        story.finds(BOB, 4, story.now(), message(PAIR, 4, ANN, "x"));
        story.answers(call, read(4));
        broken(&story.ends())
    };
    assert_eq!(finds_with_the_answer(1), Vec::<&str>::new());
    assert!(finds_with_the_answer(3).contains(&"bounded"));
}
