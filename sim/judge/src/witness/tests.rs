//! What a witness may and may not conclude, on hand-written histories.

pub(crate) mod story;

use chat_types::{Span, Time};
use sim_model::protocol::{
    Answer, EndReason, LostRange, Op, Presence, Refusal, Saw, StickChange, User,
};

use story::*;

#[test]
fn a_message_that_arrives_is_judged_and_one_that_may_come_is_not() {
    let mut story = Story::of_a_pair();
    story.sends(ANN, "one", (PAIR, 2));
    story.sees(BEN, message(PAIR, 2, ANN, "one"));
    story.sends(ANN, "two", (PAIR, 3));
    story.calls(ANN, &send(PAIR, "three"));
    story.keeps("no_lost_messages", (1, 2));
}

#[test]
fn a_message_is_lost_when_its_reader_read_to_the_end() {
    let mut story = Story::of_a_pair();
    story.sends(ANN, "one", (PAIR, 2));
    story.reads(BEN, 1, 1);
    story.breaks("no_lost_messages");
}

#[test]
fn a_message_is_lost_when_its_reader_received_a_later_event() {
    let mut story = Story::of_a_pair();
    story.sends(ANN, "one", (PAIR, 2));
    story.sends(ANN, "two", (PAIR, 3));
    story.sees(BEN, message(PAIR, 3, ANN, "two"));
    story.breaks("no_lost_messages");
}

#[test]
fn what_a_gap_or_a_block_may_hide_is_not_judged() {
    let mut story = Story::of_a_pair();
    story.sends(ANN, "one", (PAIR, 2));
    let rooms = &[LostRange {
        room: PAIR,
        from: 2,
        to: 2,
        ..LostRange::default()
    }];
    story.sees(
        BEN,
        Saw::Gap {
            from: 2,
            to: 2,
            lost: 1,
            rooms,
        },
    );
    story.reads(BEN, 2, 2);
    story.keeps("no_lost_messages", (1, 1));

    let mut story = Story::in_the_lobby();
    story.calls(BEN, &Op::Block { user: ANN });
    story.sends(ANN, "one", (LOBBY, 4));
    story.sees(CAT, message(LOBBY, 4, ANN, "one"));
    story.reads(BEN, 2, 2);
    story.keeps("no_lost_messages", (2, 1));
}

#[test]
fn who_left_is_owed_nothing() {
    let mut story = Story::in_the_lobby();
    story.all_see(&ALL, member(4, CAT, Presence::Left));
    story.sends(ANN, "one", (LOBBY, 5));
    story.sees(BEN, message(LOBBY, 5, ANN, "one"));
    story.reads(CAT, 2, 2);
    story.keeps("no_lost_messages", (2, 0));
}

#[test]
fn a_page_that_skips_a_place_lost_it() {
    let mut story = Story::of_a_pair();
    story.reads(BEN, 1, 2);
    story.breaks("no_lost_messages");
}

#[test]
fn one_event_at_two_places_is_a_duplicate() {
    let mut story = Story::of_a_pair();
    story.sends(ANN, "one", (PAIR, 2));
    story.sees(BEN, message(PAIR, 2, ANN, "one"));
    story.sees(BEN, message(PAIR, 2, ANN, "one"));
    story.breaks("no_duplicates");
}

#[test]
fn one_keyed_call_at_two_places_is_a_duplicate() {
    let mut story = Story::of_a_pair();
    story.sends(ANN, "one", (PAIR, 2));
    story.sees(BEN, message(PAIR, 2, ANN, "one"));
    story.sees(BEN, message(PAIR, 3, ANN, "one"));
    story.breaks("no_duplicates");
}

#[test]
fn a_redelivery_is_none_unless_it_shows_something_else() {
    let mut story = Story::of_a_pair();
    story.sees_at(
        BEN,
        1,
        Saw::Found {
            shown: sim_model::protocol::Shown::NAMELESS,
            room: PAIR,
            room_seq: 1,
            partner: ANN,
        },
    );
    story.keeps("no_duplicates", (1, 0));

    let mut story = Story::in_the_lobby();
    story.sees_at(CAT, 1, member(2, BEN, Presence::Joined));
    story.breaks("no_duplicates");
}

#[test]
fn two_calls_with_one_text_may_stand_at_two_places() {
    let mut story = Story::of_a_pair();
    for place in [2, 3] {
        story.sends(ANN, "hi", (PAIR, place));
        story.sees(BEN, message(PAIR, place, ANN, "hi"));
    }
    // Ascending positions of the inbox are no duplicates either.
    story.keeps("no_duplicates", (2, 1));
}

