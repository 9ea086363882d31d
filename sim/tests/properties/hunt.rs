//! Histories in which a judge once saw a violation that was none, each found by a run over many
//! seeds.

use crate::story::*;
use chat_core::Time;
use chat_core::config::StickRule;
use sim::properties::Judgement;
use sim::protocol::{Agent, Answer, EndReason, LostRange, Op, Presence, Room, Saw, Shown};

const SECOND: Room = Room(2);
const THIRD: Room = Room(3);

/// Somebody is matched with Ann, who is not told yet, and leaves at once. Says when.
fn meets_ann_for_a_moment(story: &mut Story, agent: Agent, room: Room) -> Time {
    let call = story.calls(agent, enter_queue(&[]));
    let matched_at = story.now();
    let matched = Answer::Matched {
        shown: Shown::default(),
        user: user(agent),
        room,
        partner: user(ANN),
    };
    story.answers(call, matched);
    story.sees_of(agent, matched_at, found(room, ANN));
    let call = story.calls(agent, leave_chat(room));
    story.answers(call, Answer::LeftChat);
    matched_at
}

/// Ann waits again before she is told of her first match, and then before she is told of her
/// second. Dan begins to wait between that second match and her third call.
#[test]
fn a_match_told_late_does_not_come_of_the_call_that_left_after_it() {
    let mut story = Story::new();
    story.waits_in_line(ANN);
    let first_at = meets_ann_for_a_moment(&mut story, BOB, PAIR);
    story.waits_in_line(ANN);
    story.sees_of(ANN, first_at, found(PAIR, BOB));
    story.sees(ANN, ended(PAIR, 2, EndReason::Left));

    let second_at = meets_ann_for_a_moment(&mut story, CAT, SECOND);
    story.waits_in_line(DAN);
    story.waits_in_line(ANN);
    story.sees_of(ANN, second_at, found(SECOND, CAT));
    story.sees(ANN, ended(SECOND, 2, EndReason::Left));
    story.find_each_other(ANN, DAN, THIRD);
    story.holds("fifo_matching");
}

fn anyone_speaks() -> Story {
    Story::with(|plan| plan.server.stick = StickRule::Optional)
}

/// Somebody goes into the lobby, and hears of nothing but the answer.
fn goes_in(story: &mut Story, agent: Agent) {
    let login = Op::Login {
        username: "somebody".into(),
        room: "lobby".into(),
    };
    let call = story.calls(agent, login);
    let there = Answer::LoggedIn {
        user: user(agent),
        room: LOBBY,
    };
    story.answers(call, there);
}

fn goes_out(story: &mut Story, agent: Agent, room: Room) {
    let call = story.calls(agent, leave_chat(room));
    story.answers(call, Answer::LeftChat);
}

/// Bob's first stay and the leave that ended it are lost to a full inbox, and nobody else was
/// there to tell of them: his second join shows when all took it for the first one.
#[test]
fn a_gap_may_swallow_a_whole_stay() {
    let then = |had: u64| {
        let mut story = anyone_speaks();
        for _ in 0..2 {
            goes_in(&mut story, BOB);
            goes_out(&mut story, BOB, LOBBY);
        }
        goes_in(&mut story, BOB);
        goes_in(&mut story, ANN);
        story.sees(ANN, member(6, ANN, Presence::Joined));
        goes_out(&mut story, BOB, LOBBY);
        story.sees(ANN, member(7, BOB, Presence::Left));
        let lost = LostRange {
            room: LOBBY,
            from: 1,
            to: 3,
        };
        let gap = Saw::Gap {
            from: 1,
            to: 3,
            lost: 3,
            rooms: &[lost],
        };
        let now = story.now();
        story.sees_as(BOB, 3, now, gap, true);
        if had == 7 {
            story.sees_as(BOB, 4, now, member(4, BOB, Presence::Left), true);
        }
        story.sees_as(BOB, 5, now, member(5, BOB, Presence::Joined), true);
        if had == 7 {
            story.sees_as(BOB, 6, now, member(6, ANN, Presence::Joined), true);
        }
        story.sees_as(BOB, 7, now, member(7, BOB, Presence::Left), true);
        story.drains(&[ANN, BOB]);
        story.ends()
    };
    assert_eq!(broken(&then(7)), Vec::<&str>::new());
    assert!(broken(&then(6)).contains(&"no_lost_messages"));
}

