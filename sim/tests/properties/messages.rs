//! Histories that break what is promised of messages, and histories that come close.

use crate::story::*;
use chat_core::config::StickRule;
use chat_core::{Span, Time};
use sim::draw::Ratio;
use sim::history::{What, WorldRecord};
use sim::plan::Plan;
use sim::protocol::{EndReason, LostRange, Moderated, Op, Presence, ReadBy, Room, Saw};

/// A lobby in which anyone may speak at any time.
fn open_lobby() -> Story {
    Story::two_in_lobby_with(anyone_speaks)
}

fn anyone_speaks(plan: &mut Plan) {
    plan.server.stick = StickRule::Optional;
}

mod no_lost_messages {
    use super::*;

    #[test]
    fn an_accepted_message_that_never_arrives_is_lost() {
        let mut story = Story::new();
        story.matches(ANN, BOB, PAIR);
        story.says(ANN, PAIR, 2, "hello");
        story.drains(&[ANN, BOB]);
        let judgement = story.ends();
        assert_eq!(broken(&judgement), ["no_lost_messages"]);
        assert_eq!(judgement.counts.lost, 1);
        assert_eq!(judgement.violations[0].users, ["user_2", "user_1"]);
    }

    #[test]
    fn a_message_passed_over_is_lost_although_later_ones_arrive() {
        let mut story = open_lobby();
        story.says(ANN, LOBBY, 3, "one");
        story.says(ANN, LOBBY, 4, "two");
        story.sees(BOB, message(LOBBY, 4, ANN, "two"));
        story.drains(&[ANN, BOB]);
        story.breaks(&["no_lost_messages"]);
    }

    #[test]
    fn an_event_that_one_member_never_sees_is_lost_too() {
        let mut story = Story::two_in_lobby();
        story.takes_stick(ANN, 3, 1, &[ANN]);
        story.sees(ANN, released(4, ANN, 1));
        story.sees(BOB, released(4, ANN, 1));
        story.drains(&[ANN, BOB]);
        story.breaks(&["no_lost_messages"]);
    }

    #[test]
    fn a_hole_that_is_filled_before_the_inbox_is_drained_is_none() {
        let mut story = open_lobby();
        story.says(ANN, LOBBY, 3, "one");
        story.says(ANN, LOBBY, 4, "two");
        let sent_at = story.now();
        story.sees_as(BOB, 3, sent_at, message(LOBBY, 4, ANN, "two"), true);
        story.sees_as(BOB, 2, sent_at, message(LOBBY, 3, ANN, "one"), true);
        story.drains(&[ANN, BOB]);
        story.holds("no_lost_messages");
    }

    /// Bob has read up to the match; the next he reads of is the second of two messages. `before`
    /// is what he does until then.
    fn bob_reads_past_one(mut story: Story, before: impl FnOnce(&mut Story)) -> Story {
        story.matches(ANN, BOB, PAIR);
        let call = story.calls(BOB, bare_check(Span::ZERO));
        story.answers(call, read(1));
        story.says(ANN, PAIR, 2, "one");
        before(&mut story);
        let call = story.calls(BOB, bare_check(Span::ZERO));
        story.says(ANN, PAIR, 3, "two");
        let sent_at = story.now();
        story.finds(BOB, 3, sent_at, message(PAIR, 3, ANN, "two"));
        story.answers(call, read(3));
        // In the end he asks for what he has not had, and gets it.
        story.finds(BOB, 2, sent_at, message(PAIR, 2, ANN, "one"));
        story.drains(&[ANN, BOB]);
        story
    }

    #[test]
    fn an_answer_goes_on_where_the_one_before_it_ended() {
        bob_reads_past_one(Story::new(), |_| {}).breaks(&["no_lost_messages"]);
    }

