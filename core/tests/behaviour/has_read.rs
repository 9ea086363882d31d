//! How far each member has read a room: up to the first event that it has not acknowledged.

scripts! {
    a_message_is_read_when_its_reader_acknowledges_it: r#"
        config stick=optional
        0s given ann,ben login; ann ack 2; ben ack 1; ben send '1'; ben send '2'
        ben users ⇒ room_1: ann present since 0s read to 2, ben present since 0s read to 4
        # An answer may be lost on its way: what was delivered is not read.
        given ann deliver 4
        ben users ⇒ room_1: ann present since 0s read to 2, ben present since 0s read to 4
        given ann ack 3
        ben users ⇒ room_1: ann present since 0s read to 3, ben present since 0s read to 4
        # A member's own messages do not wait for it.
        given ann ack 4; ann send '3'
        ben users ⇒ room_1: ann present since 0s read to 5, ben present since 0s read to 4
        # A snapshot has all of it.
        10s resume ⇒ done; next 310s
        ben users ⇒ room_1: ann present since 0s read to 5, ben present since 0s read to 4
    "#,

    what_was_said_before_a_member_joined_does_not_wait_for_it: r#"
        config stick=optional
        0s given ann login; ann send '1'; ann send '2'
        1s given ben login; ann ack 2
        ann users ⇒ room_1: ann present since 0s read to 4, ben present since 1s read to 3
        given ann send '3'
        ann users ⇒ room_1: ann present since 0s read to 5, ben present since 1s read to 3
        # What waits from an earlier stay waits on.
        given ben ack 1; ben leave_chat; ben login
        ann users ⇒ room_1: ann present since 0s read to 5, ben present since 1s read to 4
    "#,

    what_an_inbox_lost_is_read_once_it_is_acknowledged: r#"
        config stick=optional inbox_limit=3
        0s given ann,ben login; ann login den; ben login den; ann ack 4; ben ack 3
        given ben send '1' room=1; ben send '2' room=2; ben send '3' room=2; ben send '4' room=2
        given ben send '5' room=2
        ann read ⇒ cursor 9, 0 unread
            #5 room_1/3 message.received ben: "1"
            gap 6 to 7, room_2/3 to 4 (2 said)
            #8 room_2/5 message.received ben: "4"
            #9 room_2/6 message.received ben: "5"
        ben users room=2 ⇒ room_2: ann present since 0s read to 2, ben present since 0s read to 6
        # Half of a gap is no gap: the loss of a room is acknowledged as a whole.
        given ann ack 6
        ben users room=2 ⇒ room_2: ann present since 0s read to 2, ben present since 0s read to 6
        given ann ack 7
        ben users room=2 ⇒ room_2: ann present since 0s read to 4, ben present since 0s read to 6
        ben users room=1 ⇒ room_1: ann present since 0s read to 3, ben present since 0s read to 3
        given ann ack 9
        ben users room=2 ⇒ room_2: ann present since 0s read to 6, ben present since 0s read to 6
    "#,

    what_a_block_hides_waits_for_nobody: r#"
        config stick=optional
        0s given ann,ben,cat login; ann ack 3; ben ack 2; cat ack 1; ben block ann
        given ann send '1'
        ann users ⇒ room_1: ann present since 0s read to 4, ben present since 0s read to 4, cat present since 0s read to 3
        given cat send '2'; ann send '3'
        ann users ⇒ room_1: ann present since 0s read to 4, ben present since 0s read to 4, cat present since 0s read to 3
    "#,

    partners_see_what_the_other_has_read: r#"
        0s given ann,ben pair; ann send 'hi' room=1
        ann users ⇒ room_1: ann present since 0s read to 0, ben present since 0s read to 0
        given ben ack 2; ann ack 1
        ann users ⇒ room_1: ann present since 0s read to 2, ben present since 0s read to 2
        # What only the other receives does not wait.
        given ben open_stream; ben close_stream
        ann users ⇒ room_1: ann present since 0s read to 2, ben reconnecting since 0s read to 3
    "#,

    nothing_is_known_of_a_lost_life_until_it_is_acknowledged: r#"
        config stick=optional
        0s given ann,ben login; ann ack 2; ben ack 1; ann send '1'; ben ack 2
        10s resume lost ⇒ done; next 70s
            ann gap 3 to 11000002, and more rooms
            ben gap 3 to 11000002, and more rooms
        ann users ⇒ room_1: ann present since 0s read to 0, ben present since 0s read to 0
        given ann ack 11000002
        ann users ⇒ room_1: ann present since 0s read to 11000003, ben present since 0s read to 0
    "#,
}
