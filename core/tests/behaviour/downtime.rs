//! Downtime: no participant is evicted because the server was down.

use insta::assert_snapshot;

use crate::check::check;

#[test]
fn deadlines_move_by_the_time_down() {
    assert_snapshot!(check("
        config stick_lease=10s
        0s ann login
           ben login
           ann talking_stick
           ben talking_stick
        # Down from 4 s to 1 h: the lease has 6 s left, Ann's presence 296 s.
        4s tick
        1h resume stick_lease=10s
        3605.999s tick
        3606s tick
           ann talking_stick
    "), @r"
    0s ann login ⇒ user_1 in room_1; next 1m
        room_1/1 user.joined ann → ann#1
    ben login ⇒ user_2 in room_1
        room_1/2 user.joined ben → ann#2 ben#1
    ann talking_stick ⇒ place 0 in room_1; ann holds epoch 1 until 10s; next 10s
        room_1/3 stick.granted ann epoch 1 for 10s → ann#3 ben#2
    ben talking_stick ⇒ place 1 in room_1; ann holds epoch 1 until 10s
        room_1/4 stick.claimed ben place 1 → ann#4 ben#3
    # Down from 4 s to 1 h: the lease has 6 s left, Ann's presence 296 s.
    4s tick ⇒ done
    1h resume stick_lease=10s ⇒ done; next 3606s
    3605.999s tick ⇒ done
    3606s tick ⇒ done; next 3616s
        room_1/5 stick.expired ann epoch 1 → ann#5 ben#4
        room_1/6 stick.granted ben epoch 2 for 10s → ann#6 ben#5
    ann talking_stick ⇒ place 1 in room_1; ben holds epoch 2 until 3616s
        room_1/7 stick.claimed ann place 1 → ann#7 ben#6
    ");
}

#[test]
fn streams_are_as_just_closed() {
    assert_snapshot!(check("
        0s ann enter_queue as=ann
           ann seen
           ben enter_queue as=ben
           ben seen
           ann open_stream
           ben open_stream
        1h tick
        2h resume
           ann open_stream
        7260s tick
    "), @r"
    0s ann enter_queue as=ann ⇒ user_1 waits at 1, estimated wait unknown; next 1m
    ann seen ⇒ done; next 5m
    ben enter_queue as=ben ⇒ user_2 waits at 2, estimated wait unknown; next 1m
    ben seen ⇒ done; next 5m
        room_1/1 chatroom.found ben and ann → ann#1 ben#1
    ann open_stream ⇒ done
    ben open_stream ⇒ done; next never
    1h tick ⇒ done
    2h resume ⇒ done; next 121m
        room_1/2 partner.away ann → ben#2
        room_1/3 partner.away ben → ann#2
    ann open_stream ⇒ done
        room_1/4 partner.reconnected ann → ben#3
    7260s tick ⇒ done; next 1561m
        room_1/5 partner.disconnected timeout → ann#3 ben#4
    ");
}

#[test]
fn a_grace_that_was_running_goes_on() {
    assert_snapshot!(check("
        0s ann enter_queue as=ann
           ann seen
           ben enter_queue as=ben
           ben seen
           ann open_stream
        5s ann close_stream
        1h resume
           ann send 'back'
    "), @r#"
    0s ann enter_queue as=ann ⇒ user_1 waits at 1, estimated wait unknown; next 1m
    ann seen ⇒ done; next 5m
    ben enter_queue as=ben ⇒ user_2 waits at 2, estimated wait unknown; next 1m
    ben seen ⇒ done; next 5m
        room_1/1 chatroom.found ben and ann → ann#1 ben#1
    ann open_stream ⇒ done
    5s ann close_stream ⇒ done; next 65s
        room_1/2 partner.away ann → ben#2
    1h resume ⇒ done; next 61m
    ann send 'back' ⇒ sent room_1/4 at 1h; next 3895s
        room_1/3 partner.reconnected ann → ben#3
        room_1/4 message.received ann: "back" → ben#4
    "#);
}

#[test]
fn patience_and_places_in_the_queue_are_kept() {
    assert_snapshot!(check("
        config matching=interests interest_patience=10s
        0s  ann enter_queue interests=rust
            ann seen
        4s  ben enter_queue interests=go
            ben seen
        1h  resume
        3609.999s tick
        3610s tick
        1h  cat enter_queue interests=rust
            cat seen
    "), @r"
    0s  ann enter_queue interests=rust ⇒ user_1 waits at 1, estimated wait unknown; next 10s
    ann seen ⇒ done
    4s  ben enter_queue interests=go ⇒ user_2 waits at 2, estimated wait unknown
    ben seen ⇒ done
    1h  resume ⇒ done; next 3606s
    3609.999s tick ⇒ done; next 3610s
    3610s tick ⇒ done; next 3896s
        room_1/1 chatroom.found user_2 and user_1 → user_1#1 user_2#1
    1h  cat enter_queue interests=rust ⇒ user_3 waits at 1, estimated wait 12s; next 3620s
    cat seen ⇒ done
    ");
}

#[test]
fn the_absent_are_forgotten_no_sooner() {
    assert_snapshot!(check("
        0s ann login
           ann seen
        5m tick
        3d resume
           ann typing
    "), @r"
    0s ann login ⇒ user_1 in room_1; next 1m
        room_1/1 user.joined ann → ann#1
    ann seen ⇒ done; next 5m
    5m tick ⇒ done; next 1445m
        room_1/2 user.away ann → ann#2
    3d resume ⇒ done; next 4d
    ann typing ⇒ done; next 4325m
        ~ room_1 ann types
        room_1/3 user.back ann → ann#3
    ");
}

#[test]
fn one_whose_handle_was_never_used_has_as_long_left_as_before() {
    assert_snapshot!(check("
        0s ann login
        20s tick
        1h resume
        3639.999s tick
        3640s tick
    "), @r"
    0s ann login ⇒ user_1 in room_1; next 1m
        room_1/1 user.joined ann → ann#1
    20s tick ⇒ done
    1h resume ⇒ done; next 3640s
    3639.999s tick ⇒ done
    3640s tick ⇒ done; next never
        user_1 is forgotten
    ");
}

#[test]
fn leases_granted_from_then_on_are_of_the_new_length() {
    assert_snapshot!(check("
        config stick_lease=10s
        0s ann login
           ann talking_stick
        1s resume stick_lease=20s
           ann reset
           ann talking_stick
    "), @r"
    0s ann login ⇒ user_1 in room_1; next 1m
        room_1/1 user.joined ann → ann#1
    ann talking_stick ⇒ place 0 in room_1; ann holds epoch 1 until 10s; next 10s
        room_1/2 stick.granted ann epoch 1 for 10s → ann#2
    1s resume stick_lease=20s ⇒ done; next 11s
    ann reset ⇒ draft of 0, 0 cut; next 301s
        room_1/3 stick.released ann epoch 1 → ann#3
    ann talking_stick ⇒ place 0 in room_1; ann holds epoch 2 until 21s; next 21s
        room_1/4 stick.granted ann epoch 2 for 20s → ann#4
    ");
}

#[test]
fn a_clock_that_went_back_moves_nothing() {
    assert_snapshot!(check("
        config stick_lease=10s
        5m ann login
           ann talking_stick
        1m resume stick_lease=10s
           ann typing
    "), @r"
    5m ann login ⇒ user_1 in room_1; next 6m
        room_1/1 user.joined ann → ann#1
    ann talking_stick ⇒ place 0 in room_1; ann holds epoch 1 until 310s; next 310s
        room_1/2 stick.granted ann epoch 1 for 10s → ann#2
    1m resume stick_lease=10s ⇒ done
    ann typing ⇒ done
        ~ room_1 ann types
    ");
}

#[test]
fn under_lower_limits_what_is_there_stays_and_the_state_can_be_restored() {
    assert_snapshot!(check("
        config stick=optional
        0s ann login lobby
           ann login den
           ann login attic
           ben login lobby
           cat login lobby
           cat leave_chat
           ann send '1' room=room_1
           ann send '2' room=room_1
           ann send '3' room=room_1
           cat enter_queue
        1s resume max_participants=1 max_rooms=1 max_rooms_each=1 max_members=2 inbox_limit=2 history_limit=1
           dan login from=1
           cat login lobby
           ann login cellar
           ann send '4' room=room_1
           ben history
           ben read after=0
    "), @r#"
    0s ann login lobby ⇒ user_1 in room_1; next 1m
        room_1/1 user.joined ann → ann#1
    ann login den ⇒ user_1 in room_2; next 5m
        room_2/1 user.joined ann → ann#2
    ann login attic ⇒ user_1 in room_3
        room_3/1 user.joined ann → ann#3
    ben login lobby ⇒ user_2 in room_1; next 1m
        room_1/2 user.joined ben → ann#4 ben#1
    cat login lobby ⇒ user_3 in room_1
        room_1/3 user.joined cat → ann#5 ben#2 cat#1
    cat leave_chat ⇒ left
        room_1/4 user.left cat → ann#6 ben#3 cat#2
    ann send '1' room=room_1 ⇒ sent room_1/5 at 0s
        room_1/5 message.received ann: "1" → ben#4
    ann send '2' room=room_1 ⇒ sent room_1/6 at 0s
        room_1/6 message.received ann: "2" → ben#5
    ann send '3' room=room_1 ⇒ sent room_1/7 at 0s
        room_1/7 message.received ann: "3" → ben#6
    cat enter_queue ⇒ user_3 waits at 1, estimated wait unknown
    1s resume max_participants=1 max_rooms=1 max_rooms_each=1 max_members=2 inbox_limit=2 history_limit=1 ⇒ done; next 61s
    dan login from=1 ⇒ refused, room_full: At most 2 fit: the room is full, or you are in as many rooms as you may be
    cat login lobby ⇒ refused, room_full: At most 1 fit: the room is full, or you are in as many rooms as you may be
    ann login cellar ⇒ refused, server_full: The server is full; try again later
    ann send '4' room=room_1 ⇒ sent room_1/8 at 1s
        room_1/8 message.received ann: "4" → ben#7
    ben history ⇒ room_1
        room_1/8 message.received ann: "4"
    ben read after=0 ⇒ cursor 7, 0 unread
        gap 1 to 5, room_1/2 to 6 (2 said, you joined, members changed)
        #6 room_1/7 message.received ann: "3"
        #7 room_1/8 message.received ann: "4"
    "#);
}

#[test]
fn numbers_of_a_lost_life_are_passed() {
    assert_snapshot!(check("
        0s ann login
           ben login
           ann talking_stick
           ben talking_stick
        4s tick
        # The life that was lost may have gone on until 1 h.
        1h resume lost
           ann read after=4
           ann read after=9000
           ann read after=5000000000
           ben read
           cat login den
           ben send epoch=3597000002 'hi'
    "), @r#"
    0s ann login ⇒ user_1 in room_1; next 1m
        room_1/1 user.joined ann → ann#1
    ben login ⇒ user_2 in room_1
        room_1/2 user.joined ben → ann#2 ben#1
    ann talking_stick ⇒ place 0 in room_1; ann holds epoch 1 until 2m
        room_1/3 stick.granted ann epoch 1 for 2m → ann#3 ben#2
    ben talking_stick ⇒ place 1 in room_1; ann holds epoch 1 until 2m; next 2m
        room_1/4 stick.claimed ben place 1 → ann#4 ben#3
    4s tick ⇒ done
    # The life that was lost may have gone on until 1 h.
    1h resume lost ⇒ done; next 62m
        room_1/3597000005 stick.expired ann epoch 1 → ann#3597000005 ben#3597000004
        room_1/3597000006 stick.granted ben epoch 3597000002 for 2m → ann#3597000006 ben#3597000005
        ann gap 5 to 3597000004, and more rooms
        ben gap 4 to 3597000003, and more rooms
    ann read after=4 ⇒ cursor 3597000006, 0 unread
        gap 5 to 3597000004, and more rooms
        #3597000005 room_1/3597000005 stick.expired ann epoch 1
        #3597000006 room_1/3597000006 stick.granted ben epoch 3597000002 for 2m
    ann read after=9000 ⇒ cursor 3597000006, 0 unread
        gap 9001 to 3597000004, and more rooms
        #3597000005 room_1/3597000005 stick.expired ann epoch 1
        #3597000006 room_1/3597000006 stick.granted ben epoch 3597000002 for 2m
    ann read after=5000000000 ⇒ refused, invalid_cursor: That cursor lies beyond the end of your inbox, which is 3597000006
    ben read ⇒ cursor 3597000005, 0 unread
        #1 room_1/2 user.joined ben
        #2 room_1/3 stick.granted ann epoch 1 for 2m
        #3 room_1/4 stick.claimed ben place 1
        gap 4 to 3597000003, and more rooms
        #3597000004 room_1/3597000005 stick.expired ann epoch 1
        #3597000005 room_1/3597000006 stick.granted ben epoch 3597000002 for 2m
    cat login den ⇒ user_3597000003 in room_3597000002; next 61m
        room_3597000002/1 user.joined cat → cat#1
    ben send epoch=3597000002 'hi' ⇒ sent room_1/3597000007 at 1h
        room_1/3597000007 message.received ben: "hi" under epoch 3597000002 → ann#3597000007
    "#);
}