    #[test]
    fn an_answer_goes_on_after_one_that_may_have_been_lost() {
        let asks = |story: &mut Story| story.calls(BOB, bare_check(Span::ZERO));
        let gives_up = |story: &mut Story| {
            let call = asks(story);
            story.gives_up(call);
        };
        bob_reads_past_one(Story::new(), gives_up).holds("no_lost_messages");
        let tries_again = |story: &mut Story| {
            let call = asks(story);
            story.retries(call);
            story.answers(call, read(1));
        };
        bob_reads_past_one(Story::new(), tries_again).holds("no_lost_messages");
        let asks_twice = |story: &mut Story| {
            asks(story);
        };
        bob_reads_past_one(Story::new(), asks_twice).holds("no_lost_messages");
        let doubling =
            Story::with(|plan| plan.network.duplicate = Ratio::new(1, 9).expect("a ratio"));
        bob_reads_past_one(doubling, |_| {}).holds("no_lost_messages");
    }

    #[test]
    fn an_answer_passes_over_what_a_gap_told() {
        let told = |story: &mut Story| {
            let range = LostRange {
                room: PAIR,
                from: 2,
                to: 2,
            };
            let gap = Saw::Gap {
                from: 2,
                to: 2,
                lost: 1,
                rooms: &[range],
            };
            let now = story.now();
            story.finds(BOB, 2, now, gap);
        };
        bob_reads_past_one(Story::new(), told).holds("no_lost_messages");
    }

    #[test]
    fn a_gap_that_tells_of_it_excuses_a_missing_message() {
        let mut story = open_lobby();
        for seq in 3..=6 {
            story.says(ANN, LOBBY, seq, "again");
        }
        let range = LostRange {
            room: LOBBY,
            from: 3,
            to: 5,
        };
        let gap = Saw::Gap {
            from: 2,
            to: 4,
            lost: 3,
            rooms: &[range],
        };
        let now = story.now();
        story.sees_as(BOB, 4, now, gap, true);
        story.sees_as(BOB, 5, now, message(LOBBY, 6, ANN, "again"), true);
        story.drains(&[ANN, BOB]);
        let judgement = story.ends();
        assert!(judgement.violations.is_empty(), "{judgement:?}");
        assert_eq!((judgement.counts.gapped, judgement.counts.lost), (3, 0));
    }

    #[test]
    fn nothing_is_owed_before_the_join_after_the_leave_or_to_who_is_gone() {
        let mut story = open_lobby();
        story.says(ANN, LOBBY, 3, "before the join");
        story.sees(BOB, message(LOBBY, 3, ANN, "before the join"));
        story.joins(CAT, 4, &[ANN, BOB, CAT]);
        let leave = story.calls(BOB, leave_chat(LOBBY));
        story.answers(leave, sim::protocol::Answer::LeftChat);
        // The one who leaves is out of the room before it is told.
        story.all_see(&[ANN, CAT], member(5, BOB, Presence::Left));
        story.does(CAT, What::Vanished);
        story.says(ANN, LOBBY, 6, "after the leave");
        story.drains(&[ANN, BOB]);
        story.holds("no_lost_messages");
    }

    #[test]
    fn what_was_accepted_after_the_last_read_left_is_not_due_yet() {
        let mut story = Story::new();
        story.matches(ANN, BOB, PAIR);
        story.says(ANN, PAIR, 2, "one");
        story.sees(BOB, message(PAIR, 2, ANN, "one"));
        let check = story.calls(
            BOB,
            Op::Check {
                by: ReadBy::Handle,
                after: Some(2),
                wait: Span::ZERO,
            },
        );
        story.says(ANN, PAIR, 3, "two");
        story.answers(
            check,
            sim::protocol::Answer::Read {
                notices: Box::default(),
                unread: 0,
                cursor: 2,
                more: false,
            },
        );
        story.does(BOB, What::Drained);
        story.holds("no_lost_messages");
    }
}

mod no_duplicates {
    use super::*;

