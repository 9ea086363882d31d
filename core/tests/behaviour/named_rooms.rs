//! Named rooms, which are open to all that know the name.

scripts! {
    the_first_opens_the_room_and_the_last_closes_it: "
        0s ann login den ⇒ user_1 in room_1; next 1m
            room_1/1 user.joined ann → ann#1
        ben login den ⇒ user_2 in room_1
            room_1/2 user.joined ben → ann#2 ben#1
        ann leave_chat ⇒ left
            room_1/3 user.left ann → ann#3 ben#2
        # Who is gone may leave again, and no more.
        given ann leave_chat; ann leave_chat room=room_1
        ann send 'x' room=room_1 ⇒ refused, not_in_room: You are not in that room; log in to it first
        ben leave_chat ⇒ left; next 5m
            room_1/4 user.left ben → ben#3
        ben login den ⇒ user_2 in room_2
            room_2/1 user.joined ben → ben#4
    ",

    a_room_is_found_in_any_case_and_by_its_whole_name: "
        0s ann login Den ⇒ user_1 in room_1; next 1m
            room_1/1 user.joined ann → ann#1
        ben login DEN ⇒ user_2 in room_1
            room_1/2 user.joined ben → ann#2 ben#1
        cat login 'd e n' ⇒ user_3 in room_2
            room_2/1 user.joined cat → cat#1
    ",

    the_one_room_is_meant_when_none_is_named: "
        0s given ann login lobby
        ann typing ⇒ done; next 5m
            ~ room_1 ann types
        ann login den ⇒ user_1 in room_2
            room_2/1 user.joined ann → ann#2
        ann typing ⇒ refused, room_ambiguous: You are in 2 rooms; say which by room_id
        ann typing room=room_2 ⇒ done
            ~ room_2 ann types
        ann leave_chat ⇒ refused, room_ambiguous: You are in 2 rooms; say which by room_id
        ann leave_chat room=room_1 ⇒ left
            room_1/2 user.left ann → ann#3
        ann typing ⇒ done
            ~ room_2 ann types
        ann leave_chat ⇒ left
            room_2/2 user.left ann → ann#4
        ann typing ⇒ refused, room_ambiguous: You are in 0 rooms; say which by room_id
    ",

    list_users_tells_since_when_and_who_is_there: "
        0s given ann login; ann seen
        5s given ben login; ben open_stream
        4m given cat login; cat open_stream
        5m cat close_stream ⇒ done; next 6m
            room_1/4 user.away ann → ann#4 ben#3 cat#2
        ben users ⇒ room_1: ann away since 0s read to 0, ben present since 5s read to 1, cat reconnecting since 4m read to 2
    ",

    history_shows_past_messages_newest_last: r#"
        config stick=optional history_limit=4
        0s given ann login; ann send '1'; ann send '2'; ben login; ben send '3'; ann send '4'
        given ann send '5'
        ben history ⇒ room_1
            room_1/3 message.received ann: "2"
            room_1/5 message.received ben: "3"
            room_1/6 message.received ann: "4"
            room_1/7 message.received ann: "5"
        ben history limit=2 ⇒ room_1, and older ones
            room_1/6 message.received ann: "4"
            room_1/7 message.received ann: "5"
        ben history before=6 limit=2 ⇒ room_1
            room_1/3 message.received ann: "2"
            room_1/5 message.received ben: "3"
        ben history before=1 ⇒ room_1
        ben history limit=0 ⇒ room_1, and older ones
    "#,

    a_message_needs_something_to_see_and_not_too_much: r"
        config stick=optional max_message=5
        0s given ann login
        each ann send ''; ann send ' \u{200b}' ⇒ refused, message_empty: A message needs at least one visible character; next 5m
        ann send '\u{e9}'*5 ⇒ sent room_1/2 at 0s
        ann send 'x'*6 ⇒ refused, message_too_long: A message has at most 5 characters
    ",
}
