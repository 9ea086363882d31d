//! Operators: mute, unmute, kick, close, ban, unban.

scripts! {
    one_who_is_muted_reads_but_does_not_speak: r#"
        config stick=optional
        0s given ann,ben login; ann append 'x'
        operator mute ann 'noise' ⇒ done
            room_1/3 moderation.muted ann "noise" → ann#3 ben#2
        each ann send 'x'; ann append 'x'; ann push; ann talking_stick ⇒ refused, muted: An operator has muted you; you can read and join rooms, but not speak or open one
        ann typing ⇒ done
            ~ room_1 ann types
        ben send 'still here' ⇒ sent room_1/4 at 0s; next 5m
            room_1/4 message.received ben: "still here" → ann#4
        operator unmute ann ⇒ done
        ann push ⇒ sent room_1/5 at 0s
            room_1/5 message.received ann: "x" → ben#3
    "#,

    one_who_is_muted_joins_rooms_and_opens_none: r#"
        0s given ann,ben login
        operator mute ann 'noise' ⇒ done
            room_1/3 moderation.muted ann "noise" → ann#3 ben#2
        ann login den ⇒ refused, muted: An operator has muted you; you can read and join rooms, but not speak or open one
        ben login den ⇒ user_2 in room_2; next 5m
            room_2/1 user.joined ben → ben#3
        ann login DEN ⇒ user_1 in room_2
            room_2/2 user.joined ann → ann#4 ben#4
        operator unmute ann ⇒ done
        ann login attic ⇒ user_1 in room_3
            room_3/1 user.joined ann → ann#5
    "#,

    muted_counts_in_pairs_too: r#"
        0s given ann enter_queue as=ann; ann seen
        operator mute ann 'noise' ⇒ done
        ben enter_queue as=ben ⇒ user_2 waits at 2, estimated wait unknown; next 1m
        ben seen ⇒ done; next 5m
            room_1/1 chatroom.found ben and ann → ann#1 ben#1
        ann send 'x' ⇒ refused, muted: An operator has muted you; you can read and join rooms, but not speak or open one
        operator mute ben 'more noise' ⇒ done
            room_1/2 moderation.muted ben "more noise" → ann#2 ben#2
    "#,

    one_who_is_kicked_is_told_and_may_come_back: r#"
        0s given ann,ben login
        operator kick ann room=room_1 'cool down' ⇒ done
            room_1/3 moderation.kicked ann "cool down" → ann#3 ben#2
        ann send 'x' room=room_1 ⇒ refused, not_in_room: You are not in that room; log in to it first
        ann login ⇒ user_1 in room_1
            room_1/4 user.joined ann → ann#4 ben#3
    "#,

    kicking_the_last_one_closes_the_room: r#"
        0s given ann login
        operator kick ann room=room_1 'bye' ⇒ done
            room_1/2 moderation.kicked ann "bye" → ann#2
        ben login ⇒ user_2 in room_2
            room_2/1 user.joined ben → ben#1
    "#,

    a_kick_ends_a_chat: r#"
        0s given ann,ben pair
        operator kick ann room=room_1 'spam' ⇒ done
            room_1/2 moderation.kicked ann "spam" → ann#2 ben#2
            room_1/3 partner.disconnected closed → ann#3 ben#3
        ann send 'x' ⇒ refused, chat_ended: Chat has ended: an operator closed it
    "#,

    a_closed_room_is_gone_for_all: r#"
        0s given ann,ben login; ann talking_stick
        operator close room_1 'over' ⇒ done
            room_1/4 moderation.closed "over" → ann#4 ben#3
        ann send 'x' ⇒ refused, room_ambiguous: You are in 0 rooms; say which by room_id
        ann login ⇒ user_1 in room_2
            room_2/1 user.joined ann → ann#5
    "#,

    a_ban_keeps_the_name_and_its_look_alikes_out: "
        0s given ann login as=AIice; ben login
        operator ban ann 'spam' ⇒ done
            user_1 is forgotten
            room_1/3 user.left AIice → ben#2
        ann send 'x' ⇒ refused, unknown_handle: This handle is unknown or was forgotten; register again
        each cat login as=AIice; cat login as=Alice; cat login as=AIICE; cat enter_queue as=Alice ⇒ refused, name_not_allowed: That name is not allowed: an operator has banned it
        operator unban aIICE ⇒ done
        cat login as=Alice ⇒ user_3 in room_1
            room_1/4 user.joined Alice → ben#3 Alice#1
    ",

    banning_an_address_again_changes_its_reason: "
        config max_bans=1
        0s operator ban_address 7 'flood' ⇒ done
        operator ban_address 7 'flood again' ⇒ done
        operator ban_address 8 'flood' ⇒ refused, invalid_arguments: the number of bans and mutes that are kept must be at most 1
        operator unban_address 7 ⇒ done
        operator unban_address 7 ⇒ nothing to lift
        operator ban_address 8 'flood' ⇒ done
    ",

    a_muted_address_silences_all_from_it: r#"
        0s given ann login from=7; ben login from=8; cat login from=7; ann,ben,cat talking_stick
        operator mute_address 7 'flood' ⇒ done
            room_1/7 moderation.muted ann "flood" → ann#7 ben#6 cat#5
            room_1/8 stick.released ann epoch 1 → ann#8 ben#7 cat#6
            room_1/9 stick.granted ben epoch 2 for 2m → ann#9 ben#8 cat#7
            room_1/10 moderation.muted cat "flood" → ann#10 ben#9 cat#8
        ann send hello ⇒ refused, muted: An operator has muted you; you can read and join rooms, but not speak or open one
        dan login from=7 ⇒ user_4 in room_1; next 1m
            room_1/11 user.joined dan → ann#11 ben#10 cat#9 dan#1
        dan talking_stick ⇒ refused, muted: An operator has muted you; you can read and join rooms, but not speak or open one; next 2m
        ben send bye ⇒ sent room_1/12 at 0s
            room_1/12 message.received ben: "bye" under epoch 2 → ann#12 cat#10 dan#2
        operator unmute ann ⇒ nothing to lift
        ann talking_stick ⇒ refused, muted: An operator has muted you; you can read and join rooms, but not speak or open one
        operator unban_address 7 ⇒ done
        ann talking_stick ⇒ place 1 in room_1; ben holds epoch 2 until 2m
            room_1/13 stick.claimed ann place 1 → ann#13 ben#11 cat#11 dan#3
    "#,

    an_address_mute_is_told_in_the_order_of_numbers: r#"
        config max_per_address=3 forget_after=1h
        0s given ann login den from=7; ben login from=7; cat login den from=7; dan login den from=8
        given ben unregister; ben login den as=Ben from=7
        # Away, and from there all the same.
        given ann,dan seen; ben,cat open_stream
        6m operator mute_address 7 'flood' ⇒ done; next 65m
            room_1/5 user.away ann → ann#5 cat#4 dan#3 Ben#2
            room_1/6 user.away dan → ann#6 cat#5 dan#4 Ben#3
            room_1/7 moderation.muted ann "flood" → ann#7 cat#6 dan#5 Ben#4
            room_1/8 moderation.muted cat "flood" → ann#8 cat#7 dan#6 Ben#5
            room_1/9 moderation.muted Ben "flood" → ann#9 cat#8 dan#7 Ben#6
        cat unregister ⇒ done
            user_3 is forgotten
            room_1/10 user.left cat → ann#10 dan#8 Ben#7
        operator mute_address 7 'flood again' ⇒ done
            room_1/11 moderation.muted ann "flood again" → ann#11 dan#9 Ben#8
            room_1/12 moderation.muted Ben "flood again" → ann#12 dan#10 Ben#9
        operator mute_address 9 'nobody is there' ⇒ done
    "#,

    an_address_mute_stands_beside_others_and_replaces_a_ban: r#"
        config max_bans=3
        0s given ann login from=7
        operator ban_address 7 'flood' ⇒ done
        operator mute_address 7 'less' ⇒ done
            room_1/2 moderation.muted ann "less" → ann#2
        operator mute ann 'noise' ⇒ done
            room_1/3 moderation.muted ann "noise" → ann#3
        operator unban_address 7 ⇒ done
        ann talking_stick ⇒ refused, muted: An operator has muted you; you can read and join rooms, but not speak or open one; next 5m
        operator unmute ann ⇒ done
        ann talking_stick ⇒ place 0 in room_1; ann holds epoch 1 until 2m; next 2m
            room_1/4 stick.granted ann epoch 1 for 2m → ann#4
    "#,

    who_lifts_nothing_is_told: r#"
        0s given ann login lobby as=Ann
        operator unmute ann ⇒ nothing to lift
        operator mute ann 'x' ⇒ done
            room_1/2 moderation.muted Ann "x" → Ann#2
        operator unban ANN ⇒ done
        operator unban Ann ⇒ nothing to lift
        operator unmute ann ⇒ done
        operator unmute ann ⇒ nothing to lift
        operator unban_address 7 ⇒ nothing to lift
        operator mute_address 7 'x' ⇒ done
        operator unban_address 7 ⇒ done
        operator unban_address 7 ⇒ nothing to lift
    "#,

    operators_name_a_participant_a_room_and_a_reason: "
        0s given ann login lobby; ben login den
        operator mute user_9 'x' ⇒ refused, user_not_found: There is no such participant
        operator mute ann '' ⇒ refused, invalid_arguments: reason must be 1 to 500 visible characters on one line, with single spaces inside; it is empty
        each operator unmute user_9; operator kick user_9 room=room_1 'x' ⇒ refused, user_not_found: There is no such participant
        operator kick ann room=room_9 'x' ⇒ refused, room_not_found: Room not found
        operator kick ann room=room_2 'x' ⇒ refused, not_in_room: You are not in that room; log in to it first
        operator kick ann room=room_1 '' ⇒ refused, invalid_arguments: reason must be 1 to 500 visible characters on one line, with single spaces inside; it is empty
        operator close room_9 'x' ⇒ refused, room_not_found: Room not found
        operator close room_1 '' ⇒ refused, invalid_arguments: reason must be 1 to 500 visible characters on one line, with single spaces inside; it is empty
        operator ban user_9 'x' ⇒ refused, user_not_found: There is no such participant
        each operator ban ann ''; operator ban_address 7 '' ⇒ refused, invalid_arguments: reason must be 1 to 500 visible characters on one line, with single spaces inside; it is empty
    ",

    an_operators_act_is_no_sign_of_life: "
        0s given ann login; ann seen
        250s operator unmute ann ⇒ nothing to lift
        ben login ⇒ user_2 in room_1
            room_1/2 user.joined ben → ann#2 ben#1
        300s operator unmute ben ⇒ nothing to lift; next 310s
            room_1/3 user.away ann → ann#3 ben#2
        310s tick ⇒ done; next 1445m
            user_2 is forgotten
            room_1/4 user.away ben → ann#4
            room_1/5 user.left ben → ann#5
    ",
}
