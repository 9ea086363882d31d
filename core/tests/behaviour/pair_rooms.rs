//! Pair rooms.

use crate::check::play;

scripts! {
    a_pair_room_has_no_stick: r#"
        0s given ann,ben pair
        each ann talking_stick; ann talking_stick epoch=1 ⇒ refused, no_stick: A pair room has no talking stick; just send
        ann send 'no stick needed' epoch=7 ⇒ sent room_1/2 at 0s
            room_1/2 message.received ann: "no stick needed" → ben#2
    "#,

    drafts_work_in_pairs_too: r#"
        0s given ann,ben pair
        ann append 'one ' ⇒ draft of 4, 0 cut
        ben append 'mine' ⇒ draft of 4, 0 cut
        ann append 'two' ⇒ draft of 7, 0 cut
        ann undo ⇒ draft of 4, 0 cut
        ann push ⇒ sent room_1/2 at 0s
            room_1/2 message.received ann: "one " → ben#2
        ben reset ⇒ draft of 0, 0 cut
        ben push ⇒ refused, draft_empty: Your draft is empty; append to it first
    "#,

    turns_left_are_told_and_the_last_ends_the_chat: r#"
        config turn_limit=12
        0s given ann,ben pair; ann send '1'
        ben send '2' ⇒ sent room_1/3 at 0s, turns left 10
            room_1/3 message.received ben: "2" → ann#2
        ann send '3' ⇒ sent room_1/4 at 0s, turns left 9
            room_1/4 message.received ann: "3" → ben#3
        given ann send '4'; ann send '5'; ann send '6'; ann send '7'; ann send '8'
        ann send '9' ⇒ sent room_1/10 at 0s, turns left 3
            room_1/10 message.received ann: "9" → ben#9
        ann send '10' ⇒ sent room_1/11 at 0s, turns left 2
            room_1/11 message.received ann: "10" → ben#10
        ann append '11' ⇒ draft of 2, 0 cut
        ann push ⇒ sent room_1/12 at 0s, turns left 1
            room_1/12 message.received ann: "11" → ben#11
        ben send '12' ⇒ sent room_1/13 at 0s, turns left 0
            room_1/13 message.received ben: "12" → ann#3
            room_1/14 partner.disconnected turn_limit → ann#4 ben#12
        ann send '13' ⇒ refused, chat_ended: Chat has ended: it reached its limit of messages
    "#,

    when_one_leaves_the_chat_is_over_for_both: "
        0s given ann,ben pair
        ann leave_chat ⇒ left
            room_1/2 partner.disconnected left → ben#2
        # Leaving twice is no mistake.
        given ann leave_chat room=room_1; ann leave_chat
        each ann send 'x' room=room_1; ben send 'x' room=room_1; ben send 'x'; ben append 'x'; ben push ⇒ refused, chat_ended: Chat has ended: one of you left it
        each ben undo; ben reset; ben talking_stick; ben typing; ben users; ben history room=room_1 ⇒ refused, chat_ended: Chat has ended: one of you left it
        ben leave_chat ⇒ left
    ",

    a_block_ends_the_chat: "
        0s given ann,ben pair
        ann block ben ⇒ done
            room_1/2 partner.disconnected blocked → ben#2
        ben send 'x' ⇒ refused, chat_ended: Chat has ended: one of you blocked the other
    ",

    an_operator_ends_the_chat_for_both: "
        0s given ann,ben pair
        operator close room_1 'spam' ⇒ done
            room_1/2 partner.disconnected closed → ann#2 ben#2
        operator close room_1 'spam' ⇒ refused, chat_ended: Chat has ended: an operator closed it
    ",

    one_who_is_forgotten_has_left: "
        0s given ann,ben pair
        ann unregister ⇒ done
            user_1 is forgotten
            room_1/2 partner.disconnected left → ben#2
        ben send 'x' ⇒ refused, chat_ended: Chat has ended: one of you left it
        ben leave_chat ⇒ left
        ben unregister ⇒ done; next never
            user_2 is forgotten
    ",

    ended_chats_are_remembered_up_to_the_limit: "
        config max_ended_rooms=1
        0s given ann,ben pair; ann leave_chat; cat enter_queue; cat seen; ann enter_queue
        given cat leave_chat
        # Ann remembers the second only, Ben the first, Cat the second.
        ann send 'x' room=room_1 ⇒ refused, room_not_found: Room not found
        each ann send 'x' room=room_2; ben send 'x' room=room_1 ⇒ refused, chat_ended: Chat has ended: one of you left it
        cat send 'x' room=room_1 ⇒ refused, room_not_found: Room not found
        # When Ben forgets too, the room is gone.
        ben unregister ⇒ done
            user_2 is forgotten
        cat send 'x' room=room_1 ⇒ refused, room_not_found: Room not found
        ann leave_chat room=room_1 ⇒ left
    ",

    strangers_are_not_in_the_room: "
        0s given ann,ben pair; cat login
        each cat send 'x' room=room_1; cat history room=room_1 ⇒ refused, not_in_room: You are not in that room; log in to it first; next 5m
        cat leave_chat room=room_1 ⇒ left
        each cat send 'x' room=room_9; cat leave_chat room=room_9; cat leave_chat room=room_0 ⇒ refused, room_not_found: Room not found
    ",
}

#[test]
fn without_a_turn_limit_a_chat_goes_on() {
    let texts = "ann send 'x'\n".repeat(250);
    let told = play(&format!(
        "config turn_limit=none \n 0s given ann,ben pair\n{texts}"
    ))
    .transcript;
    assert!(told.ends_with("room_1/251 message.received ann: \"x\" → ben#251\n"));
    assert!(!told.contains("turns left"));
}
