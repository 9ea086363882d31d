//! Operators: mute, unmute, kick, close, ban, unban.

use insta::assert_snapshot;

use crate::check::check;

#[test]
fn one_who_is_muted_reads_but_does_not_speak() {
    assert_snapshot!(check("
        config stick=optional
        0s ann login
           ben login
           ann append 'x'
           operator mute ann 'noise'
           ann send 'x'
           ann append 'x'
           ann push
           ann talking_stick
           ann typing
           ben send 'still here'
           operator unmute ann
           ann push
    "), @r#"
    0s ann login ⇒ user_1 in room_1; next 1m
        room_1/1 user.joined ann → ann#1
    ben login ⇒ user_2 in room_1
        room_1/2 user.joined ben → ann#2 ben#1
    ann append 'x' ⇒ draft of 1, 0 cut
    operator mute ann 'noise' ⇒ done
        room_1/3 moderation.muted ann "noise" → ann#3 ben#2
    ann send 'x' ⇒ refused, muted: An operator has muted you; you can read and join rooms, but not speak or open one
    ann append 'x' ⇒ refused, muted: An operator has muted you; you can read and join rooms, but not speak or open one
    ann push ⇒ refused, muted: An operator has muted you; you can read and join rooms, but not speak or open one
    ann talking_stick ⇒ refused, muted: An operator has muted you; you can read and join rooms, but not speak or open one
    ann typing ⇒ done
        ~ room_1 ann types
    ben send 'still here' ⇒ sent room_1/4 at 0s; next 5m
        room_1/4 message.received ben: "still here" → ann#4
    operator unmute ann ⇒ done
    ann push ⇒ sent room_1/5 at 0s
        room_1/5 message.received ann: "x" → ben#3
    "#);
}

#[test]
fn one_who_is_muted_joins_rooms_and_opens_none() {
    assert_snapshot!(check("
        0s ann login
           ben login
           operator mute ann 'noise'
           ann login den
           ben login den
           ann login DEN
           operator unmute ann
           ann login attic
    "), @r#"
    0s ann login ⇒ user_1 in room_1; next 1m
        room_1/1 user.joined ann → ann#1
    ben login ⇒ user_2 in room_1
        room_1/2 user.joined ben → ann#2 ben#1
    operator mute ann 'noise' ⇒ done
        room_1/3 moderation.muted ann "noise" → ann#3 ben#2
    ann login den ⇒ refused, muted: An operator has muted you; you can read and join rooms, but not speak or open one
    ben login den ⇒ user_2 in room_2; next 5m
        room_2/1 user.joined ben → ben#3
    ann login DEN ⇒ user_1 in room_2
        room_2/2 user.joined ann → ann#4 ben#4
    operator unmute ann ⇒ done
    ann login attic ⇒ user_1 in room_3
        room_3/1 user.joined ann → ann#5
    "#);
}

#[test]
fn muted_counts_in_pairs_too() {
    assert_snapshot!(check("
        0s ann enter_queue as=ann
           ann seen
           operator mute ann 'noise'
           ben enter_queue as=ben
           ben seen
           ann send 'x'
           operator mute ben 'more noise'
    "), @r#"
    0s ann enter_queue as=ann ⇒ user_1 waits at 1, estimated wait unknown; next 1m
    ann seen ⇒ done; next 5m
    operator mute ann 'noise' ⇒ done
    ben enter_queue as=ben ⇒ user_2 waits at 2, estimated wait unknown; next 1m
    ben seen ⇒ done; next 5m
        room_1/1 chatroom.found ben and ann → ann#1 ben#1
    ann send 'x' ⇒ refused, muted: An operator has muted you; you can read and join rooms, but not speak or open one
    operator mute ben 'more noise' ⇒ done
        room_1/2 moderation.muted ben "more noise" → ann#2 ben#2
    "#);
}

#[test]
fn one_who_is_kicked_is_told_and_may_come_back() {
    assert_snapshot!(check("
        0s ann login
           ben login
           operator kick ann room=room_1 'cool down'
           ann send 'x' room=room_1
           ann login
    "), @r#"
    0s ann login ⇒ user_1 in room_1; next 1m
        room_1/1 user.joined ann → ann#1
    ben login ⇒ user_2 in room_1
        room_1/2 user.joined ben → ann#2 ben#1
    operator kick ann room=room_1 'cool down' ⇒ done
        room_1/3 moderation.kicked ann "cool down" → ann#3 ben#2
    ann send 'x' room=room_1 ⇒ refused, not_in_room: You are not in that room; log in to it first
    ann login ⇒ user_1 in room_1
        room_1/4 user.joined ann → ann#4 ben#3
    "#);
}

#[test]
fn kicking_the_last_one_closes_the_room() {
    assert_snapshot!(check("
        0s ann login
           operator kick ann room=room_1 'bye'
           ben login
    "), @r#"
    0s ann login ⇒ user_1 in room_1; next 1m
        room_1/1 user.joined ann → ann#1
    operator kick ann room=room_1 'bye' ⇒ done
        room_1/2 moderation.kicked ann "bye" → ann#2
    ben login ⇒ user_2 in room_2
        room_2/1 user.joined ben → ben#1
    "#);
}

#[test]
fn a_kick_ends_a_chat() {
    assert_snapshot!(check("
        0s ann enter_queue as=ann
           ann seen
           ben enter_queue as=ben
           ben seen
           operator kick ann room=room_1 'spam'
           ann send 'x'
    "), @r#"
    0s ann enter_queue as=ann ⇒ user_1 waits at 1, estimated wait unknown; next 1m
    ann seen ⇒ done; next 5m
    ben enter_queue as=ben ⇒ user_2 waits at 2, estimated wait unknown; next 1m
    ben seen ⇒ done; next 5m
        room_1/1 chatroom.found ben and ann → ann#1 ben#1
    operator kick ann room=room_1 'spam' ⇒ done
        room_1/2 moderation.kicked ann "spam" → ann#2 ben#2
        room_1/3 partner.disconnected closed → ann#3 ben#3
    ann send 'x' ⇒ refused, chat_ended: Chat has ended: an operator closed it
    "#);
}

#[test]
fn a_closed_room_is_gone_for_all() {
    assert_snapshot!(check("
        0s ann login
           ben login
           ann talking_stick
           operator close room_1 'over'
           ann send 'x'
           ann login
    "), @r#"
    0s ann login ⇒ user_1 in room_1; next 1m
        room_1/1 user.joined ann → ann#1
    ben login ⇒ user_2 in room_1
        room_1/2 user.joined ben → ann#2 ben#1
    ann talking_stick ⇒ place 0 in room_1; ann holds epoch 1 until 2m
        room_1/3 stick.granted ann epoch 1 for 2m → ann#3 ben#2
    operator close room_1 'over' ⇒ done
        room_1/4 moderation.closed "over" → ann#4 ben#3
    ann send 'x' ⇒ refused, room_ambiguous: You are in 0 rooms; say which by room_id
    ann login ⇒ user_1 in room_2
        room_2/1 user.joined ann → ann#5
    "#);
}

#[test]
fn a_ban_puts_out_of_the_server_and_keeps_the_name_out() {
    assert_snapshot!(check("
        0s ann login as=Ann
           ben login
           operator ban ann 'spam'
           ann send 'x'
           cat login as=ANN
           cat enter_queue as=Ann
           operator unban aNN
           cat login as=Ann
    "), @r"
    0s ann login as=Ann ⇒ user_1 in room_1; next 1m
        room_1/1 user.joined Ann → Ann#1
    ben login ⇒ user_2 in room_1
        room_1/2 user.joined ben → Ann#2 ben#1
    operator ban ann 'spam' ⇒ done
        user_1 is forgotten
        room_1/3 user.left Ann → ben#2
    ann send 'x' ⇒ refused, unknown_handle: This handle is unknown or was forgotten; register again
    cat login as=ANN ⇒ refused, name_not_allowed: That name is not allowed: an operator has banned it
    cat enter_queue as=Ann ⇒ refused, name_not_allowed: That name is not allowed: an operator has banned it
    operator unban aNN ⇒ done
    cat login as=Ann ⇒ user_3 in room_1
        room_1/4 user.joined Ann → ben#3 Ann#1
    ");
}

#[test]
fn a_banned_name_takes_its_look_alikes_along() {
    assert_snapshot!(check("
        0s ann login as=AIice
           operator ban ann 'spam'
           ben login as=Alice
           ben login as=AIICE
           operator unban aIICE
           ben login as=Alice
    "), @r"
    0s ann login as=AIice ⇒ user_1 in room_1; next 1m
        room_1/1 user.joined AIice → AIice#1
    operator ban ann 'spam' ⇒ done; next never
        user_1 is forgotten
    ben login as=Alice ⇒ refused, name_not_allowed: That name is not allowed: an operator has banned it
    ben login as=AIICE ⇒ refused, name_not_allowed: That name is not allowed: an operator has banned it
    operator unban aIICE ⇒ done
    ben login as=Alice ⇒ user_2 in room_2; next 1m
        room_2/1 user.joined Alice → Alice#1
    ");
}

#[test]
fn banning_an_address_again_changes_its_reason() {
    assert_snapshot!(check("
        config max_bans=1
        0s operator ban_address 7 'flood'
           operator ban_address 7 'flood again'
           operator ban_address 8 'flood'
           operator unban_address 7
           operator unban_address 7
           operator ban_address 8 'flood'
    "), @r"
    0s operator ban_address 7 'flood' ⇒ done
    operator ban_address 7 'flood again' ⇒ done
    operator ban_address 8 'flood' ⇒ refused, invalid_arguments: the number of bans and mutes that are kept must be at most 1
    operator unban_address 7 ⇒ done
    operator unban_address 7 ⇒ nothing to lift
    operator ban_address 8 'flood' ⇒ done
    ");
}

#[test]
fn a_muted_address_silences_all_that_are_registered_from_it() {
    assert_snapshot!(check("
        0s ann login from=7
           ben login from=8
           cat login from=7
           ann talking_stick
           ben talking_stick
           cat talking_stick
           operator mute_address 7 'flood'
           ann send hello
           dan login from=7
           dan talking_stick
           ben send bye
           operator unmute ann
           ann talking_stick
           operator unban_address 7
           ann talking_stick
    "), @r#"
    0s ann login from=7 ⇒ user_1 in room_1; next 1m
        room_1/1 user.joined ann → ann#1
    ben login from=8 ⇒ user_2 in room_1
        room_1/2 user.joined ben → ann#2 ben#1
    cat login from=7 ⇒ user_3 in room_1
        room_1/3 user.joined cat → ann#3 ben#2 cat#1
    ann talking_stick ⇒ place 0 in room_1; ann holds epoch 1 until 2m
        room_1/4 stick.granted ann epoch 1 for 2m → ann#4 ben#3 cat#2
    ben talking_stick ⇒ place 1 in room_1; ann holds epoch 1 until 2m
        room_1/5 stick.claimed ben place 1 → ann#5 ben#4 cat#3
    cat talking_stick ⇒ place 2 in room_1; ann holds epoch 1 until 2m; next 2m
        room_1/6 stick.claimed cat place 2 → ann#6 ben#5 cat#4
    operator mute_address 7 'flood' ⇒ done
        room_1/7 moderation.muted ann "flood" → ann#7 ben#6 cat#5
        room_1/8 stick.released ann epoch 1 → ann#8 ben#7 cat#6
        room_1/9 stick.granted ben epoch 2 for 2m → ann#9 ben#8 cat#7
        room_1/10 moderation.muted cat "flood" → ann#10 ben#9 cat#8
    ann send hello ⇒ refused, muted: An operator has muted you; you can read and join rooms, but not speak or open one
    dan login from=7 ⇒ user_4 in room_1; next 1m
        room_1/11 user.joined dan → ann#11 ben#10 cat#9 dan#1
    dan talking_stick ⇒ refused, muted: An operator has muted you; you can read and join rooms, but not speak or open one; next 2m
    ben send bye ⇒ sent room_1/12 at 0s
        room_1/12 message.received ben: "bye" under epoch 2 → ann#12 cat#10 dan#2
    operator unmute ann ⇒ nothing to lift
    ann talking_stick ⇒ refused, muted: An operator has muted you; you can read and join rooms, but not speak or open one
    operator unban_address 7 ⇒ done
    ann talking_stick ⇒ place 1 in room_1; ben holds epoch 2 until 2m
        room_1/13 stick.claimed ann place 1 → ann#13 ben#11 cat#11 dan#3
    "#);
}

#[test]
fn a_mute_of_an_address_is_told_to_those_from_it_in_the_order_of_their_numbers() {
    assert_snapshot!(check("
        config max_per_address=3 forget_after=1h
        0s ann login den from=7
           ben login from=7
           cat login den from=7
           dan login den from=8
           ben unregister
           ben login den as=Ben from=7
        # Away, and from there all the same.
        0s ann seen
           dan seen
           ben open_stream
           cat open_stream
        6m operator mute_address 7 'flood'
           cat unregister
           operator mute_address 7 'flood again'
           operator mute_address 9 'nobody is there'
    "), @r#"
    0s ann login den from=7 ⇒ user_1 in room_1; next 1m
        room_1/1 user.joined ann → ann#1
    ben login from=7 ⇒ user_2 in room_2
        room_2/1 user.joined ben → ben#1
    cat login den from=7 ⇒ user_3 in room_1
        room_1/2 user.joined cat → ann#2 cat#1
    dan login den from=8 ⇒ user_4 in room_1
        room_1/3 user.joined dan → ann#3 cat#2 dan#1
    ben unregister ⇒ done
        user_2 is forgotten
    ben login den as=Ben from=7 ⇒ user_5 in room_1
        room_1/4 user.joined Ben → ann#4 cat#3 dan#2 Ben#1
    # Away, and from there all the same.
    0s ann seen ⇒ done
    dan seen ⇒ done
    ben open_stream ⇒ done
    cat open_stream ⇒ done; next 5m
    6m operator mute_address 7 'flood' ⇒ done; next 65m
        room_1/5 user.away ann → ann#5 cat#4 dan#3 Ben#2
        room_1/6 user.away dan → ann#6 cat#5 dan#4 Ben#3
        room_1/7 moderation.muted ann "flood" → ann#7 cat#6 dan#5 Ben#4
        room_1/8 moderation.muted cat "flood" → ann#8 cat#7 dan#6 Ben#5
        room_1/9 moderation.muted Ben "flood" → ann#9 cat#8 dan#7 Ben#6
    cat unregister ⇒ done
        user_3 is forgotten
        room_1/10 user.left cat → ann#10 dan#8 Ben#7
    operator mute_address 7 'flood again' ⇒ done
        room_1/11 moderation.muted ann "flood again" → ann#11 dan#9 Ben#8
        room_1/12 moderation.muted Ben "flood again" → ann#12 dan#10 Ben#9
    operator mute_address 9 'nobody is there' ⇒ done
    "#);
}

#[test]
fn a_mute_of_an_address_stands_beside_one_of_a_participant_and_in_place_of_a_ban() {
    assert_snapshot!(check("
        config max_bans=3
        0s ann login from=7
           operator ban_address 7 'flood'
           operator mute_address 7 'less'
           operator mute ann 'noise'
           operator unban_address 7
           ann talking_stick
           operator unmute ann
           ann talking_stick
    "), @r#"
    0s ann login from=7 ⇒ user_1 in room_1; next 1m
        room_1/1 user.joined ann → ann#1
    operator ban_address 7 'flood' ⇒ done
    operator mute_address 7 'less' ⇒ done
        room_1/2 moderation.muted ann "less" → ann#2
    operator mute ann 'noise' ⇒ done
        room_1/3 moderation.muted ann "noise" → ann#3
    operator unban_address 7 ⇒ done
    ann talking_stick ⇒ refused, muted: An operator has muted you; you can read and join rooms, but not speak or open one; next 5m
    operator unmute ann ⇒ done
    ann talking_stick ⇒ place 0 in room_1; ann holds epoch 1 until 2m; next 2m
        room_1/4 stick.granted ann epoch 1 for 2m → ann#4
    "#);
}

#[test]
fn who_lifts_nothing_is_told() {
    assert_snapshot!(check("
        0s ann login lobby as=Ann
           operator unmute ann
           operator mute ann 'x'
           operator unban ANN
           operator unban Ann
           operator unmute ann
           operator unmute ann
           operator unban_address 7
           operator mute_address 7 'x'
           operator unban_address 7
           operator unban_address 7
    "), @r#"
    0s ann login lobby as=Ann ⇒ user_1 in room_1; next 1m
        room_1/1 user.joined Ann → Ann#1
    operator unmute ann ⇒ nothing to lift
    operator mute ann 'x' ⇒ done
        room_1/2 moderation.muted Ann "x" → Ann#2
    operator unban ANN ⇒ done
    operator unban Ann ⇒ nothing to lift
    operator unmute ann ⇒ done
    operator unmute ann ⇒ nothing to lift
    operator unban_address 7 ⇒ nothing to lift
    operator mute_address 7 'x' ⇒ done
    operator unban_address 7 ⇒ done
    operator unban_address 7 ⇒ nothing to lift
    "#);
}

#[test]
fn operators_name_a_participant_a_room_and_a_reason() {
    assert_snapshot!(check("
        0s ann login lobby
           ben login den
           operator mute user_9 'x'
           operator mute ann ''
           operator unmute user_9
           operator kick user_9 room=room_1 'x'
           operator kick ann room=room_9 'x'
           operator kick ann room=room_2 'x'
           operator kick ann room=room_1 ''
           operator close room_9 'x'
           operator close room_1 ''
           operator ban user_9 'x'
           operator ban ann ''
           operator ban_address 7 ''
    "), @r"
    0s ann login lobby ⇒ user_1 in room_1; next 1m
        room_1/1 user.joined ann → ann#1
    ben login den ⇒ user_2 in room_2
        room_2/1 user.joined ben → ben#1
    operator mute user_9 'x' ⇒ refused, user_not_found: There is no such participant
    operator mute ann '' ⇒ refused, invalid_arguments: reason must be 1 to 500 visible characters on one line, with single spaces inside; it is empty
    operator unmute user_9 ⇒ refused, user_not_found: There is no such participant
    operator kick user_9 room=room_1 'x' ⇒ refused, user_not_found: There is no such participant
    operator kick ann room=room_9 'x' ⇒ refused, room_not_found: Room not found
    operator kick ann room=room_2 'x' ⇒ refused, not_in_room: You are not in that room; log in to it first
    operator kick ann room=room_1 '' ⇒ refused, invalid_arguments: reason must be 1 to 500 visible characters on one line, with single spaces inside; it is empty
    operator close room_9 'x' ⇒ refused, room_not_found: Room not found
    operator close room_1 '' ⇒ refused, invalid_arguments: reason must be 1 to 500 visible characters on one line, with single spaces inside; it is empty
    operator ban user_9 'x' ⇒ refused, user_not_found: There is no such participant
    operator ban ann '' ⇒ refused, invalid_arguments: reason must be 1 to 500 visible characters on one line, with single spaces inside; it is empty
    operator ban_address 7 '' ⇒ refused, invalid_arguments: reason must be 1 to 500 visible characters on one line, with single spaces inside; it is empty
    ");
}

#[test]
fn an_operators_act_is_no_sign_of_life() {
    assert_snapshot!(check("
        0s   ann login
             ann seen
        250s operator unmute ann
             ben login
        300s operator unmute ben
        310s tick
    "), @r"
    0s   ann login ⇒ user_1 in room_1; next 1m
        room_1/1 user.joined ann → ann#1
    ann seen ⇒ done; next 5m
    250s operator unmute ann ⇒ nothing to lift
    ben login ⇒ user_2 in room_1
        room_1/2 user.joined ben → ann#2 ben#1
    300s operator unmute ben ⇒ nothing to lift; next 310s
        room_1/3 user.away ann → ann#3 ben#2
    310s tick ⇒ done; next 1445m
        user_2 is forgotten
        room_1/4 user.away ben → ann#4
        room_1/5 user.left ben → ann#5
    ");
}