#[test]
fn places_of_a_room_ascend_and_are_the_same_for_all() {
    let mut story = Story::of_a_pair();
    story.sends(ANN, "one", (PAIR, 2));
    story.sends(ANN, "two", (PAIR, 3));
    story.sees(BEN, message(PAIR, 3, ANN, "two"));
    story.sees(BEN, message(PAIR, 2, ANN, "one"));
    story.breaks("room_order");

    let mut story = Story::in_the_lobby();
    story.sees(ANN, member(4, BEN, Presence::Away));
    story.sees(CAT, member(4, BEN, Presence::Left));
    story.breaks("room_order");

    let mut story = Story::of_a_pair();
    story.sends(ANN, "one", (PAIR, 2));
    story.sends(ANN, "two", (PAIR, 3));
    story.sees(BEN, message(PAIR, 2, ANN, "two"));
    story.breaks("room_order");
}

#[test]
fn timestamps_go_back_only_where_the_server_gives_none() {
    let told = |given: bool| {
        let mut story = Story::in_the_lobby();
        for (place, sent_at) in [(4, Time(700)), (5, Time(600))] {
            let sent_at = if given {
                sent_at
            } else {
                story.now + Span::millis(1)
            };
            let saw = member(place, BEN, Presence::Away);
            story.sees_of(ANN, place, sent_at, saw);
        }
        story
    };
    told(true).breaks("room_order");
    assert_eq!(told(false).ends().violations, []);
}

#[test]
fn a_message_that_no_call_says_is_a_phantom() {
    let mut story = Story::of_a_pair();
    story.sends(ANN, "one", (PAIR, 2));
    story.sees(BEN, message(PAIR, 2, ANN, "won"));
    story.breaks("no_phantoms");

    let mut story = Story::of_a_pair();
    story.sends(ANN, "one", (PAIR, 2));
    story.sees(ANN, message(PAIR, 2, ANN, "one"));
    story.breaks("no_phantoms");
}

#[test]
fn a_message_that_was_refused_is_a_phantom_unless_an_attempt_may_have_passed() {
    let told = |code| {
        let mut story = Story::of_a_pair();
        let refusal = Refusal::of(code);
        story.asks(ANN, &send(PAIR, "one"), Err(refusal));
        story.sees(BEN, message(PAIR, 2, ANN, "one"));
        story
    };
    told("muted").breaks("no_phantoms");
    told("overloaded").keeps("no_phantoms", (1, 0));
}

#[test]
fn nobody_knows_what_strangers_and_drafts_say() {
    let mut story = Story::of_a_pair();
    story.calls(
        ANN,
        &Op::Push {
            room: None,
            epoch: None,
        },
    );
    story.sees(BEN, message(PAIR, 2, ANN, "one"));
    story.sees(ANN, message(NEXT, 2, STRANGER, "two"));
    story.keeps("no_phantoms", (0, 2));
}

#[test]
fn the_stick_passes_from_holder_to_holder() {
    let mut story = Story::in_the_lobby();
    story.all_see(&ALL, stick(4, ANN, granted(1)));
    story.all_see(&ALL, stick(5, BEN, StickChange::Claimed { place: 1 }));
    story.all_see(&ALL, stick(6, CAT, StickChange::Claimed { place: 2 }));
    story.sends(ANN, "one", (LOBBY, 7));
    story.all_see(&[BEN, CAT], speech(7, ANN, "one", 1));
    story.all_see(&ALL, stick(8, ANN, StickChange::Released { epoch: 1 }));
    story.all_see(&ALL, stick(9, BEN, granted(2)));
    story.keeps("stick_exclusion", (4, 0));
}

#[test]
fn a_grant_is_the_next_and_its_holder_the_only_one() {
    let mut story = Story::in_the_lobby();
    story.all_see(&ALL, stick(4, ANN, granted(2)));
    story.breaks("stick_exclusion");

    let mut story = Story::in_the_lobby();
    story.all_see(&ALL, stick(4, ANN, granted(1)));
    story.all_see(&ALL, stick(5, BEN, granted(2)));
    story.breaks("stick_exclusion");

    // One position is unknown: it may have been the grant.
    let mut story = Story::in_the_lobby();
    story.all_see(&ALL, stick(5, ANN, granted(2)));
    story.keeps("stick_exclusion", (1, 0));
}

