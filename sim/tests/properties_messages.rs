//! Histories that break what is promised of messages, and histories that come close.

#[path = "history/story.rs"]
mod story;

use chat_core::config::StickRule;
use chat_core::{Span, Time};
use sim::draw::Ratio;
use sim::history::What;
use sim::plan::Plan;
use sim::protocol::{Answer, EndReason, LostRange, Moderated, Op, Presence, Room, Saw};
use story::*;

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
        story.answers(call, there);
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
                after: Some(2),
                wait: Span::ZERO,
            },
        );
        story.says(ANN, PAIR, 3, "two");
        story.answers(
            check,
            sim::protocol::Answer::Read {
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

mod idempotent_requests {
    use super::*;

    #[test]
    fn one_key_has_one_answer() {
        let mut story = open_lobby();
        let call = story.calls(ANN, send(LOBBY, "hello"));
        story.retries(call);
        story.answers(call, sent(LOBBY, 3));
        story.answers_again(call, Ok(sent(LOBBY, 4)));
        story.breaks(&["idempotent_requests"]);
    }

    #[test]
    fn one_key_makes_one_message() {
        let mut story = open_lobby();
        let call = story.calls(ANN, send(LOBBY, "hello"));
        story.retries(call);
        story.sees(BOB, message(LOBBY, 3, ANN, "hello"));
        story.sees(BOB, message(LOBBY, 4, ANN, "hello"));
        story.answers(call, sent(LOBBY, 3));
        story.breaks(&["idempotent_requests", "no_duplicates"]);
    }

    #[test]
    fn a_repeated_append_counts_once() {
        let mut story = open_lobby();
        let call = story.calls(ANN, append("hello"));
        story.retries(call);
        story.answers(call, draft(10));
        story.breaks(&["idempotent_requests"]);
    }

    #[test]
    fn a_retryable_refusal_is_decided_anew() {
        let mut story = open_lobby();
        let call = story.calls(ANN, send(LOBBY, "hello"));
        story.retries(call);
        story.answers(call, sent(LOBBY, 3));
        story.answers_again(call, Err(refusal("overloaded")));
        story.answers_again(call, Ok(sent(LOBBY, 3)));
        story.sees(BOB, message(LOBBY, 3, ANN, "hello"));
        story.holds("idempotent_requests");
    }

    #[test]
    fn without_a_key_each_copy_that_the_network_makes_may_count() {
        let mut story = Story::two_in_lobby_with(|plan| {
            anyone_speaks(plan);
            plan.network.duplicate = Ratio::new(1, 10).unwrap();
        });
        let call = story.calls_without_key(ANN, send(LOBBY, "hello"));
        story.sees(BOB, message(LOBBY, 3, ANN, "hello"));
        story.answers(call, sent(LOBBY, 4));
        story.answers_again(call, Ok(sent(LOBBY, 3)));
        story.sees(BOB, message(LOBBY, 4, ANN, "hello"));
        let judgement = story.ends();
        assert!(judgement.violations.is_empty(), "{judgement:?}");
    }
}

mod durability {
    use super::*;

    #[test]
    fn a_message_accepted_before_a_crash_is_there_after_it() {
        let mut story = open_lobby();
        story.says(ANN, LOBBY, 3, "keep this");
        story.crashes();
        story.drains(&[ANN, BOB]);
        story.breaks(&["durability", "no_lost_messages"]);
    }

    #[test]
    fn a_place_given_before_a_crash_is_not_given_again() {
        let mut story = open_lobby();
        story.says(ANN, LOBBY, 3, "one");
        story.sees(BOB, message(LOBBY, 3, ANN, "one"));
        story.crashes();
        story.says(ANN, LOBBY, 3, "two");
        let judgement = story.ends();
        assert!(broken(&judgement).contains(&"durability"), "{judgement:?}");
    }

    #[test]
    fn an_inbox_shows_after_a_crash_what_it_showed_before() {
        let mut story = open_lobby();
        story.says(ANN, LOBBY, 3, "one");
        let now = story.now();
        story.sees_as(BOB, 2, now, message(LOBBY, 3, ANN, "one"), true);
        story.crashes();
        story.sees_as(BOB, 2, now, message(LOBBY, 4, ANN, "two"), false);
        story.breaks(&["durability"]);
    }

    #[test]
    fn a_handle_outlives_a_crash() {
        let mut story = open_lobby();
        story.crashes();
        let call = story.calls(ANN, send(LOBBY, "hello"));
        story.refuses(call, "unknown_handle");
        story.breaks(&["durability"]);
    }

    #[test]
    fn a_membership_outlives_a_crash_unless_one_left() {
        let refused = |leaves: bool| {
            let mut story = open_lobby();
            if leaves {
                let call = story.calls(BOB, leave_chat(LOBBY));
                story.answers(call, sim::protocol::Answer::LeftChat);
            }
            story.crashes();
            let call = story.calls(BOB, send(LOBBY, "hello"));
            story.refuses(call, "not_in_room");
            story.ends()
        };
        assert_eq!(broken(&refused(false)), ["durability"]);
        assert!(refused(true).violations.is_empty());
    }

    #[test]
    fn a_draft_outlives_a_crash() {
        let after = |length: u32| {
            let mut story = open_lobby();
            let call = story.calls(ANN, append("hello "));
            story.answers(call, draft(6));
            story.crashes();
            let call = story.calls(ANN, append("world"));
            story.answers(call, draft(length));
            story.ends()
        };
        assert_eq!(broken(&after(5)), ["durability"]);
        let kept = after(11);
        assert!(kept.violations.is_empty());
        assert!(kept.properties["durability"].checks > 0);
    }

    #[test]
    fn what_nobody_was_told_may_be_gone_after_a_crash() {
        let mut story = open_lobby();
        let call = story.calls(ANN, send(LOBBY, "maybe"));
        story.crashes();
        story.gives_up(call);
        story.says(ANN, LOBBY, 3, "surely");
        story.sees(BOB, message(LOBBY, 3, ANN, "surely"));
        story.drains(&[ANN, BOB]);
        story.holds("durability");
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
