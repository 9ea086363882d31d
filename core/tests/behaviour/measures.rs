//! Mutes and bans of participants and their names: neither is evaded by another registration.

scripts! {
    a_muted_handle_is_muted_after_another_registration: r#"
        0s given zoe,ann login; operator mute ann 'noise'; ann unregister; ann login as=Other
        ann talking_stick ⇒ refused, muted: An operator has muted you; you can read and join rooms, but not speak or open one
        given ann unregister; ann,ben pair
        ann send 'x' ⇒ refused, muted: An operator has muted you; you can read and join rooms, but not speak or open one
        bans ⇒ 2 kept, ann Mute: "noise", the handle of ann Mute: "noise"
    "#,

    one_that_is_muted_once_it_is_registered_opens_no_room: "
        0s given ann login as=Ann; operator mute ann 'noise'; ann unregister
        # By its handle, by the name that it takes, and by its address.
        each ann login as=Other; ben login as=ANN ⇒ refused, muted: An operator has muted you; you can read and join rooms, but not speak or open one
        cat break chimaek ⇒ user_2 on chimaek, stress 0, boss 0, told at 0s; next 1m
        cat login as=Ann ⇒ refused, muted: An operator has muted you; you can read and join rooms, but not speak or open one; next 5m
        operator mute_address 7 'noise' ⇒ done
        dan login from=7 ⇒ refused, muted: An operator has muted you; you can read and join rooms, but not speak or open one
        given cat login as=Cat; dan login from=7
    ",

    a_mute_outlasts_being_forgotten: "
        config forget_after=1h
        0s given ann login; operator mute ann 'noise'
        1m  tick ⇒ done; next never
            user_1 is forgotten
        2h given zoe,ann login
        ann talking_stick ⇒ refused, muted: An operator has muted you; you can read and join rooms, but not speak or open one
        ben login as=ann ⇒ refused, name_taken: That name is taken: one from your own address has it, or one that looks like it. If that is you, pass your handle; else choose another. If it stays silent, it gives way to you in 5m
    ",

    a_muted_name_mutes_all_that_take_it: "
        0s given zoe login; ann login as=Ann; operator mute ann 'noise'; ann unregister
        # At a registration, and later; a look-alike is the same name.
        given ben login as=ANN
        ben talking_stick ⇒ refused, muted: An operator has muted you; you can read and join rooms, but not speak or open one
        given ben unregister; cat break chimaek; cat login as='A n n'
        cat talking_stick ⇒ refused, muted: An operator has muted you; you can read and join rooms, but not speak or open one
    ",

    muted_by_name_alone_one_is_free_under_another: r#"
        0s given zoe login; ann login as=Ann; operator mute ann 'noise'; ann unregister
        given ben login as=Ann
        ben talking_stick ⇒ refused, muted: An operator has muted you; you can read and join rooms, but not speak or open one
        given ben unregister; ben login as=Ben
        ben talking_stick ⇒ place 0 in room_1; Ben holds epoch 1 until 2m
            room_1/8 stick.granted Ben epoch 1 for 2m → zoe#8 Ben#2
        bans ⇒ 2 kept, Ann Mute: "noise", the handle of Ann Mute: "noise"
    "#,

    the_name_that_a_muted_one_chooses_is_kept_too: r#"
        0s given zoe login; ann break chimaek; operator mute ann 'noise'
        bans ⇒ 1 kept, the handle of user_2 Mute: "noise"
        given ann login as=Ann
        bans ⇒ 2 kept, Ann Mute: "noise", the handle of Ann Mute: "noise"
        given ann unregister; ben login as=Ann
        ben talking_stick ⇒ refused, muted: An operator has muted you; you can read and join rooms, but not speak or open one
    "#,

    a_muted_handles_first_name_is_kept: r#"
        0s given zoe login; ann break chimaek; operator mute ann 'noise'; ann unregister
        given ann login as=Ann
        bans ⇒ 2 kept, Ann Mute: "noise", the handle of Ann Mute: "noise"
        operator unban Ann ⇒ done
        bans ⇒ 0 kept
    "#,

    given_names_are_not_kept: r#"
        0s given ann,ben break chimaek; operator mute ann 'noise'; operator ban ben 'spam'
        bans ⇒ 2 kept, the handle of user_1 Mute: "noise", the handle of user_2 Ban: "spam"
        # The name is kept with the handle, and lifts its ban.
        ben break chimaek ⇒ refused, blocked: An operator has banned you from this server
        operator unban user_2 ⇒ done
        ben break chimaek ⇒ user_3 on chimaek, stress 0, boss 1, told at 0s
        bans ⇒ 1 kept, the handle of user_1 Mute: "noise"
    "#,

    a_given_name_replaces_no_name_kept_with_a_handle: r#"
        0s given ann login as=Ann; operator mute ann 'noise'; ann unregister; ann break chimaek
        bans ⇒ 2 kept, Ann Mute: "noise", the handle of Ann Mute: "noise"
        operator unban Ann ⇒ done
        bans ⇒ 0 kept
        given ann unregister; ann login
        ann talking_stick ⇒ place 0 in room_2; ann holds epoch 1 until 2m; next 2m
            room_2/2 stick.granted ann epoch 1 for 2m → ann#2
    "#,

    one_mute_keeps_one_name: r#"
        0s given zoe login; ann login as=Ann; operator mute ann 'noise'; ann unregister
        given ann login as=Bob
        ann talking_stick ⇒ refused, muted: An operator has muted you; you can read and join rooms, but not speak or open one
        given ann unregister; ann login as=Cleo
        ann talking_stick ⇒ refused, muted: An operator has muted you; you can read and join rooms, but not speak or open one
        bans ⇒ 2 kept, Ann Mute: "noise", the handle of Ann Mute: "noise"
        given ben login as=Bob
        ben talking_stick ⇒ place 0 in room_1; Bob holds epoch 1 until 2m
            room_1/9 stick.granted Bob epoch 1 for 2m → zoe#9 Cleo#3 Bob#2
    "#,

    a_banned_handle_registers_in_no_way: "
        0s given ann login as=Ann; operator ban ann 'spam'
        each ann login as=Other; ann enter_queue; ann break chimaek; ann new break chimaek ⇒ refused, blocked: An operator has banned you from this server
        # Before all other checks, and with a key as without.
        each ann login as=; ann new typing; ann login as=Other key=1 ⇒ refused, blocked: An operator has banned you from this server
        operator unban Ann ⇒ done
        given ann login as=Other key=1
    ",
}
