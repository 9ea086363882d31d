//! The permission to speak in rooms with a stick, and epochs.

scripts! {
    only_the_holder_speaks: r#"
        0s given ann,ben login; ann,ben talking_stick
        each ben send 'x'; ben append 'x'; ben push; ben talking_stick epoch=1; ben reset epoch=1 ⇒ refused, stick_required: You do not hold the talking stick; claim it and wait for the grant
        ann send 'x' ⇒ sent room_1/5 at 0s
            room_1/5 message.received ann: "x" under epoch 1 → ben#4
    "#,

    a_stale_epoch_is_refused_whatever_the_call: "
        0s given ann login; ann talking_stick; ann append 'draft'; ann reset; ann talking_stick
        given ann append 'draft' epoch=2
        # The second grant holds, the first is stale, the third has not been.
        each ann send 'x' epoch=1; ann send 'x' epoch=3; ann append 'x' epoch=1; ann push epoch=1 ⇒ refused, stick_required: You do not hold the talking stick; claim it and wait for the grant
        each ann undo epoch=1; ann reset epoch=1; ann talking_stick epoch=1 ⇒ refused, stick_required: You do not hold the talking stick; claim it and wait for the grant
        ann talking_stick epoch=2 ⇒ place 0 in room_1; ann holds epoch 2 until 2m
        ann undo epoch=2 ⇒ draft of 0, 0 cut
    ",

    where_the_stick_is_optional_anyone_speaks: r#"
        config stick=optional
        0s given ann,ben login; ann talking_stick
        ben send 'free' ⇒ sent room_1/4 at 0s; next 2m
            room_1/4 message.received ben: "free" → ann#4
        ann send 'held' ⇒ sent room_1/5 at 0s
            room_1/5 message.received ann: "held" under epoch 1 → ben#3
        ben append 'drafted' ⇒ draft of 7, 0 cut
        ben push ⇒ sent room_1/6 at 0s
            room_1/6 message.received ben: "drafted" → ann#5
        ben send 'stale' epoch=1 ⇒ refused, stick_required: You do not hold the talking stick; claim it and wait for the grant
    "#,

    each_room_has_its_own_stick_and_epochs: "
        0s given ann login lobby; ann login den
        ann talking_stick room=room_1 ⇒ place 0 in room_1; ann holds epoch 1 until 2m; next 2m
            room_1/2 stick.granted ann epoch 1 for 2m → ann#3
        ann talking_stick room=room_2 ⇒ place 0 in room_2; ann holds epoch 1 until 2m
            room_2/2 stick.granted ann epoch 1 for 2m → ann#4
        ann send 'x' room=room_2 epoch=1 ⇒ sent room_2/3 at 0s
        ann reset room=room_1 ⇒ draft of 0, 0 cut
            room_1/3 stick.released ann epoch 1 → ann#5
        ann talking_stick room=room_1 ⇒ place 0 in room_1; ann holds epoch 2 until 2m
            room_1/4 stick.granted ann epoch 2 for 2m → ann#6
        ann send 'x' room=room_2 epoch=2 ⇒ refused, stick_required: You do not hold the talking stick; claim it and wait for the grant
    ",
}
