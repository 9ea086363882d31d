//! Drafts: appended, cut, taken back, pushed.

scripts! {
    an_append_beyond_its_limit_is_cut_and_says_so: r#"
        config max_append=60
        0s given ann login; ann talking_stick
        ann append '\u{e9}'*60 ⇒ draft of 60, 0 cut
        ann append '0123456789'*7 ⇒ draft of 120, 10 cut, ends "01234567890123456789012345678901234567890123456789"
    "#,

    undo_takes_the_last_append_back_until_none_is_left: "
        0s given ann login
        ann undo ⇒ draft of 0, 0 cut; next 5m
        ann talking_stick ⇒ place 0 in room_1; ann holds epoch 1 until 2m; next 2m
            room_1/2 stick.granted ann epoch 1 for 2m → ann#2
        ann append 'one ' ⇒ draft of 4, 0 cut
        ann append 'two ' ⇒ draft of 8, 0 cut
        ann append 'three' ⇒ draft of 13, 0 cut
        ann undo ⇒ draft of 8, 0 cut
        ann undo ⇒ draft of 4, 0 cut
        ann append 'more' ⇒ draft of 8, 0 cut
        ann push ⇒ sent room_1/3 at 0s; next 5m
            room_1/4 stick.released ann epoch 1 → ann#3
        ann undo ⇒ draft of 0, 0 cut
    ",

    a_full_draft_takes_all_of_an_append_or_nothing: "
        config max_draft=5
        0s given ann login; ann talking_stick
        ann append '' ⇒ refused, message_empty: A message needs at least one visible character
        ann append 'abcdef' ⇒ refused, draft_full: A draft has at most 5 characters; push it, or undo
        ann append 'abc' ⇒ draft of 3, 0 cut
        ann append 'def' ⇒ refused, draft_full: A draft has at most 5 characters; push it, or undo
        ann append 'de' ⇒ draft of 5, 0 cut
        ann append 'f' ⇒ refused, draft_full: A draft has at most 5 characters; push it, or undo
        ann push ⇒ sent room_1/3 at 0s; next 5m
            room_1/4 stick.released ann epoch 1 → ann#3
    ",

    reset_clears: "
        0s given ann login; ann talking_stick; ann append 'x'
        ann reset ⇒ draft of 0, 0 cut; next 5m
            room_1/3 stick.released ann epoch 1 → ann#3
        ann talking_stick ⇒ place 0 in room_1; ann holds epoch 2 until 2m; next 2m
            room_1/4 stick.granted ann epoch 2 for 2m → ann#4
        ann push ⇒ refused, draft_empty: Your draft is empty; append to it first
    ",

    a_draft_survives_the_end_of_the_lease: "
        config stick_lease=4s
        0s given ann login; ann talking_stick; ann append 'slow '
        5s ann append 'thinker' ⇒ refused, stick_required: You do not hold the talking stick; claim it and wait for the grant; next 305s
            room_1/3 stick.expired ann epoch 1 → ann#3
        ann talking_stick ⇒ place 0 in room_1; ann holds epoch 2 until 9s; next 9s
            room_1/4 stick.granted ann epoch 2 for 4s → ann#4
        ann append 'thinker' ⇒ draft of 12, 0 cut
        ann push ⇒ sent room_1/5 at 5s; next 305s
            room_1/6 stick.released ann epoch 2 → ann#5
    ",

    drafts_are_kept_by_room_and_leave_with_the_member: "
        config stick=optional
        0s given ann login lobby; ann,ben login den
        ann append 'in the lobby' room=room_1 ⇒ draft of 12, 0 cut
        ann append 'in the den' room=room_2 ⇒ draft of 10, 0 cut
        ann leave_chat room=room_2 ⇒ left
            room_2/3 user.left ann → ann#4 ben#2
        ann login den ⇒ user_1 in room_2
            room_2/4 user.joined ann → ann#5 ben#3
        ann push room=room_2 ⇒ refused, draft_empty: Your draft is empty; append to it first
        ann push room=room_1 ⇒ sent room_1/2 at 0s
    ",

    a_draft_longer_than_a_message_is_not_pushed: "
        config max_draft=9 max_message=5 stick=optional
        0s given ann login
        ann append 'abc' ⇒ draft of 3, 0 cut; next 5m
        ann append 'def' ⇒ draft of 6, 0 cut
        ann push ⇒ refused, message_too_long: A message has at most 5 characters
        ann undo ⇒ draft of 3, 0 cut
        ann push ⇒ sent room_1/2 at 0s
    ",
}