    #[test]
    fn a_message_that_takes_two_places_of_an_inbox_is_a_duplicate() {
        let mut story = open_lobby();
        story.says(ANN, LOBBY, 3, "hello");
        story.sees(BOB, message(LOBBY, 3, ANN, "hello"));
        story.sees(BOB, message(LOBBY, 3, ANN, "hello"));
        let judgement = story.ends();
        assert!(broken(&judgement).contains(&"no_duplicates"));
        assert_eq!(judgement.counts.duplicated, 1);
        assert_eq!(judgement.counts.delivered, 1);
    }

    #[test]
    fn a_message_that_takes_two_places_of_its_room_is_a_duplicate() {
        let mut story = open_lobby();
        story.says(ANN, LOBBY, 3, "hello");
        story.sees(BOB, message(LOBBY, 3, ANN, "hello"));
        story.sees(BOB, message(LOBBY, 4, ANN, "hello"));
        story.breaks(&["no_duplicates"]);
    }

    #[test]
    fn a_redelivery_is_none() {
        let mut story = open_lobby();
        story.says(ANN, LOBBY, 3, "hello");
        let sent_at = story.now();
        story.sees_as(BOB, 2, sent_at, message(LOBBY, 3, ANN, "hello"), true);
        story.sees_as(BOB, 2, sent_at, message(LOBBY, 3, ANN, "hello"), false);
        story.holds("no_duplicates");
    }

    #[test]
    fn a_retry_without_a_key_may_well_be_heard_twice_but_not_three_times() {
        let told_times = |times: u64| {
            let mut story = open_lobby();
            let call = story.calls_without_key(ANN, send(LOBBY, "hello"));
            story.retries(call);
            for seq in 3..3 + times {
                story.sees(BOB, message(LOBBY, seq, ANN, "hello"));
            }
            story.answers(call, sent(LOBBY, 4));
            story.ends()
        };
        assert!(told_times(2).violations.is_empty());
        assert_eq!(
            broken(&told_times(3)),
            ["idempotent_requests", "no_duplicates"]
        );
    }
}

mod room_order {
    use super::*;

    #[test]
    fn members_who_see_different_messages_at_one_place_see_different_orders() {
        let mut story = open_lobby();
        story.joins(CAT, 3, &[ANN, BOB, CAT]);
        let one = story.calls(ANN, send(LOBBY, "one"));
        let two = story.calls(ANN, send(LOBBY, "two"));
        story.sees(BOB, message(LOBBY, 4, ANN, "one"));
        story.sees(CAT, message(LOBBY, 4, ANN, "two"));
        story.gives_up(one);
        story.gives_up(two);
        story.breaks(&["room_order"]);
    }

    #[test]
    fn an_inbox_keeps_the_order_of_the_room() {
        let mut story = open_lobby();
        story.says(ANN, LOBBY, 3, "one");
        story.says(ANN, LOBBY, 4, "two");
        story.sees(BOB, message(LOBBY, 4, ANN, "two"));
        story.sees(BOB, message(LOBBY, 3, ANN, "one"));
        let judgement = story.ends();
        assert_eq!(broken(&judgement), ["room_order"]);
        assert_eq!(judgement.counts.reordered, 1);
    }

    #[test]
    fn a_sender_whose_second_message_stands_before_its_first_has_lost_its_order() {
        let mut story = open_lobby();
        story.says(ANN, LOBBY, 4, "one");
        story.says(ANN, LOBBY, 3, "two");
        story.breaks(&["room_order"]);
    }

    #[test]
    fn messages_sent_at_once_may_stand_in_either_order() {
        let mut story = open_lobby();
        let one = story.calls(ANN, send(LOBBY, "one"));
        let two = story.calls(ANN, send(LOBBY, "two"));
        story.answers(one, sent(LOBBY, 4));
        story.answers(two, sent(LOBBY, 3));
        story.sees(BOB, message(LOBBY, 3, ANN, "two"));
        story.sees(BOB, message(LOBBY, 4, ANN, "one"));
        story.drains(&[ANN, BOB]);
        story.holds("room_order");
    }

