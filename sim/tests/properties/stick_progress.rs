//! Whoever waits for a stick is granted it in time, unless its claim is over.

use crate::story::*;
use chat_core::Span;
use sim::protocol::{LostRange, Moderated, Op, Presence, Room, Saw};

/// Ann holds the stick, and faults are over.
fn ann_holds() -> Story {
    let mut story = Story::two_in_lobby_with(|plan| plan.server.stick_lease = Span::secs(4));
    story.heals();
    story.takes_stick(ANN, 3, 1, &[ANN, BOB]);
    story
}

/// Whether Bob, a minute after all this, should have been granted the stick.
fn is_late(mut story: Story) -> bool {
    story.later(Span::secs(60));
    story.drains(&[ANN, BOB]);
    broken(&story.ends()).contains(&"stick_progress")
}

/// Ann holds the stick, Bob is next; Bob reads his inbox to the end after so long.
fn bob_is_next(span: Span) -> Story {
    let mut story = ann_holds();
    let call = story.calls(BOB, talking_stick());
    story.answers(call, stick(1, 1));
    story.all_see(&[ANN, BOB], claimed(4, BOB, 1));
    story.later(span);
    story
}

#[test]
fn a_claimant_is_granted_after_a_lease_and_a_little() {
    let mut story = bob_is_next(Span::secs(7));
    story.drains(&[ANN, BOB]);
    story.breaks(&["stick_progress"]);

    let mut story = bob_is_next(Span::secs(5));
    story.all_see(&[ANN, BOB], expired(5, ANN, 1));
    story.all_see(&[ANN, BOB], granted(6, BOB, 2));
    story.drains(&[ANN, BOB]);
    story.holds("stick_progress");
}

#[test]
fn a_grant_that_comes_late_is_late() {
    let mut story = bob_is_next(Span::secs(7));
    story.all_see(&[ANN, BOB], expired(5, ANN, 1));
    story.all_see(&[ANN, BOB], granted(6, BOB, 2));
    story.drains(&[ANN, BOB]);
    story.breaks(&["stick_progress"]);
}

/// Found by exploring `stick_contention`, seed 792: the grant fell out of a full inbox.
#[test]
fn a_gap_may_have_swallowed_the_grant() {
    let gap = |room| {
        let mut story = bob_is_next(Span::secs(1));
        let lost = LostRange {
            room,
            from: 5,
            to: 9,
            ..LostRange::default()
        };
        let now = story.now();
        let saw = Saw::Gap {
            from: 100,
            to: 104,
            lost: 5,
            rooms: &[lost],
        };
        story.sees_as(BOB, 104, now, saw, true);
        story.later(Span::secs(300));
        story.reads_to_the_end(BOB);
        story.ends()
    };
    assert!(!broken(&gap(LOBBY)).contains(&"stick_progress"));
    assert!(broken(&gap(Room(77))).contains(&"stick_progress"));
}

/// Found by exploring `stick_contention`, seed 701974: the answer to the claim came after the
/// reset had left that took it back.
#[test]
fn a_claim_may_be_withdrawn_before_its_answer_comes() {
    let then = |resets: bool| {
        let mut story = ann_holds();
        let claim = story.calls(BOB, talking_stick());
        let room = Some(LOBBY);
        let reset = resets.then(|| story.calls(BOB, Op::Reset { room }));
        story.answers(claim, stick(1, 1));
        if let Some(reset) = reset {
            story.answers(reset, draft(0));
        }
        is_late(story)
    };
    assert!(!then(true));
    assert!(then(false));
}

/// Found by exploring `soak`, seed 1715: the answer to the claim came after the news that the
/// room was closed.
#[test]
fn a_room_may_be_closed_before_the_answer_to_a_claim_comes() {
    let then = |closes: bool| {
        let mut story = ann_holds();
        let claim = story.calls(BOB, talking_stick());
        if closes {
            story.all_see(&[ANN, BOB], moderation(4, None, Moderated::Closed));
        }
        story.answers(claim, stick(1, 1));
        is_late(story)
    };
    assert!(!then(true));
    assert!(then(false));
}

#[test]
fn who_withdrew_or_went_away_waits_for_nothing() {
    let mut story = bob_is_next(Span::secs(1));
    story.all_see(&[ANN, BOB], member(5, BOB, Presence::Away));
    story.later(Span::secs(20));
    story.drains(&[ANN, BOB]);
    assert!(story.ends().violations.is_empty());

    let mut story = bob_is_next(Span::secs(1));
    let call = story.calls(BOB, Op::Reset { room: Some(LOBBY) });
    story.answers(call, draft(0));
    story.later(Span::secs(20));
    story.drains(&[ANN, BOB]);
    assert!(story.ends().violations.is_empty());
}
