//! What a witness may and may not conclude, on hand-written histories.

pub(crate) mod history_builder;

use chat_types::{Span, Time};
use sim_model::protocol::{Answer, Body, Command, Op, Read, Refusal, Response, User};

use history_builder::*;

#[test]
fn only_messages_that_arrived_are_judged() {
    let mut history = HistoryBuilder::of_a_pair();
    history.sends(ANN, "one", (PAIR, 2));
    history.sees(BEN, &message(PAIR, 2, ANN, "one"));
    history.sends(ANN, "two", (PAIR, 3));
    history.calls(ANN, &send(PAIR, "three"));
    history.keeps("no_lost_messages", (1, 2));
}

#[test]
fn a_message_is_lost_when_its_reader_read_to_the_end_or_received_a_later_event() {
    let told = |then: fn(&mut HistoryBuilder)| {
        let mut history = HistoryBuilder::of_a_pair();
        history.sends(ANN, "one", (PAIR, 2));
        then(&mut history);
        history
    };
    told(|history| history.reads(BEN, 1, 1)).breaks("no_lost_messages");
    let later = |history: &mut HistoryBuilder| {
        history.sends(ANN, "two", (PAIR, 3));
        history.sees(BEN, &message(PAIR, 3, ANN, "two"));
    };
    told(later).breaks("no_lost_messages");
    // A page that skips a position.
    let mut history = HistoryBuilder::of_a_pair();
    history.reads(BEN, 1, 2);
    history.breaks("no_lost_messages");
}

#[test]
fn a_message_hidden_by_a_gap_or_a_block_is_not_judged() {
    let mut history = HistoryBuilder::of_a_pair();
    history.sends(ANN, "one", (PAIR, 2));
    history.sees(BEN, &gap(2, 2));
    history.reads(BEN, 2, 2);
    history.keeps("no_lost_messages", (1, 1));

    let mut history = HistoryBuilder::in_the_lobby();
    history.calls(BEN, &Op::Command(Command::BlockUser { user: ANN }));
    history.sends(ANN, "one", (LOBBY, 4));
    history.sees(CAT, &message(LOBBY, 4, ANN, "one"));
    history.reads(BEN, 2, 2);
    history.keeps("no_lost_messages", (2, 1));
}

#[test]
fn a_former_member_is_owed_no_message() {
    let mut history = HistoryBuilder::in_the_lobby();
    history.all_see(&ALL, &about(4, CAT, Body::Left));
    history.sends(ANN, "one", (LOBBY, 5));
    history.sees(BEN, &message(LOBBY, 5, ANN, "one"));
    history.reads(CAT, 2, 2);
    history.keeps("no_lost_messages", (2, 0));
}

#[test]
fn one_event_or_one_keyed_call_at_two_positions_is_a_duplicate() {
    for place in [2, 3] {
        let mut history = HistoryBuilder::of_a_pair();
        history.sends(ANN, "one", (PAIR, 2));
        history.sees(BEN, &message(PAIR, 2, ANN, "one"));
        history.sees(BEN, &message(PAIR, place, ANN, "one"));
        history.breaks("no_duplicates");
    }
}

#[test]
fn a_redelivery_of_the_same_event_is_no_duplicate() {
    let mut history = HistoryBuilder::of_a_pair();
    history.sees_at(BEN, 1, &found(PAIR, BEN, ANN));
    history.keeps("no_duplicates", (1, 0));

    let mut history = HistoryBuilder::in_the_lobby();
    history.sees_at(CAT, 1, &about(2, BEN, Body::Joined));
    history.breaks("no_duplicates");
}

#[test]
fn two_calls_with_one_text_may_have_two_positions() {
    let mut history = HistoryBuilder::of_a_pair();
    for place in [2, 3] {
        history.sends(ANN, "hi", (PAIR, place));
        history.sees(BEN, &message(PAIR, place, ANN, "hi"));
    }
    // Ascending positions of the inbox are no duplicates either.
    history.keeps("no_duplicates", (2, 1));
}

#[test]
fn positions_of_a_room_ascend_and_are_equal_for_all_readers() {
    let mut history = HistoryBuilder::of_a_pair();
    history.sends(ANN, "one", (PAIR, 2));
    history.sends(ANN, "two", (PAIR, 3));
    history.sees(BEN, &message(PAIR, 3, ANN, "two"));
    history.sees(BEN, &message(PAIR, 2, ANN, "one"));
    history.breaks("room_order");

    let mut history = HistoryBuilder::in_the_lobby();
    history.sees(ANN, &about(4, BEN, Body::Away));
    history.sees(CAT, &about(4, BEN, Body::Left));
    history.breaks("room_order");

    let mut history = HistoryBuilder::of_a_pair();
    history.sends(ANN, "one", (PAIR, 2));
    history.sends(ANN, "two", (PAIR, 3));
    history.sees(BEN, &message(PAIR, 2, ANN, "two"));
    history.breaks("room_order");
}

