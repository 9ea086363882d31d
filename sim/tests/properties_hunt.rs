//! Histories in which a judge once saw a violation that was none, each found by a run over many
//! seeds.

#[path = "history/story.rs"]
mod story;

use chat_core::Time;
use sim::protocol::{Agent, Answer, EndReason, Room};
use story::*;

const SECOND: Room = Room(2);
const THIRD: Room = Room(3);

/// Somebody is matched with Ann, who is not told yet, and leaves at once. Says when.
fn meets_ann_for_a_moment(story: &mut Story, agent: Agent, room: Room) -> Time {
    let call = story.calls(agent, enter_queue(&[]));
    let matched_at = story.now();
    let matched = Answer::Matched {
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
