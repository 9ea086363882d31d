//! Mutes and bans of participants and their names, lifted again.

scripts! {
    unmuting_lifts_handle_and_name: "
        0s given ann login as=Ann; operator mute ann 'noise'
        operator unmute ann ⇒ done
        bans ⇒ 0 kept
        ann talking_stick ⇒ place 0 in room_1; Ann holds epoch 1 until 2m; next 2m
            room_1/3 stick.granted Ann epoch 1 for 2m → Ann#3
        given ann unregister; ann login as=Other
        ann talking_stick ⇒ place 0 in room_2; Other holds epoch 1 until 2m; next 2m
            room_2/2 stick.granted Other epoch 1 for 2m → Other#2
        given ann unregister; ben login as=Ann
        ben talking_stick ⇒ place 0 in room_3; Ann holds epoch 1 until 2m; next 2m
            room_3/2 stick.granted Ann epoch 1 for 2m → Ann#2
    ",

    unmuting_lifts_the_name_kept_with_the_handle: "
        0s given zoe login; ann login as=Ann; operator mute ann 'noise'; ann unregister
        given ann login as=Other
        operator unmute ann ⇒ done
        ann talking_stick ⇒ place 0 in room_1; Other holds epoch 1 until 2m
            room_1/6 stick.granted Other epoch 1 for 2m → zoe#6 Other#2
        bans ⇒ 0 kept
    ",

    unmuting_the_bearer_of_a_name_lifts_no_other_handle: r#"
        0s given zoe login; ann login as=Ann; operator mute ann 'noise'; ann unregister
        given ben login as=Ann
        operator unmute ben ⇒ done
        ben talking_stick ⇒ place 0 in room_1; Ann holds epoch 1 until 2m
            room_1/6 stick.granted Ann epoch 1 for 2m → zoe#6 Ann#2
        bans ⇒ 1 kept, the handle of Ann Mute: "noise"
        given ann login as=Other
        each ann append 'x'; ann talking_stick ⇒ refused, muted: An operator has muted you; you can read and join rooms, but not speak or open one
    "#,

    lifting_a_mute_by_name_frees_the_next_registration: "
        0s given ann login as=Ann; operator mute ann 'noise'
        operator unban Ann ⇒ done
        bans ⇒ 0 kept
        ann talking_stick ⇒ refused, muted: An operator has muted you; you can read and join rooms, but not speak or open one; next 5m
        given ann unregister; ann login as=Ann
        ann talking_stick ⇒ place 0 in room_2; Ann holds epoch 1 until 2m; next 2m
            room_2/2 stick.granted Ann epoch 1 for 2m → Ann#2
    ",

    a_ban_is_lifted_by_name_with_all_its_handles: r#"
        0s given zoe login; ann login as=Ann; operator mute ann 'noise'; ann unregister
        given ben login as=Ann
        operator ban ben 'spam' ⇒ done
            user_3 is forgotten
            room_1/6 user.left Ann → zoe#6
        bans ⇒ 3 kept, Ann Ban: "spam", the handle of Ann Mute: "noise", the handle of Ann Ban: "spam"
        given ann login as=Other; ann unregister
        operator unban ANN ⇒ done
        bans ⇒ 0 kept
        given ben login as=Ann; ann login as=Other
        ann talking_stick ⇒ place 0 in room_1; Other holds epoch 1 until 2m
            room_1/11 stick.granted Other epoch 1 for 2m → zoe#11 Ann#3 Other#2
    "#,
}