#[test]
fn timestamps_go_back_only_where_the_server_gives_none() {
    let told = |given: bool| {
        let mut history = HistoryBuilder::in_the_lobby();
        for (place, sent_at) in [(4, Time(700)), (5, Time(600))] {
            let arrives_at = history.now + Span::millis(1);
            let sent_at = if given { sent_at } else { arrives_at };
            let event = about(place, BEN, Body::Away);
            history.sees_of(ANN, place, sent_at, &event);
        }
        history
    };
    told(true).breaks("room_order");
    assert_eq!(told(false).ends().violations, []);
}

#[test]
fn a_message_that_no_call_says_is_a_phantom() {
    let mut history = HistoryBuilder::of_a_pair();
    history.sends(ANN, "one", (PAIR, 2));
    history.sees(BEN, &message(PAIR, 2, ANN, "won"));
    history.breaks("no_phantoms");

    let mut history = HistoryBuilder::of_a_pair();
    history.sends(ANN, "one", (PAIR, 2));
    history.sees(ANN, &message(PAIR, 2, ANN, "one"));
    history.breaks("no_phantoms");
}

#[test]
fn a_message_that_was_refused_is_a_phantom_unless_an_attempt_may_have_passed() {
    let told = |code| {
        let mut history = HistoryBuilder::of_a_pair();
        let refusal = Refusal::named(code);
        history.asks(ANN, &send(PAIR, "one"), Err(refusal));
        history.sees(BEN, &message(PAIR, 2, ANN, "one"));
        history
    };
    told("muted").breaks("no_phantoms");
    told("overloaded").keeps("no_phantoms", (1, 0));
}

#[test]
fn texts_of_strangers_and_drafts_are_not_judged() {
    let mut history = HistoryBuilder::of_a_pair();
    history.calls(ANN, &push());
    history.sees(BEN, &message(PAIR, 2, ANN, "one"));
    history.sees(ANN, &message(NEXT, 2, STRANGER, "two"));
    history.keeps("no_phantoms", (0, 2));
}

#[test]
fn the_stick_passes_from_holder_to_holder() {
    let mut history = HistoryBuilder::in_the_lobby();
    history.all_see(&ALL, &about(4, ANN, granted(1)));
    history.all_see(&ALL, &about(5, BEN, claimed(1)));
    history.all_see(&ALL, &about(6, CAT, claimed(2)));
    history.sends(ANN, "one", (LOBBY, 7));
    history.all_see(&[BEN, CAT], &speech(7, ANN, "one", 1));
    history.all_see(&ALL, &about(8, ANN, released(1)));
    history.all_see(&ALL, &about(9, BEN, granted(2)));
    history.keeps("stick_exclusion", (4, 0));
}

#[test]
fn a_grant_has_the_next_epoch_and_one_holder() {
    let mut history = HistoryBuilder::in_the_lobby();
    history.all_see(&ALL, &about(4, ANN, granted(2)));
    history.breaks("stick_exclusion");

    let mut history = HistoryBuilder::in_the_lobby();
    history.all_see(&ALL, &about(4, ANN, granted(1)));
    history.all_see(&ALL, &about(5, BEN, granted(2)));
    history.breaks("stick_exclusion");

    // One position is unknown: it may have been the grant.
    let mut history = HistoryBuilder::in_the_lobby();
    history.all_see(&ALL, &about(5, ANN, granted(2)));
    history.keeps("stick_exclusion", (1, 0));
}

#[test]
fn a_message_carries_its_sender_s_epoch() {
    for epoch in [1, 3] {
        let mut history = HistoryBuilder::in_the_lobby();
        history.all_see(&ALL, &about(4, ANN, granted(1)));
        let speaker = if epoch == 1 { CAT } else { ANN };
        history.sends(speaker, "one", (LOBBY, 5));
        history.sees(BEN, &speech(5, speaker, "one", epoch));
        history.breaks("stick_exclusion");
    }
}

#[test]
fn a_push_releases_the_stick() {
    let mut history = HistoryBuilder::in_the_lobby();
    history.all_see(&ALL, &about(4, ANN, granted(1)));
    history.asks(ANN, &push(), sent(LOBBY, 5));
    history.all_see(&[BEN, CAT], &speech(5, ANN, "one", 1));
    history.all_see(&ALL, &about(6, BEN, Body::Away));
    history.breaks("stick_exclusion");
}

