//! Mutes and bans of participants and their names: neither is evaded by another registration.

scripts! {
    a_muted_participant_is_muted_under_its_handle_after_another_registration: r#"
        0s given zoe,ann login; operator mute ann 'noise'; ann unregister
        ann login as=Other ⇒ user_3 in room_1
            room_1/5 user.joined Other → zoe#5 Other#1
        ann talking_stick ⇒ refused, muted: An operator has muted you; you can read and join rooms, but not speak or open one
        ann unregister ⇒ done
            user_3 is forgotten
            room_1/6 user.left Other → zoe#6
        ann enter_queue ⇒ user_4 waits at 1, estimated wait unknown
        ann seen ⇒ done
        ben enter_queue ⇒ user_5 waits at 2, estimated wait unknown
        ben seen ⇒ done
            room_2/1 chatroom.found user_5 and user_4 → user_4#1 user_5#1
        ann send 'x' ⇒ refused, muted: An operator has muted you; you can read and join rooms, but not speak or open one
        bans ⇒ 2 kept, ann Mute: "noise", the handle of ann Mute: "noise"
    "#,

    one_that_is_muted_once_it_is_registered_opens_no_room: "
        0s given ann login as=Ann; operator mute ann 'noise'; ann unregister
        # By its handle, by the name that it takes, and by its address.
        ann login as=Other ⇒ refused, muted: An operator has muted you; you can read and join rooms, but not speak or open one
        ben login as=ANN ⇒ refused, muted: An operator has muted you; you can read and join rooms, but not speak or open one
        cat break chimaek ⇒ user_2 on chimaek, stress 0, boss 0, told at 0s; next 1m
        cat login as=Ann ⇒ refused, muted: An operator has muted you; you can read and join rooms, but not speak or open one; next 5m
        operator mute_address 7 'noise' ⇒ done
        dan login from=7 ⇒ refused, muted: An operator has muted you; you can read and join rooms, but not speak or open one
        cat login as=Cat ⇒ user_2 in room_2
            room_2/1 user.joined Cat → Cat#1
        dan login from=7 ⇒ user_3 in room_2; next 1m
            room_2/2 user.joined dan → Cat#2 dan#1
    ",

    a_muted_participant_is_muted_when_it_was_forgotten_meanwhile: "
        config forget_after=1h
        0s given ann login; operator mute ann 'noise'
        1m  tick ⇒ done; next never
            user_1 is forgotten
        2h  zoe login ⇒ user_2 in room_2; next 121m
            room_2/1 user.joined zoe → zoe#1
        ann login ⇒ user_3 in room_2
            room_2/2 user.joined ann → zoe#2 ann#1
        ann talking_stick ⇒ refused, muted: An operator has muted you; you can read and join rooms, but not speak or open one
        ben login as=ann ⇒ refused, name_taken: That name is taken: one from your own address has it, or one that looks like it. If that is you, pass your handle; else choose another. If it stays silent, it gives way to you in 5m
    ",

    a_muted_name_is_muted_for_each_participant_that_takes_it: "
        0s given zoe login; ann login as=Ann; operator mute ann 'noise'; ann unregister
        # At a registration, and later; a look-alike is the same name.
        ben login as=ANN ⇒ user_3 in room_1
            room_1/5 user.joined ANN → zoe#5 ANN#1
        ben talking_stick ⇒ refused, muted: An operator has muted you; you can read and join rooms, but not speak or open one
        ben unregister ⇒ done
            user_3 is forgotten
            room_1/6 user.left ANN → zoe#6
        cat break chimaek ⇒ user_4 on chimaek, stress 0, boss 1, told at 0s
        cat login as='A n n' ⇒ user_4 in room_1
            room_1/7 user.joined A n n → zoe#7 A n n#1
        cat talking_stick ⇒ refused, muted: An operator has muted you; you can read and join rooms, but not speak or open one
    ",

    one_that_is_muted_by_its_name_alone_is_free_under_another: r#"
        0s given zoe login; ann login as=Ann; operator mute ann 'noise'; ann unregister
        ben login as=Ann ⇒ user_3 in room_1
            room_1/5 user.joined Ann → zoe#5 Ann#1
        ben talking_stick ⇒ refused, muted: An operator has muted you; you can read and join rooms, but not speak or open one
        ben unregister ⇒ done
            user_3 is forgotten
            room_1/6 user.left Ann → zoe#6
        ben login as=Ben ⇒ user_4 in room_1
            room_1/7 user.joined Ben → zoe#7 Ben#1
        ben talking_stick ⇒ place 0 in room_1; Ben holds epoch 1 until 2m
            room_1/8 stick.granted Ben epoch 1 for 2m → zoe#8 Ben#2
        bans ⇒ 2 kept, Ann Mute: "noise", the handle of Ann Mute: "noise"
    "#,

    the_name_that_a_muted_participant_then_chooses_is_kept_too: r#"
        0s given zoe login; ann break chimaek; operator mute ann 'noise'
        bans ⇒ 1 kept, the handle of user_2 Mute: "noise"
        ann login as=Ann ⇒ user_2 in room_1
            room_1/2 user.joined Ann → zoe#2 Ann#1
        bans ⇒ 2 kept, Ann Mute: "noise", the handle of Ann Mute: "noise"
        ann unregister ⇒ done
            user_2 is forgotten
            room_1/3 user.left Ann → zoe#3
        ben login as=Ann ⇒ user_3 in room_1
            room_1/4 user.joined Ann → zoe#4 Ann#1
        ben talking_stick ⇒ refused, muted: An operator has muted you; you can read and join rooms, but not speak or open one
    "#,

    the_name_of_a_muted_participants_next_registration_is_kept_if_it_had_none: r#"
        0s given zoe login; ann break chimaek; operator mute ann 'noise'; ann unregister
        ann login as=Ann ⇒ user_3 in room_1
            room_1/2 user.joined Ann → zoe#2 Ann#1
        bans ⇒ 2 kept, Ann Mute: "noise", the handle of Ann Mute: "noise"
        operator unban Ann ⇒ done
        bans ⇒ 0 kept
    "#,

    given_names_are_not_kept: r#"
        0s given ann,ben break chimaek; operator mute ann 'noise'; operator ban ben 'spam'
        bans ⇒ 2 kept, the handle of user_1 Mute: "noise", the handle of user_2 Ban: "spam"
        # The name is kept with the handle, and lifts its ban.
        ben break chimaek ⇒ refused, blocked: An operator has barred you from this server
        operator unban user_2 ⇒ done
        ben break chimaek ⇒ user_3 on chimaek, stress 0, boss 1, told at 0s
        bans ⇒ 1 kept, the handle of user_1 Mute: "noise"
    "#,

    a_given_name_takes_no_place_of_the_name_that_is_kept_with_a_handle: r#"
        0s given ann login as=Ann; operator mute ann 'noise'; ann unregister; ann break chimaek
        bans ⇒ 2 kept, Ann Mute: "noise", the handle of Ann Mute: "noise"
        operator unban Ann ⇒ done
        bans ⇒ 0 kept
        ann unregister ⇒ done; next never
            user_2 is forgotten
        ann login ⇒ user_3 in room_2; next 1m
            room_2/1 user.joined ann → ann#1
        ann talking_stick ⇒ place 0 in room_2; ann holds epoch 1 until 2m; next 2m
            room_2/2 stick.granted ann epoch 1 for 2m → ann#2
    "#,

    one_mute_keeps_one_name_however_often_the_participant_registers: r#"
        0s given zoe login; ann login as=Ann; operator mute ann 'noise'; ann unregister
        ann login as=Bob ⇒ user_3 in room_1
            room_1/5 user.joined Bob → zoe#5 Bob#1
        ann talking_stick ⇒ refused, muted: An operator has muted you; you can read and join rooms, but not speak or open one
        ann unregister ⇒ done
            user_3 is forgotten
            room_1/6 user.left Bob → zoe#6
        ann login as=Cleo ⇒ user_4 in room_1
            room_1/7 user.joined Cleo → zoe#7 Cleo#1
        ann talking_stick ⇒ refused, muted: An operator has muted you; you can read and join rooms, but not speak or open one
        bans ⇒ 2 kept, Ann Mute: "noise", the handle of Ann Mute: "noise"
        ben login as=Bob ⇒ user_5 in room_1
            room_1/8 user.joined Bob → zoe#8 Cleo#2 Bob#1
        ben talking_stick ⇒ place 0 in room_1; Bob holds epoch 1 until 2m
            room_1/9 stick.granted Bob epoch 1 for 2m → zoe#9 Cleo#3 Bob#2
    "#,

    a_banned_handle_registers_by_no_command_and_under_no_name: "
        0s given ann login as=Ann; operator ban ann 'spam'
        ann login as=Other ⇒ refused, blocked: An operator has barred you from this server
        ann enter_queue ⇒ refused, blocked: An operator has barred you from this server
        ann break chimaek ⇒ refused, blocked: An operator has barred you from this server
        ann new break chimaek ⇒ refused, blocked: An operator has barred you from this server
        # Before all other checks, and with a key as without.
        ann login as= ⇒ refused, blocked: An operator has barred you from this server
        ann new typing ⇒ refused, blocked: An operator has barred you from this server
        ann login as=Other key=1 ⇒ refused, blocked: An operator has barred you from this server
        operator unban Ann ⇒ done
        ann login as=Other key=1 ⇒ user_2 in room_2; next 1m
            room_2/1 user.joined Other → Other#1
    ",
}
