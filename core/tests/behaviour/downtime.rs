//! Downtime: no participant is evicted because the server was down.

scripts! {
    deadlines_move_by_the_time_down: "
        config stick_lease=10s
        0s given ann,ben login; ann,ben talking_stick
        # Down from 4 s to 1 h: the lease has 6 s left, Ann's presence 296 s.
        4s tick ⇒ done
        1h resume stick_lease=10s ⇒ done; next 3606s
        3605.999s tick ⇒ done
        3606s tick ⇒ done; next 3616s
            room_1/5 stick.expired ann epoch 1 → ann#5 ben#4
            room_1/6 stick.granted ben epoch 2 for 10s → ann#6 ben#5
        ann talking_stick ⇒ place 1 in room_1; ben holds epoch 2 until 3616s
            room_1/7 stick.claimed ann place 1 → ann#7 ben#6
    ",

    streams_are_as_just_closed: "
        0s given ann,ben pair; ann,ben open_stream
        1h tick ⇒ done
        2h resume ⇒ done; next 121m
            room_1/2 partner.away ann → ben#2
            room_1/3 partner.away ben → ann#2
        ann open_stream ⇒ done
            room_1/4 partner.reconnected ann → ben#3
        7260s tick ⇒ done; next 1561m
            room_1/5 partner.disconnected timeout → ann#3 ben#4
    ",

    a_grace_that_was_running_goes_on: r#"
        0s given ann,ben pair; ann open_stream
        5s ann close_stream ⇒ done; next 65s
            room_1/2 partner.away ann → ben#2
        1h resume ⇒ done; next 61m
        ann send 'back' ⇒ sent room_1/4 at 1h; next 3895s
            room_1/3 partner.reconnected ann → ben#3
            room_1/4 message.received ann: "back" → ben#4
    "#,

    patience_and_places_in_the_queue_are_kept: "
        config matching=interests interest_patience=10s
        0s given ann enter_queue interests=rust; ann seen
        4s given ben enter_queue interests=go; ben seen
        1h  resume ⇒ done; next 3606s
        3609.999s tick ⇒ done; next 3610s
        3610s tick ⇒ done; next 3896s
            room_1/1 chatroom.found user_2 and user_1 → user_1#1 user_2#1
        1h  cat enter_queue interests=rust ⇒ user_3 waits at 1, estimated wait 12s; next 3620s
        cat seen ⇒ done
    ",

    the_absent_are_forgotten_no_sooner: "
        0s given ann login; ann seen
        5m tick ⇒ done; next 1445m
            room_1/2 user.away ann → ann#2
        3d resume ⇒ done; next 4d
        ann typing ⇒ done; next 4325m
            ~ room_1 ann types
            room_1/3 user.back ann → ann#3
    ",

    an_unused_handle_has_as_long_left_as_before: "
        0s given ann login
        20s tick ⇒ done
        1h resume ⇒ done; next 3640s
        3639.999s tick ⇒ done
        3640s tick ⇒ done; next never
            user_1 is forgotten
    ",

    a_step_of_the_clock_moves_leases: "
        config stick_lease=10s
        0s given ann login; ann talking_stick
        1h step ⇒ done; next 3610s
        3609s ann talking_stick ⇒ place 0 in room_1; ann holds epoch 1 until 3610s
    ",

    leases_granted_from_then_on_are_of_the_new_length: "
        config stick_lease=10s
        0s given ann login; ann talking_stick
        1s resume stick_lease=20s ⇒ done; next 11s
        ann reset ⇒ draft of 0, 0 cut; next 301s
            room_1/3 stick.released ann epoch 1 → ann#3
        ann talking_stick ⇒ place 0 in room_1; ann holds epoch 2 until 21s; next 21s
            room_1/4 stick.granted ann epoch 2 for 20s → ann#4
    ",

    a_clock_that_went_back_moves_nothing: "
        config stick_lease=10s
        5m given ann login
        ann talking_stick ⇒ place 0 in room_1; ann holds epoch 1 until 310s; next 310s
            room_1/2 stick.granted ann epoch 1 for 10s → ann#2
        1m resume stick_lease=10s ⇒ done
        ann typing ⇒ done
            ~ room_1 ann types
    ",

    under_lower_limits_what_is_there_stays: r#"
        config stick=optional
        0s given ann login lobby; ann login den; ann login attic; ben,cat login lobby
        given cat leave_chat; ann send '1' room=room_1; ann send '2' room=room_1
        given ann send '3' room=room_1; cat enter_queue
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
    "#,

    numbers_of_a_lost_life_are_passed: r#"
        0s given ann,ben login; ann,ben talking_stick
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
    "#,
}