#[test]
fn a_claim_is_bypassed_only_if_it_may_be_withdrawn() {
    let told = |resets: &[User]| {
        let mut history = HistoryBuilder::in_the_lobby();
        history.all_see(&ALL, &about(4, ANN, granted(1)));
        history.all_see(&ALL, &about(5, BEN, claimed(1)));
        history.all_see(&ALL, &about(6, CAT, claimed(2)));
        for user in resets {
            let (room, epoch) = (None, None);
            history.calls(*user, &Op::Command(Command::Reset { room, epoch }));
        }
        history.all_see(&ALL, &about(7, ANN, expired(1)));
        history.all_see(&ALL, &about(8, CAT, granted(2)));
        history
    };
    told(&[]).breaks("stick_order");
    told(&[BEN]).keeps("stick_order", (2, 1));
}

#[test]
fn a_pair_has_two_participants_without_another_pair() {
    let mut history = HistoryBuilder::new();
    history.finds(PAIR, ANN, ANN);
    history.breaks("single_match");

    let mut history = HistoryBuilder::of_a_pair();
    history.finds(PAIR, CAT, ANN);
    history.breaks("single_match");

    let mut history = HistoryBuilder::of_a_pair();
    history.finds(NEXT, ANN, CAT);
    history.breaks("single_match");

    let mut history = HistoryBuilder::of_a_pair();
    history.calls(ANN, &Op::Command(Command::LeaveChat { room: Some(PAIR) }));
    history.finds(NEXT, ANN, CAT);
    history.keeps("single_match", (3, 1));
}

#[test]
fn a_client_that_may_be_another_participant_is_not_judged_by_its_match() {
    let third_reader = |requests: u32, later: Span| {
        let mut history = HistoryBuilder::of_a_pair();
        for _ in 0..requests {
            history.registers(CAT);
        }
        history.now += later;
        history.finds(PAIR, CAT, ANN);
        history
    };
    let unused = plan().server.unused_timeout;
    third_reader(1, unused).breaks("single_match");
    third_reader(2, Span::secs(1)).breaks("single_match");
    third_reader(2, unused).keeps("single_match", (2, 1));
}

#[test]
fn a_client_that_may_be_another_participant_is_not_judged_by_a_second_inbox() {
    let second_inbox = |requests: u32| {
        let mut history = HistoryBuilder::in_the_lobby();
        for _ in 0..requests {
            history.registers(CAT);
        }
        history.now += plan().server.unused_timeout;
        history.sees_at(CAT, 1, &about(4, CAT, Body::Joined));
        history.sends(CAT, "mine", (LOBBY, 3));
        history
    };
    second_inbox(1).breaks("no_duplicates");
    let judged = second_inbox(2).ends();
    assert_eq!(judged.violations, []);
}

#[test]
fn an_event_after_the_end_is_a_violation() {
    let mut history = HistoryBuilder::of_a_pair();
    history.sees(BEN, &ended(PAIR, 2));
    history.sends(ANN, "one", (PAIR, 3));
    history.breaks("room_lifecycle");
}

#[test]
fn stress_and_alert_levels_are_bounded() {
    let told = |stress, boss_alert| {
        let mut history = HistoryBuilder::new();
        let mood = Ok(Response::Read(Answer::Mood { stress, boss_alert }));
        history.asks(ANN, &Op::by_handle(Read::Mood), mood);
        history
    };
    told(101, 0).breaks("breaks_rules");
    told(0, 6).breaks("breaks_rules");
    told(100, 5).keeps("breaks_rules", (1, 0));
}

#[test]
fn facts_known_only_to_the_server_are_counted_as_unjudged() {
    let mut history = HistoryBuilder::of_a_pair();
    history.sends(ANN, "one", (PAIR, 2));
    let judged = history.ends();
    for (property, unjudged) in [("fifo_matching", 1), ("outcomes", 1), ("durability", 0)] {
        let result = judged.properties[property];
        let found = (result.held, result.unjudged);
        assert_eq!(found, (None, unjudged), "{property}");
    }
}

#[test]
fn senseless_numbers_cause_no_panic() {
    let mut history = HistoryBuilder::of_a_pair();
    history.sees_at(BEN, u64::MAX, &gap(2, u64::MAX));
    history.sees_at(ANN, u64::MAX, &about(u64::MAX, ANN, granted(u64::MAX)));
    history.sees_at(ANN, 0, &about(0, ANN, granted(0)));
    history.reads(BEN, u64::MAX, u64::MAX);
    assert!(!history.ends().violations.is_empty());
}
