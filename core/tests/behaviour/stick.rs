//! The talking stick: holder, lease and line.

use crate::check::play;

scripts! {
    claims_are_granted_in_order_and_all_are_told: r#"
        config stick_lease=4s
        0s given ann,ben,cat login
        1s  ann talking_stick ⇒ place 0 in room_1; ann holds epoch 1 until 5s; next 5s
            room_1/4 stick.granted ann epoch 1 for 4s → ann#4 ben#3 cat#2
        ben talking_stick ⇒ place 1 in room_1; ann holds epoch 1 until 5s
            room_1/5 stick.claimed ben place 1 → ann#5 ben#4 cat#3
        cat talking_stick ⇒ place 2 in room_1; ann holds epoch 1 until 5s
            room_1/6 stick.claimed cat place 2 → ann#6 ben#5 cat#4
        2s  ann append 'hi' ⇒ draft of 2, 0 cut
        ann push ⇒ sent room_1/7 at 2s; next 6s
            room_1/7 message.received ann: "hi" under epoch 1 → ben#6 cat#5
            room_1/8 stick.released ann epoch 1 → ann#7 ben#7 cat#6
            room_1/9 stick.granted ben epoch 2 for 4s → ann#8 ben#8 cat#7
        3s  ben talking_stick ⇒ place 0 in room_1; ben holds epoch 2 until 6s
        cat talking_stick ⇒ place 1 in room_1; ben holds epoch 2 until 6s
    "#,

    a_lease_expires_at_its_instant_wherever_ticks_fall: r#"
        config stick_lease=4s
        0s given ann,ben,cat login; ann,ben,cat talking_stick
        # Both leases are over; each ended when it was due, which the third one shows.
        9s  cat talking_stick ⇒ place 0 in room_1; cat holds epoch 3 until 12s; next 12s
            room_1/7 stick.expired ann epoch 1 → ann#7 ben#6 cat#5
            room_1/8 stick.granted ben epoch 2 for 4s → ann#8 ben#7 cat#6
            room_1/9 stick.expired ben epoch 2 → ann#9 ben#8 cat#7
            room_1/10 stick.granted cat epoch 3 for 4s → ann#10 ben#9 cat#8
        each ann send 'late' epoch=1; ben send 'late' ⇒ refused, stick_required: You do not hold the talking stick; claim it and wait for the grant
        cat send 'on time' epoch=3 ⇒ sent room_1/11 at 9s
            room_1/11 message.received cat: "on time" under epoch 3 → ann#11 ben#10
        12s tick ⇒ done; next 309s
            room_1/12 stick.expired cat epoch 3 → ann#12 ben#11 cat#9
    "#,

    nothing_renews_a_lease: "
        config stick_lease=4s
        0s given ann login; ann talking_stick
        3s ann talking_stick ⇒ place 0 in room_1; ann holds epoch 1 until 4s
        ann send 'hi' ⇒ sent room_1/3 at 3s
        ann append 'more' ⇒ draft of 4, 0 cut
        4s ann push ⇒ refused, stick_required: You do not hold the talking stick; claim it and wait for the grant; next 304s
            room_1/4 stick.expired ann epoch 1 → ann#3
        5s ann talking_stick ⇒ place 0 in room_1; ann holds epoch 2 until 9s; next 9s
            room_1/5 stick.granted ann epoch 2 for 4s → ann#4
    ",

    push_reset_and_leaving_release: r#"
        0s given ann,ben login
        ann talking_stick ⇒ place 0 in room_1; ann holds epoch 1 until 2m
            room_1/3 stick.granted ann epoch 1 for 2m → ann#3 ben#2
        ann append 'x' ⇒ draft of 1, 0 cut
        ann push ⇒ sent room_1/4 at 0s
            room_1/4 message.received ann: "x" under epoch 1 → ben#3
            room_1/5 stick.released ann epoch 1 → ann#4 ben#4
        ann talking_stick ⇒ place 0 in room_1; ann holds epoch 2 until 2m
            room_1/6 stick.granted ann epoch 2 for 2m → ann#5 ben#5
        ann reset ⇒ draft of 0, 0 cut
            room_1/7 stick.released ann epoch 2 → ann#6 ben#6
        ann talking_stick ⇒ place 0 in room_1; ann holds epoch 3 until 2m
            room_1/8 stick.granted ann epoch 3 for 2m → ann#7 ben#7
        ben talking_stick ⇒ place 1 in room_1; ann holds epoch 3 until 2m; next 2m
            room_1/9 stick.claimed ben place 1 → ann#8 ben#8
        ann leave_chat ⇒ left
            room_1/10 stick.released ann epoch 3 → ann#9 ben#9
            room_1/11 stick.granted ben epoch 4 for 2m → ann#10 ben#10
            room_1/12 user.left ann → ann#11 ben#11
    "#,

    reset_withdraws_a_claim_and_the_place_is_gone: "
        0s given ann,ben,cat login; ann,ben,cat talking_stick
        ben reset ⇒ draft of 0, 0 cut
        cat talking_stick ⇒ place 1 in room_1; ann holds epoch 1 until 2m
        ben talking_stick ⇒ place 2 in room_1; ann holds epoch 1 until 2m
            room_1/7 stick.claimed ben place 2 → ann#7 ben#6 cat#5
    ",

    a_refused_push_keeps_draft_and_stick: "
        0s given ann login; ann talking_stick
        ann push ⇒ refused, draft_empty: Your draft is empty; append to it first
        ann append ' ' ⇒ draft of 1, 0 cut
        ann push ⇒ refused, message_empty: A message needs at least one visible character
        ann append 'x' ⇒ draft of 2, 0 cut
        ann push epoch=2 ⇒ refused, stick_required: You do not hold the talking stick; claim it and wait for the grant
        ann push epoch=1 ⇒ sent room_1/3 at 0s; next 5m
            room_1/4 stick.released ann epoch 1 → ann#3
    ",

    mute_and_kick_take_the_stick: r#"
        0s given ann,ben,cat login; ann,ben,cat talking_stick
        operator mute ann 'noise' ⇒ done
            room_1/7 moderation.muted ann "noise" → ann#7 ben#6 cat#5
            room_1/8 stick.released ann epoch 1 → ann#8 ben#7 cat#6
            room_1/9 stick.granted ben epoch 2 for 2m → ann#9 ben#8 cat#7
        operator kick ben room=room_1 'noise' ⇒ done
            room_1/10 stick.released ben epoch 2 → ann#10 ben#9 cat#8
            room_1/11 stick.granted cat epoch 3 for 2m → ann#11 ben#10 cat#9
            room_1/12 moderation.kicked ben "noise" → ann#12 ben#11 cat#10
        ann talking_stick ⇒ refused, muted: An operator has muted you; you can read and join rooms, but not speak or open one
    "#,

    a_push_releases_but_does_not_withdraw_a_waiting_claim: r#"
        config stick=optional
        0s given ann,ben login; ann,ben talking_stick
        ben append 'while I wait' ⇒ draft of 12, 0 cut
        ben push ⇒ sent room_1/5 at 0s
            room_1/5 message.received ben: "while I wait" → ann#5
        ben talking_stick ⇒ place 1 in room_1; ann holds epoch 1 until 2m
    "#,
}

#[test]
fn a_claim_that_is_withdrawn_and_made_again_is_told_once() {
    let told = |script: &str| {
        let setup = "0s given ann,ben login; ann talking_stick";
        let told = play(&format!("config stick=optional \n {setup} \n {script}"));
        told.transcript.matches("stick.claimed").count()
    };
    let once = "ben reset \n ben talking_stick";
    let again = format!("{once} \n").repeat(9);
    for (script, times) in [
        (again.clone(), 1),
        // After another event in the room, the claim posts an event again.
        (format!("{again} ann send 'yes?' \n {again}"), 2),
        // So it does after another member's claim, and after a join.
        (
            format!("cat login \n ben talking_stick \n cat talking_stick \n {once}"),
            3,
        ),
        (format!("ben talking_stick \n cat login \n {once}"), 2),
    ] {
        assert_eq!(told(&script), times, "{script}");
    }
}