#[test]
fn speech_shows_the_grant_of_its_speaker() {
    for epoch in [1, 3] {
        let mut story = Story::in_the_lobby();
        story.all_see(&ALL, stick(4, ANN, granted(1)));
        let speaker = if epoch == 1 { CAT } else { ANN };
        story.sends(speaker, "one", (LOBBY, 5));
        story.sees(BEN, speech(5, speaker, "one", epoch));
        story.breaks("stick_exclusion");
    }
}

#[test]
fn a_push_releases() {
    let mut story = Story::in_the_lobby();
    story.all_see(&ALL, stick(4, ANN, granted(1)));
    story.asks(
        ANN,
        &Op::Push {
            room: None,
            epoch: None,
        },
        sent(LOBBY, 5),
    );
    story.all_see(&[BEN, CAT], speech(5, ANN, "one", 1));
    story.all_see(&ALL, member(6, BEN, Presence::Away));
    story.breaks("stick_exclusion");
}

#[test]
fn no_claim_is_passed_over_unless_it_may_be_withdrawn() {
    let told = |resets: &[User]| {
        let mut story = Story::in_the_lobby();
        story.all_see(&ALL, stick(4, ANN, granted(1)));
        story.all_see(&ALL, stick(5, BEN, StickChange::Claimed { place: 1 }));
        story.all_see(&ALL, stick(6, CAT, StickChange::Claimed { place: 2 }));
        for user in resets {
            story.calls(
                *user,
                &Op::Reset {
                    room: None,
                    epoch: None,
                },
            );
        }
        story.all_see(&ALL, stick(7, ANN, StickChange::Expired { epoch: 1 }));
        story.all_see(&ALL, stick(8, CAT, granted(2)));
        story
    };
    told(&[]).breaks("stick_order");
    told(&[BEN]).keeps("stick_order", (2, 1));
}

#[test]
fn a_pair_is_two_who_are_in_no_other() {
    let mut story = Story::new();
    story.finds(PAIR, ANN, ANN);
    story.breaks("single_match");

    let mut story = Story::of_a_pair();
    story.finds(PAIR, CAT, ANN);
    story.breaks("single_match");

    let mut story = Story::of_a_pair();
    story.finds(NEXT, ANN, CAT);
    story.breaks("single_match");

    let mut story = Story::of_a_pair();
    story.calls(ANN, &Op::LeaveChat { room: Some(PAIR) });
    story.finds(NEXT, ANN, CAT);
    story.keeps("single_match", (3, 1));
}

#[test]
fn nothing_comes_after_the_end() {
    let mut story = Story::of_a_pair();
    let (room, reason) = (PAIR, EndReason::Left);
    story.sees(
        BEN,
        Saw::Ended {
            room,
            room_seq: 2,
            reason,
        },
    );
    story.sends(ANN, "one", (PAIR, 3));
    story.breaks("room_lifecycle");
}

#[test]
fn figures_have_bounds() {
    for (stress, boss_alert) in [(101, 0), (0, 6)] {
        let mut story = Story::new();
        story.asks(ANN, &Op::Mood, Ok(Answer::Mood { stress, boss_alert }));
        story.breaks("breaks_rules");
    }
    let mut story = Story::new();
    story.asks(
        ANN,
        &Op::Mood,
        Ok(Answer::Mood {
            stress: 100,
            boss_alert: 5,
        }),
    );
    story.keeps("breaks_rules", (1, 0));
}

#[test]
fn what_only_the_server_knows_is_counted_and_not_judged() {
    let mut story = Story::of_a_pair();
    story.sends(ANN, "one", (PAIR, 2));
    let judged = story.ends();
    for (property, unjudged) in [("fifo_matching", 1), ("outcomes", 1), ("durability", 0)] {
        let result = judged.properties[property];
        assert_eq!(
            (result.held, result.unjudged),
            (None, unjudged),
            "{property}"
        );
    }
}

#[test]
fn numbers_without_sense_do_no_harm() {
    let mut story = Story::of_a_pair();
    let rooms = &[];
    story.sees_at(
        BEN,
        u64::MAX,
        Saw::Gap {
            from: 2,
            to: u64::MAX,
            lost: 0,
            rooms,
        },
    );
    story.sees_at(ANN, u64::MAX, stick(u64::MAX, ANN, granted(u64::MAX)));
    story.sees_at(ANN, 0, stick(0, ANN, granted(0)));
    story.reads(BEN, u64::MAX, u64::MAX);
    assert!(!story.ends().violations.is_empty());
}
