//! Public ids in mutes and bans: a chosen id counts as a name.

scripts! {
    a_public_id_that_looks_like_a_banned_name_is_refused: "
        0s given ann login as=Alice; operator ban ann 'spam'
        each ben enter_queue id=Alice; ben enter_queue id=aIice; ben enter_queue id=allce as=Ben ⇒ refused, user_id_taken: That user_id is taken, looks like another's name or user_id, is the server's own (user_ and a number, or a word such as system), or an operator has banned it
        ben enter_queue id=alicia as=Ben ⇒ user_2 waits at 1, estimated wait unknown; next 1m
        operator unban alice ⇒ done
        cat enter_queue id=AIice ⇒ user_3 waits at 2, estimated wait unknown
    ",

    a_public_id_that_looks_like_a_muted_name_mutes: r#"
        0s given zoe login; ann login as=Alice; operator mute ann 'noise'; ann unregister
        given ben enter_queue id=aIice as=Ben; ben login as=Ben
        ben talking_stick ⇒ refused, muted: An operator has muted you; you can read and join rooms, but not speak or open one
        # Nothing of ben is kept, but the name that mutes it.
        bans ⇒ 2 kept, Alice Mute: "noise", the handle of Alice Mute: "noise"
        operator unmute ben ⇒ done
        ben talking_stick ⇒ place 0 in room_1; Ben holds epoch 1 until 2m
            room_1/6 stick.granted Ben (aIice) epoch 1 for 2m → zoe#6 Ben#2
        bans ⇒ 2 kept, Alice Mute: "noise", the handle of Alice Mute: "noise"
    "#,

    a_banned_public_id_is_kept_as_its_name_is: r#"
        0s given ann enter_queue id=pest as=Ann; operator ban ann 'spam'
        bans ⇒ 3 kept, Ann Ban: "spam", pest Ban: "spam", the handle of Ann Ban: "spam"
        ben login as=Pest ⇒ refused, name_not_allowed: That name is not allowed: an operator has banned it
        ben enter_queue id=PEST ⇒ refused, user_id_taken: That user_id is taken, looks like another's name or user_id, is the server's own (user_ and a number, or a word such as system), or an operator has banned it
        operator unban Ann ⇒ done
        bans ⇒ 1 kept, pest Ban: "spam"
        ben enter_queue id=pest ⇒ refused, user_id_taken: That user_id is taken, looks like another's name or user_id, is the server's own (user_ and a number, or a word such as system), or an operator has banned it
        operator unban pest ⇒ done
        ben enter_queue id=pest ⇒ user_2 waits at 1, estimated wait unknown; next 1m
        bans ⇒ 0 kept
    "#,

    a_chosen_id_beside_a_given_name_is_kept: r#"
        0s given ann enter_queue id=pest; operator mute ann 'noise'
        bans ⇒ 2 kept, pest Mute: "noise", the handle of user_1 Mute: "noise"
        operator unmute ann ⇒ done
        bans ⇒ 0 kept
    "#,

    unmuting_lifts_the_id_that_the_handle_is_kept_with: "
        0s given zoe login; ann enter_queue id=pest as=Ann; operator mute ann 'noise'
        given ann unregister; ann login as=Other
        operator unmute ann ⇒ done
        bans ⇒ 0 kept
    ",

    a_name_and_an_id_that_fold_alike_take_one_place: r#"
        config max_bans=2
        0s given ann enter_queue id=aIice as=Aiice; operator ban ann 'spam'
        bans ⇒ 2 kept, Aiice Ban: "spam", the handle of Aiice Ban: "spam"
        # The keys of both are kept.
        each ben login as=Alice; ben login as=Allce ⇒ refused, name_not_allowed: That name is not allowed: an operator has banned it
    "#,

    an_id_needs_space_and_is_not_followed: r#"
        config max_bans=2
        0s given ann enter_queue id=pest as=Ann
        operator mute ann 'noise' ⇒ refused, invalid_arguments: the number of bans and mutes that are kept must be at most 2
        bans ⇒ 0 kept
        ben break chimaek ⇒ user_2 on chimaek, stress 0, boss 0, told at 0s
        operator mute ben 'noise' ⇒ done
        given ben unregister
        # The id comes with the registration, and is free after it; the name is kept.
        ben enter_queue id=bug as=Ben ⇒ user_3 waits at 2, estimated wait unknown
        bans ⇒ 2 kept, Ben Mute: "noise", the handle of Ben Mute: "noise"
        given ben unregister; cat enter_queue id=bug
        bans ⇒ 2 kept, Ben Mute: "noise", the handle of Ben Mute: "noise"
    "#,
}