    #[test]
    fn time_never_goes_back() {
        let mut story = open_lobby();
        story.says(ANN, LOBBY, 3, "one");
        story.says(ANN, LOBBY, 4, "two");
        let now = story.now();
        story.sees_of(BOB, now, message(LOBBY, 3, ANN, "one"));
        story.sees_of(BOB, Time(now.0 - 1), message(LOBBY, 4, ANN, "two"));
        story.breaks(&["room_order"]);
    }

    #[test]
    fn a_place_of_an_inbox_always_shows_the_same() {
        let mut story = open_lobby();
        story.says(ANN, LOBBY, 3, "one");
        let now = story.now();
        story.sees_as(BOB, 2, now, message(LOBBY, 3, ANN, "one"), true);
        story.sees_as(BOB, 2, now, message(LOBBY, 4, ANN, "two"), false);
        story.breaks(&["room_order"]);
    }
}

mod no_phantoms {
    use super::*;

    fn operates(story: &mut Story, verb: &'static str) {
        story.world(|at| WorldRecord::Operated {
            at,
            verb,
            user: Some(user(ANN)),
            room: None,
        });
    }

    /// Ann is muted and told so, and later speaks all the same.
    fn muted_and_speaks(between: impl FnOnce(&mut Story)) -> Story {
        let mut story = open_lobby();
        operates(&mut story, "mute");
        story.all_see(&[ANN, BOB], moderation(3, Some(ANN), Moderated::Muted));
        between(&mut story);
        story.says(ANN, LOBBY, 4, "hello?");
        story.sees(BOB, message(LOBBY, 4, ANN, "hello?"));
        story
    }

    #[test]
    fn one_who_is_muted_does_not_speak_until_unmuted() {
        muted_and_speaks(|_| ()).breaks(&["no_phantoms"]);
        muted_and_speaks(|story| operates(story, "unmute")).holds("no_phantoms");
    }

    #[test]
    fn a_message_that_comes_before_the_mute_in_the_room_s_order_is_right() {
        let mut story = open_lobby();
        let call = story.calls(ANN, send(LOBBY, "quick"));
        operates(&mut story, "mute");
        story.sees(BOB, message(LOBBY, 3, ANN, "quick"));
        story.all_see(&[ANN, BOB], moderation(4, Some(ANN), Moderated::Muted));
        story.answers(call, sent(LOBBY, 3));
        story.drains(&[ANN, BOB]);
        story.holds("no_phantoms");
    }

    #[test]
    fn a_message_that_nobody_sent_is_a_phantom() {
        let mut story = open_lobby();
        story.sees(BOB, message(LOBBY, 3, ANN, "boo"));
        story.drains(&[ANN, BOB]);
        let judgement = story.ends();
        assert_eq!(broken(&judgement), ["no_phantoms"]);
        assert_eq!(judgement.counts.phantom, 1);
    }

    #[test]
    fn a_message_that_was_refused_is_a_phantom() {
        for code in ["message_too_long", "storage_unavailable"] {
            let mut story = open_lobby();
            let call = story.calls(ANN, send(LOBBY, "boo"));
            story.sees(BOB, message(LOBBY, 3, ANN, "boo"));
            story.refuses(call, code);
            let judgement = story.ends();
            assert_eq!(broken(&judgement), ["no_phantoms"]);
            assert!(judgement.violations[0].detail.contains(code));
        }
    }

    #[test]
    fn a_message_under_another_s_name_is_a_phantom() {
        let mut story = open_lobby();
        story.joins(CAT, 3, &[ANN, BOB, CAT]);
        story.says(ANN, LOBBY, 4, "hello");
        story.sees(BOB, message(LOBBY, 4, CAT, "hello"));
        story.breaks(&["no_phantoms"]);
    }

    #[test]
    fn other_words_than_those_sent_are_a_phantom() {
        let mut story = open_lobby();
        story.says(ANN, LOBBY, 3, "hello");
        story.sees(BOB, message(LOBBY, 3, ANN, "goodbye"));
        story.breaks(&["no_phantoms"]);
    }

