//! Registration, names, and public ids.

scripts! {
    a_retried_registration_works_until_the_first_use: "
        0s ann login lobby key=1 ⇒ user_1 in room_1; next 1m
            room_1/1 user.joined ann → ann#1
        1s ann new login lobby key=1 ⇒ user_1 in room_1
        ben login lobby ⇒ user_2 in room_1
            room_1/2 user.joined ben → ann#2 ben#1
        2s ann seen ⇒ done; next 61s
        ann new login lobby key=1 ⇒ refused, handle_required: Pass your handle; login, enter_queue or a break gives you one, under a request_key that was not used before
        # Nor is it the participant's own under another key.
        ann new login lobby key=2 ⇒ refused, handle_required: Pass your handle; login, enter_queue or a break gives you one, under a request_key that was not used before
        ann login lobby key=1 ⇒ user_1 in room_1
    ",

    a_retried_entry_into_the_queue_is_the_same: "
        0s ann enter_queue key=1 ⇒ user_1 waits at 1, estimated wait unknown; next 1m
        1s ann new enter_queue key=1 ⇒ user_1 waits at 1, estimated wait unknown
        # Without the key it is another request.
        2s ann new enter_queue ⇒ refused, already_waiting: You are in the queue already; wait for chatroom.found
        ann leave_queue ⇒ left the queue; next 302s
        ann new enter_queue key=1 ⇒ refused, handle_required: Pass your handle; login, enter_queue or a break gives you one, under a request_key that was not used before
    ",

    a_retried_registration_is_no_use_of_the_handle: "
        0s  ann login lobby key=1 ⇒ user_1 in room_1; next 1m
            room_1/1 user.joined ann → ann#1
        59s ann new login lobby key=1 ⇒ user_1 in room_1
        60s ann new login lobby key=1 ⇒ user_2 in room_2; next 2m
            user_1 is forgotten
            room_2/1 user.joined ann → ann#1
    ",

    a_handle_that_was_never_given_is_unknown: "
        0s each ann send 'hi'; ann leave_queue; ann unregister ⇒ refused, unknown_handle: This handle is unknown or was forgotten; register again
    ",

    only_login_and_enter_queue_register: "
        0s each ann new send 'hi'; ann new leave_queue; ann new unregister ⇒ refused, handle_required: Pass your handle; login, enter_queue or a break gives you one, under a request_key that was not used before
        ann login ⇒ user_1 in room_1; next 1m
            room_1/1 user.joined ann → ann#1
    ",

    a_name_or_its_look_alike_is_borne_by_one_at_a_time: r"
        0s given ann login as=Ann
        each ben login as=Ann from=1; ben login as=ANN from=1; ben login as='A n n' from=1 ⇒ refused, name_taken: That name is taken: another has it, or one that looks like it. If that is you, pass your handle; else choose another. Whoever is away for 1d loses its name, and an operator can free it sooner
        ben login as=\u{410}NN from=1 ⇒ refused, name_not_allowed: That name is not allowed: each of its words must keep to the letters of one script
        ben login as=Anna from=1 ⇒ user_2 in room_1
            room_1/2 user.joined Anna → Ann#2 Anna#1
    ",

    reserved_names_are_refused: r"
        0s ann login as=Server ⇒ refused, name_not_allowed: That name is not allowed: it has a word that is reserved for the server, or looks like one
        ann login as=\u{455}\u{443}stem ⇒ refused, name_not_allowed: That name is not allowed: each of its words must keep to the letters of one script
        ann enter_queue as='Sys tem' ⇒ refused, name_not_allowed: That name is not allowed: it has a word that is reserved for the server, or looks like one
        ann login as=Servant ⇒ user_1 in room_1; next 1m
            room_1/1 user.joined Servant → Servant#1
    ",

    a_name_is_one_line_of_visible_characters: r"
        0s each ann login as=; ann login as='x'*65 ⇒ refused, name_not_allowed: That name is not allowed: it must have 1 to 64 characters
        each ann login as=a\u{200b}b; ann enter_queue as=' a' ⇒ refused, name_not_allowed: That name is not allowed: it must be one line of visible characters, with single spaces at most inside
        ann login as='x'*64 ⇒ user_1 in room_1; next 1m
            room_1/1 user.joined xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx → xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx#1
    ",

    names_like_user_7_are_the_servers_to_give: "
        0s each ann login as=user_7; ann login as=USER_7; ann login as=user_l ⇒ refused, name_taken: That name is taken: user_ and a number is a name that only the server gives; choose another
        ann enter_queue id=user_7 ⇒ refused, user_id_taken: That user_id is taken, looks like another's name or user_id, is the server's own (user_ and a number, or a word such as system), or an operator has banned it
        ann enter_queue ⇒ user_1 waits at 1, estimated wait unknown; next 1m
        ben login as=user_1 ⇒ refused, name_taken: That name is taken: user_ and a number is a name that only the server gives; choose another
    ",

    a_chosen_public_id_is_shown_with_the_name: "
        0s given ann enter_queue id=ann.a as=Ann; ann seen
        ben enter_queue id=ann.a ⇒ refused, user_id_taken: That user_id is taken, looks like another's name or user_id, is the server's own (user_ and a number, or a word such as system), or an operator has banned it
        ben enter_queue id='ben b' ⇒ refused, invalid_arguments: user_id must be 1 to 64 letters, digits, dots, dashes and underscores
        ben enter_queue id=ben_b ⇒ user_2 waits at 2, estimated wait unknown; next 1m
        ben seen ⇒ done; next 5m
            room_1/1 chatroom.found user_2 (ben_b) and Ann (ann.a) → Ann#1 user_2#1
    ",

    a_chosen_public_id_is_a_name_among_the_others: "
        0s given ann enter_queue id=AIice as=Ann
        ben enter_queue id=alice from=1 ⇒ refused, user_id_taken: That user_id is taken, looks like another's name or user_id, is the server's own (user_ and a number, or a word such as system), or an operator has banned it
        each ben login as=Alice from=1; ben login as=AIICE from=1 ⇒ refused, name_taken: That name is taken: another has it, or one that looks like it. If that is you, pass your handle; else choose another. Whoever is away for 1d loses its name, and an operator can free it sooner
        each ben enter_queue id=ann from=1; ben enter_queue id=the-server from=1 ⇒ refused, user_id_taken: That user_id is taken, looks like another's name or user_id, is the server's own (user_ and a number, or a word such as system), or an operator has banned it
        ben enter_queue id=ADMIN from=1 ⇒ refused, user_id_taken: That user_id is taken, looks like another's name or user_id, is the server's own (user_ and a number, or a word such as system), or an operator has banned it
        ann unregister ⇒ done; next never
            user_1 is forgotten
        ben enter_queue id=alice as=Alice from=1 ⇒ user_2 waits at 1, estimated wait unknown; next 1m
        dan login as=A1ice ⇒ refused, name_taken: That name is taken: another has it, or one that looks like it. If that is you, pass your handle; else choose another. Whoever is away for 1d loses its name, and an operator can free it sooner
    ",

    a_ghost_of_the_same_address_gives_its_name_away: "
        # The answer is lost, and the call is made again; then once more, when the handle was used.
        0s   lost login as=Ann ⇒ user_1 in room_1; next 1m
            room_1/1 user.joined Ann → Ann#1
        ann login as=Ann ⇒ user_2 in room_2
            user_1 is forgotten
            room_2/1 user.joined Ann → Ann#1
        ann seen ⇒ done; next 5m
        again login as=Ann ⇒ refused, name_taken: That name is taken: one from your own address has it, or one that looks like it. If that is you, pass your handle; else choose another. If it stays silent, it gives way to you in 5m
        again login as=Ann from=1 ⇒ refused, name_taken: That name is taken: another has it, or one that looks like it. If that is you, pass your handle; else choose another. Whoever is away for 1d loses its name, and an operator can free it sooner
        # Its client is started anew.
        5m   again login as=Ann from=1 ⇒ refused, name_taken: That name is taken: another has it, or one that looks like it. If that is you, pass your handle; else choose another. Whoever is away for 1d loses its name, and an operator can free it sooner; next 1445m
            room_2/2 user.away Ann → Ann#2
        again login as=Ann ⇒ user_3 in room_3; next 6m
            user_2 is forgotten
            room_3/1 user.joined Ann → Ann#1
        cat enter_queue as=Cat id=c ⇒ user_4 waits at 1, estimated wait unknown
        dan enter_queue as=Dan id=C ⇒ user_5 waits at 1, estimated wait unknown
            user_4 is forgotten
        # Two names look like this one.
        eve login as=allce ⇒ user_6 in room_3
            room_3/2 user.joined allce → Ann#2 allce#1
        fay login as=ALICE ⇒ user_7 in room_3
            user_6 is forgotten
            room_3/3 user.left allce → Ann#3
            room_3/4 user.joined ALICE → Ann#4 ALICE#1
        gus login as=Gus ⇒ user_8 in room_3
            room_3/5 user.joined Gus → Ann#5 ALICE#2 Gus#1
        gus login as=AlICE ⇒ refused, name_not_allowed: That name is not allowed: your handle has a name already, which cannot be changed
    ",

    a_ghosts_name_is_taken_when_all_checks_have_passed: "
        config max_rooms_each=1
        0s given ann login den as=Ann; ben enter_queue
        ben login den as=Ann ⇒ refused, room_full: At most 1 fit: the room is full, or you are in as many rooms as you may be
        ben leave_queue ⇒ left the queue
        ben login den as=Ann ⇒ user_2 in room_2; next 5m
            user_1 is forgotten
            room_2/1 user.joined Ann → Ann#1
        cat break chimaek from=1 ⇒ user_3 on chimaek, stress 0, boss 0, told at 0s; next 1m
        cat login den as=Ann ⇒ refused, name_taken: That name is taken: another has it, or one that looks like it. If that is you, pass your handle; else choose another. Whoever is away for 1d loses its name, and an operator can free it sooner; next 5m
    ",

    names_of_one_script_that_look_like_another_s_are_taken: r"
        0s ann login as=bob ⇒ user_1 in room_1; next 1m
            room_1/1 user.joined bob → bob#1
        ben login as=\u{412}\u{41e}\u{412} from=1 ⇒ refused, name_taken: That name is taken: another has it, or one that looks like it. If that is you, pass your handle; else choose another. Whoever is away for 1d loses its name, and an operator can free it sooner
        ben login as=Alice from=1 ⇒ user_2 in room_1
            room_1/2 user.joined Alice → bob#2 Alice#1
        each dan login as=AIice; dan login as=ALlCE ⇒ refused, name_taken: That name is taken: another has it, or one that looks like it. If that is you, pass your handle; else choose another. Whoever is away for 1d loses its name, and an operator can free it sooner
        dan login as=\u{1f980} ⇒ refused, name_not_allowed: That name is not allowed: it needs a letter or a digit
        dan login as=\u{301}x ⇒ refused, name_not_allowed: That name is not allowed: a combining mark must follow a letter or a digit, at most four on each
        dan login as=Operator: ⇒ refused, name_not_allowed: That name is not allowed: it has a word that is reserved for the server, or looks like one
        dan login as=x\u{1f980} ⇒ user_3 in room_1
            room_1/3 user.joined x🦀 → bob#3 Alice#2 x🦀#1
    ",

    one_without_a_name_may_choose_it_once: "
        0s given ann enter_queue
        1s ann login lobby as=Ann ⇒ user_1 in room_1; next 301s
            room_1/1 user.joined Ann → Ann#1
        ann login den as=Ann ⇒ user_1 in room_2
            room_2/1 user.joined Ann → Ann#2
        ann login den as=Anna ⇒ refused, name_not_allowed: That name is not allowed: your handle has a name already, which cannot be changed
        ann leave_queue ⇒ left the queue
        ann enter_queue as=Anna ⇒ refused, name_not_allowed: That name is not allowed: your handle has a name already, which cannot be changed
        ann enter_queue ⇒ user_1 waits at 1, estimated wait unknown
    ",

    a_handle_logs_in_to_further_rooms: "
        0s given ann,ben login lobby
        1s ann login den ⇒ user_1 in room_2
            room_2/1 user.joined ann → ann#3
        ann login den ⇒ user_1 in room_2
        ann users room=room_1 ⇒ room_1: ann present since 0s read to 0, ben present since 0s read to 1
    ",

    a_registration_must_hold_before_anything_is_minted: r"
        config max_interests=1
        0s ann login '' ⇒ refused, invalid_arguments: room must be 1 to 64 visible characters on one line, with single spaces inside; it is empty
        ann login 'x'*65 ⇒ refused, invalid_arguments: room must be 1 to 64 visible characters on one line, with single spaces inside; it is longer
        each ann enter_queue interests=rust,chess; ann enter_queue interests=\u{200b} ⇒ refused, invalid_arguments: interests must be a list of at most 1, each of 1 to 64 characters on one line
        ann login lobby ⇒ user_1 in room_1; next 1m
            room_1/1 user.joined ann → ann#1
        ann users ⇒ room_1: ann present since 0s read to 0
    ",

    one_who_unregisters_frees_name_and_id: "
        0s given ann enter_queue id=a as=Ann; ann seen; ann login lobby as=Ann; ben login lobby
        given ann talking_stick
        1s ann unregister key=1 ⇒ done
            user_1 is forgotten
            room_1/4 stick.released Ann (a) epoch 1 → ben#3
            room_1/5 user.left Ann (a) → ben#4
        ann unregister key=1 ⇒ refused, unknown_handle: This handle is unknown or was forgotten; register again
        ben enter_queue ⇒ user_2 waits at 1, estimated wait unknown; next 301s
        2s cat enter_queue id=a as=Ann ⇒ user_3 waits at 2, estimated wait unknown; next 62s
        cat seen ⇒ done; next 301s
            room_2/1 chatroom.found Ann (a) and ben → ben#5 Ann#1
    ",

    names_that_only_begin_like_the_servers_are_free: "
        0s given ann login as=user_; ben login as=user_x; cat login as=user_7b; ann unregister
        given ann login as=user
    ",

    a_given_name_may_be_chosen_in_another_case: "
        0s given ann enter_queue
        ann login as=USER_1 ⇒ user_1 in room_1; next 5m
            room_1/1 user.joined USER_1 → USER_1#1
        ben login as=User_1 ⇒ refused, name_taken: That name is taken: user_ and a number is a name that only the server gives; choose another
    ",

    a_public_id_has_64_characters_at_most: "
        0s ann enter_queue id='x'*65 ⇒ refused, invalid_arguments: user_id must be 1 to 64 letters, digits, dots, dashes and underscores
        ann enter_queue id='x'*64 ⇒ user_1 waits at 1, estimated wait unknown; next 1m
    ",
}
