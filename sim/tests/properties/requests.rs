//! Histories that break what is promised of repeated requests and of what a crash leaves, and
//! histories that come close.

use crate::story::*;
use chat_core::config::StickRule;
use sim::draw::Ratio;
use sim::plan::Plan;

/// A lobby in which anyone may speak at any time.
fn open_lobby() -> Story {
    Story::two_in_lobby_with(anyone_speaks)
}

fn anyone_speaks(plan: &mut Plan) {
    plan.server.stick = StickRule::Optional;
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

    /// Both attempts of a call without a key say what it says, and Bob reads so late that its
    /// caller has had many answers since.
    #[test]
    fn without_a_key_each_attempt_may_count_however_late_it_is_read() {
        let then = |attempts: u64| {
            let mut story = open_lobby();
            let call = story.calls_without_key(ANN, send(LOBBY, "hello"));
            for _ in 1..attempts {
                story.retries(call);
            }
            story.answers(call, sent(LOBBY, 4));
            for place in 5..45 {
                let call = story.calls_without_key(ANN, send(LOBBY, "and more"));
                story.answers(call, sent(LOBBY, place));
            }
            story.sees(BOB, message(LOBBY, 3, ANN, "hello"));
            story.sees(BOB, message(LOBBY, 4, ANN, "hello"));
            for place in 5..45 {
                story.sees(BOB, message(LOBBY, place, ANN, "and more"));
            }
            broken(&story.ends())
        };
        assert_eq!(then(2), Vec::<&str>::new());
        assert_eq!(then(1), ["no_phantoms"]);
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
