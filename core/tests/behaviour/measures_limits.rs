//! The space for mutes and bans, and the effect of a muted name on a participant that takes it.

scripts! {
    what_is_kept_already_is_replaced: r#"
        config max_bans=2
        0s given ann login as=Ann; operator mute ann 'noise'
        operator mute ann 'more noise' ⇒ done
            room_1/3 moderation.muted Ann "more noise" → Ann#3
        bans ⇒ 2 kept, Ann Mute: "more noise", the handle of Ann Mute: "more noise"
        operator ban ann 'spam' ⇒ done; next never
            user_1 is forgotten
        bans ⇒ 2 kept, Ann Ban: "spam", the handle of Ann Ban: "spam"
        ann login as=Other ⇒ refused, blocked: An operator has banned you from this server
        ben login as=Ann ⇒ refused, name_not_allowed: That name is not allowed: an operator has banned it
    "#,

    an_act_for_which_there_is_no_space_does_nothing: r#"
        config max_bans=2
        0s given ann login as=Ann; ben login as=Ben; ann talking_stick
        given operator ban_address 7 'flood'
        each operator mute ann 'noise'; operator ban ann 'spam' ⇒ refused, invalid_arguments: the number of bans and mutes that are kept must be at most 2
        ann send 'still here' ⇒ sent room_1/4 at 0s
            room_1/4 message.received Ann: "still here" under epoch 1 → Ben#3
        operator unban_address 7 ⇒ done
        operator mute ann 'noise' ⇒ done
            room_1/5 moderation.muted Ann "noise" → Ann#4 Ben#4
            room_1/6 stick.released Ann epoch 1 → Ann#5 Ben#5
        each operator ban ben 'spam'; operator ban_address 7 'flood' ⇒ refused, invalid_arguments: the number of bans and mutes that are kept must be at most 2
        operator unmute ann ⇒ done
        operator ban ben 'spam' ⇒ done; next 5m
            user_2 is forgotten
            room_1/7 user.left Ben → Ann#6
    "#,

    a_given_name_needs_no_space: r#"
        config max_bans=1
        0s given ann break chimaek; ben login as=Ben
        operator mute ben 'noise' ⇒ refused, invalid_arguments: the number of bans and mutes that are kept must be at most 1
        operator mute ann 'noise' ⇒ done
        operator ban ann 'spam' ⇒ done
            user_1 is forgotten
        bans ⇒ 1 kept, the handle of user_1 Ban: "spam"
    "#,

    a_name_without_space_is_kept_when_there_is_some: r#"
        config max_bans=1
        0s given zoe login; ann break chimaek; operator mute ann 'noise'; ann login as=Ann
        ann talking_stick ⇒ refused, muted: An operator has muted you; you can read and join rooms, but not speak or open one
        bans ⇒ 1 kept, the handle of user_2 Mute: "noise"
        given ann unregister; ben login as=Ann
        ben talking_stick ⇒ place 0 in room_1; Ann holds epoch 1 until 2m
            room_1/5 stick.granted Ann epoch 1 for 2m → zoe#5 Ann#2
        given ben unregister
        1s resume max_bans=2 ⇒ done; next 61s
        given ann login as=Ann
        ann talking_stick ⇒ refused, muted: An operator has muted you; you can read and join rooms, but not speak or open one
        bans ⇒ 2 kept, Ann Mute: "noise", the handle of Ann Mute: "noise"
    "#,

    beyond_a_lowered_limit_nothing_is_added: r#"
        0s given ann login as=Ann; ben login as=Ben; operator mute ann 'noise'
        1s resume max_bans=1 ⇒ done; next 61s
        operator mute ann 'more noise' ⇒ done
            room_1/4 moderation.muted Ann "more noise" → Ann#4 Ben#3
        operator mute ben 'noise' ⇒ refused, invalid_arguments: the number of bans and mutes that are kept must be at most 1
        bans ⇒ 2 kept, Ann Mute: "more noise", the handle of Ann Mute: "more noise"
    "#,

    taking_a_muted_name_gives_up_stick_and_claims: "
        0s given ann login as=Ann; operator mute ann 'noise'; ann unregister; ben,cat break chimaek
        # A given name stays given where it is the caller's own.
        given ben login as=user_2; cat login as=user_3; dan login as=Dan; ben,cat,dan talking_stick
        # A claim goes without an event.
        cat enter_queue as=Ann ⇒ user_3 waits at 1, estimated wait unknown
        cat talking_stick ⇒ refused, muted: An operator has muted you; you can read and join rooms, but not speak or open one
        given cat unregister
        dan login den ⇒ refused, name_not_allowed: That name is not allowed: your handle has a name already, which cannot be changed
        ben login den as=Ann ⇒ refused, muted: An operator has muted you; you can read and join rooms, but not speak or open one
        ben talking_stick room=room_2 ⇒ place 0 in room_2; user_2 holds epoch 1 until 2m
    ",

    a_muted_name_that_is_refused_mutes_nobody: "
        0s given ann login as=Ann; operator mute ann 'noise'; ann unregister; ben break chimaek
        ben login '' as=Ann ⇒ refused, invalid_arguments: room must be 1 to 64 visible characters on one line, with single spaces inside; it is empty; next 5m
        given ben login as=Ben
        ben talking_stick ⇒ place 0 in room_2; Ben holds epoch 1 until 2m; next 2m
            room_2/2 stick.granted Ben epoch 1 for 2m → Ben#2
    ",

    a_ban_takes_the_place_of_a_mute: r#"
        0s given ann login as=Ann; operator mute ann 'noise'
        operator ban ann 'spam' ⇒ done; next never
            user_1 is forgotten
        bans ⇒ 2 kept, Ann Ban: "spam", the handle of Ann Ban: "spam"
        ann break chimaek ⇒ refused, blocked: An operator has banned you from this server
        # Nobody bears the name, so no unmute reaches it.
        ben login as=Ann ⇒ refused, name_not_allowed: That name is not allowed: an operator has banned it
        given ben login as=Ben
        operator unmute ben ⇒ nothing to lift
        bans ⇒ 2 kept, Ann Ban: "spam", the handle of Ann Ban: "spam"
    "#,
}