/// A gap that begins at `first` takes these places of the lobby's order.
fn loses(story: &mut Story, agent: Agent, first: u64, (from, to): (u64, u64)) {
    let lost = to - from + 1;
    let range = LostRange {
        room: LOBBY,
        from,
        to,
    };
    let gap = Saw::Gap {
        from: first,
        to: first + lost - 1,
        lost,
        rooms: &[range],
    };
    let now = story.now();
    story.sees_as(agent, first + lost - 1, now, gap, true);
}

/// Bob left and came back; the end of what he was told, up to this place, is lost to a full inbox.
/// He reads, then Ann does: all of it, or all but his second join.
fn reads_before_another(lost_to: u64, had: &[u64], shown: &[u64]) -> Judgement {
    let mut story = anyone_speaks();
    goes_in(&mut story, ANN);
    story.sees(ANN, member(1, ANN, Presence::Joined));
    goes_in(&mut story, BOB);
    goes_out(&mut story, BOB, LOBBY);
    goes_in(&mut story, BOB);
    story.says(ANN, LOBBY, 5, "one");
    story.says(ANN, LOBBY, 6, "two");
    loses(&mut story, BOB, 1, (2, lost_to));
    let now = story.now();
    for &room_seq in had {
        let text = if room_seq == 5 { "one" } else { "two" };
        let said = message(LOBBY, room_seq, ANN, text);
        story.sees_as(BOB, room_seq - 1, now, said, true);
    }
    for &room_seq in shown {
        let left = room_seq == 3;
        let change = if left {
            Presence::Left
        } else {
            Presence::Joined
        };
        story.sees(ANN, member(room_seq, BOB, change));
    }
    if !shown.contains(&4) {
        loses(&mut story, ANN, 4, (4, 4));
    }
    story.drains(&[ANN, BOB]);
    story.ends()
}

/// `slow_readers`, seed 958269: what Bob had since is of his second stay, though nobody knew of it
/// before Ann read.
#[test]
fn a_gap_may_hide_where_one_stay_ended_and_the_next_began() {
    let all = [2, 3, 4];
    assert_eq!(
        broken(&reads_before_another(4, &[5, 6], &all)),
        Vec::<&str>::new()
    );
    let judgement = reads_before_another(4, &[6], &all);
    assert!(broken(&judgement).contains(&"no_lost_messages"));
}

/// `breaks`, seed 928348: nobody ever tells of the second join.
#[test]
fn a_gap_may_hide_the_join_of_a_stay_of_which_only_the_events_show() {
    let left = [2, 3];
    assert_eq!(
        broken(&reads_before_another(4, &[5, 6], &left)),
        Vec::<&str>::new()
    );
    let judgement = reads_before_another(2, &[5, 6], &left);
    assert!(broken(&judgement).contains(&"no_phantoms"));
}

/// Ann is back for the second time before she reads of her first stay, of whose end Bob told.
#[test]
fn what_was_before_a_known_leave_is_of_the_stay_that_it_ended() {
    let then = |seq: u64| {
        let mut story = anyone_speaks();
        goes_in(&mut story, ANN);
        let call = story.calls(ANN, send(LOBBY, "x"));
        story.answers(call, sent(LOBBY, 2));
        story.joins(BOB, 3, &[BOB]);
        goes_out(&mut story, ANN, LOBBY);
        story.sees(BOB, member(4, ANN, Presence::Left));
        goes_in(&mut story, ANN);
        story.sees(ANN, member(1, ANN, Presence::Joined));
        story.sees(ANN, member(3, BOB, Presence::Joined));
        story.sees(ANN, member(4, ANN, Presence::Left));
        story.sees(ANN, member(seq, ANN, Presence::Joined));
        story.sees(BOB, member(5, ANN, Presence::Joined));
        story.drains(&[ANN, BOB]);
        story.ends()
    };
    assert_eq!(broken(&then(5)), Vec::<&str>::new());
    assert!(!broken(&then(6)).is_empty());
}

