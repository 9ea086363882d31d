//! Mutes and bans of participants and their names: neither is evaded by another registration.

use insta::assert_snapshot;

use crate::check::check;

#[test]
fn a_muted_participant_is_muted_under_its_handle_after_another_registration() {
    assert_snapshot!(check("
        0s ann login
           operator mute ann 'noise'
           ann unregister
           ann login as=Other
           ann talking_stick
           ann unregister
           ann enter_queue
           ann seen
           ben enter_queue
           ben seen
           ann send 'x'
           bans
    "), @r#"
    0s ann login ⇒ user_1 in room_1; next 1m
        room_1/1 user.joined ann → ann#1
    operator mute ann 'noise' ⇒ done
        room_1/2 moderation.muted ann "noise" → ann#2
    ann unregister ⇒ done; next never
        user_1 is forgotten
    ann login as=Other ⇒ user_2 in room_2; next 1m
        room_2/1 user.joined Other → Other#1
    ann talking_stick ⇒ refused, muted: An operator has muted you; you can read, but not speak; next 5m
    ann unregister ⇒ done; next never
        user_2 is forgotten
    ann enter_queue ⇒ user_3 waits at 1, estimated wait unknown; next 1m
    ann seen ⇒ done; next 5m
    ben enter_queue ⇒ user_4 waits at 2, estimated wait unknown; next 1m
    ben seen ⇒ done; next 5m
        room_3/1 chatroom.found user_4 and user_3 → user_3#1 user_4#1
    ann send 'x' ⇒ refused, muted: An operator has muted you; you can read, but not speak
    bans ⇒ 2 kept, ann Mute: "noise", the handle of ann Mute: "noise"
    "#);
}

#[test]
fn a_muted_participant_is_muted_when_it_was_forgotten_meanwhile() {
    assert_snapshot!(check("
        config forget_after=1h
        0s  ann login
            operator mute ann 'noise'
        1m  tick
        2h  ann login
            ann talking_stick
            ben login as=ann
    "), @r#"
    0s  ann login ⇒ user_1 in room_1; next 1m
        room_1/1 user.joined ann → ann#1
    operator mute ann 'noise' ⇒ done
        room_1/2 moderation.muted ann "noise" → ann#2
    1m  tick ⇒ done; next never
        user_1 is forgotten
    2h  ann login ⇒ user_2 in room_2; next 121m
        room_2/1 user.joined ann → ann#1
    ann talking_stick ⇒ refused, muted: An operator has muted you; you can read, but not speak; next 125m
    ben login as=ann ⇒ refused, name_taken: That name is taken: one from your own address has it, or one that looks like it. If that is you, pass your handle; else choose another. If it stays silent, it gives way to you in 5m
    "#);
}

#[test]
fn a_muted_name_is_muted_for_each_participant_that_takes_it() {
    assert_snapshot!(check("
        0s ann login as=Ann
           operator mute ann 'noise'
           ann unregister
        # At a registration, and later; a look-alike is the same name.
           ben login as=ANN
           ben talking_stick
           ben unregister
           cat break chimaek
           cat login as='A n n'
           cat talking_stick
    "), @r#"
    0s ann login as=Ann ⇒ user_1 in room_1; next 1m
        room_1/1 user.joined Ann → Ann#1
    operator mute ann 'noise' ⇒ done
        room_1/2 moderation.muted Ann "noise" → Ann#2
    ann unregister ⇒ done; next never
        user_1 is forgotten
    # At a registration, and later; a look-alike is the same name.
    ben login as=ANN ⇒ user_2 in room_2; next 1m
        room_2/1 user.joined ANN → ANN#1
    ben talking_stick ⇒ refused, muted: An operator has muted you; you can read, but not speak; next 5m
    ben unregister ⇒ done; next never
        user_2 is forgotten
    cat break chimaek ⇒ user_3 on chimaek, stress 0, boss 1, told at 0s; next 1m
    cat login as='A n n' ⇒ user_3 in room_3; next 5m
        room_3/1 user.joined A n n → A n n#1
    cat talking_stick ⇒ refused, muted: An operator has muted you; you can read, but not speak
    "#);
}

#[test]
fn one_that_is_muted_by_its_name_alone_is_free_under_another() {
    assert_snapshot!(check("
        0s ann login as=Ann
           operator mute ann 'noise'
           ann unregister
           ben login as=Ann
           ben talking_stick
           ben unregister
           ben login as=Ben
           ben talking_stick
           bans
    "), @r#"
    0s ann login as=Ann ⇒ user_1 in room_1; next 1m
        room_1/1 user.joined Ann → Ann#1
    operator mute ann 'noise' ⇒ done
        room_1/2 moderation.muted Ann "noise" → Ann#2
    ann unregister ⇒ done; next never
        user_1 is forgotten
    ben login as=Ann ⇒ user_2 in room_2; next 1m
        room_2/1 user.joined Ann → Ann#1
    ben talking_stick ⇒ refused, muted: An operator has muted you; you can read, but not speak; next 5m
    ben unregister ⇒ done; next never
        user_2 is forgotten
    ben login as=Ben ⇒ user_3 in room_3; next 1m
        room_3/1 user.joined Ben → Ben#1
    ben talking_stick ⇒ place 0 in room_3; Ben holds epoch 1 until 2m; next 2m
        room_3/2 stick.granted Ben epoch 1 for 2m → Ben#2
    bans ⇒ 2 kept, Ann Mute: "noise", the handle of Ann Mute: "noise"
    "#);
}

#[test]
fn the_name_that_a_muted_participant_then_chooses_is_kept_too() {
    assert_snapshot!(check("
        0s ann break chimaek
           operator mute ann 'noise'
           bans
           ann login as=Ann
           bans
           ann unregister
           ben login as=Ann
           ben talking_stick
    "), @r#"
    0s ann break chimaek ⇒ user_1 on chimaek, stress 0, boss 1, told at 0s; next 1m
    operator mute ann 'noise' ⇒ done
    bans ⇒ 1 kept, the handle of user_1 Mute: "noise"
    ann login as=Ann ⇒ user_1 in room_1; next 5m
        room_1/1 user.joined Ann → Ann#1
    bans ⇒ 2 kept, Ann Mute: "noise", the handle of Ann Mute: "noise"
    ann unregister ⇒ done; next never
        user_1 is forgotten
    ben login as=Ann ⇒ user_2 in room_2; next 1m
        room_2/1 user.joined Ann → Ann#1
    ben talking_stick ⇒ refused, muted: An operator has muted you; you can read, but not speak; next 5m
    "#);
}

#[test]
fn the_name_of_a_muted_participants_next_registration_is_kept_if_it_had_none() {
    assert_snapshot!(check("
        0s ann break chimaek
           operator mute ann 'noise'
           ann unregister
           ann login as=Ann
           bans
           operator unban Ann
           bans
    "), @r#"
    0s ann break chimaek ⇒ user_1 on chimaek, stress 0, boss 1, told at 0s; next 1m
    operator mute ann 'noise' ⇒ done
    ann unregister ⇒ done; next never
        user_1 is forgotten
    ann login as=Ann ⇒ user_2 in room_1; next 1m
        room_1/1 user.joined Ann → Ann#1
    bans ⇒ 2 kept, Ann Mute: "noise", the handle of Ann Mute: "noise"
    operator unban Ann ⇒ done
    bans ⇒ 0 kept
    "#);
}

#[test]
fn given_names_are_not_kept() {
    assert_snapshot!(check("
        0s ann break chimaek
           ben break chimaek
           operator mute ann 'noise'
           operator ban ben 'spam'
           bans
        # The name is kept with the handle, and lifts its ban.
           ben break chimaek
           operator unban user_2
           ben break chimaek
           bans
    "), @r#"
    0s ann break chimaek ⇒ user_1 on chimaek, stress 0, boss 1, told at 0s; next 1m
    ben break chimaek ⇒ user_2 on chimaek, stress 0, boss 1, told at 0s
    operator mute ann 'noise' ⇒ done
    operator ban ben 'spam' ⇒ done
        user_2 is forgotten
    bans ⇒ 2 kept, the handle of user_1 Mute: "noise", the handle of user_2 Ban: "spam"
    # The name is kept with the handle, and lifts its ban.
    ben break chimaek ⇒ refused, blocked: An operator has barred you from this server
    operator unban user_2 ⇒ done
    ben break chimaek ⇒ user_3 on chimaek, stress 0, boss 1, told at 0s
    bans ⇒ 1 kept, the handle of user_1 Mute: "noise"
    "#);
}

#[test]
fn a_given_name_takes_no_place_of_the_name_that_is_kept_with_a_handle() {
    assert_snapshot!(check("
        0s ann login as=Ann
           operator mute ann 'noise'
           ann unregister
           ann break chimaek
           bans
           operator unban Ann
           bans
           ann unregister
           ann login
           ann talking_stick
    "), @r#"
    0s ann login as=Ann ⇒ user_1 in room_1; next 1m
        room_1/1 user.joined Ann → Ann#1
    operator mute ann 'noise' ⇒ done
        room_1/2 moderation.muted Ann "noise" → Ann#2
    ann unregister ⇒ done; next never
        user_1 is forgotten
    ann break chimaek ⇒ user_2 on chimaek, stress 0, boss 0, told at 0s; next 1m
    bans ⇒ 2 kept, Ann Mute: "noise", the handle of Ann Mute: "noise"
    operator unban Ann ⇒ done
    bans ⇒ 0 kept
    ann unregister ⇒ done; next never
        user_2 is forgotten
    ann login ⇒ user_3 in room_2; next 1m
        room_2/1 user.joined ann → ann#1
    ann talking_stick ⇒ place 0 in room_2; ann holds epoch 1 until 2m; next 2m
        room_2/2 stick.granted ann epoch 1 for 2m → ann#2
    "#);
}

#[test]
fn one_mute_keeps_one_name_however_often_the_participant_registers() {
    assert_snapshot!(check("
        0s ann login as=Ann
           operator mute ann 'noise'
           ann unregister
           ann login as=Bob
           ann talking_stick
           ann unregister
           ann login as=Cleo
           ann talking_stick
           bans
           ben login as=Bob
           ben talking_stick
    "), @r#"
    0s ann login as=Ann ⇒ user_1 in room_1; next 1m
        room_1/1 user.joined Ann → Ann#1
    operator mute ann 'noise' ⇒ done
        room_1/2 moderation.muted Ann "noise" → Ann#2
    ann unregister ⇒ done; next never
        user_1 is forgotten
    ann login as=Bob ⇒ user_2 in room_2; next 1m
        room_2/1 user.joined Bob → Bob#1
    ann talking_stick ⇒ refused, muted: An operator has muted you; you can read, but not speak; next 5m
    ann unregister ⇒ done; next never
        user_2 is forgotten
    ann login as=Cleo ⇒ user_3 in room_3; next 1m
        room_3/1 user.joined Cleo → Cleo#1
    ann talking_stick ⇒ refused, muted: An operator has muted you; you can read, but not speak; next 5m
    bans ⇒ 2 kept, Ann Mute: "noise", the handle of Ann Mute: "noise"
    ben login as=Bob ⇒ user_4 in room_3; next 1m
        room_3/2 user.joined Bob → Cleo#2 Bob#1
    ben talking_stick ⇒ place 0 in room_3; Bob holds epoch 1 until 2m; next 2m
        room_3/3 stick.granted Bob epoch 1 for 2m → Cleo#3 Bob#2
    "#);
}

#[test]
fn unmuting_lifts_handle_and_name() {
    assert_snapshot!(check("
        0s ann login as=Ann
           operator mute ann 'noise'
           operator unmute ann
           bans
           ann talking_stick
           ann unregister
           ann login as=Other
           ann talking_stick
           ann unregister
           ben login as=Ann
           ben talking_stick
    "), @r#"
    0s ann login as=Ann ⇒ user_1 in room_1; next 1m
        room_1/1 user.joined Ann → Ann#1
    operator mute ann 'noise' ⇒ done
        room_1/2 moderation.muted Ann "noise" → Ann#2
    operator unmute ann ⇒ done
    bans ⇒ 0 kept
    ann talking_stick ⇒ place 0 in room_1; Ann holds epoch 1 until 2m; next 2m
        room_1/3 stick.granted Ann epoch 1 for 2m → Ann#3
    ann unregister ⇒ done; next never
        user_1 is forgotten
    ann login as=Other ⇒ user_2 in room_2; next 1m
        room_2/1 user.joined Other → Other#1
    ann talking_stick ⇒ place 0 in room_2; Other holds epoch 1 until 2m; next 2m
        room_2/2 stick.granted Other epoch 1 for 2m → Other#2
    ann unregister ⇒ done; next never
        user_2 is forgotten
    ben login as=Ann ⇒ user_3 in room_3; next 1m
        room_3/1 user.joined Ann → Ann#1
    ben talking_stick ⇒ place 0 in room_3; Ann holds epoch 1 until 2m; next 2m
        room_3/2 stick.granted Ann epoch 1 for 2m → Ann#2
    "#);
}

#[test]
fn unmuting_under_another_name_lifts_the_name_that_is_kept_with_the_handle() {
    assert_snapshot!(check("
        0s ann login as=Ann
           operator mute ann 'noise'
           ann unregister
           ann login as=Other
           operator unmute ann
           ann talking_stick
           bans
    "), @r#"
    0s ann login as=Ann ⇒ user_1 in room_1; next 1m
        room_1/1 user.joined Ann → Ann#1
    operator mute ann 'noise' ⇒ done
        room_1/2 moderation.muted Ann "noise" → Ann#2
    ann unregister ⇒ done; next never
        user_1 is forgotten
    ann login as=Other ⇒ user_2 in room_2; next 1m
        room_2/1 user.joined Other → Other#1
    operator unmute ann ⇒ done
    ann talking_stick ⇒ place 0 in room_2; Other holds epoch 1 until 2m; next 2m
        room_2/2 stick.granted Other epoch 1 for 2m → Other#2
    bans ⇒ 0 kept
    "#);
}

#[test]
fn unmuting_the_bearer_of_a_muted_name_lifts_the_name_and_no_other_handle() {
    assert_snapshot!(check("
        0s ann login as=Ann
           operator mute ann 'noise'
           ann unregister
           ben login as=Ann
           operator unmute ben
           ben talking_stick
           bans
           ann login as=Other
           ann append 'x'
           ann talking_stick
    "), @r#"
    0s ann login as=Ann ⇒ user_1 in room_1; next 1m
        room_1/1 user.joined Ann → Ann#1
    operator mute ann 'noise' ⇒ done
        room_1/2 moderation.muted Ann "noise" → Ann#2
    ann unregister ⇒ done; next never
        user_1 is forgotten
    ben login as=Ann ⇒ user_2 in room_2; next 1m
        room_2/1 user.joined Ann → Ann#1
    operator unmute ben ⇒ done
    ben talking_stick ⇒ place 0 in room_2; Ann holds epoch 1 until 2m; next 2m
        room_2/2 stick.granted Ann epoch 1 for 2m → Ann#2
    bans ⇒ 1 kept, the handle of Ann Mute: "noise"
    ann login as=Other ⇒ user_3 in room_2; next 1m
        room_2/3 user.joined Other → Ann#3 Other#1
    ann append 'x' ⇒ refused, muted: An operator has muted you; you can read, but not speak; next 2m
    ann talking_stick ⇒ refused, muted: An operator has muted you; you can read, but not speak
    "#);
}

#[test]
fn lifting_a_mute_by_name_frees_the_next_registration_and_not_this_one() {
    assert_snapshot!(check("
        0s ann login as=Ann
           operator mute ann 'noise'
           operator unban Ann
           bans
           ann talking_stick
           ann unregister
           ann login as=Ann
           ann talking_stick
    "), @r#"
    0s ann login as=Ann ⇒ user_1 in room_1; next 1m
        room_1/1 user.joined Ann → Ann#1
    operator mute ann 'noise' ⇒ done
        room_1/2 moderation.muted Ann "noise" → Ann#2
    operator unban Ann ⇒ done
    bans ⇒ 0 kept
    ann talking_stick ⇒ refused, muted: An operator has muted you; you can read, but not speak; next 5m
    ann unregister ⇒ done; next never
        user_1 is forgotten
    ann login as=Ann ⇒ user_2 in room_2; next 1m
        room_2/1 user.joined Ann → Ann#1
    ann talking_stick ⇒ place 0 in room_2; Ann holds epoch 1 until 2m; next 2m
        room_2/2 stick.granted Ann epoch 1 for 2m → Ann#2
    "#);
}

#[test]
fn a_banned_handle_registers_by_no_command_and_under_no_name() {
    assert_snapshot!(check("
        0s ann login as=Ann
           operator ban ann 'spam'
           ann login as=Other
           ann enter_queue
           ann break chimaek
           ann new break chimaek
        # Before all other checks, and with a key as without.
           ann login as=
           ann new typing
           ann login as=Other key=1
           operator unban Ann
           ann login as=Other key=1
    "), @r"
    0s ann login as=Ann ⇒ user_1 in room_1; next 1m
        room_1/1 user.joined Ann → Ann#1
    operator ban ann 'spam' ⇒ done; next never
        user_1 is forgotten
    ann login as=Other ⇒ refused, blocked: An operator has barred you from this server
    ann enter_queue ⇒ refused, blocked: An operator has barred you from this server
    ann break chimaek ⇒ refused, blocked: An operator has barred you from this server
    ann new break chimaek ⇒ refused, blocked: An operator has barred you from this server
    # Before all other checks, and with a key as without.
    ann login as= ⇒ refused, blocked: An operator has barred you from this server
    ann new typing ⇒ refused, blocked: An operator has barred you from this server
    ann login as=Other key=1 ⇒ refused, blocked: An operator has barred you from this server
    operator unban Ann ⇒ done
    ann login as=Other key=1 ⇒ user_2 in room_2; next 1m
        room_2/1 user.joined Other → Other#1
    ");
}

#[test]
fn a_ban_is_lifted_by_the_name_with_all_handles_that_are_kept_with_it() {
    assert_snapshot!(check("
        0s ann login as=Ann
           operator mute ann 'noise'
           ann unregister
           ben login as=Ann
           operator ban ben 'spam'
           bans
           ann login as=Other
           ann unregister
           operator unban ANN
           bans
           ben login as=Ann
           ann login as=Other
           ann talking_stick
    "), @r#"
    0s ann login as=Ann ⇒ user_1 in room_1; next 1m
        room_1/1 user.joined Ann → Ann#1
    operator mute ann 'noise' ⇒ done
        room_1/2 moderation.muted Ann "noise" → Ann#2
    ann unregister ⇒ done; next never
        user_1 is forgotten
    ben login as=Ann ⇒ user_2 in room_2; next 1m
        room_2/1 user.joined Ann → Ann#1
    operator ban ben 'spam' ⇒ done; next never
        user_2 is forgotten
    bans ⇒ 3 kept, Ann Ban: "spam", the handle of Ann Mute: "noise", the handle of Ann Ban: "spam"
    ann login as=Other ⇒ user_3 in room_3; next 1m
        room_3/1 user.joined Other → Other#1
    ann unregister ⇒ done; next never
        user_3 is forgotten
    operator unban ANN ⇒ done
    bans ⇒ 0 kept
    ben login as=Ann ⇒ user_4 in room_4; next 1m
        room_4/1 user.joined Ann → Ann#1
    ann login as=Other ⇒ user_5 in room_4
        room_4/2 user.joined Other → Ann#2 Other#1
    ann talking_stick ⇒ place 0 in room_4; Other holds epoch 1 until 2m
        room_4/3 stick.granted Other epoch 1 for 2m → Ann#3 Other#2
    "#);
}