    #[test]
    fn a_push_says_what_was_appended_and_not_undone() {
        let pushed = |heard: &'static str| {
            let mut story = open_lobby();
            for (text, length) in [("one ", 4), ("two ", 8), ("three", 13)] {
                let call = story.calls(ANN, append(text));
                story.answers(call, draft(length));
            }
            let call = story.calls(ANN, Op::Undo { room: Some(LOBBY) });
            story.answers(call, draft(8));
            let call = story.calls(ANN, push());
            story.sees(BOB, message(LOBBY, 3, ANN, heard));
            story.answers(call, sent(LOBBY, 3));
            story.ends()
        };
        assert!(pushed("one two ").violations.is_empty());
        assert_eq!(broken(&pushed("one two three")), ["no_phantoms"]);
    }

    #[test]
    fn a_draft_of_which_a_call_was_given_up_may_say_anything() {
        let mut story = open_lobby();
        let call = story.calls(ANN, append("one "));
        story.answers(call, draft(4));
        let call = story.calls(ANN, append("two"));
        story.gives_up(call);
        let call = story.calls(ANN, push());
        story.sees(BOB, message(LOBBY, 3, ANN, "one two"));
        story.answers(call, sent(LOBBY, 3));
        story.holds("no_phantoms");
    }

    #[test]
    fn a_call_that_was_given_up_explains_one_message_in_its_words() {
        let mut story = open_lobby();
        let call = story.calls(ANN, send(LOBBY, "maybe"));
        story.gives_up(call);
        story.sees(BOB, message(LOBBY, 3, ANN, "maybe"));
        story.drains(&[ANN, BOB]);
        story.holds("no_phantoms");
    }

    #[test]
    fn a_refusal_after_a_retry_says_nothing_of_the_first_attempt() {
        let mut story = open_lobby();
        let call = story.calls(ANN, send(LOBBY, "maybe"));
        story.retries(call);
        story.sees(BOB, message(LOBBY, 3, ANN, "maybe"));
        story.refuses(call, "rate_limited");
        story.holds("no_phantoms");
    }

    #[test]
    fn an_event_of_a_room_that_one_never_joined_is_a_phantom() {
        let mut story = open_lobby();
        story.matches(CAT, DAN, PAIR);
        story.says(ANN, LOBBY, 3, "hello");
        story.sees(CAT, message(LOBBY, 3, ANN, "hello"));
        story.drains(&[CAT]);
        story.breaks(&["no_phantoms"]);
    }

    #[test]
    fn a_block_hides_what_is_sent_after_it() {
        let heard = |blocked_first: bool| {
            let mut story = open_lobby();
            let block_now = |story: &mut Story| {
                let call = story.calls(BOB, block(ANN));
                story.answers(call, sim::protocol::Answer::Done);
            };
            if blocked_first {
                block_now(&mut story);
            }
            story.says(ANN, LOBBY, 3, "hello");
            if !blocked_first {
                block_now(&mut story);
            }
            story.sees(BOB, message(LOBBY, 3, ANN, "hello"));
            story.ends()
        };
        assert_eq!(broken(&heard(true)), ["no_phantoms"]);
        assert!(heard(false).violations.is_empty());
    }
}

#[test]
fn a_violation_shows_at_once() {
    let mut story = Story::new();
    story.matches(ANN, BOB, PAIR);
    assert!(!story.violated());
    story.sees(ANN, message(PAIR, 2, ANN, "hello"));
    assert!(story.violated());
}

#[test]
fn only_the_plan_s_properties_are_judged() {
    let mut story = Story::with(|plan| plan.properties = vec!["room_order"]);
    story.matches(ANN, BOB, PAIR);
    story.sees(BOB, message(PAIR, 2, ANN, "boo"));
    story.sees(BOB, ended(Room(1), 3, EndReason::Blocked));
    story.holds("room_order");
}