/// Of Ann's two stays Bob, who came late, tells the end of the second; Cat tells of both later.
#[test]
fn a_leave_in_the_midst_of_a_stay_makes_two_of_it() {
    let then = |last: u64| {
        let mut story = anyone_speaks();
        story.joins(CAT, 1, &[]);
        goes_in(&mut story, ANN);
        goes_out(&mut story, ANN, LOBBY);
        goes_in(&mut story, ANN);
        story.joins(BOB, 5, &[BOB]);
        goes_out(&mut story, ANN, LOBBY);
        story.sees(BOB, member(6, ANN, Presence::Left));
        story.sees(BOB, member(7, DAN, Presence::Joined));
        story.sees(CAT, member(1, CAT, Presence::Joined));
        let told = [
            member(2, ANN, Presence::Joined),
            member(3, ANN, Presence::Left),
            member(4, ANN, Presence::Joined),
            member(5, BOB, Presence::Joined),
        ];
        for event in told {
            story.sees(CAT, event);
            story.sees(ANN, event);
        }
        story.all_see(&[CAT, ANN], member(6, ANN, Presence::Left));
        story.sees(CAT, member(last, DAN, Presence::Joined));
        story.drains(&[ANN, BOB, CAT]);
        story.ends()
    };
    assert_eq!(broken(&then(7)), Vec::<&str>::new());
    assert!(!broken(&then(8)).is_empty());
}

/// Ann comes back while Bob is out: he tells of her second leave, but of the join before it only
/// Cat does, later.
#[test]
fn a_leave_may_show_before_the_join_of_its_stay() {
    let then = |anns: &[usize]| {
        let mut story = anyone_speaks();
        for agent in [BOB, CAT, ANN] {
            goes_in(&mut story, agent);
        }
        goes_out(&mut story, ANN, LOBBY);
        goes_out(&mut story, BOB, LOBBY);
        goes_in(&mut story, ANN);
        goes_in(&mut story, BOB);
        goes_out(&mut story, ANN, LOBBY);
        let events = [
            member(1, BOB, Presence::Joined),
            member(2, CAT, Presence::Joined),
            member(3, ANN, Presence::Joined),
            member(4, ANN, Presence::Left),
            member(5, BOB, Presence::Left),
            member(6, ANN, Presence::Joined),
            member(7, BOB, Presence::Joined),
            member(8, ANN, Presence::Left),
            member(9, BOB, Presence::Away),
        ];
        for (agent, places) in [
            (BOB, &[1, 2, 3, 4, 5, 7, 8, 9][..]),
            (CAT, &[2, 3, 4, 5, 6, 7, 8, 9]),
            (ANN, anns),
        ] {
            for place in places {
                story.sees(agent, events[place - 1]);
            }
        }
        story.drains(&[ANN, BOB, CAT]);
        story.ends()
    };
    assert_eq!(broken(&then(&[3, 4, 6, 7, 8])), Vec::<&str>::new());
    assert_eq!(broken(&then(&[3, 4, 6, 8])), ["no_lost_messages"]);
}

/// A call that names no room is served in the one its caller is in by then: here the room of a
/// match that the caller was not told of, although it knows of another room.
#[test]
fn a_message_without_a_room_goes_where_its_sender_is_by_then() {
    let then = |named: Option<Room>| {
        let mut story = Story::new();
        story.waits_in_line(ANN);
        let call = story.calls(CAT, enter_queue(&[]));
        let matched = Answer::Matched {
            shown: Shown::default(),
            user: user(CAT),
            room: PAIR,
            partner: user(ANN),
        };
        story.answers(call, matched);
        goes_out(&mut story, ANN, PAIR);
        story.waits_in_line(CAT);
        let op = Op::Send {
            room: named,
            text: "x".into(),
            epoch: None,
        };
        let lost = story.calls(CAT, op);
        let call = story.calls(BOB, enter_queue(&[]));
        let matched = Answer::Matched {
            shown: Shown::default(),
            user: user(BOB),
            room: SECOND,
            partner: user(CAT),
        };
        story.answers(call, matched);
        story.retries(lost);
        story.sees(BOB, found(SECOND, CAT));
        story.sees(BOB, message(SECOND, 2, CAT, "x"));
        story.gives_up(lost);
        story.ends()
    };
    assert_eq!(broken(&then(None)), Vec::<&str>::new());
    assert_eq!(broken(&then(Some(PAIR))), ["no_phantoms"]);
}
