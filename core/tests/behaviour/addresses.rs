//! Messages that are addressed to some members of a room. All members receive them.

scripts! {
    a_message_names_the_members_that_it_is_addressed_to: r#"
        config stick=optional
        0s given ann,ben,cat,dan login
        ann send 'this is for you' to=dan,ben ⇒ sent room_1/5 at 0s
            room_1/5 message.received ann to ben, dan: "this is for you" → ben#4 cat#3 dan#2
        ann append 'all of it' ⇒ draft of 9, 0 cut
        ann push to=cat ⇒ sent room_1/6 at 0s
            room_1/6 message.received ann to cat: "all of it" → ben#5 cat#4 dan#3
        cat history ⇒ room_1
            room_1/5 message.received ann to ben, dan: "this is for you"
            room_1/6 message.received ann to cat: "all of it"
    "#,

    who_waits_for_the_stick_addresses_a_message_too: r#"
        0s given ann,ben,cat login; ann talking_stick
        1s ben speak 'is it you?' to=cat ⇒ place 1 in room_1; ann holds epoch 1 until 2m
            room_1/5 stick.claimed ben place 1 → ann#5 ben#4 cat#3
        # Cat is gone when it is said.
        2s cat leave_chat ⇒ left; next 2m
            room_1/6 user.left cat → ann#6 ben#5 cat#4
        3s ann reset ⇒ draft of 0, 0 cut; next 301s
            room_1/7 stick.released ann epoch 1 → ann#7 ben#6
            room_1/8 stick.granted ben epoch 2 for 2m → ann#8 ben#7
            room_1/9 message.received ben to cat: "is it you?" under epoch 2 → ann#9
            room_1/10 stick.released ben epoch 2 → ann#10 ben#8
    "#,

    only_members_are_addressed_and_a_refused_message_leaves_no_trace: r#"
        config stick=optional
        0s given ann,ben login; cat login elsewhere; ann append 'kept'
        ann send 'who' to=cat ⇒ refused, user_not_found: There is no such participant
        ann send 'who' to=user_9 ⇒ refused, user_not_found: There is no such participant
        ann send 'who' to=ben,cat ⇒ refused, user_not_found: There is no such participant
        ann push to=cat ⇒ refused, user_not_found: There is no such participant
        ann speak 'who' to=cat ⇒ refused, user_not_found: There is no such participant
        ann push to=ben ⇒ sent room_1/3 at 0s
            room_1/3 message.received ann to ben: "kept" → ben#2
        # To oneself alone is no mistake: it is for nobody else.
        ann send 'a note' to=ann ⇒ sent room_1/4 at 0s
            room_1/4 message.received ann to ann: "a note" → ben#3
    "#,

    a_partner_is_addressed_like_a_member: r#"
        0s given ann,ben pair
        ann send 'hi' to=ben ⇒ sent room_1/2 at 0s
            room_1/2 message.received ann to ben: "hi" → ben#2
        ann send 'hi' to=user_9 ⇒ refused, user_not_found: There is no such participant
    "#,

    the_same_key_with_another_address_is_another_request: r#"
        config stick=optional
        0s given ann,ben,cat login
        ann send 'hi' to=ben key=1 ⇒ sent room_1/4 at 0s
            room_1/4 message.received ann to ben: "hi" → ben#3 cat#2
        ann send 'hi' to=ben key=1 ⇒ sent room_1/4 at 0s
        ann send 'hi' to=cat key=1 ⇒ refused, request_key_reused: That request_key was used for another request; choose a fresh one
        ann send 'hi' key=1 ⇒ refused, request_key_reused: That request_key was used for another request; choose a fresh one
    "#,
}
