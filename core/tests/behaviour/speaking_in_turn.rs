//! Messages that wait for the stick.

scripts! {
    on_a_free_stick_one_speaks_at_once_and_passes_it_on: r#"
        0s given ann,ben login
        ann speak 'hi' ⇒ sent room_1/4 at 0s
            room_1/3 stick.granted ann epoch 1 for 2m → ann#3 ben#2
            room_1/4 message.received ann: "hi" under epoch 1 → ben#3
            room_1/5 stick.released ann epoch 1 → ann#4 ben#4
        ben speak 'hello' ⇒ sent room_1/7 at 0s; next 5m
            room_1/6 stick.granted ben epoch 2 for 2m → ann#5 ben#5
            room_1/7 message.received ben: "hello" under epoch 2 → ann#6
            room_1/8 stick.released ben epoch 2 → ann#7 ben#6
        ann talking_stick ⇒ place 0 in room_1; ann holds epoch 3 until 2m; next 2m
            room_1/9 stick.granted ann epoch 3 for 2m → ann#8 ben#7
        ann speak 'held' ⇒ sent room_1/10 at 0s; next 5m
            room_1/10 message.received ann: "held" under epoch 3 → ben#8
            room_1/11 stick.released ann epoch 3 → ann#9 ben#9
    "#,

    words_wait_in_the_line_and_are_said_as_it_moves: r#"
        config stick_lease=4s
        0s given ann,ben,cat,dan login; ann talking_stick; ann append 'first'
        1s ben speak 'second' ⇒ place 1 in room_1; ann holds epoch 1 until 4s
            room_1/6 stick.claimed ben place 1 → ann#6 ben#5 cat#4 dan#3
        cat talking_stick ⇒ place 2 in room_1; ann holds epoch 1 until 4s
            room_1/7 stick.claimed cat place 2 → ann#7 ben#6 cat#5 dan#4
        dan speak 'fourth' ⇒ place 3 in room_1; ann holds epoch 1 until 4s
            room_1/8 stick.claimed dan place 3 → ann#8 ben#7 cat#6 dan#5
        # With the grant of ben, which ends with his words.
        2s ann push ⇒ sent room_1/9 at 2s; next 6s
            room_1/9 message.received ann: "first" under epoch 1 → ben#8 cat#7 dan#6
            room_1/10 stick.released ann epoch 1 → ann#9 ben#9 cat#8 dan#7
            room_1/11 stick.granted ben epoch 2 for 4s → ann#10 ben#10 cat#9 dan#8
            room_1/12 message.received ben: "second" under epoch 2 → ann#11 cat#10 dan#9
            room_1/13 stick.released ben epoch 2 → ann#12 ben#11 cat#11 dan#10
            room_1/14 stick.granted cat epoch 3 for 4s → ann#13 ben#12 cat#12 dan#11
        # The lease of cat ends.
        6s tick ⇒ done; next 301s
            room_1/15 stick.expired cat epoch 3 → ann#14 ben#13 cat#13 dan#12
            room_1/16 stick.granted dan epoch 4 for 4s → ann#15 ben#14 cat#14 dan#13
            room_1/17 message.received dan: "fourth" under epoch 4 → ann#16 ben#15 cat#15
            room_1/18 stick.released dan epoch 4 → ann#17 ben#16 cat#16 dan#14
    "#,

    all_that_waits_is_said_when_the_stick_is_free: r#"
        0s given ann,ben,cat,dan login; ann talking_stick; ben speak 'b'; cat speak 'c'; dan speak 'd'
        ann leave_chat ⇒ left; next 5m
            room_1/9 stick.released ann epoch 1 → ann#9 ben#8 cat#7 dan#6
            room_1/10 stick.granted ben epoch 2 for 2m → ann#10 ben#9 cat#8 dan#7
            room_1/11 message.received ben: "b" under epoch 2 → ann#11 cat#9 dan#8
            room_1/12 stick.released ben epoch 2 → ann#12 ben#10 cat#10 dan#9
            room_1/13 stick.granted cat epoch 3 for 2m → ann#13 ben#11 cat#11 dan#10
            room_1/14 message.received cat: "c" under epoch 3 → ann#14 ben#12 dan#11
            room_1/15 stick.released cat epoch 3 → ann#15 ben#13 cat#12 dan#12
            room_1/16 stick.granted dan epoch 4 for 2m → ann#16 ben#14 cat#13 dan#13
            room_1/17 message.received dan: "d" under epoch 4 → ann#17 ben#15 cat#14
            room_1/18 stick.released dan epoch 4 → ann#18 ben#16 cat#15 dan#14
            room_1/19 user.left ann → ann#19 ben#17 cat#16 dan#15
        ben talking_stick ⇒ place 0 in room_1; ben holds epoch 5 until 2m; next 2m
            room_1/20 stick.granted ben epoch 5 for 2m → ben#18 cat#17 dan#16
    "#,

    later_words_replace_those_that_wait_and_keep_their_place: r#"
        0s given ann,ben,cat login; ann talking_stick; ben talking_stick; cat speak 'c'
        ben speak 'mistaken' ⇒ place 1 in room_1; ann holds epoch 1 until 2m
        ben speak 'right' ⇒ place 1 in room_1; ann holds epoch 1 until 2m
        ben talking_stick ⇒ place 1 in room_1; ann holds epoch 1 until 2m
        ann reset ⇒ draft of 0, 0 cut; next 5m
            room_1/7 stick.released ann epoch 1 → ann#7 ben#6 cat#5
            room_1/8 stick.granted ben epoch 2 for 2m → ann#8 ben#7 cat#6
            room_1/9 message.received ben: "right" under epoch 2 → ann#9 cat#7
            room_1/10 stick.released ben epoch 2 → ann#10 ben#8 cat#8
            room_1/11 stick.granted cat epoch 3 for 2m → ann#11 ben#9 cat#9
            room_1/12 message.received cat: "c" under epoch 3 → ann#12 ben#10
            room_1/13 stick.released cat epoch 3 → ann#13 ben#11 cat#10
    "#,

    words_are_withdrawn_with_their_claim: r#"
        0s given ann,ben,cat,dan login; ann talking_stick; ben speak 'b'; cat speak 'c'; dan speak 'd'
        ben reset ⇒ draft of 0, 0 cut
        cat leave_chat ⇒ left
            room_1/9 user.left cat → ann#9 ben#8 cat#7 dan#6
        operator mute dan 'noise' ⇒ done
            room_1/10 moderation.muted dan "noise" → ann#10 ben#9 dan#7
        ann reset ⇒ draft of 0, 0 cut; next 5m
            room_1/11 stick.released ann epoch 1 → ann#11 ben#10 dan#8
        ben talking_stick ⇒ place 0 in room_1; ben holds epoch 2 until 2m; next 2m
            room_1/12 stick.granted ben epoch 2 for 2m → ann#12 ben#11 dan#9
    "#,

    a_draft_is_something_else: r#"
        0s given ann,ben login; ann talking_stick; ann append 'draft'
        ben speak 'words' ⇒ place 1 in room_1; ann holds epoch 1 until 2m; next 2m
            room_1/4 stick.claimed ben place 1 → ann#4 ben#3
        ann speak 'said' ⇒ sent room_1/5 at 0s; next 5m
            room_1/5 message.received ann: "said" under epoch 1 → ben#4
            room_1/6 stick.released ann epoch 1 → ann#5 ben#5
            room_1/7 stick.granted ben epoch 2 for 2m → ann#6 ben#6
            room_1/8 message.received ben: "words" under epoch 2 → ann#7
            room_1/9 stick.released ben epoch 2 → ann#8 ben#7
        ann talking_stick ⇒ place 0 in room_1; ann holds epoch 3 until 2m; next 2m
            room_1/10 stick.granted ann epoch 3 for 2m → ann#9 ben#8
        ann push ⇒ sent room_1/11 at 0s; next 5m
            room_1/11 message.received ann: "draft" under epoch 3 → ben#9
            room_1/12 stick.released ann epoch 3 → ann#10 ben#10
    "#,

    in_a_pair_room_one_speaks_at_once: r#"
        config turn_limit=2
        0s given ann,ben pair
        ann speak 'hi' ⇒ sent room_1/2 at 0s, turns left 1
            room_1/2 message.received ann: "hi" → ben#2
        ben speak 'bye' ⇒ sent room_1/3 at 0s, turns left 0
            room_1/3 message.received ben: "bye" → ann#2
            room_1/4 partner.disconnected turn_limit → ann#3 ben#3
        ann speak 'late' ⇒ refused, chat_ended: Chat has ended: it reached its limit of messages
    "#,

    what_cannot_be_said_makes_no_claim: "
        config max_message=5
        0s given ann,ben login; ann talking_stick
        ben speak '' ⇒ refused, message_empty: A message needs at least one visible character; next 2m
        ben speak ' ' ⇒ refused, message_empty: A message needs at least one visible character
        ben speak 'longer' ⇒ refused, message_too_long: A message has at most 5 characters
        ben speak 'x' room=room_7 ⇒ refused, room_not_found: Room not found
        given operator mute ben 'noise'
        ben speak 'x' ⇒ refused, muted: An operator has muted you; you can read and join rooms, but not speak or open one
        ann reset ⇒ draft of 0, 0 cut; next 5m
            room_1/5 stick.released ann epoch 1 → ann#5 ben#4
    ",

    a_repeated_call_says_it_once: r#"
        0s given ann,ben login; ann talking_stick
        ben speak 'once' key=1 ⇒ place 1 in room_1; ann holds epoch 1 until 2m; next 2m
            room_1/4 stick.claimed ben place 1 → ann#4 ben#3
        ben speak 'once' key=1 ⇒ place 1 in room_1; ann holds epoch 1 until 2m
        ann reset ⇒ draft of 0, 0 cut; next 5m
            room_1/5 stick.released ann epoch 1 → ann#5 ben#4
            room_1/6 stick.granted ben epoch 2 for 2m → ann#6 ben#5
            room_1/7 message.received ben: "once" under epoch 2 → ann#7
            room_1/8 stick.released ben epoch 2 → ann#8 ben#6
        ben speak 'once' key=1 ⇒ place 1 in room_1; ann holds epoch 1 until 2m
        ben speak 'other' key=1 ⇒ refused, request_key_reused: That request_key was used for another request; choose a fresh one
    "#,

    words_survive_a_restart: r#"
        0s given ann,ben login; ann talking_stick; ben speak 'kept'
        1s resume ⇒ done; next 121s
        ann reset ⇒ draft of 0, 0 cut; next 301s
            room_1/5 stick.released ann epoch 1 → ann#5 ben#4
            room_1/6 stick.granted ben epoch 2 for 2m → ann#6 ben#5
            room_1/7 message.received ben: "kept" under epoch 2 → ann#7
            room_1/8 stick.released ben epoch 2 → ann#8 ben#6
    "#,
}
