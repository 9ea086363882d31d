//! Presence and its consequences.

scripts! {
    one_with_an_unused_handle_is_forgotten_after_a_minute: "
        0s given ann,ben login; ben open_stream
        59.999s tick ⇒ done
        60s tick ⇒ done; next never
            user_1 is forgotten
            room_1/3 user.away ann → ben#2
            room_1/4 user.left ann → ben#3
        ann typing ⇒ refused, unknown_handle: This handle is unknown or was forgotten; register again
        ann login ⇒ user_3 in room_1; next 2m
            room_1/5 user.joined ann → ben#4 ann#1
    ",

    any_call_keeps_one_present_for_five_minutes: "
        0s given ann login
        10s ann typing ⇒ done; next 310s
            ~ room_1 ann types
        309s ann send 'refused calls count too' ⇒ refused, stick_required: You do not hold the talking stick; claim it and wait for the grant; next 609s
        # To be heard of through reads does so, too.
        10m ann seen ⇒ done; next 15m
        899s tick ⇒ done
        15m tick ⇒ done; next 1455m
            room_1/2 user.away ann → ann#2
    ",

    an_open_stream_keeps_one_present_for_ever: "
        0s given ann login
        1s  ann open_stream ⇒ done; next never
        40h tick ⇒ done
        40h ann users ⇒ room_1: ann present since 0s read to 0
    ",

    past_the_grace_after_the_last_stream_one_is_away: "
        0s given ann,ben login; ben open_stream
        # To close one that is not open changes nothing.
        ann close_stream ⇒ done
        given ann,ann open_stream
        10s ann close_stream ⇒ done
        ann users ⇒ room_1: ann present since 0s read to 0, ben present since 0s read to 1
        20s ann close_stream ⇒ done; next 80s
        79s ann users ⇒ room_1: ann reconnecting since 0s read to 0, ben present since 0s read to 1
        80s tick ⇒ done; next 86480s
            room_1/3 user.away ann → ann#3 ben#2
        ben users ⇒ room_1: ann away since 0s read to 0, ben present since 0s read to 1
    ",

    a_partner_hears_of_the_grace_and_of_the_return: r#"
        0s given ann,ben pair; ben seen; ann open_stream
        1s  ann close_stream ⇒ done; next 61s
            room_1/2 partner.away ann → ben#2
        60s ann open_stream ⇒ done; next 5m
            room_1/3 partner.reconnected ann → ben#3
        # Only within the grace is a return told.
        61s ann send 'here I am' ⇒ sent room_1/4 at 61s
            room_1/4 message.received ann: "here I am" → ben#4
    "#,

    a_pair_room_ends_when_the_grace_is_over: "
        0s given ann,ben pair; ben,ann open_stream
        1s  ann close_stream ⇒ done; next 61s
            room_1/2 partner.away ann → ben#2
        61s tick ⇒ done; next 86461s
            room_1/3 partner.disconnected timeout → ann#2 ben#3
        ben send 'hello?' ⇒ refused, chat_ended: Chat has ended: one of you was away, after no call for 5m or a lost connection
    ",

    a_grace_that_began_before_the_match_is_told: "
        config matching=interests interest_patience=20s
        0s given ann enter_queue as=ann interests=tea; ann seen; ann open_stream
        1s given ben enter_queue as=ben interests=jam; ben seen; ben open_stream
        2s  ann close_stream ⇒ done
        ben close_stream ⇒ done
        21s ben typing ⇒ done; next 62s
            ~ room_1 ben types
            room_1/1 chatroom.found ben and ann → ann#1 ben#1
            room_1/2 partner.away ann → ben#2
            room_1/3 partner.away ben → ann#2
            room_1/4 partner.reconnected ben → ann#3
        22s ann leave_chat ⇒ left; next 321s
            room_1/5 partner.reconnected ann → ben#3
            room_1/6 partner.disconnected left → ben#4
        # One is in grace, and the other has just called.
        ann enter_queue ⇒ user_1 waits at 1, estimated wait 20.5s
        ann open_stream ⇒ done
        23s ann close_stream ⇒ done; next 83s
        dan enter_queue as=dan ⇒ user_3 waits at 2, estimated wait 20.5s
        dan seen ⇒ done
            room_2/1 chatroom.found dan and ann → ann#4 dan#1
            room_2/2 partner.away ann → dan#2
        ann typing ⇒ done; next 321s
            ~ room_2 ann types
            room_2/3 partner.reconnected ann → dan#3
    ",

    going_away_leaves_the_queue: "
        0s given ann enter_queue; ann seen
        300s ben enter_queue ⇒ user_2 waits at 1, estimated wait unknown; next 6m
        301s ann leave_queue ⇒ was not waiting
    ",

    going_away_gives_the_stick_back_and_withdraws_a_claim: "
        config stick_lease=10m
        0s given ann,ben,cat login; cat,ann,ben open_stream; ann,ben,cat talking_stick
        1s  ben close_stream ⇒ done; next 61s
        ann close_stream ⇒ done
        61s tick ⇒ done; next 661s
            room_1/7 stick.released ann epoch 1 → ann#7 ben#6 cat#5
            room_1/8 stick.granted ben epoch 2 for 10m → ann#8 ben#7 cat#6
            room_1/9 user.away ann → ann#9 ben#8 cat#7
            room_1/10 stick.released ben epoch 2 → ann#10 ben#9 cat#8
            room_1/11 stick.granted cat epoch 3 for 10m → ann#11 ben#10 cat#9
            room_1/12 user.away ben → ann#12 ben#11 cat#10
    ",

    away_one_stays_in_named_rooms_with_draft_and_inbox: r#"
        0s given ann,ben login; ann talking_stick; ann append 'unsaid'; ben open_stream
        5m  ben talking_stick ⇒ place 0 in room_1; ben holds epoch 2 until 7m; next 7m
            room_1/4 stick.expired ann epoch 1 → ann#4 ben#3
            room_1/5 user.away ann → ann#5 ben#4
            room_1/6 stick.granted ben epoch 2 for 2m → ann#6 ben#5
        ben send 'anyone?' ⇒ sent room_1/7 at 5m
            room_1/7 message.received ben: "anyone?" under epoch 2 → ann#7
        ben push ⇒ refused, draft_empty: Your draft is empty; append to it first
        ben reset ⇒ draft of 0, 0 cut; next 1445m
            room_1/8 stick.released ben epoch 2 → ann#8 ben#6
        6m  ann talking_stick ⇒ place 0 in room_1; ann holds epoch 3 until 8m; next 8m
            room_1/9 user.back ann → ann#9 ben#7
            room_1/10 stick.granted ann epoch 3 for 2m → ann#10 ben#8
        ann push ⇒ sent room_1/11 at 6m; next 11m
            room_1/11 message.received ann: "unsaid" under epoch 3 → ben#9
            room_1/12 stick.released ann epoch 3 → ann#11 ben#10
        ann read after=0 max=4 ⇒ cursor 4, 7 unread
            #1 room_1/1 user.joined ann
            #2 room_1/2 user.joined ben
            #3 room_1/3 stick.granted ann epoch 1 for 2m
            #4 room_1/4 stick.expired ann epoch 1
    "#,

    any_call_brings_one_back_even_a_refused_one: "
        0s given ann,ben login; ben open_stream; ann seen
        6m ann send 'x' ⇒ refused, stick_required: You do not hold the talking stick; claim it and wait for the grant; next 11m
            room_1/3 user.away ann → ann#3 ben#2
            room_1/4 user.back ann → ann#4 ben#3
        # A read does so, too.
        12m ann seen ⇒ done; next 17m
            room_1/5 user.away ann → ann#5 ben#4
            room_1/6 user.back ann → ann#6 ben#5
    ",

    one_away_for_a_day_is_forgotten_and_the_name_free: "
        0s given ann login as=Ann; ben login; ben open_stream; ann seen
        5m  tick ⇒ done; next 1445m
            room_1/3 user.away Ann → Ann#3 ben#2
        1445m ann typing ⇒ refused, unknown_handle: This handle is unknown or was forgotten; register again; next never
            user_1 is forgotten
            room_1/4 user.left Ann → ben#3
        cat login as=Ann ⇒ user_3 in room_1; next 1446m
            room_1/5 user.joined Ann → ben#4 Ann#1
    ",

    the_last_to_be_forgotten_closes_the_room: "
        0s given ann login den; ann seen
        1445m tick ⇒ done; next never
            user_1 is forgotten
        ben login den ⇒ user_2 in room_2; next 1446m
            room_2/1 user.joined ben → ben#1
    ",

    a_stream_too_many_is_refused: "
        config max_streams=2
        0s given ann login; ann,ann open_stream
        1s ann open_stream ⇒ refused, rate_limited: Too many calls; try again in 1s
        ann close_stream ⇒ done
        ann open_stream ⇒ done
    ",

    a_stream_is_not_for_the_next_with_the_same_handle: "
        0s given ann login; ann unregister; ann login
        # The first of the two is gone.
        each user_1 open_stream; user_1 seen; user_1 close_stream; user_1 ack 1 ⇒ refused, unknown_handle: This handle is unknown or was forgotten; register again
        1m tick ⇒ done; next never
            user_2 is forgotten
    ",
}
