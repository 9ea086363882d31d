//! Full rooms, servers and addresses: the participant that is away longest is replaced.

scripts! {
    in_a_full_room_the_member_longest_away_leaves: "
        config max_members=2
        0s given ann,ben login; ben seen
        1s given ann seen
        302s cat login ⇒ user_3 in room_1; next 362s
            room_1/3 user.away ben → ann#3 ben#2
            room_1/4 user.away ann → ann#4 ben#3
            room_1/5 user.left ben → ann#5 ben#4
            room_1/6 user.joined cat → ann#6 cat#1
        dan login ⇒ user_4 in room_1
            room_1/7 user.left ann → ann#7 cat#2
            room_1/8 user.joined dan → cat#3 dan#1
        # Both who are there were never away.
        eve login from=1 ⇒ refused, room_full: At most 2 fit: the room is full, or you are in as many rooms as you may be
        ann typing room=room_1 ⇒ refused, not_in_room: You are not in that room; log in to it first
    ",

    a_member_in_grace_keeps_its_place: "
        config max_members=2
        0s given ann,ben login; ben,ann open_stream; ann close_stream
        59s cat login ⇒ refused, room_full: At most 2 fit: the room is full, or you are in as many rooms as you may be
        60s cat login ⇒ user_3 in room_1; next 2m
            room_1/3 user.away ann → ann#3 ben#2
            room_1/4 user.left ann → ann#4 ben#3
            room_1/5 user.joined cat → ben#4 cat#1
    ",

    a_member_that_is_already_in_a_full_room_takes_no_place: "
        config max_members=2
        0s given ann login; ann seen; ben login; ben open_stream
        6m ben login ⇒ user_2 in room_1; next 1445m
            room_1/3 user.away ann → ann#3 ben#2
        ben users ⇒ room_1: ann away since 0s read to 0, ben present since 0s read to 1
    ",

    of_two_equally_long_away_the_lower_makes_place: "
        config max_members=2
        # Ben joins first, and has the higher number.
        0s given ann break chimaek; ben,ann login; ben seen
        6m cat login ⇒ user_3 in room_1; next 7m
            room_1/3 user.away ann → ann#2 ben#3
            room_1/4 user.away ben → ann#3 ben#4
            room_1/5 user.left ann → ann#4 ben#5
            room_1/6 user.joined cat → ben#6 cat#1
    ",

    of_two_equally_long_away_the_lower_is_forgotten: "
        config max_participants=2
        0s given ann,ben login; ben,ann seen
        6m cat login ⇒ user_3 in room_1; next 7m
            user_1 is forgotten
            room_1/3 user.away ann → ben#2
            room_1/4 user.away ben → ben#3
            room_1/5 user.left ann → ben#4
            room_1/6 user.joined cat → ben#5 cat#1
    ",

    on_a_full_server_the_longest_away_is_forgotten: "
        config max_participants=2
        0s given ann login; ben login den; ben seen
        1s given ann seen
        302s cat break chimaek ⇒ user_3 on chimaek, stress 0, boss 0, told at 302s; next 362s
            user_2 is forgotten
            room_1/2 user.away ann → ann#2
        dan break chimaek ⇒ user_4 on chimaek, stress 0, boss 0, told at 302s
            user_1 is forgotten
        eve break chimaek ⇒ refused, server_full: The server is full; try again later
        ben typing ⇒ refused, unknown_handle: This handle is unknown or was forgotten; register again
    ",

    a_refused_registration_takes_no_place: "
        config max_participants=1
        0s given ann login; ann seen
        6m ben login as=ann from=1 ⇒ refused, name_taken: That name is taken: another has it, or one that looks like it. If that is you, pass your handle; else choose another. Whoever is away for 1d loses its name, and an operator can free it sooner; next 1445m
            room_1/2 user.away ann → ann#2
        ben login '' from=1 ⇒ refused, invalid_arguments: room must be 1 to 64 visible characters on one line, with single spaces inside; it is empty
        ann users ⇒ room_1: ann away since 0s read to 0
    ",

    one_who_came_back_was_not_away_longest: "
        config max_participants=2
        0s given ann,ben break chimaek; ann seen
        1s given ben seen
        6m  ann seen ⇒ done; next 11m
        7m  cat break chimaek ⇒ user_3 on chimaek, stress 0, boss 0, told at 7m; next 8m
            user_2 is forgotten
        cat seen ⇒ done; next 11m
        11m dan break chimaek ⇒ user_4 on chimaek, stress 0, boss 1, told at 11m; next 12m
            user_1 is forgotten
    ",

    after_downtime_the_same_one_was_away_longest: "
        config max_participants=3
        0s given ann,ben,cat break chimaek; ann,ben open_stream; cat seen
        1s given ben close_stream
        6m  tick ⇒ done; next 86461s
        9h  resume max_participants=3 ⇒ done; next 541m
        # Ann's stream broke; its grace ends later than Ben's and Cat's presence.
        10h dan break chimaek ⇒ user_4 on chimaek, stress 0, boss 1, told at 10h; next 601m
            user_2 is forgotten
        eve break chimaek ⇒ user_5 on chimaek, stress 0, boss 1, told at 10h
            user_3 is forgotten
        fay break chimaek ⇒ user_6 on chimaek, stress 0, boss 0, told at 10h
            user_1 is forgotten
        gus break chimaek ⇒ refused, server_full: The server is full; try again later
    ",

    the_room_of_the_forgotten_one_opens_anew: "
        config max_participants=1 max_rooms=1
        0s given ann login den; ann seen
        6m ben login den ⇒ user_2 in room_2; next 7m
            user_1 is forgotten
            room_2/1 user.joined ben → ben#1
    ",

    one_who_is_forgotten_leaves_a_place_in_the_room_too: "
        config max_participants=3 max_members=2
        0s given ann,ben login; ann seen
        1s given ben seen; cat break chimaek; cat open_stream
        6m dan login ⇒ user_4 in room_1; next 7m
            user_1 is forgotten
            room_1/3 user.away ann → ben#2
            room_1/4 user.away ben → ben#3
            room_1/5 user.left ann → ben#4
            room_1/6 user.joined dan → ben#5 dan#1
        cat users ⇒ refused, room_ambiguous: You are in 0 rooms; say which by room_id
        dan users ⇒ room_1: ben away since 0s read to 1, dan present since 6m read to 5
    ",

    a_full_address_gives_up_its_own_longest_away: "
        config max_per_address=2
        0s given ann,ben break chimaek from=1; cat break chimaek from=2; cat seen
        1s given ben seen
        2s given ann seen
        # Cat is longest away, but of another address.
        303s dan break chimaek from=1 ⇒ user_4 on chimaek, stress 0, boss 1, told at 303s; next 363s
            user_2 is forgotten
        eve break chimaek from=1 ⇒ user_5 on chimaek, stress 0, boss 1, told at 303s
            user_1 is forgotten
        # Those who are there make place as long as their handles were not used.
        dan seen ⇒ done
        fay break chimaek from=1 ⇒ user_6 on chimaek, stress 0, boss 1, told at 303s
            user_5 is forgotten
        fay seen ⇒ done; next 603s
        gus break chimaek from=1 ⇒ refused, address_full: At most 2 may be registered from your address, and all of them are in use. Do not register again: pass the handle of one of them, unregister one, or wait until one has gone away
        gus break chimaek from=2 ⇒ user_7 on chimaek, stress 0, boss 1, told at 303s; next 363s
        cat break chimaek ⇒ user_3 on chimaek, stress 0, boss 1, told at 303s
    ",

    on_a_full_server_a_full_address_gives_up_one_of_its_own: "
        config max_participants=3 max_per_address=2
        0s given ann,ben break chimaek from=1; cat break chimaek from=2; cat seen
        1s given ann seen; ben open_stream
        302s dan break chimaek from=1 ⇒ user_4 on chimaek, stress 0, boss 1, told at 302s; next 362s
            user_1 is forgotten
        dan seen ⇒ done; next 602s
        eve break chimaek from=1 ⇒ refused, address_full: At most 2 may be registered from your address, and all of them are in use. Do not register again: pass the handle of one of them, unregister one, or wait until one has gone away
        # An address with space takes the place of any.
        eve break chimaek from=3 ⇒ user_5 on chimaek, stress 0, boss 1, told at 302s; next 362s
            user_3 is forgotten
    ",

    an_address_counts_its_own_until_they_are_forgotten: "
        config max_per_address=1
        0s ann break chimaek from=1 key=1 ⇒ user_1 on chimaek, stress 0, boss 1, told at 0s; next 1m
        # A repeated registration takes no second place, wherever it comes from.
        ann new break chimaek from=1 key=1 ⇒ user_1 on chimaek, stress 0, boss 1, told at 0s
        ann new break chimaek from=2 key=1 ⇒ user_1 on chimaek, stress 0, boss 1, told at 0s
        ben break chimaek from=2 ⇒ user_2 on chimaek, stress 0, boss 0, told at 0s
        ann seen ⇒ done
        cat break chimaek from=1 ⇒ refused, address_full: At most 1 may be registered from your address, and all of them are in use. Do not register again: pass the handle of one of them, unregister one, or wait until one has gone away
        ann unregister ⇒ done
            user_1 is forgotten
        cat break chimaek from=1 ⇒ user_3 on chimaek, stress 0, boss 1, told at 0s
        1m dan break chimaek from=1 ⇒ user_4 on chimaek, stress 0, boss 0, told at 1m; next 2m
            user_2 is forgotten
            user_3 is forgotten
    ",
}
