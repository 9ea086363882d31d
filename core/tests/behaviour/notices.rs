//! Notices: typing, and waiting in a `check`.

scripts! {
    a_notice_takes_no_place_in_room_or_inbox: r#"
        config stick=optional
        0s given ann,ben login
        ann typing ⇒ done
            ~ room_1 ann types
        ann seen waiting=10s ⇒ done
            ~ room_1 ann has waited 10s
        ann send 'done' ⇒ sent room_1/3 at 0s
            room_1/3 message.received ann: "done" → ben#2
        ben notices ⇒ room_1 ann has waited 10s
        ann notices ⇒ none
    "#,

    only_the_latest_notice_of_each_sender_is_kept: "
        0s given ann,ben,cat login
        1s ben typing ⇒ done
            ~ room_1 ben types
        2s cat typing ⇒ done
            ~ room_1 cat types
        3s ben seen waiting=10s ⇒ done
            ~ room_1 ben has waited 10s
        ann notices ⇒ room_1 cat types, room_1 ben has waited 10s
    ",

    a_notice_is_told_for_ten_seconds: "
        0s given ann,ben login
        1s ben typing ⇒ done
            ~ room_1 ben types
        11s ann notices ⇒ room_1 ben types
        11.001s ann notices ⇒ none
    ",

    one_who_waits_tells_all_rooms: "
        0s given ann login lobby; ann login den; ann,ben enter_queue; ben seen
        ann seen waiting=20s ⇒ done
            ~ room_1 ann has waited 20s
            ~ room_2 ann has waited 20s
            ~ room_3 ann has waited 20s
        ben notices ⇒ room_3 ann has waited 20s
    ",

    a_member_that_leaves_takes_its_notices_along: "
        0s given ann,ben login
        ben typing ⇒ done
            ~ room_1 ben types
        ben leave_chat ⇒ left
            room_1/3 user.left ben → ann#3 ben#2
        ann notices ⇒ none
    ",
}
